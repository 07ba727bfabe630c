#!/usr/bin/env python3
"""Takes the gradients of the op cases of a family and compares them with differences of the function itself.

  run_gradients.py --bin BUILD/bin FAMILY... [--device cpu,vulkan] [--variants rocm=gfx942] [--filter GLOB] [--every N] [--jobs N]

Each case of f32 becomes one of f64: the gradients of its results, each element times a number of its own, along a random direction of all
inputs, against differences of fourth order, which the reference evaluator computes; then the gradients of the gradients likewise. With
devices each also compiles as f32, with others in one program, which is taken apart where it fails, and all elements are compared with the reference, those of two runs
bit by bit with one another, on the CPU those of runs of 1, 2 and 8 threads. Exit code: 0 all passed, 1 some failed, among them a
device of those asked for that is not there, or a family without a case.
"""
import argparse
import concurrent.futures
import fnmatch
import itertools
import os
import re
import sys
import tempfile
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from cpu_variants import variant_flags  # noqa: E402
from op_case import Case, Input, Result, prefix_of, program  # noqa: E402
from run_ops import SHARED, Failure, Tools, files, load_family, missing_devices, read_array, run_reference, write_inputs  # noqa: E402

STEP = 2.0**-10  # about epsilon^(1/5): the error of the differences is as large as that of their rounding
TOLERANCE = 1e-7  # of the sum of the magnitudes
DEVICE_TOLERANCE = 2e-4  # of the greatest element
THREADS = (1, 2, 8)  # of the CPU


def with_type(case, old, new):
    """The case with another type in the place of one."""
    rename = lambda text: re.sub(rf"(?<![A-Za-z0-9]){old}|(?<=[x<]){old}", new, text)
    inputs = {name: Input(rename(value.dtype), value.dims, value.make) for name, value in case.inputs.items()}
    results = {name: Result(rename(value.dtype), value.dims, None) for name, value in case.results.items()}
    return Case(case.name, inputs, rename(case.body), results, rename(case.header), case.runs)


def floats(values):
    return {name: value for name, value in values.items() if value.dtype in ("f32", "f64")}


def is_sized(value, runs):
    try:
        return all(Input(value.dtype, value.dims, lambda rng, shape: np.zeros(shape)).array(None, sizes) is not None for sizes in runs)
    except NameError:
        return False


def take_gradients(case, order):
    """The case whose results are the gradients of another's, each times what `seed` of it says."""
    wanted, seeds, body, gradients = floats(case.inputs), {}, [case.body.strip("\n")], {name: [] for name in floats(case.inputs)}
    wrt = ", ".join(f"%{name}" for name in wanted) + " : " + ", ".join(value.type() for value in wanted.values())
    for name, value in floats(case.results).items():
        # Only the run tells a size that data decides: each element counts once.
        seed = f"seed{order}_{name}"
        seeded = f" seed(%{seed} : {value.type()})" if is_sized(value, case.runs) else ""
        if seeded:
            seeds[seed] = Input(value.dtype, value.dims, lambda rng, shape: rng.uniform(0.5, 1.5, shape))
        parts = [f"%part{order}_{name}_{place}" for place in range(len(wanted))]
        body.append(f"  {', '.join(parts)} = vx.gradient %{name} wrt({wrt}){seeded} zero_unreached : {value.type()}")
        for of, part in zip(gradients, parts):
            gradients[of].append(part)
    results = {}
    for of, parts in gradients.items():
        sum, kind = parts[0], wanted[of].type()
        for place, part in enumerate(parts[1:]):
            body.append(f"  %sum{order}_{of}_{place} = vx.add {sum}, {part} : {kind}, {kind}")
            sum = f"%sum{order}_{of}_{place}"
        # A name of its own: what the seed of the next order is of.
        body.append(f"  %grad{order}_{of} = vx.add {sum}, {sum} : {kind}, {kind}")
        results[f"grad{order}_{of}"] = Result(wanted[of].dtype, wanted[of].dims, None)
    return Case(case.name, {**case.inputs, **seeds}, "\n".join(body), results, case.header, case.runs)


class Program:
    """Cases as a file whose gradients are expanded, for the reference evaluator."""

    def __init__(self, tools, root, cases):
        self.tools, self.cases = tools, cases
        self.folder = tempfile.mkdtemp(dir=root)
        with open(f"{self.folder}/written.mlir", "w") as file:
            file.write(program(cases))
        tools.must("vx-opt", "--vx-expand-gradients", f"{self.folder}/written.mlir", "-o", f"{self.folder}/program.mlir")

    def run(self, arrays):
        """The results of each case for its inputs, which may be among more."""
        write_inputs(self.folder, self.cases, [{name: given[name] for name in case.inputs} for case, given in zip(self.cases, arrays)])
        run_reference(self.tools, self.folder, self.cases)
        return [{name: read_array(f"{self.folder}/want_{prefix_of(index, self.cases)}{name}.npy", value.dtype) for name, value in case.results.items()}
                for index, case in enumerate(self.cases)]


