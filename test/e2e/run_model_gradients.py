#!/usr/bin/env python3
"""The gradients of whole models by all their trained weights, against differences that ONNX Runtime computes.

  run_model_gradients.py --bin BUILD/bin --source REPOSITORY MODEL... [--device cpu,vulkan] [--mutants]

MODEL is digits, unet or a skeleton of test/models, or with '_qat' after it one that is rounded to integers and back on its way. What is differentiated is the
sum of the first output of floats, each element times a number of its own of either sign. Its gradients by every weight (an initializer of floats with two or
more elements that the output depends on and that is no running statistic) are finite and of the weight's shape, not all zero unless ZERO_GRADIENTS says why,
the same with 1, 2 and 8 threads, and for each weight along a random direction of that weight alone within TOLERANCE of differences of fourth order. The direction
does not come from the gradients: it is the one of several in which ONNX Runtime's output changes most. Of what rounds to integers and back the differences are
those of the same network with the rounding replaced by identity, and the gradients are those by the input as well. With --mutants each gradient is also changed
as MUTANTS says, which must be found. Exit code: 0 all passed, 1 some failed, among them a device of those asked for that is not there.
"""
import argparse
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import quantization
from op_case import signed
from run_models import NETWORKS, ROUNDED, Bench, filled, make_inputs, required_devices
from wide_models import with_doubles

TOLERANCE = 2e-2
DIRECTIONS = 4  # of which a weight is moved along one
# How far apart two devices' gradients may be, of the largest number.
AGREEMENT = 1e-3
# What a step is to change of the sum of the output's magnitudes: rounding is seen less with the first, and where the model bends with the last. Of f32 a network
# with many kinks needs steps so small that rounding counts, which TOLERANCE grows by.
CHANGES = (2.0**-9, 2.0**-11, 2.0**-13, 2.0**-15, 2.0**-17, 2.0**-19)
CHANGES_IN_F64 = (2.0**-12, 2.0**-16, 2.0**-20, 2.0**-24)
ROUNDING = {np.float32: 2.0**-22, np.float64: 2.0**-51}  # of the sum of the output's magnitudes
LARGEST_TOLERANCE = 0.3  # beyond which a comparison says nothing
LARGEST_STEP = 0.25  # of the root mean square of a weight
WEIGHTED = "weighted"  # the output whose elements' sum is differentiated
SCALE_OF_ZEROS = 0.01  # what the root mean square of a weight counts as that has none
SIZES = {"digits": {"batch": 3}, "mlp": {"batch": 3}, "unet": {"batch": 1, "height": 32, "width": 48}}
# What rounds makes much of little: numbers near the middle between two integers go to the one or the other, and with them those that they are summed in. So the
# differences are taken of several networks without the rounding, of inputs that are as good as equal.
ROUNDINGS = (0, 2.0**-20, -(2.0**-20), 2.0**-19)
# Of networks without the rounding, how much their derivatives may differ: those that differ more say nothing of the gradient.
SPREAD = 0.2
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
    return [tensor for tensor in model.graph.initializer
            if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) >= 2 and tensor.name in wanted and tensor.name != f"{WEIGHTED}/numbers"]


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


def is_wide(session):
    return "tensor(double)" in {each.type for each in session.get_inputs()}


def as_inputs(session, arrays):
    return {name: array.astype(np.float64) if array.dtype == np.float32 and is_wide(session) else array for name, array in arrays.items()}


def session_of(model, weights, folder, inputs):
    """A session of the model whose weights are inputs: of f64 where ONNX Runtime computes all of its ops in f64, which a first run tells, else of f32."""
    given = inputs | {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in weights}
    model = quantization.copied(model)
    shapes = {tensor.name: tensor.dims for tensor in weights}
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in shapes]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    known = {value.name for value in model.graph.input}
    model.graph.input.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
                             for name, dims in shapes.items() if name not in known)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    for change in (with_doubles, lambda same: same):
        quantization.save(change(quantization.copied(model)), f"{folder}/open.onnx")
        try:
            session = onnxruntime.InferenceSession(f"{folder}/open.onnx", options, providers=["CPUExecutionProvider"])
            session.run(None, as_inputs(session, given))
            return session
        except Exception as error:
            refused = error
    raise RuntimeError(f"ONNX Runtime: {refused}")


