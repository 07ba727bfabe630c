"""Nodes of ONNX Runtime's attention, with caches, masks and the turning of places, and of its quantised LSTM."""
import numpy as np
from onnx import TensorProto

from microsoft_nodes import MicrosoftNode, f16, f32, one, whole


def softmax(scores, sink=None):
    most = scores.max(-1, keepdims=True)
    powers = np.exp(scores - most)
    return powers / (powers.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink - most)))


def split(flat, heads):
    return flat.reshape(*flat.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def join(values):
    return values.transpose(0, 2, 1, 3).reshape(values.shape[0], values.shape[2], -1)


def attend(q, k, v):
    """Of heads, without a mask."""
    return softmax(q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))) @ v


def rotated():
    for make, near in ((f32, {}), (f16, {"rule": 3e-3})):
        kind = make.__name__
        for interleaved in (0, 1):
            cosines, sines = make(23, 4), make(23, 4)
            at = whole(np.int64, 2, 7, low=0, high=22)
            for title, x, places, options in (
                    ("flat", make(2, 7, 24), at, {}), ("flat with a number of heads", make(2, 7, 24), at, {"num_heads": 3}), ("of heads", make(2, 3, 7, 8), at, {}),
                    ("from one place on", make(2, 7, 24), np.array([5], np.int64), {}), ("of one place", make(1, 1, 24), at[:1, :1], {"num_heads": 3}),
                    ("of a part", make(2, 7, 51), at, {"num_heads": 3, "rotary_embedding_dim": 8})):
                yield MicrosoftNode(f"{title}, {kind}, {'neighbours' if interleaved else 'halves'}", "RotaryEmbedding", {"x": x, "p": places, "c": cosines, "s": sines},
                                    dims={"x": ["b", *(None if d == x.ndim - 1 or x.ndim == 4 and d == 1 else "s" for d in range(1, x.ndim))], "c": ["m", None], "s": ["m", None],
                                          "p": ["b", "s"] if places.ndim == 2 else [None]},
                                    constants=("c", "s") if title == "flat" else (), always=title == "of a part" and make is f32,
                                    **({"interleaved": 1} if interleaved else {}), **near, **options)


FLAT = ["b", "s", None]


