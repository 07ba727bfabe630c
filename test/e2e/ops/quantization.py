"""Integers of few bits, numbers made of them, and products of what was quantised."""
import numpy as np

from op_case import EPSILON, Case, Input, Result, any_values, special_floats, tensor_type, uniform
from tolerance import Exact, Ulp, at_most

TYPES = ("i8", "ui8", "i16", "ui16", "i4", "ui4", "i2", "ui2")
TIES = (0.25, 0.75, -0.25, -0.75, 63.75, 64.0, -64.25, 127.5, 1e9, -1e9)


def functional(*types):
    return f"({', '.join(types[:-1])}) -> {types[-1]}"


def steps():
    """One op each: ties, both ends of the type, NaN and infinities; with a zero point and without."""
    for floats in ("f32", "f16", "bf16", "f64"):
        for integers in TYPES:
            for has_zero in (False, True):
                dims = [3, 19]
                x, q = tensor_type(floats, dims), tensor_type(integers, dims)
                name, more = f"{floats}_{integers}{'_zero' * has_zero}", {"z": Input(integers, dims, any_values(integers))} if has_zero else {}
                operands, types = ("%x, %s, %z", [x, x, q]) if has_zero else ("%x, %s", [x, x])
                yield Case(f"quantize_{name}", {"x": Input(floats, dims, special_floats(60.0, TIES)), "s": Input(floats, dims, uniform(0.25, 2.0)), **more},
                           f"  %r = vx.quantize {operands} : {functional(*types, q)}", {"r": Result(integers, dims, Exact())})
                yield Case(f"dequantize_{name}", {"x": Input(integers, dims, any_values(integers)), "s": Input(floats, dims, uniform(-2.0, 2.0)), **more},
                           f"  %r = vx.dequantize {operands} : {functional(q, *types[1:], x)}", {"r": Result(floats, dims, Ulp(1))})
    for dims in ([], [0], [1], [3, 0], [1021]):
        x, q = tensor_type("f32", dims), tensor_type("ui8", dims)
        yield Case(f"size_{'x'.join(map(str, dims)) or 'scalar'}", {"x": Input("f32", dims, special_floats(60.0, TIES)), "s": Input("f32", dims, uniform(0.25, 2.0))},
                   f"  %q = vx.quantize %x, %s : {functional(x, x, q)}\n  %r = vx.dequantize %q, %s : {functional(q, x, x)}", {"r": Result("f32", dims, Ulp(1))})


def spread(name, dtype, dims, dim):
    """One number for all of a tensor, or one for each place of a dimension."""
    own = [] if dim is None else [dims[dim]]
    return f"  %{name}s = vx.broadcast %{name}, {[] if dim is None else [dim]} : {tensor_type(dtype, own)} -> {tensor_type(dtype, dims)}\n"


def factor(name, dtype, dims, scale_dim, zero):
    """The text, the inputs and the value of a dequantised factor. `zero`: None, a number for all, or a dimension with one for each of its places."""
    own = [] if scale_dim is None else [dims[scale_dim]]
    inputs = {name: Input(dtype, dims, any_values(dtype)), f"{name}f": Input("f32", own, uniform(0.01, 0.03))}
    text = spread(f"{name}f", "f32", dims, scale_dim)
    operands, types = f"%{name}, %{name}fs", [tensor_type(dtype, dims), tensor_type("f32", dims)]
    if isinstance(zero, int):
        text += f"  %{name}zs = vx.constant dense<{zero}> : {tensor_type(dtype, dims)}\n"
    elif zero:
        dim = zero[0]
        inputs[f"{name}z"] = Input(dtype, [] if dim is None else [dims[dim]], any_values(dtype))
        text += spread(f"{name}z", dtype, dims, dim)
    if zero is not None:
        operands, types = operands + f", %{name}zs", types + [tensor_type(dtype, dims)]
    return text + f"  %{name}d = vx.dequantize {operands} : {functional(*types, tensor_type('f32', dims))}\n", inputs


