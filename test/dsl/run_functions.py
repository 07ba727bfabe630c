#!/usr/bin/env python3
"""Functions and layers of the builder: what devices give against the definitions, in NumPy, and against ONNX Runtime on the exported model.

  run_functions.py --cases BUILD/bin/dsl_cases [--device cpu,vulkan]

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import glob
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference
import onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

SIZES = [1, 2, 7, 17]
erf = np.vectorize(math.erf, otypes=[float])
sigmoid = lambda x: 1 / (1 + np.exp(-x))
gelu = lambda x: x / 2 * (1 + erf(x / np.sqrt(2)))
softplus = lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
elu = lambda x, a=1.0: np.where(x > 0, x, a * (np.exp(np.minimum(x, 0)) - 1))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


log_softmax = lambda x: np.log(softmax(x))
take = lambda x, i: np.take_along_axis(x, i[..., None], -1)[..., 0]

# Weights of classes, as in cases.cpp.
WEIGHTS, OTHERS = np.array([0.5, 0, 2, 1, 0.25, 3]), np.array([0.5, 3, 0, 1, 0.25, 3]) # of the second the ignored class has none

# Functions of inputs, by the definitions.
FUNCTIONS = {
    "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "round": np.round, "sign": np.sign, "exp": np.exp, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "tanh": np.tanh, "erf": erf, "reciprocal": lambda x: 1 / x, "sigmoid": sigmoid, "softplus": softplus,
    "softsign": lambda x: x / (1 + np.abs(x)), "relu": lambda x: np.maximum(x, 0),
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772), "mish": lambda x: x * np.tanh(softplus(x)),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "silu": lambda x: x * sigmoid(x), "gelu": gelu, "elu": elu, "celu": elu,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x), "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1), "softmax": softmax,
    "log_softmax": log_softmax, "logsumexp": lambda x: np.log(np.exp(x).sum(-1)), "argmax": lambda x: x.argmax(-1), "argmin": lambda x: x.argmin(-1),
    "sqrt": lambda x: np.sqrt(np.abs(x) + 0.25), "log": lambda x: np.log(np.abs(x) + 0.25), "rsqrt": lambda x: 1 / np.sqrt(np.abs(x) + 0.25),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), "is_nan": lambda x: x < 0, "is_inf": lambda x: x < 0,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "minimum": np.minimum,
    "maximum": np.maximum, "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "equal": lambda a, b: np.round(a) == np.round(b), "not_equal": lambda a, b: np.round(a) != np.round(b),
    "power": lambda a, b: (np.abs(a) + 0.5)**b, "logical": lambda a, b: ((a > 0) & (b > 0)) | ((a > 1) ^ ~(b > 1)),
    "where": np.maximum, "where_number": lambda a, b: np.where(a > b, np.where(a > 0, a, -1), 2),
    "numbers": lambda a, b: 2 - a * 3 + b / 0.5 + 1 / (b * b + 1), "scalars": lambda a, b: (a.sum() + 1) * b - a.mean(),
    "clamp": lambda a, b: np.minimum(np.maximum(a, -0.5), b.mean() + 0.75),
    "sum_all": np.sum, "mean_all": np.mean, "max_all": np.max, "min_all": np.min, "prod_all": np.prod, "sum_last": lambda x: x.sum(-1),
    "mean_two": lambda x: x.mean((0, 2)), "max_middle": lambda x: x.max(1), "min_first": lambda x: x.min(0), "prod_last": lambda x: x.prod(2),
    "pow": np.square, "neg": np.negative, "reshape": lambda x: x.reshape(-1, 6), "reshape_named": lambda x: x.reshape(4, -1, 3),
    "transpose": lambda x: x.transpose(2, 0, 1), "unsqueeze": lambda x: x[..., None], "squeeze": lambda x: x,
    "broadcast": lambda x: np.repeat(x[:, None], 2, 1), "to": lambda x: np.trunc(x).astype(np.int64), "to_half": lambda x: x.astype(np.float16),
    "slice": lambda x: x[..., 1:4:2], "select": lambda x: x[:, 2], "concat": lambda x: np.concatenate([x, x[:, :2], -x], 1),
    "split": lambda x: x[..., 2:] - x[..., :2], "pad": lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0)), constant_values=0.5), "as": lambda x: x,
    "constant": lambda x: x + np.arange(1, 13).reshape(3, 4), "full": lambda x: x * 0.5 - 1, "stop_gradient": lambda x: x,
    "softmax_middle": lambda x: softmax(x, 1), "argmax_first": lambda x: x.argmax(0), "matmul": np.matmul, "matmul_batch": np.matmul,
    "matmul_nt": lambda a, b: a @ b.T, "gather": lambda x, i: x[i], "pick": take, "pick_rows": take, "one_hot": lambda i: np.eye(6)[i],
    "positions": lambda i: np.arange(i.shape[1]), "iota": lambda i: np.concatenate([np.arange(7), i]), "unify": lambda a, b: a + b,
    "gradient": lambda x: 2 * x, "gradient_two": lambda a, b: ((1 - np.tanh(a * b)**2) * b, (1 - np.tanh(a * b)**2) * a),
    "gradient_second": lambda x: 6 * x, "gradient_stopped": lambda x: x, "gradient_pick": lambda x, i: np.eye(6)[i] - softmax(x),
    "gradient_loop": lambda x: 4 * x**3, "dropout": lambda x: x, "flatten": lambda x: x.reshape(len(x), -1),
    "global_avg_pool": lambda x: x.mean((2, 3)), "branch": lambda x: 2 * x if x.sum() > 0 else -x,
    "accuracy": lambda x, i: np.mean(x.argmax(-1) == i), "cross_entropy": lambda x, i: -take(log_softmax(x), i).mean(),
    "cross_entropy_smooth": lambda x, i: -(0.9 * take(log_softmax(x), i) + 0.1 * log_softmax(x).mean(-1)).mean(),
    "cross_entropy_some": lambda x, i: -(take(log_softmax(x), i) * (i != 2)).sum() / max(1, (i != 2).sum()),
    "cross_entropy_classes": lambda x, i: -(WEIGHTS[i] * take(log_softmax(x), i)).sum() / max(WEIGHTS[i].sum(), 1e-30),
    "cross_entropy_rows": lambda x, i, h: -(h * h * take(log_softmax(x), i)).sum() / (h * h).sum(),
    "cross_entropy_both": lambda x, i, h: -(OTHERS[i] * h * h * take(log_softmax(x), i)).sum() / (OTHERS[i] * h * h).sum(),
    "nll_rows": lambda x, i, h: -(h * h * take(log_softmax(x), i)).sum() / (h * h).sum(),
    "mse_rows": lambda x, i, h: (h * h * ((x - x * x) ** 2).mean(-1)).sum() / (h * h).sum(),
    "huber_rows": lambda x, i, h: (h * h * np.where(np.abs(x - x * x) < 1, (x - x * x) ** 2 / 2, np.abs(x - x * x) - 0.5).mean(-1)).sum() / (h * h).sum(),
    "nll": lambda x, i: -take(log_softmax(x), i).mean(), "mse": lambda x, t: ((x - t)**2).mean(), "l1": lambda x, t: np.abs(x - t).mean(),
    "huber": lambda x, t: np.where(np.abs(x - t) < 1, (x - t)**2 / 2, np.abs(x - t) - 0.5).mean(),
    "bce": lambda x, t: -(sigmoid(t) * np.log(sigmoid(x)) + (1 - sigmoid(t)) * np.log(1 - sigmoid(x))).mean(),
    "bce_logits": lambda x, t: -(sigmoid(t) * np.log(sigmoid(x)) + (1 - sigmoid(t)) * np.log(1 - sigmoid(x))).mean(),
    "kl": lambda x, t: (softmax(t) * (log_softmax(t) - log_softmax(x))).sum() / len(x),
}


def windows(x, sizes, stride, padding, fill, dilation=1):
    """The windows of the last dimensions, as dimensions behind them. Numbers are for all dimensions, or one each."""
    n = len(sizes)
    stride, padding, dilation = (np.broadcast_to(numbers, n).tolist() for numbers in (stride, padding, dilation))
    x = np.pad(x, [(0, 0)] * (x.ndim - n) + [(p, p) for p in padding], constant_values=fill)
    full = [d * (k - 1) + 1 for d, k in zip(dilation, sizes)]
    x = np.lib.stride_tricks.sliding_window_view(x, full, tuple(range(x.ndim - n, x.ndim)))
    return x[(Ellipsis, *[slice(None, None, s) for s in stride], *[slice(None, None, d) for d in dilation])]


def conv(x, w, b=None, stride=1, padding=0, groups=1, dilation=1):
    n = w.ndim - 2
    x = windows(x, w.shape[2:], stride, padding, 0, dilation)
    parts = [np.tensordot(x[:, g * w.shape[1]:(g + 1) * w.shape[1]], w[g * len(w) // groups:(g + 1) * len(w) // groups],
                          ([1, *range(2 + n, 2 + 2 * n)], list(range(1, w.ndim)))) for g in range(groups)]
    y = np.moveaxis(np.concatenate(parts, -1), -1, 1)
    return y if b is None else y + b.reshape(-1, *[1] * n)


def conv_transpose(x, w, b, stride, padding, output_padding):
    rows, columns, k, m = *x.shape[2:], *w.shape[2:]
    (down, right), (top, left), (below, beside) = (np.broadcast_to(numbers, 2) for numbers in (stride, padding, output_padding))
    out = np.zeros((len(x), w.shape[1], (rows - 1) * down + k + below, (columns - 1) * right + m + beside))
    for i in range(rows):
        for j in range(columns):
            out[:, :, i * down:i * down + k, j * right:j * right + m] += np.tensordot(x[:, :, i, j], w, 1)
    return out[:, :, top:out.shape[2] - top, left:out.shape[3] - left] + b.reshape(-1, 1, 1)


def attention(x, p, heads, key_heads=None, causal=False, window=0, theta=0):
    key_heads = key_heads or heads
    width, places = x.shape[2], x.shape[1]
    depth = width // heads
    joined = x @ p["in_proj_weight"].T + p.get("in_proj_bias", 0)
    split = lambda part, count: part.reshape(len(x), places, count, depth).transpose(0, 2, 1, 3)
    keys = key_heads * depth
    q, k, v = split(joined[..., :width], heads), split(joined[..., width:width + keys], key_heads), split(joined[..., width + keys:], key_heads)
    if theta:
        angle = np.arange(places)[:, None] * theta**(-2.0 * np.arange(depth // 2) / depth)
        turn = lambda h: np.concatenate([h[..., :depth // 2] * np.cos(angle) - h[..., depth // 2:] * np.sin(angle),
                                         h[..., depth // 2:] * np.cos(angle) + h[..., :depth // 2] * np.sin(angle)], -1)
        q, k = turn(q), turn(k)
    k, v = np.repeat(k, heads // key_heads, 1), np.repeat(v, heads // key_heads, 1)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(depth)
    own, seen = np.arange(places)[:, None], np.arange(places)[None]
    hidden = (seen > own if causal else np.zeros((places, places), bool)) | (seen <= own - window if window else False)
    scores = np.where(hidden, -np.inf, scores)
    y = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
    return y @ p["out_proj.weight"].T + p.get("out_proj.bias", 0)


def attention_to(x, memory, p, heads, hidden=None):
    width, depth = x.shape[2], x.shape[2] // heads
    weights, biases = (np.split(p[f"in_proj_{kind}"], 3) for kind in ("weight", "bias"))
    split = lambda part: part.reshape(*part.shape[:2], heads, depth).transpose(0, 2, 1, 3)
    q, k, v = (split(part @ weight.T + bias) for part, weight, bias in zip((x, memory, memory), weights, biases))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(depth)
    if hidden is not None:
        scores = np.where(hidden[:, None, None], -np.inf, scores)
    return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ p["out_proj.weight"].T + p["out_proj.bias"]


def sinusoidal(x, theta=100):
    table, places = np.zeros(x.shape[1:]), np.arange(x.shape[1])[:, None]
    angle = places * theta**(-np.arange(0, x.shape[2], 2) / x.shape[2])
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return x + table


def of_part(p, part):
    return {name.removeprefix(part + "."): value for name, value in p.items() if name.startswith(part + ".")}


def normed(x, p, part):
    own = of_part(p, part)
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * own["weight"] + own["bias"]


def fed(x, p):
    return np.maximum(x @ p["linear1.weight"].T + p["linear1.bias"], 0) @ p["linear2.weight"].T + p["linear2.bias"]


def encoder_layer(x, p):
    y = normed(x + attention(x, of_part(p, "self_attn"), 2), p, "norm1")
    return normed(y + fed(y, p), p, "norm2")


def decoder_layer(x, a, i, p):
    y = normed(x + attention(x, of_part(p, "self_attn"), 2, causal=True), p, "norm1")
    z = normed(y + attention_to(y, a, of_part(p, "multihead_attn"), 2, i > 3), p, "norm2")
    return normed(z + fed(z, p), p, "norm3")


def recurrent(kind, x, p, h, c=None):
    ys = []
    for row in x:
        a, b = row @ p["weight_ih_l0"].T + p["bias_ih_l0"], h @ p["weight_hh_l0"].T + p["bias_hh_l0"]
        if kind == "rnn":
            h = np.tanh(a + b)
        elif kind == "gru":
            (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
            z = sigmoid(az + bz)
            h = (1 - z) * np.tanh(an + sigmoid(ar + br) * bn) + z * h
        else:
            i, f, g, o = np.split(a + b, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return (np.stack(ys), h) if c is None else (np.stack(ys), h, c)


def loop_two(x):
    t = x.sum()
    for _ in range(3):
        x, t = x + t, x.mean()
    return x, t


def loop_in_loop(x):
    y = x
    for i in range(2):
        for _ in range(i + 1):
            y = y * 1.5 - x
    return y


def scan(x, s):
    all = []
    for row in x:
        s = np.tanh(row + s)
        all.append(s.sum(-1))
    return s, np.stack(all)


def loop(x):
    for i in range(4):
        x = x * 0.5 + i
    return x


def norm(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def group_norm(x, p):
    y = norm(x.reshape(len(x), 2, -1), (2,), 1e-5).reshape(x.shape)
    return y * p["weight"].reshape(-1, 1, 1) + p["bias"].reshape(-1, 1, 1)


def sequential(x, p):
    y = np.maximum(x @ p["0.weight"].T + p["0.bias"], 0) @ p["2.weight"].T + p["2.bias"]
    y = gelu(y)
    y = y * sigmoid(y)
    y = elu(sigmoid(np.tanh(y)))
    return softplus(np.where(y > 0, y, 0.01 * y))


linear = lambda x, p: x @ p["weight"].T + p.get("bias", 0)
# Layers, of an input and parameters by their names.
LAYERS = {
    "linear": linear, "linear_rows": linear, "linear_any": linear, "linear_plain": linear,
    "conv1d": lambda x, p: conv(x, p["weight"], p["bias"], 2, 1), "conv2d": lambda x, p: conv(x, p["weight"], p["bias"], 1, 1, 2),
    "conv2d_plain": lambda x, p: conv(x, p["weight"], dilation=2), "conv3d": lambda x, p: conv(x, p["weight"], p["bias"]),
    "conv2d_window": lambda x, p: conv(x, p["weight"], p["bias"], (2, 1), (1, 0), 1, (1, 3)),
    "conv3d_window": lambda x, p: conv(x, p["weight"], p["bias"], 1, (0, 1, 2)),
    "conv_transpose_window": lambda x, p: conv_transpose(x, p["weight"], p["bias"], (1, 2), 0, (0, 1)),
    "max_pool_window": lambda x, p: windows(x, (1, 3), (1, 3), (0, 1), -np.inf).max((-2, -1)),
    "conv_transpose": lambda x, p: conv_transpose(x, p["weight"], p["bias"], 2, 1, 1), "embedding": lambda i, p: p["weight"][i],
    "layer_norm": lambda x, p: norm(x, (-1,), 1e-5) * p["weight"] + p["bias"],
    "rms_norm": lambda x, p: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * p["weight"],
    "batch_norm": lambda x, p: (x - p["running_mean"][:, None]) / np.sqrt(p["running_var"][:, None] + 1e-5) * p["weight"][:, None] + p["bias"][:, None],
    "group_norm": group_norm, "attention": lambda x, p: attention(x, p, 2), "attention_causal": lambda x, p: attention(x, p, 2, causal=True),
    "attention_groups": lambda x, p: attention(x, p, 4, 2, causal=True, theta=100),
    "attention_cross": lambda x, a, p: attention_to(x, a, p, 2), "attention_padded": lambda x, a, i, p: attention_to(x, a, p, 2, i > 3),
    "encoder_layer": encoder_layer, "decoder_layer": decoder_layer,
    "attention_window": lambda x, p: attention(x, p, 2, causal=True, window=3),
    "feed_forward": lambda x, p: gelu(x @ p["up.weight"].T + p["up.bias"]) @ p["down.weight"].T + p["down.bias"],
    "feed_forward_gated": lambda x, p: ((lambda g: g * sigmoid(g))(x @ p["gate.weight"].T + p["gate.bias"]) * (x @ p["up.weight"].T + p["up.bias"]))
    @ p["down.weight"].T + p["down.bias"],
    "rnn": lambda x, h, p: recurrent("rnn", x, p, h), "gru": lambda x, h, p: recurrent("gru", x, p, h),
    "lstm": lambda x, h, c, p: recurrent("lstm", x, p, h, c), "max_pool": lambda x, p: windows(x, (2, 2), 2, 0, 0).max((-2, -1)),
    "max_pool_padded": lambda x, p: windows(x, (3,), 2, 1, -np.inf).max(-1), "avg_pool": lambda x, p: windows(x, (3, 3), 2, 1, 0).mean((-2, -1)),
    "sequential": sequential,
}
FUNCTIONS.update(sinusoidal=sinusoidal, loop=loop, loop_two=loop_two, loop_in_loop=loop_in_loop, scan=scan)

# What no model of ONNX says, with the reason.
REFUSED = {name: "it computes a loss" for name in ("cross_entropy", "cross_entropy_smooth", "cross_entropy_some", "cross_entropy_classes", "cross_entropy_rows",
                                                   "cross_entropy_both", "nll_rows", "mse_rows", "huber_rows", "accuracy", "nll", "mse", "l1", "huber",
                                                   "bce", "bce_logits", "kl")}
# ONNX has the op, and ONNX Runtime has not.
UNKNOWN = {"gradient", "gradient_two", "gradient_second", "gradient_stopped", "gradient_pick", "gradient_loop"}

# ONNX's own evaluator takes no loop without a condition, and no third output of LSTM; ONNX Runtime has run these.
NOT_EVALUATED = {"loop", "loop_two", "loop_in_loop", "scan", "lstm"}

checks = Checks()
checks.is_quiet = True


def check(name, problem):
    checks.check(name, not problem, problem)


def compare(got, want, tolerance=2e-5):
    want = np.asarray(want)
    if got.shape != want.shape:
        return f"expected {want.shape}, got {got.shape}"
    if got.dtype.kind in "bi":
        return "" if np.array_equal(got, want) else f"{(got != want).sum()} of {got.size} elements differ"
    want = want.astype(np.float64)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        return "other elements are finite"
    error = np.abs(got - want) / np.maximum(1, np.abs(want))
    worst = np.nanmax(error, initial=0)
    return "" if worst <= tolerance else f"off by {worst:.3g}"


def read(base, names):
    return [np.load(f"{base}.{name}.npy") for name in names]


def run_function(folder, name, devices, outputs, inputs):
    model = {opset: os.path.join(folder, f"{name}.{opset}.onnx") for opset in (20, 27, 28)}
    parameters, sessions = {}, {}
    for opset, path in model.items():
        if name in REFUSED:
            reason = open(path + ".refused").read() if os.path.exists(path + ".refused") else "it was exported"
            check(f"{name} export {opset}", "" if REFUSED[name] in reason and not os.path.exists(path) else f"expected '{REFUSED[name]}', got: {reason}")
            continue
        try:
            proto = onnx.load(path)
            if name not in UNKNOWN:
                onnx.checker.check_model(proto, full_check=True)
            version = {entry.domain: entry.version for entry in proto.opset_import}[""]
            check(f"{name} export {opset}", "" if version == opset else f"has version {version}")
        except Exception as error:  # what the checker says
            check(f"{name} export {opset}", str(error).split("\n")[0])
            continue
        for tensor in proto.graph.initializer:
            own = tensor.name.removeprefix(name + ".")
            if own == tensor.name:
                check(f"{name} export {opset}", f"'{tensor.name}' has not the name of a parameter")
            parameters[own] = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        if name not in UNKNOWN:
            try:
                # ONNX Runtime does not know all of version 28 yet; ONNX's own evaluator does.
                sessions[opset] = onnx.reference.ReferenceEvaluator(proto) if opset == 28 else onnxruntime.InferenceSession(
                    path, providers=["CPUExecutionProvider"])
            except Exception as error:
                check(f"{name} export {opset}", str(error).split("\n")[0])
    for size in SIZES:
        base = os.path.join(folder, f"{name}.{size}")
        given = read(base + ".in", inputs)
        wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in given]
        with np.errstate(all="ignore"):
            want = LAYERS[name](*wide, parameters) if name in LAYERS else FUNCTIONS[name](*wide)
        want = want if isinstance(want, tuple) else (want,)
        for device in devices:
            for output, value in zip(outputs, want, strict=True):
                got = np.load(f"{base}.{device}.{output}.npy")
                check(f"{name} {device} {size} {output}", compare(got, value, 1e-3 if name == "to_half" else 2e-5))
        for opset, session in sessions.items():
            if opset == 28 and (size != 7 or name in NOT_EVALUATED):
                continue
            with np.errstate(all="ignore"):
                results = session.run(outputs, dict(zip(inputs, given)))
            for output, value in zip(outputs, results, strict=True):
                got = np.load(f"{base}.{devices[0]}.{output}.npy")
                check(f"{name} {'ONNX' if opset == 28 else 'ONNX Runtime'} {opset} {size} {output}", compare(got, np.asarray(value)))
    return len(sessions)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    arguments = parser.parse_args()
    devices = arguments.device.split(",")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.cases, folder, arguments.device, *devices], check=True)
        functions = {}
        for path in sorted(glob.glob(os.path.join(folder, f"*.{SIZES[0]}.*.npy"))):
            name, _, kind, port = os.path.basename(path).removesuffix(".npy").split(".")
            functions.setdefault(name, {}).setdefault(kind, []).append(port)
        order = {"all": 2, "last": 1, "cell": 3, "db": 1, "z": 1}
        models = 0
        for name, ports in functions.items():
            if name not in FUNCTIONS and name not in LAYERS:
                check(name, "has no definition here")
                continue
            outputs = sorted(ports[devices[0]], key=lambda port: order.get(port, 0))
            inputs = sorted(ports["in"], key=lambda port: "xahibtcs".index(port))
            models += run_function(folder, name, devices, outputs, inputs)
        missing = (set(FUNCTIONS) | set(LAYERS)) - set(functions)
        check("all", f"were not run: {sorted(missing)}" if missing else "")
    print(f"{len(functions)} functions on {', '.join(devices)}; ONNX Runtime and ONNX ran {models} models")
    sys.exit(checks.finish() or models == 0)


if __name__ == "__main__":
    main()
