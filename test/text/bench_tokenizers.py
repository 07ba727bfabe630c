"""Rates of tokenizers and PyPI's, on one thread, in turns, on texts in English and in Chinese and Japanese.

    bench_tokenizers.py --bin DIR --cache DIR [--rounds 5] [NAME...]

The texts are alice.txt (English) and CalltoArms.txt (Chinese) of the package wordcloud, and "kana", which a seed draws from the vocabularies' own words of
ideographs and kana. A rate is that of the best round.
"""
import argparse
import os
import pathlib
import random
import struct
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import run_tokenizers
import vocabularies


def texts(files, cache):
    import json
    folder = vocabularies.fetch("wordcloud", cache)
    read = lambda name: (folder / name).read_text(encoding="utf-8-sig")
    words = sorted(word for word in json.loads(files["bert-bge"].read_text(encoding="utf-8"))["model"]["vocab"]
                   if all(0x3040 <= ord(c) < 0xa000 for c in word))
    draw = random.Random(1)
    kana = "".join(draw.choice(words) + ("。\n" if draw.random() < 0.02 else "、" if draw.random() < 0.05 else "") for _ in range(300000))
    return {"alice.txt": read("alice.txt"), "CalltoArms.txt": read("CalltoArms.txt"), "kana": kana[:1 << 18]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    vocabularies.check_names(options.names, ending=".json")
    import tokenizers
    files = vocabularies.write_vocabularies(options.cache)
    samples = texts(files, options.cache)
    for name, path in files.items():
        if path.suffix != ".json" or (options.names and name not in options.names):
            continue
        theirs, peer = tokenizers.Tokenizer.from_file(str(path)), run_tokenizers.Peer(options.bin / "tokenizer_peer", path)
        for kind, text in samples.items():
            lines = text.splitlines(keepends=True)
            parts = ["".join(lines[i:i + 50]) for i in range(0, len(lines), 50)]
            size, best = sum(len(part.encode()) for part in parts), [float("inf")] * 2
            for _ in range(options.rounds):
                begin = time.perf_counter()
                for part in parts:
                    theirs.encode(part)
                best[0] = min(best[0], time.perf_counter() - begin)
                best[1] = min(best[1], sum(struct.unpack("<dI", peer.ask("t", part.encode()))[0] for part in parts))
            print(f"{name:16} {kind:14} tokenizers {size / best[0] / 1e6:7.2f} MB/s   vx {size / best[1] / 1e6:7.2f} MB/s   {best[0] / best[1]:5.1f}x", flush=True)
        peer.close()


if __name__ == "__main__":
    main()
