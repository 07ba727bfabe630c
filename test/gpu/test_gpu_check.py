#!/usr/bin/env python3
"""scripts/gpu-check itself: it passes on a device that is right, and fails on one that computes nothing and for each of a list of planted faults.

    test_gpu_check.py --bin BUILD/bin --source REPOSITORY [--bare-root]

Vulkan's software driver stands in for the GPU. With --bare-root the pack also runs in a root that has the libraries of C and C++ and nothing else, as a machine
with a GPU and its driver has. Needs the Python packages of test/requirements.txt.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "package"))
from bare_root import BareRoot  # noqa: E402
from weight_recipe import place_of  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

MODEL, OPS, STEPS = "decoder", "unary,symbolic", "adamw_plain,refused,masks,scaled_huge_parts"
DECODERS = "gemma3_layers,q4_1"
PARTS = ("functions", "decoders", "networks", "gradients", "ops", "op_gradients", "programs", "training")
CASES = "abs,relu,matmul_*,softmax_axis_*"


class Test(Checks):
    def __init__(self, options, folder):
        self.root = None
        if options.bare:
            self.root = BareRoot(os.path.join(folder, "root"))
            self.root.add_utilities()
        self.bin, self.source, self.pack, self.inside = options.bin, options.source, os.path.join(folder, "pack"), os.path.join(folder, "inside")
        self.script = os.path.join(self.source, "scripts", "gpu-check")

    def run(self, *command, **environment):
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"VX_BUILD_DIR": os.path.dirname(self.bin), "VX_GPU_CHECK_STEPS": "3"} | environment)
        return done.returncode, done.stdout + done.stderr

    def run_pack(self, *arguments):
        """The pack's own script on a device that computes nothing, in the bare root where there is one."""
        environment = {"VX_GPU_CHECK_SOFTWARE": "1", "VX_GPU_CHECK_DEVICES": "null", "VX_GPU_CHECK_SECONDS": "0.01", "VX_GPU_CHECK_STEPS": "3"}
        if not self.root:
            return self.run(os.path.join(self.pack, "gpu-check"), self.pack, *arguments, **environment)
        shutil.copytree(self.pack, os.path.join(self.root.folder, "pack"), dirs_exist_ok=True)
        code, text = self.root.run("/usr/bin/bash", "/pack/gpu-check", "/pack", *arguments, **environment)
        lacks = re.findall(r".*(?:error while loading shared libraries|command not found).*", text)
        self.check(f"with the libraries of C and C++ alone every program of the pack starts: {arguments[0]}", not lacks and "vx " in text, lacks or text)
        return code, text

    def planned(self, plan, device):
        """Runs one plan of the unpacked folder."""
        return self.run(os.path.join(self.bin, "vx-check-outputs"), os.path.join(self.inside, plan), f"--device={device}",
                        f"--work={tempfile.mkdtemp(dir=self.inside)}", "--jobs=2")

    def load(self, plan):
        with open(os.path.join(self.inside, f"{plan}.checks.json")) as file:
            return json.load(file)

    def plant(self, title, plan, change, says):
        """`change` edits the checks of a plan, of which it keeps one at least; each that is left must fail, and say `says`."""
        document = self.load(plan)
        document["checks"] = [check | {"targets": ["cpu", *check["targets"]]} for check in change(document["checks"])]
        with open(os.path.join(self.inside, "planted.checks.json"), "w") as file:
            json.dump(document, file)
        code, text = self.planned("planted.checks.json", "vulkan" if plan in ("ops", "op_gradients") else "cpu")
        lines = [line for line in text.splitlines() if line.startswith("FAILED")]
        self.check(f"planted: {title}", code == 1 and len(lines) == len(document["checks"]) > 0 and all(re.search(says, line) for line in lines), text)


def named(*words):
    return lambda checks: [check for check in checks if all(word in check["name"] for word in words)]


