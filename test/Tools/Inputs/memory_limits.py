#!/usr/bin/env python3
"""Runs a command with ever more address space until it works: memory_limits.py FIRST STEP MOST COMMAND...

In KiB. Each run that does not work must end by itself with exit code 1, or 4 where no device could be opened for lack of memory, and a line that says
what could not be had; it leaves no file in the working folder, and no signal ends it. Where the system cannot even start the program (exit code 127 of
the dynamic linker) nothing is asked of it. Prints how many runs ended so, and that one worked.
"""
import os
import re
import resource
import subprocess
import sys

first, step, most = (int(text) for text in sys.argv[1:4])
command = sys.argv[4:]
before = set(os.listdir("."))
refused = 0
for limit in range(first, most + 1, step):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * 1024, limit * 1024)))
    if done.returncode == 0:
        print(f"works, after {'some' if refused else 'no'} that did not")
        sys.exit(0)
    if done.returncode == 127 and "error while loading shared libraries" in done.stderr:
        continue
    left = set(os.listdir(".")) - before
    fits = re.search(r"^[a-z-]+: error: .*(out of memory|asked for [0-9]+ bytes|no more memory|Cannot allocate memory|Resource temporarily unavailable)",
                     done.stderr, re.M)
    if done.returncode not in (1, 4) or left or not fits:
        print(f"{limit} KiB: exit code {done.returncode}, left {sorted(left)}, said {done.stderr[-500:]!r}")
        sys.exit(1)
    refused += 1
print(f"does not work with {most} KiB")
sys.exit(1)
