#!/usr/bin/env python3
"""Whether `scripts/test --fast` builds and runs the quick tests only, states those that it leaves out, and has ten minutes: in a tree with a build folder of
this file's own tests, in which the other scripts do nothing.

  check_fast_run.py REPOSITORY CTEST
"""
import os
import shutil
import subprocess
import sys
import tempfile

TESTS = {"quick": "unit", "suite": "lit", "edges": "layers", "docs.pages": "docs", "docs.blocks": "docs", "network": "e2e", "large": "e2e;slow", "sweep": "unit;slow", "mutate": "fuzz", "install": "package"}
QUICK = ["docs.pages", "edges", "quick", "suite"]


def run(source, ctest, fails=None):
    """The exit code, the lines that are printed, the commands of the stand-ins and the tests that ran."""
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(f"{tree}/scripts")
        os.makedirs(f"{tree}/build")
        for name in ("test", "test-steps", "test-skips", "usage.py", "usage.sh"):
            shutil.copy(f"{source}/scripts/{name}", f"{tree}/scripts")
        for name in ("setup", "check-format", "prose", "build"):
            with open(f"{tree}/scripts/{name}", "w") as file:
                file.write(f'#!/bin/sh\necho {name} "$@" >>{tree}/commands\n')
            os.chmod(f"{tree}/scripts/{name}", 0o755)
        # The packages of the references are there.
        os.makedirs(f"{tree}/build/venv")
        os.makedirs(f"{tree}/test")
        os.makedirs(f"{tree}/python")
        for path in ("test/requirements.txt", "python/requirements.txt", "build/venv/installed.txt"):
            open(f"{tree}/{path}", "w").close()
        with open(f"{tree}/build/CTestTestfile.cmake", "w") as file:
            for name, labels in TESTS.items():
                file.write(f'add_test({name} sh -c "echo {name} >>{tree}/ran; exit {int(name == fails)}")\nset_tests_properties({name} PROPERTIES LABELS "{labels}")\n')
        environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"PATH": os.path.dirname(ctest) + os.pathsep + os.environ["PATH"]}
        done = subprocess.run([f"{tree}/scripts/test", "--fast"], capture_output=True, text=True, env=environment)
        read = lambda path: open(path).read().splitlines() if os.path.exists(path) else []
        return done.returncode, (done.stdout + done.stderr).splitlines(), read(f"{tree}/commands"), sorted(read(f"{tree}/ran"))


def main():
    failed = 0

    def expect(what, wanted, got):
        nonlocal failed
        if wanted != got:
            failed += 1
            print(f"FAILED {what}: expected {wanted}, got {got}")

    source, ctest = os.path.abspath(sys.argv[1]), sys.argv[2]
    code, lines, commands, ran = run(source, ctest)
    expect("exit code", 0, code)
    expect("tests that run", QUICK, ran)
    expect("commands", ["setup", "check-format", "prose --diff", "build release"], commands)
    expect("closing line", "8 passed, 0 failed, 0 skipped", lines[-1])
    expect("tests that are left out", ["left out (scripts/test runs them): 6 of 10 tests: by label 2 e2e, 1 fuzz, 1 package, 2 slow; docs.blocks",
                                       "left out (scripts/test runs them): the runtime built without LLVM, the sanitizers, the fuzzers"],
           [line for line in lines if line.startswith("left out (scripts/test runs")])
    expect("the limit", True, any("it aims at 8 on two cores, and fails above 10 where CI is set" in line for line in lines))
    code, lines, _, ran = run(source, ctest, fails="suite")
    expect("exit code where a test fails", 1, code)
    expect("closing line where a test fails", "7 passed, 1 failed, 0 skipped", lines[-1])
    print(f"{failed} expectations of scripts/test --fast are not met" if failed else "scripts/test --fast runs the quick tests and states the others")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
