#!/usr/bin/env python3
"""kill_worker.py COMMAND...: runs vx-conformance with one job and kills its worker in the middle of a case.

The worker is stopped first: by the time it is killed it surely has been given a case, which it cannot end. The exit code is the command's.
"""
import os
import signal
import subprocess
import sys
import time

tool = subprocess.Popen(sys.argv[1:])
children = f"/proc/{tool.pid}/task/{tool.pid}/children"
worker = None
while worker is None and tool.poll() is None:
    with open(children) as file:
        worker = next(map(int, file.read().split()), None)
    time.sleep(0.01)
# Until it works on cases, of which there are enough.
time.sleep(0.5)
os.kill(worker, signal.SIGSTOP)
time.sleep(0.5)
os.kill(worker, signal.SIGKILL)
sys.exit(tool.wait())
