"""Programs that the host runs: branches, loops, sequences, variables, and sizes that come from data."""
from op_case import Case, Input, Points, Result, integers, signed, uniform, values
from tolerance import Exact, Ulp, sum_of

I64 = "tensor<i64>"


def scalar(dtype, *given):
    return Input(dtype, [], values(*given))


def cases():
    yield from branches()
    yield from loops()
    yield from loops_of_rows()
    yield from sequences()
    yield from optionals()
    yield from variables()
    yield from data_dependent()


def branches():
    for name, condition in (("taken", True), ("not_taken", False)):
        yield Case(f"if_{name}", {"c": scalar("i1", condition), "x": Input("f32", [5], uniform())}, """
  %r = vx.if %c -> tensor<5xf32> {
    %n = vx.neg %x : tensor<5xf32>
    vx.yield %n : tensor<5xf32>
  } else {
    %s = vx.add %x, %x : tensor<5xf32>, tensor<5xf32>
    vx.yield %s : tensor<5xf32>
  }""", {"r": Result("f32", [5], Ulp(0))})
        yield Case(f"if_sizes_{name}", {"c": scalar("i1", condition), "x": Input("f32", [5], uniform())}, """
  %r = vx.if %c -> tensor<?xf32, #vx.enc<[kept]>> {
    vx.yield %x : tensor<5xf32>
  } else {
    %s = vx.slice %x starts [#vx.dim<1>] strides [1] : tensor<5xf32> -> tensor<2xf32>
    vx.yield %s : tensor<2xf32>
  }""", {"r": Result("f32", ["kept"], Exact())}, header='vx.symbol data_dependent "kept"')
        yield Case(f"if_without_work_{name}", {"c": scalar("i1", condition), "x": Input("i32", [3], integers(-9, 9)), "y": Input("i32", [3], integers(-9, 9))}, """
  %r, %q = vx.if %c -> tensor<3xi32>, tensor<3xi32> {
    vx.yield %x, %y : tensor<3xi32>, tensor<3xi32>
  } else {
    vx.yield %y, %x : tensor<3xi32>, tensor<3xi32>
  }""", {"r": Result("i32", [3], Exact()), "q": Result("i32", [3], Exact())})
    yield Case("if_in_if", {"x": scalar("f32", -3.0)}, """
  %z = vx.constant dense<0.0> : tensor<f32>
  %p = vx.compare lt %x, %z : tensor<f32>, tensor<f32>
  %r = vx.if %p -> tensor<f32> {
    %t = vx.constant dense<-2.0> : tensor<f32>
    %q = vx.compare lt %x, %t : tensor<f32>, tensor<f32>
    %s = vx.if %q -> tensor<f32> {
      %n = vx.abs %x : tensor<f32>
      vx.yield %n : tensor<f32>
    } else {
      vx.yield %x : tensor<f32>
    }
    vx.yield %s : tensor<f32>
  } else {
    vx.yield %z : tensor<f32>
  }""", {"r": Result("f32", [], Exact())})


