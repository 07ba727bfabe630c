"""What a server tells clients that are wrong: every row of its table of codes."""
import gzip
import json

from api_keys import ADMIN, USER, write_keys
from digits import IMAGES, infer_json
from served import Server


# Every path, and what it takes.
METHODS = (("/api/v1/health", "GET"), ("/metrics", "GET"), ("/api/v1/hardware", "GET"), ("/api/v1/models", "GET"), ("/api/v1/models/digits", "GET"), ("/api/v1/models/digits/load", "POST"),
           ("/api/v1/models/digits/unload", "POST"), ("/api/v1/embeddings", "POST"), ("/v1/embeddings", "POST"), ("/v1/requests/1", "DELETE"), ("/v1/models", "GET"), ("/v1/models/digits", "GET"), ("/v2", "GET"),
           ("/v2/health/live", "GET"), ("/v2/health/ready", "GET"), ("/v2/models/digits", "GET"), ("/v2/models/digits/ready", "GET"), ("/v2/models/digits/infer", "POST"), ("/v2/models/digits/versions/1", "GET"),
           ("/v2/models/digits/versions/1/ready", "GET"), ("/v2/models/digits/versions/1/infer", "POST"))


def check_methods(bench):
    keys = bench.path("methods-keys")
    write_keys(keys, (ADMIN, "boss", "admin"))
    admin = {"x-api-key": ADMIN}
    with Server(bench, f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", "--per-key=0", name="methods") as server:
        server.wait_until_ready()
        for path, method in METHODS:
            allowed = "GET, HEAD, OPTIONS" if method == "GET" else f"{method}, OPTIONS"
            status, answered, data = server.ask("OPTIONS", path)
            bench.check(f"OPTIONS {path}", (status, answered["Allow"], data) == (204, allowed, b""), (status, dict(answered), data))
            for other in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} - {method} - ({"HEAD"} if method == "GET" else set()):
                status, answered, data = server.ask(other, path, headers=admin)
                code = answered.get("x-vx-error-code") if path.startswith("/v2") else data["error"]["code"] if data else None
                bench.check(f"{other} {path}", (status, answered["Allow"], code) == (405, allowed, None if other == "HEAD" and not path.startswith("/v2") else "method_not_allowed"), (status, dict(answered), data))
            if method == "GET":
                whole, head = server.ask("GET", path, headers=admin), server.ask("HEAD", path, headers=admin)
                same = "Content-Length" if path not in ("/metrics", "/api/v1/hardware") else "Content-Type"  # whose text changes
                bench.check(f"HEAD {path}", (head[0], head[1][same], head[2]) == (whole[0], whole[1][same], b"") and int(head[1]["Content-Length"]) > 0, (head[0], dict(head[1]), head[2]))


