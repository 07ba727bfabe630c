#!/usr/bin/env python3
"""What is claimed of joining calls, against calls of each row alone.

  run_rows.py --bin BUILD/bin [--seeds FIRST:COUNT] [--model MODEL.onnx ...]

Random programs in vx text: some of the whole op set, some that move a batch about (merge its dimension with others, transpose, cut, sum, sort and gather along
any). Where vx-find-independent-rows says that an output has rows, the reference evaluator must give row i of it, bit by bit, when it is called with row i alone.
Models are compiled, and compared on the CPU under a bound of rounding. Exit code: 0 all passed, 1 some failed."""
import argparse
import json
import os
import random as python_random
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import vx_ops  # noqa: E402
from program import NUMPY, write  # noqa: E402

ROWS = 3


def product(a, b):
    return a * b if isinstance(a, int) and isinstance(b, int) else f"{b} * {a}" if isinstance(a, int) else f"{a} * {b}"


class Mover:
    """A program about a batch 'n' of sequences 's': values of f32, of which the last few are operands."""

    def __init__(self, seed):
        self.random, self.lines, self.count = python_random.Random(seed), [], 0
        self.seed, self.values = seed, [("%x", ["n", "s", 4]), ("%y", ["n", 4]), ("%w", [4, 4])]

    def add(self, text, dims, element="f32"):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}" + (f" : {self.type(dims, element)}" if text.endswith(" =>") else ""))
        self.lines[-1] = self.lines[-1].replace(" => :", " ->")
        return name, dims

    def type(self, dims, element="f32"):
        text = [str(dim) for dim in dims]
        inside = "x".join(dim if dim.isdigit() else "?" for dim in text) + "x" if text else ""
        return f"tensor<{inside}{element}" + (f", #vx.enc<[{', '.join(text)}]>>" if not all(dim.isdigit() for dim in text) else ">")

    def step(self):
        name, dims = self.random.choice(self.values[-4:])
        rank, kind = len(dims), self.type(dims)
        axis = self.random.randrange(rank) if rank else 0
        choice = self.random.choice(("merge", "split", "transpose", "transpose", "reduce", "softmax", "concat", "slice", "cumulate", "weights", "pair", "add", "spread",
                                     "number", "pick", "own", "drop", "window"))
        if choice == "merge" and rank >= 2:
            at = self.random.randrange(rank - 1)
            to = dims[:at] + [product(*dims[at:at + 2])] + dims[at + 2:]
            return self.add(f"vx.reshape {name} : {kind} =>", to)
        if choice == "split" and rank and dims[axis] in (4, "n * 4", "n * 2", "s * 4", "n * s", "s * n"):
            name0, other = dims[axis][0] if dims[axis] != 4 else 2, dims[axis][4:] if dims[axis] != 4 else 2
            parts = [name0, int(other) if str(other).isdigit() else other]
            if dims[axis] == "n * 4":
                parts = self.random.choice((parts, [2, "n * 2"], [4, "n"]))
            return self.add(f"vx.reshape {name} : {kind} =>", dims[:axis] + parts + dims[axis + 1:])
        if choice == "transpose" and rank >= 2:
            order = list(range(rank))
            self.random.shuffle(order)
            return self.add(f"vx.transpose {name}, {order} : {kind}", [dims[d] for d in order])
        if choice == "reduce" and rank:
            return self.add(f"vx.reduce {self.random.choice(('max', 'sum'))} {name} axes = [{axis}] : {kind}", dims[:axis] + dims[axis + 1:])
        if choice == "softmax" and rank:
            return self.add(f"vx.softmax {name} axis = {axis} : {kind}", dims)
        if choice == "concat" and rank and rank < 5:
            return self.add(f"vx.concat axis = {axis} ({name}, {name}) : {kind}, {kind}", dims[:axis] + [product(dims[axis], 2)] + dims[axis + 1:])
        if choice == "slice" and rank:
            starts, to = ["#vx.dim<0>"] * rank, list(dims)
            to[axis] = 1
            return self.add(f"vx.slice {name} starts [{', '.join(starts)}] strides [{', '.join(['1'] * rank)}] : {kind} =>", to)
        if choice == "cumulate" and rank == 3:
            return self.add(f"vx.cumulative_sum {name} : {kind}", dims)
        if choice == "weights" and rank and dims[-1] == 4:
            return self.add(f"vx.contract {name}, %w batch = [] x [] contracting = [{rank - 1}] x [0] : {kind}, {self.type([4, 4])}", dims)
        if choice == "pair" and 2 <= rank <= 3:
            batch = [0] if self.random.random() < 0.6 else []
            if rank == 2:
                batch = []
            free = [d for d in range(rank - 1) if d not in batch]
            return self.add(f"vx.contract {name}, {name} batch = {batch} x {batch} contracting = [{rank - 1}] x [{rank - 1}] : {kind}, {kind}",
                            [dims[d] for d in batch] + [dims[d] for d in free] * 2)
        if choice == "add":
            others = [other for other, shape in self.values if shape == dims]
            return self.add(f"vx.add {name}, {self.random.choice(others)} : {kind}, {kind}", dims)
        if choice == "spread" and rank <= 3:
            at = self.random.randrange(rank + 1)
            to = dims[:at] + [self.random.choice(("n", 2))] + dims[at:]
            return self.add(f"vx.broadcast {name}, {[d for d in range(rank + 1) if d != at]} : {kind} =>", to)
        if choice == "number" and rank:
            number, _ = self.add(f"vx.iota axis = {axis} : {kind}", dims)
            return self.add(f"vx.add {name}, {number} : {kind}, {kind}", dims)
        if choice == "pick" and rank:
            index, _ = self.add(f"vx.constant dense<0> : {self.type([1], 'i64')}", [1])
            return self.add(f"vx.gather {name}, {index} axis = {axis} in_range : {kind}, {self.type([1], 'i64')}", dims[:axis] + [1] + dims[axis + 1:])
        if choice == "own" and rank:  # each element of a dimension at its own number, or at half of it
            index, _ = self.add(f"vx.iota axis = 0 : {self.type([dims[axis]], 'i64')}", [dims[axis]])
            half, _ = self.add(f"vx.constant dense<{self.random.choice((1, 1, 2))}> : {self.type([], 'i64')}", [])
            all_, _ = self.add(f"vx.broadcast {half}, [] : {self.type([], 'i64')} -> {self.type([dims[axis]], 'i64')}", [])
            operation = self.random.choice(("mul", "div"))
            place, _ = self.add(f"vx.{operation} {index}, {all_} : {self.type([dims[axis]], 'i64')}, {self.type([dims[axis]], 'i64')}", [])
            return self.add(f"vx.gather {name}, {place} axis = {axis} in_range : {kind}, {self.type([dims[axis]], 'i64')}", dims)
        if choice == "drop" and rank and dims[axis] == 1:
            return self.add(f"vx.reshape {name} : {kind} =>", dims[:axis] + dims[axis + 1:])
        if choice == "window" and rank:
            ones, zeros = [1] * rank, [0] * rank
            window, pads = list(ones), list(zeros)
            window[axis], pads[axis] = 3, 1
            return self.add(f"vx.reduce_window max {name} window = {window} strides = {ones} dilations = {ones} pads = {pads} x {pads} : {kind}", dims)
        return self.add(f"vx.tanh {name} : {kind}", dims)

    def text(self, function):
        for _ in range(self.random.randrange(2, 12)):
            value = self.step()
            if value[1] and len(value[1]) <= 5:
                self.values.append(value)
        results = [value for value in self.values[3:]][-4:] or [self.values[0]]
        types = ", ".join(self.type(dims) for _, dims in results)
        named = ", ".join(f'{self.type(dims)} {{vx.name = "r{i}"}}' for i, (_, dims) in enumerate(results))
        arguments = ", ".join(f'{name}: {self.type(dims)} {{vx.name = "{name[1:]}"}}' for name, dims in self.values[:3])
        return f"func.func @{function}({arguments})\n    -> ({named}) {{\n" + "\n".join(self.lines) + f"\n  return {', '.join(name for name, _ in results)} : {types}\n}}\n"

    def arrays(self, rows):
        random = np.random.default_rng(self.seed)
        return {"x": random.uniform(-1, 1, (rows, 2, 4)).astype(np.float32), "y": random.uniform(-1, 1, (rows, 4)).astype(np.float32),
                "w": random.uniform(-1, 1, (4, 4)).astype(np.float32)}


