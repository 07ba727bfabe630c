"""Trains examples/train_digits by vx-train as docs/training.md does it, with several seeds, and wants most of the test images right; the same seed
twice gives the same file."""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

IMAGES = 450


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED {' '.join(command)} exits with {done.returncode}:\n{done.stdout}")
    return done.stdout


def count_right(model, data):
    """How many images another runtime gets right with an exported model."""
    images, labels = (np.load(os.path.join(data, f"{name}.npy")) for name in ("image", "label"))
    logits, = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"image": images})
    return int((logits.argmax(axis=1) == labels).sum())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--source", required=True, help="the folder of the project")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--seeds", default="1,2,3,3")
    parser.add_argument("--epochs", default="100")
    parser.add_argument("--least", type=int, default=441, help="test images that must be right: 98 %%")
    options = parser.parse_args()
    example = os.path.join(options.source, "examples", "train_digits")
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, os.path.join(example, "data.py"), folder)
        module = os.path.join(folder, "digits.vxm")
        run(os.path.join(options.bin, "vx-compile"), os.path.join(example, "network.onnx"), f"--target={options.device}", "--train=auto", "--loss=cross_entropy",
            f"--precision={options.precision}", "--optimizer=adamw:weight_decay=0.01", "-o", module)
        saved = {}
        for seed in options.seeds.split(","):
            weights, history, exported = (os.path.join(folder, name) for name in ("trained.safetensors", "history.json", "trained.onnx"))
            run(os.path.join(options.bin, "vx-train"), module, "--data", os.path.join(folder, "train"), "--validation", os.path.join(folder, "test"),
                "--lr=3e-3", "--schedule=cosine:1e-5", "--epochs", options.epochs, "--batch-size=64", f"--seed={seed}", f"--device={options.device}", "--no-fallback",
                "--threads=1", "--save", weights, "--history", history, "--export", exported)
            with open(history) as file:
                epochs = json.load(file)["epochs"]
            right = round(epochs[-1]["validation"]["metrics"]["accuracy"] * IMAGES)
            with open(weights, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            problem = "" if right >= options.least else f", expected {options.least}"
            if (elsewhere := count_right(exported, os.path.join(folder, "test"))) != right:
                problem += f", as ONNX {elsewhere}"
            if epochs[-1]["loss"] >= epochs[0]["loss"]:
                problem += ", the loss has not fallen"
            if saved.setdefault(seed, digest) != digest:
                problem += ", another file than before"
            print(f"{'FAILED' if problem else 'ok'} {options.device}, seed {seed}: {right} of {IMAGES} right after {len(epochs)} epochs{problem}")
            failed += bool(problem)
            count += 1
        if len(set(saved.values())) != len(saved):
            print("FAILED seeds that differ give the same file")
            failed += 1
    print(f"{count - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