def check_codes(bench):
    keys = bench.path("keys")
    write_keys(keys, (ADMIN, "boss", "admin"), (USER, "app", "user"))
    with open(bench.path("codes.toml"), "w", encoding="utf-8") as file:
        file.write('[vx.server.limits]\nper_key = "200/min"\nauth_failures = "1000/min"\n[vx.server]\nrequest_limit = "64KiB"\ncors = ["https://a.example"]\n')
    with Server(bench, f"--config={bench.path('codes.toml')}", f"--model-dir={bench.path('models')}", f"--api-keys-file={keys}", name="codes") as server:
        server.wait_until_ready()
        user, admin = {"Authorization": f"Bearer {USER}"}, {"x-api-key": ADMIN}
        good = infer_json(IMAGES[:1])

        def expect(what, status, code, method, path, body=None, headers=user, message=None):
            got, answered, data = server.ask(method, path, body, headers)
            kserve = path.startswith("/v2")
            found = answered.get("x-vx-error-code") if kserve else data["error"]["code"] if got >= 400 else None
            says = data.get("error") if kserve else data["error"]["message"] if got >= 400 else ""
            bench.check(f"{method} {path}: {what}", (got, found) == (status, code) and (message is None or says == message), f"expected {status} {code}, got {got} {data}")
            bench.check(f"{method} {path}: an id", answered["x-request-id"], answered)
            return answered

        expect("no key", 401, "invalid_api_key", "GET", "/api/v1/models", headers={}, message="expected a key, as 'Authorization: Bearer KEY' or 'x-api-key: KEY'")
        expect("a wrong key", 401, "invalid_api_key", "POST", "/v2/models/digits/infer", good, {"x-api-key": "guess"}, message="the key is none of this server's")
        expect("no key comes before no path", 401, "invalid_api_key", "GET", "/nowhere", headers={})
        expect("no path", 404, "not_found", "GET", "/nowhere", message="no path '/nowhere'")
        expect("an empty segment", 404, "not_found", "GET", "/v2//models")
        expect("no model", 404, "model_not_found", "POST", "/v2/models/digtis/infer", good, message="no model 'digtis', did you mean 'digits'")
        expect("a model by what its name begins with", 200, None, "GET", "/v2/models/Dig/ready")
        expect("no version", 404, "model_not_found", "GET", "/v2/models/digits/versions/2", message="model 'digits' has the version '1', got '2'")
        expect("a path for a model", 404, "not_found", "GET", "/api/v1/models/..%2Fdigits")
        answered = expect("another method", 405, "method_not_allowed", "DELETE", "/v1/embeddings", message="'/v1/embeddings' takes POST, got DELETE")
        bench.check("405 says what is allowed", answered["Allow"] == "POST, OPTIONS", answered["Allow"])
        expect("another type", 415, "unsupported_media_type", "POST", "/v1/embeddings", "a=b", user | {"Content-Type": "text/plain"}, message="expected Content-Type 'application/json', got 'text/plain'")
        expect("a coding", 415, "unsupported_media_type", "POST", "/v1/embeddings", b"x", user | {"Content-Type": "application/json", "Content-Encoding": "gzip"},
               message="bodies come as they are, got Content-Encoding 'gzip'")
        expect("a coding of KServe's", 415, "unsupported_media_type", "POST", "/v2/models/digits/infer", gzip.compress(json.dumps(good).encode()), user | {"Content-Encoding": "gzip"},
               message="bodies come as they are, got Content-Encoding 'gzip'")
        expect("no path comes before another type", 404, "not_found", "POST", "/nowhere", "a", user | {"Content-Type": "text/plain"})
        expect("another type comes before a long body", 415, "unsupported_media_type", "POST", "/v1/embeddings", "a" * 70000, user | {"Content-Type": "text/plain"})
        expect("a long body", 413, "body_too_large", "POST", "/v1/embeddings", "a" * 70000, user | {"Content-Type": "application/json"}, message="a body may have 65536 bytes, got Content-Length 70000")
        js = user | {"Content-Type": "application/json"}
        for body in (b"", b"{", b'{"model":"\xff"}', b"[" * 65 + b"]" * 65, b"NaN", b'{"a":1,"a":2}'):
            expect(f"no JSON {body[:12]}", 400, "invalid_json", "POST", "/v1/embeddings", body, js)
            expect(f"no JSON {body[:12]}", 400, "invalid_json", "POST", "/v2/models/digits/infer", body, js)
        expect("no object", 400, "invalid_value", "POST", "/v1/embeddings", [1], message="expected an object, got a list")
        expect("no input", 400, "invalid_value", "POST", "/v2/models/digits/infer", {"inputs": []}, message="input 'image' is missing")
        expect("a wrong shape", 400, "invalid_value", "POST", "/v2/models/digits/infer", infer_json(IMAGES[:1].reshape(1, 1, 4, 16)))
        expect("another output", 400, "invalid_value", "POST", "/v2/models/digits/infer", good | {"outputs": [{"name": "y"}]}, message="'outputs[0].name': no output 'y', the outputs are 'logits'")
        expect("another function", 400, "invalid_value", "POST", "/v2/models/digits/infer", good | {"parameters": {"function": "f"}}, message="model 'digits' serves no function 'f', it has 'main'")
        expect("another kind of model", 400, "invalid_value", "POST", "/v1/embeddings", {"model": "digits", "input": "a"}, message="model 'digits' is none of embeddings")
        expect("a header of bytes", 400, "invalid_value", "POST", "/v2/models/digits/infer", b"{}", js | {"Inference-Header-Content-Length": "3"}, message="expected Inference-Header-Content-Length up to 2, got '3'")
        expect("bytes that are left", 400, "invalid_value", "POST", "/v2/models/digits/infer", json.dumps(good).encode() + b"more", js | {"Inference-Header-Content-Length": str(len(json.dumps(good)))},
               message="4 bytes are left after the inputs")
        expect("no time", 400, "invalid_value", "POST", "/v2/models/digits/infer", good, user | {"x-request-timeout-ms": "0"}, message="expected a number of milliseconds in x-request-timeout-ms, got '0'")
        expect("another host", 403, "forbidden", "GET", "/api/v1/health", headers={"Host": "evil.example"}, message="this server is for its own machine, got the Host 'evil.example'")
        expect("another page", 403, "forbidden", "GET", "/api/v1/models", headers=user | {"Origin": "https://evil.example"}, message="pages of 'https://evil.example' may not ask this server")
        status, answered, _ = server.ask("OPTIONS", "/v1/embeddings", headers={"Origin": "https://a.example"})
        bench.check("a page that may", status == 204 and answered["Access-Control-Allow-Origin"] == "https://a.example" and answered["Allow"] == "POST, OPTIONS", (status, answered))
        bench.check("and its methods", answered["Access-Control-Allow-Methods"] == "GET, HEAD, POST, DELETE", answered)
        status, answered, data = server.ask("HEAD", "/api/v1/models", headers=user)
        bench.check("HEAD", status == 200 and int(answered["Content-Length"]) > 100 and data == b"", (status, data))
        expect("load without the role", 403, "forbidden", "POST", "/api/v1/models/digits/load", message="this takes a key of the role 'admin'")
        expect("unload", 200, None, "POST", "/api/v1/models/digits/unload", headers=admin)
        expect("what is not loaded", 503, "loading", "POST", "/v2/models/digits/infer", good, message="model 'digits' is not loaded")
        expect("load", 200, None, "POST", "/api/v1/models/digits/load", headers=admin)
        expect("load of none", 404, "model_not_found", "POST", "/api/v1/models/nix/load", headers=admin)
        status, answered, data = server.ask("POST", "/v2/models/digits/infer", good, user | {"x-request-id": "mine.1"})
        bench.check("an id comes back, and what is left of the rate", status == 200 and answered["x-request-id"] == "mine.1" and int(answered["x-ratelimit-remaining-requests"]) < 200, dict(answered))
        while (last := server.ask("GET", "/v2/models/digits/ready", headers=user))[0] == 200:
            pass
        bench.check("above the rate", last[0] == 429 and last[1]["x-vx-error-code"] == "rate_limited" and int(last[1]["Retry-After"]) >= 1, (last[0], last[2]))
        says = f"expected at most 200 requests in 60 s with the key 'app', got more: retry after {last[1]['Retry-After']} s"
        bench.check("above the rate: the period, and when a request is taken again", last[2]["error"] == says, last[2])
        bench.check("another key has its own rate", server.ask("GET", "/v2/models/digits/ready", headers=admin)[0] == 200)
        status, _, data = server.ask("GET", "/metrics", headers=admin)
        bench.check("metrics", status == 200 and b'vx_requests_total{model="digits",code="200"}' in data and b"nix" not in data and USER.encode() not in data, data[-300:])
        bench.check("metrics without a key", server.ask("GET", "/metrics")[0] == 401)
        bench.check("no key in the log", USER not in server.logged() and "boss" in server.logged())
