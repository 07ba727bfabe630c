#!/usr/bin/env python3
"""The Debian packages of a build that need no compiler, each in a root that has the libraries which its Depends names and nothing else: every tool starts and
does its work, no LLVM among them, and the server's unit of systemd starts with the configuration that its package has.

    run_bare_root.py --build BUILD --source REPOSITORY

Needs the Python packages of test/requirements.txt.
"""
import argparse
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve")]
from bare_root import BareRoot
from embedding_models import Folder

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

SERVICE_USER = 64321


class Bench(Checks):
    def __init__(self, options, folder):
        self.build, self.source, self.folder = os.path.abspath(options.build), os.path.abspath(options.source), folder

    def run(self, *command, **options):
        done = subprocess.run(command, capture_output=True, text=True, **options)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} exits with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def pack(self, components):
        """The packages of components, by name."""
        debs = os.path.join(self.folder, "debs")
        self.run("cpack", "-G", "DEB", "-B", debs, "-D", f"CPACK_COMPONENTS_ALL={';'.join(components)}", cwd=self.build)
        self.debs = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(debs, "*.deb"))}

    def depends(self, package):
        """The names that the Depends of a package has; of alternatives the first one that is there."""
        if package in self.debs:
            text = self.run("dpkg-deb", "-f", self.debs[package], "Depends")
        else:
            text = self.run("dpkg-query", "-W", "-f", "${Depends}\\n", package)
        for entry in filter(None, text.strip().splitlines()[:1] and text.strip().splitlines()[0].split(", ")):
            names = [re.sub(r"[ :(].*", "", name) for name in entry.split(" | ")]
            there = [name for name in names if name in self.debs or subprocess.run(["dpkg-query", "-W", name], capture_output=True).returncode == 0]
            yield (there or names)[0]

    def root_of(self, package):
        """A root with a package and all that it depends on; the names of these."""
        root, found, waiting = BareRoot(tempfile.mkdtemp(dir=self.folder)), [], [package]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.append(name)
            waiting += self.depends(name)
            if name in self.debs:
                self.run("dpkg-deb", "-x", self.debs[name], os.path.join(root.folder, "tmp", "unpacked"))
                shutil.copytree(os.path.join(root.folder, "tmp", "unpacked"), root.folder, symlinks=True, dirs_exist_ok=True)
                shutil.rmtree(os.path.join(root.folder, "tmp", "unpacked"))
                continue
            for path in self.run("dpkg-query", "-L", name).splitlines():
                if re.search(r"/lib[^/]*\.so(\.[0-9.]+)?$", path) and os.path.isfile(path) and "/gconv/" not in path:
                    root.add_library(path)
        return root, sorted(found)


