#!/usr/bin/env python3
"""Lion, whose steps are signs, and gradients of activations far from 0.

  run_training_lion.py --bin BUILD/bin [--device cpu,vulkan]

A network of convolutions, sigmoid, max pool, a frozen batch norm, gelu and a product is trained for three steps by Lion, clipped by norm, and computed here in f64. A parameter
moves by the rate in the direction of a mixture of gradients. Where that mixture is clearly not 0 all directions must be the same; where it is 0 but for rounding either one is
right. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import math
import os
import sys
import tempfile

from run_models import np, onnx, required_devices
from run_vx_train import Tests, read_tensors
from onnx import TensorProto, helper, numpy_helper

BATCH, RATE, NORM, STEPS, BETA1, BETA2 = 6, 6.5e-3, 0.3, 3, 0.9, 0.99
CLEAR = 1e-4  # of the mean size of a tensor's mixtures


def windows(x, size, pad):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))  # batch, channel, y, x, size, size


def conv(x, w, b, pad):
    return np.einsum("bchwij,ocij->bohw", windows(x, w.shape[2], pad), w) + b[:, None, None]


def conv_gradients(x, w, g, pad):
    size = w.shape[2]
    flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return np.einsum("bchwij,ocij->bohw", windows(g, size, size - 1 - pad), flipped), np.einsum("bchwij,bohw->ocij", windows(x, size, pad), g), g.sum((0, 2, 3))


def sigmoid(x):
    e = np.exp(-abs(x))
    return np.where(x >= 0, 1, e) / (1 + e), e / (1 + e) ** 2


def gradients(w, x, target):
    """Of the KL divergence by all parameters."""
    g = {}
    hidden, slope = sigmoid(conv(x, w["c1.w"], w["c1.b"], 1))
    batch, channels, height, width = hidden.shape
    blocks = hidden.reshape(batch, channels, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(batch, channels, height // 2, width // 2, 4)
    greatest = blocks.argmax(-1)[..., None]
    pooled = np.take_along_axis(blocks, greatest, -1)[..., 0]
    unit = (conv(pooled, w["c2.w"], w["c2.b"], 0) - w["bn.mean"][:, None, None]) / np.sqrt(w["bn.variance"] + 1e-5)[:, None, None]
    normal = unit * w["bn.w"][:, None, None] + w["bn.b"][:, None, None]
    chance = 0.5 * (1 + np.vectorize(math.erf)(normal / math.sqrt(2)))
    features = normal * chance
    d = -target / batch
    g["fc.w"], g["fc.b"] = d.T @ features.reshape(batch, -1), d.sum(0)
    d = (d @ w["fc.w"]).reshape(features.shape) * (chance + normal * np.exp(-normal**2 / 2) / math.sqrt(2 * math.pi))
    g["bn.w"], g["bn.b"] = (d * unit).sum((0, 2, 3)), d.sum((0, 2, 3))
    d, g["c2.w"], g["c2.b"] = conv_gradients(pooled, w["c2.w"], d * (w["bn.w"] / np.sqrt(w["bn.variance"] + 1e-5))[:, None, None], 0)
    spread = np.zeros_like(blocks)
    np.put_along_axis(spread, greatest, d[..., None], -1)
    spread = spread.reshape(batch, channels, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(hidden.shape)
    _, g["c1.w"], g["c1.b"] = conv_gradients(x, w["c1.w"], spread * slope, 1)
    return g


def train(weights, x, target):
    """The parameters after each step, and whether all mixtures until then were clearly not 0."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    momentum, clear, seen = {}, {}, []
    for _ in range(STEPS):
        g = gradients(w, x.astype(np.float64), target.astype(np.float64))
        share = min(NORM / (math.sqrt(sum((one**2).sum() for one in g.values())) + 1e-6), 1)
        for name, one in g.items():
            before, one = momentum.get(name, 0), one * share
            mixture = BETA1 * before + (1 - BETA1) * one
            w[name] = w[name] - RATE * np.sign(mixture)
            momentum[name] = BETA2 * before + (1 - BETA2) * one
            clear[name] = clear.get(name, True) & (abs(mixture) > CLEAR * abs(mixture).mean())
        seen.append(({name: w[name] for name in g}, {name: clear[name].copy() for name in g}))
    return seen


