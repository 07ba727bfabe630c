#!/usr/bin/env python3
"""Models that once showed a fault, each with what must come of it: ONNX Runtime's outputs, or an exit code and a message.

  run_found.py --bin BUILD/bin [--device cpu,vulkan] [--filter TEXT]

The models lie in the folder `found`, the cases in the table below. A tool that dies, hangs or fails without a message fails its case whatever the
case wants. Exit code: 0 all passed, 1 some failed, among them a device of those
asked for that is not there.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from cpu_variants import variant_flags
from run_models import np, onnx, onnxruntime, reference, required_devices

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "found")
SECONDS = 300
# Names of types and operations inside of the compiler, and what a terminal obeys, are no part of a message.
INTERNAL = re.compile(r"tensor<|[#!]vx|'(vx|vxk|vxrt|linalg|arith|func|scf|memref|spirv|gpu|llvm)\.|mlir|llvm|[\x00-\x09\x0b-\x1f\x7f]", re.IGNORECASE)


class Case:
    """One model, compiled with `flags` and run on each of `devices`.

    `inputs` are arrays by name; an input that is not among them is random, of the sizes that the model and `dims` say. `code` 0 wants ONNX Runtime's
    outputs: those of integers exactly, those of floats up to the rounding of sums of `terms`. Another `code` wants that exit code and, on stderr,
    `message` alone; `tool` says which tool is to end so. In the message MODEL and MODULE stand for the files and DEVICE for the device's name."""

    def __init__(self, model, code=0, message="", tool="vx-run", dims=None, inputs=None, flags=(), devices=("cpu", "vulkan"), terms=16):
        self.model, self.code, self.message, self.tool = model, code, message, tool
        self.dims, self.given, self.flags, self.devices, self.terms = dims or {}, inputs or {}, flags, devices, terms

    def title(self):
        given = [f"{name}={size}" for name, size in self.dims.items()]
        given += [f"{name}={array.tolist() if array.size < 9 else array.shape}" for name, array in self.given.items()]
        return " ".join([self.model, *self.flags, *given])

    def arrays(self, graph):
        random = np.random.default_rng(5)
        weights = {tensor.name for tensor in graph.initializer}
        arrays = {}
        for value in graph.input:
            if value.name in weights:
                continue
            tensor = value.type.tensor_type
            kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            if value.name in self.given:
                arrays[value.name] = np.asarray(self.given[value.name], kind)
                continue
            shape = [self.dims[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
            drawn = random.standard_normal(shape) if kind.kind == "f" else random.integers(0, 2, shape)
            arrays[value.name] = np.asarray(drawn).astype(kind)
        return arrays


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


class Failure(Exception):
    pass


class Runner:
    def __init__(self, bin, folder, devices):
        self.bin, self.folder, self.devices = bin, folder, devices
        self.compiled = {}

    def tool(self, name, *arguments):
        environment = dict(os.environ, VX_VULKAN_VALIDATION="1", VX_CHECK_SCHEDULE="1")
        try:
            done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, errors="replace", timeout=SECONDS,
                                  env=environment)
        except subprocess.TimeoutExpired:
            raise Failure(f"{name} is not done after {SECONDS} s")
        # A signal; a shell or sanitizer that stands between makes 128 + n of it.
        if done.returncode < 0 or done.returncode > 4:
            raise Failure(f"{name} dies: {done.returncode}: {done.stderr.strip()}")
        if done.returncode and not done.stderr.strip():
            raise Failure(f"{name} exits with {done.returncode} and no message")
        if INTERNAL.search(done.stderr):
            raise Failure(f"{name} speaks of what only its authors know: {done.stderr.strip()}")
        return done.returncode, done.stderr.strip()

    def expect(self, case, tool, result, **names):
        """True when the tool has ended as the case wants; else it has succeeded."""
        code, text = result
        if tool != case.tool or case.code == 0:
            if code:
                raise Failure(f"{tool} exits with {code}: {text}")
            return False
        message = case.message
        for name, value in names.items():
            message = message.replace(name, value)
        if (code, text) != (case.code, message):
            raise Failure(f"{tool} exits with {code} and {text!r}, expected {case.code} and {message!r}")
        return True

    def compile(self, case):
        """The result of vx-compile and the module; once for all cases of a model with the same flags."""
        key = (case.model, case.flags)
        if key not in self.compiled:
            module = os.path.join(self.folder, f"{len(self.compiled)}.vxm")
            model = os.path.join(FOLDER, f"{case.model}.onnx")
            try:
                result = self.tool("vx-compile", model, f"--target={','.join(self.devices)}", *variant_flags(self.devices), "--no-cache", "-o", module, *case.flags)
            except Failure as failure:
                result = failure
            self.compiled[key] = model, module, result
        if isinstance(self.compiled[key][2], Failure):
            raise self.compiled[key][2]
        return self.compiled[key]

    def run(self, case, device):
        model, module, result = self.compile(case)
        if self.expect(case, "vx-compile", result, MODEL=model):
            return
        proto = onnx.load(model)
        inputs = case.arrays(proto.graph)
        names = [output.name for output in proto.graph.output]
        path = lambda kind, index: os.path.join(self.folder, f"{kind}{index}.npy")
        files = []
        for index, (name, array) in enumerate(inputs.items()):
            np.save(path("in", index), array)
            files += ["--input", f"{name}=@{path('in', index)}"]
        for index, name in enumerate(names):
            files += ["--output", f"{name}=@{path('out', index)}"]
        result = self.tool("vx-run", module, f"--device={device}", "--no-fallback", *files)
        if self.expect(case, "vx-run", result, MODEL=model, MODULE=module, DEVICE=device):
            return
        try:
            wanted = reference(model).run(names, inputs)
        except Exception as error:  # its classes have no common base but this
            raise Failure(f"{device} is done, but ONNX Runtime fails: {error}") from error
        for index, (name, want) in enumerate(zip(names, wanted)):
            self.compare(case, name, np.load(path("out", index)), np.asarray(want))

    def compare(self, case, name, got, want):
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            raise Failure(f"{name}: got {got.dtype} {got.shape}, expected {want.dtype} {want.shape}")
        if want.dtype.kind != "f":
            wrong, limit = got != want, 0
        else:
            finite = np.isfinite(want)
            limit = 2 * case.terms * np.finfo(want.dtype).eps * float(abs(want[finite]).max(initial=0))
            with np.errstate(invalid="ignore"):
                wrong = np.where(finite, ~(abs(got - want) <= limit), (got != want) & ~(np.isnan(got) & np.isnan(want)))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise Failure(f"{name}: {int(wrong.sum())} of {wrong.size} are wrong, first at {at}: got {got[at]!r}, expected {want[at]!r}, allowed {limit!r}")


def unfit(model, node, want, got, dims=None, code=2, flags=(), **rest):
    """A case of sizes that do not fit: what the node wants and the sizes that came, which the module's user hears, or with fixed sizes its maker."""
    tool, where = ("vx-compile", "MODEL: ") if code == 3 else ("vx-run", "vx_call_run: ")
    message = f"{tool}: error: {where}{node}: needs {want}, got {got[0]} and {got[1]}"
    return Case(model, code=code, tool=tool, message=message, dims=dims, flags=flags, **rest)


def equal(lhs, rhs, or_one=False):
    return f"sizes '{lhs}' and '{rhs}' equal" + or_one * " or one of them 1"


BROKEN = "; the model breaks a rule of ONNX: see what onnx.checker.check_model says, and export it again"

# Where sizes that come from different symbols must be equal: the sizes that are.
CASES = [
    Case("argmax_empty", dims={"N": 3, "M": 2}),
    Case("bc_NM_bad", dims={"N": 3, "M": 3}),
    Case("bc_NM_bad", dims={"N": 3, "M": 1}),
    Case("bc_NM_bad", dims={"N": 1, "M": 5}),
    Case("bc_NM_bad_big", dims={"N": 4, "M": 4}),
    Case("cc_oob2", dims={"N": 2, "M": 3, "K": 4, "L": 4}),
    Case("concat_sym", dims={"N": 2, "M": 3, "K": 4, "L": 4}),
    Case("conv_ch_sym", dims={"N": 2, "C": 3, "H": 5, "W": 6}, terms=64),
    Case("div_f_zero_s", inputs={"a": f32(1, -1, 0)}),
    Case("exp_c_bad", dims={"N": 4, "M": 3}),
    Case("exp_r_bad", inputs={"s": i64(2, 3)}),
    *[Case("gemm_beta0", inputs={"c": f32(value, 2, 3, 4)}) for value in (1, np.nan, np.inf)],
    Case("gemm_c_bad", dims={"N": 2, "K": 3, "L": 3, "O": 4, "C": 4}),
    Case("ln_sym", dims={"N": 2, "C": 4}),
    *[Case("loop_in_if", dims={"N": 4}, inputs={"c": np.array(taken), "n": i64(count).reshape([])}) for taken in (True, False) for count in (0, 3)],
    *[Case("m_nest", inputs={"n": i64(count).reshape([])}) for count in (0, 1, 4)],
    Case("mm_sym_big", dims={"N": 2, "K": 4, "L": 4}),
    Case("mm_sym_c", dims={"N": 2, "K": 4}),
    Case("ql_zero_scale", inputs={"x": f32(1, -1, 2.5)}),
    Case("ql_zero_scale", inputs={"x": f32(0, np.nan, -np.inf)}),
    Case("operand_unlinked", terms=256),
    Case("r4", dims={"N": 3, "M": 5000}),
    *[Case("rangehuge", inputs={"a": i64(start).reshape([]), "b": i64(limit).reshape([]), "c": i64(delta).reshape([])})
      for start, limit, delta in ((3, 11, 2), (3, 12, 2), (5, 0, 1), (0, -5, -2), (-3, 3, 1))],
    *[Case("rangehuge", code=1, inputs={"a": i64(start).reshape([]), "b": i64(limit).reshape([]), "c": i64(delta).reshape([])},
           message=f"vx-run: error: vx_call_run: {what}, allowed is [{least}, 9223372036854775807)")
      for start, limit, delta, what, least in ((0, 5, 0, "range_0 (Range): size 'abs(c)' is 0", 1),
                                              (-2**63, 2**63 - 1, 1, "range_0 (Range): size 'b - a' is -1", 0))],
    *[Case("resh_r_zn", code=1, inputs={"s": i64(*sizes)}, message=f"vx-run: error: vx_call_run: reshape_0 (Reshape): size 's[{place}]' is {size}, "
                                                                  "allowed is [0, 9223372036854775807)")
      for sizes, place, size in (((-1, -1), 0, -1), ((-2, 12), 0, -2))],
    unfit("resh_r_zn", "reshape_0 (Reshape)", equal(24, "s[0] * s[1]"), (24, 20), inputs={"s": i64(5, -1)}, code=1),
    *[Case(model, code=1, inputs={name: i64(2, -1)}, message=f"vx-run: error: vx_call_run: {node}: size '{name}[1]' is -1, allowed is "
                                                             "[0, 9223372036854775807)")
      for model, name, node in (("constant_of_list", "s", "constantofshape (ConstantOfShape)"), ("tile_list", "r", "tile (Tile)"))],
    *[Case("resh_r_zn", inputs={"s": i64(*sizes)}) for sizes in ((4, 6), (0, 12), (0, -1), (-1, 3), (-1, 0))],
    *[Case("reshape_list3", dims={"N": n}, inputs={"s": i64(*sizes)}) for n in (2, 1) for sizes in ((0, -1, 2), (0, 0, 0), (-1, 1, 3), (4, 0, -1))],
    *[Case("reshape_allowzero", dims={"N": n}, inputs={"s": i64(*sizes)}) for n, sizes in ((2, (3, -1)), (0, (0, 7)), (0, (5, 0)))],
    Case("reshape_after_read", inputs={"s": i64(3, 2)}),
    Case("reshape_after_read", inputs={"s": i64(0, 3)}),
    *[Case("pad_list", inputs={"p": i64(*pads)}) for pads in ((0, 0, 0, 0), (1, 2, 0, 3), (-1, 0, 2, -1), (0, -2, 1, 0), (0, -1, 0, -2))],
    *[Case("constant_of_list", inputs={"s": i64(*sizes)}) for sizes in ((2, 3), (0, 3))],
    *[Case("tile_list", inputs={"r": i64(*repeats)}) for repeats in ((2, 3), (1, 1), (0, 2))],
    *[Case("shape_of_if", dims={"N": 3}, inputs={"c": np.array(taken)}) for taken in (True, False)],
    *[Case("shape_of_loop", dims={"N": 3}, inputs={"n": i64(count).reshape([])}) for count in (0, 2)],
    *[Case("shape_of_element", dims={"N": 3}, inputs={"n": i64(place).reshape([])}) for place in (0, -1)],
    Case("m_seqcond", code=3, tool="vx-compile", message="vx-compile: error: MODEL: node 'loop' (Loop, ai.onnx 18): expects a tensor, got 'sequence of f32[...]'" + BROKEN),
    *[Case(f"loop_condition_is_sequence_{number}", code=3, tool="vx-compile", dims={"N": 2},
           message="vx-compile: error: MODEL: node 'loop_s9' (Loop, ai.onnx 18): expects a tensor, got 'sequence of f32[...]'" + BROKEN) for number in (2, 3)],
    Case("reduce_attribute", code=3, tool="vx-compile",
         message="vx-compile: error: MODEL: node 'reducemax' (ReduceMax, ai.onnx 18): expects no attributes but keepdims, noop_with_empty_axes in "
                 "version 18, got 'axes'" + BROKEN),
    Case("control_characters", code=3, tool="vx-compile",
         message=r"vx-compile: error: MODEL: node 'relu\x1b[31m\x0a\xc2\x9b5m' (Relu, ai.onnx 18): expects no attribute in version 18, got 'al\x07pha'" + BROKEN),
    Case("size_minus_one", inputs={"x": np.ones((4, 3), np.float32)}),
    Case("split_sym_bad", dims={"N": 6}),
    Case("where_bad", dims={"P": 4, "Q": 4}),
    *(Case("list_of_loop", dims={"a": a}, inputs={"n": i64(n)[0]}) for a, n in ((5, 4), (1, 1), (7, 7))),
    *(Case("rank_by_size", dims={"b": b, "t": t}, inputs={"f": np.array(f)}) for b, t, f in ((2, 1, True), (3, 1, False), (2, 3, False))),
    # And sizes that are not.
    unfit("rank_by_size", "by_size (If)", equal("t", 1), (3, 1), {"b": 2, "t": 3}, inputs={"f": np.array(True)}, code=1),
    Case("bc_NM_bad", dims={"N": 0, "M": 1}),
    unfit("bc_NM_bad", "add_0 (Add)", equal("M", "N", or_one=True), (5, 3), {"N": 3, "M": 5}),
    unfit("bc_NM_bad", "add_0 (Add)", equal("M", "N", or_one=True), (5, 3), code=3, flags=("--dim", "N=3", "--dim", "M=5")),
    unfit("bc_NM_bad", "add_0 (Add)", equal("M", "N", or_one=True), (5, 3), {"N": 3, "M": 5}, flags=("--dim", "N=3")),
    unfit("bc_NM_bad_big", "add_0 (Add)", equal("M", "N", or_one=True), (5, 3), {"N": 3, "M": 5}),
    unfit("mm_sym_big", "matmul_0 (MatMul)", equal("K", "L"), (3000000, 4), {"N": 2, "K": 3000000, "L": 4}),
    unfit("mm_sym_c", "matmul_0 (MatMul)", equal("K", 4), (7, 4), {"N": 2, "K": 7}),
    unfit("gemm_c_bad", "gemm_0 (Gemm)", equal("K", "L"), (3, 4), {"N": 2, "K": 3, "L": 4, "O": 4, "C": 4}),
    unfit("gemm_c_bad", "gemm_0 (Gemm)", "size 'C' to be 1 or 'O'", (5, 4), {"N": 2, "K": 3, "L": 3, "O": 4, "C": 5}),
    unfit("conv_ch_sym", "conv_0 (Conv)", equal("C", 3), (5, 3), {"N": 2, "C": 5, "H": 5, "W": 6}),
    unfit("conv_ch_sym", "conv_0 (Conv)", "size 'H' to be at least '3'", (2, 3), {"N": 2, "C": 3, "H": 2, "W": 6}),
    unfit("ln_sym", "layernormalization_0 (LayerNormalization)", "size '4' to be 1 or 'C'", (4, 6), {"N": 2, "C": 6}),
    unfit("where_bad", "where_y (Where)", equal("P", "Q", or_one=True), (4, 3), {"P": 4, "Q": 3}),
    unfit("cc_oob2", "concat_y (Concat)", equal("K", "L"), (4, 3), {"N": 2, "M": 3, "K": 4, "L": 3}),
    unfit("concat_sym", "concat_0 (Concat)", equal("K", "L"), (4, 5), {"N": 2, "M": 3, "K": 4, "L": 5}),
    unfit("split_sym_bad", "split_0 (Split)", equal(6, "N"), (6, 7), {"N": 7}),
    unfit("split_sym_bad2", "split_0 (Split)", equal(30000003, "N"), (30000003, 6), {"N": 6}),
    unfit("r1", "resh (Reshape)", equal("batch * seq * 8", "batch * 8000000"), (24, 8000000), {"batch": 1, "seq": 3}),
    unfit("r3", "resh (Reshape)", equal("N * 8", 8000000), (24, 8000000), {"N": 3}),
    unfit("r4", "resh (Reshape)", equal("M * N", "N * 5000"), (12, 15000), {"N": 3, "M": 4}),
    unfit("reshape_fused", "reshape_or (Reshape)", equal("batch * seq * 8", "batch * 8000000"), (24, 8000000), {"batch": 1, "seq": 3}),
    unfit("exp_c_bad", "expand_0 (Expand)", equal("N", 4, or_one=True), (2, 4), {"N": 2, "M": 3}),
    unfit("exp_r_bad", "expand_0 (Expand)", equal(2, "s[0]", or_one=True), (2, 3), inputs={"s": i64(3, 3)}, code=1),
    Case("exp_r_bad", inputs={"s": i64(1, 3)}),
    unfit("argmax_empty", "argmax_0 (ArgMax)", "size 'M' to be at least '1'", (0, 1), {"N": 3, "M": 0}),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    onnxruntime.set_default_logger_severity(4)  # what it refuses is in the failure
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.bin, folder, devices)
        for case in CASES:
            if options.filter not in case.title():
                continue
            for device in [device for device in case.devices if device in devices]:
                try:
                    runner.run(case, device)
                    passed += 1
                    print(f"ok     {case.title()}, {device}", flush=True)
                except Failure as failure:
                    failed += 1
                    print(f"FAILED {case.title()}, {device}: {failure}", flush=True)
    if not passed + failed:
        print(f"FAILED no case matches '{options.filter}'")
    print(f"{passed} passed, {failed} failed on {' and '.join(devices)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
