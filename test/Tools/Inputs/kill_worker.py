#!/usr/bin/env python3
"""kill_worker.py COMMAND...: runs vx-conformance with one job and kills its worker in the middle of a case.

The worker is stopped first: by the time it is killed it surely has been given a case, which it cannot end. The exit code is the command's.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

with tempfile.TemporaryDirectory() as folder:
    journal = os.path.join(folder, "journal")
    tool = subprocess.Popen([*sys.argv[1:], "--journal", journal])
    # Until it works on cases, of which there are enough.
    while not (os.path.exists(journal) and os.path.getsize(journal)) and tool.poll() is None:
        time.sleep(0.001)
    if tool.poll() is None:
        with open(f"/proc/{tool.pid}/task/{tool.pid}/children") as file:
            worker = int(file.read().split()[0])
        os.kill(worker, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(worker, signal.SIGKILL)
    code = tool.wait()
sys.exit(code)
