"""What llama.cpp answers to the questions of llama_cpp_cases.py, as arrays by name: those of llama_cpp_goldens.npz."""
import os
import tempfile

import llama_cpp
import numpy as np
from llama_cpp_cases import ANSWER, CHATS, MODEL_ROOM, PROMPTS, READINGS, ROWS, TOP, all_texts, cases, sample_text
from llama_gguf import write_decoder
from llama_oracle import log_softmax
from random_models import llama_tokens

WINDOW = 512  # tokens of the text whose logits are compared


def small_models(programs, folder):
    """The last rows of logits of each model."""
    results = {}
    for name, settings, seed, count, room in cases():
        path = os.path.join(folder, name + ".gguf")
        write_decoder(path, name, settings, seed)
        with llama_cpp.Peer(programs, path, room) as peer:
            results[name] = peer.rows("prefill", llama_tokens(settings, seed, count))[-ROWS:]
    return results


def tokens_of(peer):
    """The tokens of all texts in all readings, in sequence, and how many each has."""
    lists = [peer.tokens(text, *reading) for text in all_texts() for reading in READINGS]
    return np.concatenate(lists).astype(np.int32), np.array([len(one) for one in lists], np.int32)


def prompts(name, peer):
    return [peer.tokens(text) for text in (*PROMPTS, CHATS[name])]


def buckets(rows, top):
    """The logarithms of probabilities: of the tokens `top` of each row, and of all others together."""
    logarithms = np.take_along_axis(log_softmax(rows), top, axis=1)
    return np.concatenate([logarithms, np.log1p(-np.exp(logarithms).sum(-1, keepdims=True))], axis=1)


def trained(programs, name, path, folder, kept):
    """`path` is the published file; its weights are computed with in F32. `kept`: earlier results, of whose text and tokens these are."""
    plain = os.path.join(folder, name + "-f32.gguf")
    llama_cpp.write_f32(programs, path, plain)
    with llama_cpp.Peer(programs, plain, MODEL_ROOM) as peer:
        ids = peer.tokens(sample_text())[:WINDOW] if kept is None else kept[f"{name}/ids"].tolist()
        rows = peer.rows("prefill", ids)[ROWS - 1::ROWS]
        top = np.argsort(-rows, axis=1)[:, :TOP] if kept is None else kept[f"{name}/top"]
        given = prompts(name, peer)
        answers = [peer.greedy(ANSWER, prompt) for prompt in given]
        tokens, lengths = tokens_of(peer)
    return {f"{name}/ids": np.array(ids, np.int32), f"{name}/top": top.astype(np.int32), f"{name}/logarithms": buckets(rows, top).astype(np.float32),
            f"{name}/prompts": np.array([len(prompt) for prompt in given], np.int32), f"{name}/answers": np.array([answer for answer, _ in answers], np.int32), f"{name}/margins": np.array([margins for _, margins in answers], np.float32),
            f"{name}/tokens": tokens, f"{name}/lengths": lengths}


def compute(programs, smollm, kept=None):
    with tempfile.TemporaryDirectory() as folder:
        return {"version": np.array(llama_cpp.VERSION), **small_models(programs, folder), **trained(programs, "smollm", smollm, folder, kept)}
