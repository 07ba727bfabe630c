"""The digits of the examples, and requests of KServe that ask about them."""
import json
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = np.fromfile(ROOT / "examples/digits/images.f32", np.float32).reshape(-1, 1, 8, 8)
LABELS = np.fromfile(ROOT / "examples/digits/labels.u8", np.uint8)


def infer_json(images):
    return {"inputs": [{"name": "image", "shape": list(images.shape), "datatype": "FP32", "data": images.reshape(-1).tolist()}]}


def infer_binary(images, binary_out=True):
    head = json.dumps({"inputs": [{"name": "image", "shape": list(images.shape), "datatype": "FP32", "parameters": {"binary_data_size": images.nbytes}}],
                       "parameters": {"binary_data_output": binary_out}}).encode()
    return head + images.tobytes(), {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}


def infer(server, images, path="/v2/models/digits/infer", headers=None):
    body, own = infer_binary(images)
    status, answered, data = server.ask("POST", path, body, own | (headers or {}))
    if status != 200:
        raise RuntimeError(f"{status} {data}")
    length = int(answered["Inference-Header-Content-Length"])
    output = json.loads(data[:length])["outputs"][0]
    return np.frombuffer(data[length:], np.float32).reshape(output["shape"])
