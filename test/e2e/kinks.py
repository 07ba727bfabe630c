"""Networks that bend where a module's own run has a number, with the bends replaced by what they are there, for gradients."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

import quantization


def clip_bounds(model):
    """By the output of each Clip, its bounds."""
    constants = quantization.arrays_of(model.graph) | {node.output[0]: numpy_helper.to_array(node.attribute[0].t) for node in model.graph.node if node.op_type == "Constant"}
    bounds = {}
    for node in model.graph.node:
        if node.op_type == "Clip":
            assert len(node.input) == 3 and all(name in constants for name in node.input[1:]), f"'{node.name}' needs two constants as bounds"
            bounds[node.output[0]] = [float(constants[name]) for name in node.input[1:]]
    return bounds


def bending(model):
    """The tensors that tell which way each kink goes."""
    names = [node.input[0] if node.op_type == "MaxPool" else node.output[0] for node in model.graph.node if node.op_type in ("Relu", "Clip", "MaxPool")]
    return list(dict.fromkeys(names))


def places_of(node, array, folder):
    """The elements that a MaxPool takes of an array, as places in it: of equal ones the first."""
    pool = onnx.NodeProto()
    pool.CopyFrom(node)
    pool.input[:], pool.output[:] = ["x"], ["y", "places"]
    graph = helper.make_graph([pool], "pool", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, array.shape)],
                              [helper.make_tensor_value_info("places", onnx.TensorProto.INT64, None)])
    return quantization.run_plainly(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), ["places"], {"x": array}, folder)["places"]


def without_kinks(model, given, folder):
    """The model with each Relu and Clip replaced by a product with 0 or 1 and a sum with a bound, and each MaxPool by a choice of places, as `given` has them.

    `given` is what the tensors of `bending` are in the run whose gradient is meant. Of two numbers that f32 does not tell apart another run may take the other."""
    bounds, nodes, made = clip_bounds(model), [], []

    def constant(name, array):
        made.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    for node in model.graph.node:
        own, x = node.output[0], node.input[0] if node.input else ""
        if node.op_type == "Relu":
            nodes.append(helper.make_node("Mul", [x, constant(f"{own}/passes", (given[own] > 0).astype(np.float32))], [own], name=own))
        elif node.op_type == "Clip":
            low, high = bounds[own]
            passes = (given[own] > low) & (given[own] < high)
            nodes += [helper.make_node("Mul", [x, constant(f"{own}/passes", passes.astype(np.float32))], [f"{own}/inside"], name=f"{own}/inside"),
                      helper.make_node("Add", [f"{own}/inside", constant(f"{own}/bound", np.where(passes, np.float32(0), given[own]))], [own], name=own)]
        elif node.op_type == "MaxPool":
            nodes += [helper.make_node("Reshape", [x, constant(f"{own}/row", np.array([-1], np.int64))], [f"{own}/flat"], name=f"{own}/flat"),
                      helper.make_node("Gather", [f"{own}/flat", constant(f"{own}/places", places_of(node, given[x], folder))], [own], name=own)]
        else:
            nodes.append(node)
    result = quantization.copied(model)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(made)
    return result