def whole_script(test):
    code, text = test.run(test.script, "--pack", test.pack, "--models", MODEL, "--precisions", "f32,f16", "--ops", OPS, "--programs", "0:8", "--training", STEPS, "--gradients", "mlp", "--op-gradients", "24", "--decoders", DECODERS,
                          "--targets", "vulkan", "--cases", CASES)
    test.check("pack", code == 0 and re.search(r"^\d+ compiled, 0 failed, \d+ unsupported, .* on vulkan$", text, re.M), text)
    test.check("an archive for each part", {os.path.basename(path) for path in glob.glob(os.path.join(test.pack, "*.tar.xz"))} ==
               {f"{part}.tar.xz" for part in ("pack", *PARTS, "conformance-vulkan")}, os.listdir(test.pack))
    code, text = test.run(os.path.join(test.pack, "gpu-check"), test.pack, "--check", VX_GPU_CHECK_SOFTWARE="1", VX_GPU_CHECK_DEVICES="vulkan")
    counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", text, re.M)
    compared = sum(map(int, re.findall(r"; (\d+) results of \d+ elements compared", text)))
    test.check("a right device passes", code == 0 and counts and int(counts[-1][0]) > 75 and compared > 400 and counts[-1][1] == "0", text)
    test.check("among it functions of the builder", re.search(r"^ok      1\d\d functions and layers of the builder on vulkan ", text, re.M), text)
    test.check("among it gradients of a network", "ok      gradients on vulkan: mlp\n" in text, text)
    test.check("among it ONNX's tests", re.search(r"^ONNX's tests on vulkan: [1-9]\d passed, 0 failed, ", text, re.M), text)
    test.check("among it steps of training", all(f"ok      steps of training on vulkan: {name}\n" in text for name in STEPS.split(",")), text)
    test.check("among it language models", all(f"ok      a language model on vulkan: {name}\n" in text for name in DECODERS.split(",")), text)
    some = os.path.join(test.inside, "some_parts")
    os.makedirs(some)
    for name in ("gpu-check", "pack.tar.xz", "training.tar.xz"):
        shutil.copy(os.path.join(test.pack, name), some)
    code, text = test.run(os.path.join(some, "gpu-check"), some, "--check", VX_GPU_CHECK_SOFTWARE="1", VX_GPU_CHECK_DEVICES="vulkan")
    absent = re.findall(r"^skipped (\S+): \S+ has no \1\.tar\.xz$", text, re.M)
    test.check("some parts are checked without the others, which are counted as skipped", code == 0 and sorted(absent) == sorted({*PARTS, "conformance-vulkan"} - {"training"})
               and re.search(rf"^\d+ passed, 0 failed, {len(absent) + 1} skipped$", text, re.M) and f"ok      steps of training on vulkan: {STEPS.split(',')[0]}\n" in text, text)
    code, text = test.run(os.path.join(test.pack, "gpu-check"), test.pack, "--check", VX_GPU_CHECK_DEVICES="vulkan")
    test.check("a software driver is no GPU", code == 1 and "FAILED  a vulkan device that is hardware" in text and "\n1 passed, 1 failed, " in text, text)
    code, text = test.run(os.path.join(test.pack, "gpu-check"), test.pack, "--check", VX_GPU_CHECK_DEVICES="null")
    test.check("nor is a device that computes nothing", code == 1 and "FAILED  a null device that is hardware" in text, text)
    cases = os.path.join(test.inside, "cases")
    os.makedirs(cases)
    test.run("tar", "-C", cases, "-xJf", os.path.join(test.pack, "conformance-vulkan.tar.xz"))
    for module in glob.glob(os.path.join(cases, "*", "*.vulkan.vxm")):
        os.rename(module, module.replace(".vulkan.vxm", ".null.vxm"))
    test.run("tar", "-C", cases, "-cJf", os.path.join(test.pack, "conformance-null.tar.xz"), ".")
    code, text = test.run_pack("--check")
    test.check("which fails where it is taken for one", code == 1 and "ok      a null device that is hardware" in text, text)
    test.check("nor do its functions pass", re.search(r"^FAILED  1\d\d functions and layers of the builder on null ", text, re.M), text)
    test.check("nor does one of ONNX's tests", re.search(r"^ONNX's tests on null: 0 passed, [1-9]\d+ failed, ", text, re.M), text)
    test.check("nor tensors that stay in its memory", "FAILED  tensors stay in the memory of null" in text, text)
    passed = [line for line in text.splitlines() if line.startswith("ok") and ", null: " in line]
    test.check("and none of its networks or large tensors passes", not passed, passed)
    for part in ("pack", *PARTS):
        test.run("tar", "-C", test.inside, "-xJf", os.path.join(test.pack, f"{part}.tar.xz"))
    measures(test)