def loops():
    header = 'vx.symbol data_dependent "i"'
    for trips in (0, 1, 7):
        yield Case(f"loop_{trips}_trips", {"n": scalar("i64", trips), "x": Input("f32", [5], values(1.0, 2.0, 3.0))}, """
  %r = vx.loop "i" trip_count(%n) inits(%x : tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%c: tensor<5xf32>):
    %d = vx.add %c, %x : tensor<5xf32>, tensor<5xf32>
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %d : tensor<i1>, tensor<5xf32>
  }""", {"r": Result("f32", [5], Ulp(0))}, header=header)
    yield Case("loop_while", {"x": scalar("i64", 1)}, """
  %r = vx.loop "i" inits(%x : tensor<i64>) -> tensor<i64> {
  ^bb0(%c: tensor<i64>):
    %d = vx.add %c, %c : tensor<i64>, tensor<i64>
    %limit = vx.constant dense<100> : tensor<i64>
    %t = vx.compare lt %d, %limit : tensor<i64>, tensor<i64>
    vx.yield %t, %d : tensor<i1>, tensor<i64>
  }""", {"r": Result("i64", [], Exact())}, header=header)
    for start in (False, True):
        yield Case(f"loop_condition_{'true' if start else 'false'}", {"c": scalar("i1", start), "n": scalar("i64", 4), "x": scalar("i64", 10)}, """
  %r = vx.loop "i" trip_count(%n) condition(%c) inits(%x : tensor<i64>) -> tensor<i64> {
  ^bb0(%a: tensor<i64>):
    %i = vx.dim_value <i>
    %b = vx.add %a, %i : tensor<i64>, tensor<i64>
    vx.yield %c, %b : tensor<i1>, tensor<i64>
  }""", {"r": Result("i64", [], Exact())}, header=header)
    yield Case("loop_grows", {"n": scalar("i64", 5), "x": Input("f32", [2], uniform())}, """
  %r = vx.loop "i" trip_count(%n) inits(%x : tensor<2xf32>) -> tensor<?xf32, #vx.enc<[out]>> {
  ^bb0(%a: tensor<?xf32, #vx.enc<[size]>>):
    %b = vx.concat axis = 0 (%a, %x) : tensor<?xf32, #vx.enc<[size]>>, tensor<2xf32>
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %b : tensor<i1>, tensor<?xf32, #vx.enc<[size + 2]>>
  }""", {"r": Result("f32", ["out"], Exact())},
               header=header + '\nvx.symbol data_dependent "size"\nvx.symbol data_dependent "out"')
    yield Case("loop_swaps", {"n": scalar("i64", 3), "x": Input("i32", [3], integers(-9, 9)), "y": Input("i32", [3], integers(-9, 9))}, """
  %r, %q = vx.loop "i" trip_count(%n) inits(%x, %y : tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>, tensor<3xi32> {
  ^bb0(%a: tensor<3xi32>, %b: tensor<3xi32>):
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %b, %a : tensor<i1>, tensor<3xi32>, tensor<3xi32>
  }""", {"r": Result("i32", [3], Exact()), "q": Result("i32", [3], Exact())}, header=header)
    yield Case("loop_in_loop", {"n": scalar("i64", 3), "x": scalar("i64", 0)}, """
  %r = vx.loop "i" trip_count(%n) inits(%x : tensor<i64>) -> tensor<i64> {
  ^bb0(%a: tensor<i64>):
    %i = vx.dim_value <i>
    %s = vx.loop "j" trip_count(%i) inits(%a : tensor<i64>) -> tensor<i64> {
    ^bb0(%b: tensor<i64>):
      %j = vx.dim_value <j + 10 * i>
      %c = vx.add %b, %j : tensor<i64>, tensor<i64>
      %u = vx.constant dense<true> : tensor<i1>
      vx.yield %u, %c : tensor<i1>, tensor<i64>
    }
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %s : tensor<i1>, tensor<i64>
  }""", {"r": Result("i64", [], Exact())}, header=header + '\nvx.symbol data_dependent "j"')


