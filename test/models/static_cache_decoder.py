#!/usr/bin/env python3
"""A decoder whose caches have room for a whole text from the start, as exporters write it: one token a step, whose keys and values
replace a row of each cache.

  static_cache_decoder.py MODEL.onnx [--form nested] [--batch 1] [--heads 2] [--rows 64] [--depth 8] [--layers 2] [--vocabulary 32]

`position` says which row. The forms differ in the nodes that replace it:
  nested      ScatterND by the place of each row: batch, head and position
  transposed  ScatterND by the position alone between two Transposes
  where       Where by a comparison of all positions with this one
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper

FORMS = ("nested", "transposed", "where")


class Graph:
    def __init__(self):
        self.nodes, self.initializers, self.random = [], [], np.random.default_rng(11)

    def constant(self, value, name=None):
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name, *dims):
        return self.constant((self.random.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32), name)

    def node(self, op, *inputs, name=None, **attributes):
        output = name or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=output, **attributes))
        return output


def replace_row(graph, form, past, row, name, batch, heads, rows):
    """`past` [batch, heads, rows, depth] with `row` [batch, heads, 1, depth] at `position`."""
    if form == "where":
        at = graph.node("Equal", graph.constant(np.arange(rows).reshape(1, 1, rows, 1)), "position")
        return graph.node("Where", at, row, past, name=name)
    if form == "transposed":
        by_row = graph.node("Transpose", past, perm=[2, 0, 1, 3])
        at = graph.node("Unsqueeze", "position", graph.constant([1]))
        rows_first = graph.node("Transpose", row, perm=[2, 0, 1, 3])
        new = graph.node("ScatterND", by_row, at, rows_first)
        return graph.node("Transpose", new, perm=[1, 2, 0, 3], name=name)
    dims = graph.constant([batch, heads, 1, 1])
    parts = [graph.node("Expand", part, dims) for part in (graph.constant(np.arange(batch).reshape(batch, 1, 1, 1)),
                                                          graph.constant(np.arange(heads).reshape(1, heads, 1, 1)), "position")]
    return graph.node("ScatterND", past, graph.node("Concat", *parts, axis=-1), row, name=name)


def make(form="nested", batch=1, heads=2, rows=64, depth=8, layers=2, vocabulary=32):
    graph, width = Graph(), heads * depth
    x = graph.node("Gather", graph.weight("embedding", vocabulary, width), "ids", name="embed")
    x = graph.node("Add", x, graph.node("Gather", graph.weight("places", rows, width), "position", name="place"))
    caches = []
    split, together = graph.constant([batch, 1, heads, depth]), graph.constant([batch, 1, width])
    none = graph.constant(np.float32(-np.inf))
    known = graph.node("LessOrEqual", graph.constant(np.arange(rows)), "position")
    for layer in range(layers):
        y = graph.node("LayerNormalization", x, graph.constant(np.ones(width, np.float32)), graph.constant(np.zeros(width, np.float32)))
        q, k, v = (graph.node("Transpose", graph.node("Reshape", graph.node("MatMul", y, graph.weight(f"{part}{layer}", width, width)), split), perm=[0, 2, 1, 3])
                   for part in "qkv")
        k, v = (replace_row(graph, form, f"past_{part}{layer}", row, f"present_{part}{layer}", batch, heads, rows) for part, row in (("k", k), ("v", v)))
        caches += [f"{part}{layer}" for part in "kv"]
        scores = graph.node("Mul", graph.node("MatMul", q, graph.node("Transpose", k, perm=[0, 1, 3, 2])), graph.constant(np.float32(depth**-0.5)))
        weights = graph.node("Softmax", graph.node("Where", known, scores, none), axis=-1)
        y = graph.node("Reshape", graph.node("Transpose", graph.node("MatMul", weights, v), perm=[0, 2, 1, 3]), together)
        x = graph.node("Add", x, graph.node("MatMul", y, graph.weight(f"o{layer}", width, width)))
    graph.node("MatMul", x, graph.weight("head", width, vocabulary), name="logits")
    cache = [batch, heads, rows, depth]
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, [batch, 1]), helper.make_tensor_value_info("position", TensorProto.INT64, [1])]
    inputs += [helper.make_tensor_value_info(f"past_{name}", TensorProto.FLOAT, cache) for name in caches]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 1, vocabulary])]
    outputs += [helper.make_tensor_value_info(f"present_{name}", TensorProto.FLOAT, cache) for name in caches]
    model = helper.make_model(helper.make_graph(graph.nodes, "static_cache_decoder", inputs, outputs, graph.initializers),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--form", choices=FORMS, default="nested")
    sizes = {"batch": 1, "heads": 2, "rows": 64, "depth": 8, "layers": 2, "vocabulary": 32}
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    options = parser.parse_args()
    onnx.save(make(options.form, **{name: getattr(options, name) for name in sizes}), options.model)


if __name__ == "__main__":
    main()
