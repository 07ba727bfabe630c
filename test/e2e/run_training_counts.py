#!/usr/bin/env python3
"""Losses and metrics of vx-train that are means over another number than the rows: over labels that are not ignored, over weights of classes, over a mask.

  run_training_counts.py --bin BUILD/bin [--device cpu,vulkan]

An epoch's numbers do not depend on the size of its batches: each is PyTorch's mean over all rows, computed here in f64. So is the gradient of several batches together, with
--accumulate, that of one batch of their rows. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import struct
import sys
import tempfile

from run_models import np, onnx, required_devices
from run_vx_train import Tests, order_of, read_tensors
from onnx import TensorProto, helper, numpy_helper

ROWS, FEATURES, CLASSES, IGNORED, SEED = 37, 4, 5, -100, 3
CLASS_WEIGHTS = np.array([0.01, 0.3, 2, 0.05, 0.7], np.float32)
STILL = "--lr=1e-30" # trains nothing


def log_softmax(y):
    y = y - y.max(axis=1, keepdims=True)
    return y - np.log(np.exp(y).sum(axis=1, keepdims=True))


def of_labels(y, label, weights=None, smoothing=0.0):
    """What torch.nn.functional.cross_entropy(y, label, weights, ignore_index=IGNORED, label_smoothing=smoothing) is made of: the summands of its mean, over the sum of the
    weights that count; the summands' gradients by y; the same for the accuracy."""
    kept = label != IGNORED
    place = np.where(kept, label, 0)
    weight = kept * (np.ones(len(y)) if weights is None else weights[place].astype(np.float64))
    logs = log_softmax(y)
    wanted = np.eye(y.shape[1])[place] * (1 - smoothing) + smoothing / y.shape[1]
    right = kept & (y.argmax(axis=1) == label)
    return {"loss": (-(wanted * logs).sum(axis=1) * weight, weight), "accuracy": (right.astype(np.float64), kept.astype(np.float64)),
            "gradient": (np.exp(logs) - wanted) * weight[:, None]}


def of_weighted(y, label, weights=None, smoothing=0.0, samples=None, ignored=IGNORED):
    """The same with `weight=` of torch, whose smoothing counts each class by its own weight, and with a weight for each row."""
    kept = label != ignored
    place = np.where(kept, label, 0)
    classes = np.ones(y.shape[1]) if weights is None else np.asarray(weights, np.float64)
    rows = kept * (np.ones(len(y)) if samples is None else samples.astype(np.float64))
    logs = log_softmax(y)
    wanted = (np.eye(y.shape[1])[place] * (1 - smoothing) + smoothing / y.shape[1]) * classes
    right = kept & (y.argmax(axis=1) == label)
    return {"loss": (-(wanted * logs).sum(axis=1) * rows, rows * classes[place]), "accuracy": (right.astype(np.float64), kept.astype(np.float64)),
            "gradient": (np.exp(logs) * wanted.sum(axis=1, keepdims=True) - wanted) * rows[:, None]}


def mean_of(part):
    return part[0].sum() / part[1].sum()


