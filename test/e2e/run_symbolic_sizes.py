#!/usr/bin/env python3
"""Sizes that a model computes: what compiling them costs, and that ONNX Runtime has the same ones.

  run_symbolic_sizes.py --bin BUILD/bin [--filter TEXT]

Each case is a function below, which compiles small models for the CPU, and runs them beside ONNX Runtime. Budgets are of CPU time (user and system, of the tool with all of its
threads). Exit code: 0 all passed, 1 some failed.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

HEAD = '<ir_version: 9, opset_import: ["" : 20]>'


class Bench(Checks):
    is_quiet = True

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, title, fault):
        super().check(title, not fault, fault)

    def compile(self, model, *flags):
        """The CPU seconds that it took, the exit code, and what the tool said."""
        onnx.save(model, self.path("m.onnx"))
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([f"{self.tools}/vx-compile", self.path("m.onnx"), "--target=cpu", "--no-cache", "-o", self.path("m.vxm"), *flags], capture_output=True, text=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime, done.returncode, done.stdout + done.stderr

    def run(self, model, feeds):
        """The outputs of the module that was compiled last, or what the tool said."""
        command = [f"{self.tools}/vx-run", self.path("m.vxm"), "--device=cpu"]
        for name, array in feeds.items():
            with open(self.path(name + ".pb"), "wb") as file:
                file.write(numpy_helper.from_array(np.asarray(array), name).SerializeToString())
            command += ["--input", f"{name}=@{self.path(name + '.pb')}"]
        names = [output.name for output in model.graph.output]
        for name in names:
            command += ["--output", f"{name}=@{self.path(name + '.out.pb')}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        return [numpy_helper.to_array(onnx.load_tensor(self.path(name + ".out.pb"))) for name in names]

    def compare(self, title, model, session, feeds):
        got, want = self.run(model, feeds), [np.asarray(array) for array in session.run(None, feeds)]
        self.check(title, got if isinstance(got, str) else differ(got, want))


def differ(got, want):
    for number, (have, array) in enumerate(zip(got, want)):
        if have.shape != array.shape:
            return f"output {number} is of shape {have.shape}, expected {array.shape}"
        if array.dtype.kind == "f" and not np.allclose(have, array, rtol=1e-4, atol=1e-4, equal_nan=True):
            return f"output {number} is off by {np.abs(have - array).max()}"
        if array.dtype.kind != "f" and not np.array_equal(have.astype(str) if array.dtype == object else have, array.astype(str) if array.dtype == object else array):
            return f"output {number} is {have.ravel()[:12].tolist()}, expected {array.ravel()[:12].tolist()}"
    return ""


def start(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # it makes a pooling of a padding and one that it then refuses
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def parse(text):
    return onnx.parser.parse_model(f"{HEAD} g {text}")


def within(bench, title, model, seconds, *flags):
    """Compiles it and tells what the tool said; None where that failed."""
    used, code, said = bench.compile(model, *flags)
    print(f"{title}: {used:.1f} s of CPU", flush=True)
    bench.check(title, said[-400:] if code else f"took {used:.1f} s of CPU, expected {seconds} at most" if used > seconds else "")
    return None if code else said


def count_kernels(report):
    """Those of all variants of the CPU are one."""
    keys = set(re.findall(r"^ +key ([0-9a-f]+)", report, re.MULTILINE))
    assert keys, report
    return len(keys)


class Layers:
    """Text of a model that grows node by node, with weights that are drawn."""

    def __init__(self):
        self.random, self.nodes, self.weights, self.count = np.random.default_rng(3), [], [], 0

    def new(self, text):
        self.count += 1
        self.nodes.append(f"v{self.count} = {text}")
        return f"v{self.count}"

    def weight(self, *shape, scale=None):
        name = f"w{len(self.weights)}"
        scale = scale if scale is not None else 1 / np.sqrt(np.prod(shape[1:]))
        self.weights.append(numpy_helper.from_array((self.random.standard_normal(shape) * scale).astype(np.float32), name))
        return name

    def integers(self, *values):
        return self.new(f"Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> ()")

    def causal_conv(self, x, inputs, outputs, kernel, stride=1, dilation=1):
        """A convolution that pads at its end by what is missing to a whole number of places, computed from the size of its input as exporters write it."""
        reach = (kernel - 1) * dilation + 1
        total = reach - stride
        length = self.new(f"Gather ({self.new(f'Shape ({x})')}, {self.integers(2)})")
        places = self.new(f"Add ({self.new(f'Sub ({length}, {self.integers(reach)})')}, {self.integers(total)})")
        divided = self.new(f"Div ({self.new(f'Cast <to = 1> ({places})')}, {self.new(f'Cast <to = 1> ({self.integers(stride)})')})")
        frames = self.new(f"Ceil ({self.new(f'Add ({divided}, ' + self.new('Constant <value = float[1] {1.0}> ()') + ')')})")
        whole = self.new(f"Sub ({self.new(f'Cast <to = 7> ({frames})')}, {self.integers(1)})")
        ideal = self.new(f"Add ({self.new(f'Mul ({whole}, {self.integers(stride)})')}, {self.integers(reach - total)})")
        extra = self.new(f"Sub ({ideal}, {length})")
        pads = self.new(f"Concat <axis = 0> ({self.integers(0, 0, total, 0, 0)}, {extra})")
        return self.new(f"Conv <strides = [{stride}], dilations = [{dilation}]> ({self.new(f'Pad ({x}, {pads})')}, {self.weight(outputs, inputs, kernel)}, {self.weight(outputs, scale=.1)})")

    def trimmed_transpose(self, x, inputs, outputs, stride):
        """A transposed convolution without what it has too much at its end."""
        whole = self.new(f"ConvTranspose <strides = [{stride}]> ({x}, {self.weight(inputs, outputs, 2 * stride)}, {self.weight(outputs, scale=.1)})")
        length = self.new(f"Gather ({self.new(f'Shape ({whole})')}, {self.integers(2)})")
        return self.new(f"Slice ({whole}, {self.integers(0)}, {self.new(f'Sub ({length}, {self.integers(stride)})')}, {self.integers(2)})")

    def residual(self, x, channels):
        inner = self.causal_conv(self.new(f"Elu ({x})"), channels, channels // 2, 3)
        inner = self.causal_conv(self.new(f"Elu ({inner})"), channels // 2, channels, 1)
        return self.new(f"Add ({inner}, {self.causal_conv(x, channels, channels, 1)})")

    def lstm(self, x, channels):
        sequence = self.new(f"Transpose <perm = [2, 0, 1]> ({x})")
        inner = self.new(f"LSTM <hidden_size = {channels}> ({sequence}, {self.weight(1, 4 * channels, channels)}, {self.weight(1, 4 * channels, channels)})")
        inner = self.new(f"Add ({self.new(f'Squeeze ({inner}, {self.integers(1)})')}, {sequence})")
        return self.new(f"Transpose <perm = [1, 2, 0]> ({inner})")

    def model(self, inputs, output, shape):
        self.nodes.append(f"y = Identity ({output})")
        model = parse(f"({inputs}) => ({shape} y) {{ " + "\n".join(self.nodes) + "}")
        model.graph.initializer.extend(self.weights)
        return model


def codec(bench):
    """An encoder and a decoder of sound: strides 2, 4, 5 and 8, residual blocks, an LSTM in the middle."""
    strides, width = (2, 4, 5, 8), 4
    encoder = Layers()
    x = encoder.causal_conv("x", 1, width, 7)
    for level, stride in enumerate(strides):
        channels = width << level
        x = encoder.causal_conv(encoder.new(f"Elu ({encoder.residual(x, channels)})"), channels, 2 * channels, 2 * stride, stride)
    x = encoder.lstm(x, 16 * width)
    model = encoder.model("float[B, 1, T] x", encoder.causal_conv(encoder.new(f"Elu ({x})"), 16 * width, 8, 7), "float[B, 8, U]")
    session, random = start(model), np.random.default_rng(1)
    if within(bench, "codec, encoder", model, 30):
        for length in (320, 321, 997, 1283):
            bench.compare(f"codec, encoder of {length}", model, session, {"x": random.standard_normal((2, 1, length)).astype(np.float32)})

    decoder = Layers()
    x = decoder.lstm(decoder.causal_conv("x", 8, 16 * width, 7), 16 * width)
    for level, stride in reversed(list(enumerate(strides))):
        channels = width << level
        x = decoder.residual(decoder.trimmed_transpose(decoder.new(f"Elu ({x})"), 2 * channels, channels, stride), channels)
    model = decoder.model("float[B, 8, T] x", decoder.causal_conv(decoder.new(f"Elu ({x})"), width, 1, 7), "float[B, 1, U]")
    session = start(model)
    if within(bench, "codec, decoder", model, 30):
        for length in (1, 3, 7):
            bench.compare(f"codec, decoder of {length}", model, session, {"x": random.standard_normal((2, 8, length)).astype(np.float32)})


def causal(bench):
    """A chain of convolutions of which each pads by its own input's size: no size grows, and one kernel serves all lengths."""
    layers, x = Layers(), "x"
    for _ in range(24):
        x = layers.new(f"Pad ({layers.causal_conv(x, 4, 4, 3)}, {layers.integers(0, 0, 0, 0, 0, 1)})")
    model = layers.model("float[B, 4, T] x", x, "float[B, 4, U]")
    said = within(bench, "causal convolutions", model, 5, "--report")
    if said:
        kernels = count_kernels(said)
        bench.check("causal convolutions, kernels", f"got {kernels}, expected 9 at most" if kernels > 9 else "")
        for length in (1, 2, 50):
            bench.compare(f"causal convolutions of {length}", model, start(model), {"x": np.ones((2, 4, length), np.float32)})


