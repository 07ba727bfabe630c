#!/usr/bin/env python3
"""The gradients of whole models by all their trained weights, against differences that ONNX Runtime computes.

  run_model_gradients.py --bin BUILD/bin --source REPOSITORY MODEL... [--device cpu,vulkan] [--mutants]

MODEL is digits, unet, pools (test/models/make_pools.py) or a skeleton of test/models, or with '_qat' after it one that is rounded to integers and back on its way. What is differentiated is the
sum of the first output of floats, each element times a number of its own of either sign. Its gradients by every weight (an initializer of floats with two or
more elements that the output depends on and that is no running statistic) are finite and of the weight's shape, not all zero unless ZERO_GRADIENTS says why,
the same with 1, 2 and 8 threads, and for each weight along a random direction of that weight alone within TOLERANCE of differences in f64, with each of two
steps, one to each side, that are chosen before. Where the two differ by more than ERROR nothing was measured, which fails, too. The direction does not come from
the gradients: it is the one of several in which ONNX Runtime's output changes most.

The differences are those of a network without kinks and rounding: a module that computes the same gradients also tells which way each kink goes and each integer
that a number is rounded to, which is to be the nearest, and they stay there. In f32 another run may go another way, to another gradient. Of what rounds to integers and
back, gradients are also those by the inputs and by every scale. With --mutants each gradient is also changed as MUTANTS says, which must be found, and functions
of one number are measured, of which some cannot be. Exit code: 0 all passed, 1 some failed, among them a device of those asked for that is not there.
"""
import argparse
import functools
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import kinks
import quantization
import wide_ops
from op_case import signed
from run_models import NETWORKS, ROUNDED, Bench, filled, make_inputs, required_devices
from wide_models import with_doubles

TOLERANCE = 2e-2
DIRECTIONS = 4  # of which a weight is moved along one
# How far apart the gradients of two devices or modules may be, of the largest number.
AGREEMENT = 1e-3
# What the two steps change of the sum of the output's magnitudes. In f64 rounding is seen of neither, and with neither the model bends: of as many kinks as a
# network has, next to none lies so near.
CHANGES = (2.0**-31, 2.0**-35)
# The rounding of f32 in a gradient by a single number, of the sum of the output's magnitudes: that by a scale sums what rounding left of every element, which all but cancels.
FLOOR = 2.0**-22
ERROR = TOLERANCE / 10  # what differences with the two steps may be apart
SAME = 1e-3  # how far the network of f64 may be from that of f32, of the largest number of its output
LARGEST_STEP = 0.25  # of the root mean square of a weight
SLOPE_STEP = 2.0**-7  # the same, of what f32 tells of a direction before
WEIGHTED = "weighted"  # the output whose elements' sum is differentiated
SCALE_OF_ZEROS = 0.01  # what the root mean square of a weight counts as that has none
SIZES = {"digits": {"batch": 3}, "mlp": {"batch": 3}, "pools": {"batch": 2}, "unet": {"batch": 1, "height": 32, "width": 48}}
NEAREST = 0.51  # the most that may lie between a number, as ONNX Runtime computes it in f32, and the integer that it was rounded to
QAT = "_qat"  # behind the name of a model of floats
# By model and weight, why the gradient is zero in all places.
ZERO_GRADIENTS = {}
MUTANTS = {"zero": lambda array: array * 0, "twice": lambda array: array * 2, "sign": lambda array: -array,
           "shuffled": lambda array: np.random.default_rng(0).permutation(array.reshape(-1)).reshape(array.shape)}


def statistics(graph):
    """The running means and variances of norms."""
    return {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}


def dependences(graph, output):
    """The names of all that an output depends on: a network may have weights for another one."""
    names = {output}
    for node in reversed(graph.node):
        if names & set(node.output):
            names.update(node.input)
    return names


def trained(model, output):
    wanted = dependences(model.graph, output) - statistics(model.graph)
    scales = {node.input[1] for node in model.graph.node if node.op_type == "DequantizeLinear"}
    return [tensor for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name in wanted and
            (np.prod(tensor.dims) >= 2 or tensor.name in scales) and tensor.name != f"{WEIGHTED}/numbers"]


def first_output(model):
    return next(value.name for value in model.graph.output if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT)


def with_weighted(model, output, inputs, folder):
    """The model with one more output: `output`, each element times a number of either sign, so that no gradient is zero because elements sum to a constant."""
    quantization.save(model, f"{folder}/counted.onnx")
    shape = quantization.plain_session(f"{folder}/counted.onnx").run([output], inputs)[0].shape
    numbers = signed(0.5, 1.5)(np.random.default_rng(3), shape).astype(np.float32)
    model = quantization.copied(model)
    model.graph.initializer.append(onnx.numpy_helper.from_array(numbers, f"{WEIGHTED}/numbers"))
    model.graph.node.append(onnx.helper.make_node("Mul", [output, f"{WEIGHTED}/numbers"], [WEIGHTED], name=WEIGHTED))
    model.graph.output.append(onnx.helper.make_tensor_value_info(WEIGHTED, onnx.TensorProto.FLOAT, [None] * len(shape)))
    return model


