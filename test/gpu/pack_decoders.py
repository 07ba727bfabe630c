"""Small language models of test/llm: each family, and each format of blocks. Calls for decoder_peer, and the logits that NumPy gives in f64."""
import fnmatch
import os
import subprocess
import sys
import tempfile

import numpy as np

TEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TEST, folder) for folder in ("llm", "serve", "common", "e2e")]

import run_decoders as decoders  # noqa: E402
from llama_gguf import TYPES, rounded, write_llama  # noqa: E402
from llama_oracle import logits  # noqa: E402
from random_models import DECODER_GOLDENS, decoder_weights, llama_settings, llama_tokens, llama_weights  # noqa: E402

SHARE = decoders.LIMIT
ROOM = 64  # of the cache that scripts/gpu-check gives
# Calls over one cache: a prompt in chunks, then tokens one by one. The last ones write places again.
PLAN = ((0, 7), (7, 1), (8, 16), (24, 8), (32, 1), (0, 31), (31, 1), (32, 1))


def models(folder):
    """Name, the file or folder to compile, settings and weights of each."""
    for name, (settings, seed) in DECODER_GOLDENS.items():
        tensors = decoder_weights(settings, seed)
        path = os.path.join(folder, name)
        os.makedirs(path)
        decoders.write_model(path, settings, tensors)
        decoders.write_json(f"{path}/tokenizer.json", decoders.tokenizer_json(settings["vocab_size"]))
        yield name, path, settings, tensors
    settings = llama_settings("qwen3", vocab_size=60, hidden_size=256, intermediate_size=256, head_dim=64, num_hidden_layers=1, tie_word_embeddings=True)
    tensors = llama_weights(settings, 21)
    for kind in TYPES:
        path = os.path.join(folder, f"{kind}.gguf")
        write_llama(path, settings, tensors, kind=kind, tokens=decoders.letters(60))
        yield kind.lower(), path, settings, rounded(tensors, kind)


def pack_decoders(bin, root, targets, patterns):
    """`patterns` of names, between commas; one that no model has is an error."""
    wanted, count = patterns.split(","), 0
    names = [*DECODER_GOLDENS, *(kind.lower() for kind in TYPES)]
    for pattern in wanted:
        if not fnmatch.filter(names, pattern):
            raise SystemExit(f"pack_checks.py: error: --decoders: '{pattern}' fits none of {', '.join(names)}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, path, settings, tensors in models(scratch):
            if not any(fnmatch.fnmatch(name, pattern) for pattern in wanted):
                continue
            folder = os.path.join(root, "decoders", name)
            os.makedirs(folder)
            subprocess.run([os.path.join(bin, "vx-compile"), path, f"--target={','.join(targets)}", "-o", os.path.join(folder, "module.vxm")], check=True)
            ids = llama_tokens(settings, 3, 33)
            want = logits(settings, tensors, ids, ROOM).astype(np.float32)
            lines, rows = [f"prefill {decoders.text_of(ids[:length])}" for length in (1, 31, 33)], [want[:1], want[:31], want]
            for past, size in PLAN:
                lines.append(f"{'decode' if size == 1 else 'extend'} {past} {decoders.text_of(ids[past:past + size])}")
                rows.append(want[past + size - 1:past + size])
            with open(os.path.join(folder, "lines"), "w") as file:
                file.write("\n".join(lines) + "\n")
            np.concatenate(rows).tofile(os.path.join(folder, "want"))
            count += 1
    print(f"decoders: {count} models", flush=True)