def multi_head():
    heads = 3
    for batch, length, keys, depth in ((2, 7, 17, 5), (1, 1, 7, 1), (2, 17, 1, 7)):
        size = heads * depth
        q, k, v, wide = f32(batch, length, size), f32(batch, keys, size), f32(batch, keys, size), f32(batch, keys, heads * 2)
        dims = {"q": ["b", "s", None], "k": ["b", "t", None], "v": ["b", "t", None], "m": ["b", "t"], "a": [None, None, "s", "t"]}
        sizes = f"{batch} x {length} x {keys} x {depth}"
        bias = f32(3 * size)
        ends, seen = whole(np.int32, batch, low=1, high=keys), whole(np.int32, batch, keys, low=0, high=1)
        seen[:, 0] = 1
        each = whole(np.int32, batch, length, keys, low=0, high=1)
        each[..., 0] = 1
        added = f32(1, 1, length, keys)
        for title, inputs, options in (
                ("plain", {}, {}), ("of other values", {"v": wide}, {}), ("with a bias", {"bias": bias}, {}), ("to lengths", {"bias": None, "m": ends}, {}),
                ("with a mask of keys", {"bias": None, "m": seen}, {}), ("with a mask of places", {"bias": None, "m": each}, {}), ("with a soft mask", {"bias": bias, "m": seen}, {"mask_filter_value": -2.0}),
                ("with scores", {"bias": None, "m": None, "a": added}, {}), ("with scores of heads", {"bias": None, "m": seen, "a": f32(batch, heads, length, keys)}, {}), ("scaled", {}, {"scale": 0.3}),
                ("by the default scale", {}, {"scale": 0.0}), ("by keys of another", {"k": split(k, heads).copy(), "v": split(v, heads).copy()}, {})):
            own = {"q": q, "k": k, "v": v, **inputs}
            own_dims = dims | ({"m": [None if d == 0 else name for d, name in enumerate(["b", "s", "t"])] if "places" in title else ["b"]} if title in ("to lengths", "with a mask of places") else {})
            own_dims |= {"m": ["b", "s", "t"]} if "places" in title else {}
            own_dims |= {"k": ["b", None, "t", None], "v": ["b", None, "t", None]} if own["k"].ndim == 4 else {}
            own_dims |= {"a": ["b", None, "s", "t"]} if "of heads" in title and batch > 1 else {}
            yield MicrosoftNode(f"{title}, {sizes}", "MultiHeadAttention", own, dims=own_dims, terms=4 * (keys + size), num_heads=heads, **options)
        past = {"pk": f32(batch, heads, 3, depth), "pv": f32(batch, heads, 3, depth)}
        dims |= {"pk": ["b", None, "p", None], "pv": ["b", None, "p", None]}
        yield MicrosoftNode(f"with a cache, {sizes}", "MultiHeadAttention", {"q": q, "k": k, "v": v, "bias": bias, "m": None, "a": None, **past}, outputs=(0, 1, 2), dims=dims, terms=4 * (keys + size),
                            num_heads=heads)
        yield MicrosoftNode(f"with a cache and a mask, {sizes}", "MultiHeadAttention", {"q": q, "k": k, "v": v, "bias": None, "m": np.concatenate([np.ones((batch, 3), np.int32), seen], 1), "a": None, **past},
                            outputs=(0, 1, 2), dims=dims | {"m": ["b", "u"]}, terms=4 * (keys + size), num_heads=heads)
        yield MicrosoftNode(f"with what it computes, {sizes}", "MultiHeadAttention", {"q": q, "k": k, "v": v, "bias": None, "m": seen, "a": added}, outputs=(0, 1, 2, 3), dims=dims, typed=TensorProto.FLOAT,
                            terms=4 * (keys + size), num_heads=heads)
    # Each place sees those before it, and all of the cache.
    q, k, v = f32(2, 7, 15), f32(2, 7, 15), f32(2, 7, 15)
    dims = {name: FLAT for name in "qkv"}
    yield MicrosoftNode("one way", "MultiHeadAttention", {"q": q, "k": k, "v": v}, dims=dims, terms=90, num_heads=3, unidirectional=1)
    yield MicrosoftNode("one way with a cache", "MultiHeadAttention", {"q": q, "k": k, "v": v, "bias": None, "m": None, "a": None, "pk": f32(2, 3, 4, 5), "pv": f32(2, 3, 4, 5)}, outputs=(0, 1, 2),
                        dims=dims | {"pk": ["b", None, "p", None], "pv": ["b", None, "p", None]}, terms=90, num_heads=3, unidirectional=1)
    # ONNX Runtime's CPU has neither packed inputs nor f16.
    heads = lambda packed, part: packed[:, :, :, part].transpose(0, 2, 1, 3)
    yield MicrosoftNode("packed", "MultiHeadAttention", {"q": f32(2, 7, 3, 3, 5)}, dims={"q": ["b", "s", None, None, None]}, terms=90, num_heads=3,
                        want=lambda f: [join(attend(*(heads(f["q"], part) for part in range(3))))])
    yield MicrosoftNode("packed keys", "MultiHeadAttention", {"q": f32(2, 7, 15), "k": f32(2, 17, 3, 2, 5)}, dims={"q": FLAT, "k": ["b", "t", None, None, None]}, terms=90, num_heads=3,
                        want=lambda f: [join(attend(split(f["q"], 3), heads(f["k"], 0), heads(f["k"], 1)))])
    yield MicrosoftNode("f16", "MultiHeadAttention", {"q": f16(2, 7, 15), "k": f16(2, 17, 15), "v": f16(2, 17, 15)}, dims={"q": FLAT, "k": ["b", "t", None], "v": ["b", "t", None]}, num_heads=3, rule=4e-3,
                        want=lambda f: [join(attend(*(split(f[name].astype(np.float32), 3) for name in "qkv"))).astype(np.float16)])


