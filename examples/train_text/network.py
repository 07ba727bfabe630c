#!/usr/bin/env python3
"""Makes FILE, an untrained transformer for data.py's text: one block of causal attention and a dense part, each after a layer norm, as
PyTorch's exporter writes them. Weights are drawn as GPT-2's: normal with 0.02, and 0.08 for tables. network.py FILE [SEED]; needs onnx and numpy."""
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

SYMBOLS, TIME, WIDTH, HEADS = 16, 32, 64, 2
HIDDEN = 4 * WIDTH


def main():
    path, seed = (sys.argv[1:] + ["0"])[:2]
    random, initializers, nodes = np.random.default_rng(int(seed)), [], []

    def keep(name, array):
        initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(name, *shape, deviation=0.02):
        return keep(name, random.normal(0, deviation, shape).astype(np.float32))

    def whole(name, *values):
        return keep(name, np.array(values, np.int64))

    def node(op, name, *inputs, **attributes):
        nodes.append(helper.make_node(op, list(inputs), [name], name, **attributes))
        return name

    def linear(name, x, inputs, outputs):
        product = node("MatMul", f"{name}/MatMul", x, weight(f"{name}.weight", inputs, outputs))
        return node("Add", f"{name}/Add", product, keep(f"{name}.bias", np.zeros(outputs, np.float32)))

    def norm(name, x):
        return node("LayerNormalization", name, x, keep(f"{name}.weight", np.ones(WIDTH, np.float32)), keep(f"{name}.bias", np.zeros(WIDTH, np.float32)), axis=-1)

    def heads(name, x, *order):
        split = node("Reshape", f"{name}/Reshape", x, "heads")
        return node("Transpose", f"{name}/Transpose", split, perm=list(order))

    whole("heads", 0, 0, HEADS, WIDTH // HEADS)
    whole("joined", 0, 0, WIDTH)
    keep("scale", np.array((WIDTH / HEADS) ** -0.5, np.float32))
    keep("mask", np.triu(np.full((TIME, TIME), -np.inf, np.float32), 1))
    x = node("Add", "embedded", node("Gather", "wte", weight("wte.weight", SYMBOLS, WIDTH, deviation=0.08), "ids"), weight("wpe.weight", TIME, WIDTH, deviation=0.08))
    y = norm("ln_1", x)
    query, key, value = (heads(part, linear(f"attn.{part}", y, WIDTH, WIDTH), 0, 2, *order) for part, order in (("q", (1, 3)), ("k", (3, 1)), ("v", (1, 3))))
    scores = node("Add", "masked", node("Mul", "scores", node("MatMul", "products", query, key), "scale"), "mask")
    mixed = node("MatMul", "mixed", node("Softmax", "shares", scores, axis=-1), value)
    joined = node("Reshape", "attn/joined", node("Transpose", "attn/Transpose", mixed, perm=[0, 2, 1, 3]), "joined")
    x = node("Add", "behind_attention", x, linear("attn.proj", joined, WIDTH, WIDTH))
    hidden = node("Relu", "mlp/Relu", linear("mlp.up", norm("ln_2", x), WIDTH, HIDDEN))
    x = node("Add", "behind_mlp", x, linear("mlp.down", hidden, HIDDEN, WIDTH))
    nodes.append(helper.make_node("MatMul", [norm("ln_f", x), weight("head.weight", WIDTH, SYMBOLS)], ["logits"], "head"))
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "text", [tensor("ids", TensorProto.INT64, ["batch", TIME])], [tensor("logits", TensorProto.FLOAT, ["batch", TIME, SYMBOLS])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model, full_check=True)
    save(model, path)


if __name__ == "__main__":
    main()
