#!/usr/bin/env python3
"""Weights that are variables: a function that reads them is compiled as one with constants is, and always computes with the weights of its call's time.

  run_derived.py --bin BUILD/bin [--device cpu,vulkan] [--variants rocm=gfx1100] [--filter TEXT]

Each case is compiled twice. What `predict` of the variables does must be what it does with constants: the same kernels with the same strategies, each as
often. Then the weights are written from outside, by `step`, and by `step` on another thread; all numbers are whole, so that results are exact. Exit code: 0
all as wanted, 1 not.
"""
import collections
import json
import sys

from call_runs import CallRuns
from run_models import np
from state_case import tensor, whole

CASES = {}


def case(function):
    CASES[function.__name__[1:]] = function
    return function


class Weights:
    """`predict` is text over %x and the weights' names, `value` the same in NumPy; `roles` are those that are not parameters."""

    def __init__(self, weights, x, result, predict, value, roles={}):
        self.weights, self.x, self.result, self.predict, self.value, self.roles = weights, x, result, predict, value, roles

    def text(self, constant):
        text = ""
        if not constant:
            for name, array in self.weights.items():
                text += f"vx.variable @{name} role = {self.roles.get(name, 'parameter')} : {tensor(*array.shape)}\n"
        text += f"func.func @predict(%x: {tensor(*self.x.shape)} {{vx.name = \"x\"}}) -> ({tensor(*self.result)} {{vx.name = \"y\"}}) {{\n"
        for name, array in self.weights.items():
            text += f"  %{name} = vx.{f'constant dense_resource<{name}>' if constant else f'variable_load @{name}'} : {tensor(*array.shape)}\n"
        text += self.predict + f"  return %y : {tensor(*self.result)}\n}}\n"
        if constant:
            blobs = ", ".join(f'{name}: "0x04000000{array.astype(np.float32).tobytes().hex().upper()}"' for name, array in self.weights.items())
            return text + "{-# dialect_resources: { builtin: { " + blobs + " } } #-}\n"
        # All weights at once, so that a result of two moments would show.
        changes = ", ".join(f"%d_{name}: {tensor(*array.shape)} {{vx.name = \"d_{name}\"}}" for name, array in self.weights.items())
        stores, loads = "", ""
        for name, array in self.weights.items():
            t = tensor(*array.shape)
            stores += f"  %o_{name} = vx.variable_load @{name} : {t}\n  %n_{name} = vx.add %o_{name}, %d_{name} : {t}, {t}\n  vx.variable_store %n_{name}, @{name} : {t}\n"
            loads += f"  %{name} = vx.variable_load @{name} : {t}\n"
        text += f"func.func @step({changes}) {{\n{stores}  return\n}}\n"
        text += f"func.func @advance({changes}, %x: {tensor(*self.x.shape)} {{vx.name = \"x\"}}) -> ({tensor(*self.result)} {{vx.name = \"y\"}}) {{\n"
        return text + stores + loads + self.predict + f"  return %y : {tensor(*self.result)}\n}}\n"


def convolve(x, w):
    """Of one image, with zeros of half the filter's width around it."""
    height, width = x.shape[2:]
    around = w.shape[2] // 2
    wide = np.pad(x, ((0, 0), (0, 0), (around, around), (around, around)))
    return sum(np.einsum("nchw,oc->nohw", wide[:, :, i:i + height, j:j + width], w[:, :, i, j]) for i in range(w.shape[2]) for j in range(w.shape[3]))


def convolution(random, channels, outputs, size, filter=3):
    x, y = (1, channels, size, size), (1, outputs, size, size)
    around = filter // 2
    predict = f"""  %c = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [{around}, {around}] x [{around}, {around}] groups = 1 : {tensor(*x)}, {tensor(outputs, channels, filter, filter)}
"""
    return {"w": whole(random, outputs, channels, filter, filter, low=-2, high=2)}, whole(random, *x, low=-3, high=3), y, predict


@case
def _convolution():
    weights, x, y, predict = convolution(np.random.default_rng(1), 19, 37, 13)
    return Weights(weights, x, y, predict.replace("%c =", "%y ="), lambda x, w: convolve(x, w))


