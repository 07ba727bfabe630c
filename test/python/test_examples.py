"""The programs of examples/python do what their first lines say: test_examples.py SOURCE"""
import csv
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.run_program("train_digits/data.py", "digits")
        cls.test = {name: np.load(os.path.join(cls.folder.name, "digits", "test", f"{name}.npy")) for name in ("image", "label")}

    @classmethod
    def run_program(cls, program, *arguments, code=0):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "examples", program), *arguments], cwd=cls.folder.name, capture_output=True, text=True,
                              env={**os.environ, "VX_CACHE": os.path.join(cls.folder.name, "cache")})
        assert done.returncode == code, (program, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def accuracy(self, path, image):
        session = onnxruntime.InferenceSession(path)
        return float((session.run(None, {session.get_inputs()[0].name: image})[0].argmax(1) == self.test["label"]).mean())

    def test_train_digits(self):
        text = self.run_program("python/train_digits.py", "digits", "out")
        self.assertIn("the module agrees: True", text)
        self.assertGreater(self.accuracy(self.path("out", "digits.onnx"), self.test["image"]), 0.96)
        with open(self.path("out", "log.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertGreater(float(rows[-1]["val_auc"]), 0.95)
        self.assertEqual(sorted(os.listdir(self.path("out", "events"))), ["train", "validation"])
        self.assertTrue(os.path.getsize(self.path("out", "digits.safetensors")) > 10000 < os.path.getsize(self.path("out", "digits.vxm")))

    def test_finetune_lora(self):
        network = os.path.join(SOURCE, "examples", "digits", "digits.onnx")
        text = self.run_program("python/finetune_lora.py", network, "digits", "mirrored.onnx")
        self.assertIn("the export agrees: True", text)
        mirrored = np.ascontiguousarray(self.test["image"][..., ::-1])
        self.assertGreater(self.accuracy(self.path("mirrored.onnx"), mirrored), self.accuracy(network, mirrored) + 0.2)
        before, after = (onnx.load(path).graph for path in (network, self.path("mirrored.onnx")))
        self.assertEqual([node.op_type for node in before.node], [node.op_type for node in after.node])

    def test_embed_texts(self):
        text = self.run_program("python/embed_texts.py")
        for topic in ("weather", "cooking", "music"):
            self.assertIn(f"({topic}, ", text)

    def test_without_arguments(self):
        for program in ("train_digits", "finetune_lora"):
            self.assertIn(f"{program}.py", self.run_program(f"python/{program}.py", code=1))


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
