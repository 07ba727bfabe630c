#!/usr/bin/env python3
"""Fills a folder with what scripts/gpu-check compares on a GPU: modules, recipes of their weights, inputs, and plans.

    pack_checks.py --bin BUILD/bin --out DIR [--models resnet50,...] [--precisions f32,tf32,f16,bf16] [--ops unary,...] [--programs 0:160]
                   [--training '*'] [--gradients mlp,...] [--op-gradients 6] [--trained minilm_int8,...]
                   [--targets cuda,vulkan] [--parts FOLDER]

A plan is a file NAME.checks.json that vx-check-outputs runs (test/gpu/check_outputs.cpp). Whole outputs are compared: ops with the reference evaluator
under the rule of each case, networks in f32 with the CPU under a bound that ONNX Runtime gives (sensitivity.py), and in lower precisions with the same
outputs in f32. Gradients of networks by all their weights, too, are compared with the CPU's, which test/e2e/run_model_gradients.py holds against differences.
They and steps of training (pack_training.py) are no plan but scripts of calls. With --parts a list of the files of each part is written to FOLDER/PART: functions,
decoders, networks, gradients, ops, op_gradients, programs and training; all other files belong to every part. Needs the Python packages of test/requirements.txt.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TEST, "e2e"), os.path.join(TEST, "models")]

import quantization  # noqa: E402
import sensitivity  # noqa: E402
from fill_weights import fill, make_values, missing_tensors  # noqa: E402
from pack_decoders import pack_decoders  # noqa: E402
from pack_functions import pack_functions  # noqa: E402
from pack_op_gradients import pack_op_gradients  # noqa: E402
from pack_ops import pack_ops  # noqa: E402
from pack_programs import pack_programs  # noqa: E402
from pack_training import pack_training  # noqa: E402
from pack_wanted import pack_pictures, pack_rounded, pack_trained  # noqa: E402
from run_model_gradients import AGREEMENT, QAT, SIZES, TOLERANCE, first_output  # noqa: E402
from run_models import NETWORKS, PICTURES, ROUNDED, make_inputs  # noqa: E402
from weight_recipe import Recipe, describe  # noqa: E402

# What has no code for a device, and why: the compiler refuses it, or it is the f32 program there.
LACKS = {"vulkan": {"tf32": "tf32 is f32 on Vulkan"}}
SEED, OTHER_SEED = 7, 8
# Other inputs move an output by this many bounds, or a wrong output could not be told from a right one.
MOVES = 100
# Inputs times 1 and one of these are such as f32 hardly tells apart.
NEAR = (2.0**-20, -(2.0**-20), 2.0**-19)
MOST_APART = 0.05  # of the largest gradient, how far apart the CPU's may be at inputs that f32 hardly tells apart: beyond that a comparison says nothing
FEW = 1 << 16  # bytes of an input
WHOLE = ("tagger",)  # networks whose weights travel: they are small, and compiling cuts them into parts that no recipe makes
ROUNDOFF = {"f32": 2.0**-24, "tf32": 2.0**-11, "f16": 2.0**-11, "bf16": 2.0**-8}


class Pack:
    def __init__(self, bin, out, targets, precisions, parts):
        self.bin, self.out, self.targets, self.precisions, self.parts = bin, out, targets, precisions, parts

    def files(self):
        return {os.path.relpath(os.path.join(folder, name), self.out) for folder, _, names in os.walk(self.out) for name in names}

    @contextlib.contextmanager
    def part(self, name):
        """Files that are written in this context are those of the part."""
        before = self.files()
        yield
        written = sorted(self.files() - before)
        if self.parts and written:
            with open(os.path.join(self.parts, name), "w") as file:
                file.writelines(f"{path}\n" for path in written)

    def path(self, name):
        return os.path.join(self.out, name)

    def tool(self, name, *arguments):
        done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"pack_checks.py: error: {name} {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def able(self, precision):
        return [target for target in self.targets if precision not in LACKS.get(target, {})]

    def entry(self, precision, module, **more):
        lacking = next((reason for target, lack in LACKS.items() for kind, reason in lack.items() if kind == precision), "")
        return {"module": module, "targets": self.able(precision), "no_code": f"no code for this device: {lacking or 'it is not packed'}", **more}

    def compile(self, source, module, precision, *arguments, cpu=True):
        """Without `cpu` the module is none that another one is compared with."""
        self.tool("vx-compile", source, f"--target={','.join([*(['cpu'] if cpu else []), *self.able(precision)])}", f"--precision={precision}", "-o", self.path(module), *arguments)

    def plan(self, name, checks):
        with open(self.path(f"{name}.checks.json"), "w") as file:
            json.dump({"checks": checks}, file, indent=1)
        print(f"{name}: {len(checks)} checks", flush=True)


def close(share, largest=sensitivity.LARGEST):
    return {"rule": "close", "rms": float(share), "largest": float(largest * share)}


def pack_large(pack):
    """Every function of large.mlir, and a product of matrices in each precision, at several sizes."""
    checks = []
    pack.compile(os.path.join(HERE, "large.mlir"), "large.vxm", "f32")
    width = 4096
    rules = {
        "elementwise": {"rule": "exact"},
        # A row's sum is off by the root of its length in units; an exponential by two of them.
        "softmax": close((np.sqrt(width) + 4) * ROUNDOFF["f32"]),
        "layer_norm": close((np.sqrt(width) + 4) * ROUNDOFF["f32"]),
        "outer": close(2 * ROUNDOFF["f32"], 2),
        "through": close(2 * np.sqrt(width) * ROUNDOFF["f32"]),
    }

    def check(function, symbol, rows):
        return pack.entry("f32", "large.vxm", name=f"large {function}, {symbol} {rows}", function=function, dims={symbol: rows}, seed=SEED,
                          reference={"module": "large.vxm", "function": function}, results=[{"output": "y", **rules[function]}])

    for function in rules:
        for rows in (1, 67, 512):
            checks.append(check(function, "items" if function in ("outer", "through") else "rows", rows))
    pack.plan("large", checks)
    pack.plan("five_gibibytes", [check("through", "items", 5 << 15)])
    checks = []
    for precision in pack.precisions:
        module = f"contract-{precision}.vxm"
        pack.compile(os.path.join(HERE, "contract.mlir"), module, precision, cpu=precision == "f32" or not pack.able(precision))
        unit = ROUNDOFF[precision]
        # Sums of 4096 products, whose rounding grows with the root; in lower precisions two rounded factors of each.
        share = 2 * unit * (np.sqrt(width) if precision == "f32" else 1)
        for rows in (1, 67, 256):
            checks.append(pack.entry(precision, module, name=f"product of matrices in {precision}, rows {rows}", dims={"rows": rows}, seed=SEED,
                                     reference={"module": "contract-f32.vxm"}, results=[{"output": "y", **close(share)}]))
    pack.plan("contract", checks)


def pack_inputs(pack, name, inputs):
    """Integers travel as files, and floats while they are few: parts of an output may be copies of them, and then its bound holds for the inputs that it
    was measured with. Other floats are random there, from the seed."""
    files = {}
    for key, array in inputs.items():
        if not np.issubdtype(array.dtype, np.floating) or array.nbytes <= FEW:
            os.makedirs(pack.path("inputs"), exist_ok=True)
            files[key] = f"inputs/{name}.{key}.npy"
            np.save(pack.path(files[key]), array)
    return files


def pack_module(pack, model, module, precision, recipe, cpu):
    """A network in one precision, with a recipe that makes its weights, which stay here; without one they travel."""
    if not recipe:
        pack.compile(model, f"{module}.vxm", precision, "--no-cache", "--threads=1", cpu=cpu)
        return
    pack.compile(model, f"{module}.vxm", precision, "--weights=external", "--no-cache", "--threads=1", cpu=cpu)
    weights, made = pack.path(f"{module}.weights"), pack.path(f"{module}.made")
    with open(pack.path(f"{module}.recipe"), "w") as file:
        file.writelines(f"{line}\n" for line in recipe.lines(describe(os.path.join(pack.bin, "vx-info"), pack.path(f"{module}.vxm")), np.fromfile(weights, np.uint8)))
    pack.tool("vx-fill-weights", pack.path(f"{module}.recipe"), made)
    if not (np.fromfile(made, np.uint8) == np.fromfile(weights, np.uint8)).all():
        raise SystemExit(f"pack_checks.py: error: the recipe of {module} makes other weights")
    os.remove(made)
    os.remove(weights)


def pack_network(pack, name, scratch):
    skeleton = os.path.join(TEST, "models", f"{name}.onnx")
    model = os.path.join(scratch, f"{name}.onnx")
    fill(skeleton, model, external=True)
    graph = onnx.load(model, load_external_data=False)
    recipe = None if name in WHOLE else Recipe(skeleton, make_values, missing_tensors)
    sizes = NETWORKS.get(name, [{"batch": 1}, {"batch": 33}])
    facts = sensitivity.table().get(name) or sensitivity.measure(
        model, [make_inputs(graph, size, np.random.default_rng(index)) for index, size in enumerate(sizes)])
    able = [precision for precision in pack.precisions if pack.able(precision) or precision == "f32"]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda precision: pack_module(pack, model, f"{name}-{precision}", precision, recipe, precision == "f32"), able))
    checks = []
    for index, size in enumerate(sizes):
        title = " ".join([name, *(f"{symbol} {value}" for symbol, value in size.items())])
        common = {"dims": {symbol: value for symbol, value in size.items() if value}, "seed": SEED,
                  "inputs": pack_inputs(pack, f"{name}.{index}", make_inputs(graph, size, np.random.default_rng(index)))}
        empty = {value.name: value for value in graph.graph.input if any(size.get(dim.dim_param) == 0 for dim in value.type.tensor_type.shape.dim)}
        for key, value in empty.items():
            shape = [size.get(dim.dim_param, dim.dim_value) for dim in value.type.tensor_type.shape.dim]
            os.makedirs(pack.path("inputs"), exist_ok=True)
            common["inputs"][key] = f"inputs/{name}.{index}.{key}.npy"
            np.save(pack.path(common["inputs"][key]), np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)))
        for precision in able:
            check = pack.entry(precision, f"{name}-{precision}.vxm", name=f"{title} {precision}", reference={"module": f"{name}-f32.vxm"},
                               results=[{"output": key, **rule} for key, rule in sensitivity.bounds(facts, index, precision).items()], **common)
            if index == 0 and precision == "f32":
                check["moves"] = {"seed": OTHER_SEED, "times": MOVES,
                                  "inputs": common["inputs"] | pack_inputs(pack, f"{name}.other", make_inputs(graph, size, np.random.default_rng(1000)))}
            checks.append(check)
    pack.plan(name, checks)
    # For the benchmark: the sizes of its table.
    bench = {"batch": 1, "sequence": 128, "step": 1, "past": 127}
    symbols = {dim.dim_param for value in graph.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    with open(pack.path(f"{name}.arguments"), "w") as file:
        file.write(" ".join(f"--dim {symbol}={bench[symbol]}" for symbol in sorted(symbols) if symbol in bench))


def pack_gradients(pack, name, scratch):
    """The gradients of the distance of the first output from random numbers by all weights, which the instance draws: a folder with a module and two
    scripts of calls (run_calls.cpp). `wanted` has the CPU write them, at the inputs and at such as f32 hardly tells apart, and `script` compares a device's with
    these: where rounding brings an activation to the other side of a kink, all before it have other gradients, so that what the CPU's are apart is allowed on top.
    It compares them with differences along them, too, but of what rounds to integers: its loss has steps, which the gradient does not see."""
    base = name.removesuffix(QAT)
    model = os.path.join(scratch, f"{base}.onnx")
    fill(os.path.join(TEST, "models", f"{base}.onnx"), model, external=True)
    graph = onnx.load(model, load_external_data=False)
    sizes = {symbol: value for symbol, value in (SIZES.get(base) or NETWORKS[base][0]).items() if value}
    inputs = make_inputs(graph, sizes, np.random.default_rng(1))
    if base != name:
        rounded = quantization.quantized(onnx.load(model), inputs, scratch)
        model = os.path.join(scratch, f"{name}.onnx")
        quantization.save(rounded, model)
    output = first_output(graph)
    folder = os.path.join("gradients", name)
    os.makedirs(pack.path(folder))
    module = os.path.join(folder, "module.vxm")
    # One variant of the CPU's code is enough.
    pack.compile(model, module, "f32", "--cpu=avx2", "--train=auto", f"--loss=mse:{output}", "--optimizer=sgd", "--keep-gradients", "--init=random",
                 "--export=none", "--no-cache", *(f"--dim={symbol}={value}" for symbol, value in sizes.items()))
    files = []
    near = [[] for change in NEAR if any(array.dtype == np.float32 for array in inputs.values())]
    for number, value in enumerate(graph.graph.input):
        if value.name in inputs:
            files.append(f"in{number}")
            inputs[value.name].tofile(pack.path(os.path.join(folder, files[-1])))
            for place, (names, change) in enumerate(zip(near, NEAR)):
                names.append(f"near{place}.{files[-1]}")
                array = inputs[value.name]
                near_array = array * np.float32(1 + change) if array.dtype == np.float32 else array
                near_array.tofile(pack.path(os.path.join(folder, names[-1])))
    description = describe(os.path.join(pack.bin, "vx-info"), pack.path(module))
    target = next(function for function in description["functions"] if function["name"] == "backward")["inputs"][len(files)]
    np.random.default_rng(2).standard_normal(target["dims"], np.float32).tofile(pack.path(os.path.join(folder, "target")))
    np.zeros(1, np.uint8).tofile(pack.path(os.path.join(folder, "keep")))
    call = lambda files: f"call backward {' '.join(files)} target keep"
    variables = [variable["name"] for variable in description["variables"] if variable["name"].startswith("grad/")]
    if not variables:
        raise SystemExit(f"pack_checks.py: error: {name} has no gradients")
    wanted, compare = [call(files)], [call(files)]
    for number, variable in enumerate(variables):
        wanted.append(f"read {variable} g{number}")
        others = "".join(f" near{place}.g{number}" for place in range(len(near)))
        compare.append(f"close {variable} g{number} {AGREEMENT}" + (f" {MOST_APART}{others}" if others else ""))
    for place, names in enumerate(near):
        wanted += [call(names), *(f"read {variable} near{place}.g{number}" for number, variable in enumerate(variables))]
    if base == name:
        compare.append(f"slope {TOLERANCE} {' '.join(files)} target")
    for script, lines in (("wanted", wanted), ("script", [*compare, "read grad out0"])):
        with open(pack.path(os.path.join(folder, script)), "w") as file:
            file.write("\n".join(lines) + "\n")
    print(f"gradients of {name}: {len(variables)} variables", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--models", default=",".join([*NETWORKS, "mlp", *PICTURES, *ROUNDED]))
    parser.add_argument("--precisions", default="f32,tf32,f16,bf16")
    parser.add_argument("--ops", default=",".join(sorted(file[:-3] for file in os.listdir(os.path.join(TEST, "e2e", "ops")) if file.endswith(".py"))))
    parser.add_argument("--programs", default="0:160", help="FIRST:COUNT: seeds of random programs (test/fuzz/programs)")
    parser.add_argument("--training", default="*", help="patterns of names: which training steps; nothing for none")
    parser.add_argument("--gradients", default="mlp,mlp_qat,tagger,resnet18", help="networks whose gradients by all weights are compared")
    parser.add_argument("--op-gradients", type=int, default=6, help="gradients of one of so many cases of each family of --ops; 0 for none")
    parser.add_argument("--trained", default="", help="trained models of packages (test/e2e/run_trained.py), whose weights travel")
    parser.add_argument("--trained-cache", default="build/trained", help="the folder that their packages are kept in")
    parser.add_argument("--functions", choices=["yes", "no"], default="yes", help="functions and layers of the builder")
    parser.add_argument("--decoders", default="*", help="patterns of names: which small language models; nothing for none")
    parser.add_argument("--targets", default="cuda,vulkan")
    parser.add_argument("--parts", default="", help="a folder for a list of the files of each part")
    options = parser.parse_args()
    listed = lambda text: [entry for entry in text.split(",") if entry]
    pack = Pack(options.bin, options.out, listed(options.targets), listed(options.precisions), options.parts)
    pack_large(pack)
    if options.functions == "yes":
        with pack.part("functions"):
            pack_functions(options.bin, options.out, pack.targets)
    if options.decoders:
        with pack.part("decoders"):
            pack_decoders(options.bin, options.out, pack.targets, options.decoders)
    if options.ops:
        # Those of `pullbacks` are there for their gradients.
        families = [family for family in listed(options.ops) if family != "pullbacks"]
        with pack.part("ops"):
            pack.plan("ops", pack_ops(options.bin, options.out, families, pack.targets))
    if options.ops and options.op_gradients:
        # What has no result of floats has no gradient.
        families = [family for family in listed(options.ops) if family not in ("cast", "expressions", "narrow", "precision")]
        with pack.part("op_gradients"):
            pack.plan("op_gradients", pack_op_gradients(options.bin, options.out, families, options.op_gradients, pack.targets))
    if options.programs:
        first, count = map(int, options.programs.split(":"))
        with pack.part("programs"):
            pack.plan("programs", pack_programs(options.bin, options.out, first, count, pack.targets))
    if options.training:
        with pack.part("training"):
            pack_training(options.bin, options.out, pack.targets, options.training)
    with tempfile.TemporaryDirectory() as scratch:
        with pack.part("networks"):
            for name in listed(options.models):
                (pack_pictures if name in PICTURES else pack_rounded if name in ROUNDED else pack_network)(pack, name, scratch)
            for name in listed(options.trained):
                pack_trained(pack, name, scratch, options.trained_cache)
        with pack.part("gradients"):
            for name in listed(options.gradients):
                pack_gradients(pack, name, scratch)


if __name__ == "__main__":
    main()
