"""Models that fail, change, are refused, are loaded by two at once, or keep a state."""
import os
import shutil
import signal
import threading
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, ROOT, infer, infer_binary, infer_json
from embedding_models import VOCABULARY, Folder
from served import Server

COUNTER = """vx.variable @total : tensor<2xf32>
func.func @double(%x: tensor<2xf32> {vx.name = "x"}) -> (tensor<2xf32> {vx.name = "y"}) {
  %y = vx.add %x, %x : tensor<2xf32>, tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @add(%x: tensor<2xf32> {vx.name = "x"}) -> (tensor<2xf32> {vx.name = "y"}) {
  %old = vx.variable_load @total : tensor<2xf32>
  %y = vx.add %old, %x : tensor<2xf32>, tensor<2xf32>
  vx.variable_store %y, @total : tensor<2xf32>
  return %y : tensor<2xf32>
}
"""


def write_model(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "model", inputs, outputs, list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def tensor(name, *dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, list(dims))


def steps(count):
    """A request that takes as long as it says."""
    return {"inputs": [{"name": "count", "shape": [], "datatype": "INT64", "data": [count]}]}


def steps_that_take(server, seconds, headers=None):
    """As many of them, and how many requests it took to know."""
    count, requests, took = 250, 0, 0
    while took < 0.05:
        count, requests, began = 4 * count, requests + 1, time.monotonic()
        server.ask("POST", "/v2/models/steps/infer", steps(count), headers)
        took = time.monotonic() - began
    return steps(int(count * seconds / took)), requests


def write_steps(path):
    width = 64
    body = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Tanh", ["product"], ["next"]), helper.make_node("Identity", ["go"], ["goes"])], "body",
                             [tensor("i", kind=TensorProto.INT64), tensor("go", kind=TensorProto.BOOL), tensor("x", 1, width)], [tensor("goes", kind=TensorProto.BOOL), tensor("next", 1, width)])
    weights = np.random.default_rng(0).standard_normal((width, width)).astype(np.float32)
    write_model(path, [helper.make_node("Loop", ["count", "true", "begin"], ["y"], body=body)], [tensor("count", kind=TensorProto.INT64)], [tensor("y", 1, width)],
                [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.array(True), "true"), numpy_helper.from_array(np.ones((1, width), np.float32), "begin")])


def make_models(bench):
    """A product of each with each, rows of a table, steps that take their time, and a function with a state."""
    write_steps(bench.path("steps.onnx"))
    write_model(bench.path("pairs.onnx"), [helper.make_node("Unsqueeze", ["x", "one"], ["column"]), helper.make_node("Mul", ["column", "x"], ["y"], name="each with each")],
                [tensor("x", "n")], [tensor("y", "n", "n")], [numpy_helper.from_array(np.array([1]), "one")])
    write_model(bench.path("rows.onnx"), [helper.make_node("Gather", ["table", "at"], ["y"], name="rows of a table")], [tensor("at", "n", kind=TensorProto.INT64)], [tensor("y", "n", 3)],
                [numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "table")])
    with open(bench.path("counter.mlir"), "w", encoding="utf-8") as file:
        file.write(COUNTER)
    os.mkdir(bench.path("several"))
    for source in ("pairs.onnx", "rows.onnx", "steps.onnx", "counter.mlir"):
        bench.tool("vx-compile", bench.path(source), "--target=cpu", "-o", bench.path(f"several/{source.split('.')[0]}.vxm"))
    # A text with "fire" in it has a vector that is no number.
    folder = Folder(bench.path("nan"), max_tokens=60, seed=5)
    model = onnx.load(folder.model)
    words = next(weight for weight in model.graph.initializer if weight.name == "words")
    values = numpy_helper.to_array(words).copy()
    values[VOCABULARY.index("fire")] = np.nan
    words.CopyFrom(numpy_helper.from_array(values, "words"))
    onnx.save(model, folder.model)
    bench.tool("vx-compile", folder.path, "--target=cpu", "-o", bench.path("several/nan.vxm"))


def ask_floats(server, model, values, function=None, headers=None):
    body = {"inputs": [{"name": "x", "shape": [len(values)], "datatype": "FP32", "data": values}]}
    if function:
        body["parameters"] = {"function": function}
    return server.ask("POST", f"/v2/models/{model}/infer", body, headers)


