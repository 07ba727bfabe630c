"""Folders of encoders that are wrong: the index of several files, the settings and the tensors. Each is a change of a folder that is right, with the end of the message of vx-compile."""
import json
import os
import shutil

import numpy as np

from embedding_models import VOCABULARY, without_places, write_json, write_safetensors
from random_models import bert_settings, bert_weights

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


def refused(bench, right, name, change, message):
    path = bench.path("wrong")
    shutil.copytree(right, path)
    change(path)
    _, said = bench.tool("vx-compile", path, "--target=cpu", "-o", bench.path("wrong.vxm"), code=3)
    bench.check(f"refused: {name}", message in without_places(said) and said.count("\n") == 1, f"want '{message}', got {said}")
    bench.check("no module is left", not os.path.exists(bench.path("wrong.vxm")))
    shutil.rmtree(path)


def edit(name, change):
    def run(path):
        value = json.load(open(f"{path}/{name}"))
        value = change(value) or value
        write_json(f"{path}/{name}", value)
    return run


def check_wrong_indices(bench, write_folder):
    settings = bert_settings(vocab_size=len(VOCABULARY))
    tensors = bert_weights(settings, 7)
    right = write_folder(bench, "right-shards", settings, tensors, shards=2)
    one = "embeddings.LayerNorm.bias"  # of the first file

    def place(file):
        return edit(INDEX, lambda index: index["weight_map"].update({one: file}))

    def add_to_second(name):
        def run(path):
            names = sorted(tensors)[1::2]
            write_safetensors(f"{path}/{SECOND}", {**{n: ("F32", tensors[n]) for n in names}, name: ("F32", tensors[one])})
        return run

    def link_outside(path):
        shutil.move(f"{path}/{FIRST}", bench.path("elsewhere.safetensors"))
        place("../elsewhere.safetensors")(path)

    outside = "': expected the name of a file in the folder of the index, got "
    for name, change, message in (
            ("a file outside", link_outside, f"wrong/{INDEX}: 'weight_map': '{one}{outside}\"../elsewhere.safetensors\""),
            ("a whole path", place("/etc/passwd"), f"wrong/{INDEX}: 'weight_map': '{one}{outside}\"/etc/passwd\""),
            ("a folder", place(".."), f"wrong/{INDEX}: 'weight_map': '{one}{outside}\"..\""),
            ("no name", place(""), f"wrong/{INDEX}: 'weight_map': '{one}{outside}\"\""),
            ("no text", place(3), f"wrong/{INDEX}: 'weight_map': '{one}{outside}3"),
            ("a folder in it", place("1_Pooling"), f"wrong/1_Pooling: expected a file, since {INDEX} has tensor '{one}' in it, got none"),
            ("a missing file", lambda path: os.remove(f"{path}/{FIRST}"), f"wrong/{FIRST}: expected a file, since {INDEX} has tensor '"),
            ("another file", place(SECOND), f"wrong/{FIRST}: tensor '{one}' is in '{SECOND}' by the 'weight_map' of "),
            ("a tensor twice", add_to_second(one), f"wrong/{SECOND}: tensor '{one}' is also in "),
            ("a tensor more", add_to_second("more"), f"wrong/{SECOND}: tensor 'more' is not in the 'weight_map' of "),
            ("a tensor less", edit(INDEX, lambda index: index["weight_map"].update(none=FIRST)), f"wrong/{FIRST}: expected tensor 'none', as the 'weight_map' of "),
            ("no map", edit(INDEX, lambda index: index.pop("weight_map") and None), f"wrong/{INDEX}: 'weight_map': expected an object with the file of each tensor, got none"),
            ("a list", edit(INDEX, lambda index: index.update(weight_map=[])), f"wrong/{INDEX}: 'weight_map': expected an object with the file of each tensor, got []"),
            ("an unknown key", edit(INDEX, lambda index: index.update(format="gz")), f"wrong/{INDEX}: 'format' is \"gz\", but the reader of an index of safetensors files does not read this key"),
            ("no JSON", lambda path: open(f"{path}/{INDEX}", "w").write("{"), f"wrong/{INDEX}: expected JSON: "),
            ("a file cut off", lambda path: os.truncate(f"{path}/{FIRST}", 900), f"wrong/{FIRST}: truncated: "),
            ("an empty file", lambda path: os.truncate(f"{path}/{SECOND}", 0), f"wrong/{SECOND}: truncated: a safetensors file has 8 bytes or more, got 0")):
        refused(bench, right, name, change, message)
    # The file of all, where both are there, as transformers has it; and a link, as caches of downloaded models have.
    os.rename(f"{right}/{FIRST}", bench.path("linked.safetensors"))
    os.symlink(bench.path("linked.safetensors"), f"{right}/{FIRST}")
    bench.tool("vx-compile", right, "--target=cpu", "-o", bench.path("linked.vxm"))
    write_safetensors(f"{right}/model.safetensors", {name: ("F32", tensor) for name, tensor in tensors.items()})
    os.remove(f"{right}/{SECOND}")
    bench.tool("vx-compile", right, "--target=cpu", "-o", bench.path("linked.vxm"))
    bench.check("links and a whole file", os.path.exists(bench.path("linked.vxm")))