def open_session(model, weights, folder):
    """A session of the model; initializers of these names are inputs."""
    model = quantization.copied(model)
    opened = [tensor for tensor in model.graph.initializer if tensor.name in weights]
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in weights]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    known = {value.name for value in model.graph.input}
    model.graph.input.extend(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in opened if tensor.name not in known)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # threads that wait took as much time as those that computed
    options.log_severity_level = 4
    quantization.save(model, f"{folder}/open.onnx")
    return onnxruntime.InferenceSession(f"{folder}/open.onnx", options, providers=["CPUExecutionProvider"])


def widened(model, inputs, folder):
    """The model in f64, at inputs of these sizes."""
    names = wide_ops.names_of_sizes(model.graph)
    arrays = quantization.arrays_of(model.graph) | inputs
    asked = [name for name in names if name not in arrays]
    arrays |= quantization.run_plainly(quantization.with_outputs(model, asked), asked, inputs, folder) if asked else {}
    wide = with_doubles(quantization.copied(model))
    wide_ops.replace_ops(wide.graph, {name: arrays[name].shape for name in names})
    return wide


def as_doubles(arrays):
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in arrays.items()}


def rms(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def prepare(bench, name):
    """The model, its inputs, and the weights that gradients are taken by."""
    base = name.removesuffix(QAT)
    path = f"{bench.source}/examples/digits/digits.onnx" if base == "digits" else filled(bench, base)
    model = onnx.load(path)
    sizes = SIZES[base] if base in SIZES else (NETWORKS | ROUNDED)[base][0]
    inputs = make_inputs(model, sizes, np.random.default_rng(1))
    model = with_weighted(model, first_output(model), inputs, bench.folder)
    if name.endswith(QAT):
        model = quantization.quantized(model, inputs, bench.folder)
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in trained(model, WEIGHTED)}
    return model, inputs, weights | inputs if quantization.round_trips(model) else weights


def make_network(bench, name, model, inputs, weights, given):
    """What differences are taken of, where the tensors of `watched_run` are as `given`."""
    if quantization.round_trips(model):
        model, farthest = quantization.without_rounding(model, inputs, given, bench.folder)
        bench.check(f"{name}, integers are the nearest", farthest <= NEAREST, f"expected at most {NEAREST} between a number and its integer, got {farthest:.3g}")
    wide = widened(kinks.without_kinks(model, given, bench.folder), inputs, bench.folder)
    return Network(*(open_session(each, weights, bench.folder) for each in (model, wide)), inputs, WEIGHTED, weights)


def watched_run(bench, name, model, inputs, weights, gradients):
    """The tensors that tell how a run rounded and which way its kinks went: of a module that also gives them, whose gradients are to be the same."""
    names = list(dict.fromkeys([*quantization.round_trips(model), *kinks.bending(model)]))
    if not names:
        return {}
    path, module, device = bench.path("watched.onnx"), bench.path("watched.vxm"), bench.devices[0]
    more, watches = quantization.watched(model, WEIGHTED, names, inputs, bench.folder)
    zeros = dict(watches.values())
    quantization.save(more, path)
    bench.compile(path, module, f"--grad={quantization.WATCHED}:{','.join([*weights, *zeros])}", targets=[device])
    run = bench.run(module, device, inputs | zeros, [f"grad/{each}" for each in [*weights, *zeros]], "--function=gradient")[0]
    check_agreement(bench, f"{name}, a module that also gives what lies between computes the same gradients", {weight: run[f"grad/{weight}"] for weight in weights}, gradients)
    return {tensor: run[f"grad/{watch}"] for tensor, (watch, _) in watches.items()}


def check_agreement(bench, title, some, others):
    apart = {weight: float(abs(some[weight] - array).max()) / max(1e-30, float(abs(array).max())) for weight, array in others.items()}
    worst = max(apart, key=apart.get)
    bench.check(title, apart[worst] <= AGREEMENT, f"'{worst}' differs by {apart[worst]:.3g} of its largest")


