"""The cases of the self-check: functions in the vx dialect, by family, each with its inputs and a rule for its results."""
import math

UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
MATH = {"f32": 2, "f16": 1, "bf16": 1}  # units in the last place that a math function may be off
EXACT = {"rule": "exact"}


def tensor(dtype, dims):
    return f"tensor<{''.join(f'{size}x' for size in dims)}{dtype}>"


def ulp(units):
    return {"rule": "ulp", "units": units}


def close(terms, dtype="f32"):
    """A sum of so many rounded terms: a bound of its root mean square, and eight times that for the worst element."""
    bound = (terms + 4) * UNIT[dtype]
    return {"rule": "close", "rms": bound, "largest": 8 * bound}


class Input:
    """Random elements between two bounds; f16 and bf16 are cast from f32, which has every value of theirs."""

    def __init__(self, dtype, dims, low=-1.0, high=1.0):
        self.dtype, self.dims, self.low, self.high = dtype, list(dims), low, high

    def type(self):
        return tensor(self.dtype, self.dims)


class Case:
    """`results` has a pair of type and rule by the name of a value of `body`."""

    def __init__(self, name, inputs, body, results, header=""):
        self.name, self.inputs, self.body, self.results, self.header = name, inputs, body.strip("\n"), results, header

    def text(self):
        arguments = ", ".join(f'%{name}: {value.type()} {{vx.name = "{name}"}}' for name, value in self.inputs.items())
        results = ", ".join(f'{kind} {{vx.name = "{name}"}}' for name, (kind, _) in self.results.items())
        values, kinds = ", ".join(f"%{name}" for name in self.results), ", ".join(kind for kind, _ in self.results.values())
        return f"func.func @{self.name}({arguments}) -> ({results}) {{\n{self.body}\n  return {values} : {kinds}\n}}\n"


def through(dtype, op, dims, inputs, name, rule, result=None):
    """A case of inputs in f32 that an op reads in `dtype`; {x}, {y} are the operands, {t} their type. A float result comes back in f32."""
    wide, narrow = tensor("f32", dims), tensor(dtype, dims)
    lines, operands = [], {}
    for key in inputs:
        operands[key] = f"%{key}"
        if dtype != "f32":
            lines.append(f"  %{key}_in = vx.cast %{key} : {wide} -> {narrow}")
            operands[key] += "_in"
    kind = result or wide
    last = "%r" if dtype == "f32" or result else "%out"
    lines.append(f"  {last} = {op.format(t=narrow, **operands)}")
    if last == "%out":
        lines.append(f"  %r = vx.cast %out : {narrow} -> {wide}")
        rule = EXACT if rule == ulp(0) else {"rule": "close", "rms": 4 * UNIT[dtype], "largest": 4 * UNIT[dtype]} if rule["rule"] == "ulp" else rule
    return Case(name, inputs, "\n".join(lines), {"r": (kind, rule)})


