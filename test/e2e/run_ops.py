#!/usr/bin/env python3
"""Runs the op cases of a family on each device and compares every element with the reference evaluator.

  run_ops.py --bin BUILD/bin FAMILY... [--device cpu,vulkan] [--variants rocm=gfx942] [--guard cpu,vulkan] [--sixths rocm] [--filter GLOB]
             [--jobs N] [--keep FOLDER]

Cases without state of their own share a program, and as many runs of it as each has, because starting processes is most of the work. A program that fails to
compile or to run is a failure of all its cases, whatever each of them does alone; it is made smaller to name those that it takes. With --guard each program also runs with what the runtime has
against accesses outside of buffers: VX_CHECK_ARENA, and VX_CHECK_PAGES on the CPU. Exit code: 0 all passed, 1 some failed, among
them a device of those asked for that is not there.
"""
import argparse
import concurrent.futures
import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "fuzz", "programs"))

from cpu_variants import variant_flags  # noqa: E402
from op_case import FLOATS, NUMPY, decode, prefix_of, program  # noqa: E402
from shrink import responsible  # noqa: E402

SHARED = 24  # cases of one program
TIMEOUT = 120


class Failure(Exception):
    """`step` is the tool that failed, by which failures are told apart when a program is made smaller."""

    def __init__(self, text, step=""):
        super().__init__(text)
        self.step = step


class Tools:
    def __init__(self, folder, variants=(), guarded=()):
        self.folder = folder
        self.guarded = guarded  # devices that programs run on a second time, guarded
        self.variants = variants  # "rocm=gfx942": those to compile of a target
        self.environment = dict(os.environ, VX_VULKAN_VALIDATION="1", VX_CHECK_SCHEDULE="1")

    def run(self, name, *arguments, guard=None):
        command = [os.path.join(self.folder, name), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env={**self.environment, **(guard or {})})
        except subprocess.TimeoutExpired:
            return 124, "", f"no end after {TIMEOUT} s"
        return done.returncode, done.stdout, done.stderr.strip()

    def must(self, name, *arguments):
        code, output, errors = self.run(name, *arguments)
        if code != 0:
            raise Failure(f"{name} exits with {code}: {errors[-2000:]}", name)
        return output


def write_array(path, array, dtype):
    if dtype == "bf16":
        array = array.view("V2") if array.shape else array.reshape(1).view("V2").reshape(())
    np.save(path, array)


def read_array(path, dtype):
    array = np.load(path)
    return array.view(np.uint16) if dtype == "bf16" else array


def magnitude(array, dtype):
    return array & np.uint16(0x7FFF) if dtype == "bf16" else abs(array) if dtype in FLOATS else array


class Magnitudes:
    """The reference's results for the magnitudes of a program's inputs: those of all cases at once, when the first rule asks for some."""

    def __init__(self, tools, folder, cases, arrays):
        self.tools, self.folder, self.cases, self.arrays, self.results = tools, folder, cases, dict(zip(cases, arrays)), None

    def of(self, case, result):
        if self.results is None:
            self.results = self.run(self.cases)
        return self.results[case][result]

    def run(self, cases):
        folder = tempfile.mkdtemp(dir=self.folder)
        write_program(folder, cases)
        write_inputs(folder, cases, [{name: magnitude(array, case.inputs[name].dtype) for name, array in self.arrays[case].items()} for case in cases])
        run_reference(self.tools, folder, cases)
        return {case: {name: read_array(f"{folder}/want_{prefix_of(index, cases)}{name}.npy", result.dtype) for name, result in case.results.items()}
                for index, case in enumerate(cases)}


class Context:
    """What a rule may ask about one result of one run."""

    def __init__(self, case, result, arrays, want, magnitudes):
        self.case, self.result, self.arrays, self.want, self.magnitudes = case, result, arrays, want, magnitudes

    def inputs(self):
        return {name: decode(array, self.case.inputs[name].dtype) if self.case.inputs[name].dtype in FLOATS else array
                for name, array in self.arrays.items()}

    def of_magnitudes(self):
        """The reference's result for the inputs' magnitudes."""
        return self.magnitudes.of(self.case, self.result)


def write_program(folder, cases):
    with open(os.path.join(folder, "program.mlir"), "w") as file:
        file.write(program(cases))


def write_inputs(folder, cases, arrays):
    for index, case in enumerate(cases):
        for name, array in arrays[index].items():
            path = os.path.join(folder, f"in_{prefix_of(index, cases)}{name}.npy")
            write_array(path, array, case.inputs[name].dtype)


