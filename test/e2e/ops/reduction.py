"""Reductions over dimensions and windows, and the place of an extreme."""
import math

import numpy as np

from op_case import FLOATS, INTEGERS, SIGNED, Case, Input, Points, Result, any_values, apart, bools, special_floats, tensor_type, uniform, values
from tolerance import Exact, Ulp, relative, sum_of

# At which points gradients are compared.
UNEQUAL = Points(apart, "where two are equal the one and the other changes over")


def points_of(kind):
    return UNEQUAL if kind in ("max", "min") else None


def rule_of(kind, dtype, terms):
    if dtype not in FLOATS:
        return Exact()
    if kind in ("max", "min"):
        return Ulp(0)
    return sum_of(terms, dtype) if kind == "sum" else relative(terms + 1, dtype)


def reduce(name, kind, dtype, dims, axes, make):
    terms = math.prod(dims[axis] for axis in axes)
    result = [size for axis, size in enumerate(dims) if axis not in axes]
    return Case(name, {"x": Input(dtype, dims, make)}, f"  %r = vx.reduce {kind} %x axes = {axes} : {tensor_type(dtype, dims)}",
                {"r": Result(dtype, result, rule_of(kind, dtype, terms))}, points=points_of(kind))


def cumulative(name, dtype, dims, make, flags="", terms=None, **more):
    rule = sum_of(terms or dims[1], dtype) if dtype in FLOATS else Exact()
    return Case(name, {"x": Input(dtype, dims, make)}, f"  %r = vx.cumulative_sum {flags} %x : {tensor_type(dtype, dims)}", {"r": Result(dtype, dims, rule)}, **more)


def cumulations():
    for dtype in FLOATS:
        yield cumulative(f"cumulative_sum_{dtype}", dtype, [2, 37, 5], uniform())
    for dtype in INTEGERS:
        yield cumulative(f"cumulative_sum_{dtype}", dtype, [2, 11, 3], any_values(dtype))
    for flags in ("", "exclusive", "reverse", "exclusive reverse"):
        name = flags.replace(" ", "_") or "plain"
        for dims in ([3, 17, 1], [1, 1, 1], [2, 7, 33], [1, 97, 300], [1, 1500, 1], [0, 3, 2], [2, 0, 3], [2, 3, 0]):
            yield cumulative(f"cumulative_sum_{name}_{'x'.join(map(str, dims))}", "f32", dims, uniform(), flags)
    yield cumulative("cumulative_sum_symbolic", "f32", ["a", "n", "b"], uniform(), terms=70, header='vx.symbol "a"\nvx.symbol "n"\nvx.symbol "b"',
                     runs=[{"a": a, "n": n, "b": b} for a, n, b in ((1, 1, 1), (3, 70, 1), (2, 33, 17), (2, 5, 64))])


