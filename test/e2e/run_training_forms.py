#!/usr/bin/env python3
"""What computes something else in a training step than elsewhere: dropouts and batch norms, against the formulas in NumPy, in f64.

  run_training_forms.py --bin BUILD/bin --source REPOSITORY [--device cpu,vulkan] [--variants rocm=gfx1100] [--filter TEXT]

The bits that dropouts draw are computed here from the definition of Philox, so each mask is compared element by element, in the forward part and in gradients.
Bits are equal with one thread and with several. Exit code: 0 all as wanted, 1 not.
"""
import sys
import tempfile

from run_models import np, onnx, required_devices
from run_training import BATCH, CLASSES, HIDDEN, INPUTS, RATE, Runner, compare, get_options, helper, mse, numbers

SEEDS = [0, 7, -1, 2**63 - 1, -2**40 + 3]
MOMENTUM, EPSILON = 0.75, 1e-3


def draw(key, stream, count):
    """The first words of a stream of Philox4x32-10 under a key, 64 bits each."""
    word = np.uint64(2**32 - 1)
    block = np.arange(-(-count // 4), dtype=np.uint64)
    stream, key = np.full(block.shape, stream % 2**64, np.uint64), key % 2**64
    c = [block & word, block >> np.uint64(32), stream & word, stream >> np.uint64(32)]
    k = [key % 2**32, key >> 32]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(second >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), second & word, (first >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), first & word]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return np.stack(c, 1).reshape(-1)[:count]


def mask_of(key, stream, ratio, shape):
    return (draw(key, stream, int(np.prod(shape))) >= np.uint64(round(ratio * 2**32))).reshape(shape)


def scale_of(ratio):
    return np.float32(1 / (1 - ratio))


# Ratio, number and shape.
DROPOUTS = [(0.5, 0, (64, 512)), (0.2, 3, (7, 33)), (0.9, 2**33, (1001,)), (0.001, -1, (5, 1, 77))]


def write_masks(path):
    """A program of dropouts with what they keep and their gradients."""
    inputs, body, values, types = ['%k: tensor<i64> {vx.name = "k"}'], [], [], []
    for at, (ratio, number, shape) in enumerate(DROPOUTS):
        kind = f"tensor<{'x'.join(map(str, shape))}x"
        inputs.append(f'%x{at}: {kind}f32> {{vx.name = "x{at}"}}')
        body.append(f"  %y{at}, %m{at} = vx.dropout %x{at} key(%k) ratio = {ratio} number = {number} : {kind}f32>")
        body.append(f"  %d{at} = vx.gradient %y{at} wrt(%x{at} : {kind}f32>) : {kind}f32>")
        values += [f"%y{at}", f"%m{at}", f"%d{at}"]
        types += [f"{kind}f32>", f"{kind}i1>", f"{kind}f32>"]
    named = ", ".join(f'{kind} {{vx.name = "{value[1:]}"}}' for value, kind in zip(values, types))
    with open(path, "w") as file:
        file.write(f"func.func @main({', '.join(inputs)}) -> ({named}) {{\n" + "\n".join(body) + f"\n  return {', '.join(values)} : {', '.join(types)}\n}}\n")


def wanted_masks(key, xs):
    """What the program of `write_masks` gives: of each dropout the result, the mask and the gradient."""
    wanted = []
    for (ratio, number, _), x in zip(DROPOUTS, xs):
        kept = mask_of(key, number, ratio, x.shape)
        wanted += [np.where(kept, x * scale_of(ratio), np.float32(0)), kept, np.where(kept, scale_of(ratio), np.float32(0))]
    return wanted


def run_masks(runner, device, threads, module):
    """Dropouts and their gradients: every element is 0, or x and 1 by 1 / (1 - ratio), exactly; so is that of a mask that is returned."""
    seen = []
    xs = [np.random.default_rng(at).standard_normal(shape).astype(np.float32).reshape(-1) for at, (_, _, shape) in enumerate(DROPOUTS)]
    for key in SEEDS[:3]:
        script = [f"call main {runner.put('k.bin', np.int64(key))} {' '.join(runner.put(f'x{at}.bin', x) for at, x in enumerate(xs))}", f"results {runner.path('masks.bin')}"]
        for answer in runner.call(module, device, threads, script):
            if not answer.startswith("done"):
                raise AssertionError(answer)
        seen.append(open(runner.path("masks.bin"), "rb").read())
        begin, parts = 0, iter(wanted_masks(key, xs))
        for ratio, _, _ in DROPOUTS:
            named = dict(zip(("dropout", "mask", "gradient"), parts))
            for name, wanted in named.items():
                got = np.frombuffer(seen[-1][begin:begin + wanted.nbytes], wanted.dtype)
                begin += wanted.nbytes
                if got.tobytes() != wanted.tobytes():
                    place = (got != wanted).argmax()
                    raise AssertionError(f"{name} of ratio {ratio}, key {key} at {place} is {got[place]}, expected {wanted[place]}")
            kept = named["mask"]
            # By more than six deviations one of 10^9 is off.
            if abs(kept.mean() - (1 - ratio)) > 6 * (ratio * (1 - ratio) / kept.size) ** 0.5:
                raise AssertionError(f"ratio {ratio}, key {key}: {kept.mean():.4f} of the elements are kept")
    return seen


class Net:
    """x -> dropout -> fc1 -> batch norm -> tanh -> dropout -> fc2, of which some are left out."""

    def __init__(self, ratios=(), has_norm=False, norm_trains=False):
        random = np.random.default_rng(5)
        self.ratios, self.has_norm, self.norm_trains = ratios, has_norm, norm_trains
        normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
        self.weights = {"fc1.weight": normal(HIDDEN, INPUTS) / 2, "fc1.bias": normal(HIDDEN) / 2, "fc2.weight": normal(CLASSES, HIDDEN) / 2, "fc2.bias": normal(CLASSES) / 2}
        self.statistics = {}
        if has_norm:
            self.weights.update({"bn.scale": 1 + normal(HIDDEN) / 8, "bn.bias": normal(HIDDEN) / 8})
            self.statistics = {"bn.mean": normal(HIDDEN) / 8, "bn.var": 1 + abs(normal(HIDDEN))}

    def save(self, path):
        nodes, at = [], "x"
        constants = dict(self.weights, **self.statistics)

        def add(op, inputs, name, **attributes):
            nonlocal at
            nodes.append(helper.make_node(op, [at, *inputs], [name], name, **attributes))
            at = name

        def drop(number):
            if self.ratios:
                constants[f"ratio{number}"] = np.float32(self.ratios[number])
                add("Dropout", [f"ratio{number}"], f"drop{number}")

        drop(0)
        add("Gemm", ["fc1.weight", "fc1.bias"], "h", transB=1)
        if self.has_norm:
            add("BatchNormalization", ["bn.scale", "bn.bias", "bn.mean", "bn.var"], "n", epsilon=EPSILON, momentum=MOMENTUM, training_mode=int(self.norm_trains))
            if self.norm_trains:
                nodes[-1].output.extend(["new_mean", "new_var"])
        add("Tanh", [], "t")
        drop(1)
        add("Gemm", ["fc2.weight", "fc2.bias"], "y", transB=1)
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", 1, ["batch", INPUTS])], [helper.make_tensor_value_info("y", 1, ["batch", CLASSES])],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def run(self, w, statistics, x, target, masks=None, of_batch=False):
        """Loss, gradients and the statistics behind the step; `masks` hold 0 or the scale."""
        masks = masks or (1, 1)
        a = x * masks[0]
        h = a @ w["fc1.weight"].T + w["fc1.bias"]
        n, after = h, dict(statistics)
        if self.has_norm:
            mean, var = (h.mean(0), h.var(0)) if of_batch else (statistics["bn.mean"], statistics["bn.var"])
            root = np.sqrt(var + np.float32(EPSILON))
            normal = (h - mean) / root
            n = normal * w["bn.scale"] + w["bn.bias"]
            if of_batch:
                after = {"bn.mean": statistics["bn.mean"] * MOMENTUM + mean * (1 - MOMENTUM), "bn.var": statistics["bn.var"] * MOMENTUM + var * (1 - MOMENTUM)}
        t = np.tanh(n)
        b = t * masks[1]
        loss, d, _ = mse(b @ w["fc2.weight"].T + w["fc2.bias"], target)
        dn = d @ w["fc2.weight"] * masks[1] * (1 - t * t)
        gradients, dh = {"fc2.weight": d.T @ b, "fc2.bias": d.sum(0)}, dn
        if self.has_norm:
            gradients.update({"bn.scale": (dn * normal).sum(0), "bn.bias": dn.sum(0)})
            dh = dn * w["bn.scale"]
            if of_batch:
                dh = dh - dh.mean(0) - normal * (dh * normal).mean(0)
            dh = dh / root
        gradients.update({"fc1.weight": dh.T @ a, "fc1.bias": dh.sum(0)})
        return loss, gradients, after


def check_formulas(net):
    """The gradients above against differences."""
    random = np.random.default_rng(0)
    w = {name: value.astype(np.float64) for name, value in net.weights.items()}
    statistics = {name: value.astype(np.float64) for name, value in net.statistics.items()}
    x, target, masks = random.standard_normal((BATCH, INPUTS)), random.standard_normal((BATCH, CLASSES)), (random.random((BATCH, INPUTS)), random.random((BATCH, HIDDEN)))
    run = lambda weights: net.run(weights, statistics, x, target, masks, True)
    gradients = run(w)[1]
    for name in w:
        direction = random.standard_normal(w[name].shape)
        ends = [run(dict(w, **{name: w[name] + step * 1e-5 * direction}))[0] for step in (1, -1)]
        slope, want = (ends[0] - ends[1]) / 2e-5, (gradients[name] * direction).sum()
        # Where a batch norm is behind it, a bias changes nothing.
        if abs(slope - want) > 1e-8 * max(abs(want), 0.1):
            raise AssertionError(f"the formula of {name}: {want}, by differences {slope}")


def run_unchanged(runner, device, threads, module, net, rows):
    """A step of no rows, and one that fails by a label that is no class, leave parameters and statistics as they are."""
    label = np.arange(rows) % CLASSES + (np.arange(rows) == rows - 1) * CLASSES
    inputs = [("x0.bin", np.ones((rows, INPUTS), np.float32)), ("t0.bin", label), ("rate.bin", np.float32(RATE)), ("seed.bin", np.int64(1))]
    script = [f"call train_step {' '.join(runner.put(*pair) for pair in inputs)}"]
    variables = dict(net.weights, **net.statistics)
    script += [f"read {name} {runner.path(name)}" for name in variables]
    answers = runner.call(module, device, threads, script)
    if answers[0].startswith("done") != (rows == 0) or not all(answer.startswith("done") for answer in answers[1:]):
        raise AssertionError(f"a step of {rows} rows: {answers}")
    for name, value in variables.items():
        got = np.fromfile(runner.path(name), np.float32)
        if got.tobytes() != value.tobytes():
            raise AssertionError(f"a step of {rows} rows: {name} is {got}, expected {value.reshape(-1)}")


def step_masks(net, seed):
    """What both dropouts of a step multiply by: 0 or the scale."""
    ratios = [float(np.float32(ratio)) for ratio in net.ratios]
    return [mask_of(seed, k, ratio, (BATCH, width)) * np.float64(scale_of(ratio)) for k, (ratio, width) in enumerate(zip(ratios, (INPUTS, HIDDEN)))]


def run_steps(runner, device, threads, module, net, drops, of_batch, steps=4):
    """Steps of plain gradient descent: results, parameters and statistics after each one, and what `evaluate` and `predict` say of them."""
    random, script, data = np.random.default_rng(3), [], []
    variables = [*net.weights, *(net.statistics if of_batch else ())]
    for number in range(steps):
        x, target = random.standard_normal((BATCH, INPUTS)).astype(np.float32), numbers(random)
        data.append((x, target, SEEDS[number]))
        pair = " ".join(runner.put(f"{name}{number}.bin", value) for name, value in (("x", x), ("t", target)))
        seed = [runner.put(f"seed{number}.bin", np.int64(SEEDS[number]))] if drops else []
        script += [f"call train_step {pair} {runner.put('rate.bin', np.float32(RATE))} {' '.join(seed)}", f"results {runner.path(f'step{number}.bin')}",
                   f"call evaluate {pair}", f"results {runner.path(f'evaluated{number}.bin')}", f"call predict {runner.path(f'x{number}.bin')}",
                   f"results {runner.path(f'predicted{number}.bin')}"]
        script += [f"read {name} {runner.path(f'v{k}_{number}.bin')}" for k, name in enumerate(variables)]
    for answer in runner.call(module, device, threads, script):
        if not answer.startswith("done"):
            raise AssertionError(answer)
    w = {name: value.astype(np.float64) for name, value in net.weights.items()}
    statistics = {name: value.astype(np.float64) for name, value in net.statistics.items()}
    seen = []
    for number, (x, target, seed) in enumerate(data):
        x, target = x.astype(np.float64), target.astype(np.float64)
        masks = step_masks(net, seed) if drops else None
        loss, gradients, statistics = net.run(w, statistics, x, target, masks, of_batch)
        got = np.fromfile(runner.path(f"step{number}.bin"), np.float32)
        compare(f"step {number}: loss", [loss], got, 1)
        seen.append(got.tobytes())
        for k, name in enumerate(variables):
            value = np.fromfile(runner.path(f"v{k}_{number}.bin"), np.float32)
            seen.append(value.tobytes())
            value = value.astype(np.float64)
            if name in w:
                w[name] = w[name] - RATE * gradients[name]
                compare(f"step {number}: {name}", w[name], value.reshape(w[name].shape), 0.3)
                w[name] = value.reshape(w[name].shape)
            else:
                compare(f"step {number}: {name}", statistics[name], value, 0.3)
                statistics[name] = value
        loss = net.run(w, statistics, x, target)[0]
        compare(f"step {number}: evaluate", [loss], np.fromfile(runner.path(f"evaluated{number}.bin"), np.float32), 1)
        predicted = np.fromfile(runner.path(f"predicted{number}.bin"), np.float32).reshape(BATCH, CLASSES)
        compare(f"step {number}: the loss of what predict says", [loss], [mse(predicted.astype(np.float64), target)[0]], 1)
    return seen


# Name, the network, flags, whether elements are dropped and whether the batch's statistics are used.
CASES = [
    ("dropout", Net((0.2, 0.5)), [], True, False),
    ("dropout_frozen", Net((0.2, 0.5)), ["--dropout=frozen"], False, False),
    ("batch_norm", Net((), True), ["--batch-norm=train"], False, True),
    ("batch_norm_by_default", Net((), True), [], False, False),
    ("batch_norm_of_the_file", Net((), True, True), [], False, True),
    ("both", Net((0.3, 0.4), True), ["--batch-norm=train", "--dropout=train"], True, True),
]


def main():
    options = get_options()
    devices = required_devices(options.bin, options.device)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)

        def attempt(name, device, check):
            nonlocal passed, failed
            try:
                first = None
                for threads in (1, 2, 8) if device == "cpu" else (1, 1):
                    seen = check(threads)
                    first = first or seen
                    if seen != first:
                        raise AssertionError(f"other bits with {threads} threads")
                passed += 1
            except (AssertionError, RuntimeError) as error:
                failed += 1
                print(f"FAILED {name} on {device}: {error}")

        if options.filter in "masks":
            write_masks(runner.path("masks.mlir"))
            module = runner.compile(runner.path("masks.mlir"), devices)
            for device in devices:
                attempt("masks", device, lambda threads: run_masks(runner, device, threads, module))
        for name, net, flags, drops, of_batch in CASES:
            if options.filter not in name:
                continue
            check_formulas(net)
            net.save(runner.path("net.onnx"))
            try:
                module = runner.compile(runner.path("net.onnx"), devices, "--dim", f"batch={BATCH}", "--train=auto", "--loss=mse", "--optimizer=sgd", *flags)
            except RuntimeError as error:
                failed += 1
                print(f"FAILED {name}: {error}")
                continue
            for device in devices:
                attempt(name, device, lambda threads: run_steps(runner, device, threads, module, net, drops, of_batch))
        if options.filter in "unchanged":
            net = Net((0.2, 0.5), True)
            net.save(runner.path("net.onnx"))
            module = runner.compile(runner.path("net.onnx"), devices, "--train=auto", "--loss=cross_entropy", "--optimizer=sgd", "--batch-norm=train")
            for device in devices:
                for rows in (0, BATCH):
                    attempt("unchanged", device, lambda threads: run_unchanged(runner, device, threads, module, net, rows))
    if not passed + failed:
        print(f"FAILED no case matches '{options.filter}'")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