def elementwise():
    for dtype in ("f32", "f16", "bf16"):
        for op, low, high, units in (("neg", -9, 9, 0), ("abs", -9, 9, 0), ("sign", -2, 2, 0), ("ceil", -9, 9, 0), ("floor", -9, 9, 0), ("round", -9, 9, 0),
                                     ("sqrt", 0, 9, 0), ("exp", -6, 6, MATH[dtype]), ("log", 0.1, 40, MATH[dtype]), ("sin", -9, 9, MATH[dtype]),
                                     ("cos", -9, 9, MATH[dtype]), ("tanh", -4, 4, MATH[dtype]), ("erf", -3, 3, MATH[dtype]), ("atan", -4, 4, MATH[dtype])):
            yield through(dtype, f"vx.{op} {{x}} : {{t}}", [7, 37], {"x": Input("f32", [7, 37], low, high)}, f"{op}_{dtype}", ulp(units))
        for op in ("add", "sub", "mul", "div", "max", "min"):
            pair = {"x": Input("f32", [5, 67], -4, 4), "y": Input("f32", [5, 67], 0.5, 4)}
            yield through(dtype, f"vx.{op} {{x}}, {{y}} : {{t}}, {{t}}", [5, 67], pair, f"{op}_{dtype}", ulp(0))
    for op in ("asin", "acos"):
        yield through("f32", f"vx.{op} {{x}} : {{t}}", [143], {"x": Input("f32", [143], -1, 1)}, f"{op}_f32", ulp(2))
    pair = {"x": Input("f32", [143], 0.2, 4), "y": Input("f32", [143], -3, 3)}
    yield through("f32", "vx.pow {x}, {y} : {t}, {t}", [143], pair, "pow_f32", ulp(4))
    for kind in ("lt", "ge", "eq"):
        pair = {"x": Input("f32", [99], -2, 2), "y": Input("f32", [99], -2, 2)}
        yield through("f32", f"vx.compare {kind} {{x}}, {{y}} : {{t}}, {{t}}", [99], pair, f"compare_{kind}", EXACT, tensor("i1", [99]))


def integers():
    ranges = {"i32": (-2**31, 2**31 - 1), "i64": (-2**63, 2**63 - 1), "i8": (-128, 127), "ui8": (0, 255)}
    for dtype, (low, high) in ranges.items():
        kind = tensor(dtype, [131])
        pair = {"x": Input(dtype, [131], low, high), "y": Input(dtype, [131], low, high)}
        for op in ("add", "sub", "mul", "max", "min", "and", "or", "xor"):
            yield Case(f"{op}_{dtype}", pair, f"  %r = vx.{op} %x, %y : {kind}, {kind}", {"r": (kind, EXACT)})
        yield Case(f"not_{dtype}", {"x": pair["x"]}, f"  %r = vx.not %x : {kind}", {"r": (kind, EXACT)})
        parts = {"x": pair["x"], "y": Input(dtype, [131], 1, min(high, 1000))}
        for op in ("div", "rem"):
            yield Case(f"{op}_{dtype}", parts, f"  %r = vx.{op} %x, %y : {kind}, {kind}", {"r": (kind, EXACT)})
        flags = tensor("i1", [131])
        yield Case(f"select_{dtype}", pair, f"  %m = vx.compare gt %x, %y : {kind}, {kind}\n  %r = vx.select %m, %x, %y : {flags}, {kind}, {kind}",
                   {"r": (kind, EXACT)})
    for source, target, low, high in (("f32", "i32", -900, 900), ("i32", "f32", -9999, 9999), ("i64", "i32", -9999, 9999), ("ui8", "f32", 0, 255),
                                      ("i8", "i64", -128, 127), ("f32", "ui8", 0, 255)):
        before, after = tensor(source, [77]), tensor(target, [77])
        yield Case(f"cast_{source}_{target}", {"x": Input(source, [77], low, high)}, f"  %r = vx.cast %x : {before} -> {after}", {"r": (after, EXACT)})