def projected():
    heads, depth, width = 3, 5, 7
    size = heads * depth
    for batch, length in ((2, 7), (1, 1), (1, 17)):
        x, w, b = f32(batch, length, width), f32(width, 3 * size), f32(3 * size)
        past = f32(2, batch, heads, 4, depth)
        all_keys = length + 4
        seen, starts = whole(np.int32, batch, length, low=0, high=1), np.array([*[length] * batch, *[0] * batch], np.int32)
        seen[:, 0], starts[0], starts[-1] = 1, max(1, length - 1), length // 3
        each = np.ones((batch, length, length), np.int32)
        each[:, :, 1::3] = 0
        dims = {"x": FLAT, "m": ["b", "s"], "p": [None, "b", None, "p", None], "a": [None, None, "s", "s"]}
        for title, inputs, options in (
                ("plain", {}, {}), ("to lengths", {"m": starts[:batch]}, {}), ("between ends", {"m": starts}, {}), ("with a mask of keys", {"m": seen}, {}), ("with a mask of places", {"m": each}, {}),
                ("one way", {}, {"unidirectional": 1}), ("one way with a mask", {"m": seen}, {"unidirectional": 1}), ("with scores", {"m": None, "p": None, "a": f32(1, heads, length, length)}, {}),
                ("scaled", {}, {"scale": 0.4}), ("with a soft mask", {"m": seen}, {"mask_filter_value": -1.5})):
            own = dims | {"to lengths": {"m": ["b"]}, "between ends": {"m": [None]}, "with a mask of places": {"m": ["b", "s", "s"]}}.get(title, {})
            own |= {"x": [None, "s", None]} if title == "between ends" else {}
            yield MicrosoftNode(f"{title}, {batch} x {length}", "Attention", {"x": x, "w": w, "b": b, **inputs}, outputs=(0, 1), dims=own, constants=("w", "b"), terms=8 * (size + length), num_heads=heads,
                                **options)
        for title, inputs, options in (("with a cache", {"m": None, "p": past}, {}), ("one way with a cache", {"m": None, "p": past}, {"unidirectional": 1}),
                                       ("with a cache and a mask", {"m": np.tile(np.array([1, 0, 1, 1] * 9, np.int32)[:all_keys], (batch, 1)), "p": past}, {})):
            yield MicrosoftNode(f"{title}, {batch} x {length}", "Attention", {"x": x, "w": w, "b": b, **inputs}, outputs=(0, 1), dims=dims | {"m": ["b", "u"]}, constants=("w", "b"),
                                terms=8 * (size + length), num_heads=heads, **options)
    w, b = f32(width, 2 * size + heads * 2), f32(2 * size + heads * 2)
    yield MicrosoftNode("of other values", "Attention", {"x": f32(2, 7, width), "w": w, "b": b}, dims={"x": FLAT}, constants=("w", "b"), terms=200, num_heads=heads, qkv_hidden_sizes=[size, size, heads * 2])
    # ONNX Runtime's CPU needs the bias, which is optional.
    project = lambda f: [join(attend(*(split(part, heads) for part in np.split(f["x"] @ f["w"], 3, -1))))]
    yield MicrosoftNode("without a bias", "Attention", {"x": f32(2, 7, width), "w": f32(width, 3 * size)}, dims={"x": FLAT}, constants=("w",), terms=200, num_heads=heads, want=project)


def turn(x, cosines, sines, places, interleaved):
    """[batch, heads, length, depth] by the rows of two tables."""
    pairs, y = cosines.shape[1], x.copy()
    c, s = cosines[places][:, None], sines[places][:, None]
    first, second = (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)) if interleaved else (slice(0, pairs), slice(pairs, 2 * pairs))
    y[..., first], y[..., second] = x[..., first] * c - x[..., second] * s, x[..., first] * s + x[..., second] * c
    return y


