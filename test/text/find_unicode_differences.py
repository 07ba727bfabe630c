"""Writes the code points that tokenizers and PyPI's treat differently one by one, since their versions of Unicode differ.

    find_unicode_differences.py --bin DIR > unicode_differences.txt

Only of those that Python's unicodedata has as assigned. Each property is looked at by a tokenizer of bytes with one component in front.
"""
import argparse
import json
import pathlib
import struct
import sys
import tempfile
import unicodedata

import tokenizers

import run_tokenizers

KEPT = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
OTHERS = [byte for byte in range(256) if byte not in KEPT]
VOCABULARY = {chr(byte if byte in KEPT else 256 + OTHERS.index(byte)): byte for byte in range(256)}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
CLASSES = (r"\p{L}", r"\p{N}", r"\p{M}", r"\s", r"\w", r"\p{Lu}", r"\p{Ll}", r"\p{P}", r"\p{S}")
PARTS = [("pre_tokenizer", {"type": "Split", "pattern": {"Regex": name}, "behavior": "Removed", "invert": False}) for name in CLASSES]
PARTS += [("pre_tokenizer", {"type": "Punctuation", "behavior": "Removed"}), ("pre_tokenizer", {"type": "Whitespace"})]
PARTS += [("normalizer", {"type": name}) for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")]
PARTS += [("normalizer", {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True})]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options = parser.parse_args()
    codes = [code for code in range(0x80, 0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for place, part in PARTS:
            words = [part, BYTES] if place == "pre_tokenizer" else [BYTES]
            description = {"version": "1.0", "added_tokens": [], "normalizer": part if place == "normalizer" else None,
                           "pre_tokenizer": {"type": "Sequence", "pretokenizers": words}, "post_processor": None, "decoder": None,
                           "model": {"type": "BPE", "vocab": VOCABULARY, "merges": []}}
            path = pathlib.Path(folder) / "tokenizer.json"
            path.write_text(json.dumps(description), encoding="utf-8")
            theirs, peer = tokenizers.Tokenizer.from_file(str(path)), run_tokenizers.Peer(options.bin / "tokenizer_peer", path)
            answer, at = peer.ask("c", struct.pack(f"<{len(codes)}i", *codes)), 0
            for code in codes:
                count = struct.unpack_from("<I", answer, at)[0]
                ours = list(struct.unpack_from(f"<{count}i", answer, at + 4))
                at += 4 + 4 * count
                if theirs.encode(f"a{chr(code)}a").ids != ours:
                    found.setdefault(code, set()).add(part.get("pattern", {}).get("Regex", part["type"]))
            peer.close()
            print(f"{part}: {sum(1 for names in found.values())} so far", file=sys.stderr)
    print("# Written by find_unicode_differences.py: code points that versions of Unicode tell apart, and by what.")
    for code in sorted(found):
        print(f"{code:04x} {' '.join(sorted(found[code]))}")


if __name__ == "__main__":
    main()
