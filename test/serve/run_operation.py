#!/usr/bin/env python3
"""vx-serve in operation: models that are compiled, keys and configurations that change under load, and what systemd asks of it.

  run_operation.py --bin BUILD/bin [--only NAME,...]

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import http.client
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, ROOT, infer, infer_binary
from embedding_models import Folder
from run_embeddings import Bench
from served import Server

ONNX = str(ROOT / "examples/digits/digits.onnx")


def write(path, text, mode=0o644):
    """Whole or not at all, as editors do."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path + ".new", mode)
    os.replace(path + ".new", path)


class Tools(Bench):
    """A server with a compiler beside it that is a script, or with none; the other one's checks are counted."""

    def __init__(self, bench, name, script=None, mode=0o755):
        super().__init__(bench.path(name), bench.folder, [])
        os.mkdir(self.bin)
        shutil.copy(os.path.join(bench.bin, "vx-serve"), self.bin)
        if script is not None:
            write(os.path.join(self.bin, "vx-compile"), "#!/bin/sh\n" + script, mode)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().split(") ")[1][0] not in "ZX"
    except FileNotFoundError:
        return False


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def lines_of(server, begin):
    return [line.strip() for line in server.lines if line.startswith(begin)]


def kept(cache):
    return sorted(os.listdir(os.path.join(cache, "models"))) if os.path.isdir(os.path.join(cache, "models")) else []


def check_compilers(bench):
    """Compilers that fail in each way: the server says which, and goes on with the rest."""
    real, cache = os.path.join(bench.bin, "vx-compile"), bench.path("failing-cache")
    script = f"""case "$1" in
*slow.onnx) exec sleep 60;;
*silent.onnx) exec >&- 2>&-; sleep 60;;
*left.onnx) sleep 60 & exit 3;;
*error.onnx) echo "vx-compile: note: looking" >&2; echo "vx-compile: error: node 'relu' is odd" >&2; echo "vx-compile: note: done" >&2; exit 3;;
*killed.onnx) kill -SEGV $$;;
*half.onnx) "{real}" "$@" --no-cache & sleep 0.1; kill -9 $!; kill -9 $$;;
*full.onnx) ulimit -f 2; exec "{real}" "$@" --no-cache;;
*files.onnx) for file in /proc/$$/fd/*; do readlink $file; done > {bench.path("files.txt")}; exit 3;;
esac
exec "{real}" "$@"
"""
    wanted = {
        "slow": "'{}' was not done in 1 s",
        "silent": "'{}' was not done in 1 s",
        "left": "'{}' ended with exit code 3",
        "error": "node 'relu' is odd",
        "killed": "'{}' was ended by signal 11",
        "half": "'{}' was ended by signal 9",
        "full": "cannot write '",
        "files": "'{}' ended with exit code 3",
    }
    tools = Tools(bench, "failing", script)
    os.mkdir(bench.path("failing-models"))
    for name in [*wanted, "good"]:
        shutil.copy(ONNX, bench.path(f"failing-models/{name}.onnx"))
    config = bench.path("failing.toml")
    head = f'[vx]\nmodel_dir = "failing-models"\ncache_dir = "{cache}"\ndefault_backend = "cpu"\n[vx.server.limits]\ncompile_timeout_s = '
    write(config, head + "1\n" + "".join(f'[[vx.server.model]]\nname = "{name}"\npreload = {str(name in ("slow", "silent")).lower()}\n' for name in [*wanted, "good"]))
    with Server(tools, f"--config={config}", name="failing") as server:
        server.wait_for(lambda: len(lines_of(server, "failed")) == 2)
        # The limit is of those that begin from then on.
        write(config, head + "600\n")
        server.wait_for(lambda: len(lines_of(server, "failed")) == len(wanted) and lines_of(server, "loaded"))
        failed = {line.split()[1]: line for line in lines_of(server, "failed")}
        for name, text in wanted.items():
            text = text.format(os.path.join(tools.bin, "vx-compile"))
            bench.check(f"a compiler: {name}", f"'{bench.path('failing-models')}/{name}.onnx' is no module file, and is not compiled: {text}" in failed.get(name, ""), failed.get(name))
        bench.check("the one that can be compiled serves", infer(server, IMAGES[:2], "/v2/models/good/infer").shape == (2, 10))
        status = server.ask("GET", "/v2/models/slow/ready")
        bench.check("what could not be compiled is 503, with the reason", status[0] == 503 and "was not done in 1 s" in status[2]["error"], status)
        # The one that was ended may have been done.
        bench.check("nothing half is left", {name.split("-")[0] for name in kept(cache)} in ({"good"}, {"good", "half"}), kept(cache))
        for name in kept(cache):
            bench.tool("vx-info", os.path.join(cache, "models", name))
        bench.check("a compiler has none of the server's sockets", read(bench.path("files.txt")) and "socket:" not in read(bench.path("files.txt")), read(bench.path("files.txt")))
    for what, script, mode, text in (
        ("is missing", None, 0, f"this needs vx-compile, and there is none beside this tool: expected '{bench.path('missing')}/vx-compile'"),
        ("cannot be started", "exit 0", 0o644, f"cannot start '{bench.path('mode')}/vx-compile': Permission denied"),
    ):
        tools = Tools(bench, "missing" if script is None else "mode", script, mode)
        with Server(tools, f"--model={bench.path('failing-models/good.onnx')}", f"--cache-dir={bench.path('other-cache')}", name="without") as server:
            server.wait_for(lambda: lines_of(server, "failed"))
            bench.check(f"a compiler that {what}", text in lines_of(server, "failed")[0], server.lines)
    arguments = [f"--model={bench.path('failing-models/good.onnx')}", "--device=cpu"]
    with Server(bench, *arguments, f"--cache-dir={bench.path('small-cache')}", "--compile-memory=64MiB", name="memory") as server:
        server.wait_for(lambda: lines_of(server, "failed"))
        bench.check("a compiler without memory", "is not compiled: " in lines_of(server, "failed")[0] and not kept(bench.path("small-cache")), server.lines)


