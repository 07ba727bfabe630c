#!/usr/bin/env python3
"""vx-train on a folder of images by class and on CSV files: the steps are those on the same numbers as .npy files, bit by bit.

  run_train_data.py --bin BUILD/bin

Images are written here as PNG and decoded by libvx_image. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import struct
import sys
import tempfile
import zlib

from run_models import np, onnx
from run_vx_train import Tests, read_tensors
from onnx import TensorProto, helper, numpy_helper

CLASSES = ["Zebra", "ant", "bee"] # sorted
SIDE, ROWS = 6, 24
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def png(pixels):
    """A file of pixels [height, width, 3]."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def save(path, inputs, shape, features, nodes, classes=3):
    random = np.random.default_rng(1)
    weights = {"fc.weight": random.standard_normal((classes, features)).astype(np.float32) * 0.1, "fc.bias": np.zeros(classes, np.float32)}
    nodes = [*nodes, helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], transB=1)]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])], [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if isinstance(data, bytes) else "w") as file:
        file.write(data)


def write_arrays(tests, name, **arrays):
    os.makedirs(tests.path(name), exist_ok=True)
    for key, array in arrays.items():
        np.save(os.path.join(tests.path(name), f"{key}.npy"), array)


def same(tests, title, how, other, *options):
    """Training on `how` ends in the same bytes as on the arrays `other`."""
    usual = ["--loss=cross_entropy", "--optimizer=sgd:momentum=0.9", "--lr=0.1", "--epochs=3", "--batch-size=7", "--seed=5", "--device=cpu", *options]
    done = tests.run("vx-train", *how, *usual, "--save=one.safetensors", "--history=one.json")
    arrays = tests.run("vx-train", how[0], f"--data={other}", *usual, "--save=two.safetensors")
    tests.check(f"{title}: exit codes", (done.returncode, arrays.returncode) == (0, 0), done.stderr + arrays.stderr)
    one, two = (read_tensors(tests.path(f"{name}.safetensors"))[0] for name in ("one", "two"))
    wrong = [name for name in two if one[name].tobytes() != two[name].tobytes()]
    tests.check(f"{title}: the same steps", not wrong and len(one) == len(two), wrong)
    with open(tests.path("one.json")) as file:
        return done, json.load(file), read_tensors(tests.path("one.safetensors"))[1]


