#!/usr/bin/env python3
"""The node tests that the package onnx brings, and its models of gradients, of all ops that are imported.

  run_onnx_tests.py --bin BUILD/bin [--device cpu,vulkan] [--jobs N] [--part K/N] [--turns] [--filter TEXT] [--write]

Each is compiled with its sizes in the model (static) and with each size as a symbol of its own (symbolic). One that is refused in either, as its axes or its
filter are inputs, is compiled with all inputs but the first as constants and the first one's sizes as symbols (constant). test/e2e/onnx_tests.txt lists what
passes: NAME MODE DEVICES. A wrong result, a crash, a hang, or a refusal that is not exit code 3 with a message fails whether it is listed or not; a listed
test that does not pass or is not there any more fails, and so does one that passes and is not listed. --write brings the list up to what passes now. Tests
that are listed share a module with others, as starting processes is most of the work; a module that fails is taken apart. The modes take turns in the
variant of the CPU's code, so that no code is made that does not run; with --turns a test that is listed as static and as symbolic runs on a GPU in one of
the two, every other test in the other. Exit code: 0 all as listed, 1 not.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.backend.test
import onnxruntime
from onnx import compose, numpy_helper

from cpu_variants import CPU_VARIANTS
from run_models import required_devices

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "onnx_tests.txt")
OPS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "onnx-ops.md")
DATA = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")
MODES = ("static", "symbolic", "constant")
SHARED = 24  # tests of one module
SECONDS = 120
# What a float may differ by: of the wanted element, which the package gives to four digits here and there, and of the largest one.
TOLERANCE = {np.dtype(np.float64): (1e-3, 1e-7), np.dtype(np.float32): (1e-3, 2e-6), np.dtype(np.float16): (4e-3, 1e-3)}
# Wanted is what ONNX Runtime gives. The text of Resize has, for align_corners, x_original = x_resized * (length_original - 1) /
# (length_resized - 1), where length_resized is "the length of the resized tensor", floor(0.6 * 4) = 2: corners meet, the last
# element is 4. The package divides by 0.6 * 4 - 1, the size before it is rounded down, and gives 3.142857.
OF_ONNXRUNTIME = {"resize_downsample_scales_linear_align_corners"}
# Values that are random.
OPEN = re.compile(r"bernoulli|randomnormal|randomuniform|multinomial")
# Which elements are dropped is open: see `dropout_difference`.
DROPS = re.compile(r"^training_dropout")


class Test:
    def __init__(self, folder):
        self.name, self.folder = os.path.basename(folder)[len("test_"):], folder
        self.model = onnx.load(os.path.join(folder, "model.onnx"))
        self.opset = tuple(sorted((entry.domain, entry.version) for entry in self.model.opset_import))

    def values(self, kind, infos):
        """Arrays, or lists of them for sequences and optionals, by the names of the model's inputs or outputs."""
        found = {}
        for index, info in enumerate(infos):
            path = os.path.join(self.folder, "test_data_set_0", f"{kind}_{index}.pb")
            if os.path.exists(path):
                found[info.name] = path, info.type
        return found

    def inputs(self, mode):
        found = self.values("input", self.model.graph.input)
        constants = self.constants() if mode == "constant" else ()
        return {name: value for name, value in found.items() if name not in constants}

    def outputs(self):
        return self.values("output", self.model.graph.output)

    def wanted(self, name, path, kind):
        if self.name not in OF_ONNXRUNTIME:
            return read(path, kind)
        given = {input: read(*value)[0] for input, value in self.inputs("static").items()}
        return onnxruntime.InferenceSession(self.model.SerializeToString(), providers=["CPUExecutionProvider"]).run([name], given)

    def constants(self):
        """All tensors among the inputs but the first input."""
        return [value.name for value in self.model.graph.input[1:] if value.type.WhichOneof("value") == "tensor_type"]

    def prepared(self, prefix, mode):
        """The model with its names under a prefix, and in `mode`. Lists of sizes and axes keep theirs."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        if mode != "static":
            del graph.value_info[:]
            for value in graph.output:
                if value.type.WhichOneof("value") == "tensor_type":
                    value.type.tensor_type.ClearField("shape")
        if mode == "constant":
            constants = self.constants()
            for name in constants:
                [array] = read(*self.inputs("static")[name])
                graph.initializer.append(numpy_helper.from_array(array, name))
            kept = [value for value in graph.input if value.name not in constants]
            del graph.input[:]
            graph.input.extend(kept)
        if mode != "static":
            for value in graph.input:
                tensor = value.type.tensor_type
                if value.type.WhichOneof("value") != "tensor_type" or (len(tensor.shape.dim) < 2 and tensor.elem_type in (
                        onnx.TensorProto.INT64, onnx.TensorProto.INT32)):
                    continue
                for position, dim in enumerate(tensor.shape.dim):
                    if dim.dim_value != 1:
                        dim.dim_param = f"{prefix}{value.name}_{position}"
        model = compose.add_prefix(model, prefix)
        for node in model.graph.node:
            for attribute in node.attribute if node.op_type == "Gradient" else ():  # which names values of the graph
                if attribute.type == onnx.AttributeProto.STRING:
                    attribute.s = prefix.encode() + attribute.s
                else:
                    attribute.strings[:] = [prefix.encode() + name for name in attribute.strings]
        return model


def read(path, kind):
    which = kind.WhichOneof("value")
    with open(path, "rb") as file:
        data = file.read()
    if which == "tensor_type":
        return [numpy_helper.to_array(onnx.TensorProto.FromString(data))]
    if which == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    value = numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return [] if value is None else value if isinstance(value, list) else [value]


def difference(got, want):
    """A text for what differs, or None."""
    if len(got) != len(want):
        return f"{len(got)} elements, want {len(want)}"
    for a, b in zip(got, want):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"got {a.dtype}{list(a.shape)}, want {b.dtype}{list(b.shape)}"
        if a.size == 0:
            continue
        if b.dtype in TOLERANCE or b.dtype.kind == "V" or "float" in str(b.dtype):
            share, most = TOLERANCE.get(b.dtype, (2e-2, 4e-3))
            with np.errstate(all="ignore"):
                x, y = a.astype(np.float64), b.astype(np.float64)
                scale = np.abs(y[np.isfinite(y)]).max(initial=0)
                bad = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= share * np.abs(y) + most * scale))
        else:
            bad = a != b
        if np.any(bad):
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            return f"{int(np.sum(bad))} of {a.size} elements differ, the first at {list(place)}: got {a[place]}, want {b[place]}"
    return None


def dropout_difference(test, got):
    """A text for an element that is neither 0 nor the input's by 1 / (1 - ratio), or for a share of them that is far from the ratio; or None."""
    x, ratio = (read(*test.values("input", test.model.graph.input)[info.name])[0] for info in test.model.graph.input[:2])
    [got] = got
    if got.shape != x.shape:
        return f"got {list(got.shape)}, want {list(x.shape)}"
    kept = got if got.dtype == bool else got != 0
    if got.dtype != bool and np.abs(got - x / (1 - ratio))[kept].max(initial=0) > 1e-6 * np.abs(x).max():
        return f"an element is neither 0 nor the input by 1 / (1 - {ratio})"
    if abs((x.size - kept.sum()) - x.size * ratio) > 5 * (x.size * ratio * (1 - ratio)) ** 0.5:
        return f"{x.size - kept.sum()} of {x.size} elements are dropped, with the ratio {ratio}"
    return None


