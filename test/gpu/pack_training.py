"""The training steps of test/e2e/run_training.py and run_training_forms.py as scripts of calls (run_calls.cpp) that check themselves: compiled, and computed in f64
by the formulas there, here, and run where the GPU is."""
import concurrent.futures
import fnmatch
import os
import sys
import types

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import run_training as steps  # noqa: E402
import run_training_forms as forms  # noqa: E402
from run_training import BATCH, CLASSES, INPUTS, RATE, Net  # noqa: E402

STEPS = 3
# As far as `compare` of run_training.py lets numbers be apart.
SHARE = 2e-5


class Script:
    """Calls of one module in a folder of its own, with the files that they take and are compared with."""

    def __init__(self, bin, root, targets, name):
        self.folder, self.targets, self.lines, self.count = os.path.join(root, name), targets, [], 0
        os.makedirs(self.folder)
        self.runner = steps.Runner(types.SimpleNamespace(bin=bin, source="", variants=[]), self.folder)

    def compile(self, model, *flags):
        self.runner.compile(self.runner.path(model), self.targets, *flags)
        os.remove(self.runner.path(model))

    def file(self, array):
        name = f"f{self.count}"
        self.count += 1
        np.ascontiguousarray(array).tofile(self.runner.path(name))
        return name

    def add(self, *words):
        self.lines.append(" ".join(map(str, words)))

    def call(self, function, *arrays):
        self.add("call", function, *(self.file(array) for array in arrays))

    def near(self, what, want, scale, share=SHARE):
        """`what` is a variable, or * for the results of the last call. The file of what is wanted."""
        name = self.file(np.asarray(want, np.float32))
        self.add("near", what, name, share, float(scale))
        return name

    def same(self, what, array):
        self.add("same", what, self.file(array))

    def end(self, *variables):
        """Writes what two runs must have the same bits of."""
        for number, variable in enumerate(variables):
            self.add("read", variable, f"out{number}")
        with open(os.path.join(self.folder, "script"), "w") as file:
            file.write("\n".join(self.lines) + "\n")


def rounded(arrays):
    """As the device has them once they are written."""
    return {name: np.asarray(value, np.float32).astype(np.float64) for name, value in arrays.items()}


def floats(arrays):
    return [array.astype(np.float64) if array.dtype == np.float32 else array for array in arrays]


def pack_case(script, case):
    """Each step begins with what the one before was to leave."""
    net = Net(np.random.default_rng(sum(map(ord, case.name))), case.last)
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", "--dim", f"batch={BATCH}", *case.get_flags())
    random = np.random.default_rng(len(case.name))
    trained = [name for name in net.weights if not any(name.startswith(pattern.rstrip("*")) for pattern in case.freeze)]
    states = steps.STATES[case.optimizer](case.keys)
    w = rounded(net.weights)
    state = {name: {other: np.full(w[other].shape, case.keys.get("initial_accumulator_value", 0.0)) for other in trained} for name in states}
    named = {(None, name): name for name in trained} | {(kind, name): f"{case.optimizer}.{kind}/{name}" for kind in states for name in trained}
    left = {}
    for number in range(STEPS):
        for key, file in left.items():
            script.add("write", named[key], file)
        x, rate = random.standard_normal((BATCH, INPUTS)).astype(np.float32), np.float32(RATE / (1 + number))
        other = [case.data(random)] if case.data else []
        loss, metrics, gradients = net.run(w, x.astype(np.float64), lambda y: case.formula(y, *floats(other)))
        for function, more in (("evaluate", []), ("train_step", [rate])):
            script.call(function, x, *other, *more)
            script.near("*", [loss, *metrics], 1)
        part = {name: w[name] for name in trained}
        steps.OPTIMIZERS[case.optimizer](part, steps.clip({name: gradients[name] for name in trained}, case.norm, case.value), state, number + 1, float(rate), **case.keys)
        left = {(None, name): script.near(name, value, 0.3) for name, value in part.items()}
        for kind, values in state.items():
            left.update({(kind, name): script.near(named[kind, name], value, abs(value).max()) for name, value in values.items()})
            state[kind] = rounded(values)
        script.same("step", np.array([number + 1], np.int64))
        w.update(rounded(part))
    script.end(*named.values())


