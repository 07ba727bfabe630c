"""Compiles and runs programs in vx text on each device and compares every element with the reference evaluator."""
import json
import os
import random
import re
import subprocess
import tempfile
import typing

import numpy as np

from program import EPSILON, FLOATS, decode, shape_of, write
from cpu_variants import ALL_CPU_VARIANTS, CPU_VARIANTS  # of test/e2e, as program.py says

PERTURBED = 4  # programs beside the one itself, from which tolerances come
SECONDS = 300
TRIED = 4  # calls of one kind, of which the first that is wrong is made
UNKNOWN_TYPES = {"vulkan": {"bf16"}}  # what a target refuses, and says so


class Failure(Exception):
    """`kind` tells failures apart when a program is made smaller."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Tools:
    def __init__(self, folder, devices, variants=(), compile_for=()):
        self.folder, self.devices, self.variants = folder, list(devices), list(variants)
        self.targets = list(dict.fromkeys([*devices, *compile_for]))
        # A machine whose validation layer is older than its driver sets VX_VULKAN_VALIDATION=0.
        self.validated = os.environ.get("VX_VULKAN_VALIDATION", "1") not in ("", "0")
        self.environment = dict(os.environ, VX_VULKAN_VALIDATION=str(int(self.validated)), VX_CHECK_SCHEDULE="1")
        self.coverage, self.only_plans = None, False  # of class Coverage, where it is counted; whether nothing is to run

    def run(self, name, *arguments, seconds=SECONDS):
        try:
            done = subprocess.run([os.path.join(self.folder, name), *arguments], capture_output=True, text=True, errors="replace", timeout=seconds,
                                  env=self.environment)
        except subprocess.TimeoutExpired:
            return 124, "", f"no end after {seconds} s"
        return done.returncode, done.stdout, done.stderr.strip()

    def must(self, kind, name, *arguments):
        code, output, errors = self.run(name, *arguments)
        if code != 0:
            # Another message is another failure; names and numbers in it may differ.
            said = re.sub(r"'[^']*'|\S*/\S*|\d+", "", (errors.split("\n")[0] if code > 0 else ""))[:160]
            raise Failure(f"{kind} exits with {code}: {said}", f"{name} exits with {code}: {errors[-1500:]}")
        return output


def save(path, array, dtype):
    if dtype == "bf16":
        array = array.view("V2") if array.shape else array.reshape(1).view("V2").reshape(())
    np.save(path, array)


def load(path, dtype):
    if dtype == "sequence":
        import onnx  # for programs in vx text it need not be there
        with open(path, "rb") as file:
            return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(file.read()))
    array = np.load(path)
    return array.view(np.uint16) if dtype == "bf16" else array


class Want:
    """The reference's result, and how far another may be from it: `spread` is what small errors of each op move it."""

    def __init__(self, value, array, copies):
        self.value, self.array = value, array
        self.limit = None
        if not value.exact:
            want = decode(array, value.dtype)
            with np.errstate(invalid="ignore", over="ignore"):
                spread = np.zeros(want.shape)
                for copy in copies:
                    moved = abs(decode(copy, value.dtype) - want)
                    spread = np.maximum(spread, np.where(np.isfinite(moved), moved, 0))
                finite = spread[np.isfinite(want)]
                typical = np.median(finite) if finite.size else 0
                self.limit = 6 * np.maximum(spread, 0.2 * typical) + 4 * EPSILON[value.dtype] * abs(want) + (1e-7 if value.dtype in ("f16",) else 1e-30)

    def mismatches(self, got):
        if self.value.dtype not in FLOATS:
            return got != self.array
        a, b = decode(got, self.value.dtype), decode(self.array, self.value.dtype)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if self.limit is None:
            return ~same
        with np.errstate(invalid="ignore"):
            return ~(same | (np.isfinite(a) & np.isfinite(b) & (abs(a - b) <= self.limit)))


