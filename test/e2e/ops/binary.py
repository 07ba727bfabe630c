"""Elementwise ops of two and three operands."""
import numpy as np

from op_case import FLOATS, INTEGERS, Case, Input, Points, Result, any_values, apart, bools, encode, signed, special_floats, tensor_type, uniform
from tolerance import Exact, Ulp

INT_OR_BOOL = INTEGERS + ("i1",)
# At which points gradients are compared.
UNEQUAL = Points({"x": apart, "y": lambda rng, shape: apart(rng, shape) + 0.005}, "where both are equal the one and the other changes over")
POINTS = {"max": UNEQUAL, "min": UNEQUAL, "div": Points({"x": signed(0.3, 1.7), "y": signed(0.3, 1.7)}, "it has no value where the divisor is 0"),
          "rem": Points({"x": signed(2.3, 2.7), "y": signed(0.93, 1.05)}, "it jumps where the quotient is a whole number"),
          "pow": Points({"x": uniform(0.3, 2.0), "y": signed(0.3, 1.7)}, "below 0 it has values for whole exponents only")}
NO_BITS = "bits of an f32 are another number as an f64"


def binary(op, dtype, dims, x, y, rule, result=None, name=None):
    kind = tensor_type(dtype, dims)
    return Case(name or f"{op.replace(' ', '_')}_{dtype}_{'x'.join(map(str, dims)) or 'scalar'}",
                {"x": Input(dtype, dims, x), "y": Input(dtype, dims, y)}, f"  %r = vx.{op} %x, %y : {kind}, {kind}",
                {"r": Result(result or dtype, dims, rule)}, points=POINTS.get(op))


def pairs(dtype):
    """Two operands that meet special values with special values in every combination."""
    if dtype == "i1":
        return (lambda rng, shape: np.resize([False, False, True, True], shape),
                lambda rng, shape: np.resize([False, True], shape), [8])
    if dtype in FLOATS:
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -3.0, 7.5, 0.001, 1000.0]
    else:
        bits = int(dtype.lstrip("ui"))
        special = [0, 1, 2, 3, 7, 2**bits - 1, 2**bits - 3] if dtype[0] == "u" else \
            [0, 1, -1, 2, -3, 7, -(2**(bits - 1)), 2**(bits - 1) - 1]
    count = len(special)
    data = np.array(special, dtype=float if dtype in FLOATS else np.uint64 if dtype[0] == "u" else np.int64)
    return (lambda rng, shape: np.repeat(data, count)), (lambda rng, shape: np.tile(data, count)), [count * count]


def with_constant(op, dtype, rule):
    """A constant on either side: what compilers and drivers like to fold, rightly or not, where the other side is NaN, infinite or zero."""
    if dtype in FLOATS:
        bits = lambda value: f"0x{encode(np.array([value]), dtype).tobytes()[::-1].hex()}"
        constants = [bits(value) for value in (0.0, -0.0, 1.0, -1.0, 2.0, 3.0, np.inf, -np.inf, np.nan, 1e-30 if dtype != "f16" else 1e-4)]
    else:
        constants = [0, 1, 2, 7] + ([] if dtype[0] == "u" else [-1, -8])
    x, _, dims = pairs(dtype)
    kind = tensor_type(dtype, dims)
    lines, results = [], {}
    for number, constant in enumerate(constants):
        lines.append(f"  %c{number} = vx.constant dense<{constant}> : {kind}")
        for side, operands in (("l", f"%c{number}, %x"), ("r", f"%x, %c{number}")):
            lines.append(f"  %{side}{number} = vx.{op} {operands} : {kind}, {kind}")
            results[f"{side}{number}"] = Result(dtype, dims, rule)
    return Case(f"{op}_{dtype}_constants", {"x": Input(dtype, dims, x)}, "\n".join(lines), results, without_gradient=NO_BITS if dtype in FLOATS else None)


def bytes_of_rows(dtype, op, width):
    """Vectors of as many bytes as a register has, through rows that are shorter and longer, with one element for all and one for each column."""
    dims, kind = [3, 5, width], tensor_type(dtype, [3, 5, width])
    body = f"""  %a = vx.broadcast %z, [2] : {tensor_type(dtype, [1])} -> {kind}
  %b = vx.broadcast %c, [2] : {tensor_type(dtype, [width])} -> {kind}
  %s = vx.{op} %x, %a : {kind}, {kind}
  %r = vx.{op} %s, %b : {kind}, {kind}
  %t = vx.compare lt %x, %b : {kind}, {kind}"""
    return Case(f"bytes_of_rows_{op}_{dtype}_{width}", {"x": Input(dtype, dims, any_values(dtype)), "z": Input(dtype, [1], any_values(dtype)),
                                                        "c": Input(dtype, [width], any_values(dtype))},
                body, {"r": Result(dtype, dims, Exact()), "t": Result("i1", dims, Exact())})