def pack_scaled(script, case, halves):
    """Steps in f16 under a scale of the loss, some of which are skipped; each begins with what the one before was to leave."""
    net = Net(np.random.default_rng(6))
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", "--keep-gradients", "--precision=f16", *case.get_flags())
    random, scale = np.random.default_rng(len(case.name)), steps.Scale()
    states = steps.STATES[case.optimizer](case.keys)
    named = {("parameter", name): name for name in net.weights} | {(kind, name): f"{case.optimizer}.{kind}/{name}" for kind in states for name in net.weights}
    w = rounded(net.weights)
    state = {name: {other: np.zeros_like(value) for other, value in w.items()} for name in states}
    left = {}
    for number in range(steps.SCALED_STEPS):
        x, other = steps.scaled_batch(case, random, number)
        for key, file in left.items():
            script.add("write", named[key], file)
        scale.write(steps.WRITES.get(number, {}))
        for name, written in steps.written_before(net, number).items():
            script.add("write", name, script.file(written))
            if name in w:
                w[name] = written.astype(np.float64)
        results, gradients = steps.scaled_gradients(case, net, w, x, other, scale.scale, halves)
        for k, (part, wanted) in enumerate(zip(steps.scaled_parts(halves), results)):
            script.call(*(("backward", x[part], other[part], np.uint8(k)) if halves else ("train_step", x, other, np.float32(RATE))))
            if np.isfinite(wanted).all():
                script.near("*", wanted, 1, steps.SCALED_RESULT_BOUND)
        is_good = all(np.isfinite(gradient).all() for gradient in gradients.values())
        if halves:
            for name, gradient in gradients.items() if is_good else ():
                script.near(f"grad/{name}", gradient, abs(gradient).max(), steps.SCALED_BOUND)
            script.call("update", np.float32(RATE))
        scale.step(is_good)
        if is_good:
            steps.OPTIMIZERS[case.optimizer](w, steps.clip(gradients, case.norm, case.value), state, scale.made, RATE, **case.keys)
        for name, value in scale.variables().items():
            script.same(name, steps.SCALE_TYPES[name](value))
        for key in named:
            kind, name = key
            value = w[name] if kind == "parameter" else state[kind][name]
            if is_good:
                left[key] = script.near(named[key], value, 0.3 if kind == "parameter" else abs(value).max(), steps.SCALED_BOUND)
            else:
                script.same(named[key], value.astype(np.float32))
        w = rounded(w)
        state = {kind: rounded(values) for kind, values in state.items()}
        if not is_good:
            left = {key: script.file((w[key[1]] if key[0] == "parameter" else state[key[0]][key[1]]).astype(np.float32)) for key in named}
    scale.check()
    script.end(*named.values(), *steps.SCALE_TYPES)


def pack_shadows(script, precision):
    """The weights that products read are the parameters rounded, whatever was written to these."""
    net = Net(np.random.default_rng(7))
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", f"--precision={precision}", "--keep-gradients", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw")
    x, label, weight, whole = steps.shadow_data()
    places, rate = steps.places_in_pool(net), np.float32(RATE)
    parameters = np.concatenate([np.pad(value.reshape(-1), (0, -value.size % 16)) for value in net.weights.values()])

    def look():
        script.same("parameters", parameters)
        script.same("shadow/parameters", steps.round_bits(parameters, precision))
        script.call("evaluate", x, label)
        script.near("*", steps.shadowed_results(net, parameters, precision, x, label), 1, steps.SCALED_RESULT_BOUND)

    look()
    for name, value in (("fc2.weight", weight.reshape(-1)[:CLASSES * steps.HIDDEN].reshape(CLASSES, steps.HIDDEN)), ("fc1.weight", weight)):
        script.call("train_step", x, label, rate)
        script.add("write", "parameters", script.file(parameters))
        script.add("write", name, script.file(value))
        parameters = parameters.copy()
        parameters[places[name]:places[name] + value.size] = value.reshape(-1)
        look()
    parameters = whole
    script.add("write", "parameters", script.file(parameters))
    look()
    # What a step has left is rounded anew.
    script.call("train_step", x, label, rate)
    script.end("parameters", "shadow/parameters")


def pack_refused(script, precision="f32"):
    """Labels that are no class, between steps that are done."""
    net = Net(np.random.default_rng(2))
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", "--dim", f"batch={BATCH}", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw", f"--precision={precision}")
    random = np.random.default_rng(1)
    x, label, rate = random.standard_normal((BATCH, INPUTS)).astype(np.float32), steps.labels(random), np.float32(RATE)
    variables = ("parameters", "adamw.m", "adamw.v", "step", *(("loss_scale", "loss_scale.good", "loss_scale.skipped") if precision == "f16" else ()))
    script.call("train_step", x, label, rate)
    for variable in variables:
        script.add("read", variable, f"kept.{variable}")
    for bad in (CLASSES, -1, CLASSES + 7):
        label[4] = bad
        message = script.file(np.frombuffer(f"loss (cross_entropy): index at [4] is {bad}, allowed is [0, {CLASSES})".encode(), np.uint8))
        script.add("refused", message, "train_step", script.file(x), script.file(label), script.file(rate))
        for variable in variables:
            script.add("same", variable, f"kept.{variable}")
    label[4] = 0
    script.call("train_step", x, label, rate)
    script.same("step", np.array([2], np.int64))
    script.end(*variables)


