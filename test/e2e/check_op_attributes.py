#!/usr/bin/env python3
"""The attributes in the importer's tables of ops against the schemas of the package onnx, version by version.

  check_op_attributes.py FRONTEND

FRONTEND is the folder that holds Import*.cpp, each of which ends in a table.

Exit code: 0 all agree, 1 some differ.
"""
import pathlib
import re
import sys

import onnx


def attributes_in(spelled, version):
    names = set()
    for item in spelled.split():
        name, _, versions = item.partition("@")
        first, _, last = versions.partition("-")
        if int(first or 0) <= version <= int(last or 10**9):
            names.add(name)
    return names


def main():
    text = "".join(path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).glob("Import*.cpp")))
    # A string that goes on in the next line is one string.
    text = re.sub(r'"\s*\n\s*"', "", text)
    table = re.findall(r'\{"(\w+)",\s*(\d+),\s*(newest\w*Opset),\s*\w+,\s*"([^"]*)"\}', text)
    domains = {"newestOpset": ("", onnx.defs.onnx_opset_version()), "newestMlOpset": ("ai.onnx.ml", 5), "newestPreviewOpset": ("ai.onnx.preview", 1),
               "newestTrainingOpset": ("ai.onnx.preview.training", 1)}
    ours = "newestBuilderOpset"  # ops of recorded graphs, which no schema describes
    differ = 0
    for name, first, newest, spelled in table:
        if newest == ours:
            continue
        domain, newest = domains[newest]
        for version in range(int(first), newest + 1):
            try:
                want = set(onnx.defs.get_schema(name, version, domain).attributes)
            except onnx.defs.SchemaError:
                continue  # the op begins later
            got = attributes_in(spelled, version)
            if got != want:
                differ += 1
                print(f"{name}, version {version}: the table has {sorted(got)}, the schema {sorted(want)}")
    lines = len(re.findall(r'\{"\w+",\s*\d+,\s*\w*Opset', text))
    if len(table) < 100 or len(table) != lines:
        differ += 1
        print(f"read {len(table)} lines of the table, which has {lines}")
    compared = sum(entry[2] != ours for entry in table)
    print(f"{compared} ops up to version {domains['newestOpset'][1]}, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
