"""Traces as a collector of OpenTelemetry gets them, read by the messages of PyPI's opentelemetry-proto; and collectors that are slow, busy, wrong or down."""
import base64
import http.server
import json
import re
import socket
import threading
import time

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from digits import IMAGES, infer, infer_binary
from served import Server, metric

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def read_export(body):
    """The message. In OTLP's JSON ids are hexadecimal, where protobuf's own JSON has base64; no other field has an id's name."""
    def convert(value):
        if isinstance(value, list):
            return [convert(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        return {key: base64.b64encode(bytes.fromhex(entry)).decode() if key in ("traceId", "spanId", "parentSpanId") else convert(entry) for key, entry in value.items()}

    return json_format.ParseDict(convert(json.loads(body)), ExportTraceServiceRequest())


def attributes(entries):
    return {entry.key: getattr(entry.value, entry.value.WhichOneof("value")) for entry in entries}


class Collector:
    """Takes spans at /v1/traces, and answers as `answers` says: statuses, or bodies of status 200."""

    def __init__(self, answers=(), delay=0):
        self.exports, self.heads, self.answers, self.delay = [], [], list(answers), delay
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(collector.delay)
                answer = collector.answers.pop(0) if collector.answers else 200
                status, text = (answer, b"{}") if isinstance(answer, int) else (200, answer.encode())
                collector.heads.append((self.path, self.headers["Content-Type"], status))
                if status == 200:
                    collector.exports.append(read_export(body))
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # a client that ends its connection
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        return [span for export in self.exports for resource in export.resource_spans for scope in resource.scope_spans for span in scope.spans]

    def named(self, name):
        return [span for span in self.spans() if span.name == name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def start(bench, url, *arguments, name="traces", **more):
    return Server(bench, f"--model-dir={bench.path('models')}", f"--trace-url={url}", *arguments, name=name, **more).wait_until_ready()


def check_spans(bench):
    began = time.time_ns()
    with Collector() as collector, start(bench, collector.url, "--trace-one-in=1") as server:
        collector_path = "/v1/traces"
        body, headers = infer_binary(IMAGES[:3])
        status, answered, _ = server.ask("POST", "/v2/models/digits/infer", body, headers | {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1", "x-request-id": "traced"})
        told = re.fullmatch(rf"00-{TRACE}-([0-9a-f]{{16}})-01", answered["traceparent"])
        bench.check("the answer has the server's span of the same trace", status == 200 and told and told[1] != PARENT, answered["traceparent"])
        server.ask("GET", "/v2/models/none", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
        server.wait_for(lambda: collector.named("run") and collector.named("GET /v2/models/{}"))
        bench.check("spans go to /v1/traces as JSON", all(head[:2] == (collector_path, "application/json") for head in collector.heads), collector.heads)
        resource = attributes(collector.exports[0].resource_spans[0].resource.attributes)
        version = re.search(r"^vx (\S+)", bench.tool("vx-serve", "--version")[0])[1]
        bench.check_equal("the resource", ("vx-serve", version, server.process.pid), tuple(resource.get(name) for name in ("service.name", "service.version", "process.pid")))
        [whole], [queue], [run] = ([span for span in collector.named(name) if span.trace_id.hex() == TRACE] for name in ("POST /v2/models/{}/infer", "queue", "run"))
        bench.check_equal("the span of the request", (PARENT, told[1], Span.SPAN_KIND_SERVER, "vendor=1", Status.STATUS_CODE_UNSET), (whole.parent_span_id.hex(), whole.span_id.hex(), whole.kind, whole.trace_state, whole.status.code))
        bench.check_equal("its attributes", {"http.request.method": "POST", "url.path": "/v2/models/digits/infer", "url.scheme": "http", "http.response.status_code": 200, "client.address": "127.0.0.1", "vx.request_id": "traced",
                                             "http.route": "/v2/models/{}/infer", "vx.model": "digits"}, attributes(whole.attributes))
        bench.check_equal("its parts are its children", [(TRACE, told[1])] * 2, [(span.trace_id.hex(), span.parent_span_id.hex()) for span in (queue, run)])
        bench.check_equal("where it ran", {"vx.batch_rows": 3, "vx.device": "cpu:0"}, attributes(run.attributes))
        bench.check("times are in order", began < whole.start_time_unix_nano <= queue.start_time_unix_nano <= queue.end_time_unix_nano == run.start_time_unix_nano < run.end_time_unix_nano <= whole.end_time_unix_nano < time.time_ns(),
                    [(span.start_time_unix_nano, span.end_time_unix_nano) for span in (whole, queue, run)])
        bench.check_equal("three ids", 3, len({span.span_id for span in (whole, queue, run)}))
        [missing] = collector.named("GET /v2/models/{}")
        bench.check_equal("an error of the client is none of the server", (Status.STATUS_CODE_UNSET, 404), (missing.status.code, attributes(missing.attributes)["http.response.status_code"]))
        bench.check("spans that were sent are counted", server.comes_about(lambda: metric(server, "vx_trace_spans_sent_total") >= 4))
        status, answered, _ = server.ask("POST", "/v2/models/digits/infer", body, headers | {"x-request-timeout-ms": "1", "traceparent": f"00-{TRACE[::-1]}-{PARENT}-01"})
        whole = lambda: [span for span in collector.named("POST /v2/models/{}/infer") if span.trace_id.hex() == TRACE[::-1]]
        server.wait_for(whole)
        bench.check_equal("an error of the server is one", Status.STATUS_CODE_ERROR if status >= 500 else Status.STATUS_CODE_UNSET, whole()[0].status.code)
    # Spans that wait when the server ends.
    with Collector() as collector:
        with start(bench, collector.url + "/own/path", "--trace-one-in=1", name="traces-end") as server:
            server.ask("GET", "/v2", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
            bench.check_equal("it ends", 0, server.stop())
        bench.check("spans that waited are sent when the server ends", [span for span in collector.named("GET /v2") if span.trace_id.hex() == TRACE] and {head[0] for head in collector.heads} == {"/own/path"}, collector.heads)


def check_sampling(bench):
    with Collector() as collector, start(bench, collector.url, "--trace-one-in=4", name="sampling") as server:
        before = len(collector.named("GET /v2"))
        count = 400
        answers = server.ask_many([("GET", "/v2")] * count)
        told = [answer[1]["traceparent"] for answer in answers if "traceparent" in answer[1]]
        traces, sampled = {text[3:35] for text in told}, len(told)
        bench.check("each traced request has a trace of its own", len(traces) == sampled and all(text.endswith("-01") for text in told), told[:3])
        bench.check("about one in four is traced", 60 <= sampled <= 140, sampled)
        server.wait_for(lambda: len(collector.named("GET /v2")) - before >= sampled)
        time.sleep(1.5)
        bench.check_equal("those alone are sent", sampled, len(collector.named("GET /v2")) - before)
        bench.check_equal("the answers name them", traces, {span.trace_id.hex() for span in collector.named("GET /v2")})
        # The flag of a client decides.
        for flag in ("00", "01"):
            got = [server.ask("GET", "/v2/health/live", headers={"traceparent": f"00-{TRACE}-{PARENT}-{flag}"})[1]["traceparent"] for _ in range(20)]
            bench.check(f"the flag {flag} of a client decides", all(text.startswith(f"00-{TRACE}-") and text.endswith(flag) for text in got), got[:3])
        for wrong in (f"00-{TRACE}-{PARENT}-0", f"00-{'0' * 32}-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01", "x" * 60, ""):
            got = server.ask("GET", "/v2", headers={"traceparent": wrong})
            bench.check(f"the traceparent '{wrong}' begins a new trace", got[0] == 200 and TRACE not in got[1].get("traceparent", ""), got)
    with Server(bench, f"--model-dir={bench.path('models')}", name="untraced") as server:
        bench.check("a server without a collector has no traces", "traceparent" not in server.ask("GET", "/v2", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})[1])


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def check_collectors(bench):
    """Nothing waits for a collector, and spans that it does not take are counted."""
    # One that takes connections and never answers, and one that is not there.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for what, port in (("silent", silent.getsockname()[1]), ("down", closed_port())):
            with start(bench, f"http://127.0.0.1:{port}", "--trace-one-in=1", name=f"collector-{what}") as server:
                began = time.monotonic()
                server.ask_many([("GET", "/v2")] * 6000)
                bench.check(f"requests beside a collector that is {what}", time.monotonic() - began < 30 and infer(server, IMAGES[:2]).shape == (2, 10), time.monotonic() - began)
                bench.check(f"spans that are too many are dropped, {what}", server.comes_about(lambda: metric(server, "vx_trace_spans_dropped_total") > 1000))
                began = time.monotonic()
                bench.check(f"it ends, {what}", server.stop() == 0 and time.monotonic() - began < 5, time.monotonic() - began)
                if what == "down":
                    said = [line for line in server.logged().splitlines() if "takes no spans" in line]
                    bench.check("the log says it once", len(said) == 1 and f"traces: 'http://127.0.0.1:{port}/v1/traces' takes no spans: cannot connect to '127.0.0.1:{port}': Connection refused" in said[0], said)
    # One that is busy gets the same spans again; one that refuses them does not.
    with Collector(answers=[503, 429]) as collector, start(bench, collector.url, "--trace-one-in=1", name="collector-busy") as server:
        server.ask("GET", "/v2", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
        bench.check("spans are sent again", server.comes_about(lambda: any(span.trace_id.hex() == TRACE for span in collector.spans())), collector.heads)
        bench.check_equal("in turn", [503, 429, 200], [head[2] for head in collector.heads][:3])
        bench.check_equal("nothing is dropped", 0, metric(server, "vx_trace_spans_dropped_total"))
        bench.check("the log says that it works again", server.comes_about(lambda: "takes spans again, 0 were dropped" in server.logged()), server.logged())
    with Collector(answers=[400]) as collector, start(bench, collector.url, "--trace-one-in=1", name="collector-refuses") as server:
        bench.check("spans that are refused are dropped", server.comes_about(lambda: server.ask("GET", "/v2") and metric(server, "vx_trace_spans_dropped_total") > 0))
        bench.check("and said", "expected status 200, got 400" in server.logged(), server.logged())
    with Collector(answers=['{"partialSuccess": {"rejectedSpans": "1"}}']) as collector, start(bench, collector.url, "--trace-one-in=1", name="collector-partly") as server:
        server.ask("GET", "/v2")
        bench.check("a span that is rejected is dropped", server.comes_about(lambda: metric(server, "vx_trace_spans_dropped_total") == 1))


def check_changes(bench):
    """The collector of a configuration that is read again."""
    config = bench.path("traces.toml")

    def write(url):
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\ntrace_one_in = 1\ntrace_url = "{url}"\n')

    with Collector() as first, Collector() as second:
        write(first.url)
        with Server(bench, f"--config={config}", name="traces-change") as server:
            server.wait_until_ready()
            server.ask("GET", "/v2")
            server.wait_for(lambda: first.named("GET /v2"))
            write(second.url)
            server.wait_for(lambda: "the configuration was read again" in server.logged())
            server.ask("GET", "/v2/health/live")
            server.wait_for(lambda: second.named("GET /v2/health/live"))
            bench.check("later spans go to the new one alone", not first.named("GET /v2/health/live"), [span.name for span in first.spans()])
            write("ftp://nowhere")
            server.wait_for(lambda: "expected a URL, e.g. 'http://localhost:4318/v1/traces', got 'ftp://nowhere'" in server.logged())
            write("")
            server.wait_for(lambda: server.logged().count("the configuration was read again") == 2)
            bench.check("without a collector there are no traces", "traceparent" not in server.ask("GET", "/v2")[1])


def check_traces(bench):
    for check in (check_spans, check_sampling, check_collectors, check_changes):
        check(bench)
