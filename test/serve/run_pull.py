#!/usr/bin/env python3
"""vx-models pull from a hub on this machine that cuts, lies and redirects, and registry.json.

  run_pull.py --bin BUILD/bin

Exit code: 0 all passed, 1 some failed, 77 there is no libcurl.
"""
import argparse
import ctypes
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from check_tls import make_certificate
from digits import ROOT
from hub import Hub, git_hash
from run_embeddings import Bench
from served import Server

MODEL = np.random.default_rng(1).bytes(300_000)
FILES = {"model.onnx": MODEL, "config.json": b'{"a": 1}\n', "tokenizer.json": b"{}", "1_Pooling/config.json": b"{}", "README.md": b"# read me", "pytorch_model.bin": b"0" * 99, "onnx/model_quantized.onnx": b"q",
         ".gitattributes": b"x", "empty.vxm": b"", "training/config.json": b"{}"}
NEEDED = ["1_Pooling/config.json", "config.json", "model.onnx", "tokenizer.json"]


class Pulls:
    """A folder of models, and the tool."""

    def __init__(self, bench):
        self.bench, self.folder = bench, tempfile.mkdtemp(dir=bench.folder)
        self.place = os.path.join(self.folder, "org/name")

    def pull(self, hub, *arguments, address="hf:org/name", code=0, **environment):
        inherited = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name != "HF_TOKEN"}
        if hub:
            environment["VX_HUB_URL"] = hub if isinstance(hub, str) else hub.url
        done = subprocess.run([os.path.join(self.bench.bin, "vx-models"), "pull", address, f"--model-dir={self.folder}", *arguments], capture_output=True, text=True, timeout=120, env=inherited | environment)
        if done.returncode != code:
            raise RuntimeError(f"pull {address} {' '.join(arguments)} exits with {done.returncode}, expected {code}: {done.stdout}{done.stderr}")
        return done.stdout if "--json" in arguments else done.stdout + done.stderr

    def files(self):
        found = [os.path.relpath(os.path.join(where, name), self.place) for where, _, names in os.walk(self.place) for name in names]
        return sorted(name for name in found if name != ".vx-pull.json")

    def read(self, name):
        with open(os.path.join(self.place, name), "rb") as file:
            return file.read()

    def write(self, name, data):
        os.makedirs(os.path.dirname(os.path.join(self.place, name)), exist_ok=True)
        with open(os.path.join(self.place, name), "wb") as file:
            file.write(data)


def check_plain(bench):
    hub, pulls = Hub(FILES), Pulls(bench)
    said = pulls.pull(hub)
    bench.check("the model, its configuration and its tokenizer", pulls.files() == NEEDED, pulls.files())
    bench.check("their bytes", all(pulls.read(name) == FILES[name] for name in NEEDED))
    bench.check("no variable is unknown", "is not read" not in said, said)
    bench.check("what is said", f"org/name at {'c' * 40}: 4 files" in said and "4 fetched" in said and f"wrote {pulls.place}" in said, said)
    before = len(hub.seen)
    out = json.loads(pulls.pull(hub, "--json"))
    bench.check("files that are there are not fetched again", len(hub.seen) == before + 1 and out["fetched"] == 0 and len(out["files"]) == 4, (hub.seen[before:], out))
    bench.check("hashes are told", {file["path"]: file["hash"] for file in out["files"]} == {name: hashlib.sha256(FILES[name]).hexdigest() if name == "model.onnx" else git_hash(FILES[name]) for name in NEEDED}, out)
    pulls.write("config.json", b'{"a": 2}\n')
    out = json.loads(pulls.pull(hub, "--json"))
    bench.check("a file that has changed is fetched again", out["fetched"] == 1 and pulls.read("config.json") == FILES["config.json"], out)
    # Nobody is asked.
    hub.close()
    out = json.loads(pulls.pull(hub, "--json", "--offline"))
    bench.check("--offline", out["fetched"] == 0 and len(out["files"]) == 4, out)
    pulls.write("config.json", b'{"a": 2}\n')
    said = pulls.pull(hub, "--offline", code=3)
    bench.check("--offline checks", f"{pulls.place}/config.json': expected 9 bytes with the hash {git_hash(FILES['config.json'])}, got another file or none; pull it without --offline" in said, said)
    said = pulls.pull(hub, "--offline", address="hf:org/name:README.md", code=3)
    bench.check("--offline and another file", "'README.md' of 'org/name' is not in" in said and "--offline asks nobody for it" in said, said)
    said = Pulls(bench).pull(hub, "--offline", code=3)
    bench.check("--offline and nothing there", "'org/name' is not in" in said and "--offline asks nobody for it" in said, said)
    said = pulls.pull(hub, code=1)
    bench.check("no hub", f"org/name at 'main': {hub.url} cannot be asked: " in said, said)


