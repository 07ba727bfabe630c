"""Weights of PyTorch's files as safetensors, by `python -m vx.convert`."""
import collections
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np

from vx import _convert, convert


class Fake:
    """An object that is pickled as a call of another module's function, as PyTorch's tensors are."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def make_global(module, name):
    made = type(name, (), {})
    made.__module__, made.__qualname__ = module, name
    return made


class Pickler(pickle._Pickler):
    """Writes globals that this machine has not."""

    def save_global(self, one, name=None):
        self.write(pickle.GLOBAL + f"{one.__module__}\n{one.__qualname__}\n".encode())

    def save(self, one, *rest, **named):
        if isinstance(one, type) and one.__module__.startswith(("torch", "os", "models", "collections")):
            return self.save_global(one)
        return super().save(one, *rest, **named)

    def save_reduce(self, func, args, *rest, **named):
        if func is collections.OrderedDict:
            return super().save_reduce(func, args, *rest, **named)
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)

    def persistent_id(self, one):
        return one.place if isinstance(one, Storage) else None


class Storage:
    def __init__(self, kind, key, count):
        self.place = ("storage", make_global("torch", kind), key, "cpu", count)


REBUILD, PARAMETER = make_global("torch._utils", "_rebuild_tensor_v2"), make_global("torch._utils", "_rebuild_parameter")


def tensor(kind, key, count, offset, size, stride):
    return Fake(REBUILD, Storage(kind, key, count), offset, size, stride, False, collections.OrderedDict())


def write(path, content, data, order=b"little", more=()):
    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(content)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", buffer.getvalue())
        archive.writestr("archive/byteorder", order)
        for key, array in data.items():
            archive.writestr(f"archive/data/{key}", array if isinstance(array, bytes) else array.tobytes())
        for name in more:
            archive.writestr(f"archive/{name}", b"x")


class Conversions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source, self.output = (os.path.join(self.folder.name, name) for name in ("model.pt", "out.safetensors"))

    def run_tool(self, *arguments):
        done = subprocess.run([sys.executable, "-W", "error", "-m", "vx.convert", *arguments], capture_output=True, text=True, cwd=self.folder.name)
        return done.returncode, done.stdout, done.stderr

    def sample(self):
        floats = np.arange(12, dtype=np.float32)
        self.data = {"0": floats, "1": np.arange(3, dtype=np.int64), "2": np.array([0x3FC0, 0xC000], np.uint16), "3": np.array([True, False]), "4": np.arange(4, dtype=np.float16)}
        return {"fc.weight": tensor("FloatStorage", "0", 12, 0, (3, 4), (4, 1)), "fc.turned": tensor("FloatStorage", "0", 12, 1, (4, 2), (1, 4)), "steps": tensor("LongStorage", "1", 3, 2, (), ()),
                "brain": Fake(PARAMETER, tensor("BFloat16Storage", "2", 2, 0, (2,), (1,)), True, collections.OrderedDict()), "mask": tensor("BoolStorage", "3", 2, 0, (2, 1), (1, 1)), "half": tensor("HalfStorage", "4", 4, 0, (2, 2), (2, 1)),
                "none": tensor("FloatStorage", "0", 12, 0, (0, 3), (3, 1))}

    def test_values(self):
        write(self.source, self.sample(), self.data)
        self.assertEqual(self.run_tool(self.source, self.output), (0, "", ""))
        arrays = _convert.read_safetensors(self.output)
        floats = np.arange(12, dtype=np.float32)
        for name, want in (("fc.weight", floats.reshape(3, 4)), ("fc.turned", np.array([[1, 5], [2, 6], [3, 7], [4, 8]], np.float32)), ("steps", np.array(2)), ("brain", np.array([1.5, -2], np.float32)), ("mask", np.array([[True], [False]])),
                           ("half", np.arange(4, dtype=np.float16).reshape(2, 2)), ("none", np.zeros((0, 3), np.float32))):
            np.testing.assert_array_equal(arrays[name], want, err_msg=name)
            self.assertEqual(arrays[name].dtype, np.asarray(want).dtype, name)
        with open(self.output, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        self.assertEqual((length % 8, header["brain"], header["steps"]["shape"]), (0, {"dtype": "BF16", "shape": [2], "data_offsets": header["brain"]["data_offsets"]}, []))
        self.assertEqual(os.listdir(self.folder.name).count("out.safetensors.part"), 0)

    def test_dicts_in_dicts(self):
        state = self.sample()
        for content, key, left in (({"state_dict": state, "epoch": 3}, None, ""), ({"nets": {"first": state, "second": {}}}, "nets/first", ""), ({**state, "version": 3, "name": "x"}, None, "left out, as they are no tensors: version, name\n"), (collections.OrderedDict(state), None, "")):
            write(self.source, content, self.data)
            self.assertEqual(self.run_tool(self.source, self.output, *(("--key", key) if key else ())), (0, left, ""))
            self.assertEqual(set(_convert.read_safetensors(self.output)), set(state))

    def test_files_that_are_refused(self):
        state = self.sample()
        with open(self.output, "w") as file:
            file.write("old")
        eight = np.zeros(8, np.float32)
        one = lambda *place: {"w": tensor("FloatStorage", *place)}
        for content, data, options, text in (
                (make_global("models", "Net"), {}, {}, r"expected tensors by their names, got a 'models.Net': save the state dict"), (Fake(make_global("os", "system"), "false"), {}, {}, "got a 'os.system'"), ({"a": 1, "b": 2}, {}, {}, "expected tensors by their names, got a, b: name the state dict by --key"),
                ({"model": state, "state_dict": state}, self.data, {}, "got model, state_dict"), ([1], {}, {}, "got a list"), (state["half"], self.data, {}, "got one tensor"), ({"model": {"a": 1}}, {}, {}, "got no tensor"), ({}, {}, {}, "got nothing"),
                (one("0", 8, 0, (9,), (1,)), {"0": eight}, {}, "expected its last element at 7 at most, got 8"), (one("0", 8, 4, (2, 3), (3, 1)), {"0": eight}, {}, "got 9"), (one("0", 8, 0, (4, 4), (1, 1)), {"0": eight}, {}, "expected 8 elements at most, got 16"), (one("0", 8, -1, (2,), (1,)), {"0": eight}, {}, "sizes and strides of 0 or more"),
                (one("0", 8, 0, (2,), (-1,)), {"0": eight}, {}, "sizes and strides of 0 or more"), (one("0", 8, 0, (2**61, 2**61), (0, 0)), {"0": eight}, {}, "8 elements at most"), (one("0", 9, 0, (2,), (1,)), {"0": eight}, {}, "'0': expected 9 of 4 bytes, got 32 bytes"),
                (one("5", 8, 0, (2,), (1,)), {"0": eight}, {}, "elements '5', which the file has not"), (one("0", 8, 0, (2,), (1,)), {"0": eight}, {"order": b"big"}, "another order"), (one("0", 8, 0, (2,), (1,)), {"0": eight}, {"more": ("code/net.py",)}, "a program of TorchScript"), (one("0", 8, 0, (2,), (1,)), {"0": eight}, {"more": ("more/data.pkl",)}, "expected one data.pkl, got 2"),
                ({1: tensor("FloatStorage", "0", 8, 0, (2,), (1,))}, {"0": eight}, {}, "names that are no texts")):
            write(self.source, content, data, **options)
            with self.assertRaisesRegex(ValueError, text) as raised:
                convert.convert(self.source, self.output)
            self.assertIn("model.pt", str(raised.exception))
        with open(self.output) as file:
            self.assertEqual(file.read(), "old")
        write(self.source, {"nets": state}, self.data)
        code, out, error = self.run_tool(self.source, self.output, "--key", "nets/first")
        self.assertEqual((code, out, error), (1, "", f"vx.convert: '{self.source}': expected 'first' of the key 'nets/first' among {', '.join(state)}\n"))
        for data in (b"", b"\x80\x02}q\x00.", b"PK\x03\x04"):
            with open(self.source, "wb") as file:
                file.write(data)
            self.assertRegex(self.run_tool(self.source, self.output)[2], "vx.convert: '.*model.pt': expected a file of torch.save of PyTorch 1.6 or newer")
        self.assertRegex(self.run_tool("nothing.pt", self.output)[2], "^vx.convert: .*nothing.pt")
        write(self.source, state, self.data)
        self.assertRegex(self.run_tool(self.source, os.path.join(self.folder.name, "no", "folder"))[2], "^vx.convert: .*No such file")
        if os.path.exists("/dev/full"):
            os.symlink("/dev/full", self.output + ".full.part")
            self.assertRegex(self.run_tool(self.source, self.output + ".full")[2], "^vx.convert: .*No space left")
            self.assertFalse(os.path.exists(self.output + ".full"))

    def test_damaged_files(self):
        """Bytes that are changed, and ends that are cut: an error about the file, or other values, and nothing else."""
        write(self.source, self.sample(), self.data)
        with open(self.source, "rb") as file:
            good = file.read()
        convert.convert(self.source, self.output)
        with open(self.output, "rb") as file:
            made = file.read()
        chance, refused = random.Random(5), 0
        for whole, path, read in ((good, self.source, lambda: convert.convert(self.source, self.output)), (made, self.output, lambda: _convert.read_safetensors(self.output))):
            for _ in range(200):
                data = bytearray(whole)
                for _ in range(chance.randrange(1, 4)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                if chance.random() < 0.3:
                    del data[chance.randrange(len(data)):]
                with open(path, "wb") as file:
                    file.write(data)
                try:
                    read()
                except ValueError as error:
                    self.assertIn(os.path.basename(path), str(error))
                    refused += 1
        self.assertGreater(refused, 100)
        for header, text in ((b"{}", None), (b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', "expected 8 bytes inside of 8, got 0 to 4"), (b'{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}', "expected 12 bytes inside of 8"), (b'{"a":{"dtype":"F9","shape":[],"data_offsets":[0,4]}}', "header is damaged"),
                             (b'{"a":{"dtype":"F32","shape":[-2],"data_offsets":[8,0]}}', "0 or more"), (b"[1]", "header is damaged"), (b"{ ", "the file is damaged"), (b'{"a":1}', "header is damaged"), (b'{"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}', "0 or more")):
            with open(self.output, "wb") as file:
                file.write(len(header).to_bytes(8, "little") + header + b"\0" * 8)
            if text is None:
                _convert.read_safetensors(self.output)
                continue
            with self.assertRaisesRegex(ValueError, text):
                _convert.read_safetensors(self.output)
        for length in (3, 1 << 60):
            with open(self.output, "wb") as file:
                file.write(length.to_bytes(8, "little") + b"{}")
            with self.assertRaisesRegex(ValueError, f"whose header has at most 2 bytes, got {length}"):
                _convert.read_safetensors(self.output)


if __name__ == "__main__":
    unittest.main()
