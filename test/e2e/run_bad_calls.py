#!/usr/bin/env python3
"""Calls that a node cannot take: each fails with one line that names the node and what the caller gave. With vx-run that is exit code 1 or 2; the package vx has the same as a
kind of failure, and is asked where the build has it, but for a call of each exit code.

  run_bad_calls.py --bin BUILD/bin [--device cpu,vulkan] [--filter TEXT]

Exit code: 0 all as wanted, 1 not.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from cpu_variants import variant_flags
from in_process import import_vx
from run_models import np, onnx, required_devices
from onnx import TensorProto, helper


class Call:
    """One node `n` over `inputs`: arrays, or tuples of an array and its dims as the model declares them. The call fails with `code` and `message`.
    With nodes `before` it, the node takes `operands`, which are inputs or theirs."""

    def __init__(self, op, inputs, message, code=1, opset=18, before=(), operands=None, **attributes):
        self.op, self.inputs, self.message, self.code, self.opset, self.attributes = op, inputs, message, code, opset, attributes
        self.before, self.operands = list(before), operands or [name if value is not None else "" for name, value in inputs.items()]

    def title(self):
        texts = [f"{name}={array.tolist() if array.size < 7 else list(array.shape)}" for name, array in self.arrays().items()]
        return " ".join([self.op, *texts, *(f"{name}={value}" for name, value in self.attributes.items())])

    def arrays(self):
        return {name: value[0] if isinstance(value, tuple) else value for name, value in self.inputs.items() if value is not None}

    def model(self):
        node = helper.make_node(self.op, self.operands, ["y", "z"] if self.op == "Split" else ["y"], name="n", **self.attributes)
        values = []
        for name, value in self.inputs.items():
            if value is None:
                continue
            array, dims = value if isinstance(value, tuple) else (value, value.shape)
            values.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        return helper.make_model(helper.make_graph([*self.before, node], "g", values, outputs), opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def i64(*values):
    return np.array(values, np.int64)


def scalar(value):
    return np.array(value, np.int64)


def ones(*dims):
    return np.ones(dims, np.float32)


def branch(*nodes):
    """A branch of If: the last node's output is its own."""
    return helper.make_graph(nodes, "branch", [], [helper.make_empty_tensor_value_info(nodes[-1].output[0])])


UPPER = 9223372036854775807


def size(name, value, least=0):
    return f"size '{name}' is {value}, allowed is [{least}, {UPPER})"


def equal(lhs, rhs, got, or_one=False):
    return f"needs sizes '{lhs}' and '{rhs}' equal{or_one * ' or one of them 1'}, got {got[0]} and {got[1]}"


def at_least(size, least, got, than=None):
    return f"needs size '{size}' to be at least '{least}', got {got} and {least if than is None else than}"


