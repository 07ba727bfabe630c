#!/usr/bin/env python3
"""vx-train on a network of two layers that vx-compile --train has made of an ONNX file, with the digits of the example as data.

  run_vx_train.py --bin BUILD/bin --examples EXAMPLES [--device cpu,vulkan]

Every step is computed here too, in f64 and from the definitions: the order of the rows, the rate, the loss and AdamW. On each device training
must end there, learn, and end in the same bytes when it is interrupted and goes on. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

import quantization
from run_models import np, onnx, required_devices
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

BATCH, EPOCHS, RATE, SEED, WARMUP = 32, 6, 1e-2, 7, 5
WORD = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(right >> 32) ^ c[1] ^ k[0], right & WORD, (left >> 32) ^ c[3] ^ k[1], left & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def words(low, high):
    return [low & WORD, low >> 32, high & WORD, high >> 32]


def order_of(rows, seed, epoch):
    """The permutation of an epoch, as runtime/lib/train/random.h has it."""
    key = philox(words(1, int.from_bytes(b"vx.train", "little")), [seed & WORD, seed >> 32])[:2]
    order = list(range(rows))
    for place, left in enumerate(range(rows, 1, -1)):
        drawn = philox(words(place // 2, epoch), key)[2 * (place % 2):][:2]
        chosen = (drawn[0] | drawn[1] << 32) * left >> 64
        order[left - 1], order[chosen] = order[chosen], order[left - 1]
    return order


def seed_of(seed, step):
    """The seed of a step's random numbers: number `step` of the stream 0 of its use, as runtime/lib/train/random.h has it."""
    key = philox(words(3, int.from_bytes(b"vx.train", "little")), [seed & WORD, seed >> 32])[:2]
    return philox(words(step // 2, 0), key)[2 * (step % 2):][:2]


def make_model(path, has_forms=False):
    """`has_forms`: with a batch norm and dropouts."""
    random = np.random.default_rng(0)
    draw = lambda rows, columns: (random.uniform(-1, 1, (rows, columns)) / np.sqrt(columns)).astype(np.float32)
    weights = {"fc1.weight": draw(48, 64), "fc1.bias": np.zeros(48, np.float32), "fc2.weight": draw(10, 48), "fc2.bias": np.zeros(10, np.float32)}
    nodes = [helper.make_node("Flatten", ["image"], ["flat"], axis=1),
             helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["hidden"], transB=1),
             helper.make_node("Relu", ["hidden"], ["active"]),
             helper.make_node("Gemm", ["active", "fc2.weight", "fc2.bias"], ["logits"], transB=1)]
    if has_forms:
        weights.update({name: np.full(48, value, np.float32) for name, value in (("bn.weight", 1), ("bn.bias", 0), ("bn.mean", 0), ("bn.variance", 1))})
        weights["ratio"] = np.float32(0.25)
        nodes[1].input[0], nodes[2].input[0], nodes[3].input[0] = "some", "normal", "dropped"
        nodes[3:3] = [helper.make_node("Dropout", ["active", "ratio"], ["dropped"])]
        nodes[2:2] = [helper.make_node("BatchNormalization", ["hidden", "bn.weight", "bn.bias", "bn.mean", "bn.variance"], ["normal"])]
        nodes[1:1] = [helper.make_node("Dropout", ["flat", "ratio"], ["some"])]
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return weights


def train(weights, images, labels):
    """Parameters and the mean loss of each epoch, in f64."""
    parameters = {name: value.astype(np.float64) for name, value in weights.items()}
    first = {name: np.zeros_like(value) for name, value in parameters.items()}
    second = {name: np.zeros_like(value) for name, value in parameters.items()}
    x = images.reshape(len(images), -1).astype(np.float64)
    steps = -(-len(x) // BATCH)
    step, losses = 0, []
    for epoch in range(EPOCHS):
        order, total = order_of(len(x), SEED, epoch), 0
        for begin in range(0, len(x), BATCH):
            rows = order[begin:begin + BATCH]
            a, y = x[rows], labels[rows]
            hidden = a @ parameters["fc1.weight"].T + parameters["fc1.bias"]
            active = np.maximum(hidden, 0)
            logits = active @ parameters["fc2.weight"].T + parameters["fc2.bias"]
            shifted = logits - logits.max(axis=1, keepdims=True)
            chances = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
            total += -np.log(chances[np.arange(len(y)), y]).sum()
            d = (chances - np.eye(10)[y]) / len(y)
            back = (d @ parameters["fc2.weight"]) * (hidden > 0)
            gradients = {"fc2.weight": d.T @ active, "fc2.bias": d.sum(axis=0), "fc1.weight": back.T @ a, "fc1.bias": back.sum(axis=0)}
            behind, rest = max(step - WARMUP, 0), EPOCHS * steps - WARMUP
            rate = RATE * (1 + np.cos(np.pi * behind / rest)) / 2 * min((step + 1) / WARMUP, 1)
            step += 1
            for name, gradient in gradients.items():
                parameters[name] *= 1 - rate * 0.01
                first[name] += 0.1 * (gradient - first[name])
                second[name] += 0.001 * (gradient**2 - second[name])
                parameters[name] -= rate * (first[name] / (1 - 0.9**step)) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)
        losses.append(total / len(x))
    return parameters, losses


def read_tensors(path):
    """The tensors and the metadata of a safetensors file."""
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    types = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]], types[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}, metadata


