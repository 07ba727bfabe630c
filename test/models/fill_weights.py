#!/usr/bin/env python3
"""Gives a skeleton its weights: the same bytes on every machine.

  fill_weights.py SKELETON.onnx OUT.onnx [--external]

A skeleton is an exporter's graph whose large tensors have no data. Its metadata 'vx.fill' holds the mean, deviation and range of
each; the values are drawn from a generator that is seeded by the tensor's name. With --external they go to OUT.weights.
"""
import argparse
import json
import os
import zlib

import numpy as np
import onnx


def make_values(name, shape, dtype, mean, deviation, low, high):
    if deviation == 0:
        return np.full(shape, mean, dtype)
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    drawn = np.clip(random.standard_normal(shape, dtype=np.float32) * np.float32(deviation) + np.float32(mean), low, high)
    return (np.rint(drawn) if np.issubdtype(dtype, np.integer) else drawn).astype(dtype)


def missing_tensors(graph):
    """Tensors of the graph and of its subgraphs whose data lies in a file."""
    yield from (tensor for tensor in graph.initializer if tensor.data_location == onnx.TensorProto.EXTERNAL)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from missing_tensors(attribute.g)


def fill(skeleton, out, external=False):
    model = onnx.load(skeleton, load_external_data=False)
    facts = json.loads(next(entry.value for entry in model.metadata_props if entry.key == "vx.fill"))
    for tensor in missing_tensors(model.graph):
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        data = make_values(tensor.name, tuple(tensor.dims), dtype, *facts[tensor.name])
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = data.tobytes()
    if external:
        onnx.save(model, out, save_as_external_data=True, location=os.path.splitext(os.path.basename(out))[0] + ".weights")
    else:
        onnx.save(model, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("skeleton")
    parser.add_argument("out")
    parser.add_argument("--external", action="store_true")
    options = parser.parse_args()
    fill(options.skeleton, options.out, options.external)


if __name__ == "__main__":
    main()