CALLS = [
    # Indices of the data.
    Call("Gather", {"x": ones(4, 3), "i": i64(1, 5)}, "index at [1] is 5, allowed is [-4, 4)"),
    Call("Gather", {"x": ones(4, 3), "i": np.array([[0, 1], [-4, 0]], np.int32)}, "index at [1, 0] is -4, allowed is [-3, 3)", axis=1),
    Call("Gather", {"x": ones(4), "i": scalar(-5)}, "index is -5, allowed is [-4, 4)"),
    Call("Gather", {"x": (ones(4, 3), ["N", 3]), "i": (i64(0, 1, 4), ["M"])}, "index at [2] is 4, allowed is [-4, 4)"),
    Call("GatherND", {"x": ones(4, 3), "i": i64([1, 2], [3, -4])}, "index at [1, 1] is -4, allowed is [-3, 3)"),
    Call("GatherND", {"x": ones(4, 3), "i": i64([[1, 2]], [[4, 0]])}, "index at [1, 0, 0] is 4, allowed is [-4, 4)"),
    Call("GatherND", {"x": (ones(4, 3), ["N", "C"]), "i": (i64([-1], [7]), ["M", 1])}, "index at [1, 0] is 7, allowed is [-4, 4)"),
    Call("ScatterND", {"x": ones(4, 3), "i": i64([1], [4]), "u": ones(2, 3)}, "index at [1, 0] is 4, allowed is [-4, 4)"),
    Call("ScatterND", {"x": (ones(4, 3), ["N", "C"]), "i": (i64([-1, 2], [0, -4]), ["M", 2]), "u": (ones(2), ["M"])}, "index at [1, 1] is -4, allowed is [-3, 3)"),
    Call("GatherND", {"x": ones(2, 4, 3), "i": np.array([[1], [4]])}, "index at [1, 1] is 4, allowed is [-4, 4)", batch_dims=1),
    Call("ReverseSequence", {"x": ones(4, 2), "n": i64(4, 5)}, "index at [1] is 5, allowed is [0, 5)"),
    Call("TensorScatter", {"x": ones(2, 4, 3), "u": ones(2, 2, 3), "i": i64(1, 3)}, "index at [1, 1, 1] is 4, allowed is [0, 4)", opset=24),
    # Lists and scalars of the data.
    Call("Reshape", {"x": ones(2, 3), "s": i64(4, 5)}, equal(6, "s[0] * s[1]", (6, 20))),
    Call("Reshape", {"x": ones(2, 3), "s": i64(-1, 4)}, equal(6, "s[0] * s[1]", (6, 4))),
    Call("Reshape", {"x": ones(2, 3), "s": i64(-1, -1)}, size("s[0]", -1)),
    Call("Reshape", {"x": ones(2, 3), "s": i64(-3, 2)}, size("s[0]", -3)),
    Call("Reshape", {"x": (ones(2, 3), ["N", 3]), "s": i64(0, 4)}, equal("N * 3", "s[0] * s[1]", (6, 8))),
    Call("Reshape", {"x": (ones(2, 3), ["N", "M"]), "s": i64(5, 5)}, equal("M * N", "s[0] * s[1]", (6, 25))),
    Call("Squeeze", {"x": (ones(1, 1), [1, "N"])}, "needs size 'N' not to be '1', got 1 and 1", code=2),
    Call("Expand", {"x": ones(2, 1), "s": i64(3, 4)}, equal(2, "s[0]", (2, 3), or_one=True)),
    Call("Expand", {"x": ones(1, 1), "s": i64(3, -4)}, size("s[1]", -4)),
    Call("ConstantOfShape", {"s": i64(2, -1)}, size("s[1]", -1)),
    Call("Range", {"a": scalar(0), "b": scalar(5), "c": scalar(0)}, size("abs(c)", 0, 1)),
    Call("Range", {"a": scalar(-2**63), "b": scalar(2**63 - 1), "c": scalar(1)}, size("b - a", -1)),
    Call("Split", {"x": ones(6), "s": i64(2, 5)}, equal("s[0] + s[1]", 6, (7, 6))),
    Call("Split", {"x": ones(6), "s": i64(7, -1)}, size("s[1]", -1)),
    Call("Split", {"x": (ones(6), ["N"]), "s": i64(2, 5)}, equal("s[0] + s[1]", "N", (7, 6))),
    Call("Tile", {"x": ones(2, 3), "r": i64(2, -1)}, size("r[1]", -1)),
    Call("Pad", {"x": ones(2, 3), "p": i64(0, -2, 0, -2)}, at_least("p[1] + p[3] - p_cut[1] - p_cut[3] + 3", 0, -1)),
    Call("ReduceSum", {"x": ones(2, 3), "a": i64(1, 2)}, "index at [1] is 2, allowed is [-2, 2)"),
    Call("ReduceMax", {"x": (ones(2, 3), ["N", "M"]), "a": i64(1, -1)}, equal("a.different", 2, (1, 2))),
    Call("ReduceMean", {"x": (ones(2, 3), ["N", 3]), "a": (i64(0, -2), ["K"])}, equal("a.different", "K", (1, 2))),
    Call("Squeeze", {"x": (ones(0, 3), ["N", "M"]), "a": i64(-1)}, equal("a.squeezed[1]", 1, (3, 1))),
    Call("Unsqueeze", {"x": ones(2, 3), "a": i64(-4)}, "index at [0] is -4, allowed is [-3, 3)"),
    Call("Slice", {"x": ones(5), "s": i64(0), "e": i64(3), "a": i64(0), "t": i64(0)}, size("t[0]", 0, 1)),
    Call("Slice", {"x": ones(5, 2), "s": i64(0, 1), "e": i64(3, 2), "a": i64(1, 1)}, equal("a.different", 2, (1, 2))),
    Call("Slice", {"x": ones(5, 2), "s": (i64(0, 1), ["K"]), "e": (i64(3), ["L"])}, equal("L", "K", (1, 2)), code=2),
    Call("Pad", {"x": ones(5, 2), "p": (i64(0, 1, 2), ["K"]), "v": None, "a": i64(1)}, equal("K", 2, (3, 2)), code=2),
    Call("SplitToSequence", {"x": (ones(6), ["N"]), "s": scalar(0)}, at_least("s[0]", 1, 0)),
    Call("SplitToSequence", {"x": ones(6), "s": (i64(2, 5), ["K"])}, at_least(6, "s.part + s.sum", 6, 7)),
    Call("SplitToSequence", {"x": (ones(6), ["N"]), "s": (i64(2, 3), ["K"])}, equal("s.sum_1", "N", (5, 6))),
    Call("SplitToSequence", {"x": (ones(6), ["N"]), "s": (i64(7, -1), ["K"])}, at_least("N", "s.part + s.sum", 6, 7)),
    Call("SplitToSequence", {"x": (ones(6), ["N"]), "s": (i64(-1, 7), ["K"])}, size("s.part", -1)),
    Call("SplitToSequence", {"x": (ones(6), ["N"]), "s": (i64(UPPER, UPPER), ["K"])}, size("s.part", UPPER)),
    Call("SplitToSequence", {"x": (ones(0), ["N"]), "s": (i64(), ["K"])}, at_least("K", 1, 0), code=2),
    Call("Dropout", {"x": ones(6), "r": np.array(1, np.float32), "t": np.array(True)}, equal("r.from_0_below_1", 1, (0, 1)), seed=5),
    Call("Resize", {"x": ones(1, 1, 2, 2), "r": None, "s": None, "t": i64(1, 1, -2, 4)}, size("t[2]", -2), mode="nearest"),
    Call("Resize", {"x": ones(1, 1, 2, 2), "r": None, "s": np.array([1, 1, 0, 2], np.float32)}, equal("s.above_0", 4, (3, 4)), mode="linear"),
    # Sizes that a node before it decided: by the tensor's name and axis.
    Call("Add", {"c": np.array(True), "x": (ones(5), ["N"]), "w": (ones(3), ["M"])}, equal("M", "picked.shape[0]", (3, 5), or_one=True),
         before=[helper.make_node("If", ["c"], ["picked"], then_branch=branch(helper.make_node("Identity", ["x"], ["t"])),
                                  else_branch=branch(helper.make_node("Concat", ["x", "x"], ["e"], axis=0)))], operands=["picked", "w"]),
    Call("Mul", {"x": (i64(0, 4, 5), ["N"]), "w": ones(2, 3)}, "needs size 'places.shape[1]' to be 1 or '3', got 2 and 3",
         before=[helper.make_node("NonZero", ["x"], ["places"]), helper.make_node("Cast", ["places"], ["found"], to=TensorProto.FLOAT)],
         operands=["found", "w"]),
    Call("MatMul", {"x": (ones(2, 3), ["N", 3]), "z": (ones(4, 3), ["M", 3]), "i": scalar(1), "w": (ones(2, 5), ["K", 5])},
         equal("row.shape[0]", "K", (4, 2)), before=[helper.make_node("SequenceConstruct", ["x", "z"], ["rows"]),
                                                     helper.make_node("SequenceAt", ["rows", "i"], ["row"]),
                                                     helper.make_node("Transpose", ["row"], ["column"])], operands=["column", "w"]),
    # Sizes of the inputs.
    Call("Add", {"a": (ones(3), ["N"]), "b": (ones(5), ["M"])}, equal("M", "N", (5, 3), or_one=True), code=2),
    Call("Concat", {"a": (ones(2, 3), ["N", "C"]), "b": (ones(2, 4), ["M", "D"])}, equal("C", "D", (3, 4)), code=2, axis=0),
    Call("MatMul", {"a": (ones(2, 3), ["N", "K"]), "b": (ones(4, 5), ["L", "M"])}, equal("K", "L", (3, 4)), code=2),
    Call("MatMul", {"a": (ones(2, 2, 3), ["B", "N", "K"]), "b": (ones(3, 3, 5), ["C", "K", "M"])}, equal("B", "C", (2, 3), or_one=True), code=2),
    Call("Gemm", {"a": (ones(2, 3), ["N", "K"]), "b": (ones(4, 5), ["L", "M"])}, equal("K", "L", (3, 4)), code=2),
    Call("Conv", {"a": (ones(1, 3, 2, 5), ["N", "C", "H", "W"]), "w": ones(2, 3, 3, 3)}, at_least("H", 3, 2), code=2),
    Call("Conv", {"a": ones(1, 3, 4, 5), "w": (ones(2, 3, 1, 9), [2, 3, "K", "L"])}, equal("K", 3, (1, 3)), code=2, kernel_shape=[3, 3]),
    Call("Conv", {"a": ones(1, 3, 4, 5), "w": (ones(2, 3, 3, 0), [2, 3, "K", "L"])}, at_least("L", 1, 0), code=2),
    Call("ConvTranspose", {"a": (ones(1, 3, 4, 5), [1, "C", 4, 5]), "w": (ones(3, 3, 3, 2), ["C", 3, "K", "L"])}, "needs size 'C' to be a multiple of '2', got 3 and 2",
         code=2, group=2),
    # One value is not one for each.
    Call("Conv", {"a": (ones(1, 3, 4, 5), ["N", "C", "H", "W"]), "w": (ones(2, 3, 3, 3), ["M", 3, 3, 3]), "b": ones(1)}, equal("M", 1, (2, 1)), code=2),
    Call("ConvTranspose", {"a": (ones(1, 3, 4, 5), ["N", 3, "H", "W"]), "w": ones(3, 2, 3, 3), "b": (ones(1), ["B"])}, equal(2, "B", (2, 1)), code=2),
    Call("BatchNormalization", {"a": (ones(1, 3, 4), ["N", "C", 4]), "s": ones(1), "b": ones(1), "m": ones(1), "v": ones(1)}, equal("C", 1, (3, 1)), code=2),
    Call("InstanceNormalization", {"a": (ones(1, 3, 4), ["N", "C", 4]), "s": ones(1), "b": ones(1)}, equal("C", 1, (3, 1)), code=2),
    Call("Where", {"c": (ones(3) > 0, ["P"]), "a": (ones(3), ["Q"]), "b": (ones(2), ["R"])}, equal("P", "R", (3, 2), or_one=True), code=2),
    Call("ArgMax", {"x": (ones(3, 0), ["N", "M"])}, at_least("M", 1, 0), code=2, axis=1),
    Call("MaxPool", {"x": (ones(1, 1, 2, 2), [1, 1, "H", "W"])}, at_least("H", 3, 2), code=2, kernel_shape=[3, 3]),
]


