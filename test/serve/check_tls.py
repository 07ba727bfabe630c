"""Certificates that change while the server runs, with clients on connections that stay."""
import http.client
import os
import socket
import ssl
import subprocess

from digits import IMAGES, infer_binary
from served import Server


def make_certificate(folder, name, curve="prime256v1", key=None):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    os.makedirs(folder, exist_ok=True)
    pair = os.path.join(folder, f"{name}.pem"), os.path.join(folder, f"{name}-key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pair[1], "-out", pair[0]],
                   check=True, capture_output=True)
    return pair


def presented(server):
    """The name in the certificate that a new connection is shown."""
    context = ssl._create_unverified_context()
    with socket.create_connection(("127.0.0.1", server.port)) as plain, context.wrap_socket(plain) as secure:
        shown = ssl.DER_cert_to_PEM_cert(secure.getpeercert(True))
    return subprocess.run(["openssl", "x509", "-noout", "-subject", "-nameopt", "multiline"], input=shown, capture_output=True, text=True, check=True).stdout.split("= ")[-1].strip()


def put(source, target):
    with open(source, "rb") as file, open(target + ".new", "wb") as copy:
        copy.write(file.read())
    os.replace(target + ".new", target)


def check_tls(bench):
    folder = bench.path("tls")
    first, second = make_certificate(folder, "first"), make_certificate(folder, "second", "secp384r1")
    rsa = os.path.join(folder, "rsa-key.pem")
    subprocess.run(["openssl", "genrsa", "-out", rsa, "2048"], check=True, capture_output=True)
    locked = os.path.join(folder, "locked-key.pem")
    subprocess.run(["openssl", "ec", "-aes256", "-passout", "pass:secret", "-in", first[1], "-out", locked], check=True, capture_output=True)
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    put(first[0], cert), put(first[1], key)
    mismatch = f"certificate '{cert}': expected its own key, got the key of another one in '{{}}'"
    for wrong in (second[1], rsa):
        _, said = bench.tool("vx-serve", "--check-config", f"--tls-cert={cert}", f"--tls-key={wrong}", f"--model-dir={bench.path('models')}", code=3)
        bench.check(f"a key of another certificate, {os.path.basename(wrong)}", mismatch.format(wrong) in said, said)
    _, said = bench.tool("vx-serve", "--check-config", f"--tls-cert={cert}", f"--tls-key={locked}", f"--model-dir={bench.path('models')}", code=3)
    bench.check("a key with a password", f"of the certificate '{cert}' the key '{locked}': expected PEM: " in said, said)
    with Server(bench, f"--model-dir={bench.path('models')}", f"--tls-cert={cert}", f"--tls-key={key}", name="tls-reload") as server:
        context = ssl._create_unverified_context()
        body, headers = infer_binary(IMAGES[:2])

        def ask(connection):
            connection.request("POST", "/v2/models/digits/infer", body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.will_close

        def health():
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
            connection.request("GET", "/api/v1/health")
            return connection.getresponse().read().decode()

        server.wait_for(lambda: '"status":"ok"' in health())
        stays = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
        bench.check_equal("a connection", (200, False), ask(stays))
        bench.check_equal("the first certificate", "first", presented(server))
        # The files come in sequence: between them they do not fit.
        put(second[0], cert)
        server.wait_for(lambda: mismatch.format(key) in server.logged())
        bench.check_equal("of a certificate that does not fit its key the one before stays", "first", presented(server))
        bench.check("the health says so", '"config":"refused"' in health() and "expected its own key" in health(), health())
        bench.check_equal("connections are not ended", (200, False), ask(stays))
        put(second[1], key)
        bench.check("the second certificate comes without a restart", server.comes_about(lambda: presented(server) == "second"), server.logged())
        bench.check("the health is well again", server.comes_about(lambda: '"config":"ok"' in health()), health())
        bench.check_equal("the connection of before goes on", (200, False), ask(stays))
        for what, text in (("is no certificate", "nothing"), ("is cut", open(first[0], encoding="utf-8").read()[:200])):
            count = server.logged().count("the configuration is refused")
            with open(cert + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(cert + ".new", cert)
            server.wait_for(lambda: server.logged().count("the configuration is refused") > count)
            bench.check_equal(f"a file that {what}: the one before stays", "second", presented(server))
        os.remove(cert)
        server.wait_for(lambda: "No such file or directory" in server.logged())
        bench.check_equal("a file that is gone", "second", presented(server))
        put(first[0], cert), put(first[1], key)
        bench.check("the first one comes back", server.comes_about(lambda: presented(server) == "first"), server.logged())
        bench.check_equal("that connection still goes on", (200, False), ask(stays))
        stays.close()
    # TLS itself begins and ends with the process.
    config = os.path.join(folder, "config.toml")

    def write(text):
        with open(config + ".new", "w", encoding="utf-8") as file:
            file.write(f'[vx]\nmodel_dir = "{bench.path("models")}"\n[vx.server]\n{text}')
        os.replace(config + ".new", config)

    write("")
    with Server(bench, f"--config={config}", name="tls-begins") as server:
        write(f'tls_cert = "{cert}"\ntls_key = "{key}"\n')
        server.wait_for(lambda: "the configuration was read again" in server.logged())
        bench.check("a server without TLS says that it takes a restart", "'tls_cert': the server has no TLS until it is started again" in server.logged(), server.logged())
        bench.check_equal("and goes on", 200, server.ask("GET", "/v2/health/live")[0])
