"""vx.Model: a model's file to its results."""
import contextlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np

import package_test
from package_test import DIGITS, read
import vx

# Two inputs of different types, with rows, and a result of each.
MIXED = b"""vx.symbol "rows"
func.func @main(%x: tensor<?x2xf32, #vx.enc<[rows, 2]>> {vx.name = "x"}, %n: tensor<?x1xi64, #vx.enc<[rows, 1]>> {vx.name = "n"})
    -> (tensor<?x2xf32, #vx.enc<[rows, 2]>> {vx.name = "y"}, tensor<?x1xi64, #vx.enc<[rows, 1]>> {vx.name = "m"}) {
  %y = vx.add %x, %x : tensor<?x2xf32, #vx.enc<[rows, 2]>>, tensor<?x2xf32, #vx.enc<[rows, 2]>>
  %m = vx.add %n, %n : tensor<?x1xi64, #vx.enc<[rows, 1]>>, tensor<?x1xi64, #vx.enc<[rows, 1]>>
  return %y, %m : tensor<?x2xf32, #vx.enc<[rows, 2]>>, tensor<?x1xi64, #vx.enc<[rows, 1]>>
}
"""
COLUMNS = b"""vx.symbol "rows"
func.func @main(%age: tensor<?x1xf32, #vx.enc<[rows, 1]>> {vx.name = "age"}, %kind: tensor<?xi64, #vx.enc<[rows]>> {vx.name = "kind"})
    -> (tensor<?x1xf32, #vx.enc<[rows, 1]>> {vx.name = "y"}, tensor<?xi64, #vx.enc<[rows]>> {vx.name = "k"}) {
  %y = vx.add %age, %age : tensor<?x1xf32, #vx.enc<[rows, 1]>>, tensor<?x1xf32, #vx.enc<[rows, 1]>>
  %k = vx.mul %kind, %kind : tensor<?xi64, #vx.enc<[rows]>>, tensor<?xi64, #vx.enc<[rows]>>
  return %y, %k : tensor<?x1xf32, #vx.enc<[rows, 1]>>, tensor<?xi64, #vx.enc<[rows]>>
}
"""
TYPES = b"""func.func @main(%h: tensor<3xf16> {vx.name = "h"}, %d: tensor<3xf64> {vx.name = "d"}, %b: tensor<3xui8> {vx.name = "b"}, %t: tensor<3xi1> {vx.name = "t"})
    -> (tensor<3xf16> {vx.name = "hh"}, tensor<3xf64> {vx.name = "dd"}, tensor<3xui8> {vx.name = "bb"}, tensor<3xi1> {vx.name = "tt"}) {
  return %h, %d, %b, %t : tensor<3xf16>, tensor<3xf64>, tensor<3xui8>, tensor<3xi1>
}
"""
FIXED = b"""func.func @main(%x: tensor<4x2xf32> {vx.name = "x"}) -> (tensor<4x2xf32> {vx.name = "y"}) {
  %y = vx.add %x, %x : tensor<4x2xf32>, tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
"""


@contextlib.contextmanager
def environment(**values):
    before = {name: os.environ.get(name) for name in values}
    os.environ.update({name: value for name, value in values.items() if value is not None})
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Torch:
    """As a tensor of torch: it gives no memory while it requires a gradient, and strides where it is not contiguous."""

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad

    def detach(self):
        return Torch(self.array)

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def contiguous(self):
        return Torch(np.ascontiguousarray(self.array), self.requires_grad)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__(**options)


class Series:
    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return self.values


class Frame:
    """As a frame of pandas."""

    def __init__(self, **columns):
        self._columns, self.columns = columns, list(columns)

    def __getitem__(self, name):
        series = Series(self._columns[name])
        series.columns = [name]
        return series

    def to_numpy(self):
        return np.stack([np.asarray(column) for column in self._columns.values()], 1)