class Runner:
    def __init__(self, bin, folder, devices):
        self.bin, self.folder, self.devices = bin, folder, devices
        self.environment = dict(os.environ, VX_CHECK_SCHEDULE="1", VX_VULKAN_VALIDATION="1")

    def tool(self, name, *arguments):
        """The exit code, negative for a death by a signal, and the message."""
        try:
            done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, timeout=SECONDS, env=self.environment)
        except subprocess.TimeoutExpired:
            return -1, f"no end after {SECONDS} s"
        return done.returncode, done.stderr.strip()[-600:]

    def run(self, tests, mode):
        """(test, device) -> "pass", "refused: ..." or "wrong: ..."."""
        folder = tempfile.mkdtemp(dir=self.folder)
        model, module = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.vxm")
        prefixes = [f"c{index}_" for index in range(len(tests))]
        whole = tests[0].prepared(prefixes[0], mode)
        for test, prefix in zip(tests[1:], prefixes[1:]):
            other = test.prepared(prefix, mode).graph
            for field in ("node", "input", "output", "initializer", "sparse_initializer", "value_info"):
                getattr(whole.graph, field).extend(getattr(other, field))
        onnx.save(whole, model)
        variant = [f"--cpu={CPU_VARIANTS[MODES.index(mode) % len(CPU_VARIANTS)]}"] if "cpu" in self.devices else []
        code, message = self.tool("vx-compile", model, f"--target={','.join(self.devices)}", *variant, "--no-cache", "--threads=1", "-o", module)
        if code != 0:
            return self.apart(tests, mode) or {(tests[0], device): self.verdict(code, message) for device in self.devices}
        found = {}
        for device in self.devices:
            arguments, wanted = [], []
            for test, prefix in zip(tests, prefixes):
                for name, (path, _) in test.inputs(mode).items():
                    arguments += ["--input", f"{prefix}{name}=@{path}"]
                for name, (path, kind) in test.outputs().items():
                    out = os.path.join(folder, f"{prefix}{len(wanted)}.pb")
                    arguments += ["--output", f"{prefix}{name}=@{out}"]
                    wanted.append((test, out, name, path, kind))
            code, message = self.tool("vx-run", module, f"--device={device}", "--no-fallback", *arguments)
            if code != 0:
                if len(tests) > 1:
                    return self.apart(tests, mode)
                found[tests[0], device] = f"wrong: vx-run exits with {code}: {message}"
                continue
            for test in tests:
                found[test, device] = "pass"
            for test, out, name, path, kind in wanted:
                got = read(out, kind)
                problem = dropout_difference(test, got) if DROPS.search(test.name) else difference(got, test.wanted(name, path, kind))
                if problem:
                    found[test, device] = f"wrong: {problem}"
        return found

    def refusals(self, test, mode, each):
        """A text for each device that the compiler takes no code for, without making any; `each` asks for the devices one by one."""
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".onnx") as file:
            onnx.save(test.prepared("c0_", mode), file.name)
            found = {}
            for devices in [[device] for device in self.devices] if each else [self.devices]:
                code, message = self.tool("vx-compile", file.name, f"--target={','.join(devices)}", "--check")
                if code != 0:
                    found.update((device, self.verdict(code, message)) for device in devices)
            return found

    def verdict(self, code, message):
        return f"refused: {message}" if code == 3 and message else f"wrong: vx-compile exits with {code}: {message}"

    def apart(self, tests, mode):
        if len(tests) == 1:
            return None
        half = len(tests) // 2
        return self.run(tests[:half], mode) | self.run(tests[half:], mode)


