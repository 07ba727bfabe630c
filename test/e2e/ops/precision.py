"""Products in the precision that the user chose (`vx-compile --precision`), against the reference of the f32 program."""
import numpy as np

from op_case import EPSILON, Case, Input, Result, decode, tensor_type, uniform
from tolerance import Bound, sum_of

# The unit roundoff of a factor; tf32 has the significand of f16.
ROUNDOFF = {"tf32": 2.0**-11, "f16": 2.0**-11, "bf16": 2.0**-8}
KINDS = ("tf32", "f16", "bf16")


def apart_from_zero(rng, shape):
    """Of a size that no type here loses bits of."""
    return rng.uniform(2.0**-4, 1, shape) * rng.choice([-1, 1], shape)


def rounded_sum_of(terms, kind):
    """Each product has two rounded factors; the sum is one of f32."""
    unit = ROUNDOFF[kind]
    factor = 2 * unit + unit * unit + (terms + 1) * EPSILON["f32"] * (1 + unit) ** 2
    return Bound(lambda context: factor * decode(context.of_magnitudes(), "f32"),
                 f"(2 u + u^2 + (terms + 1) * epsilon) * sum of magnitudes, u = {unit}, {terms} terms")


def matmul(kind, m, n, k, transposed=(False, False), epilogue=False):
    left, right = [k, m] if transposed[0] else [m, k], [n, k] if transposed[1] else [k, n]
    order = "".join("t" if flag else "n" for flag in transposed)
    name = f"{kind}_matmul_{m}x{n}x{k}_{order}{'_epilogue' if epilogue else ''}"
    inputs = {"a": Input("f32", left, apart_from_zero), "b": Input("f32", right, apart_from_zero)}
    body = (f"  %{'p' if epilogue else 'r'} = vx.contract %a, %b batch = [] x [] contracting = [{int(not transposed[0])}] x [{int(transposed[1])}] : "
            f"{tensor_type('f32', left)}, {tensor_type('f32', right)}")
    if epilogue:
        kind_of = tensor_type("f32", [m, n])
        inputs["c"] = Input("f32", [n], uniform(0, 1))
        body += f"""
  %w = vx.broadcast %c, [1] : tensor<{n}xf32> -> {kind_of}
  %r = vx.add %p, %w : {kind_of}, {kind_of}"""
    return Case(name, inputs, body, {"r": Result("f32", [m, n], rounded_sum_of(k + epilogue, kind))}, precision=kind)


