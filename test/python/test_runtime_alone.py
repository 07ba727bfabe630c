"""The package vx without its compiler."""
import os
import sys
import unittest

import numpy as np

import vx


class RuntimeAlone(unittest.TestCase):
    def test_compile_says_what_is_missing(self):
        with self.assertRaisesRegex(ImportError, "install the wheel vx-compiler"):
            vx.compile("model.onnx", "model.vxm")
        with self.assertRaisesRegex(ImportError, "install the wheel vx-compiler"):
            vx.Model(os.path.join(os.environ["VX_SOURCE"], "examples", "digits", "digits.onnx"))

    def test_a_module_as_a_model(self):
        """It runs and trains without the compiler, and without any package but NumPy."""
        folder = os.path.join(os.environ["VX_SOURCE"], "test", "compat", "0.2.0")
        model = vx.Model(os.path.join(folder, "network.vxm"), device="cpu")
        entry = model.inputs[0]
        results = model(np.zeros([size if isinstance(size, int) else 2 for size in entry["shape"]]).tolist())
        self.assertEqual(list(results), [output["name"] for output in model.outputs])
        training = vx.Model(os.path.join(folder, "training.vxm"), device="cpu")
        shape = [size if isinstance(size, int) else 8 for size in training.inputs[0]["shape"]]
        history = training.fit(np.random.default_rng(0).random(shape), np.arange(shape[0]) % 2, epochs=2, callbacks=[vx.EarlyStopping(restore_best=True)], verbose=0)
        self.assertEqual(len(history), 2)
        self.assertFalse({"torch", "pandas", "matplotlib"} & set(sys.modules))

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
        for arguments, error, text in (((print, "loud"), ValueError, "level: expected info, warning, error, got 'loud'"), (("print",), TypeError, "expected a function or None, got str")):
            with self.assertRaisesRegex(error, text):
                vx.set_log(*arguments)
        vx.set_log(None)


if __name__ == "__main__":
    unittest.main()
