"""Layers whose gradients PyTorch has computed: each as ONNX nodes and as what PyTorch calls it.

scripts/torch-goldens computes them in f64 and writes torch_goldens.npz; run_torch_goldens.py compares. Where a function bends, the points are on the
bend on purpose: which gradient it has there is PyTorch's to say.
"""
import zlib

import numpy as np

from op_case import signed


class Case:
    """`inputs` are floats, whose gradients are taken; `fixed` are what else the nodes read. The nodes make "y": (op, inputs, attributes), the last of
    them "y" and those before "t0", "t1" and so on. `torch` takes the module, its functional part and the inputs as tensors by name."""

    def __init__(self, name, inputs, nodes, torch, **fixed):
        self.name, self.torch = name, torch
        random = np.random.default_rng(zlib.crc32(name.encode()))
        # In f32 and f64 the same numbers.
        self.inputs = {key: np.asarray(value, np.float64) if not isinstance(value, tuple) else np.round(random.standard_normal(value) * 64) / 64
                       for key, value in inputs.items()}
        self.fixed = {key: np.asarray(value) for key, value in fixed.items()}
        self.nodes = [(op, ins.split(" ") if ins else [], "y" if index + 1 == len(nodes) else f"t{index}", attributes) for index, (op, ins, attributes) in enumerate(nodes)]

    def seed(self, shape):
        """How often the result's elements count in the number that is differentiated: of both signs, so that the gradients are."""
        random = np.random.default_rng(zlib.crc32(f"{self.name} seed".encode()))
        return np.round(signed(0.5, 1.5)(random, shape) * 64) / 64


def one(op, ins, **attributes):
    return [(op, ins, attributes)]


def unary(name, op, torch, points, **attributes):
    return Case(name, {"x": points}, one(op, "x", **attributes), torch)


CURVE = [-2.5, -1.0, -0.25, 0.125, 0.75, 1.5, 2.25]  # off the bends
POSITIVE = [0.125, 0.5, 1.0, 1.75, 3.0]
TIED = [[1, 2, 2, 0], [3, 3, 3, 3], [-1, 0, 0, -2]]