def moves():
    def moved(name, dtype, dims, op, result):
        kinds = {"x": tensor(dtype, dims), "r": tensor(dtype, result)}
        bounds = (-9, 9) if dtype == "f32" else (0, 250)
        return Case(f"{name}_{dtype}", {"x": Input(dtype, dims, *bounds)}, "  %r = " + op.format(**kinds), {"r": (kinds["r"], EXACT)})

    sizes = lambda *amounts: "[" + ", ".join(f"#vx.dim<{amount}>" for amount in amounts) + "]"
    for dtype in ("f32", "ui8", "i64"):
        yield moved("transpose", dtype, [19, 35], "vx.transpose %x, [1, 0] : {x}", [35, 19])
        yield moved("transpose_3d", dtype, [4, 9, 5], "vx.transpose %x, [2, 0, 1] : {x}", [5, 4, 9])
        yield moved("broadcast", dtype, [3, 1], "vx.broadcast %x, [1, 2] : {x} -> {r}", [2, 3, 37])
        yield moved("slice", dtype, [5, 41], f"vx.slice %x starts {sizes(4, 2)} strides [-2, 3] : {{x}} -> {{r}}", [3, 11])
        yield moved("reshape", dtype, [4, 6, 5], "vx.reshape %x : {x} -> {r}", [3, 40])
        part, whole = tensor(dtype, [3, 7]), tensor(dtype, [3, 16])
        two = {"x": Input(dtype, [3, 7], 0, 250), "y": Input(dtype, [3, 9], 0, 250)}
        yield Case(f"concat_{dtype}", two, f"  %r = vx.concat axis = 1 (%x, %y) : {part}, {tensor(dtype, [3, 9])}", {"r": (whole, EXACT)})
        padded = tensor(dtype, [6, 11])
        yield Case(f"pad_{dtype}", {"x": two["x"], "v": Input(dtype, [], 1, 9)},
                   f"  %r = vx.pad %x, %v low {sizes(1, 0)} high {sizes(2, 4)} : {part}, {tensor(dtype, [])}", {"r": (padded, EXACT)})
        taken = tensor(dtype, [13, 7])
        yield Case(f"gather_{dtype}", {"x": two["x"], "i": Input("i64", [13], -3, 2)},
                   f"  %r = vx.gather %x, %i axis = 0 : {part}, tensor<13xi64>", {"r": (taken, EXACT)})
    yield Case("iota_i64", {}, "  %r = vx.iota axis = 1 : tensor<3x77xi64>", {"r": ("tensor<3x77xi64>", EXACT)})
    yield Case("random_bits", {"k": Input("i64", [], -2**63, 2**63 - 1)}, "  %r = vx.random_bits %k number = 3 : tensor<3x37xui32>", {"r": ("tensor<3x37xui32>", EXACT)})
    yield Case("update_slice", {"x": Input("f32", [9, 7]), "i": Input("i64", [1], 0, 5), "u": Input("f32", [3, 7])},
               "  %r = vx.update_slice %x, %i, %u axes = [0] : tensor<9x7xf32>, tensor<1xi64>, tensor<3x7xf32>", {"r": ("tensor<9x7xf32>", EXACT)})
    yield Case("scatter_add", {"x": Input("i32", [9, 5], -99, 99), "i": Input("i64", [31, 1], 0, 8), "u": Input("i32", [31, 5], -99, 99)},
               "  %r = vx.scatter add %x, %i, %u axes = [0] : tensor<9x5xi32>, tensor<31x1xi64>, tensor<31x5xi32>", {"r": ("tensor<9x5xi32>", EXACT)})
    yield Case("top_places", {"x": Input("f32", [4, 97], -9, 9)}, "  %r = vx.top_places %x count = 5 : tensor<4x97xf32>", {"r": ("tensor<4x5xi64>", EXACT)})


