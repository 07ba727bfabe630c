"""A server whose device is lost while it works."""
import os
import threading
import time

import numpy as np

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, ROOT, infer_binary
from embedding_models import texts
from served import Server


def requests_of_both_kinds():
    user = {"x-api-key": USER}
    given = [text for text in texts(24, 7, longest=12) if text]
    tensors = []
    for i in range(24):
        body, headers = infer_binary(IMAGES[3 * i : 3 * i + 1 + i % 3])
        tensors.append(("POST", "/v2/models/digits/infer", body, headers | user))
    embeddings = [("POST", "/v1/embeddings", {"model": "tiny", "input": given[i : i + 1 + i % 3]}, user) for i in range(20)]
    return [request for pair in zip(tensors, embeddings) for request in pair]


def numbers(answer):
    status, headers, data = answer
    if status != 200:
        return None
    if isinstance(data, dict):
        return np.array([row["embedding"] for row in data["data"]])
    return np.frombuffer(data[int(headers["Inference-Header-Content-Length"]) :], np.float32)


def is_same(answer, want):
    got = numbers(answer)
    return got is not None and got.shape == want.shape and np.abs(got - want).max() < 1e-4


class Losing(Server):
    """Models on Vulkan, which does what a file says."""

    def __init__(self, bench, library, *arguments, name):
        self.result = bench.path(name + ".result")
        super().__init__(bench, f"--model-dir={bench.path('both')}", "--device=vulkan", f"--api-keys-file={bench.path('losing-keys')}", "--per-key=0", *arguments, name=name,
                         environment={"VX_VULKAN_LIBRARY": library, "LOSING_VULKAN_RESULT": self.result})

    def submit_returns(self, number):
        with open(self.result + ".new", "w", encoding="utf-8") as file:
            file.write(str(number))
        os.replace(self.result + ".new", self.result)

    def recover(self):
        os.remove(self.result)

    def device(self, model):
        return self.ask("GET", f"/api/v1/models/{model}", headers={"x-api-key": ADMIN})[2]["device"]["taken"]["device"]

    def ask_while_lost(self, requests, result):
        """Answers to requests of which some come before the device is lost, and some are under way then."""
        answers = []
        asking = threading.Thread(target=lambda: answers.extend(self.ask_many(requests)))
        asking.start()
        time.sleep(0.05)
        self.submit_returns(result)
        asking.join()
        return answers


def make_both(bench):
    """Two models for both devices, and keys."""
    if os.path.isdir(bench.path("both")):
        return
    os.mkdir(bench.path("both"))
    for name, source in (("digits", str(ROOT / "examples/digits/digits.onnx")), ("tiny", bench.path("tiny"))):
        bench.tool("vx-compile", source, "--target=vulkan,cpu", "-o", bench.path(f"both/{name}.vxm"))
    write_keys(bench.path("losing-keys"), (ADMIN, "boss", "admin"), (USER, "app", "user"))


