"""Softmax and the norms."""
import math

import numpy as np

from op_case import ACCUMULATOR, EPSILON, FLOATS, Case, Input, Points, Result, signed, tensor_type, uniform, values
from tolerance import at_most, relative


def softmax(name, dtype, dims, axis, make=uniform(-8, 8), log=False):
    terms = dims[axis]
    # e^x is 2 places off and moves by its argument's rounding (|x| up to 16); the sum has `terms` roundings, its reciprocal and the product one each.
    factor = terms + 2 * 2 + 16 + 3
    if log:
        epsilon = EPSILON[ACCUMULATOR[dtype]]
        rule = at_most(lambda inputs: epsilon * (factor + 4 * 32), "epsilon * (terms + 22 + 4 * 32): |input - m - ln(sum)| is below 32")
    else:
        rule = relative(factor, dtype)
    return Case(name, {"x": Input(dtype, dims, make)}, f"  %r = vx.softmax {'log' if log else ''} %x axis = {axis} : {tensor_type(dtype, dims)}",
                {"r": Result(dtype, dims, rule)})


def softmax_between(name, dims, axis):
    """A softmax of scaled and masked scores, whose elements are moved by those of another input."""
    t, row = tensor_type("f32", dims), dims[:axis] + dims[axis + 1:]
    other = [d for d in range(len(dims)) if d != axis]
    return Case(name, {"x": Input("f32", dims, uniform(-8, 8)), "mask": Input("f32", dims, uniform(-1, 0)), "row": Input("f32", row, uniform(1, 2))}, f"""
  %half = vx.constant dense<0.5> : {tensor_type("f32", [])}
  %halves = vx.broadcast %half, [] : {tensor_type("f32", [])} -> {t}
  %scaled = vx.mul %x, %halves : {t}, {t}
  %masked = vx.add %scaled, %mask : {t}, {t}
  %weights = vx.softmax %masked axis = {axis} : {t}
  %rows = vx.broadcast %row, {other} : {tensor_type("f32", row)} -> {t}
  %moved = vx.add %weights, %rows : {t}, {t}
  %r = vx.mul %moved, %mask : {t}, {t}""", {"r": Result("f32", dims, relative(dims[axis] + 2 * 2 + 16 + 8, "f32"))})


def layer_norm(name, dtype, dims, axis, epsilon=1e-5):
    inner = dims[axis:]
    terms = math.prod(inner)
    unit = EPSILON[ACCUMULATOR[dtype]]

    def bound(inputs):
        """Mean and variance have terms + 2 roundings each, relative to the magnitudes that they sum."""
        x = inputs["x"].reshape(*dims[:axis], -1)
        mean = x.mean(-1, keepdims=True)
        root = np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + epsilon)
        centred = (abs(x - mean) + (terms + 2) * unit * abs(x).mean(-1, keepdims=True)) / root
        moved = (terms + 2) * abs(x).mean(-1, keepdims=True) / root
        scale, bias = abs(inputs["s"]).reshape(-1), abs(inputs["b"]).reshape(-1)
        return (unit * ((centred * (terms + 6) + moved) * scale + bias)).reshape(dims)

    kinds = f"{tensor_type(dtype, dims)}, {tensor_type(dtype, inner)}, {tensor_type(dtype, inner)}"
    return Case(name, {"x": Input(dtype, dims, uniform(-3, 3)), "s": Input(dtype, inner, uniform(0.5, 1.5)), "b": Input(dtype, inner, uniform())},
                f"  %r = vx.layer_norm %x, %s, %b axis = {axis} epsilon = {epsilon:e} : {kinds}",
                {"r": Result(dtype, dims, at_most(bound, "epsilon * ((terms + 6) * |centred| + (terms + 2) * mean|x| / deviation) * |scale| + |bias|"))})


def rms_norm(name, dtype, dims, epsilon=1e-5):
    # A sum of squares has terms + 1 roundings, its root halves them; two products and a quotient.
    return Case(name, {"x": Input(dtype, dims, uniform(-3, 3)), "s": Input(dtype, dims[-1:], uniform(0.5, 1.5))},
                f"  %r = vx.rms_norm %x, %s, epsilon = {epsilon:e} : {tensor_type(dtype, dims)}, {tensor_type(dtype, dims[-1:])}",
                {"r": Result(dtype, dims, relative(dims[-1] / 2 + 4, dtype))},
                points=Points(signed(0.3, 1.7), "around 0 a row of one element goes from -1 to 1 within few steps of a difference") if dims[-1] == 1 else None)


def cases():
    for dtype in FLOATS:
        yield softmax(f"softmax_{dtype}", dtype, [5, 17], 1)
        yield softmax(f"log_softmax_{dtype}", dtype, [5, 17], 1, log=True)
        yield layer_norm(f"layer_norm_{dtype}", dtype, [5, 17], 1)
        yield rms_norm(f"rms_norm_{dtype}", dtype, [5, 17])
    for name, dims, axis in (("first_axis", [7, 3], 0), ("middle", [2, 5, 3], 1), ("one", [4, 1], 1), ("long", [2, 1031], 1),
                             ("empty_batch", [0, 5], 1), ("empty_row", [3, 0], 1), ("vector", [67], 0),
                             ("whole", [4, 64], 1), ("columns", [2, 5, 48], 1), ("columns_odd", [3, 6, 37], 1), ("columns_first", [9, 2, 21], 0)):
        yield softmax(f"softmax_{name}", "f32", dims, axis)
        yield softmax(f"log_softmax_{name}", "f32", dims, axis, log=True)
    nan, inf = float("nan"), float("inf")
    for name, row in (("nan", [1, nan, 2]), ("inf", [1, inf, 2]), ("minus_inf", [1, -inf, 2]), ("all_minus_inf", [-inf] * 3), ("large", [3e38, -3e38, 3e38])):
        yield softmax(f"softmax_{name}", "f32", [2, 3], 1, values(*row, 0.0, 1.0, 2.0))
        if name != "large":
            yield softmax(f"log_softmax_{name}", "f32", [2, 3], 1, values(*row, 0.0, 1.0, 2.0), log=True)
    # The weights lie in the result between the sum and the last product, whatever is computed before and after.
    for name, dims, axis in (("rows", [5, 197], 1), ("columns", [3, 7, 40], 1)):
        yield softmax_between(f"softmax_between_{name}", dims, axis)
    for name, dims, axis in (("two_axes", [3, 5, 7], 1), ("all", [5, 7], 0), ("one", [4, 1], 1), ("long", [2, 1031], 1), ("empty", [0, 5], 1)):
        yield layer_norm(f"layer_norm_{name}", "f32", dims, axis)
    for name, dims in (("3d", [2, 3, 7]), ("one", [4, 1]), ("long", [2, 1031]), ("empty", [0, 5]), ("vector", [67])):
        yield rms_norm(f"rms_norm_{name}", "f32", dims)