class Case:
    """`nodes` make the loss of the product y, where the model has it; `loss` is vx-train's."""

    def __init__(self, name, loss, parts, metrics=("loss", "accuracy"), nodes=(), inputs=(), data=None):
        self.name, self.loss, self.parts, self.metrics, self.nodes, self.inputs = name, loss, parts, metrics, list(nodes), list(inputs)
        self.data = data or (lambda x, label: {"x": x, "label": label})

    def write(self, path, weight):
        value = helper.make_tensor_value_info
        product = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
        output = value("value", TensorProto.FLOAT, []) if self.nodes else value("y", TensorProto.FLOAT, ["batch", CLASSES])
        inputs = [value("x", TensorProto.FLOAT, ["batch", FEATURES]), *[value(name, kind, ["batch"]) for name, kind in self.inputs]]
        constants = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(CLASS_WEIGHTS, "weights")][:2 if any("weights" in node.input for node in self.nodes) else 1]
        graph = helper.make_graph([product, *self.nodes], "counted", inputs, [output], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def mask_of(label):
    return np.where(label == IGNORED, 0, CLASS_WEIGHTS[np.maximum(label, 0)])


def of_class(label):
    return np.where(label == IGNORED, 0, label)


def masked_square(x, label, y):
    """The sum of the masked squares of y's rows by the sum of the mask."""
    mask = mask_of(label).astype(np.float64)
    return {"loss": ((y**2).sum(axis=1) * mask, mask), "gradient": 2 * y * mask[:, None]}


def weights_of(x):
    """A weight for each row, of which some are 0: by the row alone, so that a batch has its own."""
    return np.where(x[:, 0] > 0.9, 0, np.abs(x[:, 1]) * 0.1).astype(np.float32)


def weighted_square(x, label, y):
    """The weighted mean over all elements of (y - the label's row of the identity) ** 2."""
    weight = weights_of(x).astype(np.float64)
    difference = y - np.eye(CLASSES)[of_class(label)]
    return {"loss": ((difference**2).sum(axis=1) * weight, weight * CLASSES), "gradient": 2 * difference * weight[:, None]}


CLASS_TEXT = "/".join(str(float(weight)) for weight in CLASS_WEIGHTS)
NODE = helper.make_node
CASES = [
    Case("ignored", f"cross_entropy:ignore_index={IGNORED}", lambda x, label, y: of_labels(y, label)),
    # By rows: of the last, short batch there are fewer.
    Case("plain", "cross_entropy", lambda x, label, y: of_labels(y, of_class(label)), data=lambda x, label: {"x": x, "label": of_class(label)}),
    Case("smoothed", f"cross_entropy:ignore_index={IGNORED},smoothing=0.2", lambda x, label, y: of_labels(y, label, smoothing=0.2)),
    # A loss that the model has made, by weights of classes whose sum may be below 1.
    Case("weighted", "none", lambda x, label, y: of_labels(y, label, CLASS_WEIGHTS), ("loss",),
         [NODE("SoftmaxCrossEntropyLoss", ["y", "label", "weights"], ["value"], ignore_index=IGNORED)], [("label", TensorProto.INT64)]),
    # Weights that vx's loss takes: of classes as torch's, of rows, and both; an ignored label has none.
    Case("classes", f"cross_entropy:class_weight={CLASS_TEXT}", lambda x, label, y: of_weighted(y, of_class(label), CLASS_WEIGHTS), data=lambda x, label: {"x": x, "label": of_class(label)}),
    Case("classes_smoothed", f"cross_entropy:y,ignore_index={IGNORED},smoothing=0.2,class_weight={CLASS_TEXT}", lambda x, label, y: of_weighted(y, label, CLASS_WEIGHTS, 0.2)),
    Case("samples", "cross_entropy:sample_weight=true", lambda x, label, y: of_weighted(y, of_class(label), samples=weights_of(x)),
         data=lambda x, label: {"x": x, "label": of_class(label), "sample_weight": weights_of(x)}),
    Case("both", f"cross_entropy:class_weight={CLASS_TEXT},ignore_index={IGNORED},sample_weight=true,smoothing=0.1",
         lambda x, label, y: of_weighted(y, label, CLASS_WEIGHTS, 0.1, weights_of(x)), data=lambda x, label: {"x": x, "label": label, "sample_weight": weights_of(x)}),
    Case("square_of_samples", "mse:sample_weight=true", weighted_square, ("loss",),
         data=lambda x, label: {"x": x, "target": np.eye(CLASSES, dtype=np.float32)[of_class(label)], "sample_weight": weights_of(x)}),
    Case("masked", "none", masked_square, ("loss",),
         [NODE("Mul", ["y", "y"], ["squares"]), NODE("MatMul", ["mask", "squares"], ["columns"]), NODE("ReduceSum", ["columns"], ["total"], keepdims=0),
          NODE("ReduceSum", ["mask"], ["count"], keepdims=0), NODE("Div", ["total", "count"], ["value"])],
         [("mask", TensorProto.FLOAT)], lambda x, label: {"x": x, "mask": mask_of(label).astype(np.float32)}),
]


def make_data(random, weight):
    """Labels that count lie close together, so that batches have different numbers of them, one batch none, and right ones more of them than wrong ones."""
    x = random.standard_normal((ROWS, FEATURES)).astype(np.float32)
    y = x.astype(np.float64) @ weight.T
    every = np.where(np.arange(ROWS) % 3 == 0, y.argmin(axis=1), y.argmax(axis=1))
    label = every.copy()
    order = order_of(ROWS, SEED, 0)
    for place, row in enumerate(order): # in the order of the epoch
        if 5 <= place < 21 and place % 8 != 0:
            label[row] = IGNORED
    validation = label.copy()
    validation[8:30] = IGNORED
    validation[9] = int(y[9].argmin())
    return x, y, every, label, validation


def save_data(folder, columns):
    os.makedirs(folder, exist_ok=True)
    for name, values in columns.items():
        np.save(os.path.join(folder, f"{name}.npy"), values)


def check_scores(tests, title, got, want):
    for name, value in want.items():
        number = float(got["loss"] if name == "loss" else got["metrics"].get(name, "nan"))
        tests.check(f"{title}: {name}", abs(number - value) <= 3e-6 * max(abs(value), 1), f"expected {value}, got {number}")


def history_of(tests, name="history.json"):
    with open(tests.path(name)) as file:
        return json.load(file)["epochs"]


def check_sizes(tests, case, device, x, y, label, validation):
    """With a model's own loss every label counts: that of a batch of none is 0 / 0, and so are its gradients, there as in PyTorch."""
    want = {which: {name: mean_of(part[name]) for name in case.metrics} for which, part in
            (("training", case.parts(x, label, y)), ("validation", case.parts(x, validation, y)))}
    for batch in (ROWS, 16, 4, 1):
        title = f"{case.name} on {device}, batches of {batch}"
        done = tests.run("vx-train", f"{case.name}.vxm", f"--device={device}", "--no-fallback", f"--data={case.name}_still", f"--validation={case.name}_other", STILL, f"--seed={SEED}",
                         f"--batch-size={batch}", "--history=history.json", "--save=unchanged")
        epoch = history_of(tests)[-1]
        check_scores(tests, title, epoch, want["training"])
        check_scores(tests, f"{title}, validation", epoch["validation"], want["validation"])
        printed = done.stdout.split("validation loss ")[-1].split()[0]
        tests.check(f"{title}: the line", abs(float(printed) / want["validation"]["loss"] - 1) < 1e-4, done.stdout)


def trained(case, weight, x, label, batch, steps, rate):
    """SGD in f64, each step of `batch` rows."""
    w = weight.astype(np.float64)
    order = order_of(ROWS, SEED, 0)
    for step in range(steps):
        rows = order[step * batch:(step + 1) * batch]
        part = case.parts(x[rows], label[rows], x[rows].astype(np.float64) @ w.T)
        w = w - rate * (part["gradient"].T @ x[rows]) / part["loss"][1].sum()
    return w


def check_accumulated(tests, case, device, weight, x, label):
    """Steps of 12 rows, at once and in parts, of which some count nothing."""
    want = trained(case, weight, x, label, 12, 3, 0.1)
    for batch, accumulate in ((12, 1), (4, 3), (1, 12)):
        tests.run("vx-train", f"{case.name}.vxm", f"--device={device}", "--no-fallback", f"--data={case.name}", "--lr=0.1", f"--seed={SEED}", f"--batch-size={batch}",
                  f"--accumulate={accumulate}", "--max-steps=3", "--save=trained")
        got = read_tensors(tests.path("trained"))[0]["w"]
        error = np.abs(got - want).max()
        tests.check(f"{case.name} on {device}: {accumulate} batches of {batch}", error < 2e-6, f"a weight differs by {error:.3g}")


def without_counts(path):
    """A checkpoint as a version before counts has written it."""
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header["__metadata__"].pop("counts")
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])


