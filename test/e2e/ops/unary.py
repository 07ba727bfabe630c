"""Elementwise ops of one operand."""
from op_case import FLOATS, INTEGERS, SIGNED, Case, Input, Points, Result, any_values, bools, signed, special_floats, uniform
from tolerance import Exact, Ulp

# Places from the correctly rounded result: the math library's bound of 1.5, and half a place of the reference. f64 has a
# looser bound; f16 and bf16 are computed in f32, whose error moves a tie to one side.
MATH = {"f32": 2, "f64": 3, "f16": 1, "bf16": 1}
NEAR = (0.1, 3.0, 10.0, 30.0, 88.0, -88.0, 100.0, -100.0, 1e-3, -1e-3, 3.1415927, 1.5707964, 255.5)

# At which points gradients are compared.
ABOVE_ZERO = Points(uniform(0.3, 3.0), "it has no value below 0")
INSIDE = Points(signed(0.1, 0.9), "it has no value beyond -1 and 1")
STEPS = Points(lambda rng, shape: rng.integers(-4, 4, shape) + rng.uniform(0.55, 0.95, shape), "it jumps at whole numbers, or halfway between them")
OFF_ZERO = Points(signed(0.3, 3.0), "it has a kink or a jump at 0")
POINTS = {"sqrt": ABOVE_ZERO, "log": ABOVE_ZERO, "asin": INSIDE, "acos": INSIDE, "ceil": STEPS, "floor": STEPS, "round": STEPS, "sign": OFF_ZERO, "abs": OFF_ZERO}


def unary(op, dtype, dims, make, rule, result=None):
    return Case(f"{op}_{dtype}_{'x'.join(map(str, dims)) or 'scalar'}", {"x": Input(dtype, dims, make)},
                f"  %r = vx.{op} %x : {Input(dtype, dims, make).type()}", {"r": Result(result or dtype, dims, rule)},
                points=POINTS.get(op))


def cases():
    for dtype in FLOATS:
        for op in ("neg", "abs"):
            yield unary(op, dtype, [5, 7], special_floats(), Exact())
        for op in ("sign", "ceil", "floor", "round", "sqrt"):
            yield unary(op, dtype, [5, 7], special_floats(300.0), Ulp(0))
        for op in ("exp", "log", "sin", "cos", "tanh", "erf"):
            yield unary(op, dtype, [11, 13], special_floats(60.0, NEAR), Ulp(MATH[dtype]))
        for op in ("asin", "acos"):
            yield unary(op, dtype, [11, 13], special_floats(1.0, (0.5, -0.5, 1.0, -1.0, 0.99999, -0.99999, 1e-3, 0.4999, 0.5001)), Ulp(MATH[dtype]))
        yield unary("atan", dtype, [11, 13], special_floats(4.0, (0.4375, 0.6875, 1.1875, 2.4375, 0.4374, 2.4376, 1e-3, 1e4, -1e4)), Ulp(MATH[dtype]))
        for op in ("is_nan", "is_inf"):
            yield unary(op, dtype, [17], special_floats(), Exact(), "i1")
    for dtype in INTEGERS:
        yield unary("neg", dtype, [19], any_values(dtype), Exact())
        yield unary("not", dtype, [19], any_values(dtype), Exact())
    for dtype in SIGNED + ("ui8", "ui32", "ui64"):
        yield unary("abs", dtype, [19], any_values(dtype), Exact())
        yield unary("sign", dtype, [19], any_values(dtype), Exact())
    yield unary("not", "i1", [23], bools, Exact())
    for op in ("asin", "acos"):  # of numbers that have gradients
        yield unary(op, "f32", [9, 7], uniform(-0.9, 0.9), Ulp(MATH["f32"]))
    # Sizes: scalars, none, one, primes around the width of a vector and of a workgroup, several dimensions.
    for dims in ([], [0], [1], [7], [3, 0, 5], [1, 1, 1, 1], [257], [3, 1, 5, 2], [1031], [2, 3, 2, 1, 5]):
        yield unary("exp", "f32", dims, uniform(), Ulp(MATH["f32"]))
        if dims not in ([7], [257]):
            yield unary("abs", "i8", dims, any_values("i8"), Exact())
