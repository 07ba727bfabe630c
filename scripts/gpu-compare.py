#!/usr/bin/env python3
"""Runs the packed op cases of a folder on a device and compares with the results stored beside them (scripts/gpu-check).

    gpu-compare.py TOOLS OPS DEVICE

Each folder of OPS holds program.vxm, in_NAME.npy and cpu_NAME.npy: what the CPU gave, which agreed with the reference. Results must be
equal for integers and bools; for floats the difference is held against the largest magnitude of the tensor. Needs numpy.
"""
import pathlib
import subprocess
import sys

import numpy as np

TOLERANCE = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-12}
BF16_TOLERANCE = 3.2e-2
# Of a result of f32 whose factors one device rounds and the other does not; with f16 and bf16 both do.
TF32_TOLERANCE = 4e-3


def from_bf16(tensor):
    """NumPy has no bf16: its files hold pairs of bytes, the upper half of an f32."""
    return (tensor.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def problem_of(got, want, tolerance=None):
    if got.dtype == want.dtype == np.dtype("V2") and got.shape == want.shape:
        return problem_of(from_bf16(got), from_bf16(want), BF16_TOLERANCE)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"got {got.dtype}{list(got.shape)}, want {want.dtype}{list(want.shape)}"
    if got.dtype not in TOLERANCE:
        bad = got != want
    else:
        finite = np.isfinite(want)
        scale = np.abs(want[finite]).max(initial=1.0)
        with np.errstate(invalid="ignore"):
            bad = np.where(finite, ~(np.abs(got - want) <= (tolerance or TOLERANCE[got.dtype]) * scale),
                           ~((got == want) | (np.isnan(got) & np.isnan(want))))
    if not bad.any():
        return None
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {got.size} elements differ, the first at {list(first)}: got {got[first]}, want {want[first]}"


def main():
    tools, ops, device = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    programs = right = results = 0
    for folder in sorted(ops.rglob("program.vxm")):
        folder = folder.parent
        wanted = sorted(folder.glob("cpu_*.npy"))
        if not wanted:
            continue
        programs += 1
        arguments = [str(tools / "vx-run"), str(folder / "program.vxm"), f"--device={device}", "--no-fallback"]
        for path in folder.glob("in_*.npy"):
            arguments += ["--input", f"{path.stem[3:]}=@{path}"]
        for path in wanted:
            arguments += ["--output", f"{path.stem[4:]}=@/tmp/gpu_{path.stem[4:]}.npy"]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if "the module has no code for" in done.stderr:
            programs -= 1  # a case of a type that this target refuses
            continue
        if done.returncode != 0:
            print(f"FAILED {folder.relative_to(ops)}: {done.stderr.strip()[-400:]}")
            continue
        bad = 0
        tolerance = TF32_TOLERANCE if (folder / "precision").read_text() == "tf32" else None
        for path in wanted:
            results += 1
            problem = problem_of(np.load(f"/tmp/gpu_{path.stem[4:]}.npy"), np.load(path), tolerance)
            if problem:
                bad += 1
                print(f"WRONG {folder.relative_to(ops)} {path.stem[4:]}: {problem}")
        right += bad == 0
    print(f"op programs on {device}: {right} of {programs} right, {results} results compared")
    return 0 if programs and right == programs else 1


if __name__ == "__main__":
    sys.exit(main())
