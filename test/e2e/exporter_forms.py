#!/usr/bin/env python3
"""Small models in the forms in which exporters write them: what they state of shapes, names, domains, versions, order and devices. Each is compared with ONNX
Runtime, and what the compiler says of it is held against what it should say: nothing, or notes and warnings; with --strict some are refused.

  exporter_forms.py --bin BUILD/bin [--filter TEXT]

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)


def f32(*shape):
    return random.standard_normal(shape).astype(np.float32)


class Form:
    """A model with the calls to make of it, each a dict of inputs.

    `says` are patterns, one for each line on stderr, in order. `strict` is what --strict says where it refuses. `answers` computes the outputs by name where ONNX
    Runtime does not take the model, or gives what is no tensor. `refused` is what a call says that is refused, for each call or None.  `code` 3: the compiler refuses,
    and `says` it. `dims` are those of vx-run for `flags` of the compiler."""

    def __init__(self, title, model, calls, says=(), strict=None, answers=None, refused=None, code=0, flags=()):
        self.title, self.calls, self.says, self.strict, self.answers, self.code, self.flags = title, calls, says, strict, answers, code, flags
        self.model = onnx.parser.parse_model(model) if isinstance(model, str) else model
        self.refused = refused or [None] * len(calls)


def text(graph, opsets='"" : 17', ir=8, more=""):
    return f"<ir_version: {ir}, opset_import: [{opsets}]{more}> {graph}"


def changed(model, change):
    model = onnx.parser.parse_model(model) if isinstance(model, str) else model
    change(model)
    return model


def weights(*names_and_arrays):
    return [numpy_helper.from_array(array, name) for name, array in names_and_arrays]


def forms():
    x34 = [{"x": f32(3, 4)}]
    states = "states the shape '{}', but it is '{}', which is taken"

    # What a file states of shapes, and its nodes contradict.
    yield Form("an output of another rank (CatBoost)", text("g (float[N, 4] x) => (float[N] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 1> (x, a) }"), x34,
               ["warning: .*output 'y': the graph " + states.format(r"f32\[N\]", r"f32\[N,1\]")], "output 'y': expects the shape that the graph states: 'f32\\[N\\]'")
    yield Form("an output of another size", text("g (float[N, 4] x) => (float[N, 2, 2] y) <int64 c> { c = Constant <value = int64[3] {0, 2, 2}> ()\n y = Reshape (x, c) }"), x34,
               ["warning: .*'c': the graph states the shape 'i64\\[\\]', but it is 'i64\\[3\\]'"], "'c': expects the shape")
    yield Form("a batch of 1 in an output", text("g (float[N, 4] x) => (float[1, 4] y) { y = Relu (x) }"), x34)
    yield Form("a batch of 1 inside", text("g (float[N, 4] x) => (float[N, 4] y) <float[1, 4] h> { h = Relu (x)\n y = Neg (h) }"), x34)
    yield Form("an output of a rank that its nodes have not (PaddleOCR)",
               text("g (float[1, 1, 8, W] x) => (float[1, seqlen] y) { k = Constant <value = int64[3] {0, 0, -1}> ()\n h = Reshape (x, k)\n y = Transpose <perm = [2, 0, 1]> (h) }"),
               [{"x": f32(1, 1, 8, 6)}], ["warning: .*output 'y': the graph states the shape 'f32\\[1,seqlen\\]'"], "output 'y': expects the shape")
    yield Form("many values of other shapes are one warning",
               text("g (float[2, 4] x) => (float[2, 4] y) <float[2, 3] a, float[3, 4] b, float[2, 4, 1] c> { a = Neg (x)\n b = Abs (a)\n c = Relu (b)\n y = Neg (c) }"),
               [{"x": f32(2, 4)}], ["warning: .*'a': the graph states .* \\(and 2 more: 'b', 'c'\\)$"], "'a': expects the shape")
    # Order.
    yield Form("nodes out of order", text("g (float[N, 4] x) => (float[N, 4] y) { y = Neg (h)\n h = Relu (x) }"), x34,
               [r"note: .*the nodes are not in the order of their values: node 'Neg_0' \(Neg\) reads 'h' before node 'Relu_1' \(Relu\) makes it; they are sorted$"],
               r"expects nodes in the order of their values, but node 'Neg_0'", answers=lambda f: {"y": -np.maximum(f["x"], 0)})
    yield Form("nodes out of order, of which a branch reads one",
               text("g (float[N, 4] x, bool c) => (float[N, 4] y) { y = If (c) <then_branch = t () => (float[N, 4] a) { a = Neg (h) }, else_branch = e () => (float[N, 4] b) "
                    "{ b = Abs (h) }>\n h = Relu (x) }"), [{"x": f32(3, 4), "c": np.array(c)} for c in (True, False)],
               ["note: .*reads 'h' before node 'Relu_1'"], "in the order", answers=lambda f: {"y": (-1 if f["c"] else 1) * np.maximum(f["x"], 0)})
    yield Form("nodes out of order in a branch",
               text("g (float[N, 4] x, bool c) => (float[N, 4] y) { y = If (c) <then_branch = t () => (float[N, 4] a) { a = Neg (h)\n h = Relu (x) }, else_branch = e () => "
                    "(float[N, 4] b) { b = Abs (x) }> }"), [{"x": f32(3, 4), "c": np.array(True)}], ["note: .*'Neg_0' .*'Relu_1'"], "in the order",
               answers=lambda f: {"y": -np.maximum(f["x"], 0)})
    yield Form("a branch with a name of its own that is the node's output",
               text("g (float[N, 4] x, bool c) => (float[N, 4] y) { h = Relu (x)\n y = If (c) <then_branch = t () => (float[N, 4] z) { y2 = Neg (h)\n z = Abs (y2) }, "
                    "else_branch = e () => (float[N, 4] z2) { z2 = Abs (h) }> }"), [{"x": f32(3, 4), "c": np.array(True)}])
    # Domains and versions.
    yield Form("two spellings of one domain", text("g (float[N, 4] x) => (float[N, 4] y) { y = ai.onnx.Relu (x) }", '"" : 17, "ai.onnx" : 17'), x34,
               answers=lambda f: {"y": np.maximum(f["x"], 0)})
    yield Form("domains that nothing uses", text("g (float[N, 4] x) => (float[N, 4] y) { y = Relu (x) }", '"" : 17, "ai.onnx.ml" : 6, "org.pytorch.aten" : 1, "com.microsoft" : 1'),
               x34, answers=lambda f: {"y": np.maximum(f["x"], 0)})
    yield Form("an op of ONNX Runtime's", text("g (float[N, 4] x) => (float[N, 4] y) { y = com.microsoft.FastGelu (x) }", '"" : 17, "com.microsoft" : 1'), x34)
    yield Form("an op of ONNX Runtime's that is not imported", text("g (float[N, 4] x) => (float[N, 4] y) { y = com.microsoft.Inverse (x) }", '"" : 17, "com.microsoft" : 1'), x34, code=3,
               says=["error: .*'Inverse_0' \\(Inverse, com.microsoft 1\\) is not supported: the op is not imported; export the model again without ONNX Runtime's fusions", "1 node is not supported"])
    # Names: the tests of TensorFlow's and Keras' exporters.
    yield Form("names with slashes and colons (tf2onnx)",
               helper.make_model(helper.make_graph([helper.make_node("MatMul", ["serving_default_x:0", "model/dense/MatMul/ReadVariableOp:0"], ["model/dense/MatMul:0"], name="model/dense/MatMul"),
                                                    helper.make_node("Relu", ["model/dense/MatMul:0"], ["StatefulPartitionedCall:0"], name="")], "tf2onnx",
                                                   [helper.make_tensor_value_info("serving_default_x:0", 1, ["unk__6", 4])],
                                                   [helper.make_tensor_value_info("StatefulPartitionedCall:0", 1, ["unk__7", 3])],
                                                   weights(("model/dense/MatMul/ReadVariableOp:0", f32(4, 3)))), opset_imports=[helper.make_opsetid("", 15)], ir_version=8,
                                 producer_name="tf2onnx", producer_version="1.16.1", doc_string="made by tf2onnx"), [{"serving_default_x:0": f32(3, 4)}])
    yield Form("names that are numbers (torch.onnx, TorchScript)", text('g (float[?, 4] "input.1", float[3, 4] "fc.weight", float[3] "fc.bias") => (float["Gemm7_dim_0", 3] "7") '
                                                                        '{ "7" = Gemm <alpha = 1.0, beta = 1.0, transB = 1> ("input.1", "fc.weight", "fc.bias") }', ir=7),
               [{"input.1": f32(5, 4), "fc.weight": f32(3, 4), "fc.bias": f32(3)}])
    yield Form("initializers that are inputs too (IR 3)",
               helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])], "g",
                                                   [helper.make_tensor_value_info("x", 1, ["None", 4]), helper.make_tensor_value_info("w", 1, [4])],
                                                   [helper.make_tensor_value_info("y", 1, ["None", 4])], weights(("w", f32(4)))),
                                 opset_imports=[helper.make_opsetid("", 8)], ir_version=3), x34)
    yield Form("a size named by an expression (torch.onnx, dynamo)", text('g (float[s0, 4] x, float["2*s0", 4] z) => (float["3*s0", 4] y) { y = Concat <axis = 0> (x, z) }', '"" : 18'),
               [{"x": f32(3, 4), "z": f32(6, 4)}])
    yield Form("sizes of -1 and names with a question mark (PaddlePaddle)",
               helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "paddle-onnx", [helper.make_tensor_value_info("x", 1, [-1, 4])],
                                                   [helper.make_tensor_value_info("y", 1, [-1, 4])]), opset_imports=[helper.make_opsetid("", 11)], ir_version=7), x34)
    yield Form("an output without a type", helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, ["N", 4])],
                                                                              [helper.make_tensor_value_info("y", 1, None)]),
                                                            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), x34)
    # Nodes: inputs that are left out, documentation, metadata.
    yield Form("inputs that are left out", text('g (float[N, 4] x) => (float[N, 4] y) <float m = {0.5}> { y = Clip (x, , m) }'), x34)
    yield Form("outputs that nothing reads", text("g (float[N, 4] x) => (float[N, 2] y) <int64[1] k = {2}> { y, unread = TopK <axis = 1> (x, k) }"), x34)
    yield Form("documentation and metadata", changed(text("g (float[N, 4] x) => (float[N, 4] y) { y = Relu (x) }"), describe), x34)
    yield Form("a function (torch.onnx, dynamo)",
               '<ir_version: 8, opset_import: ["" : 18, "pkg.onnxscript.torch_lib" : 1, "pkg.onnxscript.torch_lib.common" : 1]>'
               " g (float[N, 4] x) => (float[N, 4] y) { y = pkg.onnxscript.torch_lib.aten_silu (x) }"
               '<domain: "pkg.onnxscript.torch_lib", opset_import: ["" : 18]> aten_silu (a) => (b) { s = Sigmoid (a)\n b = Mul (a, s) }', x34)
    yield Form("a function with attributes and a default",
               '<ir_version: 9, opset_import: ["" : 18, "local" : 1]> g (float[N, 4] x) => (float[N, 4] y) { h = local.scaled (x)\n y = local.scaled <alpha = 0.5> (h) }'
               '<domain: "local", opset_import: ["" : 18]> scaled <alpha: float = 2.0> (a) => (b) { b = LeakyRelu <alpha = @alpha> (a) }', x34)
    yield Form("constants as nodes (MXNet, Caffe2)", text("g (float[N, 4] x) => (float[N, 4] y) { c = Constant <value = float[1] {2}> ()\n h = Mul (x, c)\n z = Identity (h)\n y = Dropout (z) }",
                                                         '"" : 9', ir=4), x34)
    yield Form("a cast to a type and back", text("g (int32[N, 4] x) => (int32[N, 4] y) { h = Cast <to = 1> (x)\n r = Relu (h)\n y = Cast <to = 6> (r) }"),
               [{"x": random.integers(-4, 4, (3, 4)).astype(np.int32)}])
    yield Form("a flatten by its shape (Keras)", text("g (float[N, 2, 3] x) => (float[N, 6] y) <int64[1] minus = {-1}, int64 zero = {0}, int64[1] axis = {0}> "
                                                     "{ s = Shape (x)\n n = Gather (s, zero)\n u = Unsqueeze (n, axis)\n t = Concat <axis = 0> (u, minus)\n y = Reshape (x, t) }"), [{"x": f32(3, 2, 3)}])
    yield Form("a chain of features (skl2onnx)",
               text("g (float[N, 2] x) => (int64[N] label, float[N, 3] scores) { s = ai.onnx.ml.Scaler <offset = [0.5, 0.25], scale = [2.0, 4.0]> (x)\n label, scores = "
                    "ai.onnx.ml.LinearClassifier <classlabels_ints = [0, 1, 2], coefficients = [0.5, 1.0, -1.0, 0.25, 0.75, -0.5], intercepts = [0.1, 0.2, 0.3], multi_class = 1, "
                    'post_transform = "SOFTMAX"> (s) }', '"" : 15, "ai.onnx.ml" : 1'), [{"x": f32(3, 2)}])
    zipped = text("g (float[N, 2] x) => (seq(map(int64, float)) y) { h = Softmax (x)\n y = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (h) }", '"" : 17, "ai.onnx.ml" : 1')
    softmax = lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    yield Form("maps of probabilities (skl2onnx, LightGBM)", zipped, [{"x": f32(3, 2)}],
               [r"note: .*node 'ZipMap_1' \(ZipMap\): there are no maps, so 'y' is a tensor with a column for each label, in the order 0, 1, as .* zipmap=False$"],
               answers=lambda f: {"y": softmax(f["x"])})
    yield Form("maps of probabilities by names", zipped.replace("classlabels_int64s = [0, 1]", 'classlabels_strings = ["no", "yes"]').replace("int64, float", "string, float"),
               [{"x": f32(3, 2)}], ["note: .*in the order 'no', 'yes', "], answers=lambda f: {"y": softmax(f["x"])})
    yield Form("maps of a wrong number of labels", zipped.replace("[0, 1]", "[0, 1, 2]"), [], code=3, says=["error: .*'ZipMap_1' .*a number for each of 3 labels"])
    yield Form("devices", changed(text("g (float[N, 4] x) => (float[N, 4] y) { y = Relu (x) }", ir=11), spread), x34,
               [r"note: .*how its nodes are spread over devices \(1 configuration, 1 node\), which is not used: all of it runs on one device$"])
    yield Form("a sequence as output", text("g (float[N, 4] x) => (float[N, 4] y) { k = Constant <value_int = 2> ()\n s = SplitToSequence <axis = 1> (x, k)\n y = ConcatFromSequence <axis = 1> (s) }"), x34)
    # Sizes of inputs that have one name.
    merged = text("g (float[N, 4] x, float[N, 4] past, bool c) => (float[M, 4] y) { y = If (c) <then_branch = t () => (float[P, 4] a) { a = Neg (past) }, else_branch = e () => "
                  "(float[Q, 4] b) { b = Tanh (x) }> }")
    yield Form("a past of length 0 for the branch that is not taken (optimum)", merged,
               [{"x": f32(3, 4), "past": f32(0, 4), "c": np.array(False)}, {"x": f32(3, 4), "past": f32(2, 4), "c": np.array(True)}, {"x": f32(3, 4), "past": f32(3, 4), "c": np.array(True)}])
    needs = merged.replace("{ a = Neg (past) }", "{ d = Neg (past)\n a = Add (x, d) }")
    yield Form("a branch that needs the sizes to be equal", needs,
               [{"x": f32(3, 4), "past": f32(0, 4), "c": np.array(False)}, {"x": f32(3, 4), "past": f32(3, 4), "c": np.array(True)}, {"x": f32(3, 4), "past": f32(2, 4), "c": np.array(True)}],
               refused=[None, None, r"Add_\d .*needs sizes '.*N.*' and '.*N.*' equal, got"])
    yield Form("sizes of one name that a node brings together", text("g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y) { h = Neg (z)\n y = Add (x, h) }"),
               [{"x": f32(3, 4), "z": f32(3, 4)}, {"x": f32(3, 4), "z": f32(1, 4)}], refused=[None, "input 'z': dim 0 is 'N', which is 3 by input 'x', got 1"])
    yield Form("two parts of a model with one name of a size", text("g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y, float[N, 4] w) { y = Neg (z)\n w = Relu (x) }"),
               [{"x": f32(3, 4), "z": f32(2, 4)}])
    behind = text("g (float[N, 4] x, float[N, 4] z) => (float[M, 4] y) { h = Neg (x)\n y = Concat <axis = -2> (h, z) }")
    yield Form("sizes of one name along which a node puts one behind the other", behind, [{"x": f32(3, 4), "z": f32(2, 4)}, {"x": f32(3, 4), "z": f32(0, 4)}])
    yield Form("sizes of one name that a node puts side by side", behind.replace("-2", "1").replace("[M, 4]", "[N, 8]"),
               [{"x": f32(3, 4), "z": f32(3, 4)}, {"x": f32(3, 4), "z": f32(2, 4)}], refused=[None, "input 'z': dim 0 is 'N', which is 3 by input 'x', got 2"])
    yield Form("sizes of one name that are the rows and the columns of a product", text("g (float[N, 4] x, float[4, N] z) => (float[A, B] y) { y = MatMul (x, z) }"),
               [{"x": f32(3, 4), "z": f32(4, 2)}, {"x": f32(3, 4), "z": f32(4, 0)}])
    yield Form("rows and columns of one name before a node with constants",
               text("g (float[N, 4] x, float[4, N] z) => (float[A, B] y) <int64[1] from = {1}, int64[1] to = {9}> { h = MatMul (x, z)\n y = Slice (h, from, to) }"), [{"x": f32(3, 4), "z": f32(4, 2)}])
    scores = text("g (float[B, N, 4] q, float[B, N, 4] k) => (float[B, A, C] y) { t = Transpose <perm = [0, 2, 1]> (k)\n s = MatMul (q, t)\n y = Softmax <axis = -1> (s) }")
    yield Form("queries and keys with one name of their length", scores, [{"q": f32(2, 3, 4), "k": f32(2, 5, 4)}, {"q": f32(2, 3, 4), "k": f32(1, 5, 4)}],
               refused=[None, "input 'k': dim 0 is 'B', which is 2 by input 'q', got 1"])
    yield Form("a product that sums over sizes of one name", text("g (float[4, N] x, float[N, 4] z) => (float[4, 4] y) { y = MatMul (x, z) }"),
               [{"x": f32(4, 3), "z": f32(3, 4)}, {"x": f32(4, 3), "z": f32(2, 4)}], refused=[None, "input 'z': dim 0 is 'N', which is 3 by input 'x', got 2"])
    for flags, x, z, wrong in (("", "N, 4", "4, N", (3, 2)), ("transA = 1", "4, N", "4, N", (2, 5)), ("transB = 1", "N, 4", "N, 4", (5, 3)), ("transA = 1, transB = 1", "4, N", "N, 4", (3, 1))):
        shape = lambda dims, n: [n if dim == "N" else 4 for dim in dims.split(", ")]
        yield Form(f"rows and columns of a Gemm with one name [{flags}]", text(f"g (float[{x}] x, float[{z}] z) => (float[A, B] y) {{ y = Gemm <alpha = 1.0{', ' if flags else ''}{flags}> (x, z) }}"),
                   [{"x": f32(*shape(x, wrong[0])), "z": f32(*shape(z, wrong[1]))}])
    yield Form("a Gemm that adds to rows of one name", text("g (float[N, 4] x, float[4, M] z, float[N, M] c) => (float[N, M] y) { y = Gemm (x, z, c) }"),
               [{"x": f32(3, 4), "z": f32(4, 2), "c": f32(3, 2)}, {"x": f32(3, 4), "z": f32(4, 2), "c": f32(2, 2)}], refused=[None, "input 'c': dim 0 is 'N', which is 3 by input 'x', got 2"])
    yield Form("a Gather of data by as many indices as its name says of the data", text("g (float[N, 4] x, int64[N] i) => (float[A, 4] y) { y = Gather (x, i) }"),
               [{"x": f32(3, 4), "i": np.array([2, 0, 1, 1, 2])}, {"x": f32(3, 4), "i": np.zeros(0, np.int64)}])
    yield Form("a product of sizes of one name, then a sum with one of them",
               text("g (float[N, 4] x, float[4, N] z, float[N, 1] b) => (float[A, B] y) { h = MatMul (x, z)\n t = Transpose (h)\n y = Add (t, b) }"),
               [{"x": f32(3, 4), "z": f32(4, 2), "b": f32(2, 1)}, {"x": f32(3, 4), "z": f32(4, 2), "b": f32(3, 1)}],
               refused=[None, "input 'b': dim 0 is 'N'', which is 2 by input 'z', got 3"])
    turned = text("g (float[4, N] x, float[4, N] z) => (float[M, 4] y) { a = Transpose (x)\n r = Relu (a)\n b = Transpose <perm = [1, 0]> (z)\n y = Concat <axis = 0> (r, b) }")
    yield Form("sizes of one name that a node puts behind one another after a transpose", turned, [{"x": f32(4, 3), "z": f32(4, 2)}, {"x": f32(4, 0), "z": f32(4, 2)}])
    yield Form("sizes of one name that a node puts side by side after a transpose", turned.replace("<axis = 0>", "<axis = 1>").replace("[M, 4]", "[N, 8]"),
               [{"x": f32(4, 3), "z": f32(4, 3)}, {"x": f32(4, 3), "z": f32(4, 2)}], refused=[None, "input 'z': dim 1 is 'N', which is 3 by input 'x', got 2"])
    yield Form("sizes of one name that an old Add aligns from the first one", text("g (float[N, 4] x, float[N] z) => (float[N, 4] y) { y = Add <axis = 0, broadcast = 1> (x, z) }", '"" : 6', ir=3),
               [{"x": f32(3, 4), "z": f32(3)}, {"x": f32(3, 4), "z": f32(2)}], refused=[None, "input 'z': dim 0 is 'N', which is 3 by input 'x', got 2"],
               answers=lambda f: {"y": f["x"] + f["z"][:, None]})
    yield Form("sums of sizes of one name", text("g (float[N, 4] x, float[N, 4] z) => (int64 y) { s = Shape <start = 0, end = 1> (x)\n t = Shape <start = 0, end = 1> (z)\n u = Add (s, t)\n y = Squeeze (u) }"),
               [{"x": f32(3, 4), "z": f32(2, 4)}])
    for inputs in ("float[N, 4] x, float[N, 4] z", "float[N, 4] z, float[N, 4] x"):
        yield Form("a size of an input that nothing reads", text(f"g ({inputs}) => (float[N, 4] y) {{ y = Neg (x) }}"), [{"x": f32(3, 4), "z": f32(2, 4)}])
    yield Form("both of a name are fixed", text("g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y, float[N, 4] w) { y = Neg (z)\n w = Relu (x) }"),
               [{"x": f32(3, 4), "z": f32(3, 4)}, {"x": f32(3, 4), "z": f32(2, 4)}], flags=("--dim", "N=3"), refused=[None, "input 'z': dim 0 must be 3, got 2"])
    yield Form("versions for several sizes of a name", text("g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y, float[N, 4] w) { y = Neg (z)\n w = Relu (x) }"),
               [{"x": f32(3, 4), "z": f32(3, 4)}, {"x": f32(3, 4), "z": f32(2, 4)}, {"x": f32(8, 4), "z": f32(8, 4)}], flags=("--dim", "N=3,8"))
    yield Form("a name in an expression", text('g (float[N, 4] x, float["N + 1", 4] z, float[N, 4] v) => (float[N, 4] y, float[K, 4] w, float[N, 4] u) { y = Neg (x)\n w = Relu (z)\n u = Abs (v) }'),
               [{"x": f32(3, 4), "z": f32(4, 4), "v": f32(3, 4)}])
    yield from choices()


def describe(model):
    model.doc_string, model.producer_name = "a model\nwith lines", "exporter \u00e9"
    model.metadata_props.add(key="author", value="x")
    model.graph.doc_string = model.graph.node[0].doc_string = "File \"a.py\", line 3"
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value="File \"a.py\"")
    model.graph.node[0].attribute.add(name="__note", type=onnx.AttributeProto.STRING, s=b"a tool's own")
    model.graph.quantization_annotation.add(tensor_name="x").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")


def spread(model):
    model.configuration.add(name="two", num_devices=2, device=["a", "b"])
    model.graph.node[0].device_configurations.add(configuration_id="two")


def choices():
    """Ifs whose branches give tensors of two ranks, with nodes after them that take one rank."""
    squeeze = "{p}m = If ({c}) <then_branch = t () => ( {p}t) {{ {p}t = Squeeze ({x}, axis) }}, else_branch = e () => ( {p}e) {{ {p}e = Identity ({x}) }}>\n {p}r = Softmax ({p}m)\n " \
              "{p}y = Reshape ({p}r, flat)"
    consts = "<int64[1] axis = {1}, int64[1] flat = {-1}, int64 one = {1}>"

    def model(nodes, inputs, outputs):
        return text(f"g ({inputs}) => ({', '.join('float[?] ' + name for name in outputs)}) {consts} {{ {nodes} }}")

    def block(prefix, condition, value="x"):
        return squeeze.format(p=prefix, c=condition, x=value)

    size = "s = Shape (x)\n d = Gather (s, one)\n c = Equal (d, one)\n "
    calls = [{"x": f32(2, k)} for k in (1, 3)]
    for count in (2, 3, 5):
        names = [f"n{i}" for i in range(count)]
        yield Form(f"{count} choices by one condition", model(size + "\n".join(block(name, "c") for name in names), "float[N, K] x", [name + "y" for name in names]), calls)
    given = [{"x": f32(2, 1), "z": f32(2, 3), "a": np.array(a), "b": np.array(b)} for a in (True, False) for b in (True, False)]
    for call in given:
        call["z"] = f32(2, 1)
    yield Form("two choices by two conditions", model(block("n", "a") + "\n" + block("m", "b", "z"), "float[N, K] x, float[N, L] z, bool a, bool b", ["ny", "my"]), given)
    yield Form("two choices by one condition, of two values", model(block("n", "a") + "\n" + block("m", "a", "z"), "float[N, K] x, float[N, L] z, bool a", ["ny", "my"]),
               [{"x": f32(2, k), "z": f32(2, k), "a": np.array(k == 1)} for k in (1, 3)])
    yield Form("choices by a condition and by its opposite",
               model("o = Not (a)\n " + block("n", "a") + "\n" + block("m", "o").replace("Squeeze (x, axis)", "Q").replace("Identity (x)", "Squeeze (x, axis)").replace("= Q", "= Identity (x)"),
                     "float[N, K] x, bool a", ["ny", "my"]), [{"x": f32(2, k), "a": np.array(k == 1)} for k in (1, 3)])
    yield Form("choices by a condition that is computed twice",
               model("l = ReduceSum <keepdims = 0> (v)\n a = Greater (l, zero)\n l2 = ReduceSum <keepdims = 0> (v)\n b = Greater (l2, zero)\n ".replace("zero", "z") + block("n", "a") + "\n" + block("m", "b"),
                     "float[N, K] x, float[3] v, float z", ["ny", "my"]), [{"x": f32(2, k), "v": f32(3) + sign, "z": np.array(0, np.float32)} for k, sign in ((1, 9), (3, -9), (1, -9))])
    nested = ("m = If (a) <then_branch = t () => ( t) { t = Squeeze (x, axis) }, else_branch = e () => ( e) { e = Identity (x) }>\n p = Softmax (m)\n "
              "q = If (a) <then_branch = t2 () => ( u) { i = If (b) <then_branch = t3 () => ( v) { v = Neg (p) }, else_branch = e3 () => ( w) { w = ReduceSum <keepdims = 0> (p, flat) }>\n u = Reshape (i, flat) }, "
              "else_branch = e2 () => ( k) { k = Neg (p) }>\n y = Reshape (q, flat)")
    yield Form("a choice inside of a choice", model(nested, "float[N, K] x, bool a, bool b", ["y"]), [{"x": f32(2, k), "a": np.array(k == 1), "b": np.array(b)} for k in (1, 3) for b in (True, False)])
    # The ranks leave the branch that an inner choice is in: what reads them goes into the branches of both.
    calls = [{"x": f32(2, k), "a": np.array(a), "b": np.array(k == 1)} for k in (1, 3) for a in (True, False)]
    inner = "i = If (b) <then_branch = t3 () => ( v) { v = Squeeze (x, axis) }, else_branch = e3 () => ( w) { w = Identity (x) }>"
    leaving = f"q = If (a) <then_branch = t2 () => ( i) {{ {inner} }}, else_branch = e2 () => ( k) {{ k = Abs (x) }}>\n r = Softmax <axis = 0> (q)\n y = Reshape (r, flat)"
    leave = lambda nodes: model(nodes, "float[N, K] x, bool a, bool b", ["y"])
    yield Form("a choice of which both ranks leave the branch that it is in", leave(leaving), calls)
    yield Form("a choice of which both ranks leave the branch through a node", leave(leaving.replace("( i)", "( u)").replace(inner, inner + "\n u = Neg (i)")), calls)
    yield Form("a choice of which both ranks leave the branch by the name of its node", leave(leaving.replace("( i)", "( q)").replace(inner, inner + "\n q = Neg (i)")), calls)
    yield Form("a choice of two ranks beside a branch of a third", leave(leaving.replace("Abs (x)", "Unsqueeze (x, axis)")), calls)
    yield Form("choices of which both ranks leave both branches", leave(leaving.replace("k = Abs (x)", inner.replace("i =", "k =").replace("t3", "t4").replace("e3", "e4").replace("v", "v4").replace("w", "w4"))
                                                                    .replace("v4 =", "v4 =")), calls)
    # Each reads the one before: without what is known of the condition there would be 256 ways through them.
    chain = "h0 = If (a) <then_branch = t () => ( t0) { t0 = Squeeze (x, axis) }, else_branch = e () => ( e0) { e0 = Identity (x) }>\n s0 = Softmax (h0)\n "
    for level in range(1, 8):
        changes = f"ReduceSum <keepdims = 0> (s{level - 1}, flat)" if level % 2 else f"Unsqueeze (s{level - 1}, zero)"
        chain += (f"h{level} = If (a) <then_branch = t () => ( t{level}) {{ t{level} = {changes} }}, else_branch = e () => ( e{level}) {{ e{level} = Abs (s{level - 1}) }}>\n "
                  f"s{level} = " + (f"Identity (h{level})\n " if level % 2 else f"Softmax (h{level})\n "))
    yield Form("eight choices by one condition, one after the other", model(chain + "y = Reshape (s7, flat)", "float[N, K] x, bool a", ["y"]).replace("int64 one = {1}", "int64[1] zero = {0}"),
               [{"x": f32(2, k), "a": np.array(k == 1)} for k in (1, 3)])
    # After the first one's 'then' the second can only take its 'else', and after its 'else' both.
    yield Form("a choice that another one leaves only one branch", model(
        "m = If (a) <then_branch = t () => ( t) { t = Squeeze (x, axis) }, else_branch = e () => ( e) { e = Identity (x) }>\n p = Softmax (m)\n "
        "q = If (b) <then_branch = t2 () => ( u) { u = ReduceSum <keepdims = 0> (p, flat) }, else_branch = e2 () => ( w) { w = Neg (p) }>\n r = Softmax <axis = 0> (q)\n y = Reshape (r, flat)",
        "float[N, K] x, bool a, bool b", ["y"]), [{"x": f32(2, k), "a": np.array(k == 1), "b": np.array(b)} for k, b in ((1, False), (3, True), (3, False))])
    rounds = text("g (float[N, K] x, bool a, int64 n) => (float[?] y, float[?] last) <int64[1] axis = {1}, int64[1] flat = {-1}> { start = Constant <value = float[1] {0}> ()\n last = Loop (n, , start) "
                  "<body = body (int64 i, bool k, float[1] s) => (bool k2, float[1] s2) { k2 = Identity (k)\n m = If (a) <then_branch = t () => ( t) { t = Squeeze (x, axis) }, else_branch = e () => ( e) "
                  "{ e = Identity (x) }>\n r = Softmax (m)\n q = If (a) <then_branch = t2 () => ( u) { u = Neg (r) }, else_branch = e2 () => ( w) { w = Abs (r) }>\n f = Reshape (q, flat)\n "
                  "z = ReduceSum <keepdims = 1> (f)\n s2 = Add (s, z) }>\n y = Reshape (x, flat) }")
    yield Form("choices inside of a loop", rounds, [{"x": f32(2, k), "a": np.array(k == 1), "n": np.array(2)} for k in (1, 3)])


class Failure(Exception):
    pass


class Runner:
    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, folder

    def tool(self, name, *arguments):
        try:
            done = subprocess.run([os.path.join(self.binaries, name), *arguments], capture_output=True, text=True, errors="replace", timeout=120)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{name} was not done in {late.timeout} s") from late
        if done.returncode not in (0, 1, 2, 3):
            raise Failure(f"{name} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def run(self, form, number):
        path = lambda name: os.path.join(self.folder, f"{number}_{name}")
        onnx.save(form.model, path("m.onnx"))
        done = self.tool("vx-compile", path("m.onnx"), "-o", path("m.vxm"), "--target=cpu", "--no-cache", *form.flags)
        lines = done.stderr.splitlines()
        if done.returncode != form.code:
            raise Failure(f"vx-compile ends with {done.returncode}, expected {form.code}: {done.stderr.strip()}")
        if len(lines) != len(form.says) or not all(re.search(want, line) for want, line in zip(form.says, lines)):
            raise Failure(f"vx-compile says {lines}, expected {form.says}")
        if form.strict or (form.says and form.code == 0):
            strict = self.tool("vx-compile", path("m.onnx"), "-o", path("s.vxm"), "--target=cpu", "--no-cache", "--strict")
            if strict.returncode != (3 if form.strict else 0) or not re.search(form.strict or "", strict.stderr):
                raise Failure(f"vx-compile --strict ends with {strict.returncode} and says {strict.stderr.strip()!r}, expected {form.strict!r}")
        session = None if form.answers or form.code else onnxruntime.InferenceSession(path("m.onnx"))
        names = [output.name for output in form.model.graph.output]
        for call, refused in zip(form.calls if form.code == 0 else [], form.refused):
            arguments = []
            for index, (name, array) in enumerate(call.items()):
                np.save(path(f"in{index}.npy"), array)
                arguments += ["--input", f"{name}=@{path(f'in{index}.npy')}"]
            for index, name in enumerate(names):
                arguments += ["--output", f"{name}=@{path(f'out{index}.npy')}"]
            done = self.tool("vx-run", path("m.vxm"), "--device=cpu", "--no-fallback", *arguments)
            sizes = {name: array.shape if array.size > 1 else array.tolist() for name, array in call.items()}
            if refused:
                if done.returncode == 0 or not re.search(refused, done.stderr):
                    raise Failure(f"{sizes}: vx-run ends with {done.returncode} and says {done.stderr.strip()!r}, expected {refused!r}")
                continue
            if done.returncode != 0:
                raise Failure(f"{sizes}: vx-run: {done.stderr.strip()}")
            wanted = form.answers(call) if form.answers else dict(zip(names, session.run(names, call)))
            for index, name in enumerate(names):
                got, want = np.load(path(f"out{index}.npy")), np.asarray(wanted[name])
                if (got.dtype, got.shape) != (want.dtype, want.shape) or not np.allclose(got, want, rtol=1e-5, atol=1e-6):
                    raise Failure(f"{sizes}: output '{name}': got {got.dtype} {got.shape} {got.tolist()}, expected {want.dtype} {want.shape} {want.tolist()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    chosen = [form for form in forms() if options.filter in form.title]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runner = Runner(options.bin, folder)
        for form, done in [(form, pool.submit(runner.run, form, number)) for number, form in enumerate(chosen)]:
            try:
                done.result()
                print(f"ok     {form.title}", flush=True)
            except Exception as failure:  # what ONNX Runtime or NumPy says fails the form too
                failed += 1
                print(f"FAILED {form.title}: {type(failure).__name__}: {failure}", flush=True)
    if not chosen:
        print(f"FAILED no form matches '{options.filter}'")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
