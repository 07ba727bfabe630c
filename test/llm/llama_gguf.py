"""GGUF files of llama.cpp's form, by PyPI's gguf, of weights with the names of transformers."""
import pathlib
import sys
import zlib

import gguf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e" / "ops"))
import blocks  # noqa: E402
from llama_oracle import frequencies  # noqa: E402
from random_models import GATE_UP, QKV, decoder_weights, joined, llama_depth, llama_weights, original_context

PARTS = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "post_attention_layernorm": "ffn_norm",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
TYPES = {kind: gguf.GGMLQuantizationType[kind] for kind in ("F32", "F16", "BF16", *(name.upper() for name in blocks.FORMATS))}


# Of Gemma 3, where other names stand for other norms.
GEMMA3_PARTS = {**PARTS, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}


PHI_PARTS = {**PARTS, "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}


def rename(name, parts=PARTS):
    if name.startswith("model.layers."):
        _, _, layer, part, *rest = name.split(".")
        part, kind = ".".join([part, *rest[:-1]]), rest[-1]
        return f"blk.{layer}.{parts[part]}.{kind}"
    part, kind = name.rsplit(".", 1)
    return {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.final_layernorm": "output_norm", "lm_head": "output"}[part] + "." + kind


def pair_rows(tensor, heads, turned=None):
    """The rows of each head in the order of llama.cpp's converter: the two elements of a pair beside one another. `turned` rows of a head are in pairs; all without it."""
    if turned:
        rows = tensor.reshape(heads, tensor.shape[0] // heads, *tensor.shape[1:])
        first = rows[:, :turned].reshape(heads, 2, turned // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(heads, turned, *tensor.shape[1:])
        return np.concatenate([first, rows[:, turned:]], axis=1).reshape(tensor.shape)
    return tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


# Models of random_models.py without a GGUF file, by the reason.
WITHOUT_GGUF = {
    "mistral_window": "llama.cpp's converter has Mistral as llama, without its window",
    "gemma3": "Gemma 3's scores are divided by the root of a key's size, and nothing else",
    "gpt2_inner": "GPT-2 has one activation",
    "phi_tied": "Phi 2 has one activation, and a head that is not tied",
    "yarn_mscale": "YaRN has no mscale",
    "yarn_betas": "YaRN changes at whole pairs",
}


def letters(count):
    """Texts of tokens: letters, then pairs of letters, and the last one ends an answer."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [*alphabet, *(a + b for a in alphabet for b in alphabet)][:count - 1] + ["<end>"]


def write_decoder(path, name, settings, seed):
    """The GGUF file of a model of random_models.py. Two have query, key and value in one product, or in three, where safetensors has the other."""
    tensors = decoder_weights(settings, seed)
    if name == "phi_groups":
        tensors = joined(tensors, QKV)
    if name == "phi3_first":
        tensors = joined(llama_weights({**settings, "model_type": "llama"}, seed), GATE_UP)
    (write_gpt2 if settings["model_type"] == "gpt2" else write_llama)(path, settings, tensors, tokens=letters(settings["vocab_size"]))


def write_llama(path, settings, tensors, kind="F32", tokens=None, ends=(), keys=(), more=(), split=0, without=(), ends_by=(), pairs=None, template=None, begin=None, kinds=None):
    """`tokens` are the texts of a byte-level vocabulary; others than these make no file that has a tokenizer."""
    architecture = {"mistral": "llama", "gemma3_text": "gemma3", "phi": "phi2"}.get(settings["model_type"], settings["model_type"])
    writer = gguf.GGUFWriter(None, architecture, split_max_tensors=split)
    facts = {"context_length": settings["max_position_embeddings"], "embedding_length": settings["hidden_size"], "block_count": settings["num_hidden_layers"],
             "feed_forward_length": settings["intermediate_size"], "attention.head_count": settings["num_attention_heads"], "attention.head_count_kv": settings.get("num_key_value_heads") or settings["num_attention_heads"]}
    is_gemma = architecture == "gemma3"
    if is_gemma:
        facts["attention.sliding_window"] = settings["sliding_window"]
    if "head_dim" in settings:
        facts.update({"attention.key_length": settings["head_dim"], "attention.value_length": settings["head_dim"]})
    is_phi = architecture == "phi2"
    facts["rope.dimension_count"] = int(llama_depth(settings) * settings.get("partial_rotary_factor", 0.5 if is_phi else 1)) if architecture.startswith("phi") else llama_depth(settings)
    if architecture == "phi3":
        facts["attention.sliding_window"] = settings["sliding_window"] or 0
        facts["rope.scaling.original_context_length"] = original_context(settings)
    facts["vocab_size"] = settings["vocab_size"]
    for key, value in {**facts, **dict(keys)}.items():
        if value is not None and isinstance(value, int):
            writer.add_uint32(f"{architecture}.{key}", value)
        elif isinstance(value, float):
            writer.add_float32(f"{architecture}.{key}", value)
        elif isinstance(value, str):
            writer.add_string(f"{architecture}.{key}", value)
    epsilon = "attention.layer_norm_epsilon" if is_phi else "attention.layer_norm_rms_epsilon"
    if epsilon not in dict(keys):
        writer.add_float32(f"{architecture}.{epsilon}", settings["layer_norm_eps" if is_phi else "rms_norm_eps"])
    if not is_phi or settings["rope_theta"] != 10000:  # which the converter does not write
        writer.add_float32(f"{architecture}.rope.freq_base", float(settings["rope_theta"]))
    rope = settings.get("rope_scaling") or {}
    variant = rope.get("rope_type", {"su": "longrope"}.get(rope.get("type"), rope.get("type")))
    if variant in ("linear", "yarn", "longrope") and architecture != "phi3":  # whose converter writes no type
        writer.add_string(f"{architecture}.rope.scaling.type", variant)
        for key, name in (("factor", "factor"), ("attention_factor", "yarn_attn_factor"), ("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow")):
            if key in rope and variant != "longrope":
                writer.add_float32(f"{architecture}.rope.scaling.{name}", rope[key])
        if "original_max_position_embeddings" in rope:
            writer.add_uint32(f"{architecture}.rope.scaling.original_context_length", rope["original_max_position_embeddings"])
    if variant == "longrope":
        writer.add_float32(f"{architecture}.rope.scaling.attn_factor", float(frequencies(settings)[1]))
        for room in ("short", "long"):
            writer.add_tensor(f"rope_factors_{room}.weight", np.float32(rope[f"{room}_factor"]))
    if tokens is not None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list(tokens)
        writer.add_token_types([dict(kinds or {}).get(i, 3 if token.startswith("<") and len(token) > 1 else 1) for i, token in enumerate(tokens)])
        writer.add_token_merges(["a a"])
        if template:
            writer.add_chat_template(template)
        if begin is not None:  # a token at the beginning of each text
            writer.add_bos_token_id(begin)
            writer.add_add_bos_token(True)
        if ends:
            writer.add_eos_token_id(ends[0])
        for end, token in dict(ends_by).items():
            writer.add_int32(f"tokenizer.ggml.{end}_token_id", token)
    for name, tensor in tensors.items():
        if name in without:
            continue
        if architecture == "llama" and (".q_proj." in name or ".k_proj." in name):
            tensor = pair_rows(tensor, settings["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"], pairs)
        if is_gemma and name.endswith("norm.weight"):
            tensor = tensor + np.float32(1)
        # Vectors stay f32, as llama.cpp's converter has it.
        stored = TYPES[kind if tensor.ndim > 1 else "F32"]
        writer.add_tensor(rename(name, GEMMA3_PARTS if is_gemma else PHI_PARTS if is_phi else PARTS), quantized(tensor, stored), raw_dtype=stored)
    if variant == "llama3":
        plain, _ = frequencies({**settings, "rope_scaling": None})
        writer.add_tensor("rope_freqs.weight", (plain / frequencies(settings)[0]).astype(np.float32))
    for name, tensor, stored in more:
        writer.add_tensor(name, tensor, raw_dtype=stored)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


GPT2_PARTS = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


def write_gpt2(path, settings, tensors, tokens):
    """Matrices lie as those of other families, which transformers has turned for this one."""
    writer = gguf.GGUFWriter(path, "gpt2")
    for key, value in {"context_length": settings["n_positions"], "embedding_length": settings["n_embd"], "block_count": settings["n_layer"], "attention.head_count": settings["n_head"],
                       "feed_forward_length": settings["n_inner"] or 4 * settings["n_embd"]}.items():
        writer.add_uint32(f"gpt2.{key}", value)
    writer.add_float32("gpt2.attention.layer_norm_epsilon", settings["layer_norm_epsilon"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token.startswith("<") and len(token) > 1 else 1 for token in tokens])
    writer.add_token_merges(["a a"])
    for name, tensor in tensors.items():
        name = name.removeprefix("transformer.")
        if name.startswith("h."):
            _, layer, *part, kind = name.split(".")
            if tensor.ndim > 1:
                tensor = tensor.T
            name = f"blk.{layer}.{GPT2_PARTS['.'.join(part)]}.{kind}"
        else:
            name = name.replace("wte", "token_embd").replace("wpe", "position_embd").replace("ln_f", "output_norm")
        writer.add_tensor(name, np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


NOMIC_PARTS = {"attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm", "mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down", "norm2": "layer_output_norm"}


def write_nomic(path, settings, tensors, tokens, kind="F32", keys=(), without=(), more=()):
    """`tokens` as vocab.txt has them. A key None leaves one out; those of the tokenizer begin with "tokenizer."."""
    writer = gguf.GGUFWriter(path, "nomic-bert")
    special = [token.startswith("[") and token.endswith("]") and len(token) > 2 for token in tokens]
    facts = {"context_length": settings["n_positions"], "embedding_length": settings["n_embd"], "block_count": settings["n_layer"], "attention.head_count": settings["n_head"],
             "feed_forward_length": settings["n_inner"] or 4 * settings["n_embd"], "attention.layer_norm_epsilon": settings["layer_norm_epsilon"], "attention.causal": False, "pooling_type": 1,
             "rope.freq_base": float(settings["rotary_emb_base"]), "tokenizer.ggml.model": "bert", "tokenizer.ggml.pre": "jina-v2-en", "tokenizer.ggml.token_type_count": 2,
             "tokenizer.ggml.tokens": [token if is_special else token[2:] if token.startswith("##") else "\u2581" + token for token, is_special in zip(tokens, special)],
             "tokenizer.ggml.token_type": [3 if is_special else 1 for is_special in special], "tokenizer.ggml.unknown_token_id": tokens.index("[UNK]"), "tokenizer.ggml.cls_token_id": tokens.index("[CLS]"),
             "tokenizer.ggml.seperator_token_id": tokens.index("[SEP]"), "tokenizer.ggml.padding_token_id": tokens.index("[PAD]")}
    for key, value in {**facts, **dict(keys)}.items():
        key = key if key.startswith("tokenizer.") else f"nomic-bert.{key}"
        if value is not None:
            add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string, list: writer.add_array}[type(value)]
            add(key, value)
    for name, tensor in tensors.items():
        if name in without:
            continue
        name, part = name.rsplit(".", 1)
        if name.startswith("encoder.layers."):
            _, _, layer, name = name.split(".", 3)
            name = f"blk.{layer}.{NOMIC_PARTS[name]}"
        name = {"embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types", "emb_ln": "token_embd_norm"}.get(name, name)
        stored = TYPES[kind if tensor.ndim > 1 else "F32"]
        writer.add_tensor(f"{name}.{part}", quantized(tensor, stored), raw_dtype=stored)
    for name, tensor, stored in more:
        writer.add_tensor(name, tensor, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantized(tensor, kind):
    """A matrix in the bytes of a type. Where PyPI's gguf cannot quantise these are random bytes, of numbers as large as those of a matrix that keeps the scale of its inputs."""
    tensor = np.ascontiguousarray(tensor)
    try:
        return gguf.quants.quantize(tensor, kind)
    except NotImplementedError:
        name = kind.name.lower()
        elements, size, *_ = blocks.FORMATS[name]
        make = blocks.blocks(name, largest=2 * tensor.shape[-1]**-0.5 / blocks.magnitude(name))
        return make(np.random.default_rng(zlib.crc32(tensor.tobytes())), (*tensor.shape[:-1], tensor.shape[-1] // elements * size))


def rounded(tensors, kind):
    """The weights as a file of this type has them."""
    if kind == "F32":
        return tensors
    return {name: gguf.quants.dequantize(quantized(tensor, TYPES[kind]), TYPES[kind]).reshape(tensor.shape) if tensor.ndim > 1 else tensor
            for name, tensor in tensors.items()}


def write_small(path):
    """A model of random weights in Q4_1 that takes any text, a byte a token, and conversations."""
    from random_models import llama_settings, llama_weights
    from tokenizers.pre_tokenizers import ByteLevel
    settings = llama_settings(vocab_size=258, tie_word_embeddings=True, max_position_embeddings=512, num_hidden_layers=1, intermediate_size=64)
    tokens = [*(token for token in sorted(ByteLevel.alphabet()) if token != "<"), "<", "aa", "<end>"]
    write_llama(path, settings, llama_weights(settings, 1), kind="Q4_1", tokens=tokens, ends=(257,), template="{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}assistant: ")
