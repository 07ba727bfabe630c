#!/usr/bin/env python3
"""Whether scripts/release refuses what it must, and makes its tag last: in a scratch repository in which the scripts that build do nothing.

  check_release.py REPOSITORY
"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

SOURCE = os.path.abspath(sys.argv[1])
PLACES = ["CMakeLists.txt", "runtime/include/vx/abi/version.h", "README.md", "docs/install.md", "docs/first-hour-cpp.md", "examples/c/CMakeLists.txt", "examples/cpp/CMakeLists.txt",
          "python/CMakeLists.txt", "test/docs/blocks.toml", "deploy/kubernetes/kustomization.yaml", "deploy/kubernetes/kserve/kustomization.yaml", "docs/deployment.md",
          "runtime/lib/serve/openapi.json"]
# These name a version that stays, or an example of one.
KEPT = re.compile(r"CHANGELOG\.md|CONTRIBUTING\.md|docs/api\.md|scripts/release|test/.*")
STAND_IN = """#!/bin/sh
echo {name} "$@" >>{log}
test ! -e {tree}/../{name}-fails || exit 1
{work}
"""


class Scratch:
    """A repository at version 7.1.0, with an entry for 7.2.0 that has no date."""

    def __init__(self, folder):
        self.folder, self.tree, self.log = folder, os.path.join(folder, "tree"), os.path.join(folder, "commands")
        for path in ["scripts/release", "scripts/usage.py", *PLACES]:
            os.makedirs(os.path.dirname(os.path.join(self.tree, path)), exist_ok=True)
            shutil.copy(os.path.join(SOURCE, path), os.path.join(self.tree, path))
        self.stand_in("scripts/build", "")
        self.stand_in("scripts/release-files", 'mkdir -p "$2" && echo file >"$2/SHA256SUMS"')
        self.stand_in("test/e2e/run-python", "mkdir -p test/compat/7.2.0 && echo '{}' >test/compat/7.2.0/expected.json")
        self.write("CHANGELOG.md", "# Changelog\n\n## 7.2.0, not released\n\n### Tools\n\n- A tool.\n\n## 7.1.0, 2026-01-01\n\n- The first.\n")
        self.write(".gitignore", "/build/\n")
        self.git("init", "-q")
        self.commit()

    def stand_in(self, path, work):
        self.write(path, STAND_IN.format(name=os.path.basename(path), log=self.log, tree=self.tree, work=work))
        os.chmod(os.path.join(self.tree, path), 0o755)

    def write(self, path, text):
        os.makedirs(os.path.dirname(os.path.join(self.tree, path)), exist_ok=True)
        with open(os.path.join(self.tree, path), "w") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.tree, path)) as file:
            return file.read()

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *arguments], cwd=self.tree, check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "change")

    def release(self, *arguments):
        variables = {"GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@example.org", "GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@example.org"}
        done = subprocess.run([os.path.join(self.tree, "scripts/release"), *arguments], capture_output=True, text=True, env=os.environ | variables)
        return done.returncode, done.stdout + done.stderr

    def tags(self):
        return self.git("tag", "--list").split()


def states(text, version):
    """Whether a text states the version, outside of the comments of C++."""
    return any(re.search(rf"(?<![\d.]){re.escape(version)}(?!\.?\d)", re.sub(r"//.*", "", line)) for line in text.splitlines())


def check_pythons(expect):
    """The Pythons that wheels are made for: a name in PATH that runs, else one of pyenv."""
    loader = importlib.machinery.SourceFileLoader("release_files", os.path.join(SOURCE, "scripts/release-files"))
    files = importlib.util.module_from_spec(importlib.util.spec_from_loader("release_files", loader))
    loader.exec_module(files)
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        def python(path, code):
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            with open(f"{folder}/{path}", "w") as file:
                file.write(f"#!/bin/sh\nexit {code}\n")
            os.chmod(f"{folder}/{path}", 0o755)
            return f"{folder}/{path}"

        os.environ |= {"PATH": f"{folder}/bin", "PYENV_ROOT": f"{folder}/pyenv"}
        later = lambda minor, path: [path] if (3, minor) > sys.version_info[:2] else []
        expect("this Python alone", files.find_pythons() == [sys.executable], files.find_pythons())
        python("bin/python3.12", 1)
        python("bin/python3.13", 127)  # of pyenv, without a version that is chosen
        python("pyenv/versions/3.11.7/bin/python3.11", 0)
        python("pyenv/versions/3.13.0/bin/python3.12", 0)
        python("pyenv/versions/3.13.0-broken/bin/python3.13", 1)
        of_pyenv = python("pyenv/versions/3.13.1/bin/python3.13", 0)
        expect("a Python of pyenv", files.find_pythons() == [sys.executable, *later(13, of_pyenv)], files.find_pythons())
        of_path = python("bin/python3.12", 0)
        python("pyenv/versions/3.12.1/bin/python3.12", 0)
        expect("that of PATH first", files.find_pythons() == [sys.executable, *later(12, of_path), *later(13, of_pyenv)], files.find_pythons())
        os.environ["PYENV_ROOT"] = ""
        os.environ["HOME"] = folder
        expect("no pyenv", files.find_pythons() == [sys.executable, *later(12, of_path)], files.find_pythons())
    os.environ.clear()
    os.environ |= before


def main():
    sys.dont_write_bytecode = True
    checks = Checks()
    checks.is_quiet, expect = True, checks.check
    check_pythons(expect)
    with open(os.path.join(SOURCE, "CMakeLists.txt")) as file:
        current = re.search(r"^project\(vx VERSION ([\d.]+)", file.read(), re.M)[1]
    files = subprocess.run(["git", "-C", SOURCE, "grep", "-lIF", current], capture_output=True, text=True).stdout.split()
    expect("finds files with the version", len(files) > 5, files)
    for path in files:
        if path not in PLACES and not KEPT.fullmatch(path):
            with open(os.path.join(SOURCE, path)) as file:
                expect(f"knows each file that states the version: {path}", not states(file.read(), current), path)

    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(folder)

        def refused(what, message, *arguments):
            before = scratch.tags()
            got = scratch.release(*arguments)
            expect(f"refuses {what}", got[0] == 2 and message in got[1] and scratch.tags() == before and not os.path.exists(scratch.log), got)

        refused("a version of two numbers", "expected a version of three numbers, as 0.2.0, got '7.2'", "7.2")
        refused("a version that the tree does not have", "CMakeLists.txt: expected version 7.2.0, got ", "7.2.0")
        refused("to prepare a version without an entry", "CHANGELOG.md: expected an entry '## 7.3.0, DATE', got none", "--prepare", "7.3.0")
        code, text = scratch.release("--prepare", "7.2.0")
        expect("prepares a version", code == 0 and "7.2.0 is written" in text, text)
        expect("dates its entry", re.search(r"^## 7\.2\.0, \d{4}-\d\d-\d\d$", scratch.read("CHANGELOG.md"), re.M) and "## 7.1.0, 2026-01-01" in scratch.read("CHANGELOG.md"), scratch.read("CHANGELOG.md"))
        for path in PLACES:
            expect(f"writes the version into {path}", re.search(r"(?:VERSION|VERSION_STRING|by vx|find_package\(vx|newTag:|\"version\":) \"?7\.2\b|vx-serve:7\.2\.0", scratch.read(path)), path)
            expect(f"leaves no other version in {path}", not states(scratch.read(path), current), path)
        expect("builds and makes the files of test/compat", open(scratch.log).read().split("\n")[:2] == ["build release", "run-python test/compat/make_compat.py --bin build/bin --source ."])
        os.remove(scratch.log)
        refused("a tree with changes", "expected a tree without changes, got ", "7.2.0")
        scratch.commit()
        good = scratch.git("rev-parse", "HEAD").strip()

        def without(what, message, path, old, new):
            text = scratch.read(path)
            assert old in text, (path, old)
            scratch.write(path, text.replace(old, new))
            scratch.commit()
            refused(what, message, "7.2.0")
            scratch.git("reset", "-q", "--hard", good)

        without("a version that the changelog lacks", "CHANGELOG.md: expected an entry '## 7.2.0, DATE', got none", "CHANGELOG.md", "## 7.2.0,", "## 7.2.1,")
        dated = re.search(r"7\.2\.0, (\S+)", scratch.read("CHANGELOG.md"))[1]
        without("an entry without a date", "expected a date after '## 7.2.0, ', got 'not released'", "CHANGELOG.md", dated, "not released")
        without("a header with another version", "runtime/include/vx/abi/version.h: expected version 7.2.0, got 7.1.0", "runtime/include/vx/abi/version.h", '"7.2.0"', '"7.1.0"')
        scratch.git("rm", "-q", "-r", "test/compat")
        scratch.commit()
        refused("a version without files in test/compat", "test/compat/7.2.0 is missing", "7.2.0")
        scratch.git("reset", "-q", "--hard", good)

        for name in ("build", "release-files"):
            open(os.path.join(folder, f"{name}-fails"), "w").close()
            code, text = scratch.release("7.2.0")
            expect(f"makes no tag where {name} fails", code == 1 and not scratch.tags() and "there is no tag" in text, text)
            os.remove(os.path.join(folder, f"{name}-fails"))
        os.remove(scratch.log)
        code, text = scratch.release("7.2.0")
        expect("makes a release", code == 0 and open(scratch.log).read() == "build release\nrelease-files build build/release-7.2.0\n", text)
        expect("makes its tag", scratch.tags() == ["v7.2.0"] and scratch.git("rev-parse", "v7.2.0^{commit}").strip() == good, scratch.tags())
        expect("the tag has the changelog's text", scratch.git("tag", "--list", "--format=%(contents)", "v7.2.0").strip() == "vx 7.2.0\n\n### Tools\n\n- A tool.")
        os.remove(scratch.log)
        refused("a tag that exists", "the tag v7.2.0 exists", "7.2.0")
        refused("to prepare a version that has its tag", "the tag v7.2.0 exists", "--prepare", "7.2.0")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
