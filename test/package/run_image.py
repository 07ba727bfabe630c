#!/usr/bin/env python3
"""Runs the stages of the Dockerfile in new roots, line by line, and asks each image which devices it can open.

    run_image.py --build BUILD --source . [--packages FOLDER] [--stage gpu --stage rocm]

mmdebstrap makes the root of a FROM. RUN lines run there with the stage's variables, folder and user, and the machine's network; COPY copies the files that .dockerignore
leaves. FOLDER has Debian packages, and stands for the stage `build`, whose lines do not run then; these are counted. Without it that stage sets a machine up and builds
vx, with the machine's ccache if there is one. The stage `grpc` builds libvx_grpc in any case, so that this machine needs no gRPC. BUILD has the stand-ins of drivers that
a host brings. A shard of `scripts/test --all`, since roots and packages come from the network. It needs root.
"""
import argparse
import contextlib
import fnmatch
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

SUITES = {"debian:12": "bookworm", "debian:13": "trixie"}
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The backends that an image opens, as vx-run --list-devices has them.
IMAGES = {
    "gpu": {"cpu": "available", "vulkan": "available", "cuda": "no_library", "rocm": "no_library"},
    "rocm": {"cpu": "available", "vulkan": "no_library", "cuda": "no_library", "rocm": "no_device"},
}
PORT, GRPC_PORT = 18099, 18098

START = """
import os, subprocess, sys
root, folder, user, *command = sys.argv[1:]
mounts = [("proc", "proc"), ("/dev", "dev"), ("/sys", "sys")] + [entry.split("=", 1) for entry in os.environ.pop("RUN_IMAGE_MOUNTS", "").split(":") if entry]
for source, target in mounts:
    place = os.path.join(root, target.lstrip("/"))
    if not os.path.isfile(source):
        os.makedirs(place, exist_ok=True)
    elif not os.path.exists(place):
        open(place, "w").close()
    subprocess.run(["mount", "-t", "proc", "proc", place] if source == "proc" else ["mount", "--rbind", source, place], check=True)
os.chroot(root)
os.chdir(folder)
if user != "root":
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
os.execvp("sh", ["sh", "-ec", *command])
"""


class Line:
    def __init__(self, word, text):
        self.word, self.text = word, text


class Stage:
    """A FROM and the lines after it."""
    def __init__(self, base, name):
        self.base, self.name, self.lines = base, name, []


