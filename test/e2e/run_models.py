#!/usr/bin/env python3
"""Whole models against ONNX Runtime, on each device.

  run_models.py --bin BUILD/bin --source REPOSITORY MODEL... [--device cpu,vulkan] [--precision f16] [--variants rocm=gfx942]

MODEL is digits, mlp, program3, detector, unet or a skeleton of test/models that is compared at several sizes. One module is compiled for each, before its sizes
are known. What is wanted is ONNX Runtime's f32 in every precision, under the bound that sensitivity.py gives. Other inputs must move each output by 100 times
what is allowed. Exit code: 0 all passed, 1 some failed, among them a device of those asked for that is not there.
"""
import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common")]
import quantization  # noqa: E402
import rounding  # noqa: E402
import sensitivity  # noqa: E402
from checks import Checks  # noqa: E402
from cpu_variants import variant_flags  # noqa: E402


def required_devices(bin, names):
    """The devices of a list; one that is not there ends the test, which asks for it by name."""
    listed = json.loads(subprocess.run([os.path.join(bin, "vx-run"), "--list-devices", "--json"], capture_output=True, text=True, check=True).stdout)
    reasons = {backend["name"]: backend.get("reason", "it is not known") for backend in listed["backends"] if not backend["available"]}
    devices = names.split(",")
    missing = [f"{name}: {reasons.get(name, 'it is not known')}" for name in devices
               if not any(backend["name"] == name and backend["available"] for backend in listed["backends"])]
    if missing:
        sys.exit("FAILED: no device " + "; ".join(missing))
    return devices


class Bench(Checks):
    """The tools, a folder of scratch files, and the count of checks."""

    def __init__(self, bin, folder, devices, source="", precision="f32", variants=(), also="", all_sizes=False, every_variant=False):
        self.bin, self.source, self.folder, self.devices = bin, source, folder, devices
        self.precision, self.all_sizes = precision, all_sizes
        self.targets = devices if precision == "f32" or "cpu" in devices else [*devices, "cpu"]
        self.targets = self.targets + [target for target in also.split(",") if target]
        self.variants = [f"--{variant}" for variant in variants if variant.split("=")[0] in self.targets] if every_variant else variant_flags(self.targets, variants)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name, *arguments, code=0):
        environment = dict(os.environ, VX_VULKAN_VALIDATION="1", VX_CHECK_SCHEDULE="1")
        done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, timeout=900, env=environment)
        if done.returncode != code:
            raise RuntimeError(f"{name} {' '.join(arguments)} exits with {done.returncode}, expected {code}: {done.stderr.strip()}")
        return done.stdout, done.stderr

    def compile(self, model, module, *arguments, targets=None):
        """For `targets`, all by default."""
        targets = targets or self.targets
        variants = [flag for flag in self.variants if flag.removeprefix("--").split("=")[0] in targets]
        self.tool("vx-compile", model, f"--target={','.join(targets)}", f"--precision={self.precision}", *variants, "--no-cache", "-o", module, *arguments)

    def run(self, module, device, inputs, outputs, *arguments, strings=()):
        """The outputs as arrays, those in `strings` of strings, and the report."""
        files = []
        for index, (name, array) in enumerate(inputs.items()):
            if array.dtype == object:  # strings
                onnx.save_tensor(onnx.numpy_helper.from_array(array), self.path(f"in_{index}.pb"))
            else:
                np.save(self.path(f"in_{index}.npy"), array)
            files += ["--input", f"{name}=@{self.path(f'in_{index}.' + ('pb' if array.dtype == object else 'npy'))}"]
        places = {name: self.path(f"out_{index}.{'pb' if name in strings else 'npy'}") for index, name in enumerate(outputs)}
        files += [text for name, place in places.items() for text in ("--output", f"{name}=@{place}")]
        text, _ = self.tool("vx-run", module, f"--device={device}", "--no-fallback", "--report=json", *files, *arguments)
        read = lambda place: onnx.numpy_helper.to_array(onnx.load_tensor(place)).astype(object) if place.endswith(".pb") else np.load(place)
        return {name: read(place) for name, place in places.items()}, json.loads(text)


def reference(path):
    # Without VNNI its sums of products of u8 and i8 saturate, unless it makes the weights u8. Those of i8 and i8 do not, and not all have a kernel for i8 and u8.
    try:
        return _session(path, "1")
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return _session(path, "0")