def files(folder, cases, kind):
    """The --input and --output arguments."""
    arguments = []
    for index, case in enumerate(cases):
        prefix = prefix_of(index, cases)
        for name in case.inputs:
            arguments += ["--input", f"{prefix}{name}=@{folder}/in_{prefix}{name}.npy"]
        for name in case.results:
            arguments += ["--output", f"{prefix}{name}=@{folder}/{kind}_{prefix}{name}.npy"]
    return arguments


def run_reference(tools, folder, cases):
    tools.must("vx-interpret", f"{folder}/program.mlir", *files(folder, cases, "want"))


def element_text(array, index, dtype):
    value = array[index]
    if dtype in FLOATS:
        return f"{decode(np.array([value]), dtype)[0]!r} (bits {value.tobytes()[::-1].hex()})"
    return str(value)


def compare(context, got, device, sizes):
    """A text for what differs, or None."""
    result = context.case.results[context.result]
    want, where = context.want, f"{device} {sizes}".strip()
    if got.dtype != NUMPY[result.dtype] or want.dtype != NUMPY[result.dtype]:
        return f"{where}: '{context.result}' is {got.dtype}, the reference's {want.dtype}, expected {result.dtype}"
    if got.shape != want.shape:
        return f"{where}: '{context.result}' has shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return None
    flat_got, flat_want = np.ascontiguousarray(got).reshape(got.shape), np.ascontiguousarray(want).reshape(want.shape)
    context.want = flat_want
    wrong = np.asarray(result.rule.mismatches(flat_got, flat_want, result.dtype, context))
    if not wrong.any():
        return None
    places = np.argwhere(np.broadcast_to(wrong, got.shape))
    lines = [f"{where}: '{context.result}' differs in {len(places)} of {got.size} elements (rule: {result.rule})"]
    for place in places[:3]:
        index = tuple(int(i) for i in place)
        lines.append(f"    at {list(index)}: got {element_text(flat_got, index, result.dtype)}, "
                     f"expected {element_text(flat_want, index, result.dtype)}")
    return "\n".join(lines)


class Outcome:
    def __init__(self, case, device, problem=None):
        self.case, self.device, self.problem = case, device, problem


def run_device(tools, folder, cases, arrays, magnitudes, device, sizes, guard=None):
    """Texts for the cases that differ. `sizes` are those of each case."""
    of_all = " ".join(sorted({str(each) for each in sizes if each}))
    code, _, errors = tools.run("vx-run", f"{folder}/program.vxm", f"--device={device}", "--no-fallback",
                                *files(folder, cases, device), guard=guard)
    guarded = f" with {' '.join(f'{name}={value}' for name, value in guard.items())}" if guard else ""
    expected = cases[0].fault
    if expected is not None:
        if code != 1 or expected not in errors:
            return {cases[0]: f"{device} {of_all}{guarded}: expected exit code 1 and '{expected}', got {code} and '{errors}'"}
        return {}
    if code != 0:
        raise Failure(f"vx-run --device={device} exits with {code} {of_all}{guarded}: {errors[-2000:]}", f"vx-run {device}")
    problems = {}
    for index, case in enumerate(cases):
        prefix = prefix_of(index, cases)
        for name, result in case.results.items():
            want = read_array(f"{folder}/want_{prefix}{name}.npy", result.dtype)
            got = read_array(f"{folder}/{device}_{prefix}{name}.npy", result.dtype)
            problem = compare(Context(case, name, arrays[index], want, magnitudes), got, device, f"{sizes[index] or ''}{guarded}")
            if problem:
                problems.setdefault(case, problem)
    return problems


def guards(device):
    """What a guarded run sets in the environment, for each of them."""
    pages = [{"VX_CHECK_PAGES": "behind"}, {"VX_CHECK_PAGES": "before"}] if device == "cpu" else []
    return [{"VX_CHECK_ARENA": "1"}, *pages]


