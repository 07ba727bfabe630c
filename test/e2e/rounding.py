"""How far two right implementations of a network may be apart: from the lengths of its sums."""
import math

import onnx
import onnxruntime
from onnx import shape_inference


def fixed_shapes(model, inputs):
    """The shapes of all values when the inputs have these."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        if value.name in inputs:
            for dim, size in zip(value.type.tensor_type.shape.dim, inputs[value.name].shape):
                dim.Clear()
                dim.dim_value = size
    inferred = shape_inference.infer_shapes(copy, data_prop=True).graph
    shapes = {tensor.name: list(tensor.dims) for tensor in inferred.initializer}
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
            shapes.setdefault(value.name, [dim.dim_value for dim in dims])
    return shapes


def measured_shapes(path, inputs, names):
    """The shapes of `names` in a run: what cannot be inferred."""
    model = onnx.load(path, load_external_data=False)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    probe = path[:-len(".onnx")] + ".probe.onnx"
    onnx.save(model, probe)
    session = onnxruntime.InferenceSession(probe, providers=["CPUExecutionProvider"])
    return {name: list(array.shape) for name, array in zip(names, session.run(names, inputs))}


def attribute(node, name, otherwise):
    return next((onnx.helper.get_attribute_value(entry) for entry in node.attribute if entry.name == name), otherwise)


SUMS = ("MatMul", "Gemm", "Conv", "ConvTranspose", "Softmax", "LogSoftmax", "LayerNormalization", "ReduceMean", "ReduceSum", "AveragePool",
        "GlobalAveragePool", "InstanceNormalization", "LSTM", "GRU", "RNN")


def terms_of(node, shapes):
    """The number of terms of the sums that a node computes, in all steps one after the other."""
    shape = shapes[node.input[0]]
    if node.op_type in ("MatMul", "Gemm"):
        return shape[-2 if attribute(node, "transA", 0) else -1]
    if node.op_type == "Conv":
        return math.prod(shapes[node.input[1]][1:])
    if node.op_type == "ConvTranspose":
        return shapes[node.input[1]][0] * math.prod(shapes[node.input[1]][2:])
    if node.op_type == "AveragePool":
        return math.prod(attribute(node, "kernel_shape", [1]))
    if node.op_type in ("LSTM", "GRU", "RNN"):
        return (shapes[node.input[1]][-1] + shapes[node.input[2]][-1]) * shape[0]
    if node.op_type in ("GlobalAveragePool", "InstanceNormalization"):
        return math.prod(shape[2:])
    if node.op_type in ("Softmax", "LogSoftmax", "LayerNormalization"):
        return shape[attribute(node, "axis", -1)]
    axes = attribute(node, "axes", None)
    return math.prod(shape[axis] for axis in axes) if axes else shape[-1]


def path_length(path, inputs):
    """The sum, along the longest way through the network, of the roots of the lengths of its sums, and 1 for each other node: the
    errors of the terms of a sum are of random sign, so theirs grows with the root."""
    model = onnx.load(path, load_external_data=False)
    shapes = fixed_shapes(model, inputs)
    needed = {name for node in model.graph.node if node.op_type in SUMS for name in node.input[:3] if name and name not in shapes}
    if needed:
        shapes |= measured_shapes(path, inputs, sorted(needed))
    length = {}
    for node in model.graph.node:
        own = 2 * math.sqrt(max(1, terms_of(node, shapes))) if node.op_type in SUMS else 1
        before = max((length.get(name, 0) for name in node.input), default=0)
        # Shapes, indices and other integers have no rounding.
        exact = node.op_type in ("Shape", "Constant", "ConstantOfShape", "Range", "Cast", "Gather", "Concat", "Reshape", "Transpose", "Slice", "Split",
                                 "Squeeze", "Unsqueeze", "Expand", "Where", "Identity", "Equal", "And", "MaxPool", "Relu")
        for name in node.output:
            length[name] = before + (0 if exact else own)
    return max(length.get(output.name, 0) for output in model.graph.output)


def limit(want, terms):
    """Two implementations that sum in different orders are at most 2 * terms * epsilon of the largest magnitude apart, where `terms` is the number of
    rounded sums on the longest way through the network."""
    return 2 * terms * 2.0**-23 * max(1e-30, float(abs(want).max())) if want.size else 0.0
