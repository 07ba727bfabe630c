#!/usr/bin/env python3
"""Trained models as ONNX: what vx-train --export writes is the model that was compiled but for what was trained.

  run_export.py --bin BUILD/bin

A model with all that ONNX keeps weights in goes through untrained, and must be the same, message by message and byte by byte; then it is trained, and
each trained tensor must have the elements that the checkpoint has. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import sys
import tempfile

import onnxruntime

from run_models import np, onnx
from run_vx_train import Tests, read_tensors
from onnx import TensorProto, helper, numpy_helper

# Fields of messages inside of messages, as onnx.proto numbers them.
INNER = {"model": {7: "graph", 20: "training", 25: "function"}, "training": {1: "graph", 2: "graph"}, "graph": {1: "node", 5: "tensor"},
         "function": {7: "node", 11: "attribute"}, "node": {5: "attribute"}, "attribute": {5: "tensor", 6: "graph", 10: "tensor"}}
ELEMENTS = {4, 5, 7, 9, 10, 11, 13, 14}  # of a tensor: what its data may be in
UNKNOWN = b"\xfa\xff\x03\x05later"  # field 8191 of any message: what a newer version may write


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, payload) of each field of a message, in order."""
    at, found = 0, []
    while at < len(data):
        tag, begin = varint(data, at)
        kind = tag & 7
        if kind == 2:
            size, begin = varint(data, begin)
            at = begin + size
        else:
            at = varint(data, begin)[1] if kind == 0 else begin + (8 if kind == 1 else 4)
        found.append((tag >> 3, data[begin:at]))
    return found


def changes(was, now, kind="model", path=""):
    """Where two messages differ: the names of tensors, and places of all else."""
    if was == now:
        return []
    if kind == "tensor":
        rest = [[field for field in fields(data) if field[0] not in ELEMENTS] for data in (was, now)]
        name = next((payload.decode() for number, payload in rest[0] if number == 8), path)
        return [name] if rest[0] == rest[1] else [f"{path}: more than the elements of '{name}'"]
    a, b = fields(was), fields(now)
    if kind == "attribute" and [field for field in a if field[0] != 7] == [field for field in b if field[0] != 7]:
        return [path + "/floats"]
    if [number for number, _ in a] != [number for number, _ in b]:
        return [f"{path}: other fields"]
    found = []
    for place, ((number, one), (_, other)) in enumerate(zip(a, b)):
        inner = INNER.get(kind, {}).get(number)
        at = f"{path}/{number}[{place}]"
        found += changes(one, other, inner, at) if inner else [] if one == other else [at]
    return found


