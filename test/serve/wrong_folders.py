"""Folders of models of embeddings that are wrong, and options that do not fit a module: what is said then."""
import json
import os
import shutil

import numpy as np

from embedding_models import Folder, tiny_model, without_places, write_json, write_safetensors


def check_places(bench, right):
    """The line and column of a mistake in each file of a folder, and the nearest key. A key that may be missing is a note, and the model is compiled."""
    cases = [
        ("modules.json", '[{"idx": 0, "type": "sentence_transformers.models.Transformer", "path": ""},\n {"idx": 1,\n  "kind": "x"}]',
         ":2:2: module 1: 'type': expected Pooling of sentence_transformers, got ''", 3),
        ("modules.json", '[{"idx": 0, "type": "sentence_transformers.models.Transformer", "path": ""},\n {"idx": 1,\n  "tpye": "sentence_transformers.models.Pooling"}]',
         ":3:3: module 1: 'type': expected Pooling of sentence_transformers, got ''. The file has 'tpye', did you mean 'type'", 3),
        ("modules.json", "[\n  4]", ":2:3: module 0: expected an object, got 4", 3),
        ("modules.json", "[{},\n {", ":2:3: expected JSON: Expected object key", 3),
        ("modules.json", " 3", ":1:2: expected a list, got 3", 3),
        ("config.json", "\n []", ":2:2: expected an object, got []", 3),
        ("config.json", '{\n  "max_position_embedings": 64\n}', ":2:3: 'max_position_embedings' is not read, did you mean 'max_position_embeddings'", 0),
        ("config.json", '{"model_type": "bert",\n "pad_token_id": "0"}', ":2:18: 'pad_token_id': expected a whole number of 0 or more, got \"0\"", 3),
        ("config.json", '{"model_type": "bert", "eos_token_id": 3, "bos_token_id": 3}', None, 0),
        ("tokenizer_config.json", '{"é": 1,\n "truncation_sied": "left"}', ":2:2: 'truncation_sied' is not read, did you mean 'truncation_side'", 0),
        ("tokenizer_config.json", '{"é": 1, "truncation_side": 1}', ":1:29: 'truncation_side': expected a string, got 1", 3),
        ("sentence_bert_config.json", '{\n\n"max_seq_lenght": 32}', ":3:1: 'max_seq_lenght' is not read, did you mean 'max_seq_length'", 0),
        ("sentence_bert_config.json", '{"max_seq_length": 0,\n "do_lower_cse": true}', ":2:2: expected 1 to 16777216 tokens at most, got 0. 'do_lower_cse' is not read, did you mean 'do_lower_case'", 3),
        ("config_sentence_transformers.json", '{"__version__": {}, "similarity_fn_name": "cosine",\n "promts": {}}', ":2:2: 'promts' is not read, did you mean 'prompts'", 0),
        ("config_sentence_transformers.json", '{"prompts": {"a": "b",\n  "query": 4}}', ":2:12: 'prompts.query': expected a string, got 4", 3),
        ("1_Pooling/config.json", '{"word_embedding_dimension": 24,\n "pooling_mode_mean_token": true}',
         ":2:2: expected one of 'pooling_mode_cls_token', 'pooling_mode_mean_tokens' and 'pooling_mode_lasttoken' to be true, got none. 'pooling_mode_mean_token' is not read, did you mean 'pooling_mode_mean_tokens'", 3),
        ("1_Pooling/config.json", '{"pooling_mode_mean_tokens": true,\n "include_promt": false}', ":2:2: 'include_promt' is not read, did you mean 'include_prompt'", 0),
        ("2_Dense/config.json", '{"in_features": 24,\n "out_feature": 12}', ":2:2: 'out_features': expected a number from 1 to 1048576, got none. The file has 'out_feature', did you mean 'out_features'", 3),
        ("2_Dense/config.json", '{"in_features": 24, "out_features": 12,\n "activation_funktion": "torch.nn.modules.linear.Identity"}', ":2:2: 'activation_funktion' is not read, did you mean 'activation_function'", 0),
        ("tokenizer.json", '{\n "modell": {}}', ": tokenizer.json:2:2: expected the key 'model', got 'modell'", 3),
    ]
    for number, (file, text, message, code) in enumerate(cases):
        wrong = bench.path("wrong")
        shutil.rmtree(wrong, ignore_errors=True)
        shutil.copytree(right.path, wrong)
        with open(os.path.join(wrong, file), "w") as out:
            out.write(text)
        _, said = bench.tool("vx-compile", wrong, "--target=cpu", "-o", bench.path("wrong.vxm"), code=code)
        bench.check(f"place {number} in {file}", (f"{file}{message}" if file != "tokenizer.json" else message) in said if message else "did you mean" not in said, f"expected {message!r}, got {said!r}")


