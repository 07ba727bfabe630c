"""Prints what the innermost loops with multiply-adds are made of, from x86 assembly on standard input: a line for each loop, in order. A sum of
products of integers (vpdpbusd, vpmaddwd) counts as a multiply-add."""
import re
import sys

labels = {}
lines = sys.stdin.read().split("\n")
for place, line in enumerate(lines):
    if function := re.match(r"^(\w+):", line):
        print(f"{function[1]}:")
    elif label := re.match(r"^(\.LBB\w+):", line):
        labels[label[1]] = place
    elif jump := re.match(r"^\s+j\w+\s+(\.LBB\w+)", line):
        if jump[1] not in labels:
            continue
        body = lines[labels[jump[1]] + 1 : place + 1]
        products = [one for one in body if re.search(r"vfmadd|vpdpbusd|vpmaddwd", one)]
        if not products or any(one.startswith(".LBB") for one in body):
            continue
        scalar = sum(bool(re.search(r"vfmadd\w+s[sd]\b", one)) for one in products)
        stack = sum("(%rsp" in one or "(%rbp" in one for one in body)
        print(f"  {len(products)} multiply-adds, {scalar} of them scalar, in {len(body)} instructions, {stack} of them on the stack")
