#!/usr/bin/env python3
"""Whether the list of what passes binds: modules that take no sizes but those of a case's files, and kernels that round to f16, fail, also at the sizes of the files
alone, and from a pack.

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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# Each fault with cases that can show it; the elements of those that are rounded are no numbers that f16 has: sums of products, and functions.
FACTORS = "matmul_?d,gemm_*,Conv1d*,Conv2d*,exp,tanh,sigmoid,layer_normalization_2d*,Linear*,softmax_*"
SIZES = "add*,matmul_*,gemm_*,reduce_sum_*,concat_*,Conv1d*"
# The fault, the mode, and whether the cases are packed first.
FAULTS = {("sizes-refused", "dynamic", False): SIZES, ("sizes-refused", "dynamic", True): SIZES, ("input-rounded", "dynamic", False): FACTORS,
          ("results-rounded", "dynamic", False): FACTORS, ("input-rounded", "static", False): FACTORS, ("results-rounded", "static", False): FACTORS}
# Faults that a case does not show: its inputs are small integers.
UNSEEN = {"input-rounded": {"softmax_example", "softmax_example_expanded", "softmax_example_expanded_ver18"}}


def run(options, fault, mode, is_packed, cases):
    """The cases that ran, and those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        results, pack = os.path.join(folder, "results.json"), os.path.join(folder, "pack")
        command = [options.run, options.tool, "--target=cpu", f"--mode={mode}", "--jobs", "1", "--filter", cases]
        if is_packed:
            subprocess.run([*command, "--compile-only", pack], stdout=subprocess.DEVNULL, check=True, timeout=600)
            command = [options.tool, "--run", pack, *command[2:]]
        done = subprocess.run([*command, "--json", results], env={**os.environ, "LD_PRELOAD": options.faults, "VX_PLANTED_FAULT": fault}, capture_output=True, text=True, timeout=600)
        if not os.path.exists(results):
            sys.exit(f"FAILED no results with {fault}: {done.stdout}{done.stderr}")
        with open(results) as file:
            names = {case["name"] for case in json.load(file)["cases"]}
    return names, set(re.findall(rf"^FAILED (\S+), {mode}, cpu: ", done.stdout, re.M))


def called(path):
    """The cases that the list has calls at other sizes of, on the CPU."""
    with open(path) as file:
        return {name for name, targets in re.findall(r"^(\S+) dynamic (\S+)$", file.read(), re.M) if "cpu:" in targets}


def main():
    parser = argparse.ArgumentParser()
    for name in ("--run", "--tool", "--list", "--faults"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    checks = Checks()
    listed = called(options.list)
    for (fault, mode, is_packed), cases in FAULTS.items():
        ran, failures = run(options, fault, mode, is_packed, cases)
        able = ran & listed if mode == "dynamic" else ran
        unseen = able - failures - UNSEEN.get(fault, set())
        stale = failures & UNSEEN.get(fault, set())
        right = len(able) > 20 and not unseen and not stale
        checks.check(f"{fault}, {mode}{', packed' * is_packed}, {len(able & failures)} of {len(able)} cases fail", right,
                     f"expected more than 20 cases, that all fail but {sorted(UNSEEN.get(fault, set()))}; not seen: {sorted(unseen)}, seen: {sorted(stale)}")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
