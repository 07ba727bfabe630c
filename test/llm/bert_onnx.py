"""BERT as an ONNX graph of given weights, for ONNX Runtime: another implementation than the frontend's."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def make_bert(settings, tensors, path):
    """Of the settings of config.json and the tensors of transformers' names; for positions that count from 0."""
    width, heads, epsilon = settings["hidden_size"], settings["num_attention_heads"], settings["layer_norm_eps"]
    depth = width // heads
    nodes, weights = [], []

    def constant(name, values):
        weights.append(numpy_helper.from_array(np.array(values), name))
        return name

    def weight(name, turned=False):
        tensor = tensors[name]
        return constant(name, np.ascontiguousarray(tensor.T) if turned else tensor)

    def node(kind, inputs, name, **attributes):
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def linear(x, name):
        return node("Add", [node("MatMul", [x, weight(name + ".weight", True)], name + ".product"), weight(name + ".bias")], name)

    def norm(x, name, output=None):
        return node("LayerNormalization", [x, weight(name + ".weight"), weight(name + ".bias")], output or name, axis=-1, epsilon=epsilon)

    length = node("Gather", [node("Shape", ["input_ids"], "shape"), constant("one", np.int64(1))], "length", axis=0)
    places = node("Range", [constant("zero", np.int64(0)), length, "one"], "places")
    x = node("Add", [node("Gather", [weight("embeddings.word_embeddings.weight"), "input_ids"], "word"),
                     node("Gather", [weight("embeddings.token_type_embeddings.weight"), "token_type_ids"], "type")], "typed")
    x = norm(node("Add", [x, node("Gather", [weight("embeddings.position_embeddings.weight"), places], "place")], "sum"), "embeddings.LayerNorm")
    mask = node("Unsqueeze", [node("Cast", ["attention_mask"], "mask.f", to=TensorProto.FLOAT), constant("axes", np.array([1, 2]))], "mask")
    bias = node("Mul", [node("Sub", [constant("ones", np.float32(1)), mask], "absent"), constant("far", np.float32(-1e9))], "bias")
    split, joined = constant("split", np.array([0, 0, heads, depth])), constant("joined", np.array([0, 0, width]))
    for layer in range(settings["num_hidden_layers"]):
        l = f"encoder.layer.{layer}."
        q, k, v = (node("Transpose", [node("Reshape", [linear(x, f"{l}attention.self.{n}"), split], l + n + ".heads")], l + n + ".t", perm=p)
                   for n, p in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        scores = node("Mul", [node("MatMul", [q, k], l + "qk"), constant(l + "scale", np.float32(depth**-0.5))], l + "scores")
        weighed = node("MatMul", [node("Softmax", [node("Add", [scores, bias], l + "masked")], l + "weights", axis=-1), v], l + "weighed")
        together = node("Reshape", [node("Transpose", [weighed], l + "back", perm=[0, 2, 1, 3]), joined], l + "together")
        x = norm(node("Add", [x, linear(together, f"{l}attention.output.dense")], l + "residual"), f"{l}attention.output.LayerNorm")
        wide = linear(x, f"{l}intermediate.dense")
        inner = node("Erf", [node("Mul", [wide, constant(l + "root", np.float32(0.5**0.5))], l + "scaled")], l + "erf")
        active = node("Mul", [node("Mul", [wide, constant(l + "half", np.float32(0.5))], l + "halved"), node("Add", [inner, "ones"], l + "shifted")], l + "gelu")
        last = layer + 1 == settings["num_hidden_layers"]
        x = norm(node("Add", [x, linear(active, f"{l}output.dense")], l + "residual2"), f"{l}output.LayerNorm", "last_hidden_state" if last else None)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    graph = helper.make_graph(nodes, "bert", [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in names],
                              [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", width])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