def check_caches(bench):
    model = bench.path("cached.onnx")
    shutil.copy(ONNX, model)
    os.chmod(model, 0o644)
    arguments = [f"--model={model}", "--device=cpu"]
    # Two servers that begin at one time.
    cache = bench.path("one-cache")
    servers = [Server(bench, *arguments, f"--cache-dir={cache}", name=f"two{i}") for i in range(2)]
    for server in servers:
        server.wait_until_ready()
        bench.check("two servers on one cache", infer(server, IMAGES[:2], "/v2/models/cached/infer").shape == (2, 10))
        bench.check("two servers end", server.stop() == 0)
    first = kept(cache)
    bench.check("one module is kept", len(first) == 1, first)
    # A third takes what they made, also where it has no compiler's time; what is damaged is made again.
    with Server(bench, *arguments, f"--cache-dir={cache}", "--compile-memory=64MiB", name="kept") as server:
        server.wait_until_ready()
    with open(os.path.join(cache, "models", first[0]), "r+b") as file:
        file.truncate(1000)
    with Server(bench, *arguments, f"--cache-dir={cache}", name="damaged") as server:
        server.wait_until_ready()
    # Weights beside the model are part of it, and what was made before goes.
    write(bench.path("cached.onnx_data"), "x")
    with Server(bench, *arguments, f"--cache-dir={cache}", name="changed") as server:
        server.wait_until_ready()
        bench.check("a model that has changed is compiled again", len(kept(cache)) == 1 and kept(cache) != first, kept(cache))
    # A cache that cannot be written, also not by root.
    temporary = bench.path("temporary")
    os.mkdir(temporary)
    with Server(bench, *arguments, "--cache-dir=/proc/vx", name="read-only", environment={"TMPDIR": temporary}) as server:
        server.wait_until_ready()
        bench.check("a cache that cannot be written is told, and does not matter", "cannot make the folder '/proc/vx/models': No such file or directory: what is compiled goes to" in server.logged(), server.logged())
        bench.check("it ends", server.stop() == 0)
    bench.check("nothing is left of it", os.listdir(temporary) == [], os.listdir(temporary))