def check_wrong_settings(bench, write_folder):
    settings = bert_settings(vocab_size=len(VOCABULARY))
    tensors = bert_weights(settings, 7)
    right = write_folder(bench, "right-settings", settings, tensors)

    def change_settings(**changes):
        return edit("config.json", lambda value: {key: item for key, item in {**value, **changes}.items() if item != "gone"})

    def change_tensors(**changes):
        def run(path):
            kept = {name.replace("/", "."): tensor for name, tensor in {**tensors, **{name.replace("__", "."): tensor for name, tensor in changes.items()}}.items() if tensor is not None}
            write_safetensors(f"{path}/model.safetensors", {name: ({"float32": "F32", "int64": "I64", "float64": "F64"}[str(tensor.dtype)], tensor) for name, tensor in kept.items()})
        return run

    config = "wrong/config.json: "
    for name, change, message in (
            ("no settings", lambda path: os.remove(f"{path}/config.json"), config + "expected the settings of the model, got no such file"),
            ("no family", change_settings(model_type="gone"), config + "'model_type': expected one of bert, roberta, xlm-roberta, camembert, nomic_bert, got none"),
            ("another family", change_settings(model_type="mpnet"), config + "'model_type': expected one of bert, roberta, xlm-roberta, camembert, nomic_bert, got \"mpnet\"; a model of another family needs an ONNX file"),
            ("an unknown key", change_settings(rope_theta=1e4), config + "'rope_theta' is 10000, but the family bert does not read this key"),
            ("relative positions", change_settings(position_embedding_type="relative_key"), config + "'position_embedding_type': expected \"absolute\", got \"relative_key\""),
            ("a decoder", change_settings(is_decoder=True), config + "'is_decoder': expected false, got true"),
            ("an activation", change_settings(hidden_act="mish"), config + "'hidden_act': expected one of gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish, got \"mish\""),
            ("no size", change_settings(hidden_size="gone"), config + "'hidden_size': expected a number, got none"),
            ("no layers", change_settings(num_hidden_layers=0), config + "'num_hidden_layers': expected a number from 1 to 10000, got 0"),
            ("many layers", change_settings(num_hidden_layers=10**6), config + "'num_hidden_layers': expected a number from 1 to 10000, got 1000000"),
            ("a large size", change_settings(hidden_size=2**31), config + "'hidden_size': expected a number from 1 to 1073741824, got 2147483648"),
            ("heads", change_settings(num_attention_heads=5), config + "'hidden_size': expected a multiple of 'num_attention_heads', 5, got 24"),
            ("an epsilon", change_settings(layer_norm_eps=-1), config + "'layer_norm_eps': expected a number from 0 to 1, got -1"),
            ("positions of RoBERTa", change_settings(model_type="roberta", pad_token_id=63), "wrong/sentence_bert_config.json: 'max_seq_length': expected at most 0, which is 'max_position_embeddings' of "),
            ("a vocabulary that does not fit", change_settings(vocab_size=139),
             f"wrong/model.safetensors: tensor 'embeddings.word_embeddings.weight': expected [139,24], got f32[{len(VOCABULARY)},24]"),
            ("more layers than tensors", change_settings(num_hidden_layers=3), "wrong/model.safetensors: tensor 'encoder.layer.2.attention.self.query.weight': expected [24,24], got no such tensor"),
            ("fewer layers than tensors", change_settings(num_hidden_layers=1), "wrong/model.safetensors: tensor 'encoder.layer.1.attention.output.LayerNorm.bias' is not one of the family bert"),
            ("another type", change_tensors(embeddings__LayerNorm__bias=np.zeros(24)), "tensor 'embeddings.LayerNorm.bias': expected [24], got f64[24]: weights of this type are not supported"),
            ("another shape", change_tensors(embeddings__LayerNorm__bias=np.zeros((1, 24), np.float32)), "tensor 'embeddings.LayerNorm.bias': expected [24], got f32[1,24]"),
            ("one part more", change_tensors(adapter=np.zeros(3, np.float32)), "tensor 'adapter' is not one of the family bert"),
            ("a cross-encoder", lambda path: (os.remove(f"{path}/modules.json"), change_settings(architectures=["BertForSequenceClassification"], num_labels=1)(path)),
             "wrong: a cross-encoder: expected a file model.onnx or onnx/model.onnx, got model.safetensors only: the weights of its head are not read yet"),
            ("no weights", lambda path: os.remove(f"{path}/model.safetensors"), "expected a file model.onnx, onnx/model.onnx, model.safetensors or model.safetensors.index.json, got none")):
        refused(bench, right, name, change, message)
    # Tables that follow from the settings, and heads, are no mistakes.
    path = bench.path("more")
    shutil.copytree(right, path)
    change_tensors(**{"embeddings__position_ids": np.arange(64), "cls__predictions__bias": np.zeros(3, np.float32)})(path)
    bench.tool("vx-compile", path, "--target=cpu", "-o", bench.path("more.vxm"))
    bench.check("tensors that are not used", os.path.exists(bench.path("more.vxm")))
