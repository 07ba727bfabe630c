"""Writes a small random Llama model with a chat template and a token for each byte, in the place of one that a page names.

    make_language_model.py OUT.gguf
"""
import logging
import pathlib
import sys

TEST = pathlib.Path(__file__).resolve().parent.parent
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, str(TEST / folder))
from llama_gguf import write_llama  # noqa: E402
from random_models import llama_settings, llama_weights  # noqa: E402

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"


def bytes_as_letters():
    """The letters that stand for the bytes in a byte-level vocabulary: those that cannot be printed come from U+0100 on."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return [chr(byte) if byte in printed else chr(0x100 + others.index(byte)) for byte in range(256)]


def main():
    logging.disable(logging.WARNING)
    tokens = [*bytes_as_letters(), "aa", "<end>"]  # "aa" is the merge of all models that write_llama makes
    settings = llama_settings(vocab_size=len(tokens), max_position_embeddings=600)
    write_llama(sys.argv[1], settings, llama_weights(settings, 7), tokens=tokens, ends=(len(tokens) - 1,), template=TEMPLATE)


if __name__ == "__main__":
    main()
