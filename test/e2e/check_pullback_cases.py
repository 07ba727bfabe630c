#!/usr/bin/env python3
"""Every op with a pullback has a case in ops/pullbacks.py, with gradients that PyTorch has computed, negative numbers among them; or a reason for none.

  check_pullback_cases.py --bin BUILD/bin

The ops are those of the dialect that say that they are differentiable. Exit code: 0 so it is, 1 it is not."""
import argparse
import subprocess
import sys

import numpy as np

from ops import pullbacks
from run_torch_goldens import GOLDENS, stale_inputs


def problems_of(ops, cases, goldens):
    negative = {}
    for op in sorted(ops - {case.op for case in cases} - set(pullbacks.REFUSED)):
        yield f"op 'vx.{op}' has a pullback and no case in test/e2e/ops/pullbacks.py"
    for op in sorted(({case.op for case in cases} | set(pullbacks.REFUSED)) - ops):
        yield f"'vx.{op}' has a case in test/e2e/ops/pullbacks.py and no pullback"
    for case in cases:
        if f"vx.{case.op} " not in case.body:
            yield f"case '{case.name}' has no 'vx.{case.op}'"
        if stale := stale_inputs(case, goldens):
            yield f"test/e2e/torch_goldens.npz has other inputs than the case: {stale}; run scripts/torch-goldens"
            continue
        for name, value in case.inputs.items():
            if value.dtype == "f32":
                gradient = goldens[f"pullbacks/{case.name}/grad/{name}"]
                negative.setdefault((case.op, name), gradient.ndim == 0 or not gradient.any())
                negative[case.op, name] |= bool((gradient < 0).any())
    for (op, name), is_there in negative.items():
        if not is_there:
            yield f"op 'vx.{op}': expected a gradient of '{name}' with a negative number in one of its cases, got none"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    listed = subprocess.run([f"{options.bin}/gradient-mutants", "--list"], capture_output=True, text=True, check=True).stdout
    ops, cases = {name.removeprefix("vx.") for name in listed.split()}, list(pullbacks.cases())
    with np.load(GOLDENS) as file:
        problems = list(problems_of(ops, cases, {name: file[name] for name in file.files}))
    print("\n".join([*problems, f"{len(ops)} ops with a pullback, {len({case.op for case in cases})} with a case, {len(pullbacks.REFUSED)} that refuse"]))
    return 1 if problems or not ops else 0


if __name__ == "__main__":
    sys.exit(main())