def normalized_queries(f, heads, groups, epsilon, of_keys):
    """GroupQueryAttention of a prompt with norms of queries and keys, which ONNX Runtime's CPU refuses."""
    rms = lambda x, w, epsilon: x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * w
    q, k, v = rms(split(f["q"], heads), f["qn"], epsilon), rms(split(f["k"], groups), f["kn"], of_keys), split(f["v"], groups)
    keys, values = (np.repeat(part, heads // groups, 1) for part in (k, v))
    scores = q @ keys.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    length = scores.shape[-1]
    scores = np.where(np.arange(length)[None] > np.arange(length)[:, None], -np.inf, scores)
    return [join(softmax(scores) @ values).astype(np.float32), k.astype(np.float32), v]


def grouped():
    heads, groups, depth = 6, 2, 16
    cosines, sines = f32(40, 8), f32(40, 8)

    def node(title, batch, length, past, counts, make=f32, packed=False, turns=False, outputs=(0, 1, 2), most=None, more=None, constant=False, always=False, **options):
        counts = np.array(counts, np.int32)
        inputs = {"q": make(batch, length, (heads + 2 * groups) * depth), "k": None, "v": None} if packed else {
            "q": make(batch, length, heads * depth), "k": make(batch, length, groups * depth), "v": make(batch, length, groups * depth)}
        cache = lambda: None if past is None else make(batch, groups, past, depth)
        inputs |= {"pk": cache(), "pv": cache(), "n": counts - 1, "t": np.array([most or counts.max()], np.int32)}
        inputs |= {"c": cosines[:, :options.pop("pairs", 8)].astype(make(1).dtype), "s": sines[:, :8].astype(make(1).dtype)} if turns else {"c": None, "s": None}
        if turns:
            inputs["s"] = inputs["s"][:, :inputs["c"].shape[1]]
        inputs |= {"at": None, "a": None, "sink": None} | (more or {})
        while list(inputs.values())[-1] is None:
            inputs.popitem()
        dims = {"q": FLAT, "k": FLAT, "v": FLAT, "pk": ["b", None, "p", None], "pv": ["b", None, "p", None], "n": ["b"], "t": [None], "c": [None, None], "s": [None, None], "at": ["b", "s"],
                "a": [None, None, "s", "u"], "sink": [None]}
        if inputs.get("a") is not None and inputs["a"].shape[0] > 1:
            dims["a"][0] = "b"
        return MicrosoftNode(f"{title}{', f16' if make is f16 else ''}", "GroupQueryAttention", inputs, outputs=outputs, dims=dims, terms=600, rule="close" if make is f32 else 4e-3,
                             constants=("t",) if constant else (), typed=TensorProto.FLOAT if 3 in outputs else None, always=always, num_heads=heads, kv_num_heads=groups, **({"do_rotary": 1} if turns else {}), **options)

    for make in (f32, f16):
        yield node("a prompt", 2, 7, None, [7, 7], make)
        yield node("a prompt with turns", 2, 7, None, [7, 7], make, turns=True)
        yield node("a prompt into room", 2, 7, 17, [7, 7], make, turns=True)
        yield node("one more", 2, 1, 17, [5, 9], make)
        yield node("one more, packed, with turns", 2, 1, 17, [5, 9], make, packed=True, turns=True)
    yield node("a prompt of rows of several lengths", 2, 7, None, [5, 7])
    yield node("a prompt of rows of several lengths, into room", 2, 7, 17, [5, 7], turns=True, always=True)
    yield node("a prompt of one", 1, 1, None, [1])
    yield node("a prompt, packed, with turns of neighbours", 2, 7, 0, [7, 7], packed=True, turns=True, rotary_interleaved=1)
    yield node("one more of neighbours", 2, 1, 17, [5, 9], turns=True, rotary_interleaved=1)
    yield node("one more of a part", 2, 1, 17, [5, 9], turns=True, pairs=8)
    yield node("one more at the end", 2, 1, 8, [9, 9], turns=True)
    yield node("one more, of a known length", 2, 1, 17, [5, 9], turns=True, constant=True)
    yield node("several more", 1, 7, 17, [13], turns=True)
    yield node("several more at the end", 1, 7, 10, [17], turns=True, packed=True)
    for window in (1, 3, 17):
        yield node(f"a prompt in a window of {window}", 2, 7, None, [7, 7], local_window_size=window)
        yield node(f"one more in a window of {window}", 2, 1, 17, [5, 9], local_window_size=window)
    yield node("several more in a window", 1, 7, 17, [13], local_window_size=3)
    for title, options, more in (("capped", {"softcap": 0.7}, {}), ("scaled", {"scale": 0.3}, {}), ("smooth", {"smooth_softmax": 1}, {}), ("not smooth", {"smooth_softmax": 0}, {}),
                                 ("with sinks", {}, {"sink": f32(heads)}), ("with sinks, capped, in a window", {"softcap": 0.9, "local_window_size": 3}, {"sink": f32(heads)}), ("both ways", {"causal": 0}, {})):
        yield node(f"a prompt, {title}", 2, 7, None, [7, 7], more=more, **options)
        yield node(f"one more, {title}", 2, 1, 17, [5, 9], more=more, **options)
    yield node("one more with scores", 2, 1, 17, [5, 9], more={"a": f32(1, heads, 1, 9)})
    yield node("one more with scores of rows", 2, 1, 17, [5, 9], more={"a": f32(2, 1, 1, 9)}, softcap=0.5)
    yield node("a prompt with scores", 1, 7, None, [7], more={"a": f32(1, 1, 7, 7)})
    yield node("one more at places", 2, 1, 17, [5, 9], turns=True, always=True, more={"at": np.array([[3], [11]], np.int64)})
    for shown in (1, 2):
        yield node(f"a prompt that shows {shown}", 1, 7, None, [7], outputs=(0, 1, 2, 3), qk_output=shown)
        yield node(f"a prompt that shows {shown}, capped, in a window, with scores", 1, 7, None, [7], outputs=(0, 1, 2, 3), qk_output=shown, softcap=0.8, local_window_size=3, more={"a": f32(1, 1, 7, 7)})
        yield node(f"one more that shows {shown}, with sinks", 1, 1, 6, [7], outputs=(0, 1, 2, 3), qk_output=shown, more={"sink": f32(heads)})
    for epsilon, of_keys, names in ((1e-6, 1e-6, ()), (0.3, 0.3, ("qk",)), (0.3, 1e-6, ("q",)), (0.3, 2.0, ("qk", "k"))):
        inputs = {"q": f32(2, 7, heads * depth), "k": f32(2, 7, groups * depth), "v": f32(2, 7, groups * depth), "pk": None, "pv": None, "n": np.array([6, 6], np.int32), "t": np.array([7], np.int32)}
        inputs |= dict.fromkeys(("c", "s", "at", "a", "sink", "ks", "vs")) | {"qn": f32(depth), "kn": f32(depth)}
        yield MicrosoftNode(f"with norms of heads, {epsilon} and {of_keys}", "GroupQueryAttention", inputs, outputs=(0, 1, 2), dims={"q": FLAT, "k": FLAT, "v": FLAT, "n": ["b"]}, fixed=("t", "qn", "kn"), terms=600,
                            num_heads=heads, kv_num_heads=groups, want=lambda f, epsilon=epsilon, of_keys=of_keys: normalized_queries(f, heads, groups, epsilon, of_keys),
                            **{f"{name}_norm_epsilon": of_keys if name == "k" else epsilon for name in names})


def recurrent():
    """The numbers that are multiplied are rounded to bytes in each step, where two right results may be a byte apart. Bytes follow from the greatest number of all rows, those
    whose sequences have ended among them, which ONNX Runtime and vx keep at other values."""
    length, batch, width, hidden = 7, 3, 7, 5
    for direction in ("forward", "reverse", "bidirectional"):
        count = 2 if direction == "bidirectional" else 1
        x = f32(length, batch, width)
        for kind in (np.int8, np.uint8):
            for columns in (False, True):
                zero = (lambda value: np.full((count, 4 * hidden) if columns else count, value, kind)) if kind is np.uint8 else (lambda value: np.zeros((count, 4 * hidden) if columns else count, kind))
                scale = lambda: (abs(f32(count, 4 * hidden)) / 300 + 0.002) if columns else (abs(f32(count)) / 300 + 0.002)
                weights = {"w": whole(kind, count, width, 4 * hidden), "r": whole(kind, count, hidden, 4 * hidden)}
                ends = {"ws": scale(), "wz": zero(131), "rs": scale(), "rz": zero(120)}
                for title, more, outputs, options in (
                        ("plain", {}, (0, 1, 2), {}), ("with a bias", {"b": f32(count, 8 * hidden)}, (0, 1, 2), {}),
                        ("with states", {"b": f32(count, 8 * hidden), "n": None, "h": f32(count, batch, hidden), "c": f32(count, batch, hidden)}, (0, 1, 2), {}),
                        ("with lengths and peepholes", {"b": f32(count, 8 * hidden), "n": np.array([7, 1, 4], np.int32), "h": None, "c": None, "p": f32(count, 3 * hidden)}, (0, 1, 2), {}),
                        ("of other functions", {}, (1,), {"activations": ["HardSigmoid", "Softsign", "LeakyRelu"] * count, "activation_alpha": [0.3, 0.1] * count, "activation_beta": [0.4] * count}),
                        ("clipped, joined", {}, (0,), {"clip": 0.4, "input_forget": 1})):
                    if title != "plain" and (kind is np.uint8) != columns:
                        continue
                    inputs = {"x": x, **weights} | {name: more.get(name) for name in ("b", "n", "h", "c", "p")} | ends
                    yield MicrosoftNode(f"{direction}, {kind.__name__}{' by columns' if columns else ''}, {title}", "DynamicQuantizeLSTM", inputs, outputs=outputs,
                                        dims={"x": ["l", "b", None], "n": ["b"], "h": [None, "b", None], "c": [None, "b", None]}, constants=("w", "r", "b", "p", "ws", "wz", "rs", "rz"), rule=8e-3 if "n" in more and more["n"] is not None else 1e-3,
                                        hidden_size=hidden, direction=direction, **options)