def loops_of_rows():
    """Each iteration reads a place of what stands outside, and writes one of what is carried; gradients keep to these places where no other iteration has them."""
    for name, place, count, start in (("rows", "i", 3, "i"), ("rows_reversed", "2 - i", 3, "2 - i"), ("rows_crossed", "i", 3, "2 - i"), ("some_rows", "i", 2, "i"),
                                      ("rows_beyond", "i", 3, "i + 1"), ("one_row", "1", 3, "i"), ("rows_written_once", "i", 3, "0 * i + 1")):
        yield Case(f"loop_of_{name}", {"x": Input("f32", [3, 8], uniform()), "h": Input("f32", [4], uniform()), "z": Input("f32", [3, 4], uniform())}, f"""
  %n = vx.dim_value <{count}>
  %r, %y = vx.loop "i" trip_count(%n) inits(%h, %z : tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>, tensor<3x4xf32> {{
  ^bb0(%a: tensor<4xf32>, %b: tensor<3x4xf32>):
    %s = vx.slice %x starts [#vx.dim<{place}>, #vx.dim<4>] strides [1, 1] : tensor<3x8xf32> -> tensor<1x4xf32>
    %u = vx.slice %x starts [#vx.dim<{place}>, #vx.dim<1>] strides [1, 2] : tensor<3x8xf32> -> tensor<1x4xf32>
    %sr = vx.reshape %s : tensor<1x4xf32> -> tensor<4xf32>
    %ur = vx.reshape %u : tensor<1x4xf32> -> tensor<4xf32>
    %p = vx.mul %a, %sr : tensor<4xf32>, tensor<4xf32>
    %q = vx.sub %p, %ur : tensor<4xf32>, tensor<4xf32>
    %k = vx.dim_value <{start}>
    %kr = vx.reshape %k : tensor<i64> -> tensor<1xi64>
    %qr = vx.reshape %q : tensor<4xf32> -> tensor<1x4xf32>
    %c = vx.update_slice %b, %kr, %qr axes = [0] : tensor<3x4xf32>, tensor<1xi64>, tensor<1x4xf32>
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %q, %c : tensor<i1>, tensor<4xf32>, tensor<3x4xf32>
  }}""", {"r": Result("f32", [4], sum_of(4, "f32")), "y": Result("f32", [3, 4], sum_of(4, "f32"))}, header='vx.symbol data_dependent "i"')
    # What the body reads in another shape, a part of several places at a time.
    yield Case("loop_of_parts", {"x": Input("f32", [2, 3, 4], uniform()), "h": Input("f32", [2, 4], uniform())}, """
  %n = vx.dim_value <3>
  %r = vx.loop "i" trip_count(%n) inits(%h : tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %v = vx.reshape %x : tensor<2x3x4xf32> -> tensor<2x12xf32>
    %s = vx.slice %v starts [#vx.dim<0>, #vx.dim<8 - i * 4>] strides [1, 1] : tensor<2x12xf32> -> tensor<2x4xf32>
    %b = vx.mul %a, %s : tensor<2x4xf32>, tensor<2x4xf32>
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %b : tensor<i1>, tensor<2x4xf32>
  }""", {"r": Result("f32", [2, 4], sum_of(4, "f32"))}, header='vx.symbol data_dependent "i"')


SEQUENCE = "!vx.sequence<tensor<3xf32>>"
OPTIONAL = "!vx.optional<!vx.sequence<tensor<3xi64>>>"


def optionals():
    """An optional that a branch decides on; who takes the sequence out of one that holds none fails."""
    make = f"""
  %s = vx.sequence_construct %x : (tensor<3xi64>) -> !vx.sequence<tensor<3xi64>>
  %o = vx.if %c -> {OPTIONAL} {{
    %some = vx.optional %s : !vx.sequence<tensor<3xi64>> -> {OPTIONAL}
    vx.yield %some : {OPTIONAL}
  }} else {{
    %none = vx.optional -> {OPTIONAL}
    vx.yield %none : {OPTIONAL}
  }}"""
    inputs = lambda condition: {"x": Input("i64", [3], integers(-9, 9)), "c": scalar("i1", condition)}
    for condition in (True, False):
        yield Case(f"optional_{condition}", inputs(condition), make + f"""
  %n = vx.sequence_length %o : {OPTIONAL}""", {"n": Result("i64", [], Exact())})
    at = f"""
  %v = vx.optional_value %o : {OPTIONAL} -> !vx.sequence<tensor<3xi64>>
  %zero = vx.constant dense<0> : tensor<i64>
  %r = vx.sequence_at %v, %zero : !vx.sequence<tensor<3xi64>> -> tensor<3xi64>"""
    yield Case("optional_value", inputs(True), make + at, {"r": Result("i64", [3], Exact())})
    yield Case("optional_value_none", inputs(False), make + at, {"r": Result("i64", [3], Exact())},
               fault="program.mlir:12:8: needs the optional to hold 1 sequence, got 0 and 1")