def sequence_problem(want, got, where):
    """Of exact tensors, in a list."""
    kinds = [[f"{array.dtype}{list(array.shape)}" for array in arrays] for arrays in (got, want)]
    if kinds[0] != kinds[1]:
        return f"{where}: a sequence of {kinds[0]}, expected {kinds[1]}"
    wrong = [place for place, (a, b) in enumerate(zip(got, want)) if not np.array_equal(a, b)]
    return f"{where}: the tensors {wrong} of a sequence of {kinds[1]} differ" if wrong else None


def problem_of(want, got, where):
    if want.value.dtype == "sequence":
        return sequence_problem(want.array, got, f"{where}: '{want.value.name}'")
    if got.dtype != want.array.dtype or got.shape != want.array.shape:
        return f"{where}: '{want.value.name}' is {got.dtype}{list(got.shape)}, expected {want.array.dtype}{list(want.array.shape)}"
    wrong = np.asarray(want.mismatches(got))
    if not wrong.any():
        return None
    places = np.argwhere(wrong)
    lines = [f"{where}: '{want.value.name}' ({want.value.dtype}) differs in {len(places)} of {got.size} elements"]
    for place in places[:4]:
        at = tuple(int(i) for i in place)
        show = lambda array: repr(float(decode(array[at].reshape(1), want.value.dtype)[0])) if want.value.dtype in FLOATS else str(array[at])
        limit = "" if want.limit is None else f", allowed is {float(want.limit[at]):.3g}"
        lines.append(f"    at {list(at)}: got {show(got)}, expected {show(want.array)}{limit}")
    return "\n".join(lines)


class BadCall(typing.NamedTuple):
    """A call of a module that must fail: by arrays in place of a program's own, by the program's index and the input's name."""

    fault: str  # what kind it is: of each that a module can have, one is made
    index: int  # of the program
    what: str  # is wrong
    message: str  # a part of it
    changed: dict


