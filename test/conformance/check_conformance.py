#!/usr/bin/env python3
"""Whether the list of what passes binds: modules that take no sizes but those of a case's files, and kernels that round to f16, fail.

  check_conformance.py --run RUN_ONNX --tool VX_CONFORMANCE --list ONNX_TXT --faults LIBRARY

LIBRARY is loaded before the runtime and has the fault (test/scripts/planted_faults.cpp). Exit code: 0 each fault is seen in each case that can show it, 1 not.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# Each fault with cases that can show it; the elements of those that are rounded are no numbers that f16 has: sums of products, and functions.
FACTORS = "matmul_?d,gemm_*,Conv1d*,Conv2d*,exp,tanh,sigmoid,layer_normalization_2d*,Linear*,softmax_*"
FAULTS = {"sizes-refused": "add*,matmul_*,gemm_*,reduce_sum_*,concat_*,Conv1d*", "input-rounded": FACTORS, "results-rounded": FACTORS}
# Faults that a case does not show: its inputs are small integers.
UNSEEN = {"input-rounded": {"softmax_example", "softmax_example_expanded", "softmax_example_expanded_ver18"}}


def run(options, fault, cases):
    """The cases that ran, and those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        done = subprocess.run([options.run, options.tool, "--target=cpu", "--mode=dynamic", "--jobs", "1", "--filter", cases, "--json", results],
                              env={**os.environ, "LD_PRELOAD": options.faults, "VX_PLANTED_FAULT": fault}, capture_output=True, text=True, timeout=600)
        if not os.path.exists(results):
            sys.exit(f"FAILED no results with {fault}: {done.stdout}{done.stderr}")
        with open(results) as file:
            names = {case["name"] for case in json.load(file)["cases"]}
    return names, set(re.findall(r"^FAILED (\S+), dynamic, cpu: ", done.stdout, re.M))


def called(path):
    """The cases that the list has calls at other sizes of, on the CPU."""
    with open(path) as file:
        return {name for name, targets in re.findall(r"^(\S+) dynamic (\S+)$", file.read(), re.M) if "cpu:" in targets}


def main():
    parser = argparse.ArgumentParser()
    for name in ("--run", "--tool", "--list", "--faults"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    failed = 0
    listed = called(options.list)
    for fault, cases in FAULTS.items():
        ran, failures = run(options, fault, cases)
        able = ran & listed
        unseen = able - failures - UNSEEN.get(fault, set())
        stale = failures & UNSEEN.get(fault, set())
        right = len(able) > 20 and not unseen and not stale
        failed += not right
        print(f"{'ok    ' if right else 'FAILED'} {fault}: {len(able & failures)} of {len(able)} cases fail"
              f"{f', which do not: {sorted(unseen)}' if unseen else ''}{f', which are said not to: {sorted(stale)}' if stale else ''}", flush=True)
    print(f"{len(FAULTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
