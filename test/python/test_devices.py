"""Devices as values, the default device, and tensors in the memory of devices."""
import copy
import os
import pickle
import unittest.mock

import numpy as np

import package_test
from package_test import DIGITS
import vx


HALF = b"""func.func @main(%x: tensor<4xbf16> {vx.name = "x"}) -> (tensor<4xf32> {vx.name = "y"}) {
  %0 = vx.cast %x : tensor<4xbf16> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


class Devices(package_test.Package):
    def tearDown(self):
        vx.set_default_device(None)

    def places(self):
        return [str(device) for device in vx.devices()]

    def test_values(self):
        for text, kind, index in (("cpu", "cpu", 0), ("cpu:0", "cpu", 0), ("cuda:3", "cuda", 3), ("rocm", "rocm", 0), ("vulkan:12", "vulkan", 12), ("auto", "auto", 0), ("null", "null", 0)):
            device = vx.Device(text)
            self.assertEqual((device.kind, device.index), (kind, index))
            self.assertIs(device.kind, vx.DeviceKind(kind))
            self.assertEqual(str(device), text if ":" in text or text == "auto" else text + ":0")
            for same in (copy.copy(device), copy.deepcopy(device), vx.Device(device), pickle.loads(pickle.dumps(device)), eval(repr(device), {"vx": vx})):
                self.assertTrue(same == device and hash(same) == hash(device) and not same != device)
        self.assertEqual(len({vx.Device("cpu"), vx.Device("cpu:0"), vx.Device("cpu:1"), vx.Device("cuda")}), 3)
        self.assertFalse(vx.Device("cpu") == "cpu:0")
        self.assertEqual((vx.Device("cpu").kind == "cpu", f"{vx.DeviceKind.CUDA}"), (True, "cuda"))
        with self.assertRaisesRegex(AttributeError, "a device is a value, make another one"):
            vx.Device("cpu").index = 1
        for given, error, text in (("gpu", ValueError, "Device: expected one of auto, cpu, cuda, rocm, vulkan, null, with a number after a colon or none, got 'gpu'"), ("cpu:", ValueError, "'cpu:': expected a number after the colon, got ''"),
                                   ("cpu:-1", ValueError, "got '-1'"), ("cpu:x", ValueError, "got 'x'"), ("auto:0", ValueError, "and none for auto, got '0'"), ("cuda:4294967296", ValueError, "got '4294967296'"), (3, TypeError, "expected a name such as 'cuda:0', got int"), ("", ValueError, "got ''")):
            with self.assertRaisesRegex(error, text):
                vx.Device(given)

    def test_what_is_there(self):
        cpu = vx.Device("cpu")
        self.assertEqual((cpu.is_available, cpu.is_gpu, vx.available("cpu"), vx.available(vx.DeviceKind.CPU), vx.available(cpu), vx.available("cpu:0"), vx.available("cpu:7"), vx.available("auto")), (True, False, True, True, True, True, False, True))
        self.assertIn(cpu, vx.devices())
        self.assertEqual(vx.devices("cpu"), [cpu])
        self.assertEqual((vx.devices("null"), vx.Device("null") in vx.devices()), ([vx.Device("null")], False))
        listed = {one["device"]: one for backend in vx.list_devices()["backends"] for one in backend.get("devices", ())}
        for text, facts in listed.items():
            device = vx.Device(text)
            self.assertEqual((device.name, device.total_memory, device.is_gpu), (facts["name"], facts["total_memory"], text[:3] not in ("cpu", "nul") and not facts["software"]))
        for kind in ("cuda", "rocm", "vulkan"):
            self.assertEqual(vx.available(kind), any(text.startswith(kind) for text in listed))
        # The best one, among lists that this machine does not have.
        software, gpu = {"device": "vulkan:0", "name": "soft", "software": True, "total_memory": 1}, {"device": "rocm:0", "name": "hard", "software": False, "total_memory": 2}
        host = {"device": "cpu:0", "name": "cpu", "software": False, "total_memory": 3}
        for found, order, name, is_gpu in (([software, host], "", "cpu", False), ([software, gpu, host], "", "hard", True), ([software, host], "vulkan", "soft", False), ([gpu, host], "cpu, rocm", "cpu", False)):
            with unittest.mock.patch("vx._devices._backends", lambda: [{"name": one["device"][:-2], "devices": [one]} for one in found]), unittest.mock.patch.dict(os.environ, {"VX_DEVICE_ORDER": order}):
                self.assertEqual((vx.Device("auto").name, vx.Device("auto").is_gpu), (name, is_gpu))
        self.assertTrue(0 < vx.Device("cpu").free_memory <= vx.Device("cpu").total_memory)
        with self.assertRaisesRegex(vx.Error, "device 'null:0' does not tell its free memory") as raised:
            vx.Device("null").free_memory
        self.assertEqual(raised.exception.code, "unsupported")
        far = vx.Device("cpu:9")
        self.assertEqual((far.is_available, far.is_gpu), (False, False))
        for call in (lambda: far.name, lambda: far.total_memory, lambda: vx.set_default_device("cpu:9")):
            with self.assertRaisesRegex(vx.Error, "device 'cpu:9' is not there: there are 1 of cpu") as raised:
                call()
            self.assertEqual(raised.exception.code, "no_device")
        if not vx.available("cuda"):
            reason = next(backend["reason"] for backend in vx.list_devices()["backends"] if backend["name"] == "cuda")
            with self.assertRaises(vx.Error) as raised:
                vx.set_default_device("cuda")
            self.assertEqual(str(raised.exception), f"device 'cuda:0' is not there: {reason}")
        for call in (lambda: vx.available("gpu"), lambda: vx.devices("gpu")):
            with self.assertRaisesRegex(ValueError, "kind: expected one of auto, cpu, cuda, rocm, vulkan, null, got 'gpu'"):
                call()

    def test_the_default(self):
        self.assertEqual((vx.default_device(), vx.Device()), (vx.Device("auto"), vx.Device("auto")))
        path = os.path.join(DIGITS, "digits.onnx")
        taken = lambda model: model.report()["taken"]["device"]
        with unittest.mock.patch.dict(os.environ, {"VX_DEVICE": "null", "VX_CACHE": self.path("cache")}):
            self.assertEqual((vx.default_device(), vx.Device()), (vx.Device("null"), vx.Device("null")))
            self.assertEqual((taken(vx.Instance(self.digits)), taken(vx.Model(path)), taken(vx.Session(self.training_module()))), ("null:0",) * 3)
            self.assertEqual((taken(vx.Instance(self.digits, device="cpu")), taken(vx.Instance(self.digits, device=vx.Device("cpu")))), ("cpu:0", "cpu:0"))
            vx.set_default_device("cpu") # before the variable
            self.assertEqual((taken(vx.Instance(self.digits)), taken(vx.Model(path)), taken(vx.Session(self.training_module())), vx.default_device()), ("cpu:0", "cpu:0", "cpu:0", vx.Device("cpu")))
            self.assertEqual(vx.Module(self.digits).estimate_memory(batch=3)["inputs"], 0)
            shared = vx.Instance(self.module, device="cpu")
            self.assertEqual(taken(vx.Instance(self.module, share=shared)), "cpu:0")
            vx.set_default_device(None)
            self.assertEqual(taken(vx.Instance(self.digits)), "null:0")
        with unittest.mock.patch.dict(os.environ, {"VX_DEVICE": "gpu:1"}):
            for call in (vx.default_device, vx.Device, lambda: vx.Instance(self.digits), lambda: vx.zeros(3)):
                with self.assertRaisesRegex(ValueError, "VX_DEVICE: Device: expected one of auto, .*, got 'gpu:1'"):
                    call()
        with unittest.mock.patch.dict(os.environ, {"VX_DEVICE": ""}):
            self.assertEqual(vx.default_device(), vx.Device("auto"))
        for call in (lambda: vx.Instance(self.digits, device="gpu"), lambda: vx.Model(path, device="gpu"), lambda: vx.Model(path, "gpu", fallback=False, cache=False), lambda: vx.Session(self.digits, device="gpu")):
            with self.assertRaisesRegex(ValueError, "^Device: expected one of auto, .*, got 'gpu'$"): # an argument, before the runtime and the compiler are asked
                call()
        # A kind is any device of it, and no name is the best.
        self.assertEqual([vx.Instance(self.digits, device=name).report()["wanted"] for name in ("cuda", "cuda:0", "")], ["cuda", "cuda:0", "auto"])
        with self.assertRaisesRegex(TypeError, "device: expected a vx.Device or its name, got int"):
            vx.Instance(self.digits, device=0)

    def test_round_trips(self):
        random = np.random.default_rng(4)
        places = self.places()
        self.assertIn("cpu:0", places)
        arrays = [random.normal(size=(3, 5)).astype(np.float32), random.integers(-9, 9, 7), np.array([True, False]), np.float16(1.5), random.bytes(1)[0] * np.ones((1, 1, 2), np.uint8)]
        for array in arrays:
            array = np.asarray(array)
            for first in places:
                there = vx.tensor(array, device=first)
                self.assertEqual((str(there.device), there.shape, there.dtype), (first, array.shape, vx.tensor(array).dtype))
                self.assertIsNot(there.device.kind, vx.DeviceKind.AUTO)
                for second in places:
                    moved = there.to(second)
                    self.assertEqual(str(moved.device), second)
                    back = moved.to(vx.Device(first))
                    self.assertEqual((back.numpy().tobytes(), back.dtype, str(back.device)), (array.tobytes(), there.dtype, first), (first, second))
        # Into a call, from where it is, and results.
        images = self.images[:4]
        want = vx.Instance(self.digits, device="cpu")(images)["logits"]
        for place in places:
            if place.startswith(("cpu", "vulkan")):
                module = self.path("both.vxm")
                if not os.path.exists(module):
                    vx.compile(os.path.join(DIGITS, "digits.onnx"), module, targets="cpu,vulkan")
                instance = vx.Instance(module, device=place, fallback=False)
                for source in places:
                    result = instance.run_tensors("main", vx.tensor(images, device=source))["logits"]
                    self.assertEqual(str(result.device), place)
                    np.testing.assert_allclose(result.to("cpu").numpy(), want, rtol=1e-4, atol=1e-4)

    def test_tensors_of_one_number(self):
        for dtype, numpy in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16), ("i8", np.int8), ("i64", np.int64), ("u16", np.uint16), ("bool", np.bool_)):
            for make, number in ((vx.zeros, 0), (vx.ones, 1)):
                for place in self.places():
                    made = make((2, 3), dtype, place)
                    self.assertEqual((made.dtype, str(made.device), made.numpy().dtype, made.numpy().tolist()), (dtype, place, numpy, np.full((2, 3), number, numpy).tolist()))
        self.assertEqual((vx.empty((4,), "i32").shape, vx.zeros(3).shape, vx.zeros(()).shape, vx.zeros((0, 2)).shape, vx.ones((), "u8").numpy().tolist()), ((4,), (3,), (), (0, 2), 1))
        self.assertEqual((vx.ones((2,), "bf16").dtype, vx.zeros((3, 3), "i4").shape, vx.zeros((5,), "f8E5M2").dtype, vx.zeros((3,), "f4E2M1").shape), ("bf16", (3, 3), "f8E5M2", (3,)))
        half = vx.Module(vx.compile_bytes(HALF, "half.mlir"))
        self.assertEqual(vx.Instance(half, device="cpu")(vx.ones((4,), "bf16"))["y"].tolist(), [1, 1, 1, 1])
        self.assertEqual(vx.zeros((0,), device=self.places()[0]).shape, (0,))
        vx.set_default_device("cpu")
        self.assertEqual(str(vx.zeros(3).device), "cpu:0")
        for call, error, text in ((lambda: vx.zeros(-1), ValueError, r"zeros: expected sizes of 0 or more, got \(-1,\)"), (lambda: vx.ones((2, 1.5)), ValueError, r"ones: expected sizes of 0 or more, got \(2, 1.5\)"), (lambda: vx.zeros(2, "f7"), ValueError, "expected an element type, got 'f7'"),
                                  (lambda: vx.ones(2, "i4"), ValueError, "ones: expected a type of .* or bf16, got 'i4'"), (lambda: vx.zeros(2, "string"), ValueError, "zeros: expected a type of"), (lambda: vx.zeros(2, device="cpu:8"), vx.Error, "device 'cpu:8' is not there"),
                                  (lambda: vx.zeros(2, device="null"), vx.Error, "device 'null' keeps no values"), (lambda: vx.zeros(2).to("npu"), ValueError, "Device: expected one of auto, .*, got 'npu'"), (lambda: vx.zeros(2).to(3), TypeError, "device: expected a vx.Device or its name, got int"),
                                  (lambda: vx.zeros(2, "bf16").numpy(), TypeError, "numpy: expected a type that NumPy has, got bf16"), (lambda: vx.zeros((1 << 62, 1 << 62)), (ValueError, MemoryError, OverflowError, vx.Error), "")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_tensors_of_arrays(self):
        for value, dtype, want in (([1, 2], None, "i64"), ([1.5, 2], None, "f32"), (True, None, "bool"), (3, None, "i64"), ([[1, 2]], "f16", "f16"), (np.arange(3, dtype=np.uint8), None, "u8"), (np.arange(3.0), "i32", "i32"), (np.float64(2), None, "f64")):
            made = vx.tensor(value, dtype)
            self.assertEqual((made.dtype, made.shape, made.numpy().tolist()), (want, np.shape(value), np.asarray(value).tolist()))
        array = np.ones(64, np.float32)
        made = vx.tensor(array)
        array[:] = 5
        self.assertEqual(made.numpy().sum(), 64) # a copy
        self.assertIs(type(made.to("cpu")), vx.Tensor)
        self.assertEqual(vx.tensor(np.array(["a", "b"], object)).strings(), ["a", "b"])
        with self.assertRaisesRegex(ValueError, r"300 at \[0\] is no value of u8"):
            vx.tensor([300], "u8")


if __name__ == "__main__":
    package_test.main()