def reductions():
    for kind in ("sum", "max", "min", "prod"):
        low, high = (0.9, 1.1) if kind == "prod" else (-3, 3)
        for name, dims, axes in (("rows", [9, 257], [1]), ("columns", [67, 19], [0]), ("all", [5, 7, 11], [0, 1, 2])):
            terms = math.prod(dims[axis] for axis in axes)
            kept = tensor("f32", [size for axis, size in enumerate(dims) if axis not in axes])
            rule = EXACT if kind in ("max", "min") else close(terms)
            yield Case(f"reduce_{kind}_{name}", {"x": Input("f32", dims, low, high)}, f"  %r = vx.reduce {kind} %x axes = {axes} : {tensor('f32', dims)}", {"r": (kept, rule)})
    yield Case("reduce_sum_i32", {"x": Input("i32", [7, 133], -2**31, 2**31 - 1)}, "  %r = vx.reduce sum %x axes = [1] : tensor<7x133xi32>", {"r": ("tensor<7xi32>", EXACT)})
    for kind in ("max", "min"):
        yield Case(f"arg_{kind}", {"x": Input("f32", [7, 133], -3, 3)}, f"  %r = vx.arg_reduce {kind} %x axis = 1 : tensor<7x133xf32>", {"r": ("tensor<7xi64>", EXACT)})
    for flags in ("", "exclusive", "reverse"):
        yield Case(f"cumulative_sum{'_' + flags if flags else ''}", {"x": Input("f32", [3, 61, 5])}, f"  %r = vx.cumulative_sum {flags} %x : tensor<3x61x5xf32>",
                   {"r": ("tensor<3x61x5xf32>", close(61))})
    for name, dims, axis in (("rows", [5, 131], 1), ("columns", [33, 17], 0)):
        kind = tensor("f32", dims)
        for log in ("", "log"):
            yield Case(f"{log + '_' if log else ''}softmax_{name}", {"x": Input("f32", dims, -8, 8)}, f"  %r = vx.softmax {log} %x axis = {axis} : {kind}",
                       {"r": (kind, close(dims[axis] + 30))})
    rows = {"x": Input("f32", [7, 96], -3, 3), "s": Input("f32", [96], 0.5, 1.5), "b": Input("f32", [96])}
    yield Case("layer_norm", rows, "  %r = vx.layer_norm %x, %s, %b axis = 1 epsilon = 1.000000e-05 : tensor<7x96xf32>, tensor<96xf32>, tensor<96xf32>",
               {"r": ("tensor<7x96xf32>", close(96))})
    yield Case("rms_norm", {key: rows[key] for key in "xs"}, "  %r = vx.rms_norm %x, %s, epsilon = 1.000000e-05 : tensor<7x96xf32>, tensor<96xf32>",
               {"r": ("tensor<7x96xf32>", close(96))})


def contract(name, lhs, rhs, batch, contracting, terms):
    free = lambda dims, used: [size for axis, size in enumerate(dims) if axis not in used]
    dims = [lhs[axis] for axis in batch[0]] + free(lhs, batch[0] + contracting[0]) + free(rhs, batch[1] + contracting[1])
    text = (f"  %r = vx.contract %a, %b batch = {batch[0]} x {batch[1]} contracting = {contracting[0]} x {contracting[1]} : "
            f"{tensor('f32', lhs)}, {tensor('f32', rhs)}")
    return Case(name, {"a": Input("f32", lhs), "b": Input("f32", rhs)}, text, {"r": (tensor("f32", dims), close(terms))})


def conv(name, x, w, result, options, terms):
    text = f"  %r = vx.conv %x, %w {options} : {tensor('f32', x)}, {tensor('f32', w)}"
    return Case(name, {"x": Input("f32", x), "w": Input("f32", w)}, text, {"r": (tensor("f32", result), close(terms))})


