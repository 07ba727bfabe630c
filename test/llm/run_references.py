#!/usr/bin/env python3
"""Modules that read their weights from the model's own files (--weights=reference): equal to modules that hold them, and refused where a file was changed.

  run_references.py --bin BUILD/bin [--device cpu,vulkan]

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from llama_gguf import letters, write_llama  # noqa: E402
from random_models import bert_settings, bert_weights, llama_settings, llama_tokens, llama_weights  # noqa: E402
from run_decoders import Decoders, text_of  # noqa: E402
from run_encoders import write_folder  # noqa: E402

WORDS = 60
SETTINGS = llama_settings(vocab_size=WORDS, hidden_size=256, intermediate_size=512, head_dim=64, max_position_embeddings=64)
IDS = llama_tokens(SETTINGS, 31, 20)
LINES = [f"prefill {text_of(IDS)}", f"extend 0 {text_of(IDS[:-1])}", f"decode {len(IDS) - 1} {IDS[-1]}"]
SAMPLE = 64 * 1024  # bytes of a tensor that a load looks at
CHANGED = "it was changed, so compile the model again"


def facts_of(bench, module):
    return json.loads(bench.tool("vx-info", module, "--json")[0])


def refer(bench, source, module):
    bench.tool("vx-compile", source, f"--target={','.join(bench.devices)}", "--weights=reference", "-o", module)
    return facts_of(bench, module)


def begin_data(folder, remainder):
    """Pads the headers of a folder's safetensors files, so that their tensors begin so many bytes after a multiple of 8; writers of such files pad to 0."""
    for path in pathlib.Path(folder).glob("*.safetensors"):
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        spaces = (remainder - size) % 8
        path.write_bytes((size + spaces).to_bytes(8, "little") + content[8:8 + size] + b" " * spaces + content[8 + size:])


def check_equal(bench, title, source, folder, most, refers=True):
    """Both modules of a model give the same bits, and so does one that is saved from the module without weights; `most` is what this one may hold of the weights."""
    inside, module = bench.path("inside.vxm"), os.path.join(folder, "refers.vxm")
    bench.tool("vx-compile", source, f"--target={','.join(bench.devices)}", "-o", inside)
    facts = refer(bench, source, module)
    sections = [section for section in facts["sections"] if section["kind"] == "weights"]
    held = sum(section["size"] for section in sections if "external_file" not in section)
    files = sorted(section["external_file"] for section in sections if "external_file" in section)
    want = sorted(name for name in os.listdir(folder) if name.endswith((".gguf", ".safetensors"))) if refers else []
    bench.check(f"{title}: the files of the module", files == want and all("samples" in section for section in sections if "external_file" in section), (files, want))
    bench.check(f"{title}: bytes of weights in the module", held <= most, f"{held}, at most {most}")
    for device in bench.devices:
        answers, rows = bench.calls(inside, device, LINES, WORDS)
        bench.check(f"{title}: calls on {device}", all(answer.startswith("done") for answer in answers), answers)
        saved = bench.path("saved.vxm")
        again, same = bench.calls(module, device, [*LINES, f"save {saved}"], WORDS)
        bench.check(f"{title}: equal on {device}", again == [*answers, "saved"] and all(np.array_equal(a, b) for a, b in zip(same, rows)), again)
        bench.check(f"{title}: a saved module needs no file", not any("external_file" in section or "samples" in section for section in facts_of(bench, saved)["sections"]), saved)
        bench.tool("vx-info", "--verify", saved)
        _, same = bench.calls(saved, device, LINES, WORDS)
        bench.check(f"{title}: a saved module is equal on {device}", all(np.array_equal(a, b) for a, b in zip(same, rows)), saved)
    bench.tool("vx-info", "--verify", module)
    return module


