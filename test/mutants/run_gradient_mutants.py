#!/usr/bin/env python3
"""Plants faults in the gradients of all ops, one after another, and sees that the tests of every run catch each.

  run_gradient_mutants.py --bin BUILD/bin [--every N] [--filter GLOB] [--table FILE] [--jobs N]

Of each op with a pullback and each operand that may have a gradient (of an op with regions, also each value that these read) the gradient that the pullback
returns is changed: its sign is turned, it is the magnitude, twice or zero. `gradient-mutants` does it in the program of a case; nothing is built for it.
Caught by "differences" is what fails test e2e.gradients.pullbacks, by "PyTorch" what fails e2e.gradients.torch, whose functions judge here, at the same points.
Each change must be caught by one of the op's cases, and without a change no case may fail. With --every one op of so many is taken, the same each time.
Exit code: 0 all are caught, 1 some are not.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import numpy as np  # noqa: E402

import run_torch_goldens  # noqa: E402
from ops import pullbacks  # noqa: E402
from run_gradients import DIFFERENCE, POINTS, Derivatives, Program, check_order, moved  # noqa: E402
from run_ops import Failure, Tools  # noqa: E402

CHANGES = ("sign", "abs", "twice", "zero")
TESTS = ("differences", "PyTorch")


def wide(arrays):
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in arrays.items()}


class Mutants:
    """One program: the case around a point, its gradients as they are, and with each change."""

    def __init__(self, tools, root, case):
        self.case, self.derived = case, Derivatives(case)
        self.first = run_torch_goldens.with_gradients(self.derived.case)
        path = f"{root}/{case.name}.mlir"
        with open(path, "w") as file:
            file.write(run_torch_goldens.program([self.first]))
        listed = tools.must("gradient-mutants", f"--vx-mutate-gradients=op=vx.{case.op} list", path, "-o", f"{root}/{case.name}.listed.mlir")
        operands = [int(line) for line in listed.split()]
        self.changes = [(operand, change) for operand in operands for change in CHANGES]
        around = [self.derived.case] * len(DIFFERENCE)
        written = [f"{operands[0]}:none"] * (len(around) + 1) + [f"{operand}:{change}" for operand, change in self.changes]
        self.program = Program(tools, root, around + [self.first] * (1 + len(self.changes)),
                               ("gradient-mutants", f"--vx-mutate-gradients=op=vx.{case.op} mutants={','.join(written)}"))

    def run(self, around, arrays):
        """The results around a point, and at it those without a change and with each."""
        results = self.program.run([*around, *[arrays] * (1 + len(self.changes))])
        return results[:len(around)], results[len(around):]

    def by_differences(self):
        """For the case without a change and for each, whether the test fails at one of its points."""
        fails = np.zeros(1 + len(self.changes), bool)
        for number in range(POINTS):
            arrays, *around = self.derived.points(self.case.runs[0], number)[:1 + len(DIFFERENCE)]
            around, at = self.run(around, arrays)
            fails |= [check_order(self.derived.case, arrays, 1, self.derived.directions[0], around, results) is not None for results in at]
        return fails

    def by_goldens(self, goldens):
        arrays = wide(run_torch_goldens.golden_inputs(self.case, goldens))
        _, at = self.run([arrays] * len(DIFFERENCE), arrays)
        return np.array([run_torch_goldens.golden_problem(self.case, results, goldens, run_torch_goldens.REFERENCE_TOLERANCE) is not None for results in at])


def check_case(tools, case, goldens):
    """By (operand, change) the tests that catch it, and by (None, None) those that fail without a change."""
    with tempfile.TemporaryDirectory() as root:
        mutants = Mutants(tools, root, case)
        fails = dict(zip(TESTS, (mutants.by_differences(), mutants.by_goldens(goldens))))
        return {key: {test for test in TESTS if fails[test][place]} for place, key in enumerate([(None, None), *mutants.changes])}


def is_of_turn(op, every):
    """One op of `every`, in the order of a number that stays what it is when others come."""
    return zlib.crc32(op.encode()) % every == 0


def write_table(path, caught):
    """What catches each change, by op and operand."""
    with open(path, "w") as file:
        file.write("| op | operand | " + " | ".join(CHANGES) + " |\n| --- | --- |" + " --- |" * len(CHANGES) + "\n")
        for op, operand in sorted({(op, operand) for op, operand, _ in caught}):
            file.write(f"| `vx.{op}` | {operand} | " + " | ".join(", ".join(sorted(caught[op, operand, change])) or "nothing" for change in CHANGES) + " |\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--every", type=int, default=1, help="one op of so many")
    parser.add_argument("--filter", default="*", help="of the names of ops")
    parser.add_argument("--table", help="write what catches each change here, in Markdown")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tools = Tools(options.bin)
    with np.load(run_torch_goldens.GOLDENS) as file:
        goldens = {name: file[name] for name in file.files}
    ops = [line.removeprefix("vx.") for line in tools.must("gradient-mutants", "--list").split()]
    ops = [op for op in ops if op not in pullbacks.REFUSED and fnmatch.fnmatch(op, options.filter) and is_of_turn(op, options.every)]
    if not ops:
        print(f"FAILED no op matches '{options.filter}'")
        return 1
    cases = [case for case in pullbacks.cases() if case.op in ops]
    failed, caught = 0, {}

    def attempt(case):
        try:
            return check_case(tools, case, goldens)
        except Failure as failure:
            return str(failure)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, found in zip(cases, pool.map(attempt, cases)):
            if isinstance(found, str) or found[None, None]:
                failed += 1
                print(f"FAILED {case.name}: {found if isinstance(found, str) else 'without a change it fails by ' + ', '.join(found[None, None])}")
                continue
            for (operand, change), tests in found.items():
                if change:
                    caught.setdefault((case.op, operand, change), set()).update(tests)
    for op in ops:
        if not any(key[0] == op for key in caught):
            failed += 1
            print(f"FAILED vx.{op}: no change was tried, expected a case in test/e2e/ops/pullbacks.py")
    for (op, operand, change), tests in caught.items():
        if not tests:
            failed += 1
            print(f"FAILED vx.{op}: its gradient of operand {operand} with the change '{change}' is noticed by no test")
    if options.table:
        write_table(options.table, caught)
    counts = ", ".join(f"{sum(test in tests for tests in caught.values())} by {test}" for test in TESTS)
    print(f"{len(ops)} ops, {len(caught)} changed gradients, {sum(bool(tests) for tests in caught.values())} caught: {counts}")
    return 1 if failed or not caught else 0


np.seterr(all="ignore")

if __name__ == "__main__":
    sys.exit(main())