def check_compiler_ends(bench):
    """A server that is told to end, or killed, takes the compiler with it."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        pids = bench.path(f"pids-{sign}")
        tools = Tools(bench, f"ending-{sign}", f"sleep 60 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait\n")
        with Server(tools, f"--model={ONNX}", f"--cache-dir={bench.path('ending-cache')}", "--device=cpu", name="ending") as server:
            server.wait_for(lambda: os.path.exists(pids))
            began = time.monotonic()
            code = server.stop(sign)
            bench.check(f"{sign!r} ends it at once", code == (0 if sign == signal.SIGTERM else -signal.SIGKILL) and time.monotonic() - began < 30, code)
            # Killed, it can only have the kernel end the compiler itself.
            for pid in read(pids).split()[: None if sign == signal.SIGTERM else 1]:
                bench.check(f"{sign!r} ends the compiler", server.comes_about(lambda: not is_alive(pid)), pid)
        for pid in read(pids).split():
            if is_alive(pid):
                os.kill(int(pid), signal.SIGKILL)


def check_loading(bench):
    """While a model is compiled the configuration is read, and signals are heard."""
    real, config, begun = os.path.join(bench.bin, "vx-compile"), bench.path("loading.toml"), bench.path("begun")
    tools = Tools(bench, "loading", f'touch {begun}; while [ -e {begun} ]; do sleep 0.02; done; exec {real} "$@"\n')
    os.mkdir(bench.path("loading-models"))
    shutil.copy(ONNX, bench.path("loading-models/slow.onnx"))
    head = f'[vx]\nmodel_dir = "{bench.path("models")}"\ncache_dir = "{bench.path("loading-cache")}"\ndefault_backend = "cpu"\n'
    slow = f'[[vx.server.model]]\npath = "{bench.path("loading-models/slow.onnx")}"\n'
    write(config, head)
    with Server(tools, f"--config={config}", name="loading") as server:
        server.wait_until_ready()
        state = lambda: server.ask("GET", "/api/v1/health")[2]["models"].get("slow")
        write(config, head + slow)
        server.wait_for(lambda: os.path.exists(begun))
        bench.check("a model that a new configuration names is loaded", state() == "loading", state())
        # It is taken out while it is compiled, which another configuration waits for no more than a request does.
        write(config, head + '[[vx.server.model]]\nname = "digits"\nalias = ["numbers"]\n')
        bench.check("a model that is being loaded is taken out", server.comes_about(lambda: state() is None), state())
        bench.check("the rest of that configuration holds", infer(server, IMAGES[:2], "/v2/models/numbers/infer").shape == (2, 10))
        os.remove(begun)
        bench.check("its compiler is let be", server.comes_about(lambda: len(kept(bench.path("loading-cache"))) == 1, 20))
        time.sleep(0.2)
        bench.check("it stays out", state() is None and not lines_of(server, "loaded   slow"), server.lines)
        write(config, head + slow)
        bench.check("it comes back, out of the cache", server.comes_about(lambda: state() == "ready") and not os.path.exists(begun), state())
        shutil.copy(ONNX, bench.path("loading-models/other.onnx"))
        write(config, head + slow + slow.replace("slow", "other"))
        server.wait_for(lambda: os.path.exists(begun))
        bench.check("TERM is heard while a model is compiled", server.stop() == 0)


def check_changes(bench):
    """Keys are rotated, and configurations replaced, while requests are under way."""
    keys, config = bench.path("flight-keys"), bench.path("flight.toml")
    limits = '[vx.server.limits]\nper_key = "0"\nauth_failures = "0"\n'
    head = f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\napi_keys_file = "{keys}"\n{limits}'
    write_keys(keys, (USER, "app", "user"), (ADMIN, "other", "user"))
    write(config, head)
    with Server(bench, f"--config={config}", name="flight") as server:
        server.wait_until_ready()
        ready = lambda key: server.ask("GET", "/v2/models/digits/ready", headers={"x-api-key": key})[0]
        statuses, over = {USER: [], ADMIN: []}, threading.Event()

        def client(key):
            body, headers = infer_binary(IMAGES[:1])
            while not over.is_set():
                try:
                    statuses[key].append(server.ask("POST", "/v2/models/digits/infer", body, headers | {"x-api-key": key})[0])
                except OSError as error:
                    statuses[key].append(repr(error))

        threads = [threading.Thread(target=client, args=(key,)) for key in (USER, USER, ADMIN, ADMIN)]
        for thread in threads:
            thread.start()
        # One that takes longer than the rotation does, by the key that goes.
        long_one = []
        body, headers = infer_binary(np.tile(IMAGES, (60, 1, 1, 1)))
        large = threading.Thread(target=lambda: long_one.append(server.ask("POST", "/v2/models/digits/infer", body, headers | {"x-api-key": USER})[0]))
        large.start()
        # Its header is read long before its body: after so many requests of the others it has been let in.
        others = len(statuses[USER])
        server.wait_for(lambda: len(statuses[USER]) >= others + 20 and statuses[ADMIN])
        write_keys(keys + ".new", (ADMIN, "other", "user"), ("third-key-0123456789", "third", "user"))
        os.replace(keys + ".new", keys)
        server.wait_for(lambda: ready("third-key-0123456789") == 200)
        large.join()
        bench.check("a key that goes is 401 from then on", ready(USER) == 401)
        bench.check("a request that was let in is answered", long_one == [200], long_one)
        # Configurations, right and wrong ones, each in the place of the one before.
        for turn in range(20):
            alias = f'[[vx.server.model]]\nname = "digits"\nalias = ["turn{turn}"]\nbatch_size = {turn + 1}\n'
            write(config, head + (alias if turn % 2 else "[vx.server.limits\n"))
            if turn % 10 == 9:
                bench.check("a configuration under load holds", server.comes_about(lambda: server.ask("GET", f"/v2/models/turn{turn}/ready", headers={"x-api-key": ADMIN})[0] == 200))
        over.set()
        for thread in threads:
            thread.join()
        changes = [a for a, b in zip([0] + statuses[USER], statuses[USER]) if a != b]
        bench.check("the key that went was 200, then 401", set(statuses[USER]) == {200, 401} and len(statuses[USER]) > 4, (set(statuses[USER]), changes))
        bench.check("the key that stayed was always 200", set(statuses[ADMIN]) == {200}, set(map(str, statuses[ADMIN])))
        bench.check("wrong configurations were refused, right ones held", server.logged().count("is refused, the one before stays") >= 1 and server.logged().count("the configuration was read again") >= 2)
        # Keys that are wrong keep the old ones; a model that is not there is refused with all else.
        write(keys, "none\n", 0o600)
        server.wait_for(lambda: server.ask("GET", "/api/v1/health")[2]["config"] == "refused")
        bench.check("a wrong file of keys keeps those before", ready(ADMIN) == 200)
        write_keys(keys, (ADMIN, "other", "user"))
        write(config, head + '[[vx.server.model]]\npath = "nowhere.vxm"\nalias = ["there"]\n')
        server.wait_for(lambda: "nowhere.vxm" in server.ask("GET", "/api/v1/health")[2].get("config_error", ""))
        health = server.ask("GET", "/api/v1/health")
        bench.check("a configuration with a model that is not there is refused", health[0] == 200 and "cannot be opened" in health[2]["config_error"], health)


def check_quick_changes(bench):
    """A configuration that changes while the file of keys is read is not overlooked."""
    keys, config = bench.path("quick-keys"), bench.path("quick.toml")
    # A folder that it takes a while to look through.
    os.mkdir(bench.path("many-models"))
    shutil.copy(bench.path("models/digits.vxm"), bench.path("many-models"))
    for i in range(1000):
        write(bench.path(f"many-models/{i}.gguf"), "")
    head = f'[vx]\nmodel_dir = "{bench.path("many-models")}"\n[vx.server]\napi_keys_file = "{keys}"\nmetrics_open = true\n[vx.server.limits]\nper_key = "0"\n'
    write_keys(keys, (ADMIN, "first", "user"))
    write(config, head)
    with Server(bench, f"--config={config}", name="quick") as server:
        server.wait_until_ready()
        seen = lambda turn: server.ask("GET", f"/v2/models/turn{turn}/ready", headers={"x-api-key": ADMIN})[0] == 200
        missed = 0
        for turn in range(12):
            write_keys(keys + ".new", (ADMIN, f"key{turn}", "user"))
            os.replace(keys + ".new", keys)
            time.sleep(0.002 * turn)
            write(config, head + f'[[vx.server.model]]\nname = "digits"\nalias = ["turn{turn}"]\n')
            missed += not server.comes_about(lambda: seen(turn), 10)
            if missed:
                break
        bench.check("no change is overlooked", missed == 0, turn)


def check_changes_at_the_start(bench):
    """Nor is one while the server starts, which takes a while with many models."""
    config, log, models = bench.path("start.toml"), bench.path("start.log"), bench.path("start-models")
    os.mkdir(models)
    for i in range(400):
        os.link(bench.path("models/digits.vxm"), f"{models}/digits{i or ''}.vxm")
    head = f'[vx]\nmodel_dir = "{models}"\n[vx.server]\nport = 0\n'
    missed = []
    for turn in range(5):
        write(config, head)
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen([os.path.join(bench.bin, "vx-serve"), f"--config={config}"], stdout=file, stderr=subprocess.STDOUT, env=dict(os.environ, VX_SERVER__DRAIN_DELAY_S="0"))
        time.sleep(0.03 * (turn + 1))
        write(config + ".new", head + '[[vx.server.model]]\nname = "digits"\nalias = ["later"]\n')
        os.replace(config + ".new", config)

        def is_known():
            ready = re.search(r"^ready .*:(\d+) ", pathlib.Path(log).read_text(encoding="utf-8"), re.MULTILINE)
            if not ready:
                return False
            connection = http.client.HTTPConnection("127.0.0.1", int(ready[1]), timeout=10)
            connection.request("GET", "/v2/models/later/ready")
            return connection.getresponse().status == 200

        if not Server.comes_about(is_known, 20):
            missed.append(turn)
        process.terminate()
        process.wait()
    bench.check_equal("changes while a server starts that are overlooked", [], missed)


def is_refused(server):
    """Whether one more connection is sent away, which is told at once."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.settimeout(10)
        return connection.recv(100).startswith(b"HTTP/1.1 503 ")