def measures(test):
    """What is measured, on a device that computes nothing."""
    figures = os.path.join(test.root.folder, "pack", "figures") if test.root else os.path.join(test.inside, "figures")
    code, text = test.run_pack("--figures", "/pack/figures" if test.root else figures)
    records = {}
    for path in glob.glob(os.path.join(figures, "*.json")):
        with open(path) as file:
            records[os.path.basename(path)[:-5]] = json.load(file)
    test.check("figures are measured", code == 0 and "large_softmax" in records and re.search(r"^[1-9]\d* measurements$", text, re.M), text)
    test.check("with a record of where they are from", records and all(document["record"][key] for document in records.values() for key in ("date", "host", "cpu", "commit", "command", "devices")), records)
    code, text = test.run_pack("--bench")
    test.check("times are measured, each with its record",
               code == 0 and "digits.vxm" in text and len(re.findall(r"^\d{4}-\d\d-\d\dT.*Z, commit ", text, re.M)) == len(re.findall(r"^times of ", text, re.M)) > 3, text)


def planted_steps(test):
    """A pack of nothing but steps of training with faults planted, run by the script."""
    folder, pack = os.path.join(test.inside, "planted"), os.path.join(test.inside, "planted_pack")
    os.makedirs(pack)
    said = {}

    def plant(title, of, says, change):
        """`change` edits the script's lines of a copy of the steps `of`, and may write beside it."""
        name = title.replace(" ", "_")
        said[name] = says
        copy = shutil.copytree(os.path.join(test.inside, "training", of), os.path.join(folder, "training", name))
        with open(os.path.join(copy, "script")) as file:
            lines = file.read().splitlines()
        with open(os.path.join(copy, "script"), "w") as file:
            file.write("\n".join(change(lines, copy)) + "\n")

    def moved(start, by):
        """The last number that lines beginning so are compared with is off."""
        def change(lines, copy):
            line = [line for line in lines if line.startswith(start)][-1].split()
            values = np.fromfile(os.path.join(copy, line[2]), np.float32)
            values[-1] += np.float32(by * float(line[3]) * max(abs(values[-1]), float(line[4])))
            values.tofile(os.path.join(copy, "planted"))
            return [*[other for other in lines if other.split() != line], " ".join([*line[:2], "planted", *line[3:]])]
        return change

    plant("a moment that is off", "adamw_plain", "adamw.v/fc2.bias at element 2 is", moved("near adamw.v/fc2.bias", 1.5))
    plant("a loss that is no number", "adamw_plain", r"\* at element 1 is", moved("near *", np.nan))

    def flipped(lines, copy):
        at = next(number for number, line in enumerate(lines) if line.startswith("same *"))
        data = np.fromfile(os.path.join(copy, lines[at].split()[2]), np.uint8)
        data[-3] ^= 1
        data.tofile(os.path.join(copy, "planted"))
        return [*lines[:at], "same * planted", *lines[at + 1:]]
    plant("a bit of a mask", "masks", r"\* differs at byte", flipped)
    plant("a step that is not done", "refused", "index at .4. is 3", lambda lines, copy: [
        re.sub("^refused f[0-9]+", "call", line) for line in lines if not line.startswith("same step")])
    plant("a step that is not refused", "refused", "the call was done", lambda lines, copy: [
        re.sub("^call", "refused " + next(line for line in lines if line.startswith("refused")).split()[1], line) for line in lines])
    def other_message(lines, copy):
        with open(os.path.join(copy, next(line for line in lines if line.startswith("refused")).split()[1]), "w") as file:
            file.write("allowed is [0, 4)")
        return lines
    plant("another message", "refused", r"expected an error with 'allowed is \[0, 4\)', got '.*allowed is \[0, 3\)", other_message)
    plant("a counter that stands still", "adamw_plain", "step differs at byte 0", lambda lines, copy: [
        *lines, f"same step {next(line for line in lines if line.startswith('same step')).split()[2]}"])

    plant("a scale that is never halved", "scaled_huge_parts", "loss_scale differs at byte", lambda lines, copy: [
        re.sub("^same loss_scale f[0-9]+", "same loss_scale " + next(line for line in lines if line.startswith("same loss_scale ")).split()[2], line) for line in lines])

    def kept(lines, copy):
        step = next(line for line in lines if line.startswith("call train_step"))
        np.zeros(3, np.float32).tofile(os.path.join(copy, "state"))
        return ["write fc2.bias state", step, "read fc2.bias state", "read fc2.bias out0"]
    plant("other bits in a second run", "adamw_plain", "out0.*differ", kept)

    # A logit that is off, too few and too many of them, and a call that fails.
    models = {"a_logit_that_is_off": "apart by 0.00002", "a_logit_too_few": "expected fewer numbers", "a_logit_too_many": "expected more numbers", "a_call_that_fails": "most_pages"}
    for name in models:
        copy = shutil.copytree(os.path.join(test.inside, "decoders", "q4_1"), os.path.join(folder, "decoders", name))
        values = np.fromfile(os.path.join(copy, "want"), np.float32)
        values[-1] += (name == "a_logit_that_is_off") * np.float32(2e-5 * np.abs(values[-60:]).max())
        values[:len(values) - (name == "a_logit_too_few")].tofile(os.path.join(copy, "want"))
        with open(os.path.join(copy, "want"), "ab") as file:
            file.write(b"1234" * (name == "a_logit_too_many"))
        if name == "a_call_that_fails":
            with open(os.path.join(copy, "lines"), "a") as file:
                file.write("decode 64 1\n")

    # The CPU's gradients of other inputs.
    copy = shutil.copytree(os.path.join(test.inside, "gradients", "mlp"), os.path.join(folder, "gradients", "of_other_inputs"))
    (-np.fromfile(os.path.join(copy, "in0"), np.float32)).tofile(os.path.join(copy, "moved"))
    slope = shutil.copytree(copy, os.path.join(folder, "gradients", "slope_of_other_inputs"))
    apart = shutil.copytree(copy, os.path.join(folder, "gradients", "far_apart"))
    shutil.copytree(copy, os.path.join(folder, "gradients", "one_draw"))
    for path, old, new in ((os.path.join(copy, "wanted"), r"(near\d\.)?in0", "moved"), (os.path.join(slope, "script"), "slope 0.02 in0", "slope 0.02 moved"),
                           (os.path.join(apart, "wanted"), "near1.in0", "moved")):
        with open(path) as file:
            lines = file.read()
        assert re.search(old, lines)
        with open(path, "w") as file:
            file.write(re.sub(old, new, lines))

    for name in os.listdir(test.inside):
        if name in ("lib", "commit", "decoder_peer") or name.startswith("vx-"):
            os.symlink(os.path.join(test.inside, name), os.path.join(folder, name))
    # One draw of three is of other inputs on the device.
    shutil.copy(os.path.join(test.inside, "run_calls"), os.path.join(folder, "true_calls"))
    with open(os.path.join(folder, "run_calls"), "w") as file:
        file.write("""#!/bin/sh
other=in0
case "$PWD $2 $4" in *"/one_draw vulkan 8") other=moved ;; esac
sed "s/ in0/ $other/" | "${0%run_calls}true_calls" "$@"
""")
    os.chmod(os.path.join(folder, "run_calls"), 0o755)
    open(os.path.join(folder, "parts"), "w").close()
    test.run("tar", "-C", folder, "-I", "xz -0", "-hcf", os.path.join(pack, "pack.tar.xz"), ".")
    _, text = test.run(test.script, pack, "--check", VX_GPU_CHECK_SOFTWARE="1", VX_GPU_CHECK_DEVICES="vulkan")
    for name, draw, says in (("of_other_inputs", 7, r"grad/\S+ at element"), ("slope_of_other_inputs", 7, "along the gradients differences"), ("one_draw", 8, r"grad/\S+ at element"),
                             ("far_apart", 7, r"grad/\S+ is not measurable")):
        said_it = re.search(rf"^FAILED  gradients on vulkan: {name}\n(?:        draw [78]\n)*?        draw {draw}\n        run_calls: {says}", text, re.M)
        test.check(f"planted: gradients, {name.replace('_', ' ')}", said_it, text)
    for name, says in models.items():
        found = re.search(rf"^FAILED  a language model on vulkan: {name}\n((?:        .*\n)*)", text, re.M)
        test.check(f"planted: {name.replace('_', ' ')}", found and says in found.group(1), text)
    for name, says in said.items():
        found = re.search(rf"^FAILED  steps of training on vulkan: {name}\n((?:        .*\n)*)", text, re.M)
        test.check(f"planted: {name.replace('_', ' ')}", found and re.search(says, found.group(1)), text)


