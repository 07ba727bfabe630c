#!/usr/bin/env python3
"""vx-llm bench: the record, the statistics of its runs, the bytes of weights that a token reads, and command lines that are refused.

  run_llm_bench.py --bin BUILD/bin
"""
import argparse
import json
import logging
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from llama_gguf import letters, write_gpt2, write_llama  # noqa: E402
from random_models import gpt2_settings, gpt2_weights, llama_settings, llama_weights  # noqa: E402
from run_decoders import Decoders  # noqa: E402


class Benches(Decoders):
    def measure(self, module, *flags):
        out, _ = self.tool("vx-llm", "bench", module, "--json", "--device=cpu", "--no-fallback", *flags)
        return json.loads(out)

    def other_bytes(self, module, names):
        """Of the constants that are no tensors of the model: a row of tables of angles, and single numbers."""
        out, _ = self.tool("vx-info", module, "--json")
        return sum(constant["size"] // (constant["dims"][0] if constant["name"].startswith("rotary.") else 1) for constant in json.loads(out)["constants"]
                   if constant["name"].removeprefix("folded from ") not in names)


def check_results(bench, module):
    report = bench.measure(module, "--prompt-tokens", "5,700", "--tokens", "1,3", "--runs", "4", "--threads", "1")
    record = report["record"]
    bench.check("the record", re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["date"]) and record["host"] == os.uname().nodename and re.match("[0-9a-f]{12}|unknown", record["commit"])
                and record["cores"] >= 1 and record["devices"][0]["device"] == "cpu:0" and record["command"].startswith("vx-llm bench /") and record["command"].endswith("--runs 4 --threads 1"), record)
    results = report["results"]
    bench.check("the tests", [(one["test"], one["prompt_tokens"], one["tokens"]) for one in results] == [("pp5", 5, 0), ("pp700", 700, 0), ("tg1", 0, 1), ("tg3", 0, 3)], results)
    probe = report["probes"][0]
    bench.check("the probe", len(report["probes"]) == 1 and probe["device"] == "cpu:0" and probe["threads"] == 1 and probe["rounds"] == 16 and 0 < probe["read_gbs_min"] <= probe["read_gbs"] <= probe["read_gbs_max"], probe)
    for one in results:
        title, rates = one["test"], np.array([(one["prompt_tokens"] + one["tokens"]) / seconds for seconds in one["seconds"]])
        bench.check(f"{title}: runs", one["runs"] == len(rates) == 4 and one["threads"] == 1 and one["device"] == "cpu:0" and one["family"] == "llama", one)
        bench.check(f"{title}: the mean", np.isclose(one["tokens_per_second"], rates.mean()) and np.isclose(one["tokens_per_second_deviation"], rates.std(ddof=1)), one)
        bench.check(f"{title}: least and greatest", np.isclose(one["tokens_per_second_least"], rates.min()) and np.isclose(one["tokens_per_second_greatest"], rates.max()), one)
        if one["tokens"]:
            gbs = one["weight_bytes_per_token"] * rates.mean() / 1e9
            bench.check(f"{title}: the share of what the device reads", np.isclose(one["weight_gbs"], gbs) and np.isclose(one["read_share"], gbs / probe["read_gbs"]), one)
        else:
            bench.check(f"{title}: no bytes of a token", one["weight_bytes_per_token"] is one["weight_gbs"] is one["read_share"] is None, one)
    # A longer prompt takes longer, and so do more tokens.
    least = [min(one["seconds"]) for one in results]
    bench.check("more tokens take longer", least[0] < least[1] and least[2] < least[3], least)
    prompt, answer = bench.measure(module, "--prompt-tokens=300", "--tokens=300", "--runs=3", "--no-probes", "--threads=1")["results"]
    bench.check("a prompt is computed in one part, and an answer a token at a time", min(answer["seconds"]) > 3 * min(prompt["seconds"]), (prompt["seconds"], answer["seconds"]))
    report = bench.measure(module, "--prompt-tokens", "0", "--tokens", "2", "--runs", "1", "--no-probes")
    one = report["results"][0]
    bench.check("one run without a probe", len(report["results"]) == 1 and not report["probes"] and one["read_share"] is None and one["weight_gbs"] > 0 and one["tokens_per_second_deviation"] == 0, report)
    out, _ = bench.tool("vx-llm", "bench", module, "--prompt-tokens=4", "--tokens=2", "--runs=2", "--device=cpu", "--threads=1")
    for pattern in (r"\d{4}-\d\d-\d\dT.*, commit ", r"cpu:0: ", r"vx-llm bench /.*--threads=1\n", r"llama on cpu:0, 1 thread, ", r"test +runs +tokens/s +deviation +bytes a token +GB/s +of read\n",
                    r"\npp4 +2 +\d+\.\d\d +\d+\.\d\d +- +- +-\n", r"\ntg2 +2 +\d+\.\d\d +\d+\.\d\d +\d+ +\d+\.\d\d +\d+\.\d %\n", r"\ncpu:0 with 1 thread at best: f32 FMA .* read \d+\.\d "):
        bench.check(f"a table with {pattern!r}", re.search(pattern, out), out)
    out, _ = bench.tool("vx-llm", "bench", module, "--tokens=2", "--prompt-tokens=0", "--no-probes", "--device=cpu")
    bench.check("5 runs by default", re.search(r"\ntg2 +5 ", out) and "at best" not in out and "pp" not in out.split("of read")[1], out)