class Batch:
    """Programs of one module: function `main` with symbols, and `fixed` with the sizes of the first run where there are symbols."""

    def __init__(self, tools, programs, root):
        self.tools, self.programs = tools, programs
        types = {kind for program in programs for kind in program.types()}
        self.devices = [name for name in tools.devices if not types & UNKNOWN_TYPES.get(name, set())]
        self.folder = tempfile.mkdtemp(dir=root)
        self.write()

    def write(self):
        self.general, self.header, _ = write(self.programs, lambda program: None)
        self.module = f"{self.folder}/program.vxm"
        self.has_symbols = any(len(program.runs) > 1 for program in self.programs)

    def text(self):
        text = "\n".join(self.header) + "\n" + self.general
        if self.has_symbols:
            fixed, header, _ = write(self.programs, lambda program: program.runs[0], "fixed")
            rename = lambda text: re.sub(r"data(?=\d)", "fixed_data", text)
            symbols = [rename(line) for line in header if "data_dependent" in line]
            text += "\n".join(symbols) + "\n" + rename(fixed)
        return text

    def compile(self):
        with open(f"{self.folder}/program.mlir", "w") as file:
            file.write(self.text())
        self.compile_model(f"{self.folder}/program.mlir", self.module)

    def compile_model(self, model, module):
        if self.tools.coverage is not None:
            self.tools.coverage.add(self.must("schedule", "vx-compile", model, *self.code(), "--stop-after=schedule", "-o", "-"))
        if not self.tools.only_plans:
            self.must("compile", "vx-compile", model, *self.code(), "--no-cache", "--threads=1", "-o", module)

    def code(self):
        """What code is made."""
        targets = [name for name in self.tools.targets if name in self.devices or name not in self.tools.devices]
        variants = [f"--{variant}" for variant in self.tools.variants if variant.split("=")[0] in targets]
        if "cpu" in targets and not any(variant.startswith("--cpu=") for variant in variants):
            # One variant for a module, since making code is most of the time; the next module has another. What is planned only is planned for the same variants on all machines.
            choice = ALL_CPU_VARIANTS if self.tools.only_plans else CPU_VARIANTS
            variants.append(f"--cpu={choice[self.programs[0].seed // 8 % len(choice)]}")
        return [f"--target={','.join(targets)}", *variants]

    def must(self, *arguments):
        return self.tools.must(*arguments)

    def save_to(self, folder, text):
        """Writes the program for people; the file's name."""
        with open(f"{folder}/program.mlir", "w") as file:
            file.write("".join(f"// {line}\n" for line in text.split("\n")) + self.text())
        return f"{folder}/program.mlir"

    def sizes(self, run):
        return lambda program: program.runs[min(run, len(program.runs) - 1)]

    def file_of(self, kind, name, value):
        return f"{self.folder}/{kind}_{name}.{'pb' if value.dtype == 'sequence' else 'npy'}"

    def files(self, kind):
        arguments = []
        for index, program in enumerate(self.programs):
            for value in program.results:
                name = f"p{index}_{value.name}_"
                arguments += ["--output", f"{name}=@{self.file_of(kind, name, value)}"]
        return arguments

    def inputs(self, run, changed=()):
        """The --input arguments; `changed` are other arrays by (program, name)."""
        arguments = []
        for index, program in enumerate(self.programs):
            for value in program.inputs:
                if value.constant:
                    continue
                path = f"{self.folder}/in_p{index}_{value.name}.npy"
                array = value.array(program.seed, self.sizes(run)(program))
                if (index, value.name) in changed:
                    path = path[:-len(".npy")] + "_changed.npy"
                    array = changed[index, value.name]
                save(path, array, value.dtype)
                arguments += ["--input", f"p{index}_{value.name}=@{path}"]
        return arguments

    def reference(self, run):
        """What each result must be, by program and value."""
        text, header, deltas = write(self.programs, self.sizes(run), perturbed=PERTURBED)
        path = f"{self.folder}/reference.mlir"
        with open(path, "w") as file:
            file.write("\n".join(header) + "\n" + text)
        arguments = self.inputs(run)
        for name, (dtype, array) in deltas.items():
            save(f"{self.folder}/delta_{name}.npy", array, dtype)
            arguments += ["--input", f"{name}=@{self.folder}/delta_{name}.npy"]
        arguments += self.files("want")
        copies = {}
        for index, program in enumerate(self.programs):
            if all(value.exact for value in program.results):
                continue
            for copy in range(1, PERTURBED + 1):
                for value in program.results:
                    name = f"p{index}_w{copy}_{value.name}_"
                    arguments += ["--output", f"{name}=@{self.folder}/want_{name}.npy"]
                    copies.setdefault((index, value.name), []).append(f"{self.folder}/want_{name}.npy")
        self.tools.must("reference", "vx-interpret", path, *arguments)
        wants = {}
        for index, program in enumerate(self.programs):
            for value in program.results:
                array = load(f"{self.folder}/want_p{index}_{value.name}_.npy", value.dtype)
                wants[index, value.name] = Want(value, array, [load(copy, value.dtype) for copy in copies.get((index, value.name), [])])
        return wants

    def run(self, device, function, run, wants):
        """Raises at the first wrong program; its index is the failure's."""
        where = f"{device} @{function} {self.sizes(run)(self.programs[0]) if len(self.programs) == 1 else ''}".strip()
        self.tools.must(f"{device} run", "vx-run", *self.called(function), f"--device={device}", "--no-fallback", *self.inputs(run), *self.files(device))
        problems = {}
        for (index, name), want in wants.items():
            problem = problem_of(want, load(self.file_of(device, f"p{index}_{name}_", want.value), want.value.dtype), where)
            if problem:
                problems.setdefault(index, problem)
        return problems

    def called(self, function):
        return [self.module, "--function", function]

    def gather(self, op):
        """The axis and the number of members of an op that gathers, or None."""
        if op.kind != "gather":
            return None
        axis, members = re.search(r"axis = (\d+)(?: members = (\d+))?", op.text(Names(op))).groups()
        return int(axis), int(members or 1)

    def bad_calls(self):
        """Calls that must fail."""
        for index, program in enumerate(self.programs):
            sizes = program.runs[0]
            given = [value for value in program.inputs if not value.constant]
            for value in given:
                array = value.array(program.seed, sizes)
                for axis, dim in enumerate(value.dims):
                    if axis in value.own_symbols:
                        continue
                    # Another size than a number, or than the same symbol of another input.
                    if not isinstance(dim, str) or any(dim in other.named_dims() for other in given if other is not value):
                        shape = list(array.shape)
                        shape[axis] += 1
                        yield BadCall("size", index, f"'{value.name}' with {shape[axis]} along dimension {axis}", "", {(index, value.name): np.resize(array, shape)})
                        break
            for op in program.ops:
                gathers = self.gather(op)
                if not gathers or op.operands[1] not in given or op.results[0] not in program.results:
                    continue
                if sum(op.operands[1] is value for other in program.ops for value in other.reads()) > 1:
                    continue  # another op may refuse the index first, in its own words
                size = shape_of(op.operands[0].dims, sizes)[sum(gathers) - 1]
                indices = op.operands[1].array(program.seed, sizes)
                if indices.size == 0 or 0 in shape_of(op.results[0].dims, sizes):
                    continue
                for wrong in (size, -size - 1):
                    array = indices.copy()
                    array.reshape(-1)[-1] = wrong
                    yield BadCall("index", index, f"'{op.operands[1].name}' with the index {wrong}", f" is {wrong}, allowed is [{-size}, {size})",
                                  {(index, op.operands[1].name): array})

    def is_wrong(self, call):
        return True

    def run_bad(self, device, call):
        code, _, errors = self.tools.run("vx-run", *self.called("main"), f"--device={device}", "--no-fallback", *self.inputs(0, call.changed))
        if code not in (1, 2) or not errors.startswith("vx-run: error: ") or call.message not in errors:
            return Failure(f"bad call on {device}",
                           f"{device}: {call.what}: expected an error{f' with {call.message!r}' if call.message else ''}, got exit code {code} and {errors[-500:]!r}")
        return None


