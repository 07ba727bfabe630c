"""What the tests of the package vx share, as it is installed of its wheels (run_wheels.py)."""
import faulthandler
import functools
import os
import tempfile
import unittest

import numpy as np

import vx


def best_variant(compile):
    """Of the CPU's code, no more than what runs here: making it is most of the time."""
    variant = "cpu=avx512" if b"avx512vl" in read("/proc/cpuinfo") else "cpu=x86-64-v3"

    @functools.wraps(compile)
    def call(*arguments, targets="cpu", **options):
        if "cpu" in targets.split(","):
            options.setdefault("variants", [variant])
        return compile(*arguments, targets=targets, **options)

    return call


def read(path):
    with open(path, "rb") as file:
        return file.read()


vx.compile, vx.compile_bytes = best_variant(vx.compile), best_variant(vx.compile_bytes)

DIGITS = os.path.join(os.environ["VX_SOURCE"], "examples", "digits")
ADD = """func.func @main(%a: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "a"}, %b: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "b"})
    -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "sum"}) {
  %0 = vx.add %a, %b : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  return %0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
}
func.func @half(%x: tensor<4xbf16> {vx.name = "x"}) -> (tensor<4xbf16> {vx.name = "y"}) {
  %0 = vx.add %x, %x : tensor<4xbf16>, tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
func.func @long(%x: tensor<2xi64> {vx.name = "x"}) -> (tensor<2xi64> {vx.name = "y"}, tensor<2xi1> {vx.name = "same"}) {
  %0 = vx.mul %x, %x : tensor<2xi64>, tensor<2xi64>
  %1 = vx.compare eq %0, %x : tensor<2xi64>, tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi1>
}
"""
# An element of an input is a size of a value between, of at most 100.
SIZED = b"""vx.symbol data_dependent "k" min = 0 max = 100
func.func @main(%n: tensor<i64> {vx.name = "n"}, %x: tensor<1x1x4xf32> {vx.name = "x"}) -> (tensor<1x4xf32> {vx.name = "y"}) {
  vx.bind_symbol "k" = %n
  %0 = vx.broadcast %x, [0, 1, 2] : tensor<1x1x4xf32> -> tensor<1x?x4xf32, #vx.enc<[1, k, 4]>>
  %1 = vx.cumulative_sum %0 : tensor<1x?x4xf32, #vx.enc<[1, k, 4]>>
  %2 = vx.reduce max %1 axes = [1] : tensor<1x?x4xf32, #vx.enc<[1, k, 4]>>
  return %2 : tensor<1x4xf32>
}
"""
# A loop whose rounds the call says, and what it leaves in a variable.
SPIN = b"""vx.symbol data_dependent "i"
vx.variable @kept : tensor<2xf32>
func.func @main(%n: tensor<i64> {vx.name = "n"}, %x: tensor<2xf32> {vx.name = "x"}) -> (tensor<2xf32> {vx.name = "y"}) {
  %true = vx.constant dense<true> : tensor<i1>
  %y = vx.loop "i" trip_count(%n) inits(%x : tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%carried: tensor<2xf32>):
    %next = vx.add %carried, %x : tensor<2xf32>, tensor<2xf32>
    vx.yield %true, %next : tensor<i1>, tensor<2xf32>
  }
  %before = vx.variable_load @kept : tensor<2xf32>
  %after = vx.add %before, %y : tensor<2xf32>, tensor<2xf32>
  vx.variable_store %after, @kept : tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @pick(%x: tensor<4xf32> {vx.name = "x"}, %i: tensor<i64> {vx.name = "i"}) -> (tensor<f32> {vx.name = "y"}) {
  %0 = vx.gather %x, %i axis = 0 : tensor<4xf32>, tensor<i64>
  return %0 : tensor<f32>
}
"""
FOREVER = np.array(1 << 40)


class Package(unittest.TestCase):
    """A test of the package with the compiler, and what such tests share."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.text = "vx.symbol \"n\"\n" + ADD
        cls.module = vx.Module(vx.compile_bytes(cls.text.encode(), "add.mlir"))
        cls.model = vx.Instance(cls.module, device="cpu")
        cls.digits = os.path.join(cls.folder.name, "digits.vxm")
        vx.compile(os.path.join(DIGITS, "digits.onnx"), cls.digits, targets="cpu")
        cls.images = np.fromfile(os.path.join(DIGITS, "images.f32"), np.float32).reshape(-1, 1, 8, 8)
        cls.labels = np.fromfile(os.path.join(DIGITS, "labels.u8"), np.uint8).astype(np.int64)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def spinning(self):
        return vx.Instance(vx.Module(vx.compile_bytes(SPIN, "spin.mlir")), device="cpu")

    def forever(self, model, x, **options):
        pending = model.submit("main", FOREVER, x, **options)
        self.addCleanup(pending.cancel)  # where the test fails
        return pending

    def training_module(self):
        """Compiled by who asks first."""
        module = self.path("train.vxm")
        if not os.path.exists(module):
            notes = vx.compile(os.path.join(os.environ["VX_SOURCE"], "examples", "train_digits", "network.onnx"), module, targets="cpu", train="auto",
                               loss="cross_entropy", optimizer="adamw:weight_decay=0.01", init="random", keep_gradients=True)
            self.assertTrue(any("initializers are trained" in note for note in notes), notes)
        return module

    def training(self, rows=96):
        return vx.Session(self.training_module(), device="cpu", seed=1), {"image": self.images[:rows], "label": self.labels[:rows]}


def main():
    faulthandler.dump_traceback_later(240, exit=True)  # who waits for the interpreter's lock does so forever
    unittest.main()
