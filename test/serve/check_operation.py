"""A server under load, that is told to end, that reads its configuration again, or cannot start."""
import concurrent.futures
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import numpy as np

from api_keys import ADMIN, USER, write_keys
from check_models import steps, steps_that_take
from digits import IMAGES, infer, infer_binary
from served import Server, metric


def check_reload(bench):
    keys, config = bench.path("rotated"), bench.path("reload.toml")

    def write(text):
        with open(config + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(config + ".new", config)

    write_keys(keys, (USER, "app", "user"))
    write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\napi_keys_file = "{keys}"\n[vx.server.limits]\nper_key = "0"\nauth_failures = "0"\n')
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
        write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[server]\nport = 1\n[vx.server]\napi_keys_file = "{keys}"\n')
        server.wait_for(lambda: "did you mean [vx.server]" in server.logged())
        # Each line of the log has its level, and no second one.
        for level, place, text in (("error", "2:1", "prot"), ("warning", "3:2", "[server] is not read, did you mean [vx.server]")):
            lines = [line for line in server.logged().splitlines() if text in line]
            bench.check(f"a line of the level {level}", lines and all(re.match(rf"\S+Z {level} {re.escape(config)}:{place}: ", line) and f": {level}: " not in line for line in lines), lines)
    # A server that others reach keeps its keys, also where the new file would have it listen elsewhere from the next start on.
    write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\nhost = "0.0.0.0"\napi_keys_file = "{keys}"\n')
    with Server(bench, f"--config={config}", name="reach") as server:
        server.wait_until_ready()
        write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\nhost = "127.0.0.1"\n')
        server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["config"] == "refused")
        health = server.ask("GET", "/api/v1/health")[2]["config_error"]
        bench.check("no keys where others reach it", "others reach '0.0.0.0'" in health and server.ask("GET", "/api/v1/models")[0] == 401, health)


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


def check_cancel(bench):
    """An admin ends requests that wait, which are not run, and one that is running, whose answer goes nowhere."""
    keys = bench.path("cancel-keys")
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    user, admin = {"x-api-key": USER}, {"x-api-key": ADMIN}
    with Server(bench, f"--model-dir={bench.path('several')}", "--model=steps", f"--api-keys-file={keys}", "--per-key=0", name="cancel") as server:
        server.wait_until_ready()
        long, before = steps_that_take(server, 1.5, admin)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            ask = lambda name, body: pool.submit(server.ask, "POST", "/v2/models/steps/infer", body, user | {"x-request-id": name})
            running = ask("running", long)
            server.wait_for(lambda: metric(server, "vx_requests_in_flight", admin) == 2 and metric(server, 'vx_queue_depth{model="steps"}', admin) == 0)
            waiting = [ask("waiting", steps(1)) for _ in range(3)]
            other = ask("other", steps(1))
            server.wait_for(lambda: metric(server, 'vx_queue_depth{model="steps"}', admin) == 4)
            refused = server.ask("DELETE", "/v1/requests/waiting", headers=user)
            bench.check("cancelling takes the role", refused[0] == 403 and refused[2]["error"]["code"] == "forbidden", refused)
            done = server.ask("DELETE", "/v1/requests/waiting", headers=admin)
            bench.check("all of an id are cancelled", done[0] == 200 and done[2] == {"id": "waiting", "cancelled": 3}, done)
            for answer in [request.result() for request in waiting]:
                bench.check("what is cancelled is told so, and not to come again", (answer[0], answer[1]["x-vx-error-code"], answer[1]["x-should-retry"], answer[2]) ==
                            (409, "cancelled", "false", {"error": "an admin has cancelled the request"}), answer)
            done = server.ask("DELETE", "/v1/requests/running", headers=admin)
            bench.check("one that runs is cancelled", done[2] == {"id": "running", "cancelled": 1} and running.result()[0] == 409, done)
            bench.check("another goes on", other.result()[0] == 200)
            done = server.ask("DELETE", "/v1/requests/waiting", headers=admin)
            bench.check("an id that is over is unknown", done[0] == 404 and done[2]["error"]["message"] == "no request 'waiting' waits for its answer", done)
        # A batch is counted behind its answers.
        bench.check("what was cancelled while it waited was not run", server.comes_about(lambda: metric(server, 'vx_batch_rows_sum{model="steps"}', admin) - before == 2))
        bench.check("cancelled requests are counted", metric(server, 'vx_requests_total{model="steps",code="409"}', admin) == 4)