def rms(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def nearly(inputs, change):
    return {name: array * np.float32(1 + change) for name, array in inputs.items()}


def prepare(bench, name):
    """The model's file, its inputs, the weights that gradients are taken by, and what their differences are taken of."""
    base = name.removesuffix(QAT)
    path = f"{bench.source}/examples/digits/digits.onnx" if base == "digits" else filled(bench, base)
    model = onnx.load(path)
    sizes = SIZES[base] if base in SIZES else (NETWORKS | ROUNDED)[base][0]
    inputs = make_inputs(model, sizes, np.random.default_rng(1))
    model, output, path = with_weighted(model, first_output(model), inputs, bench.folder), WEIGHTED, bench.path("weighted.onnx")
    smooth, more = [model], []
    if name.endswith(QAT):
        model = quantization.quantized(model, inputs, bench.folder)
    quantization.save(model, path)
    if any(node.op_type == "QuantizeLinear" for node in model.graph.node):
        smooth = [quantization.without_rounding(model, nearly(inputs, change), bench.folder) for change in ROUNDINGS]
        more = list(inputs)
    weights = trained(model, output)
    sessions = [session_of(each, weights, bench.folder, inputs) for each in smooth]
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in weights} | {name: inputs[name] for name in more}
    return path, inputs, weights, Network(sessions, inputs, output, weights)


def check(bench, name, mutants):
    path, inputs, weights, network = prepare(bench, name)
    module = bench.path(f"{name}.vxm")
    bench.compile(path, module, f"--grad={WEIGHTED}:{','.join(weights)}")
    results = [f"grad/{weight}" for weight in weights]
    first = None
    for device in bench.devices:
        runs = [bench.run(module, device, inputs, results, "--function=gradient", *more)[0]
                for more in ([f"--threads={threads}"] for threads in ((1, 2, 8) if device == "cpu" else (0, 0)))]
        got = {weight: runs[0][f"grad/{weight}"] for weight in weights}
        bad = [weight for weight in weights if not np.isfinite(got[weight]).all()]
        bench.check(f"{name}, all numbers of {len(weights)} gradients are finite, {device}", not bad, bad)
        bad = [f"{weight}: {got[weight].shape}, want {array.shape}" for weight, array in weights.items() if got[weight].shape != array.shape]
        bench.check(f"{name}, gradients have the shapes of the weights, {device}", not bad, bad)
        reasons = ZERO_GRADIENTS.get(name, {})
        bad = [weight for weight in weights if not got[weight].any() and weight not in reasons]
        bench.check(f"{name}, no gradient is all zero without a reason, {device}", not bad, bad)
        bad = [result for result in results if any(run[result].tobytes() != runs[0][result].tobytes() for run in runs[1:])]
        bench.check(f"{name}, the same bits {'with 1, 2 and 8 threads' if device == 'cpu' else 'in two runs'}, {device}", not bad, bad)
        if first is not None:
            apart = {weight: float(abs(got[weight] - first[weight]).max()) / max(1e-30, float(abs(first[weight]).max())) for weight in weights}
            worst = max(apart, key=apart.get)
            bench.check(f"{name}, {device} agrees with {bench.devices[0]}", apart[worst] <= AGREEMENT, f"'{worst}' differs by {apart[worst]:.3g} of its largest")
        else:
            first = got
            compare_directions(bench, name, network, {weight: array for weight, array in got.items() if weight not in reasons}, mutants)