def check_images(tests):
    random = np.random.default_rng(2)
    images = random.integers(0, 256, (ROWS, SIDE, SIDE, 3)).astype(np.uint8)
    labels = np.sort(random.integers(0, 3, ROWS))
    for row, (image, label) in enumerate(zip(images, labels)):
        write(tests.path(f"animals/{CLASSES[label]}/{'deep/' if row % 5 == 4 else ''}{'z' if row % 5 == 4 else 'i'}{row:03}.png"), png(image))
    order = sorted(range(ROWS), key=lambda row: (labels[row], f"{'deep/z' if row % 5 == 4 else 'i'}{row:03}.png"))
    images, labels = images[order], labels[order]
    unit = (images.astype(np.float64) / 255).transpose(0, 3, 1, 2)
    save(tests.path("net.onnx"), ["image"], ["batch", 3, SIDE, SIDE], 3 * SIDE * SIDE, [helper.make_node("Flatten", ["image"], ["flat"])])
    save(tests.path("open.onnx"), ["image"], ["batch", "h", "w", 3], 3, [helper.make_node("ReduceMean", ["image"], ["flat"], axes=[1, 2], keepdims=0)])
    write_arrays(tests, "unit", image=unit.astype(np.float32), label=labels)
    write_arrays(tests, "imagenet", image=((unit - MEAN[:, None, None]) / DEVIATION[:, None, None]).astype(np.float32), label=labels)
    write_arrays(tests, "last", image=((images / 255 - 0.5) / 0.5).astype(np.float32)[:, 1:5, 1:5], label=labels)
    done, history, metadata = same(tests, "images", ["net.onnx", "--data=animals"], "unit", "--validation=0.25")
    text = f"images of {SIDE} x {SIDE} pixels, RGB, resized as a whole, samples from 0 to 1"
    tests.check("images: what is recorded", (history["data"], history["classes"], metadata["data"]) == (text, CLASSES, text), (history, metadata))
    tests.check("images: notes", f"note: {ROWS * 3 // 4} {text}\n" in done.stderr and "note: classes: 0 'Zebra', 1 'ant', 2 'bee'\n" in done.stderr, done.stderr)
    same(tests, "images by ImageNet's mean", ["net.onnx", "--data=animals", "--normalize=imagenet"], "imagenet")
    same(tests, "images, numbers given", ["net.onnx", "--data=animals", "--normalize=0.485,0.456,0.406:0.229,0.224,0.225"], "imagenet")
    same(tests, "images, the centre, channels last", ["open.onnx", "--data=animals", "--image-size=4", f"--resize={SIDE}", "--normalize=signed"], "last")
    tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--data=animals", "--max-steps=1", "--save=a.safetensors", "--device=cpu")
    done = tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--data=animals", "--normalize=signed", "--resume=a.safetensors", "--epochs=1", "--save=b.safetensors", "--device=cpu")
    tests.check("images: another normalisation", f"the checkpoint is of a training on {text}; the data are images of {SIDE} x {SIDE} pixels, RGB, resized as a whole, (sample / 255 - 0.5 0.5 0.5) / 0.5 0.5 0.5 now"
                in done.stderr, done.stderr)
    write(tests.path("more/four/a.png"), png(images[0]))
    for name in CLASSES:
        write(tests.path(f"more/{name}/a.png"), png(images[0]))
    write(tests.path("broken/Zebra/a.png"), png(images[0])[:60])
    usual = ["net.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s"]
    for options, code, text in ((["--data=more"], 3, "data: 'more' has 4 classes, 'Zebra', 'ant', 'bee', 'four', expected at most 3, those of the model; --classes=4 makes a new head of an ONNX file"),
                                (["--data=animals", "--validation=more"], 3, "more: expected the classes of the data to train on, 'Zebra', 'ant', 'bee', got 'Zebra', 'ant', 'bee', 'four'"),
                                (["--data=broken"], 3, "broken/Zebra/a.png: the PNG image of 60 bytes: "), (["--data=animals", "--label=x"], 2, "--label is for a CSV file, and --data is 'animals'"),
                                (["--data=unit", "--resize=9"], 2, "--resize is for a folder of images by class, and --data is 'unit'"),
                                (["--data=animals", "--resize=5"], 2, "images: expected a shorter side from 6 to 16384, of which 6 x 6 pixels are cut out, got 5"),
                                (["--data=animals", "--image-size=5"], 2, "--image-size: expected the sizes of 'image', which is f32[batch,3,6,6], got 5"),
                                (["--data=animals", "--image-size=5x"], 2, "--image-size: expected a size such as 224 or 224x320 (height, width), got '5x'"),
                                (["--data=animals", "--normalize=half"], 2, "--normalize: expected unit, signed, imagenet or MEAN,...:DEVIATION,..., got 'half'"),
                                (["--data=animals", "--normalize=0.5:0"], 2, "images: expected a finite deviation above 0, got 0")):
        done = tests.run("vx-train", *usual, *options, code=code)
        tests.check(f"{options}: the message", f"vx-train: error: {text}" in done.stderr, done.stderr)
    done = tests.run("vx-train", "open.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", "--data=animals", code=2)
    tests.check("images of any size", "--image-size: expected it for 'image', which is f32[batch,h,w,3], got none" in done.stderr, done.stderr)
    done = tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--device=cpu", "--classes=4", "--data=more", "--save=s")
    tests.check("images, a new head", done.returncode == 0, done.stderr)