def conv(kind, name, input_dims, filters, kernel, stride, pad):
    filter_dims = [filters, input_dims[1]] + kernel
    result = [input_dims[0], filters] + [(size + 2 * pad - k) // stride + 1 for size, k in zip(input_dims[2:], kernel)]
    spatial = len(kernel)
    return Case(f"{kind}_conv_{name}", {"x": Input("f32", input_dims, apart_from_zero), "w": Input("f32", filter_dims, apart_from_zero)},
                f"  %r = vx.conv %x, %w strides = {[stride] * spatial} dilations = {[1] * spatial} pads = {[pad] * spatial} x {[pad] * spatial} groups = 1 : "
                f"{tensor_type('f32', input_dims)}, {tensor_type('f32', filter_dims)}",
                {"r": Result("f32", result, rounded_sum_of(int(np.prod(filter_dims[1:])), kind))}, precision=kind)


def weights(kind, name, input_dims, filters, kernel, stride=1, dilation=1, low=(0, 0), high=(0, 0), header="", runs=None):
    """A convolution by constants, which kernels read in an order of their own. They are positive, as the bound wants magnitudes."""
    filter_dims = [filters, input_dims[1]] + kernel
    values = np.random.default_rng(len(name)).uniform(2.0**-4, 1, filter_dims).astype(np.float32)
    result = [input_dims[0], filters] + [(size + a + b - dilation * (k - 1) - 1) // stride + 1
                                         for size, k, a, b in zip(input_dims[2:], kernel, low, high)]
    body = (f"  %w = vx.constant dense<\"0x{values.tobytes().hex()}\"> : {tensor_type('f32', filter_dims)}\n"
            f"  %r = vx.conv %x, %w strides = {[stride] * 2} dilations = {[dilation] * 2} pads = {list(low)} x {list(high)} groups = 1 : "
            f"{tensor_type('f32', input_dims)}, {tensor_type('f32', filter_dims)}")
    more = {"header": header, "runs": runs} if runs else {}
    return Case(f"{kind}_weights_{name}", {"x": Input("f32", input_dims, apart_from_zero)}, body,
                {"r": Result("f32", result, rounded_sum_of(int(np.prod(filter_dims[1:])), kind))}, precision=kind, **more)


def cases():
    for kind in KINDS:
        yield weights(kind, "1x1", [1, 32, 9, 7], 24, [1, 1])
        yield weights(kind, "3x3_padded", [1, 16, 13, 11], 40, [3, 3], low=(1, 1), high=(1, 1))
        yield weights(kind, "strides_dilations", [2, 8, 17, 19], 17, [3, 2], stride=2, dilation=2, low=(2, 0), high=(1, 3))
        yield weights(kind, "odd_sum", [1, 24, 7, 10], 33, [3, 3], low=(1, 1), high=(1, 1))
        yield weights(kind, "few_channels", [1, 12, 8, 8], 16, [3, 3], low=(1, 1), high=(1, 1))
        yield weights(kind, "batch", ["n", 16, 6, 6], 16, [3, 3], low=(1, 1), high=(1, 1), header='vx.symbol "n" min = 0 max = 64',
                      runs=({"n": 0}, {"n": 1}, {"n": 5}))
        # Single elements and rows, primes, whole tiles, one more and one less than a tile, aligned rows of no whole tile.
        for m, n, k in ((1, 1, 1), (1, 17, 7), (7, 1, 17), (7, 17, 31), (17, 7, 1), (31, 37, 41), (64, 64, 64), (65, 63, 33), (127, 129, 67), (48, 72, 40),
                        (9, 256, 264), (128, 128, 512), (0, 5, 3), (16, 16, 0)):
            yield matmul(kind, m, n, k)
        for transposed in ((False, True), (True, False), (True, True)):
            yield matmul(kind, 40, 56, 24, transposed)
            yield matmul(kind, 37, 53, 29, transposed)
        yield matmul(kind, 33, 40, 48, epilogue=True)
        yield conv(kind, "3x3", [1, 16, 12, 16], 32, [3, 3], 1, 1)
        yield conv(kind, "odd", [2, 3, 11, 7], 17, [3, 3], 2, 1)
        yield conv(kind, "1x1", [1, 24, 7, 7], 40, [1, 1], 1, 0)
        yield conv(kind, "7x7_stem", [1, 3, 23, 23], 16, [7, 7], 2, 3)
        yield Case(f"{kind}_batched", {"a": Input("f32", [3, 19, 16], apart_from_zero), "b": Input("f32", [3, 16, 24], apart_from_zero)},
                   "  %r = vx.contract %a, %b batch = [0] x [0] contracting = [2] x [1] : tensor<3x19x16xf32>, tensor<3x16x24xf32>",
                   {"r": Result("f32", [3, 19, 24], rounded_sum_of(16, kind))}, precision=kind)
        yield Case(f"{kind}_dynamic", {"a": Input("f32", ["n", 40], apart_from_zero), "b": Input("f32", [40, 24], apart_from_zero)},
                   f"  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : {tensor_type('f32', ['n', 40])}, tensor<40x24xf32>",
                   {"r": Result("f32", ["n", 24], rounded_sum_of(40, kind))}, header='vx.symbol "n" min = 0 max = 4096',
                   runs=({"n": 0}, {"n": 1}, {"n": 17}, {"n": 130}), precision=kind)
    # The model's own narrow factors, with the sum as it was accumulated and rounded to their type.
    for dtype in ("f16", "bf16"):
        for m, n, k in ((33, 47, 19), (64, 40, 72)):
            operands = f"{tensor_type(dtype, [m, k])}, {tensor_type(dtype, [k, n])}"
            inputs = {"a": Input(dtype, [m, k], uniform()), "b": Input(dtype, [k, n], uniform())}
            for sums, result in ((" sums = f32", "f32"), ("", dtype)):
                yield Case(f"{dtype}_factors_{m}x{n}x{k}_{result}", inputs,
                           f"  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0]{sums} : {operands}",
                           {"r": Result(result, [m, n], sum_of(k, result))})
