"""What llama.cpp is asked, and llama_cpp_goldens.npz has its answers to: small random models, and texts for tokenizers."""
import pathlib
import sys

from llama_gguf import WITHOUT_GGUF
from random_models import DECODER_GOLDENS, LONG, LONG_GOLDENS, YARN

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "text"))
from run_tokenizers import refused_characters, strings  # noqa: E402

GOLDENS = HERE / "llama_cpp_goldens.npz"
# The room of a cache. llama.cpp has none below 256 tokens, and chooses LongRoPE's factors by it.
ROOM, LONG_ROOM = 256, 1280
# Tokens of a sequence, and the rows of logits that the file has: the last ones, which depend on all.
TOKENS, ROWS = 48, 16
# Models that llama.cpp computes in another way, by the reason.
LEFT_OUT = {
    **WITHOUT_GGUF,
    "phi3": "llama.cpp leaves out Phi 3's window",
    "long_phi3": "llama.cpp leaves out Phi 3's window",
    "long_gemma3": "llama.cpp has no types of layers: every sixth one of Gemma 3 is without a window",
    "yarn_part": "llama.cpp's converter writes yarn_attn_factor, yarn_beta_fast and yarn_beta_slow, and these families read none of them",
    "qwen3_tied": "llama.cpp has no biases of Qwen3",
    "longrope_scale": "llama.cpp has no factors of Qwen2's positions",
}


def models():
    """Name, settings, seed, the count of tokens and the room of the cache."""
    for name, (settings, seed) in DECODER_GOLDENS.items():
        yield name, settings, seed, TOKENS, ROOM
    for name, (settings, seed) in LONG_GOLDENS.items():
        yield name, settings, seed, LONG, LONG_ROOM
    settings, seed = DECODER_GOLDENS["gpt2"]
    yield "gpt2_epsilon", {**settings, "layer_norm_epsilon": 1e-2}, seed, TOKENS, ROOM
    settings, seed = DECODER_GOLDENS["yarn_part"]
    yield "yarn_partial", {**settings, "rope_scaling": YARN}, seed, TOKENS, ROOM
    yield "short_longrope", *LONG_GOLDENS["long_longrope"], 200, ROOM
    yield "phi3_all", {**DECODER_GOLDENS["phi3"][0], "sliding_window": None}, 67, TOKENS, ROOM


def cases():
    return [case for case in models() if case[0] not in LEFT_OUT]


# Texts that tokenizers cut in different ways.
TEXTS = (
    "", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", " \n", "\n ", "\t", "\t\t", " \t ", "\r\n", "a\r\nb", "\x0b\x0c", "a\n b", "a \nb", "a  b", "a   b", "  a", "a  ", "\x00", "\x1c", "\x7f", "\x85",
    "Hello world", " Hello world", "Hello world ", "Hello, world!", "HELLO", "don't it's we'll I'VE they'Re 'tis 's", "don\u2019t", "a'b''c", "x=1;y=2", "#include <iostream>", "http://example.com/a?b=c&d=e%20f",
    "foo_bar fooBar __init__ C++", "def f(x):\n    return x\n\n\tpass\n", "{\"a\": [1, 2.5, null]}", "----====----", "......", "?!?!", "(((", "a.b.c", "$12.50 50% #1 @x", "\u2014\u201cquoted\u201d\u2026",
    "0", "1", "12", "123", "1234", "12345678901234567890", "3.14159", "1,000,000", "2024-01-02T03:04:05", "1a2b3c", "\u0661\u0662\u0663", "\uff12\uff10\uff12\uff14", "\u00b2\u00bd\u2167", " 1 22 333",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9", "e\u0301 A\u030a", "Stra\u00dfe \u015e\u0130\u015eL\u0130", "\ufb01ne \ufb03", "\u65e5\u672c\u8a9e\u30c6\u30b9\u30c8", "\u4e2d\u6587\u5b57\u7b26\uff0c\u3002", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u05e2\u05d1\u05e8\u05d9\u05ea", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0e44\u0e17\u0e22", "\uff76\uff9e \u3231", "\U0001d400\U0001d7d8 \U00010400",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\u2764\ufe0f", "\u00a0a\u3000b\u2028c", "\u200b\u200d\ufeff", "\ufffd", "\u2581", "\u2581a\u2581\u2581b", " \u2581 ",
    "<|im_start|>user\nhi<|im_end|>\n", "<|im_start|> <|im_end|>", "a<|endoftext|>b", "<|im_start", "<|im_start|", "<<|im_end|>>", "<bos>", "<eos>a", "<start_of_turn>user\nhi<end_of_turn>\n", " <bos> ", "<pad>", "<unk>", "<mask>",
    "<s>", "</s>", "[MASK]", "<0x0A>", "<0x41>", "<unused7>", "<unused99>a", "<h1>title</h1>", "<table>", "[multimodal]", "\n\n\n\n\n\n\n\n", " " * 17, " " * 40, "\t" * 9, "a" * 100, "ab" * 40, "\u3042" * 30, "9" * 41, "=" * 70,
    "The quick brown fox jumps over the lazy dog. 1234567890 times, don't you think?\n\n  - an item\n\t- another one\n",
)
# How a text is read: with the tokens at its beginning, and whether a special token that it spells is that token.
READINGS = ((1, 1), (0, 1), (1, 0), (0, 0))


def sample_text():
    """English and code: the beginning of README.md."""
    return (HERE.parents[1] / "README.md").read_text(encoding="utf-8")[:4000]


def all_texts():
    return [*TEXTS, *strings(200, 11, refused_characters())]


# Prompts whose most likely continuations are compared.
PROMPTS = (
    "Gravity is",
    "The capital of France is",
    "def fibonacci(n):\n",
    "Once upon a time, in a small village",
    "Water boils at 100 degrees",
)
CHATS = {
    "smollm": "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "gemma": "<start_of_turn>user\nWhat is the capital of France?<end_of_turn>\n<start_of_turn>model\n",
}
ANSWER = 64  # tokens
MODEL_ROOM = 768  # tokens that a cache has room for
TOP = 32  # tokens whose probabilities the file has, the most likely ones of a place
NEAR_TIE = 1e-3  # of logits: below, either token may follow
