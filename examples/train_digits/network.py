#!/usr/bin/env python3
"""Makes network.onnx, an untrained network for 8x8 digits: two convolutions, a pool, two dense layers. Weights are drawn as PyTorch's layers draw theirs:
uniform up to 1 / sqrt(inputs). network.py [SEED] [FILE]; needs onnx and numpy."""
import math
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


def main():
    seed, path = (sys.argv[1:] + ["0", "network.onnx"][len(sys.argv) - 1:])[:2]
    random, weights = np.random.default_rng(int(seed)), []

    def layer(name, *shape):
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        for part, dims in (("weight", shape), ("bias", shape[:1])):
            weights.append(numpy_helper.from_array(random.uniform(-bound, bound, dims).astype(np.float32), f"{name}.{part}"))
        return [f"{name}.weight", f"{name}.bias"]

    node = helper.make_node
    nodes = [node("Conv", ["image", *layer("conv1", 16, 1, 3, 3)], ["c1"], "conv1", pads=[1, 1, 1, 1]), node("Relu", ["c1"], ["r1"], "relu1"),
             node("Conv", ["r1", *layer("conv2", 32, 16, 3, 3)], ["c2"], "conv2", pads=[1, 1, 1, 1]), node("Relu", ["c2"], ["r2"], "relu2"),
             node("MaxPool", ["r2"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["p"], ["f"], "flatten"),
             node("Gemm", ["f", *layer("fc1", 64, 512)], ["h"], "fc1", transB=1), node("Relu", ["h"], ["r3"], "relu3"),
             node("Gemm", ["r3", *layer("fc2", 10, 64)], ["logits"], "fc2", transB=1)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "digits", [value("image", TensorProto.FLOAT, ["batch", 1, 8, 8])], [value("logits", TensorProto.FLOAT, ["batch", 10])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model, full_check=True)
    save(model, path)


if __name__ == "__main__":
    main()
