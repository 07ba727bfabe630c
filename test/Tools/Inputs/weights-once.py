"""weights-once.py ONE.json FOUR.json: what vx-info says of the weights of a module for one target and of the same model for four."""
import json
import sys


def facts(path):
    description = json.load(open(path))
    sections = [section["size"] for section in description["sections"] if section["kind"] == "weights"]
    code = sum(section["size"] for section in description["sections"] if section["kind"] == "code")
    return sections, code, description["file_size"], [target["name"] for target in description["targets"]]


one, four = facts(sys.argv[1]), facts(sys.argv[2])
print("targets:", *one[3], "|", *four[3])
print("sections of weights:", len(one[0]), "|", len(four[0]))
print("bytes of weights:", "the same" if one[0] == four[0] and one[0][0] > 0 else f"{one[0]} | {four[0]}")
# Each section begins at a multiple of 4096, and what describes the kernels is small beside the weights.
grown = four[2] - one[2] - (four[1] - one[1])
print("grown besides the code:", "less than the weights" if grown < one[0][0] else f"{grown} bytes")
