"""Steps of training under the least budget of memory against steps without one: the same parameters and gradients, bit by bit. The optimizer is SGD with
momentum, whose state behind the first step is the gradient."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from train_digits import run

SIZES = {"layers": [], "digits": ["--dim", "batch=256"], "text": ["--dim", "batch=64"]}


def make_layers(source, folder):
    random, data = np.random.default_rng(5), os.path.join(folder, "data")
    os.mkdir(data)
    np.save(os.path.join(data, "x.npy"), random.standard_normal((1024, 32)).astype(np.float32))
    np.save(os.path.join(data, "label.npy"), random.integers(0, 4, 1024))
    return os.path.join(source, "test", "Tools", "Inputs", "four-layers.mlir"), data, "cross_entropy"


def make_digits(source, folder):
    example = os.path.join(source, "examples", "train_digits")
    run(sys.executable, os.path.join(example, "data.py"), folder)
    return os.path.join(example, "network.onnx"), os.path.join(folder, "train"), "cross_entropy"


def make_text(source, folder):
    example = os.path.join(source, "examples", "train_text")
    run(sys.executable, os.path.join(example, "data.py"), folder)
    run(sys.executable, os.path.join(example, "network.py"), os.path.join(folder, "text.onnx"))
    return os.path.join(folder, "text.onnx"), os.path.join(folder, "train"), "cross_entropy:ignore_index=-100"


def compile_step(options, device, name, model, loss, module, *more):
    return subprocess.run([os.path.join(options.bin, "vx-compile"), model, f"--target={device}", *SIZES[name], "--train=auto", f"--loss={loss}",
                           "--optimizer=sgd:momentum=0.9", "-o", module, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def train(options, device, module, data, steps, path):
    run(os.path.join(options.bin, "vx-train"), module, "--data", data, "--lr=0.1", f"--max-steps={steps}", "--seed=3", f"--device={device}", "--no-fallback",
        "--threads=1", "--save", path)
    with open(path, "rb") as file:
        return file.read()


def check_tool(options, model, data, loss, module):
    """vx-train counts the batch that it is given, has the least budget told, and takes a budget for a model only."""
    def tool(*arguments):
        done = subprocess.run([os.path.join(options.bin, "vx-train"), *arguments, "--data", data, "--max-steps=1", "--device=cpu", "--no-fallback"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    least = {}
    for batch in (16, 64):
        code, text = tool(model, f"--loss={loss}", f"--batch-size={batch}", "--memory=1")
        found = re.search(r"^vx-train: error: --memory: expected at least (\d+) bytes for the arena of 'train_step' on cpu, got 1$", text, re.MULTILINE)
        if code != 2 or not found:
            return f"vx-train --memory=1 exits with {code}: {text}"
        least[batch] = int(found[1])
    if not 3 < least[64] / least[16] < 5:
        return f"the least budgets of 16 and 64 rows are {least}"
    code, text = tool(model, f"--loss={loss}", "--batch-size=16", f"--memory={least[16]}")
    if code != 0 or not re.search(r"takes \d+ bytes, \d+ without --memory, at batch=16; ", text):
        return f"vx-train --memory={least[16]} exits with {code}: {text}"
    code, text = tool(module, "--memory=1G")
    if code != 2 or "--memory is for a model; " not in text:
        return f"vx-train --memory=1G of a module exits with {code}: {text}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--source", required=True, help="the folder of the project")
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--models", default="layers,digits,text")
    options = parser.parse_args()
    problems, count = [], 0
    makers = {"layers": make_layers, "digits": make_digits, "text": make_text}
    for name in options.models.split(","):
        if name not in makers:
            parser.error(f"--models: expected {', '.join(makers)}, got {name}")
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            model, data, loss = makers[name](options.source, folder)
            for device in options.device.split(","):
                what, plain, fitted = f"{name}, {device}", os.path.join(folder, "plain.vxm"), os.path.join(folder, "fitted.vxm")
                count += 1
                refused = compile_step(options, device, name, model, loss, fitted, "--memory=1")
                least = re.search(r"error: --memory: expected at least (\d+) bytes for the arena of 'train_step' on \w+, got 1$", refused.stdout, re.MULTILINE)
                if refused.returncode != 2 or not least:
                    problems.append(f"{what}: --memory=1 exits with {refused.returncode}: {refused.stdout}")
                    continue
                for module, more in ((plain, []), (fitted, [f"--memory={least[1]}"])):
                    done = compile_step(options, device, name, model, loss, module, *more)
                    if done.returncode != 0:
                        sys.exit(f"FAILED {what}: {' '.join(more)} exits with {done.returncode}: {done.stdout}")
                told = re.search(r"takes (\d+) bytes, (\d+) without --memory.*; (\d+) values are computed again", done.stdout)
                if not told or not int(told[1]) <= int(least[1]) < int(told[2]) or int(told[3]) == 0:
                    problems.append(f"{what}: expected a smaller arena by values computed again, got {done.stdout}")
                    continue
                print(f"{what}: {told[1]} bytes in the place of {told[2]}, {told[3]} values computed again")
                for steps in (1, 2):
                    states = [train(options, device, module, data, steps, os.path.join(folder, "state")) for module in (plain, fitted)]
                    if states[0] != states[1]:
                        problems.append(f"{what}: behind step {steps} the states differ")
                        break
            if name == "text":
                count += 1
                if problem := check_tool(options, model, data, loss, plain):
                    problems.append(problem)
    for problem in problems:
        print(f"FAILED {problem}")
    print(f"{count - len(problems)} passed, {len(problems)} failed")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
