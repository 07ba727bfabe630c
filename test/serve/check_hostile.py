"""What one client can't do to the others: calls that would take the machine's memory, bodies that are only promised, files whose names are no text."""
import json
import os
import shutil
import socket
import time

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, infer, infer_binary
from served import Server
import onnx.parser

# Sizes that stand in an input's value: a result, elements of a sequence, strings that the host makes.
MODELS = {
    "result": '<ir_version: 10, opset_import: ["" : 21]> result (int64[1] n) => (float[V] y) { y = ConstantOfShape<value = float[1] {1.0}>(n) }',
    "hidden": '<ir_version: 10, opset_import: ["" : 21]> hidden (int64[1] n) => (float y) { a = ConstantOfShape<value = float[1] {1.0}>(n)  b = Sin(a)  c = CumSum(b, axis)  y = ReduceMax<keepdims = 0>(c) }',
    "sequence": '<ir_version: 10, opset_import: ["" : 21]> sequence (int64[1] n) => (int64 y) { a = ConstantOfShape<value = uint8[1] {1}>(n)  s = SplitToSequence<axis = 0, keepdims = 0>(a)  y = SequenceLength(s) }',
    "strings": '<ir_version: 10, opset_import: ["" : 21]> strings (string[1] t, int64[1] n) => (string[V] y) { a = Expand(t, n)  y = StringConcat(a, a) }',
}


def make_large(bench):
    os.mkdir(bench.path("large"))
    for name, text in MODELS.items():
        model = onnx.parser.parse_model(text)
        if name == "hidden":
            model.graph.initializer.append(onnx.helper.make_tensor("axis", onnx.TensorProto.INT64, [], [0]))
        onnx.save(model, bench.path(f"{name}.onnx"))
        bench.tool("vx-compile", bench.path(f"{name}.onnx"), "--target=cpu", "-o", bench.path(f"large/{name}.vxm"))


def ask_large(server, name, n):
    inputs = [{"name": "n", "shape": [1], "datatype": "INT64", "data": [n]}]
    if name == "strings":
        inputs.append({"name": "t", "shape": [1], "datatype": "BYTES", "data": ["a" * 40]})
    return server.ask("POST", f"/v2/models/{name}/infer", {"inputs": inputs})


def peak(server):
    """The most bytes that have been resident."""
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


def check_large_calls(bench):
    """A call that would take too much is refused before it takes anything."""
    make_large(bench)
    with open(bench.path("large.toml"), "w", encoding="utf-8") as file:
        file.write('[vx.server.limits]\ncall_memory = "64MiB"\n')
    with Server(bench, f"--model-dir={bench.path('large')}", f"--config={bench.path('large.toml')}", name="large") as server:
        server.wait_until_ready()
        for name in MODELS:
            status, _, data = ask_large(server, name, 1000)
            bench.check(f"{name}: a small call", status == 200, data)
        before = peak(server)
        for name in MODELS:
            for n in (1 << 25, 1 << 31, (1 << 31) + 1) if name != "sequence" else (1 << 23, 1 << 33):
                began = time.monotonic()
                status, headers, data = ask_large(server, name, n)
                bench.check(f"{name} of {n} is out of memory", (status, headers["x-vx-error-code"]) == (507, "out_of_memory"), (status, data))
                bench.check(f"{name} of {n}: what it asked for and the limit", "expected at most " in data["error"] and " more bytes, got " in data["error"] and "their memory limit is 67108864 bytes" in data["error"], data)
                bench.check(f"{name} of {n} is told so soon", time.monotonic() - began < 10, time.monotonic() - began)
        bench.check("nothing was taken for it", peak(server) - before < 160 << 20, (before, peak(server)))
        status, _, data = ask_large(server, "result", 1000)
        bench.check("it goes on", status == 200, data)
        # Another limit holds for calls from then on.
        with open(bench.path("large.toml"), "w", encoding="utf-8") as file:
            file.write('[vx.server.limits]\ncall_memory = "2KiB"\n')
        bench.check("a limit that has changed", server.comes_about(lambda: ask_large(server, "result", 1000)[0] == 507), server.logged())
    # A part of the machine's memory where nobody says more.
    with Server(bench, f"--model-dir={bench.path('large')}", "--model=result", "--model=hidden", name="unlimited") as server:
        server.wait_until_ready()
        before = peak(server)
        for name in ("result", "hidden"):
            status, _, data = ask_large(server, name, 1 << 38)
            bench.check(f"{name}: more than the machine has", status == 507 and "their memory limit is" in data["error"], (status, data))
        bench.check("nothing was taken for it by default", peak(server) - before < 64 << 20, (before, peak(server)))


def promise(server, key, size, path="/v2/models/digits/infer"):
    client = socket.create_connection((server.host, server.port), timeout=20)
    client.sendall(f"POST {path} HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n{{".encode())
    return client


