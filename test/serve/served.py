"""A server that runs for a test, and requests to it."""
import concurrent.futures
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time


class Server:
    def __init__(self, bench, *arguments, name="server", environment=None, host="127.0.0.1", command=None, inherited=None):
        """Takes any free port, unless `command` is the whole of what is run. `inherited` is the environment that `environment` adds to."""
        self.host = host
        command = command or [os.path.join(bench.bin, "vx-serve"), "--port=0", *arguments]
        if inherited is None:
            inherited = dict(os.environ, HOME=bench.folder, XDG_CONFIG_HOME=bench.folder)
        self.log = bench.path(f"{name}.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8", env=dict(inherited, VX_CHECK_SCHEDULE="1", VX_SERVER__DRAIN_DELAY_S="0") | (environment or {}))
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("ready "):
                break
        else:
            raise RuntimeError(f"{' '.join(command)} exits with {self.process.wait()}: {self.logged()}")
        self.port = int(re.search(r":(\d+) ", self.lines[-1])[1])
        threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True).start()

    def logged(self):
        """All lines, those of requests included, which are written within 10 ms."""
        time.sleep(0.03)
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def wait_until_ready(self):
        self.wait_for(lambda: self.ask("GET", "/api/v1/health")[0] == 200)
        return self

    @staticmethod
    def comes_about(condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def wait_for(self, condition, seconds=30):
        if not self.comes_about(condition, seconds):
            raise RuntimeError(f"it does not come about: {self.logged()[-1500:]}")

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body: of JSON what it says, else bytes."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            headers = dict(headers or {})
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
                headers.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            kind = answer.headers.get("Content-Type", "")
            return answer.status, answer.headers, json.loads(data) if kind == "application/json" and data else data
        finally:
            connection.close()

    def ask_many(self, requests, threads=16):
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda request: self.ask(*request), requests))

    def stop(self, sign=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sign)
        return self.process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def metric(server, name, headers=None):
    text = server.ask("GET", "/metrics", headers=headers)[2].decode()
    return float(next((line.split()[-1] for line in text.splitlines() if line.startswith(name + " ")), 0))
