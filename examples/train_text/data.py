#!/usr/bin/env python3
"""Writes text of a known entropy as .npy files for vx-train: data.py OUT makes OUT/train and OUT/test, each with ids.npy and label.npy, i64 [rows, time]:
the symbols, and the successor of each. The label of the first symbol is -100, which does not count, since only one symbol is known there. The
two previous symbols decide the distribution of a symbol (16 symbols, a Markov chain of the second order, its 256 distributions Dirichlet with
0.15). So no model has a smaller loss than the entropy of the chain, and a model that sees a single symbol has a clearly larger one. Nothing
else in the rows can be learned. Prints both in nats. Needs nothing but Python."""
import array
import math
import os
import random
import sys

SYMBOLS, CONCENTRATION = 16, 0.15
TIME = 32
IGNORED = -100
ROWS = {"train": 16384, "test": 1024}


def write_npy(path, rows, values):
    data = array.array("q", values)
    if sys.byteorder == "big":
        data.byteswap()
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, {TIME}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data.tobytes())


def make_chain(source):
    """[a][b][c]: the probability of c after a and b."""
    def distribution():
        weights = [source.gammavariate(CONCENTRATION, 1) for _ in range(SYMBOLS)]
        return [weight / sum(weights) for weight in weights]

    return [[distribution() for _ in range(SYMBOLS)] for _ in range(SYMBOLS)]


def entropy(distribution):
    return -sum(p * math.log(p) for p in distribution if p > 0)


def entropies(chain):
    """Of the chain, and of the best prediction from one symbol; by the pairs that it visits in the long run."""
    every = range(SYMBOLS)
    pairs = [[1 / SYMBOLS**2] * SYMBOLS for _ in every]
    for _ in range(400):
        pairs = [[sum(pairs[a][b] * chain[a][b][c] for a in every) for c in every] for b in every]
    known = sum(pairs[a][b] * entropy(chain[a][b]) for a in every for b in every)
    single = 0
    for b in every:
        behind = [sum(pairs[a][b] * chain[a][b][c] for a in every) for c in every]
        single += sum(behind) * entropy([p / sum(behind) for p in behind])
    return known, single


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: data.py OUT")
    source = random.Random(0)
    chain = make_chain(source)
    symbols = list(range(SYMBOLS))
    for name, rows in ROWS.items():
        ids, labels = [], []
        for _ in range(rows):
            row = [source.randrange(SYMBOLS), source.randrange(SYMBOLS)]
            while len(row) < TIME + 9:
                row += source.choices(symbols, chain[row[-2]][row[-1]])
            row = row[8:]  # by now the first two, which are none of the chain's, matter little
            ids += row[:-1]
            labels += [IGNORED] + row[2:]
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        write_npy(os.path.join(folder, "ids.npy"), rows, ids)
        write_npy(os.path.join(folder, "label.npy"), rows, labels)
        print(f"{folder}: {rows} rows of {TIME} symbols")
    known, single = entropies(chain)
    print(f"entropy of the chain {known:.4f}, from one symbol {single:.4f}")


if __name__ == "__main__":
    main()
