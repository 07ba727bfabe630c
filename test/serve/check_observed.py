"""What an operator sees of a server: metrics, the log, the document of its paths, and the port for admins."""
import json
import os
import re
import signal
import socket
import subprocess
import time

from openapi_spec_validator import validate

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, ROOT, infer, infer_binary
from served import Server

LINE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$')


def read_metrics(text):
    """{name: {labels: value}} with the kinds; a line that breaks the format is an error."""
    values, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            if name in kinds:
                raise ValueError(f"'{name}' is described twice")
            kinds[name] = None
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name] = kind
        else:
            name, labels, value = LINE.match(line).groups()
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            if kinds.get(base if kinds.get(base) == "histogram" else name) is None:
                raise ValueError(f"'{name}' is not described")
            place = values.setdefault(name, {})
            if (labels or "") in place:
                raise ValueError(f"'{line}' is there twice")
            place[labels or ""] = float(value)
    return values, kinds


def metrics_of(server, headers=None, port=None):
    return read_metrics(server.ask("GET", "/metrics", headers=headers)[2].decode())


def check_metrics(bench):
    requests, rows = 24, 3
    with open(bench.path("metrics.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\ndefault_backend = "cpu"\n[vx.server.limits]\nqueue = 77\nbatch_size = 7\ncall_memory = "1GiB"\n[[vx.server.model]]\nname = "late"\npath = "{bench.path("models/digits.vxm")}"\npreload = false\n')
    with Server(bench, f"--config={bench.path('metrics.toml')}", name="metrics") as server:
        server.wait_until_ready()
        body, headers = infer_binary(IMAGES[:rows])
        began = time.monotonic()
        server.ask_many([("POST", "/v2/models/digits/infer", body, headers)] * requests)
        whole = time.monotonic() - began
        values, kinds = metrics_of(server)
        get = lambda name, labels='model="digits"': values.get(name, {}).get(labels)
        bench.check_equal("each request has waited once", requests, get("vx_queue_seconds_count"))
        bench.check("time in the queue", 0 < get("vx_queue_seconds_sum") < requests * whole, get("vx_queue_seconds_sum"))
        bench.check_equal("all rows are in batches", requests * rows, get("vx_batch_rows_sum"))
        run, busy = get("vx_batch_seconds_sum"), get("vx_device_busy_seconds_total", 'device="cpu:0"')
        bench.check("a device is busy for as long as its batches run", 0 < run < whole and abs(busy - run) < 1e-6, (busy, run, whole))
        bench.check("no request is faster than its parts", get("vx_request_seconds_sum") > get("vx_queue_seconds_sum"), (get("vx_request_seconds_sum"), get("vx_queue_seconds_sum")))
        bench.check_equal("requests that may wait", 77, get("vx_queue_limit"))
        bench.check_equal("rows of a batch", 7, get("vx_capacity_rows"))
        bench.check_equal("memory of calls", 1 << 30, get("vx_call_memory_limit_bytes"))
        bench.check_equal("models that are ready", {'model="digits"': 1, 'model="late"': 0}, values.get("vx_model_ready"))
        bench.check_equal("the device of a model", {'model="digits",device="cpu:0"': 1}, values.get("vx_model_info"))
        constants = get("vx_model_memory_bytes", 'model="digits",device="cpu:0",kind="constants"')
        size = os.path.getsize(bench.path("models/digits.vxm"))
        bench.check("weights on the device", constants and 1000 < constants < size, (constants, size))
        bench.check_equal("variables on the device", 0, get("vx_model_memory_bytes", 'model="digits",device="cpu:0",kind="variables"'))
        with open("/proc/meminfo", encoding="utf-8") as file:
            machine = 1024 * int(file.readline().split()[1])
        bench.check_equal("memory of the device", machine, get("vx_device_memory_bytes", 'device="cpu:0"'))
        said = bench.tool("vx-serve", "--version")[0]
        version, commit = re.search(r"^vx (\S+)", said)[1], re.search(r"^commit (\S+)", said, re.M)[1]
        bench.check_equal("the build", {f'version="{version}",commit="{commit}"': 1}, values.get("vx_build_info"))
        bench.check_equal("it is not draining", {"": 0}, values.get("vx_draining"))
        for name, kind in kinds.items():
            if kind != "histogram":
                bench.check(f"{name} is a {kind}", kind == ("counter" if name.endswith("_total") else "gauge"))
                continue
            for labels, count in values.get(f"{name}_count", {}).items():
                buckets = [value for at, value in values[f"{name}_bucket"].items() if at.startswith(labels + ",le=")]
                bench.check(f"{name}{{{labels}}} grows", buckets == sorted(buckets) and buckets[-1] == count, buckets)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def check_log(bench):
    """JSON objects and nothing else, on one stream; and a log without its requests."""
    port = free_ports(1)[0]
    config = bench.path("log.toml")

    def write(text):
        with open(config + ".new", "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\nport = {port}\n{text}')
        os.replace(config + ".new", config)

    write('log_format = "json"\n')
    log, out = bench.path("json.log"), bench.path("json.out")
    with open(log, "wb") as stderr, open(out, "wb") as stdout:
        process = subprocess.Popen([os.path.join(bench.bin, "vx-serve"), f"--config={config}"], stdout=stdout, stderr=stderr, env=bench.environment() | {"VX_SERVER__DRAIN_DELAY_S": "0", "HOME": bench.folder})
    try:
        server = Server.__new__(Server)
        server.host, server.port = "127.0.0.1", port

        def answers(path="/api/v1/health"):
            try:
                return server.ask("GET", path)[0] == 200
            except OSError:
                return False

        def records():
            with open(log, encoding="utf-8") as file:
                return [json.loads(line) for line in file]

        server.wait_for(answers)
        server.ask("GET", "/v2/models/digits/ready", headers={"x-request-id": "mine"})
        server.ask("GET", "/none%0a%22x", headers={"x-request-id": "odd"})
        server.wait_for(lambda: {"mine", "odd"} <= {entry.get("request_id") for entry in records()})
        mine = next(entry for entry in records() if entry.get("request_id") == "mine")
        bench.check_equal("a request", {"level": "info", "message": "request", "address": "127.0.0.1", "method": "GET", "path": "/v2/models/digits/ready", "model": "digits", "request_id": "mine", "status": 200},
                          {name: value for name, value in mine.items() if name not in ("time", "milliseconds")})
        bench.check("its time and how long it took", re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", mine["time"]) and 0 < mine["milliseconds"] < 10000, mine)
        odd = next(entry for entry in records() if entry.get("request_id") == "odd")
        bench.check("a path that is odd", odd["status"] == 404 and odd["path"] == '/none\\u000a"x', odd)
        bench.check("what it says when it starts", any(f"http://127.0.0.1:{port} " in entry["message"] and entry["message"].startswith("ready ") for entry in records()), records()[:5])
        write('log_format = "json"\naccess_log = false\n')
        server.wait_for(lambda: any("the configuration was read again" in entry["message"] for entry in records()))
        before = len(records())
        answers()
        write('log_format = "json"\nlog = "warning"\naccess_log = true\n')
        server.wait_for(lambda: not any(entry["message"] == "request" for entry in records()[before:]) and len(records()) > before or len(records()) > before + 5)
        bench.check("a log without requests", not any(entry["message"] == "request" for entry in records()[before:]), records()[before:])
        time.sleep(0.3)
        count = len(records())
        answers()
        bench.check_equal("nothing below the level", count, len(records()))
        write("log = \"none\"\n")
        server.wait_for(lambda: any(entry["level"] == "error" and "expected error, warning, info or debug" in entry["message"] for entry in records()[count:]))
        bench.check_equal("nothing on stdout", 0, os.path.getsize(out))
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    bench.check_equal("it ends", 0, code)


def check_admin_port(bench):
    main, admin = free_ports(2)
    keys = bench.path("admin-port-keys")
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    arguments = [f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", "--per-key=0"]
    with Server(bench, *arguments, f"--admin-port={admin}", name="admin-port") as server:
        bench.check("the start says where metrics are", f"metrics: http://127.0.0.1:{admin}/metrics" in server.lines[-1], server.lines[-1])
        user, boss = {"x-api-key": USER}, {"x-api-key": ADMIN}
        server.wait_until_ready()
        other = Server.__new__(Server)
        other.host, other.port = server.host, admin
        for path, method in (("/metrics", "GET"), ("/api/v1/models/digits/unload", "POST"), ("/v1/requests/none", "DELETE")):
            got = server.ask(method, path, headers=boss)
            bench.check(f"{path} at the main port", got[0] == 403 and f"'{path}' is answered at the admin port alone" in got[2]["error"]["message"], got)
        bench.check_equal("metrics at the admin port", 200, other.ask("GET", "/metrics", headers=user)[0])
        bench.check_equal("metrics take a key there too", 401, other.ask("GET", "/metrics")[0])
        bench.check_equal("an admin's path at the admin port", 200, other.ask("POST", "/api/v1/models/digits/load", headers=boss)[0])
        bench.check_equal("a user is no admin there", 403, other.ask("POST", "/api/v1/models/digits/load", headers=user)[0])
        for one in (server, other):
            bench.check_equal("health", 200, one.ask("GET", "/api/v1/health")[0])
            bench.check("inference", infer(one, IMAGES[:1], headers=user).shape == (1, 10))
        bench.check_equal("another site's page", 403, other.ask("GET", "/api/v1/health", headers={"Origin": "https://evil.example"})[0])
        done = subprocess.run([os.path.join(bench.bin, "vx-serve"), *arguments, f"--port={main}", f"--admin-port={admin}"], capture_output=True, text=True, env=bench.environment(), timeout=60)
        bench.check("a port that is taken", done.returncode == 1 and f"cannot listen on '127.0.0.1' port {admin}: Address already in use" in done.stderr, (done.returncode, done.stderr))
    # The main port is for other machines, and the admin port for this one alone: no page of another site gets there by a browser.
    with Server(bench, f"--model-dir={bench.path('models')}", "--host=0.0.0.0", "--no-auth", f"--admin-port={admin}", name="admin-loopback") as server:
        server.wait_until_ready()
        other.port = admin
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            bench.check_equal(f"{headers} at both ports", (200, 403), tuple(one.ask("GET", "/api/v1/health", headers=headers)[0] for one in (server, other)))
    for arguments, text in ((["--admin-port=8080"], "'admin_port': expected another port than 'port', got 8080 for both"), (["--admin-port=9", "--admin-host=0.0.0.0"], "'admin_host': others reach '0.0.0.0', and there are no keys"),
                            (["--admin-port=65536"], "expected 0 to 65535, got '65536'"), (["--log-format=xml"], "expected text or json, got 'xml'"), (["--drain-delay-s=-1"], "expected 0 to 3600, got '-1'")):
        _, said = bench.tool("vx-serve", "--check-config", *arguments, code=2)
        bench.check(f"{' '.join(arguments)} is refused", text in said, said)


def check_openapi(bench):
    """The document is valid, is that of the sources, and its paths are those of the server."""
    with Server(bench, f"--model-dir={bench.path('models')}", name="openapi") as server:
        server.wait_until_ready()
        status, headers, document = server.ask("GET", "/openapi.json")
        bench.check_equal("it is given", (200, "application/json"), (status, headers["Content-Type"]))
        bench.check_equal("it is that of the sources", json.loads((ROOT / "runtime/lib/serve/openapi.json").read_text()), document)
        try:
            validate(document)
            valid = ""
        except Exception as error:
            valid = str(error)
        bench.check_equal("it is a document of OpenAPI", "", valid)
        for wrong in ({"openapi": "3.1.0"}, document | {"paths": {"no slash": {}}}, document | {"info": {}}):
            try:
                validate(wrong)
                bench.check("a wrong document is seen", False, list(wrong))
            except Exception:
                pass
        for path, methods in document["paths"].items():
            real = path.replace("{name}", "digits").replace("{version}", "1").replace("{id}", "none")
            allowed = server.ask("OPTIONS", real)[1]["Allow"].split(", ")
            bench.check_equal(f"methods of {path}", sorted(method.upper() for method in methods), sorted(set(allowed) - {"OPTIONS", "HEAD"}))
        body = {"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0.0] * 64}]}
        required = document["paths"]["/v2/models/{name}/infer"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        bench.check_equal("fields that a request has to have", ["inputs"], required.get("required"))
        bench.check_equal("they are enough", 200, server.ask("POST", "/v2/models/digits/infer", body)[0])
        for path, code in (("/v1/embeddings", "401"), ("/v2/models/{name}/infer", "429"), ("/v2/models/{name}/infer", "507"), ("/api/v1/health", "503")):
            method = document["paths"][path].get("post") or document["paths"][path]["get"]
            bench.check(f"{path} may answer {code}", code in method["responses"], list(method["responses"]))