def check_device_loss(bench, library):
    make_both(bench)
    requests, admin = requests_of_both_kinds(), {"x-api-key": ADMIN}
    lost = "was lost: vkQueueSubmit failed with ERROR_DEVICE_LOST"

    with Losing(bench, library, name="fallback") as server:
        server.wait_until_ready()
        bench.check("models are on Vulkan", (server.device("digits"), server.device("tiny")) == ("vulkan:0", "vulkan:0"))
        want = [numbers(server.ask(*request)) for request in requests]
        # What fails is told without what is inside.
        server.submit_returns(-13)
        failed = server.ask(*requests[0])
        bench.check("a model that fails", (failed[0], failed[1]["x-vx-error-code"], failed[2]) == (500, "internal", {"error": "model 'digits' failed, the server's log says why"}), failed)
        failed = server.ask(*requests[1])[2]["error"]
        bench.check("embeddings that fail", (failed["code"], failed["message"], failed["type"]) == ("internal", "model 'tiny' failed, the server's log says why", "server_error"), failed)
        bench.check("the log says why", f"request {failed['request_id']}: model 'tiny' failed: " in server.logged() and "vkQueueSubmit" in server.logged())
        server.recover()
        bench.check("it goes on", is_same(server.ask(*requests[0]), want[0]))

        answers = server.ask_while_lost(requests * 3, -4)
        bench.check("each has its own answer, on whatever device", all(is_same(a, w) for a, w in zip(answers, want * 3)), sorted({a[0] for a in answers}))
        status, _, health = server.ask("GET", "/api/v1/health")
        now = {name: [(loss["device"], loss["now"], lost in loss["reason"]) for loss in losses] for name, losses in health.get("lost_devices", {}).items()}
        bench.check("health says where models are now, and why", (status, health["status"], now) == (200, "ok", dict.fromkeys(("digits", "tiny"), [("vulkan:0", "cpu:0", True)])), health)
        model = server.ask("GET", "/api/v1/models/tiny", headers=admin)[2]
        bench.check("so do models", (model["state"], model["device"]["taken"]["device"], lost in model["lost_devices"][0]["reason"]) == ("ready", "cpu:0", True), model)
        bench.check("so does the log", all(f"model '{name}': device vulkan:0 is lost: " in server.logged() for name in ("digits", "tiny")))
        server.recover()
        status, _, model = server.ask("POST", "/api/v1/models/tiny/load", headers=admin)
        bench.check("an admin takes the device back", (status, model["device"]["taken"]["device"], "lost_devices" in model) == (200, "vulkan:0", False), model)
        bench.check("and it serves", is_same(server.ask(*requests[1]), want[1]))

    with Losing(bench, library, "--no-fallback", name="lost") as server:
        server.wait_until_ready()
        began = time.monotonic()
        answers = server.ask_while_lost(requests * 3, -4)
        bench.check("nobody waits for a lost device", time.monotonic() - began < 20)
        bench.check("all are answered, or told", all(is_same(a, w) or a[0] == 503 for a, w in zip(answers, want * 3)), sorted({a[0] for a in answers}))
        for number, message in ((0, "the device of model 'digits' is lost"), (1, "the device of model 'tiny' is lost")):
            status, headers, data = server.ask(*requests[number])
            error = data["error"] if number else {"code": headers["x-vx-error-code"], "message": data["error"]}
            bench.check("later ones are told", (status, error["code"], error["message"], headers["Retry-After"]) == (503, "device_lost", message, "10"), (status, data))
        status, _, health = server.ask("GET", "/api/v1/health")
        bench.check("health says so", (status, health["status"], health["models"]) == (503, "device_lost", {"digits": "device_lost", "tiny": "device_lost"}), health)
        status, headers, _ = server.ask("GET", "/v2/health/ready")
        bench.check("KServe's too", (status, headers["x-vx-error-code"]) == (503, "device_lost"), status)
        server.recover()
        bench.check("an admin loads the models again", [server.ask("POST", f"/api/v1/models/{name}/load", headers=admin)[0] for name in ("digits", "tiny")] == [200, 200])
        bench.check("and all is well", server.ask("GET", "/api/v1/health")[0] == 200 and all(is_same(server.ask(*r), w) for r, w in zip(requests[:4], want)))


def taken_by(server, model):
    found = server.ask("GET", f"/api/v1/models/{model}", headers={"x-api-key": ADMIN})[2]
    return found, [(entry["device"], entry["state"]) for entry in found.get("devices", [])]


def busy_devices(server):
    text = server.ask("GET", "/metrics", headers={"x-api-key": ADMIN})[2].decode()
    return {line.split('"')[1] for line in text.splitlines() if line.startswith("vx_device_busy_seconds_total{") and float(line.split()[-1]) > 0}