def floats(bench):
    """Whole numbers of f32 that sizes become, near 0 and near the last that f32 has. The input has no elements, so that its sizes can be large."""
    forms = {
        "ceil of fifths": "a = Div (f, five) b = Add (a, one) c = Ceil (b)",
        "floor of fifths, negative": "a = Sub (one, f) b = Div (a, five) c = Floor (b)",
        "ceil of thirds, negative": "a = Sub (one, f) b = Div (a, three) c = Ceil (b)",
        "floor of halves": "a = Mul (f, half) b = Sub (a, one) c = Floor (b)",
        "a product of a power of two": "a = Mul (f, quarter) b = Floor (a) c = Mul (b, three)",
        "a fraction that is cut off": "c = Div (f, three)",
        "whole numbers, rounded": "a = Sub (f, three) c = Round (a)",
        "halves, rounded": "a = Mul (f, half) c = Round (a)",
        "thirds that make one": "a = Div (f, three) b = Add (a, a) d = Add (a, b) c = Ceil (d)",
        "a negative divisor": "a = Neg (three) b = Div (f, a) c = Floor (b)",
    }
    constants = " ".join(f"{name} = Constant <value = float[1] {{{value}}}> ()" for name, value in (("one", 1), ("three", 3), ("five", 5), ("half", 0.5), ("quarter", 0.25)))
    for title, text in forms.items():
        model = parse(f"(float[Z, T] x) => (int64[1] y) {{ {constants} two = Constant <value = int64[1] {{1}}> () s = Shape (x) l = Gather (s, two) f = Cast <to = 1> (l) {text} y = Cast <to = 7> (c) }}")
        used, code, said = bench.compile(model)
        bench.check(f"floats: {title}", said if code else "")
        if code:
            continue
        session = start(model)
        for size in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 1000003, 8388599, 8388607, 16777213, 16777216, 16777217, 33554433):
            feeds = {"x": np.zeros((0, size), np.float32)}
            got, want = bench.run(model, feeds), session.run(None, feeds)
            if isinstance(got, str) and size > 2**22:  # is not promised there; a wrong answer is
                bench.check(f"floats: {title}, {size}", "" if "to be at least" in got else got)
            else:
                bench.check(f"floats: {title}, {size}", got if isinstance(got, str) else differ(got, want))


