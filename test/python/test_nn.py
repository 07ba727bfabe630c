"""vx.nn: layers beside the results of PyTorch, functions and methods beside NumPy's, training, and mistakes."""
import inspect
import math
import os

import numpy as np

import nn_cases
import package_test
import vx
from vx import nn

CPU = {"device": "cpu", "targets": "cpu", "variants": ["cpu=x86-64-v3"]}


def spec(array, first="batch"):
    return nn.Input(first, *array.shape[1:], dtype={"float32": "f32", "int64": "i64", "bool": "bool"}[str(array.dtype)])


class Body(nn.Module):
    """A model whose forward is a function."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(*inputs)


def evaluate(function, *arrays, fixed=True):
    model = Body(function).compile({f"x{i}": nn.Input(*array.shape, dtype=spec(array).dtype) for i, array in enumerate(arrays)}, **CPU)
    values = list(model(*arrays).values())
    return values[0] if len(values) == 1 else values


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.drop = nn.Linear(64, 48), nn.Linear(48, 10), nn.Dropout(0.1)

    def forward(self, image):
        return self.fc2(self.drop(nn.relu(self.fc1(image.flatten(1)))))


class Layers(package_test.Package):
    def test_layers_of_torch(self):
        with np.load(nn_cases.GOLDENS) as goldens:
            self.assertEqual({key.partition("/")[0] for key in goldens}, set(nn_cases.CASES))
            for name, (make, inputs) in nn_cases.CASES.items():
                weights = {key.split("/")[2]: goldens[key].astype(np.float32) for key in goldens if key.startswith(f"{name}/weight/")}
                wanted = [goldens[key] for key in sorted(key for key in goldens if key.startswith(f"{name}/result/"))]
                layer = make(nn)
                self.assertEqual({key: parameter.shape for key, parameter in layer.named_parameters()}, {key: value.shape for key, value in weights.items()}, name)
                # Sizes that a call binds where one is that of all inputs.
                first = "batch" if len({array.shape[0] for array in inputs}) == 1 and "added" not in name and "causal" not in name and "masked" not in name else None
                names = {f"x{i}": spec(array, first or array.shape[0]) for i, array in enumerate(inputs)}
                model = layer.compile(names, weights=weights, **CPU)
                got = list(model(*inputs).values())
                self.assertEqual(len(got), len(wanted), name)
                for mine, want in zip(got, wanted):
                    self.assertEqual(mine.shape, want.shape, name)
                    np.testing.assert_allclose(mine, want, rtol=1e-5, atol=2e-5, err_msg=name)

    def test_first_values(self):
        """By the bounds that PyTorch's documentation has."""
        cases = (("linear", nn.Linear(300, 200), {"weight": ("uniform", 300**-0.5), "bias": ("uniform", 300**-0.5)}), ("conv", nn.Conv2d(8, 64, 5, groups=2), {"weight": ("uniform", 100**-0.5), "bias": ("uniform", 100**-0.5)}),
                 ("transposed", nn.ConvTranspose2d(16, 24, 3), {"weight": ("uniform", (24 * 9)**-0.5), "bias": ("uniform", (24 * 9)**-0.5)}), ("embedding", nn.Embedding(500, 40), {"weight": ("normal", 1)}),
                 ("lstm", nn.LSTM(60, 49, 2), {f"{kind}_l{layer}": ("uniform", 1 / 7) for layer in (0, 1) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}),
                 ("attention", nn.MultiheadAttention(64, 4), {"in_proj_weight": ("uniform", (6 / 256)**0.5), "in_proj_bias": ("constant", 0), "out_proj.weight": ("uniform", 1 / 8), "out_proj.bias": ("constant", 0)}),
                 ("norm", nn.BatchNorm2d(5), {"weight": ("constant", 1), "bias": ("constant", 0), "running_mean": ("constant", 0), "running_var": ("constant", 1)}), ("layer norm", nn.LayerNorm(5), {"weight": ("constant", 1), "bias": ("constant", 0)}))
        for name, layer, wanted in cases:
            model = Body(lambda x, layer=layer: x + sum((parameter.sum() for _, parameter in layer.named_parameters()), start=0.0), layer=layer).compile({"x": (1,)}, seed=3, **CPU)
            weights = model.get_weights()
            self.assertEqual(set(weights), {"layer." + key for key in wanted}, name)
            for key, (kind, number) in wanted.items():
                values = weights["layer." + key]
                if kind == "constant":
                    self.assertTrue((values == number).all(), (name, key))
                    continue
                deviation = number / 3**0.5 if kind == "uniform" else number
                self.assertLess(abs(values.mean()), 5 * deviation / values.size**0.5, (name, key))
                self.assertLess(abs(values.std() / deviation - 1), 4 / values.size**0.5, (name, key))
                if kind == "uniform":
                    self.assertTrue(0.9 * number < abs(values).max() <= number * 1.000001, (name, key))
        self.assertIs(nn.functional.relu, nn.relu)
        first, again, other = (Mlp().compile({"image": ("batch", 64)}, seed=seed, **CPU).get_weights()["fc1.weight"] for seed in (1, 1, 2))
        self.assertTrue((first == again).all() and (first != other).any())

    def test_tensors(self):
        random = np.random.default_rng(1)
        x, y = (random.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(2))
        small = random.normal(size=(3, 1)).astype(np.float32)
        n = random.integers(-5, 6, (2, 3, 4))
        cases = {
            "operators": (lambda a, b: ((a + b) * 2 - a / (b * b + 1), 1 - a, 3 / (a * a + 1), -a + 0.5, a ** 2), lambda a, b: ((a + b) * 2 - a / (b * b + 1), 1 - a, 3 / (a * a + 1), -a + 0.5, a ** 2)),
            "comparisons": (lambda a, b: (a < b, a <= b, a > b, a >= 0, a == a, a != b, ~(a < b), (a < b) & (a > 0), (a < b) | (a > 0)), lambda a, b: (a < b, a <= b, a > b, a >= 0, a == a, a != b, ~(a < b), (a < b) & (a > 0), (a < b) | (a > 0))),
            "places": (lambda a, b: (a[0], a[:, 1], a[..., -1], a[:, 1:, ::2], a[:, None], a[1, :, 1:3], a[:, :-1], a[:, -2:]), lambda a, b: (a[0], a[:, 1], a[..., -1], a[:, 1:, ::2], a[:, None], a[1, :, 1:3], a[:, :-1], a[:, -2:])),
            "shapes": (lambda a, b: (a.reshape(6, 4), a.view(2, -1), a.flatten(0, 1), a.flatten(), a.permute(2, 0, 1), a.transpose(0, -1), a.unsqueeze(-1), a[:1].squeeze(0), a[:1].expand(5, 3, 4)),
                       lambda a, b: (a.reshape(6, 4), a.reshape(2, 12), a.reshape(6, 4), a.ravel(), a.transpose(2, 0, 1), a.transpose(2, 1, 0), a[..., None], a[0], np.repeat(a[:1], 5, 0))),
            "sums": (lambda a, b: (a.sum(), a.mean(1), a.amax((0, 2)), a.amin(-1, keepdim=True), a.prod(2), a.argmax(), a.argmin(1, keepdim=True), nn.logsumexp(a, 1)),
                     lambda a, b: (a.sum(), a.mean(1), a.max((0, 2)), a.min(-1, keepdims=True), a.prod(2), a.argmax(-1), a.argmin(1, keepdims=True), np.log(np.exp(a).sum(1)))),
            "functions": (lambda a, b: (nn.exp(a), nn.sqrt(nn.abs(a)), nn.minimum(a, b), nn.maximum(a, 0.25), nn.clamp(a, -0.5, 0.5), nn.clamp(a, min=0), nn.clamp(a, max=0.1), nn.where(a > b, a, 7.0), nn.where(a > b, 0, b), nn.floor(a), nn.round(a * 2), nn.sign(a)),
                          lambda a, b: (np.exp(a), np.sqrt(abs(a)), np.minimum(a, b), np.maximum(a, 0.25), a.clip(-0.5, 0.5), a.clip(0), np.minimum(a, np.float32(0.1)), np.where(a > b, a, 7), np.where(a > b, 0, b), np.floor(a), np.round(a * 2), np.sign(a))),
            "parts": (lambda a, b: (nn.cat([a, b], 1), nn.stack([a, b], -1), *nn.split(a, 3, 2), *nn.split(a, [1, 2], 1), *nn.chunk(a, 2, -1), nn.pad(a, (1, 2, 0, 1), 9.0)),
                      lambda a, b: (np.concatenate([a, b], 1), np.stack([a, b], -1), a[..., :3], a[..., 3:], a[:, :1], a[:, 1:], a[..., :2], a[..., 2:], np.pad(a, ((0, 0), (0, 1), (1, 2)), constant_values=9))),
            "products": (lambda a, b: (a @ b.transpose(1, 2), nn.matmul(a, b[0].T), nn.scaled_dot_product_attention(a, b, b, scale=0.7)), lambda a, b: (a @ b.transpose(0, 2, 1), a @ b[0].T, _attention(a, b, 0.7))),
            "others": (lambda a, b: (nn.zeros((2, 3)), nn.ones((2,), "i64"), nn.full((1, 2), 2.5), nn.arange(a, 1), a.detach()), lambda a, b: (np.zeros((2, 3)), np.ones(2, int), np.full((1, 2), 2.5), np.arange(3), a)),
        }
        for name, (mine, numpys) in cases.items():
            got, want = evaluate(mine, x, y), numpys(x, y)
            self.assertEqual(len(got), len(want), name)
            for number, (one, other) in enumerate(zip(got, want)):
                self.assertEqual(one.shape, np.shape(other), (name, number))
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=f"{name} {number}")
        np.testing.assert_allclose(evaluate(lambda a, b: a + b, x, small), x + small, rtol=1e-6) # of another rank, and along dimensions of 1
        np.testing.assert_array_equal(evaluate(lambda a: (a * 2 + 1).to("f32") / 2, n), (n * 2 + 1) / 2)
        np.testing.assert_array_equal(evaluate(lambda a: nn.one_hot(a, 3), np.array([0, 2, 5, -1])), [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
        np.testing.assert_array_equal(evaluate(lambda a, i: nn.pick(a, i), x[0], np.array([3, 0, 1])), x[0][np.arange(3), [3, 0, 1]])
        np.testing.assert_allclose(evaluate(lambda a: nn.gradient((a ** 3).sum(), a), x), 3 * x * x, rtol=1e-5)
        self.assertEqual(len(evaluate(lambda a: tuple(abs(row) * len(row) for row in a), x[0])), 3)
        for number, row in enumerate(evaluate(lambda a: tuple(abs(row) * len(row) for row in a), x[0])):
            np.testing.assert_array_equal(row, abs(x[0][number]) * 4)
        np.testing.assert_array_equal(evaluate(lambda a: np.arange(4) - a, x[0]), np.arange(4, dtype=np.float32) - x[0])
        self.assertEqual([one.dtype for one in evaluate(lambda a: (a.long(), a.long().float()), x[0])], [np.int64, np.float32])
        with self.assertRaisesRegex(TypeError, "len: expected a first dimension whose size is known"):
            Body(lambda a: list(a)).compile({"a": ("n", 3)}, **CPU)
        self.assertEqual(evaluate(lambda a: a + np.float32(2), x[0]).tolist(), (x[0] + 2).tolist())

    def test_sizes_that_a_call_binds(self):
        model = Body(lambda a, b: (a + b, a.reshape("n", 2, 2), a[:, 1:3], a.sum(0))).compile({"a": ("n", 4), "b": ("m", 4)}, ["sum", "wide", "cut", "all"], symbols={"n": (1, 8)}, **CPU)
        self.assertEqual([entry["name"] for entry in model.outputs], ["sum", "wide", "cut", "all"])
        for rows in (1, 5):
            a = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            got = model(a, a)
            np.testing.assert_array_equal(got["sum"], a + a)
            self.assertEqual((got["wide"].shape, got["cut"].shape, got["all"].tolist()), ((rows, 2, 2), (rows, 2), a.sum(0).tolist()))
        with self.assertRaisesRegex(vx.Error, "n|m"):
            model(a, a[:2])
        with self.assertRaisesRegex(vx.Error, "8"):
            model(np.zeros((9, 4), np.float32), np.zeros((9, 4), np.float32))

    def test_training(self):
        x, y = self.images, self.labels
        model = Mlp().compile({"image": ("batch", 1, 8, 8)}, "logits", loss="cross_entropy", optimizer=vx.AdamW(3e-3), seed=1, **CPU)
        history = model.fit(x, y, epochs=12, validation_split=0.25, metrics=["f1"], verbose=0).history
        self.assertEqual(set(history["rate"]), {3e-3})
        self.assertGreater(history["val_accuracy"][-1], 0.8)
        self.assertEqual(sorted(model.get_weights()), ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"])
        want = model.predict(x)["logits"]
        model.save(self.path("nn.vxm"))
        np.testing.assert_array_equal(vx.Model(self.path("nn.vxm"), device="cpu").predict(x)["logits"], want)
        # As constants of a module without training, and by the file of weights.
        fixed = Mlp().compile({"image": ("batch", 1, 8, 8)}, "logits", weights=model.get_weights(), **CPU)
        np.testing.assert_allclose(fixed(x)["logits"], want, rtol=1e-4, atol=1e-5)
        self.assertEqual((fixed.module.describe()["variables"], fixed.get_weights()), ([], {}))
        model.save(self.path("nn.safetensors"), only_weights=True)
        other = Mlp().compile({"image": ("batch", 1, 8, 8)}, "logits", loss="cross_entropy", seed=9, **CPU)
        other.load(self.path("nn.safetensors"))
        np.testing.assert_array_equal(other.predict(x)["logits"], want)
        by_path = Mlp().compile({"image": ("batch", 1, 8, 8)}, "logits", weights=self.path("nn.safetensors"), **CPU)
        np.testing.assert_array_equal(by_path(x)["logits"], fixed(x)["logits"])
        started = Mlp().compile({"image": ("batch", 1, 8, 8)}, "logits", loss="cross_entropy", weights=model.get_weights(), **CPU)
        np.testing.assert_array_equal(started.predict(x)["logits"], want)
        model.export(self.path("nn.onnx"))
        import onnxruntime
        session = onnxruntime.InferenceSession(self.path("nn.onnx"))
        np.testing.assert_allclose(session.run(None, {"image": x})[0], want, rtol=1e-4, atol=1e-4)

    def test_steps_are_numpys(self):
        """One step of SGD for each loss, with weights of rows and without."""
        random = np.random.default_rng(2)
        x, weights = random.normal(size=(6, 3)).astype(np.float32), np.array([1, 2, 0.5, 3, 1, 4], np.float32)
        targets = {"mse": random.normal(size=(6, 2)), "l1": random.normal(size=(6, 2)), "bce_logits": random.random((6, 2)), "cross_entropy": random.integers(0, 2, 6)}
        derivatives = {"mse": lambda o, t: 2 * (o - t) / 2, "l1": lambda o, t: np.sign(o - t) / 2, "bce_logits": lambda o, t: (1 / (1 + np.exp(-o)) - t) / 2,
                       "cross_entropy": lambda o, t: np.exp(o) / np.exp(o).sum(1, keepdims=True) - np.eye(2)[t]}
        values = {"mse": lambda o, t: ((o - t)**2).mean(1), "l1": lambda o, t: abs(o - t).mean(1), "bce_logits": lambda o, t: (np.log1p(np.exp(-abs(o))) + np.maximum(o, 0) - o * t).mean(1),
                  "cross_entropy": lambda o, t: np.log(np.exp(o).sum(1)) - o[np.arange(6), t]}
        for loss, target in targets.items():
            for weighted in (None, weights):
                model = nn.Linear(3, 2).compile({"x": ("batch", 3)}, loss=loss, optimizer="sgd", sample_weight=weighted is not None, seed=4, **CPU)
                before = model.get_weights()
                out = x @ before["weight"].T + before["bias"]
                shares = (np.ones(6) if weighted is None else weights) / (6 if weighted is None else weights.sum())
                history = model.fit(x, target, sample_weight=weighted, rate=0.5, batch_size=6, verbose=0)
                slope = derivatives[loss](out, target) * shares[:, None]
                np.testing.assert_allclose(model.get_weights()["weight"], before["weight"] - 0.5 * slope.T @ x, rtol=1e-4, atol=1e-5, err_msg=loss)
                np.testing.assert_allclose(model.get_weights()["bias"], before["bias"] - 0.5 * slope.sum(0), rtol=1e-4, atol=1e-5, err_msg=loss)
                self.assertAlmostEqual(history[0]["loss"], (values[loss](out, target) * shares).sum(), places=5)
        # Weights of classes; batches of any size give the mean over all weights.
        labels = targets["cross_entropy"]
        model = nn.Linear(3, 2).compile({"x": ("batch", 3)}, loss="cross_entropy", sample_weight=True, seed=4, **CPU)
        history = model.fit(x, labels, class_weight={0: 1.0, 1: 5.0}, rate=0.0, batch_size=4, verbose=0)
        rows, own = values["cross_entropy"](x @ before["weight"].T + before["bias"], labels), np.where(labels == 1, 5.0, 1.0)
        self.assertAlmostEqual(history[0]["loss"], (rows * own).sum() / own.sum(), places=5)
        self.assertAlmostEqual(model.evaluate(x, labels, sample_weight=own)["loss"], (rows * own).sum() / own.sum(), places=5)
        self.assertAlmostEqual(model.evaluate(x, labels)["loss"], rows.mean(), places=5)

    def test_losses_of_your_own(self):
        x = self.images[:64].reshape(64, 64)

        def both(outputs, label, shift):
            logits = outputs["logits"]
            return {"loss": nn.cross_entropy(logits, label) + 0.01 * (logits ** 2).mean() * shift.mean(), "top": nn.accuracy(logits, label)}

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.frozen = nn.MLP([64, 32, 10], nn.GELU, dropout=0.1), nn.Linear(64, 10)
                self.scale = nn.Parameter(1, init=nn.Init.constant(2.0))
                self.frozen.requires_grad_(False)

            def forward(self, x):
                return {"logits": self.body(x) * self.scale + self.frozen(x), "hidden": nn.tanh(x)}

        net = Net()
        model = net.compile({"x": ("batch", 64)}, loss=both, labels={"label": nn.Input("batch", dtype="i64"), "shift": ("batch",)}, optimizer=vx.SGD(0.1), clip_norm=1.0, **CPU)
        before = model.get_weights()
        history = model.fit({"x": x, "label": self.labels[:64], "shift": np.ones(64)}, epochs=3, verbose=0).history
        self.assertLess(history["loss"][-1], history["loss"][0])
        self.assertEqual([entry["name"] for entry in model.outputs], ["logits", "hidden"])
        self.assertIn("top", history)
        after = model.get_weights()
        self.assertEqual({key for key in after if (after[key] != before[key]).any()}, {"body.0.weight", "body.0.bias", "body.3.weight", "body.3.bias", "scale"})
        self.assertEqual(net.num_parameters(), 64 * 32 + 32 + 32 * 10 + 10 + 64 * 10 + 10 + 1)
        # The loss of an output by its name, and none.
        named = net.compile({"x": ("batch", 64)}, loss="cross_entropy:logits,smoothing=0.1", **CPU)
        self.assertIn("accuracy", named.fit(x, self.labels[:64], verbose=0).history)
        own = Body(lambda x: ((x * layer.weight).sum(1) - 1) ** 2, layer=(layer := nn.Linear(64, 1))).compile({"x": ("batch", 64)}, loss="none", optimizer="sgd", **CPU)
        self.assertLess(own.fit({"x": x}, epochs=5, rate=1e-3, verbose=0)[-1]["loss"], own.fit({"x": x}, epochs=1, rate=0, verbose=0)[0]["loss"] + 1)

    def test_batch_norms_that_train(self):
        """The running statistics move by the share `momentum` towards those of the batch."""
        random = np.random.default_rng(6)
        x = (random.normal(size=(8, 3, 2, 2)) * 3 + 5).astype(np.float32)
        model = Body(lambda x: norm(x).mean((1, 2, 3)), norm=(norm := nn.BatchNorm2d(3, momentum=0.25))).compile({"x": ("batch", 3, 2, 2)}, loss="mse", optimizer="sgd", **CPU)
        model.fit(x, np.zeros(8), batch_size=8, rate=0.0, verbose=0)
        weights = model.get_weights()
        np.testing.assert_allclose(weights["norm.running_mean"], 0.25 * x.mean((0, 2, 3)), rtol=1e-4)
        np.testing.assert_allclose(weights["norm.running_var"], 0.75 + 0.25 * x.var((0, 2, 3)), rtol=1e-4)

    def test_shared_layers(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(12, 6)
                self.blocks = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))
                self.again = self.blocks[0]

            def forward(self, ids):
                x = self.table(ids)
                for block in self.blocks:
                    x = nn.relu(block(x))
                return self.again(x) @ self.table.weight.T

        net = Tied()
        self.assertEqual([name for name, _ in net.named_parameters()], ["table.weight", "blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias"])
        self.assertEqual([name for name, _ in net.named_modules()], ["", "table", "blocks", "blocks.0", "blocks.1"])
        model = net.compile({"ids": nn.Input("batch", "time", dtype="i64")}, **CPU)
        weights, ids = model.get_weights(), np.arange(6).reshape(2, 3)
        x = weights["table.weight"][ids]
        for block in (0, 1):
            x = np.maximum(x @ weights[f"blocks.{block}.weight"].T + weights[f"blocks.{block}.bias"], 0)
        want = (x @ weights["blocks.0.weight"].T + weights["blocks.0.bias"]) @ weights["table.weight"].T
        np.testing.assert_allclose(model(ids)["output"], want, rtol=1e-4, atol=1e-5)
        self.assertEqual(repr(net.blocks), "ModuleList(\n  (0): Linear(in_features=6, out_features=6, bias=True)\n  (1): Linear(in_features=6, out_features=6, bias=True)\n)")
        self.assertEqual((len(net.blocks), net.blocks[1].in_features), (2, 6))
        net.again = None # is no part any more
        self.assertEqual([name for name, _ in net.named_modules()], ["", "table", "blocks", "blocks.0", "blocks.1"])

    def test_mistakes_in_shapes(self):
        """With the file and line of the user's code, and the layer."""
        here = os.path.basename(__file__)

        def wrong(x):
            return nn.matmul(x, x) # this line

        line = inspect.getsourcelines(wrong)[1] + 1
        with self.assertRaisesRegex(vx.CompileError, rf"{here}:{line}: .*") as raised:
            Body(wrong).compile({"x": (3, 4)}, **CPU)
        self.assertEqual(raised.exception.code, "unsupported")
        for layer, shape, text in ((nn.Linear(5, 2), (3, 4), rf"{here}:\d+: layer \(Linear\): expected 5 features, got 4 in \[3, 4\]"), (nn.Conv2d(3, 4, 3), ("n", 1, 8, 8), rf"{here}:\d+: layer \(Conv2d\): expected 3 channels, got 1"),
                                   (nn.Conv2d(3, 4, 3), (3, 8, 8), r"expected an input of 4 dimensions, got \[3, 8, 8\]"), (nn.LSTM(4, 4), (2, 3, 5), "expected 4 features, got 5"), (nn.BatchNorm1d(4), (2, 4, 1, 1), "expected an input of 2 or 3 dimensions"),
                                   (nn.MultiheadAttention(8, 2), (2, 8), "expected an input of 3 dimensions"), (nn.Conv2d(1, 1, 9), (1, 1, 4, 4), rf"layer \(Conv2d, {here}:\d+\): needs size '4' to be at least '9'")):
            with self.assertRaisesRegex(vx.CompileError, text):
                Body(lambda x, layer=layer: layer(x) if not isinstance(layer, (nn.LSTM, nn.MultiheadAttention)) else layer(x)[0], layer=layer).compile({"x": shape}, **CPU)
        for function, error, text in ((lambda x: x + x.to("i64"), TypeError, "expected operands of one element type, got f32 and i64: use .to"), (lambda x: x.to("i64") + 0.5, TypeError, "expected a whole number beside a tensor of i64, got 0.5"),
                                      (lambda x: x + "a", TypeError, "expected a tensor or a number, got str"), (lambda x: x.sum(2), IndexError, "sum: expected a dimension of -2 to 1, got 2"), (lambda x: x[0, 0, 0], IndexError, "expected 2 places at most, got 3"),
                                      (lambda x: x[::-1], IndexError, "with a step of 1 or more"), (lambda x: x["a"], IndexError, "got str"), (lambda x: x[3], IndexError, r"\[\]: expected a number of -3 to 2 for dimension 0, got 3"), (lambda x: x[:, -5], IndexError, "-4 to 3 for dimension 1, got -5"), (lambda x: x[True], IndexError, "got bool"), (lambda x: x if x else x, TypeError, "no condition can depend on it: use nn.where"), (lambda x: x.to("f8"), ValueError, "to: expected a type of"),
                                      (lambda x: x.permute(0, 0), ValueError, "each of 2 dimensions once"), (lambda x: x.reshape(-1, -1), ValueError, "-1 once at most"), (lambda x: nn.cat([]), ValueError, "cat: expected one tensor or more"), (lambda x: nn.gelu(x, "fast"), ValueError, "expected none or tanh"),
                                      (lambda x: nn.where(x, x, x), TypeError, "expected a condition of bools, got f32"), (lambda x: 3, TypeError, "forward: expected a tensor, a tuple of them, or a dict, got int"), (lambda x: (x, 3), TypeError, "expected tensors as results, got int"),
                                      (lambda x: nn.relu(nn.Linear(4, 4).weight), RuntimeError, "an attribute of no module of it; lists of layers are nn.ModuleList"), (lambda x: nn.pad(x, (1,)), ValueError, "pad: expected two numbers"), (lambda x: nn.split(x, 0, 1), ValueError, "split: expected a size of 1 or more")):
            with self.assertRaisesRegex(error, text):
                Body(function).compile({"x": (3, 4)}, **CPU)
        kept = []
        Body(lambda x: kept.append(x) or x * 1).compile({"x": (3,)}, **CPU) # after all these
        with self.assertRaisesRegex(RuntimeError, "tensors exist while a model is built"):
            kept[0] + 1
        with self.assertRaisesRegex(RuntimeError, "got one of another"):
            Body(lambda x: x + kept[0]).compile({"x": (3,)}, **CPU)
        with self.assertRaisesRegex(RuntimeError, "expected no model that is being built by this thread"):
            Body(lambda x: Mlp().compile({"x": ("n", 64)}, **CPU)).compile({"x": (3,)}, **CPU)

    def test_mistakes_in_arguments(self):
        class Late(nn.Module):
            def __init__(self):
                self.fc = nn.Linear(2, 2)

        x = {"x": ("batch", 4)}
        net = nn.Linear(4, 3)
        state = {"weight": np.zeros((3, 4)), "bias": np.zeros(3)}
        for call, error, text in ((Late, AttributeError, r"Late: expected super\(\).__init__\(\) before the attribute 'fc'"), (lambda: nn.Linear(0, 3), ValueError, "Linear: in_features: expected a whole number of 1 or more, got 0"),
                                  (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "expected a divisor of 3 and 4 channels, got 2"), (lambda: nn.Conv2d(3, 4, (3, 3, 3)), ValueError, "kernel_size: expected a number of 1 or more, or 2 of them"),
                                  (lambda: nn.Conv1d(3, 4, 3, 2, padding="same"), ValueError, "expected a stride of 1 for 'same'"), (lambda: nn.MultiheadAttention(10, 3), ValueError, "heads that divide the width 10, got 3"), (lambda: nn.MultiheadAttention(8, 2, batch_first=False), ValueError, "batch_first=True"),
                                  (lambda: nn.GroupNorm(4, 6), ValueError, "groups that divide 6 channels, got 4"), (lambda: nn.Dropout(1.0), ValueError, "p: expected 0 or more and less than 1, got 1.0"), (lambda: nn.AdaptiveAvgPool2d(7), ValueError, "output size 1, got 7"), (lambda: nn.MLP([4]), ValueError, "two sizes or more"),
                                  (lambda: nn.MLP([4, 4, 4], "swish"), ValueError, "activation: expected relu, .*, got 'swish'"), (lambda: nn.ReLU(3), TypeError, "ReLU: expected no arguments, got 3"), (lambda: nn.Sequential(3), TypeError, "Sequential: expected modules, got int"), (lambda: nn.Input(-1), ValueError, "sizes of 0 or more, or names, got -1"),
                                  (lambda: nn.Input(3, dtype="f8"), ValueError, "Input: dtype: expected"), (lambda: nn.Parameter(3, "n"), ValueError, "sizes of 0 or more"), (lambda: nn.Module().compile({"x": (1,)}), NotImplementedError, "expected a method forward"),
                                  (lambda: net.compile({"x": 3}), TypeError, "inputs: 'x': expected an nn.Input or a tuple of sizes, got int"), (lambda: net.compile(x, ["a", "b"]), ValueError, "outputs: expected 1 names for the results of forward, got 2"), (lambda: net.compile(x, optimizer="sgd"), ValueError, "optimizer is for a model that trains: give loss"),
                                  (lambda: net.compile(x, labels={}), ValueError, "labels is for a model that trains"), (lambda: net.compile(x, loss="mse", labels={}), ValueError, "labels: expected a loss that is a function"), (lambda: net.compile(x, loss="mse:probability"), ValueError, "loss: expected an output of output, got 'probability'"),
                                  (lambda: net.compile(x, loss="mean"), vx.CompileError, "mean"), (lambda: net.compile(x, loss="cross_entropy:smoothing=0.1", sample_weight=True), ValueError, "sample_weight: expected cross_entropy, nll, .* without keys"), (lambda: net.compile(x, loss=lambda out: out, sample_weight=True), ValueError, "sample_weight: expected a loss by its text"),
                                  (lambda: net.compile(x, loss=lambda out: {"top": out.sum()}), TypeError, "a dict of tensors that begins with 'loss'"), (lambda: net.compile(x, loss=lambda out: out), vx.CompileError, "loss|scalar"), (lambda: net.compile(x, loss="mse", optimizer="sgdd"), vx.CompileError, "sgdd"), (lambda: net.compile(x, weights={"weight": np.zeros((3, 4))}), ValueError, "expected all of weight, bias, got none for bias"),
                                  (lambda: net.compile(x, weights={**state, "scale": np.zeros(3)}), ValueError, "no parameter 'scale', but weight, bias"), (lambda: net.compile(x, weights={**state, "bias": np.zeros(4)}), ValueError, r"'bias': expected the shape \[3\], got \[4\]"), (lambda: net.compile(x, symbols={"batch": 3}), ValueError, "symbols: 'batch': expected"),
                                  (lambda: net.compile(x, symbols={"batch": (5, 2)}), vx.CompileError, "5"), (lambda: net.compile(x, precision="f7", targets="cpu"), vx.CompileError, "f7"), (lambda: net.compile(x, presision="f16"), TypeError, "no option 'presision'"), (lambda: Body(lambda x, y: x).compile(x), TypeError, "y")):
            with self.assertRaisesRegex(error, text):
                call()
        net.compile(x, weights={**state, "num_batches_tracked": 3}, **CPU) # after all these


def _attention(a, b, scale):
    scores = a @ b.transpose(0, 2, 1) * scale
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ b


if __name__ == "__main__":
    package_test.main()