def check_resumed(tests, case, device):
    """In the middle of an epoch, bit by bit; the sums of a checkpoint without counts are no means of this module's."""
    usual = ["vx-train", f"{case.name}.vxm", f"--device={device}", "--no-fallback", f"--data={case.name}", "--lr=0.1", f"--seed={SEED}", "--batch-size=4", "--epochs=2"]
    for accumulate in (1, 2):
        part = [*usual, f"--accumulate={accumulate}"]
        tests.run(*part, "--save=whole", "--history=history.json")
        whole = [{name: epoch[name] for name in ("loss", "metrics")} for epoch in history_of(tests)]
        for steps in (1, 3):
            folder = f"run-{case.name}-{device}-{accumulate}-{steps}"
            tests.run(*part, f"--checkpoint={folder}", f"--max-steps={steps}")
            done = tests.run(*part, f"--resume={folder}", "--save=resumed", "--history=history.json")
            got = [{name: epoch[name] for name in ("loss", "metrics")} for epoch in history_of(tests)]
            tests.check(f"{case.name} on {device}: goes on from step {steps} of {accumulate} batches", got == whole and "did not count" not in done.stderr, f"{got}, expected {whole}")
    without_counts(os.path.join(tests.folder, folder, f"checkpoint-{steps:012}.safetensors"))
    done = tests.run(*part, f"--resume={folder}", "--save=resumed", "--history=history.json")
    tests.check(f"{case.name} on {device}: a checkpoint without counts", f"those of epoch 1 are of its rows after row {steps * 8}" in done.stderr and
                history_of(tests)[0]["loss"] != whole[0]["loss"] and history_of(tests)[1]["loss"] == whole[1]["loss"], done.stderr)