def read_list():
    listed = {}
    if os.path.exists(LIST):
        with open(LIST) as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    name, mode, devices = line.split()
                    listed[name, mode] = set(devices.split(","))
    return listed


def write_list(listed):
    with open(LIST, "w") as file:
        file.write("# Node tests of the package onnx that pass, with their sizes in the model (static) and as symbols: made by run_onnx_tests.py --write.\n")
        file.writelines(f"{name} {mode} {','.join(sorted(devices))}\n" for (name, mode), devices in sorted(listed.items()) if devices)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--part", default="0/1", help="K/N: every N-th test, from the K-th on")
    parser.add_argument("--turns", action="store_true", help="on GPUs each test in one mode of those it is listed in")
    parser.add_argument("--filter", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    with open(OPS) as file:
        imported = {match.group(1) for match in re.finditer(r"^\| ([A-Z]\w+) \| \d+ \|$", file.read(), re.M)}
    everything = [Test(folder) for folder in sorted(glob.glob(os.path.join(DATA, "node", "test_*")) + glob.glob(os.path.join(DATA, "simple", "test_gradient*")))]
    everything = [test for test in everything if {node.op_type for node in test.model.graph.node} <= imported and not OPEN.search(test.name)]
    listed = read_list()
    part, parts = map(int, options.part.split("/"))
    tests = [test for test in everything[part::parts] if options.filter in test.name]
    counts, failures, passing = collections.Counter(), [], dict(listed)
    for name, mode in sorted(set(listed) - {(test.name, mode) for test in everything for mode in MODES}) if part == 0 else ():
        failures.append(f"{name}, {mode}: it is listed, but the package has no such test of ops that are imported")
        passing.pop((name, mode))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runner = Runner(options.bin, folder, devices)

        numbers = {test.name: number for number, test in enumerate(tests)}

        def is_others_turn(test, mode, device):
            both = all(device in listed.get((test.name, each), ()) for each in ("static", "symbolic"))
            return options.turns and device != "cpu" and both and mode == ("static", "symbolic")[numbers[test.name] % 2]

        def passes_in(test, mode):
            return passing.get((test.name, mode), set()) >= set(devices)

        for modes in (("static", "symbolic"), ("constant",)):
            pairs = [(test, mode) for mode in modes for test in tests]
            if modes == ("constant",):
                pairs = [(test, mode) for test, mode in pairs if test.constants() and not (passes_in(test, "static") and passes_in(test, "symbolic"))]
            # What is listed is tried with others; of the rest the compiler is asked first, as one that is refused takes a module apart.
            asked = [pair for pair in pairs if not set(devices) <= listed.get((pair[0].name, pair[1]), set())]
            each = [options.write or (test.name, mode) in listed for test, mode in asked]
            refused = dict(zip(asked, pool.map(lambda pair, each: runner.refusals(*pair, each), asked, each)))
            groups = collections.defaultdict(list)
            for test, mode in pairs:
                able = tuple(device for device in devices if device not in refused.get((test, mode), {}) and not is_others_turn(test, mode, device))
                if able:
                    groups[mode, test.opset, able, (test, mode) in refused].append(test)
            works = [(mode, able, group[begin:begin + SHARED]) for (mode, _, able, _), group in groups.items() for begin in range(0, len(group), SHARED)]
            outcomes = [(mode, {(test, device): text for device, text in texts.items()}) for (test, mode), texts in refused.items()]
            outcomes += zip([work[0] for work in works], pool.map(lambda work: Runner(options.bin, folder, work[1]).run(work[2], work[0]), works))
            for mode, found in outcomes:
                for (test, device), outcome in found.items():
                    counts[outcome.split(":")[0]] += 1
                    is_listed, passes = device in listed.get((test.name, mode), ()), outcome == "pass"
                    title = f"{test.name}, {mode}, {device}"
                    if options.write:
                        entry = passing.setdefault((test.name, mode), set())
                        (entry.add if passes else entry.discard)(device)
                    if outcome.startswith("wrong"):
                        failures.append(f"{title}: {outcome}")
                    elif not options.write and passes != is_listed:
                        failures.append(f"{title}: it passes and is not listed; run_onnx_tests.py --write adds it" if passes else
                                        f"{title}: it is listed, but {outcome}")
    for failure in failures:
        print(f"FAILED {failure}")
    if options.write:
        write_list(passing)
    print(f"{counts['pass']} passed, {counts['refused']} refused as listed, {counts['wrong']} wrong on {' and '.join(devices)}; {len(failures)} failed")
    return 1 if failures or not counts["pass"] else 0


if __name__ == "__main__":
    sys.exit(main())
