"""Small random models of the families of language models: settings as config.json has them, and weights by the names of transformers.

The weights follow from the settings and a seed, so that a file of results (goldens.npz) needs none of them."""
import numpy as np


def bert_settings(kind="bert", **changes):
    settings = {"model_type": kind, "architectures": ["BertModel"], "vocab_size": 140, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40,
                "hidden_act": "gelu", "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0, "position_embedding_type": "absolute",
                "attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1, "initializer_range": 0.02, "transformers_version": "4.40.0", "use_cache": True, "torch_dtype": "float32"}
    if kind != "bert":
        settings.update(type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5, bos_token_id=0, eos_token_id=2)
    settings.update(changes)
    return {key: value for key, value in settings.items() if value != "gone"}


def biased_layers(random, tensors, width):
    """Functions that draw a matrix and a norm with their biases. Norms are far from 1 and 0, and matrices keep the scale of their inputs: each weight shows in the result."""

    def linear(name, outputs, inputs):
        tensors[name + ".weight"] = random.standard_normal((outputs, inputs)) * inputs**-0.5
        tensors[name + ".bias"] = 0.3 * random.standard_normal(outputs)

    def norm(name):
        tensors[name + ".weight"] = 1 + 0.2 * random.standard_normal(width)
        tensors[name + ".bias"] = 0.2 * random.standard_normal(width)

    return linear, norm


def bert_weights(settings, seed):
    random = np.random.default_rng(seed)
    width, inner = settings["hidden_size"], settings["intermediate_size"]
    tensors = {}

    linear, norm = biased_layers(random, tensors, width)

    for name, rows in (("word", settings["vocab_size"]), ("position", settings["max_position_embeddings"]), ("token_type", settings["type_vocab_size"])):
        tensors[f"embeddings.{name}_embeddings.weight"] = 0.5 * random.standard_normal((rows, width))
    norm("embeddings.LayerNorm")
    for layer in range(settings["num_hidden_layers"]):
        name = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            linear(f"{name}attention.self.{part}", width, width)
        linear(f"{name}attention.output.dense", width, width)
        norm(f"{name}attention.output.LayerNorm")
        linear(f"{name}intermediate.dense", inner, width)
        linear(f"{name}output.dense", width, inner)
        norm(f"{name}output.LayerNorm")
    linear("pooler.dense", width, width)
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def bert_inputs(settings, seed, batch=3, length=9):
    random = np.random.default_rng(seed + 1000)
    ids = random.integers(5, settings["vocab_size"], (batch, length))
    mask = (np.arange(length) < random.integers(1, length, (batch, 1), endpoint=True)).astype(np.int64)
    mask[0] = 1
    ids = np.where(mask == 1, ids, settings["pad_token_id"])
    inputs = {"input_ids": ids, "attention_mask": mask}
    if settings["type_vocab_size"] > 1:
        inputs["token_type_ids"] = random.integers(0, settings["type_vocab_size"], (batch, length))
    return inputs


# Cases that goldens.npz has results of transformers for: name, settings, seed.
BERT_GOLDENS = {
    "bert": (bert_settings(), 1),
    "bert_relu": (bert_settings(hidden_act="relu", num_attention_heads=4, intermediate_size=56, type_vocab_size=3, max_position_embeddings=17), 2),
    "bert_gelu_new": (bert_settings(hidden_act="gelu_new", hidden_size=32, num_attention_heads=1, num_hidden_layers=3, layer_norm_eps=1e-2), 3),
    "roberta": (bert_settings("roberta"), 4),
    "xlm-roberta": (bert_settings("xlm-roberta", pad_token_id=3, type_vocab_size=2, vocab_size=99), 5),
}


def llama_settings(kind="llama", **changes):
    settings = {"model_type": kind, "architectures": ["LlamaForCausalLM"], "vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                "intermediate_size": 48, "hidden_act": "silu", "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": None, "tie_word_embeddings": False,
                "attention_bias": False, "mlp_bias": False, "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.02, "use_cache": True, "torch_dtype": "float32",
                "attention_dropout": 0.0, "pretraining_tp": 1, "transformers_version": "4.40.0"}
    if kind == "qwen2":
        for key in ("attention_bias", "mlp_bias", "pretraining_tp"):
            settings.pop(key)
        settings.update(architectures=["Qwen2ForCausalLM"], use_sliding_window=False, sliding_window=32, max_window_layers=2, rms_norm_eps=1e-6, rope_theta=1000000.0)
    if kind == "qwen3":
        for key in ("mlp_bias", "pretraining_tp"):
            settings.pop(key)
        settings.update(architectures=["Qwen3ForCausalLM"], use_sliding_window=False, sliding_window=None, max_window_layers=2, rms_norm_eps=1e-6, rope_theta=1000000.0, head_dim=16)
    if kind == "gemma3_text":
        for key in ("mlp_bias", "pretraining_tp", "hidden_act"):
            settings.pop(key)
        settings.update(architectures=["Gemma3ForCausalLM"], hidden_activation="gelu_pytorch_tanh", num_hidden_layers=3, sliding_window=9, layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                        rope_theta=1000000.0, rope_local_base_freq=10000.0, query_pre_attn_scalar=24, head_dim=16, tie_word_embeddings=True, attn_logit_softcapping=None,
                        final_logit_softcapping=None, rms_norm_eps=1e-6)
    if kind == "phi3":
        for key in ("mlp_bias", "pretraining_tp"):
            settings.pop(key)
        settings.update(architectures=["Phi3ForCausalLM"], auto_map={"AutoConfig": "configuration_phi3.Phi3Config"}, original_max_position_embeddings=64, sliding_window=None, embd_pdrop=0.0, resid_pdrop=0.0, pad_token_id=3)
    settings.update(changes)
    return {key: value for key, value in settings.items() if value != "gone"}


def llama_depth(settings):
    return settings.get("head_dim") or settings["hidden_size"] // settings["num_attention_heads"]


def llama_weights(settings, seed):
    random = np.random.default_rng(seed)
    width, inner, depth = settings["hidden_size"], settings["intermediate_size"], llama_depth(settings)
    heads, groups = settings["num_attention_heads"], settings["num_key_value_heads"]
    tensors = {}

    def linear(name, outputs, inputs, has_bias=False):
        tensors[name + ".weight"] = random.standard_normal((outputs, inputs)) * inputs**-0.5
        if has_bias:
            tensors[name + ".bias"] = 0.3 * random.standard_normal(outputs)

    is_gemma = settings["model_type"] == "gemma3_text"  # whose norms are stored less 1

    def norm(name, size=width):
        tensors[name + ".weight"] = (0 if is_gemma else 1) + 0.2 * random.standard_normal(size)

    tensors["model.embed_tokens.weight"] = random.standard_normal((settings["vocab_size"], width))
    biased = settings["model_type"] == "qwen2" or settings.get("attention_bias", False)
    for layer in range(settings["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        norm(name + "input_layernorm")
        for part, count in (("q", heads), ("k", groups), ("v", groups)):
            linear(f"{name}self_attn.{part}_proj", count * depth, width, biased)
        linear(name + "self_attn.o_proj", width, heads * depth, settings.get("attention_bias", False))
        norm(name + "post_attention_layernorm")
        if is_gemma:
            norm(name + "pre_feedforward_layernorm")
            norm(name + "post_feedforward_layernorm")
        if is_gemma or settings["model_type"] == "qwen3":
            norm(name + "self_attn.q_norm", depth)
            norm(name + "self_attn.k_norm", depth)
        for part, outputs, inputs in (("gate", inner, width), ("up", inner, width), ("down", width, inner)):
            linear(f"{name}mlp.{part}_proj", outputs, inputs, settings.get("mlp_bias", False))
    norm("model.norm")
    if not settings["tie_word_embeddings"]:
        linear("lm_head", settings["vocab_size"], width)
    if settings["model_type"] == "phi3":
        tensors = joined(tensors, {**QKV, **GATE_UP})
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


GATE_UP = {"mlp.gate_up_proj": ["mlp.gate_proj", "mlp.up_proj"]}
QKV = {"self_attn.qkv_proj": [f"self_attn.{part}_proj" for part in "qkv"]}


def joined(tensors, products):
    """With the rows of several products in one, by its name."""
    tensors = dict(tensors)
    for whole, parts in products.items():
        for name in [name for name in tensors if f".{parts[0]}." in name]:
            tensors[name.replace(parts[0], whole)] = np.concatenate([tensors.pop(name.replace(parts[0], part)) for part in parts])
    return tensors


LENGTHS = (1, 31, 32, 33)


def llama_tokens(settings, seed, length):
    return np.random.default_rng(seed + 2000 + length).integers(0, settings["vocab_size"], length)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
LLAMA_GOLDENS = {
    "llama": (llama_settings(), 11),
    "llama_tied": (llama_settings(tie_word_embeddings=True, num_key_value_heads=1, rope_theta=500.0, rms_norm_eps=1e-2), 12),
    "llama_heads": (llama_settings(head_dim=12, num_key_value_heads=4, num_hidden_layers=1), 13),
    "llama_biases": (llama_settings(attention_bias=True, mlp_bias=True), 14),
    "llama3": (llama_settings(rope_scaling=LLAMA3), 15),
    "llama_linear": (llama_settings(rope_scaling={"rope_type": "linear", "factor": 4.0}), 16),
    "qwen2": (llama_settings("qwen2"), 17),
    "mistral_window": (llama_settings("mistral", sliding_window=9, attention_bias="gone", mlp_bias="gone", pretraining_tp="gone"), 19),
    "qwen3": (llama_settings("qwen3"), 41),
    "qwen3_tied": (llama_settings("qwen3", tie_word_embeddings=True, num_key_value_heads=4, attention_bias=True), 42),
    "gemma3": (llama_settings("gemma3_text"), 43),
    "gemma3_layers": (llama_settings("gemma3_text", num_hidden_layers=7, layer_types="gone", sliding_window_pattern="gone", sliding_window=5, num_key_value_heads=1, query_pre_attn_scalar=16, rope_scaling={"rope_type": "linear", "factor": 4.0}), 44),
    "mistral": (llama_settings("mistral", sliding_window=None, attention_bias="gone", mlp_bias="gone", pretraining_tp="gone"), 18),
}


def gpt2_settings(**changes):
    settings = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 96, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": None, "n_positions": 64, "n_ctx": 64,
                "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "initializer_range": 0.02, "bos_token_id": 1,
                "eos_token_id": 2, "summary_type": "cls_index", "summary_use_proj": True, "task_specific_params": {"text-generation": {"do_sample": True}}}
    settings.update(changes)
    return {key: value for key, value in settings.items() if value != "gone"}


def gpt2_weights(settings, seed, prefix="transformer."):
    random = np.random.default_rng(seed)
    width = settings["n_embd"]
    inner = settings["n_inner"] or 4 * width
    tensors = {}

    def linear(name, inputs, outputs):
        tensors[name + ".weight"] = random.standard_normal((inputs, outputs)) * inputs**-0.5
        tensors[name + ".bias"] = 0.3 * random.standard_normal(outputs)

    def norm(name):
        tensors[name + ".weight"] = 1 + 0.2 * random.standard_normal(width)
        tensors[name + ".bias"] = 0.2 * random.standard_normal(width)

    tensors[prefix + "wte.weight"] = random.standard_normal((settings["vocab_size"], width))
    tensors[prefix + "wpe.weight"] = 0.5 * random.standard_normal((settings["n_positions"], width))
    for layer in range(settings["n_layer"]):
        name = f"{prefix}h.{layer}."
        norm(name + "ln_1")
        linear(name + "attn.c_attn", width, 3 * width)
        linear(name + "attn.c_proj", width, width)
        norm(name + "ln_2")
        linear(name + "mlp.c_fc", width, inner)
        linear(name + "mlp.c_proj", inner, width)
    norm(prefix + "ln_f")
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


GPT2_GOLDENS = {"gpt2": (gpt2_settings(), 31), "gpt2_inner": (gpt2_settings(n_inner=24, n_head=2, n_layer=1, layer_norm_epsilon=1e-2, activation_function="gelu"), 32)}


def phi_settings(**changes):
    settings = {"model_type": "phi", "architectures": ["PhiForCausalLM"], "vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
                "hidden_act": "gelu_new", "max_position_embeddings": 64, "layer_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": None, "partial_rotary_factor": 0.5, "qk_layernorm": False,
                "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, "attention_dropout": 0.0, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "use_cache": True}
    settings.update(changes)
    return {key: value for key, value in settings.items() if value != "gone"}


def phi_weights(settings, seed):
    random = np.random.default_rng(seed)
    width, inner, depth = settings["hidden_size"], settings["intermediate_size"], llama_depth(settings)
    heads, groups = settings["num_attention_heads"], settings.get("num_key_value_heads") or settings["num_attention_heads"]
    tensors = {}

    linear, norm = biased_layers(random, tensors, width)

    tensors["model.embed_tokens.weight"] = random.standard_normal((settings["vocab_size"], width))
    for layer in range(settings["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        norm(name + "input_layernorm")
        for part, count in (("q", heads), ("k", groups), ("v", groups)):
            linear(f"{name}self_attn.{part}_proj", count * depth, width)
        linear(name + "self_attn.dense", width, heads * depth)
        linear(name + "mlp.fc1", inner, width)
        linear(name + "mlp.fc2", width, inner)
    norm("model.final_layernorm")
    linear("lm_head", settings["vocab_size"], width)
    if settings["tie_word_embeddings"]:
        del tensors["lm_head.weight"]
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


PHI_GOLDENS = {
    "phi": (phi_settings(), 51),
    "phi_groups": (phi_settings(num_key_value_heads=2, intermediate_size=40, partial_rotary_factor=0.25, rope_theta=500.0, layer_norm_eps=1e-2), 52),
    "phi_tied": (phi_settings(tie_word_embeddings=True, num_hidden_layers=1, partial_rotary_factor="gone", hidden_act="gelu", rope_scaling={"rope_type": "linear", "factor": 4.0}), 53),
}

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
SLOW_YARN = {**YARN, "beta_fast": 3.0, "beta_slow": 0.25, "attention_factor": 1.3, "truncate": False}
LONGROPE = {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.6], "long_factor": [1.2, 1.9, 3.5, 7.0], "original_max_position_embeddings": 32}
ROTARY_GOLDENS = {
    "yarn": (llama_settings(rope_scaling=YARN), 61),
    "yarn_betas": (llama_settings("qwen3", rope_theta=500.0, rope_scaling=SLOW_YARN), 62),
    "yarn_mscale": (llama_settings(rope_theta=5.0, rope_scaling={**YARN, "factor": 8.0, "beta_fast": 8.0, "beta_slow": 0.5, "mscale": 1.2, "mscale_all_dim": 0.4, "original_max_position_embeddings": "gone"}), 63),
    "yarn_part": (phi_settings(hidden_size=64, rope_scaling={**YARN, "beta_fast": 2.0, "beta_slow": 0.5, "attention_factor": 0.8, "original_max_position_embeddings": 40}), 64),
    "longrope": (llama_settings(rope_scaling=LONGROPE), 65),
    "longrope_scale": (llama_settings("qwen2", num_hidden_layers=1, rope_scaling={**LONGROPE, "rope_type": "gone", "type": "su", "attention_factor": 1.4}), 66),
}
PHI3_GOLDENS = {
    "phi3": (llama_settings("phi3", sliding_window=9), 67),
    "phi3_longrope": (llama_settings("phi3", partial_rotary_factor=0.75, tie_word_embeddings=True, original_max_position_embeddings=32, lm_head_bias=False, interpolate_factor=1,
                                     rope_scaling={"type": "longrope", "short_factor": [1.0, 1.2, 1.5], "long_factor": [1.1, 2.0, 5.0]}), 68),
    "phi3_first": (llama_settings("phi3", num_hidden_layers=1, max_position_embeddings=8192, original_max_position_embeddings="gone", rope_scaling={**LONGROPE, "original_max_position_embeddings": 16}), 69),
}
for settings, _ in ROTARY_GOLDENS.values():
    settings["rope_scaling"] = {key: value for key, value in settings["rope_scaling"].items() if value != "gone"}
DECODER_GOLDENS = {**LLAMA_GOLDENS, **GPT2_GOLDENS, **PHI_GOLDENS, **ROTARY_GOLDENS, **PHI3_GOLDENS}


def original_context(settings):
    """The longest sequence of the first training; a key beside the object comes first, and Phi 3 has a default for it."""
    rope, key = settings.get("rope_scaling") or {}, "original_max_position_embeddings"
    return settings.get(key) or (4096 if settings["model_type"] == "phi3" else rope.get(key, settings["max_position_embeddings"]))


def short_context(settings):
    """With room for no more tokens than this, heads turn by other factors; 0: they do not."""
    original = original_context(settings) if "short_factor" in (settings.get("rope_scaling") or {}) else 0
    return original if original < settings.get("max_position_embeddings", 0) else 0


def decoder_weights(settings, seed):
    return {"gpt2": gpt2_weights, "phi": phi_weights}.get(settings["model_type"], llama_weights)(settings, seed)


# Positions beyond the first tables of angles: a sequence of LONG tokens.
LONG = 1000
LONG_GOLDENS = {
    "long_llama": (llama_settings(vocab_size=60, max_position_embeddings=1100), 21),
    "long_gemma3": (llama_settings("gemma3_text", vocab_size=60, max_position_embeddings=1100, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=16), 21),
    "long_yarn": (llama_settings(vocab_size=60, head_dim=32, max_position_embeddings=1100, rope_scaling={**YARN, "original_max_position_embeddings": 275}), 21),
    "long_longrope": (llama_settings(vocab_size=60, max_position_embeddings=1100, num_hidden_layers=1, rope_scaling={**LONGROPE, "original_max_position_embeddings": 500}), 21),
    "long_phi3": (llama_settings("phi3", vocab_size=60, max_position_embeddings=1100, num_hidden_layers=1, original_max_position_embeddings=500, sliding_window=300, rope_scaling=LONGROPE), 21),
    "long_phi": (phi_settings(vocab_size=60, max_position_embeddings=1100), 21),
}


def nomic_settings(**changes):
    """With the keys of nomic-ai; see nomic_transformers."""
    settings = {"model_type": "nomic_bert", "architectures": ["NomicBertModel"], "activation_function": "swiglu", "vocab_size": 139, "pad_vocab_size_multiple": 4, "n_embd": 24, "n_layer": 2,
                "n_head": 3, "n_inner": 40, "n_positions": 1100, "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
                "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "max_trained_positions": 2048, "type_vocab_size": 2, "causal": False, "prenorm": False, "parallel_block": False,
                "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False, "use_rms_norm": False, "use_flash_attn": True, "fused_bias_fc": True, "fused_dropout_add_ln": True,
                "use_xentropy": True, "dense_seq_output": True, "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "reorder_and_upcast_attn": False, "attn_pdrop": 0.0,
                "auto_map": {"AutoModel": "modeling_hf_nomic_bert.NomicBertModel"}, "embd_pdrop": 0.0, "resid_pdrop": 0.0, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None}
    settings.update(changes)
    return {key: value for key, value in settings.items() if value != "gone"}


def nomic_weights(settings, seed):
    random = np.random.default_rng(seed)
    width, inner = settings["n_embd"], settings["n_inner"] or 4 * settings["n_embd"]
    rows = -(-settings["vocab_size"] // settings["pad_vocab_size_multiple"]) * settings["pad_vocab_size_multiple"]
    tensors = {"embeddings.word_embeddings.weight": 0.5 * random.standard_normal((rows, width)), "embeddings.token_type_embeddings.weight": 0.5 * random.standard_normal((settings["type_vocab_size"], width))}

    def linear(name, outputs, inputs):
        tensors[name + ".weight"] = random.standard_normal((outputs, inputs)) * inputs**-0.5

    def norm(name):
        tensors[name + ".weight"] = 1 + 0.2 * random.standard_normal(width)
        tensors[name + ".bias"] = 0.2 * random.standard_normal(width)

    norm("emb_ln")
    for layer in range(settings["n_layer"]):
        name = f"encoder.layers.{layer}."
        linear(name + "attn.Wqkv", 3 * width, width)
        linear(name + "attn.out_proj", width, width)
        norm(name + "norm1")
        linear(name + "mlp.fc11", inner, width)
        linear(name + "mlp.fc12", inner, width)
        linear(name + "mlp.fc2", width, inner)
        norm(name + "norm2")
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


NOMIC_NAMES = {"emb_ln": "embeddings.LayerNorm", "encoder.layers": "layers", "attn.out_proj": "self_attn.o_proj", "fc11": "up_proj", "fc12": "gate_proj", "fc2": "down_proj", "norm1": "post_attention_layernorm",
               "norm2": "post_mlp_layernorm"}


def nomic_transformers(settings, tensors):
    """The same model with the keys and the names of transformers from version 5 on."""
    keys = {"model_type": "nomic_bert", "vocab_size": tensors["embeddings.word_embeddings.weight"].shape[0], "hidden_size": settings["n_embd"], "num_hidden_layers": settings["n_layer"],
            "num_attention_heads": settings["n_head"], "intermediate_size": settings["n_inner"] or 4 * settings["n_embd"], "hidden_act": "silu", "max_position_embeddings": settings["n_positions"],
            "layer_norm_eps": settings["layer_norm_epsilon"], "type_vocab_size": settings["type_vocab_size"], "pad_token_id": 0, "rope_parameters": {"rope_type": "default", "rope_theta": settings["rotary_emb_base"]}}
    result = {}
    for name, tensor in tensors.items():
        for old, new in NOMIC_NAMES.items():
            name = name.replace(old, new)
        if "Wqkv" in name:
            for part, rows in zip("qkv", np.split(tensor, 3)):
                result[name.replace("attn.Wqkv", f"self_attn.{part}_proj")] = rows
        else:
            result[name] = tensor
    return keys, result


def nomic_inputs(settings, seed, length):
    inputs = bert_inputs(settings, seed + length, batch=2, length=length)
    inputs["attention_mask"][1, length // 2 + 1:] = 0
    return inputs


NOMIC_GOLDENS = {
    "nomic": (nomic_settings(), 71),
    "nomic_base": (nomic_settings(rotary_emb_base=500, n_head=2, n_layer=1, n_inner=None, layer_norm_epsilon=1e-2, type_vocab_size=1, vocab_size=140), 72),
}
NOMIC_LENGTHS = (*LENGTHS, LONG)