def check_bytes(bench):
    """A table that only a row is read of counts with this row."""
    for name, is_tied, kind in (("untied", False, "F32"), ("tied", True, "F32"), ("narrow", False, "F16")):
        settings = llama_settings(vocab_size=60, tie_word_embeddings=is_tied)
        tensors = llama_weights(settings, 5)
        write_llama(bench.path(name + ".gguf"), settings, tensors, kind=kind, tokens=letters(60))
        module, _ = bench.compile_model(bench.path(name + ".gguf"), name, "cpu")
        sizes = {tensor: values.nbytes // (2 if kind == "F16" and values.ndim > 1 else 1) for tensor, values in tensors.items()}
        if not is_tied:
            sizes["model.embed_tokens.weight"] //= 60
        from llama_gguf import rename
        want = sum(sizes.values()) + bench.other_bytes(module, {rename(tensor) for tensor in tensors})
        got = bench.measure(module, "--prompt-tokens=0", "--tokens=1", "--runs=1", "--no-probes")["results"][0]["weight_bytes_per_token"]
        bench.check(f"bytes of a model that is {name}", got == want, (got, want))
    settings = gpt2_settings(vocab_size=60)
    tensors = gpt2_weights(settings, 5)
    folder = bench.folder_of("gpt2", settings, tensors)
    module, _ = bench.compile_model(folder, "gpt2", "cpu")
    want = sum(values.nbytes for values in tensors.values()) - tensors["transformer.wpe.weight"].nbytes // 64 * 63 + bench.other_bytes(module, set(tensors))
    got = bench.measure(module, "--prompt-tokens=0", "--tokens=1", "--runs=1", "--no-probes")["results"][0]["weight_bytes_per_token"]
    bench.check("bytes of GPT-2", got == want, (got, want))
    write_gpt2(bench.path("gpt2.gguf"), settings, tensors, tokens=letters(60))
    module, _ = bench.compile_model(bench.path("gpt2.gguf"), "gpt2-gguf", "cpu")
    got = bench.measure(module, "--prompt-tokens=0", "--tokens=1", "--runs=1", "--no-probes")["results"][0]["weight_bytes_per_token"]
    bench.check("bytes of GPT-2 in GGUF", got == want, (got, want))


def check_refusals(bench, module):
    for flags, code, message in ((["--prompt-tokens=1001"], 2, "--prompt-tokens: expected at most 1000 tokens, the model's context, got 1001"),
                                 (["--tokens=4,1001"], 2, "--tokens: expected at most 1000 tokens, the model's context, got 1001"),
                                 (["--tokens=0", "--prompt-tokens=0"], 2, "bench: expected a number in --prompt-tokens or --tokens, got 0 in both"),
                                 (["--tokens=4,0"], 2, "--tokens: expected numbers from 1 to 1048576 between commas, got '0'"),
                                 (["--tokens=x"], 2, "--tokens: expected numbers from 1 to 1048576 between commas, got 'x'"),
                                 (["--runs=0"], 2, "--runs"), (["--context=9"], 2, "--context goes with run, chat and perplexity"), (["--prompt=a"], 2, "--prompt goes with run"),
                                 (["--device=cuda", "--no-fallback"], 4, "cuda")):
        out, said = bench.tool("vx-llm", "bench", module, *flags, code=code)
        bench.check(f"refused: {message}", message in said and not out, said)
    for command, flag in (("run", "--runs=3"), ("chat", "--tokens=3"), ("perplexity", "--prompt-tokens=3"), ("show", "--no-probes")):
        _, said = bench.tool("vx-llm", command, module, flag, code=2)
        bench.check(f"{flag} of {command}", f"{flag.split('=')[0]} goes with bench" in said, said)


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Benches(options.bin, folder, ["cpu"])
        settings = llama_settings(vocab_size=60, max_position_embeddings=1000)
        module, _ = bench.compile_model(bench.folder_of("model", settings, llama_weights(settings, 5)), "model", "cpu")
        check_results(bench, module)
        check_bytes(bench)
        check_refusals(bench, module)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
