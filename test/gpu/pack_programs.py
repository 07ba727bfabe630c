"""Random programs (test/fuzz/programs) as checks of a plan: made, compiled and given the reference's results here, and run where the GPU is."""
import concurrent.futures
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "programs"))

import check as programs  # noqa: E402
import vx_ops  # noqa: E402
from program import FLOATS  # noqa: E402

TOGETHER = 8  # programs of one module


def result_entries(wants, run, relative):
    entries = []
    for (index, name), want in wants.items():
        output = f"p{index}_{name}_"
        path = f"{run}/want_{output}.npy"
        programs.save(path, want.array, want.value.dtype)
        entry = {"output": output, "title": f"program {index} '{name}'", "want": relative(path)}
        if want.value.dtype not in FLOATS or want.array.size == 0:
            entry["rule"] = "exact"
        elif want.limit is None:
            entry |= {"rule": "ulp", "units": 0}
        else:
            np.save(f"{run}/limit_{output}.npy", np.asarray(want.limit, np.float64))
            entry |= {"rule": "limit", "limit": relative(f"{run}/limit_{output}.npy")}
        entries.append(entry)
    return entries


def pack_batch(bin, root, first, targets):
    """The checks of one module. Its programs begin at seed `first`."""
    tools = programs.Tools(bin, targets)
    relative = lambda path: os.path.relpath(path, root)
    made = [vx_ops.generate(first + index, size=1 + (first + index) % 7) for index in range(TOGETHER)]
    batch = programs.Batch(tools, made, os.path.join(root, "programs"))
    batch.compile()
    checks = []

    def inputs(folder, run, changed=()):
        os.makedirs(folder)
        files = {}
        for index, program in enumerate(made):
            for value in program.inputs:
                if not value.constant:
                    name = f"p{index}_{value.name}"
                    array = changed.get((index, value.name)) if changed and (index, value.name) in changed else value.array(program.seed, batch.sizes(run)(program))
                    programs.save(f"{folder}/in_{name}.npy", array, value.dtype)
                    files[name] = relative(f"{folder}/in_{name}.npy")
        return files

    base = {"module": relative(batch.module), "targets": targets}
    for run in range(2 if batch.has_symbols else 1):
        folder = os.path.join(batch.folder, f"run{run}")
        files = inputs(folder, run)
        results = result_entries(batch.reference(run), folder, relative)
        for function in ["main"] + (["fixed"] if batch.has_symbols and run == 0 else []):
            checks.append({"name": f"programs {first} to {first + TOGETHER - 1}, @{function}, sizes {run}", "function": function, "inputs": files,
                           "results": results, **base})
    for call in batch.bad_calls():
        if call.message:
            checks.append({"name": f"program {first + call.index}: {call.what}", "function": "main", "fault": call.message, "results": [],
                           "inputs": inputs(os.path.join(batch.folder, "bad"), 0, call.changed), **base})
            break
    return checks


def pack_programs(bin, root, first, count, targets, jobs=2):
    os.makedirs(os.path.join(root, "programs"))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        work = [pool.submit(pack_batch, bin, root, first + begin, targets) for begin in range(0, count, TOGETHER)]
        checks = [check for entry in work for check in entry.result()]
    kept = {path for check in checks for path in (check["module"], *check["inputs"].values(), *(entry[key] for entry in check["results"] for key in (
        "want", "limit") if key in entry))}
    for folder, _, names in os.walk(os.path.join(root, "programs"), topdown=False):
        for name in names:
            if os.path.relpath(os.path.join(folder, name), root) not in kept:
                os.remove(os.path.join(folder, name))
        if not os.listdir(folder):
            os.rmdir(folder)
    return checks
