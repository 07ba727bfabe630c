"""Floats of 8 and 4 bits, integers of 4 and 2: converted, moved, computed with, and packed in memory."""
import numpy as np

from op_case import PACKED, Case, Input, Result, any_values, integers, special_floats, tensor_type, values
from tolerance import Exact

FLOATS_OF_8 = ("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU")


def codes_of(dtype):
    """A type whose elements are the bits."""
    return "ui4" if dtype.startswith("f4") else "ui8"


def every_code(dtype):
    return values(*range(16 if dtype.startswith("f4") else 256))


def near_ties(rng, shape):
    """Powers of two by few bits of a mantissa, so that many lie half way between two numbers, or right beside."""
    size = np.ldexp(rng.integers(32, 64, shape) / 32.0, rng.integers(-20, 19, shape))
    size = np.where(rng.random(shape) < 0.1, np.ldexp(size, rng.integers(-120, 110, shape)), size)
    beside = np.nextafter(size.astype(np.float32), np.float32(np.inf) * rng.choice([-1, 1], shape)).astype(np.float64)
    return np.where(rng.random(shape) < 0.3, beside, size) * rng.choice([-1, 1], shape)


def decode(dtype, wide):
    dims = [2, 256]
    codes = codes_of(dtype)
    return Case(f"{dtype}_to_{wide}", {"x": Input(codes, dims, every_code(dtype))}, f"""
  %n = vx.bitcast %x : {tensor_type(codes, dims)} -> {tensor_type(dtype, dims)}
  %r = vx.cast %n : {tensor_type(dtype, dims)} -> {tensor_type(wide, dims)}""", {"r": Result(wide, dims, Exact())})


def encode(dtype, wide, make, name=""):
    dims = [1021]
    codes = codes_of(dtype)
    return Case(f"{wide}_to_{dtype}{name}", {"x": Input(wide, dims, make)}, f"""
  %n = vx.cast %x : {tensor_type(wide, dims)} -> {tensor_type(dtype, dims)}
  %r = vx.bitcast %n : {tensor_type(dtype, dims)} -> {tensor_type(codes, dims)}""", {"r": Result(codes, dims, Exact())})


def moved(name, dtype, dims, op, result):
    text = op.format(x=tensor_type(dtype, dims), r=tensor_type(dtype, result))
    return Case(f"{name}_{dtype}", {"x": Input(dtype, dims, any_values(dtype))}, f"  %r = {text}", {"r": Result(dtype, result, Exact())})


def computed(name, dtype, dims, op, result=None, dtype_of_result=None):
    """`op` is text over %x and %y."""
    result, dtype_of_result = dims if result is None else result, dtype_of_result or dtype
    return Case(f"{name}_{dtype}", {"x": Input(dtype, dims, any_values(dtype)), "y": Input(dtype, dims, any_values(dtype))},
                f"  %r = {op.format(t=tensor_type(dtype, dims))}", {"r": Result(dtype_of_result, result, Exact())})


