"""Models as ONNX Runtime's own tools write them: optimized, quantised dynamically, and with weights of 4 bits in blocks. Each is a network of test/models."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic

from microsoft_nodes import pack
from run_models import make_model_file, reference

# How far outputs may be from ONNX Runtime's, as a share of the greatest: sums of floats in another order, and data rounded to bytes or kept as floats.
FLOATS, BYTES = 2e-5, 2e-2


def optimized(source, target):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = target
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def packed(source, target):
    """Each product with a matrix of weights by one of 4 bits in blocks of 32, with zero points, as onnxruntime's matmul_nbits_quantizer makes it."""
    model = onnx.load(source)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in weights or len(weights[node.input[1]].dims) != 2:
            continue
        matrix = numpy_helper.to_array(weights[node.input[1]]).T.astype(np.float32)
        columns, inner = matrix.shape
        blocks = np.zeros((columns, -(-inner // 32), 32), np.float32)
        blocks.reshape(columns, -1)[:, :inner] = matrix
        low, high = np.minimum(blocks.min(-1), 0), np.maximum(blocks.max(-1), 0)
        scales = np.maximum((high - low) / 15, 1e-8).astype(np.float32)
        zeros = np.clip(np.round(-low / scales), 0, 15).astype(np.uint8)
        codes = np.clip(np.round(blocks / scales[..., None]) + zeros[..., None], 0, 15).astype(np.uint8)
        parts = {"b": pack(codes, 4), "s": scales, "z": pack(zeros, 4)}
        names = [f"{node.input[1]}_{part}" for part in parts]
        if not any(tensor.name == names[0] for tensor in model.graph.initializer):
            model.graph.initializer.extend(numpy_helper.from_array(array, name) for array, name in zip(parts.values(), names))
        node.CopyFrom(helper.make_node("MatMulNBits", [node.input[0], *names], list(node.output), name=node.name, domain="com.microsoft", K=inner, N=columns, bits=4, block_size=32))
    used = {name for node in model.graph.node for name in node.input}
    for name in set(weights) - used:
        model.graph.initializer.remove(weights[name])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, target)


def dynamic(source, target):
    quantize_dynamic(source, target)


# The network, the tool, the bound, the ops that the tool must have written, and whether it runs by default.
MODELS = (
    ("tagger", dynamic, BYTES, {"DynamicQuantizeLSTM"}, True), ("decoder", packed, FLOATS, {"MatMulNBits"}, True), ("decoder", optimized, FLOATS, {"FusedMatMul", "QuickGelu"}, True),
    ("resnet18", optimized, FLOATS, {"FusedConv"}, False), ("minilm", optimized, FLOATS, {"FusedMatMul", "BiasGelu", "FusedGemm"}, False))


def inputs_of(session, random):
    """Of small sizes: one for each name of a size."""
    sizes, made = {}, {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else sizes.setdefault(size, (2, 7, 5, 3)[min(len(sizes), 3)]) for size in value.shape]
        if "int" in value.type:
            made[value.name] = (np.ones(shape) if "mask" in value.name else random.integers(0, 2 if "type" in value.name else 50, shape)).astype(value.type[7:-1])
        else:
            made[value.name] = random.standard_normal(shape).astype(np.float32)
    return made


def check_models(bench, devices, every, text):
    random = np.random.default_rng(59)
    for name, tool, bound, wanted, isDefault in MODELS:
        title = f"model {name}, {tool.__name__}"
        if not (every or isDefault) or text not in title:
            continue
        path = bench.path(f"{name}.written.onnx")
        tool(make_model_file(bench.source, bench.folder, name), path)
        written = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node if node.domain == "com.microsoft"}
        bench.check(f"{title}, its ops", wanted <= written, f"got {sorted(written)}, expected {sorted(wanted)}")
        session = reference(path)
        inputs, outputs = inputs_of(session, random), [output.name for output in session.get_outputs()]
        wants = session.run(outputs, inputs)
        module = bench.path("written.vxm")
        try:
            bench.compile(path, module, targets=devices)
            answers = {device: bench.run(module, device, inputs, outputs)[0] for device in devices}
        except RuntimeError as error:
            bench.check(title, False, str(error)[-1500:])
            continue
        for device, gots in answers.items():
            for output, want in zip(outputs, wants):
                apart = abs(gots[output].astype(np.float64) - want).max() / max(abs(want).max(), 1e-30) if gots[output].shape == want.shape else np.inf
                bench.check(f"{title}, {output}, {device}", apart <= bound, f"differs by {apart:.3g} of the greatest, allowed {bound}")
        print(f"  {title}: {', '.join(sorted(written))}")
        os.remove(path)