class Tools:
    """Each call by vx-compile and vx-run, with files."""

    def __init__(self, bin, folder, devices):
        self.bin, self.folder, self.devices = bin, folder, devices

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name, *arguments):
        return subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, timeout=120)

    def compile(self, call):
        """Why it does not compile, or None."""
        onnx.save(call.model(), self.path("m.onnx"))
        compiled = self.tool("vx-compile", self.path("m.onnx"), f"--target={','.join(self.devices)}", *variant_flags(self.devices), "--no-cache", "-o", self.path("m.vxm"))
        return f"vx-compile: {compiled.stderr.strip()}" if compiled.returncode else None

    def run(self, call, device):
        """The exit code and the message."""
        files = []
        for name, array in call.arrays().items():
            np.save(self.path(f"{name}.npy"), array)
            files += ["--input", f"{name}=@{self.path(name + '.npy')}"]
        done = self.tool("vx-run", self.path("m.vxm"), f"--device={device}", "--no-fallback", *files)
        return done.returncode, done.stderr.strip().removeprefix("vx-run: error: ")

    def function(self, code):
        """The function of the C interface that fails with an exit code."""
        return "vx_call_run"


class Package:
    """The same by the package vx, in this process."""

    CODES = {"fault": 1, "invalid_argument": 2}

    def __init__(self, vx, devices):
        self.vx, self.devices = vx, devices

    def compile(self, call):
        variants = [flag.removeprefix("--") for flag in variant_flags(self.devices)]
        try:
            self.module = self.vx.Module(self.vx.compile_bytes(call.model().SerializeToString(), "m.onnx", targets=",".join(self.devices), variants=variants))
        except self.vx.CompileError as error:
            return f"vx.compile_bytes: {error}"
        return None

    def run(self, call, device):
        try:
            return 0, f"gives {self.vx.Instance(self.module, device=device, fallback=False)(**call.arrays())}"
        except self.vx.Error as error:
            return self.CODES.get(error.code, error.code), str(error)

    def function(self, code):
        # A run that Ctrl-C can cancel is submitted, and then waited for.
        return "vx_call_submit" if code == 2 else "vx_call_wait_for"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    vx = import_vx(options.bin)
    passed = failed = 0
    asked = set()  # exit codes
    with tempfile.TemporaryDirectory() as folder:
        for call in CALLS:
            if options.filter not in call.title():
                continue
            ways = [Package(vx, devices)] if vx else []
            if not vx or call.code not in asked:
                ways.append(Tools(options.bin, folder, devices))
                asked.add(call.code)
            for way in ways:
                refused = way.compile(call)
                if refused:
                    failed += 1
                    print(f"FAILED {call.title()}: {refused}", flush=True)
                    continue
                for device in devices:
                    got, want = way.run(call, device), (call.code, f"{way.function(call.code)}: n ({call.op}): {call.message}")
                    passed, failed = passed + (got == want), failed + (got != want)
                    if got != want:
                        print(f"FAILED {call.title()}, {device}, {type(way).__name__.lower()}: got {got}, expected {want}", flush=True)
    if not passed + failed:
        print(f"FAILED no case matches '{options.filter}'")
    print(f"{passed} passed, {failed} failed on {' and '.join(devices)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
