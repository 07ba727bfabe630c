"""llama.cpp out of the source package of llama-cpp-python: built once into a folder, and asked through llama_cpp_peer.cpp.

One thing is changed before it is built: ggml looks GELU up in a table of 16-bit floats. Here it computes GELU in f32, as the models are defined; the
rest is as published.
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "text"))
import vocabularies  # noqa: E402

PACKAGE = "llama-cpp-python"
VERSION = f"{PACKAGE} {vocabularies.PACKAGES[PACKAGE][0]}"
FLAGS = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF",
         *(f"-DLLAMA_BUILD_{part}=OFF" for part in ("SERVER", "APP", "UI", "TESTS", "EXAMPLES"))]
TARGETS = ["llama", "llama-perplexity"]
TABLE = re.compile(r"^#define GGML_GELU_FP16$", re.M)


class Failure(Exception):
    """llama.cpp cannot be built or does not answer."""


def say(message):
    print(f"llama.cpp: {message}", flush=True)


def run(title, command, log):
    with open(log, "a") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode:
        last = pathlib.Path(log).read_text(errors="replace").splitlines()[-5:]
        raise Failure(f"{title} ends with {done.returncode}; {log} ends with: {' | '.join(last)}")


def unpack(folder):
    """The source of llama.cpp below `folder`, with GELU in f32."""
    say(f"downloading {VERSION}")
    with tempfile.TemporaryDirectory(dir=folder) as temporary, tempfile.TemporaryDirectory() as downloads:
        with tarfile.open(vocabularies.download(PACKAGE, downloads)) as archive:
            inside = f"{PACKAGE.replace('-', '_')}-{vocabularies.PACKAGES[PACKAGE][0]}/vendor/llama.cpp/"
            members = [member for member in archive if member.name.startswith(inside)]
            archive.extractall(temporary, members=members, filter="data")
        source = pathlib.Path(temporary) / inside
        header = source / "ggml/src/ggml-cpu/vec.h"
        text, changed = TABLE.subn("", header.read_text())
        if changed != 1:
            raise Failure(f"{header}: expected one line '#define GGML_GELU_FP16', got {changed}")
        header.write_text(text)
        shutil.rmtree(folder / "source", ignore_errors=True)
        source.rename(folder / "source")


def build(folder, jobs=2):
    """The folder of the programs. Builds them unless an earlier call did; the source is downloaded once. Raises vocabularies.Missing without a network and Failure for a failed build."""
    for program in ("cmake", "ninja", "c++", "nice"):
        if not shutil.which(program):
            raise Failure(f"expected the program {program}, which builds llama.cpp; scripts/setup installs it")
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:  # another process may build in the folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build_locked(folder, jobs)


def build_locked(folder, jobs):
    source, programs, log, peer = folder / "source", folder / "build" / "bin", folder / "log", HERE / "llama_cpp_peer.cpp"
    facts = [vocabularies.PACKAGES[PACKAGE], TABLE.pattern]

    def once(stamp, *more, do):
        """Does `do` unless it was done with the same facts."""
        facts.extend(more)
        key, path = hashlib.sha256(repr(facts).encode()).hexdigest(), folder / stamp
        if not path.exists() or path.read_text() != key:
            path.unlink(missing_ok=True)
            do()
            path.write_text(key)

    def build_library():
        say(f"building {', '.join(TARGETS)} in {folder} with {jobs} jobs: 5 minutes of one core")
        log.unlink(missing_ok=True)
        run("cmake", ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(folder / "build"), *FLAGS], log)
        run("ninja", ["nice", "-n", "15", "ninja", "-C", str(folder / "build"), f"-j{jobs}", *TARGETS], log)

    once("unpacked", do=lambda: unpack(folder))
    once("built", FLAGS, TARGETS, do=build_library)
    once("peer-built", peer.read_bytes(), "native", do=lambda: run("the compiler", [
        "c++", "-std=c++17", "-O2", "-march=native", f"-I{source / 'include'}", f"-I{source / 'ggml/include'}", str(peer), "-o", str(programs / "llama_cpp_peer"), f"-L{programs}", "-lllama", "-lggml",
        "-lggml-cpu", "-lggml-base", f"-Wl,-rpath,{programs}"], log))
    return programs


class Peer:
    """A process of llama_cpp_peer over a model with room for `room` tokens. With `exact` activations are not rounded to 8 bits."""

    def __init__(self, programs, model, room=256, exact=False):
        self.folder = tempfile.TemporaryDirectory()
        self.logits = os.path.join(self.folder.name, "logits")
        self.said = []
        self.process = subprocess.Popen([str(pathlib.Path(programs) / "llama_cpp_peer"), str(model), str(room), self.logits, *(["exact"] if exact else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True)
        self.reader.start()
        self.read = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.reader.join()
        self.folder.cleanup()

    def ask(self, question):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            self.process.wait()
            self.reader.join()
            raise Failure(f"llama_cpp_peer ends with {self.process.returncode} at '{question[:80]}': {''.join(self.said[-5:]).strip()}")
        return answer[1:]

    def rows(self, question, ids):
        """The logits of the question "prefill" or "steps FIRST"."""
        count = int(self.ask(f"{question} {' '.join(map(str, ids))}")[0])
        rows = np.fromfile(self.logits, np.float32, offset=self.read).reshape(count, -1)
        self.read += rows.nbytes
        return rows

    def greedy(self, count, ids):
        """The most likely tokens in sequence, and the margin of each: the distance of its logit from the second one."""
        pairs = [pair.split(":") for pair in self.ask(f"greedy {count} {' '.join(map(str, ids))}")]
        return [int(token) for token, _ in pairs], [float(margin) for _, margin in pairs]

    def tokens(self, text, begins=True, special=True):
        return [int(token) for token in self.ask(f"tokens {int(begins)} {int(special)} {text.encode().hex()}")]


def write_f32(programs, model, out):
    """The model with all weights in F32."""
    done = subprocess.run([str(pathlib.Path(programs) / "llama_cpp_peer"), "--f32", str(model), str(out)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"llama.cpp writes no F32 file of {model}: {done.stderr.strip()}")