def sequences():
    make = f"""
  %s = vx.sequence_construct %x, %y : (tensor<3xf32>, tensor<3xf32>) -> {SEQUENCE}"""
    inputs = lambda position: {"x": Input("f32", [3], uniform()), "y": Input("f32", [3], uniform()), "p": scalar("i64", position)}
    at = f"\n  %r = vx.sequence_at %t, %p : {SEQUENCE} -> tensor<3xf32>\n  %n = vx.sequence_length %t : {SEQUENCE}"
    both = {"r": Result("f32", [3], Exact()), "n": Result("i64", [], Exact())}
    for position in (0, 1, -1, -2):
        yield Case(f"sequence_at_{position}", inputs(position), make.replace("%s", "%t") + at, both)
    for position in (-3, 2):
        yield Case(f"sequence_at_fault_{position}", inputs(position), make.replace("%s", "%t") + at, both,
                   fault=f"program.mlir:7:8: position is {position}, allowed is [-2, 2)")
    zero = "\n  %z = vx.neg %x : tensor<3xf32>"
    for position in (0, 1, 2, -1, -2):
        yield Case(f"sequence_insert_{position}", {**inputs(0), "q": scalar("i64", position)}, make + zero + f"""
  %t = vx.sequence_insert %s, %z at %q : {SEQUENCE}, tensor<3xf32> -> {SEQUENCE}""" + at, both)
        if position not in (2,):
            yield Case(f"sequence_erase_{position}", {**inputs(0), "q": scalar("i64", position)}, make + f"""
  %t = vx.sequence_erase %s at %q : {SEQUENCE}""" + at, both)
    yield Case("sequence_append", inputs(2), make + zero + f"""
  %t = vx.sequence_insert %s, %z : {SEQUENCE}, tensor<3xf32> -> {SEQUENCE}""" + at, both)
    yield Case("sequence_erase_last", inputs(0), make + f"\n  %t = vx.sequence_erase %s : {SEQUENCE}" + at, both)
    for name, op in (("insert", f"vx.sequence_insert %s, %x at %q : {SEQUENCE}, tensor<3xf32> -> {SEQUENCE}"),
                     ("erase", f"vx.sequence_erase %s at %q : {SEQUENCE}")):
        allowed = "[-2, 3)" if name == "insert" else "[-2, 2)"
        yield Case(f"sequence_{name}_fault", {**inputs(0), "q": scalar("i64", 7)}, make + f"\n  %t = {op}" + at, both,
                   fault=f"program.mlir:8:8: position is 7, allowed is {allowed}")
    # The element is read in the segment that computes it: no host value stands between them.
    yield Case("sequence_at_constant", inputs(0), f"""
  %c = vx.constant dense<1> : tensor<i64>
  %z = vx.neg %x : tensor<3xf32>
  %t = vx.sequence_construct %y, %z : (tensor<3xf32>, tensor<3xf32>) -> {SEQUENCE}
  %r = vx.sequence_at %t, %c : {SEQUENCE} -> tensor<3xf32>
  %n = vx.sequence_length %t : {SEQUENCE}""", both)
    # An older version of a sequence stays what it was.
    yield Case("sequence_versions", inputs(0), make + f"""
  %t = vx.sequence_erase %s : {SEQUENCE}
  %n = vx.sequence_length %t : {SEQUENCE}
  %m = vx.sequence_length %s : {SEQUENCE}
  %one = vx.constant dense<1> : tensor<i64>
  %r = vx.sequence_at %s, %one : {SEQUENCE} -> tensor<3xf32>""", {**both, "m": Result("i64", [], Exact())})
    loose = "!vx.sequence<tensor<?xf32>>"
    yield Case("sequence_of_sizes", {"x": Input("f32", [3], uniform()), "y": Input("f32", [7], uniform()), "p": scalar("i64", 1)}, f"""
  %s = vx.sequence_construct %x, %y : (tensor<3xf32>, tensor<7xf32>) -> {loose}
  %r = vx.sequence_at %s, %p : {loose} -> tensor<?xf32, #vx.enc<[size]>>
  %t = vx.add %r, %r : tensor<?xf32, #vx.enc<[size]>>, tensor<?xf32, #vx.enc<[size]>>""",
               {"r": Result("f32", ["size"], Exact()), "t": Result("f32", ["size"], Ulp(0))}, header='vx.symbol data_dependent "size"')