def cases():
    yield from cumulations()
    near_one = uniform(0.9, 1.1)
    for dtype in FLOATS:
        yield reduce(f"sum_{dtype}", "sum", dtype, [5, 37], [1], uniform())
        yield reduce(f"prod_{dtype}", "prod", dtype, [5, 7], [1], near_one)
        for kind in ("max", "min"):
            yield reduce(f"{kind}_{dtype}", kind, dtype, [5, 37], [1], uniform(-50, 50))
            yield reduce(f"{kind}_special_{dtype}", kind, dtype, [3, 17], [1], special_floats())
            yield reduce(f"{kind}_special_long_{dtype}", kind, dtype, [5, 311], [1], special_floats())
    for dtype in INTEGERS:
        for kind in ("sum", "prod", "max", "min", "and", "or"):
            yield reduce(f"{kind}_{dtype}", kind, dtype, [3, 11], [1], any_values(dtype))
    for kind in ("and", "or"):
        yield reduce(f"{kind}_i1", kind, "i1", [5, 3], [1], bools)
        yield reduce(f"{kind}_i1_none", kind, "i1", [5, 0], [1], bools)
    # How many hold: 64 bits of which 32 would do.
    for dims in ([5, 2], [3, 37], [2, 257]):
        rows, terms = dims
        yield Case(f"count_{terms}", {"x": Input("i1", dims, bools)},
                   f"  %0 = vx.cast %x : {tensor_type('i1', dims)} -> {tensor_type('i64', dims)}\n  %r = vx.reduce sum %0 axes = [1] : {tensor_type('i64', dims)}",
                   {"r": Result("i64", [rows], Exact())})
    for name, dims, axes in (("first", [17, 5], [0]), ("all", [3, 5, 7], [0, 1, 2]), ("none", [3, 5], []), ("middle", [2, 13, 3], [1]),
                             ("outer", [5, 3, 7], [0, 2]), ("scalar", [], []), ("over_one", [7, 1], [1]), ("long", [4099], [0]),
                             ("wide", [3, 1031], [1]), ("tall", [1031, 3], [0]), ("empty_result", [0, 3], [1])):
        yield reduce(f"sum_shape_{name}", "sum", "f32", dims, axes, uniform())
        yield reduce(f"max_shape_{name}", "max", "i32", dims, axes, any_values("i32"))
    for kind in ("sum", "prod", "max", "min"):
        yield reduce(f"{kind}_nothing_f32", kind, "f32", [3, 0], [1], uniform())
        yield reduce(f"{kind}_nothing_i8", kind, "i8", [3, 0], [1], any_values("i8"))
        yield reduce(f"{kind}_nan", kind, "f32", [2, 5], [1], values(1.0, float("nan"), 2.0))
    yield reduce("sum_of_inf", "sum", "f32", [2, 3], [1], values(float("inf"), 1.0, 2.0, float("inf"), -float("inf"), 0.0))
    # Many small ones: a sum in f16 would stop at 2048.
    yield reduce("sum_f16_accumulates_in_f32", "sum", "f16", [4096], [0], values(1.0))
    yield from columns_beside_each_other()
    yield from long_rows()
    yield from places()
    yield from windows()


def columns_beside_each_other():
    """Sums of columns in one vector, as gradients of biases are, with gaps and something else around them."""
    for name, rows, sizes, gap in (("two", 7, [5, 3], 0), ("three", 128, [256, 128, 10], 6), ("four", 17, [1, 16, 7], 9), ("one_row", 1, [3, 4], 2),
                                   ("no_rows", 0, [3, 4], 2), ("many", 5, [3, 2, 7, 1, 4, 6], 1), ("wide", 3, [900, 200], 8), ("tall", 5000, [6, 3], 0)):
        inputs, lines, parts = {"w": Input("f32", [11], uniform())}, [], ["w"]
        for index, size in enumerate(sizes):
            inputs[f"x{index}"] = Input("f32", [rows, size], uniform())
            lines.append(f"  %s{index} = vx.reduce sum %x{index} axes = [0] : {tensor_type('f32', [rows, size])}")
            parts.append(f"s{index}")
        if gap:
            lines.append(f"  %gap = vx.constant dense<0.0> : {tensor_type('f32', [gap])}")
            parts.append("gap")
        types = [tensor_type("f32", [size]) for size in [11, *sizes, *([gap] if gap else [])]]
        lines.append(f"  %r = vx.concat axis = 0({', '.join('%' + part for part in parts)}) : {', '.join(types)}")
        yield Case(f"columns_{name}", inputs, "\n".join(lines), {"r": Result("f32", [11 + sum(sizes) + gap], sum_of(max(rows, 1), "f32"))})


