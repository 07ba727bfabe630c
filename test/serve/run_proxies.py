#!/usr/bin/env python3
"""deploy/haproxy.cfg and deploy/nginx.conf in front of two servers, of which one is ended every other second, by kill -9 or TERM: no client loses a request.

  run_proxies.py --bin BUILD/bin [--requests 2000] [--only haproxy|nginx]

Exit code: 0 all passed, 1 some failed, 77 where neither haproxy nor nginx is installed.
"""
import argparse
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from check_observed import free_ports
from digits import IMAGES, ROOT, infer_binary
from run_embeddings import Bench
from served import Server

CLIENTS, PERIOD, PAUSE = 6, 2.0, 0.03
FILES = {"haproxy": "deploy/haproxy.cfg", "nginx": "deploy/nginx.conf"}


def find(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def start_proxy(bench, name, ports):
    """The proxy of the project's file, at other ports."""
    front, first, second = ports
    text = (ROOT / FILES[name]).read_text(encoding="utf-8")
    for before, after in (("8000", front), ("8081", first), ("8082", second)):
        if text.count(f":{before}") != 1:
            raise RuntimeError(f"{FILES[name]}: expected the port {before} once")
        text = text.replace(f":{before}", f":{after}")
    path = bench.path(os.path.basename(FILES[name]))
    folder = bench.path(f"{name}-state")
    os.mkdir(folder)
    if name == "nginx":
        paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = f"daemon off; pid {folder}/pid; error_log {folder}/log;\n" + text.replace("http {", "http { " + paths, 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    check = [find(name), "-c", "-f", path] if name == "haproxy" else [find(name), "-t", "-c", path]
    done = subprocess.run(check, capture_output=True, text=True)
    bench.check(f"{name} takes its file", done.returncode == 0, done.stderr)
    return subprocess.Popen([find(name), "-f", path] if name == "haproxy" else [find(name), "-c", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Replica:
    """A server at one port that is started again whenever it ends."""

    def __init__(self, bench, port):
        self.bench, self.port, self.count = bench, port, 0
        self.start()

    def start(self):
        self.count += 1
        for _ in range(100):
            try:
                self.server = Server(self.bench, name=f"replica-{self.port}-{self.count}", command=[os.path.join(self.bench.bin, "vx-serve"), f"--port={self.port}", f"--model-dir={self.bench.path('models')}", "--threads=2"],
                                     environment={"VX_SERVER__DRAIN_DELAY_S": "1"})
                break
            except RuntimeError:
                time.sleep(0.05)
        self.server.wait_until_ready()


def ask_all(port, requests, answers, lost):
    body, headers = infer_binary(IMAGES[:1])
    connection = None
    for _ in range(requests):
        try:
            connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/v2/models/digits/infer", body, headers)
            answer = connection.getresponse()
            answer.read()
            (answers if answer.status == 200 else lost).append(answer.status)
            if answer.will_close:
                connection.close()
                connection = None
        except (OSError, http.client.HTTPException) as error:
            lost.append(repr(error))
            connection = None
        time.sleep(PAUSE)


def check_proxy(bench, name, requests):
    ports = free_ports(3)
    replicas = [Replica(bench, port) for port in ports[1:]]
    proxy = start_proxy(bench, name, ports)
    try:
        answers, lost = [], []
        front = Server.__new__(Server)
        front.host, front.port = "127.0.0.1", ports[0]

        def is_up():
            try:
                return front.ask("GET", "/v2/health/ready")[0] == 200
            except OSError:
                return False

        front.wait_for(is_up)
        for path in ("/api/v1/models/digits/unload", "/v2/repository/models/digits/load"):
            bench.check_equal(f"{name}: {path} is not passed on", 403, front.ask("POST", path)[0])
        bench.check_equal(f"{name}: DELETE is not passed on", 403, front.ask("DELETE", "/v1/requests/none")[0])
        clients = [threading.Thread(target=ask_all, args=(ports[0], requests // CLIENTS + 1, answers, lost)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        kills = 0
        while any(client.is_alive() for client in clients):
            time.sleep(PERIOD)
            replica = replicas[kills % 2]
            sign = (signal.SIGKILL, signal.SIGTERM)[kills // 2 % 2]
            replica.server.process.send_signal(sign)
            replica.server.process.wait(30)
            replica.start()
            kills += 1
        bench.check(f"{name}: servers were ended meanwhile", kills >= 4, kills)
        bench.check(f"{name}: no request is lost", lost == [] and len(answers) >= requests, (len(answers), lost[:5]))
    finally:
        proxy.terminate()
        proxy.wait(30)
        for replica in replicas:
            replica.server.process.kill()
            replica.server.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--only", choices=sorted(FILES))
    arguments = parser.parse_args()
    names = [name for name in FILES if find(name) and arguments.only in (None, name)]
    if not names:
        print("skipped: neither haproxy nor nginx is installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(arguments.bin), folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        for name in names:
            check_proxy(bench, name, arguments.requests)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
