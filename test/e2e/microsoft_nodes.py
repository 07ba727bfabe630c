"""Nodes of ONNX Runtime's own domain, com.microsoft, with the inputs that each is compared for. Sizes are odd: 1, 7 and 17."""
import math

import numpy as np
from onnx import TensorProto, helper

from run_nodes import Node

DOMAIN = "com.microsoft"
RANDOM = np.random.default_rng(53)


def f32(*shape):
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


def f16(*shape):
    return f32(*shape).astype(np.float16)


def whole(kind, *shape, low=None, high=None):
    info = np.iinfo(kind)
    return RANDOM.integers(info.min if low is None else low, info.max if high is None else high, shape, endpoint=True).astype(kind)


def one(kind, value):
    """An array of no dimension."""
    return np.array(value, kind)


class MicrosoftNode(Node):
    """`dims` has the sizes of some inputs: names, or None for what the array has; those of other inputs are symbols of their own. `want` computes the outputs where ONNX
    Runtime's CPU has no kernel for the node. `rule` says how far the outputs may be apart: "close" by the lengths of sums, "codes" one apart in few places, or a share of the
    greatest element. `outputs` are numbers of outputs. A node that is `always` there alone shows some parameter."""

    def __init__(self, title, op, inputs, outputs=(0,), dims=None, want=None, rule="close", terms=8, domain=DOMAIN, constants=(), fixed=(), typed=None, always=False,
                 **attributes):
        super().__init__(f"{op}, {title}", op, inputs, terms=terms, constants=constants, fixed=fixed, domain=domain, **attributes)
        self.dims, self.want, self.rule, self.typed, self.always = dims or {}, want, rule, typed, always
        self.slots = [f"y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
        self.outputs = [name for name in self.slots if name]

    def model(self, prefix=""):
        model = super().model(prefix)
        del model.graph.node[0].output[:]
        model.graph.node[0].output.extend(self.slots)
        del model.graph.output[:]
        model.graph.output.extend(helper.make_tensor_value_info(name, self.typed, None) if self.typed else helper.make_empty_tensor_value_info(name) for name in self.outputs)
        for value in model.graph.input:
            shape = value.type.tensor_type.shape
            for index, name in enumerate(self.dims.get(value.name, ())):
                shape.dim[index].Clear()
                if name is None:
                    shape.dim[index].dim_value = self.inputs[value.name].shape[index]
                else:
                    shape.dim[index].dim_param = prefix + name
        del model.opset_import[:]
        model.opset_import.extend([helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)])
        return model


def gelus():
    tanh_gelu = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    erf = np.vectorize(math.erf)
    gelu = lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))
    swish = lambda x, alpha: x / (1 + np.exp(-alpha * x))
    for shape in ((2, 7, 17), (1,), (17, 1)):
        x, b = 2 * f32(*shape), f32(shape[-1])
        for op in ("Gelu", "FastGelu", "QuickGelu"):
            yield MicrosoftNode(f"{shape}", op, {"x": x})
        yield MicrosoftNode(f"by a factor, {shape}", "QuickGelu", {"x": x}, alpha=0.7)
        for op in ("FastGelu", "BiasGelu"):
            yield MicrosoftNode(f"with a bias, {shape}", op, {"x": x, "b": b}, constants=("b",))
    # ONNX Runtime's CPU has these in f32 only.
    x, b = f16(7, 17), f16(17)
    wide = lambda array: array.astype(np.float64)
    for op, function in (("Gelu", gelu), ("FastGelu", tanh_gelu), ("QuickGelu", lambda x: swish(x, 1.702))):
        yield MicrosoftNode("f16", op, {"x": x}, want=lambda f, function=function: [function(wide(f["x"])).astype(np.float16)], rule=6e-3)
    for op, function in (("BiasGelu", gelu), ("FastGelu", tanh_gelu)):
        yield MicrosoftNode("f16 with a bias", op, {"x": x, "b": b}, want=lambda f, function=function: [function(wide(f["x"]) + wide(f["b"])).astype(np.float16)], rule=6e-3)