def long_rows():
    """What GPUs reduce in two stages: lengths that slices divide and that they do not (65537 is prime), also where only the call knows them."""
    for name, dims, axes in (("divided", [65536], [0]), ("prime", [65537], [0]), ("rows", [3, 65537], [1]), ("columns", [65537, 2], [0]),
                             ("both", [2, 64, 1031, 3], [1, 2])):
        yield reduce(f"long_sum_{name}", "sum", "f32", dims, axes, uniform())
        yield reduce(f"long_max_{name}", "max", "i32", dims, axes, any_values("i32"))
    for kind in ("sum", "prod", "max", "min", "and", "or"):
        yield reduce(f"long_{kind}_i64", kind, "i64", [65537], [0], any_values("i64"))
    for kind in ("max", "min"):
        yield reduce(f"long_{kind}_ui8", kind, "ui8", [65537], [0], any_values("ui8"))
        yield reduce(f"long_{kind}_below_zero_f32", kind, "f32", [65537], [0], uniform(-9, -1) if kind == "max" else uniform(1, 9))
        yield reduce(f"long_{kind}_special", kind, "f32", [65537], [0], special_floats())
    for kind in ("and", "or"):
        yield reduce(f"long_{kind}_i1", kind, "i1", [65537], [0], bools)
    yield reduce("long_prod_f64", "prod", "f64", [65537], [0], uniform(0.9999, 1.0001))
    for number in (float("nan"), float("inf"), -float("inf")):
        # The last one lies in the last slice, beside what fills it up.
        yield reduce(f"long_sum_{number}", "sum", "f32", [65537], [0], values(*[0.5] * 65536, number))
    # The slices' sums are no f16s: 0.25 added to 512 is lost there.
    yield reduce("long_sum_f16", "sum", "f16", [2**17], [0], values(0.25))
    t, v = tensor_type("f32", [65537]), tensor_type("f32", [256, 300])
    yield Case("long_sum_of_squares", {"x": Input("f32", [65537], uniform())},
               f"  %0 = vx.mul %x, %x : {t}, {t}\n  %1 = vx.reduce sum %0 axes = [0] : {t}\n  %r = vx.sqrt %1 : tensor<f32>", {"r": Result("f32", [], relative(65540, "f32"))})
    yield Case("long_two_of_one", {"x": Input("f32", [256, 300], uniform())},
               f"  %0 = vx.abs %x : {v}\n  %r = vx.reduce sum %0 axes = [0, 1] : {v}\n  %s = vx.reduce max %x axes = [0, 1] : {v}",
               {"r": Result("f32", [], sum_of(76800, "f32")), "s": Result("f32", [], Exact())},
               points=UNEQUAL)
    header, sizes = "\n".join(f'vx.symbol "{name}" max = 4096' for name in "nmk"), [(41, 40, 41), (1, 1, 1), (0, 3, 5), (7, 1, 997)]
    for kind, rule in (("sum", sum_of(67240, "f32")), ("min", Exact())):
        of_call = tensor_type("f32", ["n", "m", "k"])
        yield Case(f"long_{kind}_of_the_call", {"x": Input("f32", ["n", "m", "k"], uniform())}, f"  %r = vx.reduce {kind} %x axes = [0, 1, 2] : {of_call}",
                   {"r": Result("f32", [], rule)}, header=header, runs=[dict(zip("nmk", size)) for size in sizes],
                   points=points_of(kind))
        partly = tensor_type("f32", ["n", 768])
        yield Case(f"long_{kind}_partly_of_the_call", {"x": Input("f32", ["n", 768], uniform())}, f"  %r = vx.reduce {kind} %x axes = [0, 1] : {partly}",
                   {"r": Result("f32", [], rule)}, header='vx.symbol "n" max = 4096', runs=[{"n": n} for n in (87, 1, 0)], points=points_of(kind))


def places():
    for dtype in FLOATS + SIGNED + ("ui8", "ui64"):
        for kind in ("max", "min"):
            yield place(f"arg_{kind}_{dtype}", kind, dtype, [3, 17], 1, any_values(dtype))
    ties = values(1, 3, 3, 0, 0, 3, 1)
    for kind in ("max", "min"):
        for last in (False, True):
            suffix = "last" if last else "first"
            yield place(f"arg_{kind}_ties_{suffix}", kind, "f32", [2, 7], 1, ties, last)
            yield place(f"arg_{kind}_nan_{suffix}", kind, "f32", [5], 0, values(1.0, float("nan"), 3.0, float("nan"), -9.0), last)
            # Rows of several vectors: equals and NaN lie in different ones, and in different lanes.
            for dtype in ("f32", "f16", "f64", "i8", "ui32"):
                few = values(*(np.random.default_rng(5).integers(0, 7, 311).tolist()))
                yield place(f"arg_{kind}_ties_long_{suffix}_{dtype}", kind, dtype, [6, 311], 1, few, last)
            for at in (0, 77, 150, 299):
                sparse = values(*[float("nan") if i in (at, at + 9) else i % 5 for i in range(311)])
                yield place(f"arg_{kind}_nan_{at}_{suffix}", kind, "f32", [2, 311], 1, sparse, last)
            infinite = -float("inf") if kind == "max" else float("inf")
            yield place(f"arg_{kind}_infinite_{suffix}", kind, "f32", [2, 130], 1, values(infinite), last)
    for name, dims, axis in (("first_axis", [7, 3], 0), ("middle", [2, 5, 3], 1), ("one", [4, 1], 1), ("long", [1031], 0), ("empty", [0, 3], 1), ("rows", [7, 2048], 1)):
        yield place(f"arg_max_{name}", "max", "f32", dims, axis, uniform())


