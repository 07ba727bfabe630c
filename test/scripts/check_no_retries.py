#!/usr/bin/env python3
"""Whether tests whose cases share a program fail where only a shared program fails, and vx-conformance where something fails once.

  check_no_retries.py --bin BUILD/bin --source REPOSITORY --faults LIBRARY

The tools are those of BUILD/bin, but for a vx-run that fails on a program of more than one case and a vx-compile that ends by a signal on one. LIBRARY is loaded
before the compiler of vx-conformance, and ends, fails or refuses where it makes code for several targets (planted_faults.cpp); a worker of it is killed while it
has nothing to do. Exit code: 0 each test has failed, 1 one has not.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import onnx_cases  # noqa: E402
from checks import Checks  # noqa: E402

# The tool, how it fails, and what it looks for: the name of a value of the second case.
PLANTS = {
    "vx-run": 'for argument in "$@"; do case "$argument" in *c1_*|*n1_*) echo "vx-run: error: vx_call_run: two commands touch the same bytes" >&2; exit 1;; esac; done',
    "vx-compile": 'if grep -qaE "c1_|n1_" "$1"; then kill -SEGV $$; fi',
}
TESTS = {
    "run_ops.py": ["--device", "cpu", "--filter", "exp*", "unary"],
    "run_nodes.py": ["--device", "cpu", "--filter", "dequantize"],
}
# What the compiler does with several targets, and what is said of each of two.
FAULTS = {
    "compiler-ends": "crash: the process ended by signal 11",
    "compiler-fails": "compile_error: the compiler ends with 1: the IR is invalid",
    "compiler-refuses": "compile_error: refused for cpu and vulkan together, and for none alone: not supported",
}


def check_shared_programs(options, counts):
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
                    counts.check(f"{test} {'passes with the real tools' if good else f'fails with a {planted} that fails on shared programs'}",
                                  done.returncode == (0 if good else 1) and ("FAILED" in done.stdout) != good, f"exit code {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")


def kill_idle_worker(command, journal):
    """Runs vx-conformance with one job, and kills its worker behind a case's last answer and before the next case: meanwhile the tool is stopped, and learns of both
    at once. The exit code and the output."""
    tool = subprocess.Popen([*command, "--jobs", "1", "--journal", journal], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not (os.path.exists(journal) and os.path.getsize(journal)) and tool.poll() is None:
        time.sleep(0.001)
    if tool.poll() is None:
        os.kill(tool.pid, signal.SIGSTOP)
        with open(f"/proc/{tool.pid}/task/{tool.pid}/children") as file:
            worker = int(file.read().split()[0])
        wait_for_next(worker)
        os.kill(worker, signal.SIGKILL)
        while state(worker) != "Z":
            time.sleep(0.001)
        os.kill(tool.pid, signal.SIGCONT)
    text = tool.communicate(timeout=300)[0]
    return tool.returncode, text


def state(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # a thread that has ended since it was listed, or since its file was opened
        return "X"


def wait_for_next(worker):
    """Until all of its threads have slept for half a second: it waits for a request."""
    quiet = 0
    while quiet < 50:
        time.sleep(0.01)
        quiet = quiet + 1 if all(state(f"{worker}/task/{task}") == "S" for task in os.listdir(f"/proc/{worker}/task")) else 0


def check_conformance(options, counts):
    data = os.path.join(onnx_cases.find(), "node")
    tool = [os.path.join(options.bin, "vx-conformance"), data, "--target=cpu,vulkan"]
    for fault, says in ((None, None), *FAULTS.items()):
        environment = {**os.environ, **({"LD_PRELOAD": options.faults, "VX_PLANTED_FAULT": fault} if fault else {})}
        done = subprocess.run([*tool, "--filter", "add"], env=environment, capture_output=True, text=True, timeout=300)
        right = done.returncode == 0 and "2 passed, 0 failed" in done.stdout if fault is None else \
            done.returncode == 1 and all(f"FAILED add, static, {target}: {says}" in done.stdout for target in ("cpu", "vulkan")) and "0 passed, 2 failed" in done.stdout
        counts.check(f"vx-conformance fails for both targets with {fault}" if fault else "vx-conformance passes with the real compiler", right,
                      f"exit code {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    with tempfile.TemporaryDirectory() as folder:
        code, text = kill_idle_worker([*tool[:2], "--target=cpu", "--filter", "relu,abs,neg,exp,sigmoid,tanh,floor,ceil,sin,cos,log,sqrt,add,sub,mul,div,pow,max_*,min_*"],
                                      os.path.join(folder, "journal"))
        lines = [line for line in text.splitlines() if line.startswith("FAILED")]
        counts.check("vx-conformance fails where a worker ends between two cases", code == 1 and len(lines) == 1 and
                      lines[0].startswith("FAILED a worker ended after ") and lines[0].endswith(": the process ended by signal 9 (Killed)") and " 1 failed" in text and
                      " 0 crashes" in text, f"exit code {code}: {text[-1500:]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--faults", required=True)
    options = parser.parse_args()
    counts = Checks()
    check_conformance(options, counts)
    check_shared_programs(options, counts)
    return counts.finish()


if __name__ == "__main__":
    sys.exit(main())