def _session(path, makes_weights_u8):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", makes_weights_u8)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def compare(bench, what, got, want, terms):
    """`terms` is the number of rounded sums on the longest way through the network (rounding.py)."""
    if got.dtype == want.dtype and got.shape == want.shape and ((got == want) | ((got != got) & (want != want))).all():
        return bench.check(what, True)
    if want.dtype in (object, bool) or got.dtype in (object, bool):
        return bench.check(what, False, f"got {got.tolist()}, expected {want.tolist()}")
    limit = rounding.limit(want, terms)
    good = got.dtype == want.dtype and got.shape == want.shape and (not got.size or float(abs(got - want).max()) <= limit)
    worst = f"differs by {float(abs(got - want).max())!r}" if got.shape == want.shape and got.size else ""
    bench.check(what, good, f"got {got.dtype} {got.shape}, expected {want.dtype} {want.shape} {worst}, allowed {limit!r}")


# Other inputs move an output by this many bounds, or a wrong output could not be told from a right one.
MOVES = 100


def compare_close(bench, what, got, want, rule):
    """By the rule "close" of tools/check-plan/output_rule.h."""
    if got.dtype != want.dtype or got.shape != want.shape or not np.isfinite(want).all():
        bench.check(what, False, f"got {got.dtype} {got.shape}, expected finite {want.dtype} {want.shape}")
        return
    if rule["rule"] == "exact":
        bench.check(what, (got == want).all(), f"{int((got != want).sum())} of {got.size} elements differ")
        return
    mean, most = sensitivity.rms(got - want) / max(sensitivity.rms(want), 1e-30), sensitivity.largest(got - want) / max(sensitivity.largest(want), 1e-30)
    bench.check(what, mean <= rule["rms"] and most <= rule["largest"],
                f"differs by {mean:.3g} (root mean square) and {most:.3g} (largest) of what is wanted, allowed {rule['rms']:.3g} and {rule['largest']:.3g}")


def compare_case(bench, what, session, facts, index, module, device, inputs, terms=None):
    """All outputs of one case of `facts` (sensitivity.measure) on one device, in f32 also by the lengths of sums, `terms`."""
    outputs = [output.name for output in session.get_outputs()]
    rules = sensitivity.bounds(facts, index, bench.precision)
    want = dict(zip(outputs, session.run(outputs, inputs)))
    got, report = bench.run(module, device, inputs, outputs)
    for output in outputs:
        compare_close(bench, f"{what}, {output}, {device}", got[output], want[output], rules[output])
        if terms and bench.precision == "f32":
            compare(bench, f"{what}, {output}, {device}, by the lengths of sums", got[output], want[output], terms)
    return got, report


def digits(bench):
    folder = os.path.join(bench.source, "examples", "digits")
    model, module = os.path.join(folder, "digits.onnx"), bench.path("digits.vxm")
    images = np.fromfile(os.path.join(folder, "images.f32"), np.float32).reshape(450, 1, 8, 8)
    labels = np.fromfile(os.path.join(folder, "labels.u8"), np.uint8)
    bench.compile(model, module)
    session = reference(model)
    inputs, outputs = session.get_inputs()[0].name, session.get_outputs()[0].name
    batches = (1, 7, 450)
    facts = measure(bench, model, [{inputs: images[:batch]} for batch in batches])
    for device in bench.devices:
        for index, batch in enumerate(batches):
            got, _ = compare_case(bench, f"digits, batch {batch}", session, facts, index, module, device, {inputs: images[:batch]})
        right = int((got[outputs].argmax(1) == labels).sum())
        bench.check(f"digits, 448 of 450 right, {device}", right == 448, f"got {right}")
        text, _ = bench.tool("digits", module, folder, device)
        bench.check(f"digits, the example says so, {device}", "448 of 450 right" in text, text)


def measure(bench, model, cases):
    """sensitivity.measure of a small model, which stays where it is."""
    copy = bench.path("measured.onnx")
    onnx.save(onnx.load(model), copy)
    return sensitivity.measure(copy, cases)


def filled(bench, name):
    return make_model_file(bench.source, bench.folder, name)


def make_model_file(source, folder, name):
    """The file of a skeleton of test/models with its weights, or of a model that a program of that folder makes."""
    models, path = os.path.join(source, "test", "models"), os.path.join(folder, f"{name}.onnx")
    sys.path.insert(0, models)
    if name in ("detector", "pools"):
        onnx.save(importlib.import_module(f"make_{name}").make_model(), path)
    else:
        from fill_weights import fill
        fill(os.path.join(models, f"{name}.onnx"), path, external=True)
    return path