def unrolled(bench):
    """An RNN that is written step by step has as many kernels as one of a few steps, whichever way it takes its steps apart; each step reads its own place."""
    for style, steps, batch in (("gather", 2000, 1), ("split", 150, 3)):
        layers, state, states = Layers(), "zero", []
        data, recurrent = layers.weight(8, 16), layers.weight(16, 16)
        axis = layers.integers(0)
        if style == "split":
            layers.nodes.append(", ".join(f"x{step}" for step in range(steps)) + f" = Split <axis = 0, num_outputs = {steps}> (x)")
        for step in range(steps):
            if style == "split":
                here = layers.new(f"Squeeze (x{step}, {axis})")
            else:
                here = layers.new(f"Gather <axis = 0> (x, {layers.new(f'Constant <value_int = {step}> ()')})")
            products = [layers.new(f"MatMul ({here}, {data})"), layers.new(f"MatMul ({state}, {recurrent})")]
            state = layers.new(f"Tanh ({layers.new(f'Add ({products[0]}, {products[1]})')})")
            states.append(layers.new(f"Unsqueeze ({state}, {axis})"))
        layers.weights.append(numpy_helper.from_array(np.zeros((1, 16), np.float32), "zero"))
        model = layers.model(f"float[{steps}, B, 8] x", layers.new(f"Concat <axis = 0> ({', '.join(states)})"), f"float[{steps}, B, 16]")
        title = f"RNN of {steps} steps by {style}"
        said = within(bench, title, model, 20, "--report")
        if said:
            kernels = count_kernels(said)
            bench.check(f"{title}, kernels", f"got {kernels}, expected 10 at most" if kernels > 10 else "")
            bench.compare(title, model, start(model), {"x": np.random.default_rng(2).standard_normal((steps, batch, 8)).astype(np.float32)})


