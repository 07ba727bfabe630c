#!/usr/bin/env python3
"""The gradients of random programs by all their inputs of floats, against differences: of the reference evaluator (vx text), of ONNX Runtime (ONNX).

  run_program_gradients.py --bin BUILD/bin --seeds FIRST:COUNT [--kind vx,onnx] [--shrink SECONDS] [--mutate OP]

A program is made of f32, integers and bools, with sizes as in its first run, and computes in f64. The gradients of its results, of which each element counts as
often as a number of either sign says, are compared along a random direction of all inputs with differences of fourth order at two steps. Where those of the two
steps differ from one another a kink or a jump is near, and nothing is said. Neither is anything said of results that are not finite, of an op that ONNX Runtime
does not have in f64, or of sizes whose product has too many terms for the compiler. These are counted, and half of all programs must be compared. A program that
fails is made smaller. With --mutate the gradient by the first operand of the first op of a kind has its sign turned (vx text only), and the exit code is 0 where
that fails a program. Exit code else: 0 none failed, 1 some did.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import shrink as shrinking  # noqa: E402
from program_gradients import FloatGenerator, Inconclusive, VxDifferences, case_of, generate  # noqa: E402
import op_case  # noqa: E402  of test/e2e, as program.py says
from run_gradients import TOLERANCE, take_gradients  # noqa: E402
from run_ops import Failure, Tools  # noqa: E402


def check(tools, program, differences, *arguments):
    """None, or how a program's gradients differ from differences."""
    with tempfile.TemporaryDirectory() as root:
        got, wants, size, slopes = differences(tools, root, program, *arguments).compute()
    limit = TOLERANCE * (size + max(map(abs, wants)) + 1e-3)
    # Rounding is greater for the smaller step.
    if not np.isfinite(wants).all() or abs(wants[0] - wants[1]) > limit:
        raise Inconclusive("a kink or a jump is near")
    if np.isfinite(got) and abs(got - wants[0]) <= 2 * limit:
        return None
    # Of values that are equal, or nearly, a minimum takes one after the point and another one before it: both steps lie beyond. A smooth function's slopes
    # differ by much less than a gradient that is wrong.
    if np.isfinite(got) and abs(slopes[0] - slopes[1]) > max(4 * limit, abs(got - wants[0]) / 50):
        raise Inconclusive("two slopes meet at the point")
    return f"along a direction the gradients give {got!r}, differences {wants[0]!r} and {wants[1]!r}"


def problem_of(tools, program, *arguments):
    try:
        return check(tools, program, *arguments)
    except Failure as failure:
        if "whose sizes have a product of at most" in str(failure):
            raise Inconclusive("a product of sizes has too many terms, which is refused") from failure
        return str(failure)


def kind_of(problem):
    """What stays the same while a program is made smaller."""
    return re.sub(r"\d+|'[^']*'", "", problem.split(":")[0])[:60]


def report(tools, seed, program, problem, seconds, arguments):
    def fails(smaller):
        try:
            found = problem_of(tools, smaller, *arguments)
        except Inconclusive:
            return False
        return found is not None and kind_of(found) == kind_of(problem)

    smaller = shrinking.shrink(program, fails, seconds)
    print(f"FAILED seed {seed}, {len(program.ops)} ops, now {len(smaller.ops)} ({', '.join(smaller.kinds())}): {problem_of(tools, smaller, *arguments)}", flush=True)
    if arguments[0] is VxDifferences:
        print(op_case.program([take_gradients(case_of(smaller), 1)]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--seeds", required=True, help="FIRST:COUNT")
    parser.add_argument("--kind", default="vx")
    parser.add_argument("--shrink", type=float, default=30, help="seconds to make one failure smaller")
    parser.add_argument("--mutate", help="an op whose gradients are wrong, as vx.sin")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tools = Tools(options.bin)
    first, count = map(int, options.seeds.split(":"))
    expander = ("gradient-mutants", "--vx-inline-calls", f"--vx-mutate-gradients=op={options.mutate} mutants=0:sign") if options.mutate else ("vx-opt", "--vx-inline-calls")
    kinds = {"vx": (FloatGenerator, (VxDifferences, expander))}
    if "onnx" in options.kind:
        import onnx_gradients
        import onnx_ops
        kinds["onnx"] = (onnx_ops.OnnxGenerator, (onnx_gradients.OnnxDifferences,))
    failed = 0
    for kind in options.kind.split(","):
        if kind not in kinds:
            parser.error(f"--kind: expected vx, onnx or both, got {kind}")
        generator, arguments = kinds[kind]

        def attempt(seed):
            try:
                program = generate(seed, generator)
                return seed, program, problem_of(tools, program, *arguments), None
            except Inconclusive as inconclusive:
                return seed, None, None, str(inconclusive)

        compared, reasons, ops = 0, collections.Counter(), collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for seed, program, problem, reason in pool.map(attempt, range(first, first + count)):
                if reason:
                    reasons[reason] += 1
                    continue
                compared += 1
                ops.update(set(program.kinds()))
                if problem and options.mutate:
                    # Another failure is no proof that a wrong gradient is seen.
                    failed += "the gradients give" in problem
                    print(f"seed {seed}: {problem}", flush=True)
                elif problem:
                    failed += 1
                    report(tools, seed, program, problem, options.shrink, arguments)
        print(f"gradients of {kind} programs: {compared} of {count} compared, {failed} failed; nothing is said of {dict(reasons)}")
        print("ops: " + ", ".join(f"{name} {number}" for name, number in sorted(ops.items())))
        if (not compared or compared * 2 < count) and not options.mutate:
            print("FAILED: expected half of the programs to be compared")
            failed += 1
    return (0 if failed else 1) if options.mutate else 1 if failed else 0


np.seterr(all="ignore")

if __name__ == "__main__":
    sys.exit(main())
