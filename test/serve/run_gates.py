#!/usr/bin/env python3
"""How fast vx-serve is: gates that a quiet machine is to hold. Each is measured in turns with what it is compared with.

  run_gates.py --bin BUILD/bin --model FOLDER|M.vxm [--threads 2] [--seconds 20] [ratio] [own-cpu] [connections] [deterministic]

ratio          embeddings of 16 clients, 128 tokens a request, have 90 % of the rate of the engine alone in batches of the same sizes
own-cpu        a request takes less than 100 us of CPU beside the engine: KServe as binary and as JSON, and embeddings of a tiny model
connections    64 clients for 60 s: no request fails, and the memory does not grow by more than 8 MiB in the second half
deterministic  what `deterministic = true` costs: rates and times beside a server without it (no gate)

FOLDER is one of a model of embeddings, as all-MiniLM-L6-v2. All four where none is named. Exit code: 1 where a gate does not hold.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from embedding_models import Folder
from served import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Gates:
    def __init__(self, options, folder):
        self.bin, self.folder, self.options, self.failed = options.bin, folder, options, 0
        self.models = {}
        for name, source in (("digits", ROOT / "examples/digits/digits.onnx"), ("tiny", Folder(self.path("tiny"), max_tokens=60).path), ("model", options.model)):
            self.models[name] = str(source)
            if not str(source).endswith(".vxm"):
                self.models[name] = self.path(f"{name}.vxm")
                subprocess.run([self.tool("vx-compile"), source, "--target=cpu", "-o", self.models[name]], check=True, stdout=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name):
        return os.path.join(self.bin, name)

    def serve(self, name, threads, deterministic=()):
        """A server of all models without limits of requests."""
        with open(self.path(f"{name}.toml"), "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = {json.dumps(self.path("none"))}\ndefault_backend = {{ cpu = {{ num_threads = {threads} }} }}\n'
                       f'[vx.server]\nlog = "warning"\n[vx.server.limits]\nper_key = "0"\n')
            for model, path in self.models.items():
                file.write(f'[[vx.server.model]]\nname = "{model}"\npath = {json.dumps(path)}\ndeterministic = {str(model in deterministic).lower()}\n')
        os.makedirs(self.path("none"), exist_ok=True)
        return Server(self, f"--config={self.path(f'{name}.toml')}", name=name, environment={"VX_CHECK_SCHEDULE": "0"}).wait_until_ready()

    def bench(self, server, verb, model, *arguments, engine=None, threads=None, quiet=False):
        result = self.path("result.json")
        command = [self.tool("vx-bench"), verb, f"--url=http://127.0.0.1:{server.port}", f"--model={model}", f"--json={result}", *arguments]
        if engine:
            command += [f"--engine={self.models[engine]}", f"--threads={threads}"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL if quiet else None)
        if done.returncode not in (0, 1):
            sys.exit(done.returncode)
        self.failed += done.returncode
        with open(result, encoding="utf-8") as file:
            return json.load(file)["results"]

    def ratio(self):
        with self.serve("ratio", self.options.threads) as server:
            self.bench(server, "embed", "model", "--clients=16", "--lengths=128", f"--seconds={self.options.seconds}", "--least-ratio=0.9", engine="model", threads=self.options.threads)

    def own_cpu(self):
        # One thread: the engine then computes as long here as there, where several would wait for each other.
        with self.serve("own-cpu", 1) as server:
            common = ("--clients=16", f"--seconds={self.options.seconds / 4}", "--most-own-cpu=100")
            for form in ("binary", "json"):
                self.bench(server, "infer", "digits", f"--format={form}", *common, engine="digits", threads=1)
            self.bench(server, "embed", "tiny", "--lengths=3", *common, engine="tiny", threads=1)

    def connections(self):
        with self.serve("connections", self.options.threads) as server:
            for verb, model, *flags in (("embed", "model", "--lengths=16"), ("infer", "digits")):
                self.bench(server, verb, model, *flags, "--clients=64", f"--seconds={self.options.seconds * 3}", "--most-growth=8MiB")

    def deterministic(self):
        with self.serve("plain", self.options.threads) as plain, self.serve("deterministic", self.options.threads, self.models) as fixed:
            for verb, model, flags in (("embed", "model", "--lengths=16"), ("embed", "model", "--lengths=128"), ("infer", "digits", "--batch-sizes=1")):
                for clients in (1, 16):
                    found = {"plain": [], "deterministic": []}
                    for _ in range(3):
                        for name, server in (("plain", plain), ("deterministic", fixed)):
                            found[name] += self.bench(server, verb, model, flags, f"--clients={clients}", f"--seconds={self.options.seconds / 6}", quiet=True)

                    def middle(name, key):
                        return statistics.median(result[key] for result in found[name])

                    print(f"{model} {flags}, {clients} clients: {middle('plain', 'rows_per_second'):.1f} rows/s, deterministic {middle('deterministic', 'rows_per_second'):.1f}: "
                          f"{middle('plain', 'rows_per_second') / middle('deterministic', 'rows_per_second'):.2f} times; p50 {middle('plain', 'p50_ms'):.3f} ms and {middle('deterministic', 'p50_ms'):.3f} ms", flush=True)


def main():
    parts = {"ratio": Gates.ratio, "own-cpu": Gates.own_cpu, "connections": Gates.connections, "deterministic": Gates.deterministic}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("parts", nargs="*", choices=[[], *parts], metavar="PART")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gates = Gates(options, folder)
        for part in options.parts or parts:
            print(f"{part}:", flush=True)
            parts[part](gates)
    return gates.failed > 0


if __name__ == "__main__":
    sys.exit(main())
