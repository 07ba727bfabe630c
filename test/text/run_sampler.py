"""Compares the sampler with NumPy: the formulas of transformers and vLLM, and llama.cpp's order; and counts what is drawn.

    run_sampler.py --bin DIR [--cases 400] [--seed 1]
"""
import argparse
import pathlib
import struct
import subprocess
import sys

import numpy as np

NAMES = ("order", "repetition", "presence", "frequency", "window", "temperature", "top_k", "top_p", "min_p", "seed")


class Peer:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def sample(self, options, biases, prompt, answer, mask, logits):
        """The token, and the probabilities of those that may be chosen."""
        numbers = [float(options[name]) for name in NAMES] + [len(biases), len(prompt), len(answer), len(mask), len(logits)]
        numbers += [number for bias in biases for number in bias] + list(prompt) + list(answer) + list(mask) + [float(logit) for logit in logits]
        self.process.stdin.write(struct.pack(f"<{len(numbers)}d", *numbers))
        self.process.stdin.flush()
        header = self.process.stdout.read(8)
        if len(header) < 8:
            raise SystemExit(f"FAILED: sampler_peer ended at {options}")
        count, chosen = struct.unpack("<Ii", header)
        return chosen, dict(struct.iter_unpack("<id", self.process.stdout.read(12 * count)))


def softmax(logits):
    parts = np.exp(logits - logits.max())
    return parts / parts.sum()


def reference(options, biases, prompt, answer, mask, logits):
    """Probabilities by the formulas as they are written, over whole vectors."""
    scores = logits.astype(np.float64)
    for token, bias in biases:
        scores[token] += bias
    is_llama = options["order"] == 1
    counts, seen = np.zeros(len(logits)), np.zeros(len(logits), bool)
    tokens = list(prompt) + list(answer)
    if is_llama:
        tokens = tokens[len(tokens) - options["window"]:] if 0 < options["window"] < len(tokens) else tokens
        np.add.at(counts, tokens, 1)
        seen[tokens] = True
    else:
        np.add.at(counts, list(answer), 1)
        seen[tokens] = True
    scores = np.where(seen, np.where(scores > 0, scores / options["repetition"], scores * options["repetition"]), scores)
    scores = scores - options["frequency"] * counts - options["presence"] * (counts > 0)
    if len(mask):
        bits = np.array([mask[i // 32] >> i % 32 & 1 for i in range(len(logits))], bool)
        scores = np.where(bits, scores, -np.inf)

    def temperature(scores):
        if options["temperature"] == 0:
            best = np.full_like(scores, -np.inf)
            best[scores.argmax()] = 0
            return best
        return scores / options["temperature"]

    def top_k(scores):
        if not 0 < options["top_k"] < np.isfinite(scores).sum():
            return scores
        if is_llama:
            kept = np.argsort(-scores, kind="stable")[:options["top_k"]]
            return np.where(np.isin(np.arange(len(scores)), kept), scores, -np.inf)
        return np.where(scores < np.sort(scores)[-options["top_k"]], -np.inf, scores)

    def top_p(scores):
        if options["top_p"] >= 1:
            return scores
        order = np.argsort(-scores, kind="stable")
        probabilities = softmax(scores)[order]
        kept = order[np.concatenate(([0.0], probabilities.cumsum()[:-1])) < options["top_p"]]
        return np.where(np.isin(np.arange(len(scores)), kept), scores, -np.inf)

    def min_p(scores):
        probabilities = softmax(scores)
        return np.where(probabilities < options["min_p"] * probabilities.max(), -np.inf, scores) if options["min_p"] > 0 else scores

    steps = (top_k, top_p, min_p, temperature) if is_llama and options["temperature"] else (temperature, top_k, top_p, min_p)
    for step in steps:
        scores = step(scores)
    probabilities = softmax(scores)
    return {int(i): probabilities[i] for i in np.flatnonzero(np.isfinite(scores))}


def case(draw):
    size = int(draw.choice([1, 2, 7, 100, 1000, 5000]))
    logits = (draw.standard_normal(size) * draw.choice([0.1, 2.0, 20.0])).astype(np.float32)
    if draw.random() < 0.2:
        logits = np.round(logits)  # equal ones
    if draw.random() < 0.1 and size > 2:
        logits[draw.integers(size)] = -np.inf
    options = {"order": int(draw.integers(2)), "repetition": draw.choice([1.0, 1.0, 1.1, 2.0, 0.5]), "presence": draw.choice([0.0, 0.5, -1.0]),
               "frequency": draw.choice([0.0, 0.3, -0.2]), "window": int(draw.choice([0, 3, 64])), "temperature": draw.choice([0.0, 1.0, 0.7, 2.0, 0.01]),
               "top_k": int(draw.choice([0, 1, 5, 40, 10 ** 6])), "top_p": draw.choice([1.0, 0.9, 0.5, 1e-9, 0.999]), "min_p": draw.choice([0.0, 0.05, 0.5, 1.0]),
               "seed": int(draw.integers(1 << 40))}
    tokens = [draw.integers(size, size=int(draw.integers(0, 8))).tolist() for _ in range(2)]
    biases = [(int(draw.integers(size)), float(draw.choice([-100.0, 3.0, 0.5]))) for _ in range(draw.integers(0, 3))]
    mask = []
    if draw.random() < 0.3:
        mask = draw.integers(1 << 32, size=(size + 31) // 32, dtype=np.uint64).tolist()
        mask[0] |= 1
        logits[0] = 0
    return options, biases, tokens[0], tokens[1], mask, logits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    peer, draw, sizes = Peer(arguments.bin / "sampler_peer"), np.random.default_rng(arguments.seed), []
    for number in range(arguments.cases):
        one = case(draw)
        want, (chosen, got) = reference(*one), peer.sample(*one)
        # A token at the edge of top-p or min-p may go either way by rounding; its probability is then that of the edge.
        edge = {token for token in set(want) ^ set(got)}
        if len(edge) > 1 or chosen not in got or abs(sum(got.values()) - 1) > 1e-12:
            raise SystemExit(f"FAILED: case {number}, {one[0]}: tokens {sorted(set(want) - set(got))[:5]} are missing, {sorted(set(got) - set(want))[:5]} are too many")
        if not edge and max(abs(want[token] - got[token]) for token in want) > 1e-12:
            raise SystemExit(f"FAILED: case {number}, {one[0]}: probabilities differ")
        sizes.append(len(got))
    # Draws follow the distribution, and depend on the seed and the index of the token alone.
    options = {"order": 0, "repetition": 1, "presence": 0, "frequency": 0, "window": 64, "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "seed": 5}
    logits = np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32))
    counts = np.zeros(4)
    for seed in range(100):
        for index in range(40):
            counts[peer.sample({**options, "seed": seed}, [], [], [0] * index, [], logits)[0]] += 1
    square = float((((counts - 4000 * np.exp(logits)) ** 2) / (4000 * np.exp(logits))).sum())
    if square > 16.3:  # the chance of more is 0.001, with 3 degrees of freedom
        raise SystemExit(f"FAILED: 4000 draws are {counts}, chi-square {square}")
    same = [peer.sample({**options, "seed": seed}, [], [1] * 7, [2] * 9, [], logits)[0] for seed in range(50)]
    again = [peer.sample({**options, "seed": seed}, [], [], [3] * 9, [], logits)[0] for seed in range(50)]
    if same != again or len(set(same)) < 3:
        raise SystemExit(f"FAILED: draws depend on the text: {same} and {again}")
    print(f"{arguments.cases} distributions are equal, of 1 to {max(sizes)} tokens; chi-square of 4000 draws {square:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
