"""Language models that are refused: GGUF files, folders, and runs of vx-llm. Each is a change of a model that is right, with the message that names it."""
import json
import os
import re
import shutil

import gguf
import numpy as np

from embedding_models import without_places, write_json
from llama_gguf import PHI_PARTS, rename, write_llama
from module_hash import replaced
from random_models import LLAMA3, LONGROPE, YARN, llama_settings, llama_weights, phi_settings, phi_weights


def letters(count):
    return [*"abcdefghijklmnopqrstuvwxyz"][:count - 2] + ["aa", "<end>"]


def refused(bench, name, path, message):
    module = bench.path("wrong.vxm")
    _, said = bench.tool("vx-compile", path, "--target=cpu", "-o", module, code=3)
    bench.check(f"refused: {name}", message in without_places(said) and said.count("\n") == 1, f"want '{message}', got {said}")
    bench.check("no module is left", not os.path.exists(module))


def check_wrong_files(bench):
    settings = llama_settings(vocab_size=20)
    tensors = llama_weights(settings, 5)
    path = bench.path("wrong.gguf")
    norm, query = "blk.1.attn_norm.weight", "blk.0.attn_q.weight"
    wide = (query, np.zeros((32, 32), np.float64), gguf.GGMLQuantizationType.F64)
    plain = gguf.GGMLQuantizationType.F32
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    without_query = ("model.layers.0.self_attn.q_proj.weight",)
    without_norm = ("model.layers.1.input_layernorm.weight",)
    for name, changes, message in (
            ("a key that is not read", dict(keys={"attn_logit_softcapping": 30.0}), "key 'llama.attn_logit_softcapping' is 30, but the family llama does not read this key"),
            ("a window", dict(keys={"attention.sliding_window": 8}), "key 'llama.attention.sliding_window' is 8, but the family llama does not read this key"),
            ("no context", dict(keys={"context_length": None}), "expected a key 'llama.context_length', got none"),
            ("no layers", dict(keys={"block_count": 0}), "key 'llama.block_count': expected a number from 1 to 10000, got 0"),
            ("a text for a number", dict(keys={"embedding_length": "wide"}), "key 'llama.embedding_length': expected a whole number of 0 or more, got \"wide\""),
            ("heads", dict(keys={"attention.head_count_kv": 3}), "key 'llama.attention.head_count': expected a multiple of 'attention.head_count_kv', 3, got 4"),
            ("a width", dict(keys={"attention.head_count": 6}), "key 'llama.embedding_length': expected a multiple of 'attention.head_count', 6, got 32"),
            ("values of another size", dict(keys={"attention.value_length": 4}), "key 'llama.attention.value_length': expected the size of a key, 8, got 4"),
            ("rotary positions", dict(keys={"rope.scaling.type": "dynamic"}), "key 'llama.rope.scaling.type': expected one of none, linear, longrope, yarn, got \"dynamic\""),
            ("YaRN without a factor", dict(keys={"rope.scaling.type": "yarn"}), "key 'llama.rope.scaling.factor': expected a number above 0, got none"),
            ("YaRN of a factor of 0", dict(keys={"rope.scaling.type": "yarn", "rope.scaling.factor": 0.0}), "key 'llama.rope.scaling.factor': expected a number above 0, got 0"),
            ("YaRN in a context of 0", dict(keys={**yarn, "rope.scaling.original_context_length": 0}), "key 'llama.rope.scaling.original_context_length': expected a number above 0, got 0"),
            ("a part of YaRN", dict(keys={**yarn, "rope.scaling.yarn_ext_factor": 0.5}), "key 'llama.rope.scaling.yarn_ext_factor': expected 1, got 0.5"),
            ("YaRN with another scale", dict(keys={**yarn, "rope.scaling.yarn_log_multiplier": 0.5}), "key 'llama.rope.scaling.yarn_log_multiplier' is 0.5, but the family llama does not read this key"),
            ("YaRN's bounds", dict(keys={**yarn, "rope.scaling.yarn_beta_slow": 32.0}), "key 'llama.rope.scaling.yarn_beta_slow': expected less than the fast one, 32, got 32"),
            ("YaRN's scale", dict(keys={**yarn, "rope.scaling.yarn_attn_factor": -1.0}), "key 'llama.rope.scaling.yarn_attn_factor': expected a number above 0, got -1"),
            ("a scale", dict(keys={"rope.scaling.attn_factor": "1"}), "key 'llama.rope.scaling.attn_factor': expected a number, got \"1\""),
            ("keys of YaRN for another type", dict(keys={"rope.scaling.yarn_beta_fast": 8.0}), "key 'llama.rope.scaling.yarn_beta_fast' is 8, but the family llama does not read this key"),
            ("LongRoPE without factors", dict(keys={"rope.scaling.type": "longrope"}), "tensor 'rope_factors_short.weight': expected f32[4], got no such tensor"),
            ("LongRoPE of half of the factors", dict(more=(("rope_factors_long.weight", np.ones(4, np.float32), plain),)), "tensor 'rope_factors_short.weight': expected f32[4], got no such tensor"),
            ("LongRoPE of other sizes", dict(more=(("rope_factors_short.weight", np.ones(4, np.float32), plain), ("rope_factors_long.weight", np.ones(5, np.float32), plain))), "tensor 'rope_factors_long.weight': expected f32[4], got f32 of 1 dimensions"),
            ("LongRoPE of another type", dict(more=(("rope_factors_short.weight", np.ones(4, np.float16), gguf.GGMLQuantizationType.F16), ("rope_factors_long.weight", np.ones(4, np.float32), plain))), "tensor 'rope_factors_short.weight': expected f32[4], got f16 of 1 dimensions"),
            ("LongRoPE of a factor of 0", dict(more=(("rope_factors_short.weight", np.ones(4, np.float32), plain), ("rope_factors_long.weight", np.float32([1, 0, 1, 1]), plain))), "tensor 'rope_factors_long.weight': expected numbers above 0, got 0.000000 at place 1"),
            ("factors that no type reads", dict(keys=yarn, more=(("rope_factors_long.weight", np.ones(4, np.float32), plain),)), "tensor 'rope_factors_long.weight' is not one of the family llama"),
            ("an odd rotation", dict(keys={"rope.dimension_count": 7}), "key 'llama.rope.dimension_count': expected an even number, got 7"),
            ("a large rotation", dict(keys={"rope.dimension_count": 16}), "key 'llama.rope.dimension_count': expected a number from 1 to 8, got 16"),
            ("deep heads", dict(keys={"attention.key_length": 4098, "attention.value_length": 4098}), "expected heads of at most 4096 elements, got 4098"),
            ("experts", dict(keys={"expert_count": 4}), "key 'llama.expert_count': expected 0: a mixture of experts is not supported, got 4"),
            ("an epsilon", dict(keys={"attention.layer_norm_rms_epsilon": -1.0}), "key 'llama.attention.layer_norm_rms_epsilon': expected a number above 0, got -1"),
            ("a vocabulary", dict(keys={"vocab_size": 21}), "key 'llama.vocab_size': expected the rows of tensor 'token_embd.weight', 20, got 21"),
            ("a type", dict(without=without_query, more=(wide,)), f"tensor '{query}': expected [32,32], got f64[32,32]: weights of this type are not supported"),
            ("another shape", dict(without=without_norm, more=((norm, np.zeros(31, np.float32), plain),)), f"tensor '{norm}': expected [32], got f32[31]"),
            ("a tensor less", dict(without=without_norm), f"tensor '{norm}': expected [32], got no such tensor"),
            ("no embedding", dict(without=("model.embed_tokens.weight",), keys={"vocab_size": None}), "tensor 'token_embd.weight': expected [0,32], got no such tensor"),
            ("a tensor more", dict(more=(("blk.0.attn_q_norm.weight", np.ones(8, np.float32), plain),)), "tensor 'blk.0.attn_q_norm.weight' is not one of the family llama"),
            ("factors of another size", dict(more=(("rope_freqs.weight", np.ones(3, np.float32), plain),)), "tensor 'rope_freqs.weight': expected f32[4], got f32 of 1 dimensions"),
            ("factors below 0", dict(more=(("rope_freqs.weight", np.float32([1, 1, -2, 1]), plain),)), "tensor 'rope_freqs.weight': expected numbers above 0, got -2.000000 at place 2"),
            ("no tokenizer", dict(tokens=None), "expected a tokenizer, a key 'tokenizer.ggml.model', got none"),
            # What vx-llm would refuse later.
            ("a merge of tokens that are none", dict(tokens=[*letters(20)[:18], "bb", "<end>"]), "wrong.gguf: the vocabulary has a token for each merge, got none for 'aa'"),
            ("an end that is no token", dict(ends_by={"eot": -1}), "wrong.gguf: key 'tokenizer.ggml.eot_token_id': expected the number of a token, got "),
            ("a vocabulary that does not fit the embedding", dict(tokens=letters(22)), "wrong.gguf: the tokenizer has 22 tokens, but the model's embedding has 20 rows")):
        write_llama(path, settings, tensors, **{"tokens": letters(20), **changes})
        refused(bench, name, path, message)
    check_wrong_phi(bench, path)
    write_llama(path, settings, tensors, tokens=letters(20), without=without_query, more=(wide,))
    shown, _ = bench.tool("vx-llm", "show", path)
    bench.check("show says which type does not run", "not yet: vx-compile reads no weights of type f64, got 1 tensor\n" in shown, shown)
    write_llama(path, settings, tensors, tokens=letters(20))
    whole = open(path, "rb").read()
    with open(path, "wb") as file:
        file.write(whole.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0phi77"))
    refused(bench, "an architecture", path, "key 'general.architecture': expected one of gemma3, gpt2, llama, phi2, phi3, qwen2, qwen3, nomic-bert, got \"phi77\"")
    os.truncate(path, len(whole) - 9)
    refused(bench, "a file cut off", path, "truncated: ")
    with open(path, "wb") as file:
        file.write(whole[:20])
    refused(bench, "a header cut off", path, "wrong.gguf: ")
    os.remove(path)
    refused(bench, "no file", path, "wrong.gguf: ")
    _, said = bench.tool("vx-compile", path, "--train=*", "--loss=cross_entropy", "--optimizer=sgd", "-o", bench.path("wrong.vxm"), code=2)
    bench.check("training", "--train: expected an ONNX model, got '" in said, said)


def check_wrong_phi(bench, path):
    """Phi 2 and 3: each key and tensor of a GGUF file is needed, or has a default; and folders."""
    settings = phi_settings(vocab_size=20)
    tensors = phi_weights(settings, 5)
    for key in ("context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"):
        write_llama(path, settings, tensors, tokens=letters(20), keys={key: None})
        refused(bench, f"Phi 2 without {key}", path, f"expected a key 'phi2.{key}', got none")
    for keys, message in (({"attention.layer_norm_epsilon": 0.0}, "key 'phi2.attention.layer_norm_epsilon': expected a number above 0, got 0"),
                          ({"rope.dimension_count": 10}, "key 'phi2.rope.dimension_count': expected a number from 1 to 8, got 10"),
                          ({"rope.dimension_count": 3}, "key 'phi2.rope.dimension_count': expected an even number, got 3"),
                          ({"attention.head_count": "4"}, "key 'phi2.attention.head_count': expected a whole number of 0 or more, got \"4\""),
                          ({"vocab_size": 21}, "key 'phi2.vocab_size': expected the rows of tensor 'token_embd.weight', 20, got 21"),
                          ({"feed_forward_length": 127}, "tensor 'blk.0.ffn_up.weight': expected [127,32], got f32[128,32]"),
                          ({"attention.layer_norm_rms_epsilon": 1e-5}, "key 'phi2.attention.layer_norm_rms_epsilon' is 0.00001, but the family phi2 does not read this key")):
        write_llama(path, settings, tensors, tokens=letters(20), keys=keys)
        refused(bench, f"Phi 2 with {keys}", path, message)
    names = [name for name in tensors if "layers.1" not in name]
    for name in names:
        write_llama(path, settings, tensors, tokens=letters(20), without=(name,))
        own = rename(name, PHI_PARTS)
        shape = "0,32" if name == "model.embed_tokens.weight" else ",".join(map(str, tensors[name].shape))
        refused(bench, f"Phi 2 without {own}", path, f"tensor '{own}': expected [{shape}], got no such tensor" if own != "token_embd.weight" else "key 'phi2.vocab_size': expected the rows of tensor 'token_embd.weight', 0, got 20")
    phi3 = llama_settings("phi3", vocab_size=20)
    weights, plain = llama_weights(phi3, 5), gguf.GGMLQuantizationType.F32
    qkv, inner = "model.layers.0.self_attn.qkv_proj.weight", "model.layers.0.mlp.gate_up_proj.weight"
    for name, changes, message in (
            ("a window", dict(keys={"attention.sliding_window": "wide"}), "key 'phi3.attention.sliding_window': expected a whole number of 0 or more, got \"wide\""),
            ("no query", dict(without=(qkv,)), "tensor 'blk.0.attn_q.weight': expected [32,32], got no such tensor"),
            ("no product of gate and up", dict(without=(inner,)), "tensor 'blk.0.ffn_up.weight': expected [96,32], got no such tensor"),
            ("up alone", dict(without=(inner,), more=(("blk.0.ffn_up.weight", np.zeros((48, 32), np.float32), plain),)), "tensor 'blk.0.ffn_up.weight': expected [96,32], got f32[48,32]"),
            ("a gate", dict(more=(("blk.0.ffn_gate.weight", np.zeros((48, 32), np.float32), plain),)), "tensor 'blk.0.ffn_gate.weight' is not one of the family phi3"),
            ("other heads", dict(keys={"attention.head_count_kv": 1}), "tensor 'blk.0.attn_qkv.weight': expected [48,32], got f32[64,32]"),
            ("experts", dict(keys={"expert_count": 4}), "key 'phi3.expert_count': expected 0: a mixture of experts is not supported, got 4")):
        write_llama(path, phi3, weights, **{"tokens": letters(20), **changes})
        refused(bench, f"Phi 3 with {name}", path, message)
    folder = bench.folder_of("right-phi3", phi3, weights)
    factors = {"short_factor": [1, 1, 1, 1], "long_factor": [1, 1, 1, 1]}
    for changes, message in ((dict(lm_head_bias=True), "'lm_head_bias': expected false, got true"),
                             (dict(full_attn_mod=2), "'full_attn_mod': expected 1, got 2"),
                             (dict(sliding_window=0), "'sliding_window': expected 1 or more, got 0"),
                             (dict(original_max_position_embeddings=0), "'original_max_position_embeddings': expected a number above 0, got 0"),
                             (dict(rope_scaling={"type": "yarn", "factor": 2, **factors}), "'rope_scaling': 'long_factor' is [1,1,1,1], but the family phi3 does not read this key"),
                             (dict(rope_scaling={"type": "longrope", **factors, "long_mscale": 1.2}), "'rope_scaling': 'long_mscale' is 1.2, but the family phi3 does not read this key"),
                             (dict(intermediate_size=40), "tensor 'model.layers.0.mlp.gate_up_proj.weight': expected [80,32], got f32[96,32]"),
                             (dict(num_local_experts=16), "'num_local_experts' is 16, but the family phi3 does not read this key")):
        write_json(f"{folder}/config.json", llama_settings("phi3", vocab_size=20, **changes))
        refused(bench, f"Phi 3 with {changes}", folder, message)
    folder = bench.folder_of("right-phi", settings, tensors)
    for changes, message in ((dict(qk_layernorm=True), "'qk_layernorm': expected false, got true"),
                             (dict(partial_rotary_factor=0.4), "expected an even number of elements of a head that turn, got 3 of 8"),
                             (dict(layer_norm_eps=0), "'layer_norm_eps': expected a number above 0, got 0"),
                             (dict(intermediate_size="gone"), "'intermediate_size': expected a number, got none"),
                             (dict(hidden_act="swiglu"), "'hidden_act': expected one of gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish, got \"swiglu\""),
                             (dict(num_key_value_heads=3), "'num_attention_heads': expected a multiple of 'num_key_value_heads', 3, got 4"),
                             (dict(num_key_value_heads=2), "tensor 'model.layers.0.self_attn.k_proj.weight': expected [16,32], got f32[32,32]"),
                             (dict(sliding_window=3), "'sliding_window' is 3, but the family phi does not read this key")):
        write_json(f"{folder}/config.json", phi_settings(vocab_size=20, **changes))
        refused(bench, f"Phi 2 with {changes}", folder, message)


def check_places(bench, right, settings):
    """The line and column of a wrong key, and the nearest one."""
    path = bench.path("places")
    shutil.copytree(right, path)
    settings = {**settings, "rope_scaling": dict(LLAMA3)}
    for old, new, message in (
            ("vocab_size", "vocab_sise", "'vocab_size': expected a number, got none. The file has 'vocab_sise', did you mean 'vocab_size'"),
            ("rms_norm_eps", "rms_norm_epss", "'rms_norm_epss' is 1.0000000000000001e-05, but the family llama does not read this key, did you mean 'rms_norm_eps': it may change the results"),
            ("tie_word_embeddings", "tie_word_embedings", "'tie_word_embedings' is false, but the family llama does not read this key, did you mean 'tie_word_embeddings': it may change the results. Remove the key if it does not"),
            ("factor", "factr", "'rope_scaling': 'factor': expected a number above 0, got none. The file has 'factr', did you mean 'factor'")):
        text = json.dumps(settings, indent=2).replace(f'"{old}"', f'"{new}"')
        line = text[:text.index(f'"{new}"')].count("\n") + 1
        with open(f"{path}/config.json", "w") as file:
            file.write(text)
        _, said = bench.tool("vx-compile", path, "--target=cpu", "-o", bench.path("wrong.vxm"), code=3)
        bench.check(f"the place of {new}", f"places/config.json:{line}:{5 if old == 'factor' else 3}: {message}" in said, said)


def check_wrong_folders(bench):
    settings = llama_settings(vocab_size=20)
    tensors = llama_weights(settings, 5)
    right = bench.folder_of("right-decoder", settings, tensors)
    config = "wrong-decoder/config.json: "

    def change_settings(**changes):
        return lambda path: write_json(f"{path}/config.json", {key: value for key, value in {**settings, **changes}.items() if value != "gone"})

    def change_tokenizer(change):
        def write(path):
            with open(f"{path}/tokenizer.json") as file:
                tokenizer = json.load(file)
            change(tokenizer["model"])
            write_json(f"{path}/tokenizer.json", tokenizer)
        return write

    def other_scaling(whole, **changes):
        return change_settings(rope_scaling={key: value for key, value in {**whole, **changes}.items() if value != "gone"})

    def scaling(**changes):
        return other_scaling(LLAMA3, **changes)

    for name, change, message in (
            ("a key that is not read", change_settings(final_logit_softcapping=30.0), config + "'final_logit_softcapping' is 30, but the family llama does not read this key"),
            ("rotary positions", scaling(rope_type="proportional"), config + "'rope_scaling': 'rope_type': expected one of default, linear, llama3, longrope, su, yarn, got \"proportional\""),
            ("YaRN without a factor", other_scaling(YARN, factor="gone"), config + "'rope_scaling': 'factor': expected a number above 0, got none"),
            ("YaRN in a context of 0", other_scaling(YARN, original_max_position_embeddings=0), config + "'rope_scaling': 'original_max_position_embeddings': expected a number above 0, got 0"),
            ("YaRN's bounds", other_scaling(YARN, beta_fast=2, beta_slow=3), config + "'rope_scaling': 'beta_slow': expected less than the fast one, 2, got 3"),
            ("YaRN's scale", other_scaling(YARN, attention_factor="1"), config + "'rope_scaling': 'attention_factor': expected a number, got \"1\""),
            ("YaRN of another base", other_scaling(YARN, rope_theta=1), config + "'rope_scaling': 'rope_theta': expected more than 1 for this type of rotary positions, got 1"),
            ("YaRN with factors", other_scaling(YARN, long_factor=[1]), config + "'rope_scaling': 'long_factor' is [1], but the family llama does not read this key"),
            ("YaRN's whole numbers", other_scaling(YARN, truncate=0), config + "'rope_scaling': 'truncate': expected true or false, got 0"),
            ("LongRoPE without factors", other_scaling(LONGROPE, long_factor="gone"), config + "'rope_scaling': 'long_factor': expected a list of 4 numbers above 0, got none"),
            ("LongRoPE of other sizes", other_scaling(LONGROPE, short_factor=[1, 1, 1]), config + "'rope_scaling': 'short_factor': expected a list of 4 numbers above 0, got 3 values"),
            ("LongRoPE of texts", other_scaling(LONGROPE, long_factor=[1, "1", 1, 1]), config + "'rope_scaling': 'long_factor': expected a list of 4 numbers above 0, got [1,\"1\",1,1]"),
            ("LongRoPE of a factor below 0", other_scaling(LONGROPE, long_factor=[1, 1, 1, -2]), config + "'rope_scaling': 'long_factor': expected a list of 4 numbers above 0, got [1,1,1,-2]"),
            ("LongRoPE of a number", other_scaling(LONGROPE, long_factor=4), config + "'rope_scaling': 'long_factor': expected a list of 4 numbers above 0, got 4"),
            ("LongRoPE with a scale for each", other_scaling(LONGROPE, short_mscale=1.0), config + "'rope_scaling': 'short_mscale' is 1, but the family llama does not read this key"),
            ("LongRoPE in a context of 1", other_scaling(LONGROPE, original_max_position_embeddings=1), config + "'rope_scaling': 'original_max_position_embeddings': expected more than 1, got 1"),
            ("an old name of rotary positions", scaling(rope_type="gone", type="dynamic"), config + "'rope_scaling': 'rope_type': expected one of default, linear, llama3, longrope, su, yarn, got \"dynamic\""),
            ("a key of rotary positions", scaling(beta_fast=32), config + "'rope_scaling': 'beta_fast' is 32, but the family llama does not read this key"),
            ("a factor", scaling(factor="gone"), config + "'rope_scaling': 'factor': expected a number above 0, got none"),
            ("a factor of 0", scaling(factor=0), config + "'rope_scaling': 'factor': expected a number above 0, got 0"),
            ("factors in another order", scaling(low_freq_factor=4.0), config + "'rope_scaling': 'low_freq_factor': expected less than 'high_freq_factor', 4, got 4"),
            ("a list of rotary positions", change_settings(rope_scaling=[1]), config + "'rope_scaling': expected an object, got [1]"),
            ("half of a pair", change_settings(partial_rotary_factor=0.4), config + "expected an even number of elements of a head that turn, got 3 of 8"),
            ("heads", change_settings(num_key_value_heads=3), config + "'num_attention_heads': expected a multiple of 'num_key_value_heads', 3, got 4"),
            ("a width", change_settings(num_attention_heads=3, num_key_value_heads=1), config + "'hidden_size': expected a multiple of 'num_attention_heads', 3, got 32"),
            ("an activation", change_settings(hidden_act="relu2"), config + "'hidden_act': expected one of gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish, got \"relu2\""),
            ("no vocabulary", change_settings(vocab_size="gone"), config + "'vocab_size': expected a number, got none"),
            ("windows of Qwen2", change_settings(model_type="qwen2", attention_bias="gone", use_sliding_window=True), config + "'use_sliding_window': expected false, got true"),
            ("kinds of layers", change_settings(layer_types=["full_attention", "sliding_attention"]), config + "'layer_types': expected a list of \"full_attention\" only"),
            ("an end", change_settings(eos_token_id="x"), config + "'eos_token_id': expected the number of a token, or a list of them, got \"x\""),
            ("an end of the answers", lambda path: write_json(f"{path}/generation_config.json", {"eos_token_id": [1, -2]}), "generation_config.json: 'eos_token_id': expected the number of a token, or a list of them, got [1,-2]"),
            ("no tokenizer", lambda path: os.remove(f"{path}/tokenizer.json"), "tokenizer.json: expected the tokenizer of the model, got no such file"),
            ("a tokenizer with a merge of tokens that are none", change_tokenizer(lambda model: model.update(merges=[["a", "zz"]])), "wrong-decoder/tokenizer.json: "),
            ("a tokenizer that does not fit the embedding", change_tokenizer(lambda model: model["vocab"].update(more=20, most=21)), "wrong-decoder/tokenizer.json: the tokenizer has 22 tokens, but the model's embedding has 20 rows"),
            ("a tied head of another model", change_settings(vocab_size=19, tie_word_embeddings=True), "tensor 'model.embed_tokens.weight': expected [19,32], got f32[20,32]"),
            ("fewer layers", change_settings(num_hidden_layers=1), "tensor 'model.layers.1.input_layernorm.weight' is not one of the family llama"),
            ("biases that are not there", change_settings(attention_bias=True), "tensor 'model.layers.0.self_attn.q_proj.bias': expected [32], got no such tensor")):
        path = bench.path("wrong-decoder")
        shutil.copytree(right, path)
        change(path)
        refused(bench, name, path, message)
        shutil.rmtree(path)
    check_places(bench, right, settings)
    from random_models import gpt2_settings, gpt2_weights
    gpt2 = bench.folder_of("right-gpt2", gpt2_settings(vocab_size=20), gpt2_weights(gpt2_settings(vocab_size=20), 5))
    for changes, message in ((dict(scale_attn_by_inverse_layer_idx=True), "'scale_attn_by_inverse_layer_idx': expected false, got true"),
                             (dict(scale_attn_weights=False), "'scale_attn_weights': expected true, got false"),
                             (dict(n_head=3), "'n_embd': expected a multiple of 'n_head', 3, got 32"),
                             (dict(activation_function="mish"), "'activation_function': expected one of gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish, got \"mish\""),
                             (dict(n_positions=63), "tensor 'transformer.wpe.weight': expected [63,32], got f32[64,32]"),
                             (dict(tie_word_embeddings=False), "tensor 'lm_head.weight': expected [20,32], got no such tensor"),
                             (dict(rope_theta=1), "'rope_theta' is 1, but the family gpt2 does not read this key")):
        write_json(f"{gpt2}/config.json", gpt2_settings(vocab_size=20, **changes))
        refused(bench, f"GPT-2 with {changes}", gpt2, message)
    # Tensors that follow from the settings are no mistakes; neither is a long context, whose module is small.
    path = bench.path("more-decoder")
    shutil.copytree(right, path)
    os.remove(f"{path}/model.safetensors")
    bench.write_model(path, llama_settings(vocab_size=20, tie_word_embeddings=True, max_position_embeddings=1 << 20),
                      {**tensors, "model.layers.1.self_attn.rotary_emb.inv_freq": np.ones(4, np.float32)})
    module = bench.path("more-decoder.vxm")
    bench.tool("vx-compile", path, "--target=cpu", "-o", module)
    bench.check("a long context", os.path.getsize(module) < 2_000_000, os.path.getsize(module))


def check_wrong_runs(bench):
    settings = llama_settings(vocab_size=20, max_position_embeddings=16)
    path = bench.path("right.gguf")
    write_llama(path, settings, llama_weights(settings, 5), tokens=letters(20), ends=(19,))
    module, _ = bench.compile_model(path, "right", "cpu")
    other = bench.path("other.mlir")
    with open(other, "w") as file:
        file.write('func.func @main(%a: tensor<2xf32> {vx.name = "a"}) -> (tensor<2xf32> {vx.name = "b"}) {\n  %b = vx.neg %a : tensor<2xf32>\n  return %b : tensor<2xf32>\n}\n')
    bench.tool("vx-compile", other, "--target=cpu", "-o", bench.path("other.vxm"))
    # Modules of another version: one has no function of a name, in one it has other inputs.
    with open(module, "rb") as file:
        whole = file.read()
    swapped = replaced(replaced(replaced(whole, b"extend\0", b"keptas\0"), b"decode\0", b"extend\0"), b"keptas\0", b"decode\0")
    # And one whose vocabulary does not fit the embedding.
    narrow = whole.replace(b'"vocabulary":20', b'"vocabulary":18')
    for name, changed in (("nameless", replaced(whole, b"extend\0", b"extenD\0")), ("swapped", swapped), ("narrow", narrow)):
        with open(bench.path(f"{name}.vxm"), "wb") as file:
            file.write(changed)
    # A cache of 8 TiB at 16 million tokens.
    large = llama_settings(vocab_size=20, max_position_embeddings=1 << 24, head_dim=1024, num_attention_heads=32, num_key_value_heads=32)
    write_llama(bench.path("large.gguf"), large, llama_weights(large, 5), tokens=letters(20), ends=(19,))
    module_of_large, _ = bench.compile_model(bench.path("large.gguf"), "large")
    for device in bench.devices:
        _, said = bench.tool("vx-llm", "run", module_of_large, "--prompt", "a", "--context", "16777216", f"--device={device}", "--no-fallback", code=3)
        found = re.search(r"large.vxm: the memory does not suffice: the weights need [\d.]+ [KM]iB, the cache of 16777216 tokens 8.0 TiB and a call [\d.]+ [MG]iB, but the device has ([\d.]+) GiB: a context of up to (\d+) tokens fits\n", said)
        bench.check(f"a cache beyond the memory on {device}", found and int(found[2]) % 32 == 0 and abs(int(found[2]) / 2**11 - float(found[1])) < 1, said)
    bench.tool("vx-llm", "run", module_of_large, "--prompt", "a", "--context", "64", "--max-tokens", "1", "--device=cpu")
    os.chmod(module, 0o644)
    for arguments in (["--check-config"], ["--port", "0"]):
        _, said = bench.tool("vx-serve", "--model", module, *arguments, code=3)
        bench.check("vx-serve serves no language model", said == f"vx-serve: error: --model: '{os.path.realpath(module)}': is a language model, and vx-serve serves none yet: run it with 'vx-llm run FILE' or 'vx-llm chat FILE'\n", said)
    for arguments, code, message in (
            (["run", module], 2, "run: expected --prompt"),
            (["run"], 2, "run: expected a module (.vxm), a GGUF file or a folder"),
            (["walk", module], 2, "expected show, run, chat, perplexity or bench, got 'walk'"),
            (["show", path, "--prompt", "a"], 2, "--prompt goes with run"),
            (["run", module, "--prompt", ""], 2, "--prompt: expected a value, got ''"),
            (["run", module, "--prompt", "abcdefgh" * 2], 2, "the prompt has 16 tokens, but the context has room for 16 with the answer"),
            (["run", module, "--prompt", "abcdefgh", "--context", "8"], 2, "the prompt has 8 tokens, but the context has room for 8 with the answer: expected a shorter prompt or a larger context; the model takes up to 16"),
            (["run", module, "--prompt", "a", "--context", "17"], 2, "the context is 17 tokens, the model takes 16 at most"),
            (["run", module, "--prompt", "a", "--context", "0"], 2, "--context"),
            (["run", module, "--prompt", "a", "--max-tokens", "0"], 2, "--max-tokens"),
            (["run", module, "--prompt", b"a\xff"], 2, "the prompt is no UTF-8"),
            (["run", module, "--prompt", "9"], 2, "the prompt has no tokens, expected at least 1"),
            (["run", module, "--prompt", "a", "--temperature", "-1"], 2, "temperature"),
            (["run", module, "--prompt", "a", "--top-p", "2"], 2, "top_p"),
            (["run", module, "--prompt", "a", "--stop", ""], 2, ""),
            (["run", bench.path("nameless.vxm"), "--prompt", "a"], 3, "nameless.vxm: the module has no function 'extend', expected one that vx-compile made of a language model"),
            (["run", bench.path("swapped.vxm"), "--prompt", "a"], 3, "swapped.vxm: function 'extend': expected ids i64[N], table i64[S,P], starts i64[S+1], lengths i64[S], rows i64[R] -> f32[R,M]; compile the model again"),
            (["run", bench.path("other.vxm"), "--prompt", "a"], 3, "other.vxm: the module has no asset 'language_model.json', expected one that vx-compile made of a language model"),
            (["run", bench.path("narrow.vxm"), "--prompt", "a"], 3, "narrow.vxm: the tokenizer has 20 tokens, but the model's embedding has 18 rows"),
            (["run", bench.path("none.vxm"), "--prompt", "a"], 3, "none.vxm"),
            (["run", bench.path("none.gguf"), "--prompt", "a"], 3, "none.gguf"),
            (["run", module, "--prompt", "a", "--device=cuda", "--no-fallback"], 4, "cuda")):
        out, said = bench.tool("vx-llm", *arguments, code=code)
        bench.check(f"vx-llm {arguments}", message in said and not out, said)