def planted_values(test):
    code, text = test.planned("ops.checks.json", "null")
    right = {line.split(",")[0] for line in text.splitlines() if line.startswith("ok")}
    # Of no elements, or of zeros.
    few = len(right) <= len(test.load("ops")["checks"]) / 4
    test.check("few op programs pass on a device that computes nothing", code == 1 and few, text)

    def nudge(kind, amount):
        """The first check that has a result of this rule, with one element of what is wanted moved."""
        def change(checks):
            for check in checks:
                for entry in check["results"]:
                    want = np.load(os.path.join(test.inside, entry["want"]))
                    finite = np.isfinite(want) & (abs(want) > 1e-3) if want.dtype == np.float32 else np.zeros(want.shape, bool)
                    if entry["rule"] == kind and finite.any():
                        place = tuple(np.argwhere(finite)[-1])
                        unit = np.spacing(want[place]) if kind != "limit" else np.load(os.path.join(test.inside, entry["limit"]))[place]
                        want[place] += np.float32(amount * unit)
                        np.save(os.path.join(test.inside, "moved.npy"), want)
                        return [check | {"results": [entry | {"want": "moved.npy"}]}]
        return change
    test.plant("one element of exp four places off", "ops", nudge("ulp", 4), "1 of .* elements differ")
    test.plant("one bit of a result that is only moved", "ops", nudge("exact", 1), "1 of .* elements differ.*bits")
    test.plant("one element beyond the bound of its sum", "ops", nudge("limit", 4), "1 of .* elements differ")

    test.plant("one element beyond the bound of its gradient", "op_gradients", nudge("limit", 4), "1 of .* elements differ")

    def unbounded(checks):
        check = next(check for check in checks if any(entry["rule"] == "limit" for entry in check["results"]) and "=0" not in check["name"])
        entry = next(entry for entry in check["results"] if entry["rule"] == "limit")
        limit = np.load(os.path.join(test.inside, entry["limit"]))
        np.save(os.path.join(test.inside, "nan.npy"), np.full_like(limit, np.nan))
        return [check | {"results": [entry | {"limit": "nan.npy"}]}]
    test.plant("limits that are not numbers", "ops", unbounded, "elements differ")
    test.plant("a result that the module has not", "ops", lambda checks: [checks[0] | {"results": [{"output": "none", "rule": "exact", "want": "x"}]}],
               "there is no such output")
    test.plant("no result at all", "ops", lambda checks: [checks[0] | {"results": []}], "no result to compare")
    test.plant("an error that does not come", "ops", lambda checks: [checks[0] | {"fault": "index is 9"}], "expected the error 'index is 9', got none")
    test.plant("a module that is not there", "ops", lambda checks: [checks[0] | {"module": "none.vxm"}], "none.vxm")
    test.plant("a rule without a bound", "large", lambda checks: [named("softmax", "67")(checks)[0] | {"results": [{"output": "y", "rule": "close", "rms": 1}]}],
               "expected a finite number of 0 or more for 'largest'")