def everything(folder):
    """A model with weights in all places that ONNX has for them."""
    random = np.random.default_rng(0)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32) / 4
    tensor = lambda name, value: numpy_helper.from_array(value, name)
    listed = lambda name, value: helper.make_tensor(name, TensorProto.FLOAT, value.shape, value.ravel())
    constant = lambda name, value: helper.make_node("Constant", [], [name], name=f"make_{name}", value=tensor("", value), doc_string="a constant")

    w1 = listed("w1", draw(8, 18))
    w1.doc_string = "the first"
    w1.metadata_props.add(key="from", value="draw")
    w2, w3, wide = tensor("w2", draw(18, 18)), tensor("w3", draw(18, 18)), tensor("wide", draw(18, 1024))
    half = tensor("half", draw(18).astype(np.float16))
    branch = lambda name, nodes, initializers: helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)], initializers)
    then = branch("then", [constant("w_then", draw(18, 18)), helper.make_node("MatMul", ["h2", "w_then"], ["then_out"])], [])
    other = branch("else", [helper.make_node("MatMul", ["h2", "w_else"], ["else_out"])], [tensor("w_else", draw(18, 18))])
    nodes = [
        constant("b1", draw(18)),
        helper.make_node("Constant", [], ["b2"], name="make_b2", value_floats=[float(value) for value in draw(18)]),
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h1"], name="first", doc_string="x w1 + b1"),
        helper.make_node("MatMul", ["h1", "w2"], ["m2"]),
        helper.make_node("Add", ["m2", "b2"], ["h2"]),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Constant", [], ["zero"], value_float=0.0),
        helper.make_node("Greater", ["sum", "zero"], ["is_positive"]),
        helper.make_node("If", ["is_positive"], ["h3"], name="choose", then_branch=then, else_branch=other),
        helper.make_node("Scale", ["h3"], ["h4"], name="scale", domain="mine"),
        helper.make_node("Cast", ["half"], ["half32"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["h4", "half32"], ["h5"]),
        helper.make_node("MatMul", ["h5", "w3"], ["h6"]),
        helper.make_node("MatMul", ["h6", "wide"], ["h7"]),
        helper.make_node("ReduceMean", ["h7"], ["y"], keepdims=0),
    ]
    for index in (2, 8):
        nodes[index].metadata_props.add(key="layer", value=str(index))
        nodes[index].MergeFromString(UNKNOWN)
    w1.MergeFromString(UNKNOWN)
    graph = helper.make_graph(nodes, "everything", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])], [w1, w2, w3, wide, half],
                              doc_string="All of it.", value_info=[helper.make_tensor_value_info("h1", TensorProto.FLOAT, ["batch", 18])])
    graph.metadata_props.add(key="graph", value="yes")
    graph.MergeFromString(UNKNOWN)
    scale = helper.make_function("mine", "Scale", ["a"], ["b"], [constant("w_inner", draw(18, 18)), helper.make_node("MatMul", ["a", "w_inner"], ["b"])],
                                 [helper.make_opsetid("", 20)])
    model = helper.make_model(graph, functions=[scale], opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)], producer_name="run_export",
                              doc_string="A model.", ir_version=10)
    model.metadata_props.add(key="license", value="none")
    start = model.training_info.add().initialization
    start.name = "start"
    start.initializer.append(tensor("w1_again", draw(8, 18)))
    model.MergeFromString(UNKNOWN)
    # Two of the tensors lie in a file beside it, where nothing is aligned.
    with open(os.path.join(folder, "all.bin"), "wb") as file:
        for offset, one in ((12, model.graph.initializer[1]), (2000, model.graph.initializer[2])):
            file.seek(offset)
            file.write(one.raw_data)
            onnx.external_data_helper.set_external_data(one, "all.bin", offset, len(one.raw_data))
            one.ClearField("raw_data")
    path = os.path.join(folder, "all.onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return path


def normalised(path):
    """The model with the elements of all tensors in one form."""
    model = onnx.load(path)

    def graph(nodes, initializers=()):
        for one in initializers:
            tensor(one)
        for attribute in (attribute for node in nodes for attribute in node.attribute):
            if attribute.HasField("t"):
                tensor(attribute.t)
            if attribute.HasField("g"):
                graph(attribute.g.node, attribute.g.initializer)

    def tensor(one):
        raw = numpy_helper.from_array(numpy_helper.to_array(one)).raw_data
        for field in ("float_data", "external_data", "data_location"):
            one.ClearField(field)
        one.raw_data = raw

    graph(model.graph.node, model.graph.initializer)
    for training in model.training_info:
        graph(training.initialization.node, training.initialization.initializer)
    for function in model.functions:
        graph(function.node)
    return model.SerializeToString(deterministic=True)


def elements(path):
    """All tensors of a model by the names that programs know them by."""
    found = {}

    def graph(nodes, initializers=()):
        for one in initializers:
            found[one.name] = numpy_helper.to_array(one)
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    found[node.output[0]] = numpy_helper.to_array(attribute.t)
                if attribute.name == "value_floats":
                    found[node.output[0]] = np.array(attribute.floats, np.float32)
                if attribute.HasField("g"):
                    graph(attribute.g.node, attribute.g.initializer)

    model = onnx.load(path)
    graph(model.graph.node, model.graph.initializer)
    for function in model.functions:
        graph(function.node)
    return found


def run(path, x):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


TRAINED = ["w1", "w2", "b1", "b2", "w_then", "w_else", "w_inner"]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def check_model(tests, path, title, want, changed):
    """An exported model beside the one that it was made of."""
    source = tests.path("all.onnx")
    onnx.checker.check_model(path)
    tests.check(f"{title}: is the model", normalised(path) == want, "other messages")
    got = changes(bytes_of(source), bytes_of(path))
    tests.check(f"{title}: other bytes of its own only", sorted(got) == sorted(changed), f"expected {sorted(changed)}, got {sorted(got)}")
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    for sign in (1, -1):
        tests.check(f"{title}: computes the same", np.array_equal(run(path, sign * abs(x)), run(source, sign * abs(x))), "other numbers")


def check_untrained(tests, made):
    source = everything(tests.folder)
    want = normalised(source)
    tests.run("vx-compile", "all.onnx", *made, "--freeze=w3,wide", "-o", "all.vxm")
    tests.run("vx-train", "all.vxm", "--device=cpu", "--export=same.onnx")
    # All of these are written as raw data; only that of the first was not before.
    check_model(tests, tests.path("same.onnx"), "inside", want, ["w1", "w2", "w3", "/7[3]/1[1]/5[3]/floats"])
    info = json.loads(tests.run("vx-info", "all.vxm", "--json").stdout)
    asset, = info["assets"]
    tests.check("frozen weights are stored once", 1000 < asset["size"] < 20000, f"the skeleton has {asset['size']} bytes, 73728 are of 'wide'")
    shown = tests.run("vx-info", "all.vxm").stdout
    tests.check("vx-info", "  exports: model.onnx, " in shown, shown)

    tests.run("vx-compile", "all.onnx", *made, "--freeze=w3,wide", "--export=external", "--weights=external", "-o", "beside.vxm")
    tests.run("vx-train", "beside.vxm", "--device=cpu", "--export=beside.onnx")
    path = tests.path("beside.onnx")
    outside = [one for one in onnx.load(path, load_external_data=False).graph.initializer if one.data_location == TensorProto.EXTERNAL]
    tests.check("beside: what is large is in the other file", sorted(one.name for one in outside) == ["w2", "w3", "wide"], [one.name for one in outside])
    # With the one of a branch, whose initializers are no others; each begins at a multiple of 64.
    tests.check("beside: its size", os.path.getsize(path + ".data") == 3 * 1344 + 73728, os.path.getsize(path + ".data"))
    check_model(tests, path, "beside", want, ["w1", "w2", "w3", "w_else", "wide", "/7[3]/1[1]/5[3]/floats"])


def check_trained(tests, made):
    """Every trained tensor has the elements of the checkpoint, and nothing else has others."""
    random = np.random.default_rng(2)
    os.makedirs(tests.path("data"))
    np.save(tests.path("data/x.npy"), random.standard_normal((64, 8)).astype(np.float32))
    usual = ["--device=cpu", "--data=data", "--batch-size=8", "--epochs=2", "--lr=1e-2"]
    tests.run("vx-train", "all.vxm", *usual, "--save=all.safetensors", "--export=trained.onnx")
    saved, _ = read_tensors(tests.path("all.safetensors"))
    before, after = elements(tests.path("all.onnx")), elements(tests.path("trained.onnx"))
    for name, value in after.items():
        want = saved[name] if name in TRAINED else before[name]
        tests.check(f"trained: {name}", value.dtype == want.dtype and np.array_equal(value, want), "other elements")
        tests.check(f"trained: {name} moves", (name in TRAINED) != np.array_equal(value, before[name]), f"trained are {TRAINED}")
    # The same without training, from what it left, and from the model itself.
    tests.run("vx-train", "all.vxm", "--device=cpu", "--resume=all.safetensors", "--export=again.onnx")
    tests.check("a checkpoint as a model", tests.bytes_of("again.onnx") == tests.bytes_of("trained.onnx"), "other bytes")
    tests.run("vx-train", "all.onnx", "--loss=none", "--optimizer=sgd", "--freeze=w3,wide", *usual, "--export=memory.onnx")
    tests.check("a model compiled in memory", tests.bytes_of("memory.onnx") == tests.bytes_of("trained.onnx"), "other bytes")
    # And once more: what was exported is a model to train.
    tests.run("vx-compile", "trained.onnx", *made, "--freeze=w3,wide", "-o", "next.vxm")
    tests.run("vx-train", "next.vxm", "--device=cpu", "--export=next.onnx")
    tests.check("an export of an export", tests.bytes_of("next.onnx") == tests.bytes_of("trained.onnx"), "other bytes")


def check_statistics(tests, made):
    """The means and variances that training collects are the exported model's."""
    random = np.random.default_rng(3)
    values = {name: random.uniform(0.5, 1.5, 8).astype(np.float32) for name in ("scale", "bias", "mean", "variance")}
    nodes = [helper.make_node("BatchNormalization", ["x", *values], ["h"]), helper.make_node("Mul", ["h", "h"], ["square"]),
             helper.make_node("ReduceMean", ["square"], ["y"], keepdims=0)]
    graph = helper.make_graph(nodes, "norm", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(value, name) for name, value in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tests.path("norm.onnx"))
    tests.run("vx-compile", "norm.onnx", *made, "--batch-norm=train", "-o", "norm.vxm")
    tests.run("vx-train", "norm.vxm", "--device=cpu", "--export=norm_same.onnx")
    tests.check("statistics at first", tests.bytes_of("norm_same.onnx") == tests.bytes_of("norm.onnx"), "other bytes")
    tests.run("vx-train", "norm.vxm", "--device=cpu", "--data=data", "--batch-size=8", "--save=norm.safetensors", "--export=norm_trained.onnx")
    saved, _ = read_tensors(tests.path("norm.safetensors"))
    after = elements(tests.path("norm_trained.onnx"))
    for name, value in after.items():
        tests.check(f"statistics: {name}", np.array_equal(value, saved[name]) and not np.array_equal(value, values[name]), f"{value}, saved are {saved[name]}")
    x = np.load(tests.path("data/x.npy"))
    normal = (x - after["mean"]) / np.sqrt(after["variance"] + 1e-5) * after["scale"] + after["bias"]
    tests.check("statistics: the model", abs(run(tests.path("norm_trained.onnx"), x) - (normal**2).mean()) < 1e-5, "other numbers")


def training_network(path):
    """A network as PyTorch exports it for training: batch norms of the batch, and dropouts that drop."""
    random = np.random.default_rng(6)
    values = {"conv.weight": random.standard_normal((6, 2, 3, 3)) / 3, "fc1.weight": random.standard_normal((16, 6)) / 3, "fc1.bias": np.zeros(16),
              "fc2.weight": random.standard_normal((3, 16)) / 4, "fc2.bias": np.zeros(3)}
    values.update({f"bn.{name}": np.full(6, value) for name, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1))})
    initializers = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in values.items()]
    initializers += [numpy_helper.from_array(np.float32(0.3), "ratio"), numpy_helper.from_array(np.array(True), "training")]
    norm = [f"bn.{name}" for name in ("weight", "bias", "running_mean", "running_var")]
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", *norm], ["n", "new_mean", "new_var"], name="bn", training_mode=1, momentum=0.5),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Dropout", ["r", "ratio", "training"], ["d", "mask"], name="drop1"),
        helper.make_node("GlobalAveragePool", ["d"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "fc1.weight", "fc1.bias"], ["h"], name="fc1", transB=1),
        helper.make_node("Relu", ["h"], ["a"], name="relu2"),
        helper.make_node("Dropout", ["a", "ratio", "training"], ["e"], name="drop2"),
        helper.make_node("Gemm", ["e", "fc2.weight", "fc2.bias"], ["logits"], name="fc2", transB=1),
    ]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2, 5, 5])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def check_forms(tests):
    """A network with batch norms and dropouts is exported as it infers, or as it trains."""
    training_network(tests.path("net.onnx"))
    random = np.random.default_rng(7)
    os.makedirs(tests.path("images"))
    labels = random.integers(0, 3, 96)
    x = (random.standard_normal((96, 2, 5, 5)) + labels[:, None, None, None]).astype(np.float32)
    np.save(tests.path("images/x.npy"), x)
    np.save(tests.path("images/label.npy"), labels)
    made = ["--loss=cross_entropy", "--optimizer=adamw", "--device=cpu"]
    usual = ["--data=images", "--validation=images", "--batch-size=16", "--epochs=4", "--lr=1e-2"]
    tests.run("vx-train", "net.onnx", *made, "--emit=net.vxm", *usual, "--history=net.json", "--save=net.safetensors", "--export=infers.onnx")
    tests.run("vx-train", "net.vxm", "--device=cpu", "--resume=net.safetensors", "--export=trains.onnx", "--export-form=training")
    tests.run("vx-train", "net.vxm", "--device=cpu", "--resume=net.safetensors", "--export=again.onnx", "--export-form=inference")
    tests.check("forms: inference is the default", tests.bytes_of("again.onnx") == tests.bytes_of("infers.onnx"), "other bytes")
    source, trains, infers = (onnx.load(tests.path(f"{name}.onnx")) for name in ("net", "trains", "infers"))
    tests.check("forms: the training form has the nodes of the file", list(trains.graph.node) == list(source.graph.node), [node.op_type for node in trains.graph.node])
    onnx.checker.check_model(infers, full_check=True)
    tests.check("forms: no dropout", [node.name for node in infers.graph.node] == [node.name for node in source.graph.node if node.op_type != "Dropout"],
                [node.name for node in infers.graph.node])
    norm = next(node for node in infers.graph.node if node.op_type == "BatchNormalization")
    tests.check("forms: the batch norm", ([one.name for one in norm.attribute], list(norm.output)) == (["momentum"], ["n"]), norm)
    left = sorted({one.name for one in source.graph.initializer} - {one.name for one in infers.graph.initializer})
    tests.check("forms: what only dropouts read is gone", left == ["ratio", "training"], left)
    saved, _ = read_tensors(tests.path("net.safetensors"))
    for one in infers.graph.initializer:
        tests.check(f"forms: {one.name}", np.array_equal(numpy_helper.to_array(one), saved[one.name]), "other elements")
    tests.check("forms: the statistics moved", abs(saved["bn.running_mean"]).min() > 1e-3, saved["bn.running_mean"])
    # ONNX Runtime computes the loss that training has evaluated, and so does vx of the exported model.
    logits = run(tests.path("infers.onnx"), x).astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    with open(tests.path("net.json"), encoding="utf-8") as file:
        want = json.load(file)["epochs"][-1]["validation"]["loss"]
    tests.check("forms: ONNX Runtime's loss", abs(-logs[np.arange(96), labels].mean() - want) < 1e-5, f"{-logs[np.arange(96), labels].mean()}, validation gave {want}")
    tests.run("vx-compile", "infers.onnx", "--target=cpu", "-o", "infers.vxm")
    tests.run("vx-run", "infers.vxm", "--device=cpu", "--input=x=@images/x.npy", "--output=logits=@logits.npy")
    tests.check("forms: vx runs it", abs(np.load(tests.path("logits.npy")) - logits).max() < 1e-5, "other numbers")
    done = tests.run("vx-compile", "trains.onnx", "--target=cpu", "-o", "trains.vxm", code=3)
    tests.check("forms: a model that trains", "Dropout" in done.stderr, done.stderr)
    for flags, text in ((["--export=x.onnx", "--export-form=other"], "--export-form: expected inference or training, got 'other'"), (["--data=images", "--export-form=training"], "--export-form: expected --export F with it, got none")):
        done = tests.run("vx-train", "net.vxm", "--device=cpu", *flags, code=2)
        tests.check("forms: messages", text in done.stderr, done.stderr)


