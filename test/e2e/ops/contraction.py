"""Contractions and convolutions."""
import math

import numpy as np

from op_case import FLOATS, INTEGERS, Case, Input, Result, any_values, special_floats, tensor_type, uniform, values
from tolerance import Exact, Ulp, sum_of


def contract(name, dtype, lhs, rhs, batch, contracting, make=None, result_type=None):
    (left_batch, right_batch), (left, right) = batch, contracting
    free = lambda dims, used: [size for axis, size in enumerate(dims) if axis not in used]
    result = [lhs[axis] for axis in left_batch] + free(lhs, left_batch + left) + free(rhs, right_batch + right)
    make = make or (uniform() if dtype in FLOATS else any_values(dtype))
    terms = math.prod(lhs[axis] for axis in left)
    target = result_type or dtype
    rule = sum_of(terms, dtype) if dtype in FLOATS else Exact()
    arrow = f" -> {tensor_type(target, result)}" if result_type else ""
    return Case(name, {"a": Input(dtype, lhs, make), "b": Input(dtype, rhs, make)},
                f"  %r = vx.contract %a, %b batch = {left_batch} x {right_batch} contracting = {left} x {right} : "
                f"{tensor_type(dtype, lhs)}, {tensor_type(dtype, rhs)}{arrow}", {"r": Result(target, result, rule)})


def matmul(name, m, n, k, dtype="f32", make=None):
    return contract(name, dtype, [m, k], [k, n], ([], []), ([1], [0]), make)


def cases():
    for dtype in FLOATS + INTEGERS:
        yield matmul(f"matmul_{dtype}", 7, 5, 17, dtype)
    for m, n, k in ((1, 1, 1), (1, 17, 31), (17, 1, 31), (1, 129, 67), (33, 65, 1), (64, 64, 64), (31, 37, 41), (67, 131, 129),
                    (5, 0, 3), (0, 5, 3), (3, 5, 0), (128, 16, 257), (6, 256, 7)):
        yield matmul(f"matmul_{m}x{n}x{k}", m, n, k)
    none = ([], [])
    for name, lhs, rhs, batch, contracting in (
            ("batched", [3, 5, 7], [3, 7, 11], ([0], [0]), ([2], [1])), ("transposed_rhs", [5, 17], [7, 17], none, ([1], [1])),
            ("transposed_lhs", [17, 5], [17, 7], none, ([0], [0])), ("both_transposed", [17, 5], [7, 17], none, ([0], [1])),
            ("dot", [129], [129], none, ([0], [0])), ("outer", [5], [7], none, none), ("matrix_vector", [13, 67], [67], none, ([1], [0])),
            ("vector_matrix", [67], [67, 13], none, ([0], [0])), ("two_batches", [2, 3, 5, 7], [2, 3, 7, 4], ([0, 1], [0, 1]), ([3], [2])),
            ("batch_inside", [5, 3, 7], [7, 4, 3], ([1], [2]), ([2], [0])), ("two_contracting", [3, 5, 7], [5, 7, 4], none, ([1, 2], [0, 1])),
            ("crossed_contracting", [3, 5, 7], [7, 5, 4], none, ([1, 2], [1, 0])), ("many_free", [2, 3, 5], [5, 2, 4], none, ([2], [0])),
            ("scalars", [], [], none, none), ("batch_only", [7], [7], ([0], [0]), none), ("batch_one", [1, 33, 17], [1, 17, 9], ([0], [0]), ([2], [1])),
            ("empty_batch", [0, 3, 5], [0, 5, 2], ([0], [0]), ([2], [1])), ("heads", [2, 7, 3, 4], [2, 9, 3, 4], ([0, 2], [0, 2]), ([3], [3]))):
        yield contract(f"contract_{name}", "f32", lhs, rhs, batch, contracting)
    # Exact sums: every partial sum is a whole number below 2^24.
    yield Case("matmul_whole_numbers", {"a": Input("f32", [19, 43], values(*range(-9, 10))), "b": Input("f32", [43, 23], values(*range(-5, 6)))},
               "  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<19x43xf32>, tensor<43x23xf32>",
               {"r": Result("f32", [19, 23], Ulp(0))})
    yield Case("matmul_nan_and_inf", {"a": Input("f32", [5, 3], special_floats()), "b": Input("f32", [3, 4], uniform(0.5, 2))},
               "  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<5x3xf32>, tensor<3x4xf32>",
               {"r": Result("f32", [5, 4], sum_of_special())})
    yield from factors_of_the_call()
    yield from epilogues()
    yield from convolutions()
    yield from convolution_filters()
    yield from packed()


