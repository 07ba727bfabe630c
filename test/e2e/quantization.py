"""Networks that round to integers and back, and what they are without the rounding, for gradients."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

CLIPPED = 0.8  # of the largest magnitude: some numbers lie beyond what the integers hold
WATCHED = "watched"
LEVELS = {np.dtype(np.int8): (-128, 127), np.dtype(np.uint8): (0, 255)}


def arrays_of(graph):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def copied(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def save(model, path):
    """The model stays whole: what saves it with its weights beside it takes them out."""
    onnx.save(copied(model), path, save_as_external_data=True, location=path.rsplit("/", 1)[1] + ".weights")


def plain_session(path):
    """Computes what the nodes say: ONNX Runtime's optimisations change what is rounded."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_plainly(model, outputs, inputs, folder):
    save(model, f"{folder}/plain.onnx")
    return dict(zip(outputs, plain_session(f"{folder}/plain.onnx").run(outputs, inputs)))


def with_outputs(model, names):
    more = copied(model)
    known = {value.name for value in more.graph.output}
    more.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    return more


def quantized(model, inputs, folder):
    """The model with the data of each Gemm and Conv rounded to uint8, and with its weight, which stays a float, rounded to int8 by channel."""
    made, data = [], {}
    products = [node for node in model.graph.node if node.op_type in ("Gemm", "Conv")]
    numbers = run_plainly(with_outputs(model, [node.input[0] for node in products]), [node.input[0] for node in products], inputs, folder)
    weights = arrays_of(model.graph)

    def round_trip(name, scale, zero, **attributes):
        made.extend(numpy_helper.from_array(array, f"{name}/{what}") for what, array in (("scale", scale), ("zero", zero)))
        return [helper.make_node("QuantizeLinear", [name, f"{name}/scale", f"{name}/zero"], [f"{name}/whole"], name=f"{name}/q", **attributes),
                helper.make_node("DequantizeLinear", [f"{name}/whole", f"{name}/scale", f"{name}/zero"], [f"{name}/rounded"], name=f"{name}/dq", **attributes)]

    nodes = []
    for node in model.graph.node:
        if node in products:
            name, weight = node.input[0], node.input[1]
            if name not in data:
                low, high = min(0.0, numbers[name].min()), max(0.0, numbers[name].max())
                scale = np.float32(CLIPPED * (high - low) / 255)
                data[name] = round_trip(name, scale, np.clip(np.rint(-CLIPPED * low / scale), 0, 255).astype(np.uint8))
                nodes += data[name]
            axis = 0 if node.op_type == "Conv" or any(a.name == "transB" and a.i for a in node.attribute) else 1
            array = weights[weight]
            scale = (CLIPPED * abs(array).max(tuple(d for d in range(array.ndim) if d != axis)) / 127).astype(np.float32)
            nodes += round_trip(weight, scale, np.zeros(scale.shape, np.int8), axis=axis)
            node.input[0], node.input[1] = f"{name}/rounded", f"{weight}/rounded"
        nodes.append(node)
    result = copied(model)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(made)
    return result


def round_trips(model):
    """By what it gives, each pair of nodes that rounds to integers and back."""
    makers = {name: node for node in model.graph.node for name in node.output}
    return {node.output[0]: (makers[node.input[0]], node) for node in model.graph.node
            if node.op_type == "DequantizeLinear" and node.input[0] in makers and makers[node.input[0]].op_type == "QuantizeLinear"}


