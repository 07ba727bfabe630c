"""Tokenizers, and texts as vectors."""
import os as _os
import typing as _typing

import vx as _vx

from . import _text
from ._cache import Entry, default_folder

if _typing.TYPE_CHECKING:
    import numpy


def _texts(what, given):
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{what}: expected a list of texts, got {type(given).__name__}")
    texts = list(given)
    for number, one in enumerate(texts):
        if not isinstance(one, str):
            raise TypeError(f"{what}: expected texts, got {type(one).__name__} as number {number}")
        try:
            one.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{what}: expected Unicode, got half of a surrogate pair at [{error.start}] of text {number}") from None
    return texts


class Encoding:
    """One text as tokens, with the names of the package tokenizers. All lists have an element for each token.

    `ids`, `type_ids`; `tokens`: texts, as the vocabulary spells them; `attention_mask`: 1, and 0 for padding; `special_tokens_mask`: 1 for tokens of the template and padding; `word_ids`:
    the number of the word, None for no word; `offsets`: (begin, end) in characters of the text; `overflowing`: a list of Encoding for the parts that truncation has cut off;
    `is_truncated`."""

    def __init__(self, tokenizer, made):
        self._tokenizer = tokenizer
        self.ids, self.type_ids, self.attention_mask, self.special_tokens_mask = (made[name] for name in ("ids", "type_ids", "attention_mask", "special_tokens_mask"))
        self.offsets, self.is_truncated = made["offsets"], made["is_truncated"]
        self.word_ids = [None if word < 0 else word for word in made["words"]]
        self.overflowing = [Encoding(tokenizer, part) for part in made["overflowing"]]

    @property
    def tokens(self) -> list:
        """The tokens as the vocabulary spells them."""
        return [self._tokenizer.id_to_token(number) for number in self.ids]

    def __len__(self):
        return len(self.ids)

    def __repr__(self):
        return f"Encoding({len(self)} tokens{', truncated' if self.is_truncated else ''})"


