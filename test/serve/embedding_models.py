"""Folders with small random models of sentence embeddings, as sentence-transformers lays them out, and what PyPI's tokenizers with ONNX Runtime behind
them make of texts."""
import io
import json
import math
import os
import re
import string
import struct

import numpy as np
import onnx
import onnxruntime
import sentencepiece
import tokenizers
from onnx import TensorProto, helper, numpy_helper

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ("a the of and guitar solo stock prices fell music strings river bank money water house green blue red night day sun moon star light dark city road "
         "train boat bird tree leaf wind rain snow fire stone wood iron gold silver coin bread milk salt fish horse dog cat child mother father friend").split()
VOCABULARY = [*SPECIAL, *WORDS, "Guitars", *string.ascii_uppercase, *string.ascii_lowercase, *string.digits, *("##" + c for c in string.ascii_lowercase), ".", ",", "!", "?", "'", "中", "国"]


def texts(count, seed, longest=60):
    random = np.random.default_rng(seed)
    pieces = [*WORDS, "Guitars", "unbelievable", "naïve", "中国", "x9", "don't", "!", "...", "\u0301", "🎸", "[SEP]"]
    drawn = [" ".join(random.choice(pieces, random.integers(1, longest))) for _ in range(count - 2)]
    return [*drawn[: count // 2], "", *drawn[count // 2 :], "a guitar solo"]


def tiny_model(path, seed=0, width=24, heads=3, layers=2, positions=64, types=True, index=TensorProto.INT64, output="last_hidden_state", also=(), sizes=False,
               words=len(VOCABULARY), outside="", places_input=False, hides=False, labels=0):
    """BERT: embeddings, and layers of attention and a wider network. What `also` names are further outputs of rank 2, of which `hides` leaves no other. With
    `sizes` the vectors tell how many texts of which length were run together. `outside` is a file beside the model for its weights. With `places_input` places are an input. With `labels` the only
    output is that of a classifier, "logits"."""
    random = np.random.default_rng(seed)
    nodes, weights = [], []

    def weight(name, *dims, scale=0.3, around=0):
        weights.append(numpy_helper.from_array((around + scale * random.standard_normal(dims)).astype(np.float32), name))
        return name

    def constant(name, values):
        weights.append(numpy_helper.from_array(np.array(values), name))
        return name

    def node(kind, inputs, name, **attributes):
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def linear(x, name, rows, columns):
        return node("Add", [node("MatMul", [x, weight(name + ".weight", rows, columns, scale=rows**-0.5)], name + ".product"), weight(name + ".bias", columns)], name)

    def norm(x, name):
        return node("LayerNormalization", [x, weight(name + ".scale", width, around=1, scale=0.1), weight(name + ".shift", width)], name, axis=-1)

    length = node("Gather", [node("Shape", ["input_ids"], "shape"), constant("one", np.int64(1))], "length", axis=0)
    places = "position_ids" if places_input else node("Range", [constant("zero", np.int64(0)), length, "one"], "places")
    x = node("Add", [node("Gather", [weight("words", words, width), "input_ids"], "word"), node("Gather", [weight("positions", positions, width), places], "place")], "sum")
    if types:
        x = node("Add", [x, node("Gather", [weight("types", 2, width), "token_type_ids"], "type")], "typed")
    x = norm(x, "norm")
    mask = node("Unsqueeze", [node("Cast", ["attention_mask"], "mask.f", to=TensorProto.FLOAT), constant("axes", np.array([1, 2]))], "mask")
    bias = node("Mul", [node("Sub", [constant("ones", np.float32(1)), mask], "absent"), constant("far", np.float32(-1e9))], "bias")
    split, joined = constant("split", np.array([0, 0, heads, width // heads])), constant("joined", np.array([0, 0, width]))
    for layer in range(layers):
        l = f"layer{layer}."
        q, k, v = (node("Transpose", [node("Reshape", [linear(x, l + n, width, width), split], l + n + ".heads")], l + n + ".t", perm=p)
                   for n, p in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        scores = node("Mul", [node("MatMul", [q, k], l + "qk"), constant(l + "scale", np.float32((width // heads) ** -0.5))], l + "scores")
        weighed = node("MatMul", [node("Softmax", [node("Add", [scores, bias], l + "masked")], l + "weights", axis=-1), v], l + "weighed")
        together = node("Reshape", [node("Transpose", [weighed], l + "back", perm=[0, 2, 1, 3]), joined], l + "together")
        x = norm(node("Add", [x, linear(together, l + "out", width, width)], l + "residual"), l + "norm1")
        wide = linear(x, l + "up", width, 2 * width)
        inner = node("Erf", [node("Mul", [wide, constant(l + "root", np.float32(0.5**0.5))], l + "scaled")], l + "erf")
        active = node("Mul", [node("Mul", [wide, constant(l + "half", np.float32(0.5))], l + "halved"), node("Add", [inner, "ones"], l + "shifted")], l + "gelu")
        x = norm(node("Add", [x, linear(active, l + "down", 2 * width, width)], l + "residual2"), l + "norm2" if layer + 1 < layers or sizes else output)
    if sizes:
        x = node("Add", [x, node("Cast", [node("ReduceSum", ["shape"], "extent", keepdims=0)], "extent.f", to=TensorProto.FLOAT)], output)
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else []), *(["position_ids"] if places_input else [])]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "sequence", width])]
    for name in also:
        node("ReduceMean", [x], name, axes=[1], keepdims=0)
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]))
    if hides:
        outputs = outputs[1:]
    if labels:
        first = node("Gather", [x, constant("first", np.int64(0))], "first.vector", axis=1)
        linear(node("Tanh", [linear(first, "pooler", width, width)], "pooled"), "classifier", width, labels)
        node("Mul", ["classifier", constant("wider", np.float32(3))], "logits")
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])]
    graph = helper.make_graph(nodes, "tiny", [helper.make_tensor_value_info(name, index, ["batch", "sequence"]) for name in inputs], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if outside:
        onnx.save_model(model, path, save_as_external_data=True, location=outside, size_threshold=100)
    else:
        onnx.save(model, path)


def without_places(said):
    """A message without lines and columns of JSON files: most tests check the text alone."""
    return re.sub(r"(\.json):[0-9]+:[0-9]+: ", r"\1: ", said)


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def write_safetensors(path, tensors):
    header, at, data = {}, 0, b""
    for name, (kind, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + len(raw)]}
        at, data = at + len(raw), data + raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Words:
    """PyPI's tokenizers, cut to a number of tokens."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, text, limit=None, side="right"):
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        if limit:
            self.tokenizer.enable_truncation(limit, direction=side)
        encoded = self.tokenizer.encode(text)
        return encoded.ids, encoded.type_ids


class Pieces:
    """PyPI's sentencepiece, with the tokens around that a class of transformers has."""

    def __init__(self, model, before, after):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.before, self.after = ([self.processor.piece_to_id(token) for token in tokens] for tokens in (before, after))

    def encode(self, text, limit=None, side="right"):
        ids = self.processor.encode(text)
        room = max(limit - len(self.before) - len(self.after), 0) if limit else len(ids)
        ids = [*self.before, *(ids[:room] if side == "right" else ids[max(len(ids) - room, 0):]), *self.after]
        return ids, [0] * len(ids)