def mlp(bench):
    model, module = filled(bench, "mlp"), bench.path("mlp.vxm")
    processors = ["--cpu=avx512,x86-64-v3"] if "cpu" in bench.targets else []
    bench.compile(model, module, "--dim", "batch=1,32", *processors)
    session = reference(model)
    name, output = session.get_inputs()[0].name, session.get_outputs()[0].name
    random = np.random.default_rng(3)
    terms = 784 + 256 + 128 + 3
    batches = (1, 2, 7, 32, 33, 450)
    cases = [{name: random.standard_normal((batch, 784), np.float32)} for batch in batches]
    facts = measure(bench, model, cases)
    for device in bench.devices:
        entries = {}
        for index, batch in enumerate(batches):
            _, report = compare_case(bench, f"mlp, batch {batch}", session, facts, index, module, device, cases[index])
            entries[batch] = report["call"]["entry"]
        general = {entries[batch] for batch in (2, 7, 33, 450)}
        bench.check(f"mlp, a bucket each for 1 and 32 and the general version for the rest, {device}",
                    len(general) == 1 and len({entries[1], entries[32], *general}) == 3, entries)
    if "cpu" not in bench.devices or bench.precision != "f32":
        return
    x = random.standard_normal((33, 784), np.float32)
    results = {}
    for variant in ("avx512", "x86-64-v3"):
        try:
            got, report = bench.run(module, "cpu", {name: x}, [output], f"--variant={variant}")
        except RuntimeError as error:
            # A processor without AVX-512 refuses it and says so; every processor that the tests run on has the other.
            bench.check(f"mlp, variant {variant} is refused for what the processor lacks", variant == "avx512" and "avx512" in str(error) and
                        "avx512f" not in open("/proc/cpuinfo").read(), error)
            continue
        results[variant] = got[output]
        bench.check(f"mlp, variant {variant} is taken", report["device"]["taken"]["variant"] == variant, report["device"])
        compare(bench, f"mlp, variant {variant}", got[output], session.run([output], {name: x})[0], terms)
    if len(results) == 2:
        compare(bench, "mlp, both variants", *results.values(), terms)
    same = [bench.run(module, "cpu", {name: x}, [output], f"--threads={threads}")[0][output] for threads in (1, 2, 4)]
    bench.check("mlp, the same bits at 1, 2 and 4 threads", all(array.tobytes() == same[0].tobytes() for array in same))


def program3(bench):
    sys.path.insert(0, os.path.join(bench.source, "test", "models"))
    from make_program3 import make_model
    model, module = bench.path("program3.onnx"), bench.path("program3.vxm")
    onnx.save(make_model(), model)
    bench.compile(model, module)
    session = reference(model)
    outputs = [output.name for output in session.get_outputs()]
    random = np.random.default_rng(5)
    cases = {"mixed": [0, 1.5, 0, -2, 3], "negative": [-1, 0, -0.25], "one": [4], "whole": list(range(-3, 20)),
             "random": (random.standard_normal(131) * random.integers(0, 2, 131)).astype(np.float32)}
    for device in bench.devices:
        for title, values in cases.items():
            x = np.array(values, np.float32)
            for pick in (0, -1, len(values) - 1):
                inputs = {"x": x, "pick": np.array(pick, np.int64)}
                got, _ = bench.run(module, device, inputs, outputs)
                # One after the other in the order of the loop: nothing may differ.
                same = all(got[name].dtype == want.dtype and got[name].shape == want.shape and got[name].tobytes() == want.tobytes()
                           for name, want in zip(outputs, session.run(outputs, inputs)))
                bench.check(f"program3, {title}, pick {pick}, {device}", same, got)
        np.save(bench.path("x.npy"), np.array([1, 2, 3], np.float32))
        for pick in (3, -4):
            np.save(bench.path("pick.npy"), np.array(pick, np.int64))
            _, errors = bench.tool("vx-run", module, f"--device={device}", "--no-fallback", "--input", f"x=@{bench.path('x.npy')}",
                                   "--input", f"pick=@{bench.path('pick.npy')}", code=1)
            expected = f"vx-run: error: vx_call_run: pick_one (Gather): index is {pick}, allowed is [-3, 3)"
            bench.check(f"program3, index {pick} names the node, {device}", errors.strip() == expected, errors.strip())


# The sizes of networks of pictures whose every dimension is free.
PICTURES = {
    "detector": [{"batch": 1, "height": 64, "width": 96}, {"batch": 2, "height": 160, "width": 32}, {"batch": 3, "height": 32, "width": 32}],
    "unet": [{"batch": 1, "height": 32, "width": 48}, {"batch": 2, "height": 64, "width": 16}, {"batch": 3, "height": 8, "width": 88}],
}