def check(bench, name, mutants):
    model, inputs, weights = prepare(bench, name)
    path, module = bench.path("weighted.onnx"), bench.path(f"{name}.vxm")
    quantization.save(model, path)
    bench.compile(path, module, f"--grad={WEIGHTED}:{','.join(weights)}")
    results = [f"grad/{weight}" for weight in weights]
    first = None
    for device in bench.devices:
        runs = [bench.run(module, device, inputs, results, "--function=gradient", *more)[0]
                for more in ([f"--threads={threads}"] for threads in ((1, 2, 8) if device == "cpu" else (0, 0)))]
        got = {weight: runs[0][f"grad/{weight}"] for weight in weights}
        bad = [weight for weight in weights if not np.isfinite(got[weight]).all()]
        bench.check(f"{name}, all numbers of {len(weights)} gradients are finite, {device}", not bad, bad)
        bad = [f"{weight}: {got[weight].shape}, expected {array.shape}" for weight, array in weights.items() if got[weight].shape != array.shape]
        bench.check(f"{name}, gradients have the shapes of the weights, {device}", not bad, bad)
        reasons = ZERO_GRADIENTS.get(name, {})
        bad = [weight for weight in weights if not got[weight].any() and weight not in reasons]
        bench.check(f"{name}, no gradient is all zero without a reason, {device}", not bad, bad)
        bad = [result for result in results if any(run[result].tobytes() != runs[0][result].tobytes() for run in runs[1:])]
        bench.check(f"{name}, the same bits {'with 1, 2 and 8 threads' if device == 'cpu' else 'in two runs'}, {device}", not bad, bad)
        if first is not None:
            check_agreement(bench, f"{name}, {device} agrees with {bench.devices[0]}", got, first)
        else:
            first = got
            network = make_network(bench, name, model, inputs, weights, watched_run(bench, name, model, inputs, weights, got))
            compare_directions(bench, name, network, {weight: array for weight, array in got.items() if weight not in reasons}, mutants)


class Network:
    """ONNX Runtime's sum of an output, in f32 and in f64."""

    def __init__(self, narrow, wide, inputs, output, weights):
        self.narrow, self.wide, self.output, self.weights, self.given = narrow, wide, output, weights, {**inputs, **weights}
        self.wide_weights = as_doubles(weights)
        self.wide_given = {**as_doubles(inputs), **self.wide_weights}
        same, wide = narrow.run([output], self.given)[0], wide.run([output], self.wide_given)[0]
        self.narrow_sum_here, self.sum_here = same.sum(dtype=np.float64), float(wide.sum())
        self.size = float(abs(wide).sum())
        self.apart = float(abs(same - wide).max() / abs(wide).max())

    def derivative(self, weight, direction, step):
        """Along a direction of a weight, by the difference between here and a step, which may be negative."""
        moved = np.asarray(self.wide_weights[weight] + step * direction)
        return (float(self.wide.run([self.output], {**self.wide_given, weight: moved})[0].sum()) - self.sum_here) / step

    def slope(self, weight, direction):
        """About how much the output changes, for a choice of a direction and of steps."""
        there = self.narrow.run([self.output], {**self.given, weight: np.asarray(self.weights[weight] + np.float32(SLOPE_STEP) * direction)})[0]
        return abs(float(there.sum(dtype=np.float64) - self.narrow_sum_here)) / SLOPE_STEP


class Differences:
    """What ONNX Runtime gives along one direction of a weight: two steps, one to each side, so that a kink here is seen as well. Each is computed when it is asked for."""

    def __init__(self, network, weight, direction, slope):
        self.network, self.weight, self.direction, self.slope = network, weight, direction, slope
        self.steps = [sign * min(LARGEST_STEP, change * network.size / max(slope, 1e-30)) for sign, change in zip((1, -1), CHANGES)]

    @functools.cached_property
    def first(self):
        return self.network.derivative(self.weight, self.direction, self.steps[0])

    @functools.cached_property
    def again(self):
        return self.network.derivative(self.weight, self.direction, self.steps[1])

    def problem(self, gradient):
        """None, or what is wrong of a gradient: it is to be within TOLERANCE of the first difference."""
        got, largest, floor = float(np.vdot(gradient.astype(np.float64), self.direction)), abs(self.first), FLOOR * self.network.size if gradient.size == 1 else 0
        if not abs(self.first - self.again) <= ERROR * largest:
            return f"is not measurable: differences with two steps are {self.first:.8g} and {self.again:.8g}"
        if not largest >= 4 * floor:
            return f"is not measurable: its difference is {self.first:.6g}, of which {floor:.2g} is the rounding of f32"
        if abs(got - self.first) <= max(TOLERANCE * max(abs(got), largest), floor):
            return None
        return f"the gradient gives {got:.6g}, differences {self.first:.6g}"


def differences_of(network, weight, random):
    """Of several random directions the one along which the output changes most: in f32, if f64 has about as much of it, else in f64."""
    array = network.weights[weight]
    size = np.float32(rms(array) or SCALE_OF_ZEROS)
    directions = [np.asarray(size * random.standard_normal(array.shape, np.float32)) for _ in range(DIRECTIONS)]
    each = sorted((Differences(network, weight, direction, network.slope(weight, direction)) for direction in directions), key=lambda one: -one.slope)
    return next((one for one in each if abs(one.first) >= one.slope / 2), None) or max(each, key=lambda one: abs(one.first))