def check_forms(bench):
    tensors = llama_weights(SETTINGS, 31)
    for kind in ("F32", "Q4_1", "Q6_K"):
        folder = bench.path(f"gguf-{kind}")
        os.makedirs(folder)
        write_llama(f"{folder}/model.gguf", SETTINGS, tensors, kind=kind, tokens=letters(WORDS))
        # Norms and tables of angles.
        check_equal(bench, f"a GGUF file of {kind}", f"{folder}/model.gguf", folder, 40_000)
    folder = bench.path("split")
    os.makedirs(folder)
    write_llama(pathlib.Path(folder) / "part.gguf", SETTINGS, tensors, tokens=letters(WORDS), split=9)
    first = next(name for name in sorted(os.listdir(folder)) if "-00001-of-" in name)
    check_equal(bench, "a split GGUF file", f"{folder}/{first}", folder, 40_000)
    for shards in (1, 3):
        folder = bench.folder_of(f"folder-{shards}", SETTINGS, tensors, shards=shards)
        begin_data(folder, 0)
        check_equal(bench, f"a folder with {shards} files", folder, folder, 40_000)
    # No element may lie across the multiples of its size: the tensors are copied into the module.
    begin_data(folder, 2)
    check_equal(bench, "a folder with floats at odd addresses", folder, folder, 10_000_000, refers=False)
    settings = bert_settings()
    folder = write_folder(bench, "encoder", settings, bert_weights(settings, 3))
    refer(bench, folder, f"{folder}/refers.vxm")
    bench.tool("vx-compile", folder, f"--target={','.join(bench.devices)}", "-o", bench.path("encoder.vxm"))
    for device in bench.devices:
        rows = [bench.embed(module, ["the cat sat", "a dog"], device)[0] for module in (f"{folder}/refers.vxm", bench.path("encoder.vxm"))]
        bench.check(f"an encoder on {device}", np.array_equal(*rows), rows)


def check_changes(bench):
    """Each change of a file that a load can see is refused, and the others are found by --verify."""
    folder = bench.path("changes")
    os.makedirs(folder)
    path, module = f"{folder}/model.gguf", f"{folder}/model.vxm"
    write_llama(path, SETTINGS, llama_weights(SETTINGS, 31), tokens=letters(WORDS))
    constants = refer(bench, path, module)["constants"]
    with open(path, "rb") as file:
        right = file.read()
    sections = facts_of(bench, module)["sections"]
    referred = [constant for constant in constants if "samples" in sections[constant["section"]]]
    begin = min(constant["offset"] for constant in referred)
    large = max(referred, key=lambda constant: constant["size"])
    bench.check("a tensor has more bytes than are sampled", large["size"] > SAMPLE + 8, large)

    def written(title, content, message):
        with open(path, "wb") as file:
            file.write(content)
        _, said = bench.tool("vx-info", module, code=3)
        bench.check(f"refused: {title}", message in said and "model.gguf" in said, said)

    def flipped(at):
        return right[:at] + bytes([right[at] ^ 1]) + right[at + 1:]

    for title, at in (("the first byte of the header", 0), ("the last byte of the header", begin - 1), ("the end of a sample", large["offset"] + SAMPLE - 1),
                      *((f"the first byte of {constant['name']}", constant["offset"]) for constant in referred)):
        written(title, flipped(at), CHANGED)
    written("a byte less", right[:-1], CHANGED)
    written("a byte more", right + b"\0", CHANGED)
    written("an empty file", b"", "model.gguf")
    os.remove(path)
    _, said = bench.tool("vx-info", module, code=3)
    bench.check("refused: no file", "model.gguf: cannot be opened: No such file" in said, said)
    for title, at in (("after a sample", large["offset"] + SAMPLE), ("the last byte of a tensor", large["offset"] + large["size"] - 1)):
        with open(path, "wb") as file:
            file.write(flipped(at))
        bench.tool("vx-info", module)
        _, said = bench.tool("vx-info", "--verify", module, code=3)
        bench.check(f"--verify finds {title}", "is damaged" in said and "model.gguf" in said, said)
    # The times of a file are not compared: a copy of both files is a module.
    moved = bench.path("moved")
    os.makedirs(moved)
    with open(path, "wb") as file:
        file.write(right)
    for name in ("model.gguf", "model.vxm"):
        shutil.copyfile(f"{folder}/{name}", f"{moved}/{name}")
    os.utime(f"{moved}/model.gguf", (0, 0))
    bench.tool("vx-info", "--verify", f"{moved}/model.vxm")


def check_usage(bench):
    folder = bench.path("usage")
    os.makedirs(f"{folder}/other")
    path = f"{folder}/model.gguf"
    write_llama(path, SETTINGS, llama_weights(SETTINGS, 31), tokens=letters(WORDS))
    for output in (f"{folder}/other/model.vxm", bench.path("model.vxm")):
        _, said = bench.tool("vx-compile", path, "--target=cpu", "--weights=reference", "-o", output, code=2)
        bench.check("refused: a module in another folder", f"expected the module in the folder of '{path}', got '{output}'" in said and not os.path.exists(output), said)
    # A link is the file.
    os.symlink(path, f"{folder}/other/link.gguf")
    refer(bench, f"{folder}/other/link.gguf", f"{folder}/other/link.vxm")
    answers, _ = bench.calls(f"{folder}/other/link.vxm", "cpu", LINES, WORDS)
    bench.check("a link", all(answer.startswith("done") for answer in answers), answers)
    text = bench.path("text.mlir")
    with open(text, "w", encoding="utf-8") as file:
        file.write("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %y = vx.neg %x : tensor<2xf32>\n  return %y : tensor<2xf32>\n}\n")
    _, said = bench.tool("vx-compile", text, "--target=cpu", "--weights=reference", "-o", bench.path("text.vxm"), code=2)
    bench.check("refused: another form of a model", "--weights=reference: expected a GGUF file, or a folder with safetensors files, got a model of another form" in said, said)