class Names:
    """What an op's text needs, when only its attributes matter."""

    def __init__(self, op):
        self.o, self.t = ["%x"] * len(op.operands), ["T"] * len(op.operands)
        self.r, self.rt = ["%r"] * len(op.results), ["T"] * len(op.results)


def check(tools, programs, root, batch_of=Batch):
    """The failures of the programs, by index."""
    failures = {}

    def apart(failure):
        if len(programs) == 1:
            return {0: failure}
        half = len(programs) // 2
        found = {}
        for begin, end in ((0, half), (half, len(programs))):
            found.update({begin + index: failure for index, failure in check(tools, programs[begin:end], root, batch_of).items()})
        # What fails together has failed, also where the parts do not.
        return found or {0: Failure(failure.kind + " beside others", f"{failure} (right when compiled in two parts)")}

    batch = batch_of(tools, programs, root)
    try:
        batch.compile()
        if tools.only_plans:
            return {}
        for run in range(2 if batch.has_symbols else 1):
            wants = batch.reference(run)
            functions = ["main"] + (["fixed"] if batch.has_symbols and run == 0 else [])
            for device in batch.devices:
                for function in functions:
                    for index, problem in batch.run(device, function, run, wants).items():
                        failures.setdefault(index, Failure(f"wrong on {device}", problem))
        calls = {}
        for call in batch.bad_calls():
            calls.setdefault(call.fault, []).append(call)
        chooser = random.Random(programs[0].seed)
        for alike in calls.values():
            call = next(filter(batch.is_wrong, chooser.sample(alike, min(len(alike), TRIED))), None)
            for device in batch.devices if call else ():
                failure = batch.run_bad(device, call)
                if failure:
                    failures.setdefault(call.index, failure)
    except Failure as failure:
        return apart(failure)
    if failures and len(programs) > 1:
        # Once more, alone: is it the program, or its neighbours?
        for index, failure in list(failures.items()):
            alone = check(tools, [programs[index]], root, batch_of)
            if not alone:
                failures[index] = Failure(failure.kind + " beside others", f"{failure} (right when compiled alone)")
    return failures
