"""Nomic's BERT out of safetensors and GGUF: against transformers (its results in goldens.npz) and NumPy in f64, the vectors of texts of both files, and files that are wrong."""
import os
import pathlib

import gguf
import numpy as np

from embedding_models import VOCABULARY, texts, without_places, write_json
from encoder_checks import compare, compile_model, run_main
from llama_gguf import NOMIC_PARTS, rounded, write_nomic
from llama_oracle import nomic_hidden
from random_models import NOMIC_GOLDENS, NOMIC_LENGTHS, nomic_inputs, nomic_settings, nomic_transformers, nomic_weights

WORDS = [*VOCABULARY, *(f"word{i}" for i in range(300))]


def check_nomic(bench, write_folder):
    goldens = np.load(pathlib.Path(__file__).resolve().parent / "goldens.npz")
    for name, (settings, seed) in NOMIC_GOLDENS.items():
        tensors = nomic_weights(settings, seed)
        keys, renamed = nomic_transformers(settings, tensors)
        write_nomic(bench.path(name + ".gguf"), settings, tensors, WORDS[:len(tensors["embeddings.word_embeddings.weight"])])
        modules = {"nomic-ai's names": compile_model(bench, write_folder(bench, name, settings, tensors), name),
                   "GGUF": compile_model(bench, bench.path(name + ".gguf"), name + "-gguf", "cpu")}
        if name == "nomic":
            modules["transformers' names"] = compile_model(bench, write_folder(bench, "renamed", keys, renamed), "renamed", "cpu")
            del keys["rope_parameters"], keys["type_vocab_size"]  # as the defaults are
            modules["transformers' keys"] = compile_model(bench, write_folder(bench, "keys", keys, tensors, prefix="bert."), "keys", "cpu")
        for source, module in modules.items():
            for device in bench.devices if source == "nomic-ai's names" else ["cpu"]:
                for length in NOMIC_LENGTHS:
                    inputs = nomic_inputs(settings, seed, length)
                    got, title = run_main(bench, module, inputs, device), f"{name} of {source}, {length} tokens on {device}"
                    compare(bench, f"{title} as transformers", got[:, :2], goldens[f"{name}_{length}"], inputs["attention_mask"][:, :2])
                    compare(bench, f"{title} as NumPy", got, nomic_hidden(settings, tensors, inputs), inputs["attention_mask"])
    # Blocks, and a part of each head that turns.
    settings = nomic_settings(n_embd=64, n_head=2, n_inner=64, vocab_size=len(VOCABULARY), pad_vocab_size_multiple=1)
    tensors, inputs = nomic_weights(settings, 73), nomic_inputs(settings, 73, 20)
    write_nomic(bench.path("q8.gguf"), settings, tensors, VOCABULARY, kind="Q8_0")
    compare(bench, "a GGUF file of Q8_0", run_main(bench, compile_model(bench, bench.path("q8.gguf"), "q8", "cpu"), inputs, "cpu"), nomic_hidden(settings, rounded(tensors, "Q8_0"), inputs), inputs["attention_mask"])
    settings["rotary_emb_fraction"] = 0.5
    compare(bench, "a half of each head turns", run_main(bench, compile_model(bench, write_folder(bench, "half", settings, tensors), "half", "cpu"), inputs, "cpu"), nomic_hidden(settings, tensors, inputs), inputs["attention_mask"])


