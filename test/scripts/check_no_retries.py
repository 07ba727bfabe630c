#!/usr/bin/env python3
"""Whether tests whose cases share a program fail where only a shared program fails.

  check_no_retries.py --bin BUILD/bin --source REPOSITORY

The tools are those of BUILD/bin, but for a vx-run that fails on a program of more than one case and a vx-compile that ends by a signal on one. Exit
code: 0 each test has failed, 1 one has not.
"""
import argparse
import os
import subprocess
import sys
import tempfile

# The tool, how it fails, and what it looks for: the name of a value of the second case.
PLANTS = {
    "vx-run": 'for argument in "$@"; do case "$argument" in *c1_*|*n1_*) echo "vx-run: error: vx_call_run: two commands touch the same bytes" >&2; exit 1;; esac; done',
    "vx-compile": 'if grep -qaE "c1_|n1_" "$1"; then kill -SEGV $$; fi',
}
TESTS = {
    "run_ops.py": ["--device", "cpu", "--filter", "exp*", "unary"],
    "run_nodes.py": ["--device", "cpu", "--filter", "dequantize"],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    passed = failed = 0
    for planted, script in PLANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            for tool in os.listdir(options.bin):
                os.symlink(os.path.join(os.path.abspath(options.bin), tool), os.path.join(folder, tool))
            os.remove(os.path.join(folder, planted))
            with open(os.path.join(folder, planted), "w") as file:
                file.write(f'#!/bin/bash\n{script}\nexec {os.path.join(os.path.abspath(options.bin), planted)} "$@"\n')
            os.chmod(os.path.join(folder, planted), 0o755)
            for test, arguments in TESTS.items():
                for bin, good in ((folder, False), (options.bin, True)):
                    done = subprocess.run([sys.executable, os.path.join(options.source, "test", "e2e", test), "--bin", bin, *arguments], capture_output=True, text=True,
                                          timeout=300)
                    right = done.returncode == (0 if good else 1) and ("FAILED" in done.stdout) != good
                    passed += right
                    failed += not right
                    print(f"{'ok    ' if right else 'FAILED'} {test} {'passes with the real tools' if good else f'fails with a {planted} that fails on shared programs'}"
                          f"{'' if right else f': exit code {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
