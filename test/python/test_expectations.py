"""The promises of docs/python.md to users of other libraries: each row of its table that is there has a test here. Those that need PyTorch run where it is installed."""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import vx
import vx.nn as nn

SOURCE = os.environ["VX_SOURCE"]
CPU = {"device": "cpu", "targets": "cpu"}
HAS_TORCH = importlib.util.find_spec("torch") is not None
ROWS = {}


def row(user, expects):
    """The test of a row, by the first words of its second column."""
    def keep(function):
        ROWS[user, expects] = function.__name__
        return function
    return keep


def rows_there():
    """[(user, expectation)] of the table's rows that are there."""
    with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
        text = file.read()
    table = text.partition("## What users of other libraries expect")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if line.startswith("| ") and not line.startswith("| a user of")]
    kinds = {cell[2].split()[0].rstrip(":;") for cell in cells if len(cell) == 3 and cell[0] != "---"}
    assert kinds <= {"there", "differs", "not"}, kinds
    return [(cell[0], cell[1]) for cell in cells if cell[2].startswith("there")]


class Expectations(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(3)
        self.x, self.y = rng.standard_normal((40, 6), np.float32), rng.integers(0, 3, 40)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def model(self, **options):
        return nn.MLP([6, 8, 3]).compile({"x": ("batch", 6)}, **{"loss": "cross_entropy", "optimizer": vx.SGD(0.1), "seed": 2, **options}, **CPU)

    def test_table(self):
        """Each row that is there has a test, and each test its row."""
        found = {}
        for user, expects in rows_there():
            names = [key for key in ROWS if key[0] == user and expects.startswith(key[1])]
            self.assertEqual(len(names), 1, (user, expects))
            found[names[0]] = expects
        self.assertEqual(set(found), set(ROWS))
        self.assertGreater(len(found), 20)

    @row("Keras", "`fit`, `evaluate`, `predict`")
    def test_keras_methods(self):
        model = self.model()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            history = model.fit(self.x, self.y, epochs=2, validation_split=0.25, callbacks=[vx.EarlyStopping(patience=5)], verbose=2)
        self.assertEqual((out.getvalue().count("epoch"), len(history.history["val_loss"])), (2, 2))
        self.assertEqual(set(model.evaluate(self.x, self.y)), {"loss", "accuracy"})
        self.assertEqual(model.predict(self.x)["output"].shape, (40, 3))

    @row("Keras", "`shuffle=False`")
    def test_keras_arguments(self):
        model = self.model()
        history = model.fit(self.x, self.y, epochs=2, batch_size=8, shuffle=False, validation_data=(self.x, self.y), verbose=0).history
        self.assertEqual((history["step"], len(history["val_loss"])), ([5, 10], 2))
        batches = ((self.x[:8], self.y[:8]) for _ in range(6))
        self.assertEqual(model.fit(batches, epochs=2, steps_per_epoch=3, verbose=0).history["step"], [3, 6])

    @row("Keras", "`ModelCheckpoint`")
    def test_keras_callbacks(self):
        class Rising(vx.Metric): # which never gets better
            name, is_better_when_less, value = "rising", True, 0.0

            def reset(self):
                pass

            def update(self, output, target):
                Rising.value += 1

            def result(self):
                return Rising.value

        out = io.StringIO()
        model = self.model()
        history = model.fit(self.x, self.y, epochs=9, validation_data=(self.x, self.y), metrics=[Rising()], verbose=0,
                            callbacks=[vx.Checkpoint(self.path("best.safetensors"), best_only=True, monitor="val_loss"), vx.ReduceLROnPlateau("val_rising", factor=0.5, patience=1),
                                       vx.EarlyStopping("val_rising", patience=4), vx.CSVLog(self.path("log.csv")), vx.ProgressBar(out)])
        self.assertTrue(os.path.getsize(self.path("best.safetensors")) > 0 < os.path.getsize(self.path("log.csv")))
        self.assertEqual(len(history), 5)
        self.assertLess(history.history["rate"][-1], 0.1)

    @row("Keras", "`model.summary()`")
    def test_keras_files(self):
        model = self.model()
        self.assertIn("trainable 83", model.summary())
        for name in ("m.vxm", "m.safetensors"):
            model.save(self.path(name))
        model.export(self.path("m.onnx"))
        for name in ("m.vxm", "m.onnx"):
            np.testing.assert_allclose(next(iter(vx.Model(self.path(name), device="cpu", **({"targets": "cpu"} if name == "m.onnx" else {}))(self.x).values())), model(self.x)["output"], atol=1e-5)

    @row("Keras", "`get_weights`")
    def test_keras_weights(self):
        one, other = self.model(), self.model(seed=5)
        self.assertFalse(np.array_equal(one(self.x)["output"], other(self.x)["output"]))
        other.set_weights(one.get_weights())
        np.testing.assert_array_equal(one(self.x)["output"], other(self.x)["output"])

    @row("Keras", "TensorBoard event files")
    def test_keras_tensorboard(self):
        self.model().fit(self.x, self.y, verbose=0, callbacks=[vx.TensorBoard(self.path("events"))])
        self.assertEqual(os.listdir(self.path("events")), ["train"])
        file, = os.listdir(self.path(os.path.join("events", "train")))
        self.assertIn("tfevents", file)

    @row("Keras", "`AUC`, `F1Score`")
    def test_keras_metrics(self):
        scores = self.model().evaluate(self.x, self.y, metrics=["auc", "f1"])
        self.assertTrue(0 <= scores["f1"] <= 1 and 0 <= scores["auc"] <= 1)

    @row("Keras", "`class_weight` and `sample_weight`")
    def test_keras_weights_of_rows(self):
        one, other = self.model(sample_weight=True), self.model(sample_weight=True)
        one.fit(self.x, self.y, class_weight={0: 1.0, 1: 0.5, 2: 3.0}, epochs=2, verbose=0, seed=1)
        other.fit(self.x, self.y, sample_weight=np.array([1.0, 0.5, 3.0])[self.y], epochs=2, verbose=0, seed=1)
        for name, value in one.get_weights().items():
            np.testing.assert_array_equal(other.get_weights()[name], value)

    @row("PyTorch", "a DataLoader")
    def test_torch_loader(self):
        class Loader: # as PyTorch's: it gives lists, and has a length
            def __len__(self):
                return 5

            def __iter__(one):
                return ([self.x[begin:begin + 8], self.y[begin:begin + 8]] for begin in range(0, 40, 8))

        model = self.model()
        self.assertEqual(model.fit(Loader(), epochs=2, verbose=0).history["step"], [5, 10])
        model.save(self.path("weights.safetensors"), only_weights=True)
        again = self.model(seed=9)
        again.load(self.path("weights.safetensors"))
        np.testing.assert_array_equal(again(self.x)["output"], model(self.x)["output"])

    @row("PyTorch", "`torch.nn`")
    def test_torch_nn(self):
        names = [name for name in ("Linear", "Conv2d", "BatchNorm2d", "LayerNorm", "Embedding", "LSTM", "GRU", "MultiheadAttention", "TransformerEncoderLayer", "Dropout", "Sequential", "ModuleList")
                 if not hasattr(nn, name)]
        self.assertEqual(names, [])
        net = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
        self.assertEqual([name for name, _ in net.named_parameters()], ["0.weight", "0.bias", "2.weight", "2.bias"])

    @row("PyTorch", "`torch.compile(backend=\"vx\")`")
    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
    def test_torch_modules(self):
        import torch
        module = torch.nn.Linear(6, 3)
        model = vx.from_torch(module, torch.zeros(4, 6), train=True, loss="cross_entropy", **CPU)
        model.fit(self.x, self.y, verbose=0)
        module.load_state_dict(model.state_dict())
        with torch.no_grad():
            expected = module(torch.from_numpy(self.x))
            np.testing.assert_allclose(next(iter(model(self.x).values())), expected.numpy(), atol=1e-5)
            np.testing.assert_allclose(torch.compile(module, backend=vx.torch_backend)(torch.from_numpy(self.x)).numpy(), expected.numpy(), atol=1e-5)

    @row("PyTorch", "`torch.save` files")
    def test_torch_files(self):
        done = subprocess.run([sys.executable, "-m", "vx.convert", "--help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        if not HAS_TORCH: # test_convert.py writes such files without it
            return
        import torch
        torch.save({"w": torch.ones(2, 3)}, self.path("m.pt"))
        done = subprocess.run([sys.executable, "-m", "vx.convert", self.path("m.pt"), self.path("m.safetensors")], capture_output=True, text=True)
        self.assertEqual((done.returncode, os.path.exists(self.path("m.safetensors"))), (0, True), done.stderr)

    @row("PyTorch", "param groups")
    def test_torch_groups(self):
        model = self.model(optimizer=vx.SGD(0.1, groups=[vx.ParamGroup("0.*", lr=0)]))
        before = model.get_weights()
        model.fit(self.x, self.y, verbose=0)
        changed = {name for name, value in model.get_weights().items() if not np.array_equal(value, before[name])}
        self.assertTrue(changed and all(name.startswith("2.") for name in changed), changed)

    @row("PyTorch", "`CrossEntropyLoss(weight=...)`")
    def test_torch_loss(self):
        model = self.model(loss="cross_entropy:class_weight=1/5/0.5")
        scores = model(self.x)["output"]
        logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        weights = np.array([1, 5, 0.5])[self.y]
        self.assertAlmostEqual(model.evaluate(self.x, self.y)["loss"], float(-(weights * logs[np.arange(40), self.y]).sum() / weights.sum()), places=4)

    @row("PyTorch", "`peft.LoraConfig(r, lora_alpha, target_modules)`")
    def test_torch_lora(self):
        digits = os.path.join(SOURCE, "examples", "digits", "digits.onnx")
        model = vx.Model(digits, loss="cross_entropy", lora=vx.LoRA("7.weight", rank=2, alpha=4), cache=False, **CPU)
        self.assertEqual(set(model.get_weights()), {"7.weight.lora_A", "7.weight.lora_B"})

    @row("PyTorch", "mixed precision")
    def test_torch_options(self):
        digits = os.path.join(SOURCE, "examples", "digits", "digits.onnx")
        model = vx.Model(digits, loss="cross_entropy", precision="bf16", optimizer="sgd", clip_norm=1.0, cache=False, **CPU)
        images, labels = np.zeros((32, 1, 8, 8), np.float32), np.zeros(32, np.int64)
        history = model.fit(images, labels, batch_size=8, accumulate=2, schedule="cosine:1e-5", epochs=2, rate=0.1, verbose=0)
        self.assertEqual(history.history["step"], [2, 4])
        self.assertLess(history.history["rate"][1], 0.1)

    @row("PyTorch", "`torch.device`")
    def test_torch_devices(self):
        self.addCleanup(vx.set_default_device, None)
        vx.set_default_device("cpu")
        self.assertTrue(vx.available("cpu"))
        tensor = vx.ones((2, 3)).to(vx.Device("cpu"))
        np.testing.assert_array_equal(tensor.numpy(), np.ones((2, 3)))

    @row("tokenizers", "`Tokenizer.from_file(path).encode(text)`")
    def test_tokenizers(self):
        with open(self.path("vocab.txt"), "w", encoding="utf-8") as file:
            file.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n")
        one = vx.Tokenizer(self.path("vocab.txt")).encode("hello world")
        self.assertEqual((list(one.ids), list(one.tokens)), ([2, 5, 6, 3], ["[CLS]", "hello", "world", "[SEP]"]))

    @row("ONNX Runtime", "`get_inputs()`")
    def test_ort_names(self):
        model = vx.Model(os.path.join(SOURCE, "examples", "digits", "digits.onnx"), cache=False, **CPU)
        self.assertEqual((model.inputs, model.outputs), ([{"name": "image", "dtype": "f32", "shape": ("batch", 1, 8, 8)}], [{"name": "logits", "dtype": "f32", "shape": ("batch", 10)}]))

    @row("ONNX Runtime", "I/O binding")
    def test_ort_binding(self):
        module = vx.Module(vx.compile_bytes(open(os.path.join(SOURCE, "examples", "digits", "digits.onnx"), "rb").read(), targets="cpu"))
        instance = vx.Instance(module, device="cpu")
        result = instance.run_tensors("main", vx.tensor(np.zeros((2, 1, 8, 8), np.float32), device="cpu"))["logits"]
        self.assertEqual((type(result), tuple(result.shape)), (vx.Tensor, (2, 10)))
        self.assertFalse(module.estimate_memory(device="cpu", memory_limit=1000, batch=450)["fits"])

    @row("ONNX Runtime", "`OrtValue.ortvalue_from_numpy(x, \"cuda\", 0)`")
    def test_ort_values(self):
        np.testing.assert_array_equal(vx.tensor(self.x, device="cpu:0").numpy(), self.x)
        if not vx.available("cuda"):
            with self.assertRaises(vx.Error) as caught:
                vx.tensor(self.x, device="cuda:0")
            self.assertEqual(caught.exception.code, "no_device")

    @row("ONNX Runtime", "`run_async`")
    def test_ort_async(self):
        instance = vx.Instance(vx.Module(vx.compile_bytes(open(os.path.join(SOURCE, "examples", "digits", "digits.onnx"), "rb").read(), targets="cpu")), device="cpu")
        self.assertEqual(instance.submit("main", np.zeros((3, 1, 8, 8), np.float32)).wait()["logits"].shape, (3, 10))


if __name__ == "__main__":
    unittest.main()