def wait_until_read(port):
    """Until no byte that was sent to or from `port` waits in a socket, so that the server has counted them all."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        rows = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
        waiting = [row[4] for row in rows if f":{port:04X}" in row[1] + row[2] and row[4] != "00000000:00000000" and row[3] == "01"]
        if not waiting:
            return
        time.sleep(0.02)
    raise RuntimeError(f"port {port} has bytes that nobody reads: {waiting}")


def check_promises(bench):
    """Connections that promise bodies hold nobody up, and end when their time is over; what has come counts for whose it is."""
    keys = bench.path("promise-keys")
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    with Server(bench, f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", "--per-key=0", "--body-timeout-s=4", "--connections-per-address=1000", name="promises") as server:
        server.wait_until_ready()
        began = time.monotonic()
        promising = [promise(server, USER, 8 << 20) for _ in range(200)]
        body, headers = infer_binary(IMAGES[:4])
        for key in (USER, ADMIN):
            answers = server.ask_many([("POST", "/v2/models/digits/infer", body, headers | {"Authorization": f"Bearer {key}"})] * 40)
            bench.check("others are answered meanwhile", [answer[0] for answer in answers] == [200] * 40, [answer[0] for answer in answers])
        bench.check("while they were promising", time.monotonic() - began < 4, time.monotonic() - began)
        ends = [client.recv(200) for client in promising]
        bench.check("slow bodies end", all(end.startswith(b"HTTP/1.1 408") for end in ends) and time.monotonic() - began < 15, (ends[0], time.monotonic() - began))
        for client in promising:
            client.close()
    # Bytes that are there count. The time of a body is long, so that on a busy machine the first ones do not end before the last have come.
    with Server(bench, f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", "--per-key=0", "--body-timeout-s=120", name="shares") as server:
        server.wait_until_ready()
        large = b" " * (7 << 20)
        sending = [promise(server, USER, 8 << 20) for _ in range(12)]
        for client in sending:
            try:
                client.sendall(large)
            except OSError:
                pass  # which has its answer
            wait_until_read(server.port)  # of several at a time more could be refused than those that are too many
        # The first ones have all the bytes that the key may have, and wait for the rest of theirs.
        status, _, data = server.ask("POST", "/v2/models/digits/infer", b" " * (2 << 20), {"Authorization": f"Bearer {USER}"})
        bench.check("an address has a share of the bytes", status == 429 and "bytes of this address are in flight" in data["error"], (status, data))
        for client in sending:
            client.close()
        bench.check("and gets it back", server.comes_about(lambda: server.ask("POST", "/v2/models/digits/infer", body, headers | {"Authorization": f"Bearer {USER}"})[0] == 200))


def check_names(bench):
    """Files whose names are no UTF-8, or have control characters, are refused by what can be written of them."""
    folder = bench.path("names")
    os.mkdir(folder)
    os.mkdir(os.path.join(folder.encode(), b"o\xfeg"))
    for name in (b"good", b"\xff", b"a\nb", b"o\xfeg/c", "grün".encode()):
        shutil.copy(bench.path("models/digits.vxm"), os.path.join(folder.encode(), name + b".vxm"))
    want = {"\\xff": "expected a name of UTF-8 without control characters", "a\\u000ab": "expected a name of UTF-8 without control characters", "o\\xfeg/c": "expected a name of UTF-8 without control characters"}
    with Server(bench, f"--model-dir={folder}", name="names") as server:
        server.wait_until_ready()
        health = server.ask("GET", "/api/v1/health")
        bench.check("health", health[0] == 200 and health[2]["models"] == {"good": "ready", "grün": "ready"}, health)
        status, _, data = server.ask("GET", "/api/v1/models")
        bench.check("the models", status == 200 and [model["name"] for model in data["models"]] == ["good", "grün"], data)
        bench.check("those that are refused", {model["name"]: model["reason"] for model in data["refused"]} == want, data["refused"])
        status, _, data = server.ask("GET", "/v1/models")
        bench.check("OpenAI's list", status == 200 and [model["id"] for model in data["data"]] == ["good", "grün"], data)
        bench.check("a good one answers", infer(server, IMAGES[:1], "/v2/models/good/infer").shape == (1, 10))
        for body, path in ((b'{"model":"\\u0000\\ud83d\\ude00\\u2028","input":"a"}', "/v1/embeddings"), (b'{"model":"\xff","input":"a"}', "/v1/embeddings"), (b'{"inputs":[{"name":"\xff"}]}', "/v2/models/good/infer"),
                           (b'{"inputs":[{"name":"\\u0001\\"","datatype":"FP32","shape":[1],"data":[1]}]}', "/v2/models/good/infer"), (b'{"id":"\\u0001","inputs":[]}', "/v2/models/good/infer")):
            status, _, data = server.ask("POST", path, body, {"Content-Type": "application/json"})
            bench.check(f"{path} quotes {body}", status in (400, 404) and "error" in data, (status, data))
        for head in (b"x-request-timeout-ms: \xff\xfe", b"Expect: \xff", b"Content-Type: \xff\"", b"Host: \xff", b"Origin: \xff\"", b"Inference-Header-Content-Length: \xff"):
            with socket.create_connection((server.host, server.port), timeout=20) as client:
                host = b"" if head.startswith(b"Host") else b"Host: 127.0.0.1\r\n"
                client.sendall(b"POST /v2/models/good/infer HTTP/1.1\r\n" + host + head + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
                answer = b""
                while part := client.recv(65536):
                    answer += part
                told = answer.split(b"\r\n\r\n", 1)
                bench.check(f"a header {head}", answer.startswith(b"HTTP/1.1 4") and isinstance(json.loads(told[1]), dict) and b"\xff" not in told[0], answer)
    out, _ = bench.tool("vx-models", "list", "--json", f"--model-dir={folder}")
    listed = json.loads(out)
    bench.check("vx-models", {model["name"]: model.get("refused") for model in listed["models"]} == {"good": None, "grün": None} | want, listed)