def make_network(path, random, scale):
    draw = lambda *shape: (random.standard_normal(shape) * 0.5).astype(np.float32)
    weights = {"c1.w": draw(4, 1, 3, 3), "c1.b": draw(4), "c2.w": draw(6, 4, 3, 3), "c2.b": draw(6), "bn.w": 1 + draw(6) * 0.2, "bn.b": draw(6), "bn.mean": draw(6),
               "bn.variance": 1 + abs(draw(6)), "fc.w": draw(5, 24), "fc.b": draw(5)}
    node, value = helper.make_node, helper.make_tensor_value_info
    nodes = [node("Conv", ["x", "c1.w", "c1.b"], ["a"], pads=[1, 1, 1, 1]), node("Sigmoid", ["a"], ["s"]), node("MaxPool", ["s"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["p", "c2.w", "c2.b"], ["b"]), node("BatchNormalization", ["b", "bn.w", "bn.b", "bn.mean", "bn.variance"], ["n"], epsilon=1e-5), node("Gelu", ["n"], ["g"]),
             node("Flatten", ["g"], ["f"]), node("Gemm", ["f", "fc.w", "fc.b"], ["y"], transB=1)]
    graph = helper.make_graph(nodes, "lion", [value("x", TensorProto.FLOAT, ["batch", 1, 8, 8])], [value("y", TensorProto.FLOAT, ["batch", 5])],
                              [numpy_helper.from_array(one, name) for name, one in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return weights, draw(BATCH, 1, 8, 8) * scale, random.dirichlet(np.ones(5), BATCH).astype(np.float32)


def check_lion(tests, devices):
    """At `scale` 20 a whole channel is where gelu is flat, and at 400 sigmoids are 0 or 1 in f32 for most inputs, on both sides: their gradients vanish but for rounding."""
    for scale in (2, 20, 400):
        random = np.random.default_rng(scale)
        weights, x, target = make_network(tests.path("lion.onnx"), random, scale)
        os.makedirs(tests.path("data"), exist_ok=True)
        np.save(tests.path("data/x.npy"), x)
        np.save(tests.path("data/target.npy"), target)
        tests.run("vx-compile", "lion.onnx", f"--target={','.join(devices)}", "--train=auto", "--loss=kl", "--optimizer=lion", f"--clip-norm={NORM}", "-o", "lion.vxm")
        want = train(weights, x, target)
        for device in devices:
            for step, (parameters, clear) in enumerate(want, 1):
                tests.run("vx-train", "lion.vxm", f"--device={device}", "--no-fallback", "--data=data", f"--lr={RATE}", f"--epochs={step}", f"--batch-size={BATCH}", "--save=lion")
                got, _ = read_tensors(tests.path("lion"))
                for name, value in parameters.items():
                    error = abs(got[name] - value)
                    title = f"lion on {device}, scale {scale}, step {step}: {name}"
                    tests.check(title, (error[clear[name]] < 1e-6).all(), f"{(error[clear[name]] >= 1e-6).sum()} of {clear[name].sum()} went another way, by up to {np.nanmax(error):.3g}")
                    turns = error[~clear[name]] / RATE
                    tests.check(f"{title}: near 0", (abs(turns - turns.round()) < 1e-3).all() and (turns < 2 * step + 0.5).all(), f"not by multiples of the rate: {turns}")
                    tests.check(f"{title}: most are clear", scale > 2 or clear[name].mean() > 0.95, f"{clear[name].mean():.2f} are")


FAR = np.array([-1000, -200, -100, -89, -30, -5, 5, 30, 89, 100, 200, 1000], np.float32)


def far_slopes():
    """The derivatives of activations, in f64."""
    x = FAR.astype(np.float64)
    s, slope = sigmoid(x)
    below = np.exp(np.minimum(x, 0))
    return {"Sigmoid": ({}, slope), "Elu": ({"alpha": 0.5}, np.where(x > 0, 1, 0.5 * below)), "Celu": ({"alpha": 2.0}, np.where(x > 0, 1, np.exp(np.minimum(x, 0) / 2))),
            "Selu": ({}, 1.0507009873554805 * np.where(x > 0, 1, 1.6732632423543772 * below)), "Softplus": ({}, s), "Tanh": ({}, 1 - np.tanh(x) ** 2),
            "LeakyRelu": ({"alpha": 0.1}, np.where(x > 0, 1, 0.1))}


def check_far(tests, devices):
    value = helper.make_tensor_value_info
    np.save(tests.path("far.npy"), FAR)
    for name, (attributes, want) in far_slopes().items():
        graph = helper.make_graph([helper.make_node(name, ["x"], ["y"], **attributes)], "far", [value("x", TensorProto.FLOAT, [len(FAR)])], [value("y", TensorProto.FLOAT, [len(FAR)])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), tests.path("far.onnx"))
        tests.run("vx-compile", "far.onnx", f"--target={','.join(devices)}", "--grad=y:x", "-o", "far.vxm")
        for device in devices:
            tests.run("vx-run", "far.vxm", f"--device={device}", "--no-fallback", "--function=gradient", "--input=x=@far.npy", "--output=grad/x=@slopes.npy")
            got = np.load(tests.path("slopes.npy"))
            tests.check(f"{name} far from 0 on {device}", np.allclose(got, want, rtol=1e-5, atol=1e-7), f"expected {want}, got {got}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(options.bin), folder)
        check_lion(tests, devices)
        check_far(tests, devices)
        print(f"{tests.passed} passed, {tests.failed} failed on {' and '.join(devices)}")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
