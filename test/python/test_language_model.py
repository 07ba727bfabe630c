"""Language models against NumPy and Jinja2, with small random models."""
import os
import sys
import threading

import numpy as np

import package_test
import vx

SOURCE = os.environ["VX_SOURCE"]
for folder in ("serve", "common", "e2e", "llm"):
    sys.path.insert(0, os.path.join(SOURCE, "test", folder))
import run_chat  # noqa: E402
from llama_gguf import write_llama  # noqa: E402
from llama_oracle import logits, states_of  # noqa: E402
from random_models import llama_settings, llama_weights  # noqa: E402
from run_decoders import greedy  # noqa: E402

WORDS, END, MOST = run_chat.WORDS, run_chat.END, 6


class LanguageModels(package_test.Package):
    def setUp(self):
        super().setUp()
        self.settings = llama_settings(vocab_size=len(WORDS), max_position_embeddings=64)
        self.tensors = llama_weights(self.settings, 23)
        self.file = self.path("model.gguf")
        write_llama(self.file, self.settings, self.tensors, tokens=WORDS, ends=(END,), template=run_chat.TEMPLATE)
        self.model = vx.LanguageModel(self.file, device="cpu", targets="cpu")

    def wanted(self, ids, most=MOST):
        tokens, reason = greedy(self.settings, self.tensors, ids, most, END)
        return tokens, "".join(run_chat.TEXTS[token] for token in tokens), reason

    def test_generate(self):
        self.assertEqual({key: self.model.info[key] for key in ("family", "context", "max_context", "vocabulary", "ends")},
                         {"family": "llama", "context": 64, "max_context": 64, "vocabulary": len(WORDS), "ends": [END]})
        self.assertEqual(self.model.info["chat_template"], run_chat.TEMPLATE)
        ids = run_chat.encode("hello")
        self.assertEqual(self.model.tokenize("hello"), ids)
        tokens, text, reason = self.wanted(ids)
        for prompt in ("hello", ids, np.array(ids)):
            answer = self.model.generate(prompt, max_tokens=MOST, temperature=0)
            self.assertIsNone(answer.finish_reason)
            pieces = list(answer)
            self.assertEqual(("".join(pieces), answer.text, answer.tokens, answer.finish_reason), (text, text, tokens, reason))
            self.assertEqual((answer.prompt_tokens, str(answer), list(answer)), (5, text, []))
        self.assertEqual(answer.cached_tokens, 4)  # all but the last one, of the answer before
        self.assertIn("6 tokens, length", repr(answer))
        self.assertEqual(self.model.report()["taken"]["backend"], "cpu")
        self.assertIn("llama, context 64, on cpu", repr(self.model))
        # Each piece is computed when it is asked for.
        answer = self.model.generate("hello", max_tokens=MOST, temperature=0)
        self.assertEqual((next(answer), answer.tokens, answer.finish_reason), (WORDS[tokens[0]], tokens[:1], None))
        self.assertEqual(answer.read(), text)
        # A seed is an answer; a stop string ends it.
        drawn = [self.model.generate("hello", max_tokens=20, temperature=2, seed=seed).read() for seed in (1, 1, 2)]
        self.assertTrue(drawn[0] == drawn[1] != drawn[2], drawn)
        stopped = self.model.generate("hello", max_tokens=MOST, temperature=0, stop=text[3:5])
        self.assertEqual((stopped.read(), stopped.finish_reason), (text[:text.index(text[3:5])], "stop"))
        self.assertEqual(self.model.generate("hello", max_tokens=MOST, temperature=3, top_k=1).read(), text)
        self.assertEqual(self.model.generate("hello", max_tokens=MOST, temperature=3, min_p=1).read(), text)
        self.assertEqual(self.model.generate("hello", max_tokens=MOST, temperature=3, top_p=1e-6).read(), text)
        whole = self.model.generate("hello", temperature=0)
        self.assertEqual((whole.read(), whole.finish_reason), self.wanted(ids, 59)[1:])

    def test_embed(self):
        ids = run_chat.encode("hello")
        states = states_of(self.settings, self.tensors, ids)
        self.assertEqual(self.model.info["width"], states.shape[1])
        answer = self.model.generate("hello", max_tokens=MOST, temperature=0)
        next(answer)
        for text in ("hello", ids, np.array(ids)):
            each = self.model.embed(text, pooling="none")
            self.assertEqual((each.dtype, each.shape), (np.float32, states.shape))
            np.testing.assert_allclose(each, states, atol=1e-5)
            for pooling, want in (("last", states[-1]), ("mean", states.mean(0))):
                np.testing.assert_allclose(self.model.embed(text, pooling=pooling), want / np.linalg.norm(want), atol=1e-6)
        np.testing.assert_array_equal(self.model.embed("hello"), self.model.embed("hello", pooling="last"))
        self.assertEqual(answer.read(), self.wanted(ids)[1])
        for text, options, error, message in (("", {}, ValueError, "embed: expected 1 to 64 tokens, the context, got 0"),
                                              ("ab" * 33, {}, ValueError, "embed: expected 1 to 64 tokens, the context, got 66"),
                                              ("hello", {"pooling": "first"}, ValueError, "pooling: expected 'last', 'mean' or 'none', got 'first'"),
                                              ([1, len(WORDS)], {}, ValueError, r"text\[1\]"),
                                              (["a"], {}, TypeError, r"text\[0\]"),
                                              (3, {}, TypeError, "")):
            with self.assertRaisesRegex(error, message):
                self.model.embed(text, **options)

    def test_chat(self):
        first = self.model.chat("hello", max_tokens=MOST, temperature=0)
        ids = run_chat.encode("u") + run_chat.encode("hello", special=False) + run_chat.encode("<end>a")
        self.assertEqual(first.read(), self.wanted(ids)[1])
        conversation = [{"role": "system", "content": "q<end>"}, {"role": "user", "content": "x"}]
        ids = run_chat.encode("s") + run_chat.encode("q<end>", special=False) + run_chat.encode("<end>ux<end>a")
        self.assertEqual(self.model.chat(conversation, max_tokens=MOST, temperature=0).read(), self.wanted(ids)[1])

    def test_modules_and_folders(self):
        module = self.path("model.vxm")
        vx.compile(self.file, module, targets="cpu")
        model = vx.LanguageModel(module, device="cpu", context=12)
        self.assertEqual((model.info["context"], model.info["max_context"]), (12, 64))
        answer = model.generate("hello", temperature=0)
        answer.read()
        self.assertEqual((len(answer.tokens), answer.finish_reason), (7, "length"))
        write_llama(self.file, self.settings, self.tensors, tokens=WORDS, ends=(END,))
        with self.assertRaisesRegex(ValueError, "the model has no chat template"):
            vx.LanguageModel(self.file, device="cpu", targets="cpu").chat("hello")

    def test_weights(self):
        module = self.path("refers.vxm")
        vx.compile(self.file, module, targets="cpu", weights="reference")
        inside = self.path("inside.vxm")
        vx.compile(self.file, inside, targets="cpu", weights="inside")
        self.assertLess(os.path.getsize(module), os.path.getsize(inside))
        texts = {vx.LanguageModel(path, device="cpu").generate("hello", max_tokens=MOST, temperature=0).read() for path in (module, inside)}
        self.assertEqual(texts, {self.wanted(run_chat.encode("hello"))[1]})
        with self.assertRaisesRegex(ValueError, "option 'weights': expected inside, external or reference, got 'nowhere'"):
            vx.compile(self.file, module, targets="cpu", weights="nowhere")

    def test_threads_take_turns(self):
        texts = {}

        def run(name):
            texts[name] = vx.LanguageModel(self.file, device="cpu", targets="cpu").generate(name, max_tokens=MOST, temperature=0).read()
        threads = [threading.Thread(target=run, args=(name,)) for name in ("a", "b", "c", "d")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, {name: self.wanted(run_chat.encode(name))[1] for name in texts})
        older = self.model.generate("hello", max_tokens=MOST, temperature=0)
        next(older)
        self.assertEqual(self.model.generate("b", max_tokens=MOST, temperature=0).read(), texts["b"])
        with self.assertRaisesRegex(ValueError, "the model has started another answer, which ends this one"):
            next(older)

    def test_mistakes(self):
        model = self.model
        for call, error, message in (
                (lambda: model.generate("x" * 64), ValueError, "the prompt has 64 tokens, but the context has room for 64 with the answer"),
                (lambda: model.generate([]), ValueError, "the prompt has no tokens"), (lambda: model.generate([len(WORDS)]), ValueError, r"prompt\[0\]"),
                (lambda: model.generate(["a"]), TypeError, r"prompt\[0\]"), (lambda: model.generate("\ud800"), ValueError, "half of a surrogate pair"),
                (lambda: model.generate("a", max_tokens=0), ValueError, "max_tokens"), (lambda: model.generate("a", temperature=-1), ValueError, "temperature"),
                (lambda: model.generate("a", top_p=2), ValueError, "top_p"), (lambda: model.generate("a", stop=[""]), ValueError, "stop"), (lambda: model.generate("a", stop=3), TypeError, "stop"),
                (lambda: model.chat([{"role": "user"}]), TypeError, r"messages\[0\]: expected a dict with 'role' and 'content'"),
                (lambda: model.chat([{"role": "user", "content": 3}]), TypeError, r"messages\[0\]"),
                (lambda: vx.LanguageModel(self.file, device="cpu", targets="cpu", context=65), ValueError, "the context is 65 tokens, the model takes 64 at most"),
                (lambda: vx.LanguageModel(self.path("none.vxm"), device="cpu"), vx.Error, "none.vxm"),
                (lambda: vx.LanguageModel(self.path("none.vxm"), device="cpu", targets="cpu"), TypeError, "'targets' is for a model that is compiled"),
                (lambda: model.generate("a").nothing, AttributeError, "nothing")):
            with self.subTest(message=message), self.assertRaisesRegex(error, message):
                call()
        # A prompt in NumPy's f64 logits: the answer that follows a mistake is right.
        self.assertEqual(model.generate("hello", max_tokens=1, temperature=0).read(), WORDS[int(np.argmax(logits(self.settings, self.tensors, run_chat.encode("hello"))[-1]))])


if __name__ == "__main__":
    package_test.main()