class Tokenizer:
    """Text to the numbers of tokens and back, as the package tokenizers and llama.cpp do it. Immutable and thread-safe; encoding gives up the interpreter's lock.

    `path`: a tokenizer.json, BERT's vocab.txt, a SentencePiece model (.model), a GGUF file, or a folder with tokenizer.json. Raises ValueError that names the component or the offset
    for a damaged or unsupported file, OSError for a file that cannot be read."""

    def __init__(self, path):
        path = _os.fspath(path)
        if _os.path.isdir(path):
            path = _os.path.join(path, "tokenizer.json")
        with open(path, "rb"):
            pass # an OSError with the name of the file
        self._native = _text.Tokenizer.load(path)

    @classmethod
    def from_json(cls, json) -> "Tokenizer":
        """A tokenizer of the content of a tokenizer.json, a text or bytes."""
        made = cls.__new__(cls)
        made._native = _text.Tokenizer.from_json(json.encode() if isinstance(json, str) else bytes(json))
        return made

    def encode(self, text: str, pair: str | None = None, **options) -> Encoding:
        """One text, or two that the template puts together. `options` are those of encode_batch."""
        return self.encode_batch([text], None if pair is None else [pair], **options)[0]

    def encode_batch(self, texts, pairs=None, *, add_special_tokens: bool = True, match_special_tokens: bool = True, truncation=None, max_length: int | None = None, stride: int = 0,
                     truncation_strategy: str = "longest_first", truncation_side: str = "right", padding=None, pad_to: int | None = None, pad_to_multiple_of: int = 0, padding_side: str = "right",
                     pad_id: int = 0, pad_type_id: int = 0, overflowing: bool = False) -> list:
        """A list of Encoding, one for each text.

        Truncation and padding are those of the file, unless one of `truncation`, `max_length` and `padding` is given. `max_length`: the most tokens, those of the template among them, with
        `stride` tokens in common of parts that overflow; `truncation_strategy` is "longest_first", "only_first" or "only_second"; sides are "right" or "left"; `truncation` False cuts nothing.
        `padding` True pads to the longest text, or to `pad_to` tokens. `match_special_tokens` False takes a special token that is written out as plain text.

        Raises ValueError for options that do not fit, and for a text that the vocabulary cannot spell; TypeError for what is no text."""
        texts = _texts("texts", texts)
        pairs = None if pairs is None else _texts("pairs", pairs)
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"pairs: expected {len(texts)} texts, one for each of texts, got {len(pairs)}")
        for name, value, known in (("truncation_strategy", truncation_strategy, ("longest_first", "only_first", "only_second")), ("truncation_side", truncation_side, ("right", "left")),
                                   ("padding_side", padding_side, ("right", "left"))):
            if value not in known:
                raise ValueError(f"{name}: expected {' or '.join(known)}, got {value!r}")
        if truncation and max_length is None:
            raise ValueError("truncation: expected max_length with it, got none")
        if pairs is not None and padding and pad_to is None:
            raise ValueError("padding: expected pad_to with pairs, which are not padded to the longest, got none")
        options = _text.Options()
        options.uses_file = truncation is None and max_length is None and padding is None
        options.add_special_tokens, options.match_special_tokens, options.overflowing = bool(add_special_tokens), bool(match_special_tokens), bool(overflowing)
        options.max_length = None if max_length is None or truncation is False else _vx._whole("max_length", max_length, 1)
        options.stride, options.strategy, options.truncates_front = _vx._whole("stride", stride, 0), truncation_strategy, truncation_side == "left"
        options.pads, options.pads_front = bool(padding), padding_side == "left"
        options.pad_to, options.multiple_of = None if pad_to is None else _vx._whole("pad_to", pad_to, 0), _vx._whole("pad_to_multiple_of", pad_to_multiple_of, 0)
        options.pad_id, options.pad_type_id = _vx._whole("pad_id", pad_id, 0, 2**31 - 1), _vx._whole("pad_type_id", pad_type_id, 0, 2**31 - 1)
        return [Encoding(self, made) for made in self._native.encode(texts, pairs, options)]

    def __call__(self, text: str, pair: str | None = None, **options) -> Encoding:
        """The same as encode."""
        return self.encode(text, pair, **options)

    def decode(self, ids, skip_special_tokens: bool = True) -> str:
        """The text of tokens. Numbers that no token has are left out; bytes that are no UTF-8 become U+FFFD."""
        return self._native.decode([int(number) for number in ids], bool(skip_special_tokens))

    def decode_stream(self, skip_special_tokens: bool = True) -> "DecodeStream":
        """A DecodeStream, for tokens that come one at a time."""
        return DecodeStream(self, skip_special_tokens)

    @property
    def vocab_size(self) -> int:
        """Numbers of tokens are below this."""
        return self._native.vocabulary_size()

    def token_to_id(self, token: str) -> int | None:
        """The number of a token as the vocabulary spells it; None for no token."""
        return self._native.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """The token as the vocabulary spells it; None for a number without one."""
        token = self._native.id_to_token(int(id))
        return None if token is None else token.decode(errors="replace")

    def is_special(self, id: int) -> bool:
        """Whether the number is that of a special token."""
        return self._native.is_special(int(id))

    def __repr__(self):
        return f"vx.Tokenizer({self.vocab_size} tokens)"


class DecodeStream:
    """Text of tokens that come one at a time: `push` gives the text that a token completes, "" while a character is not complete, and `finish` the rest. Text that was given never
    changes. One thread at a time."""

    def __init__(self, tokenizer: Tokenizer, skip_special_tokens: bool = True):
        self._native = _text.DecodeStream(tokenizer._native, bool(skip_special_tokens))

    def push(self, id: int) -> str:
        """The text that this token completes."""
        return self._native.push(int(id))

    def finish(self) -> str:
        """The rest: U+FFFD for a character that is not complete. The stream then begins anew."""
        return self._native.finish()


def _compiled(what, path, device, targets, fallback, options, refers=False):
    """The module of the cache that a model of texts is compiled to. With `refers` it reads its weights from the model's files."""
    from ._model import _target_of
    targets = _target_of(device, fallback) if targets is None else targets
    if default_folder():
        options.setdefault("cache_folder", default_folder())
    entry = Entry(path, {"targets": targets, **options}, _vx.compiler_version(), has_folder=refers)
    if entry.path is None:
        raise ValueError(f"{what}: '{path}' is no module and is compiled into the cache: expected VX_CACHE, XDG_CACHE_HOME or HOME to be a folder to write to")
    try:
        is_there = _os.path.exists(entry.path) and bool(_vx.Module(entry.path))
    except _vx.Error:
        is_there = False # damaged, or its files were changed: made again
    if not is_there:
        if refers and "weights" not in options and entry.link(path):
            options["weights"] = "reference"
        _vx.compile(path, entry.path, targets=targets, **options)
        entry.remove_older()
    return entry.path


