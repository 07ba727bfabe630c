"""Compares the reader of GGUF files with PyPI's `gguf`: on files that its writer makes, split ones too, and on the vocabularies of llama.cpp.

    run_gguf.py --bin DIR [--cache DIR] [--files 60] [--seed 1]

With --cache it reads the vocabularies, and ends with 77 where they cannot be downloaded.
"""
import argparse
import logging
import pathlib
import random
import subprocess
import sys
import tempfile

import gguf
import numpy as np

import vocabularies

KINDS = {gguf.GGUFValueType.UINT8: "u8", gguf.GGUFValueType.INT8: "i8", gguf.GGUFValueType.UINT16: "u16", gguf.GGUFValueType.INT16: "i16",
         gguf.GGUFValueType.UINT32: "u32", gguf.GGUFValueType.INT32: "i32", gguf.GGUFValueType.FLOAT32: "f32", gguf.GGUFValueType.BOOL: "bool",
         gguf.GGUFValueType.STRING: "string", gguf.GGUFValueType.ARRAY: "array", gguf.GGUFValueType.UINT64: "u64", gguf.GGUFValueType.INT64: "i64",
         gguf.GGUFValueType.FLOAT64: "f64"}


def fnv(data):
    total, prime = 0xcbf29ce484222325, 0x100000001b3
    for byte in data:
        total = ((total ^ byte) * prime) & (1 << 64) - 1
    return total


def printed(path):
    """Lines of a file as the peer prints them, read by PyPI's reader."""
    reader = gguf.GGUFReader(path)
    keys, tensors = [], []
    for field in reader.fields.values():
        if field.name.startswith("GGUF."):
            continue
        kind, element = KINDS[field.types[0]], KINDS[field.types[-1]]
        values = []
        for index in field.data:
            part = field.parts[index]
            if element == "string":
                values.append("x" + bytes(part).hex())
            elif element in ("f32", "f64"):
                values.append(float(part[0]))
            else:
                values.append(int(part[0]))
        keys.append(("x" + field.name.encode().hex(), kind, element, values))
    for tensor in reader.tensors:
        shape = [int(dim) for dim in reversed(tensor.shape)]
        data = np.ascontiguousarray(tensor.data).tobytes()
        tensors.append(("x" + tensor.name.encode().hex(), tensor.tensor_type.name.lower(), shape, int(tensor.data_offset), len(data), fnv(data)))
    return keys, tensors


def ours(binary, path):
    result = subprocess.run([binary, path], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"FAILED: {path}: {result.stderr}")
    keys, tensors = [], []
    for line in result.stdout.splitlines():
        what, name, *rest = line.split(" ")
        if what == "key":
            kind, element, count, *values = rest
            assert len(values) == int(count), line[:200]
            if element in ("f32", "f64"):
                values = [float.fromhex(value) for value in values]
            elif element != "string":
                values = [int(value) for value in values]
            keys.append((name, kind, element, values))
        else:
            kind, dims, file, offset, size, total = rest
            shape = [int(dim) for dim in dims[1:-1].split(",") if dim]
            tensors.append(((name, kind, shape, int(offset), int(size), int(total, 16)), int(file)))
    return keys, tensors


