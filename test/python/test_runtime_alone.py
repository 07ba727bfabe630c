"""The package vx without its compiler."""
import unittest

import vx


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


if __name__ == "__main__":
    unittest.main()
