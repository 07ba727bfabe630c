#!/usr/bin/env python3
"""What run_compat.py says of tags: in a repository of the newest folder of test/compat, copied to versions with and without tags, and with a fault each.

  test_run_compat.py --bin build/bin --source .
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
from checks import Checks  # noqa: E402

CHANGELOG = """# Changelog

## 7.2.0, 2026-01-02

- Ended: modules of 6.0.0: their format has no sizes.
- Ended: checkpoints of 6.0.0: their optimizer is gone.
- Ended: configurations of 6.0.0: version 1 of the format.
- Ended: modules of 7.1.0:
"""


class Repository:
    def __init__(self, bin, newest, folder):
        self.bin, self.newest, self.folder = bin, newest, folder
        self.write("CHANGELOG.md", CHANGELOG)
        self.git("init", "-q")

    def at(self, *path):
        return os.path.join(self.folder, *path)

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w") as file:
            file.write(text)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.folder, "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", *arguments], check=True, capture_output=True)

    def version(self, name, **damages):
        """A folder of a version; a damage writes another text to a file."""
        shutil.copytree(self.newest, self.at("test", "compat", name))
        for file, text in damages.items():
            self.write(f"test/compat/{name}/{file.replace('__', '.')}", text)

    def tag(self, *names):
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        for name in names:
            self.git("tag", name)

    def run(self):
        """The exit code, and {title: "ok", or the message of a failure}."""
        done = subprocess.run([sys.executable, os.path.join(HERE, "run_compat.py"), "--bin", self.bin, "--source", self.folder], capture_output=True, text=True)
        found = {}
        for line in done.stdout.splitlines():
            if line.startswith("ok     "):
                found[line[7:]] = "ok"
            elif line.startswith("FAILED "):
                title, _, found[title] = [*line[7:].partition(": ")]
        return done.returncode, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    newest = max(glob.glob(os.path.join(os.path.abspath(options.source), "test", "compat", "[0-9]*")), key=lambda path: [int(part) for part in os.path.basename(path).split(".")])
    checks = Checks()
    checks.is_quiet = True
    damaged = {"network__vxm": "no module", "checkpoint__safetensors": "no checkpoint", "config__toml": "[vx.server]\nprot = 1\n"}
    kinds = ("modules", "checkpoints", "configurations")
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(os.path.abspath(options.bin), newest, folder)
        repository.tag("v7.0.0")  # before its files
        repository.version("6.0.0", **damaged)
        repository.version("7.0.0")
        repository.version("7.1.0")
        repository.tag("v6.0.0", "v7.1.0", "a-tag-of-no-version")
        code, got = repository.run()
        checks.check("a tag with its files passes, and an older one whose end the changelog states", code == 0, got)
        for title in ("the tag v7.1.0 has files", "the tag v7.0.0 has files", "the tag v6.0.0 has files", *(f"{kind} of 7.1.0" for kind in kinds), *(f"{kind} of 6.0.0 are refused, as the changelog states" for kind in kinds)):
            checks.check_equal(title, "ok", got.get(title))
        checks.check("no other tag is read", not any("a-tag" in title for title in got), got)

        # A tag without files, files that changed after their tag, and files that are read though the changelog names their end.
        shutil.rmtree(repository.at("test", "compat", "6.0.0"))
        repository.version("6.0.0")
        losses = repository.at("test", "compat", "7.1.0", "expected.json")
        with open(losses) as file:
            expected = json.load(file)
        expected["losses"][0] += 1
        repository.write("test/compat/7.1.0/expected.json", json.dumps(expected))
        repository.tag("v7.2.0")
        code, got = repository.run()
        checks.check_equal("they fail", 1, code)
        for title, part in (("the tag v7.2.0 has files", "test/compat/7.2.0 is missing"), ("the tag v7.1.0 has files", "expected the files of the tag, got changes in test/compat/7.1.0/expected.json"),
                            ("checkpoints of 7.1.0", "expected the losses ["), *((f"{kind} of 6.0.0 are refused, as the changelog states", "they are read") for kind in kinds)):
            checks.check(f"{title}: {part}", part in got.get(title, ""), got.get(title))

        # Files that are refused, and other results, without a line of the changelog.
        for name in ("6.0.0", "7.0.0", "7.1.0"):
            shutil.rmtree(repository.at("test", "compat", name))
        repository.version("7.2.0", **damaged)
        repository.version("7.3.0")
        repository.version("7.4.0", network__onnx="no model")
        path = repository.at("test", "compat", "7.3.0", "logits.npy")
        np.save(path, np.nextafter(np.load(path), np.float32(9)))
        expected["configuration"].append("server.port = 1")
        repository.write("test/compat/7.3.0/expected.json", json.dumps(expected))
        code, got = repository.run()
        checks.check_equal("others fail", 1, code)
        for title, part in (("the tag v6.0.0 has files", "test/compat/6.0.0 is missing"), ("modules of 7.2.0", "vx-run exits with"), ("checkpoints of 7.2.0", "vx-train exits with"),
                            ("configurations of 7.2.0", "vx-serve exits with"), ("modules of 7.3.0", "outputs differ by"), ("checkpoints of 7.3.0", "expected the losses ["),
                            ("modules of 7.4.0", "ok"), ("checkpoints of 7.4.0", "vx-train exits with"),
                            ("configurations of 7.3.0", "--print-config lacks ['server.port = 1']")):
            checks.check(f"{title}: {part}", part in got.get(title, ""), got.get(title))

        # Without tags: a repository that git cannot read fails, a tree that is none passes.
        shutil.rmtree(repository.at("test", "compat"))
        repository.version("7.5.0")
        shutil.rmtree(repository.at(".git"))
        code, got = repository.run()
        checks.check("a tree without a repository has no tags", code == 0 and not any("tag" in title for title in got), got)
        repository.write(".git", "gitdir: nowhere\n")
        code, got = repository.run()
        checks.check("a repository that git cannot read fails", code == 1 and "not a git repository" in got.get("the tags are read", ""), got)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
