#!/usr/bin/env python3
"""The results of transformers on the small models of random_models.py, computed in f64, for tests on machines without it.

  make_goldens.py          writes goldens.npz
  make_goldens.py --live   compares the file with what the transformers at hand computes; exit code 1 where they differ

Needs the Python of `scripts/test --references torch`.
"""
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
GOLDENS = os.path.join(FOLDER, "goldens.npz")
TOLERANCE = 1e-6  # of the greatest element; the file has f32

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from random_models import BERT_GOLDENS, DECODER_GOLDENS, LENGTHS, LONG, LONG_GOLDENS, NOMIC_GOLDENS, NOMIC_LENGTHS, bert_inputs, bert_weights, decoder_weights, llama_tokens, nomic_inputs, nomic_transformers, nomic_weights  # noqa: E402


def load(kind, settings, tensors):
    if (settings.get("rope_scaling") or {}).get("type") == "su":  # a name that transformers knows no more
        settings = {**settings, "rope_scaling": {**settings["rope_scaling"], "type": "longrope"}}
    config = transformers.AutoConfig.for_model(**settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, kind).from_config(config).double().eval()
    missing, unknown = model.load_state_dict({name: torch.tensor(tensor).double() for name, tensor in tensors.items()}, strict=False)
    allowed = {"lm_head.weight"} if settings.get("tie_word_embeddings", settings["model_type"] == "gpt2") else set()
    left = [name for name in missing if name not in allowed and "position_ids" not in name and "inv_freq" not in name]
    if left or unknown:
        sys.exit(f"make_goldens: weights that differ from the model's: missing {left}, unknown {unknown}")
    return model


def compute():
    results = {}
    with torch.no_grad():
        for name, (settings, seed) in BERT_GOLDENS.items():
            model = load("AutoModel", settings, bert_weights(settings, seed))
            inputs = {key: torch.tensor(value) for key, value in bert_inputs(settings, seed).items()}
            results[name] = model(**inputs).last_hidden_state.numpy()
        for name, (settings, seed) in NOMIC_GOLDENS.items():
            model = load("AutoModel", *nomic_transformers(settings, nomic_weights(settings, seed)))
            for length in NOMIC_LENGTHS:
                inputs = {key: torch.tensor(value) for key, value in nomic_inputs(settings, seed, length).items()}
                results[f"{name}_{length}"] = model(**inputs).last_hidden_state.numpy()[:, :2]  # of the first tokens: they depend on all
        for cases, lengths in ((DECODER_GOLDENS, LENGTHS), (LONG_GOLDENS, (LONG,))):
            for name, (settings, seed) in cases.items():
                model = load("AutoModelForCausalLM", settings, decoder_weights(settings, seed))
                for length in lengths:
                    ids = torch.tensor(llama_tokens(settings, seed, length))[None]
                    results[f"{name}_{length}"] = model(ids).logits.numpy()[0, -3:]  # of the last tokens: they depend on all
    return {name: array.astype(np.float32) for name, array in results.items()}


def main():
    results = compute()
    if sys.argv[1:] != ["--live"]:
        np.savez_compressed(GOLDENS, **results)
        print(f"{GOLDENS}: {len(results)} results of transformers {transformers.__version__}, {os.path.getsize(GOLDENS)} bytes")
        return 0
    kept = np.load(GOLDENS)
    apart = [name for name in sorted({*kept.files, *results}) if name not in kept.files or name not in results or kept[name].shape != results[name].shape
             or np.abs(kept[name] - results[name]).max() > TOLERANCE * np.abs(results[name]).max()]
    print(f"{len(results) - len(apart)} of {len(results)} results are those of the file" + (f"; others: {', '.join(apart)}" if apart else ""))
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
