#!/usr/bin/env python3
"""The news of version 28 of ONNX's ops, and Attention of version 25, against ONNX's own evaluator, on each device: whole outputs, with special values and the signs of zeros.

  run_evaluated.py --bin BUILD/bin [--device cpu,vulkan] [--filter TEXT]

Integers, moved elements and remainders are equal to the last bit. The sizes of the inputs are symbols. Several nodes are one module (run_nodes.py).
Exit code: 0 all passed, 1 some failed, among them a device of those asked for that is not there, or none was chosen.
"""
import argparse
import itertools
import os
import sys
import tempfile

import ml_dtypes
import onnx.reference
from run_models import Bench, compare, np, onnx, required_devices
from run_nodes import SHARED, Node, merge
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(28)
normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
FLOATS = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
INTEGERS = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64


class Exact(Node):
    """Is equal to the last bit, where it is a number."""


def name_of(kind):
    return np.dtype(kind).name


def shifts():
    """All amounts around the bounds, by values of both signs: a row for each."""
    for kind in INTEGERS:
        info, bits = np.iinfo(kind), np.iinfo(kind).bits
        values = np.array([0, 1, 2, 5, 77, info.max, info.max - 1, info.max // 3, *((-1, -2, -5, info.min, info.min + 1, info.min // 3) if info.min else ())], kind)
        amounts = [0, 1, 2, 3, bits // 2 - 1, bits // 2, bits - 2, bits - 1, bits, bits + 1, 2 * bits, info.max, *((-1, -2, -bits, info.min) if info.min else ())]
        for direction in ("LEFT", "RIGHT"):
            yield Exact(f"shift {direction} of {name_of(kind)}", "BitShift", {"x": values, "n": np.array(amounts, kind)[:, None]}, opset=28, direction=direction)
        yield Exact(f"shift of one {name_of(kind)}", "BitShift", {"x": values[-1:], "n": np.array(amounts, kind)[:13]}, constants=("n",), opset=28, direction="RIGHT")


def remainders():
    """Every pair of special values and of some others, and many by chance."""
    for kind in FLOATS:
        info = ml_dtypes.finfo(kind)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, -3, 5.5, -5.5, 0.1, -0.1, float(info.max), -float(info.max), float(info.tiny), -float(info.tiny)]
        values = np.array(special, kind)
        yield Exact(f"remainders of special {name_of(kind)}", "Mod", {"a": values, "b": values[:, None].copy()}, opset=28)
        a, b = (20 * normal(7, 11, 3)).astype(kind), (3 * normal(11, 1)).astype(kind)
        yield Exact(f"remainders of {name_of(kind)}", "Mod", {"a": a, "b": b}, opset=28)
        yield Exact(f"remainders by a constant of {name_of(kind)}", "Mod", {"a": a, "b": np.array(-2.5, kind)}, constants=("b",), opset=28)
        yield Exact(f"truncated remainders of {name_of(kind)}", "Mod", {"a": a, "b": b}, opset=28, fmod=1)
    for kind in INTEGERS:
        info = np.iinfo(kind)
        a = np.array([0, 1, 5, 100, info.max, *((-1, -5, -100, info.min + 1) if info.min else ())], kind)
        yield Exact(f"remainders of {name_of(kind)}", "Mod", {"a": a, "b": a[a != 0][:, None].copy()}, opset=28)


def activations():
    for kind in FLOATS:
        terms = 4 if kind in (np.float32, np.float64) else 2**13 if kind == np.float16 else 2**16
        x = np.array([*(3 * normal(37)), 0.0, -0.0, np.inf, -20.0, 20.0]).astype(kind)
        for alpha in ({}, {"alpha": 0.3}, {"alpha": 2.5}):
            yield Node(f"celu {alpha} of {name_of(kind)}", "Celu", {"x": x}, terms=terms, opset=28, **alpha)
        for alpha in ({}, {"alpha": 1.7}, {"alpha": -0.5}, {"alpha": 0.0}):
            yield Node(f"swiglu {alpha} of {name_of(kind)}", "SwiGLU", {"a": (2 * normal(3, 5, 7)).astype(kind), "b": normal(3, 5, 7).astype(kind)}, terms=terms, opset=28, **alpha)
    yield Node("swiglu of one number", "SwiGLU", {"a": np.float32(0.7), "b": np.float32(-3)}, opset=28)


def moves():
    """Ops that move elements alone, of bf16 where that is new."""
    half = lambda *shape: normal(*shape).astype(ml_dtypes.bfloat16)
    for mode in ("DCR", "CRD"):
        for block in (1, 2, 3):
            yield Exact(f"space to depth {mode} by {block}", "SpaceToDepth", {"x": normal(2, 5, 2 * block, 3 * block)}, fixed=("x",), opset=28, blocksize=block, mode=mode)
            yield Exact(f"depth to space {mode} by {block}", "DepthToSpace", {"x": normal(2, 5 * block * block, 2, 3)}, fixed=("x",), opset=28, blocksize=block, mode=mode)
    yield Exact("space to depth of bf16", "SpaceToDepth", {"x": half(1, 3, 4, 6)}, fixed=("x",), opset=28, blocksize=2, mode="CRD")
    yield Exact("space to depth, no mode", "SpaceToDepth", {"x": normal(1, 3, 4, 6)}, fixed=("x",), opset=28, blocksize=2)
    yield Exact("compress bf16", "Compress", {"x": half(5, 7), "c": np.array([1, 0, 1, 1, 0], bool)}, opset=28, axis=0)
    yield Exact("one hot of bf16", "OneHot", {"i": np.array([[0, 3, -1], [2, 5, 4]], np.int64), "d": np.array(5, np.int64), "v": half(2)}, constants=("d",), opset=28)
    yield Exact("reversed sequences of bf16", "ReverseSequence", {"x": half(5, 3, 2), "n": np.array([5, 1, 3], np.int64)}, opset=28, time_axis=0, batch_axis=1)
    yield Exact("unique bf16", "Unique", {"x": np.array([2, 1, 1, 3, -4, 3, 2, 0.5], ml_dtypes.bfloat16)}, opset=28, outputs=4)
    yield Node("einsum of bf16", "Einsum", {"a": half(3, 5), "b": half(5, 4)}, terms=2**17, opset=28, equation="ij,jk->ki")
    yield Node("einsum of letters of both cases", "Einsum", {"a": normal(3, 4, 5), "b": normal(5, 4)}, terms=20, opset=28, equation="bAa,aA")
    yield Exact("einsum that sorts letters of both cases", "Einsum", {"a": normal(3, 4)}, opset=28, equation="bA")


def windows():
    """Windows of keys, lengths of rows, and queries that see no key, which give 0."""
    batch, length, keys, past, depth = 3, 5, 7, 2, 6

    def make(title, mask=None, cached=False, lengths=None, heads=(4, 2), flat=False, opset=25, outputs=1, keys=keys, length=length, **attributes):
        size = lambda heads, length, depth: (batch, length, heads * depth) if flat else (batch, heads, length, depth)
        arrays = {"q": normal(*size(heads[0], length, depth)), "k": normal(*size(heads[1], keys, depth)), "v": normal(*size(heads[1], keys, depth + 3)), "m": mask}
        arrays |= {"pk": normal(batch, heads[1], past, depth), "pv": normal(batch, heads[1], past, depth + 3)} if cached else {"pk": None, "pv": None}
        arrays["n"] = None if lengths is None else np.array(lengths, np.int64)
        while list(arrays.values())[-1] is None:
            arrays.popitem()
        if flat:
            attributes |= {"q_num_heads": heads[0], "kv_num_heads": heads[1]}
        fixed = ("q", "k", "v", "pk", "pv") if attributes.pop("fixed", False) else ()
        return Node(f"attention {title}", "Attention", arrays, terms=keys + depth, fixed=fixed, opset=opset, outputs=outputs, **attributes)

    some = random.integers(0, 2, (batch, 1, length, keys)).astype(bool)
    some[1, :, 2] = False
    numbers = normal(length, keys)
    numbers[3], numbers[1, :4] = -np.inf, -np.inf
    bounds = ((0, -1), (2, -1), (-1, 0), (-1, 1), (1, 2), (0, 0), (4, 1), (2**40, 2**62))
    for left, right in bounds:
        sizes = {"left_window_size": left, "right_window_size": right}
        yield make(f"with a window of {left} and {right}", **sizes)
        yield make(f"with a window of {left} and {right}, of sizes that are known", fixed=True, **sizes)
        yield make(f"with a window of {left} and {right}, causal", is_causal=1, flat=True, **sizes)
        yield make(f"with a window of {left} and {right}, after a cache", cached=True, outputs=3, **sizes)
        yield make(f"with a window of {left} and {right}, and lengths", lengths=[7, 4, 0], **sizes)
        yield make(f"with a window of {left} and {right}, and a mask", mask=some, **sizes)
    yield make("with a window after which no key is left", length=11, keys=4, left_window_size=2)
    yield make("with a window after which no key is left, of sizes that are known", length=11, keys=4, left_window_size=2, fixed=True)
    yield make("with a window, causal, after which no key is left", length=11, keys=4, left_window_size=1, is_causal=1, fixed=True)
    for opset in (24, 25):
        for lengths in ([7, 5, 6], [0, 3, 7], [4, 1, 2]):
            yield make(f"{opset} causal with lengths {lengths}", lengths=lengths, opset=opset, is_causal=1)
            yield make(f"{opset} with lengths {lengths}", lengths=lengths, opset=opset, mask=numbers)
        for mode in range(4):
            yield make(f"{opset} causal with lengths, scores of mode {mode}", lengths=[0, 3, 7], opset=opset, is_causal=1, outputs=4, qk_matmul_output_mode=mode)
    for opset in (23, 24, 25):
        for causal in (0, 1):
            for flat in (False, True):
                yield make(f"{opset} of queries without a key, causal {causal}, flat {flat}", mask=some, opset=opset, is_causal=causal, flat=flat)
                yield make(f"{opset} of queries without a key by numbers, causal {causal}, flat {flat}", mask=numbers, opset=opset, is_causal=causal, flat=flat)
            yield make(f"{opset} of queries without a key, scores, causal {causal}", mask=some, opset=opset, is_causal=causal, outputs=4, qk_matmul_output_mode=3)
            yield make(f"{opset} of queries without a key by numbers, scores, causal {causal}", mask=numbers, opset=opset, is_causal=causal, outputs=4, qk_matmul_output_mode=3)


GROUPS = {"shifts": shifts, "remainders": remainders, "activations": activations, "moves": moves, "windows": windows}


def evaluate(node):
    own = {name: np.asarray(array) for name, array in node.inputs.items() if array is not None and name not in node.constants}
    with np.errstate(all="ignore"):
        return onnx.reference.ReferenceEvaluator(node.model()).run(node.outputs, own)


def compare_bits(bench, title, got, want):
    """NaN is NaN, whatever its bits; zeros have signs."""
    same = got.dtype == want.dtype and got.shape == want.shape
    if same:
        unlike = ~(((got == want) & (np.signbit(got) == np.signbit(want))) | ((got != got) & (want != want))) if got.dtype.kind not in "iub" else got != want
        same = not unlike.any()
    what = f"at {np.argwhere(unlike)[:3].tolist()} got {got[unlike][:3]}, expected {want[unlike][:3]}" if not same and got.shape == want.shape and got.dtype == want.dtype else ""
    bench.check(title, same, f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape} {what}")


def compare_near(bench, title, got, want, terms):
    """Numbers under the bound of so many rounded sums; infinities and NaN are equal."""
    if got.dtype == want.dtype and got.shape == want.shape:
        wild = ~np.isfinite(want)
        bench.check(f"{title}, infinities", bool(((got == want) | ((got != got) & (want != want)))[wild].all()), f"got {got[wild][:5]}, expected {want[wild][:5]}")
        got, want = np.where(wild, 0, got).astype(got.dtype), np.where(wild, 0, want).astype(want.dtype)
    compare(bench, title, got, want, terms)


def run(bench, nodes, devices):
    group = {f"n{number}_": node for number, node in enumerate(nodes)}
    try:
        wants = {prefix: evaluate(node) for prefix, node in group.items()}
        inputs = {f"{prefix}{name}": np.asarray(array) for prefix, node in group.items() for name, array in node.inputs.items() if array is not None and name not in node.constants}
        names = [f"{prefix}{name}" for prefix, node in group.items() for name in node.outputs]
        onnx.save(merge(group), bench.path("nodes.onnx"))
        bench.compile(bench.path("nodes.onnx"), bench.path("nodes.vxm"), targets=devices)
        gots = {device: bench.run(bench.path("nodes.vxm"), device, inputs, names)[0] for device in devices}
    except RuntimeError as error:
        bench.check("; ".join(node.title for node in nodes) if len(nodes) == 1 else f"a module of {len(nodes)} nodes", False, error)
        for node in nodes if len(nodes) > 1 else ():
            run(bench, [node], devices)
        return
    for device, got in gots.items():
        for prefix, node in group.items():
            for name, want in zip(node.outputs, wants[prefix], strict=True):
                want, array = np.asarray(want), got[prefix + name]
                array = array.view(want.dtype) if array.dtype.kind == "V" else array  # NumPy has no bf16
                title = f"{node.title}, {name}, {device}"
                if isinstance(node, Exact):
                    compare_bits(bench, title, array, want)
                elif want.dtype.kind == "V" or want.dtype == ml_dtypes.bfloat16:
                    compare_near(bench, title, array.astype(np.float32), want.astype(np.float32), node.terms)
                else:
                    compare_near(bench, title, array, want, node.terms)


def check_six_bits(bench, device):
    """Every number of the floats of 6 bits, in each place of their groups of four, as constants that a cast and a dequantisation read."""
    for kind, tensor_type in ((ml_dtypes.float6_e2m3fn, TensorProto.FLOAT6E2M3), (ml_dtypes.float6_e3m2fn, TensorProto.FLOAT6E3M2)):
        name = name_of(kind)
        for raw in (True, False):
            for codes in (np.arange(64), np.roll(np.arange(64), 1), np.roll(np.arange(64), 2)[:63], np.arange(61), np.arange(1), np.array([33, 17])):
                numbers = codes.astype(np.uint8).view(kind)
                tensor = numpy_helper.from_array(numbers, "w") if raw else helper.make_tensor("w", tensor_type, [len(codes)], [int(code) for code in codes])
                if not raw:
                    tensor = TensorProto(name="w", data_type=tensor_type, dims=[len(codes)], int32_data=[int(code) for code in codes])
                scale, zero = normal(len(codes)), numpy_helper.from_array(np.ones(len(codes), np.uint8).view(kind), "z")
                nodes = [helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT), helper.make_node("Identity", ["w"], ["i"]),
                         helper.make_node("DequantizeLinear", ["i", "s"], ["d"], axis=0), helper.make_node("DequantizeLinear", ["w", "s", "z"], ["e"], axis=0)]
                graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("s", TensorProto.FLOAT, [len(codes)])],
                                          [helper.make_tensor_value_info(output, TensorProto.FLOAT, [len(codes)]) for output in "cde"], [tensor, zero])
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=14)
                onnx.checker.check_model(model)
                onnx.save(model, bench.path("six.onnx"))
                bench.compile(bench.path("six.onnx"), bench.path("six.vxm"), targets=[device])
                got = bench.run(bench.path("six.vxm"), device, {"s": scale}, ["c", "d", "e"])[0]
                wide = numbers.astype(np.float32)
                least = np.ones(1, np.uint8).view(kind).astype(np.float32)
                for output, want in (("c", wide), ("d", wide * scale), ("e", (wide - least) * scale)):
                    compare_bits(bench, f"{len(codes)} numbers of {name}, {'raw' if raw else 'one by one'}, {output}", got[output], want)


