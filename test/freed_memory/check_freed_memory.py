#!/usr/bin/env python3
"""Compiles models while freed memory is taken away from the compiler, and compares the results with those of an ordinary run.

  check_freed_memory.py --bin BUILD/bin --source REPOSITORY --watched PROGRAM [--target cpu,vulkan] [--flag=FLAG]... MODEL...

PROGRAM is vx-compile over unmapping_allocator.cpp. MODEL is a network of test/models, or `chain:N`, which has N convolutions whose results all live
until the end. Each FLAG goes to the compiler. PROGRAM must end as vx-compile does and give the same bytes. With --sanitized PROGRAM is a vx-compile that was built with
the address sanitizer, and must only end well. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from run_models import make_model_file  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402


def make_chain(path, count):
    """Convolutions and poolings whose results all live until a sum at the end: hundreds of lifetimes in one program."""
    nodes, parts, last = [], [], "x"
    for index in range(count):
        nodes.append(onnx.helper.make_node("Conv", [last, f"w{index % 3}"], [f"c{index}"], f"conv_{index}", pads=[1, 1, 1, 1]))
        nodes.append(onnx.helper.make_node("MaxPool", [f"c{index}"], [f"p{index}"], f"pool_{index}", kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        nodes.append(onnx.helper.make_node("ReduceMean", [f"p{index}"], [f"m{index}"], f"mean_{index}", keepdims=1))
        last = f"p{index}"
        parts.append(f"m{index}")
    nodes.append(onnx.helper.make_node("Concat", parts, ["y"], "all", axis=1))
    random = np.random.default_rng(0)
    weights = [onnx.numpy_helper.from_array(random.standard_normal((4, 4, 3, 3), np.float32), f"w{index}") for index in range(3)]
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "chain", [tensor("x", onnx.TensorProto.FLOAT, ["n", 4, 8, 8])], [tensor("y", onnx.TensorProto.FLOAT, ["n", count, 1, 1])], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


class Check(Checks):
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def compile(self, program, model, result):
        command = [program, model, f"--target={self.options.target}", "--no-cache", "--threads=1", *self.options.flag, "-o", result]
        return subprocess.run(command, capture_output=True, text=True, timeout=1500)

    def model(self, name):
        path = os.path.join(self.folder, f"{name.replace(':', '_')}.onnx")
        if name.startswith("chain:"):
            make_chain(path, int(name.removeprefix("chain:")))
            return path
        return make_model_file(self.options.source, self.folder, name)

    def run(self, name):
        model, results = self.model(name), [os.path.join(self.folder, f"{name}.{kind}") for kind in ("plain", "watched")]
        if self.options.sanitized:
            watched = self.compile(self.options.watched, model, results[1])
            self.check(f"{name}: compiles under the sanitizers", watched.returncode == 0, f"exits with {watched.returncode}: {watched.stderr.strip()}")
            return
        plain = self.compile(os.path.join(self.options.bin, "vx-compile"), model, results[0])
        watched = self.compile(self.options.watched, model, results[1])
        counts = re.search(r"unmapping allocator: (\d+) blocks watched, (\d+) not\n", watched.stderr)
        self.check(f"{name}: compiles", plain.returncode == 0, plain.stderr.strip())
        self.check(f"{name}: compiles while freed memory is taken away", watched.returncode == 0,
                 f"exits with {watched.returncode}: {watched.stderr.strip()} (below 0: a signal, from an access to freed memory)")
        if plain.returncode or watched.returncode:
            return
        seen, unseen = map(int, counts.groups()) if counts else (0, 0)
        self.check(f"{name}: {seen} blocks watched, {unseen} not", seen > 1000 and unseen * 20 < seen, watched.stderr.strip())
        same = open(results[0], "rb").read() == open(results[1], "rb").read()
        self.check(f"{name}: the same bytes", same, "the results differ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--watched", required=True)
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(options, folder)
        for name in options.models:
            check.run(name)
    return check.finish(", 0 skipped")


if __name__ == "__main__":
    sys.exit(main())