def run_program(tools, root, cases, devices):
    """Texts for the cases that differ, by device; the cases stand in one program. Raises a Failure where that does not compile or run."""
    folder = tempfile.mkdtemp(dir=root)
    problems = {device: {} for device in devices}
    write_program(folder, cases)
    precision = cases[0].precision or "f32"
    tools.must("vx-compile", f"{folder}/program.mlir", f"--precision={precision}", f"--target={','.join(devices)}", *variant_flags(devices, tools.variants),
               "--no-cache", "--threads=1", "-o", f"{folder}/program.vxm")
    for sizes in zip(*(case.runs for case in cases)):
        arrays = [case.arrays(each) for case, each in zip(cases, sizes)]
        magnitudes = Magnitudes(tools, folder, cases, arrays)
        write_inputs(folder, cases, arrays)
        if cases[0].fault is None:
            run_reference(tools, folder, cases)
        for device in devices:
            for guard in [None, *guards(device)] if device in tools.guarded else [None]:
                for case, problem in run_device(tools, folder, cases, arrays, magnitudes, device, sizes, guard).items():
                    problems[device].setdefault(case, problem)
    return problems


def run_cases(tools, root, cases, devices):
    """Outcomes of all cases on all devices."""
    try:
        problems = run_program(tools, root, cases, devices)
    except Failure as failure:
        text = blame(tools, root, cases, devices, failure) if len(cases) > 1 else str(failure)
        problems = {device: dict.fromkeys(cases, text) for device in devices}
    return [Outcome(case, device, problems[device].get(case)) for device in devices for case in cases]


def blame(tools, root, cases, devices, first):
    """What a program's failure says, with the cases that it takes."""
    found = [first]

    def fails(some):
        try:
            run_program(tools, root, some, devices)
        except Failure as failure:
            found[0] = failure if failure.step == first.step else found[0]
            return failure.step == first.step
        return False

    names = lambda some: ", ".join(case.name for case in some)
    if (some := responsible(cases, fails)) is None:
        return f"a program of {len(cases)} cases failed once, and not when it ran again ({names(cases)}): {first}"
    return f"a program of {len(cases)} cases fails, as does one of {len(some)} of them ({names(some)}): {found[0]}"


def load_family(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, "ops", f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = list(module.cases())
    names = [case.name for case in cases]
    doubled = {case for case in names if names.count(case) > 1}
    if doubled:
        raise SystemExit(f"run_ops.py: error: family '{name}' has two cases of one name: {sorted(doubled)}")
    return cases


def batches(cases):
    """The cases of one program each."""
    groups = {}
    for case in cases:
        groups.setdefault((case.precision, len(case.runs), None if case.can_share else case.name), []).append(case)
    for group in groups.values():
        for begin in range(0, len(group), SHARED):
            yield group[begin:begin + SHARED]


def missing_devices(tools, wanted):
    """A text for each device that is not there."""
    listed = json.loads(tools.must("vx-run", "--list-devices", "--json"))
    present = {backend["name"] for backend in listed["backends"] if backend["available"]}
    reasons = {backend["name"]: backend.get("reason", "") for backend in listed["backends"]}
    return [f"no device '{name}': {reasons.get(name, 'it is not known')}" for name in wanted if name not in present]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="+")
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--variants", action="append", default=[], help="TARGET=VARIANT,...: compile these only")
    parser.add_argument("--guard", default="", help="devices on which each program also runs guarded")
    parser.add_argument("--sixths", default="", help="devices that run every sixth case")
    parser.add_argument("--filter", default="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="write programs and tensors here and leave them")
    options = parser.parse_args()
    tools = Tools(options.bin, options.variants, options.guard.split(","))
    devices = options.device.split(",")
    sixths = [device for device in devices if device in options.sixths.split(",")]
    whole = [device for device in devices if device not in sixths]
    for text in (missing := missing_devices(tools, devices)):
        print(f"FAILED {text}")
    if missing:
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or scratch
        os.makedirs(root, exist_ok=True)
        for family in options.families:
            cases = [case for case in load_family(family) if fnmatch.fnmatch(case.name, options.filter)]
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                runs = [pool.submit(run_cases, tools, root, batch, where) for some, where in ((cases, whole), (cases[::6], sixths)) if where for batch in batches(some)]
                outcomes = [outcome for run in runs for outcome in run.result()]
            bad = [outcome for outcome in outcomes if outcome.problem]
            texts = {}  # what a shared program's failure says is said once
            for outcome in bad:
                texts.setdefault(outcome.problem, {})[outcome.case.name] = None
            for problem, names in texts.items():
                print(f"FAILED {', '.join(f'{family}/{name}' for name in names)}\n  {problem}")
            for device in devices:
                total = sum(outcome.device == device for outcome in outcomes)
                wrong = sum(outcome.device == device for outcome in bad)
                print(f"{family} on {device}: {total - wrong} of {total} cases passed")
            if not outcomes:
                print(f"{family}: no case matches '{options.filter}'")
                failed += 1
            failed += len(bad)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