def products():
    for left, right, options in (
            ((7, 17), (17, 1), {"alpha": 0.5}), ((17, 7), (3, 17), {"transA": 1, "transB": 1}), ((7,), (7, 5), {"transA": 1}), ((7,), (5, 7), {"transB": 1}), ((3, 7), (7,), {"transB": 1}),
            ((3, 2, 7), (2, 7, 5), {"transBatchA": 1}), ((7, 2, 6, 3), (2, 6, 7, 5), {"transBatchA": 1, "transA": 1}), ((2, 6, 3, 7), (7, 2, 6, 5), {"transBatchB": 1}),
            ((2, 6, 3, 7), (5, 2, 6, 7), {"transBatchB": 1, "transB": 1, "alpha": -2.0}), ((2, 3, 7), (5, 7), {"transB": 1}), ((2, 7, 3), (7, 5), {"transA": 1}), ((3, 7), (2, 7, 5), {})):
        yield MicrosoftNode(f"{left} by {right}, {options}", "FusedMatMul", {"a": f32(*left), "b": f32(*right)}, terms=17, **options)
    yield MicrosoftNode("f64", "FusedMatMul", {"a": RANDOM.standard_normal((7, 17)), "b": RANDOM.standard_normal((17, 3))}, alpha=1.5, terms=17)
    yield MicrosoftNode("f16", "FusedMatMul", {"a": f16(17, 7), "b": f16(17, 3)}, transA=1, alpha=0.5, rule=4e-3,
                        want=lambda f: [(0.5 * f["a"].T.astype(np.float32) @ f["b"].astype(np.float32)).astype(np.float16)])
    parameters = {"Celu": {"alpha": 0.6}, "Elu": {"alpha": 0.7}, "HardSigmoid": {"alpha": 0.3, "beta": 0.4}, "LeakyRelu": {"alpha": 0.2}, "ParametricSoftplus": {"alpha": 0.7, "beta": 1.3},
                  "Relu": {}, "ScaledTanh": {"alpha": 1.7, "beta": 0.6}, "Selu": {"alpha": 1.1, "gamma": 0.8}, "Sigmoid": {}, "Softplus": {}, "Softsign": {}, "Tanh": {},
                  "ThresholdedRelu": {"alpha": 0.5}}
    for name, values in parameters.items():
        yield MicrosoftNode(name, "FusedGemm", {"a": f32(7, 17), "b": f32(17, 5), "c": f32(5)}, terms=18, activation=name, always=True,
                            **{f"activation_{key}": value for key, value in values.items()})
    for options in ({"transA": 1}, {"transB": 1}, {"alpha": 0.5}, {"alpha": 0.5, "beta": 2.0}):
        shapes = (17, 7) if "transA" in options else (7, 17), (5, 17) if "transB" in options else (17, 5)
        for bias in ({"c": f32(7, 1)}, {}):
            yield MicrosoftNode(f"{options}, {'with' if bias else 'without'} a bias", "FusedGemm", {"a": f32(*shapes[0]), "b": f32(*shapes[1]), **bias}, terms=18, activation="Tanh", **options)
    x, w, b = f32(2, 3, 7, 9), f32(4, 3, 3, 2), f32(4)
    for name, values in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("HardSwish", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.3, 0.4])):
        yield MicrosoftNode(name, "FusedConv", {"x": x, "w": w, "b": b}, terms=20, constants=("w", "b"), activation=name, always=True, **({"activation_params": values} if values else {}))
    z = f32(2, 4, 5, 8)
    for title, inputs, options in (("without an activation", {"b": b}, {}), ("without a bias", {}, {"activation": "Relu"}), ("with a sum", {"b": b, "z": z}, {"activation": "Relu"}),
                                   ("with a sum and no bias", {"b": None, "z": z}, {"activation": "Tanh"}),
                                   ("strided and padded", {"b": b}, {"activation": "Relu", "strides": [2, 1], "pads": [1, 0, 0, 2], "dilations": [1, 2]})):
        yield MicrosoftNode(title, "FusedConv", {"x": x, "w": w, **inputs}, terms=20, constants=("w", "b"), **options)
    yield MicrosoftNode("grouped", "FusedConv", {"x": f32(1, 4, 7, 7), "w": f32(6, 2, 3, 3), "b": f32(6)}, terms=20, constants=("w", "b"), group=2, activation="Relu")


