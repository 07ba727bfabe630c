"""vx-llm show and vx-models scan on files that PyPI's `gguf` writes.

    run_llm_show.py --bin DIR
"""
import argparse
import json
import logging
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np

# The parts of the file that `write` makes: 3 matrices of 64 x 64 weights, 6 bits each on a device, and a norm in f32.
PARTS = [("q", "q4_1", 3, 3 * 64 * 64 * 5 // 8), ("norm", "f32", 1, 256)]
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


def write(path, architecture="llama", context=8192, template=TEMPLATE, pre="gpt-2", keys=(), split=0, heads=2):
    writer = gguf.GGUFWriter(None, architecture, split_max_tensors=split)
    writer.add_name("A small model")
    writer.add_block_count(6)
    writer.add_context_length(context)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(heads)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(["a", "b", "ab", "<end>"])
    writer.add_token_types([1, 1, 1, 3])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(3)
    if template:
        writer.add_chat_template(template)
    for method, *arguments in keys:
        getattr(writer, method)(*arguments)
    for i in range(3):
        writer.add_tensor(f"blk.{i}.q.weight", np.zeros((64, 2 * 20), np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    writer.add_tensor("norm.weight", np.ones(64, np.float32))
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options = parser.parse_args()
    failed = []

    def tool(*arguments):
        result = subprocess.run([options.bin / arguments[0], *map(str, arguments[1:])], capture_output=True, text=True)
        return result.returncode, result.stdout, result.stderr

    def check(what, isGood, got):
        print(("ok     " if isGood else "FAILED ") + what + ("" if isGood else f": got {got}"))
        if not isGood:
            failed.append(what)

    def describe(path):
        code, out, error = tool("vx-llm", "show", path, "--json")
        if code:
            raise SystemExit(f"FAILED: {error}")
        return json.loads(out)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder / "small.gguf")
        facts = describe(folder / "small.gguf")
        check("shape", [facts[key] for key in ("architecture", "name", "layers", "width", "heads", "key_value_heads", "context")] ==
              ["llama", "A small model", 6, 64, 4, 2, 8192], facts)
        check("weights by type", facts["types"] == [{"type": "q4_1", "tensors": 3, "bytes": 3 * 64 * 40}, {"type": "f32", "tensors": 1, "bytes": 256}] and
              facts["bytes"] == 3 * 64 * 40 + 256 and facts["parameters"] == 3 * 64 * 64 + 64, facts)
        # 6 layers of 2 heads with 16 numbers for a key and 16 for a value, of 2 bytes each.
        check("cache", facts["cache"] == {"type": "f16", "bytes_per_token": 768, "window": 0, "window_bytes_per_token": 0, "bytes_at_4096": 768 * 4096,
                                          "bytes_at_32768": 768 * 32768}, facts["cache"])
        check("tokenizer", [facts[key] for key in ("tokenizer", "tokens", "bos", "eos", "ends", "tokenizer_refused")] == ["gpt2 (gpt-2)", 4, None, 3, [3], None], facts)
        check("rendered template", facts["template_example"] == "<system>You are helpful.<end>\n<user>Hello<end>\n<assistant>" and facts["template"] == TEMPLATE, facts["template_example"])
        check("parts", [(part["name"], part["type"], part["tensors"], part["device_bytes"]) for part in facts["parts"]] ==
              PARTS and facts["device_bytes"] == sum(size for *_, size in PARTS), facts["parts"])
        code, text, error = tool("vx-llm", "show", folder / "small.gguf")
        for part in ("6 layers, 64 wide, 4 heads on 2, context 8192", "7.8 KiB in 4 tensors of 1 file: 12352 parameters", "3.0 MiB at 4096 tokens, 24.0 MiB at 32768 tokens (beyond the model's context of 8192)",
                     "gpt2 (gpt-2), 4 tokens, begin ?, end 3", "    | <user>Hello<end>\n", "  runs       vx-llm run\n", "  memory     weights 7.8 KiB; with the cache in f32 6.0 MiB at 4096 tokens, 48.0 MiB at 32768\n",
                     "    q                  q4_1      3     7.5 KiB  integers of 4 bits, 4 bytes of scales and minimums for each 32: 5 bits a weight\n", "    norm               f32       1   256 bytes  as in the file\n"):
            check(f"show prints '{part.strip()}'", code == 0 and part in text, text + error)

        write(folder / "gemma.gguf", "gemma3", keys=[("add_sliding_window", 512), ("add_key_length", 32), ("add_value_length", 8)])
        cache = describe(folder / "gemma.gguf")["cache"]
        write(folder / "mamba.gguf", "mamba")
        refusal = describe(folder / "mamba.gguf")["run_refused"]
        check("no parts of a model that does not run", describe(folder / "mamba.gguf")["parts"] == [] and describe(folder / "mamba.gguf")["device_bytes"] is None, refusal)
        check("an architecture that does not run", refusal == "vx-compile reads the architectures gemma3, gpt2, llama, phi2, phi3, qwen2, qwen3, got mamba", refusal)
        # 5 of 6 layers keep a window; a key has 32 numbers, a value 8.
        check("windows", cache["bytes_per_token"] == 160 and cache["window"] == 512 and cache["bytes_at_4096"] == 160 * 4096 + 5 * 160 * 512, cache)
        write(folder / "layers.gguf", "gemma3", heads=[1, 1, 1, 1, 1, 4], keys=[("add_sliding_window", 512)])
        facts = describe(folder / "layers.gguf")
        check("heads by layer", [facts["cache"]["bytes_per_token"], facts["cache"]["window_bytes_per_token"], facts["key_value_heads"]] == [4 * 64, 5 * 64, 4], facts["cache"])
        write(folder / "tokens.gguf", template="{{ bos_token }}|{{ eos_token }}|{{ unk_token }}|{{ pad_token }}", keys=[("add_bos_token_id", 0), ("add_unk_token_id", 1), ("add_pad_token_id", 2)])
        check("tokens of a template", describe(folder / "tokens.gguf")["template_example"] == "a|<end>|b|ab", describe(folder / "tokens.gguf")["template_example"])
        write(folder / "part.gguf", split=2)
        facts = describe(folder / "part-00001-of-00002.gguf")
        check("a split model", len(facts["files"]) == 2 and facts["parameters"] == 3 * 64 * 64 + 64, facts)
        write(folder / "strict.gguf", template="{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ messages[0].content }}")
        check("a template without system messages", describe(folder / "strict.gguf")["template_example"] == "Hello", describe(folder / "strict.gguf")["template_example"])
        write(folder / "odd.gguf", template="{% include 'x' %}", pre="nobody")
        facts = describe(folder / "odd.gguf")
        check("a template that is refused", facts["template_refused"] and "'nobody'" in facts["tokenizer_refused"], facts)
        write(folder / "include.gguf", template="\n{% include 'x' %}")
        check("a tag that is refused", describe(folder / "include.gguf")["template_refused"] == "line 2: the tag 'include' is not supported", describe(folder / "include.gguf"))

        for label, data, message in (("truncated", (folder / "small.gguf").read_bytes()[:900], "truncated"), ("hostile", b"GGUF\3\0\0\0" + b"\xff" * 16, "truncated: 18446744073709551615 keys"),
                                     ("no GGUF", b"PK\3\4", "not a GGUF file")):
            (folder / "bad.gguf").write_bytes(data)
            code, out, error = tool("vx-llm", "show", folder / "bad.gguf")
            check(f"a {label} file ends with 3", code == 3 and message in error and not out, (code, out, error))
        for arguments, message in ((("bench",), "bench: expected a module (.vxm), a GGUF file or a folder"), ((), "expected show, run, chat, perplexity or bench; see --help"), (("show",), "show: expected a GGUF file"), (("sho", "x"), "expected show, run, chat, perplexity or bench, got 'sho'")):
            code, out, error = tool("vx-llm", *arguments)
            check(f"'vx-llm {' '.join(arguments)}' ends with 2", code == 2 and message in error, (code, error))
        code, out, error = tool("vx-llm", "show", folder / "none.gguf")
        check("a missing file ends with 3", code == 3 and "No such file" in error, (code, error))

        code, text, error = tool("vx-models", "scan", folder)
        check("scan lists files", code == 0 and "small.gguf  gguf llama    7.8 KiB  3 q4_1, 1 f32  context 8192" in text, text + error)
        check("scan tells why a file is refused", f"bad.gguf  refused: {folder}/bad.gguf: not a GGUF file" in text, text)
        check("scan lists a split model once", text.count("part-0000") == 1, text)
        listed = json.loads(tool("vx-models", "scan", folder, "--json")[1])["language_models"]
        check("scan --json", [model["file"] for model in listed] == sorted(model["file"] for model in listed) and
              {model["file"]: model.get("context") for model in listed}["small.gguf"] == 8192 and [model["file"] for model in listed if model["refused"]] == ["bad.gguf"], listed)
    if failed:
        raise SystemExit(f"FAILED: {len(failed)} checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