def wide(bench):
    """A concatenation of 3000 pieces of two shapes."""
    names = [f"y{i}" for i in range(3000)]
    nodes = " ".join(f"{name} = {('Sin', 'Cos', 'Neg')[i % 3]} ({'xz'[i % 7 == 0]})" for i, name in enumerate(names))
    model = parse(f"(float[N, 4] x, float[M, 4] z) => (float[K, 4] y) {{ {nodes} y = Concat <axis = 0> ({', '.join(names)}) }}")
    if within(bench, "a concatenation of 3000 pieces", model, 15) is not None:
        random = np.random.default_rng(4)
        bench.compare("a concatenation of 3000 pieces", model, start(model), {"x": random.standard_normal((2, 4)).astype(np.float32), "z": random.standard_normal((3, 4)).astype(np.float32)})


def pools(bench):
    """Sizes that forty poolings round up: kernels see no more of them than what each makes of its input."""
    nodes, name = "", "x"
    for i in range(40):
        nodes += f"p{i} = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], pads = [1, 1, 1, 1], strides = [2, 2]> ({name}) q{i} = Pad (p{i}, pads) "
        name = f"q{i}"
    model = parse(f"(float[N, 2, H, W] x) => (float[N, 2, A, B] q39) {{ pads = Constant <value = int64[8] {{0, 0, 3, 3, 0, 0, 3, 3}}> () {nodes} }}")
    said = within(bench, "forty poolings", model, 5, "--threads=1", "--report")
    if said:
        kernels = count_kernels(said)
        bench.check("forty poolings, kernels", f"got {kernels}, expected 24 at most" if kernels > 24 else "")
        bench.compare("forty poolings", model, start(model), {"x": np.random.default_rng(4).standard_normal((1, 2, 37, 22)).astype(np.float32)})


SCALES = (1.1, 1.3, 2.6, 0.3, 0.7, 1 / 3, 1.5, 2.0, 0.75, 3.3)


