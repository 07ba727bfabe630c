#!/usr/bin/env python3
"""Nodes of ONNX Runtime's own domain against its CPU, and against numpy where that has no kernel for a form; and the messages of forms that are refused.

  run_microsoft.py --bin BUILD/bin --source . [--device cpu] [--turns] [--filter TEXT]

Several nodes are one module, because starting processes is most of the work. With --turns a third of them runs, of each op in turn, and the smaller of
the networks that ONNX Runtime's tools have written. Exit code: 0 all passed, 1 some
failed, or none was chosen.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import microsoft_attention
import microsoft_nodes
import onnx
from microsoft_models import check_models
from microsoft_refusals import WAY_OUT, faults, refusals
from run_models import Bench, np, reference, required_devices
from run_nodes import SHARED, merge

SLOW = ("DynamicQuantizeLSTM", "MatMulNBits")  # a sixth of these is enough of a default run
TIES = 0.02  # the share of codes that may be one apart: halves that two right computations round differently


def wanted(bench, node):
    inputs = {name: array for name, array in node.inputs.items() if array is not None}
    if node.want:
        return node.want(inputs)
    onnx.save(node.model(), bench.path("node.onnx"))
    return reference(bench.path("node.onnx")).run(node.outputs, {name: array for name, array in inputs.items() if name not in node.constants})


def differ(node, got, want):
    """A description of the difference, or nothing."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"got {got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if not got.size:
        return None
    if node.rule == "codes":
        apart = abs(got.astype(np.int64) - want.astype(np.int64))
        return None if apart.max() <= 1 and (apart > 0).sum() <= max(1, TIES * apart.size) else f"codes differ by {apart.max()}, {(apart > 0).sum()} of {apart.size} do"
    if np.issubdtype(want.dtype, np.integer):
        return None if (got == want).all() else f"got {got.tolist()}, expected {want.tolist()}"
    if not np.isfinite(want).all():
        return "what is expected not finite"
    apart, most = abs(got.astype(np.float64) - want.astype(np.float64)).max(), abs(want.astype(np.float64)).max()
    allowed = node.rule * most if node.rule != "close" else 2 * node.terms * np.finfo(want.dtype).eps * max(most, 1e-30)
    return None if apart <= allowed else f"differs by {apart:.3g}, allowed {allowed:.3g}"


def run(bench, nodes, devices):
    group = {f"n{number}_": node for number, node in enumerate(nodes)}
    inputs = {f"{prefix}{name}": np.asarray(array) for prefix, node in group.items() for name, array in node.inputs.items() if array is not None and name not in node.constants}

    try:
        onnx.save(merge(group), bench.path("nodes.onnx"))
        bench.compile(bench.path("nodes.onnx"), bench.path("nodes.vxm"), targets=devices)
        names = [f"{prefix}{name}" for prefix, node in group.items() for name in node.outputs]
        gots = {device: bench.run(bench.path("nodes.vxm"), device, inputs, names)[0] for device in devices}
    except RuntimeError as error:
        # All of them have failed; each alone says which are the cause.
        for node in nodes:
            bench.check(node.title, False, "its module fails" if len(nodes) > 1 else str(error)[-1500:])
        for node in nodes if len(nodes) > 1 else ():
            run(bench, [node], devices)
        return
    for prefix, node in group.items():
        for name, want in zip(node.outputs, wanted(bench, node)):
            for device, got in gots.items():
                wrong = differ(node, got[prefix + name], np.asarray(want))
                bench.check(f"{node.title}, {name}, {device}{', numpy' if node.want else ''}", not wrong, wrong or "")


def refuse(bench):
    """The importer has one line for each node, and exit code 3."""
    for node, words in refusals():
        onnx.save(node.model(), bench.path("refused.onnx"))
        done = subprocess.run([os.path.join(bench.bin, "onnx-import-print"), bench.path("refused.onnx")], capture_output=True, text=True)
        name, kind = f"node 'n' ({node.op}, com.microsoft 1)", " is not supported" if WAY_OUT in words else ""
        good = done.returncode == 3 and f"{name}{kind}: {words}" in done.stderr and done.stderr.count("node 'n'") == 1
        bench.check(f"refused: {node.title}", good, f"exit code {done.returncode}: {done.stderr.strip()}")


def fail(bench, devices):
    """Calls that read outside of a table."""
    for node, words in faults():
        onnx.save(node.model(), bench.path("fault.onnx"))
        bench.compile(bench.path("fault.onnx"), bench.path("fault.vxm"), targets=devices)
        for device in devices:
            try:
                bench.run(bench.path("fault.vxm"), device, {name: array for name, array in node.inputs.items() if array is not None}, node.outputs)
                said = "exit code 0"
            except RuntimeError as error:
                said = str(error)
            bench.check(f"fails: {node.title}, {device}", "exits with 1" in said and f"n ({node.op}): {words}" in said, said)


def cases():
    for make in (microsoft_nodes.gelus, microsoft_nodes.products, microsoft_nodes.norms, microsoft_nodes.quantized, microsoft_nodes.packed, microsoft_attention.rotated,
                 microsoft_attention.multi_head, microsoft_attention.projected, microsoft_attention.grouped, microsoft_attention.recurrent):
        yield from make()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True, help="the folder of the project, for its networks")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    chosen, seen = [], collections.Counter()
    for node in cases():
        seen[node.op] += 1
        if options.filter in node.title and (not options.turns or node.always or seen[node.op] % (6 if node.op in SLOW else 3) == 1):
            chosen.append(node)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices, source=options.source)
        for begin in range(0, len(chosen), SHARED):
            run(bench, chosen[begin:begin + SHARED], devices)
        if not options.filter or options.filter in "refusals":
            refuse(bench)
            fail(bench, devices)
        check_models(bench, devices, not options.turns, options.filter)
        if not bench.passed + bench.failed:
            print(f"FAILED no node matches '{options.filter}'")
            return 1
        print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}: {len(chosen)} nodes, of which {sum(bool(node.want) for node in chosen)} are compared with numpy")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
