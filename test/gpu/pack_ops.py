"""The op cases of test/e2e/ops as checks of a plan: programs, inputs, the reference's results, and each case's rule."""
import concurrent.futures
import os
import sys

import numpy as np

E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")
sys.path.insert(0, E2E)

import run_ops  # noqa: E402
from op_case import prefix_of  # noqa: E402


def pack_batch(tools, root, number, family, cases, targets):
    """The checks of one program; its files go to root/ops/NUMBER."""
    folder = os.path.join(root, "ops", number)
    os.makedirs(folder)
    relative = lambda path: os.path.relpath(path, root)
    run_ops.write_program(folder, cases)
    tools.must("vx-compile", f"{folder}/program.mlir", f"--precision={cases[0].precision or 'f32'}", f"--target={','.join(targets)}", "--no-cache",
               "--threads=1", "-o", f"{folder}/program.vxm")
    checks = []
    for index, sizes in enumerate(zip(*(case.runs for case in cases))):
        run = os.path.join(folder, str(index))
        os.makedirs(run)
        run_ops.write_program(run, cases)
        arrays = [case.arrays(each) for case, each in zip(cases, sizes)]
        magnitudes = run_ops.Magnitudes(tools, run, cases, arrays)
        run_ops.write_inputs(run, cases, arrays)
        names = cases[0].name if len(cases) == 1 else f"{cases[0].name} and {len(cases) - 1} more"
        check = {"name": f"{family}: {names}{''.join(f' {name}={size}' for name, size in sizes[0].items())}", "module": relative(f"{folder}/program.vxm"),
                 "targets": targets, "inputs": {}, "results": []}
        for position, case in enumerate(cases):
            prefix = prefix_of(position, cases)
            for name in case.inputs:
                check["inputs"][prefix + name] = relative(f"{run}/in_{prefix}{name}.npy")
        if cases[0].fault:
            check["fault"] = cases[0].fault
        else:
            run_ops.run_reference(tools, run, cases)
            for position, case in enumerate(cases):
                prefix = prefix_of(position, cases)
                for name, result in case.results.items():
                    want = run_ops.read_array(f"{run}/want_{prefix}{name}.npy", result.dtype)
                    context = run_ops.Context(case, name, arrays[position], want, magnitudes)
                    entry, limits = result.rule.packed(want, result.dtype, context) if want.size else ({"rule": "exact"}, None)
                    entry |= {"output": prefix + name, "title": f"{case.name} '{name}'", "want": relative(f"{run}/want_{prefix}{name}.npy")}
                    if limits is not None:
                        np.save(f"{run}/limit_{prefix}{name}.npy", limits)
                        entry["limit"] = relative(f"{run}/limit_{prefix}{name}.npy")
                    check["results"].append(entry)
        checks.append(check)
    return checks


def pack_ops(bin, root, families, targets, jobs=2):
    tools = run_ops.Tools(bin)
    checks, work = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for family in families:
            for cases in run_ops.batches(run_ops.load_family(family)):
                work.append(pool.submit(pack_batch, tools, root, str(len(work)), family, cases, list(targets)))
        for entry in work:
            checks += entry.result()
    # What is no part of a check: sources, and what rules asked the reference for.
    kept = {path for check in checks for path in (check["module"], *check["inputs"].values(), *(entry[key] for entry in check["results"] for key in (
        "want", "limit") if key in entry))}
    for folder, _, names in os.walk(os.path.join(root, "ops"), topdown=False):
        for name in names:
            if os.path.relpath(os.path.join(folder, name), root) not in kept:
                os.remove(os.path.join(folder, name))
        if not os.listdir(folder):
            os.rmdir(folder)
    return checks