def check_parts(tests):
    """A folder with the parts of a data set: the message names the flags. Classes of these names are classes."""
    for folder, parts, flags in (
            ("arrays_of", ("train", "test"), "--data arrays_of/train --validation arrays_of/test"),
            ("three", ("test", "train", "val"), "--data three/train --validation three/val"),
            ("short", ("train", "valid"), "--data short/train --validation short/valid"),
            ("other", ("train", "dev"), "--data other/train --validation other/dev"),
            ("long", ("training", "validation", "test"), "--data long/training --validation long/validation")):
        for part in parts:
            write_arrays(tests, f"{folder}/{part}", image=np.zeros((2, 3, SIDE, SIDE), np.float32), label=np.zeros(2, np.int64))
        done = tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", f"--data={folder}", code=3)
        names = ", ".join(f"'{part}'" for part in sorted(parts))
        tests.check(f"{folder}: the message", f"vx-train: error: data: '{folder}' has the parts of a data set, {names}, and no folders of classes: expected {flags}\n" in done.stderr, done.stderr)
    for part in ("train", "val"):
        for name in CLASSES:
            write(tests.path(f"images_of/{part}/{name}/a.png"), png(np.zeros((SIDE, SIDE, 3), np.uint8)))
    done = tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", "--data=images_of", code=3)
    tests.check("images by part and class", "expected --data images_of/train --validation images_of/val\n" in done.stderr, done.stderr)
    tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", "--data=images_of/train", "--validation=images_of/val")
    # Vehicles and what else these names may be.
    for folder, names in (("vehicles", ("test", "train")), ("alone", ("train",)), ("odd", ("test", "train", "truck")), ("tests", ("test", "val"))):
        for name in names:
            write(tests.path(f"{folder}/{name}/{'deep/' if folder in ('odd', 'alone', 'tests') else ''}a.png"), png(np.zeros((SIDE, SIDE, 3), np.uint8)))
        done = tests.run("vx-train", "net.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", f"--data={folder}")
        tests.check(f"{folder}: classes", f"note: classes: {', '.join(f'{i} {chr(39)}{name}{chr(39)}' for i, name in enumerate(names))}\n" in done.stderr, done.stderr)
    text = tests.run("vx-train", "--help").stdout
    tests.check("the examples name the parts", "--data digits/train " in text and "--data digits " not in text, text)


def check_tables(tests):
    random = np.random.default_rng(3)
    x = random.standard_normal((ROWS, 4)).astype(np.float32)
    labels = random.integers(0, 3, ROWS)
    save(tests.path("table.onnx"), ["x"], ["batch", 4], 4, [helper.make_node("Identity", ["x"], ["flat"])])
    write_arrays(tests, "arrays", x=x, label=labels)
    rows = [[*(repr(float(value)) for value in row[:2]), f'"{CLASSES[label]}"', *(repr(float(value)) for value in row[2:])] for row, label in zip(x, labels)]
    lines = [",".join(row) for row in rows]
    write(tests.path("names.csv"), "\r\n".join(["a,b,kind,c,d", *lines]))
    write(tests.path("numbers.csv"), "\n".join(["a;b;label;c;d", *(";".join([*row[:2], str(label), *row[3:]]) for row, label in zip(rows, labels))]))
    _, history, _ = same(tests, "a CSV file", ["table.onnx", "--data=names.csv", "--label=kind"], "arrays", "--validation=0.2")
    tests.check("a CSV file: classes", history["classes"] == CLASSES and "data" not in history, history)
    same(tests, "a CSV file of numbers", ["table.onnx", "--data=numbers.csv"], "arrays")
    write(tests.path("part.csv"), "\n".join(["a,b,kind,c,d", "1,2,bee,3,4"]))
    write(tests.path("other.csv"), "\n".join(["a,b,kind,c,d", "1,2,bee,3,4", "1,2,cat,3,4"]))
    write(tests.path("far.csv"), "\n".join(["a,b,label,c,d", "1,2,0,3,4", "1,2,3,3,4"]))
    done = tests.run("vx-train", "table.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", "--data=names.csv", "--label=kind", "--validation=part.csv")
    tests.check("a CSV file of some classes to validate on", done.returncode == 0, done.stderr)
    for options, code, text in ((["--data=names.csv", "--label=kind", "--validation=other.csv"], 3, "other.csv: line 3, column 'kind': expected one of the classes 'Zebra', 'ant', 'bee', got 'cat'"),
                                (["--data=names.csv", "--label=kinds"], 3, "names.csv: no column 'kinds', did you mean 'kind'; it has 'a', 'b', 'kind', 'c', 'd'"),
                                (["--data=far.csv"], 3, "far.csv: column 'label': row 1 has 3, "), (["--data=far.txt"], 3, "data: expected a folder of .npy files or of images by class, or a .csv file, got 'far.txt'"),
                                (["--label=kind", "--export=e.onnx"], 2, "--label: expected --data with it, got none"), (["--data=none.csv"], 3, "none.csv: ")):
        done = tests.run("vx-train", "table.onnx", "--loss=cross_entropy", "--device=cpu", "--save=s", *options, code=code)
        tests.check(f"{options}: the message", f"vx-train: error: {text}" in done.stderr, done.stderr)