class Network:
    """ONNX Runtime's sum of an output, of several networks that stand for one."""

    def __init__(self, sessions, inputs, output, weights):
        self.is_wide = is_wide(sessions[0])
        self.float = np.float64 if self.is_wide else np.float32
        self.sessions, self.output = sessions, output
        self.inputs, self.weights = (as_inputs(sessions[0], arrays) for arrays in (inputs, weights))
        self.size = float(abs(self.run(sessions[0], {})).sum(dtype=np.float64))

    def run(self, session, changed):
        return session.run([self.output], {**self.inputs, **self.weights, **changed})[0]

    def derivatives(self, weight, direction, step):
        """Along a direction of a weight, by differences of fourth order: one of each network."""
        found = [0.0] * len(self.sessions)
        for factor, times in ((8, 1), (-8, -1), (-1, 2), (1, -2)):
            changed = {weight: self.weights[weight] + self.float(times * step) * direction}
            found = [sum + factor * float(self.run(session, changed).sum(dtype=np.float64)) / (12 * step) for sum, session in zip(found, self.sessions)]
        return found

    def slope(self, weight, direction):
        """About how much the output changes, for a choice of a direction."""
        ends = [self.run(self.sessions[0], {weight: self.weights[weight] + self.float(sign * 2.0**-6) * direction}).sum(dtype=np.float64) for sign in (1, -1)]
        return abs(float(ends[0] - ends[1])) * 2.0**5


def choose_direction(network, weight, random):
    """Of several random directions the one along which the output changes most."""
    array = network.weights[weight]
    directions = [np.float32(rms(array) or SCALE_OF_ZEROS) * random.standard_normal(array.shape, np.float32) for _ in range(DIRECTIONS)]
    return max(directions, key=lambda direction: network.slope(weight, direction))


def compare_direction(network, weight, direction, gradient):
    """None, or how the gradient along a direction differs from differences at each of the steps: by more than TOLERANCE, and what rounding adds, of
    either. Several networks that stand for one give a range, which is wider by as much as they are apart."""
    got = float(np.vdot(gradient.astype(np.float64), direction))
    slope, tried = network.slope(weight, direction), []
    for change in CHANGES_IN_F64 if network.is_wide else CHANGES:
        step = min(LARGEST_STEP, change * network.size / max(slope, 1e-30))
        wants = network.derivatives(weight, direction, step)
        spread, largest = max(wants) - min(wants), max(map(abs, wants))
        beyond = max(min(wants) - got, got - max(wants), 0.0) - spread
        tolerance = TOLERANCE + ROUNDING[network.float] * network.size / max(step * largest, 1e-30)
        if beyond <= tolerance * max(abs(got), largest) and tolerance <= LARGEST_TOLERANCE and spread <= SPREAD * largest:
            return None
        tried.append(", ".join(f"{want:.6g}" for want in wants))
    return f"the gradient gives {got:.6g}, differences {'; '.join(tried)}"


def compare_directions(bench, name, network, gradients, mutants):
    """The gradient of each weight along a random direction of its own is what differences give, and none that is changed is."""
    problems, missed = [], []
    for number, weight in enumerate(gradients):
        direction = choose_direction(network, weight, np.random.default_rng([2, number]))
        if problem := compare_direction(network, weight, direction, gradients[weight]):
            problems.append(f"'{weight}': {problem}")
        missed += [f"'{weight}' {title}" for title in mutants if compare_direction(network, weight, direction, MUTANTS[title](gradients[weight])) is None]
    bench.check(f"{name}, each of {len(gradients)} gradients along a direction, {'f64' if network.is_wide else 'f32'}", not problems, "\n       ".join(problems))
    if mutants:
        bench.check(f"{name}, each of {len(mutants) * len(gradients)} changed gradients is found", not missed, missed)


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
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options.bin, folder, devices, options.source)
            try:
                check(bench, model, MUTANTS if options.mutants else ())
            except RuntimeError as error:
                bench.check(model, False, error)
            failed, passed = failed + bench.failed, passed + bench.passed
    print(f"{passed} passed, {failed} failed on {' and '.join(devices)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
