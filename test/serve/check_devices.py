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


def check_device_loss(bench, library):
    os.mkdir(bench.path("both"))
    for name, source in (("digits", str(ROOT / "examples/digits/digits.onnx")), ("tiny", bench.path("tiny"))):
        bench.tool("vx-compile", source, "--target=vulkan,cpu", "-o", bench.path(f"both/{name}.vxm"))
    write_keys(bench.path("losing-keys"), (ADMIN, "boss", "admin"), (USER, "app", "user"))
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
