#!/usr/bin/env python3
"""vx-serve by real clients: http.client, openai and tritonclient, and by some that are none.

  run_server.py --bin BUILD/bin

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import asyncio
import base64
import hashlib
import json
import os
import pathlib
import signal
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import openai
import tritonclient.http

from embedding_models import Folder, texts
from run_embeddings import Bench
from served import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = np.fromfile(ROOT / "examples/digits/images.f32", np.float32).reshape(-1, 1, 8, 8)
ADMIN, USER = "admin-key-0123456789", "user-key-0123456789"


def infer_json(images):
    return {"inputs": [{"name": "image", "shape": list(images.shape), "datatype": "FP32", "data": images.reshape(-1).tolist()}]}


def infer_binary(images, binary_out=True):
    head = json.dumps({"inputs": [{"name": "image", "shape": list(images.shape), "datatype": "FP32", "parameters": {"binary_data_size": images.nbytes}}],
                       "parameters": {"binary_data_output": binary_out}}).encode()
    return head + images.tobytes(), {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}


def infer(server, images, path="/v2/models/digits/infer", headers=None):
    body, own = infer_binary(images)
    status, answered, data = server.ask("POST", path, body, own | (headers or {}))
    if status != 200:
        raise RuntimeError(f"{status} {data}")
    length = int(answered["Inference-Header-Content-Length"])
    output = json.loads(data[:length])["outputs"][0]
    return np.frombuffer(data[length:], np.float32).reshape(output["shape"])


def write_keys(path, *keys):
    with open(path, "w", encoding="utf-8") as file:
        for key, name, role in keys:
            file.write(f"{hashlib.sha256(key.encode()).hexdigest()} {name} {role}\n")
    os.chmod(path, 0o600)


def check_codes(bench):
    keys = bench.path("keys")
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    with open(bench.path("codes.toml"), "w", encoding="utf-8") as file:
        file.write('[vx.server.limits]\nper_key = "200/min"\nauth_failures = "1000/min"\n[vx.server]\nrequest_limit = "64KiB"\ncors = ["https://a.example"]\n')
    with Server(bench, f"--config={bench.path('codes.toml')}", f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", name="codes") as server:
        server.wait_until_ready()
        user, admin = {"Authorization": f"Bearer {USER}"}, {"x-api-key": ADMIN}
        good = infer_json(IMAGES[:1])

        def expect(what, status, code, method, path, body=None, headers=user, message=None):
            got, answered, data = server.ask(method, path, body, headers)
            kserve = path.startswith("/v2")
            found = answered.get("x-vx-error-code") if kserve else data["error"]["code"] if got >= 400 else None
            says = data.get("error") if kserve else data["error"]["message"] if got >= 400 else ""
            bench.check(f"{method} {path}: {what}", (got, found) == (status, code) and (message is None or says == message), f"want {status} {code}, got {got} {data}")
            bench.check(f"{method} {path}: an id", answered["x-request-id"], answered)
            return answered

        expect("no key", 401, "invalid_api_key", "GET", "/api/v1/models", headers={}, message="want a key, as 'Authorization: Bearer KEY' or 'x-api-key: KEY'")
        expect("a wrong key", 401, "invalid_api_key", "POST", "/v2/models/digits/infer", good, {"x-api-key": "guess"}, message="the key is none of this server's")
        expect("no key comes before no path", 401, "invalid_api_key", "GET", "/nowhere", headers={})
        expect("no path", 404, "not_found", "GET", "/nowhere", message="no path '/nowhere'")
        expect("an empty segment", 404, "not_found", "GET", "/v2//models")
        expect("no model", 404, "model_not_found", "POST", "/v2/models/digtis/infer", good, message="no model 'digtis', did you mean 'digits'")
        expect("a model by what its name begins with", 200, None, "GET", "/v2/models/Dig/ready")
        expect("no version", 404, "model_not_found", "GET", "/v2/models/digits/versions/2", message="model 'digits' has the version '1', got '2'")
        expect("a path for a model", 404, "not_found", "GET", "/api/v1/models/..%2Fdigits")
        answered = expect("another method", 405, "method_not_allowed", "DELETE", "/v1/embeddings", message="'/v1/embeddings' takes POST, got DELETE")
        bench.check("405 says what is allowed", answered["Allow"] == "POST, OPTIONS", answered["Allow"])
        expect("another type", 415, "unsupported_media_type", "POST", "/v1/embeddings", "a=b", user | {"Content-Type": "text/plain"}, message="want Content-Type 'application/json', got 'text/plain'")
        expect("a coding", 415, "unsupported_media_type", "POST", "/v1/embeddings", b"x", user | {"Content-Type": "application/json", "Content-Encoding": "gzip"},
               message="bodies come as they are, got Content-Encoding 'gzip'")
        expect("no path comes before another type", 404, "not_found", "POST", "/nowhere", "a", user | {"Content-Type": "text/plain"})
        expect("another type comes before a long body", 415, "unsupported_media_type", "POST", "/v1/embeddings", "a" * 70000, user | {"Content-Type": "text/plain"})
        expect("a long body", 413, "body_too_large", "POST", "/v1/embeddings", "a" * 70000, user | {"Content-Type": "application/json"}, message="a body may have 65536 bytes, got Content-Length 70000")
        js = user | {"Content-Type": "application/json"}
        for body in (b"", b"{", b'{"model":"\xff"}', b"[" * 65 + b"]" * 65, b"NaN", b'{"a":1,"a":2}'):
            expect(f"no JSON {body[:12]}", 400, "invalid_json", "POST", "/v1/embeddings", body, js)
            expect(f"no JSON {body[:12]}", 400, "invalid_json", "POST", "/v2/models/digits/infer", body, js)
        expect("no object", 400, "invalid_value", "POST", "/v1/embeddings", [1], message="want an object, got a list")
        expect("no input", 400, "invalid_value", "POST", "/v2/models/digits/infer", {"inputs": []}, message="input 'image' is missing")
        expect("a wrong shape", 400, "invalid_value", "POST", "/v2/models/digits/infer", infer_json(IMAGES[:1].reshape(1, 1, 4, 16)))
        expect("another output", 400, "invalid_value", "POST", "/v2/models/digits/infer", good | {"outputs": [{"name": "y"}]}, message="'outputs[0].name': no output 'y', the outputs are 'logits'")
        expect("another function", 400, "invalid_value", "POST", "/v2/models/digits/infer", good | {"parameters": {"function": "f"}}, message="model 'digits' serves no function 'f', it has 'main'")
        expect("another kind of model", 400, "invalid_value", "POST", "/v1/embeddings", {"model": "digits", "input": "a"}, message="model 'digits' is none of embeddings")
        expect("a header of bytes", 400, "invalid_value", "POST", "/v2/models/digits/infer", b"{}", js | {"Inference-Header-Content-Length": "3"}, message="want Inference-Header-Content-Length up to 2, got '3'")
        expect("bytes that are left", 400, "invalid_value", "POST", "/v2/models/digits/infer", json.dumps(good).encode() + b"more", js | {"Inference-Header-Content-Length": str(len(json.dumps(good)))},
               message="4 bytes are left behind the inputs")
        expect("no time", 400, "invalid_value", "POST", "/v2/models/digits/infer", good, user | {"x-request-timeout-ms": "0"}, message="want a number of milliseconds in x-request-timeout-ms, got '0'")
        expect("another host", 403, "forbidden", "GET", "/api/v1/health", headers={"Host": "evil.example"}, message="this server is for its own machine, got the Host 'evil.example'")
        expect("another page", 403, "forbidden", "GET", "/api/v1/models", headers=user | {"Origin": "https://evil.example"}, message="pages of 'https://evil.example' may not ask this server")
        status, answered, _ = server.ask("OPTIONS", "/v1/embeddings", headers={"Origin": "https://a.example"})
        bench.check("a page that may", status == 204 and answered["Access-Control-Allow-Origin"] == "https://a.example" and answered["Allow"] == "POST, OPTIONS", (status, answered))
        status, answered, data = server.ask("HEAD", "/api/v1/models", headers=user)
        bench.check("HEAD", status == 200 and int(answered["Content-Length"]) > 100 and data == b"", (status, data))
        expect("load without the role", 403, "forbidden", "POST", "/api/v1/models/digits/load", message="this takes a key of the role 'admin'")
        expect("unload", 200, None, "POST", "/api/v1/models/digits/unload", headers=admin)
        expect("what is not loaded", 503, "loading", "POST", "/v2/models/digits/infer", good, message="model 'digits' is not loaded")
        expect("load", 200, None, "POST", "/api/v1/models/digits/load", headers=admin)
        expect("load of none", 404, "model_not_found", "POST", "/api/v1/models/nix/load", headers=admin)
        status, answered, data = server.ask("POST", "/v2/models/digits/infer", good, user | {"x-request-id": "mine.1"})
        bench.check("an id comes back, and what is left of the rate", status == 200 and answered["x-request-id"] == "mine.1" and int(answered["x-ratelimit-remaining-requests"]) < 200, dict(answered))
        while (last := server.ask("GET", "/v2/models/digits/ready", headers=user))[0] == 200:
            pass
        bench.check("above the rate", last[0] == 429 and last[1]["x-vx-error-code"] == "rate_limited" and int(last[1]["Retry-After"]) >= 1, (last[0], last[2]))
        bench.check("another key has its own rate", server.ask("GET", "/v2/models/digits/ready", headers=admin)[0] == 200)
        status, _, data = server.ask("GET", "/metrics", headers=admin)
        bench.check("metrics", status == 200 and b'vx_requests_total{model="digits",code="200"}' in data and b"nix" not in data and USER.encode() not in data, data[-300:])
        bench.check("metrics without a key", server.ask("GET", "/metrics")[0] == 401)
        bench.check("no key in the log", USER not in server.logged() and "boss" in server.logged())


def check_reload(bench):
    keys, config = bench.path("rotated"), bench.path("reload.toml")

    def write(text):
        with open(config + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(config + ".new", config)

    write_keys(keys, (USER, "app", "user"))
    write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\napi_keys_file = "{keys}"\n[vx.server.limits]\nper_key = "0"\n')
    with Server(bench, f"--config={config}", name="reload") as server:
        server.wait_until_ready()
        ask = lambda key: server.ask("GET", "/v2/models/digits/ready", headers={"x-api-key": key})[0]
        bench.check("the first key", (ask(USER), ask(ADMIN)) == (200, 401))
        write_keys(keys + ".new", (ADMIN, "next", "user"))
        os.replace(keys + ".new", keys)
        server.wait_for(lambda: (ask(USER), ask(ADMIN)) == (401, 200))
        write("[vx.server]\nprot = 1\n")
        server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["config"] == "refused")
        health = server.ask("GET", "/api/v1/health")
        bench.check("a bad file is refused, and the old one stays", health[0] == 200 and "did you mean 'port'" in health[2]["config_error"] and ask(ADMIN) == 200, health)
        write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\napi_keys_file = "{keys}"\n[[vx.server.model]]\nname = "digits"\nalias = ["numbers"]\n')
        server.wait_for(lambda: server.ask("GET", "/v2/models/numbers/ready", headers={"x-api-key": ADMIN})[0] == 200)
        server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["config"] == "ok")
    # A server that others reach keeps its keys, also where the new file would have it listen elsewhere from the next start on.
    write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\nhost = "0.0.0.0"\napi_keys_file = "{keys}"\n')
    with Server(bench, f"--config={config}", name="reach") as server:
        server.wait_until_ready()
        write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\nhost = "127.0.0.1"\n')
        server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["config"] == "refused")
        health = server.ask("GET", "/api/v1/health")[2]["config_error"]
        bench.check("no keys where others reach it", "others reach '0.0.0.0'" in health and server.ask("GET", "/api/v1/models")[0] == 401, health)


def check_infer(bench, server):
    want = infer(server, IMAGES[:64])
    status, _, data = server.ask("POST", "/v2/models/digits/infer", infer_json(IMAGES[:64]) | {"id": "7"})
    got = np.array(data["outputs"][0]["data"], np.float32).reshape(data["outputs"][0]["shape"])
    bench.check("JSON and bytes say the same", status == 200 and data["id"] == "7" and data["model_name"] == "digits" and np.array_equal(got, want), status)
    labels = np.fromfile(ROOT / "examples/digits/labels.u8", np.uint8)
    bench.check("it knows digits", (infer(server, IMAGES).argmax(1) == labels).mean() > 0.99)

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
            together = rows(server.ask_many(requests))
            apart = max(float(np.abs(a - b).max()) if a.shape == b.shape else np.inf for a, b in zip(alone, together))
            bench.check(f"joined requests are as alone, deterministic {deterministic}", apart == 0 if deterministic else apart < 1e-4, apart)
            metrics = server.ask("GET", "/metrics")[2].decode()
            count = int(next(line for line in metrics.splitlines() if line.startswith('vx_batch_rows_count{model="digits"}')).split()[1])
            bench.check("requests were joined", count < 2 * len(requests), count)


def check_load(bench):
    """A queue that is full, deadlines, clients that go, and a server that is told to end while it works."""
    big = np.tile(IMAGES, (40, 1, 1, 1))  # 18,000 images
    with open(bench.path("load.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\ntimeout_s = 20\n[vx.server.limits]\nqueue = 4\n')
    with Server(bench, f"--config={bench.path('load.toml')}", name="load") as server:
        server.wait_until_ready()
        head, headers = infer_binary(big)
        answers = server.ask_many([("POST", "/v2/models/digits/infer", head, headers)] * 16)
        statuses = sorted({status for status, _, _ in answers})
        bench.check("a full queue is 429", statuses == [200, 429], statuses)
        full = next((a for a in answers if a[0] == 429), None)
        bench.check("a full queue says when to come again", full and full[1]["x-vx-error-code"] == "queue_full" and int(full[1]["Retry-After"]) >= 1, full and dict(full[1]))
        status, answered, _ = server.ask("POST", "/v2/models/digits/infer", head, headers | {"x-request-timeout-ms": "1"})
        bench.check("a deadline is 504", (status, answered["x-vx-error-code"]) == (504, "deadline"), status)

        # Two hundred that go at once, while a large one works.
        large = threading.Thread(target=lambda: server.ask("POST", "/v2/models/digits/infer", head, headers))
        large.start()
        small, small_headers = infer_binary(IMAGES[:1])
        text = f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(small)}\r\nInference-Header-Content-Length: {small_headers['Inference-Header-Content-Length']}\r\n\r\n"
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(text.encode() + small)
        large.join()
        server.wait_for(lambda: b"vx_requests_in_flight 1\n" in server.ask("GET", "/metrics")[2] and b'vx_queue_depth{model="digits"} 0' in server.ask("GET", "/metrics")[2])
        bench.check("clients that went are told of", " 499 " in server.logged())
        # Half a request, and an end.
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(text.encode() + small[:10])
            connection.shutdown(socket.SHUT_WR)
            bench.check("half a request gets nothing", connection.recv(100) == b"")
        bench.check("it goes on", infer(server, IMAGES[:2]).shape == (2, 10))

        # What is going on is done before the end.
        results = []
        threads = [threading.Thread(target=lambda: results.append(server.ask("POST", "/v2/models/digits/infer", head, headers)[0])) for _ in range(3)]
        for thread in threads:
            thread.start()
        server.wait_for(lambda: b"vx_requests_in_flight 4\n" in server.ask("GET", "/metrics")[2])
        server.process.send_signal(signal.SIGTERM)
        server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["status"] == "draining")
        status, answered, _ = server.ask("POST", "/v2/models/digits/infer", small, small_headers)
        bench.check("what comes while it ends is sent away", (status, answered["x-vx-error-code"]) == (503, "draining"), status)
        code = server.process.wait(60)
        for thread in threads:
            thread.join()
        bench.check("TERM lets what is going on be done", code == 0 and results == [200, 200, 200], (code, results))

    with Server(bench, f"--config={bench.path('load.toml')}", name="hurried") as server:
        server.wait_until_ready()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n")
            server.wait_for(lambda: b"vx_connections 2" in server.ask("GET", "/metrics")[2])
            server.process.send_signal(signal.SIGTERM)
            server.wait_for(lambda: "draining" in server.logged())
            began = time.monotonic()
            bench.check("a second TERM ends it at once", server.stop() == 1 and time.monotonic() - began < 5)


def check_embeddings(bench, folder):
    url = "/v1/embeddings"
    given = [text for text in texts(40, 3, longest=12) if text]
    want, tokens = folder.expected(given)
    with Server(bench, f"--model-dir={bench.path('models')}", f"--model={bench.path('tiny.vxm')}", name="embeddings") as server:
        server.wait_until_ready()
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": given})
        bench.check("the answer's form", status == 200 and data["object"] == "list" and data["model"] == "tiny" and data["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}, data if status != 200 else data["usage"])
        bench.compare("vectors of a list", np.array([row["embedding"] for row in data["data"]], np.float32), want)
        bench.check("numbers of a list", [row["index"] for row in data["data"]] == list(range(len(given))))
        status, _, data = server.ask("POST", "/api/v1/embeddings", {"model": "tiny", "input": given[0], "pooling": "cls", "normalize": True})
        bench.compare("our own path", np.array(data["embeddings"], np.float32), folder.expected(given[:1], pooling="cls", normalize=True)[0])
        ids = folder.tokenizer.encode(given[0]).ids
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": [ids, ids]})
        bench.compare("vectors of tokens", np.array([row["embedding"] for row in data["data"]], np.float32), np.concatenate([want[:1]] * 2))
        # Sixteen at once are batches: order and count are each one's own.
        answers = server.ask_many([("POST", url, {"model": "tiny", "input": given[i : i + 3]}) for i in range(0, len(given) - 3)])
        bench.compare("vectors of requests side by side", np.array([row["embedding"] for _, _, data in answers for row in data["data"]], np.float32), np.concatenate([want[i : i + 3] for i in range(0, len(given) - 3)]))

        for what, body, message in (("nothing", {"input": []}, "'input': want 1 to 2048 texts, got 0"), ("an empty text", {"input": ["a", ""]}, "'input[1]' is empty"), ("no input", {}, "'input' is missing"),
                                    ("a long text", {"input": "the " * 80}, f"'input': the model takes {folder.max_tokens} tokens, got 82"), ("a number", {"input": 1}, "'input': want a string or a list of tokens, got a number"),
                                    ("a mixed list", {"input": ["a", 1]}, "'input[1]': want a string or a list of tokens, got a number"), ("no token", {"input": [[-1]]}, "'input[0][0]': want the number of a token, got -1"),
                                    ("a form", {"input": "a", "encoding_format": "hex"}, "'encoding_format': want 'float' or 'base64', got 'hex'"), ("a pooling", {"input": "a", "pooling": "max"}, "'pooling': want 'cls', 'mean' or 'last', got 'max'"),
                                    ("dimensions", {"input": "a", "dimensions": 99}, "'dimensions': want 1 to 24, got 99"), ("a field", {"input": "a", "inputs": "b"}, None)):
            status, _, data = server.ask("POST", url, {"model": "tiny", **body})
            bench.check(f"{what} is refused", status == 400 and (message is None or data["error"]["message"] == message), (status, data))
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": [[10**6]]})
        bench.check("a token that there is not", status == 400 and data["error"]["code"] == "invalid_value", (status, data))
        status, _, data = server.ask("POST", url, {"model": "tiny", "input": "the " * 80, "truncate": True})
        bench.check("what is long may be cut", status == 200 and data["usage"]["total_tokens"] == folder.max_tokens, (status, data.get("usage")))

        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
        answer = client.embeddings.create(model="tiny", input=given)  # as base64
        bench.compare("openai", np.array([row.embedding for row in answer.data], np.float32), want)
        bench.check("openai: usage and models", answer.usage.total_tokens == tokens and "tiny" in [model.id for model in client.models.list()] and client.models.retrieve("tiny").id == "tiny")
        raw = server.ask("POST", url, {"model": "tiny", "input": given[0], "encoding_format": "base64"})[2]["data"][0]["embedding"]
        bench.check("base64 is of f32", np.allclose(np.frombuffer(base64.b64decode(raw), "<f4"), want[0], atol=1e-5))

        async def ask_side_by_side():
            async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none") as several:
                return await asyncio.gather(*(several.embeddings.create(model="tiny", input=text) for text in given))

        bench.compare("openai, side by side", np.array([answer.data[0].embedding for answer in asyncio.run(ask_side_by_side())], np.float32), want)
        for kind, call in ((openai.NotFoundError, lambda: client.embeddings.create(model="tinny", input="a")), (openai.BadRequestError, lambda: client.embeddings.create(model="tiny", input="")),
                           (openai.BadRequestError, lambda: client.embeddings.create(model="tiny", input="a", dimensions=0))):
            try:
                call()
                bench.check(f"openai: {kind.__name__}", False, "it is answered")
            except openai.APIStatusError as error:
                bench.check(f"openai: {kind.__name__}", type(error) is kind and error.body["code"], error)
        metrics = server.ask("GET", "/metrics")[2].decode()
        bench.check("embeddings are counted", 'vx_embeddings_total{model="tiny"}' in metrics)


def check_deterministic(bench):
    """The same bits whoever else asks, of a model whose numbers tell how many texts of which length are run together."""
    bench.tool("vx-compile", Folder(bench.path("sizes"), max_tokens=60, sizes=True).path, "--target=cpu", "-o", bench.path("sizes.vxm"))
    given = [text for text in texts(64, 5, longest=60) if text]
    with open(bench.path("deterministic.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[[vx.server.model]]\nname = "tiny"\npath = "{bench.path("sizes.vxm")}"\ndeterministic = true\n[vx.server.limits]\nbatch_size = 8\n')
    with Server(bench, f"--config={bench.path('deterministic.toml')}", name="deterministic") as server:
        server.wait_until_ready()
        requests = [("POST", "/v1/embeddings", {"model": "tiny", "input": given[i : i + 1 + i % 3], "encoding_format": "base64", "truncate": True}) for i in range(0, len(given) - 3)]
        alone = [server.ask(*request)[2]["data"] for request in requests]
        together = [data["data"] for _, _, data in server.ask_many(requests)]
        bench.check("embeddings have the same bits whoever else asks", alone == together, sum(a != b for a, b in zip(alone, together)))


def check_openai_keys(bench):
    keys = bench.path("openai-keys")
    write_keys(keys, (USER, "app", "user"))
    with open(bench.path("openai.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\napi_keys_file = "{keys}"\n[vx.server.limits]\nper_key = "2/s"\n')
    with Server(bench, f"--config={bench.path('openai.toml')}", name="openai") as server:
        server.wait_until_ready()
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=USER, max_retries=0)
        try:
            client.with_options(api_key="wrong").models.list()
            bench.check("openai: a wrong key", False)
        except openai.AuthenticationError:
            bench.check("openai: a wrong key", True)
        try:
            for _ in range(4):
                client.models.list()
            bench.check("openai: above the rate", False)
        except openai.RateLimitError as error:
            bench.check("openai: above the rate", error.body["code"] == "rate_limited", error)
        bench.check("openai comes again when it is told to", len(list(client.with_options(max_retries=3).models.list())) >= 1)


def check_command_line(bench):
    _, err = bench.tool("vx-serve", "--host=0.0.0.0", "--port=0", code=2)
    bench.check("a host that others reach wants keys", "others reach '0.0.0.0', and there are no keys" in err, err)
    with Server(bench, f"--model-dir={bench.path('models')}", name="port") as server:
        _, err = bench.tool("vx-serve", f"--port={server.port}", f"--model-dir={bench.path('models')}", code=1)
        bench.check("a port that is taken", f"vx-serve: error: cannot listen on '127.0.0.1' port {server.port}: Address already in use" in err, err)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", bench.path("key.pem"), "-out", bench.path("cert.pem")], check=True, capture_output=True)
    _, err = bench.tool("vx-serve", f"--tls-cert={bench.path('keys')}", f"--tls-key={bench.path('key.pem')}", "--port=0", f"--model-dir={bench.path('models')}", code=1)
    bench.check("a certificate that is none", f"certificate '{bench.path('keys')}': " in err, err)
    with Server(bench, f"--model-dir={bench.path('models')}", f"--tls-cert={bench.path('cert.pem')}", f"--tls-key={bench.path('key.pem')}", name="tls") as server:
        done = subprocess.run(["curl", "-s", "--cacert", bench.path("cert.pem"), f"https://127.0.0.1:{server.port}/v2/health/live"], capture_output=True, text=True)
        bench.check("TLS", done.stdout == '{"live":true}', done)
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            bench.check("plain HTTP to a server of TLS ends", not connection.recv(100).startswith(b"HTTP"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.bin, folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        tiny = Folder(bench.path("tiny"), max_tokens=60)
        bench.tool("vx-compile", tiny.path, "--target=cpu", "-o", bench.path("tiny.vxm"))
        with Server(bench, f"--model-dir={bench.path('models')}", name="infer") as server:
            server.wait_until_ready()
            check_infer(bench, server)
        # A folder with nothing of texts stands for the file in it, which is compiled.
        os.makedirs(bench.path("plain/digits"))
        shutil.copy(ROOT / "examples/digits/digits.onnx", bench.path("plain/digits/model.onnx"))
        with Server(bench, f"--model-dir={bench.path('plain')}", f"--cache-dir={bench.path('cache')}", "--device=cpu", name="plain") as server:
            server.wait_until_ready()
            bench.check("a folder with a model alone", infer(server, IMAGES[:2]).shape == (2, 10))
        for check in (check_codes, check_reload, check_batches, check_load, check_deterministic, check_openai_keys, check_command_line):
            check(bench)
        check_embeddings(bench, tiny)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
