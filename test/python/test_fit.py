"""vx.Model.fit, its data, callbacks and metrics."""
import csv
import io
import math
import os
import signal
import sys
import threading
import unittest.mock

import numpy as np

import package_test
from package_test import read
import vx
from vx._data import Columns

NETWORK = os.path.join(os.environ["VX_SOURCE"], "examples", "train_digits", "network.onnx")
# A regression, whose steps can be computed here: y = w x.
LINE = """module attributes {vx.name = "line"} {
  vx.symbol "rows"
  func.func @main(%x: tensor<?x1xf32, #vx.enc<[rows, 1]>> {vx.name = "x"}) -> (tensor<?x1xf32, #vx.enc<[rows, 1]>> {vx.name = "y"}) {
    %w = vx.constant dense<2.0> : tensor<1x1xf32> {names = ["w"]}
    %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [1] : tensor<?x1xf32, #vx.enc<[rows, 1]>>, tensor<1x1xf32>
    return %y : tensor<?x1xf32, #vx.enc<[rows, 1]>>
  }
}
"""


class Loader:
    """As a DataLoader: it begins again for each epoch, and gives lists."""

    def __init__(self, *arrays, size=32, kind=list, length=True):
        self.arrays, self.size, self.kind, self.epochs = arrays, size, kind, 0
        if length:
            self.length = lambda: -(-len(arrays[0]) // size)

    def __len__(self):
        if not hasattr(self, "length"):
            raise TypeError("a loader without a length")
        return self.length()

    def __iter__(self):
        self.epochs += 1
        for begin in range(0, len(self.arrays[0]), self.size):
            yield self.kind(array[begin:begin + self.size] for array in self.arrays)


class Recorder(vx.Callback):
    def __init__(self, name="", calls=None):
        self.name, self.calls = name, [] if calls is None else calls

    def on_begin(self):
        self.calls.append((self.name, "begin", dict(self.plan)))

    def on_step(self, step):
        self.calls.append((self.name, "step", step["step"]))

    def on_epoch(self, epoch):
        self.calls.append((self.name, "epoch", epoch["epoch"]))

    def on_end(self, history):
        self.calls.append((self.name, "end", len(history)))


class Scripted(vx.Callback):
    """Puts numbers of a script into the epochs, for the callbacks after it."""

    def __init__(self, values, name="loss"):
        self.values, self.name = values, name

    def on_epoch(self, epoch):
        target = epoch.setdefault("validation", {}) if self.name.startswith("val_") else epoch
        target[self.name.removeprefix("val_")] = self.values[epoch["epoch"] - 1]


class Fits(package_test.Package):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["VX_CACHE"] = os.path.join(cls.folder.name, "cache")

    def trained(self, seed=1, **options):
        return vx.Model(NETWORK, device="cpu", seed=seed, loss="cross_entropy", optimizer="adamw:weight_decay=0.01", init="random", keep_gradients=True, **options)

    def data(self, rows=96):
        return self.images[:rows], self.labels[:rows]

    def test_the_ways_to_give_data(self):
        """All of them train the same, bit by bit."""
        x, y = self.data()
        want = None
        for given in ((x, y), ((x, y),), ({"image": x, "label": y},), (x, {"label": y}), ({"image": x}, y), (x.tolist(), y.tolist()), (x.astype(np.float64), y.astype(np.uint8)),
                      (np.asfortranarray(x), y.astype(np.float32)), (vx.Tensor.from_capsule(x.__dlpack__(max_version=(1, 0))), y)):
            model = self.trained()
            history = model.fit(*given, epochs=2, rate=1e-2, verbose=0)
            got = history.history["loss"], model.predict(x)["logits"].tobytes()
            want = want or got
            self.assertEqual(got, want)
        # Images of bytes are floats of their values.
        bytes_ = (x * 16).astype(np.uint8)
        histories = [self.trained().fit(images, y, verbose=0).history["loss"] for images in (bytes_, bytes_.astype(np.float32))]
        self.assertEqual(*histories)

    def test_an_epoch_of_batches_is_one_of_their_rows(self):
        x, y = self.data(80)
        want = None
        for given in (Loader(x, y), Loader(x, y, kind=tuple), Loader(x, y, length=False), list(Loader(x, y, kind=tuple)), [{"image": a, "label": b} for a, b in Loader(x, y)],
                      [({"image": a}, b) for a, b in Loader(x, y)]):
            model, steps = self.trained(dropout="frozen"), []
            recorder = Recorder()
            history = model.fit(given, epochs=2, rate=0, callbacks=[recorder], verbose=0)
            got = history.history["loss"], history.history["accuracy"], history.history["step"]
            want = want or got
            self.assertEqual(got, want)
            self.assertEqual([call[2] for call in recorder.calls if call[1] == "step"], [1, 2, 3, 4, 5, 6])
        # Without a step that changes anything, an epoch's means are those of all rows, with a short batch too.
        scores = model.evaluate(x, y)
        for name in ("loss", "accuracy"):
            self.assertAlmostEqual(history.history[name][1], scores[name], places=5)
            self.assertAlmostEqual(model.evaluate(Loader(x, y, size=7))[name], scores[name], places=5)
        self.assertEqual(recorder.calls[0][2], {"epochs": 2, "steps_per_epoch": 3, "rows": None})
        # A loader is begun anew for each epoch; the steps are the same as those over one batch of arrays each.
        loader, model = Loader(x, y), self.trained(dropout="frozen")
        model.fit(loader, epochs=3, rate=1e-3, verbose=0)
        self.assertEqual(loader.epochs, 3)
        one = self.trained(dropout="frozen")
        one.fit(x[:32], y[:32], batch_size=32, rate=1e-3, verbose=0)
        other = self.trained(dropout="frozen")
        other.fit([(x[:32], y[:32])], rate=1e-3, verbose=0)
        np.testing.assert_allclose(one.predict(x)["logits"], other.predict(x)["logits"], rtol=1e-5, atol=1e-6)

    def test_iterators_that_end(self):
        x, y = self.data()
        batches = lambda: iter(Loader(x, y))
        self.assertEqual(self.trained().fit(batches(), verbose=0).history["step"], [3])
        with self.assertRaisesRegex(ValueError, "data: expected batches, got none in epoch 2: an iterator ends once; give an iterable that begins again, or steps_per_epoch"):
            self.trained().fit(batches(), epochs=2, verbose=0)
        endless = (batch for _ in range(100) for batch in Loader(x, y))
        model = self.trained()
        self.assertEqual(model.fit(endless, epochs=3, steps_per_epoch=2, verbose=0).history["step"], [2, 4, 6])
        with self.assertRaisesRegex(ValueError, "data: expected 5 batches in epoch 1, got 3"):
            model.fit(Loader(x, y), steps_per_epoch=5, verbose=0)
        short = Loader(x, y)
        short.length = lambda: 4
        with self.assertRaisesRegex(ValueError, "data: expected 4 batches in epoch 1, got 3"):
            model.fit(short, verbose=0)
        with self.assertRaisesRegex(ValueError, "data: expected batches, got none in epoch 1$"):
            model.fit(Loader(x[:0], y[:0]), verbose=0)
        with self.assertRaisesRegex(TypeError, "validation_data: expected arrays, or an iterable that begins again for each epoch, got an iterator"):
            model.fit(x, y, validation_data=batches(), verbose=0)
        self.assertEqual(model.fit(Loader(x, y), verbose=0).history["step"], [3]) # after all these

    def test_batches_that_are_wrong(self):
        x, y = self.data()
        model = self.trained()
        far = y.copy()
        far[40] = 12
        for batches, error, text in (([(x[:32], y[:32]), (x[:32, :, :4], y[:32])], vx.Error, "^epoch 1, batch 2: .*8"), ([(x, y), (x[:5], y[:4])], (ValueError, vx.Error), "^epoch 1, batch 2: "),
                                     (Loader(x, far), vx.Error, r"^epoch 1, batch 2: .*\[8\] is 12, allowed is \[0, 10\)"), ([(x, y), (x, [0.5] * 96)], ValueError, r"^epoch 1, batch 2: input 'label': 0.5 at \[0\]"),
                                     ([(x, y, y, y)], TypeError, r"^epoch 1, batch 1: data: expected \(x, y\) or \(x, y, sample_weight\), got a tuple of 4"),
                                     ([{"image": x}], TypeError, "^epoch 1, batch 1: data: expected image, label, got none for label"),
                                     ([{"image": x, "label": y}, {"picture": x, "label": y}], TypeError, "^epoch 1, batch 2: x: the model has no input 'picture', but image")):
            with self.assertRaisesRegex(error, text):
                model.fit(batches, verbose=0)
            self.assertEqual(model.fit(x, y, verbose=0).history["step"], [3]) # the next one works
        with self.assertRaisesRegex(vx.Error, "batch 2") as raised:
            model.fit(Loader(x, far), verbose=0)
        self.assertEqual(raised.exception.code, "fault")

        class Failing(Loader):
            def __iter__(self):
                yield from list(super().__iter__())[:2]
                raise OSError("the disk is gone")

        with self.assertRaisesRegex(OSError, "the disk is gone"):
            model.fit(Failing(x, y), verbose=0)
        self.assertEqual((model._session.progress()["step"], model.history.history), (2, {}))

    def test_validation(self):
        x, y = self.data(100)
        seen = {}
        for how in ({"validation_split": 0.2}, {"validation_data": (x[80:], y[80:])}, {"validation_data": {"image": x[80:], "label": y[80:]}}, {"validation_data": Loader(x[80:], y[80:], size=7)},
                    {"validation_data": [x[80:], y[80:]][:0] or Loader(x[80:], y[80:], kind=tuple)}):
            model = self.trained()
            given = (x, y) if "validation_split" in how else (x[:80], y[:80])
            history = model.fit(*given, epochs=2, verbose=0, **how)
            seen[str(how)[:30]] = history.history["loss"], [round(value, 5) for value in history.history["val_loss"]], [round(value, 5) for value in history.history["val_accuracy"]]
            scores = model.evaluate(x[80:], y[80:])
            self.assertAlmostEqual(history[-1]["validation"]["loss"], scores["loss"], places=5)
        self.assertEqual(len({str(one) for one in seen.values()}), 1, seen)
        model = self.trained()
        history = model.fit(Loader(x[:80], y[:80]), validation_data=(x[80:], y[80:]), verbose=0)
        self.assertAlmostEqual(history.history["val_loss"][0], model.evaluate(x[80:], y[80:])["loss"], places=5)
        bad = y[80:].copy()
        bad[3] = 10
        for how, error, text in (({"validation_split": 1.0}, ValueError, "validation_split: expected a share between 0 and 1, got 1.0"),
                                 ({"validation_split": 0.1, "validation_data": (x, y)}, ValueError, "validation_data, validation_split: expected one of them, got both"),
                                 ({"validation_data": x}, TypeError, "data: expected image, label, got none for label"),
                                 ({"validation_data": (x[80:], bad)}, vx.TrainError, "label: row 3 has 10")):
            with self.assertRaisesRegex(error, text):
                model.fit(x, y, verbose=0, **how)
        self.assertEqual(model._session.progress()["step"], 0) # all before the first step
        # At least a row is trained on, and one is not.
        self.assertEqual(model.fit(x[:2], y[:2], validation_split=0.99, verbose=0).history["step"], [1])
        with self.assertRaisesRegex(ValueError, "validation_split: expected 2 rows or more, got 1"):
            model.fit(x[:1], y[:1], validation_split=0.5, verbose=0)

    def test_each_fit_begins_its_own_epochs(self):
        x, y = self.data()
        model, rates = self.trained(), []

        class Rates(vx.Callback):
            def on_step(self, step):
                rates.append(round(step["rate"], 9))

        for data in ((x, y), (Loader(x, y),)):
            rates.clear()
            for _ in range(2):
                history = model.fit(*data, epochs=2, rate=1e-2, schedule="cosine:1e-4", warmup=2, callbacks=[Rates()], verbose=0)
                self.assertEqual((history.history["epoch"], history.history["step"], history.stopped), ([1, 2], [3, 6], None))
            self.assertEqual((rates[:6], len(rates)), (rates[6:], 12))
            self.assertEqual(rates[0], 0.005)
            if data[0] is x:
                want = list(rates)
        self.assertEqual(rates, want)
        with self.assertRaisesRegex(ValueError, "schedule: 'cosine' depends on the steps of an epoch, .* give steps_per_epoch"):
            model.fit(Loader(x, y, length=False), schedule="cosine", verbose=0)
        # Weights go on: the second fit begins with a smaller loss. Seeds differ from one fit to the next, and not from model to model.
        first, second = model.fit(x, y, epochs=5, verbose=0), model.fit(x, y, epochs=5, verbose=0)
        self.assertLess(second[0]["loss"], first[0]["loss"])
        self.assertNotEqual(first.seed, second.seed)
        self.assertEqual(self.trained().fit(x, y, verbose=0).history["loss"], self.trained().fit(x, y, verbose=0).history["loss"])

    def test_a_loss_at_the_fit(self):
        x, y = self.data()
        model = vx.Model(NETWORK, device="cpu")
        before = model(x)["logits"]
        history = model.fit(x, y, epochs=2, loss="cross_entropy", optimizer="sgd:momentum=0.9", rate=0.1, verbose=0)
        self.assertEqual((history.optimizer.partition(":")[0], history.loss, len(history)), ("sgd", "cross_entropy", 2))
        self.assertGreater(np.abs(model(x)["logits"] - before).max(), 1e-4)
        np.testing.assert_allclose(model(x)["logits"], model.predict(x)["logits"], atol=1e-5)
        self.assertIn("fc1.weight", model.summary())
        for how, text in (({"loss": "mse"}, "fit: loss: the model is compiled with 'cross_entropy', got 'mse'"), ({"optimizer": "adam"}, "fit: optimizer: .*, got 'adam'")):
            with self.assertRaisesRegex(ValueError, text):
                model.fit(x, y, verbose=0, **how)

    def test_optimizers_as_objects(self):
        for made, text, rate in ((vx.SGD(0.1), "sgd:momentum=0.0,dampening=0.0,weight_decay=0.0,nesterov=false", 0.1),
                                 (vx.SGD(momentum=0.9, nesterov=True, clip_norm=2), "sgd:momentum=0.9,dampening=0.0,weight_decay=0.0,nesterov=true,clip_norm=2.0", 1e-3),
                                 (vx.Adam(), "adam:beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.0", 1e-3),
                                 (vx.AdamW(3e-4, (0.8, 0.95), 1e-6, 0.1), "adamw:beta1=0.8,beta2=0.95,eps=1e-06,weight_decay=0.1", 3e-4),
                                 (vx.RMSprop(centered=True), "rmsprop:alpha=0.99,eps=1e-08,weight_decay=0.0,momentum=0.0,centered=true", 1e-2),
                                 (vx.Adagrad(lr_decay=0.5), "adagrad:lr_decay=0.5,weight_decay=0.0,initial_accumulator_value=0.0,eps=1e-10", 1e-2),
                                 (vx.Lion(weight_decay=0.2), "lion:beta1=0.9,beta2=0.99,weight_decay=0.2", 1e-4)):
            self.assertEqual((str(made), made.lr), (text, rate))
        options = {"device": "cpu", "targets": "cpu", "cache": False, "variants": ["cpu=x86-64-v3"]}
        line = self.path("line.mlir")
        with open(line, "w") as file:
            file.write(LINE)
        model = vx.Model(line, loss="mse", optimizer=vx.SGD(0.25), **options)
        x, y = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)
        self.assertEqual(model.fit(x, y, batch_size=4, verbose=0).history["rate"], [0.25])
        self.assertEqual(float(next(iter(model.get_weights().values()))[0, 0]), 1.0) # 2 - 0.25 * 2 * 2
        self.assertEqual(model.fit(x, y, batch_size=4, rate=0.5, verbose=0).history["rate"], [0.5])
        late = vx.Model(line, **options)
        self.assertEqual(late.fit(x, y, batch_size=4, loss="mse", optimizer=vx.SGD(0.125, momentum=0.5), verbose=0).history["rate"], [0.125])
        self.assertIn("sgd:momentum=0.5", late.summary())
        with self.assertRaisesRegex(ValueError, "the model is compiled with 'sgd:.*', got 'adam:"):
            model.fit(x, y, optimizer=vx.Adam(), verbose=0)
        for error, text, call in ((ValueError, "lr: expected 0 or more, got -1", lambda: vx.SGD(-1)), (ValueError, "weight_decay: expected 0 or more, got nan", lambda: vx.AdamW(weight_decay=math.nan)),
                                  (TypeError, "betas: expected two numbers, got 0.9", lambda: vx.Adam(betas=0.9)), (TypeError, "eps: expected a number, got 'small'", lambda: vx.Adam(eps="small")),
                                  (ValueError, "clip_norm: expected 0 or more, got inf", lambda: vx.Lion(clip_norm=math.inf))):
            with self.assertRaisesRegex(error, text):
                call()

    def test_the_order_of_callbacks(self):
        x, y = self.data(64)
        for data in ((x, y), (Loader(x, y),)):
            calls = []
            self.trained().fit(*data, epochs=2, callbacks=[Recorder("a", calls), Recorder("b", calls)], verbose=0)
            self.assertEqual([(name, what, *([] if what == "begin" else [number])) for name, what, number in calls],
                             [("a", "begin"), ("b", "begin")] + [(name, what, number) for what, number in (("step", 1), ("step", 2), ("epoch", 1), ("step", 3), ("step", 4), ("epoch", 2), ("end", 2)) for name in "ab"])
        self.assertEqual(calls[0][2], {"epochs": 2, "steps_per_epoch": 2, "rows": None})
        calls = []
        self.trained().fit(x, y, batch_size=30, accumulate=2, callbacks=Recorder("", calls), verbose=0)
        self.assertEqual(([call[1] for call in calls], calls[0][2]), (["begin", "step", "step", "epoch", "end"], {"epochs": 1, "steps_per_epoch": 2, "rows": 64}))

    def test_a_callback_that_raises(self):
        x, y = self.data()

        class Failing(vx.Callback):
            def __init__(self, where, number):
                self.where, self.number = where, number

            def fail(self, where, number):
                if (where, number) == (self.where, self.number):
                    raise KeyError(f"{where} {number}")

            def on_begin(self):
                self.fail("begin", 0)

            def on_step(self, step):
                self.fail("step", step["step"])

            def on_epoch(self, epoch):
                self.fail("epoch", epoch["epoch"])

            def on_end(self, history):
                self.fail("end", 0)

        for data in ((x, y), (Loader(x, y),)):
            for where, number, steps, epochs in (("begin", 0, 0, 0), ("step", 2, 2, 0), ("step", 5, 5, 1), ("epoch", 2, 6, 2), ("end", 0, 9, 3)):
                model = self.trained()
                with self.assertRaisesRegex(KeyError, f"{where} {number}"):
                    model.fit(*data, epochs=3, callbacks=[Failing(where, number)], verbose=0)
                self.assertEqual((model._session.progress()["step"], len(model.history)), (steps, epochs), (where, number))
                # The weights are those of the last step, and the next fit works, with other data too.
                self.assertTrue(np.isfinite(model.predict(x)["logits"]).all())
                self.assertEqual(model.fit(x[:40], y[:40], epochs=2, verbose=0).history["step"], [2, 4])

    def test_ctrl_c(self):
        x, y = self.data()

        class Pressing(vx.Callback):
            def on_step(self, step):
                if step["step"] == 4:
                    self.weights = self.model.get_weights()
                    os.kill(os.getpid(), signal.SIGINT)

        for data in ((x, y), (Loader(x, y),)):
            model, pressing = self.trained(), Pressing()
            with self.assertRaises(KeyboardInterrupt):
                model.fit(*data, epochs=1000, callbacks=[pressing], verbose=0)
            self.assertEqual((len(model.history), model._session.progress()["step"]), (1, 4))
            for name, array in model.get_weights().items():
                np.testing.assert_array_equal(array, pressing.weights[name])
            self.assertEqual(len(model.fit(*data, verbose=0)), 1)

    def test_stopping(self):
        x, y = self.data()

        class Stopping(vx.Callback):
            def on_step(self, step):
                if step["step"] == 4:
                    self.model.stop("enough")
                    self.model.stop("another reason")

        for data in ((x, y), (Loader(x, y),)):
            history = self.trained().fit(*data, epochs=100, callbacks=[Stopping()], verbose=0)
            self.assertEqual((history.stopped, history.history["step"]), ("enough", [3]))
        model = self.trained()
        model.stop("nothing goes on")
        self.assertEqual(model.fit(x, y, verbose=0).stopped, None)

        class Again(vx.Callback):
            def on_step(self, step):
                self.model.fit(x, y)

        with self.assertRaisesRegex(RuntimeError, "fit: expected no fit that goes on, got one"):
            model.fit(x, y, callbacks=[Again()], verbose=0)

    def test_early_stopping(self):
        x, y = self.data(32)
        nan = math.nan
        for values, options, epochs, best in (([3, 2, 2, 2, 1], {"patience": 2}, 4, 2), ([3, 2, 2, 1.5, 1.5, 1.5, 1], {"patience": 2}, 6, 4), ([3, 2.95, 2.8, 2.8], {"patience": 1, "least": 0.1}, 2, 1),
                                              ([3, 2.8, 2.6, 2.6], {"patience": 1, "least": 0.1}, 4, 3), ([nan, nan, 1], {"patience": 2}, 2, None), ([2, nan, 1, 1], {"patience": 2}, 4, 3),
                                              ([1, 2, 2, 3], {"patience": 1, "mode": "max"}, 3, 2), ([1, 2, 3, 4], {"patience": 1, "monitor": "accuracy"}, 4, 4),
                                              ([4, 3, 2], {"patience": 1, "monitor": "accuracy"}, 2, 1), ([4, 3, 2, 1], {"patience": 1, "monitor": "accuracy", "mode": "min"}, 4, 4)):
            stopping = vx.EarlyStopping(**options)
            history = self.trained().fit(x, y, epochs=len(values), callbacks=[Scripted(values, options.get("monitor", "loss")), stopping], verbose=0)
            self.assertEqual((len(history), stopping.best_epoch), (epochs, best), (values, options))
            self.assertEqual(history.stopped is not None, epochs < len(values) or stopping.waited >= stopping.patience)
        self.assertRegex(self.trained().fit(x, y, epochs=9, callbacks=[Scripted([1] * 9), vx.EarlyStopping(patience=3)], verbose=0).stopped,
                         "^early stopping: loss has not become better than 1 by more than 0.0 in 3 epochs$")
        # The validation's loss is looked at where there is one; a name that is not there is an error with those that are.
        stopping = vx.EarlyStopping(patience=1)
        self.trained().fit(x, y, epochs=4, validation_data=(x, y), callbacks=[Scripted([1, 2, 3, 4]), Scripted([4, 3, 2, 1], "val_loss"), stopping], verbose=0)
        self.assertEqual((stopping.best_epoch, stopping.best), (4, 1))
        with self.assertRaisesRegex(ValueError, "EarlyStopping: monitor: expected one of loss, accuracy, .*, got 'val_los'"):
            self.trained().fit(x, y, callbacks=[vx.EarlyStopping("val_los")], verbose=0)

    def test_the_best_weights(self):
        x, y = self.data()
        for data in ((x, y), (Loader(x, y),)):
            for values, best in (([3, 1, 2, 2, 2], 2), ([3, 2, 1], 3), ([1, 2, 3], 1)):
                weights = []

                class Keeping(vx.Callback):
                    def on_epoch(self, epoch):
                        weights.append(self.model.get_weights())

                model = self.trained()
                model.fit(*data, epochs=len(values), rate=1e-2, callbacks=[Scripted(values), vx.EarlyStopping(patience=2, restore_best=True), Keeping()], verbose=0)
                for name, array in model.get_weights().items():
                    np.testing.assert_array_equal(array, weights[best - 1][name], (values, name))
                    self.assertTrue(len(weights) == best or (array != weights[-1][name]).any())
        # Without restore_best they are the last ones.
        model, weights = self.trained(), []
        model.fit(x, y, epochs=3, callbacks=[Scripted([1, 2, 3]), vx.EarlyStopping(patience=2), Keeping()], verbose=0)
        for name, array in model.get_weights().items():
            np.testing.assert_array_equal(array, weights[-1][name])

    def test_rates_that_are_reduced(self):
        x, y = self.data(32)

        def rates(data, values, epochs=6, **options):
            return [round(rate, 9) for rate in self.trained().fit(*data, epochs=epochs, rate=0.1, callbacks=[Scripted(values), vx.ReduceLROnPlateau(**options)], verbose=0).history["rate"]]

        for data in ((x, y), (Loader(x, y),)):
            self.assertEqual(rates(data, [1] * 6, factor=0.5, patience=2), [0.1, 0.1, 0.1, 0.05, 0.05, 0.025])
            self.assertEqual(rates(data, [1] * 6, factor=0.5, patience=1, cooldown=1), [0.1, 0.1, 0.05, 0.05, 0.025, 0.025])
            self.assertEqual(rates(data, [1] * 6, factor=0.1, patience=1, min_rate=0.003), [0.1, 0.1, 0.01, 0.003, 0.003, 0.003])
            self.assertEqual(rates(data, [6, 5, 4, 3, 2, 1], factor=0.1, patience=1), [0.1] * 6)
        # The next fit begins with its own rate.
        model = self.trained()
        model.fit(x, y, epochs=3, rate=0.1, callbacks=[Scripted([1] * 3), vx.ReduceLROnPlateau(patience=1)], verbose=0)
        self.assertEqual(model.fit(x, y, rate=0.1, verbose=0).history["rate"], [0.1])
        with self.assertRaisesRegex(ValueError, "scale_rate: expected a factor of 0 or more, got -1"):
            model.scale_rate(-1)

    def test_checkpoints(self):
        x, y = self.data(64)
        model = self.trained()
        path = self.path("run/{epoch:02}-{loss:.1f}.safetensors")
        model.fit(x, y, epochs=5, callbacks=[Scripted([3, 2, 1, 4, 5]), vx.Checkpoint(path, every=2)], verbose=0)
        self.assertEqual(sorted(os.listdir(self.path("run"))), ["02-2.0.safetensors", "04-4.0.safetensors"])
        best, weights = self.path("best.safetensors"), []

        class Keeping(vx.Callback):
            def on_epoch(self, epoch):
                weights.append(self.model.predict(x)["logits"])

        model.fit(x, y, epochs=4, rate=1e-2, callbacks=[Scripted([3, 1, 2, 4]), vx.Checkpoint(best, best_only=True, only_weights=True), Keeping()], verbose=0)
        other = self.trained(seed=9)
        other.load(best)
        np.testing.assert_array_equal(other.predict(x)["logits"], weights[1])
        with self.assertRaisesRegex(ValueError, r"Checkpoint: path: expected names of loss, .* in braces, got '.*\{val_loss\}"):
            model.fit(x, y, callbacks=[vx.Checkpoint(self.path("{val_loss}.safetensors"))], verbose=0)
        for how, text in ((("m.onnx",), "save: expected a file .safetensors or .vxm, got 'm.onnx'"), (("m.vxm", True), "save: expected a file .safetensors, got 'm.vxm'")):
            with self.assertRaisesRegex(ValueError, text):
                model.save(*how)
        model.save(self.path("m.vxm"))
        again = vx.Model(self.path("m.vxm"), device="cpu")
        self.assertEqual(again.predict(x)["logits"].tobytes(), model.predict(x)["logits"].tobytes())
        again.fit(x, y, verbose=0)
        with self.assertRaises(vx.Error) as raised:
            model.save(self.path("nosuch/m.vxm"))
        self.assertEqual(raised.exception.code, "io_error")
        model.export(self.path("out.onnx"))
        model.export(self.path("trains.onnx"), form="training")
        self.assertEqual([b"Dropout" in read(self.path(name)) for name in ("out.onnx", "trains.onnx")], [False, True])
        with self.assertRaisesRegex(ValueError, "form: expected inference or training, got 'both'"):
            model.export(self.path("out.onnx"), "both")
        np.testing.assert_allclose(vx.Model(self.path("out.onnx"), device="cpu")(x)["logits"], model.predict(x)["logits"], atol=1e-4)

    def test_lines_of_a_table(self):
        x, y = self.data(64)
        path, model = self.path("log.csv"), self.trained()
        history = model.fit(x, y, epochs=2, validation_split=0.25, callbacks=[vx.CSVLog(path)], verbose=0)
        rows = list(csv.DictReader(read(path).decode().splitlines()))
        self.assertEqual([float(row["val_loss"]) for row in rows], history.history["val_loss"])
        self.assertEqual([int(row["epoch"]) for row in rows], [1, 2])
        model.fit(x, y, callbacks=[vx.CSVLog(path, append=True)], verbose=0)
        rows = list(csv.DictReader(read(path).decode().splitlines()))
        self.assertEqual([(row["epoch"], row["val_loss"] == "") for row in rows], [("1", False), ("2", False), ("1", True)])
        model.fit(x, y, callbacks=[vx.CSVLog(path)], verbose=0)
        self.assertEqual(len(list(csv.DictReader(read(path).decode().splitlines()))), 1)

    def test_what_is_printed(self):
        x, y = self.data(64)
        with unittest.mock.patch("sys.stdout", io.StringIO()) as out, unittest.mock.patch("sys.stderr", io.StringIO()) as errors:
            for verbose in (0, 1, 2):
                self.trained().fit(x, y, epochs=2, verbose=verbose)
        self.assertEqual((out.getvalue().count("epoch 1/2  loss "), out.getvalue().count("epoch 2/2  loss "), errors.getvalue()), (2, 2, ""))
        file, times = io.StringIO(), iter([0.0, 10.0, 20.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0])
        ended = []

        class Looking(vx.Callback):
            def on_epoch(self, epoch):
                ended.append(file.getvalue().endswith("\r\033[K"))

        with unittest.mock.patch("time.monotonic", lambda: next(times)):
            self.trained().fit(x, y, epochs=1, batch_size=16, callbacks=[vx.ProgressBar(file, always=True), Looking()], verbose=0)
        drawn = file.getvalue().split("\r\033[K")
        self.assertRegex(drawn[1], r"^epoch 1/1 \[======                  \] 1/4  30 s left  loss [\d.]+  accuracy [\d.]+$")
        self.assertRegex(drawn[2], r"^epoch 1/1 \[============            \] 2/4  20 s left  ")
        self.assertRegex(drawn[4], r"^epoch 1/1 \[========================\] 4/4  0 s left  ")
        self.assertEqual((len(drawn), drawn[5], ended), (6, "", [True])) # and is gone when the epoch ends
        quiet = io.StringIO()
        self.trained().fit(x, y, callbacks=[vx.ProgressBar(quiet)], verbose=0)
        self.assertEqual(quiet.getvalue(), "")

    def test_metrics(self):
        x, y = self.data(100)
        model = self.trained()
        model.fit(x, y, epochs=5, rate=1e-2, verbose=0)
        logits = model.predict(x)["logits"]
        order = np.argsort(-logits, 1)
        want = {f"top_{k}": np.mean([label in row[:k] for label, row in zip(y, order)]) for k in (1, 3, 10)}
        want.update(perplexity=math.exp(model.evaluate(x, y)["loss"]), accuracy=want["top_1"])
        for data in ((x, y), (Loader(x, y, size=33),), (Loader(x, y, size=1),)):
            got = model.evaluate(*data, metrics=["top_1", "top_3", vx.TopK(10), "perplexity", "accuracy"])
            for name, value in want.items():
                self.assertAlmostEqual(got[name], value, places=5, msg=name)
        history = model.fit(x[:80], y[:80], epochs=2, rate=0, validation_data=(x[80:], y[80:]), metrics=["top_3", "perplexity"], verbose=0)
        scores = model.evaluate(x[80:], y[80:], metrics=["top_3"])
        self.assertAlmostEqual(history.history["val_top_3"][1], scores["top_3"])
        self.assertAlmostEqual(history.history["perplexity"][1], math.exp(history.history["loss"][1]))
        self.assertAlmostEqual(history.history["val_perplexity"][1], math.exp(history.history["val_loss"][1]))
        self.assertEqual(history.history["val_top_3"][0], history.history["val_top_3"][1]) # each epoch begins anew

        # An object of a metric begins anew for each evaluation, and each epoch over batches too.
        top = vx.TopK(3)
        parts = [model.evaluate(x[:50], y[:50], metrics=[top])["top_3"], model.evaluate(x[50:], y[50:], metrics=[top])["top_3"]]
        self.assertAlmostEqual(sum(parts) / 2, model.evaluate(x, y, metrics=[top])["top_3"])
        self.assertEqual((top.count, len(set(model.fit(x, y, epochs=3, rate=0, validation_data=Loader(x, y), metrics=[top], verbose=0).history["val_top_3"])), top.count), (100, 1, 100))

        model.fit(x, y, epochs=3, rate=0, validation_data=(x, y), metrics=[top], verbose=0)
        self.assertEqual(top.count, 100)

        class Margin(vx.Metric):
            name = "margin"
            is_better_when_less = True

            def update(self, output, target):
                self.sum += float(output.max(1).sum())
                self.count += len(target)

        self.assertAlmostEqual(model.evaluate(x, y, metrics=[Margin()])["margin"], model.predict(x)["logits"].max(1).mean(), places=4)
        stopping = vx.EarlyStopping("val_margin", patience=1)
        model.fit(x, y, epochs=3, validation_data=(x, y), metrics=Margin(), callbacks=[Scripted([3, 2, 1], "val_margin"), stopping], verbose=0)
        self.assertEqual(stopping.best_epoch, 3)
        top = vx.TopK(2)
        top.update(np.array([[0.0, 1, 1, 0], [3, 2, 1, 0], [0, 0, 0, 0]]), np.array([2, 3, -1]))
        self.assertEqual((top.sum, top.count, top.result()), (1, 2, 0.5))
        top.update(np.array([[5.0, 5, 5, 5]]), np.array([2])) # of equals the first are taken
        self.assertEqual(top.result(), 1 / 3)
        top.reset()
        self.assertTrue(math.isnan(top.result()))
        for metric, value in ((vx.MAE(), 1.5), (vx.MSE(), 2.5)):
            metric.update(np.array([[1.0], [2]]), np.array([[2.0], [4]]))
            self.assertEqual(metric.result(), value)
            with self.assertRaisesRegex(ValueError, rf"{metric.name}: expected targets of the output's shape \[2, 1\], got \[2\]"):
                metric.update(np.zeros((2, 1)), np.zeros(2))
        for call, error, text in ((lambda: model.evaluate(x, y, metrics=["recall"]), ValueError, "metrics: expected loss, accuracy, perplexity, top_K, mae, mse, auc, f1 or a vx.Metric, got 'recall'"),
                                  (lambda: model.fit(x, y, metrics=["top_3"], verbose=0), ValueError, "metrics: 'top_3' is computed over the validation: expected validation_data"),
                                  (lambda: model.evaluate(x, y, metrics=["mse"]), ValueError, r"mse: expected targets of the output's shape \[100, 10\], got \[100\]"),
                                  (lambda: vx.TopK(0), ValueError, "TopK: expected a whole number of 1 or more, got 0"),
                                  (lambda: top.update(np.zeros((2, 3)), np.zeros(2)), ValueError, r"top_2: expected integer labels of shape \[2\], got float64 of \[2\]")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_the_steps_of_a_regression(self):
        """Gradients, rates and metrics beside NumPy's."""
        path = self.path("line.mlir")
        with open(path, "w") as file:
            file.write(LINE)
        x, y = np.array([[1.0], [2], [3], [4]], np.float32), np.array([[1.0], [3], [2], [5]], np.float32)
        for data in ((x, y), ([(x, y)],)):
            model, want = vx.Model(path, device="cpu", loss="mse", optimizer="sgd"), 2.0
            history = model.fit(*data, epochs=4, rate=0.01, callbacks=[Scripted([1] * 4, "val_loss"), vx.ReduceLROnPlateau(patience=1, factor=0.5)], verbose=0)
            for rate in (0.01, 0.01, 0.005, 0.0025):
                want -= rate * 2 * np.mean((want * x - y) * x)
            self.assertAlmostEqual(model(np.ones((1, 1)))["y"].item(), want, places=5)
            np.testing.assert_allclose(history.history["rate"], (0.01, 0.01, 0.005, 0.0025))
        scores = model.evaluate(x, y, metrics=["mse", "mae"])
        self.assertAlmostEqual(scores["mse"], scores["loss"], places=5)
        self.assertAlmostEqual(scores["mae"], np.abs(model(x)["y"] - y).mean(), places=5)
        self.assertEqual({name: array.shape for name, array in model.get_weights().items()}, {"w": (1, 1)})

    def test_weights_of_a_module_that_takes_them(self):
        columns = Columns([{"name": "x", "dtype": "f32", "shape": ("rows", 1)}],
                          [{"name": "x", "dtype": "f32", "shape": ("rows", 1)}, {"name": "label", "dtype": "i64", "shape": ("rows",)}, {"name": "sample_weight", "dtype": "f32", "shape": ("rows",)}], "mine")
        x, y = np.zeros((4, 1)), np.array([0, 2, 2, 5])

        def weights(*given, **named):
            return np.from_dlpack(columns.arrange(*given, **named)["sample_weight"]).tolist()

        self.assertEqual(weights(x, y), [1, 1, 1, 1])
        self.assertEqual(weights(x, y, [1, 2, 3, 4]), [1, 2, 3, 4])
        self.assertEqual(weights((x, y, [1, 2, 3, 4])), [1, 2, 3, 4])
        self.assertEqual(weights({"x": x, "label": y, "sample_weight": [4, 3, 2, 1]}), [4, 3, 2, 1])
        self.assertEqual(weights(x, y, class_weight={0: 0.5, 2: 3, 5: 1, 7: 9}), [0.5, 3, 3, 1])
        for call, error, text in ((lambda: weights(x, y, class_weight={0: 1, 2: 1}), ValueError, "expected a weight for each class of the labels, got none for 5"),
                                  (lambda: weights(x, y, class_weight=[1, 2]), TypeError, "class_weight: expected a dict of weights by class, got list"),
                                  (lambda: weights((x, y, [1] * 4), sample_weight=[1] * 4), TypeError, "sample_weight is given twice")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_weights_of_rows(self):
        """A model of a file is compiled for weights at the first fit with some; its weights and the optimizer's state go on."""
        x, y = self.data(50)
        weights = np.where(np.arange(50) % 3 == 0, 0, np.linspace(0.1, 2, 50)).astype(np.float32)
        classes = {label: 0.2 * label for label in range(10)}
        model, same = (self.trained() for _ in range(2))
        for one in (model, same):
            one.fit(x, y, epochs=1, batch_size=50, verbose=0, seed=5)
        log = model.predict(x)["logits"].astype(np.float64)
        rows = np.log(np.exp(log).sum(1)) - log[np.arange(50), y]
        self.assertAlmostEqual(model.evaluate(x, y, batch_size=16, sample_weight=weights)["loss"], (rows * weights).sum() / weights.sum(), places=5)
        self.assertAlmostEqual(model.evaluate(x, y, batch_size=16)["loss"], rows.mean(), places=5)
        # Weights that are all alike change nothing; those of an iterable, and of classes, are those of rows.
        for data, how in (((x, y), {"sample_weight": np.full(50, 3.0)}), (((x, y, np.full(50, 0.25)),), {})):
            model.fit(*data, epochs=2, batch_size=50, verbose=0, seed=6, **how)
            same.fit(x, y, epochs=2, batch_size=50, verbose=0, seed=6)
            for name, array in same.get_weights().items():
                np.testing.assert_allclose(model.get_weights()[name], array, atol=1e-5)
        self.assertEqual(model._session.progress()["step"], same._session.progress()["step"])
        ends = []
        for how in ({"class_weight": classes}, {"sample_weight": 0.2 * y}):
            model = vx.Model(NETWORK, device="cpu", seed=1, loss="cross_entropy:sample_weight=true", optimizer="adamw:weight_decay=0.01", init="random")
            ends.append(model.fit(x, y, verbose=0, seed=6, batch_size=50, **how).history["loss"])
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5)
        batches = [(x[begin:begin + 16], y[begin:begin + 16], weights[begin:begin + 16]) for begin in range(0, 50, 16)]
        self.assertAlmostEqual(model.evaluate(batches)["loss"], model.evaluate(x, y, sample_weight=weights)["loss"], places=5)
        self.assertEqual(model.fit(batches, verbose=0).history["step"], [4])
        # An epoch's loss does not depend on the batches: means are over the sums of the weights.
        still = [self.trained().fit(x, y, batch_size=size, sample_weight=weights, rate=0.0, verbose=0, accumulate=accumulate, seed=1).history["loss"] for size, accumulate in ((50, 1), (16, 1), (7, 3))]
        np.testing.assert_allclose(still, [still[0]] * 3, rtol=0.1) # a dropout differs
        squares = vx.Model(self.line(), loss="mse", optimizer=vx.SGD(0.0), device="cpu", targets="cpu", cache=False)
        a, b, w = np.arange(1, 6.0).reshape(5, 1), np.zeros((5, 1)), np.array([0, 1, 0.5, 2, 0.1])
        for size in (5, 2, 1):
            self.assertAlmostEqual(squares.fit(a, b, batch_size=size, sample_weight=w, verbose=0).history["loss"][0], float((4 * a[:, 0]**2 * w).sum() / w.sum()), places=4)
        for how, text in (({"class_weight": {0: 2.0}, "sample_weight": np.ones(50)}, "class_weight, sample_weight: expected one of them, got both"),
                          ({"sample_weight": np.ones(49)}, r"sample_weight: expected 50 weights, one for each row, got \[49\]"), ({"sample_weight": -weights}, "sample_weight: expected weights of 0 or more, got -.* in row 1"),
                          ({"sample_weight": np.full(50, np.nan)}, "sample_weight: expected weights of 0 or more, got nan in row 0"),
                          ({"class_weight": {**classes, 3: -1}}, "class_weight: expected a weight of 0 or more for class 3, got -1")):
            with self.assertRaisesRegex(ValueError, text):
                model.fit(x, y, verbose=0, **how)
        # A module is not compiled again.
        path = self.path("weightless.vxm")
        self.trained().save(path)
        model = vx.Model(path, device="cpu")
        text = r"the loss 'cross_entropy' of this module takes no weights: .*; compile it with loss='cross_entropy:sample_weight=true'"
        for call in (lambda: model.fit(x, y, sample_weight=weights, verbose=0), lambda: model.fit((x, y, weights), verbose=0), lambda: model.evaluate(x, y, sample_weight=weights),
                     lambda: model.fit([(x, y, weights)], verbose=0), lambda: model.fit(x, y, class_weight=classes, verbose=0)):
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_groups_of_parameters(self):
        base = "sgd:momentum=0.0,dampening=0.0,weight_decay=0.0,nesterov=false"
        self.assertEqual(str(vx.SGD(0.2, groups=[vx.ParamGroup("*.bias", lr=0.05), vx.ParamGroup("a", weight_decay=0)])), base + ";*.bias:lr=0.25x;a:weight_decay=0.0")
        model = vx.Model(self.line(), loss="mse", optimizer=vx.SGD(0.25, groups=[vx.ParamGroup("w*", lr=0.125, weight_decay=0.5)]), device="cpu", targets="cpu", cache=False)
        x, y = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)
        model.fit(x, y, batch_size=4, verbose=0)
        self.assertEqual(float(model.get_weights()["w"][0, 0]), 1.375) # 2 - 0.125 * (2 * 2 + 0.5 * 2)
        self.assertIn("w*:lr=0.5,w*:weight_decay=0.5", model.summary())
        model.fit(x, y, batch_size=4, rate=0.5, verbose=0) # twice the rate of the optimizer is twice that of the group
        self.assertEqual(float(model.get_weights()["w"][0, 0]), 1.375 * (1 - 0.25 * 2.5))
        for groups, text in (([vx.ParamGroup("v", lr=0.1)], "--param-group 'v': expected names of trained parameters, got none of them, did you mean 'w'"),
                             ([vx.ParamGroup("w", lr=0.1), vx.ParamGroup("*", lr=0.1)], r"--param-group '\*': expected one group for each weight, got 'w', which is also in the group 'w'")):
            with self.assertRaisesRegex(vx.CompileError, text):
                vx.Model(self.line(), loss="mse", optimizer=vx.SGD(0.25, groups=groups), device="cpu", targets="cpu", cache=False)
        for error, text, call in ((ValueError, "ParamGroup 'w': expected lr or weight_decay, got neither", lambda: vx.ParamGroup("w")), (ValueError, "without ';', got 'a;b'", lambda: vx.ParamGroup("a;b", lr=1)),
                                  (TypeError, "ParamGroup: expected a pattern of names, got int", lambda: vx.ParamGroup(1, lr=1)), (ValueError, "lr: expected 0 or more, got -1", lambda: vx.ParamGroup("w", lr=-1)),
                                  (TypeError, "groups: expected a list of vx.ParamGroup, got 'w'", lambda: vx.Adam(groups=["w"])),
                                  (ValueError, "ParamGroup 'w': expected an optimizer with an lr above 0, of which the group's is a multiple, got 0", lambda: vx.Adam(0, groups=[vx.ParamGroup("w", lr=1)]))):
            with self.assertRaisesRegex(error, text):
                call()

    def line(self):
        path = self.path("line.mlir")
        with open(path, "w") as file:
            file.write(LINE)
        return path

    def test_histories(self):
        x, y = self.data(64)
        history = self.trained().fit(x, y, epochs=3, validation_split=0.25, verbose=0)
        self.assertEqual(sorted(history.history), ["accuracy", "epoch", "loss", "rate", "seconds", "step", "val_accuracy", "val_loss"])
        self.assertEqual({len(values) for values in history.history.values()}, {3})
        self.assertEqual(history.history["val_loss"], [epoch["validation"]["loss"] for epoch in history])
        self.assertEqual(vx.History({"epochs": [{"loss": 1.0}, {"loss": 2.0, "validation": {"loss": 3.0}}]}).history, {"loss": [1.0, 2.0], "val_loss": [None, 3.0]})
        session = vx.Session(self.training_module(), device="cpu", seed=1)
        self.assertEqual(len(session.fit({"image": x, "label": y}, epochs=2).history["loss"]), 2)
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ImportError, "history.plot needs matplotlib, which is not installed: pip install matplotlib"):
                history.plot(self.path("history.png"))
            return
        figure = history.plot(self.path("history.png"))
        self.assertTrue(read(self.path("history.png")).startswith(b"\x89PNG"))
        self.assertEqual([[line.get_label() for line in axes.lines] for axes in figure.axes], [["loss", "val_loss"], ["accuracy", "val_accuracy"]])
        with self.assertRaisesRegex(ValueError, "history.plot: expected names of .*, got 'lost'"):
            history.plot(metrics=["lost"])
        with self.assertRaisesRegex(ValueError, "expected an epoch or more, got none"):
            vx.History({"epochs": []}).plot()

    def test_weights_by_hand(self):
        x, y = self.data(64)
        model, other = self.trained(), self.trained(seed=5)
        model.fit(x, y, epochs=3, verbose=0)
        weights = model.get_weights()
        self.assertEqual(sorted(weights), ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"])
        want = model.predict(x)["logits"]
        self.assertNotEqual(other.predict(x)["logits"].tobytes(), want.tobytes())
        other.set_weights(weights)
        self.assertEqual(other.predict(x)["logits"].tobytes(), want.tobytes())
        model.fit(x, y, verbose=0) # they are copies
        other.set_weights(weights)
        self.assertEqual(other.predict(x)["logits"].tobytes(), want.tobytes())

    def test_numbers_that_are_not_finite(self):
        x, y = self.data()
        broken = np.full_like(x, np.nan)
        for data in ((broken, y), (Loader(broken, y),)):
            history = self.trained().fit(*data, epochs=2, verbose=0)
            self.assertTrue(any("the loss is nan" in note for note in history.notes), history.notes)
            self.assertTrue(math.isnan(history.history["loss"][0]))
        self.assertRegex(self.trained().fit(broken, y, epochs=2, stop_on_nan=True, verbose=0).stopped, "the loss is nan")

    def test_mistakes(self):
        x, y = self.data()
        model = self.trained()

        class Rows:
            def __getitem__(self, index):
                return x[index], y[index]

        for given, how, error, text in (((x, y), {"epochs": 0}, ValueError, "epochs: expected 1 to"), ((x, y), {"epochs": 1.5}, TypeError, "epochs: expected a whole number"), ((x, y), {"batch_size": -1}, ValueError, "batch_size: expected 0 to"),
                                        ((x, y), {"verbose": 3}, ValueError, "verbose: expected 0 .*, 1 .* or 2 .*, got 3"), ((x, y), {"callbacks": [print]}, TypeError, "callbacks: expected objects of vx.Callback, got <built-in"),
                                        ((x, y), {"steps_per_epoch": 3}, ValueError, "steps_per_epoch is for an iterable of batches"), ((x, y), {"schedule": "magic"}, ValueError, "schedule: expected constant"),
                                        ((Loader(x, y),), {"validation_split": 0.5}, ValueError, "validation_split is for arrays, and the data is an iterable"), ((Loader(x, y),), {"batch_size": 8}, ValueError, "batch_size is for arrays"),
                                        ((Loader(x, y),), {"steps_per_epoch": 0}, ValueError, "steps_per_epoch: expected 1 to"), ((Loader(x, y),), {"accumulate": 2}, ValueError, "accumulate is for arrays"),
                                        ((Rows(),), {}, TypeError, "expected arrays, a dict of them, or an iterable of batches, got Rows; give it to a torch.utils.data.DataLoader"), ((5,), {}, TypeError, "got int$"),
                                        ((x, y[:5]), {}, (ValueError, vx.TrainError), "label"), ((x,), {}, TypeError, "expected image, label, got none for label"), ((x, y + 12), {}, vx.TrainError, "row 0 has 14, expected 0 to 9"),
                                        ((x, y), {"rate": -1}, vx.TrainError, "-1")):
            with self.assertRaisesRegex(error, text, msg=how):
                model.fit(*given, **{"verbose": 0, **how})
        self.assertEqual(model._session.progress()["step"], 0)
        for make, text in ((lambda: vx.EarlyStopping(patience=0), "patience: expected 1 epoch or more, got 0"), (lambda: vx.EarlyStopping(least=-1), "least: expected a difference of 0 or more, got -1"),
                           (lambda: vx.EarlyStopping(mode="least"), "mode: expected auto, min or max, got 'least'"), (lambda: vx.ReduceLROnPlateau(factor=1), "factor: expected a number between 0 and 1, got 1"),
                           (lambda: vx.Checkpoint("x", every=0), "every: expected 1 epoch or more, got 0")):
            with self.assertRaisesRegex(ValueError, text):
                make()


if __name__ == "__main__":
    package_test.main()