def weigh(values, arrays, order):
    """What is differentiated: a number, and the sum of the magnitudes of what it is the sum of."""
    terms = [values[name] * arrays.get(f"seed{order}_{name}", 1.0) for name in values]
    return sum(float(term.sum()) for term in terms), sum(float(abs(term).sum()) for term in terms)


# The factors of a difference of fourth order, and how many steps from the point each one's number is.
DIFFERENCE = ((8, 1), (-8, -1), (-1, 2), (1, -2))


def moved(arrays, direction):
    """The points of a difference."""
    return [{**arrays, **{name: arrays[name] + times * STEP * step for name, step in direction.items()}} for _, times in DIFFERENCE]


def check_order(function, arrays, order, direction, around, gradients):
    """None, or how the gradients differ from differences of what the function is `around` the point."""
    counted = floats(function.results)
    want, size = 0.0, 0.0
    for (factor, _), results in zip(DIFFERENCE, around):
        number, magnitude = weigh({name: value for name, value in results.items() if name in counted}, arrays, order)
        want += factor * number / (12 * STEP)
        size = max(size, magnitude)
    got, terms = 0.0, 0.0
    for name, step in direction.items():
        product = gradients[f"grad{order}_{name}"] / 2 * step
        got += float(product.sum())
        terms += float(abs(product).sum())
    if not np.isfinite(got) or not np.isfinite(want):
        return f"order {order}: no finite number: the gradients give {got}, differences {want}"
    if abs(got - want) > TOLERANCE * (terms + size + abs(want) + 1e-3):
        return f"order {order}: along a direction the gradients give {got!r}, differences {want!r}"
    return None


def first_difference(first, second):
    """None for the same bits, or where they are not."""
    if first.shape != second.shape:
        return f"{list(first.shape)} and {list(second.shape)}"
    different = np.flatnonzero(first.reshape(-1).view(np.uint32) != second.reshape(-1).view(np.uint32))
    if different.size == 0:
        return None
    place = tuple(int(i) for i in np.unravel_index(different[0], first.shape))
    return f"at {list(place)} {first[place]!r} and {second[place]!r}"


def check_device(tools, folder, cases, want, device):
    """A text for each case that differs."""
    runs, problems = [], {}
    for more in [[f"--threads={threads}"] for threads in THREADS] if device == "cpu" else [[], []]:
        tools.must("vx-run", f"{folder}/program.vxm", f"--device={device}", "--no-fallback", *more, *files(folder, cases, device))
        runs.append([{name: np.load(f"{folder}/{device}_{prefix_of(index, cases)}{name}.npy") for name in case.results} for index, case in enumerate(cases)])
    for index, case in enumerate(cases):
        for name in case.results:
            problem = compare(device, name, [run[index][name] for run in runs], want[index][name])
            if problem:
                problems.setdefault(case, problem)
    return problems


def compare(device, name, runs, want):
    first = runs[0]
    for run in runs[1:]:
        if (problem := first_difference(first, run)) is not None:
            return f"{device}: '{name}' is not the same {'with all numbers of threads' if device == 'cpu' else 'in two runs'}: {problem}"
    if first.shape != want.shape:
        return f"{device}: '{name}' has shape {first.shape}, want {want.shape}"
    error = np.where(first == want, 0, abs(first.astype(np.float64) - want))
    finite = want[np.isfinite(want)]
    limit = DEVICE_TOLERANCE * (1 + (abs(finite).max() if finite.size else 0))
    error[np.isnan(first) & np.isnan(want)] = 0
    if not (error <= limit).all():
        place = tuple(int(i) for i in np.unravel_index(np.nanargmax(np.where(np.isnan(error), np.inf, error)), error.shape))
        return f"{device}: '{name}' at {list(place)} is {first[place]!r}, want {want[place]!r}"
    return None


def check_devices(tools, cases, points, devices):
    """Texts for the cases that differ, which have one program; of the points of each there are as many."""
    problems = {}
    with tempfile.TemporaryDirectory() as root:
        try:
            reference = Program(tools, root, cases)
            folder = reference.folder
            tools.must("vx-compile", f"{folder}/written.mlir", f"--target={','.join(devices)}", *variant_flags(devices, tools.variants), "--no-cache",
                       "--threads=1", "-o", f"{folder}/program.vxm")
            for arrays in zip(*points):
                want = reference.run(arrays)
                for device in devices:
                    for case, problem in check_device(tools, folder, cases, want, device).items():
                        problems.setdefault(case, problem)
        except Failure as failure:
            if len(cases) == 1:
                return {cases[0]: str(failure)}
            problems = {}
            for case, own in zip(cases, points):
                problems |= check_devices(tools, [case], [own], devices)
    return problems


