#!/usr/bin/env python3
"""The part that observation takes of vx-serve's rate: metrics that are read each second, an access log as JSON, and traces of one request in 100, beside a server with none of these.

  run_observation.py --bin BUILD/bin [--model digits|tiny] [--turns 40] [--seconds 0.5] [--clients 16] [--most 0.02] [--part log|traces|metrics]

Both servers run at once and take turns of some tenths of a second, so that a slow moment of the machine affects both. The first figure is the CPU of the server for a
request, which other work of the machine changes least: the median over turns of its ratio to that of the turn beside it. A busy server's rate is in inverse proportion to
it. The second is the median of the ratios of the rates. Exit code: 1 if the first is above --most by more than two standard errors, or if the log, the spans or the metrics
lack requests.
"""
import argparse
import http.server
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading

from embedding_models import Folder
from served import Server, metric

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE_IN = 100


class Collector:
    """Takes all bytes at a port, and counts requests."""

    def __init__(self):
        collector = self
        self.exports = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                collector.exports += 1
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class JsonServer(Server):
    """One whose log is JSON, the line with its address included."""

    def __init__(self, bench, *arguments, name):
        self.host, self.log = "127.0.0.1", bench.path(f"{name}.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([os.path.join(bench.bin, "vx-serve"), "--port=0", "--log-format=json", *arguments], stderr=log,
                                            env=dict(os.environ, HOME=bench.folder, XDG_CONFIG_HOME=bench.folder, VX_SERVER__DRAIN_DELAY_S="0"))
        self.wait_for(lambda: re.search(r"ready .*:(\d+) ", self.logged()) or self.process.poll() is not None)
        found = re.search(r"ready .*:(\d+) ", self.logged())
        if not found:
            raise RuntimeError(f"{name} does not start: {self.logged()}")
        self.port = int(found[1])


class Bench(Checks):
    is_quiet = True

    def __init__(self, options, folder):
        self.bin, self.folder, self.options = options.bin, folder, options
        source = ROOT / "examples/digits/digits.onnx" if options.model == "digits" else Folder(self.path("texts"), max_tokens=60).path
        self.model = self.path(f"{options.model}.vxm")
        subprocess.run([os.path.join(self.bin, "vx-compile"), str(source), "--target=cpu", "-o", self.model], check=True, stdout=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, name, *flags, logs):
        config = self.path(f"{name}.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{self.folder}"\ndefault_backend = {{ cpu = {{ num_threads = 1 }} }}\n[vx.server]\naccess_log = {str(logs).lower()}\n[vx.server.limits]\nper_key = "0"\n')
        return JsonServer(self, f"--config={config}", *flags, name=name).wait_until_ready()

    def load(self, server, seconds):
        result = self.path("result.json")
        verb = ["infer", "--format=binary"] if self.options.model == "digits" else ["embed", "--lengths=8"]
        command = [os.path.join(self.bin, "vx-bench"), verb[0], f"--url=http://127.0.0.1:{server.port}", f"--model={self.options.model}", *verb[1:], f"--clients={self.options.clients}",
                   f"--seconds={seconds}", "--warm-up=0.05", "--turns=1", f"--json={result}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as file:
            [found] = json.load(file)["results"]
        if found["failed"]:
            sys.exit(f"run_observation.py: {found['failed']} requests failed: {found['failures']}")
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", choices=("digits", "tiny"), default="digits")
    parser.add_argument("--turns", type=int, default=80)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--most", type=float, default=0.02)
    parser.add_argument("--part", choices=("log", "traces", "metrics"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench, collector = Bench(options, folder), Collector()
        has = lambda part: options.part in (None, part)
        flags = [f"--trace-url={collector.url}", f"--trace-one-in={ONE_IN}"] if has("traces") else []
        with bench.serve("off", logs=False) as off, bench.serve("on", *flags, logs=has("log")) as on:
            is_over, reads = threading.Event(), []

            def read_metrics():
                while not is_over.wait(1):
                    reads.append(len(on.ask("GET", "/metrics")[2]))

            reader = threading.Thread(target=read_metrics)
            if has("metrics"):
                reader.start()
            for server in (off, on):
                bench.load(server, 0.5)
            pairs = []
            for turn in range(options.turns):
                order = (off, on) if turn % 2 else (on, off)
                found = {server: bench.load(server, options.seconds) for server in order}
                pairs.append((found[off], found[on]))
            is_over.set()
            if has("metrics"):
                reader.join()
            cpu = [b["server"]["cpu_us_per_request"] / a["server"]["cpu_us_per_request"] for a, b in pairs]
            rates = [b["requests_per_second"] / a["requests_per_second"] for a, b in pairs]
            middle = lambda which, key: statistics.median(key(pair[which]) for pair in pairs)
            micro = lambda found: found["server"]["cpu_us_per_request"]
            quarters = statistics.quantiles(cpu, n=4) if len(cpu) > 1 else [cpu[0]] * 3
            overhead = statistics.median(cpu) - 1
            # Of a median: from quartiles, as of a normal distribution.
            error = 1.2533 * (quarters[2] - quarters[0]) / 1.349 / len(cpu) ** 0.5
            print(f"{options.model}, {options.clients} clients, {options.turns} turns of {options.seconds} s each: CPU of the server for a request {middle(0, micro):.2f} us without and {middle(1, micro):.2f} us with "
                  f"{options.part or 'log, traces and metrics'}: {100 * overhead:+.2f} % (standard error {100 * error:.2f}); "
                  f"rate {100 * (statistics.median(rates) - 1):+.2f} %", flush=True)
            requests = sum(b["requests"] for _, b in pairs)
            if has("log"):
                lines = on.logged().count('"path"')
                bench.check("the log has each request", lines >= requests, (lines, requests))
            if has("traces"):
                spans = metric(on, "vx_trace_spans_sent_total") + metric(on, "vx_trace_spans_dropped_total")
                bench.check("one request in 100 is traced, each with three spans", collector.exports and 0.5 < spans / (3 * requests / ONE_IN) < 2, (spans, requests, collector.exports))
            if has("metrics"):
                bench.check("the metrics were read", len(reads) >= options.turns * options.seconds / 2 and min(reads) > 1000, reads)
            bench.check("the other server has no log of requests and no traces", off.logged().count("path") == 0, off.logged()[:300])
            bench.check(f"observation takes at most {100 * options.most:g} % of the rate", overhead - 2 * error <= options.most, f"{100 * overhead:.2f} %, standard error {100 * error:.2f}")
        collector.stop()
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
