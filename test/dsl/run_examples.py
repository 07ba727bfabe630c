#!/usr/bin/env python3
"""The programs of examples/dsl, run as a user would, and what they write against ONNX Runtime.

  run_examples.py --bin BUILD/bin --source .

All runs on one core: between the small kernels of these networks threads mostly wait for one another, which takes many times as long where other tests have the other
cores. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

checks = Checks()
check = checks.check


def run(folder, *command, code=0):
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    if done.returncode != code:
        check(" ".join(map(os.path.basename, map(str, command[:2]))), False, f"exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout + done.stderr


def find_kernels(path, bin):
    info = json.loads(subprocess.run([os.path.join(bin, "vx-info"), "--json", path], check=True, capture_output=True, text=True).stdout)
    return {target["name"]: sorted(kernel["key"] for kernel in target["kernels"]) for target in info["targets"]}


def write_mlp(path):
    """The network of mlp.cpp as an exporter would write it."""
    normal = np.random.default_rng(0).normal
    weights = {"fc1.weight": normal(size=(512, 64)), "fc1.bias": np.zeros(512), "fc2.weight": normal(size=(10, 512)), "fc2.bias": np.zeros(10),
               "few": np.float32(0.2), "half": np.float32(0.5)}
    nodes = [helper.make_node("Dropout", ["image", "few"], ["some"]),
             helper.make_node("Gemm", ["some", "fc1.weight", "fc1.bias"], ["hidden"], transB=1), helper.make_node("Relu", ["hidden"], ["active"]),
             helper.make_node("Dropout", ["active", "half"], ["kept"]),
             helper.make_node("Gemm", ["kept", "fc2.weight", "fc2.bias"], ["logits"], transB=1)]
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 64])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
                              [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


def test_mlp(folder, bin, source):
    run(folder, sys.executable, os.path.join(source, "examples", "dsl", "data.py"), folder)
    text = run(folder, os.path.join(bin, "mlp"))
    path = os.path.join(folder, "digits_trained.onnx")
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    images, labels = np.load(os.path.join(folder, "test_x.npy")), np.load(os.path.join(folder, "test_y.npy"))
    right = np.mean(session.run(None, {"image": images})[0].argmax(1) == labels)
    check(f"mlp: ONNX Runtime finds {right:.1%} of the digits in what was exported", right >= 0.98, text[-300:])
    wrong = np.mean(session.run(None, {"image": np.zeros_like(images)})[0].argmax(1) == labels)
    check(f"mlp: and {wrong:.1%} in zeros", wrong < 0.2, wrong)
    # Each target's kernels are those of the same network from an ONNX file.
    write_mlp(os.path.join(folder, "mlp.onnx"))
    run(folder, os.path.join(bin, "vx-compile"), "mlp.onnx", "--target=cpu,vulkan,cuda,rocm", "--train=auto", "--loss=cross_entropy",
        "--optimizer=adamw:weight_decay=0.01", "--clip-norm=1", "-o", "mlp.vxm")
    built, imported = (find_kernels(os.path.join(folder, name), bin) for name in ("digits.vxm", "mlp.vxm"))
    for target in ("cpu", "vulkan", "cuda", "rocm"):
        check(f"mlp: {len(built[target])} kernels for {target}, those of the ONNX file", built[target] == imported[target] and built[target],
              f"{len(set(built[target]) ^ set(imported[target]))} kernels are of one of them only")


def test_lm(folder, bin, source):
    run(folder, os.path.join(bin, "lm"))
    text = b"".join(open(path, "rb").read() for path in sorted(glob.glob(os.path.join(source, "docs", "*.md"))))
    time, rows = 64, 500
    os.makedirs(os.path.join(folder, "text"))
    symbols = np.frombuffer(text[:time * rows + 1], np.uint8).astype(np.int64)
    np.save(os.path.join(folder, "text", "ids.npy"), symbols[:-1].reshape(rows, time))
    np.save(os.path.join(folder, "text", "next.npy"), symbols[1:].reshape(rows, time))
    printed = run(folder, os.path.join(bin, "vx-train"), "tinygpt.vxm", "--data", "text", "--batch-size", "2", "--validation", "0.1", "--lr", "2e-3", "--schedule", "cosine:1e-4",
                  "--device", "cpu", "--save", "tinygpt.safetensors", "--export", "tinygpt.onnx")
    found = re.search(r"validation loss ([\d.]+)", printed)
    counts = np.bincount(symbols, minlength=256) / len(symbols)
    single = -np.sum(counts[counts > 0] * np.log(counts[counts > 0]))
    loss = float(found.group(1)) if found else np.inf
    # Of several seeds the loss is 2.74 in the mean and 0.05 apart.
    check(f"lm: {loss:.3f} nats a byte after one epoch, where the frequencies of bytes alone are {single:.3f}", loss < 0.9 * single, printed[-300:])
    path = os.path.join(folder, "tinygpt.onnx")
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    logits = session.run(None, {"ids": symbols[:640].reshape(10, 64)})[0]
    log = logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True)) - logits.max(-1, keepdims=True)
    own = -np.take_along_axis(log, symbols[1:641].reshape(10, 64, 1), -1).mean()
    check(f"lm: {own:.3f} nats by ONNX Runtime, of what it was trained on", abs(own - loss) < 0.35, loss)
    # A later symbol changes nothing before it.
    other = symbols[:640].reshape(10, 64).copy()
    other[:, 40:] = 65
    late = session.run(None, {"ids": other})[0]
    check("lm: no place sees what comes behind it", np.allclose(late[:, :40], logits[:, :40], atol=1e-4) and not np.allclose(late[:, 41:], logits[:, 41:]))


def test_ppo(folder, bin, source):
    run(folder, os.path.join(bin, "ppo"))
    for mode, least, most in (([], 0.95, 1), (["stateless"], 0.1, 0.4)):
        printed = run(folder, os.path.join(bin, "memory_task"), "ppo.vxm", "cpu", 150, *mode)
        found = re.search(r"right in the end: ([\d.]+)", printed)
        share = float(found.group(1)) if found else -1
        check(f"ppo: {'without' if mode else 'with'} memory {share:.1%} of episodes are right", least <= share <= most, printed[-300:])


def test_short(folder, bin, source):
    printed = run(folder, os.path.join(bin, "gradient"))
    check("gradient: of a sum of squares", printed.split() == ["2", "-4", "1"], printed)
    for device in ("cpu", "vulkan"):
        printed = run(folder, os.path.join(bin, "by_hand"), device)
        check(f"by_hand: finds the line on {device}", "3.000 a -2.000 b +1.000" in printed, printed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
    for test in (test_mlp, test_lm, test_ppo, test_short):
        with tempfile.TemporaryDirectory() as folder:
            test(folder, os.path.abspath(arguments.bin), os.path.abspath(arguments.source))
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
