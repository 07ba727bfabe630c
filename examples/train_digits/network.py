#!/usr/bin/env python3
"""Makes network.onnx, an untrained network for 8x8 digits: two dense layers, each after a dropout. Weights are drawn as PyTorch's layers draw theirs:
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
    ratios = [numpy_helper.from_array(np.float32(ratio), f"drop{number}.ratio") for number, ratio in ((1, 0.2), (2, 0.5))]
    nodes = [node("Flatten", ["image"], ["f"], "flatten"), node("Dropout", ["f", "drop1.ratio"], ["d1"], "drop1"),
             node("Gemm", ["d1", *layer("fc1", 512, 64)], ["h"], "fc1", transB=1), node("Relu", ["h"], ["r"], "relu"),
             node("Dropout", ["r", "drop2.ratio"], ["d2"], "drop2"), node("Gemm", ["d2", *layer("fc2", 10, 512)], ["logits"], "fc2", transB=1)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "digits", [value("image", TensorProto.FLOAT, ["batch", 1, 8, 8])], [value("logits", TensorProto.FLOAT, ["batch", 10])], weights + ratios)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model, full_check=True)
    save(model, path)


if __name__ == "__main__":
    main()
