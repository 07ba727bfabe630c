"""Compares tokenizers with PyPI's `tokenizers` and `sentencepiece` on vocabularies that are made for it: of few letters, so that runs, pairs of one rank, sums of scores that are
equal, words at the limit and what is unknown meet in every text.

    run_made_vocabularies.py --bin DIR [--vocabularies 161] [--strings 125] [--seed 1]

Real vocabularies hardly have any of this: run_tokenizers.py has those.
"""
import argparse
import json
import pathlib
import random
import struct
import sys
import tempfile

import sentencepiece
import tokenizers

from run_tokenizers import Differences, Peer, rows

LETTERS = ("a", "b", "é", "中")
UNKNOWN = ("z", "ü", "😀")
# Around where ours changes its way: 24 symbols are merged one by one, 28 bytes are kept of a word, and 8 tokens.
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 48, 63, 64, 65, 99, 100, 101, 127, 255)


def words(draw, letters, tokens, limit):
    """One word without a space."""
    kind = draw.randrange(7)
    size = draw.choice(LENGTHS) if draw.random() < 0.6 else max(0, limit + draw.randrange(-1, 2))
    if kind == 0:
        return draw.choice(letters) * size
    if kind == 1:
        pair = draw.choice(letters) + draw.choice(letters)
        return (pair * size)[:draw.choice((size, size + 1))]
    if kind == 2:
        return "".join(draw.choice(letters[:2]) for _ in range(size))
    if kind == 3:
        return "".join(draw.choice(tokens) for _ in range(draw.randrange(1, 9)))
    if kind == 4:  # a run with something else in it
        run, other, place = draw.choice(letters), draw.choice(letters + UNKNOWN), draw.randrange(size + 1)
        return run * place + other + run * (size - place)
    if kind == 5:
        return "".join(draw.choice(letters + UNKNOWN) for _ in range(draw.randrange(0, 30)))
    return draw.choice(UNKNOWN) * draw.randrange(1, 5) + draw.choice(tokens) * draw.randrange(0, 12)


def text(draw, letters, tokens, limit):
    return draw.choice((" ", " ", "  ", "")).join(words(draw, letters, tokens, limit) for _ in range(draw.choice((1, 1, 1, 2, 3))))


def pieces(draw, letters, count):
    """Letters, and what some of them make together, which is often the same in several ways."""
    made, longest = list(letters), draw.choice((9, 9, 40))
    for _ in range(count):
        both = draw.choice(made) + draw.choice(made)
        if len(both) <= longest and both not in made:
            made.append(both)
    return made


