#!/usr/bin/env python3
"""Takes the gradients of the op cases of a family and compares them with differences of the function itself.

  run_gradients.py --bin BUILD/bin FAMILY... [--device cpu,vulkan] [--variants rocm=gfx942] [--filter GLOB] [--every N] [--jobs N]

Each case of f32 becomes one of f64: the gradients of its results, each element times a number of its own, along a random direction of all
inputs, against differences of fourth order, which the reference evaluator computes; then the gradients of the gradients likewise. This is so at two points for
all sizes of a case, and each must be right: the case's own values, and others of both signs, or those that a case states with the reason. Cases share
programs; one that fails is a failure of all of its cases. With devices each also compiles as f32 and all elements are compared with the reference, those of
two runs bit by bit with one another, on the CPU those of runs of 1, 2 and 8 threads. Exit code: 0 all passed, 1 some failed, among them a
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
from op_case import Case, Input, Result, prefix_of, program, signed  # noqa: E402
from run_ops import SHARED, Failure, Tools, files, load_family, missing_devices, read_array, run_reference, write_inputs  # noqa: E402

TOGETHER = 4  # cases of one program for the reference
POINTS = 2
STEP = 2.0**-16  # as small as rounding leaves it: within a few steps of a random point there is hardly a kink
TOLERANCE = 1e-7  # of the sum of the magnitudes
DEVICE_TOLERANCE = 2e-4  # of the greatest element
THREADS = (1, 2, 8)  # of the CPU


NARROWER = {"f64": "f32", "f32": "f16"}


def with_type(case, old, new):
    """The case with another type in the place of one; what it calls `narrow` is the next narrower one."""
    rename = lambda text: re.sub(rf"(?<![A-Za-z0-9]){old}|(?<=[x<]){old}", new, text).replace("xnarrow", f"x{NARROWER[new]}")
    inputs = {name: Input(rename(value.dtype), value.dims, value.make) for name, value in case.inputs.items()}
    results = {name: Result(rename(value.dtype), value.dims, None) for name, value in case.results.items()}
    return Case(case.name, inputs, rename(case.body), results, rename(case.header), case.runs, points=case.points)


def floats(values):
    return {name: value for name, value in values.items() if value.dtype in ("f32", "f64")}


def is_sized(value, runs):
    try:
        return all(Input(value.dtype, value.dims, lambda rng, shape: np.zeros(shape)).array(None, sizes) is not None for sizes in runs)
    except NameError:
        return False


def take_gradients(case, order):
    """The case whose results are twice the gradients of another's, of which each element counts as often as its `seed` says: of both signs, so that the
    gradients are."""
    wanted, seeds, body, gradients = floats(case.inputs), {}, [case.body.strip("\n")], {name: [] for name in floats(case.inputs)}
    wrt = ", ".join(f"%{name}" for name in wanted) + " : " + ", ".join(value.type() for value in wanted.values())
    for name, value in floats(case.results).items():
        # Only the run tells a size that data decides: each element counts once.
        seed = f"seed{order}_{name}"
        seeded = f" seed(%{seed} : {value.type()})" if is_sized(value, case.runs) else ""
        if seeded:
            seeds[seed] = Input(value.dtype, value.dims, signed(0.5, 1.5))
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
    """Cases as a file whose gradients are expanded, for the reference evaluator. `expander` is the command that does it."""

    def __init__(self, tools, root, cases, expander=("vx-opt",)):
        self.tools, self.cases = tools, cases
        self.folder = tempfile.mkdtemp(dir=root)
        with open(f"{self.folder}/written.mlir", "w") as file:
            file.write(program(cases))
        tools.must(*expander, "--vx-expand-gradients", "--vx-expand-training-forms", f"{self.folder}/written.mlir", "-o", f"{self.folder}/program.mlir")

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
# The slopes after and before the point, from the same results.
SIDES = ((-12, 1), (0, -1), (12, 2), (0, -2)), ((0, 1), (12, -1), (0, 2), (-12, -2))


def moved(arrays, direction, step=STEP):
    """The points of a difference."""
    return [{**arrays, **{name: arrays[name] + times * step * part for name, part in direction.items()}} for _, times in DIFFERENCE]


def difference(function, arrays, order, around, step=STEP, factors=DIFFERENCE):
    """The derivative that the results `around` a point give, and the sum of the magnitudes of what it is the difference of."""
    counted = floats(function.results)
    numbers, sizes = zip(*(weigh({name: value for name, value in results.items() if name in counted}, arrays, order) for results in around))
    return derivative(numbers, step, factors), max(sizes)


def derivative(numbers, step, factors=DIFFERENCE):
    """The difference of the numbers at its points; by default that of fourth order."""
    return sum(factor * number for (factor, _), number in zip(factors, numbers)) / (12 * step)


def along(order, direction, gradients):
    """What the gradients give along a direction, and the sum of the magnitudes."""
    products = [gradients[f"grad{order}_{name}"] / 2 * step for name, step in direction.items()]
    return sum(float(product.sum()) for product in products), sum(float(abs(product).sum()) for product in products)


def check_order(function, arrays, order, direction, around, gradients):
    """None, or how the gradients differ from differences of what the function is `around` the point."""
    want, size = difference(function, arrays, order, around)
    got, terms = along(order, direction, gradients)
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
        return f"{device}: '{name}' has shape {first.shape}, expected {want.shape}"
    error = np.where(first == want, 0, abs(first.astype(np.float64) - want))
    finite = want[np.isfinite(want)]
    limit = DEVICE_TOLERANCE * (1 + (abs(finite).max() if finite.size else 0))
    error[np.isnan(first) & np.isnan(want)] = 0
    if not (error <= limit).all():
        place = tuple(int(i) for i in np.unravel_index(np.nanargmax(np.where(np.isnan(error), np.inf, error)), error.shape))
        return f"{device}: '{name}' at {list(place)} is {first[place]!r}, expected {want[place]!r}"
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
            return of_program(cases, failure)
    return problems


def of_program(cases, failure):
    """A program that fails is a failure of each of its cases: alone it might not fail."""
    return {case: f"the program of {', '.join(case.name for case in cases)}: {failure}" for case in cases}


def draw_point(case, derived, sizes, number):
    """The inputs of a case's derivative at one of its points, and what draws more."""
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {sorted(sizes.items())} {number}".encode()))
    arrays = {name: array.astype(np.float64) if derived.inputs[name].dtype == "f64" else array for name, array in derived.arrays(sizes).items()}
    for name in floats(case.inputs):
        own, make = arrays[name], case.points.of(name) if case.points else None
        if make is not None:
            arrays[name] = np.asarray(make(rng, own.shape), np.float64).reshape(own.shape)
        elif number == 0:
            arrays[name] = np.where(np.isfinite(own) & (abs(own) < 16), own, signed(0.5, 1.5)(rng, own.shape))
        else:
            arrays[name] = signed(0.3, 1.7)(rng, own.shape)
    return arrays, rng


