"""Files of served models that become another kind of model, or none, and are loaded again; and models that are configured and not there."""
import os
import shutil
import signal
import sys

from api_keys import ADMIN, write_keys
from digits import IMAGES, ROOT, infer
from embedding_models import Folder
from served import Server

for place in ("llm", "text", "e2e"):
    sys.path.append(str(ROOT / "test" / place))
from llama_gguf import write_llama  # noqa: E402
from random_models import llama_settings, llama_weights  # noqa: E402

LANGUAGE = "is a language model, and vx-serve serves none yet: run it with 'vx-llm run FILE' or 'vx-llm chat FILE'"


def make_language_model(bench):
    settings = llama_settings(vocab_size=20, max_position_embeddings=16)
    write_llama(bench.path("llama.gguf"), settings, llama_weights(settings, 5), tokens=[*"abcdefghijklmnopqr", "aa", "<end>"], ends=(19,))
    bench.tool("vx-compile", bench.path("llama.gguf"), "--target=cpu", "-o", bench.path("llama.vxm"))


def check_kinds(bench):
    keys, folder, admin = bench.path("kinds-keys"), bench.path("kinds"), {"x-api-key": ADMIN}
    write_keys(keys, (ADMIN, "boss", "admin"))
    make_language_model(bench)
    os.mkdir(folder)
    module, plain = f"{folder}/digits.vxm", f"{folder}/plain"
    shutil.copy(bench.path("models/digits.vxm"), module)
    os.mkdir(plain)
    shutil.copy(ROOT / "examples/digits/digits.onnx", f"{plain}/model.onnx")
    Folder(f"{folder}/texts", max_tokens=60)
    config = bench.path("kinds.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{folder}"\ncache_dir = "{bench.path("kinds-cache")}"\n[vx.server]\napi_keys_file = "{keys}"\n[vx.server.limits]\nper_key = "0"\n')

    def put(source):
        shutil.copy(source, module + ".new")
        os.replace(module + ".new", module)

    def write(text):
        with open(module + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(module + ".new", module)

    def link():
        os.remove(module)
        os.symlink(bench.path("models/digits.vxm"), module)

    with Server(bench, f"--config={config}", "--device=cpu", name="kinds") as server:
        server.wait_until_ready()
        load = lambda name: server.ask("POST", f"/api/v1/models/{name}/load", headers=admin)
        state = lambda name: server.ask("GET", f"/api/v1/models/{name}", headers=admin)[2]
        serves = lambda: infer(server, IMAGES[:2], headers=admin).shape == (2, 10)
        for what, change, reason in (
                ("a language model", lambda: put(bench.path("llama.vxm")), f"'{module}': {LANGUAGE}"),
                ("a GGUF file", lambda: put(bench.path("llama.gguf")), f"'{module}': is no module: it does not begin with "),
                ("a model", lambda: put(ROOT / "examples/digits/digits.onnx"), f"'{module}': is no module: it does not begin with "),
                ("a text", lambda: write("x"), f"'{module}': is no module: it does not begin with "),
                ("a file that others may write", lambda: (put(bench.path("models/digits.vxm")), os.chmod(module, 0o666)), f"'{module}'"),
                ("a link out of the folder", link, f"'{module}'"),
                ("no file", lambda: os.remove(module), f"'{module}' cannot be opened: No such file or directory")):
            change()
            status, _, data = load("digits")
            told = data["error"]["message"]
            bench.check(f"{what} in the place of a module is not loaded", (status, data["error"]["code"]) == (500, "internal") and told.startswith(f"model 'digits' cannot be loaded: {reason}"), data)
            bench.check(f"the module of before is served beside {what}, with the reason", serves() and state("digits")["state"] == "ready" and state("digits").get("reason", "").startswith(reason), state("digits"))
        put(bench.path("models/digits.vxm"))
        os.chmod(module, 0o644)
        bench.check("a module again", load("digits")[0] == 200 and serves() and "reason" not in state("digits"), state("digits"))
        # Folders: of a model of no texts, and of one of embeddings.
        for name, what in (("plain", "no .onnx file"), ("texts", "no .onnx file")):
            server.wait_for(lambda: state(name)["state"] == "ready", 120)
            for onnx in ("model.onnx", "onnx"):
                path = f"{folder}/{name}/{onnx}"
                if os.path.exists(path):
                    os.remove(path)
            shutil.copy(bench.path("llama.gguf"), f"{folder}/{name}/llama.gguf")
            status, _, data = load(name)
            told = data["error"]["message"]
            bench.check(f"a GGUF file in the place of the model in '{name}' is not loaded", status == 500 and told.startswith(f"model '{name}' cannot be loaded: ") and ("No such file" in told or what in told)
                        and "compile" not in told.split(": ")[1], data)
            bench.check(f"'{name}' of before is served", state(name)["state"] == "ready", state(name))
        # The folder as a whole says the same.
        put(bench.path("llama.vxm"))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(lambda: "was read again" in server.logged())
        refused = {model["name"]: model["reason"] for model in server.ask("GET", "/api/v1/models", headers=admin)[2]["refused"]}
        bench.check("the list of models has the reason", refused.get("digits") == LANGUAGE, refused)


def check_absent(bench):
    """Models of flags, variables and files that are not there: an error that names them, before the server listens."""
    empty = bench.path("no-models")
    os.mkdir(empty)
    config = bench.path("absent.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[[vx.server.model]]\nname = "digts"\n[[vx.server.model]]\nname = "mounted"\npath = "{empty}/none.vxm"\n')
    for arguments, lines in (
            ([f"--config={config}"], [f"{config}:4:8: error: no model 'digts', did you mean 'digits'", f"{config}:7:8: error: '{empty}/none.vxm' cannot be opened: No such file or directory"]),
            ([f"--model=digits={empty}"], [f"--model: '{empty}': "]),
            ([f"--model=digits={empty}/none"], [f"--model: '{empty}/none' cannot be opened: No such file or directory"])):
        for more in (["--check-config"], []):
            _, said = bench.tool("vx-serve", *arguments, *more, "--port=0", code=3)
            bench.check(f"a model that is not there: {' '.join(arguments + more)}", all(line in said for line in lines), said)
