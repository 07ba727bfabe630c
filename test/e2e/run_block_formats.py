"""Compares the reference's numbers of each block format with those of PyPI's `gguf`, bit by bit: of random bytes, and of matrices that it quantises.

Of a matrix of each format with two million elements, a call takes nothing out of its bytes: it computes a product's row and no value of a matrix.

    run_block_formats.py --bin DIR [--blocks 64] [--seed 1]
"""
import argparse
import math
import pathlib
import re
import sys
import tempfile

import gguf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "ops"))
import blocks  # noqa: E402
from run_ops import Tools  # noqa: E402


def numbers(tools, folder, name, data):
    """The numbers that the interpreter decodes."""
    np.save(folder / "in.npy", data)
    shape = "x".join(map(str, data.shape))
    elements, size, *_ = blocks.FORMATS[name]
    result = f"tensor<{data.shape[0]}x{data.shape[1] // size * elements}xf32>"
    (folder / "program.mlir").write_text(
        f'func.func @main(%x: tensor<{shape}xui8> {{vx.name = "x"}}) -> ({result} {{vx.name = "r"}}) {{\n'
        f"  %r = vx.decode_blocks {name} %x : tensor<{shape}xui8>\n  return %r : {result}\n}}\n")
    tools.must("vx-interpret", str(folder / "program.mlir"), "--input", f"x=@{folder}/in.npy", "--output", f"r=@{folder}/out.npy")
    return np.load(folder / "out.npy")


def matrices_in_call(tools, folder, name, target):
    """The kernels of a call of a row by a constant matrix that write as many elements as a tenth of the matrix, or None where no product is among them."""
    elements, size, *_ = blocks.FORMATS[name]
    rows, columns = 1024, 2048
    constant = blocks.constant_bytes(name, [rows, columns], np.random.default_rng(3))
    (folder / "product.mlir").write_text(
        f'func.func @main(%x: tensor<1x{columns}xf32> {{vx.name = "x"}}) -> (tensor<1x{rows}xf32> {{vx.name = "r"}}) {{\n{constant}'
        f"  %r = vx.contract %x, %wd batch = [] x [] contracting = [1] x [1] : tensor<1x{columns}xf32>, tensor<{rows}x{columns}xf32>\n"
        f"  return %r : tensor<1x{rows}xf32>\n}}\n")
    tools.must("vx-compile", str(folder / "product.mlir"), f"--target={target}", "--stop-after=kernels", "-o", f"{folder}/kernels.mlir")
    body = re.search(r"func\.func @main\(.*?\n  }\n", (folder / "kernels.mlir").read_text(), re.DOTALL).group(0)
    kernels = re.findall(r"vx\.dispatch @(\w+).*-> tensor<([0-9x]+)x\w+>", body)
    if not any(math.prod(map(int, sizes.split("x"))) == rows for _, sizes in kernels):
        return None
    return [kernel for kernel, sizes in kernels if math.prod(map(int, sizes.split("x"))) * 10 >= rows * columns]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--blocks", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tools, rng = Tools(options.bin), np.random.default_rng(options.seed)
    failed = passed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, (elements, size, *_) in blocks.FORMATS.items():
            kind = gguf.GGMLQuantizationType[name.upper()]
            assert gguf.GGML_QUANT_SIZES[kind] == (elements, size), (name, gguf.GGML_QUANT_SIZES[kind])
            samples = {"any bytes": rng.integers(0, 256, (3, options.blocks * size), dtype=np.uint8),
                       "numbers of both signs": blocks.blocks(name)(rng, (3, options.blocks * size))}
            try:
                samples["quantised"] = gguf.quants.quantize(rng.normal(0, 0.02, (3, options.blocks * elements)).astype(np.float32), kind)
            except NotImplementedError:
                pass
            for what, data in samples.items():
                with np.errstate(all="ignore"):
                    want = gguf.quants.dequantize(data, kind).astype(np.float32)
                got = numbers(tools, folder, name, data)
                same = got.shape == want.shape and bool(((got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))).all())
                passed, failed = passed + same, failed + (not same)
                if not same:
                    wrong = np.argwhere(got.view(np.uint32) != want.view(np.uint32))
                    print(f"FAILED: {name}, {what}: {len(wrong)} of {want.size} numbers, first at {tuple(wrong[0])}: expected {want[tuple(wrong[0])]}, got {got[tuple(wrong[0])]}")
            for target in ("cpu", "vulkan", "cuda", "rocm"):
                kernels = matrices_in_call(tools, folder, name, target)
                passed, failed = passed + (kernels == []), failed + (kernels != [])
                if kernels != []:
                    print(f"FAILED: {name} on {target}: expected a product and no matrix among a call's kernels, got {'no product' if kernels is None else ', '.join(kernels)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
