"""A server that leaves while clients go on choosing it, as balancers do that have not heard of it yet."""
import http.client
import signal
import threading
import time

from digits import IMAGES, infer_binary
from served import Server

SECONDS = 1  # for which clients go on choosing it, as kube-proxy does in a roll-out


class Clients:
    """So many of each kind: one connection for each request, and connections that are kept. They count answers, and note all else."""

    def __init__(self, server, count):
        self.server, self.over = server, threading.Event()
        self.body, self.headers = infer_binary(IMAGES[:1])
        self.answers, self.lost, self.lock = [], [], threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(keeps,)) for keeps in (False, True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, keeps):
        connection = None
        while not self.over.is_set():
            try:
                connection = connection or http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)
                connection.request("POST", "/v2/models/digits/infer", self.body, self.headers)
                answer = connection.getresponse()
                answer.read()
                result, closes = answer.status, answer.will_close
            except OSError as error:
                result, closes = repr(error), True
            except http.client.HTTPException as error:
                result, closes = repr(error), True
            with self.lock:
                (self.answers if result == 200 else self.lost).append((time.monotonic(), result))
            if closes or not keeps:
                connection.close()
                connection = None

    def finish(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def start(bench, name, *arguments):
    return Server(bench, f"--model-dir={bench.path('models')}", *arguments, name=name).wait_until_ready()


def check_leaving(bench):
    with start(bench, "leaving", "--drain-delay-s=2", "--access-log") as server:
        clients = Clients(server, 12)
        server.wait_for(lambda: len(clients.answers) > 100)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        bench.check("the health says draining", server.comes_about(lambda: server.ask("GET", "/api/v1/health")[2]["status"] == "draining", 1))
        states = {path: server.ask("GET", path)[0] for path in ("/api/v1/health", "/v2/health/ready", "/v2/health/live")}
        bench.check("the probes see it, but for the one of life", states == {"/api/v1/health": 503, "/v2/health/ready": 503, "/v2/health/live": 200}, states)
        draining = [line for line in server.ask("GET", "/metrics")[2].decode().splitlines() if line.startswith("vx_draining")]
        bench.check("the metric says it", draining == ["vx_draining 1"], draining)
        server.process.send_signal(signal.SIGHUP)
        time.sleep(max(0, began + SECONDS - time.monotonic()))
        clients.finish()
        after = sum(when > began + 0.1 for when, _ in clients.answers)
        bench.check("nothing is lost of clients that go on choosing it", clients.lost == [] and after > 50, (after, clients.lost[:5]))
        code = server.process.wait(30)
        bench.check("then it ends", code == 0 and 2 <= time.monotonic() - began < 10, (code, time.monotonic() - began))
        bench.check("the log says so", all(text in server.logged() for text in ("leaving: requests are answered for 2 s more", " draining", " drained")), server.logged()[-500:])
    with start(bench, "not-leaving", "--drain-delay-s=0") as server:
        clients = Clients(server, 12)
        server.wait_for(lambda: len(clients.answers) > 100)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)
        clients.finish()
        bench.check("without the delay they lose requests, which this test sees", clients.lost != [])
    for sign, limit, code in ((signal.SIGINT, 5, 0), (signal.SIGTERM, 5, 1)):
        with start(bench, "hurried", "--drain-delay-s=60") as server:
            began = time.monotonic()
            server.process.send_signal(sign)
            if sign == signal.SIGTERM:
                server.wait_for(lambda: "leaving: " in server.logged())
                server.process.send_signal(sign)
            got = server.process.wait(30)
            bench.check("Ctrl-C waits for no balancer" if sign == signal.SIGINT else "a second TERM ends the delay", got == code and time.monotonic() - began < limit, (got, time.monotonic() - began))
    # The value that was read last holds.
    config = bench.path("leaving.toml")
    head = f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\ndrain_delay_s = '
    with open(config, "w", encoding="utf-8") as file:
        file.write(head + "60\n")
    with Server(bench, f"--config={config}", name="changed-delay", environment={"VX_SERVER__DRAIN_DELAY_S": ""}) as server:
        server.wait_until_ready()
        with open(config, "w", encoding="utf-8") as file:
            file.write(head + "1\n")
        server.wait_for(lambda: "the configuration was read again" in server.logged())
        began = time.monotonic()
        code = server.stop()
        bench.check("a delay that has changed", code == 0 and 1 <= time.monotonic() - began < 20, (code, time.monotonic() - began))
