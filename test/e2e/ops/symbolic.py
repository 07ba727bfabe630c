"""Every kind of op with sizes that are known at the call: one module, several sizes."""
from op_case import Case, Input, Result, integers, tensor_type, uniform, values
from tolerance import Exact, Ulp, at_most, relative, sum_of

SIZES = (1, 7, 17, 64, 0)
N = 'vx.symbol "n" max = 4096'
NM = N + '\nvx.symbol "m" max = 4096'


def t(*dims, dtype="f32"):
    return tensor_type(dtype, dims)


def runs(sizes=SIZES):
    return [{"n": n} for n in sizes]


def pairs(*sizes):
    return [{"n": n, "m": m} for n, m in sizes]


def cases():
    x = {"x": Input("f32", ["n", 5], uniform())}
    one = lambda name, body, result, rule, inputs=x, sizes=SIZES: Case(
        name, inputs, body, {"r": Result("f32", result, rule)}, header=N, runs=runs(sizes))
    n5 = t("n", 5)
    yield one("unary", f"  %r = vx.exp %x : {n5}", ["n", 5], Ulp(2))
    yield one("binary", f"  %r = vx.mul %x, %x : {n5}, {n5}", ["n", 5], Ulp(0))
    yield one("transpose", f"  %r = vx.transpose %x, [1, 0] : {n5}", [5, "n"], Exact())
    # In squares where both sizes suffice for one, and with a bias of each row; what has the result's own order is read in plain loops.
    nm, mn = t("n", "m", dtype="{0}"), t("m", "n", dtype="{0}")
    for dtype in ("f32", "ui8"):
        squares = {"x": Input(dtype, ["n", "m"], integers(0, 9)), "b": Input(dtype, ["n"], integers(0, 9)), "y": Input(dtype, ["m", "n"], integers(0, 9))}
        text = """  %t = vx.transpose %x, [1, 0] : NM
  %w = vx.broadcast %b, [1] : VEC -> MN
  %r = vx.add %t, %w : MN, MN
""".replace("NM", nm.format(dtype)).replace("MN", mn.format(dtype)).replace("VEC", t("n", dtype=dtype))
        sizes = pairs((1, 1), (3, 40), (40, 3), (8, 8), (16, 15), (15, 16), (37, 41), (0, 5), (5, 0))
        yield Case(f"transpose_squares_{dtype}", {name: squares[name] for name in "xb"}, text, {"r": Result(dtype, ["m", "n"], Exact())}, header=NM, runs=sizes)
        yield Case(f"transpose_beside_rows_{dtype}", squares, text.replace("%r", "%s") + f"  %r = vx.mul %s, %y : {mn}, {mn}".format(dtype),
                   {"r": Result(dtype, ["m", "n"], Exact())}, header=NM, runs=sizes)
    yield one("reshape", f"  %r = vx.reshape %x : {n5} -> {t('5 * n')}", ["5 * n"], Exact())
    yield one("broadcast", f"  %r = vx.broadcast %x, [1, 2] : {n5} -> {t(3, 'n', 5)}", [3, "n", 5], Exact())
    yield one("slice", f"  %r = vx.slice %x starts [#vx.dim<n - 1>, #vx.dim<4>] strides [-1, -2] : {n5} -> {t('n', 3)}", ["n", 3], Exact())
    yield one("slice_half", f"  %r = vx.slice %x starts [#vx.dim<0>, #vx.dim<1>] strides [2, 1] : {n5} -> {t('ceildiv(n, 2)', 2)}",
              ["ceildiv(n, 2)", 2], Exact())
    yield one("concat", f"  %r = vx.concat axis = 0 (%x, %x) : {n5}, {n5}", ["2 * n", 5], Exact())
    yield one("pad", f"  %r = vx.pad %x, %v low [#vx.dim<n>, #vx.dim<0>] high [#vx.dim<2>, #vx.dim<-1>] : {n5}, tensor<f32>", ["2 * n + 2", 4],
              Exact(), {**x, "v": Input("f32", [], values(-1.0))})
    yield one("reduce_rows", f"  %r = vx.reduce sum %x axes = [1] : {n5}", ["n"], sum_of(5, "f32"))
    yield one("reduce_columns", f"  %r = vx.reduce sum %x axes = [0] : {n5}", [5], sum_of(64, "f32"))
    yield one("reduce_max_columns", f"  %r = vx.reduce max %x axes = [0] : {n5}", [5], Exact())
    yield one("softmax", f"  %r = vx.softmax %x axis = 1 : {n5}", ["n", 5], relative(5 + 22, "f32"))
    yield one("softmax_over_n", f"  %r = vx.softmax %x axis = 0 : {n5}", ["n", 5], relative(64 + 22, "f32"))
    yield one("layer_norm", f"  %r = vx.layer_norm %x, %s, %b axis = 1 epsilon = 1.0e-3 : {n5}, tensor<5xf32>, tensor<5xf32>", ["n", 5],
              at_most(lambda inputs: 2.0**-23 * 256, "2 * (terms + 6) * epsilon * |x| / least deviation"),
              {**x, "s": Input("f32", [5], uniform(0.5, 1)), "b": Input("f32", [5], uniform())})
    yield one("rms_norm", f"  %r = vx.rms_norm %x, %s, epsilon = 1.0e-3 : {n5}, tensor<5xf32>", ["n", 5], relative(7, "f32"),
              {**x, "s": Input("f32", [5], uniform(0.5, 1))})
    yield one("window", f"  %r = vx.reduce_window max %x window = [3, 1] strides = [1, 1] dilations = [1, 1] pads = [1, 0] x [1, 0] : {n5}",
              ["n", 5], Exact(), sizes=(1, 7, 17, 64))
    yield one("gather", f"  %r = vx.gather %x, %i axis = 0 : {n5}, tensor<3xi64>", [3, 5], Exact(),
              {**x, "i": Input("i64", [3], values(0, -1, 0))}, sizes=(1, 7, 64))
    yield one("gather_by_n", f"  %r = vx.gather %w, %i axis = 0 : tensor<7x3xf32>, {t('n', dtype='i32')}", ["n", 3], Exact(),
              {"w": Input("f32", [7, 3], uniform()), "i": Input("i32", ["n"], integers(-7, 6))})
    yield Case("arg_reduce", {"x": Input("f32", [3, "n"], uniform())}, f"  %r = vx.arg_reduce max %x axis = 1 : {t(3, 'n')}",
               {"r": Result("i64", [3], Exact())}, header=N, runs=runs((1, 7, 64)))
    yield Case("cast", {"x": Input("f32", ["n"], uniform(-99, 99))}, f"  %r = vx.cast %x : {t('n')} -> {t('n', dtype='i16')}",
               {"r": Result("i16", ["n"], Exact())}, header=N, runs=runs())
    yield Case("iota", {"x": Input("f32", ["n"], uniform())}, f"  %r = vx.iota axis = 1 : {t(2, 'n', dtype='i32')}",
               {"r": Result("i32", [2, "n"], Exact())}, header=N, runs=runs())
    yield Case("random_bits", {"x": Input("f32", ["n"], uniform()), "k": Input("i64", [], integers(-2**62, 2**62))},
               f"  %r = vx.random_bits %k number = 9 : {t(2, 'n', 3, dtype='ui32')}", {"r": Result("ui32", [2, "n", 3], Exact())}, header=N, runs=runs())
    yield Case("dim_value", {"x": Input("f32", ["n"], uniform())},
               "  %r = vx.dim_value <3 * n + floordiv(n, 2) - mod(n, 5)>", {"r": Result("i64", [], Exact())}, header=N, runs=runs())
    yield Case("select", {"c": Input("i1", ["n"], values(True, False, False)), "x": Input("f64", ["n"], uniform()), "y": Input("f64", ["n"], uniform())},
               f"  %r = vx.select %c, %x, %y : {t('n', dtype='i1')}, {t('n', dtype='f64')}, {t('n', dtype='f64')}",
               {"r": Result("f64", ["n"], Exact())}, header=N, runs=runs())
    # Places that quotients and remainders of a number of unknown range are taken of, several in one kernel.
    for dims in ([8, 3], [2, 3], [17]):
        axes = [0, *range(2, 2 + len(dims))]
        yield Case(f"reduce_around_{'x'.join(map(str, dims))}", {"x": Input("f32", ["n", 2, *dims], uniform())},
                   f"  %r = vx.reduce sum %x axes = {axes} : {t('n', 2, *dims)}", {"r": Result("f32", [2], sum_of(200 * 24, "f32"))}, header=N,
                   runs=runs((1, 33, 200, 0)))
    i64 = t("n", dtype="i64")
    lines = [f"  %k{k} = vx.constant dense<{k}> : tensor<i64>\n  %c{k} = vx.broadcast %k{k}, [] : tensor<i64> -> {i64}" for k in (5, 24)]
    for x in "xyz":
        for result, op, left, right in (("q", "div", x, "c5"), ("p", "mul", f"q{x}", "c24"), ("m", "rem", x, "c5"), ("r", "add", f"p{x}", f"m{x}")):
            lines.append(f"  %{result}{x} = vx.{op} %{left}, %{right} : {i64}, {i64}")
    yield Case("quotients_and_remainders", {x: Input("i64", ["n"], integers(-500, 500)) for x in "xyz"}, "\n".join(lines),
               {f"r{x}": Result("i64", ["n"], Exact()) for x in "xyz"}, header=N, runs=runs())
    yield from contractions()