def document(model, pre_tokenizer, decoder=None):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": decoder, "model": model}


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPLIT = {"type": "WhitespaceSplit"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def word_piece(draw):
    limit = draw.choice((1, 2, 3, 8, 24, 100))
    first, others = pieces(draw, LETTERS[:draw.randrange(1, 5)], draw.randrange(0, 12)), pieces(draw, LETTERS[:draw.randrange(1, 5)], draw.randrange(0, 12))
    vocabulary, step = ["[UNK]"] + first + ["##" + piece for piece in others], draw.choice((1, 1, 3))
    return document({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": limit, "vocab": {token: id * step for id, token in enumerate(vocabulary)}},
                    draw.choice((SPLIT, {"type": "BertPreTokenizer"}))), first + others, limit


def merges_of(draw, vocabulary, count, prefix):
    """Pairs in a random order; some of them make a token that others have made."""
    merges = []
    for _ in range(count):
        left, right = draw.choice(vocabulary), draw.choice(vocabulary)
        if left.endswith("</w>") or not right.startswith(prefix) or [left, right] in merges or len(left + right) > 14:
            continue
        merges.append([left, right])
        if (both := left + right[len(prefix):]) not in vocabulary:
            vocabulary.append(both)
    return merges


def bpe(draw):
    letters = LETTERS[:draw.randrange(1, 5)]
    prefix, suffix = draw.choice((("", ""), ("", ""), ("##", ""), ("", "</w>")))
    vocabulary = ["<unk>"] if (has_unknown := draw.random() < 0.7) else []
    vocabulary += [front + letter + end for letter in letters for front in {"", prefix} for end in {"", suffix}]
    has_bytes = not prefix and not suffix and draw.random() < 0.3
    plain = [token for token in vocabulary if token != "<unk>"]
    merges = merges_of(draw, plain, draw.randrange(0, 30), prefix)
    vocabulary = list(dict.fromkeys(vocabulary + (BYTES if has_bytes else []) + plain))
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>" if has_unknown else None, "continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None, "fuse_unk": draw.random() < 0.5,
             "byte_fallback": has_bytes, "ignore_merges": draw.random() < 0.3, "vocab": {token: id for id, token in enumerate(vocabulary)}, "merges": merges}
    spelled = [token.removeprefix(prefix).removesuffix(suffix) if prefix or suffix else token for token in plain]
    return document(model, draw.choice((SPLIT, None)) if not prefix and not suffix else SPLIT), spelled, 24


def byte_bpe(draw):
    from tokenizers import pre_tokenizers
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    spell = lambda text: "".join(piece for piece, _ in pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text))
    plain = [spell(letter) for letter in LETTERS[:2]] + [c for letter in LETTERS[2:] for c in spell(letter)] + [spell(" ")]
    merges = merges_of(draw, plain, draw.randrange(0, 30), "")
    has_all = draw.random() < 0.7  # else some bytes have no token
    vocabulary = list(dict.fromkeys((sorted(alphabet) if has_all else ["<unk>"]) + plain))
    model = {"type": "BPE", "dropout": None, "unk_token": None if has_all else "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": draw.random() < 0.5, "byte_fallback": False, "ignore_merges": draw.random() < 0.5,
             "vocab": {token: id for id, token in enumerate(vocabulary)}, "merges": merges}
    level = {"type": "ByteLevel", "add_prefix_space": draw.random() < 0.5, "trim_offsets": False, "use_regex": draw.random() < 0.7}
    return document(model, level, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}), ["a", "b", "ab", "ba", "aa", "é", " a"], 24


def scores(draw, count):
    """Of few values, so that many sums are equal."""
    values = draw.choice(((-1.0,), (-1.0, -2.0), (-1.0, -2.0, -3.0, -4.0), (-1.5, -3.0, -0.75), (-0.1, -0.2, -0.3)))
    return [draw.choice(values) for _ in range(count)]


def unigram(draw):
    made = pieces(draw, LETTERS[:draw.randrange(1, 5)] + ("▁",), draw.randrange(0, 20))
    has_bytes = draw.random() < 0.3
    tokens = ["<unk>"] + made + (BYTES if has_bytes else [])
    model = {"type": "Unigram", "unk_id": 0, "byte_fallback": has_bytes, "vocab": [list(pair) for pair in zip(tokens, [0.0] + scores(draw, len(tokens) - 1))]}
    return document(model, draw.choice((METASPACE, SPLIT, None))), made, 24


def word_level(draw):
    made = pieces(draw, LETTERS, 10)
    return document({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {token: id for id, token in enumerate(["[UNK]"] + made)}}, draw.choice((SPLIT, {"type": "Whitespace"}))), made, 4


def field(number, value):
    """Of a protobuf: bytes, a float or a number."""
    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3 | 5) + struct.pack("<f", value) if isinstance(value, float) else varint(number << 3) + varint(value)


def sentencepiece_model(draw, is_bpe):
    """A file of SentencePiece: all kinds of pieces, and scores that are equal."""
    made = pieces(draw, LETTERS[:draw.randrange(2, 5)] + ("▁",), draw.randrange(0, 24))
    has_bytes = draw.random() < 0.4
    normal, unknown, control, user, unused, byte = 1, 2, 3, 4, 5, 6
    entries = [("<unk>", 0.0, unknown), ("<s>", 0.0, control), ("</s>", 0.0, control)]
    for piece, score in zip(made, scores(draw, len(made))):
        kind = draw.choice((normal,) * 8 + (unused, user)) if len(piece) > 1 else normal
        entries.append((piece, score, kind))
    entries += [(name, 0.0, byte) for name in BYTES] if has_bytes else []
    data = b"".join(field(1, field(1, name.encode()) + field(2, score) + field(3, kind)) for name, score, kind in entries)
    data += field(2, field(3, 2 if is_bpe else 1) + field(35, int(has_bytes)))
    data += field(3, field(1, b"identity") + field(3, int(draw.random() < 0.5)) + field(4, int(draw.random() < 0.5)) + field(5, 1))
    return data, [piece.replace("▁", " ") for piece in made], 24