def read_stages(text):
    """The stages of a Dockerfile in their order. Exits for a line that this script cannot run."""
    stages = []
    for line in re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            match = re.fullmatch(r"(\S+) AS (\S+)", rest)
            if not match:
                sys.exit(f"run_image.py: expected 'FROM IMAGE AS NAME', got '{line}'")
            stages.append(Stage(*match.groups()))
        elif word in ("RUN", "COPY", "ENV", "USER", "WORKDIR", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"):
            stages[-1].lines.append(Line(word, rest))
        else:
            sys.exit(f"run_image.py: expected FROM, RUN, COPY, ENV, USER, WORKDIR, EXPOSE, HEALTHCHECK or ENTRYPOINT, got '{line}'")
    return stages


def left_by_docker(source):
    """The files of the tree that .dockerignore leaves; a folder that it names is not entered."""
    patterns = [line.strip() for line in open(os.path.join(source, ".dockerignore"), encoding="utf-8") if line.strip() and not line.startswith("#")]

    def is_ignored(path):
        return any(fnmatch.fnmatch(path, pattern) or (pattern.startswith("**/") and fnmatch.fnmatch(os.path.basename(path), pattern[3:])) for pattern in patterns)

    for folder, folders, files in os.walk(source):
        inside = os.path.relpath(folder, source)
        folders[:] = [name for name in folders if not is_ignored(os.path.normpath(os.path.join(inside, name)))]
        yield from (path for path in (os.path.normpath(os.path.join(inside, name)) for name in files) if not is_ignored(path))


class Bench(Checks):
    def __init__(self, options, folder):
        self.build, self.source, self.folder = os.path.abspath(options.build), os.path.abspath(options.source), folder
        self.packages = os.path.abspath(options.packages) if options.packages else None
        self.store = os.path.join(self.build, "roots")
        os.makedirs(self.store, exist_ok=True)
        self.roots, self.states, self.not_run, self.took = {}, {}, [], {}

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"run_image.py: {' '.join(command)[:300]} exits with {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}")

    def root_of(self, stage):
        root = os.path.join(self.folder, stage.name)
        if stage.base in self.roots:
            self.run("cp", "-a", "--reflink=auto", self.roots[stage.base], root)
            state = dict(self.states[stage.base])
        elif stage.base in SUITES:
            archive = os.path.join(self.store, f"{SUITES[stage.base]}-image.tar")
            if not os.path.exists(archive):
                self.run("mmdebstrap", "--quiet", "--variant=apt", SUITES[stage.base], archive + ".part.tar")
                os.replace(archive + ".part.tar", archive)
            os.makedirs(root)
            self.run("tar", "-x", "-f", archive, "-C", root)
            for name in ("resolv.conf", "hosts"):
                shutil.copy(os.path.join("/etc", name), os.path.join(root, "etc", name))
            state = {"variables": {}, "user": "root", "folder": "/"}
        else:
            sys.exit(f"run_image.py: FROM {stage.base}: expected one of {', '.join(SUITES)} or an earlier stage")
        self.roots[stage.name], self.states[stage.name] = root, state
        return root, state

    def start(self, stage_name, command, mounts=(), **variables):
        """Arguments and environment of a command in a stage's root."""
        state = self.states[stage_name]
        environment = {"PATH": PATH, "HOME": "/root" if state["user"] == "root" else "/", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"} | state["variables"] | variables
        environment["RUN_IMAGE_MOUNTS"] = ":".join(f"{source}={target}" for source, target in mounts)
        return (["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-c", START, self.roots[stage_name], state["folder"], state["user"], command], environment)

    def in_stage(self, stage_name, command, mounts=(), timeout=7200, **variables):
        """The exit code and the output of a command."""
        arguments, environment = self.start(stage_name, command, mounts, **variables)
        done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", env=environment, timeout=timeout)
        return done.returncode, done.stdout + done.stderr

    def copy(self, stage, line):
        *sources, target = line.text.split()
        place = os.path.join(self.roots[stage.name], self.states[stage.name]["folder"].lstrip("/"), target)
        os.makedirs(place, exist_ok=True)
        if sources == ["."]:
            for path in left_by_docker(self.source):
                os.makedirs(os.path.dirname(os.path.join(place, path)), exist_ok=True)
                shutil.copy2(os.path.join(self.source, path), os.path.join(place, path), follow_symlinks=False)
        else:
            for path in sources:
                shutil.copy2(os.path.join(self.source, path), place)

    def build_stage(self, stage):
        """Whether each line of a stage succeeded."""
        if stage.name == "build" and self.packages:
            self.not_run += [f"stage build: RUN {line.text}" for line in stage.lines if line.word == "RUN"]
            self.roots["build"] = os.path.join(self.folder, "build")
            shutil.copytree(self.packages, os.path.join(self.roots["build"], "packages"))
            return True
        if stage.base not in SUITES and stage.base not in self.roots:
            self.check(f"stage {stage.name}", False, f"its base {stage.base} is not there")
            return False
        _, state = self.root_of(stage)
        for line in stage.lines:
            if line.word == "ENV":
                state["variables"] = state["variables"] | dict(re.findall(r"(\w+)=(\S+)", line.text))
            elif line.word == "USER":
                state["user"] = line.text
            elif line.word == "WORKDIR":
                state["folder"] = line.text
                os.makedirs(os.path.join(self.roots[stage.name], line.text.lstrip("/")), exist_ok=True)
            elif line.word == "COPY":
                self.copy(stage, line)
            elif line.word == "RUN":
                mounts, command = [], line.text
                while match := re.match(r"--mount=from=(\w+),source=(\S+?),target=(\S+) +", command):
                    mounts.append((os.path.join(self.roots[match[1]], match[2].lstrip("/")), match[3]))
                    command = command[match.end():]
                cache = os.path.join(os.environ.get("HOME", "/root"), ".cache", "ccache")
                if stage.name == "build" and os.path.isdir(cache):
                    mounts.append((cache, "/root/.cache/ccache"))
                began = time.monotonic()
                code, text = self.in_stage(stage.name, command, mounts)
                self.check(f"stage {stage.name}: RUN {command[:60]}... in {time.monotonic() - began:.0f} s", code == 0, text[-3000:])
                if code:
                    return False
        return True

    def devices(self, stage, mounts=(), **variables):
        code, text = self.in_stage(stage, "vx-run --list-devices --json", mounts, **variables)
        if code:
            return {}, text
        return {backend["name"]: "available" if backend["available"] else backend["code"] for backend in json.loads(text)["backends"]}, text


@contextlib.contextmanager
def server_in(bench, stage, mounts):
    """vx-serve of an image, as its entry point starts it, without keys."""
    arguments, environment = bench.start(stage, f"exec vx-serve --no-auth --port {PORT} --grpc-port {GRPC_PORT}", mounts, VX_SERVER__API_KEYS_FILE="", VX_SERVER__HOST="127.0.0.1")
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def asked(path, body=None, seconds=60):
    """The document of a request to the server that was started, which may not listen yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", body and json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except OSError as error:
            if time.monotonic() > end:
                return {"error": str(error)}
            time.sleep(0.2)


def asked_by_grpc(method, seconds=10):
    """The message of a call without arguments, by HTTP/2 with bytes of its own: the machine needs no client of gRPC. Throws OSError."""
    def frame(kind, flags, stream, payload=b""):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    # Each header by a literal that no table keeps (RFC 7541, 6.2.2).
    headers = b"".join(bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in (
        (":method", "POST"), (":scheme", "http"), (":path", f"/inference.GRPCInferenceService/{method}"), (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers")))
    with socket.create_connection(("127.0.0.1", GRPC_PORT), timeout=seconds) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 4, 1, headers) + frame(0, 1, 1, bytes(5)))
        answer, got = connection.makefile("rb"), b""
        while True:
            head = answer.read(9)
            if len(head) < 9:
                raise OSError(f"the connection ended after {got!r}")
            payload, kind, flags, stream = answer.read(int.from_bytes(head[:3], "big")), head[3], head[4], int.from_bytes(head[5:], "big")
            if kind == 4 and not flags & 1:
                connection.sendall(frame(4, 1, 0))
            if kind == 7 or (kind == 3 and stream == 1):
                raise OSError(f"the server ended the call: {payload!r}")
            if kind == 0 and stream == 1:
                got += payload
            if stream == 1 and flags & 1 and kind in (0, 1):
                return got[5:]


def check_grpc(bench, stage):
    """libvx_grpc opens with all its libraries, and answers."""
    for method in ("ServerLive", "ServerReady"):
        try:
            got = asked_by_grpc(method)
        except OSError as error:
            got = error
        bench.check(f"{stage}: gRPC's {method} is true", got == b"\x08\x01", f"got {got!r}")


def check_image(bench, stage):
    """The backends that an image opens, without the host's drivers and with them; and that its server answers."""
    expected = IMAGES[stage]
    found, text = bench.devices(stage)
    for backend, state in expected.items():
        bench.check(f"{stage}: {backend} is {state}", found.get(backend) == state, f"got {found.get(backend)}: {text[-2000:]}")
    code, text = bench.in_stage(stage, "id -u && test ! -w / && test -w /var/cache/vx")
    bench.check(f"{stage}: commands run as user 1000, who may write the cache alone", code == 0 and text.strip() == "1000", text)
    code, text = bench.in_stage(stage, "command -v cc gcc g++ clang cmake ninja git")
    bench.check(f"{stage} has no compiler of C and no sources", code != 0 and not text.strip() and not os.path.exists(os.path.join(bench.roots[stage], "src")), text)
    # The driver that NVIDIA's toolkit brings into a container: the test's own stands for it.
    driver = os.path.join(bench.build, "lib", "libvx_stand_in_cuda.so")
    if expected["cuda"] == "no_library" and stage == "gpu":
        found, text = bench.devices(stage, [(driver, f"/{LIBRARIES}/libcuda.so.1")])
        bench.check(f"{stage}: cuda is available with a driver of the host", found.get("cuda") == "available", text[-2000:])
        os.unlink(os.path.join(bench.roots[stage], LIBRARIES, "libcuda.so.1"))
    variables = bench.states[stage]["variables"]
    if stage == "gpu":
        wanted = set(variables.get("NVIDIA_DRIVER_CAPABILITIES", "").split(","))
        bench.check(f"{stage}: NVIDIA's toolkit is asked for the drivers of CUDA and Vulkan", {"compute", "graphics"} <= wanted, wanted)
    models = os.path.join(bench.folder, "models")
    os.makedirs(models, exist_ok=True)
    shutil.copy(os.path.join(bench.source, "examples", "digits", "digits.onnx"), models)
    mounts = [(models, "/models")]
    with server_in(bench, stage, mounts) as process:
        model = asked("/v2/models/digits")
        bench.check(f"{stage}: vx-serve compiles and serves a model", model.get("name") == "digits", f"{model} {process.poll()}")
        body = {"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0.5] * 64}]}
        answer = asked("/v2/models/digits/infer", body, 10)
        bench.check(f"{stage}: and answers", answer.get("outputs", [{}])[0].get("shape") == [1, 10], answer)
        check_grpc(bench, stage)
    code, text = bench.in_stage(stage, "vx-serve", mounts)
    bench.check(f"{stage}: without keys it does not start", code == 3 and "/etc/vx/keys" in text, f"{code}: {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--packages")
    parser.add_argument("--stage", action="append", choices=IMAGES)
    options = parser.parse_args()
    with open(os.path.join(options.source, "Dockerfile"), encoding="utf-8") as file:
        stages = read_stages(file.read())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(options, folder)
        bench.check("the stages are build, grpc, server, rocm and gpu, the last one without --target", [stage.name for stage in stages] == ["build", "grpc", "server", "rocm", "gpu"],
                    [stage.name for stage in stages])
        for stage in stages:
            if stage.name in IMAGES and options.stage and stage.name not in options.stage:
                bench.not_run += [f"stage {stage.name}: RUN {line.text}" for line in stage.lines if line.word == "RUN"]
                continue
            if bench.build_stage(stage) and stage.name in IMAGES:
                check_image(bench, stage.name)
        for line in bench.not_run:
            print(f"not run: {line}")
        return bench.finish(f", {len(bench.not_run)} RUN lines not run")


if __name__ == "__main__":
    sys.exit(main())