@case
def _convolution_1x1():
    weights, x, y, predict = convolution(np.random.default_rng(2), 64, 48, 9, filter=1)
    return Weights(weights, x, y, predict.replace("%c =", "%y ="), lambda x, w: convolve(x, w))


@case
def _normalised_convolution():
    """The scale, a statistic here, goes into the filter, and the offset into the epilogue."""
    random = np.random.default_rng(3)
    weights, x, y, predict = convolution(random, 16, 24, 11)
    weights |= {"scale": 2 ** random.integers(-1, 2, 24).astype(np.float32), "offset": whole(random, 24)}
    predict += f"""  %s = vx.broadcast %scale, [1] : {tensor(24)} -> {tensor(*y)}
  %m = vx.mul %c, %s : {tensor(*y)}, {tensor(*y)}
  %o = vx.broadcast %offset, [1] : {tensor(24)} -> {tensor(*y)}
  %y = vx.add %m, %o : {tensor(*y)}, {tensor(*y)}
"""
    return Weights(weights, x, y, predict, lambda x, w, scale, offset: convolve(x, w) * scale[None, :, None, None] + offset[None, :, None, None], {"scale": "statistic"})


@case
def _product():
    random = np.random.default_rng(4)
    predict = f"  %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : {tensor(5, 70)}, {tensor(70, 33)}\n"
    return Weights({"w": whole(random, 70, 33)}, whole(random, 5, 70), (5, 33), predict, lambda x, w: x @ w)


@case
def _two_products_of_one_weight():
    """One of the weight as it is and one of its transpose: two derived values, or one and the variable itself."""
    random = np.random.default_rng(5)
    predict = f"""  %h = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : {tensor(3, 40)}, {tensor(40, 40)}
  %t = vx.transpose %w, [1, 0] : {tensor(40, 40)}
  %g = vx.contract %x, %t batch = [] x [] contracting = [1] x [0] : {tensor(3, 40)}, {tensor(40, 40)}
  %y = vx.sub %h, %g : {tensor(3, 40)}, {tensor(3, 40)}
"""
    return Weights({"w": whole(random, 40, 40)}, whole(random, 3, 40), (3, 40), predict, lambda x, w: x @ w - x @ w.T)


@case
def _perceptron():
    """Two layers: a product that uses weights of two moments differs from both."""
    random = np.random.default_rng(6)
    predict = f"""  %h = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : {tensor(4, 24)}, {tensor(24, 48)}
  %b = vx.broadcast %bias, [1] : {tensor(48)} -> {tensor(4, 48)}
  %i = vx.add %h, %b : {tensor(4, 48)}, {tensor(4, 48)}
  %zero = vx.constant dense<0.0> : {tensor(4, 48)}
  %r = vx.max %i, %zero : {tensor(4, 48)}, {tensor(4, 48)}
  %y = vx.contract %r, %v batch = [] x [] contracting = [1] x [0] : {tensor(4, 48)}, {tensor(48, 17)}
"""
    weights = {"w": whole(random, 24, 48, low=-2, high=2), "bias": whole(random, 48), "v": whole(random, 48, 17, low=-2, high=2)}
    return Weights(weights, whole(random, 4, 24, low=-3, high=3), (4, 17), predict, lambda x, w, bias, v: np.maximum(x @ w + bias, 0) @ v)


def kernels(report, target):
    """How often each kernel runs in a call of all functions, and whether some run apart from calls."""
    dispatches = {}
    apart = 0
    for kernel in report["kernels"]:
        if kernel["target"] == target:
            dispatches[kernel["key"], kernel["strategy"], kernel.get("taken_strategy", "")] = kernel["dispatches"]
    for program in report["programs"]:
        if program["target"] == target:
            apart += program["dispatches_at_load"] + program["dispatches_on_change"]
    return collections.Counter(dispatches), apart


def compare_reports(variable, constant, target):
    """What `predict` does with constants that it does not do with variables, or None."""
    (ours, apart), (wanted, wanted_apart) = kernels(variable, target), kernels(constant, target)
    missing = wanted - ours
    if missing:
        return f"kernels of constants that variables do not have as often: {dict(missing)}"
    if wanted_apart and not apart:
        return f"{wanted_apart} dispatches run at load with constants, none runs apart with variables"
    return None


