"""KServe over gRPC by tritonclient, beside the same requests over HTTP."""
import concurrent.futures
import itertools
import json
import os
import queue
import re
import socket
import threading
import time

import grpc
import numpy as np
import onnx
import tritonclient.grpc
import tritonclient.http
from onnx import TensorProto, helper
from tritonclient.grpc import service_pb2 as messages

from api_keys import ADMIN, USER, write_keys
from check_models import steps, steps_that_take
from check_observed import free_ports
from check_tls import make_certificate, put
from digits import IMAGES, infer
from served import Server, metric

SERVICE = "/inference.GRPCInferenceService/"
CONTENTS = {"BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents", "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents",
            "UINT32": "uint_contents", "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents"}
ONNX_TYPES = {"BOOL": TensorProto.BOOL, "INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT32": TensorProto.INT32, "INT64": TensorProto.INT64, "UINT8": TensorProto.UINT8,
              "UINT16": TensorProto.UINT16, "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE, "FP16": TensorProto.FLOAT16, "BYTES": TensorProto.STRING}
VALUES = {"BOOL": np.array([True, False, True]), "FP16": np.array([1.5, -65504, 6e-8], np.float16), "FP32": np.array([1.1, -3e38, 1e-45], np.float32), "FP64": np.array([1.1, -1e308, 5e-324]),
          "BYTES": np.array(["a text".encode(), "".encode(), "größe \x00 \U0001f600".encode()], object)}
for bits in (8, 16, 32, 64):
    VALUES[f"INT{bits}"] = np.array([-2 ** (bits - 1), 2 ** (bits - 1) - 1, -1], f"int{bits}")
    VALUES[f"UINT{bits}"] = np.array([0, 2 ** bits - 1, 7], f"uint{bits}")


class Grpc:
    """A server with a port for gRPC, a client of Triton's, and a channel for calls that this client does not make."""

    def __init__(self, bench, *arguments, name, environment=None, secure=False):
        self.port = free_ports(1)[0]
        self.server = Server(bench, *arguments, f"--grpc-port={self.port}", name=name, environment=environment)
        self.address = f"127.0.0.1:{self.port}"
        self.client = None if secure else tritonclient.grpc.InferenceServerClient(self.address)
        self.channel = None if secure else grpc.insecure_channel(self.address, options=[("grpc.max_receive_message_length", -1)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in (self.client, self.channel):
            if one:
                one.close()
        self.server.__exit__()

    def call(self, name, request, timeout=60, metadata=(), **more):
        """The answer's bytes, its trailers too."""
        one = self.channel.unary_unary((name if name.startswith("/") else SERVICE + name), request_serializer=lambda message: message if isinstance(message, bytes) else message.SerializeToString())
        return one.with_call(request, timeout=timeout, metadata=metadata, **more)

    def infer(self, request, **more):
        answer = messages.ModelInferResponse()
        answer.ParseFromString(self.call("ModelInfer", request, **more)[0])
        return answer

    def failure(self, name, request, **more):
        """Status, sentence and trailers of a call that fails."""
        try:
            self.call(name, request, **more)
        except grpc.RpcError as error:
            return error.code().name, error.details(), {key: value for key, value in error.trailing_metadata() or ()}
        return "OK", "", {}


def digits_request(images=IMAGES[:2], **more):
    request = messages.ModelInferRequest(model_name="digits", **more)
    request.inputs.add(name="image", datatype="FP32", shape=images.shape)
    request.raw_input_contents.append(images.tobytes())
    return request


def steps_request(count):
    request = messages.ModelInferRequest(model_name="steps")
    request.inputs.add(name="count", datatype="INT64", shape=[]).contents.int64_contents.append(count)
    return request


def make_typed_model(bench):
    """Each type's elements twice."""
    names = list(ONNX_TYPES)
    nodes = [helper.make_node("Concat", [name, name], ["twice_" + name], axis=0) for name in names]
    given = [helper.make_tensor_value_info(name, ONNX_TYPES[name], [f"n_{name}"]) for name in names]
    made = [helper.make_tensor_value_info("twice_" + name, ONNX_TYPES[name], [f"m_{name}"]) for name in names]
    onnx.save(helper.make_model(helper.make_graph(nodes, "typed", given, made), opset_imports=[helper.make_opsetid("", 17)], ir_version=9), bench.path("typed.onnx"))
    bench.tool("vx-compile", bench.path("typed.onnx"), "--target=cpu", "-o", bench.path("models/typed.vxm"))


def check_protocol(bench):
    """The server, its models and their numbers, as HTTP has them."""
    with Grpc(bench, f"--model-dir={bench.path('models')}", name="grpc") as served:
        client, server = served.client, served.server
        server.wait_until_ready()
        http = tritonclient.http.InferenceServerClient(f"127.0.0.1:{server.port}")
        bench.check("live and ready", client.is_server_live() and client.is_server_ready() and client.is_model_ready("digits") and client.is_model_ready("digits", "1"))
        meta = client.get_server_metadata(as_json=True)
        bench.check_equal("the server", {name: http.get_server_metadata()[name] for name in ("name", "version")} | {"extensions": ["model_repository"]}, meta)
        for name in ("digits", "typed"):
            own, other = client.get_model_metadata(name, as_json=True), http.get_model_metadata(name)
            for tensor in own["inputs"] + own["outputs"]:
                tensor["shape"] = [int(size) for size in tensor["shape"]]
            bench.check_equal(f"the model {name}", other, own)
        index = client.get_model_repository_index(as_json=True)["models"]
        bench.check_equal("the models", http.get_model_repository_index(), [{"reason": ""} | one for one in index])

        want = infer(server, IMAGES[:64])
        given = tritonclient.grpc.InferInput("image", [64, 1, 8, 8], "FP32")
        given.set_data_from_numpy(IMAGES[:64])
        result = client.infer("digits", [given], outputs=[tritonclient.grpc.InferRequestedOutput("logits")], request_id="9", parameters={"function": "main"})
        bench.check("digits have the bytes of HTTP", result.as_numpy("logits").tobytes() == want.tobytes() and result.get_response().id == "9" and result.get_response().model_version == "1")
        answer = served.infer(digits_request(IMAGES[:3], model_version="1"))
        bench.check_equal("one that names no outputs", (["logits"], "FP32", [3, 10], infer(server, IMAGES[:3]).tobytes()),
                          ([output.name for output in answer.outputs], answer.outputs[0].datatype, list(answer.outputs[0].shape), answer.raw_output_contents[0]))
        http.close()


def check_types(bench):
    """Every type in raw contents and in typed ones, against HTTP."""
    with Grpc(bench, f"--model-dir={bench.path('models')}", name="grpc-types") as served:
        served.server.wait_until_ready()
        http = tritonclient.http.InferenceServerClient(f"127.0.0.1:{served.server.port}")
        inputs = {}
        for kind, client in (("http", tritonclient.http), ("grpc", tritonclient.grpc)):
            inputs[kind] = []
            for name, values in VALUES.items():
                inputs[kind].append(client.InferInput(name, list(values.shape), name))
                inputs[kind][-1].set_data_from_numpy(values)
        other = http.infer("typed", inputs["http"])
        own = served.client.infer("typed", inputs["grpc"])
        for i, (name, values) in enumerate(VALUES.items()):
            want = np.concatenate([values, values])
            got = own.as_numpy("twice_" + name)
            bench.check(f"raw {name} as HTTP has it", got.dtype == want.dtype and np.array_equal(got, want) and np.array_equal(other.as_numpy("twice_" + name), got), got)

        request = messages.ModelInferRequest(model_name="typed")
        for name, values in VALUES.items():
            tensor = request.inputs.add(name=name, datatype=name, shape=values.shape)
            if name in CONTENTS:
                getattr(tensor.contents, CONTENTS[name]).extend(values.tolist())
        fails = served.failure("ModelInfer", request)
        bench.check_equal("FP16 in typed contents", ("INVALID_ARGUMENT", f"'inputs[{list(VALUES).index('FP16')}].contents': FP16 goes as raw_input_contents only"), fails[:2])
        # Without it, on a model of the other types: contents for contents.
        only = [name for name in VALUES if name != "FP16"]
        del request.inputs[list(VALUES).index("FP16")]
        request.model_name = "contents"
        answer = served.infer(request)
        bench.check_equal("typed contents get typed contents", 0, len(answer.raw_output_contents))
        for output in answer.outputs:
            name = output.datatype
            want = np.concatenate([VALUES[name], VALUES[name]])
            got = np.array(getattr(output.contents, CONTENTS[name]), want.dtype)
            bench.check(f"typed {name}", output.name == "twice_" + name and list(output.shape) == [len(want)] and np.array_equal(got, want), got)
        bench.check_equal("all of them", only, [output.datatype for output in answer.outputs])
        # An answer with FP16 is raw as a whole.
        request.outputs.add(name="twice_FP16"), request.outputs.add(name="twice_INT8")
        request.model_name = "mixed"
        answer = served.infer(request)
        bench.check_equal("an answer with FP16 is raw", ([np.zeros(2, np.float16).tobytes(), np.concatenate([VALUES["INT8"]] * 2).tobytes()], False),
                          (list(answer.raw_output_contents), any(output.HasField("contents") for output in answer.outputs)))
        http.close()


def make_contents_models(bench):
    names = [name for name in VALUES if name != "FP16"]
    nodes = [helper.make_node("Concat", [name, name], ["twice_" + name], axis=0) for name in names]
    given = [helper.make_tensor_value_info(name, ONNX_TYPES[name], [f"n_{name}"]) for name in names]
    made = [helper.make_tensor_value_info("twice_" + name, ONNX_TYPES[name], [f"m_{name}"]) for name in names]
    half = helper.make_tensor_value_info("twice_FP16", TensorProto.FLOAT16, [2])
    zeros = helper.make_node("Constant", [], ["twice_FP16"], value=onnx.numpy_helper.from_array(np.zeros(2, np.float16)))
    for name, more_nodes, more in (("contents", [], []), ("mixed", [zeros], [half])):
        onnx.save(helper.make_model(helper.make_graph(nodes + more_nodes, name, given, made + more), opset_imports=[helper.make_opsetid("", 17)], ir_version=9), bench.path(f"{name}.onnx"))
        bench.tool("vx-compile", bench.path(f"{name}.onnx"), "--target=cpu", "-o", bench.path(f"models/{name}.vxm"))


def wrong_requests():
    """(title, request, status, text)"""
    def changed(change, **more):
        request = digits_request(**more)
        change(request)
        return request

    def tensor(change):
        return changed(lambda request: change(request.inputs[0]))

    def contents(field, values, datatype="INT8"):
        request = messages.ModelInferRequest(model_name="typed")
        getattr(request.inputs.add(name=datatype, datatype=datatype, shape=[len(values)]).contents, field).extend(values)
        return request

    parameter = lambda name, **value: lambda holder: holder.parameters[name].CopyFrom(messages.InferParameter(**value))
    yield "no model", messages.ModelInferRequest(), "INVALID_ARGUMENT", "'model_name': expected the name of a model, got none"
    yield "another model", messages.ModelInferRequest(model_name="digit5"), "NOT_FOUND", "no model 'digit5', did you mean 'digits'"
    yield "a model of a path", messages.ModelInferRequest(model_name="a/b/../c"), "NOT_FOUND", "no model 'a/b/../c'"
    yield "another version", digits_request(model_version="2"), "NOT_FOUND", "model 'digits' has the version '1', got '2'"
    yield "no inputs", messages.ModelInferRequest(model_name="digits"), "INVALID_ARGUMENT", "input 'image' is missing"
    yield "another input", tensor(lambda one: setattr(one, "name", "picture")), "INVALID_ARGUMENT", "'inputs[0].name': no input 'picture', the inputs are 'image'"
    yield "another type", tensor(lambda one: setattr(one, "datatype", "FP64")), "INVALID_ARGUMENT", "'inputs[0].datatype': input 'image' is FP32, got 'FP64'"
    yield "no type", tensor(lambda one: setattr(one, "datatype", "")), "INVALID_ARGUMENT", "'inputs[0].datatype': input 'image' is FP32, got ''"
    yield "a negative size", tensor(lambda one: one.shape.__setitem__(0, -1)), "INVALID_ARGUMENT", "'inputs[0].shape[0]': expected a size, got -1"
    yield "another size", tensor(lambda one: one.shape.__setitem__(0, 3)), "INVALID_ARGUMENT", "expected 768 bytes for the shape, got 512"
    yield "another rank", tensor(lambda one: one.shape.append(1)), "INVALID_ARGUMENT", "rank"
    yield "more raw contents than inputs", changed(lambda request: request.raw_input_contents.append(b"")), "INVALID_ARGUMENT", "'raw_input_contents': expected one for each of the 1 inputs, got 2"
    yield "both contents", tensor(lambda one: one.contents.fp32_contents.append(1)), "INVALID_ARGUMENT", "'inputs[0]': expected contents or raw_input_contents, got both"
    yield "the same input twice", changed(lambda request: (request.inputs.append(request.inputs[0]), request.raw_input_contents.append(request.raw_input_contents[0]))), "INVALID_ARGUMENT", "input 'image' is given twice"
    yield "another output", changed(lambda request: request.outputs.add(name="label")), "INVALID_ARGUMENT", "'outputs[0].name': no output 'label', the outputs are 'logits'"
    yield "another function", changed(parameter("function", string_param="other")), "NOT_FOUND|INVALID_ARGUMENT", "other"
    yield "a function that is no text", changed(parameter("function", int64_param=3)), "INVALID_ARGUMENT", "'parameters.function': expected a string, got a number"
    yield "shared memory", tensor(parameter("shared_memory_region", string_param="a")), "INVALID_ARGUMENT", "'inputs[0].parameters.shared_memory_region': this server has no shared memory"
    yield "classes", changed(lambda request: parameter("classification", int64_param=3)(request.outputs.add(name="logits"))), "INVALID_ARGUMENT", "'outputs[0].parameters.classification': this server has no classification"
    yield "a field of another type", contents("int64_contents", [1]), "INVALID_ARGUMENT", "'inputs[0].contents': expected int_contents for INT8, got int64_contents"
    yield "an element that is too large", contents("int_contents", [1, 128]), "INVALID_ARGUMENT", "'inputs[0].contents.int_contents[1]': expected -128 to 127 for INT8, got 128"
    yield "one that is too large without a sign", contents("uint_contents", [65536], "UINT16"), "INVALID_ARGUMENT", "expected 0 to 65535 for UINT16, got 65536"
    yield "no UTF-8", contents("bytes_contents", [b"\xff"], "BYTES"), "INVALID_ARGUMENT", "element 0 is no UTF-8"


def check_wrong(bench):
    """Requests that are wrong, and functions that are not there: a status and a sentence each."""
    with Grpc(bench, f"--model-dir={bench.path('models')}", "--request-limit=64KiB", name="grpc-wrong") as served:
        served.server.wait_until_ready()
        for what, request, status, text in wrong_requests():
            got = served.failure("ModelInfer", request)
            bench.check(what, got[0] in status.split("|") and text in got[1], got)
        got = served.failure("ModelInfer", digits_request(model_version="2"))
        bench.check("the code and an id are trailers", got[2]["x-vx-error-code"] == "model_not_found" and got[2]["x-request-id"], got)
        got = served.failure("ModelInfer", next(request for what, request, _, _ in wrong_requests() if what == "another type"), metadata=[("x-request-id", "mine-1")])
        bench.check("details are a trailer, and the client's id is", json.loads(got[2]["x-vx-error-details"])["expected"] == "FP32" and got[2]["x-request-id"] == "mine-1", got)
        for what, name, request, status, text in (
                ("streams", "ModelStreamInfer", b"", "UNIMPLEMENTED", "ModelStreamInfer is not supported: this server has no models whose answers are streams; use ModelInfer"),
                ("a function of Triton's", "ModelConfig", b"", "UNIMPLEMENTED", "ModelConfig is not supported by this server"),
                ("another service", "/grpc.health.v1.Health/Check", b"", "UNIMPLEMENTED", "this server has the service inference.GRPCInferenceService, got '/grpc.health.v1.Health/Check'"),
                ("bytes that are no message", "ModelInfer", b"\xff\xff\xff", "INVALID_ARGUMENT", "expected a message of ModelInfer, got 3 bytes that are none"),
                ("a name that is no UTF-8", "ModelReady", b"\x0a\x01\xff", "INVALID_ARGUMENT|NOT_FOUND", ""),
                ("a repository's name", "RepositoryIndex", messages.RepositoryIndexRequest(repository_name="b"), "INVALID_ARGUMENT", "'repository_name': expected none"),
                ("a message that is too large", "ModelInfer", digits_request(IMAGES[:300]), "RESOURCE_EXHAUSTED", "larger than max"),
                # Fewer bytes than the limit on the wire, and more as a request: each of these elements takes 1 byte there and 8 here.
                ("one that is too large as a request", "ModelInfer", wide_request(20000), "RESOURCE_EXHAUSTED", "a request may have 65536 bytes")):
            got = served.failure(name, request)
            bench.check(what, got[0] in status.split("|") and text in got[1], got)
        got = served.failure("ModelInfer", digits_request(), compression=grpc.Compression.Gzip)
        bench.check("messages that are compressed", got[0] == "UNIMPLEMENTED", got)
        never = served.channel.stream_unary(SERVICE + "ModelInfer")
        try:
            never(iter(()), timeout=20)
            bench.check("a call without a message", False)
        except grpc.RpcError as error:
            bench.check("a call without a message", error.code().name == "INVALID_ARGUMENT" and "got none" in error.details(), error)
        bench.check("the server goes on", served.infer(digits_request()).outputs[0].shape == [2, 10])
        left = lambda: (metric(served.server, "vx_connections"), metric(served.server, "vx_bytes_in_flight"))
        bench.check("nothing is left of them", served.server.comes_about(lambda: left() == (1, 0)), left())


def check_limits(bench):
    """Bytes in flight, of all and of a key, and connections."""
    keys = bench.path("grpc-limit-keys")
    write_keys(keys, (USER, "app", "user"))
    key = [("x-api-key", USER)]
    large, small = digits_request(IMAGES[:100]), digits_request()  # 25,600 bytes, and 512
    for flag, whose in (("--bytes-in-flight=20KiB", "all"), ("--bytes-per-address=20KiB", "an address"), ("--bytes-per-key=20KiB", "a key")):
        with Grpc(bench, f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", flag, name="grpc-bytes") as served:
            served.server.wait_for(lambda: served.failure("ModelInfer", small, metadata=key)[0] == "OK")
            got = served.failure("ModelInfer", large, metadata=key)
            bench.check(f"a message above the bytes of {whose}", got[0] == "RESOURCE_EXHAUSTED" and got[2]["x-vx-error-code"] == "body_too_large" and "than all that may be in flight, 20480" in got[1], got)
    with Grpc(bench, f"--model-dir={bench.path('several')}", "--model=steps", name="grpc-connections") as served:
        server = served.server
        server.wait_until_ready()
        long, _ = steps_that_take(server, 4)
        one = served.channel.unary_unary(SERVICE + "ModelInfer", request_serializer=lambda message: message.SerializeToString())
        request = steps_request(long["inputs"][0]["data"][0])
        running = one.future(request)
        bench.check("bytes of a call are in flight", server.comes_about(lambda: metric(server, "vx_bytes_in_flight") >= request.ByteSize()), metric(server, "vx_bytes_in_flight"))
        running.cancel()
    with Grpc(bench, f"--model-dir={bench.path('models')}", "--connections-per-address=1", name="grpc-connection") as served:
        live = lambda: served.failure("ServerLive", b"")[:2]
        served.server.wait_for(lambda: live()[0] == "OK")
        over = threading.Event()

        def nothing():
            over.wait(20)
            yield from ()

        held = served.channel.stream_unary(SERVICE + "ServerLive").future(nothing(), timeout=20)
        bench.check("more calls than connections may be open", Server.comes_about(lambda: live() == ("RESOURCE_EXHAUSTED", "too many connections and calls are open"), 10), live())
        over.set()
        bench.check("and again when it is over", Server.comes_about(lambda: live()[0] == "OK"), held)


def wide_request(count):
    request = messages.ModelInferRequest(model_name="typed")
    request.inputs.add(name="INT64", datatype="INT64", shape=[count]).contents.int64_contents.extend([1] * count)
    return request


def check_keys(bench):
    """Keys, roles and rates, and models that an admin loads."""
    keys, folder = bench.path("grpc-keys"), bench.path("grpc-repository")
    os.mkdir(folder)
    for name in ("one", "two"):
        with open(bench.path("models/digits.vxm"), "rb") as file, open(f"{folder}/{name}.vxm", "wb") as copy:
            copy.write(file.read())
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    user, admin = {"authorization": f"Bearer {USER}"}, {"x-api-key": ADMIN}
    with Grpc(bench, f"--model-dir={folder}", f"--api-keys-file={keys}", "--per-key=0", "--auth-failures=5/min", "--load=admin", name="grpc-keys") as served:
        client = served.client
        bench.check("whether it lives needs no key", client.is_server_live())
        empty = messages.ModelMetadataRequest(name="one")
        got = served.failure("ModelMetadata", empty)
        bench.check("without a key", got[0] == "UNAUTHENTICATED" and "expected a key" in got[1], got)
        bench.check_equal("an admin's key is asked for", ("PERMISSION_DENIED", "this takes a key of the role 'admin'"), served.failure("RepositoryModelLoad", messages.RepositoryModelLoadRequest(model_name="one"), metadata=list(user.items()))[:2])
        two = served.failure("ModelMetadata", empty, metadata=[("authorization", f"Bearer {USER}"), ("authorization", "Bearer x")])
        bench.check("two keys", two[0] == "INVALID_ARGUMENT" and "expected one metadata entry 'authorization', got 2" in two[1], two)
        bench.check_equal("a model that is not loaded is not ready", False, client.is_model_ready("one", headers=user))
        bench.check("nor does it answer", served.failure("ModelInfer", messages.ModelInferRequest(model_name="one"), metadata=list(user.items()))[0] == "UNAVAILABLE")
        bench.check("a model that is not there", served.failure("ModelReady", messages.ModelReadyRequest(name="three"), metadata=list(user.items()))[0] == "NOT_FOUND")
        client.load_model("one", headers=admin)
        given = tritonclient.grpc.InferInput("image", [2, 1, 8, 8], "FP32")
        given.set_data_from_numpy(IMAGES[:2])
        bench.check("a model is loaded", client.is_model_ready("one", headers=user) and client.infer("one", [given], headers=user).as_numpy("logits").shape == (2, 10))
        states = lambda: {one["name"]: one.get("state") for one in client.get_model_repository_index(headers=user, as_json=True)["models"]}
        bench.check_equal("the models", {"one": "READY", "two": "UNAVAILABLE"}, states())
        ready = messages.RepositoryIndexResponse()
        ready.ParseFromString(served.call("RepositoryIndex", messages.RepositoryIndexRequest(ready=True), metadata=list(user.items()))[0])
        bench.check_equal("those that are ready", ["one"], [one.name for one in ready.models])
        client.unload_model("one", headers=admin)
        bench.check_equal("a model is unloaded", {"one": "UNAVAILABLE", "two": "UNAVAILABLE"}, states())
        try:
            client.load_model("two", headers=admin, config="{}")
            bench.check("a configuration of the client", False)
        except tritonclient.grpc.InferenceServerException as error:
            bench.check("a configuration of the client", "INVALID_ARGUMENT" in error.status() and "models have the settings and files of the server" in error.message(), error)
        statuses = [served.failure("ModelMetadata", empty, metadata=[("x-api-key", f"wrong-{i}")])[0] for i in range(8)]
        bench.check("an address that guesses", statuses[:3] == ["UNAUTHENTICATED"] * 3 and statuses[-1] == "RESOURCE_EXHAUSTED", statuses)
    with Grpc(bench, f"--model-dir={folder}", f"--api-keys-file={keys}", "--per-key=3/min", name="grpc-rates") as served:
        calls = [served.failure("ServerMetadata", b"", metadata=list(user.items())) for _ in range(5)]
        bench.check("more than the rate allows", [call[0] for call in calls[:3]] == ["OK"] * 3 and calls[4][0] == "RESOURCE_EXHAUSTED" and int(calls[4][2]["retry-after"]) > 0, calls)
        _, call = served.call("ServerLive", b"")
        bench.check("an answer has trailers too", "x-request-id" in dict(call.trailing_metadata()))
    with Grpc(bench, f"--model-dir={folder}", f"--api-keys-file={keys}", f"--admin-port={free_ports(1)[0]}", "--admin-host=127.0.0.1", name="grpc-admin") as served:
        got = served.failure("RepositoryModelLoad", messages.RepositoryModelLoadRequest(model_name="one"), metadata=list(admin.items()))
        bench.check("with an admin port models are loaded there alone", got[0] == "PERMISSION_DENIED" and "at the admin port alone" in got[1], got)


def check_leaving_calls(bench):
    """Deadlines, calls that are cancelled, clients that send nothing, a full queue."""
    with Grpc(bench, f"--model-dir={bench.path('several')}", "--model=steps", "--body-timeout-s=1", "--queue=8", name="grpc-leaving") as served:
        server = served.server
        server.wait_until_ready()
        long, _ = steps_that_take(server, 2)
        count = long["inputs"][0]["data"][0]
        depth = lambda: metric(server, 'vx_queue_depth{model="steps"}')
        one = served.channel.unary_unary(SERVICE + "ModelInfer", request_serializer=lambda message: message.SerializeToString())
        running = one.future(steps_request(count))
        server.wait_for(lambda: metric(server, "vx_requests_in_flight") == 2 and depth() == 0)
        began = time.monotonic()
        got = served.failure("ModelInfer", steps_request(1), timeout=0.3)
        bench.check("a deadline of the client", got[0] == "DEADLINE_EXCEEDED" and time.monotonic() - began < 1.5, got)
        bench.check("it leaves the queue", server.comes_about(lambda: depth() == 0) and not running.done())
        waiting = [one.future(steps_request(1)) for _ in range(8)]
        server.wait_for(lambda: depth() == 8)
        got = served.failure("ModelInfer", steps_request(1))
        bench.check("a queue that is full", got[0] == "RESOURCE_EXHAUSTED" and got[2]["x-vx-error-code"] == "queue_full" and "retry-after" in got[2], got)
        for call in waiting:
            call.cancel()
        bench.check("calls that are cancelled leave the queue", server.comes_about(lambda: depth() == 0) and not running.done())
        before = metric(server, 'vx_batch_rows_sum{model="steps"}')
        running.result(timeout=60)
        served.infer(steps_request(1))
        bench.check("and are not run", server.comes_about(lambda: metric(server, 'vx_batch_rows_sum{model="steps"}') - before == 2), metric(server, 'vx_batch_rows_sum{model="steps"}') - before)
        bench.check("the log has them as gone", server.comes_about(lambda: len(re.findall(r"gRPC /inference\.GRPCInferenceService/ModelInfer 499 ", server.logged())) >= 8), server.logged()[-2000:])
        done = threading.Event()

        def nothing():
            done.wait(20)
            yield from ()

        began = time.monotonic()
        try:
            served.channel.stream_unary(SERVICE + "ModelInfer")(nothing(), timeout=20)
            bench.check("a client that sends no message", False)
        except grpc.RpcError as error:
            bench.check("a client that sends no message", error.code().name == "DEADLINE_EXCEEDED" and "may take 1000 ms" in error.details() and time.monotonic() - began < 5, error)
        done.set()
        bench.check("nothing is left", server.comes_about(lambda: metric(server, "vx_connections") == 1 and metric(server, "vx_bytes_in_flight") == 0 and metric(server, "vx_requests_in_flight") == 1))


def check_slow_reader(bench):
    """A client that takes its answer too slowly, by a window of HTTP/2 that stays closed: its call is ended, and nothing else."""
    frame = lambda kind, flags, stream, data: len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data
    text = lambda value: bytes([len(value)]) + value.encode()
    field = lambda name, value: b"\x00" + text(name) + text(value)
    with Grpc(bench, f"--model-dir={bench.path('several')}", "--model=pairs", "--body-timeout-s=1", name="grpc-slow") as served:
        served.server.wait_until_ready()
        request = messages.ModelInferRequest(model_name="pairs")
        request.inputs.add(name="x", datatype="FP32", shape=[1500])
        request.raw_input_contents.append(np.ones(1500, np.float32).tobytes())
        data = request.SerializeToString()
        fields = field(":method", "POST") + field(":scheme", "http") + field(":path", SERVICE + "ModelInfer") + field(":authority", "a") + field("te", "trailers") + field("content-type", "application/grpc")
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"\x00\x04\x00\x00\x00\x64") + frame(1, 4, 1, fields) + frame(0, 1, 1, b"\x00" + len(data).to_bytes(4, "big") + data))
            bench.check("it is ended", served.server.comes_about(lambda: "ModelInfer 200 " in served.server.logged() and metric(served.server, "vx_connections") == 1 and metric(served.server, "vx_bytes_in_flight") == 0, 10), served.server.logged()[-500:])
        bench.check("and nothing else", served.infer(request).outputs[0].shape == [1500, 1500])


def check_clients(bench):
    """64 clients at one time, beside clients of HTTP: each gets the bytes that it gets alone, in joined batches."""
    clients, rounds = 64, 12
    with Grpc(bench, f"--model-dir={bench.path('models')}", f"--model=digits={bench.path('models')}/digits.vxm", "--batch-timeout-ms=5", name="grpc-clients") as served:
        server = served.server
        server.wait_until_ready()
        want = [infer(server, IMAGES[3 * i:3 * i + 1 + i % 4]) for i in range(clients)]
        batches = lambda: (metric(server, 'vx_batch_rows_sum{model="digits"}'), metric(server, 'vx_batch_rows_count{model="digits"}'))
        before = batches()
        wrong = queue.Queue()

        def ask(i):
            images = IMAGES[3 * i:3 * i + 1 + i % 4]
            with tritonclient.grpc.InferenceServerClient(served.address, channel_args=[("grpc.use_local_subchannel_pool", 1)]) as client:
                given = tritonclient.grpc.InferInput("image", list(images.shape), "FP32")
                given.set_data_from_numpy(images)
                for _ in range(rounds):
                    got = client.infer("digits", [given]).as_numpy("logits") if i % 8 else infer(server, images)
                    if not np.allclose(got, want[i], rtol=1e-5, atol=1e-5):
                        wrong.put((i, np.abs(got - want[i]).max()))

        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            failures = [str(one.exception()) for one in [pool.submit(ask, i) for i in range(clients)] if one.exception()]
        bench.check("no request fails", failures == [], failures[:3])
        bench.check("each gets its own answer", wrong.empty(), list(itertools.islice(iter(wrong.queue), 3)))
        rows, runs = (after - one for after, one in zip(batches(), before))
        bench.check("they share batches", rows == rounds * sum(1 + i % 4 for i in range(clients)) and rows / runs > 4, (rows, runs))
        bench.check_equal("the requests are counted", (clients + 1) * rounds + 1 - rounds - 1 + clients, int(metric(server, 'vx_requests_total{model="digits",code="200"}')))


def check_leaving(bench):
    """A server that is asked to end answers the calls that it has, and ends."""
    with Grpc(bench, f"--model-dir={bench.path('several')}", "--model=steps", name="grpc-ending", environment={"VX_SERVER__DRAIN_DELAY_S": "1"}) as served:
        server = served.server
        server.wait_until_ready()
        long, _ = steps_that_take(server, 4)
        one = served.channel.unary_unary(SERVICE + "ModelInfer", request_serializer=lambda message: message.SerializeToString())
        running = one.future(steps_request(long["inputs"][0]["data"][0]))
        server.wait_for(lambda: metric(server, "vx_requests_in_flight") == 2)
        ended = []
        thread = threading.Thread(target=lambda: ended.append(server.stop()))
        thread.start()
        server.wait_for(lambda: "leaving" in server.logged())
        bench.check("it is not ready, and still answers", not served.client.is_server_ready() and served.client.is_server_live())
        server.wait_for(lambda: "draining" in server.logged())

        def accepts():
            try:
                socket.create_connection(("127.0.0.1", served.port), timeout=5).close()
                return True
            except ConnectionRefusedError:
                return False

        bench.check("then it accepts no more connections", server.comes_about(lambda: not accepts(), 1) and not running.done())
        bench.check("a call that was running gets its answer", len(running.result(timeout=60)) > 0)
        thread.join()
        bench.check("it has ended well", ended == [0] and "drained" in server.logged(), (ended, server.logged()[-500:]))


def presented(port):
    """The name in the certificate that a new connection is shown."""
    import ssl
    import subprocess
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secure:
        shown = ssl.DER_cert_to_PEM_cert(secure.getpeercert(True))
    return subprocess.run(["openssl", "x509", "-noout", "-subject", "-nameopt", "multiline"], input=shown, capture_output=True, text=True, check=True).stdout.split("= ")[-1].strip()


def check_grpc_tls(bench):
    """The certificate of HTTP, which may change."""
    folder = bench.path("grpc-tls")
    first, second = make_certificate(folder, "first"), make_certificate(folder, "second", "secp384r1")
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    put(first[0], cert), put(first[1], key)
    with Grpc(bench, f"--model-dir={bench.path('models')}", f"--tls-cert={cert}", f"--tls-key={key}", name="grpc-tls", secure=True) as served:
        def client(certificate, **more):
            return tritonclient.grpc.InferenceServerClient(served.address, ssl=True, root_certificates=certificate, channel_args=[("grpc.use_local_subchannel_pool", 1)], **more)

        bench.check("its address says so", any(f"grpcs://127.0.0.1:{served.port}" in line for line in served.server.lines) or served.server.comes_about(lambda: any("grpcs://" in line for line in served.server.lines)))
        with client(first[0]) as one:
            served.server.wait_for(one.is_server_ready)
            given = tritonclient.grpc.InferInput("image", [2, 1, 8, 8], "FP32")
            given.set_data_from_numpy(IMAGES[:2])
            bench.check("a call", one.infer("digits", [given]).as_numpy("logits").shape == (2, 10))
            put(second[0], cert)
            served.server.wait_for(lambda: "expected its own key" in served.server.logged())
            bench.check_equal("of a certificate that does not fit its key the one before stays", "first", presented(served.port))
            put(second[1], key)
            bench.check("the second certificate comes without a restart", Server.comes_about(lambda: presented(served.port) == "second"), served.server.logged())
            bench.check("the connection of before goes on", one.is_server_live())
        with client(second[0]) as one:
            bench.check("a client that knows the second", one.is_server_live())
        with client(first[0]) as one:
            try:
                one.is_server_live(client_timeout=3)
                bench.check("a client that knows the first alone", False)
            except tritonclient.grpc.InferenceServerException as error:
                bench.check("a client that knows the first alone", "UNAVAILABLE" in error.status() or "DEADLINE" in error.status(), error)


def check_start(bench):
    """Without the library, at a port that is taken, and with a port that is twice there."""
    models = f"--model-dir={bench.path('models')}"
    lost = dict(os.environ, VX_GRPC_LIBRARY=bench.path("no-library.so"))
    for flags in ((), ("--check-config",)):
        code, said = bench.ended(lost, models, "--port=0", "--grpc-port=9", *flags)
        bench.check(f"without the library {' '.join(flags)}", code == 3 and "--grpc-port: gRPC needs libvx_grpc, which could not be opened: " in said and "leave out 'grpc_port'" in said, (code, said))
    with open(bench.path("no-library.so"), "wb") as file:
        file.write(b"no library")
    bench.check("a file that is no library", "could not be opened" in bench.ended(lost, models, "--port=0", "--grpc-port=9")[1])
    other = dict(os.environ, VX_GRPC_LIBRARY=os.path.join(bench.bin, "../lib/libvx_runtime.so.0"))
    code, said = bench.ended(other, models, "--port=0", "--grpc-port=9")
    bench.check("another library", code == 3 and "gRPC needs libvx_grpc of version 2, got a library without its functions" in said, (code, said))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = bench.ended(None, models, "--port=0", f"--grpc-port={port}")
        bench.check("a port that is taken", code == 1 and f"cannot listen on '127.0.0.1' port {port} for gRPC: Address already in use" in said, (code, said))
    with Grpc(bench, models, name="grpc-first") as served:
        code, said = bench.ended(None, models, "--port=0", f"--grpc-port={served.port}")
        bench.check("a second server at one port", code == 1 and "Address already in use" in said, (code, said))
        status, _, _ = served.server.ask("GET", "/v2/health/live")
        bench.check("the first goes on", status == 200 and served.client.is_server_live())
    for first in ("--port", "--admin-port"):
        code, said = bench.ended(None, models, "--grpc-port=8123", f"{first}=8123")
        bench.check(f"the port of {first}", code == 2 and f"'grpc_port': expected another port than '{first[2:].replace('-', '_')}', got 8123 for both" in said, (code, said))