class Embedder:
    """A model of sentence embeddings on a device: texts to vectors. Thread-safe; it gives up the interpreter's lock.

    `source`: a module that vx-compile has made of a folder with a model and its tokenizer (.vxm), or such a folder, which is compiled into the cache (wheel vx-compiler). `device`, `fallback`
    and `threads` are those of vx.Instance, `targets` and `options` those of vx.compile.

    `info` is a dict: "name", "dimensions", "max_tokens", "pooling", "normalizes", "poolings", "prompts", "default_prompt", "can_shorten", "shorter_dimensions", "apart", "device".

    Raises ValueError for a module that is not one of embeddings, vx.Error for a module that does not load and for a refused device, vx.CompileError for a folder that does not compile."""

    def __init__(self, source, device=None, targets: str | None = None, fallback: bool = True, threads: int = 0, **options):
        device, path = _vx._device(device), _os.fspath(source)
        if _os.path.isdir(path):
            path = _compiled("vx.Embedder", path, device, targets, fallback, options)
        elif options or targets is not None:
            raise TypeError(f"vx.Embedder: '{next(iter(options), 'targets')}' is for a folder that is compiled, and '{path}' is none")
        self._native = _text.Embedder(path, device, bool(fallback), _vx._whole("threads", threads, 0, 1024))
        self.info = self._native.info()

    def embed(self, texts, *, prompt: str = "", prompt_name: str = "", use_prompt: bool = True, truncate: bool = True, max_tokens: int = 0, pooling: str | None = None,
              normalize: bool | None = None, dimensions: int = 0, batch_tokens: int = 16384) -> "numpy.ndarray":
        """The vectors of texts: an array of f32 [texts, dimensions]; of one text (str) an array [dimensions].

        `prompt` is put before each text, or the model's prompt `prompt_name`; else the model's default prompt, without `use_prompt` none. A text of more than `max_tokens` tokens (0: the
        model's limit) is cut off, or refused without `truncate`. `pooling` ("cls", "mean", "last") and `normalize` (to length 1): None: the model's. `dimensions`: the first ones alone, of a
        model that can shorten; 0: all. `batch_tokens`: tokens of a batch, padding included.

        `statistics` then has the numbers of this call: texts, tokens, padding, truncated, batches, seconds. Raises ValueError for options that do not fit the model; TypeError for what is
        no text; vx.Error for a run that fails."""
        import numpy
        given = [texts] if isinstance(texts, str) else texts
        rows, columns, data, statistics = self._native.embed(_texts("texts", given), prompt, prompt_name, bool(use_prompt), bool(truncate), _vx._whole("max_tokens", max_tokens, 0), pooling,
                                                             normalize, _vx._whole("dimensions", dimensions, 0), _vx._whole("batch_tokens", batch_tokens, 1))
        self.statistics = statistics
        vectors = numpy.frombuffer(data, numpy.float32).reshape(rows, columns if rows else dimensions or self.info["dimensions"]).copy()
        return vectors[0] if isinstance(texts, str) else vectors

    def __call__(self, texts, **options):
        """The same as embed."""
        return self.embed(texts, **options)

    def tokenize(self, text: str, *, prompt: str = "", prompt_name: str = "", use_prompt: bool = True, truncate: bool = True, max_tokens: int = 0) -> dict:
        """The tokens of a text as the model gets them: {"ids", "type_ids", "is_truncated"}. Options are those of embed."""
        ids, types, is_truncated = self._native.tokenize(_texts("text", [text])[0], prompt, prompt_name, bool(use_prompt), bool(truncate), _vx._whole("max_tokens", max_tokens, 0))
        return {"ids": ids, "type_ids": types, "is_truncated": is_truncated}

    def report(self) -> dict:
        """The device report: which device was taken, and why each other one was refused."""
        import json
        return json.loads(self._native.report_json())

    def __str__(self):
        return self._native.report_text()

    def __repr__(self):
        return f"vx.Embedder('{self.info['name']}', {self.info['dimensions']} dimensions, on {self.info['device']})"
