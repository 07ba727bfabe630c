#!/usr/bin/env python3
"""The gradients of whole models by all their trained weights, against differences that ONNX Runtime computes.

  run_model_gradients.py --bin BUILD/bin --source REPOSITORY MODEL... [--device cpu,vulkan]

MODEL is digits, unet or a skeleton of test/models, or with '_qat' behind it one that is rounded to integers and back on its way. Of the sum of the first
output of floats the gradients by every weight (an initializer of floats with two or more elements that the output depends on and that is no running statistic)
are finite and of the weight's shape, the same with 1, 2 and 8 threads, and along directions of all weights together within TOLERANCE of differences of fourth order. A direction is half that of the gradients and half random: along one that is random alone what networks bend
by on the way is as large as the derivative. Of what rounds to integers and back the differences are those of the same network with the rounding replaced
by identity, and the gradients are those by the input as well. Exit code: 0 all passed, 1 some failed, among them a device of those asked for that is not there.
"""
import argparse
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import quantization
from run_models import NETWORKS, ROUNDED, Bench, filled, make_inputs, required_devices

TOLERANCE = 2e-2
DIRECTIONS = 2
# How far apart two devices' gradients may be, of the largest number.
AGREEMENT = 1e-3
# What a step is to change of the sum of the output's magnitudes. Rounding is seen less with the first, and where the model bends with the last.
CHANGES = (2.0**-9, 2.0**-11, 2.0**-13, 2.0**-15)
SCALE_OF_ZEROS = 0.01  # what the root mean square of a weight counts as that has none
SIZES = {"digits": {"batch": 3}, "mlp": {"batch": 3}, "unet": {"batch": 1, "height": 32, "width": 48}}
# What rounds makes much of little: numbers near the middle between two integers go to the one or the other, and with them those that they are summed in. So the
# differences are taken of several networks without the rounding, of inputs that are as good as equal.
ROUNDINGS = (0, 2.0**-20, -(2.0**-20), 2.0**-19)
QAT = "_qat"  # behind the name of a model of floats


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
            if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) >= 2 and tensor.name in wanted]


def first_output(model):
    return next(value.name for value in model.graph.output if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT)


def session_of(model, weights, folder):
    """A session of the model whose weights are inputs."""
    model = quantization.copied(model)
    shapes = {tensor.name: tensor.dims for tensor in weights}
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in shapes]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    known = {value.name for value in model.graph.input}
    model.graph.input.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
                             for name, dims in shapes.items() if name not in known)
    quantization.save(model, f"{folder}/open.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(f"{folder}/open.onnx", options, providers=["CPUExecutionProvider"])


def rms(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def nearly(inputs, change):
    return {name: array * np.float32(1 + change) for name, array in inputs.items()}


def check(bench, name):
    base = name.removesuffix(QAT)
    path = f"{bench.source}/examples/digits/digits.onnx" if base == "digits" else filled(bench, base)
    model = onnx.load(path)
    sizes = SIZES[base] if base in SIZES else (NETWORKS | ROUNDED)[base][0]
    inputs = make_inputs(model, sizes, np.random.default_rng(1))
    output = first_output(model)
    smooth, more = [model], []
    if name.endswith(QAT):
        model, path = quantization.quantized(model, inputs, bench.folder), bench.path("qat.onnx")
        quantization.save(model, path)
    if any(node.op_type == "QuantizeLinear" for node in model.graph.node):
        smooth = [quantization.without_rounding(model, nearly(inputs, change), bench.folder) for change in ROUNDINGS]
        more = list(inputs)
    weights = trained(model, output)
    sessions = [session_of(each, weights, bench.folder) for each in smooth]
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in weights} | {name: inputs[name] for name in more}
    module = bench.path(f"{name}.vxm")
    bench.compile(path, module, f"--grad={output}:{','.join(weights)}")
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
        bad = [result for result in results if any(run[result].tobytes() != runs[0][result].tobytes() for run in runs[1:])]
        bench.check(f"{name}, the same bits {'with 1, 2 and 8 threads' if device == 'cpu' else 'in two runs'}, {device}", not bad, bad)
        if first is not None:
            apart = {weight: float(abs(got[weight] - first[weight]).max()) / max(1e-30, float(abs(first[weight]).max())) for weight in weights}
            worst = max(apart, key=apart.get)
            bench.check(f"{name}, {device} agrees with {bench.devices[0]}", apart[worst] <= AGREEMENT, f"'{worst}' differs by {apart[worst]:.3g} of its largest")
        else:
            first = aim = got
            if more:
                # What rounding adds to the gradients is in them, too, and in a direction of their own it would count twice.
                run, _ = bench.run(module, device, nearly(inputs, 2 * max(ROUNDINGS)), results, "--function=gradient")
                aim = {weight: run[f"grad/{weight}"] for weight in weights}
            compare_directions(bench, name, sessions, inputs, output, weights, got, aim)


def compare_directions(bench, name, sessions, inputs, output, weights, gradients, aim):
    """The gradients along directions are within TOLERANCE of what differences give, or where several networks stand for one that rounds as far from
    theirs as these are apart."""
    random = np.random.default_rng(2)

    def sum_of(session, values):
        return float(session.run([output], {**inputs, **values})[0].sum(dtype=np.float64))

    for number in range(DIRECTIONS):
        direction = {weight: np.float32(rms(array) or SCALE_OF_ZEROS) * (random.standard_normal(array.shape, np.float32) +
                                                                         aim[weight] / np.float32(rms(aim[weight]) or 1))
                     for weight, array in weights.items()}
        got = sum(float(np.vdot(gradients[weight].astype(np.float64), step)) for weight, step in direction.items())
        size = float(abs(sessions[0].run([output], {**inputs, **weights})[0]).sum(dtype=np.float64))
        tries = []
        for change in CHANGES:
            step, wants = change * size / max(abs(got), 1e-30), [0.0] * len(sessions)
            for factor, times in ((8, 1), (-8, -1), (-1, 2), (1, -2)):
                moved = {weight: array + np.float32(times * step) * direction[weight] for weight, array in weights.items()}
                wants = [want + factor * sum_of(session, moved) / (12 * step) for want, session in zip(wants, sessions)]
            beyond = max(min(wants) - got, got - max(wants), 0.0) - (max(wants) - min(wants))
            tries.append((beyond / max(abs(got), *map(abs, wants), 1e-30), wants))
            if tries[-1][0] <= TOLERANCE:
                break
        tried = "; ".join(", ".join(f"{want:.6g}" for want in wants) for _, wants in tries)
        bench.check(f"{name}, along direction {number} of all weights", tries[-1][0] <= TOLERANCE, f"the gradients give {got!r}, differences {tried}")
        print(f"       analytic {got:.6g}, numeric {tried}: step {len(tries)} of {len(CHANGES)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+", choices=[name + end for name in [*NETWORKS, *ROUNDED, *SIZES] for end in ("", QAT)])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    failed = passed = 0
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options.bin, folder, devices, options.source)
            try:
                check(bench, model)
            except RuntimeError as error:
                bench.check(model, False, error)
            failed, passed = failed + bench.failed, passed + bench.passed
    print(f"{passed} passed, {failed} failed on {' and '.join(devices)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
