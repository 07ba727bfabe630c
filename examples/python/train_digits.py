#!/usr/bin/env python3
"""Trains a network for handwritten digits that is written in Python, and writes what other machines run.

  ../train_digits/data.py digits && train_digits.py digits OUT

makes OUT/digits.vxm (for vx without a compiler), OUT/digits.onnx and OUT/digits.safetensors, OUT/log.csv, and event files for TensorBoard in OUT/events. With matplotlib it draws
OUT/history.png too. Exit code 1: it has not learnt enough."""
import os
import sys

import numpy as np

import vx
from vx import nn


class Digits(nn.Module):
    """Two convolutions with batch norms, and two linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.pool, self.head = nn.MaxPool2d(2), nn.MLP([32 * 2 * 2, 64, 10], "relu", dropout=0.2)

    def forward(self, image):
        x = self.pool(nn.relu(self.norm1(self.conv1(image))))
        x = self.pool(nn.relu(self.norm2(self.conv2(x))))
        return self.head(x.flatten(1))


def main(data, out):
    train, test = ({name: np.load(os.path.join(data, part, f"{name}.npy")) for name in ("image", "label")} for part in ("train", "test"))
    os.makedirs(out, exist_ok=True)
    model = Digits().compile({"image": ("batch", 1, 8, 8)}, "logits", loss="cross_entropy:smoothing=0.05", optimizer=vx.AdamW(3e-3, weight_decay=0.01), seed=1)
    print(model.summary())
    history = model.fit(train, epochs=30, batch_size=64, validation_split=0.1, schedule="cosine:1e-5", warmup=20, metrics=["top_3", "auc"], seed=1, verbose=2,
                        callbacks=[vx.EarlyStopping("val_loss", patience=8, restore_best=True), vx.CSVLog(os.path.join(out, "log.csv")), vx.TensorBoard(os.path.join(out, "events"))])
    try:
        history.plot(os.path.join(out, "history.png"), ["loss", "accuracy"])
    except ImportError as error:
        print(error)
    scores = model.evaluate(test, metrics=["f1", "auc"])
    print("test:", ", ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    for name in ("digits.vxm", "digits.safetensors"):
        model.save(os.path.join(out, name))
    model.export(os.path.join(out, "digits.onnx"))
    deployed = vx.Model(os.path.join(out, "digits.vxm"))(test["image"])["logits"] # as on a machine that has vx-runtime alone
    print("the module agrees:", bool((deployed.argmax(1) == model.predict(test["image"])["logits"].argmax(1)).all()))
    return 0 if scores["accuracy"] > 0.96 else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
