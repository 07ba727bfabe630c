#!/usr/bin/env python3
"""Small llama and Gemma 3 models at 1, 33 and 65 tokens: prompts, prompts in chunks and tokens one by one over the cache, against NumPy in f64 and against one another.

  run_decoder_lengths.py --bin BUILD/bin [--device cpu,vulkan] [--variants rocm=gfx1151] [--lengths 1,33,65] [llama|gemma3]...

65 tokens lie in three pages of 32; Gemma's window of 40 begins in the second page and ends in the third.
"""
import argparse
import logging
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from cpu_variants import variant_flags  # noqa: E402
from llama_oracle import divergence, logits  # noqa: E402
from random_models import decoder_weights, llama_settings, llama_tokens  # noqa: E402
from run_decoders import KL, Decoders, text_of  # noqa: E402

SIZES = {"vocab_size": 60, "num_hidden_layers": 2, "max_position_embeddings": 96}
MODELS = {
    "llama": llama_settings(**SIZES),
    "gemma3": llama_settings("gemma3_text", **SIZES, layer_types=["sliding_attention", "full_attention"], sliding_window=40, query_pre_attn_scalar=16),
}
SEED = 81


def plans_of(length):
    """How many tokens each call takes, in ways that give the same logits."""
    plans = {"whole": [length], "steps": [1] * length}
    if length > 1:
        plans["chunks"] = [7, 1, 16, length - 24]
    return plans


def check_model(bench, name, settings, lengths, variants):
    tensors = decoder_weights(settings, SEED)
    module = bench.path(name + ".vxm")
    bench.tool("vx-compile", bench.folder_of(name, settings, tensors), f"--target={','.join(bench.devices)}", *variant_flags(bench.devices, variants), "-o", module)
    for device in bench.devices:
        for length in lengths:
            ids = llama_tokens(settings, SEED, length)
            want, plans = logits(settings, tensors, ids), plans_of(length)
            lines = [f"prefill {text_of(ids)}"]
            for plan in plans.values():  # over what the one before has left
                ends = np.cumsum(plan)
                lines += [f"{'decode' if count == 1 else 'extend'} {end - count} {text_of(ids[end - count:end])}" for count, end in zip(plan, ends)]
            answers, results = bench.calls(module, device, lines, settings["vocab_size"], 96)
            bench.check(f"{name}, {length} tokens on {device}: calls", answers == [f"done {length}"] + ["done 1"] * (len(lines) - 1), answers)
            prompt, rest = results[0], results[1:]
            bench.near(f"{name}, {length} tokens on {device}: the prompt", prompt, want)
            for title, plan in plans.items():
                rows, places = np.concatenate(rest[:len(plan)]), np.cumsum(plan) - 1
                rest = rest[len(plan):]
                bench.near(f"{name}, {length} tokens on {device}: {title}", rows, want[places])
                apart = divergence(prompt[places].astype(np.float64), rows)
                bench.check(f"{name}, {length} tokens on {device}: divergence of {title} from the prompt", abs(apart) < KL, apart)


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--variants", action="append", default=[], help="TARGET=VARIANT,...: compile these only")
    parser.add_argument("--lengths", default="1,33,65")
    parser.add_argument("models", nargs="*", default=list(MODELS))
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"expected {' or '.join(MODELS)}, got '{name}'")
    with tempfile.TemporaryDirectory() as folder:
        bench = Decoders(options.bin, folder, options.device.split(","))
        for name in options.models:
            check_model(bench, name, MODELS[name], [int(length) for length in options.lengths.split(",")], options.variants)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
