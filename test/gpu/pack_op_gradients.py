"""The gradients of the op cases of test/e2e/ops as checks of a plan: programs, inputs, and the reference's results, as test/e2e/run_gradients.py compares
them with devices. That test holds them against differences, too."""
import concurrent.futures
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import run_gradients  # noqa: E402
from run_ops import Tools, load_family  # noqa: E402


def draw_inputs(case, derived, sizes):
    """The first point of a case, at which test/e2e/run_gradients.py wants finite results."""
    arrays, _ = run_gradients.draw_point(case, derived, sizes, 0)
    return {name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in arrays.items()}


def pack_case(tools, root, number, family, case, targets):
    folder = os.path.join(root, "op_gradients", number)
    os.makedirs(folder)
    relative = lambda path: os.path.relpath(path, root)
    wide = run_gradients.with_type(case, "f32", "f64")
    derived = run_gradients.take_gradients(wide, 1)
    narrow = run_gradients.with_type(derived, "f64", "f32")
    checks = []
    with tempfile.TemporaryDirectory() as scratch:
        reference = run_gradients.Program(tools, scratch, [narrow])
        tools.must("vx-compile", f"{reference.folder}/written.mlir", f"--target={','.join(targets)}", "--no-cache", "--threads=1", "-o", f"{folder}/program.vxm")
        for index, sizes in enumerate(case.runs):
            arrays = draw_inputs(wide, derived, sizes)
            check = {"name": f"gradients of {family}: {case.name}{''.join(f' {name}={size}' for name, size in sizes.items())}", "module": relative(f"{folder}/program.vxm"),
                     "targets": targets, "inputs": {}, "results": []}
            for name in narrow.inputs:
                check["inputs"][name] = relative(f"{folder}/{index}_{name}.npy")
                np.save(f"{folder}/{index}_{name}.npy", arrays[name])
            for name, want in reference.run([arrays])[0].items():
                files = [f"{folder}/{index}_{kind}_{name}.npy" for kind in ("want", "limit")]
                np.save(files[0], want)
                finite = want[np.isfinite(want)]
                np.save(files[1], np.full(want.shape, run_gradients.DEVICE_TOLERANCE * (1 + (abs(finite).max() if finite.size else 0)), np.float64))
                check["results"].append({"output": name, "rule": "limit", "want": relative(files[0]), "limit": relative(files[1])})
            checks.append(check)
    return checks


def pack_op_gradients(bin, root, families, every, targets, jobs=2):
    tools = Tools(bin)
    work = [(family, case) for family in families for case in [case for case in load_family(family) if run_gradients.can_check(case) and not case.without_gradient][::every]]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        packed = list(pool.map(lambda number: pack_case(tools, root, str(number), *work[number], targets), range(len(work))))
    return [check for checks in packed for check in checks]