def differences(session, inputs, name):
    """The gradient of the one output by an input, by central differences."""
    gradient = np.zeros_like(inputs[name])
    for place in np.ndindex(gradient.shape):
        sides = []
        for step in (1e-6, -1e-6):
            moved = inputs[name].copy()
            moved[place] += step
            sides.append(float(session.run(None, inputs | {name: moved})[0]))
        gradient[place] = (sides[0] - sides[1]) / 2e-6
    return gradient


def check_gradients(bench, device):
    """In f64, of the sum of the output, each element times a number, against differences of the evaluator. Queries that see no key have gradients of 0."""
    wide = lambda *shape: random.standard_normal(shape)
    seen = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1]], bool)
    numbers = np.where(seen, wide(3, 4), -np.inf)
    heads = {"q": wide(2, 2, 3, 4), "k": wide(2, 2, 4, 4), "v": wide(2, 2, 4, 3)}
    for title, op, inputs, fixed, options in (
            ("swiglu", "SwiGLU", {"a": wide(3, 5), "b": wide(3, 5)}, {}, {"alpha": 1.7}),
            ("remainders", "Mod", {"a": np.array([5.3, -5.3, 5.3, -5.3, 0.4]), "b": np.array([2.0, 2.0, -2.0, -2.0, 3.0])}, {}, {}),
            ("celu", "Celu", {"x": wide(11)}, {}, {"alpha": 0.6}),
            ("space to depth", "SpaceToDepth", {"x": wide(1, 3, 4, 4)}, {}, {"blocksize": 2, "mode": "CRD"}),
            ("attention in a window", "Attention", heads, {}, {"left_window_size": 1, "right_window_size": 1}),
            ("attention of queries without a key", "Attention", heads, {"m": seen}, {}),
            ("attention of queries without a key by numbers", "Attention", heads, {"m": numbers}, {}),
            ("attention of queries without a key, in another softmax", "Attention", heads, {"m": seen}, {"softmax_precision": TensorProto.DOUBLE}),
            ("causal attention with lengths", "Attention", heads, {"m": None, "pk": None, "pv": None, "n": np.array([1, 4], np.int64)}, {"is_causal": 1})):
        node = Node(title, op, inputs | fixed, opset=28, **options)
        shape = np.asarray(evaluate(node)[0]).shape
        model = node.model()
        del model.graph.output[:]
        model.graph.node.extend([helper.make_node("Mul", ["y", "c"], ["each"]), helper.make_node("ReduceSum", ["each"], ["total"], keepdims=0)])
        model.graph.output.append(helper.make_tensor_value_info("total", TensorProto.DOUBLE, []))
        model.graph.initializer.extend([numpy_helper.from_array(wide(*shape), "c")])
        onnx.save(model, bench.path("gradient.onnx"))
        given = {name: array for name, array in (inputs | fixed).items() if array is not None}
        session = onnx.reference.ReferenceEvaluator(model)
        try:
            bench.compile(bench.path("gradient.onnx"), bench.path("gradient.vxm"), f"--grad=total:{','.join(inputs)}", targets=[device])
            got = bench.run(bench.path("gradient.vxm"), device, given, [f"grad/{name}" for name in inputs], "--function=gradient")[0]
        except RuntimeError as error:
            bench.check(f"gradients of {title}", False, error)
            continue
        with np.errstate(all="ignore"):
            for name in inputs:
                want, mine = differences(session, given, name), got[f"grad/{name}"]
                good = mine.shape == want.shape and np.isfinite(mine).all() and float(abs(mine - want).max()) < 1e-7 * max(1, float(abs(want).max()))
                bench.check(f"gradient of {title} by {name}", good, f"got {mine.ravel()[:6]}, expected {want.ravel()[:6]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices)
        wanted = [node for group, make in GROUPS.items() for node in make() if options.filter in group or options.filter in node.title]
        for _, same in itertools.groupby(sorted(wanted, key=lambda node: node.opset), key=lambda node: node.opset):
            same = list(same)
            for begin in range(0, len(same), SHARED):
                run(bench, same[begin:begin + SHARED], devices)
        if options.filter in "six bits":
            check_six_bits(bench, devices[0])
        if options.filter in "gradients":
            check_gradients(bench, devices[0])
        if not bench.passed + bench.failed:
            print(f"FAILED no node matches '{options.filter}'")
            return 1
        print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
