"""The package vx, as it is installed of its wheels (run_wheels.py)."""
import gc
import os
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import vx

DIGITS = os.path.join(os.environ["VX_SOURCE"], "examples", "digits")
ADD = """func.func @main(%a: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "a"}, %b: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "b"})
    -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "sum"}) {
  %0 = vx.add %a, %b : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  return %0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
}
func.func @half(%x: tensor<4xbf16> {vx.name = "x"}) -> (tensor<4xbf16> {vx.name = "y"}) {
  %0 = vx.add %x, %x : tensor<4xbf16>, tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
func.func @long(%x: tensor<2xi64> {vx.name = "x"}) -> (tensor<2xi64> {vx.name = "y"}, tensor<2xi1> {vx.name = "same"}) {
  %0 = vx.mul %x, %x : tensor<2xi64>, tensor<2xi64>
  %1 = vx.compare eq %0, %x : tensor<2xi64>, tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi1>
}
"""


class RuntimeAlone(unittest.TestCase):
    def test_compile_says_what_is_missing(self):
        with self.assertRaisesRegex(ImportError, "install the wheel vx-compiler"):
            vx.compile("model.onnx", "model.vxm")

    def test_devices(self):
        self.assertIn("cpu", [backend["name"] for backend in vx.list_devices()["backends"]])

    def test_a_file_that_is_none(self):
        with self.assertRaisesRegex(vx.Error, "nosuch.vxm"):
            vx.Module("nosuch.vxm")
        with self.assertRaises(vx.Error):
            vx.Module(b"no module")


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.text = "vx.symbol \"n\"\n" + ADD
        cls.module = vx.Module(vx.compile_bytes(cls.text.encode(), "add.mlir"))
        cls.model = vx.Instance(cls.module, device="cpu")
        cls.digits = os.path.join(cls.folder.name, "digits.vxm")
        vx.compile(os.path.join(DIGITS, "digits.onnx"), cls.digits, targets="cpu")
        cls.images = np.fromfile(os.path.join(DIGITS, "images.f32"), np.float32).reshape(-1, 1, 8, 8)
        cls.labels = np.fromfile(os.path.join(DIGITS, "labels.u8"), np.uint8).astype(np.int64)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_network(self):
        model = vx.Instance(self.digits)
        logits = model(image=self.images)["logits"]
        self.assertEqual((logits.argmax(1) == self.labels).sum(), 448)
        self.assertEqual((model(image=np.zeros_like(self.images))["logits"].argmax(1) == self.labels).mean() < 0.2, True)
        self.assertIn("cpu", str(model))
        self.assertEqual(model.report()["device"]["backend"] if "device" in model.report() else "cpu", "cpu")
        self.assertEqual(vx.Module(self.digits).functions()[0]["inputs"], [{"name": "image", "dtype": "f32", "shape": ("batch", 1, 8, 8)}])

    def test_arrays_of_all_kinds(self):
        a = np.arange(12, dtype=np.float32).reshape(4, 3)
        b = np.full((4, 3), 2, np.float32)
        frozen = a.copy()
        frozen.flags.writeable = False
        other_end = a.astype(">f4")
        for array in (a, frozen, other_end, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a[::-1][::-1], a.tolist()):
            if isinstance(array, list):
                array = np.array(array, np.float32)
            np.testing.assert_array_equal(self.model(array, b)["sum"], a + 2)
        np.testing.assert_array_equal(self.model(a[::-2], b[:2])["sum"], a[::-2] + 2)
        self.assertEqual(self.model(np.empty((0, 3), np.float32), np.empty((0, 3), np.float32))["sum"].shape, (0, 3))
        results = self.model.run("long", np.array([1, -3]))
        np.testing.assert_array_equal(results["y"], [1, 9])
        self.assertEqual(results["same"].dtype, np.bool_)
        np.testing.assert_array_equal(results["same"], [True, False])

    def test_a_type_that_numpy_has_not(self):
        class Halves:  # as another library's tensor: of bf16, by DLPack
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **options):
                return self.tensor.__dlpack__(**options)

        with self.assertRaisesRegex(vx.Error, "bf16"):
            self.model.run("half", np.zeros(4, np.float32))
        source = vx.compile_bytes(b"""vx.variable @w : tensor<4xbf16> = dense<[1.0, 2.0, -4.0, 0.5]> : tensor<4xbf16>
            func.func @main() -> (tensor<4xbf16> {vx.name = "w"}) {
              %0 = vx.variable_load @w : tensor<4xbf16>
              return %0 : tensor<4xbf16>
            }""", "w.mlir")
        w = vx.Instance(vx.Module(source), device="cpu")()["w"]
        self.assertEqual((w.dtype, w.shape), ("bf16", (4,)))
        doubled = self.model.run("half", Halves(w))["y"]
        self.assertEqual(repr(doubled), "vx.Tensor(bf16, (4,))")
        again = self.model.run("half", doubled)["y"]
        self.assertEqual(again.shape, (4,))

    def test_results_outlive_what_made_them(self):
        model = vx.Instance(vx.Module(vx.compile_bytes(self.text.encode(), "add.mlir")), device="cpu")
        a = np.ones((100000, 3), np.float32)
        total = model(a, a)["sum"]
        del model, a
        gc.collect()
        np.testing.assert_array_equal(total, np.full((100000, 3), 2, np.float32))

    def test_inputs_live_as_long_as_the_call(self):
        for _ in range(20):  # nothing else holds these arrays
            total = self.model(np.full((50000, 3), 3, np.float32), np.full((50000, 3), 4, np.float32))["sum"]
            self.assertEqual(total.min(), 7)

    def test_inputs_are_read_where_they_lie(self):
        rows = 4000000  # 48 MB, at a multiple of 64
        memory = np.empty(rows * 12 + 64, np.uint8)
        start = -memory.ctypes.data % 64
        big = memory[start:start + rows * 12].view(np.float32).reshape(rows, 3)
        big[:] = 1
        before = peak()
        self.model(big, big)
        self.assertLess(peak() - before, 80 << 20)  # the result, and no copy of an input beside it

    def test_mistakes(self):
        a = np.ones((2, 3), np.float32)
        for call, error, text in ((lambda: self.model(a), TypeError, "wants inputs a, b, got none for b"),
                                  (lambda: self.model(a, a, a), TypeError, "takes 2 inputs, got 3"),
                                  (lambda: self.model(a, a, b=a), TypeError, "input 'b' is given twice"),
                                  (lambda: self.model(a, c=a), TypeError, "has no input 'c', but a, b"),
                                  (lambda: self.model.run("f"), KeyError, "no function 'f', but main, half, long"),
                                  (lambda: self.model(a, np.ones((3, 3), np.float32)), vx.Error, "3"),
                                  (lambda: self.model(a, np.ones((2, 4), np.float32)), vx.Error, "4"),
                                  (lambda: self.model(a, a.astype(np.float64)), vx.Error, "f64"),
                                  (lambda: self.model(a, np.array(["x"])), (TypeError, BufferError), ""),
                                  (lambda: vx.Instance(self.module, device="cuda", fallback=False), vx.Error, "cuda"),
                                  (lambda: vx.compile("nosuch.onnx", "x.vxm"), vx.CompileError, "nosuch.onnx"),
                                  (lambda: vx.compile("a.onnx", "x.vxm", targets="tpu"), vx.CompileError, "'tpu'"),
                                  (lambda: vx.compile("a.onnx", "x.vxm", magic=1), TypeError, "no option 'magic'"),
                                  (lambda: vx.compile_bytes(b"no model"), vx.CompileError, "model"),
                                  (lambda: vx.Session(self.module), vx.Error, "train")):
            with self.assertRaisesRegex(error, text):
                call()
        np.testing.assert_array_equal(self.model(a, a)["sum"], 2 * a)  # the instance is as it was

    def test_threads_go_on_meanwhile(self):
        counted = count_during(lambda: vx.compile_bytes(read(os.path.join(DIGITS, "digits.onnx")), targets="cpu"))
        self.assertGreater(counted, 20)
        a = np.ones((3000000, 3), np.float32)
        self.assertGreater(count_during(lambda: [self.model(a, a) for _ in range(20)]), 5)
        results = []
        small = np.ones((1000, 3), np.float32)
        threads = [threading.Thread(target=lambda i=i: results.extend(self.model(small * i, small)["sum"][0, 0] for _ in range(50))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(set(results)), [float(i + 1) for i in range(8)])
        self.assertEqual(len(results), 400)

    def test_training(self):
        module = os.path.join(self.folder.name, "train.vxm")
        notes = vx.compile(os.path.join(os.environ["VX_SOURCE"], "examples", "train_digits", "network.onnx"), module, targets="cpu", train="auto",
                           loss="cross_entropy", optimizer="adamw:weight_decay=0.01", init="random")
        self.assertTrue(any("initializers are trained" in note for note in notes), notes)
        session = vx.Session(module, device="cpu", seed=1)
        data = {"image": self.images[:350], "label": self.labels[:350]}
        test = {"image": self.images[350:], "label": self.labels[350:]}
        before = session.evaluate(test)["accuracy"]
        seen = []
        history = session.fit(data, epochs=12, batch=32, validation=test, rate=3e-3, schedule="cosine", end=1e-4, seed=2, on_epoch=seen.append)
        self.assertEqual(seen, history)
        self.assertEqual(len(history), 12)
        self.assertLess(before, 0.4)
        self.assertGreater(history[-1]["validation"]["accuracy"], 0.85)
        self.assertAlmostEqual(session.evaluate(test)["loss"], history[-1]["validation"]["loss"], places=5)
        logits = session.predict(test)["logits"]
        self.assertAlmostEqual((logits.argmax(1) == test["label"]).mean(), history[-1]["validation"]["accuracy"], places=6)
        path = os.path.join(self.folder.name, "t.safetensors")
        session.save(path)
        other = vx.Session(module, device="cpu")
        other.load(path)
        np.testing.assert_array_equal(other.predict(test)["logits"], logits)
        session.export_onnx(os.path.join(self.folder.name, "t.onnx"))
        again = vx.Instance(vx.Module(vx.compile_bytes(read(os.path.join(self.folder.name, "t.onnx")))), device="cpu")
        np.testing.assert_allclose(again(test["image"])["logits"], logits, atol=1e-4)

        def stop(epoch):
            raise RuntimeError(f"epoch {epoch['epoch']}")

        with self.assertRaisesRegex(RuntimeError, "^epoch 13$"):
            session.fit(data, epochs=20, batch=32, on_epoch=stop)
        with self.assertRaisesRegex(vx.TrainError, "label"):
            session.fit({"image": data["image"]})
        with self.assertRaisesRegex(vx.TrainError, "row 0 has 14, want 0 to 9"):
            session.fit({"image": data["image"], "label": data["label"] + 12}, epochs=30)
        with self.assertRaisesRegex(ValueError, "want 'constant' or 'cosine', got 'magic'"):
            session.fit(data, schedule="magic")

    def test_variables(self):
        text = b"""vx.variable @total : tensor<2xf32>
            func.func @main(%x: tensor<2xf32> {vx.name = "x"}) -> (tensor<2xf32> {vx.name = "total"}) {
              %0 = vx.variable_load @total : tensor<2xf32>
              %1 = vx.add %0, %x : tensor<2xf32>, tensor<2xf32>
              vx.variable_store %1, @total : tensor<2xf32>
              return %1 : tensor<2xf32>
            }"""
        model = vx.Instance(vx.Module(vx.compile_bytes(text, "total.mlir")), device="cpu")
        model(np.array([1, 2], np.float32))
        self.assertEqual(model(np.array([1, 2], np.float32))["total"].tolist(), [2, 4])
        self.assertEqual((model.variables(), model.read_variable("total").tolist()), (["total"], [2, 4]))
        model.write_variable("total", np.array([10, 20], np.float32))
        self.assertEqual(model(np.array([1, 2], np.float32))["total"].tolist(), [11, 22])
        with self.assertRaisesRegex(vx.Error, "nosuch"):
            model.read_variable("nosuch")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def count_during(work):
    """How often another thread gets on while `work` goes on."""
    counted, is_done = 0, False

    def count():
        nonlocal counted
        while not is_done:
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    work()
    is_done = True
    thread.join()
    return counted


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
