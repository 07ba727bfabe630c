"""A small network with pools whose windows hold equal numbers: the gradient belongs to the first of them, and differences along a direction see a kink at each.

`table` has few distinct values, so that most of its windows have several largest elements, which no Relu silences. The pool over an image has none that are equal."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


def make_model():
    random = np.random.default_rng(11)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    weights = {"image_filter": 0.3 * draw(4, 3, 3, 3), "image_bias": 0.1 * draw(4), "table": random.integers(-1, 2, (1, 4, 12, 12)).astype(np.float32) / 2,
               "table_scale": np.linspace(0.5, 1.25, 4, dtype=np.float32).reshape(1, 4, 1, 1), "mix_filter": 0.5 * draw(5, 4, 1, 1), "last_matrix": 0.2 * draw(45, 6)}
    nodes = [helper.make_node("Conv", ["x", "image_filter", "image_bias"], ["seen"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["seen"], ["active"]),
             helper.make_node("MaxPool", ["active"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("Mul", ["table", "table_scale"], ["scaled"]),
             helper.make_node("MaxPool", ["scaled"], ["pooled_table"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("Add", ["pooled", "pooled_table"], ["both"]),
             helper.make_node("Conv", ["both", "mix_filter"], ["mixed"]),
             helper.make_node("MaxPool", ["mixed"], ["small"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["small"], ["flat"]),
             helper.make_node("Gemm", ["flat", "last_matrix"], ["y"])]
    graph = helper.make_graph(nodes, "pools", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 12, 12])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 6])], [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
