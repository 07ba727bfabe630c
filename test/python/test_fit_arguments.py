"""Arguments of fit that users of Keras type, and what they get wrong."""
import os
import unittest

import numpy as np

import vx
import vx.nn as nn

CPU = {"device": "cpu", "targets": "cpu"}


class Arguments(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(3)
        self.x, self.y = rng.standard_normal((40, 6), np.float32), rng.integers(0, 3, 40)

    def model(self, rows="batch", **options):
        return nn.MLP([6, 8, 3]).compile({"x": (rows, 6)}, loss="cross_entropy", optimizer=vx.SGD(0.1), seed=2, **options, **CPU)

    def weights(self, *arguments, **options):
        model = self.model()
        history = model.fit(*arguments, verbose=0, **options)
        return model.get_weights(), history

    def test_shuffle(self):
        """Without shuffle the rows come in their order: as the same batches in a list; the history has all steps."""
        batches = [(self.x[begin:begin + 16], self.y[begin:begin + 16]) for begin in (0, 16, 32)]
        expected, _ = self.weights(batches, epochs=2)
        got, history = self.weights(self.x, self.y, epochs=2, batch_size=16, shuffle=False)
        mixed, _ = self.weights(self.x, self.y, epochs=2, batch_size=16)
        self.assertEqual(history.history["step"], [3, 6])
        for name, value in expected.items():
            np.testing.assert_array_equal(got[name], value)
        self.assertTrue(any(not np.array_equal(mixed[name], expected[name]) for name in expected))
        # With weights of rows, a validation of the last rows, and metrics.
        weighted, history = self.weights(self.x, self.y, batch_size=8, validation_split=0.2, shuffle=False, metrics=["top_2"])
        again, _ = self.weights([(self.x[begin:begin + 8], self.y[begin:begin + 8]) for begin in range(0, 32, 8)])
        self.assertIn("val_top_2", history.history)
        for name, value in again.items():
            np.testing.assert_array_equal(weighted[name], value)

    def test_shuffle_of_fixed_batches(self):
        model = self.model(rows=8)
        self.assertEqual(model.fit(self.x, self.y, shuffle=False, verbose=0).history["step"], [5])
        for rows, size, says in ((39, 0, "expected batches of 8 rows, which the model is compiled for, got 39 rows"), (40, 4, "got batch_size 4")):
            with self.assertRaisesRegex(ValueError, says):
                model.fit(self.x[:rows], self.y[:rows], batch_size=size, shuffle=False, verbose=0)

    def test_accumulate(self):
        """Steps of several batches are those of one batch with all rows, and a model that kept no gradients goes on with its weights."""
        digits = os.path.join(os.environ["VX_SOURCE"], "examples", "digits", "digits.onnx")
        rng = np.random.default_rng(4)
        images, labels = rng.random((48, 1, 8, 8), np.float32), rng.integers(0, 10, 48)
        found = []
        for options in ({"batch_size": 24}, {"batch_size": 12, "accumulate": 2}):
            model = vx.Model(digits, loss="cross_entropy", optimizer="sgd:momentum=0.9", cache=False, **CPU)
            model.fit(images, labels, batch_size=48, rate=0.05, seed=1, verbose=0)
            history = model.fit(images, labels, epochs=2, rate=0.05, seed=2, verbose=0, **options)
            self.assertEqual(history.history["step"], [2, 4])
            found.append(model.get_weights())
        for name, value in found[0].items():
            np.testing.assert_allclose(found[1][name], value, atol=1e-5)
        with self.assertRaisesRegex(ValueError, r"accumulate: expected a module that keeps its gradients, got one that does not: compile it with keep_gradients=True"):
            self.model().fit(self.x, self.y, accumulate=2, verbose=0)
        self.assertEqual(self.model(keep_gradients=True).fit(self.x, self.y, batch_size=10, accumulate=2, verbose=0).history["step"], [2])

    def test_refusals(self):
        model = self.model()
        for error, says, options in ((ValueError, "accumulate is for rows in a new order for each epoch: expected shuffle=True", {"shuffle": False, "accumulate": 2}),
                                     (ValueError, "stop_on_nan is for rows in a new order", {"shuffle": False, "stop_on_nan": True}),
                                     (ValueError, r"validation_data: expected \(x, y\), a dict of arrays, or an iterable of batches, got none of them: \[\]", {"validation_data": []}),
                                     (ValueError, "got none of them: {}", {"validation_data": {}}),
                                     (TypeError, "optimizer: expected an object such as vx.AdamW", {"optimizer": 3e-4}),
                                     (TypeError, "loss: expected a text such as 'cross_entropy' or 'mse', got builtins.int", {"loss": 3})):
            with self.assertRaisesRegex(error, says):
                model.fit(self.x, self.y, verbose=0, **options)
        self.assertEqual(len(model.fit(self.x, self.y, verbose=0).history["loss"]), 1) # which works afterwards

    def test_summary(self):
        """The sums of parameters that are trained and frozen, and of statistics."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.norm, self.head = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(16, 3)
                self.conv.requires_grad_(False)

            def forward(self, image):
                return self.head(self.norm(self.conv(image)).flatten(1))

        network = Net()
        text = network.compile({"image": ("batch", 1, 4, 4)}, loss="cross_entropy", **CPU).summary()
        self.assertTrue(text.endswith("trainable 59\nfrozen    40\nbuffers   8\n"), text)
        self.assertEqual(network.num_parameters(), 99)
        digits = os.path.join(os.environ["VX_SOURCE"], "examples", "digits", "digits.onnx")
        text = vx.Model(digits, loss="cross_entropy", cache=False, **CPU).summary()
        self.assertRegex(text, r"total +23946 .*\ntrainable 23946\nbuffers   0\n$")


if __name__ == "__main__":
    unittest.main()