def products():
    """The reference multiplies floats; the sums of integers are exact. So they differ by the floats' rounding."""
    def bound(terms):
        most = (255 * 0.03) * (255 * 0.03)
        return at_most(lambda inputs: (terms + 4) * most * 2.0**-22, "(terms + 4) * 4 * epsilon * the largest product")
    for name, lhs, rhs, m, n, k, left, right in (
            ("tensor", "ui8", "i8", 17, 33, 70, (None, 7), (None, None)), ("columns", "ui8", "i8", 7, 50, 64, (None, 128), (1, None)),
            ("rows", "ui8", "i8", 9, 20, 31, (0, (0,)), (1, (1,))), ("signed", "i8", "i8", 17, 16, 48, (None, -3), (1, 0)),
            ("unsigned", "ui8", "ui8", 5, 70, 33, (None, (None,)), (1, 128)), ("other_signs", "i8", "ui8", 6, 7, 9, (None, None), (None, (None,))),
            ("one_row", "ui8", "i8", 1, 130, 257, (None, 3), (1, None)), ("along_sum", "ui8", "i8", 6, 7, 9, (None, 3), (0, None)),
            ("none", "ui8", "i8", 5, 6, 0, (None, 3), (1, (1,)))):
        a, first = factor("a", lhs, [m, k], *left)
        b, second = factor("b", rhs, [k, n], *right)
        yield Case(f"contract_{name}", {**first, **second},
                   f"{a}{b}  %r = vx.contract %ad, %bd batch = [] x [] contracting = [1] x [0] : {tensor_type('f32', [m, k])}, {tensor_type('f32', [k, n])}",
                   {"r": Result("f32", [m, n], bound(k))})
    # A batch, and both factors transposed.
    a, first = factor("a", "ui8", [3, 20, 6], 2, 9)
    b, second = factor("b", "i8", [3, 7, 20], 1, (1,))
    yield Case("contract_batch", {**first, **second},
               f"{a}{b}  %r = vx.contract %ad, %bd batch = [0] x [0] contracting = [1] x [2] : {tensor_type('f32', [3, 20, 6])}, {tensor_type('f32', [3, 7, 20])}",
               {"r": Result("f32", [3, 6, 7], bound(20))})
    for name, x_type, w_type, x, groups, filters, kernel, strides, dilations, low, high, left, right in (
            ("tensor", "ui8", "i8", [2, 5, 9, 7], 1, 20, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 7, (None, None)),
            ("filters", "ui8", "i8", [1, 16, 8, 8], 1, 33, [3, 3], [2, 1], [1, 2], [0, 1], [1, 2], 128, (0, 0)),
            ("pointwise", "ui8", "i8", [1, 20, 5, 7], 1, 33, [1, 1], [1, 1], [1, 1], [0, 0], [0, 0], (None,), (0, None)),
            ("signed", "i8", "i8", [1, 7, 8, 8], 1, 16, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 5, (0, None)),
            ("unsigned", "ui8", "ui8", [1, 7, 8, 9], 1, 9, [2, 3], [1, 1], [1, 1], [1, 0], [0, 1], (None,), (0, 128)),
            ("float_filter", "ui8", "i8", [1, 3, 8, 9], 1, 5, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 3, (0, 17)),
            ("depthwise", "ui8", "i8", [1, 19, 9, 12], 19, 19, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 200, (0, None)),
            ("groups", "ui8", "i8", [1, 20, 6, 7], 5, 20, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1, (0, None)),
            ("line", "i8", "i8", [2, 8, 21], 2, 8, [3], [1], [1], [1], [1], (None,), (None, None)),
            ("volume", "ui8", "i8", [1, 4, 5, 6, 7], 1, 6, [2, 2, 3], [1, 1, 1], [1, 1, 1], [1, 0, 1], [0, 1, 1], 9, (0, None))):
        w = [filters, x[1] // groups, *kernel]
        a, first = factor("a", x_type, x, None, left)
        b, second = factor("b", w_type, w, *right)
        result = [x[0], filters] + [(size + p + q - ((c - 1) * d + 1)) // s + 1 for size, c, s, d, p, q in zip(x[2:], kernel, strides, dilations, low, high)]
        terms = w[1]
        for size in kernel:
            terms *= size
        yield Case(f"conv_{name}", {**first, **second},
                   f"{a}{b}  %r = vx.conv %ad, %bd strides = {strides} dilations = {dilations} pads = {low} x {high} groups = {groups} : "
                   f"{tensor_type('f32', x)}, {tensor_type('f32', w)}", {"r": Result("f32", result, bound(terms))})


    # A convolution that is given with its channels last stays one of floats.
    x, w = [1, 6, 7, 5], [9, 5, 3, 3]
    a, first = factor("a", "ui8", x, None, 7)
    b, second = factor("b", "i8", w, 0, None)
    yield Case("conv_channels_last", {**first, **second},
               f"{a}{b}  %r = vx.conv %ad, %bd strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last : "
               f"{tensor_type('f32', x)}, {tensor_type('f32', w)}", {"r": Result("f32", [1, 6, 7, 9], bound(45))})


def constant(name, dtype, values):
    """A constant in the text of a program: the compiler sees what it is."""
    return f"  %{name} = vx.constant dense<{values.tolist()}> : {tensor_type(dtype, values.shape)}\n"


def weight(dtype, dims, column, scales, zeros, rng, floats="f32"):
    """The text of a constant weight `wd` that is dequantised. `scales` and `zeros` are None, "all", "columns", "rows", or the size of blocks along
    the sum, each of which has a number of its own. Dimension `column` is that of the columns."""
    low, high = {"i8": (-128, 127), "ui8": (0, 255), "i4": (-8, 7), "ui4": (0, 15), "i2": (-2, 1)}[dtype]
    text = constant("w", dtype, rng.integers(low, high, dims, endpoint=True))
    operands, types = ["%w"], [tensor_type(dtype, dims)]
    for name, what, own, values in (("s", scales, floats, lambda shape: np.round(rng.uniform(0.01, 0.03, shape), 4)),
                                    ("z", zeros, dtype, lambda shape: rng.integers(low, high, shape, endpoint=True))):
        if what is None:
            continue
        if isinstance(what, int):
            split = list(dims)
            split[1 - column : 2 - column] = [dims[1 - column] // what, what]
            few = [1 if d == 2 - column else size for d, size in enumerate(split)]
            text += (constant(f"{name}0", own, values(few)) + f"  %{name}1 = vx.broadcast %{name}0, [0, 1, 2] : {tensor_type(own, few)} -> {tensor_type(own, split)}\n"
                     f"  %{name} = vx.reshape %{name}1 : {tensor_type(own, split)} -> {tensor_type(own, dims)}\n")
        else:
            along = {"all": [], "columns": [column], "rows": [1 - column]}[what]
            few = [dims[d] for d in along]
            text += constant(f"{name}0", own, values(few)) + f"  %{name} = vx.broadcast %{name}0, {along} : {tensor_type(own, few)} -> {tensor_type(own, dims)}\n"
        operands.append(f"%{name}")
        types.append(tensor_type(own, dims))
    return text + f"  %wd = vx.dequantize {', '.join(operands)} : {functional(*types, tensor_type(floats, dims))}\n"


def weights():
    """Floats by constant weights of few bits."""
    rng = np.random.default_rng(11)
    few, dynamic = [{"M": size} for size in (1, 7)], [{"M": size} for size in (1, 2, 6, 12, 13, 40, 140)]
    for name, dtype, m, k, n, transposed, scales, zeros in (
            ("row", "i8", 1, 70, 33, False, "columns", None), ("tensor", "i8", 7, 31, 20, False, "all", None),
            ("rows", "i8", 17, 300, 70, False, "columns", None), ("many_rows", "i8", 133, 40, 200, False, "columns", None),
            ("zeros", "ui8", 9, 64, 50, False, "columns", "columns"), ("zero", "ui8", 1, 64, 50, False, "columns", "all"),
            ("sum", "i8", 5, 37, 18, False, "rows", "rows"), ("transposed", "i8", 6, 45, 77, True, "columns", "columns"),
            ("long", "i8", 2, 1100, 64, False, "columns", None), ("column", "i8", 3, 20, 1, False, "all", None),
            ("half", "i4", 1, 70, 33, False, "columns", None), ("half_rows", "i4", 30, 70, 128, False, "columns", None),
            ("half_unsigned", "ui4", 9, 41, 48, False, "columns", "columns"), ("half_transposed", "i4", 4, 45, 16, True, "all", None),
            ("half_pairs", "i4", 1, 70, 64, False, "columns", None), ("half_pairs_long", "i4", 3, 1100, 128, False, "columns", None),
            ("half_pairs_unsigned", "ui4", 7, 301, 192, False, "all", None), ("half_pairs_odd", "i4", 12, 600, 101, False, "columns", None),
            ("half_pairs_unsigned_long", "ui4", 1, 1100, 64, True, "columns", None), ("half_pairs_narrow_tile", "i4", 2, 24, 264, False, "columns", None),
            ("half_pairs_narrow_tile_unsigned", "ui4", 9, 33, 1000, False, "all", None),
            ("quarter", "i2", 4, 24, 20, False, "columns", None),
            ("blocks", "i8", 1, 96, 33, False, 32, None), ("blocks_rows", "i8", 20, 96, 70, False, 32, None),
            ("blocks_zeros", "ui8", 8, 96, 20, False, 16, 16), ("blocks_zero", "ui8", 3, 64, 20, False, 32, "all"),
            ("blocks_long", "i8", 7, 1120, 64, False, 32, None), ("blocks_large", "i8", 7, 900, 20, False, 300, 300),
            ("blocks_odd", "i8", 5, 35, 20, False, 7, None), ("blocks_uneven", "i8", 40, 500, 72, False, 125, None), ("one_block", "i8", 5, 48, 20, False, 48, None),
            ("blocks_half", "ui4", 1, 128, 80, True, 32, 32), ("blocks_half_rows", "ui4", 40, 64, 50, True, 16, 16),
            ("blocks_half_signed", "i4", 5, 64, 130, False, 32, None), ("blocks_of_two", "ui8", 4, 64, 20, False, 16, 32),
            ("dynamic", "i8", "M", 50, 70, False, "columns", "columns"), ("dynamic_blocks", "ui4", "M", 96, 64, True, 32, 32)):
        dims, column = ([n, k], 0) if transposed else ([k, n], 1)
        text = weight(dtype, dims, column, scales, zeros, rng)
        yield Case(f"weight_{name}", {"x": Input("f32", [m, k], uniform())},
                   f"{text}  %r = vx.contract %x, %wd batch = [] x [] contracting = [1] x [{1 - column}] : {tensor_type('f32', [m, k])}, {tensor_type('f32', dims)}",
                   {"r": Result("f32", [m, n], at_most(lambda inputs, k=k: (k + 4) * 255 * 0.03 * 2.0**-22, "(k + 4) * 2 * epsilon * the largest product"))},
                   header='vx.symbol "M"' if m == "M" else "", runs=(dynamic if m == "M" and not transposed else few) if m == "M" else ({},))
    # Other floats, two batches of rows, and an epilogue.
    for floats in ("f16", "bf16", "f64"):
        text = weight("i8", [40, 50], 1, "columns", "columns", rng, floats)
        yield Case(f"weight_{floats}", {"x": Input(floats, [2, 5, 40], uniform()), "b": Input(floats, [50], uniform())},
                   f"{text}  %p = vx.contract %x, %wd batch = [] x [] contracting = [2] x [0] : {tensor_type(floats, [2, 5, 40])}, {tensor_type(floats, [40, 50])}\n"
                   f"  %bs = vx.broadcast %b, [2] : {tensor_type(floats, [50])} -> {tensor_type(floats, [2, 5, 50])}\n  %q = vx.add %p, %bs : {tensor_type(floats, [2, 5, 50])}, {tensor_type(floats, [2, 5, 50])}\n"
                   f"  %r = vx.max %q, %bs : {tensor_type(floats, [2, 5, 50])}, {tensor_type(floats, [2, 5, 50])}",
                   {"r": Result(floats, [2, 5, 50], at_most(lambda inputs, e=EPSILON[floats]: 60 * 255 * 0.03 * e, "60 * epsilon * the largest product"))})
    for name, dtype, filters, x, kernel, scales, zeros in (
            ("conv", "i8", 20, [2, 5, 9, 7], [3, 3], 0, None), ("conv_half", "ui4", 33, [1, 6, 5, 7], [1, 1], 0, 0), ("conv_all", "ui8", 16, [1, 7, 8, 9], [2, 3], None, None)):
        w, out = [filters, x[1], *kernel], [x[0], filters, *(size - c + 1 for size, c in zip(x[2:], kernel))]
        low, high = {"i8": (-128, 127), "ui8": (0, 255), "ui4": (0, 15)}[dtype]
        own = [] if scales is None else [filters]
        text = (constant("w", dtype, rng.integers(low, high, w, endpoint=True)) + constant("s0", "f32", np.round(rng.uniform(0.01, 0.03, own), 4)) +
                f"  %s = vx.broadcast %s0, {[] if scales is None else [0]} : {tensor_type('f32', own)} -> {tensor_type('f32', w)}\n")
        operands, types = "%w, %s", [tensor_type(dtype, w), tensor_type("f32", w)]
        if zeros is not None:
            text += constant("z0", dtype, rng.integers(low, high, [filters], endpoint=True)) + f"  %z = vx.broadcast %z0, [0] : {tensor_type(dtype, [filters])} -> {tensor_type(dtype, w)}\n"
            operands, types = operands + ", %z", types + [tensor_type(dtype, w)]
        terms = int(np.prod(w[1:]))
        yield Case(f"weight_{name}", {"x": Input("f32", x, uniform())},
                   f"{text}  %wd = vx.dequantize {operands} : {functional(*types, tensor_type('f32', w))}\n"
                   f"  %r = vx.conv %x, %wd strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : {tensor_type('f32', x)}, {tensor_type('f32', w)}",
                   {"r": Result("f32", out, at_most(lambda inputs, t=terms: (t + 4) * 255 * 0.03 * 2.0**-22, "(terms + 4) * 2 * epsilon * the largest product"))})


def cases():
    yield from steps()
    yield from products()
    yield from weights()