def cases():
    for width in (1, 7, 23, 32, 40, 45, 64, 256, 300):
        yield bytes_of_rows("ui8", "add", width)
        yield bytes_of_rows("i8", "max", width)
        yield bytes_of_rows("i1", "and", width)
    for dtype, ops in (("f32", ("add", "sub", "mul", "div", "max", "min")), ("f16", ("mul", "div")), ("f64", ("mul", "div"))):
        for op in ops:
            yield with_constant(op, dtype, Ulp(0))
    yield with_constant("pow", "f32", Ulp(2))
    for dtype in ("i32", "ui8"):
        for op in ("add", "sub", "mul", "div", "rem", "max", "min"):
            yield with_constant(op, dtype, Exact())
    for dtype in FLOATS:
        x, y, dims = pairs(dtype)
        for op in ("add", "sub", "mul", "max", "min", "rem"):
            yield binary(op, dtype, dims, x, y, Ulp(0))
        # OpFDiv may be 2.5 places off; ours is made to round correctly.
        yield binary("div", dtype, dims, x, y, Ulp(0))
        yield binary("pow", dtype, dims, x, y, Ulp(1 if dtype in ("f16", "bf16") else 3 if dtype == "f64" else 2))
        yield binary("div", dtype, [131], uniform(-9, 9), uniform(0.1, 5), Ulp(0))
        yield binary("pow", dtype, [131], uniform(0.01, 9), uniform(-5, 5),
                     Ulp(1 if dtype in ("f16", "bf16") else 3 if dtype == "f64" else 2))
        yield binary("rem", dtype, [131], uniform(-900, 900), uniform(0.1, 5), Ulp(0))
    for dtype in INTEGERS:
        x, y, dims = pairs(dtype)
        for op in ("add", "sub", "mul", "div", "rem", "max", "min", "and", "or", "xor"):
            yield binary(op, dtype, dims, x, y, Exact())
    for op in ("and", "or", "xor"):
        x, y, dims = pairs("i1")
        yield binary(op, "i1", dims, x, y, Exact())
    for dtype in FLOATS + INT_OR_BOOL:
        x, y, dims = pairs(dtype)
        wide = dtype in ("f32", "i32", "ui64", "i1", "i64", "ui8")
        for predicate in ("eq", "ne", "lt", "le", "gt", "ge") if wide else ("ne", "lt", "ge"):
            yield binary(f"compare {predicate}", dtype, dims, x, y, Exact(), "i1")
    for dtype in FLOATS + INT_OR_BOOL:
        dims, kind = [3, 7], tensor_type(dtype, [3, 7])
        yield Case(f"select_{dtype}", {"c": Input("i1", dims, bools), "x": Input(dtype, dims, any_values(dtype)),
                                       "y": Input(dtype, dims, any_values(dtype))},
                   f"  %r = vx.select %c, %x, %y : {tensor_type('i1', dims)}, {kind}, {kind}",
                   {"r": Result(dtype, dims, Exact())})
    for dims in ([], [0], [1], [2, 0], [17], [3, 1, 5], [1009]):
        yield binary("sub", "f32", dims, special_floats(), uniform(), Ulp(0), name=f"sub_size_{'x'.join(map(str, dims)) or 'scalar'}")
    # The same value twice, and a chain that becomes one kernel.
    kind = tensor_type("f32", [37])
    yield Case("square", {"x": Input("f32", [37], special_floats())}, f"  %r = vx.mul %x, %x : {kind}, {kind}",
               {"r": Result("f32", [37], Ulp(0))})
    yield Case("chain", {"x": Input("f32", [37], uniform()), "y": Input("f32", [37], uniform())}, f"""
  %a = vx.max %x, %y : {kind}, {kind}
  %b = vx.neg %a : {kind}
  %c = vx.compare lt %b, %x : {kind}, {kind}
  %r = vx.select %c, %b, %y : tensor<37xi1>, {kind}, {kind}""", {"r": Result("f32", [37], Exact())}, points=UNEQUAL)
