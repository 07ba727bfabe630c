#!/usr/bin/env python3
"""Runs test_torch.py with the package of a build, where PyTorch is.

  run_torch.py --build BUILD

The Python is $VX_TORCH_PYTHON, or that of build/torch-venv, which `scripts/test --references torch` makes. Exit code: 0 all passed, 1 some failed, 77 no Python has PyTorch.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    python = os.environ.get("VX_TORCH_PYTHON") or os.path.join(build, "torch-venv", "bin", "python")
    needs = "torch, onnxscript, onnxruntime"
    if not os.path.exists(python):
        print(f"no Python with {needs}: scripts/test --references torch makes one")
        return 77
    if subprocess.run([python, "-c", f"import {needs}"]).returncode != 0:
        print(f"FAILED {python} does not import {needs}")
        return 1
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    return subprocess.run([python, os.path.join(HERE, "test_torch.py")],
                          env={**environment, "PYTHONPATH": os.path.join(build, "python"), "PYTHONDONTWRITEBYTECODE": "1", "VX_CACHE": ""}).returncode


if __name__ == "__main__":
    sys.exit(main())