def check_modules(tests):
    """A module with the trained weights is the module in all else, and needs no compiler."""
    x = np.load(tests.path("images/x.npy"))
    want = run(tests.path("infers.onnx"), x)

    def logits(module):
        tests.run("vx-info", module, "--verify")
        tests.run("vx-run", module, "--device=cpu", "--input=x=@images/x.npy", "--output=logits=@logits.npy")
        return np.load(tests.path("logits.npy"))

    size = lambda name: os.path.getsize(tests.path(name))
    # From a model's weights, from ones in another file, and from random ones.
    made = ["--target=cpu,vulkan", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw"]
    tests.run("vx-compile", "net.onnx", *made, "--weights=external", "-o", "outside.vxm")
    tests.run("vx-compile", "net.onnx", *made, "--init=random", "-o", "drawn.vxm")
    for name in ("net", "outside", "drawn"):
        tests.run("vx-train", f"{name}.vxm", "--device=cpu", "--resume=net.safetensors", f"--save-module={name}_trained.vxm")
        tests.check(f"modules: {name}", abs(logits(f"{name}_trained.vxm") - want).max() < 1e-5, "other numbers")
        tests.check(f"modules: {name} is one file", not os.path.exists(tests.path(f"{name}_trained.weights")), "there is a file of weights")
        described = [json.loads(tests.run("vx-info", one, "--json").stdout) for one in (f"{name}.vxm", f"{name}_trained.vxm")]
        for part in ("functions", "symbols", "storages", "programs", "targets", "training"):
            tests.check(f"modules: {name}: {part}", described[0].get(part) == described[1].get(part), "others")
    tests.check("modules: on Vulkan", tests.run("vx-run", "drawn_trained.vxm", "--device=vulkan", "--no-fallback", "--input=x=@images/x.npy", "--output=logits=@vulkan.npy").returncode == 0
                and abs(np.load(tests.path("vulkan.npy")) - want).max() < 1e-5, "other numbers")
    # A saved module is a module to train; it does not grow, and may be written over itself.
    tests.run("vx-train", "net_trained.vxm", "--device=cpu", "--save-module=again.vxm")
    tests.check("modules: saved again", tests.bytes_of("again.vxm") == tests.bytes_of("net_trained.vxm"), f"{size('again.vxm')} bytes, {size('net_trained.vxm')} before")
    tests.run("vx-train", "again.vxm", "--device=cpu", "--data=images", "--batch-size=16", "--epochs=2", "--lr=1e-2", "--save-module=trained_on.vxm", "--export=trained_on.onnx")
    tests.check("modules: trained on", size("trained_on.vxm") == size("again.vxm"), f"{size('trained_on.vxm')} bytes, {size('again.vxm')} before")
    got = logits("trained_on.vxm")
    tests.check("modules: trained on, the model", abs(got - run(tests.path("trained_on.onnx"), x)).max() < 1e-5 and abs(got - want).max() > 1e-3, "other numbers")
    done = tests.run("vx-train", "net.vxm", "--device=cpu", "--save-module=no/x.vxm", code=1)
    tests.check("modules: no folder", "cannot write 'no/x.vxm'" in done.stderr, done.stderr)
    done = tests.run("vx-train", "net.vxm", "--device=cpu", "--save-module=net.vxm", code=2)
    tests.check("modules: onto its module", "net.vxm" in done.stderr, done.stderr)
    done = tests.run("vx-train", "net.vxm", "--device=cpu", code=2)
    tests.check("modules: nothing to do", done.stderr == "vx-train: error: expected --data DIR, --export F, --save-module F or --summary; see --help\n", done.stderr)


def check_head(tests):
    """With another number of classes the weights have other dimensions, and so has the output."""
    random = np.random.default_rng(4)
    values = {"w": random.standard_normal((3, 8)).astype(np.float32), "b": np.zeros(3, np.float32)}
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["logits"], transB=1)], "head",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])],
                              [numpy_helper.from_array(value, name) for name, value in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tests.path("head.onnx"))
    x = random.standard_normal((64, 8)).astype(np.float32)
    os.makedirs(tests.path("classes"))
    np.save(tests.path("classes/x.npy"), x)
    np.save(tests.path("classes/label.npy"), random.integers(0, 5, 64))
    tests.run("vx-train", "head.onnx", "--classes=5", "--loss=cross_entropy", "--optimizer=sgd", "--device=cpu", "--data=classes", "--save=head.safetensors",
              "--export=head_trained.onnx")
    path = tests.path("head_trained.onnx")
    onnx.checker.check_model(path, full_check=True)
    saved, _ = read_tensors(tests.path("head.safetensors"))
    after = elements(path)
    for name, shape in (("w", (5, 8)), ("b", (5,))):
        tests.check(f"head: {name}", after[name].shape == shape and np.array_equal(after[name], saved[name]), after[name])
    logits = run(path, x)
    tests.check("head: the model", logits.shape == (64, 5) and np.allclose(logits, x @ after["w"].T + after["b"], atol=1e-5), logits.shape)
    dims = [dim.dim_value or dim.dim_param for dim in onnx.load(path).graph.output[0].type.tensor_type.shape.dim]
    tests.check("head: its output", dims == ["batch", 5], dims)