def check_tools(bench):
    root, names = bench.root_of("vx-tools")
    heavy = [name for name in names if re.search("llvm|mlir|clang|protobuf|compiler", name)]
    bench.check("vx-tools and what it depends on is without a compiler", not heavy and "libvx-runtime0" in names, names)
    tools = sorted(os.listdir(os.path.join(root.folder, "usr", "bin")))
    bench.check("its tools", tools == ["vx", "vx-bench", "vx-embed", "vx-info", "vx-llm", "vx-run", "vx-selfcheck", "vx-train"], tools)
    for tool in tools:
        code, text = root.run(f"/usr/bin/{tool}", "--version")
        bench.check(f"{tool} starts", code == 0 and text.startswith("vx "), text)

    compiler = os.path.join(bench.build, "bin", "vx-compile")
    work = os.path.join(root.folder, "tmp")
    examples = os.path.join(bench.source, "examples")
    bench.run(compiler, f"{examples}/digits/digits.onnx", "--target=cpu", "-o", f"{work}/digits.vxm")
    code, text = root.run("/usr/bin/vx-run", "/tmp/digits.vxm", "--device=cpu", "--input", "image=f32[2,1,8,8]:ones", "--print")
    bench.check("vx-run runs a module", code == 0 and "logits: f32[2,10]" in text, text)
    code, text = root.run("/usr/bin/vx-info", "/tmp/digits.vxm")
    bench.check("vx-info shows it", code == 0 and "target cpu" in text, text)
    code, text = root.run("/usr/bin/vx-bench", "/tmp/digits.vxm", "--device=cpu", "--threads=1", "--min-time=0.01", "--no-probes")
    bench.check("vx-bench times it", code == 0 and re.search(r"^/tmp/digits.vxm +vx on cpu:0, 1 thread", text, re.M), text)

    code, text = root.run("/usr/bin/vx-selfcheck", "--device=cpu", "-o", "/tmp/selfcheck.json")
    bench.check("vx-selfcheck finds its pack, and all is right", code == 0 and "205 of 205 cases passed" in text and os.path.getsize(f"{work}/selfcheck.json"), text)

    bench.run(compiler, f"{examples}/train_digits/network.onnx", "--target=cpu", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw", "-o", f"{work}/train.vxm")
    bench.run(sys.executable, f"{examples}/train_digits/data.py", f"{work}/data")
    code, text = root.run("/usr/bin/vx-train", "/tmp/train.vxm", "--data", "/tmp/data/train", "--device=cpu", "--lr=1e-3", "--epochs=1", "--batch-size=64", "--max-steps=2",
                          "--save", "/tmp/saved.safetensors", "--export", "/tmp/saved.onnx")
    bench.check("vx-train trains a module, saves and exports it", code == 0 and all(os.path.getsize(f"{work}/saved.{end}") for end in ("safetensors", "onnx")), text)
    code, text = root.run("/usr/bin/vx-train", "/tmp/saved.onnx", "--data", "/tmp/data/train", "--loss=cross_entropy")
    bench.check("a model that is no module needs the compiler, by its package's name", code == 3 and "install the compiler (package libvx-compiler0)" in text, text)

    folder = Folder(f"{work}/embeds")
    bench.run(compiler, folder.path, "--target=cpu", "-o", f"{work}/embeds.vxm")
    code, text = root.run("/usr/bin/vx-embed", "test", "--model", "/tmp/embeds.vxm", "--text", "a guitar solo", "--device=cpu")
    bench.check("vx-embed embeds a text", code == 0 and " dims " in text, text)


def check_server(bench):
    root, names = bench.root_of("vx-server")
    heavy = [name for name in names if re.search("llvm|mlir|clang|protobuf|compiler", name)]
    bench.check("vx-server and what it depends on is without a compiler", not heavy, names)
    with open(os.path.join(root.folder, "usr/lib/systemd/system/vx-serve.service")) as file:
        unit = file.read()
    values = lambda key: [value for found in re.findall(rf"^{key}=(.*)$", unit, re.M) for value in shlex.split(found)]
    command = values("ExecStart")
    inside = lambda path: os.path.join(root.folder, path.lstrip("/"))
    bench.check("the program and the configuration of ExecStart are in the package", command[1:2] == ["--config"] and len(command) == 3 and
                all(os.path.isfile(inside(path)) for path in (command[0], command[2])), command)
    kept = bench.run("dpkg-deb", "--info", bench.debs["vx-server"], "conffiles") if "conffiles" in bench.run("dpkg-deb", "--info", bench.debs["vx-server"]) else ""
    bench.check("what an administrator changes of it is kept", kept.split() == command[2:], kept)
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={root.folder}", "vx-serve.service"], capture_output=True, text=True)
        # The root has neither systemd's own units nor what is in every system's path.
        said = [line for line in (done.stdout + done.stderr).splitlines() if "vx-serve" in line and not re.search("sysinit.target not found|Command kill is not executable", line)]
        bench.check("systemd takes the unit", not said, said)
    # What systemd makes for the user of the unit.
    for top, key in (("/var/lib", "StateDirectory"), ("/var/cache", "CacheDirectory")):
        for name in values(key):
            os.makedirs(inside(f"{top}/{name}"), exist_ok=True)
            os.chown(inside(f"{top}/{name}"), SERVICE_USER, SERVICE_USER)
    # An administrator puts a model where the documentation says.
    bench.run(os.path.join(bench.build, "bin", "vx-compile"), f"{bench.source}/examples/digits/digits.onnx", "--target=cpu", "-o", inside("/var/lib/vx/models/digits.vxm"))
    environment = dict(entry.split("=", 1) for entry in values("Environment"))
    # A port that is free, since others run tests here too; all else is as the package has it.
    environment |= {"NOTIFY_SOCKET": "/tmp/notify", "VX_SERVER__PORT": "0"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(inside("/tmp/notify"))
        os.chmod(inside("/tmp/notify"), 0o777)
        notify.settimeout(60)
        arguments, variables = root.command(*command, user=SERVICE_USER, **environment)
        log = os.path.join(bench.folder, "server.log")
        with open(log, "w") as file:
            server = subprocess.Popen(arguments, stdout=file, stderr=file, env=variables | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        said = b""
        try:
            while b"READY=1" not in said and server.poll() is None:
                said = notify.recv(4096)
        except TimeoutError:
            pass
        with open(log) as file:
            text = file.read()
        bench.check("it finds the models of the service", "models /var/lib/vx/models (1 found, 0 refused)" in text, text)
        bench.check("the server of the unit starts as a user without rights, and says that it is ready", b"READY=1" in said, text)
        server.send_signal(signal.SIGTERM)
        try:
            code = server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            code = "none in a minute"
        bench.check("and ends with exit code 0 when it is stopped", code == 0, f"{code}: {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = Bench(options, folder)
        bench.pack(["runtime", "train", "serve", "tools", "server"])
        check_tools(bench)
        check_server(bench)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
