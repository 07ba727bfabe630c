"""`details` of errors: what a program finds there, on each interface."""
import json
import socket

import numpy as np
import onnx
import tritonclient.http
from onnx import TensorProto, helper

from served import Server


def make_rows(path):
    """A Gather of rows of a table: an index out of range is a fault of its node."""
    table = onnx.numpy_helper.from_array(np.arange(20, dtype=np.float32).reshape(5, 4), "table")
    graph = helper.make_graph([helper.make_node("Gather", ["table", "index"], ["rows"], name="pick", axis=0)], "rows", [helper.make_tensor_value_info("index", TensorProto.INT64, ["n"])],
                              [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 4])], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def image(shape=(1, 1, 8, 8), datatype="FP32", **more):
    return {"name": "image", "datatype": datatype, "shape": list(shape), "data": [0.0] * int(np.prod(shape))} | more


def check_details(bench):
    make_rows(bench.path("rows.onnx"))
    bench.tool("vx-compile", bench.path("rows.onnx"), "--target=cpu", "-o", bench.path("rows.vxm"))
    with Server(bench, f"--model={bench.path('models/digits.vxm')}", f"--model={bench.path('rows.vxm')}", f"--model={bench.path('tiny.vxm')}", name="details") as server:
        server.wait_until_ready()
        right = {"inputs": [image()]}
        for what, model, body, expected in (
                ("a dimension", "digits", {"inputs": [image((2, 1, 8, 7))]}, {"input": "image", "dim": 3, "expected": "f32[batch,1,8,8]", "got": "f32[2,1,8,7]"}),
                ("another dimension", "digits", {"inputs": [image((2, 3, 8, 8))]}, {"input": "image", "dim": 1, "expected": "f32[batch,1,8,8]", "got": "f32[2,3,8,8]"}),
                ("a rank", "digits", {"inputs": [image((1, 64))]}, {"input": "image", "expected": "f32[batch,1,8,8]", "got": "f32[1,64]"}),
                ("a type", "digits", {"inputs": [image(datatype="FP64")]}, {"expected": "FP32", "got": "FP64", "input": "image"}),
                ("elements", "digits", {"inputs": [image(data=[0.0] * 63)]}, {"expected": 64, "got": 63, "input": "image"}),
                ("an element", "digits", {"inputs": [image(data=[0.0] * 63 + ["x"])]}, {"expected": "a number", "got": "a string", "input": "image"}),
                ("a size", "digits", {"inputs": [image(shape=(1,)) | {"shape": [1, 1, -8, 8]}]}, {"dim": 2, "expected": "a size", "got": "-8", "input": "image"}),
                ("no data", "digits", {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8]}]}, {"expected": "data or parameters.binary_data_size", "got": "none", "input": "image"}),
                ("bytes that are not there", "digits", {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "parameters": {"binary_data_size": 256}}]}, {"expected": 256, "got": 0, "input": "image"}),
                ("a missing input", "digits", {"inputs": []}, {"input": "image", "expected": "FP32[batch,1,8,8]", "got": "none"}),
                ("no inputs", "digits", {}, {"expected": "a list", "got": "none"}),
                ("an unknown input", "digits", {"inputs": [image(name="imag")]}, {"expected": "image", "got": "imag"}),
                ("an input that is given twice", "digits", {"inputs": [image(), image()]}, {"input": "image"}),
                ("an unknown output", "digits", right | {"outputs": [{"name": "logit"}]}, {"output": "logit", "expected": "logits", "got": "logit"}),
                ("an output that is asked for twice", "digits", right | {"outputs": [{"name": "logits"}] * 2}, {"output": "logits"}),
                ("a function", "digits", right | {"parameters": {"function": "mian"}}, {"expected": "main", "got": "mian"}),
                ("an index out of range", "rows", {"inputs": [{"name": "index", "datatype": "INT64", "shape": [2], "data": [1, 7]}]}, {"node": "pick", "op": "Gather", "expected": "index at [1] in [-5, 5)", "got": "7"}),
                ("no object", "digits", [], {"expected": "an object", "got": "a list"})):
            status, headers, data = server.ask("POST", f"/v2/models/{model}/infer", body)
            bench.check(f"details of {what}", status == 400 and isinstance(data["error"], str) and data.get("details") == expected and headers["x-vx-error-code"] == "invalid_value", (status, data))
        status, _, data = server.ask("GET", "/v2/models/none/ready")
        bench.check("no details: KServe's form alone", status == 404 and set(data) == {"error"}, data)
        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{server.port}")
        tensor = tritonclient.http.InferInput("image", [1, 1, 8, 7], "FP32")
        tensor.set_data_from_numpy(np.zeros((1, 1, 8, 7), np.float32))
        try:
            client.infer("digits", [tensor])
            said = "none"
        except tritonclient.utils.InferenceServerException as error:
            said = str(error)
        bench.check("tritonclient shows the message alone", "dim 3" in said and "details" not in said, said)
        for what, path, body, code, expected in (
                ("a long text", "/v1/embeddings", {"model": "tiny", "input": "the " * 80}, "context_length_exceeded", {"expected": 60, "got": 82}),
                ("many texts", "/v1/embeddings", {"model": "tiny", "input": ["a"] * 2049}, "invalid_value", {"expected": "1 to 2048 texts", "got": 2049}),
                ("a kind", "/v1/embeddings", {"model": 1, "input": "a"}, "invalid_value", {"expected": "a string", "got": "a number"}),
                ("no model", "/v1/embeddings", {"input": "a"}, "invalid_value", {"expected": "a string", "got": "none"}),
                ("a number", "/v1/embeddings", {"model": "tiny", "input": "a", "dimensions": 99}, "invalid_value", {"expected": "1 to 24", "got": "99"}),
                ("depth", "/v1/embeddings", "[" * 100, "invalid_json", {"expected": "at most 64 lists and objects", "got": "more"}),
                ("a model that is not there", "/v1/embeddings", {"model": "tinny", "input": "a"}, "model_not_found", {})):
            status, _, data = server.ask("POST", path, body, {"Content-Type": "application/json"})
            bench.check(f"details of {what}", data["error"]["code"] == code and data["error"]["details"] == expected, data)
        status, _, data = server.ask("POST", "/v1/embeddings", {"model": "tiny", "input": "a", "inptu": "b"})
        bench.check("details of an unknown field", data["error"]["details"]["got"] == "inptu" and "input" in data["error"]["details"]["expected"].split(", "), data)
        status, _, data = server.ask("GET", "/api/v1/health", headers={f"x-{i}": "1" for i in range(120)})
        bench.check("details of headers", status == 431 and data["error"]["details"]["expected"] == 100 and data["error"]["details"]["got"] > 120, data)
    with Server(bench, f"--model={bench.path('models/digits.vxm')}", name="details-limits", environment={"VX_SERVER__REQUEST_LIMIT": "1KiB"}) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
            answer = b""
            while b"request_id" not in answer:
                answer += plain.recv(65536)
        error = json.loads(answer.split(b"\r\n\r\n")[1])["error"]
        bench.check("details of a body", error["code"] == "body_too_large" and error["details"] == {"expected": 1024, "got": 5000}, error)
