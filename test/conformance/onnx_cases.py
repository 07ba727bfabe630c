#!/usr/bin/env python3
"""Prints the folder with the tests that the package onnx makes of its ops and of small models, each a folder with a model, inputs and outputs. Its wheel has no data of
them; the first call for a version of the package writes them to build/onnx-cases.

  onnx_cases.py            writes build/onnx-cases/VERSION/node and simple, where they are not yet, and prints that folder
  onnx_cases.py FOLDER     writes FOLDER/node and FOLDER/simple

The folder appears when it is whole: two programs may write it at the same time, and the first one's stays.
"""
import argparse
import importlib.metadata
import os
import shutil
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def write(folder):
    from onnx.backend.test import cmd_tools, loader
    from onnx.backend.test.case import model

    warnings.simplefilter("ignore")  # of the cases' own arithmetic
    cases = [*loader.load_model_tests(kind="node"), *(case for case in model.collect_testcases() if case.kind == "simple")]
    cmd_tools.model_test.collect_testcases = lambda: cases
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    made = tempfile.mkdtemp(prefix=os.path.basename(folder) + ".", dir=os.path.dirname(folder))
    try:
        cmd_tools.generate_data(argparse.Namespace(output=made))
        os.chmod(made, 0o755)
        os.rename(made, folder)
    except OSError:
        if not os.path.isdir(folder):
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def find():
    folder = os.path.join(ROOT, "build", "onnx-cases", importlib.metadata.version("onnx"))
    if not os.path.isdir(folder):
        write(folder)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    if options.folder:
        write(os.path.abspath(options.folder))
    else:
        print(find())
    return 0


if __name__ == "__main__":
    sys.exit(main())
