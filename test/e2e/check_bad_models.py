#!/usr/bin/env python3
"""Models with one mistake each, of all kinds that a model can have whatever its ops compute: each is refused by its node's, tensor's or value's name, with what
was wanted and what came, and nothing ends the compiler.

  check_bad_models.py --bin BUILD/bin [--checker] [NAME...]

--checker says of each model what onnx.checker has against it.

Exit code: 0 all are refused as the table says, 1 some are not.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import AttributeProto, TensorProto, TypeProto, helper

# What each line of a refusal ends with, or the number of nodes.
ADVICE = re.compile("; (export the model again|add the op to the model|give the .onnx file|put the files of the weights|the model breaks a rule of ONNX: )|: [0-9]+ nodes? (is|are) not supported$")

F32, I32, I64, F16, STRING, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT16, TensorProto.STRING, TensorProto.BOOL
NEWEST = 28

node = helper.make_node
tensor = helper.make_tensor


def value(name, kind=F32, shape=(2, 3)):
    return helper.make_tensor_value_info(name, kind, shape)


def graph_of(nodes, inputs=None, outputs=None, **more):
    return helper.make_graph(nodes, "g", [value("x")] if inputs is None else inputs, [value("y", shape=None)] if outputs is None else outputs, **more)


def model(nodes, inputs=None, outputs=None, opset=20, opsets=None, ir=10, functions=(), **more):
    opsets = [("", opset)] if opsets is None else opsets
    return helper.make_model(graph_of(nodes, inputs, outputs, **more), opset_imports=[helper.make_opsetid(*pair) for pair in opsets], ir_version=ir,
                             functions=list(functions))


def changed(message, change):
    change(message)
    return message


def spoilt(message):
    """With a byte of the name NAME that is no letter in UTF-8."""
    return message.SerializeToString().replace(b"NAME", b"NAM\xff")


def external(location, **entries):
    weight = TensorProto(name="w", data_type=F32, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=text)
    return model([node("Add", ["x", "w"], ["y"], name="n")], initializer=[weight])


def function(name, nodes, inputs=("a",), outputs=("b",), opsets=(("", 20),), attributes=(), domain="local"):
    return helper.make_function(domain, name, list(inputs), list(outputs), nodes, [helper.make_opsetid(*pair) for pair in opsets], list(attributes))


def calling(functions, call=None):
    return model([call or node("F", ["x"], ["y"], name="n", domain="local")], opsets=[("", 20), ("local", 1)], functions=functions)


def branch(nodes, outputs=("t",), **more):
    return helper.make_graph(nodes, "branch", [], [value(name, shape=None) for name in outputs], **more)


def choice(then_branch, else_branch=None, inputs=(), **more):
    other = else_branch or branch([node("Abs", ["x"], ["e"], name="inside_else")], ["e"])
    return model([node("If", ["c"], ["y"], name="n", then_branch=then_branch, else_branch=other)], inputs=[value("x"), value("c", BOOL, []), *inputs], **more)


def raw(name, kind, dims, size):
    return TensorProto(name=name, data_type=kind, dims=dims, raw_data=bytes(size))


def weighted(weight, op="Add"):
    return model([node(op, ["x", "w"], ["y"], name="n")], initializer=[weight])


def typed(proto, name="x"):
    return helper.make_value_info(name, proto)


def relu(**more):
    return node("Relu", ["x"], ["y"], name="n", **more)


def with_attribute(change, op="Relu", **more):
    """The node with an attribute that `change` writes."""
    made = node(op, ["x"], ["y"], name="n", **more)
    change(made.attribute.add())
    return model([made])


def attribute(name, **fields):
    def change(proto):
        proto.name = name
        for field, content in fields.items():
            if isinstance(content, list):
                getattr(proto, field).extend(content)
            else:
                setattr(proto, field, content)

    return change


def sparse():
    values, indices = tensor("w", F32, [1], [1.0]), tensor("i", I64, [1], [2])
    return helper.make_sparse_tensor(values, indices, [2, 3])


def nested(depth):
    """As bytes: graphs so deep inside of one another are not read by Python."""
    def field(number, content):
        content = content.encode() if isinstance(content, str) else content
        size, digits = len(content), b""
        while size > 127:
            digits += bytes([size % 128 + 128])
            size //= 128
        return bytes([number * 8 + 2]) + digits + bytes([size]) + content

    def choose(level):
        made, then_name, else_name = f"r{level}", f"r{level - 1}", f"e{level}"
        body = lambda node, output: field(1, node) + field(2, "b") + field(12, field(1, output))
        leaf = field(1, "x") + field(2, else_name) + field(4, "Relu")
        attribute = lambda name, body: field(5, field(1, name) + field(6, body) + b"\xa0\x01\x05")
        inner = choose(level - 1) if level > 1 else field(1, "x") + field(2, "r0") + field(4, "Relu")
        return field(1, "c") + field(2, made) + field(4, "If") + attribute("then_branch", body(inner, then_name)) + attribute("else_branch", body(leaf, else_name))

    outer = model([relu()], inputs=[value("x"), value("c", BOOL, [])], outputs=[value(f"r{depth}", shape=None)])
    outer.graph.ClearField("node")
    graph_bytes = field(1, choose(depth)) + outer.graph.SerializeToString()
    outer.ClearField("graph")
    return field(7, graph_bytes) + outer.SerializeToString()


def unnamed_tensor():
    weight = tensor("w", F32, [2, 3], [0.0] * 6)
    weight.name = ""
    return weight


class Hint(str):
    pass


def table():
    """Of each mistake its title, the model, and what the message says: the node (or the tensor or the value) and both values; None where the model is taken all the
    same, since it can mean one thing only; and a Hint where it is taken with this message, and with --strict refused with it."""
    INT, FLOAT = AttributeProto.INT, AttributeProto.FLOAT
    # Values.
    yield "a value that two nodes make", model([node("Relu", ["x"], ["y"], name="m"), node("Abs", ["x"], ["y"], name="n")]), "node 'n' .*'y' is made twice"
    yield "two outputs of a node with one name", model([node("TopK", ["x", "k"], ["y", "y"], name="n")], initializer=[tensor("k", I64, [1], [1])]), "node 'n' .*'y' is made twice"
    yield "an output with an input's name", model([node("Relu", ["x"], ["x"], name="m"), relu()]), "(?s)'m'.*'x'"
    yield "an output with an initializer's name", model([relu(), node("Relu", ["x"], ["w"], name="m")], initializer=[tensor("w", F32, [1], [1.0])]), "node 'm' .*'w' is made twice"
    yield "two inputs with one name", model([relu()], inputs=[value("x"), value("x")]), "'x' is made twice"
    yield "two initializers with one name", model([relu()], initializer=[tensor("w", F32, [1], [1.0]), tensor("w", F32, [1], [2.0])]), "'w' is made twice"
    yield "an input that nothing makes", model([node("Add", ["x", "nothing"], ["y"], name="n")]), "node 'n' .*'nothing'"
    yield "an input that a later node makes", model([node("Relu", ["a"], ["y"], name="n"), node("Abs", ["x"], ["a"], name="m")]), Hint("'n' .*'a'.*'m'")
    yield "a cycle", model([node("Add", ["x", "y"], ["a"], name="n"), node("Abs", ["a"], ["y"], name="m")]), "cycles.*'m'.*'n'|cycles.*'n'.*'m'"
    yield "a node that feeds itself", model([node("Add", ["x", "y"], ["y"], name="n")]), "cycles.*'n'"
    yield "an output that nothing makes", model([relu()], outputs=[value("z")]), "output 'z'"
    yield "an output that is listed twice", model([relu()], outputs=[value("y"), value("y")]), "'y' is listed twice"
    yield "no output", model([relu()], outputs=[]), "at least 1 output, got 0"
    yield "an output without a name", model([relu()], outputs=[value("")]), "name"
    yield "an input without a name", model([relu()], inputs=[value("x"), value("")]), "input.* name"
    yield "an initializer without a name", model([relu()], initializer=[unnamed_tensor()]), "initializer.* name"
    yield "a value whose name is no UTF-8", spoilt(model([node("Relu", ["x"], ["NAME"], name="m"), node("Relu", ["NAME"], ["y"], name="n")])), "'m' .*UTF-8.*'4E414DFF'"
    yield "an input whose name is no UTF-8", spoilt(model([node("Relu", ["NAME"], ["y"], name="n")], inputs=[value("NAME")])), "UTF-8.*'4E414DFF'"
    yield "a node whose name is no UTF-8", spoilt(model([node("Relu", ["x"], ["y"], name="NAME")])), "UTF-8"
    yield "a size whose name is no UTF-8", spoilt(model([relu()], inputs=[value("x", shape=["NAME", 3])])), "'x'.*UTF-8.*'4E414DFF'"
    yield "no graph", changed(model([relu()]), lambda m: m.ClearField("graph")), "a graph, got none"
    yield "a graph without a name", changed(model([relu()]), lambda m: m.graph.ClearField("name")), None
    yield "a node without an op", model([node("", ["x"], ["y"], name="n")]), "'n'"
    yield "a node without outputs", model([relu(), node("Relu", ["x"], [], name="m")]), "'m' .*at least 1 output, got 0"
    # More than one: each is said, also of nodes that read what is not there, of their subgraphs, and of graphs out of order.
    many = [node("Relu", ["x"], ["a"], name="m", alpha=1.0, beta=2), node("Frobnicate", ["a"], ["b"], name="o"), node("Add", ["b", "w", "x"], ["d"], name="n"),
            node("If", ["c"], ["y"], name="p", then_branch=branch([node("Concat", ["d"], ["t"], name="q")]), else_branch=branch([node("Abs", ["d"], ["e"])], ["e"]))]
    said = "(?s)'w'.*24 bytes.*'m' .*got 'alpha'.*'m' .*got 'beta'.*'o' .*not imported.*'n' .*2 inputs .*got 3.*'q' .*'axis', got none"
    yield "many mistakes", model(many, inputs=[value("x"), value("c", BOOL, [])], initializer=[raw("w", F32, [2, 3], 20)]), said
    beside = said.replace("'w'.*24 bytes.*", "")
    yield "many mistakes out of order", model([many[2], *many[:2], many[3]], inputs=[value("x"), value("c", BOOL, [])]), beside
    yield "many mistakes beside a cycle", model([*many, node("Abs", ["r"], ["s"], name="r"), node("Abs", ["s"], ["r"], name="s")], inputs=[value("x"), value("c", BOOL, [])]), beside.replace("(?s)", "(?s)cycles.*'s' .*'r' .*")
    # Numbers of inputs and outputs.
    yield "too few inputs", model([node("Add", ["x"], ["y"], name="n")]), "'n' .*2 inputs"
    yield "no input", model([node("Relu", [], ["y"], name="n")]), "'n' .*input"
    yield "an input that is left out and must be there", model([node("Add", ["", "x"], ["y"], name="n")]), "'n' .*input 0"
    yield "too many inputs", model([node("Relu", ["x", "x"], ["y"], name="n")]), "'n' .*at most 1 input .*got 2"
    yield "too many inputs of two", model([node("Add", ["x", "x", "x"], ["y"], name="n")]), "'n' .*at most 2 inputs .*got 3"
    yield "an input that an older version has not", model([node("Dropout", ["x", "r"], ["y"], name="n")], opset=11, initializer=[tensor("r", F32, [], [0.5])]), "'n' .*at most 1 input .*got 2"
    yield "too many outputs", model([node("Relu", ["x"], ["y", "z"], name="n")]), "'n' .*at most 1 output .*got 2"
    yield "too many outputs of two", model([node("MaxPool", ["x"], ["y", "i", "z"], name="n", kernel_shape=[2])], inputs=[value("x", shape=[1, 2, 3])]), "'n' .*at most 2 outputs .*got 3"
    yield "an output that must be there", model([node("TopK", ["x", "k"], ["y"], name="n")], initializer=[tensor("k", I64, [1], [1])]), "'n' .*at least 2 outputs, got 1"
    yield "no part of a list", model([node("Concat", [], ["y"], name="n", axis=0)]), "'n' .*input"
    # Attributes.
    yield "an attribute that the op has not", model([relu(alpha=1.0)]), "'n' .*'alpha'"
    yield "an attribute that the version has not", model([node("Dropout", ["x"], ["y"], name="n", ratio=0.5)], opset=13), "'n' .*'ratio'"
    yield "an attribute twice", changed(model([node("LeakyRelu", ["x"], ["y"], name="n", alpha=0.5)]), lambda m: m.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.25))), "'n' .*'alpha'.*(twice|once)"
    yield "an attribute without a name", with_attribute(attribute("", f=1.0, type=FLOAT)), "'n' .*attribute.*name"
    yield "an attribute that must be there", model([node("Concat", ["x", "x"], ["y"], name="n")]), "'n' .*'axis', got none"
    yield "an attribute of a text that must be there", model([node("Cast", ["x"], ["y"], name="n")]), "'n' .*'to', got none"
    yield "sums of strings", model([node("Col2Im", ["x", "i", "b"], ["y"], name="n")], inputs=[value("x", TensorProto.STRING, (1, 4, 4))], outputs=[value("y", TensorProto.STRING, None)], initializer=[
        helper.make_tensor("i", TensorProto.INT64, [2], [3, 3]), helper.make_tensor("b", TensorProto.INT64, [2], [2, 2])]), "'n' .*numbers or bools, got 'string'"
    yield "a text that must be there", model([node("BitShift", ["x", "x"], ["y"], name="n")], inputs=[value("x", TensorProto.UINT8)]), "'n' .*'direction'"
    yield "ints for an int", model([node("Concat", ["x", "x"], ["y"], name="n", axis=[0])]), "'n' .*'axis' to be an int, got ints"
    yield "a float for an int", model([node("Concat", ["x", "x"], ["y"], name="n", axis=0.0)]), "'n' .*'axis' to be an int, got a float"
    yield "an int for a float", model([node("LeakyRelu", ["x"], ["y"], name="n", alpha=1)]), "'n' .*'alpha' to be a float, got an int"
    yield "an int for a text", model([node("DepthToSpace", ["x"], ["y"], name="n", blocksize=1, mode=1)], inputs=[value("x", shape=[1, 1, 2, 2])]), "'n' .*'mode' to be a string, got an int"
    yield "a wrong type of an attribute that is not read", model([node("Dropout", ["x"], ["y"], name="n", seed="a")]), "'n' .*'seed' to be an int, got a string"
    yield "a type that the field is not", with_attribute(attribute("alpha", i=1, type=FLOAT), "LeakyRelu"), "'n' .*'alpha'"
    yield "two fields", with_attribute(attribute("alpha", i=1, f=1.0, type=FLOAT), "LeakyRelu"), "'n' .*'alpha'"
    yield "no field", with_attribute(attribute("alpha", type=FLOAT), "LeakyRelu"), None
    yield "an unknown type of an attribute", with_attribute(attribute("alpha", f=1.0), "LeakyRelu"), None
    yield "a reference outside of a function", with_attribute(attribute("alpha", type=FLOAT, ref_attr_name="a"), "LeakyRelu"), "'n' .*'alpha'.*'a'"
    yield "a value that is not of the set", model([node("Pad", ["x", "p"], ["y"], name="n", mode="fancy")], initializer=[tensor("p", I64, [4], [0, 0, 0, 0])]), "'n' .*'fancy'"
    yield "a direction that there is not", model([node("BitShift", ["x", "x"], ["y"], name="n", direction="UP")], inputs=[value("x", TensorProto.UINT8)]), "'n' .*'UP'"
    yield "auto_pad that there is not", model([node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2], auto_pad="NONE")], inputs=[value("x", shape=[1, 2, 3])]), "'n' .*'NONE'"
    yield "an axis out of range", model([node("Softmax", ["x"], ["y"], name="n", axis=2)]), "'n' .*-2 to 1, got 2"
    yield "a permutation that is none", model([node("Transpose", ["x"], ["y"], name="n", perm=[0, 0])]), "'n' .*perm"
    yield "a type to cast to that there is not", model([node("Cast", ["x"], ["y"], name="n", to=99)]), "'n' .*99"
    yield "a group that does not divide", model([node("Conv", ["x", "w"], ["y"], name="n", group=2)], inputs=[value("x", shape=[1, 3, 5, 5])], initializer=[tensor("w", F32, [2, 1, 1, 1], [1.0, 1.0])]), "'n' .*3"
    yield "a negative stride", model([node("MaxPool", ["x"], ["y"], name="n", kernel_shape=[2], strides=[-1])], inputs=[value("x", shape=[1, 2, 3])]), "'n' .*-1"
    yield "a kernel shape that the weights have not", model([node("Conv", ["x", "w"], ["y"], name="n", kernel_shape=[2, 2])], inputs=[value("x", shape=[1, 1, 5, 5])], initializer=[tensor("w", F32, [1, 1, 3, 3], [1.0] * 9)]), "'n' .*2.*3|'n' .*3.*2"
    yield "two values of a constant", model([node("Constant", [], ["k"], name="m", value_float=1.0, value_int=1), node("Add", ["x", "k"], ["y"], name="n")]), "'m'"
    yield "no value of a constant", model([node("Constant", [], ["k"], name="m"), node("Add", ["x", "k"], ["y"], name="n")]), "'m'"
    # Ops and versions.
    yield "an op that there is not", model([node("Frobnicate", ["x"], ["y"], name="n")]), "'n' \\(Frobnicate, ai.onnx 20\\)"
    yield "an op that is not there yet", model([node("Gelu", ["x"], ["y"], name="n")], opset=19), "'n' .*19.*20"
    yield "an op that is no longer there", model([node("Upsample", ["x", "s"], ["y"], name="n")], opset=20, initializer=[tensor("s", F32, [2], [1.0, 1.0])]), "'n' .*20"
    yield "an op that became others", model([node("Scatter", ["x", "i", "x"], ["y"], name="n")], opset=20, initializer=[tensor("i", I64, [2, 3], [0] * 6)]), "'n' .*20"
    yield "an op of a version that is deprecated, and that came back", model([node("GroupNormalization", ["x", "s", "s"], ["y"], name="n", num_groups=1)], opset=18, inputs=[value("x", shape=[2, 4, 3])], initializer=[tensor("s", F32, [1], [1.0])]), None
    yield "a domain without a version", model([node("Relu", ["x"], ["y"], name="n", domain="com.example")]), "'n' .*'com.example'"
    yield "a domain that is not known", model([node("Relu", ["x"], ["y"], name="n", domain="com.example")], opsets=[("", 20), ("com.example", 1)]), "'n' .*'com.example'"
    yield "no version at all", model([relu()], opsets=[]), "'n' .*'ai.onnx'|version"
    yield "a domain with two versions", model([relu()], opsets=[("", 20), ("", 19)]), "'ai.onnx'.*20.*19"
    yield "a domain with two spellings and two versions", model([relu()], opsets=[("", 20), ("ai.onnx", 19)]), "'ai.onnx'.*20.*19"
    yield "a version that is too new", model([relu()], opset=NEWEST + 1), f"1 to {NEWEST} .*got {NEWEST + 1}"
    yield "a version below 1", model([relu()], opset=0), "got 0"
    yield "a version of another domain that is too new", model([node("Scaler", ["x"], ["y"], name="n", domain="ai.onnx.ml", offset=[0.0], scale=[1.0])], opsets=[("", 20), ("ai.onnx.ml", 99)]), "99"
    yield "an IR version that is too new", model([relu()], ir=99), "IR version.*99"
    yield "no IR version", changed(model([relu()]), lambda m: m.ClearField("ir_version")), "IR version"
    yield "an IR version of 0", model([relu()], ir=0), "IR version.*0"
    # Types.
    yield "two types of one parameter", model([node("Add", ["x", "z"], ["y"], name="n")], inputs=[value("x"), value("z", I32)]), "'n' .*(f32.*i32|i32.*f32)"
    yield "two types of one parameter of a product", model([node("MatMul", ["x", "z"], ["y"], name="n")], inputs=[value("x"), value("z", F16, [3, 2])]), "'n' .*(f32.*f16|f16.*f32)"
    yield "two types in a list", model([node("Concat", ["x", "z"], ["y"], name="n", axis=0)], inputs=[value("x"), value("z", I32)]), "'n' .*(f32.*i32|i32.*f32)"
    yield "two types of which one is a constant", weighted(tensor("w", I64, [3], [1, 2, 3])), "'n' .*(f32.*i64|i64.*f32)"
    yield "a type that the op does not take", model([node("Sin", ["x"], ["y"], name="n")], inputs=[value("x", I32)]), "'n' .*i32"
    yield "a type that the version does not take", model([node("Clip", ["x"], ["y"], name="n")], inputs=[value("x", I32)], outputs=[value("y", I32)], opset=11), None
    yield "indices that are no integers", model([node("Gather", ["x", "x"], ["y"], name="n")]), "'n' .*f32"
    yield "a condition that is no bool", model([node("Where", ["x", "x", "x"], ["y"], name="n")]), "'n' .*f32"
    yield "a shape of i32", model([node("Reshape", ["x", "s"], ["y"], name="n")], initializer=[tensor("s", I32, [1], [6])]), "'n' .*i32"
    yield "a string where a number goes", model([node("Add", ["x", "x"], ["y"], name="n")], inputs=[value("x", STRING)]), "'n' .*string"
    yield "a sequence where a tensor goes", model([node("SequenceConstruct", ["x"], ["s"], name="m"), node("Relu", ["s"], ["y"], name="n")]), "'n' .*f32.*sequence"
    yield "a tensor where a sequence goes", model([node("SequenceLength", ["x"], ["y"], name="n")], outputs=[value("y", I64, [])]), "'n' .*sequence"
    yield "an optional where a tensor goes", model([node("Optional", ["x"], ["o"], name="m"), node("Relu", ["o"], ["y"], name="n")]), None
    # What the graph states of types and sizes.
    yield "an output of another type", model([relu()], outputs=[value("y", I32)]), "'y'.*i32.*f32"
    yield "an output of another rank", model([relu()], outputs=[value("y", shape=[2])]), Hint("'y'.*\\[2\\].*\\[2,3\\]")
    yield "an output of another size", model([relu()], outputs=[value("y", shape=[2, 4])]), Hint("'y'.*\\[2,4\\].*\\[2,3\\]")
    yield "an output that is a sequence", model([relu()], outputs=[typed(helper.make_sequence_type_proto(helper.make_tensor_type_proto(F32, None)), "y")]), "'y'.*sequence.*f32"
    yield "an output that is an optional", model([relu()], outputs=[typed(helper.make_optional_type_proto(helper.make_tensor_type_proto(F32, None)), "y")]), None
    yield "an output that is a tensor and states a sequence", model([node("SequenceConstruct", ["x"], ["y"], name="n")], outputs=[value("y")]), "'y'.*sequence"
    yield "elements of another type in an output sequence", model([node("SequenceConstruct", ["x"], ["y"], name="n")], outputs=[typed(helper.make_sequence_type_proto(helper.make_tensor_type_proto(I32, None)), "y")]), "'y'.*i32.*f32"
    yield "a value of another type", model([node("Relu", ["x"], ["a"], name="m"), node("Relu", ["a"], ["y"], name="n")], value_info=[value("a", I32)]), "'a'.*i32.*f32"
    yield "a value of another rank", model([node("Relu", ["x"], ["a"], name="m"), node("Relu", ["a"], ["y"], name="n")], value_info=[value("a", shape=[6])]), Hint("'a'.*\\[6\\].*\\[2,3\\]")
    yield "a value of another size", model([node("Relu", ["x"], ["a"], name="m"), node("Relu", ["a"], ["y"], name="n")], value_info=[value("a", shape=[2, 4])]), Hint("'a'.*\\[2,4\\].*\\[2,3\\]")
    yield "a value stated twice", model([node("Relu", ["x"], ["a"], name="m"), node("Relu", ["a"], ["y"], name="n")], value_info=[value("a"), value("a", I32)]), "'a'"
    yield "an initializer that its input states otherwise", model([node("Add", ["x", "w"], ["y"], name="n")], inputs=[value("x"), value("w", shape=[4])], initializer=[tensor("w", F32, [3], [1.0, 2.0, 3.0])]), "'w'.*\\[4\\].*\\[3\\]"
    yield "an initializer of another type than its input", model([node("Add", ["x", "w"], ["y"], name="n")], inputs=[value("x"), value("w", I32, [3])], initializer=[tensor("w", F32, [3], [1.0, 2.0, 3.0])]), "'w'.*i32.*f32"
    yield "sizes that cannot go together", model([node("Add", ["x", "z"], ["y"], name="n")], inputs=[value("x"), value("z", shape=[2, 4])]), "'n' .*3.*4"
    yield "a product of sizes that differ", model([node("MatMul", ["x", "z"], ["y"], name="n")], inputs=[value("x"), value("z", shape=[4, 2])]), "'n' .*3.*4"
    yield "a name with two sizes", model([node("Add", ["x", "w"], ["y"], name="n")], inputs=[value("x", shape=["n"])], outputs=[value("y", shape=["n", "n"])], initializer=[tensor("w", F32, [2, 1], [1.0, 2.0])]), None
    yield "an output of a named size that is a number", model([relu()], outputs=[value("y", shape=["batch", 3])]), None
    yield "a negative size of an input", model([relu()], inputs=[value("x", shape=[-2, 3])]), "'x'.*-2"
    yield "an input without a type", model([relu()], inputs=[typed(TypeProto())]), "'x'.*type"
    yield "an input of no element type", model([relu()], inputs=[value("x", 0)]), "'x'.*0"
    yield "an input of an unknown element type", model([relu()], inputs=[value("x", 99)]), "'x'.*99"
    yield "an input of complex numbers", model([relu()], inputs=[value("x", TensorProto.COMPLEX64)]), "'x'.*complex64"
    yield "an input without a shape", model([relu()], inputs=[value("x", shape=None)]), "'x'.*shape"
    yield "an input that is a map", model([relu()], inputs=[typed(helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F32, [1])))]), "'x'.*map"
    yield "an input that is sparse", model([relu()], inputs=[helper.make_sparse_tensor_value_info("x", F32, [2, 3])]), "'x'.*sparse"
    yield "a sequence of sequences", model([relu()], inputs=[typed(helper.make_sequence_type_proto(helper.make_sequence_type_proto(helper.make_tensor_type_proto(F32, [1]))))]), "'x'.*sequence"
    yield "a sequence of maps", model([relu()], inputs=[typed(helper.make_sequence_type_proto(helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F32, [1]))))]), "'x'.*sequence"
    yield "an optional of an optional", model([relu()], inputs=[typed(helper.make_optional_type_proto(helper.make_optional_type_proto(helper.make_tensor_type_proto(F32, [1]))))]), "'x'.*optional"
    yield "an output that is a map", model([relu()], outputs=[typed(helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F32, [1])), "y")]), "'y'.*map"
    # Tensors.
    yield "too few bytes", weighted(raw("w", F32, [2, 3], 20)), "'w'.*24 bytes.*20"
    yield "too many bytes", weighted(raw("w", F32, [2, 3], 28)), "'w'.*24 bytes.*28"
    yield "too few values", weighted(TensorProto(name="w", data_type=F32, dims=[2, 3], float_data=[1.0] * 5)), "'w'.*6 values, got 5"
    yield "too many values", weighted(TensorProto(name="w", data_type=F32, dims=[], float_data=[1.0] * 2)), "'w'.*1 values?, got 2"
    yield "no values", weighted(TensorProto(name="w", data_type=F32, dims=[2, 3])), "'w'.*6 values, got 0"
    yield "values in another type's field", weighted(TensorProto(name="w", data_type=F32, dims=[2], int32_data=[1, 2])), "'w'.*2"
    yield "values in two fields", weighted(TensorProto(name="w", data_type=F32, dims=[3], float_data=[1.0] * 3, raw_data=bytes(12))), "'w'"
    yield "values in two typed fields", weighted(TensorProto(name="w", data_type=F32, dims=[3], float_data=[1.0] * 3, int32_data=[1] * 3)), "'w'"
    yield "raw strings", model([node("Equal", ["x", "w"], ["y"], name="n")], inputs=[value("x", STRING)], outputs=[value("y", BOOL)], initializer=[raw("w", STRING, [1], 4)]), "'w'.*strings"
    yield "a string that is no UTF-8", model([node("Equal", ["x", "w"], ["y"], name="n")], inputs=[value("x", STRING)], outputs=[value("y", BOOL)], initializer=[TensorProto(name="w", data_type=STRING, dims=[1], string_data=[b"\xff"])]), "'w'.*UTF-8"
    yield "a negative size of a tensor", weighted(raw("w", F32, [-1, 3], 12)), "'w'.*at least 0, got -1"
    yield "more elements than numbers go", weighted(raw("w", F32, [1 << 40, 1 << 40], 4)), "'w'.*elements"
    yield "an unknown element type of a tensor", weighted(TensorProto(name="w", data_type=99, dims=[1])), "'w'.*99"
    yield "no element type of a tensor", weighted(TensorProto(name="w", dims=[1], float_data=[1.0])), "'w'.*0"
    yield "a segment", weighted(changed(raw("w", F32, [2, 3], 24), lambda t: t.segment.CopyFrom(TensorProto.Segment(begin=0, end=6)))), "'w'.*segments"
    yield "a sparse initializer", model([node("Add", ["x", "w"], ["y"], name="n")], sparse_initializer=[sparse()]), "'w'.*sparse"
    yield "a bool of 2", model([node("And", ["x", "w"], ["y"], name="n")], inputs=[value("x", BOOL)], outputs=[value("y", BOOL)], initializer=[raw("w", BOOL, [2, 3], 6)]), None
    yield "an int8 of 300", model([node("Add", ["x", "w"], ["y"], name="n")], inputs=[value("x", TensorProto.INT8)], initializer=[TensorProto(name="w", data_type=TensorProto.INT8, dims=[1], int32_data=[300])]), "'w'.*300"
    # External data.
    yield "no location", external(""), "'w'.*''"
    yield "a file that is not there", external("none.bin"), "'w'.*'none.bin'"
    yield "a file outside", external("../outside.bin"), "'w'.*'../outside.bin'"
    yield "a way through an outer folder", external("a/../../outside.bin"), "'w'.*outside.bin'"
    yield "an absolute path", external("/etc/passwd"), "'w'.*'/etc/passwd'"
    yield "a folder", external("folder"), "'w'.*'folder'"
    yield "an offset behind the end", external("data.bin", offset="100"), "'w'.*100.*64"
    yield "a length behind the end", external("data.bin", offset="48", length="24"), "'w'.*24.*48.*64"
    yield "a length that the tensor has not", external("data.bin", length="20"), "'w'.*24.*20"
    yield "an offset that is no number", external("data.bin", offset="-4"), "'w'.*'offset'.*'-4'"
    yield "a key that there is not", external("data.bin", length="24", checksum="0", size="24"), None
    # Subgraphs.
    yield "a subgraph that is not there", changed(choice(branch([node("Relu", ["x"], ["t"], name="inside")])), lambda m: m.graph.node[0].attribute.pop()), "'n' .*'(else|then)_branch', got none"
    yield "a name of the outer graph made again", choice(branch([node("Relu", ["x"], ["x"], name="inside")], ["x"])), "'inside' .*'x'"
    yield "an initializer with a name of the outer graph", choice(branch([node("Relu", ["x"], ["t"], name="inside")], initializer=[tensor("x", F32, [2, 3], [1.0] * 6)])), None
    yield "a value with a name of the outer graph", choice(branch([node("Abs", ["z"], ["x"], name="inside"), node("Add", ["x", "z"], ["t"], name="i")]), inputs=[value("z")]), None
    later = choice(branch([node("Abs", ["x"], ["z"], name="inside"), node("Neg", ["z"], ["t"], name="i")]), outputs=[value("z", shape=None)])
    yield "a value inside with the name of a later one outside", changed(later, lambda m: m.graph.node.append(node("Relu", ["y"], ["z"], name="m"))), None
    yield "a name of the outer graph read before it is another value's", choice(branch([node("Relu", ["x"], ["q"], name="inside"), node("Abs", ["q"], ["x"], name="i")], ["x"])), "'inside' .*'x'.*'i' "
    yield "a value that another branch makes", choice(branch([node("Relu", ["e"], ["t"], name="inside")])), "'inside' .*'e'"
    yield "a value of an inner graph read outside", changed(choice(branch([node("Relu", ["x"], ["t"], name="inside")])), lambda m: m.graph.node.append(node("Relu", ["t"], ["z"], name="m"))), "'m' .*'t'"
    yield "branches with other numbers of outputs", choice(branch([node("Relu", ["x"], ["t"], name="inside")], ["t", "t2"])), "'t2'|'n' "
    yield "more outputs than the branches", changed(choice(branch([node("Relu", ["x"], ["t"], name="inside")])), lambda m: m.graph.node[0].output.append("z")), "'n' .*1.*2|'n' .*2.*1"
    yield "branches of two types", choice(branch([node("Cast", ["x"], ["t"], name="inside", to=I32)])), "'n' .*(f32.*i32|i32.*f32)"
    yield "a branch with inputs", changed(choice(branch([node("Relu", ["x"], ["t"], name="inside")])), lambda m: m.graph.node[0].attribute[0].g.input.append(value("q"))), "'n' .*input"
    yield "a mistake inside", choice(branch([node("Relu", ["x"], ["t"], name="inside", alpha=1.0)])), "'inside' .*'alpha'"
    yield "a body with too few inputs", model([node("Loop", ["k", "", "x"], ["y"], name="n", body=helper.make_graph([node("Relu", ["q"], ["r"], name="inside")], "body", [value("i", I64, []), value("q")], [value("r")]))], initializer=[tensor("k", I64, [], [2])]), "'n' .*3.*2"
    deepest = "at most 16 subgraphs, functions and gradients inside of one another"
    yield "17 Ifs inside of one another", nested(17), deepest
    yield "60 Ifs inside of one another", nested(60), deepest
    yield "15 Ifs inside of one another", nested(15), None
    sizes = [value(f"x{i}", shape=[f"n{i}", 3]) for i in range(256)]
    yield "a concatenation of 256 named sizes", model([node("Concat", [size.name for size in sizes], ["y"], name="n", axis=0)], inputs=sizes), "'n' .*at most 256 names, numbers and operations together, got 257 in dimension 0, which is made of 'n0', 'n1', 'n10' and 253 more; .*export the model again with fixed sizes"
    yield "a concatenation of 255 named sizes", model([node("Concat", [size.name for size in sizes[:255]], ["y"], name="n", axis=0)], inputs=sizes[:255]), None
    # Functions.
    yield "a function that calls itself", calling([function("F", [node("F", ["a"], ["b"], name="inside", domain="local")], opsets=[("", 20), ("local", 1)])]), "'F', which calls itself"
    yield "functions that call one another", calling([function("F", [node("G", ["a"], ["b"], name="i", domain="local")], opsets=[("", 20), ("local", 1)]), function("G", [node("F", ["a"], ["b"], name="j", domain="local")], opsets=[("", 20), ("local", 1)])]), "which calls itself"
    yield "a function twice", calling([function("F", [node("Relu", ["a"], ["b"])]), function("F", [node("Abs", ["a"], ["b"])])]), "'F'"
    yield "a function's input twice", calling([function("F", [node("Add", ["a", "a"], ["b"])], inputs=["a", "a"])], node("F", ["x", "x"], ["y"], name="n", domain="local")), "'F'.*'a'"
    yield "a function's output twice", calling([function("F", [node("Relu", ["a"], ["b"])], outputs=["b", "b"])]), "'F'.*'b'"
    yield "a function's output that nothing makes", calling([function("F", [node("Relu", ["a"], ["c"])])]), "'F'.*'b'|'n' .*'y'"
    yield "too many inputs of a function", calling([function("F", [node("Relu", ["a"], ["b"])])], node("F", ["x", "x"], ["y"], name="n", domain="local")), "'n' .*'F' has 1 inputs?, got 2"
    yield "too many outputs of a function", calling([function("F", [node("Relu", ["a"], ["b"])])], node("F", ["x"], ["y", "z"], name="n", domain="local")), "'n' .*'F'.*(1 outputs?, got 2|'z')"
    yield "an attribute that the function has not", calling([function("F", [node("Relu", ["a"], ["b"])])], node("F", ["x"], ["y"], name="n", domain="local", alpha=1.0)), "'n' .*'alpha'"
    yield "an attribute of a function that is not given", calling([changed(function("F", [node("Concat", ["a", "a"], ["b"], name="inside")], attributes=["axis"]), lambda f: f.node[0].attribute.append(AttributeProto(name="axis", type=INT, ref_attr_name="axis")))]), "'axis'"
    yield "an attribute of a function that it does not declare", calling([changed(function("F", [node("Softmax", ["a"], ["b"], name="inside")]), lambda f: f.node[0].attribute.append(AttributeProto(name="axis", type=INT, ref_attr_name="axes")))]), "'inside' .*'axes'"
    yield "an attribute of a function with another type", calling([changed(function("F", [node("Softmax", ["a"], ["b"], name="inside")], attributes=["axis"]), lambda f: f.node[0].attribute.append(AttributeProto(name="axis", type=INT, ref_attr_name="axis")))], node("F", ["x"], ["y"], name="n", domain="local", axis=1.0)), "'axis' to be an int, got a float"
    yield "a name of the outer graph in a function", calling([function("F", [node("Add", ["a", "x"], ["b"], name="inside")])]), "'inside' .*'x'"
    yield "a function without a version of its ops", calling([function("F", [node("Relu", ["a"], ["b"], name="inside")], opsets=[])]), "'inside' .*'ai.onnx'"
    yield "a function's version that is too new", calling([function("F", [node("Relu", ["a"], ["b"], name="inside")], opsets=[("", 99)])]), "'F'.*99"
    yield "a value made twice in a function", calling([function("F", [node("Relu", ["a"], ["b"], name="i"), node("Abs", ["a"], ["b"], name="inside")])]), "'inside' .*'b' is made twice"
    yield "an input made again in a function", calling([function("F", [node("Relu", ["a"], ["a"], name="inside"), node("Relu", ["a"], ["b"], name="i")])]), "'inside'.*'a'"
    yield "a mistake in a function that nothing calls", model([relu()], functions=[function("F", [node("Relu", ["a"], ["b"], name="inside", alpha=1.0)])], opsets=[("", 20), ("local", 1)]), "'inside' .*'alpha'"
    yield "an op that there is not in a function that nothing calls", model([relu()], functions=[function("F", [node("Frobnicate", ["a"], ["b"], name="inside")])], opsets=[("", 20), ("local", 1)]), None
    yield "a call of a function that there is not", calling([function("G", [node("Relu", ["a"], ["b"])])]), "'n' .*'local'"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--checker", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        os.mkdir(os.path.join(folder, "folder"))
        numpy.zeros(16, numpy.float32).tofile(os.path.join(folder, "data.bin"))

        def run(tool, *arguments):
            return subprocess.run([os.path.join(options.bin, tool), *arguments, path], capture_output=True, text=True, errors="replace")

        for title, made, want in table():
            if options.names and title not in options.names:
                continue
            count += 1
            with open(path, "wb") as file:
                file.write(made if isinstance(made, bytes) else made.SerializeToString())
            if options.checker:
                try:
                    onnx.checker.check_model(path, full_check=True)
                    print(f"CHECKER {title}: takes it")
                except Exception as error:
                    print(f"CHECKER {title}: {(str(error).strip() or 'refuses it').splitlines()[0]}")
            done = run("onnx-import-print")
            good = done.returncode == 0 if want is None or isinstance(want, Hint) else done.returncode == 3
            good = good and re.search(want or "^$", done.stderr) and all(ADVICE.search(line) for line in done.stderr.splitlines() if done.returncode == 3)
            if good and isinstance(want, Hint):
                done = run("onnx-import-print", "--strict")
                good = done.returncode == 3 and re.search(want, done.stderr)
            # What all have in common is asked for now and then: the compiler says what the importer does.
            if good and count % 16 == 0 and not isinstance(want, Hint):
                ends = [run("vx-compile", "--target=cpu", *more) for more in (["--check"], ["-o", os.path.join(folder, "model.vxm"), "--no-cache"])]
                good = all(end.returncode == done.returncode and done.stderr in end.stderr for end in ends)
                done = ends[0] if good else ends[-1]
            if not good:
                failed += 1
                print(f"FAILED {title}: exit code {done.returncode}: {done.stderr.strip()}; expected {want}", flush=True)
    if not count:
        print(f"FAILED no model matches '{' '.join(options.names)}'")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