class Rows:
    def __init__(self, bin, folder):
        self.bin, self.folder = bin, folder
        self.claims = self.refused = self.failed = 0
        self.programs = 0

    def tool(self, name, *arguments):
        return subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, timeout=300)

    def call(self, tool, model, arrays, outputs):
        """The outputs by name, or None where the call fails."""
        arguments = []
        for name, array in arrays.items():
            np.save(f"{self.folder}/in_{name}.npy", array)
            arguments += ["--input", f"{name}=@{self.folder}/in_{name}.npy"]
        for name in outputs:
            arguments += ["--output", f"{name}=@{self.folder}/out_{name}.npy"]
        done = self.tool(tool, *model, *arguments)
        if done.returncode < 0 or done.returncode > 2:
            raise SystemExit(f"FAILED: {tool} ends with {done.returncode}: {done.stderr}")
        return {name: np.load(f"{self.folder}/out_{name}.npy") for name in outputs} if done.returncode == 0 else None

    def compare(self, what, tool, model, joined, shared, outputs, limit):
        """`joined` are arrays of ROWS rows."""
        whole = self.call(tool, model, joined | shared, outputs)
        alone = [self.call(tool, model, {name: array[i:i + 1] for name, array in joined.items()} | shared, outputs) for i in range(ROWS)]
        if whole is None or None in alone:
            self.refused += 1
            return
        for name in outputs:
            self.claims += 1
            rows = np.concatenate([one[name] for one in alone])
            if rows.shape != whole[name].shape or rows.dtype != whole[name].dtype:
                self.fail(f"{what}: '{name}' has the shape {whole[name].shape} where calls are joined, {rows.shape} where they are not")
            elif rows.dtype == np.uint16 or rows.dtype.kind != "f" or limit == 0:
                if not np.array_equal(rows, whole[name], equal_nan=rows.dtype.kind == "f"):
                    self.fail(f"{what}: rows of '{name}' are others where calls are joined")
            else:
                bound = limit * np.abs(rows).max()
                if not np.abs(rows - whole[name]).max() <= bound:
                    self.fail(f"{what}: rows of '{name}' differ by {np.abs(rows - whole[name]).max()} where calls are joined, allowed is {bound}")
                if not min(np.abs(rows[i] - rows[i - 1]).max() for i in range(ROWS)) > 100 * bound:
                    self.fail(f"{what}: rows of '{name}' do not differ from one another")

    def fail(self, text):
        self.failed += 1
        print(f"FAILED {text}", flush=True)

    def programs_of(self, first, count):
        """Some of each kind in one module, since starting processes is most of the work."""
        header, texts, made = ['vx.symbol "n"', 'vx.symbol "s"'], [], []
        for seed in range(first, first + count):
            mover = Mover(seed)
            texts.append(mover.text(f"f{len(made)}"))
            made.append(mover)
            if seed % 4:
                continue
            program = vx_ops.generate(seed, size=1 + seed % 7)
            # What is not an array in a file of NumPy's, a call that must fail, and symbols that 1 and 3 are no value of.
            if not program.runs[0] or program.fault or any("multiple" in line for line in program.header) or \
                    any(value.dtype not in NUMPY or value.dtype == "bf16" for value in (*program.inputs, *program.results)):
                continue
            text, lines, _ = write([program], lambda _: None, f"f{len(made)}")
            header += lines
            texts.append(text)
            made.append(program)
        path = f"{self.folder}/programs.mlir"
        with open(path, "w") as file:
            file.write("\n".join(dict.fromkeys(header)) + "\n" + "\n".join(texts))
        found = self.tool("vx-opt", path, "--vx-infer-shapes", "--vx-record-constraints", "--vx-find-independent-rows")
        if found.returncode != 0:
            raise SystemExit(f"FAILED: vx-opt: {found.stderr}")
        attributes = dict(re.findall(r'func\.func @f(\d+)\(.*?vx\.batch = \{(.*?)\}\} \{', found.stdout))
        for index, program in enumerate(made):
            self.programs += 1
            if str(index) in attributes:
                self.check_program(path, f"f{index}", program, attributes[str(index)])

    def check_program(self, path, function, program, attribute):
        symbol = re.search(r'symbol = "(.*?)"', attribute)[1]
        numbers = [int(number) for number in re.search(r"inputs = array<i64: (.*?)>", attribute)[1].split(",")]
        outputs = json.loads(re.search(r"outputs = (\[.*\]), symbol", attribute)[1])
        if "rows" not in outputs:
            return
        if isinstance(program, Mover):
            arrays, names = program.arrays(ROWS), [f"r{i}" for i in range(len(outputs))]
        else:
            sizes = dict(program.runs[0])
            sizes[symbol] = ROWS
            inputs = [value for value in program.inputs if not value.constant]
            # Symbols that are one with it have its size.
            sizes.update({inputs[number].dims[0]: ROWS for number in numbers if inputs[number].dims[0] in sizes})
            arrays = {f"p0_{value.name}": value.array(program.seed, sizes) for value in inputs}
            names = [f"p0_{value.name}_" for value in program.results]
        order = list(arrays)
        joined = {order[number]: arrays[order[number]] for number in numbers}
        shared = {name: array for name, array in arrays.items() if name not in joined}
        seed = program.seed if isinstance(program, Mover) else program.seed_given
        self.compare(f"seed {seed}", "vx-interpret", [path, "--function", function], joined, shared,
                     [name for name, kind in zip(names, outputs) if kind == "rows"], limit=0)

    def check_model(self, path, length):
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
        module = f"{self.folder}/model.vxm"
        filled = f"{self.folder}/{os.path.basename(path)}"
        fill = subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "fill_weights.py"), path, filled],
                              capture_output=True, text=True)
        made = self.tool("vx-compile", filled, "--target=cpu", "--cpu=x86-64-v3", "-o", module)
        if fill.returncode or made.returncode:
            raise SystemExit(f"FAILED: {path}: {fill.stderr}{made.stderr}")
        function = json.loads(self.tool("vx-info", module, "--json").stdout)["functions"][0]
        random, arrays = np.random.default_rng(1), {}
        for value in function["inputs"]:
            shape = [dim if isinstance(dim, int) else ROWS if dim == function["batch"]["symbol"] else length for dim in value["dims"]]
            if value["type"] == "f32":
                arrays[value["name"]] = random.uniform(-1, 1, shape).astype(np.float32)
            else:
                high = value.get("range", {}).get("upper") or 2
                arrays[value["name"]] = random.integers(0, high, shape).astype(np.int64)
                if high == 2:  # a mask
                    arrays[value["name"]][..., 0] = 1
        joined = {name: array for name, array in arrays.items() if name in function["batch"]["inputs"]}
        names = [value["name"] for value in function["outputs"] if value.get("rows") == 0]
        if len(names) != len(function["outputs"]):
            self.fail(f"{path}: of the outputs {[value['name'] for value in function['outputs']]} only {names} are said to have rows")
        before = self.claims
        self.compare(path, "vx-run", [module, "--device=cpu", "--no-fallback"], joined, {n: a for n, a in arrays.items() if n not in joined}, names, limit=1e-5)
        if self.claims == before:
            self.fail(f"{path}: a call fails")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--seeds", default="0:240", help="FIRST:COUNT")
    parser.add_argument("--model", action="append", default=[], help="a skeleton of test/models")
    parser.add_argument("--length", type=int, default=5, help="of what else is a symbol in a model")
    options = parser.parse_args()
    first, count = (int(part) for part in options.seeds.split(":"))
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(options.bin, folder)
        for start in range(first, first + count, 80):
            rows.programs_of(start, min(80, first + count - start))
        found = rows.claims
        for model in options.model:
            rows.check_model(model, options.length)
    print(f"{rows.programs} programs and {len(options.model)} models: {rows.claims} outputs that have rows are right, {rows.failed} are not; {rows.refused} calls failed")
    # A generator that makes none, or programs that fail, would prove nothing.
    if not rows.claims or found < count // 8 or rows.refused > max(3, found // 4):
        print(f"FAILED: too few outputs were compared: {found} of {count} programs, {rows.refused} refused")
        return 1
    return 1 if rows.failed else 0


if __name__ == "__main__":
    sys.exit(main())