class Tests(Checks):
    is_quiet = True

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def run(self, tool, *arguments, code=0):
        """With one thread where nothing else is said: more wait for one another between the kernels of so small a network."""
        if tool == "vx-train" and not any(str(argument).startswith("--threads") for argument in arguments):
            arguments = [*arguments, "--threads=1"]
        done = subprocess.run([os.path.join(self.tools, tool), *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        self.check(f"{tool} {' '.join(map(str, arguments))}", done.returncode == code, f"exit code {done.returncode}, expected {code}: {done.stderr}")
        return done

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


def write_data(folder, name, images, labels):
    os.makedirs(os.path.join(folder, name))
    np.save(os.path.join(folder, name, "image.npy"), images)
    np.save(os.path.join(folder, name, "label.npy"), labels)


def compare(tests, title, tensors, history, want, losses):
    """What training has left in two files, and that it is what it is to be."""
    tensors, metadata = read_tensors(os.path.join(tests.folder, tensors))
    with open(os.path.join(tests.folder, history)) as file:
        history = json.load(file)
    # The same numbers, rounded: f32 here, and many steps that each add to the error.
    for name, value in want.items():
        error = np.abs(tensors[name] - value).max() / np.abs(value).max()
        tests.check(f"{title}: {name}", error < 2e-4, f"differs by {error:.3g} of its greatest")
    for epoch, loss in zip(history["epochs"], losses):
        tests.check(f"{title}: loss of epoch {epoch['epoch']}", abs(epoch["loss"] / loss - 1) < 1e-4, f"expected {loss}, got {epoch['loss']}")
    return tensors, metadata, history


def check_accumulated(tests, want, losses):
    """A quarter of the rows at a time is the same training, and goes on bit by bit."""
    arguments = ["--device=cpu", "--data=train", f"--epochs={EPOCHS}", f"--batch-size={BATCH // 4}", "--accumulate=4", f"--lr={RATE}", "--schedule=cosine", f"--warmup={WARMUP}",
                 f"--seed={SEED}"]
    tests.run("vx-train", "mlp.onnx", "--loss=cross_entropy", "--emit=sums.vxm", *arguments, "--save=sums.safetensors", "--history=sums.json")
    _, metadata, _ = compare(tests, "accumulated", "sums.safetensors", "sums.json", want, losses)
    tests.check("accumulated: steps", metadata["step"] == str(EPOCHS * 11) and metadata["accumulate"] == "4", metadata)
    usual = ["sums.vxm", *arguments]
    usual.remove("--schedule=cosine") # which ends at the last step of each run
    tests.run("vx-train", *usual, "--save=sums.safetensors")
    tests.run("vx-train", *usual, "--checkpoint=sums", "--max-steps=15")
    tests.run("vx-train", *usual, "--resume=sums", "--save=sums2.safetensors")
    tests.check("accumulated: goes on", tests.bytes_of("sums.safetensors") == tests.bytes_of("sums2.safetensors"), "other bytes")
    refused = tests.run("vx-train", "mlp.vxm", *arguments, "--save=x", code=2)
    tests.check("a module without halves", "use one that was compiled with --keep-gradients" in refused.stderr, refused.stderr)


def check_head(tests, images, labels, weights):
    """Seven of the digits with a new head alone, and with all that there is; the layer that stays has its bits."""
    rows = np.flatnonzero(labels < 7)
    write_data(tests.folder, "seven", images[rows], labels[rows])
    arguments = ["mlp.onnx", "--device=cpu", "--loss=cross_entropy", "--classes=7", "--batch-size=32"]
    for train, trained in (["--train=fc2.*"], {"fc2.weight", "fc2.bias"}), ([], set(weights)):
        tests.run("vx-train", *arguments, *train, "--data=seven", "--epochs=8", "--lr=1e-2", "--seed=3", "--save=seven.safetensors", "--history=seven.json")
        tensors, _ = read_tensors(os.path.join(tests.folder, "seven.safetensors"))
        parameters = {name for name in tensors if "/" not in name and name != "step"}
        tests.check(f"a new head, {train}: parameters", parameters == trained, f"expected {trained}, got {parameters}")
        shapes = [tensors[name].shape for name in ("fc2.weight", "fc2.bias")]
        tests.check(f"a new head, {train}: shapes", shapes == [(7, 48), (7,)], shapes)
        with open(os.path.join(tests.folder, "seven.json")) as file:
            scores = json.load(file)["epochs"]
        tests.check(f"a new head, {train}: learns", scores[-1]["metrics"]["accuracy"] > 0.9 and scores[-1]["loss"] < scores[0]["loss"], scores[-1])
    # As they start: each from its seed, within the bound of 48 inputs.
    starts = {}
    for seed in (3, 3, 4):
        tests.run("vx-train", *arguments, "--data=seven", f"--seed={seed}", "--max-steps=1", "--lr=0", "--optimizer=sgd", "--save=start.safetensors")
        tensors, _ = read_tensors(os.path.join(tests.folder, "start.safetensors"))
        weight, bias = tensors["fc2.weight"], tensors["fc2.bias"]
        most = 48 ** -0.5
        tests.check("a new head: starts", 0.9 * most < abs(weight).max() <= most and abs(bias).max() <= most and abs(weight.std() * 3 ** 0.5 / most - 1) < 0.1, (abs(weight).max(), weight.std()))
        tests.check("a new head: the layer that stays", np.array_equal(tensors["fc1.weight"], weights["fc1.weight"]), "other bits")
        starts.setdefault(seed, set()).add(weight.tobytes())
    tests.check("a new head: seeds", len(starts[3]) == 1 and starts[3] != starts[4], "expected equal numbers of equal seeds alone")
    bad = tests.run("vx-train", *arguments, "--data=train", "--save=x", code=3)
    tests.check("a new head: labels", "expected 0 to 6" in bad.stderr, bad.stderr)


def check_device(tests, device, want, losses):
    usual = ["mlp.vxm", f"--device={device}", "--no-fallback", "--data=train", "--validation=test", f"--epochs={EPOCHS}", f"--batch-size={BATCH}",
             f"--lr={RATE}", f"--warmup={WARMUP}", f"--seed={SEED}"]
    whole = f"{device}.safetensors"
    tests.run("vx-train", *usual, "--schedule=cosine", "--save", whole, "--history", f"{device}.json")
    tensors, metadata, history = compare(tests, device, whole, f"{device}.json", want, losses)
    accuracy = history["epochs"][-1]["validation"]["metrics"]["accuracy"]
    tests.check(f"{device}: accuracy", accuracy > 0.8, f"expected more than 0.8, got {accuracy}")
    steps = EPOCHS * 11
    tests.check(f"{device}: steps", metadata["step"] == str(steps) and tensors["step"] == steps, f"expected {steps}, got {metadata['step']} and {tensors['step']}")

    # In the middle of an epoch, and at its end. A cosine would end at the last step of each run.
    tests.run("vx-train", *usual, "--save", whole)
    for stop in (15, 22):
        folder = f"{device}-{stop}"
        tests.run("vx-train", *usual, "--checkpoint", folder, "--max-steps", stop)
        tests.run("vx-train", *usual, "--resume", folder, "--save", f"{folder}.safetensors")
        tests.check(f"{device}: goes on from step {stop}", tests.bytes_of(f"{folder}.safetensors") == tests.bytes_of(whole), "other bytes")
    if device == "cpu":
        tests.run("vx-train", *usual, "--threads=2", "--save", "threads.safetensors")
        tests.check("two threads", tests.bytes_of("threads.safetensors") == tests.bytes_of(whole), "other bytes")


def check_messages(tests, labels):
    bad = labels.copy()
    bad[41] = 10
    np.save(os.path.join(tests.folder, "bad", "label.npy"), bad)
    done = tests.run("vx-train", "mlp.vxm", "--device=cpu", "--data=bad", "--save=x", code=3)
    tests.check("a label out of range", done.stderr == "vx-train: error: bad/label.npy: row 41 has 10, expected 0 to 9\n", done.stderr)
    np.save(os.path.join(tests.folder, "bad", "label.npy"), labels.astype(np.float32))
    done = tests.run("vx-train", "mlp.vxm", "--device=cpu", "--data=bad", "--save=x", code=3)
    tests.check("labels of another type", "bad/label.npy: input 'label': expected i64[batch], got f32[338] (f32 does not become i64 by itself, since that may lose" in done.stderr, done.stderr)
    far = np.load(os.path.join(tests.folder, "bad", "image.npy")).astype(np.float64)
    far[41, 0, 7, 3] = -1e39
    np.save(os.path.join(tests.folder, "bad", "image.npy"), far)
    np.save(os.path.join(tests.folder, "bad", "label.npy"), labels)
    done = tests.run("vx-train", "mlp.vxm", "--device=cpu", "--data=bad", "--save=x", code=3)
    tests.check("an image that f32 does not hold", done.stderr == "vx-train: error: bad/image.npy: row 41, element 59, has -1e+39, expected a value that f32 holds: "
                "-3.40282347e+38 to 3.40282347e+38\n", done.stderr)
    done = tests.run("vx-train", "mlp.vxm", "--device=cpu", "--summary")
    tests.check("summary", done.stdout.endswith("3610 (3.6K)\n") and "fc1.weight  f32[48,64]   3072\n" in done.stdout, done.stdout)


def check_types(tests, images, labels):
    """Labels of other integers, and images in f64, are the same training."""
    usual = ["vx-train", "mlp.vxm", "--device=cpu", "--data=types", "--validation=types", "--epochs=2", f"--batch-size={BATCH}"]
    write_data(tests.folder, "types", images, labels)
    tests.run(*usual, "--save=types.safetensors")
    want = tests.bytes_of("types.safetensors")
    for image, label in ((np.float32, np.int32), (np.float64, np.uint8), (np.float64, np.uint64)):
        np.save(os.path.join(tests.folder, "types", "image.npy"), images.astype(image))
        np.save(os.path.join(tests.folder, "types", "label.npy"), labels.astype(label))
        tests.run(*usual, "--save=types.safetensors")
        tests.check(f"images of {image.__name__}, labels of {label.__name__}", tests.bytes_of("types.safetensors") == want, "other bytes than of f32 and i64")


def check_model(tests):
    """A model that is compiled in memory is the same training."""
    arguments = ["--device=cpu", "--data=train", f"--epochs={EPOCHS}", f"--batch-size={BATCH}", f"--lr={RATE}", f"--warmup={WARMUP}", f"--seed={SEED}"]
    tests.run("vx-train", "mlp.vxm", *arguments, "--save=module.safetensors")
    made = ["--loss=cross_entropy", "--optimizer=adamw"]
    tests.run("vx-train", "mlp.onnx", *made, *arguments, "--save=model.safetensors")
    tests.check("a model", tests.bytes_of("model.safetensors") == tests.bytes_of("module.safetensors"), "other bytes than its module gives")
    tests.run("vx-train", "mlp.onnx", *made, *arguments, "--emit=emitted.vxm", "--save=model.safetensors")
    tests.check("a model whose module is kept", tests.bytes_of("model.safetensors") == tests.bytes_of("module.safetensors"), "other bytes")
    done = tests.run("vx-train", "emitted.vxm", "--device=cpu", "--summary")
    tests.check("its module", "3610 (3.6K)" in done.stdout, done.stdout)
    frozen = tests.run("vx-train", "mlp.onnx", *made, "--freeze=fc1.*", "--device=cpu", "--summary")
    tests.check("a model that is frozen in part", "490 (490)" in frozen.stdout and "fc1" not in frozen.stdout, frozen.stdout)
    # A group's learning rate as a number is the same as a multiple of that of the others, which is 1e-3 without --lr.
    written = {}
    for title, text, rate in (("a multiple", "lr=0.5x", ["--lr=4e-3"]), ("a number", "lr=2e-3", ["--lr=4e-3"]), ("a decay too", "weight_decay=0.01,lr=.002", ["--lr=4e-3"]),
                              ("the usual rate", "lr=2e-3", []), ("twice that", "lr=2x", [])):
        tests.run("vx-train", "mlp.onnx", *made, f"--param-group=fc1.*:{text}", *rate, "--device=cpu", "--data=train", "--epochs=1", "--seed=1", "--save=group.safetensors")
        written[title] = {name: tensor.tobytes() for name, tensor in read_tensors(os.path.join(tests.folder, "group.safetensors"))[0].items()}
    tests.check("a group's rate as a number", written["a multiple"] == written["a number"] == written["a decay too"] != written["the usual rate"] == written["twice that"], "other weights")
    for text, rate, says in (("lr=2e-3", "0", "--param-group 'fc1.*:lr=2e-3': expected --lr above 0, of which 0.002 is a multiple, got 0"), ("lr=fast", "1e-3", "expected a multiple of the learning rate as lr"),
                             ("lr=-1", "1e-3", "expected a multiple of the learning rate as lr")):
        wrong = tests.run("vx-train", "mlp.onnx", *made, f"--param-group=fc1.*:{text}", f"--lr={rate}", "--device=cpu", "--data=train", code=2)
        tests.check(f"a group with {text}, --lr={rate}", says in wrong.stderr, wrong.stderr)
    wrong = tests.run("vx-train", "mlp.onnx", "--loss=unknown", *arguments, code=2)
    tests.check("an unknown loss", "vx-train: error: " in wrong.stderr and "'unknown'" in wrong.stderr, wrong.stderr)
    missing = tests.run("vx-train", "none.onnx", *made, *arguments, code=3)
    tests.check("no model", missing.stderr == "vx-train: error: cannot read 'none.onnx'\n", missing.stderr)


def check_forms(tests):
    """Dropouts and a batch norm: random numbers and statistics go on where they were, in the middle of an epoch."""
    make_model(os.path.join(tests.folder, "forms.onnx"), has_forms=True)
    made = ["forms.onnx", "--loss=cross_entropy", "--optimizer=adamw", "--device=cpu", "--batch-norm=train"]
    usual = ["forms.vxm", "--device=cpu", "--data=train", "--validation=test", "--epochs=3", f"--batch-size={BATCH}", f"--lr={RATE}", "--seed=7"]
    tests.run("vx-train", *made, "--emit=forms.vxm", "--summary")
    tests.run("vx-train", *usual, "--save=forms", "--history=forms.json", "--export=trained.onnx")
    tests.run("vx-train", *usual, "--checkpoint=forms-run", "--max-steps", 15)
    tests.run("vx-train", *usual, "--resume=forms-run", "--save=resumed")
    tests.check("random numbers go on from step 15", tests.bytes_of("forms") == tests.bytes_of("resumed"), "other bytes")
    tests.run("vx-train", *usual, "--threads=0", "--save=all")
    tests.check("random numbers with all threads", tests.bytes_of("forms") == tests.bytes_of("all"), "other bytes")
    tensors, _ = read_tensors(os.path.join(tests.folder, "forms"))
    tests.check("collected statistics", abs(tensors["bn.mean"]).min() > 1e-4 and abs(tensors["bn.variance"] - 1).min() > 1e-4, f"{tensors['bn.mean']}, {tensors['bn.variance']}")
    exported = {value.name: numpy_helper.to_array(value) for value in onnx.load(os.path.join(tests.folder, "trained.onnx")).graph.initializer}
    tests.check("statistics of the export", all(exported[name].tobytes() == tensors[name].tobytes() for name in ("bn.mean", "bn.variance")), "others than the checkpoint's")
    with open(os.path.join(tests.folder, "forms.json")) as file:
        epochs = json.load(file)["epochs"]
    tests.check("what drops learns", epochs[-1]["validation"]["metrics"]["accuracy"] > 0.8, epochs[-1])
    # Each of the batches of a step has a seed of its own, in the half that leaves gradients as well.
    halves = [*usual[2:], "--accumulate=2", "--max-steps=4"]
    for name, more in (("halves", []), ("halves-frozen", ["--dropout=frozen"])):
        tests.run("vx-train", *made, *more, *halves, f"--save={name}")
    tests.check("dropouts of several batches", tests.bytes_of("halves") != tests.bytes_of("halves-frozen"), "the same bytes as without them")
    plain = [*usual[1:], "--dropout=frozen", "--save=plain"]
    tests.run("vx-train", *made, *plain[1:])
    tests.check("without dropouts", tests.bytes_of("plain") != tests.bytes_of("forms"), "the same bytes")


def check_scaled(tests, images, labels):
    """In f16, with targets so large that gradients overflow: steps are skipped until the scale of the loss fits, that is said, and training goes on bit by bit."""
    os.makedirs(os.path.join(tests.folder, "far"))
    np.save(os.path.join(tests.folder, "far", "image.npy"), images)
    np.save(os.path.join(tests.folder, "far", "target.npy"), np.eye(10, dtype=np.float32)[labels] * 1000)
    made = ["mlp.onnx", "--loss=mse", "--optimizer=adamw", "--precision=f16"]
    usual = ["--device=cpu", "--data=far", "--epochs=3", f"--batch-size={BATCH}", "--lr=1e-3", "--seed=7"]
    done = tests.run("vx-train", *made, *usual, "--emit=far.vxm", "--save=far.safetensors", "--history=far.json")
    tensors, metadata = read_tensors(os.path.join(tests.folder, "far.safetensors"))
    scale, good, skipped = (tensors[name].item() for name in ("loss_scale", "loss_scale.good", "loss_scale.skipped"))
    tests.check("scaled: skips", skipped >= 3 and scale == 2.0 ** (16 - skipped), f"scale {scale}, skipped {skipped}")
    tests.check("scaled: steps", tensors["step"] == 33 - skipped and metadata["step"] == "33" and good <= 33 - skipped, (tensors["step"], metadata["step"], good))
    with open(os.path.join(tests.folder, "far.json")) as file:
        history = json.load(file)
    epochs = history["epochs"]
    tests.check("scaled: history", sum(epoch["skipped"] for epoch in epochs) == skipped and epochs[-1]["loss_scale"] == scale and epochs[0]["skipped"] > 0, epochs)
    first = epochs[0]["skipped"]
    note = f"steps 1 to 11: {first} were skipped, whose gradients were not finite; the loss is scaled by {2 ** (16 - first)} now"
    tests.check("scaled: the note", history["notes"] == [note] and f"note: {note}\n" in done.stderr, history["notes"])
    tests.check("scaled: the line", f"  skipped {first}  (" in done.stdout.splitlines()[0], done.stdout)
    tests.check("scaled: the loss is that of the model", abs(epochs[0]["loss"] / 1e5 - 1) < 0.1, epochs[0])
    tests.check("scaled: all is finite", all(np.isfinite(value).all() for value in tensors.values()), "numbers that are none")
    # In the middle of an epoch, while steps are skipped and behind that; of the steps of an epoch the file knows how many were.
    for stop in (3, 17):
        tests.run("vx-train", "far.vxm", *usual, f"--checkpoint=far-{stop}", "--max-steps", stop)
        tests.run("vx-train", "far.vxm", *usual, f"--resume=far-{stop}", "--save=resumed", "--history=resumed.json")
        tests.check(f"scaled: goes on from step {stop}", tests.bytes_of("resumed") == tests.bytes_of("far.safetensors"), "other bytes")
        with open(os.path.join(tests.folder, "resumed.json")) as file:
            resumed = json.load(file)["epochs"]
        tests.check(f"scaled: counts from step {stop}", [epoch["skipped"] for epoch in resumed] == [epoch["skipped"] for epoch in epochs[-len(resumed):]], resumed)
    # Gradients of a mean over fewer rows are larger, so that the scale that fits is less; one part that overflows is enough.
    tests.run("vx-train", *made, *[flag for flag in usual if "batch" not in flag], f"--batch-size={BATCH // 4}", "--accumulate=4", "--save=parts")
    parts, _ = read_tensors(os.path.join(tests.folder, "parts"))
    tests.check("scaled: several batches", parts["loss_scale"] == 2.0 ** (16 - parts["loss_scale.skipped"]) < scale and parts["step"] == 33 - parts["loss_scale.skipped"] and
                all(np.isfinite(value).all() for value in parts.values()), (parts["loss_scale"], parts["loss_scale.skipped"], parts["step"]))
    # A loss that is no number is not the scale's doing, and leaves what is trained as it was; without a scale it does not.
    strange = images.copy()
    strange[5] = np.nan
    os.makedirs(os.path.join(tests.folder, "strange"))
    np.save(os.path.join(tests.folder, "strange", "image.npy"), strange)
    np.save(os.path.join(tests.folder, "strange", "label.npy"), labels)
    for precision, finite in (("f16", True), ("f32", False)):
        done = tests.run("vx-train", "mlp.onnx", "--loss=cross_entropy", f"--precision={precision}", "--device=cpu", "--data=strange", f"--batch-size={BATCH}", "--save=strange.safetensors")
        tensors, _ = read_tensors(os.path.join(tests.folder, "strange.safetensors"))
        tests.check(f"a loss that is none, {precision}: weights", all(np.isfinite(value).all() for value in tensors.values()) == finite, f"expected them finite: {finite}")
        told = [line for line in done.stderr.splitlines() if ": the loss is nan, at a rate of " in line]
        tests.check(f"a loss that is none, {precision}: steps", tensors["step"] == (10 if finite else 11), tensors["step"])
        tests.check(f"a loss that is none, {precision}: told", len(told) == 1 and told[0].endswith("are not finite in f16") == finite and
                    ("the step is skipped. The scale is that of gradients" in told[0]) == finite, done.stderr)
    summary = tests.run("vx-train", "far.vxm", "--device=cpu", "--summary")
    tests.check("summary of a scale", summary.stdout.endswith("3610 (3.6K)\nloss scale 65536, 0 good steps since it changed, 0 steps skipped\n"), summary.stdout)


def check_seeds(tests):
    """Each step draws by a seed of its own: of a row of ones the mean behind a dropout says how many were kept."""
    with open(os.path.join(tests.folder, "kept.mlir"), "w") as file:
        file.write("""vx.symbol "n"
vx.variable @w role = parameter : tensor<512xf32> = dense<1.0> : tensor<512xf32>
func.func @main(%x: tensor<?x512xf32, #vx.enc<[n, 512]>> {vx.name = "image"}) -> (tensor<?x512xf32, #vx.enc<[n, 512]>> {vx.name = "y"}) {
  %w = vx.variable_load @w : tensor<512xf32>
  %r = vx.broadcast %w, [1] : tensor<512xf32> -> tensor<?x512xf32, #vx.enc<[n, 512]>>
  %p = vx.mul %x, %r : tensor<?x512xf32, #vx.enc<[n, 512]>>, tensor<?x512xf32, #vx.enc<[n, 512]>>
  %y, %m = vx.dropout %p ratio = 0.5 : tensor<?x512xf32, #vx.enc<[n, 512]>>
  return %y : tensor<?x512xf32, #vx.enc<[n, 512]>>
}
""")
    os.makedirs(os.path.join(tests.folder, "ones"))
    np.save(os.path.join(tests.folder, "ones", "image.npy"), np.ones((1, 512), np.float32))
    tests.run("vx-train", "kept.mlir", "--loss=none", "--optimizer=sgd", "--device=cpu", "--data=ones", "--epochs=5", "--batch-size=1", "--lr=0", "--seed=7",
              "--history=kept.json")
    with open(os.path.join(tests.folder, "kept.json")) as file:
        losses = [epoch["loss"] for epoch in json.load(file)["epochs"]]
    want = []
    for step in range(5):
        bits = [word for block in range(128) for word in philox(words(block, 0), seed_of(7, step))]
        want.append(sum(word >= 2**31 for word in bits) / 256)
    tests.check("seeds of steps", losses == want and len(set(want)) > 1, f"{losses}, expected {want}")


def check_rounded(tests, images, examples):
    """A network whose data and weights are rounded to integers gets better with the rounding in it, and its weights are trained alone."""
    model = quantization.quantized(onnx.load(os.path.join(examples, "digits", "digits.onnx")), {"image": images}, tests.folder)
    onnx.save(model, os.path.join(tests.folder, "rounded.onnx"))
    done = tests.run("vx-train", "rounded.onnx", "--loss=cross_entropy", "--optimizer=adamw", "--device=cpu", "--data=train", "--epochs=2", "--batch-size=32", "--lr=3e-4",
                     "--export=rounded_trained.onnx")
    notes = dict(line.split()[2:4] for line in done.stderr.splitlines() if "trained  " in line or "frozen  " in line)
    want = {tensor.name: "frozen" if tensor.name.endswith("/scale") else "trained" for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    tests.check("rounded: what is trained", notes == want and "trained" in notes.values(), f"{notes}, expected {want}")
    test, labels = (np.load(os.path.join(tests.folder, "test", f"{name}.npy")) for name in ("image", "label"))
    right = []
    for name in ("rounded.onnx", "rounded_trained.onnx"):
        session = quantization.plain_session(os.path.join(tests.folder, name))
        right.append(int((session.run(None, {"image": test.reshape(-1, 1, 8, 8)})[0].argmax(1) == labels).sum()))
    tests.check("rounded: the trained network is better", right[1] > right[0], f"{right} of {len(labels)} are right")


def check_recurrent(tests):
    """A bidirectional LSTM and a GRU learn to count, from random weights."""
    random = np.random.default_rng(4)
    numbers = random.integers(0, 2, (400, 9))
    for name, part in (("counts", slice(0, 320)), ("more_counts", slice(320, None))):
        os.makedirs(os.path.join(tests.folder, name))
        np.save(os.path.join(tests.folder, name, "x.npy"), numbers[part, :, None].astype(np.float32))
        np.save(os.path.join(tests.folder, name, "label.npy"), numbers[part].sum(1) % 3)
    weight = lambda name, *shape: onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)
    hidden = 16
    weights = [weight("w1", 2, 4 * hidden, 1), weight("r1", 2, 4 * hidden, hidden), weight("b1", 2, 8 * hidden), weight("w2", 1, 3 * hidden, 2 * hidden),
               weight("r2", 1, 3 * hidden, hidden), weight("b2", 1, 6 * hidden), weight("w3", hidden, 3),
               onnx.numpy_helper.from_array(np.array([0, 0, -1], np.int64), "joined"), onnx.numpy_helper.from_array(np.array([-1, hidden], np.int64), "rows")]
    node = onnx.helper.make_node
    nodes = [node("Transpose", ["x"], ["by_length"], perm=[1, 0, 2]), node("LSTM", ["by_length", "w1", "r1", "b1"], ["both"], hidden_size=hidden, direction="bidirectional"),
             node("Transpose", ["both"], ["beside"], perm=[0, 2, 1, 3]), node("Reshape", ["beside", "joined"], ["features"]),
             node("GRU", ["features", "w2", "r2", "b2"], ["", "last"], hidden_size=hidden), node("Reshape", ["last", "rows"], ["row"]), node("MatMul", ["row", "w3"], ["logits"])]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "counter", [value("x", onnx.TensorProto.FLOAT, ["batch", "length", 1])],
                                   [value("logits", onnx.TensorProto.FLOAT, ["batch", 3])], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=10), os.path.join(tests.folder, "counter.onnx"))
    tests.run("vx-train", "counter.onnx", "--loss=cross_entropy", "--optimizer=adamw", "--init=random", "--device=cpu", "--data=counts", "--epochs=60", "--batch-size=32",
              "--lr=1e-2", "--seed=1", "--export=counter_trained.onnx")
    session = quantization.plain_session(os.path.join(tests.folder, "counter_trained.onnx"))
    x, labels = (np.load(os.path.join(tests.folder, "more_counts", f"{name}.npy")) for name in ("x", "label"))
    right = float((session.run(None, {"x": x})[0].argmax(1) == labels).mean())
    tests.check("recurrent: it counts", right >= 0.95, f"{right:.0%} of what it has not seen are right")


