"""ONNX models that compute in f64: differences of them are as good as exact."""
import numpy as np
import onnx


def widen(tensor):
    if tensor.data_type == onnx.TensorProto.FLOAT:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen_graph(graph):
    for tensor in graph.initializer:
        widen(tensor)
    for value in [*graph.input, *graph.output]:
        kind = value.type.sequence_type.elem_type.tensor_type if value.type.HasField("sequence_type") else value.type.tensor_type
        if kind.elem_type == onnx.TensorProto.FLOAT:
            kind.elem_type = onnx.TensorProto.DOUBLE
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                widen(attribute.t)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                widen_graph(attribute.g)
            elif attribute.name in ("to", "dtype") and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = onnx.TensorProto.DOUBLE


def with_doubles(model):
    """The model, changed, with f64 in the place of f32."""
    widen_graph(model.graph)
    return model