def draw_direction(case, arrays, rng):
    """Multiples of 1/64, so that a narrower type holds the points of a difference."""
    return {name: np.round(rng.uniform(-1, 1, arrays[name].shape) * 64) / 64 for name in floats(case.inputs)}


def is_finite(case, results):
    return all(np.isfinite(array).all() for name, array in results.items() if name in floats(case.results))


class Derivatives:
    """A case of f64 and its first and second gradients. All that is asked about a point is in one program: the results, those around the point, the
    gradients there, those around it, and the gradients of these."""

    def __init__(self, case):
        self.case = with_type(case, "f32", "f64")
        self.first = take_gradients(self.case, 1)
        self.second = take_gradients(self.first, 2)
        count = len(DIFFERENCE)
        self.programs = [self.case] * (1 + count) + [self.first] * (1 + count) + [self.second]

    def points(self, sizes, number):
        self.arrays, rng = draw_point(self.case, self.second, sizes, number)
        self.directions = [draw_direction(self.case, self.arrays, rng) for _ in (1, 2)]
        return [self.arrays, *moved(self.arrays, self.directions[0]), self.arrays, *moved(self.arrays, self.directions[1]), self.arrays]

    def problem(self, results):
        """None, or what is wrong at the last point."""
        count = len(DIFFERENCE)
        if all(self.arrays[name].size == 0 for name in floats(self.case.inputs)):
            return None  # nothing to take gradients by
        if not is_finite(self.case, results[0]):
            return "its results are not finite; expected points at which they are, and the reason"
        return check_order(self.case, self.arrays, 1, self.directions[0], results[1:1 + count], results[1 + count]) or \
            check_order(self.first, self.arrays, 2, self.directions[1], results[2 + count:-1], results[-1])