def planted_code(test):
    """Other code under the same name, beside the right reference."""
    with open(os.path.join(test.source, "test", "gpu", "large.mlir")) as file:
        text = file.read()
    for title, function, old, new in (
            ("a missing epsilon", "layer_norm", "epsilon = 1.0e-5", "epsilon = 1.0e-12"),
            ("a subtraction for an addition", "elementwise", "vx.add %x, %r", "vx.sub %x, %r"),
            ("a row's last element left out of softmax", "softmax", "%y = vx.softmax %x axis = 1 :", SHORT_SOFTMAX)):
        assert old in text
        with open(os.path.join(test.inside, "wrong.mlir"), "w") as file:
            file.write(text.replace(old, new))
        code, errors = test.run(os.path.join(test.bin, "vx-compile"), os.path.join(test.inside, "wrong.mlir"), "--target=cpu", "-o", os.path.join(test.inside, "wrong.vxm"))
        assert code == 0, errors
        test.plant(title, "large", lambda checks: [check | {"module": "wrong.vxm"} for check in checks if check["function"] == function], "differ")


# Row 0 counts once more in place of the last element.
SHORT_SOFTMAX = """%part = vx.slice %x starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : tensor<?x4096xf32, #vx.enc<[rows, 4096]>> -> tensor<?x4095xf32, #vx.enc<[rows, 4095]>>
  %one = vx.slice %x starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : tensor<?x4096xf32, #vx.enc<[rows, 4096]>> -> tensor<?x1xf32, #vx.enc<[rows, 1]>>
  %whole = vx.concat axis = 1 (%part, %one) : tensor<?x4095xf32, #vx.enc<[rows, 4095]>>, tensor<?x1xf32, #vx.enc<[rows, 1]>>
  %y = vx.softmax %whole axis = 1 :"""