def watched(model, output, names, inputs, folder):
    """The model with one more output, WATCHED, whose elements have the sum of those of `output`, and, by each name of a tensor, another name and zeros.

    These are further inputs. The gradient by one is the tensor, where the gradient is computed: another function rounds where it fuses."""
    shapes = {name: array.shape for name, array in run_plainly(with_outputs(model, names), names, inputs, folder).items()}
    dims = {value.name: value.type.tensor_type.shape.dim for value in onnx.shape_inference.infer_shapes(model).graph.value_info}
    more, parts = copied(model), []
    for name in [output, *names]:
        part = name
        if name != output:
            symbols = [dim.dim_param or size for dim, size in zip(dims.get(name, ()), shapes[name])] or list(shapes[name])
            more.graph.input.append(helper.make_tensor_value_info(f"{name}/watch", onnx.TensorProto.FLOAT, symbols))
            part = f"{name}/watched"
            more.graph.node.append(helper.make_node("Mul", [name, f"{name}/watch"], [part], name=part))
        parts.append(f"{name}/row")
        more.graph.node.append(helper.make_node("Reshape", [part, f"{WATCHED}/shape"], [parts[-1]], name=parts[-1]))
    more.graph.initializer.append(numpy_helper.from_array(np.array([-1], np.int64), f"{WATCHED}/shape"))
    more.graph.node.append(helper.make_node("Concat", parts, [WATCHED], name=WATCHED, axis=0))
    more.graph.output.append(helper.make_tensor_value_info(WATCHED, onnx.TensorProto.FLOAT, [None]))
    return more, {name: (f"{name}/watch", np.zeros(shapes[name], np.float32)) for name in names}


def without_rounding(model, inputs, given, folder):
    """The model with each round trip replaced by what it is at these inputs: the quotient by the scale, or no part of it beyond the bounds, and a constant. And how far
    from a number the integer lies at most that it was rounded to.

    `given` is what each round trip gives. Both models give that at these inputs. There this one's derivatives are the gradients that pass rounding as if it were
    not there."""
    pairs = round_trips(model)
    weights = arrays_of(model.graph)
    rounded = copied(model)
    del rounded.graph.node[:]
    rounded.graph.node.extend(node for node in model.graph.node if node.output[0] not in pairs)
    rounded.graph.initializer.extend(numpy_helper.from_array(given[name], name) for name in pairs)
    names = sorted({quantize.input[0] for quantize, _ in pairs.values()} - {*weights})
    numbers = weights | run_plainly(with_outputs(rounded, names), names, inputs, folder)
    nodes, made, farthest = [], [], 0.0
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            continue
        own = node.output[0]
        if own not in pairs:
            nodes.append(node)
            continue
        quantize = pairs[own][0]
        assert list(quantize.input[1:]) == list(node.input[1:]), f"'{own}' has another scale than what it is made of"
        source, scale = quantize.input[0], quantize.input[1]
        axis = next((a.i for a in quantize.attribute if a.name == "axis"), 1)
        rank = numbers[source].ndim

        def spread(array):
            return array.reshape([-1 if d == axis else 1 for d in range(rank)]) if array.ndim else array

        zero = spread(weights[quantize.input[2]])
        low, high = (np.float32(level) - zero.astype(np.float32) for level in LEVELS[zero.dtype])
        quotient, whole = numbers[source] / spread(weights[scale]), np.rint(given[own] / spread(weights[scale]))
        low, high = low - np.float32(0.5), high + np.float32(0.5)
        passes = ((quotient > low) & (quotient < high)).astype(np.float32)
        farthest = max(farthest, float(abs(whole - np.clip(quotient, low, high)).max()))
        made.extend(numpy_helper.from_array(np.asarray(array), f"{own}/{what}") for what, array in (
            ("passes", passes), ("rest", whole - passes * quotient), ("shape", np.array(spread(weights[scale]).shape, np.int64))))
        nodes += [helper.make_node("Reshape", [scale, f"{own}/shape"], [f"{own}/scale"]), helper.make_node("Div", [source, f"{own}/scale"], [f"{own}/quotient"]),
                  helper.make_node("Mul", [f"{own}/quotient", f"{own}/passes"], [f"{own}/near"]),
                  helper.make_node("Add", [f"{own}/near", f"{own}/rest"], [f"{own}/whole"]), helper.make_node("Mul", [f"{own}/whole", f"{own}/scale"], [own])]
    result = copied(model)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(made)
    return result, farthest