def pictures(bench, name, seconds=60):
    """One of PICTURES: one module for all sizes, compiled in `seconds` of one processor for each target."""
    model, module = filled(bench, name), bench.path(f"{name}.vxm")
    before = os.times()
    bench.compile(model, module)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    bench.check(f"{name}, compiled in time", spent <= seconds * len(bench.targets), f"took {spent:.0f} s of processor time, expected {seconds} for each target")
    for title, inputs, wanted, terms in evaluate_pictures(name, model):
        for device in bench.devices:
            got, _ = bench.run(module, device, inputs, list(wanted))
            for output, value in wanted.items():
                compare(bench, f"{title}, {output}, {device}", got[output], value, terms)


def evaluate_pictures(name, model):
    """For each of the sizes in PICTURES: title, inputs, the wanted outputs by name, and the number of rounded sums on the longest way."""
    session, skeleton = reference(model), onnx.load(model, load_external_data=False)
    outputs = [output.name for output in session.get_outputs()]
    for index, sizes in enumerate(PICTURES[name]):
        inputs = make_inputs(skeleton, sizes, np.random.default_rng(index))
        title = ", ".join([name, *(f"{symbol} {size}" for symbol, size in sizes.items())])
        yield title, inputs, dict(zip(outputs, session.run(outputs, inputs))), rounding.path_length(model, inputs)


# The sizes of each model's symbols, 1 and a prime among those of each, small ones first. The emulated AMD GPU takes only the first.
BATCHES = [{"batch": 1}, {"batch": 3}, {"batch": 7}]
TEXTS = [{"batch": 1, "sequence": 11}, {"batch": 3, "sequence": 1}, {"batch": 7, "sequence": 128}]
NETWORKS = {
    "resnet18": [{}], "resnet50": BATCHES, "mobilenet_v2": BATCHES, "squeezenet1_1": [{}], "densenet121": BATCHES, "vit_b_16": BATCHES,
    "bert_base": TEXTS, "gpt2": TEXTS, "minilm": TEXTS,
    "tagger": [{"batch": 1, "length": 7}, {"batch": 3, "length": 1}, {"batch": 5, "length": 40}],
    "decoder": [{"step": 1, "past": 5}, {"step": 3, "past": 0}, {"step": 16, "past": 1}],
}


