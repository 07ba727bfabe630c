"""Language models: prompts and conversations to text."""
import os as _os
import typing as _typing

import vx as _vx

from . import _text
from ._texts import _compiled, _texts

if _typing.TYPE_CHECKING:
    import numpy


class Answer:
    """The pieces of an answer, as an iterator: each is computed when it is asked for. `text` is the answer so far, `tokens` its numbers; `finish_reason` is None before the end, then "stop" (the
    model or a stop string has ended it) or "length". `prompt_tokens` counts the prompt, `cached_tokens` those of them that the model still had from before; `prompt_seconds` and
    `answer_seconds` are times. One thread at a time."""

    def __init__(self, native):
        self._native = native

    def __iter__(self):
        return self

    def __next__(self) -> str:
        while True:
            piece = self._native.next()
            if piece is None:
                raise StopIteration
            if piece:
                return piece

    def read(self) -> str:
        """The whole answer, computed to its end."""
        for _ in self:
            pass
        return self.text

    def __getattr__(self, name):
        if name in ("text", "tokens", "finish_reason", "prompt_tokens", "cached_tokens", "prompt_seconds", "answer_seconds"):
            return self._native.answer()[name]
        raise AttributeError(f"vx.Answer has no attribute '{name}'")

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"vx.Answer({len(self.tokens)} tokens, {self.finish_reason or 'not at its end'})"


class LanguageModel:
    """A language model on a device. Threads take turns, a piece at a time; it gives up the interpreter's lock. A new answer ends the one before it.

    `source`: a module that vx-compile has made of a language model (.vxm), or a GGUF file or a folder with safetensors, which is compiled into the cache (wheel vx-compiler). `context`: room
    for tokens of prompt and answer; 0: 4096, or the model's own if that is less. `device`, `fallback` and `threads` are those of vx.Instance, `targets` and `options` those of vx.compile.

    `info` is a dict: "family", "context", "max_context", "vocabulary", "width" (elements of a token's state), "ends", "chat_template" (None for none).

    Raises ValueError for a module that is no language model and for a context beyond the model's, vx.Error for a module that does not load and for a refused device, vx.CompileError for a
    model that does not compile."""

    def __init__(self, source, device=None, *, context: int = 0, targets: str | None = None, fallback: bool = True, threads: int = 0, **options):
        device, path = _vx._device(device), _os.fspath(source)
        if not path.endswith(".vxm"):
            path = _compiled("vx.LanguageModel", path, device, targets, fallback, options, refers=True)
        elif options or targets is not None:
            raise TypeError(f"vx.LanguageModel: '{next(iter(options), 'targets')}' is for a model that is compiled, and '{path}' is a module")
        self._native = _text.LanguageModel.load(path, device, bool(fallback), _vx._whole("threads", threads, 0, 1024), _vx._whole("context", context, 0))
        self.info = self._native.info()

    def _start(self, prompt, max_tokens, temperature, top_k, top_p, min_p, seed, stop):
        stop = [stop] if isinstance(stop, str) else _texts("stop", stop)
        return Answer(self._native.start(prompt, 0 if max_tokens is None else _vx._whole("max_tokens", max_tokens, 1), float(temperature), _vx._whole("top_k", top_k, 0), float(top_p), float(min_p),
                                         _vx._whole("seed", seed, 0), stop))

    def _tokens(self, name, given):
        if isinstance(given, str):
            return self._native.encode(_texts(name, [given])[0])
        return [_vx._whole(f"{name}[{place}]", token, 0, self.info["vocabulary"] - 1) for place, token in enumerate(given)]

    def generate(self, prompt, *, max_tokens: int | None = None, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, seed: int = 0, stop=()) -> Answer:
        """The text that goes on after a prompt (a text, or a list of tokens), taken as it is.

        `max_tokens`: of the answer at the most; None: as many as there is room for. `temperature` 0 takes the most likely token. Only the `top_k` most likely tokens (0: all), those with a
        probability of `top_p` in all, and those of at least `min_p` times the largest probability are drawn from. The same `seed` gives the same answer. `stop`: texts that end it.

        Raises ValueError for a prompt without a token or without room for an answer, with both numbers, and for options that do not fit; TypeError for a prompt that is no text."""
        return self._start(self._tokens("prompt", prompt), max_tokens, temperature, top_k, top_p, min_p, seed, stop)

    def chat(self, messages, *, max_tokens: int | None = None, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, seed: int = 0, stop=()) -> Answer:
        """The answer to a conversation: a list of dicts with "role" ("system", "user" or "assistant") and "content", by the model's chat template. A text is a message of the user.

        Special tokens that a message spells are plain text. What the conversation has in common with the one before is not computed again. The options are those of `generate`; it raises
        ValueError for a model without a template and for a conversation that the template refuses, too."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        pairs = []
        for place, message in enumerate(messages):
            if not isinstance(message, dict) or set(message) != {"role", "content"}:
                raise TypeError(f"messages[{place}]: expected a dict with 'role' and 'content', got {message!r}")
            pairs.append(tuple(_texts(f"messages[{place}]", [message["role"], message["content"]])))
        return self._start(self._native.encode_chat(pairs), max_tokens, temperature, top_k, top_p, min_p, seed, stop)

    def tokenize(self, prompt: str) -> list:
        """The tokens of a prompt, as `generate` has them."""
        return self._native.encode(_texts("prompt", [prompt])[0])

    def embed(self, text, *, pooling: str = "last") -> "numpy.ndarray":
        """The embedding of a text (or of a list of tokens): an array of f32, of the states from which the head makes logits.

        `pooling`: "last" takes the state of the last token, which depends on all tokens, "mean" the mean of all states; both give a vector [width] of length 1. "none" gives the states as they
        are, [tokens, width]. An answer in progress goes on as before.

        Raises ValueError for a text without a token, for more tokens than the context and for another pooling."""
        import numpy
        if pooling not in ("last", "mean", "none"):
            raise ValueError(f"pooling: expected 'last', 'mean' or 'none', got {pooling!r}")
        width, values = self._native.embed(self._tokens("text", text), pooling)
        vectors = numpy.frombuffer(values, numpy.float32).copy()
        return vectors.reshape(-1, width) if pooling == "none" else vectors

    def report(self) -> dict:
        """The device report: which device was taken, and why each other one was refused."""
        import json
        return json.loads(self._native.report_json())

    def __str__(self):
        return self._native.report_text()

    def __repr__(self):
        return f"vx.LanguageModel({self.info['family']}, context {self.info['context']}, on {self.report()['taken'].get('device')})"
