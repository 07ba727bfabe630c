#!/usr/bin/env python3
"""Builds the wheels, installs them where nothing else of vx is, and runs test_vx.py with them.

  run_wheels.py --build BUILD --source .

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        wheels = os.path.join(folder, "wheels")
        subprocess.run([sys.executable, os.path.join(arguments.source, "scripts", "build-wheels"), arguments.build, wheels, "--fast"], check=True)
        names = sorted(os.listdir(wheels))
        assert len(names) == 2 and all("manylinux" in name for name in names), names
        inside = zipfile.ZipFile(os.path.join(wheels, next(name for name in names if "runtime" in name))).namelist()
        if any(re.search("LLVM|MLIR|protobuf|libvx_compiler|_compiler", name) for name in inside):
            failed += 1
            print(f"FAIL the runtime's wheel has {inside}")
        for which in (["runtime"], ["runtime", "compiler"]):
            target = os.path.join(folder, "-".join(which))
            chosen = [os.path.join(wheels, name) for name in names if any(f"vx_{one}-" in name for one in which)]
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target", target, *chosen],
                           check=True)
            done = subprocess.run([sys.executable, os.path.join(here, "test_vx.py"), "RuntimeAlone" if which == ["runtime"] else "Whole"], cwd=folder, env={
                **environment, "PYTHONPATH": target, "VX_SOURCE": os.path.abspath(arguments.source)})
            failed += done.returncode != 0
    print(f"{2 - min(failed, 2)} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
