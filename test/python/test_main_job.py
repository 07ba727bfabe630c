"""From a module of torchvision to files that run elsewhere, and the times of its steps; where PyTorch is installed: test_main_job.py SOURCE BIN (run_torch.py)."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnxruntime
import pandas
import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import vx

CPU = {"device": "cpu", "targets": "cpu"}


def cpu_seconds():
    """The time of the processor that this process has used in all its threads."""
    return time.process_time()


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class MainJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "train_digits", "data.py"), cls.path("digits")], check=True)
        parts = {}
        for part in ("train", "test"): # three channels, as resnet18 takes them
            parts[part] = {name: np.load(cls.path("digits", part, f"{name}.npy")) for name in ("image", "label")}
            parts[part]["image"] = np.repeat(parts[part]["image"], 3, 1)
        cls.train, cls.test = ({name: torch.from_numpy(array) for name, array in parts[part].items()} for part in ("train", "test"))

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    @staticmethod
    def loader(data, seed=None):
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        return DataLoader(TensorDataset(data["image"], data["label"]), batch_size=64, shuffle=seed is not None, generator=generator, drop_last=seed is not None)

    @staticmethod
    def network():
        torch.manual_seed(0)
        return torchvision.models.resnet18(num_classes=10)

    def loop(self, network, epochs, seed):
        """The same in PyTorch. Returns the accuracy over the test."""
        optimizer, loader = torch.optim.AdamW(network.parameters(), 3e-4), self.loader(self.train, seed)
        network.train()
        for _ in range(epochs):
            for image, label in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(image), label).backward()
                optimizer.step()
        network.eval()
        with torch.no_grad():
            return float((network(self.test["image"]).argmax(1) == self.test["label"]).float().mean())

    def test_job(self):
        """Training reaches PyTorch's accuracy, within 2 points; the module, the ONNX file, PyTorch with the weights, and torch.compile give equal answers."""
        model, epochs = self.network(), 3
        example = self.train["image"][:4]
        m = vx.from_torch(model, example, dynamic={"x": {0: "batch"}}, train=True, threads=1, **CPU)
        history = m.fit(self.loader(self.train, 1), epochs=epochs, validation_data=self.loader(self.test), optimizer=vx.AdamW(3e-4), loss="cross_entropy", metrics=["accuracy"],
                        callbacks=[vx.EarlyStopping(patience=2, restore_best=True)], verbose=0)
        scores = m.evaluate(self.loader(self.test))
        wanted = self.loop(self.network(), epochs, 1)
        print(f"accuracy after {epochs} epochs: vx {scores['accuracy']:.4f}, PyTorch {wanted:.4f}")
        self.assertGreater(scores["accuracy"], wanted - 0.02)
        self.assertGreater(scores["accuracy"], 0.85)
        self.assertEqual(len(history.history["val_accuracy"]), epochs)
        self.assertAlmostEqual(max(history.history["val_accuracy"]), scores["accuracy"], places=6)
        try:
            import matplotlib
            matplotlib.use("Agg")
        except ImportError:
            pass
        else:
            history.plot(self.path("history.png"))
            self.assertGreater(os.path.getsize(self.path("history.png")), 5000)
        m.save(self.path("r18.vxm"))
        m.export(self.path("r18.onnx"))
        model.load_state_dict(m.state_dict())
        model.eval()
        x = self.test["image"][:37]
        with torch.no_grad():
            expected = model(x).numpy()
            compiled = torch.compile(model, backend=vx.torch_backend)(x).numpy()
        session = onnxruntime.InferenceSession(self.path("r18.onnx"))
        code = f"import sys, numpy, vx; m = vx.Model({self.path('r18.vxm')!r}, device='cpu'); numpy.save(sys.argv[2], next(iter(m(numpy.load(sys.argv[1])).values())))"
        np.save(self.path("x.npy"), x.numpy())
        subprocess.run([sys.executable, "-c", code, self.path("x.npy"), self.path("y.npy")], check=True)
        for what, got in (("vx", next(iter(m(x).values()))), ("ONNX Runtime", session.run(None, {"x": x.numpy()})[0]), ("the module in another process", np.load(self.path("y.npy"))),
                          ("torch.compile", compiled)):
            self.assertLess(np.abs(got - expected).max(), 1e-4 * max(1, np.abs(expected).max()), what)

    def test_frames(self):
        """A frame of pandas is a matrix, or has a column for each input."""
        layer = torch.nn.Linear(3, 2)
        model = vx.from_torch(layer, torch.zeros(4, 3), dynamic={"input": {0: "rows"}}, **CPU)
        frame = pandas.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": [True, False, True]})
        expected = layer(torch.from_numpy(frame.to_numpy(np.float32))).detach().numpy()
        np.testing.assert_allclose(next(iter(model(frame).values())), expected, rtol=1e-5, atol=1e-6)

    def test_step(self):
        """A step of a network for digits takes at most 1.2 of the processor's time of PyTorch's eager step, one thread each, in turns."""
        torch.manual_seed(0)
        network = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                                nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
        model = vx.from_torch(network, self.train["image"][:4], train=True, loss="cross_entropy", optimizer=vx.AdamW(3e-4), threads=1, **CPU)
        batches = [(self.train["image"][begin:begin + 64], self.train["label"][begin:begin + 64]) for begin in range(0, 640, 64)] * 6
        optimizer = torch.optim.AdamW(network.parameters(), 3e-4)
        network.train()

        def eager():
            for image, label in batches:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(image), label).backward()
                optimizer.step()

        times = {"vx": [], "PyTorch": []}
        ways = {"vx": lambda: model.fit(batches, verbose=0), "PyTorch": eager}
        for number in range(6):
            for name, way in ways.items():
                begin = cpu_seconds()
                way()
                if number: # the first is a warm-up
                    times[name].append(cpu_seconds() - begin)
        vx_ms, torch_ms = (statistics.median(times[name]) * 1e3 / len(batches) for name in ("vx", "PyTorch"))
        print(f"step of 64 digits: vx {vx_ms:.1f} ms, PyTorch {torch_ms:.1f} ms, ratio {vx_ms / torch_ms:.3f}")
        self.assertLess(vx_ms / torch_ms, 1.2)

    def test_overhead(self):
        """fit over a DataLoader takes at most 5 % more of the processor's time than vx-train over the same rows and module."""
        network = self.network()
        file = self.path("training.onnx")
        torch.onnx.export(network.train(), (self.train["image"][:4],), file, dynamo=True, optimize=False, input_names=["x"], dynamic_shapes=({0: "batch"},), verbose=False)
        vx.compile(file, self.path("training.vxm"), targets="cpu", train="auto", loss="cross_entropy", optimizer="adamw", batch_norm="train")
        rows = 320
        os.makedirs(self.path("rows"), exist_ok=True)
        np.save(self.path("rows", "x.npy"), self.train["image"][:rows].numpy())
        np.save(self.path("rows", "label.npy"), self.train["label"][:rows].numpy())
        loader = self.loader({name: array[:rows] for name, array in self.train.items()}, 1)
        model = vx.Model(self.path("training.vxm"), device="cpu", threads=1)
        arrays = (self.train["image"][:rows].numpy(), self.train["label"][:rows].numpy())

        def tool(epochs):
            begin = children_seconds()
            subprocess.run([os.path.join(BIN, "vx-train"), self.path("training.vxm"), f"--data={self.path('rows')}", f"--epochs={epochs}", "--batch-size=64", "--device=cpu", "--threads=1"],
                           check=True, capture_output=True)
            return children_seconds() - begin

        def own(*data):
            begin = cpu_seconds()
            model.fit(*data, epochs=2, verbose=0, **({"batch_size": 64} if len(data) > 1 else {}))
            return cpu_seconds() - begin

        own(loader)
        times = {"vx-train": [], "loader": [], "arrays": []}
        for _ in range(3):
            times["vx-train"].append(tool(3) - tool(1)) # without what starts and loads
            times["loader"].append(own(loader))
            times["arrays"].append(own(*arrays))
        base = statistics.median(times["vx-train"])
        ratios = {name: statistics.median(times[name]) / base for name in ("loader", "arrays")}
        print(f"two epochs of {rows} rows: vx-train {base:.3f} s of the processor, fit over a DataLoader {ratios['loader']:.3f} of it, over arrays {ratios['arrays']:.3f}")
        self.assertLess(ratios["loader"], 1.05)
        self.assertLess(ratios["arrays"], 1.05)


if __name__ == "__main__":
    SOURCE, BIN = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
