"""A hub of models on this machine: a repository with files, and ways to be wrong that a test chooses."""
import hashlib
import http.server
import json
import ssl
import threading


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub:
    """`behave` maps the path of a file, or "list", to a function of (handler, data) that answers in place of the hub, and gives True, or None where the hub is to go on."""

    def __init__(self, files, large=("model.onnx",), commit="c" * 40, certificate=None):
        self.files, self.large, self.commit, self.behave, self.seen = dict(files), set(large), commit, {}, []
        self.listed = {}  # by path: what the list says in place of the truth
        self.token = None
        self.server = QuietServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": self}))
        self.server.daemon_threads = True
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def entry(self, path):
        data = self.files[path]
        if path in self.large:
            entry = {"rfilename": path, "size": len(data), "blobId": "0" * 40, "lfs": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}}
        else:
            entry = {"rfilename": path, "size": len(data), "blobId": git_hash(data)}
        return entry | self.listed.get(path, {})

    def asked(self, path):
        """The requests for a path, each as its headers."""
        return [headers for where, headers in self.seen if where == path]


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Clients that go are no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file_headers(self, path):
        data = self.hub.files[path]
        headers = [("X-Repo-Commit", self.hub.commit)]
        if path in self.hub.large:
            return headers + [("X-Linked-Etag", f'"{hashlib.sha256(data).hexdigest()}"'), ("X-Linked-Size", str(len(data))), ("ETag", '"of-the-cdn"')]
        return headers + [("ETag", f'"{git_hash(data)}"')]

    def send_file(self, path, headers=None, cut=None):
        """All of it or the range that is asked for; with `cut` the connection ends after so many bytes of it."""
        data = self.hub.files[path]
        first = int(self.headers["Range"].split("=")[1].split("-")[0]) if "Range" in self.headers else 0
        if first >= len(data) > 0:
            return self.reply(416, b"", [("Content-Range", f"bytes */{len(data)}")])
        self.send_response(206 if first else 200)
        for name, value in headers if headers is not None else self.file_headers(path):
            self.send_header(name, value)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        self.wfile.write(data[first:] if cut is None else data[first : first + cut])
        if cut is not None:
            self.wfile.flush()
            self.connection.close()
            self.close_connection = True

    def do_GET(self):
        hub, path = self.hub, self.path.split("?")[0]
        for start in (f"/org/name/resolve/{hub.commit}/", "/api/models/org/name/revision/", "/cdn/"):
            if path.startswith(start):
                break
        else:
            hub.seen.append((path, dict(self.headers)))
            return self.reply(404, b"{}")
        name = "list" if start.startswith("/api") else path[len(start) :]
        hub.seen.append(("cdn:" + name if start == "/cdn/" else name, dict(self.headers)))
        if hub.token and start != "/cdn/" and self.headers.get("Authorization") != f"Bearer {hub.token}":
            return self.reply(401, b"{}")
        behaviour = hub.behave.get(name) if start != "/cdn/" else hub.behave.get("cdn:" + name)
        if behaviour and behaviour(self):
            return None
        if name == "list":
            if path[len(start) :] != "main":
                return self.reply(404, b"{}")
            return self.reply(200, json.dumps({"id": "org/name", "sha": hub.commit, "siblings": [hub.entry(path) for path in hub.files]}).encode(), [("Content-Type", "application/json")])
        if name not in hub.files:
            return self.reply(404, b"{}")
        return self.send_file(name, None if start != "/cdn/" else [("ETag", '"0"')])
