"""The package vx, as it is installed of its wheels (run_wheels.py)."""
import contextlib
import faulthandler
import functools
import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

import vx



def best_variant(compile):
    """Of the CPU's code, no more than what runs here: making it is most of the time."""
    variant = "cpu=avx512" if b"avx512vl" in read("/proc/cpuinfo") else "cpu=x86-64-v3"

    @functools.wraps(compile)
    def call(*arguments, targets="cpu", **options):
        if "cpu" in targets.split(","):
            options.setdefault("variants", [variant])
        return compile(*arguments, targets=targets, **options)

    return call


def read(path):
    with open(path, "rb") as file:
        return file.read()


vx.compile, vx.compile_bytes = best_variant(vx.compile), best_variant(vx.compile_bytes)

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
# A loop whose rounds the call says, and what it leaves in a variable.
SPIN = b"""vx.symbol data_dependent "i"
vx.variable @kept : tensor<2xf32>
func.func @main(%n: tensor<i64> {vx.name = "n"}, %x: tensor<2xf32> {vx.name = "x"}) -> (tensor<2xf32> {vx.name = "y"}) {
  %true = vx.constant dense<true> : tensor<i1>
  %y = vx.loop "i" trip_count(%n) inits(%x : tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%carried: tensor<2xf32>):
    %next = vx.add %carried, %x : tensor<2xf32>, tensor<2xf32>
    vx.yield %true, %next : tensor<i1>, tensor<2xf32>
  }
  %before = vx.variable_load @kept : tensor<2xf32>
  %after = vx.add %before, %y : tensor<2xf32>, tensor<2xf32>
  vx.variable_store %after, @kept : tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @pick(%x: tensor<4xf32> {vx.name = "x"}, %i: tensor<i64> {vx.name = "i"}) -> (tensor<f32> {vx.name = "y"}) {
  %0 = vx.gather %x, %i axis = 0 : tensor<4xf32>, tensor<i64>
  return %0 : tensor<f32>
}
"""
FOREVER = np.array(1 << 40)
# Variables that instances share, that they do not, and one of a size that an instance is made with.
KEPT = b"""vx.symbol instance "room" min = 1 max = 1024
vx.symbol "n"
vx.variable @w role = parameter : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
vx.variable @count : tensor<2xf32>
vx.variable @cache role = cache : tensor<?xf32, #vx.enc<[room]>>
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"})
    -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}, tensor<2xf32> {vx.name = "w"}, tensor<?xf32, #vx.enc<[room]>> {vx.name = "cache"}) {
  %y = vx.add %x, %x : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %w = vx.variable_load @w : tensor<2xf32>
  %before = vx.variable_load @count : tensor<2xf32>
  %after = vx.add %before, %w : tensor<2xf32>, tensor<2xf32>
  vx.variable_store %after, @count : tensor<2xf32>
  %cache = vx.variable_load @cache : tensor<?xf32, #vx.enc<[room]>>
  return %y, %w, %cache : tensor<?xf32, #vx.enc<[n]>>, tensor<2xf32>, tensor<?xf32, #vx.enc<[room]>>
}
"""


