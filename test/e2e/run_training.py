#!/usr/bin/env python3
"""Training steps of small networks against the formulas in NumPy, in f64: losses, metrics and all variables after each step.

  run_training.py --bin BUILD/bin --source REPOSITORY [--device cpu,vulkan] [--variants rocm=gfx1100] [--filter TEXT] [--gpu-every N]

Each step begins with what the one before left on the device, so that rounding does not add up. Bits are equal with one thread and with several, and on GPUs the second time.
A step with a label that is no class changes no variable. AMD GPUs, which are emulated, take few steps of the digits, beside the CPU. Exit code: 0 all as wanted, 1 not.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

from cpu_variants import variant_flags
from run_models import np, onnx, required_devices

helper = onnx.helper
BATCH, INPUTS, HIDDEN, CLASSES = 9, 5, 7, 3
RATE = 0.05
DIGITS_RATE, DIGITS_STEPS = 5e-3, 3


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def one_hot(label):
    return (np.arange(CLASSES) == label[:, None]).astype(np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Losses: (loss, its gradient by the output, metrics) of the output and what it is compared with.

def cross_entropy(x, label, smoothing=0.0, ignored=None):
    kept = np.ones(len(label), bool) if ignored is None else label != ignored
    target = one_hot(np.where(kept, label, 0)) * (1 - smoothing) + smoothing / CLASSES
    count = max(kept.sum(), 1)
    logs = log_softmax(x)
    loss = (-(target * logs).sum(-1) * kept).sum() / count
    counted = [] if ignored is None else [kept.sum()]
    return loss, (np.exp(logs) - target) * kept[:, None] / count, [((x.argmax(-1) == label) & kept).sum() / count, *counted]


def soft_cross_entropy(x, target, smoothing=0.0):
    target_, logs = target * (1 - smoothing) + smoothing / CLASSES, log_softmax(x)
    return -(target_ * logs).sum() / len(x), (np.exp(logs) * target_.sum(-1, keepdims=True) - target_) / len(x), [(x.argmax(-1) == target.argmax(-1)).mean()]


def nll(x, label):
    return -(one_hot(label) * x).sum() / len(x), -one_hot(label) / len(x), [(x.argmax(-1) == label).mean()]


def mse(x, target):
    return ((x - target) ** 2).mean(), 2 * (x - target) / x.size, []


def l1(x, target):
    return abs(x - target).mean(), np.sign(x - target) / x.size, []


def huber(x, target, delta=1.0):
    d = x - target
    near = abs(d) < delta
    return np.where(near, d * d / 2, delta * (abs(d) - delta / 2)).mean(), np.where(near, d, delta * np.sign(d)) / x.size, []


def bce(x, target):
    with np.errstate(divide="ignore"):
        loss = -(target * np.maximum(np.log(x), -100) + (1 - target) * np.maximum(np.log(1 - x), -100)).mean()
    return loss, (x - target) / np.maximum((1 - x) * x, 1e-12) / x.size, []


def bce_logits(x, target):
    return (np.maximum(x, 0) - x * target + np.log1p(np.exp(-abs(x)))).mean(), (sigmoid(x) - target) / x.size, []


def kl(x, target):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(target > 0, target * (np.log(target) - x), 0).sum() / len(x), -np.where(target > 0, target, 0) / len(x), []


def none(x):
    return x.mean(), np.full(x.shape, 1 / x.size), []


# Optimizers: each changes `w` and `state`, dictionaries of arrays; `g` are the gradients and `t` counts steps from 1.

def of(name, factor_or_decay, groups, usual):
    """A parameter's factor of the rate (0) or decay (1): that of its group, if it has one."""
    found = [group[factor_or_decay] for pattern, group in groups.items() if fnmatch.fnmatchcase(name, pattern) and group[factor_or_decay] is not None]
    return found[0] if found else usual


def grouped(optimizer):
    """The optimizer with a rate and a decay of their own for groups, {pattern: (factor, decay)}: as many optimizers, of which each has its own keys, as in torch."""
    def step(w, g, state, t, lr, groups=None, **keys):
        if not groups:
            return optimizer(w, g, state, t, lr, **keys)
        usual = keys.pop("weight_decay", 0.01 if optimizer.__name__ == "adamw" else 0.0)
        for name in list(w):
            part = {name: w[name]}
            optimizer(part, {name: g[name]}, state, t, lr * of(name, 0, groups, 1), weight_decay=of(name, 1, groups, usual), **keys)
            w.update(part)
    return step


