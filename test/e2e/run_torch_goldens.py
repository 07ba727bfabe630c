#!/usr/bin/env python3
"""The gradients of layers and of single ops against those that PyTorch has computed, on each device.

  run_torch_goldens.py --bin BUILD/bin [--device cpu,vulkan] [--filter GLOB]

torch_cases.py has the layers, ops/pullbacks.py the ops, and scripts/torch-goldens made torch_goldens.npz. All layers are one ONNX model, whose gradients by all
inputs one function computes; all ops are one program in vx text, which the reference evaluator computes in f64 as well. Exit code: 0 all agree, 1 some
differ, among them a device of those asked for that is not there.
"""
import argparse
import fnmatch
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from op_case import Case, Result, prefix_of, program
from ops import pullbacks
from run_gradients import Program, floats, take_gradients, with_type
from run_models import Bench, required_devices
from run_ops import Tools, files, write_inputs
from torch_cases import CASES

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_goldens.npz")
REFERENCE_TOLERANCE = 1e-11
TOLERANCE = 2e-5  # of the greatest element, and at least of 1: devices compute in f32


def narrow(array):
    return array.astype(np.float32) if array.dtype == np.float64 else array


def make_model(cases, goldens):
    """The sum of all results, each element times its seed, is the output "total"."""
    nodes, inputs, weights, outputs, terms = [], [], [], [], []
    for case in cases:
        name = lambda text: text and f"{case.name}/{text}"
        inputs += [helper.make_tensor_value_info(name(key), TensorProto.FLOAT, array.shape) for key, array in case.inputs.items()]
        weights += [numpy_helper.from_array(narrow(array), name(key)) for key, array in case.fixed.items()]
        weights.append(numpy_helper.from_array(narrow(case.seed(goldens[name("y")].shape)), name("seed")))
        nodes += [helper.make_node(op, [name(text) for text in ins], [name(out)], name=name(out), **attributes) for op, ins, out, attributes in case.nodes]
        nodes += [helper.make_node("Mul", [name("y"), name("seed")], [name("seeded")]), helper.make_node("ReduceSum", [name("seeded")], [name("sum")], keepdims=0)]
        outputs.append(helper.make_empty_tensor_value_info(name("y")))
        terms.append(name("sum"))
    nodes.append(helper.make_node("Sum", terms, ["total"]))
    outputs.append(helper.make_empty_tensor_value_info("total"))
    return helper.make_model(helper.make_graph(nodes, "layers", inputs, outputs, weights), opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def check_layers(bench, cases, goldens, devices):
    """The layers' gradients, as one model."""
    stale = [name for case in cases for name in case.inputs if not np.array_equal(goldens.get(f"{case.name}/{name}"), case.inputs[name])]
    bench.check("torch_goldens.npz is of these layers", not stale, f"other inputs: {stale}; run scripts/torch-goldens")
    if stale or not cases:
        return
    onnx.save(make_model(cases, goldens), bench.path("layers.onnx"))
    arguments = {f"{case.name}/{name}": narrow(array) for case in cases for name, array in case.inputs.items()}
    bench.compile(bench.path("layers.onnx"), bench.path("layers.vxm"), f"--grad=total:{','.join(arguments)}")
    for device in devices:
        got, _ = bench.run(bench.path("layers.vxm"), device, arguments, [f"{case.name}/y" for case in cases], "--function=main")
        found, _ = bench.run(bench.path("layers.vxm"), device, arguments, [f"grad/{name}" for name in arguments], "--function=gradient")
        for case in cases:
            pairs = [(f"{case.name}/y", got[f"{case.name}/y"])]
            pairs += [(f"{case.name}/grad/{name}", found[f"grad/{case.name}/{name}"]) for name in case.inputs]
            for name, array in pairs:
                want = goldens[name]
                limit = TOLERANCE * max(1, abs(want).max(initial=0))
                good = array.shape == want.shape and bool((abs(array - want) <= limit).all())
                bench.check(f"{name}, {device}", good, f"got {array.reshape(-1)[:12].tolist()}, PyTorch computes {want.reshape(-1)[:12].tolist()}")


def with_gradients(case):
    """A case whose results are the case's own, and twice the gradients by its inputs."""
    gradients = take_gradients(case, 1)
    return Case(case.name, gradients.inputs, gradients.body, {**case.results, **gradients.results}, case.header, case.runs)


def golden_inputs(case, goldens):
    """The arrays of a case of class Pullback with the seeds of its results."""
    seeds = {f"seed1_{name}": case.seed(name, goldens[f"pullbacks/{case.name}/{name}"].shape) for name in floats(case.results)}
    return {**case.golden_arrays(), **seeds}


def golden_problem(case, got, goldens, tolerance):
    """None, or what differs of a case's results and gradients, which are those of `with_gradients`."""
    for name, array in got.items():
        want = goldens[f"pullbacks/{case.name}/{name.replace('grad1_', 'grad/')}"]
        array = array.astype(np.float64) / (2 if name.startswith("grad1_") else 1)
        if array.shape != want.shape or not (abs(array - want) <= tolerance * max(1, abs(want).max(initial=0))).all():
            return f"'{name}' is {array.reshape(-1)[:12].tolist()}, PyTorch computes {want.reshape(-1)[:12].tolist()}"
    return None


def stale_inputs(case, goldens):
    return [f"{case.name}/{name}" for name, array in case.golden_arrays().items() if not np.array_equal(goldens.get(f"pullbacks/{case.name}/in/{name}"), array)]


def check_pullbacks(bench, tools, cases, goldens, devices):
    """The ops' gradients, as one program."""
    stale = [name for case in cases for name in stale_inputs(case, goldens)]
    bench.check("torch_goldens.npz is of these ops", not stale, f"other inputs: {stale}; run scripts/torch-goldens")
    if stale or not cases:
        return
    arrays = [golden_inputs(case, goldens) for case in cases]
    wide = [with_gradients(with_type(case, "f32", "f64")) for case in cases]
    reference = Program(tools, bench.folder, wide).run([{name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in given.items()} for given in arrays])
    for case, got in zip(cases, reference):
        problem = golden_problem(case, got, goldens, REFERENCE_TOLERANCE)
        bench.check(f"op {case.name}, reference", problem is None, problem)
    narrowed = [with_gradients(with_type(case, "f32", "f32")) for case in cases]
    with open(bench.path("ops.mlir"), "w") as file:
        file.write(program(narrowed))
    bench.compile(bench.path("ops.mlir"), bench.path("ops.vxm"))
    write_inputs(bench.folder, narrowed, [{name: narrow(array) for name, array in given.items()} for given in arrays])
    for device in devices:
        tools.must("vx-run", bench.path("ops.vxm"), f"--device={device}", "--no-fallback", *files(bench.folder, narrowed, device))
        for index, (case, each) in enumerate(zip(cases, narrowed)):
            got = {name: np.load(bench.path(f"{device}_{prefix_of(index, narrowed)}{name}.npy")) for name in each.results}
            problem = golden_problem(case, got, goldens, TOLERANCE)
            bench.check(f"op {case.name}, {device}", problem is None, problem)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--filter", default="*")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    cases = [case for case in CASES if fnmatch.fnmatch(case.name, options.filter)]
    ops = [case for case in pullbacks.cases() if fnmatch.fnmatch(case.name, options.filter)]
    if not cases and not ops:
        sys.exit(f"--filter: no case matches '{options.filter}'")
    with np.load(GOLDENS) as file:
        goldens = {name: file[name] for name in file.files}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices)
        check_layers(bench, cases, goldens, devices)
        check_pullbacks(bench, Tools(options.bin), ops, goldens, devices)
    print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