def resized(bench):
    """Sizes from 1 to 64 by scales that f32 rounds: known sizes, sizes and scales of the call; Resize and Upsample."""
    scales = [np.float32(scale) for scale in SCALES]
    static, outputs, weights, sizes = "", [], [], []
    for number, scale in enumerate(scales):
        weights.append(numpy_helper.from_array(np.array([1, scale], np.float32), f"s{number}"))
        for size in range(1, 65):
            sizes.append((number, 1, int(np.float32(size) * scale)))
            static += f"x{number}_{size} = Constant <value = float[1, {size}] {{{', '.join(['0'] * size)}}}> () r{number}_{size} = Resize (x{number}_{size}, , s{number}) h{number}_{size} = Shape (r{number}_{size}) "
            outputs.append(f"h{number}_{size}")
    model = parse(f"(float[1] unused) => (int64[K] y, float[1] z) {{ {static} y = Concat <axis = 0> ({', '.join(outputs)}) z = Identity (unused) }}")
    model.graph.initializer.extend(weights)
    used, code, said = bench.compile(model)
    bench.check("resized, static", said[-300:] if code else "")
    if not code:
        # ONNX Runtime infers other sizes of known ones than it makes, and then fails; of sizes of the call it has these, as below.
        got = bench.run(model, {"unused": np.zeros(1, np.float32)})
        want = [np.array([size for _, *shape in sizes for size in shape]), np.zeros(1, np.float32)]
        bench.check("resized, static", got if isinstance(got, str) else differ(got, want))

    for title, takes, opset, op in (("sizes of the call", False, 20, "Resize"), ("scales of the call", True, 20, "Resize"), ("Upsample", False, 9, "Upsample")):
        used = [number for number, scale in enumerate(scales) if scale >= 1 or op == "Resize"]
        nodes = "".join(f"y{number} = {op} <mode = \"{('nearest', 'linear')[number % 2]}\"> (x, {'' if op == 'Upsample' else ', '}s{number}) " for number in used)
        given = "".join(f", float[2] s{number}" for number in used) if takes else ""
        model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> g (float[1, T] x{given}) => ({", ".join(f"float[1, U{i}] y{i}" for i in used)}) {{ {nodes} }}')
        if not takes:
            model.graph.initializer.extend(weights[number] for number in used)
        _, code, said = bench.compile(model)
        bench.check(f"resized, {title}", said[-300:] if code else "")
        if code:
            continue
        session = start(model)
        for size in range(10, 65):  # what keeps its size ONNX Runtime copies, whatever the scale
            feeds = {"x": np.arange(size, dtype=np.float32)[None] ** 2}
            if takes:
                feeds.update({f"s{number}": np.array([1, scale], np.float32) for number, scale in enumerate(scales)})
            bench.compare(f"resized, {title}, {size}", model, session, feeds)


    for coordinates in ("half_pixel", "asymmetric", "align_corners"):
        modes = [(number, mode) for number in range(len(scales)) for mode in ("floor", "ceil")]
        nodes = "".join(f"y{i} = Resize <mode = \"nearest\", nearest_mode = \"{mode}\", coordinate_transformation_mode = \"{coordinates}\"> (x, , s{number}) " for i, (number, mode) in enumerate(modes))
        model = parse(f'(float[1, T] x) => ({", ".join(f"float[1, U{i}] y{i}" for i in range(len(modes)))}) {{ {nodes} }}')
        model.graph.initializer.extend(weights)
        _, code, said = bench.compile(model)
        bench.check(f"resized by {coordinates}", said[-300:] if code else "")
        for size in () if code else range(10, 65, 3):
            bench.compare(f"resized by {coordinates}, {size}", model, start(model), {"x": np.arange(size, dtype=np.float32)[None]})


