"""KServe for any module: tritonclient, and requests that run together."""
import os
import shutil

import numpy as np
import tritonclient.http

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, LABELS, ROOT, infer, infer_binary, infer_json
from served import Server, metric


def check_infer(bench):
    with Server(bench, f"--model-dir={bench.path('models')}", name="infer") as server:
        server.wait_until_ready()
        want = infer(server, IMAGES[:64])
        status, _, data = server.ask("POST", "/v2/models/digits/infer", infer_json(IMAGES[:64]) | {"id": "7"})
        got = np.array(data["outputs"][0]["data"], np.float32).reshape(data["outputs"][0]["shape"])
        bench.check("JSON and bytes say the same", status == 200 and data["id"] == "7" and data["model_name"] == "digits" and np.array_equal(got, want), status)
        bench.check("it knows digits", (infer(server, IMAGES).argmax(1) == LABELS).mean() > 0.99)

        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{server.port}")
        bench.check("tritonclient: the server", client.is_server_live() and client.is_server_ready() and client.get_server_metadata()["name"] == "vx" and client.is_model_ready("digits"))
        bench.check("tritonclient: the model", client.get_model_metadata("digits")["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}])
        for binary in (True, False):
            given = tritonclient.http.InferInput("image", [64, 1, 8, 8], "FP32")
            given.set_data_from_numpy(IMAGES[:64], binary_data=binary)
            result = client.infer("digits", [given], outputs=[tritonclient.http.InferRequestedOutput("logits", binary_data=binary)], request_id="9")
            bench.check(f"tritonclient: infer, binary {binary}", np.array_equal(result.as_numpy("logits"), want) and result.get_response()["id"] == "9")
        try:
            client.infer("nix", [given])
            bench.check("tritonclient: an error", False)
        except tritonclient.http.InferenceServerException as error:
            bench.check("tritonclient: an error", error.message() == "no model 'nix'" and error.status() == "404", error)
        client.close()


def check_repository(bench):
    """Models by tritonclient: listed, loaded, unloaded; and bodies that ask for more."""
    folder, keys = bench.path("repository"), bench.path("repository-keys")
    os.mkdir(folder)
    for name in ("one", "two"):
        shutil.copy(bench.path("models/digits.vxm"), f"{folder}/{name}.vxm")
    with open(bench.path("models/digits.vxm"), "rb") as file:
        module = file.read()
    for name, data in (("broken", module[:5000]), ("refused", b"no module")):
        with open(f"{folder}/{name}.vxm", "wb") as file:
            file.write(data)
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    with open(bench.path("repository.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{folder}"\n[[vx.server.model]]\nname = "two"\npreload = false\n')
    with Server(bench, f"--config={bench.path('repository.toml')}", f"--api-keys-file={keys}", "--per-key=0", name="repository") as server:
        admin, user = {"x-api-key": ADMIN}, {"x-api-key": USER}
        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{server.port}")
        index = lambda **more: {entry["name"]: (entry["version"], entry["state"], entry["reason"]) for entry in client.get_model_repository_index(headers=user, **more)}
        server.wait_for(lambda: "LOADING" not in [state for _, state, _ in index().values()])
        found = index()
        bench.check_equal("models of the repository", {"one": ("1", "READY", ""), "two": ("1", "UNAVAILABLE", "unloaded")}, {name: found[name] for name in ("one", "two")})
        bench.check("models that cannot be used have their reason", found["broken"][1] == "UNAVAILABLE" and "broken.vxm" in found["broken"][2] and found["refused"][1:] == ("UNAVAILABLE", "is no module: it does not begin with VXMODULE"), found)
        ready = server.ask("POST", "/v2/repository/index", {"ready": True}, user)
        bench.check_equal("those that are ready", ["one"], [entry["name"] for entry in ready[2]])
        client.load_model("two", headers=admin)
        bench.check("a model is loaded", client.is_model_ready("two", headers=user) and index()["two"] == ("1", "READY", "") and infer(server, IMAGES[:2], "/v2/models/two/infer", user).shape == (2, 10))
        client.unload_model("two", headers=admin)
        bench.check_equal("a model is unloaded", (False, ("1", "UNAVAILABLE", "unloaded")), (client.is_model_ready("two", headers=user), index()["two"]))
        load = lambda body, headers=admin, name="two", verb="load": server.ask("POST", f"/v2/repository/models/{name}/{verb}", body, headers)
        for what, answer, status, text in (
            ("an admin's key is asked for", load(None, user), 403, "role 'admin'"),
            ("an admin's key is asked for to unload", load(None, user, name="one", verb="unload"), 403, "role 'admin'"),
            ("a model that is not there", load(None, name="three"), 404, "three"),
            ("a model that cannot be loaded", load(None, name="broken"), 500, "broken.vxm"),
            ("a model that is refused", load(None, name="refused"), 404, "is no module"),
            ("a configuration of the client", load({"parameters": {"config": "{}"}}), 400, "'parameters.config': models have the settings and files of the server, not of a request"),
            ("a file of the client", load({"parameters": {"file:1/model.vxm": "AAAA"}}), 400, "'parameters.file:1/model.vxm': models have"),
            ("a parameter that is none", load({"parameters": {"unload_dependents": True}}), 400, "unload_dependents"),
            ("a member that is none", load({"parameter": {}}), 400, "parameter"),
            ("parameters that are none", load({"parameters": []}), 400, "'parameters': expected an object, got a list"),
            ("a body that is none", load([]), 400, "expected an object, got a list"),
            ("a flag that is none", load({"parameters": {"unload_dependents": 1}}, verb="unload"), 400, "parameters.unload_dependents"),
            ("another flag that is none", server.ask("POST", "/v2/repository/index", {"ready": "yes"}, user), 400, "ready"),
        ):
            bench.check(f"repository: {what}", answer[0] == status and text in answer[2]["error"], answer)
        bench.check_equal("none of these has loaded it", "UNAVAILABLE", index()["two"][1])


def check_plain_folder(bench):
    """A folder with nothing of texts stands for the file in it, which is compiled."""
    os.makedirs(bench.path("plain/digits"))
    shutil.copy(ROOT / "examples/digits/digits.onnx", bench.path("plain/digits/model.onnx"))
    with Server(bench, f"--model-dir={bench.path('plain')}", f"--cache-dir={bench.path('cache')}", "--device=cpu", name="plain") as server:
        server.wait_until_ready()
        bench.check("a folder with a model alone", infer(server, IMAGES[:2]).shape == (2, 10))


def check_batches(bench):
    """Requests of one to nine rows side by side: each gets its own rows, in their order."""
    sizes = np.random.default_rng(0).integers(1, 10, 96)
    starts = np.random.default_rng(1).integers(0, len(IMAGES) - 10, 96)
    parts = [IMAGES[at : at + size] for at, size in zip(starts, sizes)]
    requests = [("POST", "/v2/models/digits/infer", *infer_binary(part)) for part in parts]

    def rows(answers):
        return [np.frombuffer(data[int(head["Inference-Header-Content-Length"]) :], np.float32).reshape(-1, 10) for _, head, data in answers]

    for deterministic in (False, True):
        with open(bench.path("batch.toml"), "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[[vx.server.model]]\nname = "digits"\ndeterministic = {str(deterministic).lower()}\n')
        with Server(bench, f"--config={bench.path('batch.toml')}", name="batches") as server:
            server.wait_until_ready()
            alone = [rows([server.ask(*request)])[0] for request in requests]
            # Powers of two, at which its kernels give the bits that they give for 32 rows.
            filled = sum((1 << int(size - 1).bit_length()) - int(size) for size in sizes) if deterministic else 0
            bench.check(f"runs have their size, deterministic {deterministic}", server.comes_about(lambda: metric(server, 'vx_filled_rows_total{model="digits"}') == filled and
                        metric(server, 'vx_batch_rows_sum{model="digits"}') == sizes.sum()), (metric(server, 'vx_filled_rows_total{model="digits"}'), filled))
            together = rows(server.ask_many(requests))
            apart = max(float(np.abs(a - b).max()) if a.shape == b.shape else np.inf for a, b in zip(alone, together))
            bench.check(f"joined requests are as alone, deterministic {deterministic}", apart == 0 if deterministic else apart < 1e-4, apart)
            metrics = server.ask("GET", "/metrics")[2].decode()
            count = int(next(line for line in metrics.splitlines() if line.startswith('vx_batch_rows_count{model="digits"}')).split()[1])
            bench.check("requests were joined", count < 2 * len(requests), count)