class Models(package_test.Package):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["VX_CACHE"] = os.path.join(cls.folder.name, "cache")
        cls.mixed = vx.Model(MIXED_MODULE := vx.Module(vx.compile_bytes(MIXED, "mixed.mlir")), device="cpu")
        cls.mixed_module = MIXED_MODULE

    def test_a_file_is_compiled_once(self):
        onnx = self.path("net.onnx")
        shutil.copy(os.path.join(DIGITS, "digits.onnx"), onnx)
        compiled, own = [], vx.compile

        def counting(model, output, **options):
            compiled.append(options)
            return own(model, output, **options)

        vx.compile = counting
        try:
            model = vx.Model(onnx, device="cpu")
            self.assertEqual((model(self.images)["logits"].argmax(1) == self.labels).sum(), 448)
            self.assertEqual(vx.Model(onnx, device="cpu")(self.images)["logits"].tobytes(), model(self.images)["logits"].tobytes())
            self.assertEqual([options["targets"] for options in compiled], ["cpu"])
            models = os.path.join(os.environ["VX_CACHE"], "models")
            kept = [name for name in os.listdir(models) if name.startswith("net-")]
            self.assertEqual(len(kept), 1)
            # Other options are another module. A file that has changed is compiled again, and the module of before goes.
            vx.Model(onnx, device="cpu", dims=["batch=1"])
            self.assertEqual((len(compiled), len([name for name in os.listdir(models) if name.startswith("net-")])), (2, 2))
            os.utime(onnx, ns=(1, 1))
            vx.Model(onnx, device="cpu")
            left = [name for name in os.listdir(models) if name.startswith("net-")]
            self.assertEqual((len(compiled), len(left), kept[0] in left), (3, 2, False))
            # So are weights beside it that have changed, and a module that is damaged.
            with open(self.path("net.onnx.data"), "w") as file:
                file.write("weights")
            vx.Model(onnx, device="cpu")
            self.assertEqual(len(compiled), 4)
            for name in os.listdir(models):
                if name.startswith("net-"):
                    with open(os.path.join(models, name), "w") as file:
                        file.write("VXMODULE, but no more")
            self.assertEqual(vx.Model(onnx, device="cpu")(self.images)["logits"].shape, (450, 10))
            self.assertEqual(len(compiled), 5)
            # Without a cache it is compiled in memory.
            with environment(VX_CACHE=None, XDG_CACHE_HOME=None, HOME=None):
                self.assertEqual(vx.Model(onnx, device="cpu")(self.images)["logits"].shape, (450, 10))
            before = sorted(os.listdir(models))
            self.assertEqual(vx.Model(onnx, device="cpu", cache=False, dims=["batch=450"])(self.images)["logits"].shape, (450, 10))
            self.assertEqual((len(compiled), sorted(os.listdir(models))), (5, before))
        finally:
            vx.compile = own

    def test_what_a_model_is_made_of(self):
        want = vx.Instance(self.digits, device="cpu")(self.images)["logits"]
        onnx = os.path.join(DIGITS, "digits.onnx")
        module = self.path("module-without-its-ending")
        shutil.copy(self.digits, module)
        for source in (self.digits, module, read(self.digits), read(onnx), vx.Module(self.digits)):
            model = vx.Model(source, device="cpu")
            self.assertEqual(model(self.images)["logits"].tobytes(), want.tobytes())
        self.assertEqual((model.inputs, model.outputs), ([{"name": "image", "dtype": "f32", "shape": ("batch", 1, 8, 8)}], [{"name": "logits", "dtype": "f32", "shape": ("batch", 10)}]))
        self.assertEqual(repr(model), "vx.Model(image -> logits, on cpu:0)")
        self.assertIn("device taken: cpu:0", str(model))
        self.assertRegex(model.summary(), r"^inputs   image: f32\[batch,1,8,8\]\noutputs  logits: f32\[batch,10\]\ndevice   cpu:0\nweights  \d+ bytes")
        self.assertEqual(model.report()["taken"]["device"], "cpu:0")

    def test_the_default_device_and_targets(self):
        """A software device, as that of Vulkan on a machine for tests, is not taken by itself."""
        devices = {"backends": [{"name": name, "devices": [{"software": software} for software in found]} for name, found in
                                (("cuda", []), ("rocm", [True]), ("vulkan", [True, False]), ("cpu", [False]))]}
        own, seen = vx.list_devices, []
        compile_bytes = vx.compile_bytes
        vx.compile_bytes = lambda model, name="model", targets=None, **options: (seen.append(targets), compile_bytes(model, name, targets="cpu", **options))[1]
        vx.list_devices = lambda: devices
        try:
            self.assertEqual(vx.default_targets(), "vulkan,cpu")
            for device, fallback, targets in (("auto", True, "vulkan,cpu"), ("cpu", True, "cpu"), ("vulkan:1", True, "vulkan,cpu"), ("null", True, "cpu"), ("vulkan", False, "vulkan")):
                with contextlib.suppress(vx.Error): # of a device that is not there
                    vx.Model(FIXED_ONNX(), device=device, fallback=fallback)
                self.assertEqual(seen.pop(), targets, device)
            vx.Model(FIXED_ONNX(), device="cpu", targets="cpu")
            self.assertEqual(seen.pop(), "cpu")
            devices["backends"][2]["devices"].pop()
            self.assertEqual(vx.default_targets(), "cpu")
            devices["backends"][0]["devices"].append({"software": False})
            self.assertEqual(vx.default_targets(), "cuda,cpu")
        finally:
            vx.list_devices, vx.compile_bytes = own, compile_bytes

    def test_inputs_by_name_and_by_position(self):
        x, n = np.array([[1, 2], [3, 4]], np.float32), np.array([[5], [6]])
        for given, named in (((x, n), {}), ((x,), {"n": n}), ((), {"n": n, "x": x}), (({"x": x, "n": n},), {})):
            results = self.mixed(*given, **named)
            self.assertEqual((list(results), results["y"].tolist(), results["m"].tolist()), (["y", "m"], [[2, 4], [6, 8]], [[10], [12]]))
        self.assertEqual(self.mixed.run("main", x, n)["y"].tolist(), [[2, 4], [6, 8]])
        for call, text in ((lambda: self.mixed(x), "expected inputs x, n, got none for n"), (lambda: self.mixed({"x": x, "z": n}), "has no input 'z', but x, n"),
                           (lambda: self.mixed(x, n, n), "takes 2 inputs, got 3"), (lambda: self.mixed(x, x=x), "input 'x' is given twice")):
            with self.assertRaisesRegex(TypeError, text):
                call()
        with self.assertRaisesRegex(KeyError, "no function 'f', but main"):
            self.mixed.run("f", x)

    def test_lists_and_layouts(self):
        n = [[5], [6], [7]]
        want = [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0]]
        x = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
        strided = np.repeat(np.repeat(x, 2, 1), 3, 0)[::3, ::2]
        for given in ([[1, 2], [3, 4], [5, 6]], [[1.0, 2], [3, 4], [5, 6]], ((1, 2), (3, 4), (5, 6)), list(x), np.asfortranarray(x), strided, x[::-1][::-1], x.astype(">f4"),
                      np.asfortranarray(x.astype(">f8")), x.astype(">i2"), np.lib.stride_tricks.as_strided(x, x.shape, x.strides), Torch(x), Torch(x, True),
                      Torch(np.asfortranarray(x), True), Torch(x.astype(np.int16)), Frame(a=x[:, 0], b=x[:, 1])):
            results = self.mixed(given, n)
            self.assertEqual((results["y"].tolist(), results["m"].tolist()), (want, [[10], [12], [14]]), type(given))
        # As a frame without a column for each input is a matrix, one with them is the inputs.
        model = vx.Model(vx.Module(vx.compile_bytes(COLUMNS, "columns.mlir")), device="cpu")
        results = model(Frame(kind=np.array([3, -4], np.int8), age=np.array([0.5, 2]), more=np.array([0, 0])))
        self.assertEqual((results["y"].tolist(), results["k"].tolist()), ([[1.0], [4.0]], [9, 16]))
        self.assertEqual(model.predict(Frame(kind=np.array([3, -4]), age=np.array([0.5, 2])))["k"].tolist(), [9, 16])

    def test_every_type_that_holds_the_values(self):
        model = vx.Model(vx.Module(vx.compile_bytes(TYPES, "types.mlir")), device="cpu")
        kinds = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64)
        truth = np.array([True, False, True])
        for kind in kinds:
            results = model(*(np.array([1, 0, 1], kind),) * 3, truth)
            for name, dtype in (("hh", np.float16), ("dd", np.float64), ("bb", np.uint8)):
                self.assertEqual((results[name].dtype, results[name].tolist()), (dtype, [1, 0, 1]), kind)
            results = self.mixed(np.array([[1, 0]], kind), np.array([[1]], kind))
            self.assertEqual((results["y"].tolist(), results["m"].tolist()), ([[2, 0]], [[2]]))
        # Floats are rounded to the nearest, infinities and NaN stay, and the largest integers come through.
        results = model(np.array([0.1, np.inf, 65504]), np.array([2**53, -(2**62), 3]), [255, 0, 7.0], truth)
        self.assertEqual((results["hh"].tolist(), results["dd"].tolist(), results["bb"].tolist()), ([float(np.float16(0.1)), np.inf, 65504], [2**53, -(2**62), 3], [255, 0, 7]))
        self.assertTrue(np.isnan(self.mixed(np.array([[np.nan, 1]]), [[1]])["y"][0, 0]))
        self.assertEqual(self.mixed([[0, 0]], np.array([[2.0**62]]))["m"].tolist(), [[-(2**63)]])
        self.assertEqual(self.mixed(np.array([[2**24, -(2**24)], [2**25 + 4, 2**63]], object), [[1], [1]])["y"].tolist(), [[2.0**25, -(2.0**25)], [2.0**26 + 8, 2.0**64]])

    def test_values_that_would_be_lost_are_named(self):
        x, n = np.zeros((2, 2), np.float32), np.zeros((2, 1), np.int64)

        def at(array, place, value):
            array = array.copy()
            array[place] = value
            return array

        integers, floats = x.astype(np.int64), n.astype(np.float64)
        for given, error, text in (((at(integers, (1, 0), 2**24 + 1), n), ValueError, r"input 'x': 16777217 at \[1, 0\] is no value of f32: expected an integer that it holds, as all up to 16777216"),
                                   ((at(integers.astype(np.uint64), (0, 1), 2**64 - 1), n), ValueError, rf"input 'x': {2**64 - 1} at \[0, 1\] is no value of f32"),
                                   ((at(x.astype(np.float64), (1, 1), -1e39), n), ValueError, r"input 'x': -1e\+39 at \[1, 1\] is no value of f32: expected -3.4\S+ to 3.4"),
                                   ((x, at(floats, (1, 0), 0.5)), ValueError, r"input 'n': 0.5 at \[1, 0\] is no value of i64: expected a whole number from -9223372036854775808 to 9223372036854775807"),
                                   ((x, at(floats, (0, 0), np.nan)), ValueError, r"input 'n': nan at \[0, 0\] is no value of i64"),
                                   ((x, at(floats, (0, 0), 2.0**63)), ValueError, r"input 'n': 9.22\S+ at \[0, 0\] is no value of i64"),
                                   ((x, at(floats.astype(np.float16), (0, 0), np.inf)), ValueError, r"input 'n': inf at \[0, 0\] is no value of i64"),
                                   ((x, at(n.astype(np.uint64), (1, 0), 2**63)), ValueError, rf"input 'n': {2**63} at \[1, 0\] is no value of i64: expected -{2**63} to {2**63 - 1}"),
                                   ((x, [[2**70], [1]]), ValueError, rf"input 'n': {2**70} at \[0, 0\] is no value of any integer type"),
                                   ((x, [[1], ["one"]]), vx.Error, "i64, got string"),
                                   ((x, np.array([[1], ["one"]], object)), TypeError, r"input 'n': expected numbers, got 'one' \(str\) at \[1, 0\]"),
                                   ((x, np.array([[1], [None]], object)), TypeError, r"input 'n': expected numbers, got None \(NoneType\) at \[1, 0\]"),
                                   (([[1, 2], [3]], n), ValueError, "input 'x': expected lists of equal lengths: .*inhomogeneous"),
                                   ((x, np.zeros((2, 1), "datetime64[s]")), TypeError, "input 'n': expected i64, got datetime64"),
                                   ((x, np.zeros((2, 1), complex)), TypeError, "input 'n': expected i64, got complex128"),
                                   ((x, np.zeros((3, 1))), vx.Error, "3"),
                                   ((np.zeros((2, 3)), n), vx.Error, "3")):
            with self.assertRaisesRegex(error, text):
                self.mixed(*given)
        model = vx.Model(vx.Module(vx.compile_bytes(TYPES, "types.mlir")), device="cpu")
        good = [1, 0, 1]
        for given, text in ((([0, 65520, 0], good, good), r"input 'h': 65520 at \[1\] is no value of f16"), (([2049, 0, 0], good, good), r"input 'h': 2049 at \[0\] is no value of f16"),
                            ((good, [0, 0, 2**53 + 1], good), rf"input 'd': {2**53 + 1} at \[2\] is no value of f64"), ((good, good, [0, 256, -1]), r"input 'b': 256 at \[1\] is no value of u8: expected 0 to 255")):
            with self.assertRaisesRegex(ValueError, text):
                model(*given, np.array([True] * 3))
        with self.assertRaisesRegex(vx.Error, "i1|bool"):
            model(good, good, good, [0, 1, 2])

    def test_prediction_in_batches(self):
        model = vx.Model(self.digits, device="cpu")
        want = model(self.images)["logits"]
        for size in (0, 1, 7, 32, 450, 1000):
            got = model.predict(self.images, batch_size=size)["logits"]
            self.assertEqual(got.shape, (450, 10))
            np.testing.assert_allclose(got, want, atol=1e-4)
        self.assertEqual(model.predict({"image": self.images[:0]})["logits"].shape, (0, 10))
        pairs = [(self.images[begin:begin + 200], self.labels[begin:begin + 200]) for begin in range(0, 450, 200)]
        np.testing.assert_allclose(model.predict(pairs)["logits"], want, atol=1e-4)
        np.testing.assert_allclose(model.predict(images for images, _ in pairs)["logits"], want, atol=1e-4)
        calls = []
        model._instance.run = lambda *given, **named: (calls.append(len(named["image"])), vx.Instance.run(model._instance, *given, **named))[1]
        model.predict(self.images[:70])
        self.assertEqual(calls, [32, 32, 6])
        fixed = vx.Model(vx.Module(vx.compile_bytes(FIXED, "fixed.mlir")), device="cpu")
        self.assertEqual(fixed.predict(np.arange(16).reshape(8, 2))["y"].tolist(), (2 * np.arange(16).reshape(8, 2)).tolist())
        for call, text in ((lambda: fixed.predict(np.zeros((7, 2))), "expected batches of 4 rows, which the model is compiled for, got 7 rows"),
                           (lambda: fixed.predict(np.zeros((8, 2)), batch_size=3), "expected batches of 4 rows, which the model is compiled for, got batch_size 3"),
                           (lambda: self.mixed.predict((np.zeros((3, 2)), np.zeros((2, 1)))), "expected as many rows in each array, got 3 in 'x' and 2 in 'n'"),
                           (lambda: vx.Model(self.module, device="cpu").run("half", 1) or None, "")):
            with self.assertRaisesRegex((ValueError, vx.Error), text):
                call()
        with self.assertRaisesRegex(TypeError, "x: expected a dict of arrays, or a tuple of 2 for x, n, got ndarray"):
            self.mixed.predict(np.zeros((3, 2)))

    def test_mistakes(self):
        for call, error, text in ((lambda: vx.Model(self.digits, dims=["batch=1"]), TypeError, "'dims' is for a model that is compiled, and .*digits.vxm is a module"),
                                  (lambda: vx.Model(self.module, targets="cpu"), TypeError, "'targets' is for a model that is compiled, and this is a module"),
                                  (lambda: vx.Model("nosuch.onnx"), FileNotFoundError, "nosuch.onnx"),
                                  (lambda: vx.Model(b"no model", device="cpu"), vx.CompileError, "model"),
                                  (lambda: vx.Model(os.path.join(DIGITS, "digits.onnx"), magic=1), TypeError, "no option 'magic'"),
                                  (lambda: vx.Model(self.digits, device="cuda", fallback=False), vx.Error, "cuda"),
                                  (lambda: vx.Model(self.digits, device="cpu").evaluate(self.images, self.labels), ValueError, "evaluate: expected a model with a loss: give loss='cross_entropy'"),
                                  (lambda: vx.Model(self.digits, device="cpu").fit(self.images, self.labels), ValueError, "fit: expected a model with a loss"),
                                  (lambda: vx.Model(self.digits, device="cpu").fit(self.images, self.labels, loss="mse"), ValueError, "fit: expected a model with a loss"),
                                  (lambda: vx.Model(self.digits, device="cpu").save("x.safetensors"), ValueError, "save: expected a model with a loss")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_nothing_else_is_imported(self):
        code = "import sys, numpy, vx; m = vx.Model(sys.argv[1], device='cpu'); m([[[[0] * 8] * 8]]); print([name for name in ('torch', 'pandas', 'matplotlib') if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code, self.digits], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))

    def test_without_pytorch(self):
        code = "import sys; sys.modules['torch'] = None; import vx\nfor call in (lambda: vx.from_torch(None, None), lambda: vx.torch_backend(None, [])):\n  try: call()\n  except ImportError as error: print(error)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("from_torch needs PyTorch: pip install torch onnxscript\ntorch.compile needs PyTorch: pip install torch onnxscript\n", ""))
        self.assertEqual(vx.torch_graphs(), [])


def FIXED_ONNX():
    return read(os.path.join(DIGITS, "digits.onnx"))


if __name__ == "__main__":
    package_test.main()
