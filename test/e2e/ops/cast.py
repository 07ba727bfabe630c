"""Conversions between all element types."""
from op_case import FLOATS, INTEGERS, Case, Input, Result, any_values, special_floats, tensor_type
from tolerance import Exact

BOUNDARIES = (0.49999997, 127.0, 127.5, 128.0, -128.0, -129.0, 255.0, 255.9, 256.0, -0.9, 32767.5, 32768.0, -32769.0, 65504.0,
              65520.0, 65536.0, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0,
              9.223371e18, 9.223372e18, -9.223372e18, 1.8446743e19, 1.8446744e19, 3.0e38, -3.0e38, 1e-3, 16777217.0)


def convert(source, target):
    dims = [53]
    make = special_floats(300.0, BOUNDARIES) if source in FLOATS else any_values(source)
    return Case(f"{source}_to_{target}", {"x": Input(source, dims, make)},
                f"  %r = vx.cast %x : {tensor_type(source, dims)} -> {tensor_type(target, dims)}",
                {"r": Result(target, dims, Exact())})


def cases():
    everything = FLOATS + INTEGERS + ("i1",)
    for source in everything:
        for target in everything:
            if source != target:
                yield convert(source, target)
    for dims in ([], [0], [1], [3, 0], [2, 3, 5], [1021]):
        yield Case(f"size_{'x'.join(map(str, dims)) or 'scalar'}", {"x": Input("i32", dims, any_values("i32"))},
                   f"  %r = vx.cast %x : {tensor_type('i32', dims)} -> {tensor_type('f32', dims)}",
                   {"r": Result("f32", dims, Exact())})
    # Rounded and widened again in one kernel.
    for wide, narrow in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16")):
        dims = [1021]
        yield Case(f"{wide}_through_{narrow}", {"x": Input(wide, dims, special_floats(300.0, BOUNDARIES))},
                   f"  %n = vx.cast %x : {tensor_type(wide, dims)} -> {tensor_type(narrow, dims)}\n"
                   f"  %r = vx.cast %n : {tensor_type(narrow, dims)} -> {tensor_type(wide, dims)}", {"r": Result(wide, dims, Exact())})
