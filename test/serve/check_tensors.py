"""KServe for any module: tritonclient, and requests that run together."""
import os
import shutil

import numpy as np
import tritonclient.http

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