def cases():
    for dtype in FLOATS_OF_8 + ("f4E2M1FN",):
        for wide in ("f32", "f16", "i8"):
            yield decode(dtype, wide)
        for wide in ("f32", "bf16"):
            yield encode(dtype, wide, special_floats(600.0, (448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 6.0, 7.0, 5.0, 240.0, 248.0, 0.25, 0.75)))
        for wide in ("f32", "f64"):
            yield encode(dtype, wide, near_ties, "_ties")
    for wide in ("f64", "i1"):
        yield decode("f8E4M3FN", wide)
    yield encode("f8E4M3FN", "i32", any_values("i32"))
    # From one to the other.
    dims = [256]
    yield Case("f8E5M2_to_f8E4M3FN", {"x": Input("ui8", dims, every_code("f8E5M2"))}, """
  %n = vx.bitcast %x : tensor<256xui8> -> tensor<256xf8E5M2>
  %m = vx.cast %n : tensor<256xf8E5M2> -> tensor<256xf8E4M3FN>
  %r = vx.bitcast %m : tensor<256xf8E4M3FN> -> tensor<256xui8>""", {"r": Result("ui8", dims, Exact())})
    for dtype in PACKED:
        for dims in ([], [7], [2, 0, 3], [2, 3, 5], [1021]):
            name = "x".join(map(str, dims)) or "scalar"
            for wide in ("i32", "f32") if dims == [2, 3, 5] else ("i32",):
                yield Case(f"{wide}_to_{dtype}_{name}", {"x": Input(wide, dims, any_values(wide))},
                           f"  %r = vx.cast %x : {tensor_type(wide, dims)} -> {tensor_type(dtype, dims)}", {"r": Result(dtype, dims, Exact())})
                yield Case(f"{dtype}_to_{wide}_{name}", {"x": Input(dtype, dims, any_values(dtype))},
                           f"  %r = vx.cast %x : {tensor_type(dtype, dims)} -> {tensor_type(wide, dims)}", {"r": Result(wide, dims, Exact())})
        yield moved("transpose", dtype, [5, 7], "vx.transpose %x, [1, 0] : {x}", [7, 5])
        yield moved("broadcast", dtype, [3, 1], "vx.broadcast %x, [1, 2] : {x} -> {r}", [2, 3, 5])
        yield moved("slice", dtype, [11], "vx.slice %x starts [#vx.dim<2>] strides [3] : {x} -> {r}", [3])
        yield computed("add", dtype, [3, 5], "vx.add %x, %y : {t}, {t}")
        yield computed("div", dtype, [3, 5], "vx.div %x, %y : {t}, {t}")
        yield computed("less", dtype, [3, 5], "vx.compare lt %x, %y : {t}, {t}", dtype_of_result="i1")
        yield computed("concat", dtype, [3, 5], "vx.concat axis = 1 (%x, %y) : {t}, {t}", [3, 10])
        yield computed("concat_odd", dtype, [5], "vx.concat axis = 0 (%x, %y) : {t}, {t}", [10])
        yield computed("sum", dtype, [3, 21], "vx.reduce sum %x axes = [1] : {t}", [3])
    # Sizes that the call brings, read and written at both ends of a kernel.
    wide, narrow = tensor_type("i32", ["n", 3]), tensor_type("i4", ["n", 3])
    yield Case("symbolic", {"x": Input("i32", ["n", 3], integers(-9, 9)), "y": Input("i4", ["n", 3], integers(-8, 7))}, f"""
  %c = vx.cast %x : {wide} -> {narrow}
  %r = vx.add %c, %y : {narrow}, {narrow}
  %s = vx.cast %y : {narrow} -> {wide}""", {"r": Result("i4", ["n", 3], Exact()), "s": Result("i32", ["n", 3], Exact())},
               header='vx.symbol "n"', runs=({"n": 0}, {"n": 1}, {"n": 2}, {"n": 5}, {"n": 64}, {"n": 341}))
    # Packed elements that are read by other kernels, and constants.
    yield Case("chain", {"x": Input("f32", [7, 9], special_floats(9.0))}, """
  %n = vx.cast %x : tensor<7x9xf32> -> tensor<7x9xi4>
  %t = vx.transpose %n, [1, 0] : tensor<7x9xi4>
  %k = vx.constant dense<[-8, -1, 0, 1, 2, 3, 7]> : tensor<7xi4>
  %b = vx.broadcast %k, [1] : tensor<7xi4> -> tensor<9x7xi4>
  %m = vx.mul %t, %b : tensor<9x7xi4>, tensor<9x7xi4>
  %s = vx.reduce max %m axes = [0] : tensor<9x7xi4>
  %r = vx.cast %m : tensor<9x7xi4> -> tensor<9x7xf32>""", {"t": Result("i4", [9, 7], Exact()), "s": Result("i4", [7], Exact()), "r": Result("f32", [9, 7], Exact())})
    # Sums of products of small numbers, which are exact, and rounded once.
    yield Case("matmul_f8E4M3FN", {"a": Input("i8", [5, 13], integers(-4, 4)), "b": Input("i8", [13, 6], integers(-4, 4))}, """
  %x = vx.cast %a : tensor<5x13xi8> -> tensor<5x13xf8E4M3FN>
  %y = vx.cast %b : tensor<13x6xi8> -> tensor<13x6xf8E4M3FN>
  %p = vx.contract %x, %y batch = [] x [] contracting = [1] x [0] : tensor<5x13xf8E4M3FN>, tensor<13x6xf8E4M3FN>
  %r = vx.bitcast %p : tensor<5x6xf8E4M3FN> -> tensor<5x6xui8>""", {"r": Result("ui8", [5, 6], Exact())})
    # The same bits of other types.
    for source, target in (("f32", "i32"), ("i64", "f64"), ("f16", "ui16"), ("bf16", "f16"), ("i8", "ui8"), ("i1", "ui8"), ("ui8", "i1"), ("i4", "ui4"), ("ui2", "i2")):
        dims = [53]
        yield Case(f"bits_of_{source}_as_{target}", {"x": Input(source, dims, any_values(source))},
                   f"  %r = vx.bitcast %x : {tensor_type(source, dims)} -> {tensor_type(target, dims)}", {"r": Result(target, dims, Exact())})