# Where a case's own values do not do, numbers at which everything has a derivative.
TAME = [lambda array, rng: np.where(np.isfinite(array) & (abs(array) < 16), array, rng.uniform(0.5, 1.5, array.shape)),
        *[lambda array, rng: rng.uniform(0.3, 1.7, array.shape)] * 6,
        lambda array, rng: 0.3 + 0.01 * rng.permutation(array.size).reshape(array.shape)]  # no two of an input are near one another
NO_POINT = "its results are not finite wherever the inputs are"


def draw_point(case, derived, sizes, attempt):
    """The inputs of a case's derivative, those that are floats as far from where nothing has a derivative as the attempt says, and what draws more."""
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {sorted(sizes.items())} {attempt}".encode()))
    arrays = {name: array.astype(np.float64) if derived.inputs[name].dtype == "f64" else array for name, array in derived.arrays(sizes).items()}
    for name in floats(case.inputs):
        arrays[name] = TAME[attempt](arrays[name], rng)
    return arrays, rng


def is_finite(case, results):
    return all(np.isfinite(array).all() for name, array in results.items() if name in floats(case.results))


def check(tools, case):
    """What is wrong, or None; and the case of f32 of the gradients with the points to compare devices at."""
    case = with_type(case, "f32", "f64")
    first = take_gradients(case, 1)
    second = take_gradients(first, 2)
    count, points = len(DIFFERENCE), []
    with tempfile.TemporaryDirectory() as root:
        # All that is asked about a point is one program: its results, those around it, the gradients there, those around it, and the gradients of these.
        all_ = Program(tools, root, [case] * (1 + count) + [first] * (1 + count) + [second])
        for sizes in case.runs:
            problem = None
            for attempt in range(len(TAME)):
                arrays, rng = draw_point(case, second, sizes, attempt)
                directions = [{name: rng.uniform(-1, 1, arrays[name].shape) for name in floats(case.inputs)} for _ in (1, 2)]
                results = all_.run([arrays, *moved(arrays, directions[0]), arrays, *moved(arrays, directions[1]), arrays])
                if not is_finite(case, results[0]):
                    problem = problem or NO_POINT
                    continue
                problem = check_order(case, arrays, 1, directions[0], results[1:1 + count], results[1 + count]) or \
                    check_order(first, arrays, 2, directions[1], results[2 + count:-1], results[-1])
                if problem is None:
                    break
            if problem and problem != NO_POINT:
                return f"{sizes if sizes else ''} {problem}".strip(), None, []
            if problem is None:
                points.append({name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in arrays.items()})
    return None if points else NO_POINT, with_type(first, "f64", "f32"), points


# Where differences tell nothing: what is said of ties and zeros, as PyTorch has it. Op text over %x and %y, their values, the gradients.
CONVENTIONS = [
    ("max", "%r = vx.max %x, %y : {t}, {t}", [1, 2, 3], [1, 5, 3], [0.5, 0, 0.5], [0.5, 1, 0.5]),
    ("min", "%r = vx.min %x, %y : {t}, {t}", [1, 2, 3], [1, 5, 3], [0.5, 1, 0.5], [0.5, 0, 0.5]),
    ("relu", "%z = vx.constant dense<0.0> : {t}\n  %r = vx.max %x, %z : {t}, {t}", [-1, 0, 2], [0] * 3, [0, 0, 1], [0] * 3),
    ("abs", "%r = vx.abs %x : {t}", [-2, 0, 3], [0] * 3, [-1, 0, 1], [0] * 3),
    ("pow", "%r = vx.pow %x, %y : {t}, {t}", [0, 0, 2], [0, 2, 0], [0, 0, 0], [0, 0, np.log(2)]),
    ("reduce_max", "%r = vx.reduce max %x axes = [0] : {t}", [4, 1, 4], [0] * 3, [0.5, 0, 0.5], [0] * 3),
    ("reduce_prod", "%r = vx.reduce prod %x axes = [0] : {t}", [0, 2, 3], [0] * 3, [6, 0, 0], [0] * 3),
    ("window_max", "%r = vx.reduce_window max %x window = [2] strides = [1] dilations = [1] pads = [0] x [0] : {t}", [5, 5, 1], [0] * 3,
     [1, 1, 0], [0] * 3),
    ("scatter_twice", "%i = vx.constant dense<[[1], [1], [7]]> : tensor<3x1xi64>\n  %r = vx.scatter set %x, %i, %y axes = [0] : {t}, tensor<3x1xi64>, {t}",
     [1, 2, 3], [4, 5, 6], [1, 0, 1], [0, 1, 0]),
    ("gather_from_the_end", "%i = vx.constant dense<[-1, 0, -1]> : tensor<3xi64>\n  %r = vx.gather %x, %i axis = 0 : {t}, tensor<3xi64>", [1, 2, 3], [0] * 3,
     [1, 0, 2], [0] * 3),
]