def check_several_devices(bench, library):
    """A model on several devices: one queue, and a device that is lost leaves the other one serving."""
    make_both(bench)
    requests, admin = requests_of_both_kinds(), {"x-api-key": ADMIN}
    several = ["--devices=cpu,vulkan"]
    with Losing(bench, library, *several, name="several") as server:
        server.wait_until_ready()
        for model in ("digits", "tiny"):
            bench.check_equal(f"devices of {model}", [("cpu:0", "ready"), ("vulkan:0", "ready")], taken_by(server, model)[1])
        want = [numbers(server.ask(*request)) for request in requests]
        answers = server.ask_many(requests * 4)
        bench.check("each has its own answer, on whichever device", all(is_same(a, w) for a, w in zip(answers, want * 4)), sorted({a[0] for a in answers}))
        bench.check_equal("both devices work", {"cpu:0", "vulkan:0"}, busy_devices(server))
        text = server.ask("GET", "/metrics", headers=admin)[2].decode()
        bench.check("metrics have both", all(f'vx_model_info{{model="digits",device="{device}"}} 1\n' in text for device in ("cpu:0", "vulkan:0")), text[:200])
        # Requests that run there are answered by the other device.
        answers = server.ask_while_lost(requests * 6, -4)
        bench.check("no request is lost with a device", all(is_same(a, w) for a, w in zip(answers, want * 6)), sorted({a[0] for a in answers}))
        server.wait_for(lambda: server.ask_many(requests) and {state for model in ("digits", "tiny") for _, state in taken_by(server, model)[1]} == {"ready", "device_lost"})
        for model in ("digits", "tiny"):
            found, devices = taken_by(server, model)
            bench.check_equal(f"{model} is served by the device that is left", ("ready", [("cpu:0", "ready"), ("vulkan:0", "device_lost")]), (found["state"], devices))
        status, _, health = server.ask("GET", "/api/v1/health")
        bench.check("health is ok and names the lost device", (status, health["status"]) == (200, "ok") and [(loss["device"], loss["now"]) for loss in health["lost_devices"]["digits"]] == [("vulkan:0", "cpu:0")], health)
        bench.check("so does the log", "model 'digits': device vulkan:0 is lost: " in server.logged() and "its other devices serve: " in server.logged(), server.logged()[-800:])
        text = server.ask("GET", "/metrics", headers=admin)[2].decode()
        bench.check("metrics have the one that is left", 'vx_model_info{model="digits",device="cpu:0"} 1\n' in text and not any(line.startswith("vx_model_info{") and "vulkan" in line for line in text.splitlines()))
        bench.check("all is answered", all(is_same(server.ask(*request), w) for request, w in zip(requests[:6], want)))
        server.recover()
        bench.check_equal("an admin takes the device back", 200, server.ask("POST", "/api/v1/models/digits/load", headers=admin)[0])
        bench.check_equal("both serve again", [("cpu:0", "ready"), ("vulkan:0", "ready")], taken_by(server, "digits")[1])
    # Several instances on one device share the weights.
    with Losing(bench, library, "--devices=cpu,cpu,cpu", "--call-memory=300MiB", name="thrice") as server:
        server.wait_until_ready()
        bench.check_equal("three instances on one device", [("cpu:0", "ready")] * 3, taken_by(server, "digits")[1])
        answers = server.ask_many(requests * 3)
        text = server.ask("GET", "/metrics", headers=admin)[2].decode()
        bench.check("they share the memory of calls", f'vx_call_memory_limit_bytes{{model="digits"}} {100 << 20}\n' in text, [line for line in text.splitlines() if "call_memory" in line])
        bench.check("three instances answer", all(is_same(a, w) for a, w in zip(answers, want * 3)))
    with Losing(bench, library, "--devices=all", name="all-devices") as server:
        server.wait_until_ready()
        bench.check("all devices of the first backend that has one", server.device("digits") == "vulkan:0", taken_by(server, "digits"))
    # One that is not there is passed over, or not.
    with Losing(bench, library, "--devices=vulkan:7,cpu", name="one-missing") as server:
        server.wait_until_ready()
        found, devices = taken_by(server, "digits")
        bench.check("a device that is not there is reported", devices == [("cpu:0", "ready"), ("vulkan:7", "refused")] and found["devices"][1]["reason"] and "model 'digits': device vulkan:7 is not used: " in server.logged(), found.get("devices"))
        bench.check("the other one serves", is_same(server.ask(*requests[0]), want[0]))
    with Losing(bench, library, "--devices=vulkan:7,cpu", "--no-fallback", name="one-missing-fails") as server:
        server.wait_for(lambda: any(line.startswith("failed   digits") for line in server.lines))
        bench.check("without fallback the model fails", any("vulkan:7" in line for line in server.lines if line.startswith("failed   digits")), server.lines)
    config = bench.path("several.toml")
    for key, text in (('deterministic = true', "a model that is deterministic takes devices of one kind, got 'cpu "), ('stateful = ["main"]', "functions that are stateful ('main') take one device, got 2")):
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{bench.path("both")}"\n[[vx.server.model]]\nname = "digits"\ndevices = ["cpu", "vulkan"]\n{key}\n')
        with Server(bench, f"--config={config}", name="several-refused") as server:
            server.wait_for(lambda: any(line.startswith("failed   digits") for line in server.lines))
            bench.check(f"several devices and {key}", any(text in line for line in server.lines if line.startswith("failed   digits")), server.lines)
