"""Batches that a thread fetches while the step before them runs."""
import signal
import threading
import time

import numpy as np

import package_test
import vx
from vx._ahead import own, prepared
from test_fit import Loader


class Prefetch(package_test.Package):
    def trainer(self):
        return vx.Model(self.training_module(), device="cpu", seed=1)

    def threads(self):
        return [thread for thread in threading.enumerate() if thread.name == "vx prefetch"]

    def test_steps_are_the_same(self):
        x, y = self.images[:200], self.labels[:200]
        seen = set()
        for data, prefetch in ((Loader(x, y), None), (Loader(x, y), 0), (Loader(x, y), 1), (Loader(x, y), 50), (list(Loader(x, y, kind=tuple)), None)):
            model = self.trainer()
            history = model.fit(data, epochs=3, rate=1e-2, prefetch=prefetch, seed=5, verbose=0).history
            seen.add((*history["loss"], *history["step"], model.predict(x)["logits"].tobytes()))
        self.assertEqual((len(seen), self.threads()), (1, []))

    def test_a_loader_that_fills_the_same_arrays(self):
        x, y = self.images[:160], self.labels[:160]

        class Reusing(Loader):
            def __iter__(self):
                image, label = np.empty((32, 1, 8, 8), np.float32), np.empty(32, np.int64)
                for begin in range(0, 160, 32):
                    image[...], label[...] = x[begin:begin + 32], y[begin:begin + 32]
                    yield image, label
                image.fill(np.nan)

        losses = [self.trainer().fit(kind(x, y), epochs=2, rate=1e-2, prefetch=4, seed=5, verbose=0).history["loss"] for kind in (Loader, Reusing)]
        self.assertEqual(*losses)
        tensors = {"f32": np.arange(5, dtype=np.float32), "scalar": np.float64(3), "empty": np.zeros((0, 3), np.int8), "text": np.array(["a", "b"], object)}
        copies = own({name: vx._values.to_tensor(value) for name, value in tensors.items()})
        for name, value in tensors.items():
            got = vx._values.to_array(copies[name])
            np.testing.assert_array_equal(got, value)
            if name != "text":
                self.assertEqual((got.ctypes.data % 64 if got.size else 0, np.shares_memory(got, value), got.dtype), (0, False, np.asarray(value).dtype))

    def test_batches_are_fetched_while_a_step_runs(self):
        x, y = self.images[:64], self.labels[:64]
        fetched, seen = [], []

        class Counting(Loader):
            def __iter__(self):
                for number in range(6):
                    fetched.append((number, threading.current_thread().name))
                    yield x, y

            def __len__(self):
                return 6

        class Waiting(vx.Callback):
            def on_step(self, step):
                deadline = time.monotonic() + 20
                while len(fetched) < min(step["step"] + self.depth + 1, 6) and time.monotonic() < deadline:
                    time.sleep(0.01)
                time.sleep(0.05) # for batches that should not be fetched yet
                seen.append(len(fetched))

        # A batch that runs, those of the queue, and one that waits for its place.
        for prefetch, depth in ((0, -1), (1, 1), (None, 2)):
            fetched.clear()
            seen.clear()
            waiting = Waiting()
            waiting.depth = depth
            self.trainer().fit(Counting(x, y), prefetch=prefetch, callbacks=waiting, verbose=0)
            self.assertEqual(seen, [min(step + depth + 1, 6) for step in range(1, 7)], prefetch)
            self.assertEqual({name for _, name in fetched}, {"vx prefetch" if depth > 0 else "MainThread"})
        fetched.clear()
        self.trainer().fit(iter(Counting(x, y)), verbose=0) # a generator may depend on the steps
        self.assertEqual({name for _, name in fetched}, {"MainThread"})

    def test_validation_and_evaluation(self):
        x, y = self.images[:96], self.labels[:96]
        names = []

        class Named(Loader):
            def __iter__(self):
                for batch in super().__iter__():
                    names.append(threading.current_thread().name)
                    yield batch

        model = self.trainer()
        want = model.evaluate(x, y, metrics=["top_3"])
        for call, thread in ((lambda: model.evaluate(Named(x, y), metrics=["top_3"]), "vx prefetch"), (lambda: model.evaluate(iter(Named(x, y)), metrics=["top_3"]), "MainThread"),
                             (lambda: model.fit(x, y, rate=0.0, validation_data=Named(x, y), metrics=["top_3"], verbose=0)[0]["validation"], "vx prefetch"),
                             (lambda: model.fit(Loader(x, y), rate=0.0, validation_data=Named(x, y), metrics=["top_3"], prefetch=0, verbose=0)[0]["validation"], "MainThread")):
            names.clear()
            scores = call()
            self.assertEqual((len(names), set(names), self.threads()), (3, {thread}, []))
            for name, value in want.items():
                self.assertAlmostEqual(scores[name], value, places=5)
        far = y.copy()
        far[40] = 12
        with self.assertRaises(vx.Error):
            model.evaluate(Named(x, far))
        self.assertEqual(self.threads(), [])

    def test_steps_of_an_iterator(self):
        x, y = self.images[:64], self.labels[:64]
        taken = []

        def endless():
            while True:
                taken.append(threading.current_thread().name)
                yield x, y

        source = endless()
        self.assertEqual(self.trainer().fit(source, epochs=2, steps_per_epoch=3, prefetch=8, verbose=0).history["step"], [3, 6])
        self.assertEqual((len(taken), set(taken)), (6, {"vx prefetch"})) # and none beyond the epochs

    def test_errors_come_at_their_batch(self):
        x, y = self.images[:96], self.labels[:96]
        model = self.trainer()

        class Failing(Loader):
            def __iter__(self):
                yield from list(super().__iter__())[:2]
                raise OSError("the disk is gone")

        with self.assertRaisesRegex(OSError, "the disk is gone"):
            model.fit(Failing(x, y), prefetch=5, verbose=0)
        self.assertEqual((model._session.progress()["step"], self.threads()), (2, []))
        with self.assertRaisesRegex(ValueError, r"^epoch 1, batch 2: input 'label': 0.5 at \[0\]"):
            model.fit([(x, y), (x, [0.5] * 96), (x, y)], prefetch=5, verbose=0)
        self.assertEqual((model._session.progress()["step"], self.threads()), (1, []))
        with self.assertRaisesRegex(vx.Error, r"^epoch 1, batch 2: "):
            model.fit([(x, y), (x[:, :, :4], y)] + [(x, y)] * 9, prefetch=2, verbose=0)
        short = Loader(x, y)
        short.length = lambda: 9
        with self.assertRaisesRegex(ValueError, "data: expected 9 batches in epoch 1, got 3"):
            model.fit(short, verbose=0)

        class Stopping(vx.Callback):
            def on_step(self, step):
                if step["step"] == 2:
                    self.model.stop("enough")

        class Raising(vx.Callback):
            def on_step(self, step):
                raise ZeroDivisionError("mine")

        self.assertEqual(model.fit([(x, y)] * 50, callbacks=Stopping(), verbose=0).stopped, "enough")
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            model.fit([(x, y)] * 50, callbacks=Raising(), verbose=0)
        self.assertEqual((model._session.progress()["step"], self.threads()), (1, []))
        self.assertEqual(model.fit(Loader(x, y), verbose=0).history["step"], [3]) # the next one works

    def test_ctrl_c(self):
        x, y = self.images[:32], self.labels[:32]
        model = self.trainer()

        class Slow(Loader):
            def __iter__(self):
                yield x, y
                threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
                time.sleep(1.5)
                yield x, y

        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            model.fit(Slow(x, y), verbose=0)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual((model._session.progress()["step"], self.threads()), (1, []))
        self.assertEqual(model.fit([(x, y)] * 3, verbose=0).history["step"], [3])

    def test_mistakes(self):
        x, y = self.images[:32], self.labels[:32]
        model = self.trainer()
        for given, prefetch, error, text in (((x, y), 2, ValueError, "fit: prefetch is for an iterable of batches, and the data is arrays"), ((Loader(x, y),), -1, ValueError, "prefetch: expected 0 to 65536, got -1"),
                                             ((Loader(x, y),), 1.5, TypeError, "prefetch: expected a whole number, got float")):
            with self.assertRaisesRegex(error, text):
                model.fit(*given, prefetch=prefetch, verbose=0)
        self.assertEqual([get() for get in prepared((number for number in (1, 2)), lambda number: {"x": vx._values.to_tensor(np.float32(number))}, 3)][1]["x"].shape, ())


if __name__ == "__main__":
    package_test.main()
