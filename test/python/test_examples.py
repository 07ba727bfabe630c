"""The programs and notebooks of examples/python: test_examples.py SOURCE"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnx.numpy_helper
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

    def notebook(self, name):
        """Runs a notebook's cells, those for PyTorch and pictures where these are. Returns the text that they print."""
        for each in ("digits/digits.onnx", "python/digits_cnn.onnx"): # which they read
            shutil.copy(os.path.join(SOURCE, "examples", each), self.folder.name)
        return self.run_program("../test/python/run_notebook.py", os.path.join(SOURCE, "examples", "python", f"{name}.ipynb"))

    def test_train_digits(self):
        text = self.notebook("train_digits")
        self.assertRegex(text, r"\d of 450 test images are read wrongly")
        self.assertRegex(text, "train_digits.ipynb: [67] cells ran, [01] left out")
        self.assertGreater(self.accuracy(self.path("digits.onnx"), self.test["image"]), 0.96)
        with open(self.path("log.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertGreater(float(rows[-1]["val_auc"]), 0.95)
        self.assertEqual(sorted(os.listdir(self.path("events"))), ["train", "validation"])
        self.assertTrue(os.path.getsize(self.path("digits.safetensors")) > 10000 < os.path.getsize(self.path("digits.vxm")))

    def test_finetune_torch(self):
        text = self.notebook("finetune_torch")
        before, after = map(float, re.search(r"accuracy in the mirror: (\S+) before, (\S+) after", text).groups())
        self.assertGreater(after, before + 0.2)
        mirrored = np.ascontiguousarray(self.test["image"][..., ::-1])
        self.assertAlmostEqual(self.accuracy(self.path("mirrored.onnx"), mirrored), after, places=2)
        if "cell 4: left out" not in text: # without PyTorch the network is the committed file, whose convolutions stay
            first, then = ({tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(self.path(name)).graph.initializer} for name in ("digits_cnn.onnx", "mirrored.onnx"))
            changed = {name for name, array in first.items() if not np.array_equal(array, then[name])}
            self.assertEqual(changed, {"10.weight", "10.bias", "12.weight", "12.bias"})

    def test_embed_texts(self):
        text = self.notebook("embed_texts")
        for topic in ("weather", "cooking", "music"):
            self.assertIn(f"({topic}, ", text)

    def test_export(self):
        text = self.notebook("export")
        self.assertIn("['cpu', 'vulkan']", text)
        self.assertIn("% of the answers are the same", text)

    def test_notebooks(self):
        """Notebooks have no results, and a cell that raises is an error that names it."""
        path = self.path("wrong.ipynb")
        cell = {"cell_type": "code", "metadata": {}, "source": ["x = 1\n", "x / 0"], "outputs": [], "execution_count": None}
        for change, says in (({}, "wrong.ipynb, cell 1:\nx = 1\nx / 0\n"), ({"execution_count": 3}, "expected cells without results")):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"nbformat": 4, "cells": [{**cell, **change}]}, file)
            self.assertIn(says, self.run_program("../test/python/run_notebook.py", path, code=1))
        self.assertEqual(sorted(name for name in os.listdir(os.path.join(SOURCE, "examples", "python")) if name.endswith(".ipynb")),
                         ["embed_texts.ipynb", "export.ipynb", "finetune_torch.ipynb", "train_digits.ipynb"]) # each has a test above

    def test_finetune_lora(self):
        network = os.path.join(SOURCE, "examples", "digits", "digits.onnx")
        text = self.run_program("python/finetune_lora.py", network, "digits", "mirrored.onnx")
        self.assertIn("the export agrees: True", text)
        mirrored = np.ascontiguousarray(self.test["image"][..., ::-1])
        self.assertGreater(self.accuracy(self.path("mirrored.onnx"), mirrored), self.accuracy(network, mirrored) + 0.2)
        before, after = (onnx.load(path).graph for path in (network, self.path("mirrored.onnx")))
        self.assertEqual([node.op_type for node in before.node], [node.op_type for node in after.node])

    def test_without_arguments(self):
        self.assertIn("finetune_lora.py", self.run_program("python/finetune_lora.py", code=1))


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
