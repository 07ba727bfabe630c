#!/usr/bin/env python3
"""Continues the training of an ONNX model with low-rank adapters, and exports one file with the sums.

  ../train_digits/data.py digits && finetune_lora.py ../digits/digits.onnx digits OUT.onnx

The network knows the digits as they are. Here they come mirrored. Only the adapters of its matrix are trained; the export is an ONNX file without a trace of them. Exit code 1: it has not
learnt enough."""
import os
import sys

import numpy as np

import vx


def main(network, data, out):
    train, test = ({name: np.load(os.path.join(data, part, f"{name}.npy")) for name in ("image", "label")} for part in ("train", "test"))
    for part in (train, test):
        part["image"] = np.ascontiguousarray(part["image"][..., ::-1])
    model = vx.Model(network, loss="cross_entropy", optimizer=vx.AdamW(1e-2), lora=vx.LoRA("*", rank=8, seed=1))
    before = model.evaluate(test)["accuracy"]
    model.fit(train, epochs=30, batch_size=64, schedule="cosine:1e-4", seed=1, verbose=2)
    after = model.evaluate(test)["accuracy"]
    weights = model.get_weights()
    print(f"accuracy {before:.3f} before, {after:.3f} after, by {sum(array.size for array in weights.values())} trained numbers of {', '.join(weights)}")
    model.export(out)
    merged = vx.Model(out)(test["image"])["logits"]
    print("the export agrees:", bool(np.abs(merged - model.predict(test["image"])["logits"]).max() < 1e-3))
    return 0 if after > before + 0.2 else 1


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