def check_nomic_vectors(bench, write_folder):
    """Both files make the same vectors of texts: tokens, mean, length 1."""
    settings = nomic_settings(vocab_size=len(VOCABULARY), n_positions=64)
    tensors = nomic_weights(settings, 74)
    padded = {**tensors, "embeddings.word_embeddings.weight": tensors["embeddings.word_embeddings.weight"][:len(VOCABULARY)]}
    folder = write_folder(bench, "vectors", settings, tensors)
    write_json(f"{folder}/sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    write_json(f"{folder}/tokenizer_config.json", {"do_lower_case": True})
    given = texts(30, 3)
    want, report, _ = bench.embed(compile_model(bench, folder, "vectors", "cpu"), given)
    bench.check("a text is cut to the model's context", report["truncated"] > 0, report)
    bench.check("vectors have the length 1", np.abs(np.linalg.norm(want, axis=1) - 1).max() < 1e-5)
    path = bench.path("named-after-the-file.gguf")
    write_nomic(path, settings, padded, VOCABULARY)
    got, report, _ = bench.embed(compile_model(bench, path, "vectors-gguf", "cpu"), given)
    bench.compare("vectors of GGUF as of safetensors", got, want)
    # First tokens, and capitals that stay.
    write_json(f"{folder}/1_Pooling/config.json", {"word_embedding_dimension": 24, "pooling_mode_cls_token": True})
    write_json(f"{folder}/tokenizer_config.json", {"do_lower_case": False})
    want, _, _ = bench.embed(compile_model(bench, folder, "vectors", "cpu"), given)
    write_nomic(path, settings, padded, VOCABULARY, keys={"pooling_type": 2, "tokenizer.ggml.normalizer.lowercase": False})
    got, _, _ = bench.embed(compile_model(bench, path, "vectors-gguf", "cpu"), given)
    bench.compare("vectors of first tokens", got, want)
    write_nomic(path, settings, padded, VOCABULARY, keys={"tokenizer.ggml.padding_token_id": 4})
    with open(compile_model(bench, path, "padding-gguf", "cpu"), "rb") as file:
        bench.check("the module has the padding token of the file", b'"padding":4,' in file.read())
    shown, _ = bench.tool("vx-llm", "show", path)
    bench.check("show says which tool runs it", "a model of embeddings" in shown, shown)


def check_wrong_nomic(bench, write_folder):
    settings = nomic_settings(vocab_size=len(VOCABULARY), pad_vocab_size_multiple=1, n_layer=1)
    tensors = nomic_weights(settings, 75)
    path, plain = bench.path("wrong-nomic.gguf"), gguf.GGMLQuantizationType.F32

    def refused(title, source, message):
        _, said = bench.tool("vx-compile", source, "--target=cpu", "-o", bench.path("wrong.vxm"), code=3)
        bench.check(f"refused: {title}", message in without_places(said) and said.count("\n") == 1, f"want '{message}', got {said}")
        bench.check("no module is left", not os.path.exists(bench.path("wrong.vxm")))

    count = len(VOCABULARY)
    for key in ("context_length", "embedding_length", "block_count", "attention.head_count", "feed_forward_length"):
        write_nomic(path, settings, tensors, VOCABULARY, keys={key: None})
        refused(f"GGUF without {key}", path, f"expected a key 'nomic-bert.{key}', got none")
    for keys, message in (({"pooling_type": None}, "key 'nomic-bert.pooling_type': expected 1 (mean), 2 (cls) or 3 (last), got none"),
                          ({"pooling_type": 4}, "key 'nomic-bert.pooling_type': expected 1 (mean), 2 (cls) or 3 (last), got 4"),
                          ({"attention.causal": True}, "key 'nomic-bert.attention.causal': expected false, got true"),
                          ({"attention.causal": 0}, "key 'nomic-bert.attention.causal': expected true or false, got 0"),
                          ({"attention.head_count_kv": 1}, "key 'nomic-bert.attention.head_count_kv': expected 'attention.head_count', 3, got 1"),
                          ({"attention.head_count": 5}, "key 'nomic-bert.embedding_length': expected a multiple of 'attention.head_count', 5, got 24"),
                          ({"moe_every_n_layers": 2}, "key 'nomic-bert.moe_every_n_layers' is 2, but the family nomic-bert does not read this key"),
                          ({"feed_forward_length": 41}, "tensor 'blk.0.ffn_gate.weight': expected [41,24], got f32[40,24]"),
                          ({"tokenizer.ggml.model": "t5"}, "key 'tokenizer.ggml.model': expected bert: the tokenizer of an encoder, got \"t5\""),
                          ({"tokenizer.ggml.model": None}, "key 'tokenizer.ggml.model': expected bert: the tokenizer of an encoder, got none"),
                          ({"tokenizer.ggml.tokens": None}, "key 'tokenizer.ggml.tokens': expected an array of strings, got none"),
                          ({"tokenizer.ggml.tokens": "a"}, "key 'tokenizer.ggml.tokens': expected an array of strings, got \"a\""),
                          ({"tokenizer.ggml.tokens": [1, 2]}, "key 'tokenizer.ggml.tokens': expected an array of strings, got ["),
                          ({"tokenizer.ggml.tokens": ["a"] * (count + 1), "tokenizer.ggml.token_type": None}, f"key 'tokenizer.ggml.tokens': expected 1 to {count} tokens, the rows of the embedding, got {count + 1}"),
                          ({"tokenizer.ggml.tokens": ["a", "b\nc"], "tokenizer.ggml.token_type": None}, "key 'tokenizer.ggml.tokens': expected tokens of one line, got another one at place 1"),
                          ({"tokenizer.ggml.token_type": [1]}, "key 'tokenizer.ggml.token_type': expected an array with a kind for each token, got [1]"),
                          ({"tokenizer.ggml.cls_token_id": None}, "key 'tokenizer.ggml.cls_token_id': expected the number of a token, got none"),
                          ({"tokenizer.ggml.seperator_token_id": None}, "key 'tokenizer.ggml.separator_token_id': expected the number of a token, got none"),
                          ({"tokenizer.ggml.padding_token_id": count}, f"key 'tokenizer.ggml.padding_token_id': expected a token below {count}, got {count}"),
                          ({"tokenizer.ggml.unknown_token_id": "x"}, "key 'tokenizer.ggml.unknown_token_id': expected a whole number of 0 or more, got \"x\"")):
        write_nomic(path, settings, tensors, VOCABULARY, keys=keys)
        refused(f"GGUF with {keys}", path, message)
    for name in tensors:
        if "norm" in name or "attn" in name or "mlp" in name:
            write_nomic(path, settings, tensors, VOCABULARY, without=(name,))
            own = f"blk.0.{NOMIC_PARTS[name.split('.', 3)[3].rsplit('.', 1)[0]]}.{name.rsplit('.', 1)[1]}"
            refused(f"GGUF without {own}", path, f"tensor '{own}': expected [{','.join(map(str, tensors[name].shape))}], got no such tensor")
    for name, own in (("embeddings.word_embeddings.weight", "token_embd.weight"), ("embeddings.token_type_embeddings.weight", "token_types.weight"), ("emb_ln.bias", "token_embd_norm.bias")):
        write_nomic(path, settings, tensors, VOCABULARY, without=(name,))
        refused(f"GGUF without {own}", path, f"tensor '{own}': expected [")
    write_nomic(path, settings, tensors, VOCABULARY, more=(("blk.0.attn_qkv.bias", np.zeros(72, np.float32), plain),))
    refused("GGUF with a bias", path, "tensor 'blk.0.attn_qkv.bias' is not one of the family nomic-bert")
    factors = tuple((f"rope_factors_{room}.weight", np.ones(4, np.float32), plain) for room in ("short", "long"))
    write_nomic(path, settings, tensors, VOCABULARY, more=factors, keys={"rope.scaling.original_context_length": 32})
    refused("GGUF with LongRoPE", path, "rotary positions of the type longrope: expected another type, an encoder has no cache whose room chooses the factors")

    folder = write_folder(bench, "wrong-nomic", settings, tensors)
    config = "wrong-nomic/config.json: "
    for changes, message in ((dict(rotary_scaling_factor=2), "'rotary_scaling_factor': expected null: this scaling of positions is not supported, got 2"),
                             (dict(rotary_emb_scale_base=512), "'rotary_emb_scale_base': expected null: this scaling of positions is not supported, got 512"),
                             *((dict({key: True}), f"'{key}': expected false, got true") for key in ("causal", "prenorm", "parallel_block", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "use_rms_norm", "rotary_emb_interleaved", "scale_attn_by_inverse_layer_idx")),
                             (dict(scale_attn_weights=False), "'scale_attn_weights': expected true, got false"),
                             (dict(activation_function="geglu"), "'activation_function': expected \"swiglu\", got \"geglu\""),
                             (dict(rotary_emb_fraction=0.0), "'rotary_emb_fraction': expected a number above 0, got 0"),
                             (dict(rotary_emb_fraction=0.4), "expected an even number of elements of a head that turn, got 3 of 8"),
                             (dict(n_head=5), "'n_embd': expected a multiple of 'n_head', 5, got 24"),
                             (dict(n_layer="gone"), "'n_layer': expected a number, got none"),
                             (dict(moe_every_n_layers=2), "'moe_every_n_layers' is 2, but the family nomic_bert does not read this key"),
                             (dict(hidden_size=24), "'hidden_size' is 24, but the family nomic_bert does not read this key")):
        write_json(f"{folder}/config.json", nomic_settings(**{**{key: settings[key] for key in ("vocab_size", "pad_vocab_size_multiple", "n_layer")}, **changes}))
        refused(f"a folder with {changes}", folder, config + message)
    write_json(f"{folder}/config.json", {**settings, "n_positions": 8})
    refused("a longer text than positions", folder, "'max_seq_length': expected at most 8, which is 'n_positions' of ")
    keys, _ = nomic_transformers(settings, tensors)
    for changes, message in ((dict(hidden_act="mish"), "'hidden_act': expected one of gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish, got \"mish\""),
                             (dict(num_key_value_heads=1), "'num_key_value_heads': expected as many as 'num_attention_heads', 3, got 1"),
                             (dict(head_dim=7), "expected an even number of elements of a head that turn, got 7 of 7"),
                             (dict(type_vocab_size=3), None)):
        write_json(f"{folder}/config.json", {**keys, **changes})
        refused(f"a folder with {changes}", folder, config + message if message else "tensor 'embeddings.token_type_embeddings.weight': expected [3,24], got f32[2,24]")