def train_pieces(kind, **settings):
    """The bytes of a SentencePiece model of the texts here."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts(400, 9)), model_writer=model, model_type=kind, vocab_size=340, hard_vocab_limit=False, num_threads=1,
                                             minloglevel=2, **settings)
    return model.getvalue()


# By the class's name: the file, how it is trained, and the tokens around a text.
SENTENCEPIECE = {
    "T5Tokenizer": ("spiece.model", dict(kind="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1), (), ("</s>",)),
    "LlamaTokenizerFast": ("tokenizer.model", dict(kind="bpe", byte_fallback=True), ("<s>",), ()),
    "GemmaTokenizer": ("tokenizer.model", dict(kind="unigram", bos_piece="<bos>", eos_piece="<eos>", pad_id=0, eos_id=1, bos_id=2, unk_id=3, add_dummy_prefix=False), ("<bos>",), ()),
}


ACTIVATIONS = {"Tanh": np.tanh, "ReLU": lambda x: np.maximum(x, 0), "Identity": lambda x: x, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
               "GELU": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))}


class Folder:
    """A folder, and what its vectors are to be."""

    def __init__(self, path, pooling="mean", normalize=False, dense=(), max_tokens=32, tokenizer="vocab.txt", prompts=None, default_prompt=None, modules=True,
                 model="model.onnx", lower=False, cased=False, side="right", **network):
        self.path, self.pooling, self.normalize, self.max_tokens = path, pooling, normalize, max_tokens
        self.prompt = (prompts or {}).get(default_prompt, "")
        self.lower, self.cased, self.side, self.width, self.dense = lower, cased, side, network.get("width", 24), []
        self.model = os.path.join(path, model)
        os.makedirs(path)
        words = self.write_tokenizer(tokenizer)
        tiny_model(self.model, words=words, **network)
        write_json(f"{path}/config.json", {"max_position_embeddings": network.get("positions", 64), "pad_token_id": 0, "model_type": "bert"})
        write_json(f"{path}/sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": lower})
        if prompts is not None:
            write_json(f"{path}/config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": default_prompt, "similarity_fn_name": "dot"})
        listed = [("", "Transformer"), ("1_Pooling", "Pooling")]
        keys = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "last": "pooling_mode_lasttoken"}
        if modules:
            write_json(f"{path}/1_Pooling/config.json", {"word_embedding_dimension": self.width, **{key: name == pooling for name, key in keys.items()}})
        for number, (outputs, function, kind) in enumerate(dense):
            self.add_dense(f"{number + 2}_Dense", outputs, function, kind, np.random.default_rng(number))
            listed.append((f"{number + 2}_Dense", "Dense"))
        if normalize:
            listed.append((f"{len(listed)}_Normalize", "Normalize"))
        if modules:
            write_json(f"{path}/modules.json", [{"idx": i, "name": str(i), "path": place, "type": f"sentence_transformers.models.{kind}"} for i, (place, kind) in enumerate(listed)])

    def write_tokenizer(self, name):
        """How many words it has."""
        config = {"truncation_side": self.side, "padding_side": "left", "model_max_length": 1e30}
        if name in SENTENCEPIECE:
            file, trained, before, after = SENTENCEPIECE[name]
            model = train_pieces(**trained)
            self.tokenizer = Pieces(model, before, after)
            with open(f"{self.path}/{file}", "wb") as out:
                out.write(model)
            write_json(f"{self.path}/tokenizer_config.json", {**config, "tokenizer_class": name})
            return self.tokenizer.processor.vocab_size()
        vocabulary = {token: number for number, token in enumerate(VOCABULARY)}
        self.tokenizer = Words(tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=not self.cased)._tokenizer)
        if name == "vocab.txt":
            with open(f"{self.path}/vocab.txt", "w", encoding="utf-8") as file:
                file.write("".join(token + "\n" for token in VOCABULARY))
            write_json(f"{self.path}/tokenizer_config.json", {**config, "do_lower_case": not self.cased, "cls_token": {"content": "[CLS]"}})
        else:  # with a truncation and a padding of its own, which do not count
            self.tokenizer.tokenizer.enable_truncation(7)
            self.tokenizer.tokenizer.enable_padding(length=9)
            self.tokenizer.tokenizer.save(f"{self.path}/{name}")
        return len(VOCABULARY)

    def add_dense(self, name, outputs, function, kind, random):
        inputs = self.dense[-1][0].shape[0] if self.dense else self.width
        weight, bias = (0.4 * random.standard_normal((outputs, inputs))).astype(np.float32), random.standard_normal(outputs).astype(np.float32)
        write_json(f"{self.path}/{name}/config.json", {"in_features": inputs, "out_features": outputs, "bias": True, "activation_function": f"torch.nn.modules.{'linear' if function == 'Identity' else 'activation'}.{function}",
                                                         "module_input_name": "sentence_embedding"})
        cast = {"F32": lambda a: a, "F16": lambda a: a.astype(np.float16), "BF16": lambda a: (a.view(np.uint32) >> 16).astype(np.uint16)}[kind]
        widen = {"F32": lambda a: a, "F16": lambda a: a.astype(np.float32), "BF16": lambda a: (a.astype(np.uint32) << 16).view(np.float32)}[kind]
        write_safetensors(f"{self.path}/{name}/model.safetensors", {"linear.weight": (kind, cast(weight)), "linear.bias": (kind, cast(bias))})
        self.dense.append((widen(cast(weight)), widen(cast(bias)), ACTIVATIONS[function]))

    def expected(self, given, pooling=None, normalize=None, prompt=None, max_tokens=None):
        pooling = pooling or self.pooling
        normalize = self.normalize if normalize is None else normalize
        given = [(self.prompt if prompt is None else prompt) + text for text in given]
        encoded = [self.tokenizer.encode(text.lower() if self.lower else text, max_tokens or self.max_tokens, self.side) for text in given]
        session = reference(self.model)
        rows = []
        for at in range(0, len(encoded), 32):
            part = encoded[at : at + 32]
            longest = max(len(ids) for ids, _ in part)
            padded = {"input_ids": [ids + [0] * (longest - len(ids)) for ids, _ in part], "attention_mask": [[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in part],
                      "token_type_ids": [types + [0] * (longest - len(types)) for _, types in part]}
            feed = {i.name: np.array(padded[i.name], np.int64 if "64" in i.type else np.int32) for i in session.get_inputs()}
            names = [o.name for o in session.get_outputs()]
            hidden = session.run([next(n for n in ("last_hidden_state", "token_embeddings", *names) if n in names)], feed)[0]
            mask = np.array(padded["attention_mask"], np.float32)
            if pooling == "cls":
                rows.append(hidden[:, 0])
            elif pooling == "mean":
                rows.append((hidden * mask[:, :, None]).sum(1) / np.maximum(mask.sum(1, keepdims=True), 1e-9))
            else:
                rows.append(hidden[np.arange(len(part)), mask.sum(1).astype(int) - 1])
        vectors = np.concatenate(rows)
        for weight, bias, function in self.dense:
            vectors = function(vectors @ weight.T + bias)
        if normalize:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors.astype(np.float32), sum(len(ids) for ids, _ in encoded)


class CrossEncoder(Folder):
    """A folder with a classifier of pairs of texts, and the scores that sentence-transformers' CrossEncoder gives: the activation of the logit of a pair, which is cut to
    `max_tokens` from the longer text's end."""

    def __init__(self, path, activation=None, config=None, max_tokens=32, tokenizer="vocab.txt", **network):
        self.path, self.max_tokens, self.side, self.cased = path, max_tokens, "right", False
        self.model = os.path.join(path, "model.onnx")
        os.makedirs(path)
        words = self.write_tokenizer(tokenizer)
        tiny_model(self.model, words=words, labels=1, **network)
        stored = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}} if config is None else config
        write_json(f"{path}/config.json", {"max_position_embeddings": max_tokens, "pad_token_id": 0, "model_type": "bert", **stored})
        self.is_sigmoid = activation != "Identity"

    def logits(self, query, given):
        tokenizer = self.tokenizer.tokenizer
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_tokens, strategy="longest_first")
        session, logits = reference(self.model), []
        for text in given:
            encoded = tokenizer.encode(query, text)
            feed = {"input_ids": encoded.ids, "attention_mask": [1] * len(encoded.ids), "token_type_ids": encoded.type_ids}
            logits.append(session.run(["logits"], {i.name: np.array([feed[i.name]], np.int64) for i in session.get_inputs()})[0][0, 0])
        return np.array(logits, np.float64)

    def scores(self, query, given):
        logits = self.logits(query, given)
        return 1 / (1 + np.exp(-logits)) if self.is_sigmoid else logits

    def tokens(self, query, given):
        self.tokenizer.tokenizer.no_truncation()
        return [len(self.tokenizer.tokenizer.encode(query, text).ids) for text in given]


def reference(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