CASES = [
    # Products.
    Case("linear", {"x": (3, 5), "w": (4, 5), "b": (4,)}, one("Gemm", "x w b", transB=1), lambda t, f, x, w, b: f.linear(x, w, b)),
    Case("gemm", {"x": (5, 3), "w": (5, 4), "b": (3, 1)}, one("Gemm", "x w b", transA=1, alpha=0.5, beta=2.0), lambda t, f, x, w, b: 0.5 * x.T @ w + 2 * b),
    Case("matmul", {"a": (2, 3, 4), "b": (2, 4, 5)}, one("MatMul", "a b"), lambda t, f, a, b: a @ b),
    Case("matmul_of_one_matrix", {"a": (2, 3, 4), "b": (4, 5)}, one("MatMul", "a b"), lambda t, f, a, b: a @ b),
    Case("matmul_of_a_vector", {"a": (2, 3, 4), "b": (4,)}, one("MatMul", "a b"), lambda t, f, a, b: a @ b),
    Case("conv1d", {"x": (2, 3, 9), "w": (4, 3, 3), "b": (4,)}, one("Conv", "x w b", strides=[2], pads=[1, 1]),
         lambda t, f, x, w, b: f.conv1d(x, w, b, stride=2, padding=1)),
    Case("conv1d_dilated", {"x": (1, 2, 11), "w": (3, 2, 3)}, one("Conv", "x w", dilations=[3]), lambda t, f, x, w: f.conv1d(x, w, dilation=3)),
    Case("conv2d", {"x": (2, 3, 5, 6), "w": (4, 3, 3, 2), "b": (4,)}, one("Conv", "x w b"), lambda t, f, x, w, b: f.conv2d(x, w, b)),
    Case("conv2d_groups", {"x": (1, 4, 6, 5), "w": (6, 2, 3, 2)}, one("Conv", "x w", group=2, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 0]),
         lambda t, f, x, w: f.conv2d(x, w, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)),
    Case("conv2d_by_channel", {"x": (2, 3, 5, 5), "w": (3, 1, 3, 3), "b": (3,)}, one("Conv", "x w b", group=3, pads=[1, 1, 1, 1]),
         lambda t, f, x, w, b: f.conv2d(x, w, b, padding=1, groups=3)),
    Case("conv3d", {"x": (1, 2, 3, 4, 3), "w": (2, 2, 2, 2, 2)}, one("Conv", "x w", strides=[1, 2, 1]), lambda t, f, x, w: f.conv3d(x, w, stride=(1, 2, 1))),
    Case("conv_transpose2d", {"x": (1, 4, 3, 3), "w": (4, 3, 3, 3), "b": (3,)},
         one("ConvTranspose", "x w b", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
         lambda t, f, x, w, b: f.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)),
    Case("conv_transpose2d_groups", {"x": (2, 4, 3, 2), "w": (4, 2, 2, 3)}, one("ConvTranspose", "x w", group=2, dilations=[2, 1]),
         lambda t, f, x, w: f.conv_transpose2d(x, w, groups=2, dilation=(2, 1))),
    Case("attention", {"q": (1, 2, 4, 3), "k": (1, 2, 5, 3), "v": (1, 2, 5, 3), "m": (4, 5)},
         [("Transpose", "k", {"perm": [0, 1, 3, 2]}), ("MatMul", "q t0", {}), ("Div", "t1 root", {}), ("Add", "t2 m", {}), ("Softmax", "t3", {"axis": -1}),
          ("MatMul", "t4 v", {})],
         lambda t, f, q, k, v, m: f.scaled_dot_product_attention(q, k, v, attn_mask=m), root=np.float64(3**0.5)),
    Case("attention_causal", {"q": (2, 1, 4, 2), "k": (2, 1, 4, 2), "v": (2, 1, 4, 2)},
         [("Transpose", "k", {"perm": [0, 1, 3, 2]}), ("MatMul", "q t0", {}), ("Div", "t1 root", {}), ("Add", "t2 mask", {}), ("Softmax", "t3", {"axis": -1}),
          ("MatMul", "t4 v", {})],
         lambda t, f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), root=np.float64(2**0.5),
         mask=np.triu(np.full((4, 4), -1e9), 1)),
    # Windows. The first of the greatest of a window gets all.
    Case("max_pool2d", {"x": (1, 2, 4, 6)}, one("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]), lambda t, f, x: f.max_pool2d(x, 2)),
    Case("max_pool2d_overlapping", {"x": (1, 2, 7, 6)}, one("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
         lambda t, f, x: f.max_pool2d(x, 3, stride=2, padding=1)),
    Case("max_pool2d_ties", {"x": [[TIED]]}, one("MaxPool", "x", kernel_shape=[2, 2]), lambda t, f, x: f.max_pool2d(x, 2, stride=1)),
    Case("max_pool1d_dilated", {"x": (1, 2, 9)}, one("MaxPool", "x", kernel_shape=[3], dilations=[2]), lambda t, f, x: f.max_pool1d(x, 3, 1, dilation=2)),
    Case("avg_pool2d", {"x": (1, 2, 5, 6)}, one("AveragePool", "x", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 1]),
         lambda t, f, x: f.avg_pool2d(x, (3, 2), stride=2, padding=1, count_include_pad=False)),
    Case("avg_pool2d_with_pads", {"x": (1, 2, 5, 6)}, one("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
         lambda t, f, x: f.avg_pool2d(x, 3, stride=1, padding=1)),
    Case("global_avg_pool", {"x": (2, 3, 4, 2)}, one("GlobalAveragePool", "x"), lambda t, f, x: f.adaptive_avg_pool2d(x, 1)),
    Case("global_max_pool", {"x": (2, 3, 4, 2)}, one("GlobalMaxPool", "x"), lambda t, f, x: f.adaptive_max_pool2d(x, 1)),
    # Norms.
    Case("layer_norm", {"x": (3, 6), "w": (6,), "b": (6,)}, one("LayerNormalization", "x w b", axis=-1, epsilon=1e-5),
         lambda t, f, x, w, b: f.layer_norm(x, (6,), w, b)),
    Case("layer_norm_of_two", {"x": (2, 3, 4), "w": (3, 4), "b": (3, 4)}, one("LayerNormalization", "x w b", axis=1, epsilon=1e-3),
         lambda t, f, x, w, b: f.layer_norm(x, (3, 4), w, b, eps=1e-3)),
    Case("rms_norm", {"x": (3, 6), "w": (6,)}, one("RMSNormalization", "x w", axis=-1, epsilon=1e-5), lambda t, f, x, w: f.rms_norm(x, (6,), w, eps=1e-5)),
    Case("instance_norm", {"x": (2, 3, 5), "w": (3,), "b": (3,)}, one("InstanceNormalization", "x w b", epsilon=1e-5),
         lambda t, f, x, w, b: f.instance_norm(x, weight=w, bias=b)),
    Case("batch_norm", {"x": (2, 3, 4), "w": (3,), "b": (3,)}, one("BatchNormalization", "x w b mean var", epsilon=1e-5),
         lambda t, f, x, w, b: f.batch_norm(x, t.tensor([0.5, -0.25, 0.0], dtype=x.dtype), t.tensor([1.0, 0.5, 2.0], dtype=x.dtype), w, b),
         mean=np.array([0.5, -0.25, 0.0]), var=np.array([1.0, 0.5, 2.0])),
    Case("softmax", {"x": (3, 5)}, one("Softmax", "x", axis=-1), lambda t, f, x: f.softmax(x, -1)),
    Case("softmax_of_the_middle", {"x": (2, 3, 4)}, one("Softmax", "x", axis=1), lambda t, f, x: f.softmax(x, 1)),
    Case("log_softmax", {"x": (3, 5)}, one("LogSoftmax", "x", axis=-1), lambda t, f, x: f.log_softmax(x, -1)),
    Case("cross_entropy", {"x": (4, 5)}, [("LogSoftmax", "x", {"axis": -1}), ("GatherND", "t0 places", {}), ("Neg", "t1", {})],
         lambda t, f, x: f.cross_entropy(x, t.tensor([2, 0, 4, 2]), reduction="none"), places=np.array([[0, 2], [1, 0], [2, 4], [3, 2]])),
    # Elements.
    unary("gelu", "Gelu", lambda t, f, x: f.gelu(x), CURVE),
    unary("gelu_tanh", "Gelu", lambda t, f, x: f.gelu(x, approximate="tanh"), CURVE, approximate="tanh"),
    unary("sigmoid", "Sigmoid", lambda t, f, x: t.sigmoid(x), CURVE),
    unary("tanh", "Tanh", lambda t, f, x: t.tanh(x), CURVE),
    unary("erf", "Erf", lambda t, f, x: t.erf(x), CURVE),
    unary("softplus", "Softplus", lambda t, f, x: f.softplus(x), CURVE),
    unary("softsign", "Softsign", lambda t, f, x: f.softsign(x), CURVE),
    unary("mish", "Mish", lambda t, f, x: f.mish(x), CURVE),
    unary("elu", "Elu", lambda t, f, x: f.elu(x, alpha=0.5), CURVE, alpha=0.5),
    unary("celu", "Celu", lambda t, f, x: f.celu(x, alpha=2.0), CURVE, alpha=2.0),
    unary("selu", "Selu", lambda t, f, x: f.selu(x), CURVE),
    unary("hardswish", "HardSwish", lambda t, f, x: f.hardswish(x), CURVE),
    unary("hardsigmoid", "HardSigmoid", lambda t, f, x: f.hardsigmoid(x), CURVE, alpha=1 / 6, beta=0.5),
    unary("exp", "Exp", lambda t, f, x: t.exp(x), CURVE),
    unary("sin", "Sin", lambda t, f, x: t.sin(x), CURVE),
    unary("cos", "Cos", lambda t, f, x: t.cos(x), CURVE),
    unary("tan", "Tan", lambda t, f, x: t.tan(x), CURVE),
    unary("log", "Log", lambda t, f, x: t.log(x), POSITIVE),
    unary("sqrt", "Sqrt", lambda t, f, x: t.sqrt(x), POSITIVE),
    unary("reciprocal", "Reciprocal", lambda t, f, x: 1 / x, CURVE),
    unary("relu_at_zero", "Relu", lambda t, f, x: f.relu(x), [-1, -0.0, 0, 2]),
    unary("leaky_relu_at_zero", "LeakyRelu", lambda t, f, x: f.leaky_relu(x, 0.25), [-1, 0, 2], alpha=0.25),
    unary("abs_at_zero", "Abs", lambda t, f, x: t.abs(x), [-1, 0, 2]),
    Case("clip_at_its_ends", {"x": [-2, -1, 0, 1, 2]}, one("Clip", "x low high"), lambda t, f, x: f.hardtanh(x), low=np.float64(-1), high=np.float64(1)),
    Case("prelu", {"x": [[-1, 0, 2], [3, -2, -0.5]], "a": [0.25, 0.5, -1]}, one("PRelu", "x a"), lambda t, f, x, a: t.where(x > 0, x, a * x)),
    Case("pow", {"x": POSITIVE, "e": [2, -1, 0.5, 3, 0]}, one("Pow", "x e"), lambda t, f, x, e: x**e),
    Case("pow_of_zero", {"x": [0, 0, 0, 2], "e": [0, 2, 1, 0]}, one("Pow", "x e"), lambda t, f, x, e: x**e),
    Case("pow_of_negative", {"x": [-2, -1.5, 3]}, one("Pow", "x e"), lambda t, f, x: x**3, e=np.float64(3)),
    Case("max_ties", {"a": [1, 2, 3], "b": [1, 5, 3]}, one("Max", "a b"), lambda t, f, a, b: t.maximum(a, b)),
    Case("min_ties", {"a": [1, 2, 3], "b": [1, 5, 3]}, one("Min", "a b"), lambda t, f, a, b: t.minimum(a, b)),
    Case("where", {"a": (2, 3), "b": (3,)}, one("Where", "c a b"), lambda t, f, a, b: t.where(t.tensor([[True, False, True], [False, False, True]]), a, b),
         c=np.array([[True, False, True], [False, False, True]])),
    Case("div", {"a": (2, 3), "b": [[1, -2, 0.5]]}, one("Div", "a b"), lambda t, f, a, b: a / b),
    Case("broadcast", {"a": (3, 1), "b": (1, 4), "c": ()}, [("Mul", "a b", {}), ("Sub", "t0 c", {}), ("Mul", "t1 a", {})], lambda t, f, a, b, c: (a * b - c) * a),
    # Reductions. Ties of a whole reduction share alike.
    Case("reduce_max_ties", {"x": TIED}, one("ReduceMax", "x axis", keepdims=0), lambda t, f, x: x.amax(1), axis=np.array([1])),
    Case("reduce_min_ties", {"x": TIED}, one("ReduceMin", "x axis", keepdims=0), lambda t, f, x: x.amin(1), axis=np.array([1])),
    Case("reduce_prod_with_zeros", {"x": [[2, 3, 0.5, -1], [2, 0, 3, 4], [0, 5, 0, 2]]}, one("ReduceProd", "x axis", keepdims=0),
         lambda t, f, x: x.prod(1), axis=np.array([1])),
    Case("reduce_mean", {"x": (2, 3, 4)}, one("ReduceMean", "x axis", keepdims=1), lambda t, f, x: x.mean((0, 2), keepdim=True), axis=np.array([0, 2])),
    Case("reduce_sum_square", {"x": (3, 4)}, one("ReduceSumSquare", "x axis", keepdims=0), lambda t, f, x: (x * x).sum(0), axis=np.array([0])),
    Case("reduce_log_sum_exp", {"x": (3, 4)}, one("ReduceLogSumExp", "x axis", keepdims=0), lambda t, f, x: t.logsumexp(x, 1), axis=np.array([1])),
    # Places.
    Case("embedding", {"w": (7, 3)}, one("Gather", "w ids"), lambda t, f, w: f.embedding(t.tensor([[1, 6, 1, 0], [1, 2, 2, 5]]), w),
         ids=np.array([[1, 6, 1, 0], [1, 2, 2, 5]])),
    Case("gather_from_the_end", {"x": (3, 4)}, one("Gather", "x ids", axis=1), lambda t, f, x: x[:, [3, 0, 3]], ids=np.array([-1, 0, 3])),
    Case("scatter_nd", {"x": (4, 2), "u": (2, 2)}, one("ScatterND", "x places u", reduction="add"),
         lambda t, f, x, u: x.index_add(0, t.tensor([2, 2]), u), places=np.array([[2], [2]])),
    Case("concat", {"a": (2, 3), "b": (2, 1)}, one("Concat", "a b a", axis=1), lambda t, f, a, b: t.cat([a, b, a], 1)),
    Case("slice", {"x": (5, 6)}, one("Slice", "x from to axes steps"), lambda t, f, x: x[1:4].flip(1)[:, ::2],
         **{"from": np.array([1, 5]), "to": np.array([4, -100]), "axes": np.array([0, 1]), "steps": np.array([1, -2])}),
    Case("pad", {"x": (2, 3)}, one("Pad", "x pads"), lambda t, f, x: f.pad(x, (2, 1, 1, 0)), pads=np.array([1, 2, 0, 1])),
    Case("tile", {"x": (2, 3)}, one("Tile", "x times"), lambda t, f, x: x.repeat(2, 3), times=np.array([2, 3])),
    Case("expand", {"x": (2, 1, 3)}, one("Expand", "x shape"), lambda t, f, x: x.expand(2, 4, 3), shape=np.array([2, 4, 3])),
    Case("transpose", {"x": (2, 3, 4)}, [("Transpose", "x", {"perm": [2, 0, 1]}), ("Reshape", "t0 shape", {})],
         lambda t, f, x: x.permute(2, 0, 1).reshape(4, 6), shape=np.array([4, 6])),
    Case("resize_nearest", {"x": (1, 2, 3, 4)},
         one("Resize", "x  scales", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
         lambda t, f, x: f.interpolate(x, scale_factor=2, mode="nearest"), scales=np.array([1, 1, 2, 2], np.float64)),
    Case("resize_bilinear", {"x": (1, 2, 3, 4)}, one("Resize", "x  scales", mode="linear", coordinate_transformation_mode="half_pixel"),
         lambda t, f, x: f.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False), scales=np.array([1, 1, 2, 2], np.float64)),
    # Several together: a recurrent cell's gates, and a network of one hidden layer.
    Case("gates", {"x": (2, 3), "h": (2, 4), "w": (3, 8), "u": (4, 8)},
         [("MatMul", "x w", {}), ("MatMul", "h u", {}), ("Add", "t0 t1", {}), ("Slice", "t2 zero four axis", {}), ("Slice", "t2 four eight axis", {}),
          ("Sigmoid", "t3", {}), ("Tanh", "t4", {}), ("Mul", "t5 t6", {}), ("Add", "t7 h", {})],
         lambda t, f, x, h, w, u: t.sigmoid((x @ w + h @ u)[:, :4]) * t.tanh((x @ w + h @ u)[:, 4:]) + h,
         zero=np.array([0]), four=np.array([4]), eight=np.array([8]), axis=np.array([1])),
    Case("mlp", {"x": (5, 6), "w1": (6, 7), "b1": (7,), "w2": (7, 3), "b2": (3,)},
         [("MatMul", "x w1", {}), ("Add", "t0 b1", {}), ("Relu", "t1", {}), ("MatMul", "t2 w2", {}), ("Add", "t3 b2", {}), ("LogSoftmax", "t4", {"axis": -1})],
         lambda t, f, x, w1, b1, w2, b2: f.log_softmax(f.relu(x @ w1 + b1) @ w2 + b2, -1)),
]
