#!/usr/bin/env python3
"""How far rounding alone moves the outputs of a network: ONNX Runtime with rounded weights, beside itself.

Some networks make much of little: the last layer of a deep one with random weights has a hundred times the relative error of its first. So the bound of a
network is measured on it, by an implementation that is not ours, and not guessed from the number of its layers.

    sensitivity.py             measures the networks of test/models and writes test/models/sensitivity.json
"""
import json
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(os.path.dirname(HERE), "models")
TABLE = os.path.join(MODELS, "sensitivity.json")
sys.path.insert(0, HERE)

import rounding  # noqa: E402
from op_case import from_bf16, to_bf16  # noqa: E402

PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose")
ROUND = {"f16": lambda values: values.astype(np.float16).astype(np.float32), "bf16": lambda values: from_bf16(to_bf16(values)).reshape(values.shape)}
ROUNDOFF = 2.0**-24
# A sum of K terms in f32 is off by about the root of K units; twice that, for what stands between products and for longer sums.
SLACK_F32 = 2
# Rounded weights move the outputs by one unit; rounded activations as much again, so that 1.4 is expected of both.
SLACK_NARROW = 3
# A bound beyond this lets a wrong output through.
MOST = 0.5
# Of normal numbers none in a million is 5 deviations away; outputs have longer tails.
LARGEST = 8


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def rms(array):
    return float(np.sqrt(np.mean(np.square(array.astype(np.float64))))) if array.size else 0.0


def largest(array):
    return float(abs(array).max()) if array.size else 0.0


def rounded_model(path, kind, out):
    """The model with the weights of its products rounded, and the mean relative change of these."""
    model = onnx.load(path)
    names = {name for node in model.graph.node if node.op_type in PRODUCTS for name in node.input[:2]}
    # Weights that are tied, or reach a product through a transposition or a type, belong to it as well.
    for node in model.graph.node:
        if node.op_type in ("Transpose", "Cast", "Identity") and set(node.output) & names:
            names |= set(node.input)
    changes, weights = 0.0, 0.0
    for tensor in model.graph.initializer:
        if tensor.name not in names or tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        values = onnx.numpy_helper.to_array(tensor)
        near = ROUND[kind](values)
        changes += float(np.square((near - values).astype(np.float64)).sum())
        weights += float(np.square(values.astype(np.float64)).sum())
        tensor.CopyFrom(onnx.numpy_helper.from_array(near, tensor.name))
    onnx.save(model, out, save_as_external_data=True, location=os.path.basename(out) + ".weights")
    return float(np.sqrt(changes / weights))


def mean_terms(path, inputs):
    """The mean length of the sums of products."""
    model = onnx.load(path, load_external_data=False)
    shapes = rounding.fixed_shapes(model, inputs)
    products = [node for node in model.graph.node if node.op_type in PRODUCTS]
    needed = {name for node in products for name in node.input[:2] if name not in shapes}
    if needed:
        shapes |= rounding.measured_shapes(path, inputs, sorted(needed))
    return float(np.mean([rounding.terms_of(node, shapes) for node in products]))


def measure(path, cases):
    """Facts of a model: "weights", how far rounding changes them, and for each of `cases`, which are inputs by name, and each output

      terms      the mean length of the sums of products
      peak       the largest element in root mean squares
      f16, bf16  how far rounded weights move it: the root mean square and the largest of the changes, as shares of the output's own

    An output that is no float is None."""
    session = session_of(path)
    outputs = [output.name for output in session.get_outputs()]
    wants = [dict(zip(outputs, session.run(outputs, inputs))) for inputs in cases]
    del session
    facts = {"weights": {}, "cases": []}
    for inputs, want in zip(cases, wants):
        terms = mean_terms(path, inputs)
        facts["cases"].append({name: {"terms": terms, "peak": largest(value) / max(rms(value), 1e-30)} if np.issubdtype(value.dtype, np.floating) else None
                               for name, value in want.items()})
    for kind in ROUND:
        out = path[:-len(".onnx")] + f".{kind}.onnx"
        facts["weights"][kind] = rounded_model(path, kind, out)
        session = session_of(out)
        for inputs, want, case in zip(cases, wants, facts["cases"]):
            for name, got in zip(outputs, session.run(outputs, inputs)):
                if case[name]:
                    case[name][kind] = [rms(got - want[name]) / max(rms(want[name]), 1e-30), largest(got - want[name]) / max(largest(want[name]), 1e-30)]
        del session
        os.remove(out)
        os.remove(out + ".weights")
    return facts


def bound(facts, case, output, precision):
    """The rule "close" of tools/check-plan/output_rule.h for an output against that in f32."""
    fact, weights = facts["cases"][case][output], facts["weights"]
    if fact is None:
        return {"rule": "exact"}
    if precision == "f32":
        # A sum cannot be nearer than one rounding of its own.
        mean = SLACK_F32 * ROUNDOFF * np.sqrt(fact["terms"]) * max(fact["f16"][0] / weights["f16"], 0.25)
    else:
        mean = SLACK_NARROW * max(fact["bf16" if precision == "bf16" else "f16"][0], weights["f16"] / 8)
    # Where part of an output is a copy, or few elements are large, the largest difference is further from the mean one.
    seen = fact["f16"][1] / fact["f16"][0] if fact["f16"][0] else 0
    return {"rule": "close", "rms": float(mean), "largest": float(mean * max(LARGEST / max(fact["peak"], 1e-30), 2 * seen))}


def bounds(facts, case, precision):
    """The rules of all outputs."""
    rules = {output: bound(facts, case, output, precision) for output in facts["cases"][case]}
    for output, rule in rules.items():
        if rule["rule"] == "close" and rule["rms"] > MOST:
            raise SystemExit(f"sensitivity.py: error: output '{output}' may be off by {rule['rms']:.0%} in {precision}: with these weights rounding hides a wrong output")
    return rules


def table():
    with open(TABLE) as file:
        return json.load(file)


def short(value):
    if isinstance(value, dict):
        return {key: short(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [short(entry) for entry in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main():
    sys.path.insert(0, MODELS)
    from fill_weights import fill
    from run_models import NETWORKS, make_inputs
    found = table() if os.path.exists(TABLE) and sys.argv[1:] else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or NETWORKS:
            model = os.path.join(folder, f"{name}.onnx")
            fill(os.path.join(MODELS, f"{name}.onnx"), model, external=True)
            graph = onnx.load(model, load_external_data=False)
            found[name] = short(measure(model, [make_inputs(graph, sizes, np.random.default_rng(index)) for index, sizes in enumerate(NETWORKS[name])]))
            print(name, flush=True)
            for file in os.listdir(folder):
                os.remove(os.path.join(folder, file))
    with open(TABLE, "w") as file:
        file.write("{\n" + ",\n".join(f' "{name}": {json.dumps(found[name])}' for name in sorted(found)) + "\n}\n")


if __name__ == "__main__":
    main()
