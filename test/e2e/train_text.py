"""Trains examples/train_text by vx-train and wants the loss of text that was not trained on close to the entropy of its source, which none can beat and
which one that sees a single symbol misses by far; ONNX Runtime finds the same loss of the exported model."""
import argparse
import importlib.util
import json
import os
import sys
import tempfile

import numpy as np
import onnxruntime

from train_digits import run


def load(path):
    spec = importlib.util.spec_from_file_location("data", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def onnx_loss(path, ids, labels, ignored):
    """Cross entropy of the labels that count."""
    logits, = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"ids": ids})
    logits = logits.astype(np.float64)
    logs = logits - logits.max(-1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
    kept = labels != ignored
    return -np.take_along_axis(logs, np.where(kept, labels, 0)[..., None], -1)[..., 0][kept].mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--source", required=True, help="the folder of the project")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--epochs", default="3")
    parser.add_argument("--most", type=float, default=1.03, help="times the entropy of the source")
    options = parser.parse_args()
    example = os.path.join(options.source, "examples", "train_text")
    data = load(os.path.join(example, "data.py"))
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        inside = lambda *names: os.path.join(folder, *names)
        print(run(sys.executable, os.path.join(example, "data.py"), folder), end="")
        run(sys.executable, os.path.join(example, "network.py"), inside("text.onnx"))
        run(os.path.join(options.bin, "vx-train"), inside("text.onnx"), f"--loss=cross_entropy:ignore_index={data.IGNORED}", "--optimizer=adamw", "--clip-norm=1",
            f"--precision={options.precision}", "--data", inside("train"), "--validation", inside("test"), "--lr=3e-3", "--schedule=cosine:1e-5", "--epochs", options.epochs,
            "--batch-size=32", "--seed=1", f"--device={options.device}", "--no-fallback", "--threads=1", "--export", inside("trained.onnx"), "--history", inside("history.json"))
        with open(inside("history.json")) as file:
            loss = json.load(file)["epochs"][-1]["validation"]["loss"]
        known, single = data.entropies(data.make_chain(data.random.Random(0)))
        print(f"{options.device}, {options.precision}: loss {loss:.4f}, {loss / known:.4f} times the entropy {known:.4f}; from one symbol {single:.4f}")
        if not known < loss < options.most * known < single:
            problems.append(f"the loss is {loss}, expected it below {options.most * known}, above {known}")
        ids, labels = (np.load(inside("test", f"{name}.npy")) for name in ("ids", "label"))
        exported = onnx_loss(inside("trained.onnx"), ids, labels, data.IGNORED)
        # In lower precisions the model computes otherwise than ONNX Runtime.
        if abs(exported - loss) > (1e-5 if options.precision == "f32" else 2e-3) * loss:
            problems.append(f"ONNX Runtime finds the loss {exported}")
    for problem in problems:
        print(f"FAILED {problem}")
    print(f"{0 if problems else 1} passed, {1 if problems else 0} failed")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
