"""Low-rank adapters by glob: trained alone, and merged at the export."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import package_test
from package_test import read
import vx
from vx import _lora

NETWORK = os.path.join(os.environ["VX_SOURCE"], "examples", "digits", "digits.onnx")
CPU = {"device": "cpu", "targets": "cpu", "variants": ["cpu=x86-64-v3"], "cache": False}


def weights_of(path):
    return {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}


class Adapters(package_test.Package):
    def line(self, transposed=False, floats=False):
        """y = x W, with W as a matrix of any layout."""
        self.weight = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
        stored = self.weight.T if transposed else self.weight
        tensor = helper.make_tensor("w", TensorProto.FLOAT, stored.shape, stored.ravel()) if floats else numpy_helper.from_array(np.ascontiguousarray(stored), "w")
        bias = numpy_helper.from_array(np.zeros(3, np.float32), "b")
        node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=int(transposed))
        graph = helper.make_graph([node], "line", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 3])], [tensor, bias])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()

    def test_steps_are_numpys(self):
        random = np.random.default_rng(2)
        x, y = random.normal(size=(6, 4)).astype(np.float32), random.normal(size=(6, 3)).astype(np.float32)
        for transposed, floats in ((False, False), (True, False), (False, True)):
            model = vx.Model(self.line(transposed, floats), loss="mse", optimizer="sgd", lora=vx.LoRA("w", rank=2, alpha=3.0, seed=4), **CPU)
            weights = model.get_weights()
            self.assertEqual({name: array.shape for name, array in weights.items()}, {"w.lora_B": (3, 2) if transposed else (4, 2), "w.lora_A": (2, 4) if transposed else (2, 3)})
            b, a = weights["w.lora_B"].astype(float), weights["w.lora_A"].astype(float)
            self.assertTrue((b == 0).all() and (abs(a) <= a.shape[1]**-0.5).all() and a.std() > 0.1)
            np.testing.assert_allclose(model(x)["y"], x @ self.weight, rtol=1e-5, atol=1e-5) # as without them
            for _ in range(3):
                stored = (self.weight.T if transposed else self.weight) + 1.5 * b @ a
                slope = x.T @ (2 * (x @ (stored.T if transposed else stored) - y) / y.size)
                slope = (slope.T if transposed else slope) * 1.5
                b, a = b - 0.1 * slope @ a.T, a - 0.1 * b.T @ slope
                model.fit(x, y, batch_size=6, rate=0.1, verbose=0)
            np.testing.assert_allclose(model.get_weights()["w.lora_B"], b, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(model.get_weights()["w.lora_A"], a, rtol=1e-4, atol=1e-5)
            path = self.path("line.onnx")
            model.export(path)
            merged = weights_of(path)
            self.assertEqual(set(merged), {"w", "b"})
            np.testing.assert_allclose(merged["w"], (self.weight.T if transposed else self.weight) + 1.5 * b @ a, rtol=1e-4, atol=1e-5)
            onnx.checker.check_model(path, full_check=True)
            self.assertEqual([node.op_type for node in onnx.load(path).graph.node], ["Gemm"])
            np.testing.assert_allclose(onnxruntime.InferenceSession(path).run(None, {"x": x})[0], model(x)["y"], rtol=1e-4, atol=1e-5)
            self.assertEqual([name for name in os.listdir(self.folder.name) if name.endswith((".adapters", ".part"))], [])

    def test_a_network(self):
        x, y = self.images, self.labels
        before = {name: array for name, array in weights_of(NETWORK).items()}
        matrices = [name for name, array in before.items() if array.ndim == 2]
        self.assertGreaterEqual(len(matrices), 1)
        model = vx.Model(NETWORK, loss="cross_entropy", optimizer=vx.AdamW(1e-2), lora=vx.LoRA("*", rank=4), **CPU)
        self.assertEqual(set(model.get_weights()), {f"{name}.lora_{part}" for name in matrices for part in "AB"})
        wrong = (y + 3) % 10 # something that the network has not learnt
        start = model.evaluate(x, wrong)["loss"]
        history = model.fit(x, wrong, epochs=15, verbose=0).history
        self.assertLess(history["loss"][-1], start / 2)
        path = self.path("network.onnx")
        model.export(path)
        after = weights_of(path)
        self.assertEqual({name for name in before if (after[name] != before[name]).any()}, set(matrices))
        session = onnxruntime.InferenceSession(path)
        np.testing.assert_allclose(session.run(None, {session.get_inputs()[0].name: x})[0], model.predict(x)["logits"], rtol=1e-3, atol=1e-3)
        # The adapters alone are a small file, which another model takes.
        model.save(self.path("adapters.safetensors"), only_weights=True)
        self.assertLess(os.path.getsize(self.path("adapters.safetensors")), os.path.getsize(NETWORK))
        other = vx.Model(NETWORK, loss="cross_entropy", lora=vx.LoRA("*", rank=4, seed=9), **CPU)
        other.load(self.path("adapters.safetensors"))
        np.testing.assert_array_equal(other.predict(x)["logits"], model.predict(x)["logits"])
        model.save(self.path("adapters.vxm"))
        np.testing.assert_allclose(vx.Model(self.path("adapters.vxm"), device="cpu").predict(x)["logits"], model.predict(x)["logits"], rtol=1e-5, atol=1e-5)
        # Training without adapters is as it was, at the first fit too.
        late = vx.Model(NETWORK, lora=None, **CPU)
        self.assertEqual(set(late.inputs[0]), {"name", "dtype", "shape"})

    def test_some_of_the_weights(self):
        names = [name for name, array in weights_of(NETWORK).items() if array.ndim == 2]
        model = vx.Model(NETWORK, loss="cross_entropy", lora=vx.LoRA(f"{names[-1][:-1]}?", rank=1), **CPU)
        self.assertEqual(set(model.get_weights()), {f"{names[-1]}.lora_A", f"{names[-1]}.lora_B"})
        again = vx.Model(read(NETWORK), loss="cross_entropy", lora=vx.LoRA(names[0] + ", " + names[-1], rank=1), **CPU)
        self.assertEqual(len(again.get_weights()), 4 if names[0] != names[-1] else 2)

    def test_mistakes(self):
        lora = vx.LoRA("w", rank=2)
        line = self.line()
        for call, error, text in ((lambda: vx.LoRA(""), ValueError, "targets: expected patterns of names, got ''"), (lambda: vx.LoRA("w", rank=0), ValueError, "rank: expected a whole number of 1 or more, got 0"), (lambda: vx.LoRA("w", alpha=0), ValueError, "alpha: expected a number above 0, got 0"),
                                  (lambda: vx.LoRA("q*").add(line), ValueError, r"lora: 'q\*': expected the name of a matrix of f32 among the initializers, got none"), (lambda: vx.LoRA("w,b").add(line), ValueError, "lora: 'b': .*, got b, which are none"),
                                  (lambda: vx.Model(line, lora=lora, **CPU), ValueError, "lora: expected a model that trains: give loss"), (lambda: vx.Model(line, loss="mse", lora="w", **CPU), TypeError, "lora: expected a vx.LoRA, got str"),
                                  (lambda: vx.Model(line, loss="mse", lora=lora, train="w", **CPU), ValueError, "lora, train: expected one of them, got both"), (lambda: vx.Model(line, loss="mse", lora=lora, init="random", **CPU), ValueError, "lora, init: expected one of them"),
                                  (lambda: lora.add(b"\x08"), ValueError, "the file is damaged: a number does not end"), (lambda: lora.add(b"\x3a\x7f"), ValueError, "expected 0 bytes at most, got a field of 127"), (lambda: lora.add(b"\x0b"), ValueError, "expected a field of the kinds 0, 1, 2 and 5, got 3"), (lambda: lora.add(b""), ValueError, "expected an ONNX model with one graph, got 0")):
            with self.assertRaisesRegex(error, text):
                call()
        with open(self.path("text.mlir"), "w") as file:
            file.write("x")
        with self.assertRaisesRegex(ValueError, "lora: expected an ONNX file, got .*text.mlir"):
            vx.Model(self.path("text.mlir"), loss="mse", lora=lora, **CPU)
        model = vx.Model(line, loss="mse", lora=lora, **CPU)
        with self.assertRaises(vx.TrainError):
            model.export(os.path.join(self.folder.name, "no", "folder.onnx"))
        with open(self.path("old.onnx"), "w") as file:
            file.write("old")
        with self.assertRaisesRegex(ValueError, "form: expected inference or training, got 'x'"):
            model.export(self.path("old.onnx"), "x")
        self.assertEqual(read(self.path("old.onnx")), b"old")
        # Bytes that are changed: an error about the file, or another model, and nothing else.
        chance = np.random.default_rng(3)
        for _ in range(300):
            data = bytearray(line)
            data[chance.integers(len(data))] = chance.integers(256)
            try:
                _lora.merge(lora.add(bytes(data[:chance.integers(1, len(data) + 1)] if chance.random() < 0.3 else data))[0])
            except ValueError:
                pass


if __name__ == "__main__":
    package_test.main()