JSON_KINDS = (word_piece, bpe, byte_bpe, unigram, word_level)


def check_long(draw, theirs, peer, differences, name, longs):
    """Long texts that are cut off: of these no more is looked at than that takes. `theirs` gives all tokens."""
    for one in longs:
        all_ids, size = theirs(one), len(one.encode())
        limits = [draw.randrange(1, 200)]
        # 16 bytes a token and 4096 more are looked at first: where tokens are so long that the end of these is near the limit, it is to end where no token does not.
        if (mean := size / max(1, len(all_ids))) > 16:
            limits += [max(1, int(4096 / (mean - 16)) + more) for more in range(-3, 4)]
        for most in limits:
            differences.compare(f"tokens of a long text that is cut off at {most} ({name})", one[:40] + "...", (all_ids[:most], len(all_ids) > most), peer.cut(one, most))


def long_texts(draw, tokens, limit):
    """With and without spaces, and runs, longer than what is looked at first."""
    return ["".join(words(draw, LETTERS, tokens, limit) + draw.choice((" ", " ", "  ", "\n", "", "a b")) for _ in range(1500)), "".join(words(draw, LETTERS[:2], tokens, limit) for _ in range(1500)),
            draw.choice(LETTERS) * 20000 + " b" + "ab" * 9000, draw.choice(UNKNOWN) * 15000]


def seconds_of(peer, one, most):
    """Of the peer's processor time, which does not grow with what else the machine does: the least of three turns."""
    def taken():
        with open(f"/proc/{peer.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    turns = []
    for _ in range(9):
        began = taken()
        peer.cut(one, most)
        turns.append(taken() - began)
    return min(turns)


def check_stops(options, folder, differences):
    """A text of 4 MB that is cut off after 100 tokens takes next to nothing of what all of it takes; the latter is the time for more tokens than it has."""
    one = "ab ba aab a b abba " * 220000
    for make in (word_piece, byte_bpe, lambda draw: sentencepiece_model(draw, True), lambda draw: sentencepiece_model(draw, False)):
        draw = random.Random(7)
        made = make(draw)[0]
        if make is byte_bpe:
            made["pre_tokenizer"]["use_regex"] = True
        path = folder / ("long.model" if isinstance(made, bytes) else "long.json")
        path.write_bytes(made if isinstance(made, bytes) else json.dumps(made).encode())
        peer = Peer(options.bin / "tokenizer_peer", path)
        part, whole = seconds_of(peer, one, 100), seconds_of(peer, one, 1 << 30)
        peer.close()
        differences.compare(f"time of a long text ({path.name}: {part:.4f} s for a part, {whole:.4f} s for all)", one[:40] + "...", True, part < whole / 4)


def check_cuts(options, folder, differences):
    """Texts of words, or of words with spaces in them, that are a token each, and in parts one for each letter: where one is cut, the front has tokens that the
    whole has not."""
    draw, path = random.Random(3), folder / "cuts.json"
    plain = ["".join(draw.choice("ab") for _ in range(40)) for _ in range(8)]
    spaced = [" ".join("".join(draw.choice("ab") for _ in range(3)) for _ in range(10)) + "b" for _ in range(8)]
    word_piece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {token: id for id, token in enumerate(["[UNK]", "a", "b", "##a", "##b", *plain])}}
    unigram = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0.0], *([letter, -9.0] for letter in "ab "), *([word, -1.0] for word in spaced)]}
    for model, pre_tokenizer, words, between in ((word_piece, SPLIT, plain, " "), (unigram, None, spaced, "")):
        path.write_text(json.dumps(document(model, pre_tokenizer)))
        theirs, peer = tokenizers.Tokenizer.from_file(str(path)), Peer(options.bin / "tokenizer_peer", path)
        one = between.join(draw.choice(words) for _ in range(1500))
        all_ids = theirs.encode(one).ids
        # 16 bytes a token and 4096 more, which are looked at first, are about 164 of these words.
        for most in range(140, 240):
            differences.compare(f"tokens of a text of {model['type']} that is cut off at {most}", one[:40] + "...", (all_ids[:most], True), peer.cut(one, most))
        peer.close()


