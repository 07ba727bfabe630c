#!/usr/bin/env python3
"""Runs a command with ever more address space until it works: memory_limits.py FIRST STEP MOST COMMAND...

In KiB. Each run that does not work must end by itself with exit code 1, or 4 where no device could be opened for lack of memory, and a line that says
what could not be had; it leaves no file in the working folder, and no signal ends it. Where the system cannot even start the program (exit code 127 of
the dynamic linker, or a limit below the size of the program's own segments, for which Linux ends it by a signal) nothing is asked of it. Prints how many runs ended so, and that one worked.
"""
import os
import re
import resource
import shutil
import struct
import subprocess
import sys

first, step, most = (int(text) for text in sys.argv[1:4])
command = sys.argv[4:]
before = set(os.listdir("."))


def segments_size(path):
    """The address space between the first and the last byte of an ELF file's segments (64 bits)."""
    with open(path, "rb") as file:
        header = file.read(64)
        offset, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        entries = [struct.unpack("<IIQQQQQQ", file.read(size)[:56]) for _ in range(count)]
    ends = [address + memory for kind, _, _, address, _, _, memory, _ in entries if kind == 1]  # PT_LOAD
    return max(ends) - min(address for kind, _, _, address, *_ in entries if kind == 1)


own_size = segments_size(shutil.which(command[0])) + (1 << 20)  # the dynamic linker and the stack


def run(limit):
    """Whether the command works: None where the system cannot start it, False where it says so as it should."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * 1024, limit * 1024)))
    if done.returncode == 0:
        return True
    # The dynamic linker names a library, or, where it has not even memory for that, nothing. No tool ends with this code.
    if done.returncode == 127 and re.search(r"error while loading shared libraries|^cannot allocate TLS data structures|^out of memory$", done.stderr, re.M):
        return None
    if done.returncode < 0 and limit * 1024 < own_size:
        return None
    left = set(os.listdir(".")) - before
    fits = re.search(r"^[a-z-]+: error: .*(out of memory|asked for [0-9]+ bytes|no more memory|Cannot allocate memory|Resource temporarily unavailable)",
                     done.stderr, re.M)
    if done.returncode not in (1, 4) or left or not fits:
        print(f"{limit} KiB: exit code {done.returncode}, left {sorted(left)}, said {done.stderr[-500:]!r}")
        sys.exit(1)
    return False


refused = 0
for limit in range(first, most + 1, step):
    result = run(limit)
    if result:
        # A tool that needs little beyond its libraries may be refused between two steps only.
        if not refused and limit > first:
            for path in set(os.listdir(".")) - before:
                os.remove(path)
            refused = sum(run(between) is False for between in range(limit - step, limit, max(step // 50, 1)))
        print(f"works, after {'some' if refused else 'no'} that did not")
        sys.exit(0)
    refused += result is False
print(f"does not work with {most} KiB")
sys.exit(1)
