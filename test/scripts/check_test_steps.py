#!/usr/bin/env python3
"""Whether what scripts/test is made of counts its steps and tests, fails where it must, and closes on its counts.

  check_test_steps.py scripts/test-steps CTEST
"""
import os
import subprocess
import sys
import tempfile


def run(script, ctest, text, tests=(), environment=()):
    """The exit code and the lines of a script that sources it, beside a build folder of these tests: names and exit codes."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(script)))
    with tempfile.TemporaryDirectory() as build:
        with open(os.path.join(build, "CTestTestfile.cmake"), "w") as file:
            for name, code in tests:
                file.write(f'add_test({name} sh -c "exit {code}")\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n')
        text = f"set -euo pipefail\n. {os.path.abspath(script)}\n{text.replace('BUILD', build)}\nclose_run"
        own = {name: value for name, value in os.environ.items() if name != "CI"}
        path = os.pathsep.join([os.path.dirname(ctest), os.environ["PATH"]])
        done = subprocess.run(["bash", "-c", text], cwd=source, capture_output=True, text=True, env={**own, "PATH": path, **dict(environment)})
    return done.returncode, (done.stdout + done.stderr).splitlines()


def main():
    script, ctest = sys.argv[1:]
    good, bad = [("passes", 0), ("passes_too", 0)], [("passes", 0), ("fails", 1), ("fails_too", 1), ("skips", 77)]
    ci = {"CI": "true"}
    cases = [
        ("tests that pass", "step first true; tests all BUILD", good, {}, 0, "3 passed, 0 failed, 0 skipped", []),
        ("two that fail", "tests all BUILD", bad, {}, 1, "1 passed, 2 failed, 1 skipped", ["FAILED: all"]),
        ("a filter that matches nothing", "tests all BUILD -R no-such-name", good, {}, 1, "0 passed, 1 failed, 0 skipped", ["FAILED: all: no test ran"]),
        ("a step that fails", "step first false || true; step second true", (), {}, 1, "1 passed, 1 failed, 0 skipped", ["FAILED: first"]),
        ("minutes of each step", "step first true; start=$((SECONDS - 90)); began=$start; took later $((SECONDS - 186))", (), {}, 0, "1 passed, 0 failed, 0 skipped", ["0.0 min: first", "3.1 min: later"]),
        ("long, where nobody waits", "step first true; start=$((SECONDS - 3660))", (), {}, 0, "1 passed, 0 failed, 0 skipped",
         ["all of it took 61.0 min; it aims at 40 on two cores, and fails above 60 where CI is set"]),
        ("too long for CI", "step first true; start=$((SECONDS - 3660))", (), ci, 1, "1 passed, 1 failed, 0 skipped", ["FAILED: expected at most 60 min where CI is set, got 61 min; move tests to a ctest configuration"]),
        ("not too long for CI", "step first true; start=$((SECONDS - 3500))", (), ci, 0, "1 passed, 0 failed, 0 skipped", []),
    ]
    failed = 0
    for what, text, tests, environment, code, closing, wanted in cases:
        got, lines = run(script, ctest, text, tests, environment)
        if got != code or not lines or lines[-1] != closing or not all(line in lines for line in wanted):
            failed += 1
            print(f"FAILED {what}: got {got}, expected {code}, '{closing}' at the end and {wanted}:\n" + "\n".join(lines))
    print(f"{len(cases) - failed} of {len(cases)} runs are counted right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