def check_early_stop(tests, case, device):
    """Training whose validation gets worse ends at the same epoch, whatever the batches of the validation are."""
    ends = []
    for batch, accumulate in ((12, 1), (3, 4), (1, 12)):
        tests.run("vx-train", f"{case.name}.vxm", f"--device={device}", "--no-fallback", f"--data={case.name}", f"--validation={case.name}_other", "--lr=0.3", f"--seed={SEED}",
                  f"--batch-size={batch}", f"--accumulate={accumulate}", "--epochs=40", "--early-stop=2,1e-3", "--history=history.json", "--save=stopped")
        ends.append([epoch["validation"]["loss"] for epoch in history_of(tests)])
    same = all(len(end) == len(ends[0]) and np.allclose(end, ends[0], rtol=1e-4) for end in ends)
    tests.check(f"{case.name} on {device}: early stopping", same and 2 < len(ends[0]) < 40, ends)


def check_nothing_counts(tests, device, x):
    """A mean over no label is no number, and never the best one."""
    save_data(tests.path("none"), {"x": x, "label": np.full(len(x), IGNORED)})
    tests.run("vx-train", "ignored.vxm", f"--device={device}", "--no-fallback", "--data=ignored", "--validation=none", "--batch-size=8", "--lr=0.1", "--epochs=2",
              "--history=history.json", "--save=none.safetensors")
    epochs = history_of(tests)
    _, metadata = read_tensors(tests.path("none.safetensors"))
    tests.check(f"no label counts, on {device}", all(epoch["validation"] == {"loss": "nan", "metrics": {"accuracy": "nan"}} for epoch in epochs) and "best" not in metadata,
                f"{[epoch['validation'] for epoch in epochs]}, best {metadata.get('best_metric')}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--filter", default="", help="only cases with this in their name")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    cases = [case for case in CASES if options.filter in case.name]
    if not cases:
        parser.error(f"no case has '{options.filter}' in its name: {', '.join(case.name for case in CASES)}")
    random = np.random.default_rng(5)
    weight = random.standard_normal((CLASSES, FEATURES)).astype(np.float32)
    x, y, every, label, validation = make_data(random, weight)
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(options.bin), folder)
        for case in cases:
            case.write(tests.path(f"{case.name}.onnx"), weight)
            still = every if case.nodes else label
            save_data(tests.path(case.name), case.data(x, label))
            save_data(tests.path(f"{case.name}_still"), case.data(x, still))
            save_data(tests.path(f"{case.name}_other"), case.data(x, validation))
            tests.run("vx-compile", f"{case.name}.onnx", f"--target={','.join(devices)}", "--train=w", f"--loss={case.loss}", "--optimizer=sgd", "--keep-gradients", "-o", f"{case.name}.vxm")
            for device in devices:
                check_sizes(tests, case, device, x, y, still, validation)
                check_accumulated(tests, case, device, weight, x, label)
        if "ignored" in [case.name for case in cases]:
            for device in devices:
                check_resumed(tests, CASES[0], device)
                check_early_stop(tests, CASES[0], device)
                check_nothing_counts(tests, device, x)
        print(f"{tests.passed} passed, {tests.failed} failed on {' and '.join(devices)}")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