def pack_halves(script, case):
    """The gradients of one batch, and of the same rows in batches of several sizes, one of them without a row that counts; then an update by them."""
    net = Net(np.random.default_rng(4))
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", "--keep-gradients", *case.get_flags())
    random = np.random.default_rng(len(case.name))
    x, label, rate = random.standard_normal((BATCH, INPUTS)).astype(np.float32), case.data(random), np.float32(RATE)
    w = rounded(net.weights)
    gradients = net.run(w, x.astype(np.float64), lambda y: case.formula(y, label))[2]
    laid = np.concatenate([np.pad(gradients[name].reshape(-1), (0, -gradients[name].size % 16)) for name in net.weights])
    script.call("backward", x, label, np.uint8(0))
    script.near("grad", laid, abs(laid).max())
    for number, part in enumerate((slice(0, 4), slice(4, 5), slice(5, 8), slice(8, BATCH))):
        script.call("backward", x[part], label[part], np.uint8(number > 0))
    script.near("grad", laid, abs(laid).max())
    script.same("grad.rows", np.array([(label != -100).sum()], np.float32))
    script.call("update", rate)
    moments = {name: {other: np.zeros_like(value) for other, value in w.items()} for name in steps.STATES[case.optimizer](case.keys)}
    steps.OPTIMIZERS[case.optimizer](w, steps.clip(gradients, case.norm, case.value), moments, 1, float(rate), **case.keys)
    for name, value in w.items():
        script.near(name, value, 0.3)
    script.end("grad", "parameters")


def pack_masks(script):
    """Which elements dropouts keep, and their gradients, bit by bit."""
    forms.write_masks(script.runner.path("masks.mlir"))
    script.compile("masks.mlir")
    xs = [np.random.default_rng(at).standard_normal(shape).astype(np.float32) for at, (_, _, shape) in enumerate(forms.DROPOUTS)]
    given = [script.file(x) for x in xs]
    for key in forms.SEEDS[:3]:
        script.add("call", "main", script.file(np.int64(key)), *given)
        script.same("*", np.frombuffer(b"".join(part.tobytes() for part in forms.wanted_masks(key, [x.reshape(-1) for x in xs])), np.uint8))
    script.end()


def pack_form(script, net, flags, drops, of_batch):
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", "--dim", f"batch={BATCH}", "--train=auto", "--loss=mse", "--optimizer=sgd", *flags)
    random = np.random.default_rng(3)
    w, statistics, left = rounded(net.weights), rounded(net.statistics), {}
    for number in range(STEPS):
        for name, file in left.items():
            script.add("write", name, file)
        x, target = random.standard_normal((BATCH, INPUTS)).astype(np.float32), steps.numbers(random)
        masks = forms.step_masks(net, forms.SEEDS[number]) if drops else None
        loss, gradients, statistics = net.run(w, statistics, x.astype(np.float64), target.astype(np.float64), masks, of_batch)
        script.call("train_step", x, target, np.float32(RATE), *([np.int64(forms.SEEDS[number])] if drops else []))
        script.near("*", [loss], 1)
        w = {name: w[name] - RATE * gradients[name] for name in w}
        left = {name: script.near(name, value, 0.3) for name, value in {**w, **(statistics if of_batch else {})}.items()}
        w, statistics = rounded(w), rounded(statistics)
        for name, file in left.items():
            script.add("write", name, file)
        script.call("evaluate", x, target)
        script.near("*", [net.run(w, statistics, x.astype(np.float64), target.astype(np.float64))[0]], 1)
    script.end(*left)


def pack_unchanged(script):
    """A step of no rows, and one with a label that is no class, leave parameters and statistics as they are."""
    net = forms.Net((0.2, 0.5), True)
    net.save(script.runner.path("net.onnx"))
    script.compile("net.onnx", "--train=auto", "--loss=cross_entropy", "--optimizer=sgd", "--batch-norm=train")
    for rows in (0, BATCH):
        label = np.arange(rows) % CLASSES + (np.arange(rows) == rows - 1) * CLASSES
        inputs = [script.file(array) for array in (np.ones((rows, INPUTS), np.float32), label, np.float32(RATE), np.int64(1))]
        script.add(*(["refused", script.file(np.frombuffer(b"loss (cross_entropy): index at", np.uint8))] if rows else ["call"]), "train_step", *inputs)
        for name, value in {**net.weights, **net.statistics}.items():
            script.same(name, value)
    script.end()


def pack_training(bin, out, targets, pattern, jobs=2):
    """Folders of `out`/training: a module, a script and its files."""
    works = {case.name: lambda script, case=case: pack_case(script, case) for case in steps.CASES}
    works |= {"refused": pack_refused, "masks": pack_masks, "unchanged": pack_unchanged}
    works |= {case.name: lambda script, case=case: pack_halves(script, case) for case in steps.HALVES}
    works |= {case.name: lambda script, case=case: pack_scaled(script, case, False) for case in steps.SCALED}
    works |= {f"{case.name}_parts": lambda script, case=case: pack_scaled(script, case, True) for case in steps.SCALED}
    works |= {"refused_f16": lambda script: pack_refused(script, "f16"), "shadows_f16": lambda script: pack_shadows(script, "f16"),
              "shadows_bf16": lambda script: pack_shadows(script, "bf16")}
    works |= {name: lambda script, form=form: pack_form(script, *form) for name, *form in forms.CASES}
    names = [name for name in works if any(fnmatch.fnmatch(name, one) for one in pattern.split(","))]
    if not names:
        raise SystemExit(f"pack_checks.py: error: --training: expected patterns of {', '.join(works)}, got '{pattern}'")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: works[name](Script(bin, os.path.join(out, "training"), targets, name)), names))
    print(f"training: {len(names)} checks", flush=True)
