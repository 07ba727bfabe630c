#!/usr/bin/env python3
"""Whether what fails only once, or of random programs only together, fails the tests that share programs among cases, and what the failure names.

  check_shared_programs.py --bin BUILD/bin

The tools get a vx-run in front that fails as a check of the runtime does: in every program that holds more than one case, or the first time that it is called. Exit code: 0
each is a failure that names what it takes, 1 some are not. That nothing passes by being taken apart is held by test/scripts/check_no_retries.py."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fuzz", "programs"))

from check import Failure, check  # noqa: E402
from shrink import responsible  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# What stands in front of a tool: a shell's condition for a failure.
SHARED = "case \"$*\" in *{second}*) true ;; *) false ;; esac"
ONCE = "mkdir {folder}/called 2>/dev/null"


def tools_with(bin, folder, name, condition):
    """A folder of the tools, of which one fails where the condition says so."""
    os.makedirs(folder)
    for tool in os.listdir(bin):
        os.symlink(os.path.join(os.path.abspath(bin), tool), os.path.join(folder, tool))
    os.remove(os.path.join(folder, name))
    with open(os.path.join(folder, name), "w") as file:
        file.write(f'#!/bin/sh\n! [ "$1" = --list-devices ] && {condition} && {{ echo "{name}: error: planted" >&2; exit 1; }}\nexec {os.path.abspath(bin)}/{name} "$@"\n')
    os.chmod(os.path.join(folder, name), 0o755)
    return folder


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Programs:
    """Of test/fuzz/programs: what fails when there are several, and not alone."""

    has_symbols, devices = False, ()

    def __init__(self, tools, programs, folder):
        self.programs = programs

    def compile(self):
        if len(self.programs) > 1:
            raise Failure("compile", "planted")

    def reference(self, run):
        return {}

    def bad_calls(self):
        return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    checks = Checks()

    def expect(what, code, text, *wanted):
        lacking = [pattern for pattern in wanted if not re.search(pattern, text)]
        checks.check(what, code == 1 and not lacking, f"expected exit code 1, got {code}, nothing like {lacking} in\n{text}")

    with tempfile.TemporaryDirectory() as root:
        ops = [os.path.join(HERE, "run_ops.py"), "--device=cpu", "--filter=*_f32", "norm"]
        folder = tools_with(options.bin, f"{root}/shared", "vx-run", SHARED.format(second="c1_"))
        expect("ops, each shared program", *run(*ops, f"--bin={folder}"), "a program of 4 cases fails, as does one of 2 of them", "planted", "norm on cpu: 0 of 4 cases passed")
        folder = tools_with(options.bin, f"{root}/once", "vx-run", ONCE.format(folder=root))
        expect("ops, once", *run(*ops, f"--bin={folder}"), "failed once, and not when it ran again", "planted", "norm on cpu: 0 of 4 cases passed")
    tools = argparse.Namespace(only_plans=True)
    found = check(tools, [1, 2, 3, 4], "", Programs)
    expect("random programs that fail together and not alone", 1 if found else 0, " ".join(failure.kind for failure in found.values()), "beside others")
    expect("members of a list", 1, str(responsible(list(range(24)), lambda some: 5 in some and 17 in some)), r"^\[5, 17\]$")
    expect("a list that does not fail again", 1, str(responsible([1, 2], lambda some: False)), "^None$")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