def empty(bench):
    """Static lengths of 0: recurrent nodes in each direction, scans and loops; what there is nothing of."""
    random = np.random.default_rng(6)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            last = f", float[{count}, 3, 2] c" if op == "LSTM" else ""
            model = parse(f"(float[{count}, 3, 2] h0, float[0, 3, 4] x) => (float[{count}, 3, 2] h, float[0, {count}, 3, 2] y{last}) {{ y, h{', c' if last else ''} = {op} <hidden_size = 2, direction = \"{direction}\"> (x, w, r, , , h0) }}")
            model.graph.initializer.extend([numpy_helper.from_array(draw(count, 2 * gates, 4), "w"), numpy_helper.from_array(draw(count, 2 * gates, 2), "r")])
            compile_and_pass(bench, f"empty {op}, {direction}", model, {"h0": draw(count, 3, 2), "x": draw(0, 3, 4)}, (0, count, 3, 2))
    scan = parse("(float[3] s, float[0, 3] x, float[2, 0] z) => (float[3] t, float[0, 3] y) { t, y = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], body = b (float[3] a, float[3] i, float[2] k) => (float[3] o, float[3] p) "
                 "{ m = ReduceSum <keepdims = 0> (k) n = Add (a, i) o = Add (n, m) p = Identity (o) }> (s, x, z) }")
    compile_and_pass(bench, "empty Scan", scan, {"s": draw(3), "x": draw(0, 3), "z": draw(2, 0)})
    loop = parse("(float[0, 3] x, float[3] s) => (float[3] t, float[K, 3] y) { n = Constant <value_int = 0> () t, y = Loop <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] o, float[3] p) "
                 "{ d = Identity (c) r = Gather <axis = 0> (x, i) o = Add (a, r) p = Identity (o) }> (n, , s) }")
    compile_and_pass(bench, "empty Loop", loop, {"s": draw(3), "x": draw(0, 3)})
    zeros = parse("(float[N] x) => (uint8[N] y, float s, uint8 z, float[N] d) { y, s, z = DynamicQuantizeLinear (x) d = DequantizeLinear (y, s, z) }")
    compile_and_compare(bench, "dynamic quantization of zeros", zeros, {"x": np.zeros(4, np.float32)}, {"x": np.array([0, -1, 3], np.float32)})
    split = parse('(string[N] x) => (string[N, K] y, int64[N] n) { y, n = StringSplit <delimiter = ","> (x) }')
    compile_and_compare(bench, "parts of an empty text", split, {"x": np.array(["", "a,b", ","], object)})


def compile_and_pass(bench, title, model, feeds, shape=(0, 3)):
    """Its first output is to be its first input, and the second one is to hold nothing: ONNX Runtime divides by 0 there, or gives what was in memory."""
    _, code, said = bench.compile(model)
    bench.check(title, said[-300:] if code else "")
    if not code:
        got = bench.run(model, feeds)
        bench.check(title, got if isinstance(got, str) else differ(got[:2], [next(iter(feeds.values())), np.zeros(shape, np.float32)]))


def compile_and_compare(bench, title, model, *feeds):
    used, code, said = bench.compile(model)
    bench.check(title, said[-300:] if code else "")
    if not code:
        for each in feeds:
            bench.compare(title, model, start(model), each)


def refuse(bench, title, model, feeds):
    got = bench.run(model, feeds)
    bench.check(title, "" if isinstance(got, str) and "needs sizes" in got else f"expected a refusal, got {got}")


def parameters(bench):
    """A zero point and a scale of which the call says whether there is one or one for each row or column."""
    random = np.random.default_rng(8)
    byte = lambda *shape: random.integers(0, 255, shape).astype(np.uint8)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    model = parse("(uint8[M, K] a, uint8[K, N] b, uint8[P] az, uint8[Q] bz) => (int32[M, N] y) { y = MatMulInteger (a, b, az, bz) }")
    compile_and_compare(bench, "zero points of the call", model, {"a": byte(4, 3), "b": byte(3, 2), "az": byte(1), "bz": byte(1)}, {"a": byte(4, 3), "b": byte(3, 2), "az": byte(1), "bz": byte(2)})
    wrong = bench.run(model, {"a": byte(4, 3), "b": byte(3, 2), "az": byte(3), "bz": byte(1)})
    bench.check("zero points of no row", "" if isinstance(wrong, str) and "to be 1 or 'M'" in wrong else f"expected a refusal, got {wrong}")
    model = parse("(uint8[M, K] a, float[A] s, uint8[B] az, uint8[K, N] b, float[C] t, uint8[D] bz, float[E] u, uint8[F] yz) => (uint8[M, N] y) { y = QLinearMatMul (a, s, az, b, t, bz, u, yz) }")
    scale = lambda value: np.array([value], np.float32)
    compile_and_compare(bench, "scales of the call", model, {"a": byte(2, 4), "s": scale(.0066), "az": byte(1), "b": byte(4, 3), "t": scale(.00705), "bz": byte(1), "u": scale(.0107), "yz": byte(1)})
    model = parse("(float[N] x, float[P] s, uint8[Q] z) => (uint8[N] y) { y = QuantizeLinear (x, s, z) }")
    compile_and_compare(bench, "a scale of the call", model, {"x": draw(5) * 9, "s": scale(.07), "z": byte(1)})
    refuse(bench, "two scales of a list", model, {"x": draw(5) * 9, "s": draw(2), "z": byte(1)})
    model = parse("(uint8[1, 1, 4, 4] x, uint8[1, 1, 2, 2] w, uint8[P] z) => (int32[1, 1, 3, 3] y) { y = ConvInteger (x, w, z) }")
    compile_and_compare(bench, "a zero point of an image of the call", model, {"x": byte(1, 1, 4, 4), "w": byte(1, 1, 2, 2), "z": byte(1)})
    refuse(bench, "two zero points of an image", model, {"x": byte(1, 1, 4, 4), "w": byte(1, 1, 2, 2), "z": byte(2)})


