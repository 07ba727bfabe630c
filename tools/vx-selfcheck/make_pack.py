#!/usr/bin/env python3
"""Makes the pack of vx-selfcheck: compiled modules, inputs, and the results that the reference evaluator gives for them.

    make_pack.py --bin BUILD/bin --digits FOLDER --work DIR --version VERSION --targets cpu,cuda --out selfcheck.pack

The layout is that of tools/check-plan/check_pack.h. Needs no package of Python beyond its library.
"""
import argparse
import array
import concurrent.futures
import json
import os
import random
import shutil
import struct
import subprocess
import zlib

from cases import FAMILIES
from networks import DIGITS_RULE, NETWORKS

TARGETS = ["cpu", "vulkan", "cuda", "rocm"]
# NumPy's name of a type and Python's of its array.
ELEMENTS = {"f32": ("<f4", "f"), "i32": ("<i4", "i"), "i64": ("<i8", "q"), "i8": ("|i1", "b"), "ui8": ("|u1", "B"), "i1": ("|b1", "B")}
HEADER = struct.Struct("<8sIIQQ")
MAGIC, VERSION, ALIGNMENT = b"VXCHECK\n", 1, 64


def npy(dtype, dims, data):
    shape = "(" + "".join(f"{size}, " for size in dims) + ")"
    header = f"{{'descr': '{ELEMENTS[dtype][0]}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def drawn(value, rng):
    count = 1
    for size in value.dims:
        count *= size
    draw = rng.uniform if value.dtype == "f32" else rng.randint
    return npy(value.dtype, value.dims, array.array(ELEMENTS[value.dtype][1], [draw(value.low, value.high) for _ in range(count)]).tobytes())


class Pack:
    def __init__(self, options):
        self.targets = [target for target in TARGETS if target in options.targets.split(",")]
        self.bin, self.work = os.path.abspath(options.bin), os.path.abspath(options.work)
        self.files, self.checks = {}, []

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def tool(self, name, *arguments):
        # Modules have the names of their sources, which must not be those of a build's folders.
        done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, cwd=self.work)
        if done.returncode:
            raise SystemExit(f"make_pack.py: error: {name} {' '.join(arguments)}: {done.stderr.strip()}")

    def compile(self, source, module, *arguments):
        self.tool("vx-compile", source, f"--target={','.join(self.targets)}", "--threads=1", "--cache", self.path("kernels"), "-o", self.path(module), *arguments)
        self.files[module] = self.read(module)

    def wanted(self, program, function, inputs, outputs):
        """The inputs and the reference's results as files of the pack."""
        arguments = [self.path(program), "--function", function]
        entry = {"inputs": {}, "results": []}
        for name, data in inputs.items():
            file = entry["inputs"][name] = f"{function}.{name}.npy"
            self.files[file] = data
            self.write(file, data)
            arguments += ["--input", f"{name}=@{self.path(file)}"]
        for name, rule in outputs.items():
            file = f"{function}.{name}.want.npy"
            arguments += ["--output", f"{name}=@{self.path(file)}"]
            entry["results"].append({"output": name, "want": file, **rule})
        self.tool("vx-interpret", *arguments)
        for result in entry["results"]:
            self.files[result["want"]] = self.read(result["want"])
        return entry

    def program(self, name, kind, cases, *arguments):
        """One module of all cases."""
        headers = "".join(dict.fromkeys(case.header for case in cases))
        self.write(f"{name}.mlir", (headers + "".join(case.text() for case in cases)).encode())
        self.compile(f"{name}.mlir", f"{name}.vxm", *arguments)
        for case in cases:
            rng = random.Random(case.name)
            entry = self.wanted(f"{name}.mlir", case.name, {key: drawn(value, rng) for key, value in case.inputs.items()},
                                {key: rule for key, (_, rule) in case.results.items()})
            self.checks.append({"name": f"{name}/{case.name}" if kind == "op" else f"networks/{case.name}", "kind": kind, "module": f"{name}.vxm",
                                "function": case.name, "targets": self.targets, **entry})

    def digits(self, folder, count=32):
        """A trained network over images of its test set."""
        model, module = "digits.onnx", "digits.vxm"
        shutil.copyfile(os.path.join(folder, model), self.path(model))
        self.compile(model, module)
        self.tool("vx-compile", model, "--target=cpu", "--stop-after=import", "-o", self.path("digits.mlirbc"))
        with open(os.path.join(folder, "images.f32"), "rb") as file:
            images = file.read(count * 64 * 4)
        entry = self.wanted("digits.mlirbc", "main", {"image": npy("f32", [count, 1, 8, 8], images)}, {"logits": DIGITS_RULE})
        self.checks.append({"name": "networks/digits", "kind": "network", "module": module, "function": "main", "targets": self.targets, **entry})

    def bytes(self, version):
        """The whole file. Positions are relative to its begin, and the manifest states them: it is made twice, until its size no longer changes them."""
        places, size = {}, 0
        while True:
            manifest = json.dumps({"vx": version, "files": places, "checks": self.checks}, separators=(",", ":")).encode()
            position = HEADER.size + len(manifest)
            position += -position % ALIGNMENT
            if position == size:
                break
            size, places = position, {}
            for name, data in self.files.items():
                places[name] = [position, len(data)]
                position += len(data) + -len(data) % ALIGNMENT
        body = bytearray(manifest)
        for name, (place, _) in places.items():
            body += bytes(place - HEADER.size - len(body)) + self.files[name]
        return HEADER.pack(MAGIC, VERSION, zlib.crc32(body), HEADER.size + len(body), len(manifest)) + body


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("bin", "digits", "work", "version", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--targets", default=",".join(TARGETS), help="those that the compiler was built with")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    pack = Pack(options)
    programs = [(name, "op", list(make()), []) for name, make in FAMILIES.items()]
    programs += [(case.name, "network", [case], arguments) for case, arguments in NETWORKS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(pack.program, name, kind, cases, *arguments) for name, kind, cases, arguments in programs] + [pool.submit(pack.digits, options.digits)]:
            done.result()
    # In one order, however the work was shared.
    pack.checks.sort(key=lambda check: (check["kind"] != "op", check["name"]))
    pack.files = dict(sorted(pack.files.items()))
    os.makedirs(os.path.dirname(options.out), exist_ok=True)
    with open(options.out + ".part", "wb") as file:
        file.write(pack.bytes(options.version))
    os.replace(options.out + ".part", options.out)
    print(f"{len(pack.checks)} checks, {os.path.getsize(options.out)} bytes")


if __name__ == "__main__":
    main()