def convolution(path, names=("conv.weight", "conv.bias"), metadata=None, has_norm=False):
    random = np.random.default_rng(4)
    nodes = [helper.make_node("Conv", ["image", *names], ["c"], "conv"), helper.make_node("ReduceMean", ["c"], ["logits"], axes=[2, 3], keepdims=0)]
    weights = [numpy_helper.from_array(random.standard_normal((3, 3, 3, 3)).astype(np.float32), names[0]), numpy_helper.from_array(np.zeros(3, np.float32), names[1])]
    if has_norm:
        nodes.insert(1, helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]))
        nodes[-1].input[0] = "n"
        weights += [numpy_helper.from_array(np.full(3, value, np.float32), name) for name, value in (("scale", 1), ("shift", 0), ("mean", 0), ("variance", 1))]
    if metadata:
        entry = nodes[0].metadata_props.add()
        entry.key, entry.value = "pkg.torch.onnx.class_hierarchy", metadata
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def product(path, name, rank, has_dropout):
    random = np.random.default_rng(4)
    nodes = [helper.make_node("ReduceMean", ["image"], ["mean"], axes=[2, 3], keepdims=0), helper.make_node("MatMul", ["mean", "fc.weight"], ["hidden"]),
             helper.make_node("Add", ["hidden", "fc.bias"], ["logits"])]
    names = {"fc.weight": name if rank == 2 else "fc.weight", "fc.bias": name if rank == 1 else "fc.bias"}
    for node in nodes:
        node.input[:] = [names.get(one, one) for one in node.input]
    if has_dropout:
        nodes.insert(1, helper.make_node("Dropout", ["mean"], ["some"]))
        nodes[2].input[0] = "some"
    weights = [numpy_helper.from_array(random.standard_normal((3, 3)).astype(np.float32), names["fc.weight"]), numpy_helper.from_array(np.zeros(3, np.float32), names["fc.bias"])]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def check_lost(tests):
    """A warning for files whose batch norms an export has folded, or whose dropouts it has left out; none for other files."""
    for name, rank, has_dropout, is_lost in (("onnx::MatMul_15", 2, False, True), ("val_3", 2, False, True), ("onnx::Gemm_7", 2, False, True), ("val_3", 2, True, False), ("val_3", 1, False, False),
                                             ("val_", 2, False, False), ("val_3x", 2, False, False), ("fc.weight", 2, False, False)):
        product(tests.path("product.onnx"), name, rank, has_dropout)
        done = tests.run("vx-train", "product.onnx", "--loss=cross_entropy", "--data=animals", "--save=s", "--device=cpu")
        text = f"note: warning: the model's file is an export for inference, as the weight '{name}' shows, which has no name of the module: dropouts are left out of it"
        tests.check(f"'{name}', rank {rank}{', a dropout' * has_dropout}", text in done.stderr if is_lost else "warning" not in done.stderr, done.stderr)
    folded, hierarchy = ("onnx::Conv_15", "onnx::Conv_16"), "['torch.nn.modules.container.Sequential', 'torch.nn.modules.batchnorm.BatchNorm2d']"
    for title, how, trace in (("names of the old exporter", {"names": folded}, "the weight 'onnx::Conv_15'"), ("metadata of the new exporter", {"metadata": hierarchy}, "the metadata of its nodes"),
                              ("a convolution alone", {}, None), ("another name", {"names": ("onnx::Conv_x", "conv.bias")}, None), ("a batch norm", {"metadata": hierarchy, "has_norm": True}, None)):
        convolution(tests.path("conv.onnx"), **how)
        for options in ([], ["--batch-norm=train"]):
            done = tests.run("vx-train", "conv.onnx", "--loss=cross_entropy", "--data=animals", "--save=s", "--device=cpu", *options)
            text = f"note: warning: the model's file has lost its batch norms, as {trace} shows: "
            tests.check(f"{title}: the warning", text in done.stderr if trace else "has lost" not in done.stderr, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(options.bin), folder)
        check_images(tests)
        check_parts(tests)
        check_tables(tests)
        check_lost(tests)
    return tests.finish()


if __name__ == "__main__":
    sys.exit(main())