class Script:
    """What run_calls is told, and what is to be found behind each call."""

    def __init__(self, runs, weights):
        self.runs, self.weights, self.lines, self.checks, self.files = runs, weights, [], [], 0
        self.now = dict(weights.weights)
        self.x = self.file(weights.x)

    def file(self, array=None):
        self.files += 1
        path = self.runs.file(f"{self.files}.bin")
        if array is not None:
            np.ascontiguousarray(array, np.float32).tofile(path)
        return path

    def value(self):
        return self.weights.value(self.weights.x, **self.now)

    def write(self, random):
        for name, array in self.now.items():
            self.now[name] = array + whole(random, *array.shape, low=-1, high=1)
            self.lines.append(f"write {name} {self.file(self.now[name])}")

    def changes(self, random):
        change = {name: whole(random, *array.shape, low=-1, high=1) for name, array in self.now.items()}
        return change, " ".join(self.file(array) for array in change.values())

    def step(self, random):
        change, files = self.changes(random)
        self.lines.append(f"call step {files}")
        self.checks.append(lambda answer: None if json.loads(answer)["derived"] == 0 else "step computes derived values")
        self.now = {name: array + change[name] for name, array in self.now.items()}

    def advance(self, random):
        """Who stores the weights reads them as they are behind that."""
        change, files = self.changes(random)
        self.now = {name: array + change[name] for name, array in self.now.items()}
        self.result(f"advance {files} {self.x}", False)

    def predict(self, is_first):
        self.result(f"predict {self.x}", is_first)

    def result(self, call, may_derive):
        path, want = self.file(), self.value()
        self.lines += [f"call {call}", f"results {path}"]

        def check(answer):
            got = np.fromfile(path, np.float32).reshape(want.shape)
            derived = json.loads(answer)["derived"]
            if not (got == want).all():
                return f"{(got != want).sum()} of {want.size} elements are wrong"
            if not may_derive and derived:
                return f"{derived} values are derived, though nothing has changed or they are stored"
            return None

        self.checks.append(check)

    def race(self, random, count):
        change, files = self.changes(random)
        path, want = self.file(), [self.value()]
        for _ in range(count):
            self.now = {name: array + change[name] for name, array in self.now.items()}
            want.append(self.value())
        self.lines.append(f"race {count} {path} step {files} , predict {self.x}")

        def check(answer):
            moment = 0
            for number, got in enumerate(np.fromfile(path, np.float32).reshape(count, *want[0].shape)):
                while moment <= count and not (got == want[moment]).all():
                    moment += 1
                if moment > count:
                    return f"result {number} is of no moment behind that of the one before"
            return None

        self.checks.append(check)


def run(weights, runs, module, device, threads):
    """The first difference, or None."""
    random, script = np.random.default_rng(7), Script(runs, weights)
    script.write(random)
    for change in (lambda: None, lambda: script.write(random), lambda: script.step(random), lambda: (script.step(random), script.step(random)),
                   lambda: script.advance(random), lambda: script.race(random, 40), lambda: script.write(random)):
        change()
        script.predict(True)
        script.predict(False)
    answers, failed = runs.answers(module, device, threads, script.lines)
    if failed:
        return failed
    if len(answers) != len(script.checks):
        return f"{len(answers)} answers, expected {len(script.checks)}"
    for number, (answer, check) in enumerate(zip(answers, script.checks)):
        verb, _, rest = answer.partition(" ")
        found = check(rest) if verb in ("done", "raced") else answer
        if found:
            return f"call {number}: {found}"
    return None


def main():
    with CallRuns() as runs:
        for name, make in CASES.items():
            if not runs.wants(name):
                continue
            weights, reports, refused = make(), {}, None
            for kind in ("constant", "variable"):
                source, module = (runs.file(f"{name}_{kind}.{suffix}") for suffix in ("mlir", "vxm"))
                with open(source, "w") as file:
                    file.write(weights.text(kind == "constant"))
                report, reason = runs.compile(source, module, "--report=json")
                refused = refused or reason
                reports[kind] = None if refused else json.loads(report)
            for device in runs.devices:
                for threads in (1, 4) if device == "cpu" else (1,):
                    found = refused or compare_reports(reports["variable"], reports["constant"], device) or run(weights, runs, module, device, threads)
                    runs.count(f"{name} on {device}, {threads} threads", found)
    return runs.end()


if __name__ == "__main__":
    sys.exit(main())