def write(folder, draw, number):
    """Files of a random model, the first one first."""
    split = draw.choice((0, 0, 1, 2, 3))
    writer = gguf.GGUFWriter(None, draw.choice(("llama", "gpt2", "bert")), split_max_tensors=split)
    if not split and draw.random() < 0.5:  # files after the first have no key for it
        writer.add_custom_alignment(draw.choice((8, 16, 64, 128)))
    floats = (0.0, -0.0, 1.5, 3.4e38, -1e-30, float("inf"))
    for i in range(draw.randrange(8)):
        method, value = draw.choice((
            ("add_uint8", draw.randrange(256)), ("add_int8", draw.randrange(-128, 128)), ("add_uint16", draw.randrange(1 << 16)),
            ("add_int16", draw.randrange(-1 << 15, 1 << 15)), ("add_uint32", draw.randrange(1 << 32)), ("add_int32", draw.randrange(-1 << 31, 1 << 31)),
            ("add_uint64", draw.randrange(1 << 64)), ("add_int64", draw.randrange(-1 << 63, 1 << 63)), ("add_float32", draw.choice(floats)),
            ("add_float64", draw.choice((*floats, 1e300, 0.1))), ("add_bool", draw.random() < 0.5), ("add_string", draw.choice(("x", "naïve 日本", "a\nb"))),
            ("add_array", draw.choice(([1, 2, -3], [0.5, 2.0], [True, False], ["a", "", "ü"], list(range(1000)))))))
        getattr(writer, method)(f"key.{i}", value)
    types = [kind for kind in gguf.GGMLQuantizationType if kind in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16) or
             kind in gguf.quants._type_traits]
    for i in range(draw.randrange(1, 9)):
        kind = draw.choice(types)
        block = gguf.GGML_QUANT_SIZES[kind][0]
        shape = [draw.randrange(1, 4) for _ in range(draw.randrange(0, 4))] + [block * draw.randrange(1, 4)]
        data = np.random.default_rng(number * 100 + i).standard_normal(shape).astype(np.float32)
        if kind == gguf.GGMLQuantizationType.F32:
            writer.add_tensor(f"blk.{i}.weight", data)
        elif kind == gguf.GGMLQuantizationType.F16:
            writer.add_tensor(f"blk.{i}.weight", data.astype(np.float16))
        else:
            # Bytes of any value: the types that have no quantiser too.
            raw = np.random.default_rng(number * 100 + i).integers(0, 256, gguf.quant_shape_to_byte_shape(shape, kind), dtype=np.uint8)
            writer.add_tensor(f"blk.{i}.weight", raw, raw_dtype=kind)
    writer.write_header_to_file(folder / f"m{number}.gguf")
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(folder.glob(f"m{number}.gguf")) or sorted(folder.glob(f"m{number}-*.gguf"))


def compare(binary, files):
    keys, tensors = ours(binary, files[0])
    for number, path in enumerate(files):
        wanted_keys, wanted_tensors = printed(path)
        if number == 0 and keys != wanted_keys:
            raise SystemExit(f"FAILED: keys of {path}: expected\n{wanted_keys}\ngot\n{keys}")
        got = [tensor for tensor, file in tensors if file == number]
        if got != wanted_tensors:
            raise SystemExit(f"FAILED: tensors of {path}: expected\n{wanted_tensors}\ngot\n{got}")
    return len(files)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # a model that is too small to split is no news
    binary = options.bin / "gguf_peer"
    if options.cache:
        try:
            folder = vocabularies.fetch("llama-cpp-python", options.cache)
        except vocabularies.Missing as reason:
            print(reason)
            return 77  # the code of a test that was skipped
        files = sorted(folder.glob("*.gguf"), key=lambda path: path.stat().st_size)[:4]  # PyPI's reader takes half a minute for a large one
        for path in files:
            compare(binary, [path])
        print(f"{len(files)} vocabularies are equal")
        return 0 if files else "FAILED: no files"
    draw, several = random.Random(options.seed), 0
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.files):
            files = write(pathlib.Path(folder), draw, number)
            several += compare(binary, files) > 1
            seen |= {tensor[0][1] for tensor in ours(binary, files[0])[1]}
    known = {kind.name.lower() for kind in gguf.quants._type_traits}
    if options.files >= 60 and (several < 5 or known - seen):
        raise SystemExit(f"FAILED: {several} models were in several files, types without a tensor: {known - seen}")
    print(f"{options.files} models are equal, {several} of them in several files, with {len(seen)} types")
    return 0


if __name__ == "__main__":
    sys.exit(main())