def convolution_filters():
    """The sums over batch and places for one element of a filter; "long" and "wide" are of more than one block of depth, rows and columns."""
    for name, dtype, size, channels, filters, kernel, strides, dilations, low, places, groups in (
            ("3x3", "f32", [2, 9, 7], 3, 5, [3, 3], [1, 1], [1, 1], [1, 1], [9, 7], 1), ("strided", "f32", [3, 11, 13], 16, 24, [3, 3], [2, 2], [1, 1], [1, 1], [6, 7], 1),
            ("dilated", "f32", [1, 13, 11], 2, 17, [3, 2], [1, 2], [2, 3], [2, 0], [12, 4], 1), ("1x1", "f32", [2, 7, 7], 33, 16, [1, 1], [1, 1], [1, 1], [0, 0], [7, 7], 1),
            ("1x1_strided", "f32", [2, 8, 7], 16, 32, [1, 1], [2, 2], [1, 1], [0, 0], [4, 4], 1), ("long", "f32", [5, 12, 11], 17, 31, [3, 3], [1, 1], [1, 1], [1, 1], [12, 11], 1),
            ("wide", "f32", [1, 4, 5], 211, 197, [2, 1], [1, 1], [1, 1], [1, 0], [5, 5], 1), ("deep", "f32", [1, 3, 3], 256, 64, [3, 3], [1, 1], [1, 1], [1, 1], [3, 3], 1),
            ("stem", "f32", [1, 23, 21], 3, 24, [7, 7], [2, 2], [1, 1], [3, 3], [12, 11], 1), ("1d", "f32", [3, 17], 5, 7, [5], [2], [1], [2], [9], 1),
            ("3d", "f32", [1, 5, 4, 6], 4, 8, [2, 3, 2], [1, 1, 2], [1, 1, 1], [0, 1, 0], [4, 4, 3], 1), ("grouped", "f32", [2, 7, 7], 6, 4, [3, 3], [1, 1], [1, 1], [1, 1], [7, 7], 2),
            ("depthwise", "f32", [2, 9, 9], 5, 5, [3, 3], [2, 1], [1, 1], [1, 1], [5, 9], 5), ("cropped", "f32", [1, 9, 9], 2, 3, [3, 3], [1, 1], [1, 1], [-1, 1], [5, 7], 1),
            # Places and windows that reach beyond the input, and less than all of it.
            ("beyond", "f32", [1, 5, 6], 16, 16, [3, 3], [2, 3], [1, 2], [1, 0], [4, 3], 1), ("short", "f32", [1, 9, 9], 16, 16, [2, 2], [1, 1], [1, 1], [0, 0], [3, 4], 1),
            ("empty_batch", "f32", [0, 5, 5], 3, 2, [3, 3], [1, 1], [1, 1], [0, 0], [3, 3], 1), ("empty_kernel", "f32", [1, 5, 5], 3, 2, [0, 3], [1, 1], [1, 1], [0, 0], [3, 3], 1),
            ("no_places", "f32", [1, 5, 5], 3, 2, [3, 3], [1, 1], [1, 1], [0, 0], [0, 3], 1), ("nothing", "f32", [1, 0, 5], 3, 2, [1, 2], [3, 3], [1, 1], [0, 0], [0, 2], 1),
            ("one", "f32", [1, 1, 1], 1, 1, [1, 1], [1, 1], [1, 1], [0, 0], [1, 1], 1),
            ("f64", "f64", [1, 5, 5], 17, 9, [3, 3], [1, 1], [1, 1], [1, 1], [5, 5], 1), ("f16", "f16", [1, 5, 5], 17, 9, [3, 3], [1, 1], [1, 1], [1, 1], [5, 5], 1),
            ("bf16", "bf16", [1, 5, 5], 17, 9, [3, 3], [1, 1], [1, 1], [1, 1], [5, 5], 1)):
        for is_last in (False, True):
            if is_last:
                x, g, result = size + [channels], size[:1] + places + [filters], kernel + [channels // groups, filters]
            else:
                x, g, result = size[:1] + [channels] + size[1:], size[:1] + [filters] + places, [filters, channels // groups] + kernel
            sizes = ", ".join(f"#vx.dim<{k}>" for k in kernel)
            yield Case(f"conv_filter_{name}{'_last' if is_last else ''}", {"x": Input(dtype, x, uniform()), "g": Input(dtype, g, uniform())},
                       f"  %r = vx.conv_filter %x, %g kernel [{sizes}] strides = {strides} dilations = {dilations} pads = {low} groups = {groups}"
                       f"{' channels_last' if is_last else ''} : {tensor_type(dtype, x)}, {tensor_type(dtype, g)}",
                       {"r": Result(dtype, result, sum_of(size[0] * math.prod(places), dtype))})


def packed():
    """Products with the second operand in tiles: of whole vectors and not, of more than one block of rows, columns and depth."""
    for m, n, k, dtype in ((1, 17, 31, "f32"), (7, 16, 16, "f32"), (13, 48, 300, "f32"), (131, 67, 19, "f32"), (9, 129, 257, "f32"), (6, 288, 520, "f32"),
                           (5, 0, 3, "f32"), (0, 5, 3, "f32"), (3, 5, 0, "f32"), (17, 23, 11, "f64"), (7, 20, 9, "f16")):
        tile = 8 if dtype == "f64" else 16
        a, b, p = [m, k], [k, n], [-(-n // tile), k, tile]
        yield Case(f"packed_matmul_{m}x{n}x{k}_{dtype}", {"a": Input(dtype, a, uniform()), "b": Input(dtype, b, uniform())}, f"""
  %p = vx.pack %b dim = 1 tile = {tile} permutation = [1, 0] : {tensor_type(dtype, b)}
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : {tensor_type(dtype, p)} -> {tensor_type(dtype, b)}
  %r = vx.contract %a, %u batch = [] x [] contracting = [1] x [0] : {tensor_type(dtype, a)}, {tensor_type(dtype, b)}""",
                   {"r": Result(dtype, [m, n], sum_of(k, dtype))})
    # Rows that are columns of the left factor go in whole vectors, beside register tiles of 14 rows.
    for m, n, k in ((176, 72, 512), (40, 16, 300), (133, 7, 260)):
        a, b, p = [k, m], [k, n], [-(-n // 16), k, 16]
        yield Case(f"packed_columns_{m}x{n}x{k}", {"a": Input("f32", a, uniform()), "b": Input("f32", b, uniform())}, f"""
  %p = vx.pack %b dim = 1 tile = 16 permutation = [1, 0] : {tensor_type("f32", b)}
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : {tensor_type("f32", p)} -> {tensor_type("f32", b)}
  %r = vx.contract %a, %u batch = [] x [] contracting = [0] x [0] : {tensor_type("f32", a)}, {tensor_type("f32", b)}""",
                   {"r": Result("f32", [m, n], sum_of(k, "f32"))})
    for name, size, channels, filters, kernel, stride, pad in (
            ("3x3", [2, 9, 7], 16, 32, 3, 1, 1), ("stem", [1, 23, 21], 3, 24, 7, 2, 3), ("1x1", [1, 13, 5], 20, 70, 1, 1, 0),
            ("deep", [1, 5, 4], 100, 17, 3, 1, 1), ("runs", [1, 6, 6], 320, 16, 3, 1, 1), ("odd", [3, 7, 11], 5, 9, 5, 3, 2)):
        x, w = size[:1] + size[1:] + [channels], [filters, channels, kernel, kernel]
        p = [-(-filters // 16), kernel, kernel, channels, 16]
        result = size[:1] + [(edge + 2 * pad - kernel) // stride + 1 for edge in size[1:]] + [filters]
        yield Case(f"packed_conv_{name}", {"x": Input("f32", x, uniform()), "w": Input("f32", w, uniform())}, f"""
  %p = vx.pack %w dim = 0 tile = 16 permutation = [0, 2, 3, 1] : {tensor_type("f32", w)}
  %u = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : {tensor_type("f32", p)} -> {tensor_type("f32", w)}
  %r = vx.conv %x, %u strides = [{stride}, {stride}] dilations = [1, 1] pads = [{pad}, {pad}] x [{pad}, {pad}] groups = 1 channels_last : {tensor_type("f32", x)}, {tensor_type("f32", w)}""",
                   {"r": Result("f32", result, sum_of(channels * kernel * kernel, "f32"))})
    for name, x, kernel, strides, dilations, low, high in (
            ("depthwise", [1, 9, 7, 19], [3, 3], [2, 1], [1, 1], [1, 1], [0, 1]), ("wide", [2, 5, 23, 32], [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            ("dilated", [1, 17, 31, 16], [3, 5], [1, 2], [2, 3], [2, 6], [2, 6]), ("all_padding", [1, 1, 1, 48], [5, 5], [1, 1], [1, 1], [2, 2], [2, 2]),
            ("cropped", [1, 9, 33, 16], [3, 3], [1, 1], [1, 1], [-1, -2], [1, -1])):
        channels = x[3]
        w, p = [channels, 1] + kernel, [-(-channels // 16)] + kernel + [1, 16]
        result = [x[0]] + [(size + a + b - ((k - 1) * d + 1)) // s + 1 for size, k, s, d, a, b in
                           zip(x[1:3], kernel, strides, dilations, low, high)] + [channels]
        for packing in ("plain", "packed"):
            body, filter = "", "%w"
            if packing == "packed":
                filter = "%u"
                body = f"""
  %p = vx.pack %w dim = 0 tile = 16 permutation = [0, 2, 3, 1] : {tensor_type("f32", w)}
  %u = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : {tensor_type("f32", p)} -> {tensor_type("f32", w)}
"""
            yield Case(f"depthwise_{name}_{packing}", {"x": Input("f32", x, uniform()), "w": Input("f32", w, uniform())},
                       f"{body}  %r = vx.conv %x, {filter} strides = {strides} dilations = {dilations} pads = {low} x {high} groups = {channels} channels_last : "
                       f"{tensor_type('f32', x)}, {tensor_type('f32', w)}", {"r": Result("f32", result, sum_of(math.prod(kernel), "f32"))})
    # Groups of few filters lie side by side in a vector, those of many are products of their own.
    for name, dtype, x, groups, filters, kernel, strides, dilations, low, high in (
            ("four", "f32", [2, 9, 21, 32], 8, 32, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("four_odd", "f32", [1, 7, 13, 20], 5, 20, [3, 3], [2, 1], [1, 2], [1, 2], [0, 2]),
            ("multiplier", "f32", [1, 6, 19, 7], 7, 14, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("halves", "f32", [1, 5, 18, 24], 6, 12, [2, 2], [1, 1], [1, 1], [0, 0], [1, 1]),
            ("eight", "f32", [1, 5, 12, 48], 3, 24, [3, 1], [1, 1], [1, 1], [1, 0], [1, 0]), ("three", "f32", [1, 8, 9, 12], 4, 12, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            ("many", "f32", [2, 7, 9, 72], 3, 72, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("seventeen", "f32", [1, 9, 11, 10], 2, 34, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1]),
            ("tiles", "f32", [1, 14, 14, 64], 2, 64, [1, 1], [1, 1], [1, 1], [0, 0], [0, 0]), ("deep", "f32", [1, 3, 4, 400], 2, 12, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            ("line", "f32", [2, 37, 20], 5, 20, [5], [2], [1], [2], [1]), ("line_depthwise", "f32", [1, 50, 19], 19, 19, [3], [1], [2], [2], [2]), ("line_many", "f32", [1, 29, 40], 2, 40, [3], [1], [1], [1], [1]),
            ("volume", "f32", [1, 4, 5, 11, 16], 4, 16, [3, 2, 3], [1, 1, 1], [1, 2, 1], [1, 1, 1], [1, 1, 1]), ("volume_depthwise", "f32", [1, 3, 6, 9, 17], 17, 17, [3, 3, 3], [1, 2, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]),
            ("f64", "f64", [1, 5, 9, 8], 2, 8, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("f16", "f16", [1, 5, 9, 16], 4, 16, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            ("bf16_depthwise", "bf16", [1, 5, 9, 18], 18, 18, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("empty", "f32", [0, 5, 9, 16], 4, 16, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            # So many products are tiles of a group on GPUs, where fewer are plain loops.
            ("tiles_of_8", "f32", [1, 18, 19, 256], 4, 32, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("tiles_of_24", "f32", [1, 18, 18, 96], 2, 48, [3, 3], [1, 1], [1, 2], [1, 2], [0, 2]),
            ("tiles_of_4", "f32", [1, 28, 50, 160], 10, 40, [3, 5], [1, 2], [2, 1], [2, 2], [2, 1]), ("tiles_of_32", "f16", [1, 15, 15, 96], 3, 96, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            # Twelve channels a group: copies of eight neighbours would reach into the next group.
            ("tiles_of_16", "f16", [1, 20, 24, 96], 8, 128, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            # Vectors begin anywhere in a group of one channel: each lane looks its channel up.
            ("looked_up_3", "f32", [2, 7, 13, 11], 11, 33, [3, 3], [2, 1], [1, 2], [1, 2], [0, 2]), ("looked_up_15", "f32", [1, 5, 19, 5], 5, 75, [5, 3], [1, 2], [1, 1], [2, 1], [2, 1]),
            ("looked_up_12", "f32", [1, 4, 5, 9, 7], 7, 84, [3, 2, 3], [1, 1, 2], [1, 2, 1], [1, 1, 1], [1, 1, 1]), ("looked_up_20", "f32", [1, 31, 3], 3, 60, [7], [3], [1], [3], [3]),
            ("looked_up_31", "f32", [1, 4, 6, 2], 2, 62, [1, 1], [1, 1], [1, 1], [0, 0], [0, 0]), ("looked_up_f64", "f64", [1, 6, 9, 7], 7, 35, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            ("looked_up_f16", "f16", [1, 6, 9, 7], 7, 21, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
            # Of few channels whole rows of windows are copied, where they lie in the input.
            ("gray", "f32", [2, 9, 23, 1], 1, 8, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("rgb", "f32", [1, 11, 29, 3], 1, 20, [5, 7], [2, 3], [1, 1], [2, 3], [1, 2]),
            ("rgb_line", "f32", [2, 77, 2], 1, 16, [9], [2], [1], [4], [3]), ("rgb_volume", "f32", [1, 4, 6, 13, 1], 1, 9, [3, 2, 3], [1, 1, 1], [1, 2, 1], [1, 0, 1], [1, 1, 1]),
            ("rgb_tall", "f32", [1, 12, 17, 3], 1, 17, [3, 3], [1, 1], [2, 1], [2, 1], [2, 1]), ("rgb_apart", "f32", [1, 12, 17, 3], 1, 17, [3, 3], [1, 1], [1, 2], [1, 2], [1, 2]),
            ("rgb_cropped", "f32", [1, 9, 33, 3], 1, 16, [3, 3], [1, 1], [1, 1], [-1, -2], [1, -1]), ("rgb_all_padding", "f32", [1, 1, 2, 3], 1, 16, [5, 5], [1, 1], [1, 1], [2, 2], [2, 2]),
            ("rgb_end", "f32", [1, 8, 16, 3], 1, 16, [3, 3], [1, 1], [1, 1], [0, 0], [0, 0]), ("rgb_long", "f32", [3, 5, 300, 4], 1, 40, [2, 11], [1, 4], [1, 1], [0, 5], [1, 5]),
            ("rgb_f64", "f64", [1, 6, 9, 3], 1, 8, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]), ("rgb_f16", "f16", [1, 6, 9, 3], 1, 8, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1])):
        channels, spatial = x[-1] // groups, len(kernel)
        tile = 16 if filters // groups % 16 == 0 or filters == groups == x[-1] else -(-filters // 16) * 16 + 16
        w, p = [filters, channels, *kernel], [-(-filters // tile), *kernel, channels, tile]
        result = [x[0]] + [(size + a + b - ((k - 1) * d + 1)) // s + 1 for size, k, s, d, a, b in zip(x[1:-1], kernel, strides, dilations, low, high)] + [filters]
        order = [0, *range(2, 2 + spatial), 1]
        for packing in ("plain", "packed"):
            body = "" if packing == "plain" else f"""
  %p = vx.pack %w dim = 0 tile = {tile} permutation = {order} : {tensor_type(dtype, w)}
  %u = vx.unpack %p dim = 0 permutation = {order} : {tensor_type(dtype, p)} -> {tensor_type(dtype, w)}
"""
            yield Case(f"groups_{name}_{packing}", {"x": Input(dtype, x, uniform()), "w": Input(dtype, w, uniform())},
                       f"{body}  %r = vx.conv %x, {'%w' if packing == 'plain' else '%u'} strides = {strides} dilations = {dilations} pads = {low} x {high} groups = {groups} channels_last : "
                       f"{tensor_type(dtype, x)}, {tensor_type(dtype, w)}", {"r": Result(dtype, result, sum_of(channels * math.prod(kernel), dtype))})
    # Sums of i32 of bytes of either sign, one row and many, packed or not.
    for lhs, rhs in (("i8", "i8"), ("ui8", "i8"), ("i8", "ui8"), ("ui8", "ui8")):
        for m, n, k in ((1, 70, 33), (17, 130, 260), (7, 1, 64), (33, 16, 1), (5, 9, 0), (150, 210, 1102)):
            a, b = [m, k], [k, n]
            for packing, tile, inner in (("plain", 0, 1), ("packed", 64, 1), ("quads", 16, 4)):
                p = [] if packing == "plain" else [-(-n // tile), -(-k // inner), tile] + [inner] * (inner > 1)
                order = "permutation = [1, 0]" + f" inner = {inner}" * (inner > 1)
                body = "" if packing == "plain" else f"""
  %p = vx.pack %b dim = 1 tile = {tile} {order} : {tensor_type(rhs, b)}
  %u = vx.unpack %p dim = 1 {order} : {tensor_type(rhs, p)} -> {tensor_type(rhs, b)}
"""
                if (packing != "packed" or lhs != rhs) and (packing == "plain" or k > 0) and (k < 1000 or lhs == "ui8"):
                    yield Case(f"bytes_{lhs}_{rhs}_{m}x{n}x{k}_{packing}", {"a": Input(lhs, a, any_values(lhs)), "b": Input(rhs, b, any_values(rhs))},
                               f"{body}  %r = vx.contract %a, {'%b' if packing == 'plain' else '%u'} batch = [] x [] contracting = [1] x [0] sums = i32 : "
                               f"{tensor_type(lhs, a)}, {tensor_type(rhs, b)}", {"r": Result("i32", [m, n], Exact())})
    for name, x_type, w_type, x, groups, filters, kernel, strides, low, high, *dilated in (
            # Of fewer than four channels the positions of the window's last dimension are channels, too.
            ("gray", "ui8", "i8", [2, 1, 9, 17], 1, 9, [3, 4], [2, 3], [1, 2], [0, 1], 2), ("pairs", "i8", "i8", [1, 2, 12, 19], 1, 20, [5, 7], [1, 2], [2, 0], [2, 3], 1),
            ("rgb", "ui8", "ui8", [2, 3, 11, 13], 1, 33, [3, 3], [2, 1], [1, 1], [1, 1], 3), ("gray_line", "ui8", "i8", [3, 1, 40], 1, 8, [9], [4], [5], [2], 1),
            ("3x3", "ui8", "i8", [2, 5, 9, 7], 1, 20, [3, 3], [1, 1], [1, 1], [1, 1]), ("signed", "i8", "i8", [1, 16, 8, 8], 1, 64, [1, 1], [1, 1], [0, 0], [0, 0]),
            ("unsigned", "i8", "ui8", [1, 3, 11, 10], 1, 5, [3, 2], [2, 1], [1, 0], [0, 1]), ("depthwise", "ui8", "i8", [1, 19, 9, 12], 19, 19, [3, 3], [1, 1], [1, 1], [1, 1]),
            ("four", "i8", "i8", [1, 20, 6, 13], 5, 20, [3, 3], [1, 1], [1, 1], [1, 1]), ("many", "ui8", "ui8", [1, 36, 7, 9], 2, 50, [3, 3], [1, 2], [1, 1], [1, 1]),
            ("line", "ui8", "i8", [2, 8, 21], 2, 8, [3], [1], [1], [1])):
        w = [filters, x[1] // groups, *kernel]
        dilations = [1] * (len(kernel) - 1) + (dilated or [1])
        result = [x[0], filters] + [(size + a + b - (k - 1) * d - 1) // s + 1 for size, k, s, a, b, d in zip(x[2:], kernel, strides, low, high, dilations)]
        tile = 16 if filters // groups % 16 == 0 or groups == 1 else -(-filters // 16) * 16 + 16
        p = [-(-filters // tile), *kernel, -(-w[1] // 4), tile, 4]
        order = f"permutation = {[0, *range(2, 2 + len(kernel)), 1]} inner = 4"
        for packing in ("plain", "quads"):
            body = "" if packing == "plain" else f"""
  %p = vx.pack %w dim = 0 tile = {tile} {order} : {tensor_type(w_type, w)}
  %u = vx.unpack %p dim = 0 {order} : {tensor_type(w_type, p)} -> {tensor_type(w_type, w)}
"""
            yield Case(f"bytes_conv_{name}_{packing}", {"x": Input(x_type, x, any_values(x_type)), "w": Input(w_type, w, any_values(w_type))},
                       f"{body}  %r = vx.conv %x, {'%w' if packing == 'plain' else '%u'} strides = {strides} dilations = {dilations} pads = {low} x {high} "
                       f"groups = {groups} sums = i32 : {tensor_type(x_type, x)}, {tensor_type(w_type, w)}", {"r": Result("i32", result, Exact())})


def sum_of_special():
    """NaN and infinities must be equal; the sums that are finite have 3 terms below 2^4."""
    from tolerance import at_most
    return at_most(lambda inputs: 4 * 2.0**-23 * 3 * 16, "4 * epsilon * 3 * 2^4")


def factors_of_the_call():
    """Second factors that nothing has packed: read by a few rows as they lie, or packed with their columns in rows of memory; and matrices that the
    kernel of their product with a vector computes."""
    # Columns in two dimensions: neighbours, or with the sum between them.
    for name, a, b, dims, result in (("joined", [2, 9, 7], [2, 7, 4, 3], "batch = [0] x [0] contracting = [2] x [1]", [2, 9, 4, 3]),
                                     ("apart", [9, 7], [5, 7, 3], "batch = [] x [] contracting = [1] x [1]", [9, 5, 3])):
        yield Case(f"columns_{name}", {"a": Input("f32", a, uniform()), "b": Input("f32", b, uniform())},
                   f"  %r = vx.contract %a, %b {dims} : {tensor_type('f32', a)}, {tensor_type('f32', b)}", {"r": Result("f32", result, sum_of(7, "f32"))})
    for m, n, k in ((1, 17, 33), (1, 130, 16), (1, 193, 67), (2, 16, 150), (3, 65, 15), (4, 33, 129), (5, 33, 129)):
        yield matmul(f"rows_of_call_{m}x{n}x{k}", m, n, k)
    for dtype in ("f16", "bf16", "f64", "i32"):
        yield matmul(f"rows_of_call_{dtype}", 3, 35, 37, dtype)
    none = ([], [])
    for m, n, k in ((4, 5, 3), (4, 16, 16), (7, 33, 37), (9, 31, 150), (33, 17, 129)):
        yield contract(f"columns_of_call_{m}x{n}x{k}", "f32", [m, k], [n, k], none, ([1], [1]))
    for dtype in ("f16", "bf16", "f64", "i32"):
        yield contract(f"columns_of_call_{dtype}", dtype, [5, 19], [21, 19], none, ([1], [1]))
    yield contract("columns_of_call_batch", "f32", [3, 6, 20], [3, 35, 20], ([0], [0]), ([2], [2]))
    for name, lhs, shape, result, contracting in (("rhs", [1, 37], [37, 43], [1, 43], "[1] x [0]"), ("rhs_columns", [1, 37], [43, 37], [1, 43], "[1] x [1]")):
        yield Case(f"matrix_of_kernel_{name}", {"x": Input("f32", lhs, uniform()), "a": Input("f32", shape, uniform()), "b": Input("f32", shape, uniform())}, f"""
  %m = vx.mul %a, %b : {tensor_type("f32", shape)}, {tensor_type("f32", shape)}
  %r = vx.contract %x, %m batch = [] x [] contracting = {contracting} : {tensor_type("f32", lhs)}, {tensor_type("f32", shape)}""",
                   {"r": Result("f32", result, sum_of(3 * 37, "f32"))})
    yield Case("matrix_of_kernel_lhs", {"x": Input("f32", [37, 1], uniform()), "a": Input("f32", [43, 37], uniform())}, """
  %m = vx.mul %a, %a : tensor<43x37xf32>, tensor<43x37xf32>
  %r = vx.contract %m, %x batch = [] x [] contracting = [1] x [0] : tensor<43x37xf32>, tensor<37x1xf32>""",
               {"r": Result("f32", [43, 1], sum_of(2 * 37, "f32"))})


def epilogues():
    """A bias and a rectifier behind, a transposition before: one kernel. Rounding stays that of the sum and one addition."""
    yield Case("matmul_bias_relu", {"a": Input("f32", [9, 33], uniform()), "b": Input("f32", [33, 17], uniform()),
                                    "c": Input("f32", [17], uniform())}, """
  %p = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<9x33xf32>, tensor<33x17xf32>
  %w = vx.broadcast %c, [1] : tensor<17xf32> -> tensor<9x17xf32>
  %s = vx.add %p, %w : tensor<9x17xf32>, tensor<9x17xf32>
  %z = vx.constant dense<0.0> : tensor<9x17xf32>
  %r = vx.max %s, %z : tensor<9x17xf32>, tensor<9x17xf32>""", {"r": Result("f32", [9, 17], sum_of(34, "f32"))})
    yield Case("matmul_of_transposed", {"a": Input("f32", [21, 9], uniform()), "b": Input("f32", [21, 5], uniform())}, """
  %t = vx.transpose %a, [1, 0] : tensor<21x9xf32>
  %r = vx.contract %t, %b batch = [] x [] contracting = [1] x [0] : tensor<9x21xf32>, tensor<21x5xf32>""",
               {"r": Result("f32", [9, 5], sum_of(21, "f32"))})
    yield Case("matmul_square", {"a": Input("f32", [13, 13], uniform())},
               "  %r = vx.contract %a, %a batch = [] x [] contracting = [1] x [0] : tensor<13x13xf32>, tensor<13x13xf32>",
               {"r": Result("f32", [13, 13], sum_of(13, "f32"))})
    yield Case("matmul_sum", {"a": Input("f32", [7, 9], uniform()), "b": Input("f32", [9, 11], uniform())}, """
  %p = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<7x9xf32>, tensor<9x11xf32>
  %r = vx.reduce sum %p axes = [1] : tensor<7x11xf32>""", {"r": Result("f32", [7], sum_of(9 + 11, "f32"))})


def random_convolutions(count):
    """Small results, of which several rows and columns lie in one tile: multiples of what a thread brings at once, and others."""
    rng = np.random.default_rng(7)
    pick = lambda *values: [int(rng.choice(values)) for _ in range(2)]
    for number in range(count):
        groups = int(rng.choice([1, 1, 1, 2, 3]))
        channels, filters = groups * int(rng.integers(1, 6)), groups * int(rng.integers(1, 9))
        result, kernel, strides, dilations = pick(2, 3, 4, 4, 5, 8), pick(1, 2, 3, 4), pick(1, 2, 3), pick(1, 1, 2)
        needed = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in zip(result, kernel, strides, dilations)]
        low, high = ([min(pad, (n - 1) // 2) for pad, n in zip(pick(0, 1, 2), needed)] for _ in range(2))
        size = [n - a - b for n, a, b in zip(needed, low, high)]
        yield f"random_{number}", "f32", [int(rng.integers(1, 9)), channels, *size], filters, kernel, strides, dilations, low, high, groups


def convolutions():
    for name, dtype, input_dims, filters, kernel, strides, dilations, low, high, groups in (
            ("3x3", "f32", [2, 3, 9, 7], 5, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1), ("strided", "f32", [1, 4, 11, 13], 7, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], 1),
            ("dilated", "f32", [1, 2, 13, 11], 3, [3, 2], [1, 1], [2, 3], [2, 0], [1, 3], 1), ("grouped", "f32", [2, 6, 7, 7], 4, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 2),
            ("depthwise", "f32", [1, 5, 9, 9], 5, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 5), ("1x1", "f32", [1, 16, 7, 7], 33, [1, 1], [1, 1], [1, 1], [0, 0], [0, 0], 1),
            ("1d", "f32", [2, 3, 17], 5, [5], [2], [1], [2], [1], 1), ("3d", "f32", [1, 2, 5, 4, 6], 3, [2, 3, 2], [1, 1, 2], [1, 1, 1], [0, 1, 0], [1, 1, 0], 1),
            ("whole", "f32", [1, 3, 5, 5], 7, [5, 5], [1, 1], [1, 1], [0, 0], [0, 0], 1), ("empty_batch", "f32", [0, 3, 5, 5], 2, [3, 3], [1, 1], [1, 1], [0, 0], [0, 0], 1),
            ("cropped", "f32", [1, 2, 9, 9], 2, [3, 3], [1, 1], [1, 1], [-1, 1], [1, -2], 1),
            ("f64", "f64", [1, 2, 5, 5], 3, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1), ("f16", "f16", [1, 2, 5, 5], 3, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1),
            ("bf16", "bf16", [1, 2, 5, 5], 3, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1), ("grouped_strided", "f32", [1, 8, 9, 9], 12, [3, 3], [2, 1], [1, 1], [0, 1], [1, 0], 4),
            ("7x7_stem", "f32", [1, 3, 23, 23], 16, [7, 7], [2, 2], [1, 1], [3, 3], [3, 3], 1), ("multiplier", "f32", [1, 3, 7, 7], 6, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 3),
            # Results of 4 rows: as many as a thread brings at once, and not beside each other.
            ("4_rows", "f32", [1, 1, 7, 5], 1, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], 1), ("4_rows_asymmetric", "f32", [1, 1, 7, 5], 1, [3, 3], [2, 2], [1, 1], [1, 0], [1, 0], 1),
            ("filter_1x2", "f32", [3, 3, 4, 3], 3, [1, 2], [1, 3], [1, 1], [2, 1], [2, 1], 1), ("1x1_strided", "f32", [3, 3, 8, 8], 1, [1, 1], [3, 3], [1, 1], [2, 2], [1, 1], 1),
            ("dilated_rows", "f32", [16, 5, 3, 3], 3, [2, 3], [1, 1], [2, 1], [1, 1], [2, 0], 1), ("filter_4x2", "f32", [7, 1, 8, 8], 2, [4, 2], [2, 3], [1, 1], [0, 1], [2, 2], 1),
            # The last dimension of the result is 1: no factor's, when loops of one step are gone.
            ("one_column", "f32", [2, 2, 9, 3], 1, [2, 3], [1, 1], [2, 1], [0, 0], [0, 0], 1),
            ("one_column_3d", "f32", [2, 2, 8, 8, 2], 1, [3, 2, 2], [1, 2, 1], [2, 2, 1], [2, 0, 0], [0, 0, 0], 1),
            ("i32", "i32", [1, 4, 5, 5], 6, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 2), ("ui8", "ui8", [2, 3, 5, 5], 3, [2, 3], [2, 1], [1, 1], [1, 1], [0, 1], 1),
            # Several samples lie in one tile, and the last tile has fewer.
            ("small_images", "f32", [150, 5, 2, 2], 17, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1), ("one_place", "f32", [131, 7, 1, 1], 5, [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1),
            ("small_strided", "f32", [67, 4, 3, 5], 6, [2, 3], [2, 2], [1, 1], [0, 1], [1, 1], 2),
            *random_convolutions(30)):
        channels = input_dims[1] // groups
        filter_dims = [filters, channels] + kernel
        result = [input_dims[0], filters] + [max(0, (size + a + b - ((k - 1) * d + 1)) // s + 1) for size, k, s, d, a, b in
                                             zip(input_dims[2:], kernel, strides, dilations, low, high)]
        make = uniform() if dtype in FLOATS else any_values(dtype)
        rule = sum_of(channels * math.prod(kernel), dtype) if dtype in FLOATS else Exact()
        for layout, order in (("", lambda dims: dims), (" channels_last", lambda dims: [dims[0], *dims[2:], dims[1]])):
            yield Case(f"conv_{name}{'_last' if layout else ''}", {"x": Input(dtype, order(input_dims), make), "w": Input(dtype, filter_dims, make)},
                       f"  %r = vx.conv %x, %w strides = {strides} dilations = {dilations} pads = {low} x {high} groups = {groups}{layout} : "
                       f"{tensor_type(dtype, order(input_dims))}, {tensor_type(dtype, filter_dims)}",
                       {"r": Result(dtype, order(result), rule)})
    kind = "tensor<1x5x7x7xf32>"
    yield Case("conv_scale_relu", {"x": Input("f32", [1, 3, 7, 7], uniform()), "w": Input("f32", [5, 3, 3, 3], uniform()),
                                   "s": Input("f32", [5], uniform(0.5, 1.5)), "b": Input("f32", [5], uniform())}, f"""
  %c = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<1x3x7x7xf32>, tensor<5x3x3x3xf32>
  %s1 = vx.broadcast %s, [1] : tensor<5xf32> -> {kind}
  %m = vx.mul %c, %s1 : {kind}, {kind}
  %b1 = vx.broadcast %b, [1] : tensor<5xf32> -> {kind}
  %a = vx.add %m, %b1 : {kind}, {kind}
  %z = vx.constant dense<0.0> : {kind}
  %r = vx.max %a, %z : {kind}, {kind}""", {"r": Result("f32", [1, 5, 7, 7], sum_of(29, "f32"))})