def sgd(w, g, state, t, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    for name in w:
        d = g[name] + weight_decay * w[name]
        if momentum:
            old = state["momentum"][name]
            state["momentum"][name] = d if t == 1 else momentum * old + (1 - dampening) * d
            d = d + momentum * state["momentum"][name] if nesterov else state["momentum"][name]
        w[name] = w[name] - lr * d


def adam(w, g, state, t, lr, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0, decoupled=False):
    for name in w:
        d = g[name]
        if decoupled:
            w[name] = w[name] * (1 - lr * weight_decay)
        else:
            d = d + weight_decay * w[name]
        m = state["m"][name] = beta1 * state["m"][name] + (1 - beta1) * d
        v = state["v"][name] = beta2 * state["v"][name] + (1 - beta2) * d * d
        w[name] = w[name] - lr / (1 - beta1 ** t) * m / (np.sqrt(v) / np.sqrt(1 - beta2 ** t) + eps)


def adamw(w, g, state, t, lr, weight_decay=0.01, **keys):
    adam(w, g, state, t, lr, weight_decay=weight_decay, decoupled=True, **keys)


def rmsprop(w, g, state, t, lr, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    for name in w:
        d = g[name] + weight_decay * w[name]
        v = state["square"][name] = alpha * state["square"][name] + (1 - alpha) * d * d
        if centered:
            mean = state["mean"][name] = alpha * state["mean"][name] + (1 - alpha) * d
            v = v - mean * mean
        change = d / (np.sqrt(v) + eps)
        if momentum:
            change = state["momentum"][name] = momentum * state["momentum"][name] + change
        w[name] = w[name] - lr * change


def lion(w, g, state, t, lr, beta1=0.9, beta2=0.99, weight_decay=0.0):
    for name in w:
        m = state["m"][name]
        w[name] = w[name] * (1 - lr * weight_decay) - lr * np.sign(beta1 * m + (1 - beta1) * g[name])
        state["m"][name] = beta2 * m + (1 - beta2) * g[name]


def adagrad(w, g, state, t, lr, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    for name in w:
        d = g[name] + weight_decay * w[name]
        s = state["sum"][name] = state["sum"][name] + d * d
        w[name] = w[name] - lr / (1 + (t - 1) * lr_decay) * d / (np.sqrt(s) + eps)


STATES = {"sgd": lambda keys: ["momentum"] if keys.get("momentum") else [], "adam": lambda keys: ["m", "v"], "adamw": lambda keys: ["m", "v"], "lion": lambda keys: ["m"],
          "adagrad": lambda keys: ["sum"], "rmsprop": lambda keys: ["square"] + ["mean"] * bool(keys.get("centered")) + ["momentum"] * bool(keys.get("momentum"))}
OPTIMIZERS = {function.__name__: grouped(function) for function in (sgd, adam, adamw, rmsprop, lion, adagrad)}


def clip(gradients, norm, value):
    if norm:
        whole = np.sqrt(sum((g * g).sum() for g in gradients.values()))
        gradients = {name: g * min(norm / (whole + 1e-6), 1) for name, g in gradients.items()}
    return {name: np.clip(g, -value, value) for name, g in gradients.items()} if value else gradients


def to_f16(x):
    return x.astype(np.float32).astype(np.float16).astype(np.float64)


class Net:
    """x -> tanh(x w1' + b1) w2' + b2, and what `last` makes of it: nothing, log_softmax, softmax or sigmoid."""

    def __init__(self, random, last=None):
        self.last = last
        self.weights = {name: (random.standard_normal(shape) * 0.5).astype(np.float32)
                        for name, shape in (("fc1.weight", (HIDDEN, INPUTS)), ("fc1.bias", (HIDDEN,)), ("fc2.weight", (CLASSES, HIDDEN)), ("fc2.bias", (CLASSES,)))}

    def save(self, path):
        nodes = [helper.make_node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["h"], "fc1", transB=1), helper.make_node("Tanh", ["h"], ["t"], "tanh"),
                 helper.make_node("Gemm", ["t", "fc2.weight", "fc2.bias"], ["y" if not self.last else "z"], "fc2", transB=1)]
        if self.last:
            nodes.append(helper.make_node({"log_softmax": "LogSoftmax", "softmax": "Softmax", "sigmoid": "Sigmoid"}[self.last], ["z"], ["y"], "last"))
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", 1, ["batch", INPUTS])], [helper.make_tensor_value_info("y", 1, ["batch", CLASSES])],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in self.weights.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def forward(self, w, x):
        t = np.tanh(x @ w["fc1.weight"].T + w["fc1.bias"])
        return t, t @ w["fc2.weight"].T + w["fc2.bias"]

    def run_f16(self, w, x, loss, scale):
        """The same where the factors of products are rounded to f16, gradients those of `scale` times the loss, divided by it: what does not fit is no number."""
        with np.errstate(all="ignore"):
            low = {name: to_f16(value) for name, value in w.items() if name.endswith("weight")}
            t = np.tanh(to_f16(x) @ low["fc1.weight"].T + w["fc1.bias"])
            value, d, metrics = loss(to_f16(t) @ low["fc2.weight"].T + w["fc2.bias"])
            d = d * scale
            dt = to_f16(d) @ low["fc2.weight"] * (1 - t * t)
            gradients = {"fc1.weight": to_f16(dt).T @ to_f16(x), "fc1.bias": dt.sum(0), "fc2.weight": to_f16(d).T @ to_f16(t), "fc2.bias": d.sum(0)}
            return value, metrics, {name: gradient / scale for name, gradient in gradients.items()}

    def run(self, w, x, loss):
        """The loss, the metrics, and the gradients."""
        t, z = self.forward(w, x)
        # A softmax in front of cross entropy is taken for what it is made of.
        y = {"log_softmax": log_softmax, "sigmoid": sigmoid}.get(self.last, lambda z: z)(z)
        value, d, metrics = loss(y)
        if self.last == "log_softmax":
            d = d - np.exp(y) * d.sum(-1, keepdims=True)
        if self.last == "sigmoid":
            d = d * y * (1 - y)
        dt = d @ w["fc2.weight"] * (1 - t * t)
        return value, metrics, {"fc1.weight": dt.T @ x, "fc1.bias": dt.sum(0), "fc2.weight": d.T @ t, "fc2.bias": d.sum(0)}


class Case:
    """`loss` and `optimizer` as vx-compile takes them, and the same as functions; `data` draws what the output is compared with."""

    def __init__(self, name, loss, formula, data, optimizer="sgd", keys=None, norm=0.0, value=0.0, last=None, freeze=()):
        self.name, self.loss, self.formula, self.data, self.optimizer, self.keys = name, loss, formula, data, optimizer, keys or {}
        self.norm, self.value, self.last, self.freeze = norm, value, last, freeze

    def get_flags(self):
        keys = ",".join(f"{key}={json.dumps(value)}" for key, value in self.keys.items() if key != "groups")
        groups = [f"--param-group={pattern}:" + ",".join([f"lr={factor}x"] * (factor is not None) + [f"weight_decay={decay}"] * (decay is not None))
                  for pattern, (factor, decay) in self.keys.get("groups", {}).items()]
        flags = ["--train=auto", f"--loss={self.loss}", f"--optimizer={self.optimizer}{':' + keys if keys else ''}", *groups]
        return flags + [f"--clip-norm={self.norm}"] * bool(self.norm) + [f"--clip-value={self.value}"] * bool(self.value) + [f"--freeze={','.join(self.freeze)}"] * bool(self.freeze)


def labels(random):
    return random.integers(0, CLASSES, BATCH)


def some_ignored(random):
    label = labels(random)
    label[::4] = -100
    return label


def distribution(random):
    weights = random.random((BATCH, CLASSES))
    weights[0] = [0, 0.25, 0.75]
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def numbers(random):
    return random.standard_normal((BATCH, CLASSES)).astype(np.float32)


def bits(random):
    return random.integers(0, 2, (BATCH, CLASSES)).astype(np.float32)


CASES = [
    Case("cross_entropy", "cross_entropy", cross_entropy, labels),
    Case("cross_entropy_smoothed", "cross_entropy:y,smoothing=0.2", lambda x, label: cross_entropy(x, label, 0.2), labels),
    Case("cross_entropy_ignored", "cross_entropy:ignore_index=-100,smoothing=0.1", lambda x, label: cross_entropy(x, label, 0.1, -100), some_ignored),
    Case("cross_entropy_all_ignored", "cross_entropy:ignore_index=-100", lambda x, label: cross_entropy(x, label, 0, -100), lambda random: np.full(BATCH, -100)),
    Case("cross_entropy_soft", "cross_entropy:soft=true", soft_cross_entropy, distribution),
    Case("cross_entropy_soft_smoothed", "cross_entropy:soft=true,smoothing=0.3", lambda x, target: soft_cross_entropy(x, target, 0.3), distribution),
    Case("cross_entropy_of_softmax", "cross_entropy", cross_entropy, labels, last="softmax"),
    Case("nll", "nll", nll, labels, last="log_softmax"),
    Case("mse", "mse:y", mse, numbers),
    Case("l1", "l1", l1, numbers),
    Case("huber", "huber", huber, numbers),
    Case("huber_half", "huber:delta=0.5", lambda x, target: huber(x, target, 0.5), numbers),
    Case("bce", "bce", bce, bits, last="sigmoid"),
    Case("bce_logits", "bce_logits", bce_logits, bits),
    Case("kl", "kl", kl, distribution, last="log_softmax"),
    Case("none", "none", none, None),
    Case("frozen", "mse", mse, numbers, "adamw", freeze=("fc1.*",)),
]
for optimizer, kinds in {
    "sgd": {"plain": {}, "momentum": {"momentum": 0.9}, "dampened": {"momentum": 0.8, "dampening": 0.3}, "nesterov": {"momentum": 0.9, "nesterov": True}},
    "adam": {"plain": {}, "betas": {"beta1": 0.7, "beta2": 0.95, "eps": 1e-3}},
    "adamw": {"plain": {}, "betas": {"beta1": 0.0, "beta2": 0.9, "eps": 1e-2}},
    "rmsprop": {"plain": {}, "centered": {"centered": True, "alpha": 0.9, "eps": 1e-2}, "momentum": {"momentum": 0.9, "centered": True, "alpha": 0.8, "eps": 1e-2}},
    "lion": {"plain": {}, "betas": {"beta1": 0.5, "beta2": 0.8}},
    "adagrad": {"plain": {}, "decayed_rate": {"lr_decay": 0.5, "initial_accumulator_value": 0.1}},
}.items():
    for kind, keys in kinds.items():
        CASES.append(Case(f"{optimizer}_{kind}", "cross_entropy", cross_entropy, labels, optimizer, keys))
    more = {"momentum": 0.9} if optimizer in ("sgd", "rmsprop") else {}
    CASES.append(Case(f"{optimizer}_decay", "mse", mse, numbers, optimizer, {"weight_decay": 0.3, **more}))
    CASES.append(Case(f"{optimizer}_groups", "mse", mse, numbers, optimizer, {"weight_decay": 0.3, "groups": {"*.bias": (None, 0), "fc1.weight": (0.1, None), "fc2.w*": (2, 0.05)}, **more}))
    CASES.append(Case(f"{optimizer}_clip_norm", "mse", mse, numbers, optimizer, more, norm=0.1))
    CASES.append(Case(f"{optimizer}_clip_both", "mse", mse, numbers, optimizer, more, norm=0.5, value=0.05))
# eps: Adam's first step hangs on the signs of gradients alone else.
HALVES = [Case("halves_groups", "cross_entropy", cross_entropy, labels, "adamw", {"eps": 0.1, "groups": {"fc1.*": (0.5, 0), "fc2.bias": (3, None)}}),
          Case("halves", "cross_entropy", cross_entropy, labels, "adamw", {"eps": 0.1}, norm=0.5),
          Case("halves_ignored", "cross_entropy:ignore_index=-100", lambda x, label: cross_entropy(x, label, 0, -100), some_ignored, "adam", {"eps": 0.1})]
# With --precision=f16; the last one's targets are so large that gradients overflow.
SCALED = [Case("scaled_adamw", "cross_entropy:ignore_index=-100", lambda x, label: cross_entropy(x, label, 0, -100), some_ignored, "adamw", {"eps": 0.1}, norm=0.2),
          Case("scaled_rmsprop", "cross_entropy", cross_entropy, labels, "rmsprop", {"momentum": 0.9, "centered": True, "eps": 0.1}, norm=0.2, value=0.05),
          Case("scaled_groups", "mse", mse, numbers, "sgd", {"momentum": 0.9, "weight_decay": 0.2, "groups": {"fc1.*": (0.5, 0), "fc2.bias": (3, None)}}),
          Case("scaled_sgd", "mse", mse, numbers, "sgd", {"momentum": 0.9, "dampening": 0.5}),
          Case("scaled_huge", "mse", mse, lambda random: numbers(random) * np.float32(1000), "adagrad", {"eps": 0.1})]
CASES.append(Case("sgd_clip_not_reached", "mse", mse, numbers, "sgd", norm=100.0, value=50.0))


class Runner:
    def __init__(self, options, folder):
        self.bin, self.source, self.folder, self.variants = options.bin, options.source, folder, options.variants

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, array):
        np.ascontiguousarray(array).tofile(self.path(name))
        return self.path(name)

    def compile(self, model, devices, *flags):
        """With kernels that modules before have: most are the same networks'."""
        module = self.path("module.vxm")
        done = subprocess.run([os.path.join(self.bin, "vx-compile"), model, f"--target={','.join(devices)}", *variant_flags(devices, self.variants), f"--cache={self.path('kernels')}",
                               "-o", module, *flags],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"vx-compile: {done.stderr.strip()}")
        return module

    def call(self, module, device, threads, script):
        """The answers to the calls."""
        done = subprocess.run([os.path.join(self.bin, "run_calls"), module, device, str(threads), "0"], input="\n".join(script) + "\n", capture_output=True, text=True,
                              env=dict(os.environ, VX_CHECK_SCHEDULE="1"))
        if done.returncode:
            raise RuntimeError(f"run_calls: {done.stderr.strip()}")
        return done.stdout.strip().split("\n")


def compare(where, want, got, scale, bound=2e-5):
    """By what rounding of f32 does to sums of a few numbers; by `scale` where a number is made of larger ones."""
    want, got = np.asarray(want, np.float64), np.asarray(got, np.float64)
    if want.shape != got.shape:
        raise AssertionError(f"{where} is {got.shape}, expected {want.shape}")
    off = abs(want - got) - bound * np.maximum(abs(want), scale)
    if not (off <= 0).all():
        place = np.unravel_index((off <= 0).argmin(), off.shape)
        raise AssertionError(f"{where} at {[int(i) for i in place]} is {got[place]}, expected {want[place]}")


def run_case(runner, case, device, threads, module, net, steps=5):
    """The bits of all variables and results after each step."""
    random = np.random.default_rng(len(case.name))
    states = STATES[case.optimizer](case.keys)
    trained = [name for name in net.weights if not any(name.startswith(pattern.rstrip("*")) for pattern in case.freeze)]
    variables = {name: ("parameter", name) for name in trained}
    variables.update({f"{case.optimizer}.{state}/{name}": (state, name) for state in states for name in trained})
    script, data = [], []
    for number in range(steps):
        x = random.standard_normal((BATCH, INPUTS)).astype(np.float32)
        other = [case.data(random)] if case.data else []
        rate = np.float32(RATE / (1 + number))
        data.append((x, other, rate))
        inputs = [runner.put(f"{name}_{number}.bin", value) for name, value in zip("xt", [x, *other])]
        script.append(f"call evaluate {' '.join(inputs)} ")
        script.append(f"results {runner.path(f'evaluated_{number}.bin')}")
        script.append(f"call train_step {' '.join(inputs)} {runner.put(f'rate_{number}.bin', rate)}")
        script.append(f"results {runner.path(f'results_{number}.bin')}")
        for k, variable in enumerate([*variables, "step"]):
            script.append(f"read {variable} {runner.path(f'v{k}_{number}.bin')}")
    for answer in runner.call(module, device, threads, script):
        if not answer.startswith("done"):
            raise AssertionError(answer)
    seen = []
    w = {name: value.astype(np.float64) for name, value in net.weights.items()}
    initial = case.keys.get("initial_accumulator_value", 0.0)
    state = {name: {other: np.full(w[other].shape, initial) for other in trained} for name in states}
    for number, (x, other, rate) in enumerate(data):
        results = np.fromfile(runner.path(f"results_{number}.bin"), np.float32)
        loss, metrics, gradients = net.run(w, x.astype(np.float64), lambda y: case.formula(y, *[part.astype(np.float64) if part.dtype == np.float32 else part for part in other]))
        compare(f"step {number}: loss and metrics", [loss, *metrics], results, 1)
        if results.tobytes() != np.fromfile(runner.path(f"evaluated_{number}.bin"), np.float32).tobytes():
            compare(f"step {number}: evaluate", results, np.fromfile(runner.path(f"evaluated_{number}.bin"), np.float32), 1)
        part = {name: w[name] for name in trained}
        OPTIMIZERS[case.optimizer](part, clip({name: gradients[name] for name in trained}, case.norm, case.value), state, number + 1, float(rate), **case.keys)
        bits_of = [results.tobytes()]
        for k, (variable, (kind, name)) in enumerate(variables.items()):
            got = np.fromfile(runner.path(f"v{k}_{number}.bin"), np.float32).reshape(w[name].shape)
            want = part[name] if kind == "parameter" else state[kind][name]
            compare(f"step {number}: {variable}", want, got, 0.3 if kind == "parameter" else abs(want).max())
            bits_of.append(got.tobytes())
            if kind == "parameter":
                w[name] = got.astype(np.float64)
            else:
                state[kind][name] = got.astype(np.float64)
        count = np.fromfile(runner.path(f"v{len(variables)}_{number}.bin"), np.int64)
        if list(count) != [number + 1]:
            raise AssertionError(f"step {number}: @step is {count}")
        seen.append(b"".join(bits_of))
    return seen


def run_refused(runner, device, threads, module, net, variables):
    """A label that is no class: the step fails, says which, and leaves all as it was; the next one is as if it had not been."""
    random = np.random.default_rng(1)
    x, label, rate = random.standard_normal((BATCH, INPUTS)).astype(np.float32), labels(random), np.float32(RATE)
    good = f"{runner.put('x.bin', x)} {runner.put('good.bin', label)} {runner.put('rate.bin', rate)}"
    script, reads = [f"call train_step {good}"], []
    for number, bad in enumerate((CLASSES, -1, CLASSES + 7)):
        label[4] = bad
        script.append(f"call train_step {runner.path('x.bin')} {runner.put(f'bad{number}.bin', label)} {runner.path('rate.bin')}")
        reads.append([])
        for variable in variables:
            reads[-1].append(runner.path(f"{variable}_{number}.bin"))
            script.append(f"read {variable} {reads[-1][-1]}")
    script[1:1] = [f"read {variable} {runner.path(variable + '.bin')}" for variable in variables]
    script.append(f"call train_step {good}")
    answers = runner.call(module, device, threads, script)
    for number, bad in enumerate((CLASSES, -1, CLASSES + 7)):
        want = f"loss (cross_entropy): index at [4] is {bad}, allowed is [0, {CLASSES})"
        if not answers[1 + number].startswith("failed") or want not in answers[1 + number]:
            raise AssertionError(f"a label {bad}: expected {want!r}, got {answers[1 + number]!r}")
        for path, variable in zip(reads[number], variables):
            before, after = (open(name, "rb").read() for name in (runner.path(variable + ".bin"), path))
            if before != after:
                raise AssertionError(f"a label {bad}: @{variable} changed")
    if not answers[0].startswith("done") or not answers[-1].startswith("done"):
        raise AssertionError(f"a step with right labels: {answers[0]!r}, {answers[-1]!r}")


def run_halves(runner, case, device, threads, module, net):
    """Steps of several batches, the last one short and one without a row that counts, against one of all their rows; the two halves of one batch against train_step,
    bit by bit; numbers that are none, and labels that are no class."""
    random = np.random.default_rng(len(case.name))
    x, label, rate = random.standard_normal((BATCH, INPUTS)).astype(np.float32), case.data(random), np.float32(RATE)
    parts = [slice(0, 4), slice(4, 5), slice(5, 5 + 3), slice(8, BATCH)]
    strange, bad = x.copy(), label.copy()
    strange[2, 1], bad[6] = np.nan, CLASSES
    files = {name: runner.put(f"h_{name}.bin", value) for name, value in
             {"x": x, "label": label, "strange": strange, "rate": rate, "keep": np.uint8(1), "fresh": np.uint8(0)}.items()}
    for number, part in enumerate(parts):
        files.update({f"x{number}": runner.put(f"h_x{number}.bin", x[part]), f"label{number}": runner.put(f"h_label{number}.bin", label[part]),
                      f"bad{number}": runner.put(f"h_bad{number}.bin", bad[part])})
    state, script, reads = ["parameters", f"{case.optimizer}.m", f"{case.optimizer}.v", "step"], [], []

    def call(function, *names):
        script.append(f"call {function} {' '.join(files[name] for name in names)}")

    def read(*variables):
        for variable in variables:
            reads.append(runner.path(f"h_read{len(reads)}.bin"))
            script.append(f"read {variable} {reads[-1]}")

    # 0: as all begins.
    read(*state)
    # 4: a batch with a number that is none leaves nothing behind where its gradients are not kept.
    call("backward", "strange", "label", "fresh")
    read("grad")
    # 5: the halves of a step.
    call("backward", "x", "label", "fresh")
    read("grad")
    call("update", "rate")
    read(*state)
    # 10: the same step whole, from the same state.
    for name, path in zip(state, reads):
        script.append(f"write {name} {path}")
    call("train_step", "x", "label", "rate")
    read(*state)
    # 14: in parts; what a bad label would add is not there.
    for name, path in zip(state, reads):
        script.append(f"write {name} {path}")
    for number in range(len(parts)):
        call("backward", f"x{number}", f"label{number}", "keep" if number else "fresh")
        if number == 1:
            read("grad", "grad.rows")
            call("backward", "x2", "bad2", "keep")
            read("grad", "grad.rows", *state)
    read("grad", "grad.rows")
    call("update", "rate")
    read(*state, *net.weights)
    answers = runner.call(module, device, threads, script)
    failed = [answer for answer in answers if not answer.startswith("done")]
    if len(failed) != 1 or f"index at [1] is {CLASSES}, allowed is [0, {CLASSES})" not in failed[0]:
        raise AssertionError(f"expected one label that is no class, got {failed}")
    got = [open(path, "rb").read() for path in reads]
    for where, one, other in [("the halves of a step", got[6:10], got[10:14]), ("a batch that fails", got[14:16] + got[:4], got[16:22])]:
        if one != other:
            raise AssertionError(f"{where}: other bytes")
    if not np.isnan(np.frombuffer(got[4], np.float32)).any() or np.isnan(np.frombuffer(got[5], np.float32)).any():
        raise AssertionError("expected numbers that are none where the batch has one, and none behind the next batch")
    w = {name: value.astype(np.float64) for name, value in net.weights.items()}
    _, _, gradients = net.run(w, x.astype(np.float64), lambda y: case.formula(y, label))
    laid = np.concatenate([np.pad(gradients[name].reshape(-1), (0, -gradients[name].size % 16)) for name in net.weights])
    for place, name in ((5, "one batch"), (22, "several batches")):
        compare(f"gradients of {name}", laid, np.frombuffer(got[place], np.float32), abs(laid).max())
    rows = np.frombuffer(got[23], np.float32)
    if list(rows) != [(label != -100).sum()]:
        raise AssertionError(f"@grad.rows is {rows}, expected {(label != -100).sum()}")
    moments = {name: {other: np.zeros_like(value) for other, value in w.items()} for name in STATES[case.optimizer](case.keys)}
    OPTIMIZERS[case.optimizer](w, clip(gradients, case.norm, case.value), moments, 1, float(rate), **case.keys)
    for path, name in zip(reads[28:], net.weights):
        compare(f"{name} behind a step of several batches", w[name], np.fromfile(path, np.float32).reshape(w[name].shape), 0.3)
    return got


def round_bits(x, precision):
    """Of f32, to the nearest number of f16 or bf16, as bits."""
    if precision == "f16":
        with np.errstate(over="ignore"):
            return x.astype(np.float16).view(np.uint16)
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def shadow_data():
    """A batch, and numbers that are written to a weight and to all parameters: ties to even, denormal numbers, and 0 with a sign."""
    random = np.random.default_rng(8)
    x, label = random.standard_normal((BATCH, INPUTS)).astype(np.float32), labels(random)
    weight = random.standard_normal((HIDDEN, INPUTS)).astype(np.float32)
    weight.flat[:8] = [1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-15, 3 * 2.0**-25, -0.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -2.0**-24]
    return x, label, weight, random.standard_normal(112).astype(np.float32)


def places_in_pool(net):
    places, start = {}, 0
    for name, value in net.weights.items():
        places[name], start = start, start + -(-value.size // 16) * 16
    return places


def shadowed_results(net, parameters, precision, x, label):
    """The loss and the metrics where products read the parameters rounded."""
    round_ = to_f16 if precision == "f16" else lambda values: (round_bits(values.astype(np.float32), "bf16").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    w = {name: parameters[place:place + net.weights[name].size].reshape(net.weights[name].shape).astype(np.float64) for name, place in places_in_pool(net).items()}
    t = np.tanh(round_(x) @ round_(w["fc1.weight"]).T + w["fc1.bias"])
    loss, _, metrics = cross_entropy(round_(t) @ round_(w["fc2.weight"]).T + w["fc2.bias"], label)
    return [loss, *metrics]


def run_shadows(runner, precision, device, threads, module, net):
    """What products read is what the parameters are, rounded: when the instance is made, behind steps and behind what is written, in the whole pool and in a part of it."""
    x, label, weight, whole = shadow_data()
    rate = runner.put("w_rate.bin", np.float32(RATE))
    files = f"{runner.put('w_x.bin', x)} {runner.put('w_label.bin', label)}"
    script, reads, losses = [], [], []

    def look(where):
        number = len(reads)
        reads.append((where, runner.path(f"w_{number}.all"), runner.path(f"w_{number}.low"), runner.path(f"w_{number}.loss")))
        script.extend([f"read parameters {reads[-1][1]}", f"read shadow/parameters {reads[-1][2]}", f"call evaluate {files}", f"results {reads[-1][3]}"])

    look("at the begin")
    for number in range(2):
        script.append(f"call train_step {files} {rate}")
        look(f"behind step {number}")
    script.append(f"write fc2.weight {runner.put('w_fc2.bin', weight.reshape(-1)[:HIDDEN * CLASSES].reshape(CLASSES, HIDDEN))}")
    look("behind a write of fc2.weight")
    script.append(f"write fc1.weight {runner.put('w_fc1.bin', weight)}")
    look("behind a write of fc1.weight")
    script.append(f"call train_step {files} {rate}")
    look("behind a step behind it")
    script.append(f"call backward {files} {runner.put('w_keep.bin', np.uint8(0))}")
    script.append(f"call update {rate}")
    look("behind an update")
    script.append(f"write parameters {runner.put('w_whole.bin', whole)}")
    look("behind a write of all")
    for answer in runner.call(module, device, threads, script):
        if not answer.startswith("done"):
            raise AssertionError(answer)
    try:
        refused = runner.call(module, device, threads, [f"write shadow/fc1.weight {runner.put('w_low.bin', np.zeros(weight.shape, np.uint16))}"])
    except RuntimeError as error:
        refused = str(error)
    if "variable 'shadow/fc1.weight' is a shadow: it follows from a parameter, which is to be written in its place" not in refused:
        raise AssertionError(f"expected a refusal to write a shadow, got {refused}")
    for where, all_, low, loss in reads:
        parameters, shadow = np.fromfile(all_, np.float32), np.fromfile(low, np.uint16)
        if not np.array_equal(shadow, round_bits(parameters, precision)):
            place = (shadow != round_bits(parameters, precision)).argmax()
            raise AssertionError(f"{where}: shadow/parameters at {place} has the bits {shadow[place]:#x}, expected {round_bits(parameters, precision)[place]:#x} for {parameters[place]}")
        compare(f"{where}: the loss", shadowed_results(net, parameters, precision, x, label)[0], np.fromfile(loss, np.float32)[0], 1, SCALED_RESULT_BOUND)
    return [open(path, "rb").read() for _, *paths in reads for path in paths]


# What is written to the variables before a step, and what makes a batch of numbers that are none.
WRITES = {3: {"loss_scale": 2.0**24}, 4: {"loss_scale.good": 1998}, 6: {"loss_scale.good": 1999, "loss_scale": 0.5}, 7: {"loss_scale": 2.0**32}, 8: {"loss_scale": 1.0}, 9: {"loss_scale": np.nan},
          11: {"loss_scale.good": 1997, "fc1.weight": 0.7},
          13: {"loss_scale.good": 1999, "loss_scale": 2.0**32}}
STRANGE = {8: np.nan, 9: np.inf, 12: np.nan}


SCALED_STEPS = 16
# Of variables and gradients, and of the loss and metrics: near a tie of rounding to f16 a factor may be the next one.
SCALED_BOUND, SCALED_RESULT_BOUND = 4e-3, 2e-3
# The variables of the scale.
SCALE_TYPES = {"loss_scale": np.float32, "loss_scale.good": np.int64, "loss_scale.skipped": np.int64, "step": np.int64}


def scaled_batch(case, random, number):
    x, other = random.standard_normal((BATCH, INPUTS)).astype(np.float32), case.data(random)
    if number in STRANGE:
        x[BATCH - 2, 2] = STRANGE[number]
    # Gradients of 0 fit under the greatest scale.
    if number == 13 and "ignore_index" in case.loss:
        other[:] = -100
    return x, other


def written_before(net, number):
    """A weight is written times a number."""
    return {name: SCALE_TYPES[name](value) if name in SCALE_TYPES else net.weights[name] * np.float32(value) for name, value in WRITES.get(number, {}).items()}


def scaled_parts(halves):
    return [slice(0, 4), slice(4, BATCH)] if halves else [slice(0, BATCH)]


def scaled_gradients(case, net, w, x, other, scale, halves):
    """The loss and metrics of each part, and the gradients of all."""
    loss = lambda part: lambda y: case.formula(y, other[part].astype(np.float64) if other.dtype == np.float32 else other[part])
    if not halves:
        value, metrics, gradients = net.run_f16(w, x.astype(np.float64), loss(slice(0, BATCH)), scale)
        return [[value, *metrics]], gradients
    runs = [(net.run_f16(w, x[part].astype(np.float64), loss(part), scale), (other[part] != -100).sum() if other.dtype != np.float32 else len(x[part])) for part in scaled_parts(halves)]
    rows = [count for _, count in runs]
    with np.errstate(all="ignore"):
        gradients = {name: sum(run[2][name] * (count / max(sum(rows), 1)) for run, count in runs) for name in w}
    return [[run[0], *run[1]] for run, _ in runs], gradients


class Scale:
    """What the scale of the loss becomes."""

    def __init__(self):
        self.scale, self.good, self.skipped, self.made, self.kinds = 65536.0, 0, 0, 0, set()

    def write(self, values):
        self.scale, self.good = values.get("loss_scale", self.scale), values.get("loss_scale.good", self.good)

    def step(self, is_good):
        if is_good:
            self.made, self.good = self.made + 1, self.good + 1
            self.kinds.add("grows" if self.good >= 2000 else "good")
            if self.good >= 2000:
                self.scale, self.good = min(self.scale * 2, 2.0**32), 0
        else:
            self.kinds.add("skipped")
            half = min(self.scale / 2, 2.0**32)
            self.scale, self.good, self.skipped = half if half >= 1 else 1.0, 0, self.skipped + 1

    def variables(self):
        return {"loss_scale": self.scale, "loss_scale.good": self.good, "loss_scale.skipped": self.skipped, "step": self.made}

    def check(self):
        if self.kinds != {"good", "grows", "skipped"}:
            raise AssertionError(f"expected steps that are good, that are skipped, and that make the scale grow, got {sorted(self.kinds)}")


def run_scaled(runner, case, device, threads, module, net, halves):
    """Steps under a scale of the loss: each is that of the loss itself, and one whose gradients are not all finite changes the scale alone. With `halves` each batch is
    given in two parts, of which the second may be the one that overflows."""
    random = np.random.default_rng(len(case.name))
    state_names = STATES[case.optimizer](case.keys)
    # Those of the scale come first: they tell whether the others change.
    types = SCALE_TYPES
    variables = {name: ("parameter", name) for name in net.weights}
    variables.update({f"{case.optimizer}.{state}/{name}": (state, name) for state in state_names for name in net.weights})
    script, data, paths = [], [], {}
    for number in range(SCALED_STEPS):
        x, other = scaled_batch(case, random, number)
        data.append((x, other))
        for name, written in written_before(net, number).items():
            script.append(f"write {name} {runner.put(f's_{name}_{number}.bin', written)}")
        rate = runner.put("s_rate.bin", np.float32(RATE))
        for k, part in enumerate(scaled_parts(halves)):
            inputs = [runner.put(f"s_{name}_{number}_{k}.bin", value[part]) for name, value in (("x", x), ("t", other))]
            if halves:
                script.append(f"call backward {' '.join(inputs)} {runner.put(f's_keep{k}.bin', np.uint8(k))}")
            else:
                script.append(f"call train_step {' '.join(inputs)} {rate}")
            script.append(f"results {runner.path(f's_results_{number}_{k}.bin')}")
        if halves:
            for name in net.weights:
                script.append(f"read grad/{name} {runner.path(f's_grad_{name}_{number}.bin')}")
            script.append(f"call update {rate}")
        for k, name in enumerate([*types, *variables]):
            paths[name, number] = runner.path(f"s_{k}_{number}.out")
            script.append(f"read {name} {paths[name, number]}")
    for answer in runner.call(module, device, threads, script):
        if not answer.startswith("done"):
            raise AssertionError(answer)
    w = {name: value.astype(np.float64) for name, value in net.weights.items()}
    state = {name: {other: np.zeros_like(value) for other, value in w.items()} for name in state_names}
    last, seen, scale = {name: None for name in variables}, [], Scale()
    for number, (x, other) in enumerate(data):
        where = f"step {number}"
        scale.write(WRITES.get(number, {}))
        for name, written in written_before(net, number).items():
            if name in w:
                w[name], last[name] = written.astype(np.float64), None
        results, gradients = scaled_gradients(case, net, w, x, other, scale.scale, halves)
        # Metrics are those of the loss, not of the scale.
        for k, wanted in enumerate(results):
            got = np.fromfile(runner.path(f"s_results_{number}_{k}.bin"), np.float32)
            if np.isfinite(wanted).all():
                compare(f"{where}: loss and metrics", wanted, got, 1, SCALED_RESULT_BOUND)
            elif np.isfinite(got[0]):
                raise AssertionError(f"{where}: the loss is {got[0]}, expected {wanted[0]}")
        is_good = all(np.isfinite(gradient).all() for gradient in gradients.values())
        if halves and is_good:
            for name, gradient in gradients.items():
                compare(f"{where}: grad/{name}", gradient, np.fromfile(runner.path(f"s_grad_{name}_{number}.bin"), np.float32).reshape(gradient.shape), abs(gradient).max(), SCALED_BOUND)
        scale.step(is_good)
        if is_good:
            OPTIMIZERS[case.optimizer](w, clip(gradients, case.norm, case.value), state, scale.made, RATE, **case.keys)
        want = scale.variables()
        for name, kind in types.items():
            if (got := np.fromfile(paths[name, number], kind)[0]) != want[name]:
                raise AssertionError(f"{where}: @{name} is {got}, expected {want[name]}")
        for name, (kind, of) in variables.items():
            bytes_ = open(paths[name, number], "rb").read()
            got, wanted = np.frombuffer(bytes_, np.float32).reshape(w[of].shape), w[of] if kind == "parameter" else state[kind][of]
            if is_good:
                compare(f"{where}: {name}", wanted, got, 0.3 if kind == "parameter" else abs(wanted).max(), SCALED_BOUND)
            elif last[name] is not None and bytes_ != last[name]:
                raise AssertionError(f"{where}: its gradients are not finite, but @{name} has changed")
            last[name] = bytes_
            (w if kind == "parameter" else state[kind])[of] = got.astype(np.float64)
        seen += [open(paths[name, number], "rb").read() for name in (*types, *variables)]
    scale.check()
    return seen


def digits_steps(runner, device, threads, module, steps):
    """Steps on one batch of the digits that the repository has, from random weights: loss and accuracy of each, and the bytes of the parameters."""
    folder = os.path.join(runner.source, "examples", "digits")
    images = np.fromfile(os.path.join(folder, "images.f32"), np.float32).reshape(-1, 1, 8, 8)[:BATCH * 4]
    label = np.fromfile(os.path.join(folder, "labels.u8"), np.uint8)[:BATCH * 4].astype(np.int64)
    random, script = np.random.default_rng(3), []
    for name, shape in (("0.0.weight", (16, 1, 3, 3)), ("1.0.weight", (32, 16, 3, 3)), ("3.0.weight", (64, 32, 3, 3)), ("7.weight", (10, 64))):
        script.append(f"write {name} {runner.put(name + '.bin', (random.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5).astype(np.float32))}")
    for name, size in (("0.0.weight_bias", 16), ("1.0.weight_bias", 32), ("3.0.weight_bias", 64), ("7.bias", 10)):
        script.append(f"write {name} {runner.put(name + '.bin', np.zeros(size, np.float32))}")
    inputs = f"{runner.put('images.bin', images)} {runner.put('labels.bin', label)} {runner.put('rate.bin', np.float32(DIGITS_RATE))}"
    for number in range(steps):
        script += [f"call train_step {inputs}", f"results {runner.path(f'digits_{number}.bin')}"]
    script.append(f"read parameters {runner.path('digits.bin')}")
    for answer in runner.call(module, device, threads, script):
        if not answer.startswith("done"):
            raise AssertionError(answer)
    with open(runner.path("digits.bin"), "rb") as file:
        return np.array([np.fromfile(runner.path(f"digits_{number}.bin"), np.float32) for number in range(steps)]), file.read()


def run_digits(runner, device, threads, module):
    """The loss falls, and all is learnt."""
    results, parameters = digits_steps(runner, device, threads, module, 30)
    losses, accuracy = results[:, 0], results[:, 1]
    if not (losses[0] > 2 and losses[-1] < 0.2 and accuracy[-1] == 1 and (losses[5::5] < losses[:-5:5]).all()):
        raise AssertionError(f"the loss goes {[round(float(loss), 3) for loss in losses]}, the accuracy ends at {accuracy[-1]}")
    return [results.tobytes(), parameters]


def run_digits_beside(runner, device, module):
    """A device that takes long for a step takes a few, beside the CPU."""
    got, parameters = digits_steps(runner, device, 1, module, DIGITS_STEPS)
    want, others = digits_steps(runner, "cpu", 1, module, DIGITS_STEPS)
    # Adam's first steps hang on the signs of gradients that may be next to nothing, so single parameters may be apart by a step or two.
    apart = np.frombuffer(parameters, np.float32) - np.frombuffer(others, np.float32)
    if not (abs(got[:, 0] - want[:, 0]) <= 1e-5 * want[:, 0]).all() or (got[:, 1] != want[:, 1]).any() or not np.sqrt(np.mean(apart ** 2)) <= 0.02 * DIGITS_RATE:
        raise AssertionError(f"loss and accuracy go {got.tolist()}, expected {want.tolist()}; parameters are {np.sqrt(np.mean(apart ** 2))} apart")
    if not want[-1, 0] < want[0, 0]:
        raise AssertionError(f"the loss goes {want[:, 0].tolist()}")
    return [got.tobytes(), parameters]


def get_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--variants", action="append", default=[])
    parser.add_argument("--filter", default="")
    parser.add_argument("--gpu-every", type=int, default=1, help="every N-th of the losses and optimizers on GPUs, all of them on the CPU")
    return parser.parse_args()


def main():
    options = get_options()
    devices = required_devices(options.bin, options.device)
    passed = failed = 0

    def attempt(name, device, check, threads_of_cpu=(1, 2, 4)):
        nonlocal passed, failed
        try:
            first = None
            for threads in threads_of_cpu if device == "cpu" else (1, 1):
                seen = check(threads)
                first = first or seen
                if seen != first:
                    raise AssertionError(f"other bits with {threads} threads")
            passed += 1
        except (AssertionError, RuntimeError) as error:
            failed += 1
            print(f"FAILED {name} on {device}: {error}")

    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        for number, case in enumerate(CASES):
            if options.filter not in case.name:
                continue
            # A case on a GPU is a module of its own, with kernels that others have too.
            on = [device for device in devices if device == "cpu" or number % options.gpu_every == 0]
            if not on:
                continue
            net = Net(np.random.default_rng(sum(map(ord, case.name))), case.last)
            net.save(runner.path("net.onnx"))
            try:
                module = runner.compile(runner.path("net.onnx"), on, "--dim", f"batch={BATCH}", *case.get_flags())
            except RuntimeError as error:
                failed += 1
                print(f"FAILED {case.name}: {error}")
                continue
            # More threads than cores mostly wait.
            for device in on:
                attempt(case.name, device, lambda threads: run_case(runner, case, device, threads, module, net), (1, 4) if number % options.gpu_every == 0 else (1, 2))
        if options.filter in "refused":
            net = Net(np.random.default_rng(2))
            net.save(runner.path("net.onnx"))
            for precision, more in (("f32", []), ("f16", ["loss_scale", "loss_scale.good", "loss_scale.skipped"])):
                module = runner.compile(runner.path("net.onnx"), devices, "--dim", f"batch={BATCH}", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw", f"--precision={precision}")
                for device in devices:
                    attempt(f"refused, {precision}", device, lambda threads: run_refused(runner, device, threads, module, net, ["parameters", "adamw.m", "adamw.v", "step", *more]))
        for case in HALVES:
            if options.filter not in case.name:
                continue
            net = Net(np.random.default_rng(4))
            net.save(runner.path("net.onnx"))
            module = runner.compile(runner.path("net.onnx"), devices, "--keep-gradients", *case.get_flags())
            for device in devices:
                attempt(case.name, device, lambda threads: run_halves(runner, case, device, threads, module, net))
        for case in SCALED:
            if options.filter not in case.name:
                continue
            net = Net(np.random.default_rng(6))
            net.save(runner.path("net.onnx"))
            module = runner.compile(runner.path("net.onnx"), devices, "--keep-gradients", "--precision=f16", *case.get_flags())
            for device in devices:
                for halves in (False, True):
                    attempt(f"{case.name}{', in parts' if halves else ''}", device, lambda threads: run_scaled(runner, case, device, threads, module, net, halves))
        if options.filter in "shadows":
            net = Net(np.random.default_rng(7))
            net.save(runner.path("net.onnx"))
            # No shader has bf16.
            for precision, able in (("f16", devices), ("bf16", [device for device in devices if device != "vulkan"])):
                if able:
                    module = runner.compile(runner.path("net.onnx"), able, f"--precision={precision}", "--keep-gradients", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw")
                for device in able:
                    attempt(f"shadows, {precision}", device, lambda threads: run_shadows(runner, precision, device, threads, module, net))
        if options.filter in "digits":
            targets = devices if "cpu" in devices else [*devices, "cpu"]
            module = runner.compile(os.path.join(options.source, "examples", "digits", "digits.onnx"), targets, "--dim", f"batch={BATCH * 4}", "--train=auto", "--loss=cross_entropy",
                                    "--optimizer=adamw", "--clip-norm=1")
            for device in devices:
                attempt("digits", device, lambda threads: run_digits_beside(runner, device, module) if device == "rocm" else run_digits(runner, device, threads, module))
    if not passed + failed:
        print(f"FAILED no case matches '{options.filter}'")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