def check_choices(bench):
    hub, pulls = Hub(FILES), Pulls(bench)
    pulls.pull(hub, address="hf:org/name:README.md")
    bench.check("one file", pulls.files() == ["README.md"], pulls.files())
    pulls.pull(hub, address="hf:org/name:empty.vxm")
    bench.check("a file without bytes, beside another", pulls.files() == ["README.md", "empty.vxm"] and pulls.read("empty.vxm") == b"", pulls.files())
    out = json.loads(pulls.pull(hub, "--offline", "--json"))
    bench.check("both are remembered", sorted(file["path"] for file in out["files"]) == ["README.md", "empty.vxm"], out)
    for address, code, message in (("hf:org/name:README.mb", 2, "'org/name' has no file 'README.mb', did you mean 'README.md'"), ("hf:org/name:../x", 2, "pull: expected hf:ORG/NAME or hf:ORG/NAME:FILE, got 'hf:org/name:../x'"),
                                   ("hf:org/..", 2, "pull: expected hf:ORG/NAME or hf:ORG/NAME:FILE, got 'hf:org/..'"), ("org/name", 2, "pull: expected hf:ORG/NAME or hf:ORG/NAME:FILE, got 'org/name'"),
                                   ("hf:org/other", 3, "org/other at 'main': the hub has no such repository, revision or file (404)")):
        said = pulls.pull(hub, address=address, code=code)
        bench.check(f"the address {address}", message in said, said)
    said = pulls.pull(hub, "--revision=v9", code=3)
    bench.check("a revision that there is not", "org/name at 'v9': the hub has no such repository, revision or file (404)" in said, said)
    hub.close()
    for files, expected in (({"onnx/model.onnx": b"m", "onnx/model.onnx_data": b"d", "onnx/model.onnx_data_1": b"e", "onnx/other.onnx": b"o", "vocab.txt": b"v"}, ["onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1", "vocab.txt"]),
                            ({"a.gguf": b"g", "config.json": b"{}"}, ["a.gguf"]), ({"a.gguf": b"g", "b.gguf": b"g"}, "'org/name' has several .gguf files: expected one of them as hf:org/name:FILE, there are 'a.gguf', 'b.gguf'"),
                            ({"model.safetensors": b"s"}, "'org/name' has no .onnx, .vxm or .gguf file")):
        hub, pulls = Hub(files), Pulls(bench)
        said = pulls.pull(hub, code=0 if isinstance(expected, list) else 3)
        bench.check(f"of {', '.join(files)}", pulls.files() == expected if isinstance(expected, list) else expected in said, (pulls.files(), said))
        hub.close()