def place(name, kind, dtype, dims, axis, make, last=False):
    return Case(name, {"x": Input(dtype, dims, make)},
                f"  %r = vx.arg_reduce {kind} %x axis = {axis} {'last' if last else ''} : {tensor_type(dtype, dims)}",
                {"r": Result("i64", dims[:axis] + dims[axis + 1:], Exact())})


def windows():
    for name, kind, dtype, dims, window, strides, dilations, low, high in (
            ("max_pool", "max", "f32", [1, 2, 7, 7], [1, 1, 3, 3], [1, 1, 2, 2], [1] * 4, [0, 0, 1, 1], [0, 0, 1, 1]),
            ("sum_pool", "sum", "f32", [1, 2, 7, 5], [1, 1, 3, 2], [1, 1, 1, 2], [1] * 4, [0, 0, 1, 0], [0, 0, 1, 1]),
            ("dilated", "max", "f32", [13], [3], [2], [3], [1], [2]), ("prod", "prod", "f32", [9], [3], [1], [1], [1], [1]),
            ("min_ints", "min", "i32", [3, 7], [1, 3], [1, 2], [1, 1], [0, 1], [0, 1]), ("sum_ints", "sum", "i64", [11], [4], [3], [1], [2], [2]),
            ("max_bytes", "max", "ui8", [11], [3], [1], [1], [1], [1]), ("only_padding", "max", "f32", [2], [1], [1], [1], [3], [3]),
            ("only_padding_ints", "min", "i8", [2], [1], [1], [1], [2], [2]), ("cropped", "sum", "f32", [9], [2], [1], [1], [-2], [-1]),
            ("empty", "max", "f32", [0, 5], [1, 2], [1, 1], [1, 1], [0, 0], [0, 0]), ("cumulative", "sum", "f32", [17], [17], [1], [1], [16], [0]),
            ("f64", "sum", "f64", [3, 7], [2, 2], [1, 1], [1, 1], [0, 0], [0, 0]), ("f16", "sum", "f16", [3, 7], [2, 3], [1, 1], [1, 1], [0, 0], [0, 0]),
            ("bf16", "max", "bf16", [3, 7], [2, 3], [1, 1], [1, 1], [0, 0], [0, 0]),
            ("3d", "max", "f32", [1, 1, 5, 5, 3], [1, 1, 2, 2, 2], [1, 1, 2, 1, 1], [1] * 5, [0] * 5, [0] * 5)):
        result = [max(0, size + a + b - ((w - 1) * d + 1)) // s + (size + a + b >= (w - 1) * d + 1)
                  for size, w, s, d, a, b in zip(dims, window, strides, dilations, low, high)]
        make = uniform(0.5, 1.5) if kind == "prod" else uniform(-9, 9) if dtype in FLOATS else any_values(dtype)
        yield Case(f"window_{name}", {"x": Input(dtype, dims, make)},
                   f"  %r = vx.reduce_window {kind} %x window = {window} strides = {strides} dilations = {dilations} "
                   f"pads = {low} x {high} : {tensor_type(dtype, dims)}",
                   {"r": Result(dtype, result, rule_of(kind, dtype, math.prod(window)))}, points=points_of(kind),
                   without_gradient="the greatest of padding alone is -inf" if name == "only_padding" else None)
    yield Case("window_max_nan", {"x": Input("f32", [9], special_floats())},
               "  %r = vx.reduce_window max %x window = [3] strides = [1] dilations = [1] pads = [1] x [1] : tensor<9xf32>",
               {"r": Result("f32", [9], Ulp(0))}, points=UNEQUAL)