def compare_directions(bench, name, network, gradients, mutants):
    """The gradient of each weight along a random direction of its own is what differences give, and none that is changed is."""
    problems, missed, planted = [], [], 0
    for number, weight in enumerate(gradients):
        differences = differences_of(network, weight, np.random.default_rng([2, number]))
        if problem := differences.problem(gradients[weight]):
            problems.append(f"'{weight}': {problem}")
        changed = {title: change(gradients[weight]) for title, change in mutants.items() if title != "shuffled" or gradients[weight].size > 1}
        missed += [f"'{weight}' {title}" for title, array in changed.items() if differences.problem(array) is None]
        planted += len(changed)
    bench.check(f"{name}, the f64 network computes the same as the f32 network", network.apart <= SAME, f"expected a difference of at most {SAME:g} of the largest output element, got {network.apart:.3g}")
    bench.check(f"{name}, each of {len(gradients)} gradients along a direction", not problems, "\n       ".join(problems))
    if mutants:
        bench.check(f"{name}, each of {planted} changed gradients is found", not missed, missed)


class Curve:
    """In the place of a Network: a weight of one number, and a function of it."""

    def __init__(self, function, slope=None):
        self.function, self.size, self.weights, self.directions, self.narrow = function, 1.0, {"w": np.ones(1, np.float32)}, [], slope

    def slope(self, weight, direction):
        self.directions.append(direction)
        return self.narrow(abs(float(direction[0])))

    def derivative(self, weight, direction, step):
        return (self.function(step * float(direction[0])) - self.function(0)) / step


class Plane:
    """In the place of a Network: a weight of two numbers, and a linear function of it that the first direction does not change."""

    def __init__(self, random):
        self.size, self.weights = 1.0, {"w": np.ones(2, np.float32)}
        first = random.standard_normal(2, np.float32).astype(np.float64)
        self.gradient = np.array([-first[1], first[0]])

    def slope(self, weight, direction):
        return abs(float(np.vdot(self.gradient, direction)))

    def derivative(self, weight, direction, step):
        return float(np.vdot(self.gradient, direction))


def check_measures(bench):
    """What cannot be measured is said, and what can is not."""
    line = lambda t: 0.5 * t
    cases = {"a kink here": (lambda t: max(0.0, t), 1.0, "two steps"), "a kink between the two steps": (lambda t: t + max(0.0, t - 2.0**-33), 1.5, "two steps"),
             "a bend": (lambda t: t + 2.0**26 * t * t, 1.0, "two steps"), "what is too flat": (lambda t: 2.0**-21 * t, 2.0**-21, "the rounding of f32"),
             "another gradient": (line, 0.511, "the gradient gives"), "a line": (line, 0.5, None), "a gradient nearby": (line, 0.509, None)}
    for title, (function, gradient, want) in cases.items():
        got = Differences(Curve(function), "w", np.ones(1), 1.0).problem(np.array([gradient]))
        bench.check(f"the measure of {title}", got is None if want is None else want in str(got), f"got {got!r}, expected {want!r}")
    for title, slope in {"as f32 has it": lambda size: 0.6 * size, "as f64 has it": lambda size: 1000 / size}.items():
        curve = Curve(line, slope=slope)
        got, want = differences_of(curve, "w", np.random.default_rng(5)).direction, max(curve.directions, key=abs)
        bench.check(f"the steepest of {DIRECTIONS} directions, {title}", got == want and len(curve.directions) == DIRECTIONS, f"got {got} of {curve.directions}")
    plane = Plane(np.random.default_rng(5))
    differences = differences_of(plane, "w", np.random.default_rng(5))
    for title, gradient, is_right in (("is right", plane.gradient, True), ("has the other sign", -plane.gradient, False)):
        got = differences.problem(gradient)
        bench.check(f"a gradient that {title}, of a function that the first direction does not change", (got is None) == is_right, f"got {got!r}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+", choices=[name + end for name in [*NETWORKS, *ROUNDED, *SIZES] for end in ("", QAT)])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mutants", action="store_true", help="also see that changed gradients are found")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    failed = passed = 0
    if options.mutants:
        bench = Bench(options.bin, "", devices)
        check_measures(bench)
        failed, passed = bench.failed, bench.passed
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options.bin, folder, devices, options.source)
            try:
                check(bench, model, MUTANTS if options.mutants else {})
            except RuntimeError as error:
                bench.check(model, False, error)
            failed, passed = failed + bench.failed, passed + bench.passed
    print(f"{passed} passed, {failed} failed on {' and '.join(devices)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