def check_keys(bench):
    """Keys of the configuration that no other check gives a value: each does something."""
    keys, config = bench.path("own-keys"), bench.path("keys.toml")
    folder = f'[vx]\nmodel_dir = "{bench.path("models")}"\n'
    post = "POST /v2/models/digits/infer HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    write(config, folder + 'order = "cpu,vulkan"\n[vx.server]\nhost = "0.0.0.0"\nno_auth = true\nheader_timeout_s = 1\nbody_timeout_s = 2\nlog = "warning"\nthreads = 1\n'
          "[vx.server.limits]\nconnections_per_address = 4\n")
    with Server(bench, f"--config={config}", name="keys") as server:
        server.wait_until_ready()
        bench.check("no_auth", server.ask("GET", "/v2/models/digits/ready")[0] == 200)
        report = server.ask("GET", "/api/v1/models/digits")[2]
        bench.check("order", report["device"]["order"] == ["cpu", "vulkan"] and report["device"]["refused"] == [], report["device"])
        began, answers = time.monotonic(), []
        with socket.create_connection(("127.0.0.1", server.port)) as head, socket.create_connection(("127.0.0.1", server.port)) as body:
            head.sendall(post.encode())
            body.sendall((post + "Content-Length: 9\r\n\r\n{").encode())
            for connection in (head, body):
                connection.settimeout(30)
                answers.append((connection.recv(1000).decode(), time.monotonic() - began))
        for i, (key, part, limit) in enumerate((("header_timeout_s", "header", 1), ("body_timeout_s", "body", 2))):
            bench.check(key, " 408 " in answers[i][0] and f"the {part} of a request may take {limit}000 ms" in answers[i][0] and answers[i][1] > limit - 0.1, answers)
        server.wait_for(lambda: b"vx_connections 1\n" in server.ask("GET", "/metrics")[2])
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
        bench.check("connections_per_address", is_refused(server))
        for connection in held:
            connection.close()
        few = len(os.listdir(f"/proc/{server.process.pid}/task"))
        bench.check("log", " info " not in server.logged(), server.logged())
    write_keys(keys, (USER, "app", "user"))
    write(config, folder + f'[vx.server]\napi_keys_file = "{keys}"\nmetrics_open = true\ndrain_s = 1\n[vx.server.limits]\nconnections = 4\ntokens_per_key = "6/h"\n[[vx.server.model]]\npath = "{bench.path("tiny.vxm")}"\n')
    with Server(bench, f"--config={config}", name="more-keys") as server:
        server.wait_until_ready()
        bench.check("metrics_open", server.ask("GET", "/metrics")[0] == 200 and server.ask("GET", "/v2")[0] == 401)
        many = len(os.listdir(f"/proc/{server.process.pid}/task"))
        bench.check("threads", few < many or os.cpu_count() < 2, (few, many))
        answers = [server.ask("POST", "/v1/embeddings", {"model": "tiny", "input": "a b c d e"}, {"x-api-key": USER}) for _ in range(2)]
        bench.check("tokens_per_key", [status for status, _, _ in answers] == [200, 429] and "token" in answers[1][2]["error"]["message"], [(status, data) for status, _, data in answers])
        server.wait_for(lambda: b"vx_connections 1\n" in server.ask("GET", "/metrics")[2])
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
        bench.check("connections", is_refused(server))
        held[0].sendall((post + f"x-api-key: {USER}\r\nContent-Length: 9\r\n\r\n{{").encode())
        time.sleep(0.1)
        began = time.monotonic()
        code = server.stop()
        bench.check("drain_s", code == 1 and 0.9 < time.monotonic() - began < 25, (code, time.monotonic() - began))


