#!/usr/bin/env python3
"""Writes the digits as .npy files for vx-train: data.py OUT makes OUT/train and OUT/test, each with image.npy, f32 [rows, 1, 8, 8] of 0 to 1, and
label.npy, i64 [rows]. Training rows are those beside this file, of the UCI set of handwritten digits (Alpaydin and Kaynak, CC BY 4.0); test rows are
the 450 of examples/digits. Needs nothing but Python."""
import array
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def write_npy(path, code, descr, shape, values):
    data = array.array(code, values)
    if sys.byteorder == "big":
        data.byteswap()
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data.tobytes())


def read(*path):
    with open(os.path.join(HERE, *path), "rb") as file:
        return file.read()


def floats(raw):
    values = array.array("f", raw)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def read_all():
    """Name, pixels from 0 to 1, and labels."""
    return (("train", [byte / 16 for byte in read("images.u8")], list(read("labels.u8"))),
            ("test", floats(read("..", "digits", "images.f32")), list(read("..", "digits", "labels.u8"))))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: data.py OUT")
    for name, pixels, labels in read_all():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        rows = len(labels)
        write_npy(os.path.join(folder, "image.npy"), "f", "<f4", [rows, 1, 8, 8], pixels)
        write_npy(os.path.join(folder, "label.npy"), "q", "<i8", [rows], labels)
        print(f"{folder}: {rows} images")


if __name__ == "__main__":
    main()