class RuntimeAlone(unittest.TestCase):
    def test_compile_says_what_is_missing(self):
        with self.assertRaisesRegex(ImportError, "install the wheel vx-compiler"):
            vx.compile("model.onnx", "model.vxm")

    def test_devices(self):
        self.assertIn("cpu", [backend["name"] for backend in vx.list_devices()["backends"]])

    def test_a_file_that_is_none(self):
        with self.assertRaisesRegex(vx.Error, "nosuch.vxm") as raised:
            vx.Module("nosuch.vxm")
        self.assertEqual((raised.exception.code, raised.exception.report), ("not_found", None))
        with self.assertRaises(vx.Error) as raised:
            vx.Module(b"no module")
        self.assertEqual(raised.exception.code, "invalid_module")

    def test_messages(self):
        for arguments, error, text in (((print, "loud"), ValueError, "level: want info, warning, error, got 'loud'"), (("print",), TypeError, "want a function or None, got str")):
            with self.assertRaisesRegex(error, text):
                vx.set_log(*arguments)
        vx.set_log(None)


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

    def test_arrays_of_other_types(self):
        """Integers for integers, f64 for f32 and back, where nothing but digits behind f32's is lost."""
        for kind in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_):
            np.testing.assert_array_equal(self.model.run("long", np.array([1, 0], kind))["y"], [1, 0])
        np.testing.assert_array_equal(self.model.run("long", np.array([-(2**31), 7], np.int32))["y"], [2**62, 49])
        exact = np.array([[0.1, 1e-50, np.inf]] * 2)
        sums = self.model(exact, b=np.zeros((2, 3)).tolist())["sum"]
        np.testing.assert_array_equal(sums, exact.astype(np.float32))
        np.testing.assert_array_equal(self.model.run_tensors("main", exact, exact[::-1])["sum"].shape, (2, 3))
        np.testing.assert_array_equal(self.model.submit("main", exact, exact).wait()["sum"], 2 * exact.astype(np.float32))
        # What other libraries give, too, but no tensor that may be on a device.
        np.testing.assert_array_equal(self.model.run("long", OfAnotherLibrary(np.array([3, 4], np.int32)))["y"], [9, 16])
        with self.assertRaisesRegex(vx.Error, "i64, got i32"):
            self.model.run("long", tensor_of(np.array([3, 4], np.int32)))

    def test_strings(self):
        source = vx.compile_bytes(b"""vx.symbol "n"
            func.func @main(%x: tensor<?x2x!vx.string, #vx.enc<[n, 2]>> {vx.name = "x"}) -> (tensor<?x2x!vx.string, #vx.enc<[n, 2]>> {vx.name = "y"}) {
              %0 = vx.host_function string_upper(%x) : (tensor<?x2x!vx.string, #vx.enc<[n, 2]>>) -> tensor<?x2x!vx.string, #vx.enc<[n, 2]>>
              return %0 : tensor<?x2x!vx.string, #vx.enc<[n, 2]>>
            }""", "words.mlir")
        model = vx.Instance(vx.Module(source), device="cpu")
        self.assertEqual(model(np.array([["a", "ünï"], ["", "b c"]]))["y"].tolist(), [["A", "ÜNÏ"], ["", "B C"]])
        self.assertEqual(model(np.array([["a", "\0"]], object))["y"].tolist(), [["A", "\0"]])
        self.assertEqual(model(np.empty((0, 2), object))["y"].shape, (0, 2))
        with self.assertRaises(TypeError):
            model(np.array([["a", 1]], object))

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
        # Of elements of 8 and 4 bits too.
        source = vx.compile_bytes(b"""func.func @main(%x: tensor<3xf32> {vx.name = "x"}) -> (tensor<3xf8E5M2> {vx.name = "f"}, tensor<3xi4> {vx.name = "i"}) {
              %0 = vx.cast %x : tensor<3xf32> -> tensor<3xf8E5M2>
              %1 = vx.cast %x : tensor<3xf32> -> tensor<3xi4>
              return %0, %1 : tensor<3xf8E5M2>, tensor<3xi4>
            }
            func.func @back(%f: tensor<3xf8E5M2> {vx.name = "f"}, %i: tensor<3xi4> {vx.name = "i"}) -> (tensor<3xf32> {vx.name = "y"}) {
              %0 = vx.cast %f : tensor<3xf8E5M2> -> tensor<3xf32>
              %1 = vx.cast %i : tensor<3xi4> -> tensor<3xf32>
              %2 = vx.sub %0, %1 : tensor<3xf32>, tensor<3xf32>
              return %2 : tensor<3xf32>
            }""", "narrow.mlir")
        narrow = vx.Instance(vx.Module(source), device="cpu")
        small = narrow(np.array([1.25, -2.5, 9], np.float32))
        self.assertEqual([repr(small[name]) for name in ("f", "i")], ["vx.Tensor(f8E5M2, (3,))", "vx.Tensor(i4, (3,))"])
        np.testing.assert_array_equal(narrow.run("back", Halves(small["f"]), Halves(small["i"]))["y"], [0.25, -0.5, 1])

    def test_results_that_stay_where_they_are(self):
        module = vx.Module(vx.compile_bytes(self.text.encode(), "add.mlir", targets="cpu,vulkan"))
        x = np.arange(15, dtype=np.float32).reshape(5, 3)
        for device in ("cpu", "vulkan"):
            model = vx.Instance(module, device=device, fallback=False)
            first = model.run_tensors("main", x, x)["sum"]
            self.assertIsInstance(first, vx.Tensor)
            second = model.run_tensors("main", first, first)["sum"]
            np.testing.assert_array_equal(np.from_dlpack(second, device="cpu"), 4 * x)
            np.testing.assert_array_equal(self.model(first, second)["sum"], 6 * x)  # on another device
        # In memory of the host they are given where they are.
        tensor = self.model.run_tensors("main", x, x)["sum"]
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        self.assertEqual(np.from_dlpack(tensor).ctypes.data, np.from_dlpack(tensor).ctypes.data)

        class OfCuda:  # whose work is made to end before what the default stream does
            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, **options):
                self.options = options
                return vx.Tensor.__dlpack__(tensor)

        array = OfCuda()
        np.testing.assert_array_equal(self.model(array, x)["sum"], 3 * x)
        self.assertEqual(array.options, {"max_version": (1, 0), "stream": 1})

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
                                  (lambda: self.model(a, a.astype(np.int32)), vx.Error, "f32, got i32"),
                                  (lambda: self.model(a, a.astype(np.float16)), vx.Error, "f32, got f16"),
                                  (lambda: self.model(a, np.full((2, 3), 1e39)), ValueError, r"input 'b': 1e\+39 at \[0, 0\] is no value of f32: expected -3.4\S+ to 3.4"),
                                  (lambda: self.model.run("long", np.array([1, 2**63], np.uint64)), ValueError,
                                   f"input 'x': {2**63} at \\[1\\] is no value of i64: expected -{2**63} to {2**63 - 1}"),
                                  (lambda: self.model.run("long", np.array([1.0, 2.0])), vx.Error, "i64, got f64"),
                                  (lambda: self.model(a, np.array(["x"])), vx.Error, "want element type f32, got string"),
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

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def training_module(self):
        """Compiled by who asks first."""
        module = self.path("train.vxm")
        if not os.path.exists(module):
            notes = vx.compile(os.path.join(os.environ["VX_SOURCE"], "examples", "train_digits", "network.onnx"), module, targets="cpu", train="auto",
                               loss="cross_entropy", optimizer="adamw:weight_decay=0.01", init="random", keep_gradients=True)
            self.assertTrue(any("initializers are trained" in note for note in notes), notes)
        return module

    def test_training(self):
        module = self.training_module()
        session = vx.Session(module, device="cpu", seed=1)
        data = {"image": self.images[:350], "label": self.labels[:350]}
        test = {"image": self.images[350:], "label": self.labels[350:]}
        before = session.evaluate(test)["accuracy"]
        seen = []
        history = session.fit(data, epochs=12, batch=32, validation=test, rate=3e-3, schedule="cosine:1e-4", seed=2, on_epoch=seen.append)
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

        with self.assertRaisesRegex(vx.TrainError, "label"):
            session.fit({"image": data["image"]})
        with self.assertRaisesRegex(vx.TrainError, "row 0 has 14, want 0 to 9"):
            session.fit({"image": data["image"], "label": data["label"] + 12}, epochs=30)

    def training(self, rows=96):
        return vx.Session(self.training_module(), device="cpu", seed=1), {"image": self.images[:rows], "label": self.labels[:rows]}

    def test_callbacks(self):
        session, data = self.training()
        steps, every, epochs = [], [], []
        history = session.fit(data, epochs=2, batch=32, on_step=steps.append, on_epoch=epochs.append)
        self.assertEqual([(step["epoch"], step["step"], step["step_in_epoch"]) for step in steps], [(1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 4, 1), (2, 5, 2), (2, 6, 3)])
        self.assertEqual(sorted(steps[0]), ["accuracy", "epoch", "loss", "rate", "step", "step_in_epoch"])
        self.assertAlmostEqual(np.mean([step["loss"] for step in steps[:3]]), epochs[0]["loss"], places=5)
        self.assertEqual((steps[0]["rate"], epochs), (1e-3, history))
        session.fit(data, epochs=6, batch=32, on_step=(every.append, 5))
        self.assertEqual([step["step"] for step in every], [10, 15])
        # What a callback raises ends training behind its step, and the next fit goes on from there.
        kept = []

        def fail(facts):
            kept.append(facts["step"])
            raise RuntimeError(f"step {facts['step']}")

        for how in ({"on_step": fail}, {"on_epoch": fail}, {"on_step": (fail, 2)}):
            with self.assertRaisesRegex(RuntimeError, r"^step \d+$"):
                session.fit(data, epochs=100, batch=32, **how)
        self.assertEqual(kept, [19, 21, 22])
        self.assertEqual(session.progress(), {"step": 22, "epoch": 7, "row": 32, "seed": 0})
        self.assertEqual(session.fit(data, epochs=8, batch=32).stopped, None)
        self.assertEqual(session.progress()["step"], 24)
        # In a callback the session may be asked, and stopped; it does not train twice.
        scores = []
        history = session.fit(data, epochs=100, batch=32, on_step=lambda step: (scores.append(session.evaluate(data)["loss"]), session.stop()))
        self.assertEqual((history, history.stopped, session.progress()["step"], len(scores)), ([], "stopped", 25, 1))
        with self.assertRaisesRegex(vx.TrainError, "fit: called by what a fit calls"):
            session.fit(data, epochs=100, batch=32, on_step=lambda step: session.fit(data, epochs=100))

    def test_a_session_in_two_threads(self):
        session, data = self.training()
        told, started = [], threading.Event()

        def other():
            started.wait(30)
            for ask in (lambda: session.evaluate(data), lambda: session.fit(data), session.summary, lambda: session.read_variable("step")):
                with self.assertRaisesRegex(vx.TrainError, "the session is used by another thread") as raised:
                    ask()
                told.append(raised.exception.code)
            session.stop()

        thread = threading.Thread(target=other)
        thread.start()
        history = session.fit(data, epochs=1000000, batch=32, on_step=lambda step: started.set())
        thread.join()
        self.assertEqual((told, history.stopped), (["argument"] * 4, "stopped"))

    def test_training_that_goes_on(self):
        session, data = self.training()
        folder, file = self.path("checkpoints"), self.path("history.json")
        whole = dict(batch=32, schedule="cosine:1e-5", warmup=2, rate=1e-2, seed=3)
        history = session.fit(data, epochs=4, **whole, history=file)
        self.assertEqual((history.schedule, history.seed, history.optimizer, history.stopped), ("warmup(2, cosine(0.01, 1e-05))", 3, "adamw:beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.01", None))
        self.assertEqual([epoch["loss"] for epoch in json.loads(read(file))["epochs"]], [epoch["loss"] for epoch in history])
        want = session.predict(data)["logits"]
        first = vx.Session(self.training_module(), device="cpu", seed=1)
        history = first.fit(data, epochs=4, checkpoint=(folder, 2), on_step=lambda step: step["step"] == 7 and first.stop(), **whole)
        self.assertEqual((len(history), history.stopped), (2, "stopped"))
        self.assertEqual(sorted(os.listdir(folder)), ["checkpoint-000000000006.safetensors", "checkpoint-000000000007.safetensors"])
        second = vx.Session(self.training_module(), device="cpu", seed=77)
        second.fit(data, epochs=4, resume=folder, checkpoint=folder, **whole)
        np.testing.assert_array_equal(second.predict(data)["logits"], want)  # bit by bit
        rates = []
        session, _ = self.training()
        session.fit(data, epochs=2, batch=32, rate=1e-2, warmup=3, schedule="step:1,0.5", on_step=lambda step: rates.append(round(step["rate"], 6)))
        self.assertEqual(rates, [0.003333, 0.006667, 0.01, 0.01, 0.01, 0.01])
        session, _ = self.training()
        steps = []
        session.fit(data, batch=32, accumulate=2, on_step=steps.append)
        self.assertEqual(len(steps), 2)
        session.fit(data, epochs=50, batch=32, rate=0, early_stop=2)
        self.assertEqual(session.progress()["epoch"], 4)
        session, _ = self.training()
        self.assertRegex(session.fit(data, epochs=50, batch=32, early_stop=(3, 100)).stopped, "^early stopping: loss .* by more than 100 in 3 epochs$")
        broken = {"image": np.full_like(data["image"], np.nan), "label": data["label"]}
        self.assertRegex(session.fit(broken, epochs=50, batch=32, stop_on_nan=True).stopped, "the loss is nan")
        self.assertTrue(any("nan" in note for note in session.fit(broken, epochs=session.progress()["epoch"] + 1, batch=32).notes))

    def test_data_of_other_types(self):
        """Labels of any integers, and images in f64, are the same training."""
        want = None
        for image, label in ((np.float32, np.int64), (np.float64, np.int32), (np.float64, np.uint8)):
            session, data = self.training()
            converted = {"image": data["image"].astype(image), "label": data["label"].astype(label)}
            history = session.fit(converted, epochs=2, batch=32, validation=converted)
            got = [(epoch["loss"], epoch["validation"]["loss"]) for epoch in history], session.evaluate(converted, batch=5)["accuracy"], session.predict(converted)["logits"].tolist()
            want = want or got
            self.assertEqual(got, want)

    def test_labels_that_do_not_count(self):
        module = self.path("ignoring.vxm")
        vx.compile(os.path.join(os.environ["VX_SOURCE"], "examples", "train_digits", "network.onnx"), module, targets="cpu", train="auto", loss="cross_entropy:ignore_index=-1",
                   optimizer="sgd", init="random", dropout="frozen")
        session = vx.Session(module, device="cpu", seed=1)
        images, labels = self.images[:40], self.labels[:40].copy()
        labels[3:20] = labels[25:39] = -1
        data, kept = {"image": images, "label": labels}, labels >= 0
        logits = session.predict(data)["logits"].astype(np.float64)
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        want = {"loss": -logs[kept, labels[kept]].mean(), "accuracy": (logits.argmax(1) == labels)[kept].mean()}
        for batch in (1, 7, 40):
            epoch, = session.fit(data, epochs=session.progress()["epoch"] + 1, batch=batch, validation=data, rate=0)
            for got in (session.evaluate(data, batch=batch), epoch, epoch["validation"]):
                for name, value in want.items():
                    self.assertAlmostEqual(got[name], value, places=5)

    def test_mistakes_of_training(self):
        session, data = self.training()
        form = "schedule: want constant, cosine\\[:END\\], step:EPOCHS\\[,FACTOR\\], exponential:FACTOR or one-cycle\\[:PART\\], got "
        for how, error, text in (({"schedule": "magic"}, ValueError, form + "'magic'"), ({"schedule": "cosine:"}, ValueError, form), ({"schedule": "step"}, ValueError, form),
                                 ({"schedule": "step:0.5"}, ValueError, form), ({"schedule": "cosine:1,2"}, ValueError, form), ({"schedule": 3}, ValueError, form),
                                 ({"schedule": "cosine:nan"}, ValueError, form), ({"schedule": "one-cycle:7"}, vx.TrainError, "7"),
                                 ({"epochs": 1.5}, TypeError, "epochs: want a whole number, got float"), ({"epochs": -1}, ValueError, "epochs: want 0 to .*, got -1"),
                                 ({"batch": 2**40}, ValueError, "batch: want 0 to 2147483647, got 1099511627776"), ({"accumulate": 0}, ValueError, "accumulate: want 1 to"),
                                 ({"rate": "fast"}, ValueError, "fast"), ({"rate": -1}, vx.TrainError, "-1"), ({"early_stop": 0}, ValueError, "early_stop: want 1 to"),
                                 ({"early_stop": (1, 2, 3)}, ValueError, "early_stop: want one or a pair, got 3"), ({"checkpoint": (self.path("x"), 0)}, ValueError, "checkpoint: want 1 to"),
                                 ({"checkpoint": 5}, TypeError, "int"), ({"on_step": 5}, TypeError, "on_step: want a function, got int"),
                                 ({"on_step": (print, 0)}, ValueError, "on_step: want 1 to"), ({"on_epoch": "print"}, TypeError, "on_epoch: want a function, got str"),
                                 ({"resume": self.path("nosuch")}, vx.TrainError, "nosuch"), ({"validation": [1]}, TypeError, "data: want a dict of arrays, got list"),
                                 ({"history": self.path("nosuch/h.json")}, vx.TrainError, "nosuch"), ({"end": 1}, TypeError, "end")):
            with self.assertRaisesRegex(error, text, msg=how):
                session.fit(data, **{"batch": 32, **how})
        far, large = data["image"].astype(np.float64), data["label"].astype(np.uint64)
        far[1].flat[5] = 1e39
        large[2] = 2**64 - 1
        for given, error, text in (([1], TypeError, "data: want a dict of arrays, got list"), ({"image": 1.0, "label": data["label"]}, vx.TrainError, "image"),
                                   ({"image": data["image"], "label": data["label"][:5]}, vx.TrainError, "label"),
                                   ({"image": data["image"].astype(np.uint8), "label": data["label"]}, vx.TrainError, "u8 does not become f32 by itself, since only you know"),
                                   ({"image": data["image"].astype(np.float16), "label": data["label"]}, vx.TrainError, "f16 does not become f32 by itself, since that may lose"),
                                   ({"image": data["image"], "label": data["label"].astype(np.float32)}, vx.TrainError, "f32 does not become i64 by itself, since that may lose"),
                                   ({"image": far, "label": data["label"]}, vx.TrainError, r"image: row 1, element 5, has 1e\+39, expected a value that f32 holds"),
                                   ({"image": data["image"], "label": large}, vx.TrainError, f"label: row 2 has {2**64 - 1}"), ({}, vx.TrainError, "")):
            with self.assertRaisesRegex(error, text):
                session.fit(given)
        with self.assertRaises(vx.TrainError) as raised:
            session.save(self.path("nosuch/s.safetensors"))
        self.assertEqual(raised.exception.code, "io")
        session, data = self.training()
        with self.assertRaises(vx.TrainError) as raised:
            session.fit(data, epochs=2, batch=32, history=self.path("nosuch/h.json"))
        self.assertEqual((raised.exception.code, len(raised.exception.history), session.progress()["epoch"]), ("io", 2, 2))
        # A disk that is full leaves the session as it is, and what the steps have trained can go elsewhere.
        with no_room(), self.assertRaises(vx.TrainError) as raised:
            session.save(self.path("full.safetensors"))
        self.assertEqual((raised.exception.code, os.path.exists(self.path("full.safetensors"))), ("io", False))
        with no_room(), self.assertRaises(vx.TrainError) as raised:
            session.fit(data, epochs=5, batch=32, checkpoint=self.path("full"))
        self.assertEqual((raised.exception.code, os.listdir(self.path("full")), session.progress()["epoch"]), ("io", [], 3))
        session.save(self.path("rescued.safetensors"))
        session.fit(data, epochs=4, batch=32)
        with self.assertRaises(vx.TrainError) as raised:
            session.load(self.path("nosuch.safetensors"))
        self.assertEqual(raised.exception.code, "data")

    def test_assets(self):
        assets = vx.Module(self.training_module()).assets()
        self.assertTrue(all(sorted(asset) == ["bytes", "kind", "name"] and isinstance(asset["bytes"], bytes) for asset in assets), assets)
        self.assertTrue(any(b"Gemm" in asset["bytes"] for asset in assets))  # what export_onnx completes
        self.assertEqual(self.module.assets(), [])

    def test_estimates(self):
        module = vx.Module(self.digits)
        model = vx.Instance(module, device="cpu")
        one, many = model.estimate_memory(batch=1), model.estimate_memory("main", batch=450)
        self.assertEqual((one["results"], many["results"]), (64, 450 * 40 + -(450 * 40) % 64) if one["results"] == 64 else (40, 450 * 40))
        self.assertGreater(many["arena"], one["arena"])
        self.assertEqual(one["total"], sum(one[part] for part in ("constants", "variables", "arena", "inputs", "results")))
        self.assertEqual((one["fits"], one["open_size"], one["memory_limit"]), (True, None, 0))
        self.assertEqual(module.estimate_memory(device="cpu", batch=450), many)
        limited = module.estimate_memory(device="cpu", memory_limit=1000, batch=450)
        self.assertEqual((limited["fits"], limited["memory_limit"]), (False, 1000))
        for ask in (module.estimate_memory, model.estimate_memory):
            for how, error, text, code in (({}, vx.Error, "batch", "invalid_argument"), ({"batch": 1, "width": 3}, vx.Error, "width", "invalid_argument"),
                                           ({"batch": -1}, vx.Error, "-1", "invalid_argument"), ({"function": "f", "batch": 1}, vx.Error, "f", "not_found"),
                                           ({"batch": 1.5}, TypeError, "size 'batch': want a whole number, got float", None), ({"batch": "1"}, TypeError, "got str", None),
                                           ({"batch": 2**70}, ValueError, "size 'batch'", None)):
                with self.assertRaisesRegex(error, text) as raised:
                    ask(**how)
                self.assertEqual(getattr(raised.exception, "code", None), code)
        with self.assertRaisesRegex(vx.Error, "tpu"):
            module.estimate_memory(device="tpu", batch=1)
        with self.assertRaisesRegex(ValueError, "memory_limit: want 0 to .*, got -1"):
            module.estimate_memory(memory_limit=-1, batch=1)

    def test_instances_that_share(self):
        module = vx.Module(vx.compile_bytes(KEPT, "kept.mlir"))
        self.assertEqual(module.estimate_memory(device="cpu", room=100, n=1)["variables"] - module.estimate_memory(device="cpu", room=10, n=1)["variables"], 4 * 90)
        first = vx.Instance(module, device="cpu", symbols={"room": 7})
        second = vx.Instance(module, symbols={"room": 9}, share=first)
        x = np.ones(3, np.float32)
        self.assertEqual([model(x)["cache"].shape for model in (first, second)], [(7,), (9,)])
        first.write_variable("w", np.array([5, 6], np.float32))
        del first
        gc.collect()
        self.assertEqual((second(x)["w"].tolist(), second(x)["y"].tolist()), ([5, 6], [2, 2, 2]))
        self.assertEqual(second.read_variable("count").tolist(), [11, 14])  # its own
        other = vx.Instance(vx.Module(vx.compile_bytes(KEPT, "kept.mlir")), device="cpu", symbols={"room": 7})
        for how, error, text in (({}, vx.Error, "room"), ({"symbols": {"room": 0}}, vx.Error, "room"), ({"symbols": {"room": 1, "n": 2}}, vx.Error, "n"),
                                 ({"symbols": {"room": 1.5}}, TypeError, "size 'room': want a whole number, got float"),
                                 ({"symbols": {"room": 1}, "share": other}, vx.Error, "module"), ({"symbols": {"room": 1}, "share": module}, TypeError, "share: want an instance, got Module"),
                                 ({"symbols": {"room": 1}, "share": second, "device": "cpu"}, ValueError, "share: device"),
                                 ({"symbols": {"room": 1}, "threads": -1}, ValueError, "threads: want 0 to"), ({"symbols": {"room": 1}, "seed": 0.5}, TypeError, "seed: want")):
            with self.assertRaisesRegex(error, text, msg=how):
                vx.Instance(module, **how)
        with self.assertRaises(vx.Error) as raised:
            vx.Instance(module, device="cpu", symbols={"room": 7}, memory_limit=640)(np.ones(1000, np.float32))
        self.assertEqual(raised.exception.code, "out_of_memory")

    def spinning(self):
        return vx.Instance(vx.Module(vx.compile_bytes(SPIN, "spin.mlir")), device="cpu")

    def forever(self, model, x, **options):
        pending = model.submit("main", FOREVER, x, **options)
        self.addCleanup(pending.cancel)  # where the test fails
        return pending

    def test_runs_beside_this_thread(self):
        model, x = self.spinning(), np.array([1, 2], np.float32)
        pending = self.forever(model, x)
        self.assertFalse(pending.done())
        for timeout in (0, 0.05, 0.12):
            began = time.monotonic()
            with self.assertRaises(vx.Error) as raised:
                pending.wait(timeout)
            self.assertEqual((raised.exception.code, str(raised.exception)), ("timed_out", f"the run is not done after {float(timeout)} s; it goes on"))
            self.assertGreaterEqual(time.monotonic() - began, timeout)
        self.assertGreater(count_during(lambda: self.assertRaises(vx.Error, pending.wait, 0.2)), 10)  # others go on while it waits
        pending.cancel()
        for _ in range(2):
            with self.assertRaisesRegex(vx.Error, "the run was cancelled") as raised:
                pending.wait()
            self.assertEqual(raised.exception.code, "cancelled")
        self.assertTrue(pending.done())
        late = self.forever(model, x, deadline_ms=30)
        with self.assertRaisesRegex(vx.Error, "not done after its deadline of 30 ms") as raised:
            late.wait(timeout=20)
        self.assertEqual(raised.exception.code, "cancelled")
        dropped = [model.submit("main", FOREVER, x, deadline_ms=300)]
        self.assertGreater(count_during(dropped.clear), 10)  # who drops it waits, and others go on
        self.assertEqual(model.read_variable("kept").tolist(), [0, 0])  # as if they had not been
        done = model.submit("main", np.array(3), x=x, deadline_ms=60000)
        self.assertEqual(done.wait(60)["y"].tolist(), [4, 8])
        done.cancel()
        self.assertEqual((done.wait()["y"].tolist(), done.done()), ([4, 8], True))
        # Those that store the same variable, in their order.
        runs = [model.submit("main", np.array(i), x) for i in range(8)]
        self.assertEqual([run.wait()["y"].tolist() for run in runs], [[i + 1, 2 * i + 2] for i in range(8)])
        self.assertEqual(model.read_variable("kept").tolist(), [40, 80])
        fault = model.submit("pick", np.ones(4, np.float32), np.array(9))
        with self.assertRaisesRegex(vx.Error, "index is 9, allowed is") as raised:
            fault.wait()
        self.assertEqual((raised.exception.code, fault.done()), ("fault", True))
        for call, error, text in ((lambda: model.submit("f"), KeyError, "no function 'f'"), (lambda: model.submit("main", np.array(1)), TypeError, "got none for x"),
                                  (lambda: model.submit("main", np.array(1), np.ones(3, np.float32)), vx.Error, "3"),
                                  (lambda: model.submit("main", np.array(1), x, deadline_ms=-1), ValueError, "deadline_ms: want 0 to 4294967295, got -1"),
                                  (lambda: model.submit("main", np.array(1), x, deadline_ms=0.5), TypeError, "deadline_ms: want a whole number, got float"),
                                  (lambda: done.wait(-1), ValueError, "timeout: want 0 seconds or more, got -1"), (lambda: done.wait(float("nan")), ValueError, "got nan"),
                                  (lambda: done.wait("1"), TypeError, "")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_what_a_run_reads_lives_as_long_as_it(self):
        model = self.spinning()
        x = np.array([1, 2], np.float32)
        gone = weakref.ref(x)
        pending = model.submit("main", np.array(20000), x)
        del x, model
        gc.collect()
        self.assertEqual(pending.wait()["y"].tolist(), [20001, 40002])
        del pending
        gc.collect()
        self.assertIsNone(gone())

    def test_threads_that_share_an_instance(self):
        model, x, failed = self.spinning(), np.array([1, 1], np.float32), []

        def work(i):
            try:
                for k in range(20):
                    pending = model.submit("main", np.array(i + k), x)
                    if k % 3 == 0:
                        pending.cancel()
                        self.assertIn(code_of(pending.wait), ("cancelled", "ok"))
                    elif k % 3 == 1:
                        self.assertEqual(pending.wait(60)["y"][0], i + k + 1)
                    self.assertEqual(model(np.array(i), x)["y"][0], i + 1)
                    self.assertEqual(model.run("pick", np.arange(4, dtype=np.float32), np.array(i % 4))["y"], i % 4)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        # One run, for which several threads wait.
        pending, told = self.forever(model, x), []
        waiting = [threading.Thread(target=lambda: told.append(code_of(pending.wait))) for _ in range(4)]
        for thread in waiting:
            thread.start()
        time.sleep(0.05)
        self.assertEqual(told, [])
        pending.cancel()
        for thread in waiting:
            thread.join()
        self.assertEqual(told, ["cancelled"] * 4)

    def test_ctrl_c(self):
        model, x = self.spinning(), np.array([1, 1], np.float32)
        pending = self.forever(model, x)
        late = threading.Timer(20, pending.cancel)
        late.start()
        began = time.monotonic()
        with interrupted_after(0.1), self.assertRaises(KeyboardInterrupt):
            pending.wait()
        late.cancel()
        self.assertLess(time.monotonic() - began, 10)
        self.assertFalse(pending.done())  # it was the waiting that ended
        pending.cancel()
        self.assertEqual(code_of(pending.wait), "cancelled")
        # A run that this thread waits in is cancelled, also while it waits for its turn, and has changed nothing.
        for is_queued in (False, True):
            before = self.forever(model, x) if is_queued else None
            late = threading.Timer(20, os._exit, (1,))
            late.start()
            began = time.monotonic()
            with interrupted_after(0.2), self.assertRaises(KeyboardInterrupt):
                model.run("main", FOREVER, x)
            late.cancel()
            self.assertLess(time.monotonic() - began, 10)
            if is_queued:
                self.assertFalse(before.done())
                before.cancel()
                self.assertEqual(code_of(before.wait), "cancelled")
        self.assertEqual(model.read_variable("kept").tolist(), [0, 0])
        self.assertEqual(model.run("main", np.array(1), x)["y"].tolist(), [2, 2])  # and it goes on
        session, data = self.training()
        folder = self.path("interrupted")

        def press():
            while not os.path.isdir(folder):
                time.sleep(0.01)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=press)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            session.fit(data, epochs=10**9, batch=32, max_steps=20000, checkpoint=(folder, 10**8))
        thread.join()
        step = session.progress()["step"]
        self.assertLess(step, 20000)
        self.assertEqual(os.listdir(folder), [f"checkpoint-{step:012}.safetensors"])
        session.fit(data, epochs=10**9, max_steps=step + 1, batch=32)  # and it goes on
        self.assertEqual(session.progress()["step"], step + 1)
        # What evaluates ends at once, a step of many batches at the second time, and the session stands before it.
        many = {name: np.repeat(values, 1500, 0) for name, values in data.items()}
        session, _ = self.training()
        weights = session.read_variable("fc1.weight")
        for seconds, call in (((0.3,), lambda: session.evaluate(many, batch=1)), ((0.3,), lambda: session.predict(many, batch=1)),
                              ((0.3, 0.8), lambda: session.fit(many, batch=1, accumulate=10**6)), ((2,), lambda: session.fit(data, batch=1, validation=many))):
            late = threading.Timer(60, os._exit, (1,))
            late.start()
            began = time.monotonic()
            with contextlib.ExitStack() as stack:
                for second in seconds:
                    stack.enter_context(interrupted_after(second))
                stack.enter_context(self.assertRaises(KeyboardInterrupt))
                call()
            late.cancel()
            self.assertLess(time.monotonic() - began, 20)
            self.assertEqual(session.progress()["epoch"], 0)
            if len(seconds) == 2:
                self.assertEqual(session.progress()["step"], 0)
                np.testing.assert_array_equal(session.read_variable("fc1.weight"), weights)
        self.assertEqual(len(session.fit(data, batch=1, validation=data)), 1)  # the epoch ends with its validation, and no step is made twice
        self.assertEqual((session.progress()["step"], session.progress()["epoch"]), (96, 1))

    def test_the_end_of_the_process(self):
        """A run that would go on forever, a function that receives messages, results and a session are there when it ends."""
        with open(self.path("spin.vxm"), "wb") as file:
            file.write(vx.compile_bytes(SPIN, "spin.mlir"))
        done = subprocess.run([sys.executable, "-c", """if True:
            import sys
            import numpy as np, vx
            vx.set_log(lambda level, text: None, "info")
            model = vx.Instance(sys.argv[1], device="cpu")
            x = np.ones(2, np.float32)
            runs = [model.submit("main", np.array(1 << 40), x) for _ in range(2)]
            results = model.run("pick", np.ones(4, np.float32), np.array(1))
            print("ends", flush=True)
            """, self.path("spin.vxm")], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ends\n", ""))

    def test_log(self):
        told = []
        vx.set_log(lambda level, text: told.append((level, text)), "info")
        try:
            vx.Instance(self.digits, device="cpu")
            self.assertEqual([level for level, _ in told], ["info"])
            self.assertRegex(told[0][1], r"digits.vxm: device cpu:0 \(.*\) is taken$")
            vx.set_log(lambda level, text: told.append((level, text)))
            del told[:]
            vx.Instance(self.digits, device="cuda:9")
            self.assertEqual([level for level, _ in told], ["warning"])
            # On several threads, one message at a time, while others use the runtime.
            del told[:]
            vx.set_log(lambda level, text: (time.sleep(0.001), told.append(level)), "info")
            threads = [threading.Thread(target=lambda: [vx.Instance(self.module, device="cpu") for _ in range(10)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for i in range(20):  # the one before is not called any more when set_log returns
                vx.set_log(lambda level, text, i=i: told.append(level), "info")
            for thread in threads:
                thread.join()
            self.assertGreater(len(told), 0)
            # What it raises is nobody's failure.
            unraised = []
            hook, sys.unraisablehook = sys.unraisablehook, lambda what: unraised.append(repr(what.exc_value))
            try:
                vx.set_log(lambda level, text: 1 // 0, "info")
                vx.Instance(self.digits, device="cpu")
            finally:
                sys.unraisablehook = hook
            self.assertEqual(unraised, ["ZeroDivisionError('integer division or modulo by zero')"])
        finally:
            vx.set_log(None)
        del told[:]
        vx.Instance(self.digits, device="cuda:9")
        self.assertEqual(told, [])

    def test_a_model_for_a_module(self):
        model = os.path.join(DIGITS, "digits.onnx")
        module = model.replace(".onnx", ".vxm")
        with self.assertRaisesRegex(vx.Error, f"{model}: is an ONNX model and no vx module: compile it with 'vx-compile {model} -o {module}'"):
            vx.Module(model)
        with self.assertRaisesRegex(vx.Error, "is an ONNX model and no vx module: compile it with vx-compile, or vxc_compile_bytes"):
            vx.Module(read(model))

    def test_a_model_that_states_another_shape(self):
        # ModelProto: an output 'y' of f32[3], which Relu makes of f32[2].
        tensor = lambda name, size: b"\x0a\x01" + name + b"\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08" + bytes([size])
        graph = b"\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\x12\x01g" + b"".join(bytes([tag, len(part)]) + part for tag, part in ((0x5a, tensor(b"x", 2)), (0x62, tensor(b"y", 3))))
        model = b"\x08\x08\x3a" + bytes([len(graph)]) + graph + b"\x42\x02\x10\x11"
        self.assertEqual(vx.Instance(vx.Module(vx.compile_bytes(model, targets="cpu")))(np.array([-1, 2], np.float32))["y"].tolist(), [0, 2])
        with self.assertRaisesRegex(vx.CompileError, "output 'y': expects the shape that the graph states: want 'f32\\[3\\]', got 'f32\\[2\\]'; the model breaks"):
            vx.compile_bytes(model, targets="cpu", strict=True)

    def test_codes(self):
        for call, kind, code in ((lambda: vx.Instance(self.module, device="cuda", fallback=False), vx.Error, "no_device"),
                                 (lambda: self.model.read_variable("nosuch"), vx.Error, "not_found"),
                                 (lambda: self.model(np.ones((2, 3), np.float16), np.ones((2, 3))), vx.Error, "invalid_argument"),
                                 (lambda: vx.Session(self.module), vx.TrainError, "argument"),
                                 (lambda: vx.compile_bytes(b"no model"), vx.CompileError, "unsupported"),
                                 (lambda: vx.compile("a.onnx", "x.vxm", targets="tpu"), vx.CompileError, "usage")):
            with self.assertRaises(kind) as raised:
                call()
            self.assertEqual((type(raised.exception), raised.exception.code), (kind, code))
            if code == "no_device":
                self.assertEqual(json.loads(raised.exception.report)["refused"][0]["device"], "cuda")
        for option in ({"precision": 1}, {"threads": -1}, {"dims": "batch=1"}, {"strict_math": "yes"}, {"strict": 1}, {"clip_norm": "a"}, {"classes": 1.5}):
            with self.assertRaisesRegex(TypeError, f"option '{list(option)[0]}' does not take"):
                vx.compile("a.onnx", "x.vxm", **option)

    def test_dlpack(self):
        """Without copies, on each device; NumPy says what a tensor looks like."""
        text = self.text.replace("vx.add", "vx.mul", 1)
        module = vx.Module(vx.compile_bytes(text.encode(), "mul.mlir", targets="cpu,vulkan"))
        for device in ("cpu", "vulkan"):
            model = vx.Instance(module, device=device, fallback=False)
            x = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
            before = sys.getrefcount(x)
            tensor = tensor_of(x)
            self.assertGreater(sys.getrefcount(x), before)  # it holds the array
            self.assertEqual((tensor.shape, tensor.dtype, tensor.__dlpack_device__()), ((5, 3), "f32", (1, 0)))
            got = model(tensor, x)["sum"]
            self.assertEqual((got.dtype, got.flags.writeable), (np.float32, False))
            np.testing.assert_array_equal(got, x * x)
            copy = got.copy()
            del got, tensor
            gc.collect()
            self.assertEqual(sys.getrefcount(x), before)
            np.testing.assert_array_equal(copy, x * x)
            integers = model.run("long", np.array([7, -3]))["y"]
            self.assertEqual((integers.dtype, integers.tolist()), (np.int64, [49, 9]))
        for array, text in ((np.asfortranarray(np.ones((4, 3), np.float32)), "stride"), (np.ones((6, 3), np.float32)[::2], "stride"), (np.ones(3, np.float32)[::-1], "stride"),
                            (np.ones(3, np.complex64), "type code 5 of 64 bits")):
            with self.assertRaisesRegex(vx.Error, text) as raised:
                tensor_of(array)
            self.assertEqual(raised.exception.code, "unsupported")
        for kind in (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float64):
            array = np.arange(6).astype(kind).reshape(2, 3)
            again = np.from_dlpack(tensor_of(array))
            self.assertEqual((again.dtype, np.shares_memory(again, array)), (array.dtype, True))
            np.testing.assert_array_equal(again, array)
        capsule = np.ones(3).__dlpack__(max_version=(1, 0))
        vx.Tensor.from_capsule(capsule)
        for wrong in (capsule, np.ones(3).__dlpack__(), 5):  # used up, of an old version, none
            with self.assertRaises(TypeError):
                vx.Tensor.from_capsule(wrong)
        array = np.ones(3)
        gone = weakref.ref(array)
        given = tensor_of(array).__dlpack__()
        del given, array  # nobody has taken it
        gc.collect()
        self.assertIsNone(gone())

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


def tensor_of(array):
    return vx.Tensor.from_capsule(array.__dlpack__(max_version=(1, 0)))


def code_of(call):
    try:
        call()
    except vx.Error as error:
        return error.code
    return "ok"


@contextlib.contextmanager
def no_room():
    """Files may not grow, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


class OfAnotherLibrary:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class interrupted_after:
    """As if somebody pressed Ctrl-C so many seconds later."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.cancel()
        self.timer.join()


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
    faulthandler.dump_traceback_later(240, exit=True)  # who waits for the interpreter's lock does so forever
    unittest.main()