def lists(bench):
    """Numbers in a list, and lists of sizes, whose lengths the call says and of which only one is right."""
    draw = np.random.default_rng(9).standard_normal
    floats = lambda *shape: draw(shape).astype(np.float32)
    whole = lambda *values: np.array(values, np.int64)
    model = parse("(float[N, M] x, int64[K] k) => (float[N, R] y, int64[N, R] i) { y, i = TopK (x, k) }")
    compile_and_compare(bench, "a count of the call", model, {"x": floats(3, 7), "k": whole(2)}, {"x": floats(2, 5), "k": whole(5)})
    refuse(bench, "two counts", model, {"x": floats(3, 7), "k": whole(2, 2)})
    refuse(bench, "no count", model, {"x": floats(3, 7), "k": whole()})
    model = parse("(float[N, M] x, int64[K] axis) => (float[N, M] y) { y = CumSum (x, axis) }")
    compile_and_compare(bench, "an axis of the call", model, {"x": floats(3, 4), "axis": whole(0)}, {"x": floats(2, 5), "axis": whole(-1)})
    refuse(bench, "two axes", model, {"x": floats(3, 4), "axis": whole(0, 1)})
    model = parse("(float[N, 6, 1] x, int64[K] n) => (float[N, R, 2] y) { y = DFT (x, n) }")
    compile_and_compare(bench, "a length of the call", model, {"x": floats(1, 6, 1), "n": whole(4)})
    model = parse("(float[N, 2, 3] t, int64[K] s) => (float[N, H, W, 2] y) { y = AffineGrid (t, s) }")
    compile_and_compare(bench, "sizes of a grid", model, {"t": floats(2, 2, 3), "s": whole(2, 3, 4, 5)})
    refuse(bench, "five sizes of a flat grid", model, {"t": floats(2, 2, 3), "s": whole(2, 3, 4, 5, 6)})
    model = parse("(float[N, M, L] x, int64[A] s, int64[B] b) => (float[N, C, H, W] y) { y = Col2Im <strides = [1, 1]> (x, s, b) }")
    compile_and_compare(bench, "sizes of an image", model, {"x": floats(1, 5, 5), "s": whole(5, 5), "b": whole(1, 5)})
    model = parse("(float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i, int64[K] s) => (float[1, 1, H, W] y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }")
    places = whole(0, 3, 8, 11).reshape(1, 1, 2, 2)
    compile_and_compare(bench, "sizes of what is unpooled", model, {"x": floats(1, 1, 2, 2), "i": places, "s": whole(1, 1, 4, 4)})
    refuse(bench, "three sizes of what is unpooled", model, {"x": floats(1, 1, 2, 2), "i": places, "s": whole(1, 4, 4)})


def inverse(bench):
    model = parse('(float[A, B, C, D] x, int64 axis) => (float[E, F, G, H] y) { y = DFT <inverse = 1, onesided = 1> (x, , axis) }')
    within(bench, "an inverse transform along an axis of the call", model, 5)


CASES = (codec, causal, floats, unrolled, wide, pools, resized, empty, parameters, lists, inverse)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    wanted = [case for case in CASES if options.filter in case.__name__]
    if not wanted:
        sys.exit(f"--filter: no case has '{options.filter}' in its name")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder)
        for case in wanted:
            case(bench)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
