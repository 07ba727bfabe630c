#!/usr/bin/env python3
"""A decoder whose caches are one piece of memory each, past and present, over many steps against ONNX Runtime: whole outputs after each.

  run_static_cache.py --bin BUILD/bin --source REPOSITORY [--device cpu,vulkan] [--variants rocm=gfx1100] [--filter TEXT]

A step whose position or token is out of range must fail and leave every cache as it was, to the bit. Exit code: 0 all as wanted, 1 not.
"""
import os
import sys

from call_runs import CallRuns
from run_models import np, onnx, onnxruntime

# Of each form: batch, heads, rows, depth, layers. The rows are not only multiples of a vector.
CASES = {"nested": [(2, 2, 19, 8, 2), (1, 3, 33, 5, 1)], "transposed": [(2, 2, 19, 8, 2)], "where": [(2, 2, 19, 8, 1)]}
# The step before the last two has a bad position, the last but one a bad token.
STEPS = 9
# Another order of sums, over two layers.
ALLOWED = 1e-5


# How run_calls is told of a cache: as the caller's memory, as a value whose memory the next one takes over, and as values with memory of their own.
KINDS = {"memory": ("=", "="), "values": ("$", "$"), "apart": ("$", "+")}


def steps_of(sizes, vocabulary):
    batch, _, rows, _, _ = sizes
    random = np.random.default_rng(rows)
    positions = [int(i % rows) for i in range(STEPS)]
    tokens = [random.integers(0, vocabulary, (batch, 1)) for _ in positions]
    positions[-3], tokens[-2][0, 0] = rows, vocabulary + 3
    return list(zip(tokens, positions))


def run(runs, model, module, sizes, kind, device, threads):
    """The first difference, or None."""
    batch, heads, rows, depth, layers = sizes
    names = [f"{part}{layer}" for layer in range(layers) for part in "kv"]
    random = np.random.default_rng(5)
    past = [random.standard_normal((batch, heads, rows, depth)).astype(np.float32) for _ in names]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    script = []

    def file(name, array=None):
        path = runs.file(name + ".bin")
        if array is not None:
            np.ascontiguousarray(array).tofile(path)
        return path

    for name, array in zip(names, past):
        script.append(f"memory {name} {file(f'first_{name}', array)}")
    steps = steps_of(sizes, 32)
    for number, (token, position) in enumerate(steps):
        # The first values come from the caller's memory; then each is a result of the step before.
        taken, placed = ("=", "+") if number == 0 and kind != "memory" else KINDS[kind]
        inputs, places = [taken + name for name in names], [placed + name for name in names]
        script.append(f"call main {file(f'ids{number}', token)} {file(f'position{number}', np.array([position]))} {' '.join(inputs)} -> "
                      f"{file(f'logits{number}')} {' '.join(places)}")
        for name, place in zip(names, places):
            script.append(f"save {place.replace('+', '$')} {file(f'{name}_{number}')}")
    answers, failed = runs.answers(module, device, threads, script)
    if failed:
        return failed
    for number, ((token, position), answer) in enumerate(zip(steps, answers, strict=True)):
        got = [np.fromfile(file(f"{name}_{number}"), np.float32).reshape(batch, heads, rows, depth) for name in names]
        bad = position >= rows or (token >= 32).any()
        if answer.startswith("failed") != bad or (bad and ("is 35, allowed is [-32, 32)" if position < rows else f"is {rows}, allowed is") not in answer):
            return f"step {number}: expected it to {'fail' if bad else 'be done'}, got {answer!r}"
        if bad:
            for name, old, new in zip(names, past, got):
                if old.tobytes() != new.tobytes():
                    return f"step {number}: it failed and changed {name}"
            continue
        logits, *want = session.run(None, {"ids": token, "position": np.array([position]), **{f"past_{name}": array for name, array in zip(names, past)}})
        results = [("logits", logits, np.fromfile(file(f"logits{number}"), np.float32).reshape(logits.shape))]
        results += [(name, a, b) for name, a, b in zip(names, want, got)]
        for name, a, b in results:
            if not np.isfinite(a).all() or np.abs(a - b).max() > ALLOWED * np.abs(a).max():
                return f"step {number}: {name} differs by {np.abs(a - b).max()}"
        for name, old, new in zip(names, past, got):
            others = np.arange(rows) != position
            if old[:, :, others].tobytes() != new[:, :, others].tobytes():
                return f"step {number}: {name} changes in other rows than {position}"
        past = got
    return None


def main():
    with CallRuns("--source") as runs:
        sys.path.insert(0, os.path.join(runs.options.source, "test", "models"))
        from static_cache_decoder import make
        for form, all_sizes in CASES.items():
            for sizes in all_sizes:
                name = f"{form}_{'x'.join(map(str, sizes))}"
                if not runs.wants(name):
                    continue
                model, module = runs.file(name + ".onnx"), runs.file(name + ".vxm")
                onnx.save(make(form, *sizes), model)
                _, refused = runs.compile(model, module)
                pairs = 0 if refused else runs.tool("vx-info", module).stdout.count("may be the memory of past_")
                if not refused and pairs != 2 * sizes[-1]:
                    refused = f"{pairs} pairs of past and present, expected {2 * sizes[-1]}"
                for device in runs.devices:
                    for kind in KINDS if device != "rocm" else ["values"]:
                        for threads in (1, 4) if device == "cpu" and kind == "memory" else (1,):
                            runs.count(f"{name} on {device}, {threads} threads, {kind}", refused or run(runs, model, module, sizes, kind, device, threads))
    return runs.end()


if __name__ == "__main__":
    sys.exit(main())
