#!/usr/bin/env python3
"""Single ONNX nodes that the importer takes apart, against ONNX Runtime, on each device.

  run_nodes.py --bin BUILD/bin [--device cpu,vulkan] [--turns] [--filter TEXT]

The sizes of the inputs are symbols, so each module is compiled before they are known, where the node allows it. Several nodes are one module, because starting
processes is most of the work; one that does not compile or run is a failure, whatever each node does alone, and is made smaller to name those that it takes. Exit code: 0
all passed, 1 some failed, among them a device of those asked for that is not there, or none was chosen. With --turns a sixth of the nodes runs, every fourth of them on all devices and the others on the first one, and every fifth of those that are of learning without networks at all.
"""
import argparse
import itertools
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "programs"))

from byte_products import at_ties, peer, saturates  # noqa: E402
from learned_nodes import learned  # noqa: E402
from shrink import responsible  # noqa: E402
from run_models import Bench, compare, np, onnx, reference, required_devices
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT8, UINT8 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8
SHARED = 16  # nodes of one module


class Node:
    """`inputs` are arrays; those that `constants` names are initializers, and those that `fixed` names have sizes that the model says. `terms` is the length of the
    longest sum, `outputs` how many there are, and `captured` the names of the inputs that only a graph inside of the node reads. With nodes `after` it, these make the
    outputs of what it makes, 'made'."""

    def __init__(self, title, op, inputs, terms=4, constants=(), opset=17, outputs=1, captured=(), fixed=(), after=(), domain="", **attributes):
        self.fixed, self.after = fixed, list(after)
        self.title, self.op, self.inputs, self.terms, self.constants, self.opset, self.attributes = title, op, inputs, terms, constants, opset, attributes
        self.outputs, self.captured, self.domain = ["y", "y1", "y2", "y3"][:outputs], captured, domain

    def model(self, prefix=""):
        """`prefix` stands in front of the names of sizes."""
        names = [name if array is not None else "" for name, array in self.inputs.items() if name not in self.captured]
        node = helper.make_node(self.op, names, ["made"] if self.after else self.outputs, name="n", domain=self.domain, **self.attributes)
        values, weights = [], []
        for name, array in self.inputs.items():
            if array is None:
                continue
            if name in self.constants:
                weights.append(numpy_helper.from_array(array, name))
                continue
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            values.append(helper.make_tensor_value_info(name, kind, [size if size == 1 or name in self.fixed else f"{prefix}{name}{d}" for d, size in enumerate(array.shape)]))
        graph = helper.make_graph([node, *self.after], "g", values, [helper.make_empty_tensor_value_info(name) for name in self.outputs], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid(self.domain, self.opset)], ir_version=10)