def variables():
    yield Case("variable_starts", {"x": Input("f32", [3], uniform())}, """
  %a = vx.variable_load @state : tensor<3xf32>
  %r = vx.add %a, %x : tensor<3xf32>, tensor<3xf32>""", {"r": Result("f32", [3], Ulp(0))},
               header="vx.variable @state : tensor<3xf32> = dense<[1.0, -2.0, 0.5]> : tensor<3xf32>")
    yield Case("variable_load_after_store", {"x": Input("f32", [3], uniform())}, """
  %a = vx.variable_load @state : tensor<3xf32>
  %s = vx.sub %x, %a : tensor<3xf32>, tensor<3xf32>
  vx.variable_store %s, @state : tensor<3xf32>
  %b = vx.variable_load @state : tensor<3xf32>
  %r = vx.add %b, %b : tensor<3xf32>, tensor<3xf32>
  %q = vx.neg %a : tensor<3xf32>""", {"r": Result("f32", [3], Ulp(0)), "q": Result("f32", [3], Ulp(0))},
               header="vx.variable @state : tensor<3xf32>")


def data_dependent():
    """The squares of the elements that are not zero, and their sum."""
    for name, make in (("some", values(0.0, 1.5, 0.0, -2.0, 3.0)), ("none", values(0.0)), ("all", values(1.0, 2.0, 3.0))):
        yield Case(f"compact_{name}", {"x": Input("f32", ["n"], make)}, """
  %count = vx.count_nonzero %x : tensor<?xf32, #vx.enc<[n]>>
  vx.bind_symbol "found" = %count
  %places = vx.nonzero %x : tensor<?xf32, #vx.enc<[n]>> -> tensor<1x?xi64, #vx.enc<[1, found]>>
  %flat = vx.reshape %places : tensor<1x?xi64, #vx.enc<[1, found]>> -> tensor<?xi64, #vx.enc<[found]>>
  %v = vx.gather %x, %flat axis = 0 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[found]>>
  %r = vx.mul %v, %v : tensor<?xf32, #vx.enc<[found]>>, tensor<?xf32, #vx.enc<[found]>>
  %s = vx.reduce sum %r axes = [0] : tensor<?xf32, #vx.enc<[found]>>""",
                   {"r": Result("f32", ["found"], Ulp(0)), "s": Result("f32", [], sum_of(131, "f32"))},
                   header='vx.symbol "n"\nvx.symbol data_dependent "found"', runs=[{"n": n} for n in (1, 7, 131, 0)],
                   points=Points(signed(0.3, 1.7), "one element more or less is found where one passes 0"))
    yield Case("symbol_range", {"x": Input("i64", [], values(9))}, """
  vx.bind_symbol "size" = %x
  %r = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[size]>>""", {"r": Result("i64", ["size"], Exact())},
               header='vx.symbol data_dependent "size" max = 8', fault="program.mlir:4:3: size 'size' is 9, allowed is [0, 9)")
    yield Case("symbol_in_range", {"x": Input("i64", [], values(8))}, """
  vx.bind_symbol "size" = %x
  %r = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[size]>>""", {"r": Result("i64", ["size"], Exact())},
               header='vx.symbol data_dependent "size" max = 8')