def products():
    none = ([], [])
    for m, n, k in ((1, 1, 1), (1, 129, 67), (33, 65, 1), (64, 64, 64), (31, 37, 41), (67, 131, 129), (7, 5, 257)):
        yield contract(f"matmul_{m}x{n}x{k}", [m, k], [k, n], none, ([1], [0]), k)
    for name, lhs, rhs, batch, contracting, terms in (
            ("batched", [3, 5, 7], [3, 7, 11], ([0], [0]), ([2], [1]), 7), ("transposed_rhs", [5, 17], [7, 17], none, ([1], [1]), 17),
            ("transposed_lhs", [17, 5], [17, 7], none, ([0], [0]), 17), ("dot", [129], [129], none, ([0], [0]), 129), ("outer", [5], [7], none, none, 1),
            ("matrix_vector", [13, 67], [67], none, ([1], [0]), 67), ("heads", [2, 7, 3, 4], [2, 9, 3, 4], ([0, 2], [0, 2]), ([3], [3]), 4)):
        yield contract(f"contract_{name}", lhs, rhs, batch, contracting, terms)
    options = lambda strides, dilations, low, high, groups: (
        f"strides = [{strides}, {strides}] dilations = [{dilations}, {dilations}] pads = [{low}, {low}] x [{high}, {high}] groups = {groups}")
    yield conv("conv_3x3", [2, 5, 9, 11], [7, 5, 3, 3], [2, 7, 9, 11], options(1, 1, 1, 1, 1), 45)
    yield conv("conv_strided", [1, 3, 13, 13], [16, 3, 3, 3], [1, 16, 7, 7], options(2, 1, 1, 1, 1), 27)
    yield conv("conv_1x1", [2, 33, 7, 7], [16, 33, 1, 1], [2, 16, 7, 7], options(1, 1, 0, 0, 1), 33)
    yield conv("conv_dilated", [1, 4, 12, 12], [6, 4, 3, 3], [1, 6, 8, 8], options(1, 2, 0, 0, 1), 36)
    yield conv("conv_grouped", [2, 6, 7, 7], [4, 3, 3, 3], [2, 4, 7, 7], options(1, 1, 1, 1, 2), 27)
    yield conv("conv_even", [1, 3, 8, 10], [5, 3, 2, 2], [1, 5, 8, 10], options(1, 1, 0, 1, 1), 12)
    yield conv("conv_depthwise", [2, 8, 9, 9], [8, 1, 3, 3], [2, 8, 9, 9], options(1, 1, 1, 1, 8), 9)


def programs():
    """What the host runs, and sizes that are known at the call only."""
    yield Case("if_else", {"c": Input("i1", [], 0, 1), "x": Input("f32", [37])}, """
  %r = vx.if %c -> tensor<37xf32> {
    %n = vx.neg %x : tensor<37xf32>
    vx.yield %n : tensor<37xf32>
  } else {
    %s = vx.add %x, %x : tensor<37xf32>, tensor<37xf32>
    vx.yield %s : tensor<37xf32>
  }""", {"r": ("tensor<37xf32>", EXACT)})
    yield Case("loop", {"n": Input("i64", [], 5, 5), "x": Input("i32", [37], -9, 9)}, """
  %true = vx.constant dense<true> : tensor<i1>
  %r = vx.loop "turn" trip_count(%n) inits(%x : tensor<37xi32>) -> tensor<37xi32> {
  ^bb0(%carried: tensor<37xi32>):
    %next = vx.add %carried, %carried : tensor<37xi32>, tensor<37xi32>
    vx.yield %true, %next : tensor<i1>, tensor<37xi32>
  }""", {"r": ("tensor<37xi32>", EXACT)}, 'vx.symbol data_dependent "turn"\n')
    for name, size in (("one", 1), ("odd", 67), ("long", 1031)):
        rows = "tensor<?x19xf32, #vx.enc<[rows, 19]>>"
        case = Case(f"dynamic_{name}", {"x": Input("f32", [size, 19])}, f"""
  %m = vx.mul %x, %x : {rows}, {rows}
  %s = vx.reduce sum %m axes = [1] : {rows}
  %r = vx.sqrt %s : tensor<?xf32, #vx.enc<[rows]>>""", {"r": ("tensor<?xf32, #vx.enc<[rows]>>", close(19))}, 'vx.symbol "rows"\n')
        case.inputs["x"].type = lambda: rows
        yield case
    yield Case("nonzero", {"x": Input("i32", [71], 0, 2)}, """
  %count = vx.count_nonzero %x : tensor<71xi32>
  vx.bind_symbol "found" = %count
  %r = vx.nonzero %x : tensor<71xi32> -> tensor<1x?xi64, #vx.enc<[1, found]>>""", {"r": ("tensor<1x?xi64, #vx.enc<[1, found]>>", EXACT)}, 'vx.symbol data_dependent "found"\n')


FAMILIES = {"elementwise": elementwise, "integers": integers, "moves": moves, "reductions": reductions, "products": products, "programs": programs}
