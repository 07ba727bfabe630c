#!/usr/bin/env python3
"""Mixed load on one server while its configuration, keys and models change: each request is answered, with a right answer, and memory, descriptors and threads stay flat.

  run_mixed_load.py --bin BUILD/bin [--seconds 3600] [--clients 6] [--seed 1] [--most-growth-mib 8]

Clients send tensors as JSON and binary and texts for embeddings, on connections that stay. Beside them others send long requests that an admin cancels, and go in the middle
of a request. Meanwhile the configuration is read again, right and wrong ones, keys are rotated, and models are replaced by others and loaded. Memory is compared between the
second quarter and the last one. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time

import numpy as np

from api_keys import ADMIN, write_keys
from check_models import steps, steps_that_take, write_larger_digits, write_steps
from digits import IMAGES, ROOT, infer, infer_binary, infer_json
from embedding_models import Folder
from run_embeddings import Bench
from served import Server, metric

TEXTS = ["wood and iron", "a fire", "the river of stone", "iron"]


class MixedLoad:
    def __init__(self, bench, options):
        self.bench, self.options, self.random = bench, options, random.Random(options.seed)
        self.is_over, self.lock, self.wrong, self.counts = threading.Event(), threading.Lock(), [], {}
        self.key, self.generation = "user-key-of-generation-0", 0
        self.folder, self.config, self.keys = bench.path("mixed"), bench.path("mixed.toml"), bench.path("mixed-keys")
        os.mkdir(self.folder)
        self.digits = []
        for name, source in (("plain", str(ROOT / "examples/digits/digits.onnx")), ("larger", bench.path("larger.onnx"))):
            bench.tool("vx-compile", source, "--target=cpu", "-o", bench.path(f"digits-{name}.vxm"))
            self.digits.append(bench.path(f"digits-{name}.vxm"))
        self.replace(self.digits[0], "digits")
        self.replace(bench.path("tiny.vxm"), "tiny")
        write_steps(bench.path("steps.onnx"))
        bench.tool("vx-compile", bench.path("steps.onnx"), "--target=cpu", "-o", f"{self.folder}/steps.vxm")
        self.write_keys_of(self.key)
        self.write_config("")

    def replace(self, source, name):
        shutil.copy(source, self.bench.path("new.vxm"))
        os.replace(self.bench.path("new.vxm"), f"{self.folder}/{name}.vxm")

    def write_keys_of(self, *users):
        write_keys(self.keys + ".new", (ADMIN, "boss", "admin"), *((key, f"app{i}", "user") for i, key in enumerate(users)))
        os.replace(self.keys + ".new", self.keys)

    def write_config(self, more):
        with open(self.config + ".new", "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{self.folder}"\ndefault_backend = {{ cpu = {{ num_threads = 1 }} }}\n[vx.server]\napi_keys_file = "{self.keys}"\n'
                       f'[vx.server.limits]\nper_key = "0"\nauth_failures = "0"\nqueue = 4096\n{more}')
        os.replace(self.config + ".new", self.config)

    def count(self, kind):
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1

    def fail(self, kind, detail):
        with self.lock:
            self.wrong.append((kind, detail))

    # --- Clients ---

    def check(self, kind, status, headers, data):
        if status != 200:
            return f"status {status}: {data[:300]}"
        if kind == "binary":
            got = np.frombuffer(data[int(headers["Inference-Header-Content-Length"]) :], np.float32).reshape(2, 10)
        elif kind == "json":
            got = np.array(json.loads(data)["outputs"][0]["data"]).reshape(2, 10)
        else:
            got = np.array([entry["embedding"] for entry in json.loads(data)["data"]])
            return "" if np.allclose(got, self.vectors, atol=1e-5) else "another embedding"
        return "" if any(np.allclose(got, self.want + more, atol=1e-4) for more in (0, 1)) else "another result"

    def run_client(self, number):
        chosen = random.Random(self.options.seed * 1000 + number)
        connection = None
        while not self.is_over.is_set():
            kind = chosen.choice(("json", "binary", "embeddings"))
            if kind == "embeddings":
                path, body, headers = "/v1/embeddings", json.dumps({"model": "tiny", "input": TEXTS}), {"Content-Type": "application/json"}
            else:
                path = "/v2/models/digits/infer"
                body, headers = (json.dumps(infer_json(IMAGES[:2])), {"Content-Type": "application/json"}) if kind == "json" else infer_binary(IMAGES[:2])
            try:
                if connection is None or chosen.random() < 0.02:
                    connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
                connection.request("POST", path, body, headers | {"x-api-key": self.key})
                answer = connection.getresponse()
                data = answer.read()
                problem = self.check(kind, answer.status, answer.headers, data)
                if answer.will_close:
                    connection = None
            except (OSError, http.client.HTTPException) as error:
                problem, connection = f"no answer: {error!r}", None
            self.count(kind)
            if problem:
                self.fail(kind, problem)
            time.sleep(0.002)

    def run_cancelled(self):
        number = 0
        while not self.is_over.wait(0.3):
            number += 1
            name, results = f"cancelled-{number}", []
            asking = threading.Thread(target=lambda: results.append(self.server.ask("POST", "/v2/models/steps/infer", self.long, {"x-api-key": self.key, "x-request-id": name})[::2]))
            asking.start()
            end = time.monotonic() + 30
            while asking.is_alive() and time.monotonic() < end:
                self.server.ask("DELETE", f"/v1/requests/{name}", headers={"x-api-key": ADMIN})
                asking.join(0.02)
            asking.join(60)
            if not results or results[0][0] not in (200, 409, 499):
                self.fail("cancelled", results)
            self.count("cancelled" if results and results[0][0] != 200 else "not cancelled in time")

    def run_gone(self):
        small, headers = infer_binary(IMAGES[:1])
        while not self.is_over.wait(0.1):
            text = "".join(f"{name}: {value}\r\n" for name, value in (headers | {"x-api-key": self.key, "Host": "127.0.0.1", "Content-Length": len(small)}).items())
            with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
                connection.sendall(f"POST /v2/models/digits/infer HTTP/1.1\r\n{text}\r\n".encode() + small[: self.random.randrange(len(small) + 1)])
            self.count("gone")

    # --- Changes ---

    def ready_with(self, key):
        return self.server.ask("GET", "/v2/models/digits/ready", headers={"x-api-key": key})[0]

    def rotate_keys(self):
        """Both keys for a while, as an operator does it: clients change, then the former one ends."""
        self.generation += 1
        former, key = self.key, f"user-key-of-generation-{self.generation}"
        self.write_keys_of(former, key)
        self.server.wait_for(lambda: self.ready_with(key) == 200, 60)
        self.key = key
        time.sleep(1)  # requests with the former one
        self.write_keys_of(key)
        self.server.wait_for(lambda: self.ready_with(former) == 401, 60)

    def update_model(self):
        name = self.random.choice(("digits", "tiny"))
        self.replace(self.random.choice(self.digits) if name == "digits" else self.bench.path("tiny.vxm"), name)
        status, _, data = self.server.ask("POST", f"/api/v1/models/{name}/load", headers={"x-api-key": ADMIN})
        if status not in (200, 409):
            self.fail("load", data)

    def read_configuration(self):
        self.write_config(f"batch_timeout_ms = {self.random.randrange(3)}\nbatch_size = {self.random.choice((8, 32))}\n")
        self.server.process.send_signal(signal.SIGHUP)
        self.server.wait_for(lambda: self.server.ask("GET", "/api/v1/health")[2]["config"] == "ok", 60)

    def refuse_configuration(self):
        self.write_config("quue = 1\n")
        self.server.wait_for(lambda: self.server.ask("GET", "/api/v1/health")[2]["config"] == "refused", 60)
        self.read_configuration()

    def run_changes(self):
        kinds = (self.rotate_keys, self.update_model, self.update_model, self.read_configuration, self.refuse_configuration)
        turn = 0
        while not self.is_over.wait(0.3):
            change = kinds[turn % len(kinds)]
            turn += 1
            try:
                change()
            except Exception as error:
                self.fail(change.__name__, repr(error))
            self.count(change.__name__)

    def run_samples(self):
        while not self.is_over.wait(max(0.2, self.options.seconds / 600)):
            process = f"/proc/{self.server.process.pid}"
            self.samples.append((metric(self.server, "process_resident_memory_bytes", {"x-api-key": ADMIN}), len(os.listdir(f"{process}/fd")), len(os.listdir(f"{process}/task"))))

    def run(self):
        self.samples = []
        with Server(self.bench, f"--config={self.config}", name="mixed", environment={"VX_CHECK_SCHEDULE": "0", "VX_SERVER__LOG": "warning"}) as server:
            self.server = server
            server.wait_until_ready()
            user = {"x-api-key": self.key}
            self.want = infer(server, IMAGES[:2], headers=user)
            self.vectors = np.array([entry["embedding"] for entry in server.ask("POST", "/v1/embeddings", {"model": "tiny", "input": TEXTS}, user)[2]["data"]])
            self.long, _ = steps_that_take(server, 0.5, user)
            work = [self.run_cancelled, self.run_gone, self.run_changes, self.run_samples] + [lambda i=i: self.run_client(i) for i in range(self.options.clients)]
            threads = [threading.Thread(target=one, daemon=True) for one in work]
            for thread in threads:
                thread.start()
            time.sleep(self.options.seconds)
            self.is_over.set()
            for thread in threads:
                thread.join(180)
            self.bench.check("all clients end", not any(thread.is_alive() for thread in threads))
            self.finish(server)

    def finish(self, server):
        bench, quarter = self.bench, max(1, len(self.samples) // 4)
        before, after = self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        middle = lambda samples, part: statistics.median(sample[part] for sample in samples)
        growth = (middle(after, 0) - middle(before, 0)) / 2**20
        total = sum(self.counts.get(kind, 0) for kind in ("json", "binary", "embeddings"))
        print(f"{self.options.seconds:.0f} s: {total} requests of {self.options.clients} clients, {len(self.wrong)} wrong; {self.counts}; resident memory {middle(before, 0) / 2**20:.1f} MiB in the second quarter and "
              f"{middle(after, 0) / 2**20:.1f} in the last one; descriptors {middle(before, 1):.0f} and {middle(after, 1):.0f}, threads {middle(before, 2):.0f} and {middle(after, 2):.0f}", flush=True)
        bench.check("no request is lost, and each answer is right", not self.wrong and total > 10, self.wrong[:3])
        for kind in ("json", "binary", "embeddings", "cancelled", "gone", "rotate_keys", "update_model", "read_configuration", "refuse_configuration"):
            bench.check(f"it had '{kind}'", self.counts.get(kind, 0) > 0, self.counts)
        bench.check("resident memory is flat", growth <= self.options.most_growth_mib, f"{growth:.1f} MiB more, at most {self.options.most_growth_mib}")
        bench.check("descriptors are flat", middle(after, 1) <= middle(before, 1) + 8, (before[-1], after[-1]))
        bench.check("threads are flat", middle(after, 2) <= middle(before, 2) + 2, (before[-1], after[-1]))
        bench.check("nothing waits in the end", server.comes_about(lambda: b'vx_queue_depth{model="digits"} 0\n' in server.ask("GET", "/metrics", headers={"x-api-key": ADMIN})[2]))
        bench.check("it ends well", server.stop() == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-growth-mib", type=float, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, ["cpu"])
        write_larger_digits(bench)
        bench.tool("vx-compile", Folder(bench.path("tiny"), max_tokens=60).path, "--target=cpu", "-o", bench.path("tiny.vxm"))
        MixedLoad(bench, options).run()
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