def check_cache(bench):
    """vx-llm keeps a module in the cache that refers to the model: no second copy of the weights."""
    tensors = llama_weights(SETTINGS, 31)
    folder, parts = bench.path("models"), bench.path("parts")
    for path in (folder, parts):
        os.makedirs(path)
    write_llama(f"{folder}/m.gguf", SETTINGS, tensors, tokens=letters(WORDS))
    write_llama(pathlib.Path(parts) / "part.gguf", SETTINGS, tensors, tokens=letters(WORDS), split=9)
    safe = bench.folder_of("cached-folder", SETTINGS, tensors, shards=2)
    begin_data(safe, 0)
    flags = ["--prompt", "hello", "--max-tokens", "8", "--temperature", "0", "--device=cpu"]
    first = next(name for name in sorted(os.listdir(parts)) if "-00001-of-" in name)
    models = pathlib.Path(bench.path("cache")) / "models"
    shutil.rmtree(models, ignore_errors=True)

    def kept():
        return {path: path.stat().st_mtime_ns for path in models.glob("*/model.vxm")}

    for source, count in ((f"{folder}/m.gguf", 1), (f"{parts}/{first}", len(os.listdir(parts))), (safe, 2)):
        inside, before = bench.path("inside.vxm"), kept()
        bench.tool("vx-compile", source, "--target=cpu", "-o", inside)
        want, _ = bench.tool("vx-llm", "run", inside, *flags)
        answers = {bench.tool("vx-llm", "run", source, *flags)[0] for _ in range(2)}
        made = set(kept()) - set(before) or set(before)
        bench.check(f"one answer by {source}", answers == {want}, (answers, want))
        bench.check(f"one module of {source}", len(made) == 1, made)
        place = next(iter(made)).parent
        links = [path for path in place.iterdir() if path.is_symlink()]
        bench.check(f"links to the files of {source}", len(links) == count and len(list(place.iterdir())) == count + 1, list(place.iterdir()))
        bench.check(f"the module of {source} has no copy", (place / "model.vxm").stat().st_size < 1_000_000, (place / "model.vxm").stat().st_size)
    # A file of the same size and time with other weights is another model, and what it was before is removed.
    want, _ = bench.tool("vx-llm", "run", f"{folder}/m.gguf", *flags)
    before, times = kept(), os.stat(f"{folder}/m.gguf")
    write_llama(f"{folder}/m.gguf", SETTINGS, llama_weights(SETTINGS, 32), tokens=letters(WORDS))
    os.utime(f"{folder}/m.gguf", ns=(times.st_atime_ns, times.st_mtime_ns))
    other, _ = bench.tool("vx-llm", "run", f"{folder}/m.gguf", *flags)
    bench.check("other weights, another answer", other != want and os.stat(f"{folder}/m.gguf").st_size == times.st_size, (other, want))
    os.utime(f"{folder}/m.gguf", ns=(times.st_atime_ns, times.st_mtime_ns + 10**9))
    again, _ = bench.tool("vx-llm", "run", f"{folder}/m.gguf", *flags)
    bench.check("the module of before is removed, and the model is not", again == other and len(kept()) == len(before) and len(set(kept()) - set(before)) == 1 and os.path.exists(f"{folder}/m.gguf"), kept())
    # Without a cache there is a folder for the run, and no copy.
    environment = {name: value for name, value in bench.environment().items() if name not in ("VX_CACHE", "XDG_CACHE_HOME", "HOME")}
    done = subprocess.run([os.path.join(bench.bin, "vx-llm"), "run", f"{folder}/m.gguf", *flags], capture_output=True, text=True, env=environment)
    bench.check("without a cache", (done.returncode, done.stdout) == (0, other), done)


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Decoders(options.bin, folder, options.device.split(","))
        check_forms(bench)
        check_changes(bench)
        check_usage(bench)
        check_cache(bench)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