def check_messages(tests, made):
    tests.run("vx-compile", "all.onnx", *made, "--export=none", "-o", "none.vxm")
    done = tests.run("vx-train", "none.vxm", "--device=cpu", "--export=x.onnx", code=2)
    tests.check("no skeleton", done.stderr == "vx-train: error: --export: 'none.vxm' has no ONNX model to export: use one that vx-compile --train has made of an "
                "ONNX file, without --export=none, or such a file\n", done.stderr)
    done = tests.run("vx-train", "all.vxm", "--device=cpu", "--export=no/x.onnx", code=1)
    tests.check("no folder", "no/x.onnx" in done.stderr, done.stderr)
    done = tests.run("vx-train", "all.vxm", "--device=cpu", "--export=all.vxm", code=2)
    tests.check("onto its module", "all.vxm" in done.stderr, done.stderr)
    done = tests.run("vx-compile", "all.onnx", "--target=cpu", "--export=inside", "-o", "x.vxm", code=2)
    tests.check("nothing is trained", done.stderr == "vx-compile: error: --export: expected --train, --loss and --optimizer with it, got none: it writes the trained model\n",
                done.stderr)


def check_places(tests, made):
    """Models whose trained constants have no tensor of their own."""
    values = [numpy_helper.from_array(np.eye(4, dtype=np.float32) * scale) for scale in (1, 2)]
    opset = helper.make_opsetid("", 20)
    body = [helper.make_node("Constant", [], [name]) for name in ("p", "q")]
    for node in body:
        node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR, ref_attr_name="w")
    twice = helper.make_function("mine", "Twice", ["a"], ["c"], [*body, helper.make_node("MatMul", ["a", "p"], ["b"]), helper.make_node("MatMul", ["b", "q"], ["c"])],
                                 [opset], ["w"])
    nodes = [helper.make_node("Twice", ["x"], ["y0"], domain="mine", w=values[0]), helper.make_node("ReduceMean", ["y0"], ["y"], keepdims=0)]
    graph = helper.make_graph(nodes, "shared", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    onnx.save(helper.make_model(graph, functions=[twice], opset_imports=[opset, helper.make_opsetid("mine", 1)], ir_version=10), tests.path("shared.onnx"))
    done = tests.run("vx-compile", "shared.onnx", *made, "-o", "shared.vxm")
    tests.check("a tensor of two constants", "vx-compile: warning: the module cannot be exported to ONNX: 'p' is trained, but its tensor in the model is that of 'q' too\n"
                in done.stderr, done.stderr)
    # One of them alone is trained where the value is an argument of the call.
    del body[1].attribute[:]
    body[1].attribute.append(helper.make_attribute("value", values[1]))
    twice.ClearField("node")
    twice.node.extend([*body, helper.make_node("MatMul", ["a", "p"], ["b"]), helper.make_node("MatMul", ["b", "q"], ["c"])])
    onnx.save(helper.make_model(graph, functions=[twice], opset_imports=[opset, helper.make_opsetid("mine", 1)], ir_version=10), tests.path("argument.onnx"))
    tests.run("vx-compile", "argument.onnx", *made, "-o", "argument.vxm")
    tests.run("vx-train", "argument.vxm", "--device=cpu", "--export=argument_same.onnx")
    tests.check("an argument of a function", tests.bytes_of("argument_same.onnx") == tests.bytes_of("argument.onnx"), "other bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(options.bin), folder)
        made = ["--target=cpu", "--train=auto", "--loss=none", "--optimizer=sgd"]
        check_untrained(tests, made)
        check_trained(tests, made)
        check_statistics(tests, made)
        check_forms(tests)
        check_modules(tests)
        check_head(tests)
        check_messages(tests, made)
        check_places(tests, made)
        print(f"{tests.passed} passed, {tests.failed} failed")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
