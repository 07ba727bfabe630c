#!/usr/bin/env python3
"""A model on two devices beside the same model on one: the rate, and a device that is lost (gate S5).

  run_two_devices.py --bin BUILD/bin [--devices cuda:0,cuda:1] [--model M.vxm | --make [MODEL.onnx]] [--least 1.9] [--clients 64] [--seconds 3] [--turns 5] [--losing LIBRARY]

On a machine with two GPUs, in a build folder with the compiler, the first line does all of it:

  test/serve/run_two_devices.py --bin build/bin --make --losing build/lib/libvx_losing_cuda.so

--make compiles a model in f16, test/models/resnet50.onnx by default. The two servers take turns. A request has one image, so that batches of several rows are joined ones. --losing is a driver
that loses the second device while clients ask (libvx_losing_cuda.so, libvx_losing_vulkan.so): no request may fail, and the first device serves on. Needs Python alone.
Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from served import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "common"))
from checks import Checks  # noqa: E402


class Bench(Checks):
    def __init__(self, options, folder):
        self.options, self.bin, self.folder, self.model = options, options.bin, folder, options.model
        self.first, self.second = options.devices.split(",")
        if options.make:
            self.model = self.path("made.vxm")
            targets = ",".join(sorted({device.split(":")[0] for device in (self.first, self.second)}))
            subprocess.run([self.tool("vx-compile"), options.make, f"--target={targets}", "--precision=f16", "-o", self.model], check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name):
        return os.path.join(self.bin, name)

    def serve(self, name, devices, **variables):
        config = self.path(f"{name}.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{self.folder}"\ndevices = {json.dumps(devices)}\n[vx.server]\naccess_log = false\n[vx.server.limits]\nper_key = "0"\n[[vx.server.model]]\nname = "model"\npath = "{self.model}"\n')
        server = Server(self, f"--config={config}", name=name, environment={"VX_CHECK_SCHEDULE": "0"} | variables)
        server.wait_for(lambda: server.ask("GET", "/v2/models/model/ready")[0] == 200, 600)
        return server

    def load(self, server, seconds):
        result = self.path(f"result-{server.port}.json")
        subprocess.run([self.tool("vx-bench"), "infer", f"--url=http://127.0.0.1:{server.port}", "--model=model", "--format=binary", f"--clients={self.options.clients}", f"--seconds={seconds}", "--warm-up=0.2", "--turns=1",
                        f"--json={result}"], check=True, stdout=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as file:
            return json.load(file)["results"][0]

    @staticmethod
    def rows(results):
        batches = [(batch["rows"], batch["count"]) for result in results for batch in result["server"]["batches"]]
        return sum(rows * count for rows, count in batches) / max(1, sum(count for _, count in batches))


def states(server):
    return {entry["device"]: entry["state"] for entry in server.ask("GET", "/api/v1/models/model")[2].get("devices", [])}


def busy(server):
    text = server.ask("GET", "/metrics")[2].decode()
    return {line.split('"')[1]: float(line.split()[-1]) for line in text.splitlines() if line.startswith("vx_device_busy_seconds_total{")}


def check_rate(bench):
    options = bench.options
    with bench.serve("one", [bench.first]) as one, bench.serve("two", [bench.first, bench.second]) as two:
        bench.check_equal("the devices of two", ["ready", "ready"], list(states(two).values()))
        found = {one: [], two: []}
        for turn in range(options.turns):
            for server in (one, two) if turn % 2 else (two, one):
                found[server].append(bench.load(server, options.seconds))
        failed = sum(result["failed"] for results in found.values() for result in results)
        bench.check(f"no request of {sum(result['requests'] for results in found.values() for result in results):.0f} fails", failed == 0, failed)
        ratios = [b["rows_per_second"] / a["rows_per_second"] for a, b in zip(found[one], found[two])]
        rate = {server: statistics.median(result["rows_per_second"] for result in results) for server, results in found.items()}
        print(f"{bench.first}: {rate[one]:.1f} rows/s in batches of {bench.rows(found[one]):.1f}; with {bench.second}: {rate[two]:.1f} rows/s in batches of {bench.rows(found[two]):.1f}; "
              f"{statistics.median(ratios):.3f} times ({min(ratios):.3f} to {max(ratios):.3f} in {options.turns} turns)", flush=True)
        bench.check("both devices work", len([seconds for seconds in busy(two).values() if seconds > 0]) == 2, busy(two))
        bench.check("batches are joined", min(bench.rows(results) for results in found.values()) > 1.5, [bench.rows(results) for results in found.values()])
        bench.check(f"two devices have at least {options.least:g} times the rate of one", statistics.median(ratios) >= options.least, ratios)


def check_loss(bench):
    options, lost = bench.options, bench.path("lost")
    backend, _, number = bench.second.partition(":")
    kind = backend.upper()
    variables = {f"VX_{kind}_LIBRARY": os.path.abspath(options.losing), f"LOSING_{kind}_RESULT": lost, f"LOSING_{kind}_DEVICE": number or "0"}
    with bench.serve("losing", [bench.first, bench.second], **variables) as server:
        results = []
        asking = threading.Thread(target=lambda: results.append(bench.load(server, options.seconds + 2)))
        asking.start()
        time.sleep(1 + options.seconds / 2)
        with open(lost + ".new", "w", encoding="utf-8") as file:
            file.write({"cuda": "719", "vulkan": "-4"}[backend])
        os.replace(lost + ".new", lost)
        asking.join()
        bench.check(f"no request of {results[0]['requests']:.0f} is lost with a device", results[0]["failed"] == 0, results[0]["failures"])
        found = states(server)
        bench.check("the second device is lost and the first one ready", sorted(found.values()) == ["device_lost", "ready"] and [state for device, state in found.items() if device.startswith(backend + ":" + number)] == ["device_lost"], found)
        before = busy(server)
        after = bench.load(server, options.seconds)
        bench.check(f"the other one serves: {after['rows_per_second']:.1f} rows/s", after["failed"] == 0 and after["requests"] > options.clients, after)
        bench.check("by itself", [device for device, seconds in busy(server).items() if seconds > before.get(device, 0)] == [device for device, state in found.items() if state == "ready"], busy(server))
        bench.check("health is ok", server.ask("GET", "/api/v1/health")[0] == 200)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--devices", default="cuda:0,cuda:1")
    parser.add_argument("--model")
    parser.add_argument("--make", nargs="?", const=str(ROOT / "test/models/resnet50.onnx"), metavar="MODEL.onnx")
    parser.add_argument("--least", type=float, default=1.9)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--losing")
    options = parser.parse_args()
    if bool(options.model) == bool(options.make):
        parser.error("expected --model M.vxm or --make")
    if options.devices.count(",") != 1:
        parser.error(f"--devices: expected two, e.g. cuda:0,cuda:1, got '{options.devices}'")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        if options.model:
            bench.model = os.path.abspath(options.model)
        check_rate(bench)
        if options.losing:
            check_loss(bench)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
