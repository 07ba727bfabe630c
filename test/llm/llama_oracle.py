"""Llama, Mistral, Phi 3, Qwen2, Qwen3, Gemma 3, GPT-2, Phi 2 and Nomic's BERT in NumPy, in f64: logits or vectors of every token of a sequence. Weights have the names of transformers."""
import math

import numpy as np
from random_models import llama_depth, original_context


def frequencies(settings, context=None):
    """How far each pair turns from one position to the next, and what its cosine and sine are multiplied by. `context` is the room of the cache, or the model's context."""
    depth = int(llama_depth(settings) * settings.get("partial_rotary_factor", 0.5 if settings["model_type"] == "phi" else 1))
    theta, longest = settings["rope_theta"], settings["max_position_embeddings"]
    inverse, scale = theta ** (-np.arange(0, depth, 2) / depth), 1
    rope = settings.get("rope_scaling") or {}
    kind, factor = rope.get("rope_type", rope.get("type")), rope.get("factor")
    original = original_context(settings)
    if kind == "linear":
        inverse = inverse / factor
    elif kind == "llama3":
        turns = original * inverse / (2 * np.pi)
        share = np.clip((turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"]), 0, 1)
        inverse = inverse * (share + (1 - share) / factor)
    elif kind == "yarn":
        # The pair that turns so many times in the first context: original * theta^(-2 pair / depth) = 2 pi turns.
        low, high = (depth / 2 * np.log(original / (2 * np.pi * turns)) / np.log(theta) for turns in (rope.get("beta_fast", 32), rope.get("beta_slow", 1)))
        if rope.get("truncate", True):
            low, high = np.floor(low), np.ceil(high)
        low, high = max(low, 0), min(high, depth - 1)
        share = np.clip((np.arange(depth // 2) - low) / (high - low), 0, 1)
        inverse = inverse * (1 - share) + inverse / factor * share
        above, below = ((rope["mscale"], rope["mscale_all_dim"]) if "mscale" in rope else (1, 0))
        scale = rope.get("attention_factor", (0.1 * above * np.log(factor) + 1) / (0.1 * below * np.log(factor) + 1))
    elif kind in ("longrope", "su"):
        inverse = inverse / rope["long_factor" if (context or longest) > original else "short_factor"]
        scale = rope.get("attention_factor", np.sqrt(1 + np.log(max(longest / original, 1)) / np.log(original)))
    return inverse, scale


def turn(x, rotary):
    """[length, heads, depth], from position 0 on; a pair is an element of each half of those that turn."""
    inverse, scale = rotary
    angles = np.arange(len(x))[:, None, None] * inverse
    first, second, rest = np.split(x, [len(inverse), 2 * len(inverse)], axis=-1)
    cos, sin = scale * np.cos(angles), scale * np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin, rest], axis=-1)


GELU = {"gelu_new": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))}


def gpt2_logits(settings, tensors, ids):
    width, heads, length = settings["n_embd"], settings["n_head"], len(ids)
    activate = GELU[settings["activation_function"]]

    def weight(name):
        return tensors["transformer." + name].astype(np.float64)

    def linear(x, name):
        return x @ weight(name + ".weight") + weight(name + ".bias")

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + settings["layer_norm_epsilon"]) * weight(name + ".weight") + weight(name + ".bias")

    x = weight("wte.weight")[np.asarray(ids)] + weight("wpe.weight")[:length]
    for layer in range(settings["n_layer"]):
        name = f"h.{layer}."
        q, k, v = (part.reshape(length, heads, -1) for part in np.split(linear(norm(x, name + "ln_1"), name + "attn.c_attn"), 3, axis=-1))
        x = x + linear(attend(q, k, v, np.tri(length, dtype=bool), (width // heads) ** -0.5), name + "attn.c_proj")
        x = x + linear(activate(linear(norm(x, name + "ln_2"), name + "mlp.c_fc")), name + "mlp.c_proj")
    return norm(x, "ln_f") @ weight("wte.weight").T


def attend(q, k, v, seen, scale):
    """[length, heads, depth]; the heads of keys and values divide those of the query."""
    k, v = (np.repeat(part, q.shape[1] // part.shape[1], axis=1) for part in (k, v))
    scores = np.where(seen, np.einsum("shd,thd->hst", q, k) * scale, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hst,thd->shd", scores / scores.sum(-1, keepdims=True), v).reshape(len(q), -1)


def phi_logits(settings, tensors, ids, rotary):
    length, depth = len(ids), llama_depth(settings)

    def linear(x, name):
        return x @ tensors[name + ".weight"].astype(np.float64).T + tensors[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + settings["layer_norm_eps"]) * tensors[name + ".weight"] + tensors[name + ".bias"]

    x = tensors["model.embed_tokens.weight"].astype(np.float64)[np.asarray(ids)]
    for layer in range(settings["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        h = norm(x, name + "input_layernorm")
        q, k, v = (linear(h, f"{name}self_attn.{part}_proj").reshape(length, -1, depth) for part in "qkv")
        attended = attend(turn(q, rotary), turn(k, rotary), v, np.tri(length, dtype=bool), depth**-0.5)
        x = x + linear(attended, name + "self_attn.dense") + linear(GELU[settings["hidden_act"]](linear(h, name + "mlp.fc1")), name + "mlp.fc2")
    head = tensors["model.embed_tokens.weight" if settings["tie_word_embeddings"] else "lm_head.weight"]
    return norm(x, "model.final_layernorm") @ head.astype(np.float64).T + tensors["lm_head.bias"]


def nomic_hidden(settings, tensors, inputs):
    """The vectors of tokens of Nomic's BERT, with the keys and the names of nomic-ai. Places of padding have any numbers."""
    heads, width = settings["n_head"], settings["n_embd"]
    turned = int(width // heads * settings["rotary_emb_fraction"])
    rotary = settings["rotary_emb_base"] ** (-np.arange(0, turned, 2) / turned), 1

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + settings["layer_norm_epsilon"]) * tensors[name + ".weight"] + tensors[name + ".bias"]

    def linear(x, name):
        return x @ tensors[name + ".weight"].astype(np.float64).T

    rows = []
    segments = inputs.get("token_type_ids", np.zeros_like(inputs["input_ids"]))
    for ids, mask, kinds in zip(inputs["input_ids"], inputs["attention_mask"], segments):
        x = norm(tensors["embeddings.word_embeddings.weight"].astype(np.float64)[ids] + tensors["embeddings.token_type_embeddings.weight"][kinds], "emb_ln")
        for layer in range(settings["n_layer"]):
            name = f"encoder.layers.{layer}."
            q, k, v = (part.reshape(len(ids), heads, -1) for part in np.split(linear(x, name + "attn.Wqkv"), 3, axis=-1))
            x = norm(x + linear(attend(turn(q, rotary), turn(k, rotary), v, mask[None] == 1, (width // heads) ** -0.5), name + "attn.out_proj"), name + "norm1")
            gate = linear(x, name + "mlp.fc12")
            x = norm(x + linear(gate / (1 + np.exp(-gate)) * linear(x, name + "mlp.fc11"), name + "mlp.fc2"), name + "norm2")
        rows.append(x)
    return np.stack(rows)


def logits(settings, tensors, ids, context=None):
    if settings["model_type"] == "gpt2":
        return gpt2_logits(settings, tensors, ids)
    rotary = frequencies(settings, context)
    if settings["model_type"] == "phi":
        return phi_logits(settings, tensors, ids, rotary)
    depth, length = llama_depth(settings), len(ids)

    def weight(name):
        return tensors[name].astype(np.float64)

    def linear(x, name):
        product = x @ weight(name + ".weight").T
        return product + weight(name + ".bias") if name + ".bias" in tensors else product

    def products(x, layer, whole, parts, sizes):
        """Of parts of the layer, or of the one whose rows are those of all."""
        if f"{layer}{whole}.weight" in tensors:
            return np.split(linear(x, layer + whole), np.cumsum(sizes)[:-1], axis=-1)
        return [linear(x, layer + part) for part in parts]

    is_gemma = settings["model_type"] == "gemma3_text"

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + settings["rms_norm_eps"]) * (weight(name + ".weight") + is_gemma)

    def head_norm(x, name):
        return norm(x, name) if name + ".weight" in tensors else x

    places = np.arange(length)
    causal = places[None] <= places[:, None]
    window = settings.get("sliding_window") if is_gemma or settings["model_type"] in ("mistral", "phi3") else None
    near = causal & (places[None] > places[:, None] - window) if window else causal
    scale = (settings["query_pre_attn_scalar"] if is_gemma else depth) ** -0.5
    x = weight("model.embed_tokens.weight")[np.asarray(ids)]
    if is_gemma:
        x = x * settings["hidden_size"] ** 0.5
        all_rotary, rotary = rotary, frequencies({**settings, "rope_theta": settings["rope_local_base_freq"], "rope_scaling": None})
    for layer in range(settings["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        is_full = is_gemma and (settings["layer_types"][layer] == "full_attention" if "layer_types" in settings else layer % 6 == 5)
        turns, seen = (all_rotary, causal) if is_full else (rotary, near)
        h = norm(x, name + "input_layernorm")
        sizes = [depth * settings[key] for key in ("num_attention_heads", "num_key_value_heads", "num_key_value_heads")]
        q, k, v = (part.reshape(length, -1, depth) for part in products(h, name, "self_attn.qkv_proj", [f"self_attn.{part}_proj" for part in "qkv"], sizes))
        q, k = (turn(head_norm(part, f"{name}self_attn.{which}_norm"), turns) for part, which in ((q, "q"), (k, "k")))
        attended = attend(q, k, v, seen, scale)
        added = linear(attended, name + "self_attn.o_proj")
        x = x + (norm(added, name + "post_attention_layernorm") if is_gemma else added)
        h = norm(x, name + ("pre_feedforward_layernorm" if is_gemma else "post_attention_layernorm"))
        gate, up = products(h, name, "mlp.gate_up_proj", ["mlp.gate_proj", "mlp.up_proj"], [settings["intermediate_size"]] * 2)
        gate = gate / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) if is_gemma else gate / (1 + np.exp(-gate))
        added = linear(gate * up, name + "mlp.down_proj")
        x = x + (norm(added, name + "post_feedforward_layernorm") if is_gemma else added)
    x = norm(x, "model.norm")
    return x @ weight("model.embed_tokens.weight" if settings["tie_word_embeddings"] else "lm_head.weight").T


def states_of(settings, tensors, ids):
    """What the head of a model with the parts of llama reads: the logits of a head that does nothing."""
    return logits({**settings, "tie_word_embeddings": False}, {**tensors, "lm_head.weight": np.eye(settings["hidden_size"])}, ids)


def log_softmax(x):
    x = x.astype(np.float64) - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def divergence(want, got):
    """The mean Kullback-Leibler divergence of the rows' distributions, from `want` to `got`."""
    p, q = log_softmax(want), log_softmax(got)
    return float((np.exp(p) * (p - q)).sum(-1).mean())
