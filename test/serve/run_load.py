#!/usr/bin/env python3
"""vx-bench embed --url and vx-bench infer: a server under load, and servers that answer what is wrong.

  run_load.py --bin BUILD/bin

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import hashlib
import http.server
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading

from check_tls import make_certificate
from embedding_models import Folder
from run_embeddings import Bench
from served import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEY = "load-key-0123456789"


def run(bench, verb, *arguments, code=0):
    out, said = bench.tool("vx-bench", verb, *arguments, "--warm-up=0.05", "--json=-", code=code)
    return (json.loads(out)["results"] if out else None), said


def check_server(bench, server):
    url, tiny = f"--url=http://127.0.0.1:{server.port}", bench.path("tiny.vxm")
    # Many connections for a while: no error, and memory that does not grow.
    results, _ = run(bench, "embed", url, "--model=tiny", f"--engine={tiny}", "--threads=1", "--clients=64", "--lengths=8,40", "--seconds=0.8", "--turns=2",
                     "--most-growth=32MiB", "--least-ratio=1e-6", "--most-own-cpu=1e6")
    for result, length in zip(results, (8, 40)):
        seen = sum(batch["rows"] * batch["count"] for batch in result["server"]["batches"])
        bench.check(f"{length} tokens", result["dims"] == {"batch": 1, "tokens": length} and result["clients"] == 64 and result["failed"] == 0 and result["failures"] == {}, result)
        bench.check("rates", result["requests"] > 64 and 0 < result["p50_ms"] <= result["p95_ms"] <= result["p99_ms"] <= result["max_ms"]
                    and abs(result["tokens_per_second"] / result["rows_per_second"] - length) < 1e-6 and result["rows_per_second"] < result["rows_per_second_without_clients"], result)
        # Batches of more than 16 rows count as the bound of their bucket; and what the ends cut counts by its part.
        bench.check("batches are those of the requests", 0.8 < seen / result["requests"] < 1.5, (seen, result["requests"]))
        bench.check("the server's own numbers", result["server"]["cpu_us_per_request"] > 1 and result["server"]["resident_bytes"] > 1 << 20 and len(result["engine"]["ratios"]) == 2, result)
    for arguments in (("--encoding=base64",), ("--batch-sizes=3",)):
        results, _ = run(bench, "embed", url, "--model=tiny", "--clients=3", "--lengths=12", "--seconds=0.15", *arguments)
        bench.check(f"embed {arguments}", results[0]["failed"] == 0 and abs(results[0]["rows_per_second"] / results[0]["requests_per_second"] - (3 if "=3" in arguments[0] else 1)) < 1e-6, results)
    for form in ("binary", "json"):
        results, _ = run(bench, "infer", url, "--model=digits", "--clients=5", f"--format={form}", "--batch-sizes=2", f"--engine={bench.path('digits.vxm')}", "--threads=1", "--seconds=0.2", "--turns=2")
        bench.check(f"infer {form}", results[0]["requests"] > 5 and results[0]["failed"] == 0 and results[0]["engine"]["rows_per_second"] > 0, results)
    for gate in ("--least-ratio=1e6", "--most-own-cpu=1e-3"):
        _, said = run(bench, "embed", url, "--model=tiny", f"--engine={tiny}", "--threads=1", "--clients=4", "--lengths=8", "--seconds=0.1", "--turns=1", gate, code=1)
        bench.check(f"the gate {gate}", "vx-bench: error: batch=1 tokens=8: expected " in said, said)
    for arguments, code, message in (
            (("embed", url, "--model=tinny"), 1, "the server answers with status 404: "),
            (("embed", "--url=http://127.0.0.1:1", "--model=tiny"), 1, "cannot connect to '127.0.0.1:1': Connection refused"),
            (("embed", "--url=ftp://a.example", "--model=tiny"), 2, "--url: expected http://HOST:PORT or https://HOST:PORT, got 'ftp://a.example'"),
            (("embed", "--url=http://a:99999", "--model=tiny"), 2, "--url: expected http://HOST:PORT or https://HOST:PORT, got 'http://a:99999'"),
            (("embed", "--url=http://a/b", "--model=tiny"), 2, "--url: expected http://HOST:PORT or https://HOST:PORT, got 'http://a/b'"),
            (("embed", url, "--model=tiny", f"--cacert={bench.path('tiny.vxm')}"), 2, "--cacert: expected none for a server without TLS, got "),
            (("embed", "--url=https://127.0.0.1:1", "--model=tiny", f"--cacert={bench.path('none.pem')}"), 3, f"--cacert: certificates '{bench.path('none.pem')}': expected PEM of authorities, got: "),
            (("embed", url.replace("http:", "https:"), "--model=tiny"), 1, f"no connection of TLS to '127.0.0.1:{server.port}': "),
            (("embed", url, "--model=tiny", "--lengths=1"), 2, "makes no text of 1 tokens"),
            (("embed", url, "--model=tiny", "--lengths=99"), 1, "the server answers with status 400: "),
            (("embed", url, "--model=tiny", "--min-runs=3"), 2, "--min-runs: expected none beside --url"),
            (("embed", f"--model={tiny}", "--clients=3"), 2, "--clients goes with --url"),
            (("embed", url, "--model=tiny", "--least-ratio=0.9"), 2, "--least-ratio: expected --engine, which the server is compared with"),
            (("embed", url, "--model=tiny", f"--engine={tiny}", "--threads=1,2"), 2, "--threads: expected one number beside --url, got '1,2'"),
            (("infer", "--model=digits"), 2, "infer needs --url, where a server is, and --model, one of its names; see --help"),
            (("infer", url, "--model=tiny"), 2, "expected a shape of which the first size alone is open, got [-1,-1]")):
        _, said = bench.tool("vx-bench", *arguments, code=code)
        bench.check(" ".join(arguments), message in said, said)


def resident(server):
    text = server.ask("GET", "/metrics")[2].decode()
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("process_resident_memory_bytes "))


def check_connections(bench, server):
    """Connections leave nothing behind: of those that come and go, the second half takes no more memory than a few would."""
    def open_and_close(count):
        for _ in range(count):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                while connection.recv(4096):
                    pass

    open_and_close(800)
    before = resident(server)
    open_and_close(800)
    grown = resident(server) - before
    bench.check("connections leave nothing behind", grown < 2 << 20, grown)


def check_keys(bench):
    keys, own = bench.path("keys"), bench.path("key")
    for path, text in ((keys, hashlib.sha256(KEY.encode()).hexdigest() + " bench user\n"), (own, KEY + "\n")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
    with Server(bench, f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", "--per-key=0", name="keys") as server:
        server.wait_until_ready()
        flags = ("embed", f"--url=http://127.0.0.1:{server.port}", "--model=tiny", "--lengths=8", "--clients=2", "--seconds=0.1")
        bench.check("a key of a file", run(bench, *flags, f"--api-key-file={own}")[0][0]["failed"] == 0)
        _, said = bench.tool("vx-bench", *flags, code=1)
        bench.check("no key", "the server answers with status 401: " in said, said)
        os.environ["VX_API_KEY"] = KEY
        bench.check("a key of the environment", run(bench, *flags)[0][0]["failed"] == 0)
        del os.environ["VX_API_KEY"]


def check_tls(bench):
    """A server with a key and a certificate that no authority has signed."""
    certificate, key = make_certificate(bench.path("tls"), "bench")
    other, _ = make_certificate(bench.path("tls"), "other")
    keys, own = bench.path("keys"), bench.path("key")
    with Server(bench, f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", "--per-key=0", f"--tls-cert={certificate}", f"--tls-key={key}", name="tls") as server:
        url = f"--url=https://127.0.0.1:{server.port}"
        flags = ("embed", url, "--model=tiny", "--lengths=8", "--clients=3", "--seconds=0.3")
        server.wait_for(lambda: len([line for line in server.lines if line.startswith("loaded ")]) == 2)
        results, _ = run(bench, *flags, f"--cacert={certificate}", f"--api-key-file={own}")
        bench.check("over TLS with a key", results[0]["failed"] == 0 and results[0]["requests"] > 3 and results[0]["server"]["resident_bytes"] > 1 << 20, results)
        results, _ = run(bench, "infer", url, "--model=digits", "--clients=2", "--seconds=0.2", f"--cacert={certificate}", f"--api-key-file={own}")
        bench.check("tensors over TLS", results[0]["failed"] == 0 and results[0]["requests"] > 2, results)
        for what, arguments, text in (("no key", (f"--cacert={certificate}",), "the server answers with status 401: "), ("an authority that is none", (f"--api-key-file={own}",), "certificate verify failed"),
                                      ("another authority", (f"--cacert={other}", f"--api-key-file={own}"), "certificate verify failed")):
            _, said = bench.tool("vx-bench", *flags, *arguments, code=1)
            bench.check(f"TLS: {what}", text in said, said)
        _, said = bench.tool("vx-bench", "embed", f"--url=https://localhost:{server.port}", "--model=tiny", f"--cacert={certificate}", f"--api-key-file={own}", code=1)
        bench.check("a certificate for another name", "certificate verify failed" in said, said)


class Liar(http.server.BaseHTTPRequestHandler):
    """Answers as asked for a while, and then in a way that is wrong."""
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # heads go with their bodies

    def do_GET(self):
        self.answer(404, "{}")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        with self.server.lock:
            self.server.asked += 1
            way = self.server.way if self.server.asked > 40 else None
        tokens = sum(len(text.split()) for text in texts) + (way == "tokens")
        vector = [0.6, 0.8] + ([0.0] if way == "long" else [])
        if way == "far":
            vector = [0.6001, 0.8]
        if way == "length":
            vector = [1.2, 1.6]
        data = [{"index": 0 if way == "order" else i, "embedding": vector} for i in range(len(texts))]
        body = json.dumps({"data": data, "usage": {"prompt_tokens": tokens}})
        if way == "null":
            body = body.replace("0.6", "null")
        if way == "cut":
            self.close_connection = True
            self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body[:-9]}".encode())
            return
        self.answer(429 if way == "busy" else 200, body[:-9] if way == "text" else body)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def check_liars(bench):
    for way, code, message in (
            (None, None, None), ("tokens", "answer", "expected a usage of 16 tokens, got 17"), ("long", "answer", "expected 2 dimensions, got 3"),
            ("far", "answer", "expected a vector that is 1e-05 from that of the text alone at the most, got one that is 0.0001 from it"), ("length", "answer", "expected a vector that is"),
            ("order", "answer", "text 1: expected 2 dimensions, got 0"), ("null", "answer", "expected 2 dimensions, got 0"), ("text", "answer", "expected an object of JSON, got"),
            ("busy", "429", "status 429"), ("cut", "connection", "the server has closed the connection")):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
        server.daemon_threads, server.way, server.asked, server.lock = True, way, 0, threading.Lock()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            results, said = run(bench, "embed", f"--url=http://127.0.0.1:{server.server_address[1]}", "--model=m", "--lengths=8", "--batch-sizes=2", "--clients=2", "--seconds=0.2", code=int(way is not None))
            bench.check(f"an answer with a wrong {way}", (results[0]["failed"] > 0 and set(results[0]["failures"]) == {code} and message in said) if way else results[0]["failed"] == 0, (results, said))
        finally:
            server.shutdown()
            server.server_close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.bin, folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("digits.vxm"))
        bench.tool("vx-compile", Folder(bench.path("tiny"), max_tokens=60).path, "--target=cpu", "-o", bench.path("tiny.vxm"))
        for name in ("digits.vxm", "tiny.vxm"):
            os.link(bench.path(name), bench.path(f"models/{name}"))
        with Server(bench, f"--model-dir={bench.path('models')}", "--device=cpu", name="load") as server:
            server.wait_until_ready()
            check_server(bench, server)
            check_connections(bench, server)
        check_keys(bench)
        check_tls(bench)
        check_liars(bench)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
