"""Arrays, tensors and models of the package vx."""
import gc
import json
import os
import sys
import weakref

import numpy as np

import package_test
from package_test import DIGITS, read
import vx


def tensor_of(array):
    return vx.Tensor.from_capsule(array.__dlpack__(max_version=(1, 0)))


class OfAnotherLibrary:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


class Values(package_test.Package):
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
        """Any numbers for integers and floats, where nothing but digits after f32's is lost."""
        for kind in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.float16, np.float32, np.float64):
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
        for call, error, text in ((lambda: self.model(a), TypeError, "expected inputs a, b, got none for b"),
                                  (lambda: self.model(a, a, a), TypeError, "takes 2 inputs, got 3"),
                                  (lambda: self.model(a, a, b=a), TypeError, "input 'b' is given twice"),
                                  (lambda: self.model(a, c=a), TypeError, "has no input 'c', but a, b"),
                                  (lambda: self.model.run("f"), KeyError, "no function 'f', but main, half, long"),
                                  (lambda: self.model(a, np.ones((3, 3), np.float32)), vx.Error, "3"),
                                  (lambda: self.model(a, np.ones((2, 4), np.float32)), vx.Error, "4"),
                                  (lambda: self.model(a, np.full((2, 3), 2**24 + 1)), ValueError, r"input 'b': 16777217 at \[0, 0\] is no value of f32"),
                                  (lambda: self.model(a, a.astype(complex)), TypeError, "input 'b': expected f32, got complex128"),
                                  (lambda: self.model(a, np.full((2, 3), 1e39)), ValueError, r"input 'b': 1e\+39 at \[0, 0\] is no value of f32: expected -3.4\S+ to 3.4"),
                                  (lambda: self.model.run("long", np.array([1, 2**63], np.uint64)), ValueError,
                                   f"input 'x': {2**63} at \\[1\\] is no value of i64: expected -{2**63} to {2**63 - 1}"),
                                  (lambda: self.model.run("long", np.array([1.0, 2.5])), ValueError, r"input 'x': 2.5 at \[1\] is no value of i64"),
                                  (lambda: self.model(a, np.array(["x"])), vx.Error, "expected element type f32, got string"),
                                  (lambda: vx.Instance(self.module, device="cuda", fallback=False), vx.Error, "cuda"),
                                  (lambda: vx.compile("nosuch.onnx", "x.vxm"), vx.CompileError, "nosuch.onnx"),
                                  (lambda: vx.compile("a.onnx", "x.vxm", targets="tpu"), vx.CompileError, "'tpu'"),
                                  (lambda: vx.compile("a.onnx", "x.vxm", magic=1), TypeError, "no option 'magic'"),
                                  (lambda: vx.compile_bytes(b"no model"), vx.CompileError, "model"),
                                  (lambda: vx.Session(self.module), vx.Error, "train")):
            with self.assertRaisesRegex(error, text):
                call()
        np.testing.assert_array_equal(self.model(a, a)["sum"], 2 * a)  # the instance is as it was

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
        with self.assertRaisesRegex(vx.CompileError, "output 'y': expects the shape that the graph states: 'f32\\[3\\]', got 'f32\\[2\\]'; the model breaks"):
            vx.compile_bytes(model, targets="cpu", strict=True)

    def test_codes(self):
        for call, kind, code in ((lambda: vx.Instance(self.module, device="cuda", fallback=False), vx.Error, "no_device"),
                                 (lambda: self.model.read_variable("nosuch"), vx.Error, "not_found"),
                                 (lambda: self.model(np.ones((2, 4), np.float16), np.ones((2, 3))), vx.Error, "invalid_argument"),
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


if __name__ == "__main__":
    package_test.main()
