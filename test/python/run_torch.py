#!/usr/bin/env python3
"""Runs the tests of the package with PyTorch, where that is.

  run_torch.py --build BUILD --source . [TEST...]

TEST is torch, torch_split, main_job, expectations or examples (the notebooks with their cells for PyTorch); without one all are run. The Python is $VX_TORCH_PYTHON, or that of build/torch-venv, which `scripts/test --references torch` makes. Exit code: 0 all passed,
1 some failed, 77 no Python has PyTorch.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = {"torch": "torch, onnxscript, onnxruntime", "torch_split": "torch, onnxscript", "main_job": "torch, torchvision, onnxscript, onnxruntime, matplotlib, pandas",
         "expectations": "torch, onnxscript",
         "examples": "torch, onnxscript, onnx, onnxruntime, matplotlib"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    python = os.environ.get("VX_TORCH_PYTHON") or os.path.join(build, "torch-venv", "bin", "python")
    if not os.path.exists(python):
        print("no Python with PyTorch: scripts/test --references torch makes one")
        return 77
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    environment.update(PYTHONPATH=os.path.join(build, "python"), PYTHONDONTWRITEBYTECODE="1", VX_CACHE="", VX_SOURCE=os.path.abspath(arguments.source))
    code = 0
    for test in arguments.tests or TESTS:
        if subprocess.run([python, "-c", f"import {TESTS[test]}"]).returncode != 0:
            print(f"FAILED {python} does not import {TESTS[test]}: scripts/test --references torch installs them")
            code = 1
            continue
        code = subprocess.run([python, os.path.join(HERE, f"test_{test}.py"), *{"examples": [arguments.source], "main_job": [arguments.source, os.path.join(build, "bin")]}.get(test, [])], env=environment).returncode and 1 or code
    return code


if __name__ == "__main__":
    sys.exit(main())
