#!/usr/bin/env python3
"""libvx_llm: its tests in C++ and C, and the examples, on small models that this script makes, with answers by NumPy.

  run_library.py --bin BUILD/bin
"""
import argparse
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(HERE.parent / folder))
from llama_gguf import write_llama  # noqa: E402
from run_chat import END, TEMPLATE, TEXTS, WORDS, Chat, encode  # noqa: E402
from llama_oracle import states_of  # noqa: E402
from run_decoders import greedy  # noqa: E402

PROMPT = "hello"


def check_examples(bench):
    """The output of the examples; a conversation of two answers needs more room than the models of the other tests have."""
    settings, modules = {**bench.settings, "max_position_embeddings": 400}, {}
    for kind, options in (("plain", {}), ("chat", {"template": TEMPLATE})):
        write_llama(bench.path(f"wide-{kind}.gguf"), settings, bench.tensors, tokens=WORDS, ends=(END,), **options)
        modules[kind], _ = bench.compile_model(bench.path(f"wide-{kind}.gguf"), f"wide-{kind}", "cpu")
    for program in ("language_model", "language_model_c"):
        for module in modules["plain"], modules["chat"]:
            is_chat = program == "language_model" and module == modules["chat"]
            ids = encode("uhello<end>a" if is_chat else PROMPT)
            tokens, why = greedy(bench.settings, bench.tensors, ids, 40, END)
            out, _ = bench.tool(program, module, PROMPT, "cpu", code=0)
            text = "".join(TEXTS[token] for token in tokens)
            first = f"{text}\n{len(tokens)} tokens for {len(ids)}, ended by {why}\n"
            bench.check(f"{program} of {os.path.basename(module)}", out.startswith(first) and (out == first) != is_chat, (out, first))
            if is_chat:
                bench.check(f"{program}: the conversation goes on", out.endswith(" a part of them from before\n") and out.count("\n") == 4, out)
        _, said = bench.tool(program, bench.path("none.vxm"), PROMPT, "cpu", code=1)
        bench.check(f"{program} without a module", said.startswith("language_model: error: vx_module_load: ") and "none.vxm" in said, said)
        _, said = bench.tool(program, modules["plain"], "", "cpu", code=1)
        bench.check(f"{program} without a prompt", "the prompt has no tokens, expected at least 1" in said, said)
        _, said = bench.tool(program, code=2)
        bench.check(f"{program} without arguments", said.startswith("usage: language_model MODULE.vxm"), said)


def check_library(bench, modules):
    ids = encode(PROMPT)
    tokens, _ = greedy(bench.settings, bench.tensors, ids, 12, END)
    first, second = bench.answers(["hello", "world"])
    states = states_of(bench.settings, bench.tensors, ids)
    environment = {**bench.environment(), "VX_TEST_CHAT_MODEL": modules["chat"], "VX_TEST_PLAIN_MODEL": modules["plain"], "VX_TEST_STRANGE_MODEL": modules["strange"], "VX_TEST_OTHER_MODULE": modules["other"], "VX_TEST_LONG_MODEL": modules["long"],
                   "VX_TEST_PROMPT_TOKENS": " ".join(map(str, ids)), "VX_TEST_PROMPT_STATES": " ".join(map(repr, map(float, states.flat))), "VX_TEST_ANSWER_TOKENS": " ".join(map(str, tokens)), "VX_TEST_ANSWER": "".join(TEXTS[token] for token in tokens),
                   "VX_TEST_CHAT_ANSWER_1": first, "VX_TEST_CHAT_ANSWER_2": second}
    ran = subprocess.run([os.path.join(bench.bin, "llm_library_test")], capture_output=True, text=True, env=environment)
    bench.check("llm_library_test", ran.returncode == 0 and "[  PASSED  ]" in ran.stdout, "\n".join(line for line in (ran.stdout + ran.stderr).split("\n") if not line.startswith(("[ RUN", "[       OK", "[----"))))


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Chat(options.bin, folder, ["cpu"])
        modules = {"plain": bench.model("plain"), "strange": bench.model("strange", template="{% include 'a' %}"), "chat": bench.model("chat", template=TEMPLATE)}
        write_llama(bench.path("long.gguf"), {**bench.settings, "max_position_embeddings": 1200}, bench.tensors, tokens=WORDS, ends=(END,))
        modules["long"], _ = bench.compile_model(bench.path("long.gguf"), "long", "cpu")
        other = bench.path("other.mlir")
        pathlib.Path(other).write_text('func.func @main(%a: tensor<2xf32> {vx.name = "a"}) -> (tensor<2xf32> {vx.name = "b"}) {\n  %b = vx.neg %a : tensor<2xf32>\n  return %b : tensor<2xf32>\n}\n')
        modules["other"] = bench.path("other.vxm")
        bench.tool("vx-compile", other, "--target=cpu", "-o", modules["other"])
        check_library(bench, modules)
        check_examples(bench)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
