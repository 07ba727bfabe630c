#!/usr/bin/env python3
"""Writes test/compat/VERSION: a module, a checkpoint and a configuration of the version that is built, with inputs and the results that it gives. `scripts/release
--prepare` calls it; the folder is never written again after the version has its tag.

  make_compat.py --bin build/bin --source . [--out FOLDER]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper


def write_model(path):
    """A network of three layers for points on two arms, with weights that are the same each time."""
    draw = np.random.default_rng(2)
    sizes = {"w1": (16, 2), "b1": (16,), "w2": (16, 16), "b2": (16,), "w3": (2, 16), "b3": (2,)}
    weights = [helper.make_tensor(name, TensorProto.FLOAT, shape, draw.normal(0, 0.5, shape).astype(np.float32).ravel()) for name, shape in sizes.items()]
    nodes = [helper.make_node("Gemm", ["point", "w1", "b1"], ["h1"], transB=1), helper.make_node("Tanh", ["h1"], ["a1"]),
             helper.make_node("Gemm", ["a1", "w2", "b2"], ["h2"], transB=1), helper.make_node("Tanh", ["h2"], ["a2"]),
             helper.make_node("Gemm", ["a2", "w3", "b3"], ["logits"], transB=1)]
    graph = helper.make_graph(nodes, "spirals", [helper.make_tensor_value_info("point", TensorProto.FLOAT, ["batch", 2])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def write_data(folder):
    index = np.arange(64)
    turn, side = 0.5 + 3.0 * (index // 2) / 32, np.where(index % 2 == 1, 1.0, -1.0)
    os.makedirs(folder)
    np.save(os.path.join(folder, "point.npy"), np.stack([side * turn * np.cos(2 * turn), side * turn * np.sin(2 * turn)], axis=1).astype(np.float32))
    np.save(os.path.join(folder, "label.npy"), (index % 2).astype(np.int64))


def write_configuration(source, path):
    """Every key of the example, with numbers that are not the defaults."""
    with open(os.path.join(source, "examples", "serving", "config.toml")) as file:
        text = re.sub(r"^(?!version)(\w+ = )(\d+)(?= *(?:#|$))", lambda found: f"{found[1]}{int(found[2]) + 1}", file.read(), flags=re.M)
    with open(path, "w") as file:
        file.write(re.sub(r"\A(#.*\n)+", "", text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--out")
    options = parser.parse_args()
    tool = lambda name: os.path.join(os.path.abspath(options.bin), name)
    run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
    printed = dict(line.split(None, 1) for line in run(tool("vx-run"), "--version").splitlines())
    out = options.out or os.path.join(options.source, "test", "compat", printed["vx"])
    if os.path.exists(out):
        sys.exit(f"make_compat.py: '{out}' is there already; remove it if {printed['vx']} has no tag yet")
    os.makedirs(out)
    at = lambda name: os.path.join(out, name)
    write_model(at("network.onnx"))
    write_data(at("data"))
    training = ("--train=auto", "--loss=cross_entropy", "--optimizer=adamw:weight_decay=0.01")
    run(tool("vx-compile"), at("network.onnx"), "--target=cpu", "--cpu=x86-64-v3", "--no-cache", "-o", at("network.vxm"))
    run(tool("vx-compile"), at("network.onnx"), "--target=cpu", "--cpu=x86-64-v3", "--no-cache", *training, "-o", at("training.vxm"))
    run(tool("vx-run"), at("network.vxm"), "--device=cpu", "--input", f"point=@{at('data/point.npy')}", "--output", f"logits=@{at('logits.npy')}")
    steps = ("--data", at("data"), "--device=cpu", "--lr=1e-2", "--batch-size=16", "--seed=5")
    run(tool("vx-train"), at("training.vxm"), *steps, "--epochs=3", "--save", at("checkpoint.safetensors"))
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.json")
        run(tool("vx-train"), at("training.vxm"), *steps, "--epochs=6", "--resume", at("checkpoint.safetensors"), "--history", history)
        with open(history) as file:
            resumed = json.load(file)
    write_configuration(options.source, at("config.toml"))
    # Paths are of the machine, and a comment names the line of each value.
    values = [re.sub(r"\s+# .*$", "", line) for line in run(tool("vx-serve"), "--config", at("config.toml"), "--print-config").splitlines() if line and line[0] != "#"]
    with open(at("expected.json"), "w") as file:
        json.dump({"commit": printed["commit"], "losses": [epoch["loss"] for epoch in resumed["epochs"]], "configuration": [line for line in values if "/" not in line]}, file, indent=1)
        file.write("\n")
    size = sum(os.path.getsize(os.path.join(parent, name)) for parent, _, names in os.walk(out) for name in names)
    print(f"{out}: {size} bytes")


if __name__ == "__main__":
    main()