def check_json(options, number, make, folder, differences):
    draw = random.Random(f"{options.seed} {number}")
    made, tokens, limit = make(draw)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    theirs, peer = tokenizers.Tokenizer.from_file(str(path)), Peer(options.bin / "tokenizer_peer", path)
    for _ in range(options.strings):
        one = text(draw, LETTERS, tokens, limit)
        want = theirs.encode(one)
        differences.compare(f"tokens ({make.__name__} {number})", one, rows(want), peer.encode(one))
        differences.compare(f"text ({make.__name__} {number})", one, theirs.decode(want.ids), peer.decode(want.ids))
    if number < options.long:
        check_long(draw, lambda one: theirs.encode(one).ids, peer, differences, f"{make.__name__} {number}", long_texts(draw, tokens, limit))
    peer.close()


def check_sentencepiece(options, number, is_bpe, folder, differences):
    draw = random.Random(f"{options.seed} {number}")
    data, tokens, limit = sentencepiece_model(draw, is_bpe)
    path = folder / "tokenizer.model"
    path.write_bytes(data)
    theirs, peer = sentencepiece.SentencePieceProcessor(model_proto=data), Peer(options.bin / "tokenizer_peer", path)
    name = "SentencePiece's " + ("BPE" if is_bpe else "unigram")
    for _ in range(options.strings):
        one = text(draw, LETTERS, tokens, limit)
        want = theirs.encode(one)
        differences.compare(f"tokens ({name} {number})", one, want, [row[0] for row in peer.encode(one)])
        differences.compare(f"text ({name} {number})", one, theirs.decode(want), peer.decode(want))
    if number < options.long:
        check_long(draw, theirs.encode, peer, differences, f"{name} {number}", long_texts(draw, tokens, limit))
    peer.close()


# What differed once: the seed, the number and a text. Sums of a user's piece that are a rounding apart decide here.
FOUND = ((2, 510, " b b ba ba b bb bb bab b"),)


def check_found(options, folder, differences):
    for seed, number, one in FOUND:
        path = folder / "tokenizer.model"
        data = sentencepiece_model(random.Random(f"{seed} {number}"), False)[0]
        path.write_bytes(data)
        peer = Peer(options.bin / "tokenizer_peer", path)
        differences.compare(f"tokens ({seed} {number})", one, sentencepiece.SentencePieceProcessor(model_proto=data).encode(one), [row[0] for row in peer.encode(one)])
        peer.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--vocabularies", type=int, default=161)
    parser.add_argument("--strings", type=int, default=125)
    parser.add_argument("--long", type=int, default=42, help="so many of the vocabularies get long texts that are cut off")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    differences = Differences("made vocabularies")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for number in range(options.vocabularies):
            kind = number % (len(JSON_KINDS) + 2)
            if kind < len(JSON_KINDS):
                check_json(options, number, JSON_KINDS[kind], folder, differences)
            else:
                check_sentencepiece(options, number, kind == len(JSON_KINDS), folder, differences)
        check_found(options, folder, differences)
        check_cuts(options, folder, differences)
        check_stops(options, folder, differences)
    print(f"{options.vocabularies} vocabularies, {options.vocabularies * options.strings} strings, {differences.count} differences")
    if differences.count:
        raise SystemExit("FAILED: the made vocabularies differ")


if __name__ == "__main__":
    sys.exit(main())
