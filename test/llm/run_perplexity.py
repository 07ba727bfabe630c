#!/usr/bin/env python3
"""vx-llm perplexity against NumPy in f64, which cuts a text into windows and scores the second half of each as llama.cpp does; and texts that are refused.

  run_perplexity.py --bin BUILD/bin [--device cpu,vulkan]
"""
import argparse
import json
import logging
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from embedding_models import write_json  # noqa: E402
from llama_gguf import letters, write_llama  # noqa: E402
from llama_oracle import logits  # noqa: E402
from random_models import gpt2_settings, gpt2_weights, llama_settings, llama_weights  # noqa: E402
from run_decoders import Decoders, tokenizer_json  # noqa: E402

LIMIT = 1e-5  # of each number: f32 over two layers against f64
WORDS = letters(60)
BEGIN = 58  # the number of a token that begins texts, where a model has one


def expected(settings, tensors, ids, window):
    """The scores of the tokens in the second half of each window."""
    scores = []
    for at in range(0, len(ids) // window * window, window):
        part = ids[at:at + window]
        rows = logits(settings, tensors, part)
        rows = rows - rows.max(-1, keepdims=True)
        rows = rows - np.log(np.exp(rows).sum(-1, keepdims=True))
        scores += [rows[place - 1, part[place]] for place in range(window // 2 + 1, window)]
    return -np.array(scores)


class Perplexities(Decoders):
    def measure(self, module, text, *flags, device="cpu"):
        path = self.path("text")
        with open(path, "w") as file:
            file.write(text)
        out, _ = self.tool("vx-llm", "perplexity", module, "--file", path, "--json", f"--device={device}", "--no-fallback", *flags)
        return json.loads(out)

    def compare(self, title, report, losses, window, tokens):
        mean = losses.mean()
        error = losses.std() / np.sqrt(len(losses) - 1) if len(losses) > 1 else 0  # that of the mean
        counts = (report["window"], report["windows"], report["text_tokens"], report["scored_tokens"], report["left_out_tokens"])
        self.check(f"{title}: counts", counts == (window, tokens // window, tokens, len(losses), tokens % window), counts)
        for key, want in (("loss", mean), ("loss_error", error), ("perplexity", np.exp(mean)), ("perplexity_error", error * np.exp(mean))):
            apart = abs(report[key] - want)
            self.check(f"{title}: {key}", apart <= (LIMIT if key in ("loss", "perplexity") else 1e-3) * want, f"{report[key]}, expected {want}")
        self.check(f"{title}: times", report["seconds"] > 0 and np.isclose(report["tokens_per_second"], report["windows"] * window / report["seconds"]), report)


def check_windows(bench):
    random = np.random.default_rng(7)
    text = "".join(random.choice(list("bcdefghijklmnopqrstuvwxyz"), 200))
    ids = [WORDS.index(letter) for letter in text]
    models = {"llama": (llama_settings(vocab_size=60), llama_weights), "qwen3": (llama_settings("qwen3", vocab_size=60), llama_weights), "gpt2": (gpt2_settings(vocab_size=60), gpt2_weights)}
    for name, (settings, weights) in models.items():
        tensors = weights(settings, 5)
        module, _ = bench.compile_model(bench.folder_of(name, settings, tensors), name)
        for length, window in ((16, 16), (17, 16), (200, 16), (63, 9), (200, 64), (4, 4), (5, 5)):
            for device in bench.devices if (length, window) == (200, 16) else ["cpu"]:
                report = bench.measure(module, text[:length], "--context", str(window), device=device)
                bench.compare(f"{name}: {length} tokens by {window} on {device}", report, expected(settings, tensors, ids[:length], window), window, length)
        report = bench.measure(module, text)
        bench.compare(f"{name}: a model with less context than 512", report, expected(settings, tensors, ids, 64), 64, 200)
        bench.check(f"{name}: the family", report["family"] == name and report["device"]["taken"]["device"].startswith("cpu"), report)
    settings, wide = llama_settings(vocab_size=60, max_position_embeddings=1000), "".join(random.choice(list("bcdefghijk"), 600))
    tensors = llama_weights(settings, 5)
    module, _ = bench.compile_model(bench.folder_of("wide", settings, tensors), "wide", "cpu")
    ids = [WORDS.index(letter) for letter in wide]
    bench.compare("windows of 512 by default", bench.measure(module, wide), expected(settings, tensors, ids, 512), 512, 600)
    out, _ = bench.tool("vx-llm", "perplexity", module, "--file", bench.path("text"), "--context=100", "--device=cpu")
    losses = expected(settings, tensors, ids, 100)
    for line in ("tokens     600: 6 windows of 100, 0 left out at the end\n", "scored     294 tokens, of the second half of each window\n", f"loss       {losses.mean():.3f}", f"perplexity {np.exp(losses.mean()):.2f}"):
        bench.check(f"a text: {line.strip()}", line in out, out)


def check_begins(bench):
    """Each window begins with the token that begins texts, in place of its own; a special token that a text spells is plain text."""
    settings = llama_settings(vocab_size=60)
    tensors = llama_weights(settings, 6)
    words = [*WORDS[:56], "<", ">", "<s>", "<end>"]
    write_llama(bench.path("begins.gguf"), settings, tensors, tokens=words, ends=(59,), begin=BEGIN)
    module, _ = bench.compile_model(bench.path("begins.gguf"), "begins", "cpu")
    text = "bcd<end>fghijklmnopqrstuvwxyzbcdefghi<s>jk"
    ids = [BEGIN, *(words.index(letter) for letter in text)]
    scored = list(ids)
    for at in range(0, len(ids), 10):
        scored[at] = BEGIN
    bench.compare("a token that begins texts", bench.measure(module, text, "--context=10"), expected(settings, tensors, scored, 10), 10, len(ids))
    # The token that the tokenizer puts at the end of a text is not one of the text.
    folder = bench.folder_of("ends", settings, tensors)
    tokenizer = tokenizer_json(60)
    tokenizer["post_processor"] = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<end>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<end>", "type_id": 0}}],
                                   "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<end>": {"id": "<end>", "ids": [59], "tokens": ["<end>"]}}}
    write_json(f"{folder}/tokenizer.json", tokenizer)
    module, _ = bench.compile_model(folder, "ends", "cpu")
    text = "bcdefghijklmnopqrst"
    ids = [59, *(WORDS.index(letter) for letter in text)]
    bench.compare("a token that ends texts", bench.measure(module, text, "--context=10"), expected(settings, tensors, [59, *ids[1:10], 59, *ids[11:]], 10), 10, 20)


def check_refusals(bench):
    settings = llama_settings(vocab_size=60)
    module, _ = bench.compile_model(bench.folder_of("right", settings, llama_weights(settings, 5)), "right", "cpu")
    texts = {"short": b"bcdefgh", "wrong": b"bcdefgh\xffbcd", "cut": "bcd\u00e9".encode()[:-1], "empty": b"", "long": b"b" * 40}
    for name, text in texts.items():
        pathlib.Path(bench.path(name)).write_bytes(text)
    for flags, code, message in (
            (["--file", bench.path("short")], 3, "short: the text has 7 tokens, expected at least 64, one window; a smaller --context takes a shorter text"),
            (["--file", bench.path("empty"), "--context=8"], 3, "empty: the text has 0 tokens, expected at least 8, one window"),
            (["--file", bench.path("wrong"), "--context=8"], 3, "wrong: expected UTF-8, got the byte 0xff at offset 7"),
            (["--file", bench.path("cut"), "--context=8"], 3, "cut: expected UTF-8, got the byte 0xc3 at offset 3"),
            (["--file", bench.path("long"), "--context=65"], 2, "--context: expected a window of 4 to 64 tokens, got 65"),
            (["--file", bench.path("long"), "--context=3"], 2, "--context: expected a window of 4 to 64 tokens, got 3"),
            (["--file", bench.path("none")], 3, "none': No such file"),
            ([], 2, "perplexity: expected --file"),
            (["--file", bench.path("long"), "--prompt=a"], 2, "--prompt goes with run"),
            (["--file", bench.path("long"), "--seed=1"], 2, "--seed goes with run and chat"),
            (["--file", bench.path("long"), "--device=cuda", "--no-fallback"], 4, "cuda")):
        out, said = bench.tool("vx-llm", "perplexity", module, *flags, code=code)
        bench.check(f"refused: {message}", message in said and not out, said)
    _, said = bench.tool("vx-llm", "run", module, "--prompt=a", "--file", bench.path("long"), code=2)
    bench.check("--file of run", "--file goes with perplexity" in said, said)


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Perplexities(options.bin, folder, options.device.split(","))
        check_windows(bench)
        check_begins(bench)
        check_refusals(bench)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
