"""Models that are loaded for the first request, and more of them than their memory budget holds."""
import os
import random
import shutil
import threading

import numpy as np
import onnx
from onnx import TensorProto, helper

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, ROOT, infer
from served import Server, metric

SIZE = 2048  # a side of a matrix: 16 MiB
MODEL = 4 * SIZE * SIZE


def make_product(path, seed):
    """y = x @ w, with w of one value a row, so that y is known: the sum of x times these."""
    rows = np.random.default_rng(seed).integers(-8, 8, SIZE).astype(np.float32)
    weight = np.repeat(rows[:, None], SIZE, 1)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", SIZE])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", SIZE])],
                              [helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.tobytes(), raw=True)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return rows


def ask(server, model, x, headers=None):
    return server.ask("POST", f"/v2/models/{model}/infer", {"inputs": [{"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.reshape(-1).tolist()}]}, headers)


def is_right(answer, rows, x):
    return answer[0] == 200 and np.allclose(np.array(answer[2]["outputs"][0]["data"]).reshape(len(x), SIZE), (x @ rows)[:, None], atol=1e-2)


def write_config(bench, name, text, models):
    path = bench.path(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("large-models")}"\ndefault_backend = "cpu"\n{text}' + "".join(f'[[vx.server.model]]\nname = "{model}"\n{more}\n' for model, more in models.items()))
    return path


def loaded(server):
    return {entry["name"] for entry in server.ask("GET", "/api/v1/models")[2]["models"] if entry["state"] == "ready"}


def lines(server, begin):
    return [line.split()[1] for line in server.lines if line.startswith(begin)]


def make_large(bench):
    folder = bench.path("large-models")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        bench.rows = {}
        for i, name in enumerate(("a", "b", "c")):
            bench.rows[name] = make_product(bench.path(f"{name}.onnx"), i)
            bench.tool("vx-compile", bench.path(f"{name}.onnx"), "--target=cpu", "-o", f"{folder}/{name}.vxm")
    return folder, bench.rows, np.arange(SIZE, dtype=np.float32)[None] / SIZE


def check_lazy(bench):
    folder, rows, x = make_large(bench)
    config = write_config(bench, "lazy.toml", 'load = "lazy"\n[vx.server.limits]\nbatch_timeout_ms = 0\n', {"b": 'load = "startup"', "c": "preload = false"})
    keys = bench.path("lazy-keys")
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    user, admin = {"x-api-key": USER}, {"x-api-key": ADMIN}
    with Server(bench, f"--config={config}", f"--api-keys-file={keys}", "--per-key=0", name="lazy") as server:
        server.wait_until_ready()
        states = lambda: {entry["name"]: entry["state"] for entry in server.ask("GET", "/api/v1/models", headers=user)[2]["models"]}
        server.wait_for(lambda: states()["b"] == "ready")
        bench.check_equal("only one of the three is loaded", {"a": "unloaded", "b": "ready", "c": "unloaded"}, states())
        bench.check_equal("a model that is loaded for requests is ready", (200, {"name": "a", "ready": True}), server.ask("GET", "/v2/models/a/ready", headers=user)[::2])
        bench.check_equal("and one that an admin loads is not", 503, server.ask("GET", "/v2/models/c/ready", headers=user)[0])
        listed = [entry["id"] for entry in server.ask("GET", "/v1/models", headers=user)[2]["data"]]
        bench.check_equal("those that take requests are listed", ["a", "b"], sorted(listed))
        bench.check_equal("a question does not load it", "unloaded", states()["a"])
        text = server.ask("GET", "/metrics", headers=user)[2].decode()
        bench.check("metrics say that it takes requests", 'vx_model_ready{model="a"} 1\n' in text and 'vx_model_ready{model="c"} 0\n' in text)
        answers = server.ask_many([("POST", "/v2/models/a/infer", {"inputs": [{"name": "x", "shape": [1, SIZE], "datatype": "FP32", "data": x[0].tolist()}]}, user)] * 40, 40)
        bench.check("all that come while it is loaded are answered", all(is_right(answer, rows["a"], x) for answer in answers), [answer[0] for answer in answers])
        bench.check_equal("it is loaded once", 1, lines(server, "loaded").count("a"))
        answer = ask(server, "c", x, user)
        bench.check("a model that an admin loads is not loaded for a user", answer[0] == 503 and "is not loaded" in answer[2]["error"], answer)
        bench.check_equal("an admin unloads it", 200, server.ask("POST", "/api/v1/models/a/unload", headers=admin)[0])
        bench.check("metadata load it", server.ask("GET", "/v2/models/a", headers=user)[2]["inputs"][0]["name"] == "x" and states()["a"] == "ready")
        # A request that waits has its deadline.
        server.ask("POST", "/api/v1/models/a/unload", headers=admin)
        answer = ask(server, "a", x, user | {"x-request-timeout-ms": "1"})
        bench.check("a deadline while it is loaded", answer[0] == 504 and answer[1]["x-vx-error-code"] == "deadline", answer)
        server.wait_for(lambda: states()["a"] == "ready")
    # On a busy machine the model may be there before the fourth request is: another server then.
    for i in range(8):
        with Server(bench, f"--config={config}", "--queue=1", name=f"lazy-queue{i}") as server:
            server.wait_until_ready()
            answers = server.ask_many([("GET", "/v2/models/a")] * 64, 64)
            refused = [answer[2]["error"] for answer in answers if answer[0] == 429]
            bench.check("those that are not refused are answered", {answer[0] for answer in answers} <= {200, 429}, {answer[0] for answer in answers})
        if refused:
            break
    bench.check("those that are too many are told to come again", refused and all("1 requests wait for model 'a' to be loaded, as many as may" in text for text in refused), refused[:2])
    # One that cannot be loaded; and one that has to be compiled, which no request does.
    os.mkdir(bench.path("lazy-odd"))
    shutil.copy(f"{folder}/a.vxm", bench.path("lazy-odd/cut.vxm"))
    os.truncate(bench.path("lazy-odd/cut.vxm"), 100000)
    shutil.copy(ROOT / "examples/digits/digits.onnx", bench.path("lazy-odd/digits.onnx"))
    os.chmod(bench.path("lazy-odd/digits.onnx"), 0o644)
    with Server(bench, f"--model-dir={bench.path('lazy-odd')}", "--load=lazy", "--device=cpu", f"--cache-dir={bench.path('lazy-cache')}", name="lazy-odd") as server:
        bench.check("a model is compiled when the server starts", server.comes_about(lambda: os.path.isdir(bench.path("lazy-cache/models")) and any(name.endswith(".vxm") for name in os.listdir(bench.path("lazy-cache/models"))), 60) and not lines(server, "loaded"), server.lines)
        server.wait_until_ready()
        made = set(os.listdir(bench.path("lazy-cache/models")))
        with open(bench.path("lazy-odd/digits.onnx"), "ab") as file:
            file.write(b"\x00")
        bench.check("a request loads the module that was made", infer(server, IMAGES[:2]).shape == (2, 10))
        bench.check_equal("and compiles none", made, set(os.listdir(bench.path("lazy-cache/models"))))
        answer = server.ask("GET", "/v2/models/cut")
        bench.check("a model that cannot be loaded", answer[0] == 500 and "model 'cut' cannot be loaded: " in answer[2]["error"], answer)
        answer = server.ask("GET", "/v2/models/cut")
        bench.check("it is not tried for each request", answer[0] == 503 and "could not be loaded: " in answer[2]["error"], answer)
        bench.check("it fails once", server.comes_about(lambda: lines(server, "failed").count("cut") == 1), server.lines)


def check_budget(bench):
    folder, rows, x = make_large(bench)
    budget = int(2.5 * MODEL)
    lazy = dict.fromkeys("abc", 'load = "lazy"')
    config = write_config(bench, "budget.toml", f"[vx.server.limits]\nmemory_budget = {budget}\nbatch_timeout_ms = 0\n", lazy)
    with Server(bench, f"--config={config}", name="budget") as server:
        server.wait_until_ready()
        for name in "abac":
            bench.check(f"'{name}' answers", is_right(ask(server, name, x), rows[name], x))
        bench.check_equal("the one that was used least recently is unloaded", {"a", "c"}, loaded(server))
        bench.check("the log says so", lines(server, "unloaded") == ["b"], server.lines)
        bench.check_equal("the budget is a metric", budget, metric(server, "vx_memory_budget_bytes"))
        before = metric(server, "process_resident_memory_bytes")  # of two models
        # 2,000 requests by 8 clients, and meanwhile the memory is looked at.
        most, over = [0.0, 0.0], threading.Event()

        def look():
            while not over.wait(0.01):
                for i, name in enumerate(("vx_models_memory_bytes", "process_resident_memory_bytes")):
                    most[i] = max(most[i], metric(server, name))

        looking = threading.Thread(target=look)
        looking.start()
        choices = random.Random(7).choices("abc", (6, 3, 1), k=2000)
        body = {"inputs": [{"name": "x", "shape": [1, SIZE], "datatype": "FP32", "data": x[0].tolist()}]}
        answers = server.ask_many([("POST", f"/v2/models/{name}/infer", body) for name in choices], 8)
        over.set()
        looking.join()
        wrong = [(name, answer[0]) for name, answer in zip(choices, answers) if not is_right(answer, rows[name], x)]
        bench.check("each of 2,000 random requests has its answer", wrong == [], wrong[:5])
        bench.check("models were loaded and unloaded meanwhile", len(lines(server, "unloaded")) > 10, len(lines(server, "unloaded")))
        bench.check("the budget holds at all times", MODEL < most[0] <= budget, (most[0], budget))
        after = metric(server, "process_resident_memory_bytes")
        bench.check("so does the resident memory, but for a model that is being loaded", most[1] - before < 3.5 * MODEL and after - before < 1.5 * MODEL, ((most[1] - before) / MODEL, (after - before) / MODEL))
        # A budget that shrinks.
        write_config(bench, "budget.toml", f"[vx.server.limits]\nmemory_budget = {int(1.2 * MODEL)}\n", lazy)
        bench.check("models beyond a smaller budget are unloaded", server.comes_about(lambda: len(loaded(server)) == 1 and metric(server, "vx_models_memory_bytes") <= 1.2 * MODEL), loaded(server))
        write_config(bench, "budget.toml", f"[vx.server.limits]\nmemory_budget = {MODEL // 2}\n", lazy)
        server.wait_for(lambda: not loaded(server))
        answer = ask(server, "a", x)
        bench.check("a model that is larger than the budget", answer[0] == 507 and answer[1]["x-vx-error-code"] == "out_of_memory" and f"and memory_budget is {MODEL // 2}" in answer[2]["error"], answer)
        write_config(bench, "budget.toml", "", lazy)
        bench.check("a larger budget lets it in", server.comes_about(lambda: is_right(ask(server, "a", x), rows["a"], x)))
    # Models that are loaded when the server starts stay.
    config = write_config(bench, "staying.toml", f"[vx.server.limits]\nmemory_budget = {int(2.5 * MODEL)}\n", {"a": "", "b": "", "c": 'load = "lazy"'})
    with Server(bench, f"--config={config}", name="staying") as server:
        server.wait_until_ready()
        answer = ask(server, "c", x)
        bench.check("they are not unloaded", answer[0] == 507 and loaded(server) == {"a", "b"}, (answer, loaded(server)))
        bench.check_equal("an admin may", 403, server.ask("POST", "/api/v1/models/a/unload")[0])


def check_shared_weights(bench):
    """Two names of one file have its weights once."""
    folder, rows, x = make_large(bench)
    used = {}
    for count in (1, 3):
        models = {f"name{i}": f'path = "{folder}/a.vxm"' for i in range(count)}
        config = write_config(bench, "shared.toml", "[vx.server.limits]\nbatch_timeout_ms = 0\n", models)
        arguments = [argument for name in models for argument in ("--model", name)]
        with Server(bench, f"--config={config}", *arguments, name=f"shared{count}") as server:
            server.wait_until_ready()
            for name in models:
                bench.check(f"'{name}' of {count} answers", is_right(ask(server, name, x), rows["a"], x))
            used[count] = metric(server, "vx_models_memory_bytes"), metric(server, "process_resident_memory_bytes")
            if count == 3:
                # A file that has changed is another model.
                shutil.copy(f"{folder}/b.vxm", f"{folder}/a.vxm.new")
                os.replace(f"{folder}/a.vxm", f"{folder}/a.vxm.old")
                os.replace(f"{folder}/a.vxm.new", f"{folder}/a.vxm")
                with open(config, "a", encoding="utf-8") as file:
                    file.write('[[vx.server.model]]\nname = "new"\nload = "admin"\n')
                bench.check("the changed file is loaded", server.comes_about(lambda: is_right(ask(server, "name1", x), rows["b"], x)), server.lines)
                bench.check("by all its names", server.comes_about(lambda: all(is_right(ask(server, name, x), rows["b"], x) for name in models)))
                os.replace(f"{folder}/a.vxm.old", f"{folder}/a.vxm")
    bench.check("three names take the memory of one", used[3][0] == used[1][0] >= MODEL, used)
    bench.check("resident memory, too", used[3][1] - used[1][1] < MODEL, used)