def check_cuts(bench):
    """A connection that ends in the middle: by itself the pull goes on, and after five ends that bring nothing it stops, and a later one goes on."""
    hub, pulls = Hub(FILES), Pulls(bench)
    cuts = [100_000, 50_000]
    hub.behave["model.onnx"] = lambda handler: cuts and (handler.send_file("model.onnx", cut=cuts.pop(0)), True)
    pulls.pull(hub)
    ranges = [headers.get("Range") for headers in hub.asked("model.onnx")]
    bench.check("goes on where it was cut", pulls.read("model.onnx") == MODEL and ranges == [None, "bytes=100000-", "bytes=150000-"], ranges)
    hub.seen.clear()
    pulls = Pulls(bench)
    hub.behave["model.onnx"] = lambda handler: (handler.send_file("model.onnx", cut=0 if "Range" in handler.headers else 120_000), True)
    said = pulls.pull(hub, code=1)
    bench.check("the end of the tries", f"org/name: model.onnx: expected {len(MODEL)} bytes, got 120000: " in said and "pull it again to go on" in said and len(hub.asked("model.onnx")) == 5, (said, len(hub.asked("model.onnx"))))
    bench.check("a file that was cut keeps the name of its part", pulls.files() == [name if name != "model.onnx" else "model.onnx.part" for name in NEEDED], pulls.files())
    hub.behave.clear()
    hub.seen.clear()
    pulls.pull(hub)
    bench.check("a later pull goes on", pulls.read("model.onnx") == MODEL and [headers.get("Range") for headers in hub.asked("model.onnx")] == ["bytes=120000-"] and pulls.files() == NEEDED, hub.asked("model.onnx"))
    # Beginnings of other files.
    for what, part in (("as long as the file", bytes(len(MODEL))), ("longer", bytes(len(MODEL) + 5)), ("shorter", b"another")):
        pulls = Pulls(bench)
        pulls.write("model.onnx.part", part)
        pulls.pull(hub)
        bench.check(f"a part of another file, {what}", pulls.read("model.onnx") == MODEL and pulls.files() == NEEDED, pulls.files())
    # Servers without ranges, and with wrong ones.
    pulls = Pulls(bench)
    pulls.write("model.onnx.part", MODEL[:1000])
    def whole(handler):
        handler.reply(200, MODEL, handler.file_headers("model.onnx"))
        return True
    hub.behave["model.onnx"] = whole
    pulls.pull(hub)
    bench.check("a server without ranges", pulls.read("model.onnx") == MODEL)
    pulls = Pulls(bench)
    pulls.write("model.onnx.part", MODEL[:1000])
    def wrong_range(handler):
        handler.reply(206, MODEL[500:], [*handler.file_headers("model.onnx"), ("Content-Range", f"bytes 500-{len(MODEL) - 1}/{len(MODEL)}")])
        return True
    hub.behave["model.onnx"] = wrong_range
    said = pulls.pull(hub, code=3)
    bench.check("another range", f"org/name: model.onnx: expected bytes from 1000 on, got the range 'bytes 500-{len(MODEL) - 1}/{len(MODEL)}'" in said and "model.onnx" not in pulls.files(), said)
    # Two at once.
    pulls = Pulls(bench)
    pulls.write("model.onnx.part", MODEL[:1000])
    hub.behave.clear()
    with open(os.path.join(pulls.place, "model.onnx.part"), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        said = pulls.pull(hub, code=1)
    bench.check("another process writes it", "model.onnx.part' is written by another process: wait until it is done" in said and "model.onnx" not in pulls.files(), said)
    hub.close()


def check_lies(bench):
    sha, other = hashlib.sha256(MODEL).hexdigest(), hashlib.sha256(b"other").hexdigest()
    def replaced(data, headers=()):
        return lambda handler: (handler.reply(200, data, headers), True)
    flipped = bytes([MODEL[0] ^ 1]) + MODEL[1:]
    right = [("X-Linked-Etag", f'"{sha}"'), ("X-Linked-Size", str(len(MODEL)))]
    for what, listed, behaviour, message in (
            ("other bytes", {}, replaced(flipped, right), f"expected the hash {sha}, got {hashlib.sha256(flipped).hexdigest()}: nothing is kept of it"),
            ("another hash in the header", {}, replaced(MODEL, [("X-Linked-Etag", f'"{other}"')]), f"the hub has two hashes of it, expected {sha}, got {other}"),
            ("another hash in the list", {"lfs": {"sha256": other, "size": len(MODEL)}}, None, f"the hub has two hashes of it, expected {other}, got {sha}"),
            ("another size in the list", {"lfs": {"sha256": sha, "size": 7}}, None, f"the hub has two sizes of it, expected 7 bytes, got '{len(MODEL)}'"),
            ("a size that is none", {}, replaced(MODEL, [right[0], ("X-Linked-Size", "many")]), f"the hub has two sizes of it, expected {len(MODEL)} bytes, got 'many'"),
            ("more bytes", {}, replaced(MODEL + b"more", right), f"expected {len(MODEL)} bytes, got {len(MODEL) + 4}"),
            ("no hash", {"lfs": None, "blobId": None}, replaced(MODEL), "expected a hash of the hub, SHA-256 or git's, got none: it cannot be checked")):
        hub, pulls = Hub(FILES), Pulls(bench)
        hub.listed["model.onnx"] = listed
        if behaviour:
            hub.behave["model.onnx"] = behaviour
        said = pulls.pull(hub, code=3)
        bench.check(f"a lie, {what}", "org/name: model.onnx: " + message in said, said)
        bench.check(f"nothing is left, {what}", "model.onnx" not in pulls.files() and "model.onnx.part" not in pulls.files(), pulls.files())
        hub.close()
    # Bytes after those that are promised come where the length is not said.
    hub, pulls = Hub(FILES), Pulls(bench)
    def endless(handler):
        handler.send_response(200)
        for header in (*right, ("Connection", "close")):
            handler.send_header(*header)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(MODEL)
        except OSError:
            return True
    hub.behave["model.onnx"] = endless
    said = pulls.pull(hub, code=3)
    bench.check("a body without an end", f"org/name: model.onnx: expected {len(MODEL)} bytes, got more" in said and "model.onnx.part" not in pulls.files(), said)
    # Without hashes in the list the header's counts, of either kind.
    hub.behave.clear()
    hub.listed = {name: {"lfs": None, "blobId": None, "size": None} for name in NEEDED}
    pulls = Pulls(bench)
    pulls.pull(hub)
    bench.check("the header's hash alone", pulls.files() == NEEDED and pulls.read("model.onnx") == MODEL)
    hub.behave["config.json"] = lambda handler: (handler.reply(200, b"{}", handler.file_headers("config.json")), True)
    said = Pulls(bench).pull(hub, code=3)
    bench.check("git's hash is checked", f"org/name: config.json: expected the hash {git_hash(FILES['config.json'])}, got {git_hash(b'{}')}" in said, said)
    hub.close()
    # Lists that are none.
    for what, body, message in (("no JSON", b"<html>", "got no JSON"), ("no list", b'{"sha": "x"}', "got no list 'siblings'"), ("a path out of the folder", json.dumps({"sha": "c" * 40, "siblings": [{"rfilename": "../../x.onnx"}]}).encode(), "got the file name '../../x.onnx', which leads out of the folder"),
                                ("an absolute path", json.dumps({"sha": "c" * 40, "siblings": [{"rfilename": "/x.onnx"}]}).encode(), "got the file name '/x.onnx'"), ("no commit", b'{"siblings": []}', "got no commit 'sha'"),
                                ("a hash that is none", json.dumps({"sha": "c" * 40, "siblings": [{"rfilename": "x.onnx", "blobId": "xyz"}]}).encode(), "got the hash 'xyz' of 'x.onnx'"), ("a deep list", b"[" * 1000, "got JSON of more than 16 levels")):
        hub, pulls = Hub(FILES), Pulls(bench)
        hub.behave["list"] = replaced(body)
        said = pulls.pull(hub, code=3)
        bench.check(f"a list that is none, {what}", "'org/name': expected the hub's list of files, " + message in said and pulls.files() == [], said)
        hub.close()


def check_redirects(bench):
    """To another server: what the hub says of the file counts, and the token stays at the hub."""
    hub, cdn, pulls = Hub(FILES), Hub(FILES), Pulls(bench)
    hub.token = "hf_secret"
    def elsewhere(handler):
        handler.reply(302, b"", [*handler.file_headers("model.onnx"), ("Location", f"{cdn.url}/cdn/model.onnx?signed=1")])
        return True
    hub.behave["model.onnx"] = elsewhere
    hub.behave["config.json"] = lambda handler: (handler.reply(307, b"", [("Location", "/cdn/config.json")]), True)
    hub.behave["cdn:config.json"] = lambda handler: (handler.reply(200, FILES["config.json"], handler.file_headers("config.json")), True)
    cdn.behave["cdn:model.onnx"] = lambda handler: "Range" not in handler.headers and (handler.send_file("model.onnx", [("ETag", f'"{"0" * 64}"')], cut=1000), True)
    pulls.pull(hub, HF_TOKEN="hf_secret")
    bench.check("the file comes from another server, in two parts", pulls.read("model.onnx") == MODEL and [headers.get("Range") for headers in cdn.asked("cdn:model.onnx")] == [None, "bytes=1000-"], cdn.seen)
    bench.check("no token goes there", all("Authorization" not in headers for _, headers in cdn.seen), cdn.seen)
    bench.check("the token goes to the hub, also after a redirect of its own", all(headers.get("Authorization") == "Bearer hf_secret" for _, headers in hub.seen) and hub.asked("cdn:config.json"), hub.seen)
    cdn.files["model.onnx"] = bytes(len(MODEL))
    said = Pulls(bench).pull(hub, HF_TOKEN="hf_secret", code=3)
    bench.check("other bytes of the other server", f"expected the hash {hashlib.sha256(MODEL).hexdigest()}, got " in said, said)
    hub.behave["model.onnx"] = lambda handler: (handler.reply(302, b"", [("Location", handler.path)]), True)
    said = Pulls(bench).pull(hub, HF_TOKEN="hf_secret", code=1)
    bench.check("a redirect to itself", "expected at most 10 redirects, got more" in said, said)
    hub.behave["model.onnx"] = lambda handler: (handler.reply(302, b"", [("Location", "file:///etc/passwd")]), True)
    said = Pulls(bench).pull(hub, HF_TOKEN="hf_secret", code=1)
    bench.check("a redirect to a file", "pull: expected a redirect to http or https, got 'file:///etc/passwd' of " in said, said)
    hub.close()
    # Not from https to http.
    pair = make_certificate(bench.path("pull-tls"), "hub")
    hub, pulls = Hub(FILES, certificate=pair), Pulls(bench)
    said = pulls.pull(hub, code=1)
    bench.check("a certificate that nobody knows", "cannot be asked: " in said and "certificate" in said, said)
    pulls.pull(hub, SSL_CERT_FILE=pair[0])
    bench.check("https", pulls.files() == NEEDED)
    cdn.files["model.onnx"] = MODEL
    hub.behave["model.onnx"] = elsewhere
    pulls, seen = Pulls(bench), len(cdn.seen)
    said = pulls.pull(hub, SSL_CERT_FILE=pair[0], code=1)
    bench.check("no redirect from https to http", f"pull: expected a redirect to https, got '{cdn.url}/cdn/model.onnx?signed=1' of '{hub.url}/org/name/resolve/{'c' * 40}/model.onnx'" in said and len(cdn.seen) == seen, said)
    hub.close()
    cdn.close()


def check_statuses(bench):
    hub = Hub(FILES)
    hub.token = "hf_secret"
    said = Pulls(bench).pull(hub, code=3)
    bench.check("401 without a token", "org/name at 'main': the hub refuses it (401): expected a token in HF_TOKEN that may read it, got none" in said, said)
    said = Pulls(bench).pull(hub, code=3, HF_TOKEN="wrong")
    bench.check("401 with another token, which is not shown", "that may read it, got another one" in said and "wrong" not in said, said)
    said = Pulls(bench).pull(hub, code=2, HF_TOKEN="a\nX-Other: b")
    bench.check("a token of two lines", "HF_TOKEN: expected one line, got several" in said, said)
    hub.token = None
    answers = [429, 503]
    hub.behave["model.onnx"] = lambda handler: answers and (handler.reply(answers.pop(0), b"", [("Retry-After", "1")]), True)
    pulls = Pulls(bench)
    pulls.pull(hub)
    bench.check("429 and 503 are asked again", pulls.read("model.onnx") == MODEL and len(hub.asked("model.onnx")) == 3, len(hub.asked("model.onnx")))
    hub.behave["list"] = lambda handler: (handler.reply(429, b"", [("Retry-After", "3600")]), True)
    hub.seen.clear()
    said = Pulls(bench).pull(hub, code=1)
    bench.check("429 for an hour", "org/name at 'main': the hub takes no more requests for now (429), retry after 3600 s" in said and len(hub.seen) == 1, (said, len(hub.seen)))
    hub.behave.clear()
    hub.behave["model.onnx"] = lambda handler: (handler.reply(404), True)
    pulls = Pulls(bench)
    said = pulls.pull(hub, code=3)
    bench.check("404 of a file", "org/name: model.onnx: the hub has no such repository, revision or file (404)" in said and "model.onnx" not in pulls.files(), (said, pulls.files()))
    hub.close()
    said = Pulls(bench).pull("ftp://x", code=2)
    bench.check("a URL that is none", "VX_HUB_URL: expected a URL such as https://huggingface.co, got 'ftp://x'" in said, said)
    said = Pulls(bench).pull(hub, code=1, VX_CURL_LIBRARY="/none.so")
    bench.check("no libcurl", "pull: expected libcurl (Debian's package libcurl4): '/none.so' could not be opened: " in said, said)
    pulls = Pulls(bench)
    os.symlink("/dev/full", os.path.join(pulls.folder, "org"))
    said = pulls.pull(Hub(FILES), code=1)
    bench.check("a folder that cannot be made", "cannot make the folder" in said, said)
    for arguments, message in ((["scan", "--offline"], "--offline: expected pull, got scan"), (["list", "--revision=a"], "--revision: expected pull, got list"), (["list", "--write"], "--write: expected scan, got list"), (["pull"], "pull: expected hf:ORG/NAME or hf:ORG/NAME:FILE")):
        _, said = bench.tool("vx-models", *arguments, code=2)
        bench.check(" ".join(arguments), message in said, said)


def check_registry(bench):
    folder = bench.path("registered")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", f"{folder}/digits.vxm")
    shutil.copy(f"{folder}/digits.vxm", f"{folder}/other.vxm")
    shutil.copy(ROOT / "examples/digits/digits.onnx", f"{folder}/plain.onnx")
    os.makedirs(f"{folder}/org/deep")
    shutil.copy(ROOT / "examples/digits/digits.onnx", f"{folder}/org/deep/model.onnx")
    with open(f"{folder}/org/deep/config.json", "w") as file:
        file.write("{}")
    out, said = bench.tool("vx-models", "scan", folder + "/", "--write")
    path = f"{folder}/registry.json"
    registry = json.load(open(path))
    bench.check("a scan that writes", f"wrote {path}" in out and said == "" and registry["version"] == 1, out + said)
    models = {model["name"]: model for model in registry["models"]}
    bench.check("its models", [(name, model["kind"], [file["path"] for file in model["files"]]) for name, model in models.items()] ==
                [("digits", "module", ["digits.vxm"]), ("org/deep", "folder", ["org/deep/config.json", "org/deep/model.onnx"]), ("other", "module", ["other.vxm"]), ("plain", "onnx", ["plain.onnx"])], models)
    right = all(file["bytes"] == os.path.getsize(f"{folder}/{file['path']}") and file["modified"] == os.stat(f"{folder}/{file['path']}").st_mtime_ns and file["sha256"] == hashlib.sha256(open(f"{folder}/{file['path']}", "rb").read()).hexdigest()
                for model in models.values() for file in model["files"])
    bench.check("sizes, times and hashes", right and all(model["bytes"] == sum(file["bytes"] for file in model["files"]) for model in models.values()), models)
    info = json.loads(bench.tool("vx-info", f"{folder}/digits.vxm", "--json")[0])
    function = models["digits"]["functions"][0]
    bench.check("inputs and outputs of a module", function["inputs"][0]["type"] == "f32" and function["inputs"][0]["dims"][1:] == [1, 8, 8] and isinstance(function["inputs"][0]["dims"][0], str) and function["outputs"] and
                function["name"] == info["functions"][0]["name"] and models["plain"]["functions"] is None, function)

    def warnings(code=0, *arguments):
        return bench.tool("vx-serve", "--check-config", f"--model-dir={folder}", *arguments, code=code)[1]

    bench.check("files as they were", "registry.json" not in warnings(), warnings())
    # Times alone are no difference, bytes are, with both hashes.
    os.utime(f"{folder}/digits.vxm", (1, 1))
    bench.check("another time alone", "registry.json" not in warnings(), warnings())
    expected = models["other"]["files"][0]
    with open(f"{folder}/other.vxm", "r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    got = hashlib.sha256(open(f"{folder}/other.vxm", "rb").read()).hexdigest()
    line = f"registry.json: model 'other': 'other.vxm': expected the SHA-256 {expected['sha256']}, got {got}"
    bench.check("another byte", line in warnings(), warnings())
    bench.check("scan warns too", line in bench.tool("vx-models", "scan", folder)[1])
    with Server(bench, f"--model-dir={folder}", "--model=digits", name="registered") as server:
        server.wait_until_ready()
        bench.check("a model that is not served is not read", "registry.json" not in server.logged(), server.logged())
    with open(f"{folder}/other.vxm", "ab") as file:
        file.write(b"x")
    bench.check("another size", f"'other.vxm': expected {expected['bytes']} bytes, got {expected['bytes'] + 1}" in warnings(), warnings())
    os.utime(f"{folder}/other.vxm", ns=(expected["modified"], expected["modified"]))
    bench.check("another size and the listed time", f"'other.vxm': expected {expected['bytes']} bytes, got {expected['bytes'] + 1}" in warnings(), warnings())
    os.remove(f"{folder}/org/deep/config.json")
    bench.check("a file that is gone", "model 'org/deep': 'org/deep/config.json': expected a file of 2 bytes, got none: No such file or directory" in warnings(), warnings())
    os.remove(f"{folder}/plain.onnx")
    bench.check("a model that is gone", "registry.json: model 'plain' is not in the folder; 'vx-models scan --write' makes the file anew" in warnings(), warnings())
    bench.tool("vx-models", "scan", folder, "--write")
    with Server(bench, f"--model-dir={folder}", "--model=digits", name="registered-2") as server:
        server.wait_until_ready()
        bench.check("a server that is right says nothing", "registry.json" not in server.logged(), server.logged())
        with open(f"{folder}/digits.vxm", "ab") as file:
            file.write(b"x")
    with Server(bench, f"--model-dir={folder}", "--model=digits", name="registered-3") as server:
        bench.check("the server's log has it", "registry.json: model 'digits': 'digits.vxm': expected " in server.logged(), server.logged())
    bench.tool("vx-models", "scan", folder, "--write")
    good = json.load(open(path))
    first = good["models"][0]["files"][0]
    # Each is a change of the text, the text at the place that the message names, and the message.
    for what, old, new, at, message in (
            ("no JSON", ",\n", "\n", '"models"', "expected JSON: "),
            ("a key", '"sha256"', '"sha265"', '"sha265"', "models[0].files[0]: unknown key 'sha265', did you mean 'sha256'"),
            ("a version", '"version": 1', '"version": 2', "2", "version: expected 1, got 2"),
            ("a path", '"digits.vxm"', '"../digits.vxm"', '"../', "models[0].files[0].path: expected a path within the model folder, got '../digits.vxm'"),
            ("a hash", first["sha256"], "ABC", '"ABC"', "models[0].files[0].sha256: expected 64 digits of 0 to 9 and a to f, got 'ABC'"),
            ("a kind", '"module"', '"modul"', '"modul"', "models[0].kind: expected module, onnx or folder, got 'modul', did you mean 'module'"),
            ("a number", f'"bytes": {good["models"][0]["bytes"]}', '"bytes": -1', "-1", "models[0].bytes: expected a number of 0 or more, got -1"),
            ("depth", None, "[" * 100000, None, "expected values in at most 8 others, got more")):
        text = json.dumps(good, indent=1).replace(old, new, 1) if old else new
        with open(path, "w") as file:
            file.write(text)
        if at:
            before = text[:text.index(at)]
            # A parser sees that a comma is missing when it has the next token.
            place = f":{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10)) + (len(at) - 1 if what == 'no JSON' else 0)}"
        said = warnings()
        bench.check(f"a wrong registry, {what}", f"registry.json{place if at else ''}: {message}" in said and "vx-serve: error" not in said, said)
    os.remove(path)
    os.mkfifo(path)
    bench.check("a pipe", "registry.json: is a pipe" in warnings(), warnings())
    os.remove(path)
    bench.check("none", "registry.json" not in warnings())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", help="checks by their names, with commas between")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.bin, folder, ["cpu"])
        checks = {"registry": check_registry, "plain": check_plain, "choices": check_choices, "cuts": check_cuts, "lies": check_lies, "redirects": check_redirects, "statuses": check_statuses}
        chosen = options.only.split(",") if options.only else list(checks)
        unknown = [name for name in chosen if name not in checks]
        if unknown:
            sys.exit(f"FAILED no check matches {unknown}, known are {', '.join(checks)}")
        has_curl = True
        try:
            ctypes.CDLL("libcurl.so.4")
        except OSError:
            has_curl = False
        for name in chosen:
            if has_curl or name == "registry":
                checks[name](bench)
        code = bench.finish()
        if not has_curl and not code:
            print("SKIPPED: pulls need libcurl.so.4")
            code = 77
        sys.exit(code)


if __name__ == "__main__":
    main()
