"""Tokenizers against the package tokenizers, and embeddings against ONNX Runtime."""
import os
import sys
import threading

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

import package_test
import vx

sys.path.insert(0, os.path.join(os.environ["VX_SOURCE"], "test", "serve"))
import embedding_models  # noqa: E402

WORDS = embedding_models.WORDS


def made(kind):
    """A tokenizer of the package, trained on a few texts."""
    texts = embedding_models.texts(120, seed=4)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if kind == "wordpiece":
        one = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        one.normalizer, one.pre_tokenizer, one.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        one.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False))
    elif kind == "bpe":
        one = tokenizers.Tokenizer(models.BPE())
        one.pre_tokenizer, one.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        one.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    else:
        one = tokenizers.Tokenizer(models.Unigram())
        one.pre_tokenizer, one.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        one.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="[UNK]", show_progress=False))
    one.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", one.token_to_id("[CLS]")), ("[SEP]", one.token_to_id("[SEP]"))])
    return one


class Tokenizers(package_test.Package):
    TEXTS = [*embedding_models.texts(60, seed=9, longest=20), "  two  spaces ", "[MASK] and [SEP]"]

    def same(self, ours, theirs):
        self.assertEqual((ours.ids, ours.type_ids, ours.attention_mask, ours.special_tokens_mask, ours.offsets, ours.word_ids, ours.tokens),
                         (theirs.ids, theirs.type_ids, theirs.attention_mask, theirs.special_tokens_mask, theirs.offsets, theirs.word_ids, theirs.tokens))
        self.assertEqual(len(ours.overflowing), len(theirs.overflowing))
        for one, other in zip(ours.overflowing, theirs.overflowing):
            self.same(one, other)

    def test_against_tokenizers(self):
        for kind in ("wordpiece", "bpe", "unigram"):
            theirs = made(kind)
            path = self.path(f"{kind}.json")
            theirs.save(path)
            for ours in (vx.Tokenizer(path), vx.Tokenizer.from_json(theirs.to_str()), vx.Tokenizer.from_json(theirs.to_str().encode())):
                self.assertEqual(ours.vocab_size, theirs.get_vocab_size())
            with self.subTest(kind=kind):
                for text in self.TEXTS:
                    self.same(ours.encode(text), theirs.encode(text))
                    self.same(ours(text, add_special_tokens=False), theirs.encode(text, add_special_tokens=False))
                    ids = theirs.encode(text).ids
                    for skip in (True, False):
                        self.assertEqual(ours.decode(ids, skip), theirs.decode(ids, skip_special_tokens=skip))
                    stream = ours.decode_stream(False)
                    self.assertEqual("".join([stream.push(number) for number in ids]) + stream.finish(), ours.decode(ids, False))
                for first, second in zip(self.TEXTS, self.TEXTS[1:]):
                    self.same(ours.encode(first, second), theirs.encode(first, second))
                theirs.enable_truncation(12, stride=3)
                theirs.enable_padding(pad_id=0, pad_token="[PAD]", pad_to_multiple_of=4)
                for one, other in zip(ours.encode_batch(self.TEXTS, max_length=12, stride=3, padding=True, pad_to_multiple_of=4, overflowing=True), theirs.encode_batch(self.TEXTS)):
                    self.assertEqual((one.ids, one.attention_mask, one.offsets, one.is_truncated), (other.ids, other.attention_mask, other.offsets, bool(other.overflowing)))
                    self.assertEqual([part.ids[:sum(part.attention_mask)] for part in one.overflowing], [part.ids[:sum(part.attention_mask)] for part in other.overflowing])
                theirs.no_padding()
                theirs.enable_truncation(17, strategy="only_second", direction="left")
                for second in (text for text in self.TEXTS[:20] if len(text) > 40):
                    self.assertEqual(ours.encode("a cat", second, max_length=17, truncation_strategy="only_second", truncation_side="left").ids, theirs.encode("a cat", second).ids)
                for name in (*WORDS[:3], "[SEP]", "no such token"):
                    self.assertEqual(ours.token_to_id(name), theirs.token_to_id(name))
                for number in (0, 3, 77, 10**6):
                    self.assertEqual(ours.id_to_token(number), theirs.id_to_token(number))
                self.assertEqual([ours.is_special(number) for number in (0, 4, 77)], [True, True, False])

    def test_options_of_the_file(self):
        theirs = made("wordpiece")
        theirs.enable_truncation(7)
        theirs.enable_padding(length=9)
        ours = vx.Tokenizer.from_json(theirs.to_str())
        text = " ".join(WORDS[:20])
        self.assertEqual(ours.encode(text).ids, theirs.encode(text).ids)
        theirs.no_padding()
        theirs.no_truncation()
        self.assertEqual(ours.encode(text, truncation=False).ids, theirs.encode(text).ids)
        self.assertEqual(len(ours.encode(text, padding=True, pad_to=40, padding_side="left", pad_id=3)), 40)
        self.assertEqual(ours.encode("a", padding=True, pad_to=4, padding_side="left", pad_id=3).ids[0], 3)
        self.assertEqual(ours.encode("[SEP]", add_special_tokens=False, padding=False).ids, [3])
        self.assertNotEqual(ours.encode("[SEP]", add_special_tokens=False, match_special_tokens=False, padding=False).ids, [3])
        # Files of other kinds.
        with open(self.path("vocab.txt"), "w", encoding="utf-8") as file:
            file.write("".join(token + "\n" for token in embedding_models.VOCABULARY))
        theirs = tokenizers.BertWordPieceTokenizer({token: number for number, token in enumerate(embedding_models.VOCABULARY)})
        self.assertEqual(vx.Tokenizer(self.path("vocab.txt")).encode("Guitar solo!").ids, theirs.encode("Guitar solo!").ids)

    def test_messages(self):
        ours = vx.Tokenizer.from_json(made("wordpiece").to_str())
        with open(self.path("bad.json"), "w") as file:
            file.write("{}")
        for error, text, call in ((ValueError, "", lambda: vx.Tokenizer(self.path("bad.json"))), (OSError, "none.json", lambda: vx.Tokenizer(self.path("none.json"))),
                                  (TypeError, "texts: expected a list of texts, got str", lambda: ours.encode_batch("a")), (TypeError, "texts: expected texts, got int as number 1", lambda: ours.encode_batch(["a", 1])),
                                  (ValueError, r"texts: expected Unicode, got half of a surrogate pair at \[1\] of text 0", lambda: ours.encode("a\ud800")),
                                  (ValueError, "pairs: expected 2 texts, one for each of texts, got 1", lambda: ours.encode_batch(["a", "b"], ["c"])),
                                  (ValueError, "truncation_strategy: expected longest_first or only_first or only_second, got 'all'", lambda: ours.encode("a", truncation_strategy="all")),
                                  (ValueError, "truncation: expected max_length with it, got none", lambda: ours.encode("a", truncation=True)),
                                  (ValueError, "padding: expected pad_to with pairs", lambda: ours.encode("a", "b", padding=True)), (ValueError, "", lambda: ours.encode("a b c", max_length=1)),
                                  (ValueError, "max_length: ", lambda: ours.encode("a", max_length=0))):
            with self.assertRaisesRegex(error, text):
                call()

    def test_threads(self):
        ours = vx.Tokenizer.from_json(made("bpe").to_str())
        want, found = [one.ids for one in ours.encode_batch(self.TEXTS)], []
        threads = [threading.Thread(target=lambda: found.append([one.ids for one in ours.encode_batch(self.TEXTS)])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [want] * 4)


class Embeddings(package_test.Package):
    def test_embeddings(self):
        folder = embedding_models.Folder(self.path("model"), pooling="cls", normalize=True, prompts={"query": "search: ", "document": "text: "}, default_prompt="document")
        texts = embedding_models.texts(24, seed=2)
        embedder = vx.Embedder(folder.path, device="cpu", targets="cpu")
        want, tokens = folder.expected(texts)
        got = embedder.embed(texts)
        self.assertEqual((got.shape, got.dtype, embedder.statistics["texts"], embedder.statistics["tokens"]), ((24, 24), np.float32, 24, tokens))
        np.testing.assert_allclose(got, want, atol=2e-6)
        np.testing.assert_allclose(embedder(texts[3]), want[3], atol=2e-6) # one text
        np.testing.assert_allclose(embedder.embed(texts, prompt_name="query"), folder.expected(texts, prompt="search: ")[0], atol=2e-6)
        np.testing.assert_allclose(embedder.embed(texts, prompt="to: "), folder.expected(texts, prompt="to: ")[0], atol=2e-6)
        np.testing.assert_allclose(embedder.embed(texts, use_prompt=False), folder.expected(texts, prompt="")[0], atol=2e-6)
        np.testing.assert_allclose(embedder.embed(texts, normalize=False), folder.expected(texts, normalize=False)[0], atol=1e-5)
        np.testing.assert_allclose(embedder.embed(texts, max_tokens=9, batch_tokens=40), folder.expected(texts, max_tokens=9)[0], atol=2e-6)
        self.assertGreater(embedder.statistics["truncated"], 0)
        self.assertEqual((embedder.info["name"], embedder.info["dimensions"], embedder.info["max_tokens"], embedder.info["pooling"], embedder.info["normalizes"], embedder.info["default_prompt"]),
                         ("model", 24, 32, "cls", True, "document"))
        self.assertEqual(embedder.info["device"], "cpu:0")
        self.assertEqual(embedder.embed([]).shape, (0, 24))
        self.assertEqual(embedder.tokenize("a guitar", use_prompt=False)["ids"], folder.tokenizer.encode("a guitar", 32, "right")[0])
        self.assertTrue(embedder.tokenize(" ".join(WORDS))["is_truncated"])
        self.assertEqual(embedder.report()["taken"]["device"], "cpu:0")
        self.assertIn("24 dimensions, on cpu:0", repr(embedder))
        for error, text, call in ((ValueError, "pooling: expected cls, mean or last, got 'max'", lambda: embedder.embed(texts, pooling="max")), (ValueError, "query", lambda: embedder.embed(texts, prompt_name="quest")),
                                  (ValueError, "", lambda: embedder.embed([" ".join(WORDS)], truncate=False)), (ValueError, "", lambda: embedder.embed(texts, max_tokens=33)),
                                  (ValueError, "", lambda: embedder.embed(texts, dimensions=25)), (TypeError, "texts: expected texts, got int as number 0", lambda: embedder.embed([1])),
                                  (TypeError, "texts: expected a list of texts, got int", lambda: embedder.embed(1))):
            with self.assertRaisesRegex(error, text):
                call()
        # As a module; one of something else is refused.
        path = self.path("model.vxm")
        vx.compile(folder.path, path)
        again = vx.Embedder(path, device="cpu")
        np.testing.assert_allclose(again.embed(texts), want, atol=2e-6)
        with self.assertRaisesRegex(TypeError, "'precision' is for a folder that is compiled"):
            vx.Embedder(path, precision="f16")
        with open(self.path("add.mlir"), "w") as file:
            file.write(self.text)
        vx.compile(self.path("add.mlir"), self.path("add.vxm"))
        with self.assertRaises(ValueError):
            vx.Embedder(self.path("add.vxm"), device="cpu")
        with self.assertRaises(vx.Error) as raised:
            vx.Embedder(self.path("none.vxm"), device="cpu")
        self.assertEqual(raised.exception.code, "not_found")
        with self.assertRaises(vx.Error) as raised:
            vx.Embedder(path, device="rocm", fallback=False)
        self.assertEqual(raised.exception.code, "no_device")


if __name__ == "__main__":
    package_test.main()