def norms():
    for make in (f32, f16):
        near = {"terms": 40} if make is f32 else {"rule": 4e-3}
        kind = make.__name__
        for shape in ((2, 7, 17), (1, 1, 7), (7, 17)):
            x, skip, g, b, bias = make(*shape), make(*shape), make(shape[-1]), make(shape[-1]), make(shape[-1])
            for title, more in (("alone", {}), ("with beta", {"b": b}), ("with a bias", {"b": None, "bias": bias}), ("with both", {"b": b, "bias": bias})):
                yield MicrosoftNode(f"{title}, {kind} {shape}", "SkipLayerNormalization", {"x": x, "k": skip, "g": g, **more}, outputs=(0, 3), **near)
            for title, more in (("alone", {}), ("with a bias", {"bias": bias})):
                yield MicrosoftNode(f"{title}, {kind} {shape}", "SkipSimplifiedLayerNormalization", {"x": x, "k": skip, "g": g, **more}, outputs=(0, 3), **near)
        x, g, b = make(2, 7, 17), make(17), make(17)
        for skip in ((7, 17), (1, 7, 17)):
            for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
                yield MicrosoftNode(f"a skip of {skip}, {kind}", op, {"x": x, "k": make(*skip), "g": g}, epsilon=0.5, **near)
        for axis, scale in ((-1, (17,)), (1, (7, 17)), (2, (1,))):
            yield MicrosoftNode(f"from {axis} on, {kind}", "SimplifiedLayerNormalization", {"x": x, "g": make(*scale)}, outputs=(0, 1), domain="", axis=axis, **near)
        yield MicrosoftNode(f"without attributes, {kind}", "SimplifiedLayerNormalization", {"x": make(7, 17) / 100, "g": g}, domain="", **near)
        yield MicrosoftNode(f"another epsilon, {kind}", "SimplifiedLayerNormalization", {"x": x, "g": g}, domain="", epsilon=0.7, **near)
    # So small that the default epsilon counts.
    for scale in (1e-3, 1e-5):
        rows = {"x": np.float32(scale) * f32(7, 17), "k": np.float32(scale) * f32(7, 17), "g": f32(17)}
        for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
            yield MicrosoftNode(f"small, {scale}", op, rows, outputs=(0, 3), terms=40)
            yield MicrosoftNode(f"small, {scale}, another epsilon", op, rows, epsilon=1e-8, terms=40)
    # In its own domain ONNX Runtime has the op no more; files of older versions do.
    rms = lambda f: [f["x"] / np.sqrt((f["x"].astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5).astype(np.float32) * f["g"]]
    yield MicrosoftNode("in com.microsoft", "SimplifiedLayerNormalization", {"x": f32(7, 17), "g": f32(17)}, want=rms, terms=40)

    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        yield MicrosoftNode("statistics", op, {"x": f32(2, 7, 17), "k": f32(2, 7, 17), "g": f32(17)}, outputs=(0, 1, 2), terms=40)
    ids, segments = whole(np.int32, 2, 7, low=0, high=8), whole(np.int32, 2, 7, low=0, high=1)
    words, places, kinds, g, b = f32(9, 17), f32(11, 17), f32(2, 17), f32(17), f32(17)
    mask = whole(np.int32, 2, 7, low=0, high=2)
    small = {"w": words / 10000, "p": places / 10000}
    for title, inputs, outputs in (
            ("small", {"i": ids, "s": None, **small, "k": None, "g": g, "b": b}, (0, 1)),
            ("all", {"i": ids, "s": segments, "w": words, "p": places, "k": kinds, "g": g, "b": b, "m": mask}, (0, 1, 2)),
            ("without segments", {"i": ids, "s": None, "w": words, "p": places, "k": None, "g": g, "b": b, "m": mask}, (0, 1)),
            ("without a mask", {"i": ids, "s": segments, "w": words, "p": places, "k": kinds, "g": g, "b": b}, (0, 1)),
            ("with places", {"i": ids, "s": segments, "w": words, "p": places, "k": kinds, "g": g, "b": b, "m": None, "at": whole(np.int32, 2, 7, low=0, high=10)}, (0, 2)),
            ("with places of one row", {"i": ids, "s": None, "w": words, "p": places, "k": None, "g": g, "b": b, "m": None, "at": whole(np.int32, 1, 7, low=0, high=10)}, (0, 1))):
        yield MicrosoftNode(title, "EmbedLayerNormalization", inputs, outputs=outputs, constants=("w", "p", "k", "g", "b"), terms=40, always=True, **({"epsilon": 0.4} if title == "all" else {}))


def bytes_of(kind):
    """A scale and a zero point."""
    return one(np.float32, RANDOM.uniform(0.02, 0.06)), whole(kind, low=20, high=90)


def quantized():
    for kind in (np.uint8, np.int8):
        name = kind.__name__
        for left, right in (((2, 7, 17), (2, 7, 17)), ((2, 7, 17), (17,)), ((7, 1), (1, 17)), ((), (7,))):
            for op in ("QLinearAdd", "QLinearMul"):
                a, b = whole(kind, *left), whole(kind, *right)
                (sa, za), (sb, zb), (sc, zc) = bytes_of(kind), bytes_of(kind), bytes_of(kind)
                sc = one(np.float32, sc * (3 if op == "QLinearMul" else 1))
                yield MicrosoftNode(f"{name} {left} and {right}", op, {"a": a, "sa": sa, "za": za, "b": b, "sb": sb, "zb": zb, "sc": sc, "zc": zc}, rule="codes",
                                    constants=("sa", "za", "sb", "zb", "sc", "zc"))
        # ONNX Runtime infers no types without zero points, which are optional.
        codes = lambda real, scale, kind=kind: [np.clip(np.round(real / scale), np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)]
        for op, function in (("QLinearAdd", np.add), ("QLinearMul", np.multiply)):
            yield MicrosoftNode(f"{name} without zero points", op, {"a": whole(kind, 7, 17), "sa": one(np.float32, 0.03), "za": None, "b": whole(kind, 7, 17), "sb": one(np.float32, 0.05),
                                                                    "zb": None, "sc": one(np.float32, 0.11)}, rule="codes",
                                want=lambda f, codes=codes, function=function: codes(function(f["a"] * np.float64(f["sa"]), f["b"] * np.float64(f["sb"])), f["sc"]))
        s, z = bytes_of(kind)
        yield MicrosoftNode(name, "QLinearSigmoid", {"x": whole(kind, 7, 17), "s": s, "z": z, "sy": one(np.float32, 1 / 256), "zy": whole(kind, low=3, high=9)}, rule="codes", constants=("s", "z", "sy", "zy"))
        yield MicrosoftNode(f"{name} without zero points", "QLinearSigmoid", {"x": whole(kind, 7, 17), "s": s, "z": None, "sy": one(np.float32, 1 / 100)}, rule="codes",
                            want=lambda f, codes=codes: codes(1 / (1 + np.exp(f["x"] * -np.float64(f["s"]))), f["sy"]))
        for axis, shapes in ((1, ((2, 1, 7), (2, 7, 7), (2, 17, 7))), (-1, ((7, 1), (7, 17))), (0, ((17, 7),))):
            sy, zy = bytes_of(kind)
            inputs = {"sy": sy, "zy": zy}
            for index, shape in enumerate(shapes):
                inputs |= {f"x{index}": whole(kind, *shape), f"s{index}": one(np.float32, sy * (1 + index)), f"z{index}": whole(kind, low=20, high=60)}
            yield MicrosoftNode(f"{name} along {axis} of {len(shapes)}", "QLinearConcat", inputs, rule="codes", constants=[key for key in inputs if key[0] in "sz"], axis=axis)
        x, (s, z), (sy, zy) = whole(kind, 2, 3, 7, 9), bytes_of(kind), bytes_of(kind)
        pool = {"x": x, "s": s, "z": z, "sy": sy, "zy": zy}
        for options in ({}, {"count_include_pad": 1, "pads": [1, 1, 1, 1]}, {"pads": [1, 0, 1, 1], "strides": [2, 3]}, {"ceil_mode": 1, "strides": [2, 2]}, {"auto_pad": "SAME_UPPER"},
                        {"channels_last": 1}):
            yield MicrosoftNode(f"{name} {options}", "QLinearAveragePool", pool, rule="codes", constants=("s", "z", "sy", "zy"), kernel_shape=[2, 3], **options)
        for options in ({}, {"channels_last": 1}):
            yield MicrosoftNode(f"{name} {options}", "QLinearGlobalAveragePool", pool, rule="codes", constants=("s", "z", "sy", "zy"), **options)
        other = np.int8
        a, b = whole(kind, 7, 17), whole(other, 17, 5)
        sb, zb = abs(f32(5)) / 50, whole(other, 5, low=-9, high=9)
        for title, left, right, inputs, options in (
                ("to floats", a, b, {}, {}), ("by a factor", a, b, {}, {"alpha": 0.5}), ("turned", a.T.copy(), b.T.copy(), {}, {"transA": 1, "transB": 1}),
                ("with a sum", a, b, {"c": whole(np.int32, 5, low=-999, high=999)}, {}), ("with a sum of rows", a, b, {"c": whole(np.int32, 7, 1, low=-999, high=999)}, {"alpha": 0.5}),
                ("to bytes", a, b, {"c": None, "sy": one(np.float32, 1.3), "zy": one(kind, 9)}, {}),
                ("all", a.T.copy(), b, {"c": whole(np.int32, 5, low=-999, high=999), "sy": one(np.float32, 0.7), "zy": one(kind, 9)}, {"alpha": 0.5, "transA": 1})):
            for columns in (False, True):
                of_b = {"sb": sb, "zb": zb} if columns else {"sb": one(np.float32, 0.02), "zb": one(other, 4)}
                inputs_all = {"a": left, "sa": one(np.float32, 0.03), "za": one(kind, 17), "b": right, **of_b, **inputs}
                yield MicrosoftNode(f"{name} {title}{' by columns' if columns else ''}", "QGemm", inputs_all, rule="codes" if "zy" in inputs else "close", terms=8, constants=("b", "sb", "zb"), **options)
        yield MicrosoftNode(f"to {name}", "QuantizeLinear", {"x": 3 * f32(7, 17), "s": one(np.float32, 0.05), "z": one(kind, 9)}, rule="codes")
        yield MicrosoftNode(f"to {name} by columns", "QuantizeLinear", {"x": 3 * f32(7, 17), "s": abs(f32(17)) / 9 + 0.01, "z": whole(kind, 17)}, rule="codes", axis=1)
        yield MicrosoftNode(f"of {name}", "DequantizeLinear", {"x": whole(kind, 7, 17), "s": one(np.float32, 0.05), "z": one(kind, 9)})
        yield MicrosoftNode(f"of {name} by rows", "DequantizeLinear", {"x": whole(kind, 7, 17), "s": abs(f32(7)), "z": whole(kind, 7)}, axis=0)
    yield MicrosoftNode("without a zero point", "QuantizeLinear", {"x": 3 * f32(7, 17), "s": one(np.float32, 0.05)}, rule="codes")
    for kind in (np.int16, np.uint16, np.int32):
        zero = {} if kind is np.int32 else {"z": one(kind, 9)}
        yield MicrosoftNode(f"of {kind.__name__}", "DequantizeLinear", {"x": whole(kind, 7, 17, low=0, high=30000), "s": one(np.float32, 0.05), **zero})
        if zero:
            yield MicrosoftNode(f"to {kind.__name__}", "QuantizeLinear", {"x": 3 * f32(7, 17), "s": one(np.float32, 0.0005), **zero}, rule="codes")


def pack(integers, bits):
    """Along the last dimension, the first in the low bits."""
    count = 8 // bits
    padded = np.concatenate([integers, np.zeros((*integers.shape[:-1], -integers.shape[-1] % count), np.uint8)], -1)
    parts = padded.reshape(*padded.shape[:-1], -1, count).astype(np.uint8)
    return sum((parts[..., i] << (i * bits) for i in range(count)), np.zeros(parts.shape[:-1], np.uint8)).astype(np.uint8)


def packed():
    for bits in (2, 4, 8):
        for inner, block, columns in ((17, 16, 7), (64, 16, 1), (96, 32, 17)):
            blocks = -(-inner // block)
            q, scales, zeros = whole(np.uint8, columns, blocks, block, low=0, high=2**bits - 1), abs(f32(columns, blocks)), whole(np.uint8, columns, blocks, low=0, high=2**bits - 1)
            options = {"K": inner, "N": columns, "bits": bits, "block_size": block}
            b = pack(q, bits)
            for title, more in (("", {}), (" with zero points", {"z": pack(zeros, bits)}), (" with zero points of floats", {"z": zeros.astype(np.float32) + 0.5}),
                                (" with a bias", {"z": None, "g": None, "bias": f32(columns)})):
                if bits == 8 and "floats" in title:
                    continue
                yield MicrosoftNode(f"{bits} bits, {columns} by {inner}{title}", "MatMulNBits", {"a": f32(2, 7, inner), "b": b, "s": scales, **more}, constants=("b", "s", "z", "g", "bias"),
                                    terms=8 * inner, always=inner == 17 and "bias" in title, **options)
            if bits == 4:
                yield MicrosoftNode(f"one row, {columns} by {inner}", "MatMulNBits", {"a": f32(inner), "b": b, "s": scales.ravel(), "z": pack(zeros, bits).ravel()}, constants=("b", "s", "z"),
                                    terms=8 * inner, **options)
                yield MicrosoftNode(f"of the call, {columns} by {inner}", "MatMulNBits", {"a": f32(7, inner), "b": b, "s": scales, "z": pack(zeros, bits)}, fixed=("b", "s", "z"), terms=8 * inner,
                                    **options)
                yield MicrosoftNode(f"in groups, {columns} by {inner}", "MatMulNBits", {"a": f32(7, inner), "b": b, "s": scales, "z": None, "g": whole(np.int32, inner, low=0, high=blocks - 1)},
                                    constants=("b", "s", "g"), terms=8 * inner, **options)
                yield MicrosoftNode(f"f16, {columns} by {inner}", "MatMulNBits", {"a": f16(7, inner), "b": b, "s": scales.astype(np.float16)}, constants=("b", "s"), rule=8e-3, **options)
    for bits in (2, 4, 8):
        q, scales, zeros = whole(np.uint8, 9, 48, low=0, high=2**bits - 1), abs(f32(9, 3)), whole(np.uint8, 9, 3, low=0, high=2**bits - 1)
        for indices in (np.array([[0, 8, 3], [-1, -9, 7]], np.int64), np.array(4, np.int32), np.array([3], np.int64)):
            for title, more in (("", {}), (" with zero points", {"z": pack(zeros, bits)})):
                yield MicrosoftNode(f"{bits} bits, {indices.shape}{title}", "GatherBlockQuantized", {"d": pack(q, bits), "i": indices, "s": scales, **more}, constants=("d", "s", "z"), bits=bits,
                                    block_size=16)
    yield MicrosoftNode("places outside", "GatherBlockQuantized", {"d": pack(q, 8), "i": np.array([9, -10, 2], np.int64), "s": scales}, constants=("d", "s"), bits=8, block_size=16)
    for name in ("INT4", "UINT4"):
        kind = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))
        low, high = (-8, 7) if name == "INT4" else (0, 15)
        for axis, block_axis, shape in ((0, 1, (9, 35)), (1, 0, (35, 9)), (1, 1, (9, 35)), (0, 2, (5, 3, 35)), (-1, 1, (3, 35, 5))):
            data = RANDOM.integers(low, high, shape, endpoint=True).astype(kind)
            counts = [-(-size // 16) if d == block_axis else size for d, size in enumerate(shape)]
            scales, zeros = abs(f32(*counts)), RANDOM.integers(low, high, counts, endpoint=True).astype(kind)
            indices = np.array([[0, shape[axis] - 1], [1, -2]], np.int64)
            for title, more in (("", {}), (" with zero points", {"z": zeros})):
                yield MicrosoftNode(f"{name}, rows of {axis}, blocks of {block_axis}{title}", "GatherBlockQuantized", {"d": data, "i": indices, "s": scales, **more}, constants=("d", "s", "z"),
                                    gather_axis=axis, quantize_axis=block_axis, block_size=16)
    yield MicrosoftNode("f16", "GatherBlockQuantized", {"d": pack(whole(np.uint8, 9, 256, low=0, high=15), 4), "i": np.array([3, 0], np.int64), "s": f16(9, 2)}, constants=("d", "s"), rule=2e-3)