def check_conventions(tools, root):
    problems = []
    for name, text, x, y, dx, dy in CONVENTIONS:
        kind = "tensor<3xf64>"
        result = {"reduce_max": [], "reduce_prod": [], "window_max": [2]}.get(name, [3])
        of = f"tensor<{''.join(f'{size}x' for size in result)}f64>"
        body = "  " + text.replace("{t}", kind) + f"\n  %dx, %dy = vx.gradient %r wrt(%x, %y : {kind}, {kind}) zero_unreached : {of}"
        case = Case(name, {"x": Input("f64", [3], None), "y": Input("f64", [3], None)}, body,
                    {"dx": Result("f64", [3], None), "dy": Result("f64", [3], None)})
        [got] = Program(tools, root, [case]).run([{"x": np.array(x, np.float64), "y": np.array(y, np.float64)}])
        for result, want in (("dx", dx), ("dy", dy)):
            for place, number in enumerate(want):
                if not abs(got[result][place] - number) < 1e-12:
                    problems.append(f"FAILED conventions/{name}\n  '{result}' is {got[result].tolist()}, want {want}")
                    break
    return problems


def can_check(case):
    return not case.fault and not case.precision and "variable_store" not in case.body and any(v.dtype == "f32" for v in case.inputs.values()) and \
        any(v.dtype == "f32" for v in case.results.values()) and \
        not any(v.dtype in ("f16", "bf16", "f64") for v in (*case.inputs.values(), *case.results.values())) and \
        not re.search(r"\b(f16|bf16|f64)\b|xf16|xbf16|xf64", case.body + case.header)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="+")
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--device", default="", help="compare these with the reference too")
    parser.add_argument("--variants", action="append", default=[], help="TARGET=VARIANT,...: compile these only")
    parser.add_argument("--filter", default="*")
    parser.add_argument("--every", type=int, default=1, help="one of so many cases of a family")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tools = Tools(options.bin, options.variants)
    devices = [device for device in options.device.split(",") if device]
    for text in (missing := missing_devices(tools, devices)):
        print(f"FAILED {text}")
    if missing:
        return 1
    failed = 0
    for family in options.families:
        if family == "conventions":
            with tempfile.TemporaryDirectory() as root:
                problems = check_conventions(tools, root)
            print("\n".join([*problems, f"gradients of conventions: {len(CONVENTIONS) - len(problems)} of {len(CONVENTIONS)} cases passed"]))
            failed += len(problems)
            continue
        cases = [case for case in load_family(family) if can_check(case) and fnmatch.fnmatch(case.name, options.filter)][::options.every]

        def attempt(case):
            try:
                return check(tools, case)
            except Failure as failure:
                return str(failure), None, []

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            checked = list(pool.map(attempt, cases))
            problems = [problem for problem, _, _ in checked]
            # As many points have those of one program.
            groups = {}
            for place, (problem, _, points) in enumerate(checked):
                if devices and problem is None:
                    groups.setdefault(len(points), []).append(place)
            batches = [group[begin:begin + SHARED] for group in groups.values() for begin in range(0, len(group), SHARED)]
            of_devices = lambda batch: check_devices(tools, [checked[place][1] for place in batch], [checked[place][2] for place in batch], devices)
            found = dict(itertools.chain.from_iterable(of.items() for of in pool.map(of_devices, batches)))
            problems = [problem or found.get(case) for problem, (_, case, _) in zip(problems, checked)]
        for case, problem in zip(cases, problems):
            if problem and problem != NO_POINT:
                print(f"FAILED {family}/{case.name}\n  {problem}")
            elif problem == NO_POINT:
                print(f"skipped {family}/{case.name}: {problem}")
        without = sum(problem == NO_POINT for problem in problems)
        wrong = sum(problem is not None for problem in problems) - without
        print(f"gradients of {family}: {len(cases) - wrong - without} of {len(cases)} cases passed, {without} skipped")
        failed += wrong + (not cases)
    return 1 if failed else 0


np.seterr(all="ignore")  # a point that does not do is tried again

if __name__ == "__main__":
    sys.exit(main())