def check_command_line(bench):
    os.mkdir(bench.path("empty"))
    with Server(bench, f"--model-dir={bench.path('empty')}", name="empty") as server:
        status, headers, health = server.ask("GET", "/api/v1/health")
        bench.check("without a model nothing is ready", (status, health["status"], headers["Retry-After"]) == (503, "no_model", "1"), health)
    _, err = bench.tool("vx-serve", "--host=0.0.0.0", "--port=0", code=2)
    bench.check("a host that others reach needs keys", "others reach '0.0.0.0', and there are no keys" in err, err)
    with Server(bench, f"--model-dir={bench.path('models')}", name="port") as server:
        _, err = bench.tool("vx-serve", f"--port={server.port}", f"--model-dir={bench.path('models')}", code=1)
        bench.check("a port that is taken", f"vx-serve: error: cannot listen on '127.0.0.1' port {server.port}: Address already in use" in err, err)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", bench.path("key.pem"), "-out", bench.path("cert.pem")], check=True, capture_output=True)
    _, err = bench.tool("vx-serve", f"--tls-cert={bench.path('keys')}", f"--tls-key={bench.path('key.pem')}", "--port=0", f"--model-dir={bench.path('models')}", code=3)
    bench.check("a certificate that is none", f"certificate '{bench.path('keys')}': " in err, err)
    with Server(bench, f"--model-dir={bench.path('models')}", f"--tls-cert={bench.path('cert.pem')}", f"--tls-key={bench.path('key.pem')}", name="tls") as server:
        done = subprocess.run(["curl", "-s", "--cacert", bench.path("cert.pem"), f"https://127.0.0.1:{server.port}/v2/health/live"], capture_output=True, text=True)
        bench.check("TLS", done.stdout == '{"live":true}', done)
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            bench.check("plain HTTP to a server of TLS ends", not connection.recv(100).startswith(b"HTTP"))


def check_descriptors(bench):
    """Out of descriptors: those that have one are answered, nothing spins, and others are when some are given back."""
    with Server(bench, f"--model-dir={bench.path('models')}", name="descriptors") as server:
        server.wait_until_ready()
        held = f"/proc/{server.process.pid}/fd"
        limit = len(os.listdir(held)) + 8
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(40)]
        server.wait_for(lambda: len(os.listdir(held)) == limit)

        def seconds():
            with open(f"/proc/{server.process.pid}/stat", encoding="utf-8") as file:
                return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

        before = seconds()
        time.sleep(0.5)
        bench.check("it does not spin", seconds() - before < 0.2, seconds() - before)
        ask = b"GET /v2/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        clients[0].sendall(ask)
        bench.check("those that are connected are answered", clients[0].recv(1000).startswith(b"HTTP/1.1 200"))
        clients[-1].sendall(ask)
        for client in clients[:36]:
            client.close()
        bench.check("those that waited are, too", clients[-1].recv(1000).startswith(b"HTTP/1.1 200"))
        bench.check("and whoever comes then", infer(server, IMAGES[:2]).shape == (2, 10))
        for client in clients[36:]:
            client.close()


def check_addresses(bench):
    """IPv6, where the machine has it."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        print(f"skipped: IPv6: {error}")
        return
    with Server(bench, f"--model-dir={bench.path('models')}", "--host=::1", name="addresses", host="::1") as server:
        server.wait_until_ready()
        bench.check("its address is told as a URL has it", f"http://[::1]:{server.port} " in server.lines[-1] + " ".join(server.lines), server.lines)
        bench.check("it answers", infer(server, IMAGES[:2]).shape == (2, 10))
        bench.check("the log has the address", server.comes_about(lambda: " info ::1 POST /v2/models/digits/infer 200 " in server.logged()), server.logged()[-300:])
        status, _, data = server.ask("GET", "/api/v1/health", headers={"Host": f"[::2]:{server.port}"})
        bench.check("another host is refused", (status, data["error"]["code"]) == (403, "forbidden"), data)


def check_gone_clients(bench):
    """Clients that go while they wait, whose requests are not run, and in the middle of a large answer."""
    with Server(bench, f"--model-dir={bench.path('several')}", "--model=steps", "--model=pairs", name="gone") as server:
        server.wait_until_ready()
        long, before = steps_that_take(server, 3)
        large = threading.Thread(target=lambda: server.ask("POST", "/v2/models/steps/infer", long))
        large.start()
        server.wait_for(lambda: metric(server, "vx_requests_in_flight") == 2 and metric(server, 'vx_queue_depth{model="steps"}') == 0)
        small = json.dumps(steps(1))
        clients = []
        for _ in range(100):
            clients.append(socket.create_connection(("127.0.0.1", server.port)))
            clients[-1].sendall(f"POST /v2/models/steps/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(small)}\r\n\r\n{small}".encode())
        server.wait_for(lambda: metric(server, 'vx_queue_depth{model="steps"}') == 100)
        for client in clients:
            client.close()
        bench.check("whose client is gone leaves the queue", server.comes_about(lambda: metric(server, 'vx_queue_depth{model="steps"}') == 0) and large.is_alive())
        large.join()
        server.ask("POST", "/v2/models/steps/infer", steps(1))
        bench.check("and is not run", server.comes_about(lambda: metric(server, 'vx_batch_rows_sum{model="steps"}') - before == 2), metric(server, 'vx_batch_rows_sum{model="steps"}') - before)

        body = json.dumps({"inputs": [{"name": "x", "shape": [1500], "datatype": "FP32", "data": [1] * 1500}], "parameters": {"binary_data_output": True}})
        ask = f"POST /v2/models/pairs/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(ask)
                client.recv(100)
        bench.check("a client that goes in the middle of its answer", server.comes_about(lambda: server.process.poll() is None and metric(server, "vx_connections") == 1 and metric(server, "vx_bytes_in_flight") == 0))
        bench.check("ends nothing else", server.ask("POST", "/v2/models/steps/infer", steps(1))[0] == 200)