def make_inputs(model, sizes, random):
    """Numbers of one deviation; indices into the table that they are looked up in; else zeros and ones."""
    tables = {}
    dims = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in dims:
            tables[node.input[1]] = dims[node.input[0]][0]
    inputs = {}
    for value in model.graph.input:
        if value.name in dims:
            continue
        tensor = value.type.tensor_type
        shape = [sizes[dim.dim_param] if dim.dim_param in sizes else dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if np.issubdtype(dtype, np.floating):
            inputs[value.name] = random.standard_normal(shape, np.float32).astype(dtype)
        elif value.name in tables:
            inputs[value.name] = random.integers(0, tables[value.name], shape).astype(dtype)
        elif value.name == "positions":
            inputs[value.name] = (sizes["past"] + np.arange(shape[-1])).reshape(shape).astype(dtype)
        else:
            # A mask: the first places of each row count.
            counts = random.integers(1, shape[-1], shape[:-1], endpoint=True)
            inputs[value.name] = (np.arange(shape[-1]) < counts[..., None]).astype(dtype)
    return inputs


# How many of the sizes a Vulkan device computed by the CPU takes of the largest networks in every run; --all-sizes takes all.
ON_SOFTWARE = {"resnet50": 2, "densenet121": 2, "vit_b_16": 1, "bert_base": 2, "gpt2": 2}


def takes(bench, device, name, index):
    if device == "rocm":
        return index == 0
    return device == "cpu" or bench.all_sizes or index < ON_SOFTWARE.get(name, len(NETWORKS[name]))


# Networks of which two instances are made.
HELD_ONCE = ("gpt2", "decoder")


def held_once(bench, title, module, device, sizes):
    """Two instances on one device hold the weights once."""
    done = subprocess.run([os.path.join(bench.bin, "many_instances"), module, device, "2", *(f"{symbol}={size}" for symbol, size in sizes.items())],
                          capture_output=True, text=True, timeout=900)
    bench.check(f"{title}, two instances hold the weights once, {device}", done.returncode == 0, done.stdout + done.stderr)


def network(bench, name):
    model, module = filled(bench, name), bench.path(f"{name}.vxm")
    bench.compile(model, module)
    session, skeleton = reference(model), onnx.load(model, load_external_data=False)
    outputs = [output.name for output in session.get_outputs()]
    facts = sensitivity.table()[name]
    for index, sizes in enumerate(NETWORKS[name]):
        inputs = make_inputs(skeleton, sizes, np.random.default_rng(index))
        title = ", ".join([name, *(f"{symbol} {size}" for symbol, size in sizes.items())])
        length = rounding.path_length(model, inputs)
        for device in bench.devices:
            if takes(bench, device, name, index):
                compare_case(bench, title, session, facts, index, module, device, inputs, length / 2)
                if name in HELD_ONCE and index == 0 and bench.precision == "f32":
                    held_once(bench, title, module, device, sizes)
        if index > 0:
            continue
        rules = sensitivity.bounds(facts, index, bench.precision)
        want = session.run(outputs, inputs)
        for output, value, other in zip(outputs, want, session.run(outputs, make_inputs(skeleton, sizes, np.random.default_rng(1000)))):
            moved = sensitivity.rms(other - value) / max(sensitivity.rms(value), 1e-30)
            if bench.precision == "f32":
                bench.check(f"{title}, {output} hangs on the inputs", moved >= MOVES * rules[output]["rms"], f"other inputs move it by {moved:.3g}, expected {MOVES} "
                            f"times {rules[output]['rms']:.3g}")


# Networks that are rounded to integers on their way: what two implementations make of numbers in the middle between two is a share of the output.
ROUNDED = {"resnet18_qdq": [{}], "mobilenet_v2_qdq": BATCHES}
# Of how far apart ONNX Runtime is with and without its optimisations.
ROUNDED_SHARE = 2


def evaluate_rounded(name, model):
    """For each of the sizes in ROUNDED: title, inputs, the wanted output by its name, how far from it, as a share of its root mean square, a result may be,
    and how far other inputs move it."""
    plain, optimised = quantization.plain_session(model), reference(model)
    skeleton = onnx.load(model, load_external_data=False)
    output = plain.get_outputs()[0].name
    for index, sizes in enumerate(ROUNDED[name]):
        inputs = make_inputs(skeleton, sizes, np.random.default_rng(index))
        want, other = (session.run([output], inputs)[0] for session in (plain, optimised))
        away = plain.run([output], make_inputs(skeleton, sizes, np.random.default_rng(1000)))[0]
        apart = lambda array, want=want: sensitivity.rms(array - want) / sensitivity.rms(want)
        title = ", ".join([name, *(f"{symbol} {size}" for symbol, size in sizes.items())])
        yield title, inputs, {output: want}, ROUNDED_SHARE * apart(other), apart(away)


def rounded(bench, name):
    model, module = filled(bench, name), bench.path(f"{name}.vxm")
    bench.compile(model, module)
    for title, inputs, wanted, share, moved in evaluate_rounded(name, model):
        (output, want), = wanted.items()
        bench.check(f"{title}, {output} hangs on the inputs", moved > 2 * share, f"{moved:.3g}, allowed are {share:.3g}")
        for device in bench.devices:
            got, _ = bench.run(module, device, inputs, [output])
            apart = sensitivity.rms(got[output] - want) / sensitivity.rms(want) if got[output].shape == want.shape else np.inf
            bench.check(f"{title}, {output}, {device}", apart <= share, f"differs by {apart:.3g} (root mean square) of what is wanted, allowed are {share:.3g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+", choices=["digits", "mlp", "program3", *PICTURES, *NETWORKS, *ROUNDED])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--also", default="", help="targets that the modules have code for too, without being run here")
    parser.add_argument("--precision", default="f32", choices=["f32", "f16", "bf16"])
    parser.add_argument("--variants", action="append", default=[], help="TARGET=VARIANT,...: compile these only")
    parser.add_argument("--all-sizes", action="store_true", help="all sizes of the largest networks on a software device too (minutes each)")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices, source=options.source, precision=options.precision,
                      variants=options.variants, also=options.also, all_sizes=options.all_sizes, every_variant=bool({"digits", "mlp"} & {*options.models}))
        for model in options.models:
            try:
                work = next((work for names, work in ((NETWORKS, network), (ROUNDED, rounded), (PICTURES, pictures)) if model in names), None)
                work(bench, model) if work else globals()[model](bench)
            except RuntimeError as error:
                bench.check(model, False, error)
        print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