def check_mistakes(bench):
    """Each a change of a folder that is right, and what vx-compile says then."""
    right = Folder(bench.path("right"), normalize=True, dense=((12, "Tanh", "F32"),), prompts={"query": "q: "})
    def edit(name, **changes):
        def change(path):
            file = os.path.join(path, name)
            value = json.load(open(file))
            value.update(changes)
            write_json(file, {key: item for key, item in value.items() if item != "gone"})
        return change
    def write(name, text):
        return lambda path: open(os.path.join(path, name), "w").write(text)
    def remove(name):
        return lambda path: os.remove(os.path.join(path, name))
    def dense(tensors):
        return lambda path: write_safetensors(os.path.join(path, "2_Dense/model.safetensors"), tensors)
    def model(name="model.onnx", **network):
        return lambda path: tiny_model(os.path.join(path, name), **network)
    def both(*changes):
        return lambda path: [change(path) for change in changes]
    def module(number, **changes):
        def change(path):
            file = os.path.join(path, "modules.json")
            value = json.load(open(file))
            value[number].update(changes)
            write_json(file, value)
        return change
    eye = np.zeros((12, 24), np.float32)
    modes = "expected one of 'pooling_mode_cls_token', 'pooling_mode_mean_tokens' and 'pooling_mode_lasttoken' to be true, got "
    mistakes = [
        (remove("model.onnx"), "wrong: expected a file model.onnx, onnx/model.onnx, model.safetensors or model.safetensors.index.json, got none"),
        (remove("vocab.txt"), "wrong: expected a tokenizer.json, a vocab.txt or a tokenizer.model, got none"),
        (write("modules.json", "[{"), "wrong/modules.json: expected JSON: Expected object key"),
        (write("modules.json", "[" * 100), "wrong/modules.json: expected values in at most 64 others, got more"),
        (write("modules.json", "3"), "wrong/modules.json: expected a list, got 3"),
        (write("modules.json", "[]"), "wrong/modules.json: expected a Transformer and a Pooling, got 0 modules"),
        *((module(number, type=kind), f"wrong/modules.json: module {number}: 'type': expected {want} of sentence_transformers, got '{kind}'") for number, want, kind in (
            (2, "Dense or Normalize", "sentence_transformers.models.LSTM"),
            (0, "Transformer", "sentence_transformers.models.Router"),
            (0, "Transformer", "sentence_transformers.models.Asym"),
            (0, "Transformer", "sentence_transformers.models.CLIPModel"),
            (0, "Transformer", "custom_st.Transformer"),
            (1, "Pooling", "sentence_transformers.models.WeightedLayerPooling"))),
        (edit("2_Dense/config.json", module_input_name="token_embeddings"),
         "wrong/2_Dense/config.json: 'module_input_name': expected sentence_embedding, got \"token_embeddings\""),
        (edit("1_Pooling/config.json", pooling_mode_mean_tokens=False, pooling_mode="max"), "wrong/1_Pooling/config.json: 'pooling_mode': expected cls, mean or lasttoken, got \"max\""),
        (both(remove("model.onnx"), model("onnx/model_O1.onnx"), model("onnx/model_int8.onnx")), "wrong/onnx: expected one .onnx file or a model.onnx, got 'model_O1.onnx', 'model_int8.onnx'"),
        (both(model(outside="model.onnx_data"), remove("model.onnx_data")), "model.onnx_data"),
        (model(also=("sentence_embedding", "pooler_output"), hides=True), "wrong/model.onnx: expected one output of batch, sequence and vector, or one named last_hidden_state or token_embeddings, "
         "got 'sentence_embedding' f32[batch,24], 'pooler_output' f32[batch,24]"),
        (model(places_input=True), "wrong/model.onnx: expected inputs input_ids, attention_mask and, where it has them, token_type_ids, "
         "got 'input_ids', 'attention_mask', 'token_type_ids', 'position_ids'"),
        (edit("tokenizer_config.json", truncation_side="both"), "wrong/tokenizer_config.json: 'truncation_side': expected left or right, got \"both\""),
        *((both(remove("vocab.txt"), write(file, "x"), edit("tokenizer_config.json", tokenizer_class=kind)),
           f"wrong/tokenizer_config.json: 'tokenizer_class': expected LlamaTokenizer, GemmaTokenizer or T5Tokenizer beside {file}, or a tokenizer.json, got '{kind}'") for file, kind in (
            ("sentencepiece.bpe.model", "XLMRobertaTokenizer"), ("spiece.model", "AlbertTokenizer"), ("tokenizer.model", ""))),
        (both(remove("vocab.txt"), write("spiece.model", "x"), edit("tokenizer_config.json", tokenizer_class="T5Tokenizer")), "asset 'spiece.model': "),
        (edit("config.json", pad_token_id=4294967296), "wrong/config.json: 'pad_token_id': expected a number below 2147483648, got 4294967296"),
        (both(edit("config.json", model_type="mpnet"), edit("sentence_bert_config.json", max_seq_length=64)),
         "wrong/sentence_bert_config.json: 'max_seq_length': expected at most 63, which is 'max_position_embeddings' of {}/config.json less 'pad_token_id' and 1, got 64"),
        (module(2, path="../other"), "wrong/modules.json: module 2: 'path': expected a folder in the model's, got '../other'"),
        (module(2, path=3), "wrong/modules.json: module 2: 'path': expected a string, got 3"),
        (edit("1_Pooling/config.json", pooling_mode_mean_tokens=False, pooling_mode_max_tokens=True), f"wrong/1_Pooling/config.json: {modes}'pooling_mode_max_tokens'"),
        (edit("1_Pooling/config.json", pooling_mode_cls_token=True), f"wrong/1_Pooling/config.json: {modes}'pooling_mode_cls_token', 'pooling_mode_mean_tokens'"),
        (edit("1_Pooling/config.json", pooling_mode_mean_tokens=1), "wrong/1_Pooling/config.json: 'pooling_mode_mean_tokens': expected true or false, got 1"),
        (edit("1_Pooling/config.json", include_prompt=False), "wrong/1_Pooling/config.json: 'include_prompt': expected true, got false"),
        (edit("1_Pooling/config.json", word_embedding_dimension=768),
         "wrong/1_Pooling/config.json: 'word_embedding_dimension': expected 24, as output 'last_hidden_state' of {}/model.onnx has, got 768"),
        (edit("2_Dense/config.json", in_features=23), "linear.weight': expected f32, f16 or bf16 [12,23], as {}/2_Dense/config.json: 'out_features' and 'in_features' say, got f32 [12,24]"),
        (edit("2_Dense/config.json", activation_function="torch.nn.modules.activation.Softplus"),
         "wrong/2_Dense/config.json: 'activation_function': expected Identity, Tanh, ReLU, Sigmoid or GELU of PyTorch, got 'torch.nn.modules.activation.Softplus'"),
        (edit("2_Dense/config.json", out_features="gone"), "wrong/2_Dense/config.json: 'out_features': expected a number from 1 to 1048576, got none"),
        (remove("2_Dense/model.safetensors"), "wrong/2_Dense/model.safetensors: expected the layer's weights, got no such file"),
        (write("2_Dense/model.safetensors", "abc"), "wrong/2_Dense/model.safetensors: truncated: a safetensors file has 8 bytes or more, got 3"),
        (dense({"linear.weight": ("F32", eye)}), "tensor 'linear.bias': expected f32, f16 or bf16 [12], as {}/2_Dense/config.json: 'out_features' and 'in_features' say, got none"),
        (edit("sentence_bert_config.json", max_seq_length=65),
         "wrong/sentence_bert_config.json: 'max_seq_length': expected at most 64, which is 'max_position_embeddings' of {}/config.json, got 65"),
        (edit("sentence_bert_config.json", max_seq_length=-1), "wrong/sentence_bert_config.json: 'max_seq_length': expected a whole number of 0 or more, got -1"),
        (edit("config_sentence_transformers.json", default_prompt_name="passage"),
         "wrong/config_sentence_transformers.json: 'default_prompt_name': expected a name of 'prompts', got \"passage\""),
        (edit("config.json", matryoshka_dimensions=[8, 0]), "wrong/config.json: 'matryoshka_dimensions': expected numbers of 1 or more, got [8,0]"),
        (edit("config.json", matryoshka_dimensions=[8, 16]), "asset 'embedding.json': 'shorter_dimensions': expected at most 12, the size of the vectors, got 16"),
        (write("tokenizer.json", "{}"), "asset 'tokenizer.json': tokenizer.json: "),
        (write("vocab.txt", "a\n"), "asset 'vocab.txt': "),
        (model(width=30), "wrong/1_Pooling/config.json: 'word_embedding_dimension': expected 30, as output"),
        (model(output="hidden", also=("pooled",)), None),
    ]
    for number, (change, message) in enumerate(mistakes):
        wrong = bench.path("wrong")
        shutil.rmtree(wrong, ignore_errors=True)
        shutil.copytree(right.path, wrong)
        change(wrong)
        code = 3 if message else 0
        _, said = bench.tool("vx-compile", wrong, "--target=cpu", "-o", bench.path("wrong.vxm"), code=code)
        bench.check(f"mistake {number}", not message or message.replace("{}", wrong) in without_places(said), f"expected {message!r}, got {said!r}")
        bench.check(f"mistake {number} leaves no module", os.path.exists(bench.path("wrong.vxm")) == (not message))
    check_places(bench, right)
    _, said = bench.tool("vx-compile", right.path, "--target=cpu", "--train=auto", "--loss=mse", "--optimizer=sgd", "-o", bench.path("t.vxm"), code=2)
    bench.check("a folder is not trained", f"--train: expected a model in one file, got the folder '{right.path}'" in said, said)
    module = bench.path("right.vxm")
    bench.tool("vx-compile", right.path, "--target=cpu", "-o", module)
    for arguments, code, message in (
            (["--dimensions=8"], 2, "expected 12 dimensions, the model's vectors cannot be cut short, got 8"),
            (["--prompt=passage"], 2, "the model has no prompt 'passage', it has: 'query'"),
            (["--max-tokens=33"], 2, "expected at most 32 tokens a text, the model's limit, got 33"),
            (["--device=cuda", "--no-fallback"], 4, "")):
        _, said = bench.tool("vx-embed", "test", f"--model={module}", "--text=star", *arguments, code=code)
        bench.check(" ".join(arguments), message in said, said)
    edit("config.json", matryoshka_dimensions=[4, 8])(right.path)
    bench.tool("vx-compile", right.path, "--target=cpu", "-o", module)
    got, *_ = bench.embed(module, ["star", "moon"], "cpu", "--dimensions=8")
    want = right.expected(["star", "moon"], normalize=False)[0][:, :8]
    bench.compare("vectors that are cut short have length 1", got, want / np.linalg.norm(want, axis=1, keepdims=True))
    _, said = bench.tool("vx-embed", "test", f"--model={module}", "--text=star", "--dimensions=5", code=2)
    bench.check("five dimensions", "expected 12 dimensions or one of 4, 8, got 5" in said, said)