def check(tools, cases):
    """By case: what is wrong, or None; and the case of f32 of the gradients with the points to compare devices at. All have as many runs."""
    derivatives = [Derivatives(case) for case in cases]
    problems, points = {}, {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as root:
        try:
            all_ = Program(tools, root, [each for derived in derivatives for each in derived.programs])
            for runs in zip(*(case.runs for case in cases)):
                for number in range(POINTS):
                    results = all_.run([arrays for derived, sizes in zip(derivatives, runs) for arrays in derived.points(sizes, number)])
                    for case, sizes, derived in zip(cases, runs, derivatives):
                        own, results = results[:len(derived.programs)], results[len(derived.programs):]
                        if (problem := derived.problem(own)) is not None:
                            problems.setdefault(case, f"{sizes if sizes else ''} at point {number + 1} of {POINTS}: {problem}".strip())
                        elif number == 0:
                            points[case].append({name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in derived.arrays.items()})
        except Failure as failure:
            problems = of_program(cases, failure)
    return {case: (problems.get(case), with_type(derived.first, "f64", "f32"), points[case]) for case, derived in zip(cases, derivatives)}


def together(cases):
    """The cases of one program each."""
    groups = {}
    for case in cases:
        groups.setdefault(len(case.runs), []).append(case)
    return [group[begin:begin + TOGETHER] for group in groups.values() for begin in range(0, len(group), TOGETHER)]


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


def check_conventions(tools, root, conventions):
    problems = []
    for name, text, x, y, dx, dy in conventions:
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
                    problems.append(f"FAILED conventions/{name}\n  '{result}' is {got[result].tolist()}, expected {want}")
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
            chosen = [convention for convention in CONVENTIONS if fnmatch.fnmatch(convention[0], options.filter)]
            with tempfile.TemporaryDirectory() as root:
                problems = check_conventions(tools, root, chosen)
            print("\n".join([*problems, f"gradients of conventions: {len(chosen) - len(problems)} of {len(chosen)} cases passed"]))
            if not chosen:
                print(f"FAILED no case matches '{options.filter}'")
            failed += len(problems) + (not chosen)
            continue
        cases = [case for case in load_family(family) if can_check(case) and fnmatch.fnmatch(case.name, options.filter)][::options.every]
        without = [case for case in cases if case.without_gradient]
        for case in without:
            print(f"skipped {family}/{case.name}: {case.without_gradient}")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            checked = {}
            for found in pool.map(lambda batch: check(tools, batch), together([case for case in cases if case not in without])):
                checked |= found
            problems = {case: problem for case, (problem, _, _) in checked.items() if problem}
            # As many points have those of one program.
            groups = {}
            for case, (problem, _, points) in checked.items():
                if devices and problem is None:
                    groups.setdefault(len(points), []).append(case)
            batches = [group[begin:begin + SHARED] for group in groups.values() for begin in range(0, len(group), SHARED)]
            of_devices = lambda batch: check_devices(tools, [checked[case][1] for case in batch], [checked[case][2] for case in batch], devices)
            found = dict(itertools.chain.from_iterable(of.items() for of in pool.map(of_devices, batches)))
            problems |= {case: found[of_gradients] for case, (_, of_gradients, _) in checked.items() if of_gradients in found}
        for case, problem in problems.items():
            print(f"FAILED {family}/{case.name}\n  {problem}")
        print(f"gradients of {family}: {len(checked) - len(problems)} of {len(cases)} cases passed, {len(without)} skipped")
        if not cases:
            print(f"FAILED no case matches '{options.filter}'")
        failed += len(problems) + (not cases)
    return 1 if failed else 0


np.seterr(all="ignore")  # what is not finite is said

if __name__ == "__main__":
    sys.exit(main())