def contractions():
    matmul = "vx.contract %a, %b batch = [] x [] contracting = [1] x [0]"
    yield Case("matmul_rows", {"a": Input("f32", ["n", 33], uniform()), "b": Input("f32", [33, 17], uniform())},
               f"  %r = {matmul} : {t('n', 33)}, {t(33, 17)}", {"r": Result("f32", ["n", 17], sum_of(33, "f32"))}, header=N,
               runs=runs((1, 7, 33, 130, 0)))
    yield Case("matmul_all", {"a": Input("f32", ["n", "m"], uniform()), "b": Input("f32", ["m", "n + 1"], uniform())},
               f"  %r = {matmul} : {t('n', 'm')}, {t('m', 'n + 1')}", {"r": Result("f32", ["n", "n + 1"], sum_of(131, "f32"))}, header=NM,
               runs=pairs((1, 1), (7, 17), (64, 3), (0, 5), (5, 0), (16, 131)))
    yield Case("batched", {"a": Input("f32", ["n", 3, "m"], uniform()), "b": Input("f32", ["n", "m", 5], uniform())},
               f"  %r = vx.contract %a, %b batch = [0] x [0] contracting = [2] x [1] : {t('n', 3, 'm')}, {t('n', 'm', 5)}",
               {"r": Result("f32", ["n", 3, 5], sum_of(40, "f32"))}, header=NM, runs=pairs((1, 1), (3, 40), (0, 3)))
    yield Case("conv", {"x": Input("f32", ["n", 3, "m", 7], uniform()), "w": Input("f32", [5, 3, 3, 3], uniform())},
               f"  %r = vx.conv %x, %w strides = [2, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : {t('n', 3, 'm', 7)}, {t(5, 3, 3, 3)}",
               {"r": Result("f32", ["n", 5, "max(0, floordiv(m - 1, 2) + 1)", 7], sum_of(27, "f32"))}, header='vx.symbol "n" max = 64\nvx.symbol "m" min = 1 max = 64',
               runs=pairs((1, 1), (2, 9), (3, 16), (0, 4)))
    # The same symbol in two inputs, and a whole small network in between.
    yield Case("network", {"x": Input("f32", ["n", 11], uniform()), "y": Input("f32", ["n", 7], uniform()), "w": Input("f32", [11, 7], uniform())}, f"""
  %h = {matmul.replace('%b', '%w').replace('%a', '%x')} : {t('n', 11)}, {t(11, 7)}
  %s = vx.add %h, %y : {t('n', 7)}, {t('n', 7)}
  %z = vx.abs %s : {t('n', 7)}
  %r = vx.reduce sum %z axes = [0, 1] : {t('n', 7)}""", {"r": Result("f32", [], sum_of(12 + 7 * 64, "f32"))}, header=N, runs=runs())
