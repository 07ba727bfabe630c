#!/usr/bin/env python3
"""The gradients of layers against those that PyTorch has computed, on each device.

  run_torch_goldens.py --bin BUILD/bin [--device cpu,vulkan] [--filter GLOB]

torch_cases.py has the layers and scripts/torch-goldens made torch_goldens.npz. All are one ONNX model, whose gradients by all inputs one function computes. Exit
code: 0 all agree, 1 some differ, among them a device of those asked for that is not there.
"""
import argparse
import fnmatch
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from run_models import Bench, required_devices
from torch_cases import CASES

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_goldens.npz")
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--filter", default="*")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    cases = [case for case in CASES if fnmatch.fnmatch(case.name, options.filter)]
    with np.load(GOLDENS) as file:
        goldens = {name: file[name] for name in file.files}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices)
        stale = [name for case in cases for name in case.inputs if not np.array_equal(goldens.get(f"{case.name}/{name}"), case.inputs[name])]
        bench.check("torch_goldens.npz is of these layers", cases and not stale, f"other inputs: {stale}")
        if stale or not cases:
            return 1
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
    print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
