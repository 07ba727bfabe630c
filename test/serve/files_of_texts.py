"""Files of texts by vx-embed batch: large ones, what is a line, what is no text, and what an interrupted run leaves."""
import json
import os
import pty
import signal
import subprocess
import tempfile
import time

import numpy as np

from embedding_models import Folder

PART = 8192  # texts that are sorted together


class Batch:
    def __init__(self, bench, module):
        self.bench, self.module = bench, module

    def command(self, texts, out, *arguments):
        return [os.path.join(self.bench.bin, "vx-embed"), "batch", f"--model={self.module}", f"--file={texts}", "-o", out, "--device=cpu", *arguments]

    def write(self, name, data):
        path = self.bench.path(name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def memory(self, data):
        """The most memory of a run, in bytes, and the vectors."""
        out = self.bench.path("memory.npy")
        with subprocess.Popen(self.command(self.write("memory.txt", data), out), stdout=subprocess.DEVNULL, env=self.bench.environment()) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.bench.check("a large file", process.returncode == 0, process.returncode)
        return usage.ru_maxrss * 1024, np.load(out)


def check_files(bench):
    width = 240
    folder = Folder(bench.path("files"), width=width, layers=1, normalize=True)
    batch = Batch(bench, bench.path("files.vxm"))
    bench.tool("vx-compile", folder.path, "--target=cpu", "-o", batch.module)
    texts = ["star", "moon bread", "", "gold", "a guitar solo", "fish", "wind"]
    want = folder.expected(texts)[0]

    # Memory is that of a part, and not of all vectors; rows stay their texts' over the parts' ends.
    lines = "".join(text + "\n" for text in texts).encode()
    small, _ = batch.memory(lines * (PART // len(texts)))
    count = 4 * PART // len(texts)
    large, got = batch.memory(lines * count)
    apart = np.abs(got.reshape(count, len(texts), width) - want).max() if len(got) == count * len(texts) else None
    bench.check("rows of a large file", apart is not None and apart <= 1e-5, (got.shape, apart))
    bench.check("memory does not grow with the file", large - small < got.nbytes / 2, f"{small} bytes, and {large} for {got.nbytes} bytes of vectors")
    long = batch.write("long.txt", b"star\n" * (PART + 7) + b"star " * 40 + b"\n")
    _, said = bench.tool("vx-embed", *batch.command(long, bench.path("long.npy"))[1:], "--no-truncate", code=2)
    bench.check("which text is too long", f"text {PART + 7}: the text has 42 tokens, the model takes 32" in said and not os.path.exists(bench.path("long.npy")), said)

    # What is a line, and what is a text.
    for data, texts in ((b"", []), (b"\n", [""]), (b"\r\n\r\n", ["", ""]), (b"star\r\n\nmoon", ["star", "", "moon"]), (b"\xef\xbb\xbfstar\n\xef\xbb\xbfmoon\n", ["star", "\ufeffmoon"]),
                        ("star\u2028moon\vsun\x00gold\r fish\n".encode(), ["star\u2028moon\vsun\x00gold\r fish"])):
        out = bench.path("lines.npy")
        bench.tool("vx-embed", *batch.command(batch.write("lines.txt", data), out)[1:])
        got = np.load(out)
        bench.check(f"lines of {data}", got.shape == (len(texts), width) and (not texts or np.abs(got - folder.expected(texts)[0]).max() <= 1e-5), got.shape)
    for name, data, message in (("bad.txt", b"star\nmoon\n\xffsun\n", "bad.txt: line 3: expected text of UTF-8, got the byte 0xff at column 1"),
                                ("cut.txt", b"star\n\xf0\x9f\x8e", "cut.txt: line 2: expected text of UTF-8, got the byte 0xf0 at column 1"),
                                ("bad.jsonl", b'"star"\n{"text": 3}\n', "bad.jsonl: line 2: expected a JSON string or an object with a string 'text', got {\"text\": 3}"),
                                ("empty.jsonl", b'"star"\n\n', "empty.jsonl: line 2: expected a JSON string or an object with a string 'text', got ")):
        _, said = bench.tool("vx-embed", *batch.command(batch.write(name, data), bench.path("bad.npy"))[1:], code=3)
        bench.check(name, message in said and not os.path.exists(bench.path("bad.npy")), said)
    bench.tool("vx-embed", *batch.command(batch.write("some.jsonl", b'"star"\r\n{"text": "moon", "id": 7}\n'), bench.path("some.jsonl.out.jsonl"))[1:])
    rows = [json.loads(line) for line in open(bench.path("some.jsonl.out.jsonl"))]
    bench.check("JSON in and out", [row["index"] for row in rows] == [0, 1] and np.abs(np.array([row["embedding"] for row in rows]) - folder.expected(["star", "moon"])[0]).max() <= 1e-5, rows)

    check_interruption(bench, batch, lines)


def check_interruption(bench, batch, lines):
    """A run that a signal ends leaves what was there before, and nothing else; a terminal sees how far it is, and is tidy then."""
    texts = batch.write("many.txt", lines * 40000)
    for number, name in ((signal.SIGINT, "out.npy"), (signal.SIGTERM, "out.jsonl")):
        with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
            out = os.path.join(folder, name)
            open(out, "w").write("before")
            terminal, side = pty.openpty()
            with subprocess.Popen(batch.command(texts, out), stdout=subprocess.DEVNULL, stderr=side, env=bench.environment()) as process:
                os.close(side)
                end, sizes = time.monotonic() + 60, []
                while time.monotonic() < end and max(sizes, default=0) < 10000 and process.poll() is None:  # so that some vectors are there
                    sizes = [os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder)]
                    time.sleep(0.01)
                process.send_signal(number)
                process.wait(60)
            said = b""
            try:
                while piece := os.read(terminal, 65536):
                    said += piece
            except OSError:  # the other side is closed
                pass
            os.close(terminal)
            bench.check(f"{number.name} ends it", process.returncode == -number and max(sizes) >= 10000, (process.returncode, sizes))
            bench.check(f"{number.name} leaves nothing", os.listdir(folder) == [name] and open(out).read() == "before", os.listdir(folder))
            bench.check("progress on a terminal", b"/280000 texts" in said and said.endswith(b"\r\x1b[K"), said[-200:])
    out, err = bench.tool("vx-embed", *batch.command(batch.write("few.txt", lines), bench.path("few.npy"))[1:])
    bench.check("no progress in a pipe", err == "" and "7 texts" in out, err)