def check_unit(bench):
    """The unit's own command and environment, and the words that systemd waits for."""
    text = read(str(ROOT / "tools/vx-serve/vx-serve.service.in")).replace("@VX_BINARIES@", bench.bin).replace("@VX_CONFIGURATION@", "/etc/vx")
    root = bench.path("unit")
    for place in ("/etc/vx", "/var/cache/vx", "/var/lib/vx"):
        os.makedirs(root + place)
        text = text.replace(place, root + place)
    unit = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            unit.setdefault(key, []).append(value)
    environment = dict(pair.split("=", 1) for pair in shlex.split(" ".join(unit["Environment"])))
    command, own = shlex.split(unit["ExecStart"][0]), {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    config = root + "/etc/vx/config.toml"
    os.mkdir(root + "/var/lib/vx/models")
    shutil.copy(ONNX, root + "/var/lib/vx/models/digits.onnx")
    # What keeps it from starting is not tried again.
    never = set(map(int, unit["RestartPreventExitStatus"][0].split()))
    for wrong in ("[vx.server]\nprot = 1\n", '[vx]\nmodel_dir = "nowhere"\n', '[vx.server]\napi_keys_file = "nowhere"\n'):
        write(config, wrong)
        done = subprocess.run(command, capture_output=True, env=own | environment, timeout=60)
        bench.check(f"the unit does not start again with {wrong!r}", done.returncode in never, done)
    write(config, '[vx]\ndefault_backend = "cpu"\n[vx.server]\nport = 0\n')
    for address in (root + "/notify", "\0vx-notify-" + os.path.basename(bench.folder)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(address)
            told.settimeout(30)
            with Server(bench, name="unit", command=command, inherited=own, environment=environment | {"NOTIFY_SOCKET": address.replace("\0", "@")}) as server:
                bench.check("it is ready when it listens", told.recv(100) == b"READY=1")
                server.wait_until_ready()
                bench.check("it serves what lies in its folder", infer(server, IMAGES[:2]).shape == (2, 10))
                bench.check("what it compiles goes to its cache", len(kept(root + "/var/cache/vx")) == 1, kept(root + "/var/cache/vx"))
                subprocess.run(["/bin/sh", "-c", unit["ExecReload"][0]], env=own | {"MAINPID": str(server.process.pid)}, check=True)
                server.wait_for(lambda: "the configuration was read again" in server.logged())
                server.process.send_signal(signal.SIGTERM)
                bench.check("it says that it ends", told.recv(100) == b"STOPPING=1")
                bench.check("it ends", server.process.wait(60) == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", help="checks by their names, with commas between")
    arguments = parser.parse_args()
    checks = {"compilers": check_compilers, "caches": check_caches, "compiler_ends": check_compiler_ends, "loading": check_loading, "changes": check_changes, "quick_changes": check_quick_changes, "changes_at_the_start": check_changes_at_the_start, "keys": check_keys, "unit": check_unit}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.bin, folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", ONNX, "--target=cpu", "-o", bench.path("models/digits.vxm"))
        bench.tool("vx-compile", Folder(bench.path("tiny"), max_tokens=60).path, "--target=cpu", "-o", bench.path("tiny.vxm"))
        chosen = arguments.only.split(",") if arguments.only else list(checks)
        for name in chosen:
            if name not in checks:
                sys.exit(f"FAILED no check matches '{name}', known are {', '.join(checks)}")
        for name in chosen:
            checks[name](bench)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
