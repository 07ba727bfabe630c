#!/usr/bin/env python3
"""The unit of systemd by systemd-analyze: it is understood, and as well shut in as a server of GPUs can be.

  run_unit.py --bin BUILD/bin

Exit code: 0 all passed, 1 some failed, 77 this machine has no systemd-analyze.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

from digits import ROOT

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

MOST_EXPOSED = 4.0  # of 10; MemoryDenyWriteExecute and PrivateDevices break vx


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        print("no systemd-analyze")
        return 77
    checks = Checks()
    text = (ROOT / "tools/vx-serve/vx-serve.service.in").read_text().replace("@VX_BINARIES@", os.path.abspath(arguments.bin)).replace("@VX_CONFIGURATION@", "/etc/vx")

    def run(unit, *command):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "vx-serve.service")
            with open(path, "w", encoding="utf-8") as file:
                file.write(unit)
            done = subprocess.run([analyze, *command, path], capture_output=True, text=True, timeout=60)
        # Of other units of this machine nothing is asked.
        return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if command[0] != "verify" or "vx-serve" in line]

    # A manual page that is not installed here is no mistake of the unit.
    said = lambda unit: [line for line in run(unit, "verify", "--man=no")[1]]
    checks.check("the unit is understood", said(text) == [], said(text))
    for what, other in (("a key", text.replace("LoadCredential=", "LoadCredentials=")), ("a program that is not there", text.replace("/vx-serve --config", "/vx-server --config")), ("a word", text.replace("Type=notify", "Type=notifies"))):
        checks.check(f"{what} that is wrong is seen", said(other) != [], other)
    code, lines = run(text, "security", "--offline=true", "--no-pager")
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", "\n".join(lines))
    checks.check(f"it is shut in, at most {MOST_EXPOSED} of 10 exposed", code == 0 and exposure and float(exposure[1]) <= MOST_EXPOSED, (code, lines[-30:]))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
