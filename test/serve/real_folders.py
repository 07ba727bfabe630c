"""Folders as they are found in the wild: tokenizers of each kind of file, and what exporters and older versions of sentence-transformers leave."""
import json
import os
import shutil

import numpy as np
from onnxruntime.quantization import QuantType, quantize_dynamic

from embedding_models import SENTENCEPIECE, Folder, texts, tiny_model, write_json


def embed_all(bench, folder, given):
    """Vectors of a folder on the CPU; and what was said when it was compiled."""
    module = bench.path(os.path.basename(folder.path) + ".vxm")
    _, said = bench.tool("vx-compile", folder.path, "--target=cpu", "-o", module)
    got, report, _ = bench.embed(module, given)
    want, tokens = folder.expected(given)
    name = os.path.basename(folder.path)
    bench.compare(name, got, want)
    bench.check(f"{name}: tokens", report["tokens"] == tokens, (report, tokens))
    return module, said


def check_tokenizers(bench):
    """SentencePiece models, and vocab.txt with case and without; texts are cut at the right, or at the left."""
    given = [*texts(30, 7), "GUITARS Guitars guitars", "Ärger naïve", "\u200bstar\u00a0moon \t sun\n", "</s> star <s>", "ﬁre ½ star"]
    for number, tokenizer in enumerate(SENTENCEPIECE):
        embed_all(bench, Folder(bench.path(tokenizer), tokenizer=tokenizer, seed=number, max_tokens=24, pooling="last" if number == 1 else "mean", side="left" if number == 2 else "right"), given)
    for number, (cased, side) in enumerate(((True, "right"), (False, "left"))):
        embed_all(bench, Folder(bench.path(f"vocabulary-{cased}-{side}"), cased=cased, side=side, seed=number, max_tokens=24), given)
    left = Folder(bench.path("tokenizer.json-left"), tokenizer="tokenizer.json", side="left", max_tokens=24)
    write_json(f"{left.path}/tokenizer_config.json", {"truncation_side": "left"})
    embed_all(bench, left, given)


def check_layouts(bench):
    given = texts(20, 8)

    # As optimum exports: the model and others of it in "onnx", with both the tokens' vectors and the text's.
    folder = Folder(bench.path("exported"), model="onnx/model.onnx", output="token_embeddings", also=("sentence_embedding",), outside="model.onnx_data", normalize=True)
    for other in ("model_quantized.onnx", "model_O3.onnx"):
        tiny_model(f"{folder.path}/onnx/{other}", seed=5)
    bench.check("the usual file is no assumption", "model.onnx" not in embed_all(bench, folder, given)[1])

    # The only file that there is.
    folder = Folder(bench.path("quantized"), model="onnx/model_quantized.onnx", also=("pooler_output",), types=False)
    _, said = embed_all(bench, folder, given)
    bench.check("which file is taken is said", f"'{folder.path}/onnx' has no model.onnx: the model is 'model_quantized.onnx', its only .onnx file" in said, said)

    # Numbers that are scaled by the largest of a batch: a text's vector is the same in any company. ONNX Runtime may round one to its neighbour.
    whole = folder.model + ".whole"
    os.rename(folder.model, whole)
    quantize_dynamic(whole, folder.model, weight_type=QuantType.QUInt8)
    module = bench.path("dynamic.vxm")
    bench.tool("vx-compile", folder.path, "--target=cpu", "-o", module)
    alone = np.concatenate([bench.embed(module, [text])[0] for text in given[:6]])
    got, report, said = bench.embed(module, given)
    bench.check("quantized vectors do not depend on others", (got[:6] == alone).all() and report["batches"] == len(given), np.abs(got[:6] - alone).max())
    bench.check("why they are not run together", "note: each text is run by itself, since its vector may depend on others of a batch: " in said and "(DynamicQuantizeLinear)" in said, said)
    near = np.abs(got[:6] - np.concatenate([folder.expected([text])[0] for text in given[:6]])).max()
    bench.check("quantized vectors are near ONNX Runtime's", near <= 0.05 * np.abs(got).max(), near)

    # As the first versions had it: a folder of the transformer's own, with a configuration that has the model's name.
    folder = Folder(bench.path("old"), max_tokens=9)
    os.makedirs(f"{folder.path}/0_Transformer")
    for name in ("model.onnx", "config.json", "vocab.txt", "tokenizer_config.json"):
        os.rename(f"{folder.path}/{name}", f"{folder.path}/0_Transformer/{name}")
    os.rename(f"{folder.path}/sentence_bert_config.json", f"{folder.path}/0_Transformer/sentence_roberta_config.json")
    folder.model = f"{folder.path}/0_Transformer/model.onnx"
    modules = json.load(open(f"{folder.path}/modules.json"))
    modules[0]["path"] = "0_Transformer"
    write_json(f"{folder.path}/modules.json", modules)
    embed_all(bench, folder, given)

    # RoBERTa's places begin behind the number of padding: of 64, with padding 1, a text has 62. And the keys that newer versions write.
    folder = Folder(bench.path("roberta"), max_tokens=62)
    os.remove(f"{folder.path}/sentence_bert_config.json")
    write_json(f"{folder.path}/config.json", {"max_position_embeddings": 64, "pad_token_id": 1, "model_type": "roberta"})
    write_json(f"{folder.path}/1_Pooling/config.json", {"embedding_dimension": 24, "pooling_mode": "mean", "include_prompt": True})
    module, _ = embed_all(bench, folder, [*given, "star " * 61])
    _, said = bench.tool("vx-embed", "test", f"--model={module}", "--text=" + "star " * 61, "--no-truncate", "--device=cpu", code=2)
    bench.check("places of RoBERTa", "the text has 63 tokens, the model takes 62" in said, said)
    shutil.rmtree(folder.path)
