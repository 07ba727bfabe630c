#!/usr/bin/env python3
"""Random programs on each device, compared with the reference evaluator (vx text) and with ONNX Runtime (ONNX).

  run_programs.py --bin BUILD/bin [--minutes N | --seeds FIRST:COUNT] [--seed S] [--device cpu,vulkan] [--kind vx,onnx] [--focus OP,...] [--found FOLDER]

A program that fails is made smaller and written to the folder of what was found, with its seed. Exit code: 0 none failed, 1 some did, among them a device that is not there."""
import argparse
import concurrent.futures
import datetime
import json
import os
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import shrink as shrinking  # noqa: E402
import vx_ops  # noqa: E402
from coverage import Coverage  # noqa: E402
from check import UNKNOWN_TYPES, Batch, Failure, Tools, check  # noqa: E402

RAREST = 6  # ops that a guided batch is about
BATCH = 8  # programs of one module: starting processes is much of the work


def kinds(options):
    """By name, what makes programs and what checks them."""
    found = {"vx": (vx_ops.generate, Batch)}
    if "onnx" in options.kind:
        import onnx_check
        import onnx_ops
        found["onnx"] = (onnx_ops.generate, onnx_check.OnnxBatch)
    return {name: found[name] for name in options.kind}


def kind_of(first, options):
    """Of the programs that begin at this seed: they take turns, whatever else runs."""
    return options.kind[first // BATCH % len(options.kind)]


def programs_of(first, count, options, focus):
    generate = options.kinds[kind_of(first, options)][0]
    # bf16 comes in modules of its own, since not all devices know it.
    bf16 = first // BATCH % 8 == 6 and kind_of(first, options) == "vx" and options.bf16
    # What is looked for comes several times in a program.
    least = 5 if focus else 1
    return [generate(first + index, size=least + (first + index) % 7, focus=focus, bf16=bf16) for index in range(count)]


def focus_of(first, tools, options):
    """The ops that are to come often in a batch: those asked for. Where it is counted, every other batch in vx text takes what was met least until now, so
    that the rare come to their number, too; it is written with what was found, as the seed alone does not make the program."""
    is_guided = tools.coverage is not None and options.minutes and first // BATCH % 4 == 0 and kind_of(first, options) == "vx"
    return options.focus or (tools.coverage.rarest(tools.devices, RAREST) if is_guided else [])


def run_batch(tools, root, first, count, options):
    """Failures with their programs."""
    try:
        focus = focus_of(first, tools, options)
        programs = programs_of(first, count, options, focus)
        for program in programs:
            program.origin = f"seed {program.seed_given}{', focus ' + ','.join(focus) if focus else ''}"
    except Exception as error:  # a fault of the generator is one to report, with its seed
        return [(None, Failure("generator", f"seeds {first} to {first + count - 1}: {error!r}"))], []
    with tempfile.TemporaryDirectory(dir=root) as folder:
        failures = check(tools, programs, folder, options.kinds[kind_of(first, options)][1])
    return [(programs[index], failure) for index, failure in failures.items()], programs


def reduce_failure(tools, program, failure, batch_of, seconds):
    if "beside others" in failure.kind:
        return program
    narrowed = Tools(tools.folder, [d for d in tools.devices if d in failure.kind] or tools.devices, tools.variants)

    def fails(candidate):
        with tempfile.TemporaryDirectory() as folder:
            found = check(narrowed, [candidate], folder, batch_of)
        return bool(found) and found[0].kind == failure.kind

    return shrinking.shrink(program, fails, seconds)


def report(tools, program, failure, kind, options):
    batch_of = options.kinds[kind][1]
    smaller = reduce_failure(tools, program, failure, batch_of, options.shrink)
    folder = os.path.join(options.found, f"{kind}-{program.seed_given}")
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        again = check(tools, [smaller], scratch, batch_of)
        text = str(again[0]) if again else str(failure)
        path = batch_of(tools, [smaller], scratch).save_to(folder, f"{program.origin}, sizes {smaller.runs}\n{text}")
    print(f"FAILED {kind} {program.origin} ({failure.kind}), {len(program.ops)} ops, now {len(smaller.ops)}: {path}\n  {text}", flush=True)


def present_devices(tools, wanted):
    listed = json.loads(tools.must("list", "vx-run", "--list-devices", "--json"))
    return [name for name in wanted if any(backend["name"] == name and backend["available"] for backend in listed["backends"])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seeds", help="FIRST:COUNT")
    parser.add_argument("--seed", type=int, help="the first seed; by the date when not given")
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--variants", action="append", default=[], help="TARGET=VARIANT,...: compile these only")
    parser.add_argument("--kind", default="vx,onnx", help="vx text, ONNX, or both")
    parser.add_argument("--focus", default="", help="ops that are to come often")
    parser.add_argument("--found", default="found-programs", help="the folder that failures are written to")
    parser.add_argument("--shrink", type=float, default=90, help="seconds to make one failure smaller")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--coverage", action="store_true", help="count what of the compiler the programs ran through: it has a floor")
    parser.add_argument("--least", type=float, default=100, help="with --coverage: how often each op and decision is to be met in an hour; without --minutes, in all")
    parser.add_argument("--only-plans", action="store_true", help="compile to schedules, count, and run nothing")
    parser.add_argument("--most", type=int, default=20, help="failures after which to end")
    options = parser.parse_args()
    options.kind = options.kind.split(",")
    if unknown := [name for name in options.kind if name not in ("vx", "onnx")]:
        parser.error(f"--kind: expected vx, onnx or both, got {', '.join(unknown)}")
    options.kinds = kinds(options)
    options.focus = [name for name in options.focus.split(",") if name]
    tools = Tools(options.bin, options.device.split(","), options.variants)
    present = present_devices(tools, tools.devices)
    for name in tools.devices:
        if name not in present:
            print(f"FAILED: no device '{name}' here")
            return 1
    tools.coverage, tools.only_plans = Coverage() if options.coverage or options.only_plans else None, options.only_plans
    options.bf16 = any("bf16" not in UNKNOWN_TYPES.get(name, ()) for name in tools.devices)
    today = datetime.date.today()
    first = options.seed if options.seed is not None else 10**6 * (today.toordinal() % 100000)
    count = None
    if options.seeds:
        first, count = (int(part) for part in options.seeds.split(":"))
    until = time.time() + 60 * options.minutes if options.minutes else None
    lock, state = threading.Lock(), {"next": first, "done": 0, "failed": 0, "refused": 0, "kinds": {}}
    root = tempfile.mkdtemp()

    def work():
        while True:
            with lock:
                begin = state["next"]
                amount = BATCH if count is None else min(BATCH, first + count - begin)
                if amount <= 0 or (until and time.time() > until) or state["failed"] >= options.most:
                    return
                state["next"] += amount
            failures, programs = run_batch(tools, root, begin, amount, options)
            # What the reference refuses says nothing of the compiler; it is counted, so that it cannot become much.
            refused = [failure for failure in failures if failure[1].kind == "refused"]
            failures = [failure for failure in failures if failure[1].kind != "refused"]
            for program, failure in refused:
                print(f"refused: {program.origin}: {str(failure)[:200]}", flush=True)
            with lock:
                state["refused"] += len(refused)
                state["done"] += len(programs)
                state["failed"] += len(failures)
                for program in programs:
                    for kind in program.kinds():
                        state["kinds"][kind] = state["kinds"].get(kind, 0) + 1
            for program, failure in failures:
                if program is None:
                    print(f"FAILED {failure}", flush=True)
                else:
                    report(tools, program, failure, kind_of(begin, options), options)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(work) for _ in range(options.jobs)]:
            future.result()
    counts = ", ".join(f"{name} {number}" for name, number in sorted(state["kinds"].items()))
    print(f"seeds {first} to {state['next'] - 1}: {state['done'] - state['failed'] - state['refused']} of {state['done']} programs right on {','.join(tools.devices)}, {state['refused']} refused by the reference\nops: {counts}")
    if "vulkan" in tools.devices and not tools.validated:
        print("not validated: VX_VULKAN_VALIDATION is off, so no validation layer saw what ran on vulkan")
    lacking = []
    if tools.coverage:
        floor = int(options.least * options.minutes / 60) if options.minutes else int(options.least)
        print(f"coverage:\n{tools.coverage.text()}\neach is to be met {floor} times or more")
        lacking = tools.coverage.lacking(tools.devices, floor)
        for line in lacking:
            print(f"FAILED coverage: {line}")
    refused_much = state["refused"] > 1 + state["done"] / 50
    if refused_much:
        print("FAILED: the reference refuses more than one program of 50")
    # A focus that no program has is a name that no op has.
    missing = [name for name in options.focus if name not in state["kinds"]]
    if missing or not state["done"]:
        print(f"FAILED: no program has {', '.join(missing)}" if missing else "FAILED: no program was run")
    return 1 if state["failed"] or lacking or refused_much or missing or not state["done"] else 0


if __name__ == "__main__":
    sys.exit(main())
