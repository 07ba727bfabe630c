"""Times the cases of draw_nodes.py in vx and in ONNX Runtime, in turns, by the time that the process computes: vx computes on a thread of its own.

    time_nodes.py --seed HASH --first N --count N [--turns 9] [--threads 1]

Writes a line of JSON for each case: its number, form, ops and title, the least time of either over the turns in us, and `state`. A state is one of: same, differs,
refused (vx compiles it not, with the reason), peer refused, peer differs from itself, peer differs from ONNX. scripts/bench-nodes --random starts it, so that a crash
costs one process; it goes on after that case.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np
import onnx.reference
import onnxruntime as ort

import draw_nodes
import draw_others  # noqa: F401 its forms are drawn, too

import vx

LEAST_TURN = 500e-6  # seconds: a turn repeats calls for so long


def align(array):
    """The same where a CPU reads it in place: both runtimes get it."""
    room = np.empty(array.nbytes + 64, np.uint8)
    first = -room.ctypes.data % 64
    aligned = room[first:first + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned


def agree(ours, theirs, is_quantised=False):
    """Floats to a thousandth of the largest; integers of quantised results to one step, which ties decide, and so do they for one in a thousand of the floats made of
    these."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if theirs.dtype.kind == "f":
        bound = 2e-3 * max(1e-3, float(np.max(np.abs(theirs), where=np.isfinite(theirs), initial=0)))
        close = np.isclose(ours, theirs, 2e-3, bound, equal_nan=True)
        return np.count_nonzero(~close) <= (max(1, ours.size // 1000) if is_quantised else 0)
    if theirs.dtype in (np.int8, np.uint8):
        return np.max(np.abs(ours.astype(int) - theirs.astype(int)), initial=0) <= 1
    return np.array_equal(ours, theirs)


def agrees_with_reference(case, ours):
    """True where the results are those of ONNX's own evaluator; False where it has none."""
    try:
        theirs = onnx.reference.ReferenceEvaluator(case.model).run(None, dict(case.inputs))
    except Exception:  # pylint: disable=broad-except
        return False
    return all(agree(one, np.asarray(other), case.form == "qdq") for one, other in zip(ours, theirs))


def turn(call, repeats):
    began = time.process_time_ns()
    for _ in range(repeats):
        call()
    return (time.process_time_ns() - began) / repeats / 1e3


def measure(case, folder, turns):
    record = {"form": case.form, "ops": case.ops, "title": case.title}
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    data, arguments = case.model.SerializeToString(), {name: align(array) for name, array in case.inputs.items()}
    try:
        session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        theirs = session.run(None, arguments)
    except Exception as error:  # pylint: disable=broad-except
        return {**record, "state": "peer refused", "reason": str(error)[-200:]}
    source, target = os.path.join(folder, "node.onnx"), os.path.join(folder, "node.vxm")
    with open(source, "wb") as file:
        file.write(data)
    began = time.monotonic()
    try:
        vx.compile(source, target, targets="cpu")
        instance = vx.Instance(vx.Module(target), device="cpu", threads=1)
        results = instance(**arguments)
    except Exception as error:  # pylint: disable=broad-except
        return {**record, "state": "refused", "reason": str(error)[:600]}
    record["compile_s"] = round(time.monotonic() - began, 2)
    ours = [results[name] for name in case.results]
    same = lambda others: all(agree(one, other, case.form == "qdq") for one, other in zip(ours, others))
    record["state"] = "same" if same(theirs) else "differs"
    if record["state"] == "differs":  # ONNX Runtime rounds activations to 8 bits in some products that it fuses: without its fusions it does not
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        plain = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, arguments)
        if same(plain):
            record["state"] = "peer differs from itself"
        elif agrees_with_reference(case, ours):  # without VNNI it adds products of bytes in 16 bits, which saturate
            record["state"] = "peer differs from ONNX"
    calls = (lambda: instance(**arguments)), (lambda: session.run(None, arguments))
    for call in calls:
        turn(call, 2)  # the first calls are slower
    repeats = [max(1, min(100, int(LEAST_TURN * 1e6 / turn(call, 2)))) for call in calls]
    times = [[], []]
    for _ in range(turns):
        for place, call in enumerate(calls):
            times[place].append(turn(call, repeats[place]))
    record["vx_us"], record["peer_us"] = (round(min(list_), 2) for list_ in times)
    return record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--save", help="a folder for the model of each case")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.first, options.first + options.count):
            case = draw_nodes.draw(options.seed, number)
            if options.save:
                with open(os.path.join(options.save, f"{number}.onnx"), "wb") as file:
                    file.write(case.model.SerializeToString())
            print(json.dumps({"number": number, **measure(case, folder, options.turns)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
