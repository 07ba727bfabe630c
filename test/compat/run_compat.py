#!/usr/bin/env python3
"""Loads the module, the checkpoint and the configuration of each released version with the current programs, and compares the results with those of then
(test/compat/VERSION, by make_compat.py). The code of these modules is of one variant of the CPU, so outputs have the same bits on any machine.

  run_compat.py --bin build/bin --source .

A kind of file that is no longer read is named by a line of CHANGELOG.md, "- Ended: modules of 0.2.0: REASON" (modules, checkpoints or configurations). Then it must
be refused. A tag without a folder fails too, and so does a folder that has other bytes than its tag has.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# Sums of a loss are in an order that a later compiler may change.
LOSSES = 1e-4


class Version:
    def __init__(self, bin, folder, work):
        self.bin, self.folder, self.work = bin, folder, work
        with open(os.path.join(folder, "expected.json")) as file:
            self.expected = json.load(file)

    def at(self, name):
        return os.path.join(self.folder, name)

    def run(self, tool, *arguments):
        """None, or the message of a program that fails."""
        done = subprocess.run([os.path.join(self.bin, tool), *arguments], capture_output=True, text=True)
        self.printed = done.stdout
        return None if done.returncode == 0 else f"{tool} exits with {done.returncode}: {done.stderr.strip()}"

    def modules(self):
        out = os.path.join(self.work, "logits.npy")
        wrong = self.run("vx-run", self.at("network.vxm"), "--device=cpu", "--input", f"point=@{self.at('data/point.npy')}", "--output", f"logits=@{out}")
        if wrong is None and not np.array_equal(np.load(out), np.load(self.at("logits.npy"))):
            wrong = f"outputs differ by {np.abs(np.load(out) - np.load(self.at('logits.npy'))).max()}"
        return wrong

    def resume(self, *module):
        history = os.path.join(self.work, "history.json")
        wrong = self.run("vx-train", *module, "--data", self.at("data"), "--device=cpu", "--lr=1e-2", "--batch-size=16", "--seed=5", "--epochs=6", "--resume",
                         self.at("checkpoint.safetensors"), "--history", history)
        if wrong is None:
            with open(history) as file:
                losses = [epoch["loss"] for epoch in json.load(file)["epochs"]]
            if len(losses) != len(self.expected["losses"]) or not np.allclose(losses, self.expected["losses"], rtol=LOSSES, atol=0):
                wrong = f"expected the losses {self.expected['losses']}, got {losses}"
        return wrong

    def checkpoints(self):
        """By the module of then, and by a step that is compiled now."""
        return self.resume(self.at("training.vxm")) or self.resume(self.at("network.onnx"), "--loss=cross_entropy", "--optimizer=adamw:weight_decay=0.01")

    def configurations(self):
        wrong = self.run("vx-serve", "--config", self.at("config.toml"), "--print-config")
        if wrong is None:
            got = [re.sub(r"\s+# .*$", "", line) for line in self.printed.splitlines()]
            missing = [line for line in self.expected["configuration"] if line not in got]
            wrong = f"--print-config lacks {missing}" if missing else None
        return wrong


def check_tags(source):
    """(tag, None or a message) of each tag of a version. A tree without a repository, as of a tarball, has none."""
    git = lambda *arguments: subprocess.run(["git", "-C", source, *arguments], capture_output=True, text=True)
    if not os.path.exists(os.path.join(source, ".git")):
        return
    listed = git("tag", "--list", "v[0-9]*")
    if listed.returncode:
        yield "", listed.stderr.strip()
    for tag in listed.stdout.split():
        folder = f"test/compat/{tag[1:]}"
        then, now = git("ls-tree", "-r", "--name-only", tag, folder).stdout.split(), git("diff", "--name-only", tag, "--", folder).stdout.split()
        if not os.path.exists(os.path.join(source, folder, "expected.json")):
            yield tag, f"{folder} is missing; make it with that version's programs (make_compat.py)"
        elif then and now:
            yield tag, f"expected the files of the tag, got changes in {', '.join(now)}"
        else:
            yield tag, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    checks = Checks()

    def check(what, wrong):
        checks.check(what, not wrong, wrong)

    with open(os.path.join(options.source, "CHANGELOG.md"), encoding="utf-8") as file:
        ended = set(re.findall(r"^- Ended: (modules|checkpoints|configurations) of ([\d.]+): \S", file.read(), re.M))
    folders = sorted(glob.glob(os.path.join(options.source, "test", "compat", "[0-9]*")))
    check("there is a version to compare with", None if folders else "test/compat has no folder of a version")
    for folder in folders:
        name = os.path.basename(folder)
        for kind in ("modules", "checkpoints", "configurations"):
            with tempfile.TemporaryDirectory() as work:
                wrong = getattr(Version(os.path.abspath(options.bin), folder, work), kind)()
            if (kind, name) in ended:
                check(f"{kind} of {name} are refused, as the changelog states", None if wrong else "they are read")
            else:
                check(f"{kind} of {name}", wrong)
    for tag, wrong in check_tags(options.source):
        check(f"the tag {tag} has files" if tag else "the tags are read", wrong)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