def nodes():
    random = np.random.default_rng(11)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x = normal(2, 3, 5, 7)
    none = np.zeros(0, np.float32)
    for mode in ("nearest", "linear"):
        for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            for scales in ([1, 1, 2, 2], [1, 1, 1.5, 0.5], [1, 1, 0.25, 3]):
                yield Node(f"resize {mode} {coordinates} by {scales[2:]}", "Resize", {"x": x, "r": None, "s": np.array(scales, np.float32)}, constants=("s",),
                           mode=mode, coordinate_transformation_mode=coordinates)
            yield Node(f"resize {mode} {coordinates} to 9 x 4", "Resize", {"x": x, "r": None, "s": None, "t": np.array([2, 3, 9, 4], np.int64)},
                       constants=("t",), mode=mode, coordinate_transformation_mode=coordinates)
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield Node(f"resize nearest {rounding}", "Resize", {"x": x, "r": None, "s": np.array([1, 1, 2, 0.5], np.float32)}, constants=("s",), mode="nearest",
                   nearest_mode=rounding)
    yield Node("resize of two axes", "Resize", {"x": x, "r": None, "s": np.array([2, 2], np.float32)}, constants=("s",), opset=18, mode="linear", axes=[2, 3])
    yield from resized()
    yield Node("resize, opset 10", "Resize", {"x": x, "s": np.array([1, 1, 2, 2], np.float32)}, constants=("s",), opset=10, mode="nearest")
    for title, channels, filters, kernel, options in (
            ("plain", 3, 4, (3, 3), {}), ("strided", 3, 4, (2, 2), {"strides": [2, 2]}), ("wide stride", 3, 2, (2, 3), {"strides": [3, 4]}),
            ("padded", 3, 4, (3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}), ("more", 3, 4, (3, 3), {"strides": [2, 2], "pads": [1, 0, 1, 2], "output_padding": [1, 1]}),
            ("dilated", 3, 4, (3, 2), {"dilations": [2, 3]}), ("many filters", 3, 13, (3, 2), {"strides": [2, 1], "pads": [1, 0, 1, 1]}), ("grouped", 4, 3, (3, 3), {"group": 2, "strides": [2, 1]}), ("depthwise", 4, 1, (3, 3), {"group": 4}),
            ("same upper", 3, 4, (3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}), ("same lower", 3, 4, (3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"})):
        yield Node(f"transposed convolution, {title}", "ConvTranspose", {"x": normal(2, channels, 5, 6), "w": normal(channels, filters, *kernel), "b": normal(
            filters * options.get("group", 1))}, terms=channels * kernel[0] * kernel[1] + 1, constants=("w", "b"), **options)
        yield Node(f"transposed convolution with a filter of the call, {title}", "ConvTranspose", {"x": normal(2, channels, 5, 6), "w": normal(channels, filters, *kernel)},
                   terms=channels * kernel[0] * kernel[1], **options)
    for size in ([10, 13], [11, 12]):
        yield Node(f"transposed convolution to {size}", "ConvTranspose", {"x": normal(2, 3, 5, 6), "w": normal(3, 2, 3, 3)}, terms=27, strides=[2, 2], output_shape=size)
    # One element is infinite, and is so in the places alone that sum over it. The numbers are whole, so that sums are exact.
    whole = lambda *shape: random.integers(1, 5, shape).astype(np.float32)
    for kernel, stride, dilation, low, high, more in ((3, 2, 1, 0, 0, 0), (3, 2, 1, 1, 1, 1), (4, 2, 1, 1, 1, 0), (5, 3, 1, 4, 2, 0), (5, 4, 1, 0, 1, 0), (7, 3, 1, 2, 0, 1), (2, 3, 1, 0, 0, 2), (1, 4, 1, 0, 0, 3), (7, 4, 1, 5, 0, 0),
                                                      (3, 2, 2, 1, 0, 0), (3, 2, 3, 0, 2, 1), (5, 3, 2, 2, 2, 0), (4, 4, 2, 1, 1, 0), (4, 6, 4, 0, 0, 0), (3, 4, 6, 2, 3, 2), (2, 2, 4, 0, 1, 0)):
        infinite = whole(2, 4, 6)
        infinite[1, 2, 3] = np.inf
        for filters, groups in ((3, 2), (3, 1), (13, 1)):  # with few filters, products of all taps are summed
            yield Node(f"transposed convolution of {kernel} taps, stride {stride}, dilation {dilation}, {filters} filters in {groups} groups", "ConvTranspose",
                       {"x": infinite, "w": whole(4, filters, kernel)}, constants=("w",), strides=[stride], dilations=[dilation], pads=[low, high], output_padding=[more], group=groups)
    for kernel in (16, 17, 700):  # 17 taps and more are no ops of their own
        yield Node(f"transposed convolution of {kernel} taps, known sizes", "ConvTranspose", {"x": whole(1, 4, 9), "w": whole(4, 2, kernel)}, constants=("w",), strides=[2], fixed=("x",))
    yield Node("transposed convolution of one place, very wide stride and a dilation", "ConvTranspose", {"x": whole(1, 1, 1), "w": whole(1, 1, 2)}, constants=("w",), strides=[100003],
               dilations=[2], fixed=("x",))
    # Of known sizes, few filters are products of all taps and sums; of sizes that are symbols, phases.
    for samples, filters, fixed in ((1, 3, ("x",)), (2, 3, ("x",)), (2, 3, ()), (1, 13, ("x",))):
        yield Node(f"transposed convolution, other phases by dimension, {samples} samples, {filters} filters, {'known' if fixed else 'unknown'} sizes", "ConvTranspose",
                   {"x": whole(samples, 2, 4, 3, 5), "w": whole(2, filters, 3, 2, 4)}, constants=("w",), strides=[2, 3, 1], dilations=[1, 1, 2], pads=[1, 0, 2, 0, 1, 2], fixed=fixed)
    for title, channels, filter, options in (
            ("plain", 3, (4, 3, 3, 2), {}), ("strided", 3, (4, 3, 3, 3), {"strides": [2, 3], "pads": [1, 0, 2, 1]}), ("grouped", 4, (6, 2, 2, 3), {"group": 2}),
            ("dilated", 3, (2, 3, 2, 3), {"dilations": [3, 2], "pads": [2, 1, 0, 1]}), ("stated", 3, (4, 3, 3, 2), {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER"})):
        yield Node(f"convolution with a filter of the call, {title}", "Conv", {"x": normal(2, channels, 9, 11), "w": normal(*filter), "b": normal(filter[0])}, terms=40,
                   **options)
    for title, options in (("plain", {}), ("padded", {"pads": [1, 0, 1, 1], "strides": [2, 2]}), ("dilated", {"dilations": [2, 3]}),
                           ("by columns", {"storage_order": 1, "strides": [3, 1]}), ("to the end", {"ceil_mode": 1, "strides": [2, 3]}),
                           ("same", {"auto_pad": "SAME_UPPER", "strides": [2, 2]})):
        for kind in (np.float32, np.int8):
            data = np.round(3 * normal(2, 3, 9, 10)).astype(kind)
            yield Node(f"places of the greatest of {kind.__name__}, {title}", "MaxPool", {"x": data}, outputs=2, kernel_shape=[3, 2], **options)
    for kind, zero in ((np.uint8, 131), (np.int8, -7)):
        info = np.iinfo(kind)
        yield Node(f"quantize to {kind.__name__}", "QuantizeLinear", {"x": 40 * x, "s": np.float32(0.5), "z": kind(zero)}, constants=("s", "z"))
        whole = random.integers(info.min, info.max, (2, 3, 5, 7), endpoint=True).astype(kind)
        yield Node(f"dequantize {kind.__name__}", "DequantizeLinear", {"x": whole, "s": np.float32(0.03), "z": kind(zero)}, constants=("s", "z"))
        yield Node(f"dequantize {kind.__name__} by channel", "DequantizeLinear", {"x": whole, "s": abs(normal(3)), "z": np.array([0, 1, 2], kind)},
                   constants=("s", "z"), axis=1)
        column = np.array([3, 250, 128, 1], np.uint8).view(kind)
        a, b = whole[0, 0, :3, :], random.integers(info.min, info.max, (7, 4), endpoint=True).astype(kind)
        yield Node(f"quantized product of {kind.__name__}", "QLinearMatMul", {
            "a": a, "as": np.float32(0.02), "az": kind(zero), "b": b, "bs": abs(normal(4)), "bz": column, "ys": np.float32(1.5), "yz": kind(3)},
            constants=("as", "az", "bs", "bz", "ys", "yz"))
        w = random.integers(info.min, info.max, (5, 3, 3, 2), endpoint=True).astype(kind)
        yield Node(f"quantized convolution of {kind.__name__}", "QLinearConv", {
            "x": whole, "xs": np.float32(0.03), "xz": kind(zero), "w": w, "ws": abs(normal(5)), "wz": np.full(5, kind(1)), "ys": np.float32(6), "yz": kind(3),
            "b": random.integers(-3000, 3000, 5).astype(np.int32)}, constants=("xs", "xz", "w", "ws", "wz", "ys", "yz", "b"), pads=[1, 0, 1, 1], strides=[2, 1])
        if kind is np.uint8:
            yield Node("product of integers", "MatMulInteger", {"a": a, "b": b, "az": kind(zero), "bz": column}, constants=("az", "bz"))
            yield Node("product of a batch of integers", "MatMulInteger", {"a": whole, "b": b, "az": kind(zero), "bz": kind(7)}, constants=("az", "bz"))
            yield Node("convolution of integers", "ConvInteger", {"x": whole, "w": w, "xz": kind(zero), "wz": kind(5)}, constants=("w", "xz", "wz"),
                       auto_pad="SAME_UPPER", strides=[2, 2])
        yield Node(f"dequantize {kind.__name__} by blocks", "DequantizeLinear", {"x": whole, "s": abs(normal(2, 3, 3, 7)), "z": whole[:, :, :3]}, constants=("x", "s", "z"),
                   opset=21, axis=2, block_size=2)
        yield Node(f"quantize to {kind.__name__} by blocks", "QuantizeLinear", {"x": 40 * x, "s": 1 + abs(normal(2, 3, 5, 3)), "z": whole[..., :3]}, constants=("s", "z"),
                   fixed=("x",), opset=21, axis=-1, block_size=3)
    # As quantisers write them: bytes of either sign, and weights without a zero point.
    bytes_of = lambda kind, *dims: random.integers(np.iinfo(kind).min, np.iinfo(kind).max, dims, endpoint=True).astype(kind)
    for title, channels, filters, group, kernel, options in (
            ("padded", 5, 20, 1, (3, 3), {"pads": [1, 1, 1, 1]}), ("strided", 3, 17, 1, (3, 2), {"pads": [2, 0, 1, 1], "strides": [2, 1]}), ("same", 4, 6, 1, (3, 3), {"auto_pad": "SAME_LOWER"}),
            ("depthwise", 19, 19, 19, (3, 3), {"pads": [1, 1, 1, 1]}), ("grouped", 8, 8, 2, (3, 3), {"pads": [1, 1, 1, 1]}), ("of places", 33, 40, 1, (1, 1), {})):
        x, w = bytes_of(np.uint8, 2, channels, 7, 9), bytes_of(np.int8, filters, channels // group, *kernel)
        yield Node(f"quantized convolution without a zero point of the filter, {title}", "QLinearConv", {
            "x": x, "xs": np.float32(0.03), "xz": np.uint8(131), "w": w, "ws": abs(normal(filters)), "wz": np.zeros(filters, np.int8), "ys": np.float32(6), "yz": np.uint8(90)},
            constants=("xs", "xz", "w", "ws", "wz", "ys", "yz"), group=group, **options)
        yield Node(f"convolution of integers without a zero point of the filter, {title}", "ConvInteger", {"x": x, "w": w.view(np.uint8), "xz": np.uint8(131)},
                   constants=("w", "xz"), group=group, **options)
    a, b = bytes_of(np.uint8, 2, 5, 70), bytes_of(np.int8, 70, 33)
    for title, zeros in (("no zero point", {}), ("one of the left", {"az": np.uint8(9)}), ("one of the right", {"az": np.uint8(0), "bz": np.int8(-5)}),
                         ("one of each column", {"az": np.uint8(200), "bz": bytes_of(np.int8, 33)}), ("zeros", {"az": np.uint8(0), "bz": np.zeros(33, np.int8)})):
        yield Node(f"product of bytes of either sign, {title}", "MatMulInteger", {"a": a, "b": b, **zeros}, constants=("b", *zeros))
        yield Node(f"product of bytes of the call, {title}", "MatMulInteger", {"a": a[0], "b": b, **zeros})
    yield Node("product of one row of bytes", "MatMulInteger", {"a": a[0, :1], "b": b, "az": np.uint8(77)}, constants=("b", "az"))
    whole = np.array([-3, -1, 0, 1, 2, 3, 10, 7, -2], np.int64)
    for title, exponent in (("i64", np.array([3, 7, 0, 63, 62, 33, 15, 1, 61], np.int64)), ("i32", np.array([5, 200, 1, 200, 10, 31, 4, 18, 2], np.int32)),
                            ("f32", np.array([2, 3, 0, 5, 0.5, 2.5, 12, 1.5, 4], np.float32))):
        yield Node(f"powers of i64 by {title}", "Pow", {"x": whole, "e": exponent})
    for type, low, high in ((TensorProto.INT4, -8, 7), (TensorProto.UINT4, 0, 15)):
        kind, name = helper.tensor_dtype_to_np_dtype(type), TensorProto.DataType.Name(type).lower()
        weights = random.integers(low, high, (73, 35), endpoint=True).astype(kind)
        yield Node(f"dequantize {name}, a constant by blocks", "DequantizeLinear", {"x": weights, "s": abs(normal(5, 35)), "z": weights[:5]}, constants=("x", "s", "z"),
                   opset=21, axis=0, block_size=16)
    # Halves go to the even neighbour.
    yield Node("quantize halves", "QuantizeLinear", {"x": np.arange(-8, 8, dtype=np.float32) / 2, "s": np.float32(1), "z": np.int8(0)}, constants=("s", "z"))


def loops():
    """Scan outputs of loops that run to their count, of none or fewer than none iterations too, and of one that its condition ends."""
    info, node = helper.make_tensor_value_info, helper.make_node

    def body(*nodes, condition="go_on"):
        return helper.make_graph([node("Mul", ["a", "x"], ["next"]), node("Cast", ["i"], ["number"], to=FLOAT), node("Add", ["next", "number"], ["row"]), *nodes], "body",
                                 [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("a", FLOAT, [3])],
                                 [info(condition, TensorProto.BOOL, []), info("next", FLOAT, [3]), info("row", FLOAT, [3]), info("a", FLOAT, [3])])

    x, start = np.float32(-1.5), np.array([0.5, 2, -1], np.float32)
    goes_on = body(node("Identity", ["go"], ["go_on"]))
    ends = body(node("ReduceMax", ["next"], ["most"], keepdims=0), node("Constant", [], ["limit"], value=numpy_helper.from_array(np.float32(4))),
                node("Less", ["most", "limit"], ["go_on"]))
    for count in (0, 1, 5, -3):
        for title, constants in (("that the call gives", ()), ("that is known", ("m",))):
            if count >= 0 or not constants:
                yield Node(f"loop to a count {title}, {count}", "Loop", {"m": np.array(count, np.int64), "c": None, "start": start, "x": x}, terms=8,
                           constants=constants, outputs=3, captured="x", body=goes_on)
        yield Node(f"loop to a count or a condition, {count}", "Loop", {"m": np.array(count, np.int64), "c": None, "start": start, "x": x}, terms=8,
                   outputs=3, captured="x", body=ends)
    # Branches of two ranks, which what is broadcast to a third one need not tell apart.
    branches = {"then_branch": helper.make_graph([node("ReduceMax", ["x"], ["t"], keepdims=0)], "then", [], [helper.make_empty_tensor_value_info("t")]),
                "else_branch": helper.make_graph([node("Exp", ["x"], ["e"])], "else", [], [helper.make_empty_tensor_value_info("e")])}
    more = [node("ReduceMin", ["x"], ["least"], keepdims=0), node("Sub", ["least", "made"], ["s"]), node("Mul", ["s", "made"], ["p"]), node("CastLike", ["w", "p"], ["l"]),
            node("Add", ["p", "l"], ["y"])]
    for first in (True, False):
        for w in (start, np.stack([start, -start])):
            yield Node(f"branches of two ranks, {first}, in {w.ndim}", "If", {"c": np.array(first), "x": start, "w": w}, captured=("x", "w"), after=more, **branches)
        # What reads the rank goes on in each branch, also into another such If.
        inner = {"then_branch": helper.make_graph([node("ReduceSum", ["p"], ["u"], keepdims=0)], "then", [], [helper.make_empty_tensor_value_info("u")]),
                 "else_branch": helper.make_graph([node("Neg", ["p"], ["v"])], "else", [], [helper.make_empty_tensor_value_info("v")])}
        after = [node("Softmax", ["made"], ["p"], axis=-1), node("Shape", ["made"], ["sizes"]), node("Size", ["sizes"], ["rank"]), node("If", ["c"], ["either"], **inner),
                 node("Constant", [], ["all"], value_ints=[-1]), node("Reshape", ["either", "all"], ["flat"]), node("CastLike", ["rank", "flat"], ["r"]), node("Add", ["flat", "r"], ["y"])]
        yield Node(f"branches of two ranks, {first}, that others read", "If", {"c": np.array(first), "x": np.stack([start, -start])}, captured=("x",), after=after,
                   **branches | {"then_branch": helper.make_graph([node("ReduceMax", ["x"], ["t"], axes=[0], keepdims=0)], "then", [], [helper.make_empty_tensor_value_info("t")])})


def losses():
    """Of one class too and of several dimensions of space; some targets are those that are ignored, which need be no classes."""
    random = np.random.default_rng(17)
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        for shape in ((7, 5), (3, 4, 5), (2, 3, 5, 1, 3)):
            x, w = random.standard_normal(shape).astype(np.float32), random.random(shape[1]).astype(np.float32)
            for reduction in ("none", "sum", "mean"):
                for ignored, kind, weighs in ((None, np.int64, False), (-7, np.int32, True), (1, np.int64, False), (None, np.int32, True)):
                    t = random.integers(0, shape[1], shape[:1] + shape[2:]).astype(kind)
                    if ignored is not None:
                        t[0] = ignored
                    yield Node(f"{op} of {shape}, {reduction}, {ignored} ignored, {'weighed' if weighs else 'not weighed'}", op,
                               {"x": x, "t": t} | ({"w": w} if weighs else {}), terms=3 * x.size, opset=13, reduction=reduction,
                               outputs=2 if op[0] == "S" else 1, **({} if ignored is None else {"ignore_index": ignored}))


def places():
    """Ops whose elements depend on their places."""
    random = np.random.default_rng(19)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    number = lambda value: np.array(value, np.int64)
    for upper in (0, 1):
        for k in (-9, -2, 0, 1, 7):
            yield Node(f"{'upper' if upper else 'lower'} triangle from {k}", "Trilu", {"x": normal(2, 5, 7), "k": number(k)}, upper=upper)
        yield Node(f"{'upper' if upper else 'lower'} triangle of a known diagonal", "Trilu", {"x": normal(7, 3), "k": number(-1)}, constants=("k",), upper=upper)
    for k in (-2, 0, 3):
        yield Node(f"ones on diagonal {k}", "EyeLike", {"x": normal(5, 7)}, k=k)
    for exclusive, reverse in itertools.product((0, 1), (0, 1)):
        for size, axis in ((3, 0), (32, 1), (65, -1), (150, 1), (1500, -1)):
            x = normal(3, size, 2) if axis != -1 else normal(2, 3, size)
            yield Node(f"sums before each of {size} along {axis}{', exclusive' * exclusive}{', reverse' * reverse}", "CumSum", {"x": x, "a": number(axis)}, terms=size,
                       constants=("a",) if size % 2 else (), exclusive=exclusive, reverse=reverse)
    for op, periodic, size in itertools.product(("HannWindow", "HammingWindow", "BlackmanWindow"), (0, 1), (5, 17)):
        yield Node(f"{op} of {size}{', periodic' * periodic}", op, {"n": number(size)}, periodic=periodic)
    for axis in (0, 1, -1):
        yield Node(f"Hardmax along {axis}", "Hardmax", {"x": np.round(normal(3, 5, 7))}, axis=axis)
        yield Node(f"Hardmax along {axis}, opset 11", "Hardmax", {"x": np.round(normal(3, 5, 7))}, opset=11, axis=axis)
        for p in (1, 2):
            yield Node(f"norm {p} to 1 along {axis}", "LpNormalization", {"x": normal(3, 5, 7)}, terms=7, axis=axis, p=p)
    for groups in (1, 3, 6):
        yield Node(f"normalized in {groups} groups", "GroupNormalization", {"x": normal(2, 6, 5, 7), "s": normal(6), "b": normal(6)}, terms=230, opset=21, num_groups=groups,
                   epsilon=1e-3)
    yield Node("normalized in 2 groups of one scale each", "GroupNormalization", {"x": normal(2, 6, 5), "s": normal(2), "b": normal(2)}, terms=230, opset=18, num_groups=2)
    yield Node("mean to 0, variance to 1", "MeanVarianceNormalization", {"x": normal(2, 3, 5, 7)}, terms=80)
    for p, options in ((1, {}), (2, {"pads": [1, 0, 2, 1]}), (3, {"strides": [2, 1]}), (2, {"auto_pad": "SAME_UPPER", "strides": [2, 2]})):
        yield Node(f"pool of norm {p}, {options}", "LpPool", {"x": normal(2, 3, 9, 7)}, terms=12, p=p, kernel_shape=[3, 2], **options)
        yield Node(f"norm {p} of all places", "GlobalLpPool", {"x": normal(2, 3, 9, 7)}, terms=70, p=p)
    for kind, direction in itertools.product((np.uint8, np.uint32, np.uint64), ("LEFT", "RIGHT")):
        bits = np.iinfo(kind).bits
        x, y = random.integers(0, np.iinfo(kind).max, 37, dtype=kind, endpoint=True), (np.arange(37) % bits).astype(kind)
        yield Node(f"bits of {kind.__name__} moved {direction}", "BitShift", {"x": x, "n": y}, direction=direction)
    yield Node("quantized as it comes", "DynamicQuantizeLinear", {"x": 5 * normal(3, 7) + 2}, outputs=3)
    yield Node("quantized as it comes, zeros", "DynamicQuantizeLinear", {"x": 0 * normal(3, 7)}, outputs=3)
    yield Node("quantized as it comes, above 0", "DynamicQuantizeLinear", {"x": 1 + abs(normal(3, 7))}, outputs=3)
    for sizes in ([4, 11], [8, 2], [5, 7]):
        yield Node(f"center of {sizes}", "CenterCropPad", {"x": normal(5, 3, 7), "s": number(sizes)}, opset=18, constants=("s",), axes=[0, -1])
    for mode, pads in itertools.product(("reflect", "edge", "wrap"), ([2, 0, 1, 3], [0, 4, 3, 0])):
        yield Node(f"pad of mode {mode} by {pads}", "Pad", {"x": normal(4, 5), "p": number(pads)}, opset=19, constants=("p",), mode=mode)
    for mode, pads in (("edge", [9, 0, 1, 12]), ("wrap", [4, 5, 3, 1]), ("edge", [-1, 2, 3, -2]), ("wrap", [1, -1, -2, 3])):
        yield Node(f"pad of mode {mode} by {pads}", "Pad", {"x": normal(4, 5), "p": number(pads)}, opset=19, constants=("p",), mode=mode)
        yield Node(f"pad of mode {mode} by {pads} of the call", "Pad", {"x": normal(4, 5), "p": number(pads)}, opset=19, fixed=("p",), mode=mode)
    for mode, shape in itertools.product(("reflect", "edge", "wrap"), ((4, 5), (7, 4), (5, 7))):
        node = helper.make_node
        yield Node(f"pad of mode {mode} of {shape} up to sevens", "Shape", {"x": normal(*shape)}, opset=19,
                   after=[node("Constant", [], ["seven"], value_ints=[7, 7]), node("Sub", ["seven", "made"], ["more"]), node("Constant", [], ["none"], value_ints=[0, 0]),
                          node("Concat", ["none", "more"], ["p"], axis=0), node("Pad", ["x", "p"], ["y"], mode=mode)])
    for mode in ("DCR", "CRD"):
        yield Node(f"depth to space {mode}", "DepthToSpace", {"x": normal(2, 12, 3, 5)}, blocksize=2, mode=mode)
    yield Node("space to depth", "SpaceToDepth", {"x": normal(2, 3, 6, 9)}, blocksize=3)
    for size in (1, 3, 9):
        yield Node(f"normalized over {size} channels", "LRN", {"x": normal(2, 7, 3, 5)}, terms=size + 4, size=size, alpha=0.3, beta=0.6, bias=1.5)
    yield Node("shrunk", "Shrink", {"x": normal(5, 7)}, lambd=0.7, bias=0.3)
    for start, limit, delta in ((0, 5, 0.5), (3, -2, -0.75), (1, 0, 1)):
        yield Node(f"range from {start} to {limit} by {delta}", "Range", {name: np.float32(value) for name, value in zip("abc", (start, limit, delta))})


def samples():
    """Images at points, also outside of them, and blocks and letters."""
    random = np.random.default_rng(23)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    number = lambda *values: np.array(values, np.int64)
    for mode, padding, aligned in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)):
        yield Node(f"sample {mode} of {padding}{', aligned' * aligned}", "GridSample", {"x": normal(2, 3, 5, 7), "g": 1.2 * normal(2, 3, 9, 2)}, terms=16, opset=16,
                   mode=mode, padding_mode=padding, align_corners=aligned)
    for mode, padding in itertools.product(("linear", "nearest"), ("zeros", "border", "reflection")):
        yield Node(f"sample {mode} of {padding} in space", "GridSample", {"x": normal(2, 3, 4, 5, 7), "g": 1.2 * normal(2, 3, 2, 5, 3)}, terms=16, opset=20, mode=mode,
                   padding_mode=padding)
    for aligned, size in itertools.product((0, 1), ((2, 3, 5, 7), (2, 1, 3, 5, 2))):
        yield Node(f"grid of {size}{', aligned' * aligned}", "AffineGrid", {"t": normal(2, len(size) - 2, len(size) - 1), "s": number(*size)}, constants=("s",),
                   opset=20, align_corners=aligned)
    for equation, *shapes in (("ij,jk->ik", (3, 5), (5, 2)), ("bij, bjk -> bki", (2, 3, 5), (2, 5, 4)), ("ij,kj", (3, 5), (4, 5)), ("ii->i", (5, 5)), ("iij", (3, 3, 4)),
                              ("i,j,k->kji", (2,), (3,), (4,)), ("...ij,...jk->...ik", (2, 1, 3, 5), (1, 4, 5, 2)), ("bhid,bhjd->bhij", (2, 3, 5, 4), (2, 3, 7, 4)),
                              ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)), ("ij,ij->", (3, 5), (3, 5)), ("ijk->ki", (2, 3, 4)), ("bA,Ab->", (3, 2), (2, 3))):
        yield Node(f"sum of products {equation}", "Einsum", {f"x{i}": normal(*shape) for i, shape in enumerate(shapes)}, terms=20, equation=equation)
    for title, image, block, blocks, options in (("plain", (5, 7), (1, 7), 5, {}), ("that overlap", (5, 7), (2, 3), 20, {}),
                                                 ("with pads", (5, 6), (2, 3), 42, {"pads": [1, 2, 1, 1]}), ("spread", (6, 7), (2, 3), 9, {"dilations": [3, 2], "strides": [1, 1]}),
                                                 ("far apart", (6, 7), (2, 3), 9, {"strides": [2, 2]}), ("of a row", (9,), (3,), 4, {"strides": [2]})):
        yield Node(f"blocks {title}", "Col2Im", {"x": normal(2, 3 * int(np.prod(block)), blocks), "i": number(*image), "b": number(*block)}, terms=8,
                   constants=("i", "b"), opset=18, **options)


RECURRENT = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}  # gates, functions
# The numbers of those that have some: ONNX Runtime takes 0 where the text has the default of the op of the name.
NUMBERS = {"HardSigmoid": (0.3, 0.4), "Elu": (0.7,), "ScaledTanh": (0.9, 0.6), "Affine": (0.4, 0.1), "LeakyRelu": (0.3,), "ThresholdedRelu": (0.1,)}
FUNCTIONS = ("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Elu", "ScaledTanh", "Affine", "LeakyRelu", "ThresholdedRelu", "Softsign", "Softplus")


def recurrent():
    """Of several directions, with and without each input, with each function. Weights are small, so that nothing grows along the sequence."""
    random = np.random.default_rng(13)
    normal = lambda *shape: (random.standard_normal(shape) / 2).astype(np.float32)
    length, batch, inputs, hidden = 7, 3, 5, 4
    for op, (gates, count) in RECURRENT.items():
        def make(title, direction="forward", given="b s h c", **attributes):
            sides = 2 if direction == "bidirectional" else 1
            given = given.split()
            arrays = {"x": normal(length, batch, inputs), "w": normal(sides, gates * hidden, inputs), "r": normal(sides, gates * hidden, hidden),
                      "b": normal(sides, 2 * gates * hidden), "s": np.array([length, 1, 4], np.int32), "h": normal(sides, batch, hidden)}
            if op == "LSTM":
                arrays |= {"c": normal(sides, batch, hidden), "p": normal(sides, 3 * hidden)}
            arrays = {name: array if name in "xwr" or name in given else None for name, array in arrays.items()}
            return Node(f"{op} {title}", op, arrays, terms=length * (inputs + hidden + 8), constants=[name for name in "wrbp" if arrays.get(name) is not None],
                        outputs=3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, **attributes)

        for direction in ("forward", "reverse", "bidirectional"):
            yield make(direction, direction)
            yield make(f"{direction} of whole sequences", direction, "b")
        yield make("without biases", given="s h c")
        yield make("clipped", clip=0.3)
        if op == "GRU":
            yield make("linear before reset", "bidirectional", linear_before_reset=1)
            yield make("linear before reset, without biases", given="h", linear_before_reset=1)
        if op == "LSTM":
            yield make("with peepholes", "bidirectional", "b s h c p")
            yield make("whose forget gate is that of its input", given="b h c", input_forget=1)
        for number in range(len(FUNCTIONS) if op == "RNN" else 4):
            names = [FUNCTIONS[(number + i) % len(FUNCTIONS)] for i in range(2 * count)]
            numbers = [NUMBERS[name] for name in names if name in NUMBERS]
            lists = {"activation_alpha": [pair[0] for pair in numbers], "activation_beta": [pair[1] for pair in numbers if len(pair) > 1]}
            yield make(f"of {', '.join(names)}", "bidirectional", "b", activations=names, **{name: values for name, values in lists.items() if values})
        yield make("of functions with their own numbers", given="b", activations=["Elu", "HardSigmoid", "Tanh"][:count])


def attention():
    """Heads that serve several of the query's, caches, masks of each rank, and what shows of the steps between; embeddings turned by place."""
    random = np.random.default_rng(17)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    batch, length, keys, past, depth = 3, 5, 7, 2, 6

    def make(title, heads=(4, 2), flat=False, mask=None, cached=False, types=np.float32, opset=23, outputs=1, **attributes):
        size = lambda heads, length, depth: (batch, length, heads * depth) if flat else (batch, heads, length, depth)
        arrays = {"q": normal(*size(heads[0], length, depth)), "k": normal(*size(heads[1], keys, depth)), "v": normal(*size(heads[1], keys, depth + 3)),
                  "m": mask if mask is None or mask.dtype == bool else mask.astype(types), "pk": None, "pv": None}
        if cached:
            arrays |= {"pk": normal(batch, heads[1], past, depth), "pv": normal(batch, heads[1], past, depth + 3)}
        arrays = {name: array if array is None or name == "m" else array.astype(types) for name, array in arrays.items()}
        while list(arrays.values())[-1] is None:
            arrays.popitem()
        if flat:
            attributes |= {"q_num_heads": heads[0], "kv_num_heads": heads[1]}
        terms = (keys + depth) * (1 if types == np.float32 else 2**13)  # in units of the last place of f32
        return Node(f"attention {title}", "Attention", arrays, terms=terms, opset=opset, outputs=outputs, **attributes)

    # Each query has a key that takes part.
    chosen = random.integers(0, 2, (batch, 4, length, keys)).astype(bool) | (np.arange(keys) < 2)
    for flat in (False, True):
        kind = "of 3 dimensions" if flat else "of 4 dimensions"
        yield make(f"{kind}", flat=flat)
        yield make(f"{kind}, one head for all, with a scale", (3, 1), flat, scale=0.3)
        yield make(f"{kind}, causal", (3, 3), flat, is_causal=1)
        yield make(f"{kind}, causal behind a cache", (4, 2), flat, cached=True, outputs=3, is_causal=1)
        yield make(f"{kind}, with a mask of numbers and a cap", (4, 2), flat, normal(length, keys), softcap=0.7)
        yield make(f"{kind}, with a mask of bools", (4, 2), flat, chosen)
        yield make(f"{kind}, with a mask for each of the batch", (4, 2), flat, chosen[:, :1])
        yield make(f"{kind}, with a mask behind a cache", (4, 2), flat, normal(batch, 4, length, keys + past), cached=True, outputs=3)
    yield make("of f16", types=np.float16, mask=normal(length, keys))
    for mode in range(4):
        yield make(f"with scores of mode {mode}", mask=normal(length, keys + past), cached=True, outputs=4, softcap=0.7, qk_matmul_output_mode=mode)
        if mode != 2:  # ONNX Runtime shows a large number where the text has the infinity
            yield make(f"with scores of mode {mode} behind a diagonal", (4, 4), True, cached=True, outputs=4, is_causal=1, qk_matmul_output_mode=mode)
    yield make("with a softmax of f64", softmax_precision=TensorProto.DOUBLE)
    for interleaved in (0, 1):
        for turned in (0, 4):
            rows = (turned or 6) // 2
            for places in (None, random.integers(0, 11, (batch, length))):
                caches = {name: normal(*((batch, length) if places is None else (11,)), rows) for name in "cs"}
                title = f"rotary embedding, {'neighbours' if interleaved else 'halves'}{' of 4' if turned else ''}{', at places' if places is not None else ''}"
                given = caches | ({} if places is None else {"p": places})
                # ONNX Runtime asks for the heads where a part turns.
                yield Node(title, "RotaryEmbedding", {"x": normal(batch, 4, length, 6)} | given, opset=23, interleaved=interleaved, rotary_embedding_dim=turned,
                           **({"num_heads": 4} if turned else {}))
                yield Node(f"{title}, flat", "RotaryEmbedding", {"x": normal(batch, length, 24)} | given, opset=23, interleaved=interleaved,
                           rotary_embedding_dim=turned, num_heads=4)
    for axis in (-1, 1):
        x = normal(3, 5, 7)
        yield Node(f"layer normalization with statistics from axis {axis}", "LayerNormalization", {"x": x, "s": normal(*x.shape[axis:]), "b": normal(*x.shape[axis:])},
                   terms=35, outputs=3, axis=axis, epsilon=0.01)
    yield Node("rms normalization without an epsilon", "RMSNormalization", {"x": normal(3, 5, 7), "s": normal(7)}, terms=7, opset=23, epsilon=0.0)


def element_places():
    """Elements and slices whose places data tells, from the end too, several times the same one, and none."""
    random = np.random.default_rng(23)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    for axis, rows in ((0, (5, 3, 2)), (1, (3, 9, 2)), (-1, (2, 2, 7))):
        x = normal(3, 5, 7) if axis else normal(4, 3, 7)
        for kind in (np.int32, np.int64):
            size = x.shape[axis]
            indices = random.integers(-size, size, rows).astype(kind)
            yield Node(f"elements along {axis} at {kind.__name__}", "GatherElements", {"x": x, "i": indices}, axis=axis)
            # Of several elements for one place ONNX Runtime leaves the last, too.
            yield Node(f"elements set along {axis} at {kind.__name__}", "ScatterElements", {"x": x, "i": indices, "u": normal(*rows)}, opset=18, axis=axis)
            yield Node(f"elements added along {axis} at {kind.__name__}", "ScatterElements", {"x": x, "i": indices, "u": normal(*rows)}, terms=16, opset=18,
                       axis=axis, reduction="add")
        for reduction in ("mul", "max", "min"):
            yield Node(f"elements along {axis} with {reduction}", "ScatterElements", {"x": x, "i": indices, "u": normal(*rows)}, terms=16, opset=18, axis=axis,
                       reduction=reduction)
    for reduction in ("none", "add", "mul", "max", "min"):
        for tuples in (np.array([[[1], [-1]], [[2], [2]], [[0], [1]]]), random.integers(-3, 3, (2, 11, 2))):
            size = tuples.shape[-1]
            # Of several slices for one place ONNX Runtime leaves any.
            tuples = tuples if reduction != "none" else tuples[:1, :2]
            tuples = np.array([[[1, 2], [0, -1]]]) if reduction == "none" and size == 2 else tuples
            yield Node(f"slices at tuples of {size} with {reduction}", "ScatterND", {"x": normal(3, 5, 7), "i": tuples, "u": normal(*tuples.shape[:-1], *(3, 5, 7)[size:])},
                       terms=32, constants=("i",), opset=18, reduction=reduction)
    for axis in (0, 1, -1):
        yield Node(f"one hot along {axis}", "OneHot", {"x": random.integers(-9, 9, (3, 5)), "d": np.array(7, np.int64), "v": np.array([-2, 3], np.float32)},
                   opset=11, axis=axis)
        yield Node(f"one hot of a known depth along {axis}", "OneHot", {"x": np.round(normal(3, 5) * 4), "d": np.array([6], np.float32), "v": np.array([1, 9], np.float32)},
                   constants=("d",), opset=11, axis=axis)
    for batches in (1, 2):
        for size in range(1, 4 - batches):
            tuples = random.integers(-3, 3, (2, 3)[:batches] + (4, size))
            yield Node(f"slices at tuples of {size} in {batches} batch dimensions", "GatherND", {"x": normal(2, 3, 5, 7), "i": tuples}, fixed=("i",), batch_dims=batches)
    for lengths, axes in (([3, 0, 5, 1, 2], (0, 1)), ([7, 7, 1], (1, 0))):
        batch, time = axes
        yield Node(f"reversed up to {lengths}", "ReverseSequence", {"x": normal(*((5, 6) if batch == 0 else (9, 3)), 2, 3), "n": np.array(lengths)}, opset=10,
                   batch_axis=batch, time_axis=time)
    for mode, starts in (("linear", [5, 0, 3]), ("circular", [8, 1, 6])):
        for axis in (1, -1):
            update = (3, 4, 2, 5) if axis == 1 else (3, 9, 2, 4)
            yield Node(f"cache written {mode} along {axis}", "TensorScatter", {"x": normal(3, 9, 2, 9 if axis == -1 else 5), "u": normal(*update), "i": np.array(starts)},
                       opset=24, mode=mode, axis=axis)
    for title, kept in (("some", [0, 1, 1, 0, 1]), ("all", [1] * 5), ("none", [0] * 5), ("fewer", [0, 1, 1])):
        yield Node(f"compress, {title} kept", "Compress", {"x": normal(3, 5, 2), "c": np.array(kept, bool)}, opset=11, axis=1)
        yield Node(f"compress, {title} kept, as the file says", "Compress", {"x": normal(3, 5, 2), "c": np.array(kept, bool)}, constants=("c",), opset=11, axis=-2)
        yield Node(f"compress of all elements, {title} kept", "Compress", {"x": normal(3, 5, 2), "c": np.array(kept, bool)}, opset=11)


def scans():
    """Scans along other axes and backwards, and of version 8 with a batch."""
    random = np.random.default_rng(29)
    info, node = helper.make_tensor_value_info, helper.make_node
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    body = helper.make_graph([node("Mul", ["own", "left"], ["next"]), node("Add", ["next", "right"], ["row"]), node("Identity", ["next"], ["same"])], "body",
                             [info("own", FLOAT, [3]), info("left", FLOAT, [3]), info("right", FLOAT, [3])], [info("next", FLOAT, [3]), info("row", FLOAT, [3]), info("same", FLOAT, [3])])
    for directions in ((0, 0), (1, 0), (0, 1)):
        yield Node(f"scan in directions {directions}", "Scan", {"s": normal(3), "x": normal(5, 3), "z": normal(3, 5)}, terms=16, outputs=3, body=body, num_scan_inputs=2,
                   scan_input_axes=[0, 1], scan_input_directions=directions, scan_output_axes=[1, -1], scan_output_directions=directions)


def transforms():
    """Fourier transforms: of lengths with and without factors, cut and padded, along several axes. ONNX Runtime's own errors grow with the length."""
    random = np.random.default_rng(31)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    scalar = lambda value: np.array(value, np.int64)
    # The length is known, and transforms of long ones have several steps; or it is a symbol.
    for length, inverse in ((1, 0), (16, 1), (77, 0), (96, 1), (131, 0)):
        yield Node(f"transform of {length}, inverse {inverse}", "DFT", {"x": normal(2, length, 3, 2), "n": scalar(length), "a": scalar(1)}, terms=4 * length + 4,
                   constants=("x", "n", "a"), opset=20, inverse=inverse)
    for length, inverse in ((2, 0), (67, 1), (300, 0)):
        yield Node(f"transform of a symbol, {length}, inverse {inverse}", "DFT", {"x": normal(2, length, 3, 2), "n": None, "a": scalar(1)}, terms=4 * length + 4,
                   constants=("a",), opset=20, inverse=inverse)
    yield Node("one-sided transform of 77", "DFT", {"x": normal(3, 77, 1), "n": None, "a": scalar(1)}, terms=4 * 77 + 4, constants=("a",), opset=20, onesided=1)
    for length in (7, 20):
        for axis in (0, 1):
            yield Node(f"transform cut or padded to {length} along {axis}", "DFT", {"x": normal(11, 13, 1), "n": scalar(length), "a": scalar(axis)}, terms=24,
                       constants=("n", "a"), opset=20)
    for length, step, onesided in ((16, 8, 1), (9, 5, 0), (31, 31, 1)):
        for window in (None, normal(length))[:1 + onesided]:
            yield Node(f"short transforms of {length} by {step}", "STFT", {"x": normal(2, 100, 1), "s": scalar(step), "w": window, "n": scalar(length)}, terms=4 * length + 4,
                       constants=("s", "n"), opset=17, onesided=onesided)
    yield Node("short transforms of a signal without parts", "STFT", {"x": normal(2, 100), "s": scalar(8), "w": normal(16)}, terms=68, constants=("s", "w"), opset=17)


def sorts():
    """Greatest and least elements with ties, different elements, and boxes that overlap no better one."""
    random = np.random.default_rng(37)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    scalar = lambda value: np.array([value], np.int64)
    few = lambda *shape: random.integers(-4, 4, shape)
    for dtype, largest, axis, count in ((np.float32, 1, 0, 4), (np.float32, 0, 1, 1), (np.int64, 1, -1, 7), (np.int64, 0, -1, 0), (np.int32, 1, 1, 3), (np.int32, 0, 0, 2)):
        yield Node(f"{count} of {dtype.__name__} along {axis}, largest {largest}", "TopK", {"x": few(4, 3, 7).astype(dtype), "k": scalar(count)}, opset=11, outputs=2,
                   axis=axis, largest=largest)
    yield Node("few of many", "TopK", {"x": np.round(normal(2, 5000), 1), "k": scalar(13)}, constants=("x", "k"), opset=11, outputs=2)
    yield Node("few least of many", "TopK", {"x": np.round(normal(3, 2049), 1), "k": scalar(5)}, constants=("x", "k"), opset=11, outputs=2, largest=0)
    for length, count in ((1, 1), (17, 17), (127, 7), (1025, 1024), (2053, 1), (4099, 1030)):
        for largest in (0, 1):
            yield Node(f"{count} of {length}, largest {largest}", "TopK", {"x": np.round(normal(3, length), 2), "k": scalar(count)}, constants=("k",), opset=11, outputs=2, largest=largest)
    yield Node("f64 and many", "TopK", {"x": np.round(normal(2, 3001), 2).astype(np.float64), "k": scalar(2500)}, opset=11, outputs=2)
    yield Node("many of many", "TopK", {"x": normal(1, 1500), "k": scalar(1500)}, opset=11, outputs=2)
    for ordered in (0, 1):
        yield Node(f"different elements, sorted {ordered}", "Unique", {"x": few(5, 7)}, opset=11, outputs=4, sorted=ordered)
        for axis in (0, -1):
            yield Node(f"different slices along {axis}, sorted {ordered}", "Unique", {"x": (few(5, 6, 2) > 2).astype(np.float32)}, opset=11, outputs=4, axis=axis, sorted=ordered)
    corners = np.sort(random.random((2, 40, 2, 2)), 2).reshape(2, 40, 4).astype(np.float32)
    many = np.sort(random.random((1, 1301, 2, 2)), 2).reshape(1, 1301, 4).astype(np.float32)
    for most, overlap in ((20, 0.2), (1301, 0.6)):
        yield Node(f"many boxes, {most} of a class", "NonMaxSuppression", {"b": many, "s": random.random((1, 3, 1301)).astype(np.float32), "m": scalar(most),
                   "o": np.array([overlap], np.float32)}, opset=11)
    for most, overlap, least in ((5, 0.3, 0.4), (40, 0.5, -1), (3, 0.0, 2), (0, 0.5, 0)):
        yield Node(f"boxes, {most} of a class", "NonMaxSuppression", {"b": corners, "s": random.random((2, 3, 40)).astype(np.float32), "m": scalar(most),
                   "o": np.array([overlap], np.float32), "t": np.array([least], np.float32)}, opset=11)


def regions():
    """Regions of images that are pooled, convolutions whose places move, elements put back, and determinants."""
    random = np.random.default_rng(41)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x = normal(2, 3, 9, 7)
    rois = np.array([[0, 0, 6, 5], [1.5, -2, 9, 3.25], [2, 2, 2, 2], [5, 6, 1, 1]], np.float32)
    for ratio in (0, 2):
        for mode in ("half_pixel", "output_half_pixel"):
            yield Node(f"regions by {ratio}, {mode}", "RoiAlign", {"x": x, "r": rois, "b": np.array([0, 1, 1, 0], np.int64)}, terms=32, opset=16, output_height=3, output_width=2,
                       sampling_ratio=ratio, spatial_scale=0.75, coordinate_transformation_mode=mode)
    for size in (0, 1, 2, 3, 5, 8):
        yield Node(f"determinants of {size} x {size}", "Det", {"x": normal(3, 2, size, size)}, terms=8 * size + 4, opset=11)
    yield Node("determinants of known sizes", "Det", {"x": normal(4, 3, 3)}, terms=16, constants=("x",), opset=11)
    # Far from 0, and near to where exponentials and logarithms would cancel.
    for op, low, high in (("Sinh", -20, 20), ("Cosh", -20, 20), ("Asinh", -1e5, 1e5), ("Acosh", 1, 1e5), ("Atanh", -1, 1), ("Asin", -1, 1), ("Acos", -1, 1), ("Atan", -50, 50)):
        start = 1 if op == "Acosh" else 0
        for reach in (1e-4, 0.3, 1):
            if reach < high:
                yield Node(f"{op} up to {start + reach}", op, {"x": random.uniform(start - reach * (low < 0), start + reach, (5, 41)).astype(np.float32)}, opset=9)
        yield Node(f"{op} up to {high}", op, {"x": random.uniform(low, high, (5, 41)).astype(np.float32)}, opset=9)
    x = normal(2, 6, 7, 8)
    for strides, dilations, pads, groups, parts in (([1, 1], [1, 1], [0, 0, 0, 0], 1, 1), ([2, 1], [1, 2], [1, 0, 2, 3], 2, 3)):
        places = [(7 + pads[0] + pads[2] - 2 * dilations[0] - 1) // strides[0] + 1, (8 + pads[1] + pads[3] - dilations[1] - 1) // strides[1] + 1]
        yield Node(f"convolution whose places move, by {strides}", "DeformConv", {"x": x, "w": normal(4, 6 // groups, 3, 2), "o": normal(2, parts * 12, *places), "b": normal(4),
                   "m": random.random((2, parts * 6, *places)).astype(np.float32)}, terms=64, constants=("w",), opset=19, strides=strides, dilations=dilations, pads=pads, group=groups,
                   offset_group=parts, kernel_shape=[3, 2])
    for places, size in ((np.array([[[[1, 7], [23, 29]], [[30, 39], [44, 59]]]], np.int64), None), (np.array([[[[1, 7], [23, 29]], [[40, 51], [60, 79]]]], np.int64), [1, 2, 8, 5])):
        inputs = {"x": normal(1, 2, 2, 2), "i": places} | ({"s": np.array(size, np.int64)} if size else {})
        yield Node(f"elements put back, to {size}", "MaxUnpool", inputs, constants=("s",), opset=11, kernel_shape=[4, 3], strides=[2, 2])


def features():
    """What learns without networks, and counts of n-grams."""
    random = np.random.default_rng(23)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x = normal(5, 7)
    x[3, 0], x[4, 6] = np.inf, 0
    yield Node("binarizer", "Binarizer", {"x": x}, domain="ai.onnx.ml", opset=1, threshold=0.0)
    yield Node("binarizer of no threshold", "Binarizer", {"x": normal(2, 3, 1, 5)}, domain="ai.onnx.ml", opset=1)
    for title, data in (("rows", normal(5, 7)), ("a vector", normal(7)), ("boxes", normal(2, 3, 7)), ("integers", random.integers(-9, 9, (3, 7)))):
        yield Node(f"features of {title}", "ArrayFeatureExtractor", {"x": data, "i": np.array([[6, 0, 0, 3]])}, domain="ai.onnx.ml", opset=1)
    integers, floats = random.permutation(300), np.append(normal(33), np.nan).astype(np.float32)
    for keys in (3, 100):
        yield Node(f"labels of {keys} integers", "LabelEncoder", {"x": random.integers(-5, 300, (3, 1, 50))}, domain="ai.onnx.ml", opset=2,
                   keys_int64s=integers[:keys].tolist(), values_floats=normal(keys).tolist(), default_float=-7.5)
    yield Node("labels of floats", "LabelEncoder", {"x": np.append(random.choice(floats, 40), np.float32(9))}, domain="ai.onnx.ml", opset=4,
               keys_floats=floats.tolist(), values_int64s=list(range(34)))
    yield Node("labels in tensors", "LabelEncoder", {"x": random.integers(0, 9, (4, 5)).astype(np.float64)}, domain="ai.onnx.ml", opset=4,
               keys_tensor=numpy_helper.from_array(np.arange(2.0, 7)), values_tensor=numpy_helper.from_array(normal(5).astype(np.float64)),
               default_tensor=numpy_helper.from_array(np.array([0.25])))
    grams = [1, 3, 0, 2, 2, 1, 3, 3, 0, 0, 1, 2, 3, 3, 1, 2, 2, 2]  # two of one number, four of two, two of three, one behind
    counts = dict(ngram_counts=[0, 2, 12 - 2], pool_int64s=grams[:16])
    for kind in (np.int32, np.int64):
        for shape in ((3, 23), (23,), (2, 1), (1, 2)):
            for least, most, skips in ((1, 3, 0), (1, 3, 4), (2, 2, 1), (3, 3, 40), (1, 1, 5)):
                data = random.integers(0, 4, shape).astype(kind)
                yield Node(f"n-grams of {least} to {most}, {skips} skipped, of {shape} {kind.__name__}", "TfIdfVectorizer", {"x": data}, mode="TF", min_gram_length=least,
                           max_gram_length=most, max_skip_count=skips, ngram_indexes=[7, 0, 2, 4, 6, 5, 1, 3], **counts)
    for mode in ("TF", "IDF", "TFIDF"):
        yield Node(f"n-grams with weights, {mode}", "TfIdfVectorizer", {"x": random.integers(0, 4, (3, 17))}, mode=mode, min_gram_length=1, max_gram_length=3, max_skip_count=1,
                   ngram_indexes=list(range(8)), weights=normal(8).tolist(), **counts)
    yield from trees(random)


def strings():
    """What makes strings and reads them. The locale has no say but in ONNX Runtime, which wants one."""
    words = np.array(["Monday", "", "tue sday", "MONDAY", "x", "a-b--c", " lead", "ünï", "monday", "12"], object)
    other = np.array(["-", "", "b", "é", "Monday", "z", "x", "1", "monday", " "], object)
    grid = words.reshape(2, 5)
    for title, x, y in (("lists", words, other), ("rows", grid, other[:5]), ("one", words, other[:1]), ("none", words[:0], other[:0])):
        yield Node(f"strings joined, {title}", "StringConcat", {"x": x, "b": y}, opset=20)
        yield Node(f"strings compared, {title}", "Equal", {"x": x, "b": y[::-1]}, opset=19)
    for title, attributes in (("white space", {}), ("a sign", {"delimiter": "-"}), ("two signs", {"delimiter": "--"}), ("a sign, once", {"delimiter": "-", "maxsplit": 1})):
        yield Node(f"strings split at {title}", "StringSplit", {"x": words}, opset=20, outputs=2, **attributes)
        yield Node(f"a grid of strings split at {title}", "StringSplit", {"x": grid}, opset=20, outputs=2, **attributes)
    for pattern in ("[a-z]+", "(?i)monday|x", r"\d*", ".*-.*", r"\w+ \w+", "ün.", ""):
        yield Node(f"strings that match {pattern}", "RegexFullMatch", {"x": grid}, opset=20, pattern=pattern)
    ascii = np.array([word for word in words if word.isascii()], object)
    for change in ("NONE", "LOWER", "UPPER"):
        for sensitive in (0, 1):
            for stops in (["MONDAY", "x"], [], list(ascii)):
                yield Node(f"strings without {len(stops)}, {change}, {sensitive}", "StringNormalizer", {"x": ascii}, opset=17, case_change_action=change,
                           is_case_sensitive=sensitive, locale="C", **({"stopwords": stops} if stops else {}))
        yield Node(f"a row of strings, {change}", "StringNormalizer", {"x": ascii[None]}, opset=17, case_change_action=change, locale="C", stopwords=["12"])
    yield Node("labels of strings", "LabelEncoder", {"x": grid}, domain="ai.onnx.ml", opset=4, keys_strings=["x", "12", ""], values_int64s=[5, -6, 7])
    yield Node("strings by labels", "LabelEncoder", {"x": np.array([[3, 1, 4], [1, 5, 9]])}, domain="ai.onnx.ml", opset=4, keys_int64s=[1, 9], values_strings=["one", "nine"],
               default_string="none")
    classes = ["x", "12", "", "x"]
    yield Node("labels of strings, version 1", "LabelEncoder", {"x": grid}, domain="ai.onnx.ml", opset=1, classes_strings=classes, default_int64=-7)
    yield Node("strings by labels, version 1", "LabelEncoder", {"x": np.array([[3, 1, 4], [-1, 0, 2]])}, domain="ai.onnx.ml", opset=1, classes_strings=classes,
               default_string="none")
    yield Node("strings by strings", "LabelEncoder", {"x": words}, domain="ai.onnx.ml", opset=4, keys_strings=["x", "12"], values_strings=["12", "q"])
    yield Node("n-grams of strings", "TfIdfVectorizer", {"x": np.array([["a", "b", "a", "c"], ["b", "a", "b", "a"]], object)}, mode="TF", min_gram_length=1, max_gram_length=2,
               max_skip_count=1, ngram_counts=[0, 2], ngram_indexes=[0, 1, 2, 3], pool_strings=["a", "z", "a", "b", "b", "c"])
    yield Node("strings gathered", "Gather", {"x": grid, "i": np.array([[4, 0], [-1, 2]])}, axis=1)
    yield Node("strings joined along an axis", "Concat", {"x": grid, "b": grid[:1]}, axis=0)
    yield Node("strings chosen", "Where", {"c": np.array([True, False, True, False, False]), "x": grid, "b": other[:5]})
    yield Node("strings in another order", "Transpose", {"x": grid}, perm=[1, 0])
    yield Node("strings in another shape", "Reshape", {"x": grid, "s": np.array([5, -1])}, constants=("s",))
    yield Node("strings repeated", "Expand", {"x": grid, "s": np.array([3, 2, 5])}, constants=("s",))
    yield Node("a slice of strings", "Slice", {"x": grid, "b": np.array([1]), "e": np.array([5]), "a": np.array([1]), "s": np.array([2])}, constants=("b", "e", "a", "s"))
    numbers = np.array(["1.5", "-2e-3", "NaN", "inf", "-INF", "7"], object)
    yield Node("floats that are spelled", "Cast", {"x": numbers}, opset=19, to=FLOAT)
    yield Node("integers that are spelled", "Cast", {"x": np.array(["12", "-7", "0"], object)}, opset=19, to=TensorProto.INT64)
    yield Node("how integers are spelled", "Cast", {"x": np.array([[-(2**63), 0], [7, 2**63 - 1]])}, opset=19, to=TensorProto.STRING)
    yield Node("how floats are spelled", "Cast", {"x": np.array([0.5, -3, np.nan, np.inf, -np.inf, 1024], np.float32)}, opset=19, to=TensorProto.STRING)


def trees(random):
    """Ensembles of random trees of every mode. Of `post_transform` ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX, so none is here."""
    for title, kind, features, targets, trees, modes, options in (
            ("one mode", np.float32, 5, 1, 3, [0], {}), ("all comparisons", np.float32, 3, 4, 7, range(6), {}), ("of doubles", np.float64, 3, 2, 2, [0, 3], {}),
            ("that follow NaN", np.float32, 2, 2, 4, [0, 1], {"nodes_missing_value_tracks_true": True}), ("averaged", np.float32, 3, 3, 5, [0], {"aggregate_function": 0}),
            ("least", np.float32, 3, 1, 5, [1], {"aggregate_function": 2}), ("greatest", np.float32, 3, 1, 5, [2], {"aggregate_function": 3})):
        nodes, leaves, roots = [], [], []

        def grow(depth):
            """The number of a new tree, and whether it is a leaf."""
            if depth == 0 or (nodes and random.random() < 0.2):
                leaves.append((random.standard_normal(), int(random.integers(targets))))
                return len(leaves) - 1, 1
            at = len(nodes)
            nodes.append(None)
            nodes[at] = (int(random.integers(features)), int(random.choice(list(modes))), float(random.integers(-2, 3)) / 2, *grow(depth - 1), *grow(depth - 1))
            return at, 0

        for _ in range(trees):
            while True:
                marks = len(nodes), len(leaves)
                root, is_leaf = grow(int(random.integers(1, 6)))
                if not is_leaf:
                    break
                del nodes[marks[0]:], leaves[marks[1]:]
            roots.append(root)
        fields = list(zip(*nodes))
        if options.pop("nodes_missing_value_tracks_true", False):
            options["nodes_missing_value_tracks_true"] = random.integers(0, 2, len(nodes)).tolist()
        data = (random.integers(-2, 3, (11, features)) / 2).astype(kind)
        data[0, 0] = np.nan
        yield Node(f"trees {title}", "TreeEnsemble", {"x": data}, domain="ai.onnx.ml", opset=5, terms=16, n_targets=targets, tree_roots=roots,
                   nodes_featureids=fields[0], nodes_modes=numpy_helper.from_array(np.array(fields[1], np.uint8)), nodes_splits=numpy_helper.from_array(np.array(fields[2], kind)),
                   nodes_truenodeids=fields[3], nodes_trueleafs=fields[4], nodes_falsenodeids=fields[5], nodes_falseleafs=fields[6],
                   leaf_weights=numpy_helper.from_array(np.array([weight for weight, _ in leaves], kind)), leaf_targetids=[target for _, target in leaves], **options)


def resized():
    """Cubic and with an antialiasing filter, cut to a roi, in one proportion, of integers, and by scales that the call gives."""
    random = np.random.default_rng(41)
    x = random.standard_normal((1, 1, 7, 9)).astype(np.float32)
    floats, whole = lambda *values: np.array(values, np.float32), lambda *values: np.array(values, np.int64)
    for coordinates in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for scales in ([2, 1.5], [0.5, 0.8], [3, 0.3]):
            for outside in (0, 1):
                yield Node(f"resize cubic {coordinates} by {scales}{', inside' * outside}", "Resize", {"x": x, "r": None, "s": floats(1, 1, *scales)}, terms=16, opset=19, fixed=("t", "s"),
                           constants=("s",) if outside else (), mode="cubic", coordinate_transformation_mode=coordinates, exclude_outside=outside, cubic_coeff_a=-0.6)
            for mode in ("nearest", "linear"):
                yield Node(f"resize {mode} {coordinates} by {scales} of the call", "Resize", {"x": x, "r": None, "s": floats(1, 1, *scales)}, opset=19, fixed=("t", "s"), mode=mode,
                           coordinate_transformation_mode=coordinates)
    for mode in ("linear", "cubic"):
        for sizes in ([3, 4], [5, 20], [2, 1]):
            for title, constants in (("", ("t",)), (" of the call", ())):
                yield Node(f"resize {mode} to {sizes}{title} with a filter", "Resize", {"x": x, "r": None, "s": None, "t": whole(1, 1, *sizes)}, terms=40, opset=19, fixed=("t", "s"),
                           constants=constants, mode=mode, antialias=1, exclude_outside=1)
        for scales in ([0.4, 0.7], [0.3, 2]):
            for title, constants in (("", ("s",)), (" of the call", ())):
                yield Node(f"resize {mode} by {scales}{title} with a filter", "Resize", {"x": x, "r": None, "s": floats(1, 1, *scales)}, terms=40, opset=19, fixed=("t", "s"),
                           constants=constants, mode=mode, antialias=1, exclude_outside=1)
    for policy, mode, sizes in itertools.product(("not_larger", "not_smaller"), ("nearest", "linear"), ([3, 8], [14, 11], [10, 4])):
        yield Node(f"resize {mode} to {sizes}, {policy}", "Resize", {"x": x, "r": None, "s": None, "t": whole(*sizes)}, opset=19, fixed=("t", "s"), constants=("t",) if sizes[0] == 3 else (),
                   mode=mode, keep_aspect_ratio_policy=policy, axes=[2, 3])
    for mode, roi, rows in itertools.product(("nearest", "linear"), ([0.2, 0.1, 0.7, 0.9], [0.9, -0.3, 0.1, 1.2]), (5, 1)):
        yield Node(f"resize {mode} of {roi} to {rows} rows", "Resize", {"x": x, "r": floats(0, 0, *roi[:2], 1, 1, *roi[2:]), "s": None, "t": whole(1, 1, rows, 4)}, opset=19,
                   fixed=("t", "s"), mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-3.5)
    for kind in (np.uint8, np.int8, np.int32):
        data = random.integers(0, 100, (1, 1, 5, 4)).astype(kind)
        yield Node(f"resize nearest of {kind.__name__}", "Resize", {"x": data, "r": None, "s": floats(1, 1, 1.7, 2)}, opset=19, fixed=("t", "s"), mode="nearest")
    for mode in ("nearest", "linear"):
        yield Node(f"upsample {mode}, opset 7", "Upsample", {"x": x}, opset=7, mode=mode, scales=[1.0, 1.0, 2.5, 3.0])
        yield Node(f"upsample {mode}", "Upsample", {"x": x, "s": floats(1, 1, 2, 3)}, opset=9, mode=mode)


def lists_of_the_call():
    """Axes and what belongs to them that only the call knows, also how many they are where the rank of the result does not depend on that."""
    random = np.random.default_rng(37)
    x = random.standard_normal((2, 3, 5, 7)).astype(np.float32)
    number = lambda *values: np.array(values, np.int64)
    for op in ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSumExp", "ReduceL2"):
        for axes, keep in (([1], 0), ([-1, 0], 1), ([3, -3], 0), ([2, 0, 3, 1], 0), ([2, 1, 3], 1), ([], 1)):
            yield Node(f"{op} over {axes} of the call{', kept' * keep}", op, {"x": x, "a": number(*axes)}, terms=210, opset=18, fixed=() if keep else ("a",), keepdims=keep)
        yield Node(f"{op} over no axes, all kept", op, {"x": x, "a": number()}, opset=18, noop_with_empty_axes=1)
    yield Node("ReduceSum over no elements", "ReduceSum", {"x": x[:, :0], "a": number(1, 3)}, opset=18, fixed=("a",), keepdims=0)
    single = x[:1, :, :1]
    for axes in ([0], [-2], [2, 0]):
        yield Node(f"squeezed at {axes}", "Squeeze", {"x": single, "a": number(*axes)}, fixed=("a",))
    for axes in ([0], [-1], [2, -6, 4]):
        yield Node(f"unsqueezed at {axes}", "Unsqueeze", {"x": x[0], "a": number(*axes)}, fixed=("a",))
    for starts, ends, axes, steps in (([1, -2], [3, 9], [0, 3], [1, 1]), ([-1], [-9], [3], [-2]), ([2**40, 0], [-2**40, 3], [2, 1], [-1, 2]), ([4], [1], [2], [1]),
                                      ([0], [9], [2], [2**40]), ([3, 1], [-8, 2], [-1, -3], [-3, 1])):
        lists = {"s": number(*starts), "e": number(*ends), "a": number(*axes), "t": number(*steps)}
        for title, fixed, constants in (("of the call", (), ()), ("with known axes", ("s", "e", "t"), ("a",)), ("with known steps", ("s", "e", "a"), ("t",)),
                                        ("with known axes and steps", ("s", "e"), ("a", "t"))):
            yield Node(f"slice {starts} {ends} {axes} {steps} {title}", "Slice", {"x": x, **lists}, fixed=fixed, constants=constants)
    yield Node("slice of the first axes", "Slice", {"x": x, "s": number(1, 0, -3), "e": number(2, 2, 5)})
    # Each slice's bounds are made of the sizes of the one before and of numbers whose signs nothing shows.
    node, rounds = helper.make_node, []
    for i in range(5):
        last, sizes = (f"s{i - 1}", f"n{i}") if i else ("x", "made")
        rounds += [*([node("Shape", [last], [sizes])] if i else []), node("Gather", [sizes, "first"], [f"a{i}"]), node("Gather", [sizes, "second"], [f"b{i}"]),
                   node("Sub", [f"a{i}", f"b{i}"], [f"d{i}"]), node("Mul", [f"d{i}", "third"], [f"e{i}"]), node("Div", [f"e{i}", "fourth"], [f"f{i}"]),
                   node("Slice", [last, f"f{i}", f"a{i}", "first" if i % 2 else "second"], [f"s{i}"])]
    numbers = [node("Constant", [], [name], value_ints=[value]) for name, value in (("first", 0), ("second", 1), ("third", 3), ("fourth", 5))]
    for shape in ((9, 23), (31, 12), (16, 16)):
        yield Node(f"slices of slices of {shape}", "Shape", {"x": random.standard_normal(shape).astype(np.float32)}, after=[*numbers, *rounds, node("Exp", ["s4"], ["y"])])
    yield Node("slice of no elements backwards", "Slice", {"x": x[:, :0], "s": number(2), "e": number(-3), "a": number(1), "t": number(-1)})
    for axes, pads in (([1], [2, 1]), ([-1, 0], [1, -1, -2, 2]), ([], [])):
        for mode in ("constant", "edge"):
            if mode == "constant" or min(pads, default=0) >= 0:
                yield Node(f"pad {mode} of {axes} by {pads}", "Pad", {"x": x, "p": number(*pads), "v": None, "a": number(*axes)}, opset=18, mode=mode)
    for parts, place in ((3, 1), (3, -1), (9, 0), ([2, 0, 5], 1), ([2, 0, 5], -1), (None, -2)):
        for title, constants in (("", ()), (" that is known", ("s",)), *([(" of as many as the call says", None)] if isinstance(parts, list) else [])):
            take = [helper.make_node("Constant", [], ["p"], value_int=place), helper.make_node("SequenceAt", ["made", "p"], ["y"])]
            yield Node(f"part {place} of {parts}{title}", "SplitToSequence", {"x": x} | ({} if parts is None else {"s": np.array(parts)}), constants=constants or (), fixed=() if constants is None else ("s",),
                       after=take, axis=-1, keepdims=int(parts is not None))  # else ONNX Runtime heeds it
    for parts, axis, new in ((3, -1, 0), ([2, 0, 5], 3, 0), (None, 0, 0), (None, 0, 1), (None, -1, 1), (9, -1, 0)):
        for title, constants in (("", ()), (" that are known", ("s",)), *([(" as many as the call says", None)] if isinstance(parts, list) else [])):
            join = [helper.make_node("ConcatFromSequence", ["made"], ["y"], axis=axis, new_axis=new)]
            yield Node(f"parts {parts}{title} joined along {axis}{', a new one' * new}", "SplitToSequence", {"x": x} | ({} if parts is None else {"s": np.array(parts)}),
                       constants=constants or (), fixed=() if constants is None else ("s",), after=join, axis=-1, keepdims=int(parts is not None))
    yield Node("tile as often as the call says", "Tile", {"x": x, "r": number(2, 1, 0, 3)})


def merge(group):
    """One model of all nodes of a group, whose names are those of each with its prefix."""
    parts = [onnx.compose.add_prefix(node.model(prefix), prefix) for prefix, node in group.items()]
    fields = [list(itertools.chain.from_iterable(getattr(part.graph, field) for part in parts)) for field in ("node", "input", "output", "initializer")]
    return helper.make_model(helper.make_graph(fields[0], "g", *fields[1:]), opset_imports=parts[0].opset_import, ir_version=10)


def answers(bench, nodes, devices):
    """What ONNX Runtime gives, with the name and the node of each output, and by device what one module of all nodes gives. Raises a RuntimeError where one fails."""
    group = {f"n{number}_": node for number, node in enumerate(nodes)}
    wants, inputs = [], {}
    for prefix, node in group.items():
        own = {name: np.asarray(array) for name, array in node.inputs.items() if array is not None and name not in node.constants}
        onnx.save(node.model(), bench.path("node.onnx"))
        wants += zip([f"{prefix}{name}" for name in node.outputs], peer(node, bench.path("node.onnx")).run(node.outputs, own), [node] * len(node.outputs))
        inputs |= {f"{prefix}{name}": array for name, array in own.items()}
    onnx.save(merge(group), bench.path("nodes.onnx"))
    bench.compile(bench.path("nodes.onnx"), bench.path("nodes.vxm"), targets=devices)
    texts = {name for name, array, _ in wants if array.dtype == object}
    return wants, {device: bench.run(bench.path("nodes.vxm"), device, inputs, [name for name, _, _ in wants], strings=texts)[0] for device in devices}


def run(bench, nodes, devices):
    try:
        wants, gots = answers(bench, nodes, devices)
    except RuntimeError as error:
        for node in nodes:
            bench.check(node.title, False, "its module fails")
        print(f"  {blame(bench, nodes, devices, error)}")
        return
    for device, got in gots.items():
        for name, array, node in wants:
            want = at_ties(got[name], array) if saturates(node) else array
            compare(bench, f"{node.title}, {name.partition('_')[2]}, {device}", got[name], want, node.terms)


def blame(bench, nodes, devices, first):
    """What a module's failure says, with the nodes that it takes."""
    tool_of = lambda error: str(error).split(" ")[0]
    found = [first]

    def fails(some):
        try:
            answers(bench, some, devices)
        except RuntimeError as error:
            found[0] = error if tool_of(error) == tool_of(first) else found[0]
            return tool_of(error) == tool_of(first)
        return False

    if len(nodes) == 1:
        return first
    titles = lambda some: "; ".join(node.title for node in some)
    if (some := responsible(nodes, fails)) is None:
        return f"a module of {len(nodes)} nodes failed once, and not when it ran again ({titles(nodes)}): {first}"
    return f"a module of {len(nodes)} nodes fails, as does one of {len(some)} of them ({titles(some)}): {found[0]}"


# Two sizes that meet in a broadcast: equal, one of them 1, both, and none.
MEETINGS = (3, 3), (1, 3), (3, 1), (1, 1), (0, 0), (0, 1), (1, 0)


def meetings(bench, devices):
    """What repeats operands to a common shape, of sizes that are symbols of their own: one model, called with each meeting along each dimension."""
    random = np.random.default_rng(43)
    info, node = helper.make_tensor_value_info, helper.make_node
    kinds = {"f": FLOAT, "i": TensorProto.INT64, "u": UINT8, "b": TensorProto.BOOL}
    values = [info(f"{kind}{operand}", kinds[kind], [f"n{operand}", 2, f"m{operand}"]) for kind in kinds for operand in "xy"]
    values += [info(name, FLOAT, dims) for name, dims in (("g", ["nx", "k", 4]), ("h", ["ny", 4, "l"]), ("c", ["p", "q"]), ("s", ["k", 4]), ("t", [4, "l"]))]
    nodes = [node(op, [f"{kind}x", f"{kind}y"], [f"{op}_{kind}"], **options) for kind, ops in (
        ("f", ("Add", "Sub", "Mul", "Div", "Pow", "Less", "GreaterOrEqual", "Equal", "Max", "Min", "Sum", "Mean")), ("i", ("Add", "Mul", "Max", "Less", "Equal")),
        ("u", ("BitwiseAnd", "BitwiseXor", "BitShift")), ("b", ("And", "Or", "Xor", "Equal"))) for op in ops for options in [{"direction": "LEFT"} if op == "BitShift" else {}]]
    nodes += [node("Mod", ["fx", "fy"], ["Mod_f"], fmod=1), node("Where", ["bx", "fy", "fx"], ["Where_f"]), node("Where", ["bx", "iy", "one"], ["Where_i"]),
              node("Max", ["fx", "fy", "fz"], ["Max_3"]), node("MatMul", ["g", "h"], ["MatMul_f"]), node("Shape", ["fx"], ["shape"]),
              node("Expand", ["fy", "shape"], ["Expand_f"]), node("PRelu", ["fx", "slope"], ["PRelu_f"]), node("Gemm", ["s", "t", "c"], ["Gemm_f"])]
    values += [info("fz", FLOAT, ["mz"]), info("slope", FLOAT, ["mx"])]
    def save(path, nodes):
        names = [name for each in nodes if each.op_type != "Shape" for name in each.output]
        graph = helper.make_graph(nodes, "g", values, [helper.make_empty_tensor_value_info(name) for name in names], [numpy_helper.from_array(np.array(7), "one")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), bench.path(path))
        return names

    outputs = save("meetings.onnx", nodes)
    bench.compile(bench.path("meetings.onnx"), bench.path("meetings.vxm"))
    # ONNX Runtime multiplies no 0 matrices by 1.
    known = save("known.onnx", [each for each in nodes if each.op_type != "MatMul"])
    session = reference(bench.path("known.onnx"))
    for first, second in [*((one, (3, 3)) for one in MEETINGS), *(((3, 3), other) for other in MEETINGS[1:]), ((1, 3), (3, 1)), ((0, 1), (1, 3))]:
        sizes = dict(zip(("nx", "ny", "mx", "my"), (*first, *second)), mz=max(second) if min(second) else 0, k=max(first) if min(first) else 0, l=second[1])
        sizes |= {"p": first[0] if first[0] != 3 else sizes["k"], "q": 1 if second[0] == 1 else second[1]}
        inputs = {}
        for value in values:
            shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value.type.tensor_type.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            inputs[value.name] = (0.5 + abs(random.standard_normal(shape)) if dtype == np.float32 else random.integers(0, 2 if dtype == bool else 7, shape)).astype(dtype)
        wants = dict(zip(known, session.run(known, inputs)), MatMul_f=inputs["g"] @ inputs["h"])
        for device in devices:
            gots = bench.run(bench.path("meetings.vxm"), device, inputs, outputs)[0]
            wrong = [name for name, want in wants.items() if gots[name].dtype != want.dtype or gots[name].shape != want.shape or
                     not np.allclose(gots[name].astype(np.float64), want.astype(np.float64), 1e-5)]
            bench.check(f"sizes {first} and {second} meet, {device}", not wrong, f"wrong: {', '.join(wrong)}")


def check_draws(bench, devices):
    """Random numbers: of the distribution that is asked for, the same on each device where there is a seed, and other ones of each node without one."""
    count, shares = 40000, np.array([0.1, 0.0, 0.6, 0.3], np.float32)
    node = helper.make_node
    nodes = [node("RandomUniform", [], ["u"], shape=[count], low=-2.0, high=3.0, seed=5.0), node("RandomNormal", [], ["n"], shape=[count], mean=4.0, scale=0.5, seed=6.0),
             node("RandomUniform", [], ["o"], shape=[count]), node("RandomUniform", [], ["p"], shape=[count]), node("RandomUniform", [], ["d"], shape=[count], seed=5.0, dtype=TensorProto.DOUBLE),
             node("Bernoulli", ["b"], ["c"], seed=7.0), node("Multinomial", ["m"], ["k"], sample_size=count, seed=8.0)]
    values = [helper.make_tensor_value_info("b", FLOAT, ["size"]), helper.make_tensor_value_info("m", FLOAT, [1, 4])]
    outputs = ["u", "n", "o", "p", "d", "c", "k"]
    model = helper.make_model(helper.make_graph(nodes, "g", values, [helper.make_empty_tensor_value_info(name) for name in outputs]), opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, bench.path("draws.onnx"))
    bench.compile(bench.path("draws.onnx"), bench.path("draws.vxm"))
    with np.errstate(divide="ignore"):
        inputs = {"b": np.full(count, 0.3, np.float32), "m": np.log(shares)[None]}
    first = None
    for device in devices:
        got = bench.run(bench.path("draws.vxm"), device, inputs, outputs)[0]
        first = first or got
        near = lambda value, want, deviation: abs(value - want) < 5 * deviation / count**0.5
        quarters = np.histogram(got["u"], 4, (-2, 3))[0] / count
        counts = np.bincount(got["k"].ravel(), minlength=4) / count
        bench.check(f"uniform numbers, {device}", got["u"].min() >= -2 and got["u"].max() <= 3 and all(near(part, 0.25, 0.44) for part in quarters), quarters)
        bench.check(f"uniform numbers of f64, {device}", near(got["d"].mean(), 0.5, 0.29) and len(np.unique(got["d"])) == count, got["d"].mean())
        bench.check(f"normal numbers, {device}", near(got["n"].mean(), 4, 0.5) and near(got["n"].var(), 0.25, 0.36) and near((got["n"] > 4.5).mean(), 0.1587, 0.37), got["n"].mean())
        bench.check(f"ones of a share, {device}", near(got["c"].mean(), 0.3, 0.46) and set(np.unique(got["c"])) == {0, 1}, got["c"].mean())
        bench.check(f"classes of shares, {device}", all(near(part, share, 0.5) for part, share in zip(counts, shares)) and counts[1] == 0, counts)
        bench.check(f"draws without a seed, {device}", (got["o"] != got["p"]).mean() > 0.99 and abs(np.corrcoef(got["o"], got["p"])[0, 1]) < 0.03, "the same numbers")
        bench.check(f"draws with a seed, {device}", all(np.array_equal(got[name], first[name]) for name in ("u", "d", "c", "k")), "other numbers")


def check_nan_order(bench, devices):
    """Few elements of many, with infinities and NaN, which is the greatest; ONNX Runtime has no order of it."""
    x = np.round(np.random.default_rng(47).standard_normal((2, 3000)), 1).astype(np.float32)
    x[0, ::7], x[0, 1::5], x[1, 5::900], x[1, 64:96] = np.inf, -np.inf, np.nan, np.nan
    for title, array, count in (("many", x, 20), ("few numbers", np.where(np.arange(3000) % 500 == 3, x, np.nan), 8), ("all", x[:, :60], 60)):
        for largest in (0, 1):
            node = Node("nan", "TopK", {"x": array, "k": np.array([count], np.int64)}, constants=("x", "k"), opset=11, outputs=2, largest=largest)
            model = node.model()
            model.graph.initializer.remove(next(tensor for tensor in model.graph.initializer if tensor.name == "x"))
            model.graph.input.append(helper.make_tensor_value_info("x", FLOAT, array.shape))
            onnx.save(model, bench.path("nan.onnx"))
            bench.compile(bench.path("nan.onnx"), bench.path("nan.vxm"))
            key = np.where(np.isnan(array), 2.0, np.arctan(array.astype(np.float64)))
            want = np.argsort(-key if largest else key, axis=1, kind="stable")[:, :count]
            for device in devices:
                got = bench.run(bench.path("nan.vxm"), device, {"x": array}, ["y1"])[0]["y1"]
                bench.check(f"order with NaN, {title}, largest {largest}, {device}", np.array_equal(got, want), f"got {got}, expected {want}")


def check_steps(bench, devices):
    """Steps of optimizers, of which ONNX Runtime has none, against their formulas: of two tensors, at the first step and at a later one."""
    random = np.random.default_rng(43)
    x, g, h, v = (random.random((2, 5, 3)).astype(np.float32) + 0.1 for _ in range(4))
    rate, decay, epsilon = np.float32(0.3), 0.2, 0.05
    domain = "ai.onnx.preview.training"
    for step in (0, 4):
        wanted, nodes, outputs = [], [], []
        regular = x.astype(np.float64) * decay + g
        squares = h + regular**2
        wanted.append((x - rate / (1 + step * 0.7) * regular / (np.sqrt(squares) + epsilon), squares))
        nodes.append(("Adagrad", "h", {"norm_coefficient": decay, "decay_factor": 0.7, "epsilon": epsilon}))
        momentum = 0.8 * v + (0.6 if step else 1) * regular
        wanted += [(x - rate * momentum, momentum), (x - rate * (regular + 0.8 * momentum), momentum)]
        nodes += [("Momentum", "v", {"norm_coefficient": decay, "alpha": 0.8, "beta": 0.6, "mode": mode}) for mode in ("standard", "nesterov")]
        mean, squares = 0.9 * v + 0.1 * regular, 0.99 * h + 0.01 * regular**2
        adjusted = rate * np.sqrt(1 - 0.99**step) / (1 - 0.9**step) if step else rate
        wanted.append(((1 - 0.1) * (x - adjusted * mean / (np.sqrt(squares) + epsilon)), mean, squares))
        nodes.append(("Adam", "vh", {"norm_coefficient": decay, "alpha": 0.9, "beta": 0.99, "epsilon": epsilon, "norm_coefficient_post": 0.1}))
        made = []
        for number, (op, states, attributes) in enumerate(nodes):
            names = [f"{number}_{part}_{i}" for part in range(1 + len(states)) for i in (0, 1)]
            outputs.append(names)
            made.append(helper.make_node(op, ["r", "t", *(f"{part}{i}" for part in f"xg{states}" for i in (0, 1))], names, domain=domain, **attributes))
        inputs = {"r": rate, "t": np.array(step, np.int64)} | {f"{name}{i}": array[i] for name, array in (("x", x), ("g", g), ("h", h), ("v", v)) for i in (0, 1)}
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), [f"{name}_{d}" for d in range(array.ndim)]) for name, array in inputs.items()]
        every = [name for names in outputs for name in names]
        model = helper.make_model(helper.make_graph(made, "g", values, [helper.make_empty_tensor_value_info(name) for name in every]), opset_imports=[helper.make_opsetid(domain, 1)], ir_version=10)
        onnx.save(model, bench.path("steps.onnx"))
        bench.compile(bench.path("steps.onnx"), bench.path("steps.vxm"))
        for device in devices:
            got = bench.run(bench.path("steps.vxm"), device, inputs, every)[0]
            for (op, _, _), names, want in zip(nodes, outputs, wanted):
                for name in names:
                    _, part, i = map(int, name.split("_"))
                    compare(bench, f"step {step} of {op}, {name}, {device}", got[name], want[part][i].astype(np.float32), 16)


def domain_version(node):
    return node.domain, node.opset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices)
        wanted = sorted((node for node in (*nodes(), *loops(), *losses(), *places(), *samples(), *recurrent(), *attention(), *element_places(), *scans(), *transforms(), *sorts(), *regions(), *features(), *strings(), *lists_of_the_call(), *itertools.islice(learned(Node), 0, None, 5 if options.turns else 1)) if options.filter in node.title), key=domain_version)
        for _, same in itertools.groupby(wanted, key=domain_version):
            same = list(same)
            for some, where in ((same[::24], devices), ([node for place, node in enumerate(same) if place % 6 == 0 and place % 24], devices[:1])) if options.turns else ((same, devices),):
                for begin in range(0, len(some), SHARED):
                    run(bench, some[begin:begin + SHARED], where)
        if not options.filter or options.filter in "meetings":
            meetings(bench, devices)
        for name, check in (("draws", check_draws), ("steps", check_steps), ("order with NaN", check_nan_order)):
            if options.filter in name:
                check(bench, devices)
        if not bench.passed + bench.failed:
            print(f"FAILED no node matches '{options.filter}'")
            return 1
        print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
