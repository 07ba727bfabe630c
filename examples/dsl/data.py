#!/usr/bin/env python3
"""The digits of the examples as .npy files for mlp: data.py OUT makes OUT/train_x.npy, train_y.npy, test_x.npy and test_y.npy, of
images f32 [rows, 64] and labels i64 [rows]."""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("digits_data", os.path.join(HERE, "..", "train_digits", "data.py"))
digits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(digits)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: data.py OUT")
    for name, pixels, labels in digits.read_all():
        digits.write_npy(os.path.join(sys.argv[1], f"{name}_x.npy"), "f", "<f4", [len(labels), 64], pixels)
        digits.write_npy(os.path.join(sys.argv[1], f"{name}_y.npy"), "q", "<i8", [len(labels)], labels)


if __name__ == "__main__":
    main()