def check_failing_models(bench):
    with Server(bench, f"--model-dir={bench.path('several')}", name="failing") as server:
        server.wait_until_ready()
        # What cannot fit is told before anything is computed: on the device, and in the memory for answers.
        status, headers, data = ask_floats(server, "pairs", [1.0] * 1_000_000)
        words = data["error"].split()
        bench.check("a call that does not fit", (status, headers["x-vx-error-code"]) == (507, "out_of_memory") and data["error"].startswith("the call takes ")
                    and int(words[3]) >= 4 * 10**12 and int(words[-1]) < int(words[3]) and "model 'pairs'" in data["error"], data)
        status, headers, data = ask_floats(server, "pairs", [1.0] * 10_000)
        bench.check("an answer that does not fit", (status, headers["x-vx-error-code"], data["error"]) ==
                    (507, "out_of_memory", "an answer of 400000000 bytes is larger than all that may be in flight, 67108864"), (status, data))
        status, _, data = ask_floats(server, "pairs", [1.0, 2.0, 3.0])
        bench.check("one that fits", status == 200 and data["outputs"][0]["data"] == [1, 2, 3, 2, 4, 6, 3, 6, 9], data)

        # Whose index is out of range is told so, with the node, and nobody else of the batch is.
        at = lambda *numbers: ("POST", "/v2/models/rows/infer", {"inputs": [{"name": "at", "shape": [len(numbers)], "datatype": "INT64", "data": list(numbers)}]})
        answers = server.ask_many([at(7), *[at(i % 4, 3) for i in range(15)]] * 4)
        wrong, right = answers[::16], [answer for i, answer in enumerate(answers) if i % 16]
        bench.check("data that are out of range", all((a[0], a[1]["x-vx-error-code"]) == (400, "invalid_value") and "rows of a table" in a[2]["error"] and "7" in a[2]["error"] for a in wrong), wrong[0])
        bench.check("fail nobody else", all(a[0] == 200 and a[2]["outputs"][0]["data"][3:] == [9, 10, 11] for a in right), next((a for a in right if a[0] != 200), None))
        embed = lambda given: ("POST", "/v1/embeddings", {"model": "nan", "input": given})
        answers = server.ask_many([embed("fire"), embed([[10**6]]), *[embed("wood and iron")] * 14] * 4)
        told = [(a[0], a[2]["error"]["code"]) for a in answers[::16] + answers[1::16]]
        bench.check("embeddings that are no numbers, and tokens that there are not", told == [(500, "internal")] * 4 + [(400, "invalid_value")] * 4, told)
        bench.check("a model that fails is named", answers[0][2]["error"]["message"] == "model 'nan': the embedding of text 0 has nan in it", answers[0])
        others = [a for i, a in enumerate(answers) if i % 16 > 1]
        bench.check("fail no other embedding", all(a[0] == 200 for a in others), next((a for a in others if a[0] != 200), None))

        # Without keys nobody is an admin.
        for method, path in (("POST", "/api/v1/models/rows/load"), ("POST", "/api/v1/models/rows/unload"), ("DELETE", "/v1/requests/1")):
            status, _, data = server.ask(method, path)
            bench.check(f"{method} {path} without keys", (status, data["error"]["code"], data["error"]["message"]) == (403, "forbidden", "this takes a key of the role 'admin', and the server has no keys"), data)

        # What one client does another would see.
        status, _, data = ask_floats(server, "counter", [1.0, 2.0])
        bench.check("a function without a state is served", status == 200 and data["outputs"][0]["data"] == [2, 4], data)
        status, _, data = ask_floats(server, "counter", [1.0, 2.0], "add")
        bench.check("one with a state is not", status == 400 and data["error"] == "model 'counter' serves no function 'add', it has 'double'", data)
        bench.check("and that is told", server.ask("GET", "/api/v1/models/counter")[2]["not_served"] == ["'add' stores 'total', and is not named as stateful"])

    write_keys(bench.path("state-keys"), (ADMIN, "boss", "admin"), (USER, "app", "user"))
    with open(bench.path("state.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("several")}"\n[vx.server]\napi_keys_file = "{bench.path("state-keys")}"\n[[vx.server.model]]\nname = "counter"\nstateful = ["add"]\n')
    with Server(bench, f"--config={bench.path('state.toml')}", "--model=counter", name="state") as server:
        server.wait_until_ready()
        sums = [ask_floats(server, "counter", [1.0, 0.5], "add", {"x-api-key": key})[2]["outputs"][0]["data"] for key in (USER, ADMIN, USER)]
        bench.check("a state that is named is one for all", sums == [[1, 0.5], [2, 1], [3, 1.5]], sums)


def check_changed_models(bench):
    """Models that are refused, loaded by two at once, and replaced by others, good and bad, while they serve."""
    keys, folder, admin = bench.path("changed-keys"), bench.path("changed"), {"x-api-key": ADMIN}
    write_keys(keys, (ADMIN, "boss", "admin"))
    shutil.copytree(bench.path("tiny"), f"{folder}/e5", ignore=shutil.ignore_patterns("vocab.txt", "tokenizer*"))
    shutil.copy(bench.path("models/digits.vxm"), f"{folder}/digits.vxm")
    shutil.copy(ROOT / "examples/digits/digits.onnx", f"{folder}/later.onnx")
    with open(bench.path("changed.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{folder}"\ncache_dir = "{bench.path("changed-cache")}"\n[vx.server]\napi_keys_file = "{keys}"\n[vx.server.limits]\nper_key = "0"\n'
                   '[[vx.server.model]]\nname = "later"\npreload = false\ndevice = "cpu"\nfallback = false\n')

    def replace(name, write):
        write(bench.path("new.vxm"))
        os.replace(bench.path("new.vxm"), f"{folder}/{name}")

    def garbage(path):
        with open(path, "wb") as file:
            file.write(b"no module at all" * 64)

    with Server(bench, f"--config={bench.path('changed.toml')}", "--threads=1", name="changed") as server:
        server.wait_until_ready()
        models = server.ask("GET", "/api/v1/models", headers=admin)[2]
        bench.check("what is refused is listed, with the reason", [m["name"] for m in models["models"]] == ["digits", "later"]
                    and [(m["name"], "no tokenizer.json" in m["reason"]) for m in models["refused"]] == [("e5", True)], models["refused"])
        status, _, data = server.ask("POST", "/v1/embeddings", {"model": "e5", "input": "a"}, admin)
        bench.check("and told to those who ask for it", (status, data["error"]["code"]) == (404, "model_not_found") and data["error"]["message"].startswith("model 'e5' is refused: no tokenizer.json"), data)

        state = lambda name: server.ask("GET", f"/api/v1/models/{name}", headers=admin)[2]
        load = lambda name: server.ask("POST", f"/api/v1/models/{name}/load", headers=admin)
        results = []
        loading = threading.Thread(target=lambda: results.append(load("later")))
        loading.start()
        server.wait_for(lambda: state("later")["state"] == "loading")
        conflicts = [server.ask("POST", f"/api/v1/models/later/{what}", headers=admin) for what in ("load", "unload")]
        bench.check("loaded by one, it is a conflict for another", [(c[0], c[2]["error"]["code"], c[2]["error"]["message"]) for c in conflicts] == [(409, "conflict", "model 'later' is being loaded")] * 2, conflicts)
        asked = server.ask("POST", "/v2/models/later/infer", infer_json(IMAGES[:1]), admin)
        bench.check("and not there yet for clients", (asked[0], asked[1]["x-vx-error-code"], asked[2]["error"], asked[1]["Retry-After"]) == (503, "loading", "model 'later' is being loaded", "1"), asked)
        bench.check("which holds up nobody", infer(server, IMAGES[:1], headers=admin).shape == (1, 10) and state("later")["state"] == "loading")
        loading.join()
        bench.check("the first one has it", results[0][0] == 200 and state("later")["state"] == "ready", results)

        want = infer(server, IMAGES[:4], headers=admin)
        is_as_before = lambda: np.array_equal(infer(server, IMAGES[:4], headers=admin), want)
        replace("digits.vxm", garbage)
        status, _, data = load("digits")
        bench.check("a file that turns wrong is not loaded", (status, data["error"]["code"]) == (500, "internal") and data["error"]["message"].startswith("model 'digits' cannot be loaded: "), data)
        bench.check("what was loaded is served on", is_as_before() and server.ask("GET", "/api/v1/health")[0] == 200)
        entry = state("digits")
        bench.check("with the reason", entry["state"] == "ready" and "digits.vxm" in entry["reason"], entry)
        bench.check("which is told where the server runs", server.comes_about(lambda: any(line.startswith("failed   digits ") and "what was loaded before is served" in line for line in server.lines)), server.lines)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(lambda: "was read again" in server.logged())
        entry = state("digits")
        bench.check("nor is it dropped when the folder is read again", entry["state"] == "ready" and entry["reason"] and is_as_before(), entry)
        bench.check("but listed as refused", "digits" in [m["name"] for m in server.ask("GET", "/api/v1/models", headers=admin)[2]["refused"]])
        # Another model by the same name.
        write_larger_digits(bench)
        replace("digits.vxm", lambda path: bench.tool("vx-compile", bench.path("larger.onnx"), "--target=cpu", "-o", path))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(lambda: "reason" not in state("digits"))
        bench.check("a good one takes its place", server.comes_about(lambda: np.allclose(infer(server, IMAGES[:4], headers=admin), want + 1, atol=1e-4)))
        check_changes_under_load(bench, server, folder, want)
        os.remove(f"{folder}/digits.vxm")
        server.process.send_signal(signal.SIGHUP)
        bench.check("one that is taken away is gone", server.comes_about(lambda: server.ask("GET", "/v2/models/digits/ready", headers=admin)[0] == 404))


def check_changes_under_load(bench, server, folder, want):
    """Files of models and of the configuration are replaced while clients ask: each is answered, by the one model or the other."""
    shutil.copy(f"{folder}/digits.vxm", bench.path("larger.vxm"))
    admin, config, is_over, answers = {"x-api-key": ADMIN}, bench.path("changed.toml"), threading.Event(), []
    with open(config, encoding="utf-8") as file:
        good = file.read()

    def ask():
        body, headers = infer_binary(IMAGES[:4])
        while not is_over.is_set():
            status, answered, data = server.ask("POST", "/v2/models/digits/infer", body, headers | admin)
            answers.append(np.frombuffer(data[int(answered["Inference-Header-Content-Length"]) :], np.float32).reshape(4, 10) if status == 200 else (status, data))

    clients = [threading.Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    loads = []
    for turn in range(8):
        shutil.copy(bench.path("larger.vxm" if turn % 2 else "models/digits.vxm"), bench.path("new.vxm"))
        os.replace(bench.path("new.vxm"), f"{folder}/digits.vxm")
        with open(config + ".new", "w", encoding="utf-8") as file:
            file.write(good + (f"# {turn}" if turn % 3 else "nonsense"))
        os.replace(config + ".new", config)
        loads.append(server.ask("POST", "/api/v1/models/digits/load", headers=admin)[0])
    with open(config, "w", encoding="utf-8") as file:
        file.write(good)
    is_over.set()
    for client in clients:
        client.join()
    others = [answer for answer in answers if isinstance(answer, tuple)]
    kinds = [np.allclose(answer, want, atol=1e-4) + 2 * np.allclose(answer, want + 1, atol=1e-4) for answer in answers if not isinstance(answer, tuple)]
    bench.check("everybody is answered while models change", not others, others[:2])
    bench.check("by the one or the other", set(kinds) == {1, 2}, set(kinds))
    # The watcher of the file may have it at the same moment.
    bench.check("which are loaded", set(loads) <= {200, 409} and 200 in loads, loads)
    server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["config"] == "ok")


def write_larger_digits(bench):
    """Whose numbers are larger by one."""
    model = onnx.load(ROOT / "examples/digits/digits.onnx")
    model.graph.initializer.append(numpy_helper.from_array(np.float32(1), "larger"))
    last = next(node for node in model.graph.node if "logits" in node.output)
    last.output[0] = "before"
    model.graph.node.append(helper.make_node("Add", ["before", "larger"], ["logits"]))
    onnx.save(model, bench.path("larger.onnx"))