def planted_weights(test):
    """A network with other weights in one of its layers, beside the right one."""
    module, folder = f"{MODEL}-f32", os.path.join(test.inside, "wrong")
    weights = os.path.join(test.inside, f"{module}.weights")
    test.run(os.path.join(test.bin, "vx-fill-weights"), os.path.join(test.inside, f"{module}.recipe"), weights)
    _, text = test.run(os.path.join(test.bin, "vx-info"), "--json", os.path.join(test.inside, f"{module}.vxm"))
    description = json.loads(text)
    layers = [constant | {"offset": place_of(description, constant)} for constant in description["constants"] if constant["type"] == "f32" and len(constant["dims"]) == 2 and constant["size"] > 1 << 16]
    middle = layers[len(layers) // 2]
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(test.inside, f"{module}.vxm"), folder)

    def tf32(layer):
        return ((layer.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)

    def zeroed(layer):
        layer = layer.copy()
        layer[:, 5] = 0
        return layer

    def swapped(layer):
        layer = layer.copy()
        layer[[3, 4]] = layer[[4, 3]]
        return layer
    for title, change in (("one layer in tf32", tf32), ("one zeroed channel", zeroed), ("two swapped rows", swapped)):
        data = np.fromfile(weights, np.uint8)
        part = slice(middle["offset"], middle["offset"] + middle["size"])
        data[part] = change(data[part].view(np.float32).reshape(middle["dims"])).reshape(-1).view(np.uint8)
        data.tofile(os.path.join(folder, f"{module}.weights"))
        test.plant(title, MODEL, lambda checks: [check | {"module": f"wrong/{module}.vxm"} for check in named("f32")(checks)], "differ|root mean square")

    # A network whose output hangs on nothing: all of the last layers' weights are 0.
    def constant(checks):
        data = np.fromfile(weights, np.uint8)
        for layer in layers:
            data[layer["offset"]:layer["offset"] + layer["size"]] = 0
        data.tofile(os.path.join(folder, f"{module}.weights"))
        return [check | {"module": f"wrong/{module}.vxm", "reference": {"module": f"wrong/{module}.vxm"}} for check in checks if "moves" in check]
    test.plant("a network whose outputs hang on nothing", MODEL, constant, "other inputs move it by")
    test.plant("a reference that is not there", MODEL, lambda checks: [check | {"reference": {"module": "none.vxm"}} for check in checks], "reference on the CPU: .*none.vxm")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--bare-root", action="store_true", dest="bare")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        test = Test(options, folder)
        whole_script(test)
        planted_steps(test)
        planted_values(test)
        planted_code(test)
        planted_weights(test)
    return test.finish()


if __name__ == "__main__":
    sys.exit(main())