def check_example(tests, examples):
    """The example trains, and goes on where it was."""
    arguments = ["mlp.vxm", os.path.join(examples, "digits"), "cpu"]
    done = tests.run("training", *arguments, 4)
    tests.check("the example begins", "\nepoch 4/4  step 44  " in done.stdout, done.stdout)
    done = tests.run("training", *arguments, 8)
    tests.check("the example goes on", "epoch 4/8" not in done.stdout and "\nepoch 5/8  step 55  " in done.stdout, done.stdout)
    last = done.stdout.splitlines()[-1]
    tests.check("the example learns", last.startswith("112 images, accuracy 0.") and float(last.split()[-1]) > 0.8, last)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    images = np.fromfile(os.path.join(options.examples, "digits", "images.f32"), np.float32).reshape(-1, 1, 8, 8)
    labels = np.fromfile(os.path.join(options.examples, "digits", "labels.u8"), np.uint8).astype(np.int64)
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(options.bin), folder)
        count = 338  # ten batches and a short one
        for name, part in (("train", slice(0, count)), ("bad", slice(0, count)), ("test", slice(count, None))):
            write_data(folder, name, images[part], labels[part])
        weights = make_model(os.path.join(folder, "mlp.onnx"))
        tests.run("vx-compile", "mlp.onnx", f"--target={','.join(devices)}", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw", "-o", "mlp.vxm")
        want, losses = train(weights, images[:count], labels[:count])
        for device in devices:
            check_device(tests, device, want, losses)
        check_messages(tests, labels[:count])
        check_types(tests, images[:count], labels[:count])
        check_model(tests)
        check_accumulated(tests, want, losses)
        check_forms(tests)
        check_scaled(tests, images[:count], labels[:count])
        check_seeds(tests)
        check_head(tests, images[:count], labels[:count], weights)
        check_rounded(tests, images[:count].astype(np.float32), options.examples)
        check_recurrent(tests)
        check_example(tests, os.path.abspath(options.examples))
        print(f"{tests.passed} passed, {tests.failed} failed on {' and '.join(devices)}")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
