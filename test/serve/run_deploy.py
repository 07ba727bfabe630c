#!/usr/bin/env python3
"""The files of deploy/, the Dockerfile and the unit against the server itself: ports, paths, variables, flags, times, metrics; and each check against a planted mistake.

  run_deploy.py --bin BUILD/bin

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

from check_observed import metrics_of
from digits import IMAGES, ROOT, infer
from run_embeddings import Bench
from served import Server

KUBERNETES = "deploy/kubernetes"


class Loader(yaml.SafeLoader):
    """Refuses a key that is given twice, which YAML's readers let pass."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise yaml.constructor.ConstructorError(None, None, f"the key {sorted(twice)} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


class Tree:
    """The project's files, some of them replaced."""

    def __init__(self, replaced=None):
        self.replaced = replaced or {}

    def read(self, path):
        return self.replaced[path] if path in self.replaced else (ROOT / path).read_text(encoding="utf-8")

    def files(self):
        return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "deploy").rglob("*") if path.is_file())


class Facts:
    """The server's own paths, metrics and settings."""

    def __init__(self, bench):
        self.bench = bench
        with Server(bench, f"--model-dir={bench.path('models')}", f"--model=digits={bench.path('models')}/digits.vxm", name="facts") as server:
            server.wait_until_ready()
            infer(server, IMAGES[:1])
            self.paths = server.ask("GET", "/openapi.json")[2]["paths"]
            self.values, self.kinds = metrics_of(server)
        self.known = {}

    def is_open(self, path):
        """Whether a probe, which has no key, may read it."""
        return self.paths.get(path, {}).get("get", {}).get("security") == [{}]

    def configuration(self, arguments, variables):
        """The settings that follow from these, and the messages of the server."""
        key = (tuple(arguments), tuple(sorted(variables.items())))
        if key not in self.known:
            environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"} | variables
            done = subprocess.run([os.path.join(self.bench.bin, "vx-serve"), *arguments, "--print-config"], capture_output=True, text=True, timeout=60, env=environment)
            settings = dict(re.findall(r"^(\w+) = ([^#]*?) +#", done.stdout, re.M))
            self.known[key] = ({name: json.loads(value) for name, value in settings.items()}, [line for line in done.stderr.splitlines() if line])
        return self.known[key]


def documents(tree):
    """(file, document) of all YAML, and the files that cannot be read."""
    found, problems = [], []
    for path in tree.files():
        if path in ("deploy/haproxy.cfg", "deploy/nginx.conf"):
            continue  # run_proxies.py
        if not path.endswith((".yaml", ".json")):
            problems.append(f"{path}: expected a name that ends with .yaml or .json")
            continue
        try:
            found += [(path, document) for document in (yaml.load_all(tree.read(path), Loader) if path.endswith(".yaml") else [json.loads(tree.read(path))])]
        except (yaml.YAMLError, ValueError) as error:
            problems.append(f"{path}: {' '.join(str(error).split())}")
    return found, problems


def seconds_of(text):
    return int(re.fullmatch(r"(\d+)s", str(text))[1])


def image_variables(tree):
    return dict(re.findall(r"(\w+)=(\S+)", re.search(r"^ENV (.*)$", tree.read("Dockerfile"), re.M)[1]))


def check_container(where, container, pod, tree, facts):
    """A container of Kubernetes: its arguments and variables, ports, probes and mounts."""
    variables = image_variables(tree) | {entry["name"]: entry.get("value", "") for entry in container.get("env", [])}
    arguments = [argument.replace("{{.Name}}", "digits") for argument in container.get("args", [])]
    settings, said = facts.configuration(arguments, variables)
    yield from (f"{where}: vx-serve says: {line}" for line in said)
    if not settings:
        return
    if settings["host"] != "0.0.0.0" or (settings["admin_port"] and settings["admin_host"] != "0.0.0.0"):
        yield f"{where}: expected that the server listens at 0.0.0.0, got {settings['host']} and {settings['admin_host']}"
    ports = {settings["port"], settings["admin_port"]} - {0}
    declared = {entry["containerPort"] for entry in container["ports"]}
    if declared != ports:
        yield f"{where}: expected the ports {sorted(ports)} of the server, got {sorted(declared)}"
    names = {entry.get("name"): entry["containerPort"] for entry in container["ports"]}
    for probe, path in (("startupProbe", "/v2/health/live"), ("readinessProbe", "/v2/health/ready"), ("livenessProbe", "/v2/health/live")):
        get = container.get(probe, {}).get("httpGet", {})
        if get.get("path") != path or not facts.is_open(path):
            yield f"{where}: {probe}: expected the path {path}, got {get.get('path')}"
        if names.get(get.get("port"), get.get("port")) != settings["port"]:
            yield f"{where}: {probe}: expected the port {settings['port']}, got {get.get('port')}"
    mounts = {entry["mountPath"]: entry for entry in container.get("volumeMounts", [])}
    volumes = {entry["name"] for entry in pod.get("volumes", [])}
    for path, entry in mounts.items():
        if entry["name"] not in volumes:
            yield f"{where}: expected a volume '{entry['name']}' for {path}, got {sorted(volumes)}"
    for key, sealed in (("model_dir", True), ("api_keys_file", True), ("cache_dir", False)):
        place = settings.get(key)
        mount = next((entry for path, entry in mounts.items() if place and (place + "/").startswith(path + "/")), None)
        if pod.get("volumes") and (mount is None or bool(mount.get("readOnly")) != sealed):
            yield f"{where}: {key} is {place}: expected a {'read-only' if sealed else 'writable'} volume there, got {mount}"
    if pod.get("volumes") and container["securityContext"].get("readOnlyRootFilesystem") and "/tmp" not in mounts:
        yield f"{where}: expected a volume for /tmp, since the root is read-only"
    if container["securityContext"].get("allowPrivilegeEscalation") is not False:
        yield f"{where}: expected allowPrivilegeEscalation: false"
    sleep = int((container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command") or ["sleep", "0"])[1])
    needed = sleep + settings["drain_delay_s"] + settings["drain_s"]
    if pod.get("terminationGracePeriodSeconds", needed) < needed:
        yield f"{where}: terminationGracePeriodSeconds: expected at least {needed} (preStop, drain_delay_s and drain_s), got {pod['terminationGracePeriodSeconds']}"


def check_kubernetes(tree, facts, found):
    named = {}
    for path, document in found:
        if not path.startswith(KUBERNETES) or path.endswith("kustomization.yaml"):
            continue
        if not all(document.get(key) for key in ("apiVersion", "kind")) or not document.get("metadata", {}).get("name"):
            yield f"{path}: expected apiVersion, kind and metadata.name"
            continue
        named[document["kind"], document["metadata"]["name"]] = (path, document)
    get = lambda kind, name="vx-serve": named.get((kind, name), (f"{KUBERNETES}: no {kind} '{name}'", None))
    for kind in ("Deployment", "PodDisruptionBudget", "ServiceMonitor", "ScaledObject", "ServingRuntime"):
        if get(kind)[1] is None:
            yield get(kind)[0]
            return
    where, deployment = get("Deployment")
    pod = deployment["spec"]["template"]["spec"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    ports = {}
    for container in pod["containers"]:
        yield from check_container(where, container, pod, tree, facts)
        ports |= {entry["name"]: entry["containerPort"] for entry in container["ports"]}
        if not container.get("lifecycle", {}).get("preStop"):
            yield f"{where}: expected a preStop"
    if pod.get("enableServiceLinks") is not False or pod.get("automountServiceAccountToken") is not False:
        yield f"{where}: expected enableServiceLinks: false and automountServiceAccountToken: false"
    if not pod["securityContext"].get("runAsNonRoot"):
        yield f"{where}: expected runAsNonRoot: true"
    for kind, name in named:
        path, document = named[kind, name]
        selector = document["spec"].get("selector", {}) if kind in ("Service", "PodDisruptionBudget", "Deployment") else {}
        selector = selector.get("matchLabels", selector)
        if any(labels.get(key) != value for key, value in selector.items()) or (kind in ("Service", "PodDisruptionBudget") and not selector):
            yield f"{path}: expected a selector of {labels}, got {selector}"
        for port in document["spec"].get("ports", []) if kind == "Service" else []:
            if port["targetPort"] not in ports:
                yield f"{path}: expected one of the ports {sorted(ports)}, got '{port['targetPort']}'"
    budget = get("PodDisruptionBudget")
    if budget[1]["spec"].get("maxUnavailable") != 1 or deployment["spec"]["replicas"] < 2:
        yield f"{budget[0]}: expected maxUnavailable: 1 and 2 replicas or more"
    where, monitor = get("ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"]
    services = [document for (kind, _), (_, document) in named.items() if kind == "Service" and all(document["metadata"]["labels"].get(key) == value for key, value in wanted.items())]
    for endpoint in monitor["spec"]["endpoints"]:
        if len(services) != 1 or endpoint["port"] not in {port["name"] for port in services[0]["spec"]["ports"]}:
            yield f"{where}: expected one service with the port '{endpoint['port']}', got {[service['metadata']['name'] for service in services]}"
        if "get" not in facts.paths.get(endpoint["path"], {}):
            yield f"{where}: the server has no path '{endpoint['path']}'"
    where, scaled = get("ScaledObject")
    if scaled["spec"]["scaleTargetRef"]["name"] != deployment["metadata"]["name"] or scaled["spec"]["minReplicaCount"] < 1:
        yield f"{where}: expected the Deployment '{deployment['metadata']['name']}' with a replica or more, got {scaled['spec']}"
    for trigger in scaled["spec"]["triggers"]:
        yield from check_query(where, trigger["metadata"]["query"], facts)
        if "vx_queue_depth" not in trigger["metadata"]["query"] or (services and f'job="{services[0]["metadata"]["name"]}"' not in trigger["metadata"]["query"]):
            yield f"{where}: expected a query of vx_queue_depth of the job that the ServiceMonitor makes, got {trigger['metadata']['query']}"
    where, runtime = get("ServingRuntime")
    for container in runtime["spec"]["containers"]:
        yield from check_container(where, container, {}, tree, facts)
        if "--model={{.Name}}=/mnt/models" not in container["args"] or container["name"] != "kserve-container":
            yield f"{where}: expected the container kserve-container with --model={{{{.Name}}}}=/mnt/models, got {container['name']} with {container['args']}"
    formats = {entry["name"] for entry in runtime["spec"]["supportedModelFormats"]}
    where, service = get("InferenceService", "digits")
    model = service["spec"]["predictor"]["model"] if service else {}
    if model.get("runtime") != runtime["metadata"]["name"] or model.get("modelFormat", {}).get("name") not in formats:
        yield f"{where}: expected the runtime '{runtime['metadata']['name']}' and a format of {sorted(formats)}, got {model}"


def check_kustomizations(tree, found):
    for path, document in found:
        if not path.endswith("kustomization.yaml"):
            continue
        folder = os.path.dirname(path)
        files = {os.path.basename(other) for other in tree.files() if os.path.dirname(other) == folder} - {"kustomization.yaml"}
        if set(document["resources"]) != files:
            yield f"{path}: expected the resources {sorted(files)}, got {document['resources']}"
        version = re.search(r"project\(vx VERSION ([\d.]+)", tree.read("CMakeLists.txt"))[1]
        for image in document.get("images", []):
            if image["newTag"] != version:
                yield f"{path}: expected the tag {version}, got {image['newTag']}"
    for folder in {os.path.dirname(path) for path, _ in found if path.startswith(KUBERNETES)}:
        if f"{folder}/kustomization.yaml" not in {path for path, _ in found}:
            yield f"{folder}: expected a kustomization.yaml"


def check_compose(tree, facts, found):
    path = "deploy/compose.yaml"
    compose = next((document for other, document in found if other == path), None)
    if compose is None:
        return
    service = compose["services"]["vx-serve"]
    settings, said = facts.configuration([], image_variables(tree) | service["environment"])
    yield from (f"{path}: vx-serve says: {line}" for line in said)
    if not settings:
        return
    if service["ports"] != [f"127.0.0.1:{settings['port']}:{settings['port']}"]:
        yield f"{path}: expected the port {settings['port']} at 127.0.0.1, got {service['ports']}"
    needed = settings["drain_delay_s"] + settings["drain_s"]
    if seconds_of(service["stop_grace_period"]) < needed:
        yield f"{path}: stop_grace_period: expected at least {needed}s (drain_delay_s and drain_s), got {service['stop_grace_period']}"
    places = {entry.split(":")[-2 if entry.endswith(":ro") else -1] for entry in service["volumes"]} | {f"/run/secrets/{name}" for name in service["secrets"]}
    for key in ("model_dir", "cache_dir", "api_keys_file"):
        if settings[key] not in places:
            yield f"{path}: {key} is {settings[key]}: expected one of {sorted(places)}"
    if not set(service["secrets"]) <= set(compose["secrets"]):
        yield f"{path}: expected the secrets {service['secrets']}, got {sorted(compose['secrets'])}"
    yield from check_health(path, service["healthcheck"]["test"][-1], settings, facts)


def check_health(where, url, settings, facts):
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/\S+)", url)
    if not match or int(match[1]) != settings["port"] or not facts.is_open(match[2]):
        yield f"{where}: expected the health of port {settings['port']}, got {url}"


def check_image(tree, facts):
    text = tree.read("Dockerfile")
    settings, said = facts.configuration([], image_variables(tree))
    yield from (f"Dockerfile: vx-serve says: {line}" for line in said)
    if settings and re.findall(r"^EXPOSE (\d+)$", text, re.M) != [str(settings["port"])]:
        yield f"Dockerfile: expected EXPOSE {settings['port']}"
    if settings:
        yield from check_health("Dockerfile", re.search(r"^HEALTHCHECK .* (\S+)$", text, re.M)[1], settings, facts)


UNIT = "tools/vx-serve/vx-serve.service.in"
# Entries that shut the unit in. Without one of them the server works as before, so that no other test sees it.
SHUT_IN = {"DynamicUser": "yes", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "UMask": "0077", "ProtectProc": "invisible", "ProtectSystem": "strict", "ProtectHome": "read-only", "PrivateTmp": "yes",
           "RestrictNamespaces": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes", "LoadCredential": "keys:vx-serve.keys"}


def check_unit(tree, facts):
    path = UNIT
    entries = dict(re.findall(r"^(\w+)=(.*)$", tree.read(path), re.M))
    for key, value in SHUT_IN.items():
        if entries.get(key) != value:
            yield f"{path}: expected {key}={value}, got {entries.get(key)}"
    limit = int(re.search(r"^TimeoutStopSec=(\d+)$", tree.read(path), re.M)[1])
    settings, _ = facts.configuration([], {"VX_SERVER__HOST": "127.0.0.1"})
    needed = settings["drain_delay_s"] + settings["drain_s"]
    if limit < needed:
        yield f"{path}: TimeoutStopSec: expected at least {needed} (drain_delay_s and drain_s), got {limit}"


def check_query(where, query, facts):
    """Metrics that a query names are those of the server, with their labels and in the form that their kind has."""
    query = query.replace("$__rate_interval", "5m").replace("$__all", "x")
    for name, labels in re.findall(r"\b((?:vx|process)_\w+|up\b)(?:\{([^}]*)\})?", query):
        if name == "up":
            continue
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        base = base if facts.kinds.get(base) == "histogram" else name
        if facts.kinds.get(base) is None or (facts.kinds[base] == "histogram") != (base != name) or not facts.values.get(name):
            yield f"{where}: the server has no metric '{name}'"
            continue
        own = {"instance", "job", "le"} | {label for place in facts.values[name] for label in re.findall(r'(\w+)="', place)}
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels or ""):
            if label not in own:
                yield f"{where}: '{name}' has no label '{label}'"
        if name.endswith(("_total", "_bucket", "_sum", "_count")) and not re.search(r"rate\(" + name + r"\b", query):
            yield f"{where}: expected a rate of the counter '{name}', got '{query}'"
    known = {"instance", "job", "le"} | {label for places in facts.values.values() for place in places for label in re.findall(r'(\w+)="', place)}
    for listed in re.findall(r"\b(?:by|on) ?\(([^)]*)\)", query):
        for label in re.split(r", *", listed):
            if label not in known:
                yield f"{where}: no metric has the label '{label}'"
    if query.count("(") != query.count(")") or query.count("{") != query.count("}"):
        yield f"{where}: expected as many brackets that open as close, got '{query}'"


def check_observation(facts, found):
    for path, document in found:
        for group in document.get("groups", []) if path == "deploy/prometheus/alerts.yaml" else []:
            for rule in group["rules"]:
                yield from check_query(f"{path}: {rule['alert']}", rule["expr"], facts)
                if rule["labels"].get("severity") not in ("warning", "critical") or not rule["annotations"].get("summary") or not re.fullmatch(r"\d+m", rule["for"]):
                    yield f"{path}: {rule['alert']}: expected a severity, a summary and a time"
        if path == "deploy/grafana/vx-serve.json":
            ids = [panel["id"] for panel in document["panels"]]
            if len(set(ids)) != len(ids):
                yield f"{path}: expected each id once, got {ids}"
            for panel in document["panels"]:
                for target in panel["targets"]:
                    yield from check_query(f"{path}: {panel['title']}", target["expr"], facts)
            for variable in document["templating"]["list"]:
                if variable["type"] == "query":
                    for query in (variable["query"]["query"], variable["definition"]):
                        yield from check_query(f"{path}: ${variable['name']}", query, facts)


def find_problems(tree, facts):
    found, problems = documents(tree)
    if problems:
        return problems
    parts = (check_kubernetes(tree, facts, found), check_kustomizations(tree, found), check_compose(tree, facts, found), check_image(tree, facts), check_unit(tree, facts), check_observation(facts, found))
    return [problem for part in parts for problem in part]


# File, its text, the mistake in place of it, and a part of the message.
DEPLOYMENT, RUNTIME, SCALED = f"{KUBERNETES}/deployment.yaml", f"{KUBERNETES}/kserve/servingruntime.yaml", f"{KUBERNETES}/autoscaling/scaledobject.yaml"
ALERTS, GRAFANA, COMPOSE = "deploy/prometheus/alerts.yaml", "deploy/grafana/vx-serve.json", "deploy/compose.yaml"
PLANTS = [
    (DEPLOYMENT, "VX_SERVER__DRAIN_DELAY_S", "VX_SERVER__DRAIN_DELAY", "is not read, did you mean 'VX_SERVER__DRAIN_DELAY_S'"),
    (DEPLOYMENT, "--log-format=json", "--log-format=jsn", "expected text or json, got 'jsn'"),
    (DEPLOYMENT, "--log-format=json", "--logs=json", "vx-serve says: vx-serve: error"),
    (DEPLOYMENT, "containerPort: 9090", "containerPort: 9091", "expected the ports [8080, 9090] of the server, got [8080, 9091]"),
    (DEPLOYMENT, "path: /v2/health/ready", "path: /v2/health/raedy", "readinessProbe: expected the path /v2/health/ready"),
    (DEPLOYMENT, "path: /v2/health/ready\n              port: http", "path: /v2/health/ready\n              port: admin", "readinessProbe: expected the port 8080, got admin"),
    (DEPLOYMENT, "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 30", "expected at least 40"),
    (DEPLOYMENT, 'command: ["sleep", "5"]', 'command: ["sleep", "15"]', "expected at least 50"),
    (DEPLOYMENT, "value: /etc/vx/secret/keys", "value: /etc/vx/keys", "api_keys_file is /etc/vx/keys: expected a read-only volume"),
    (DEPLOYMENT, "mountPath: /models\n              readOnly: true", "mountPath: /models", "model_dir is /models: expected a read-only volume"),
    (DEPLOYMENT, "mountPath: /var/cache/vx\n", "mountPath: /var/cache/vx\n              readOnly: true\n", "cache_dir is /var/cache/vx: expected a writable volume"),
    (DEPLOYMENT, "            - name: tmp\n              mountPath: /tmp\n", "", "expected a volume for /tmp"),
    (DEPLOYMENT, "        - name: cache\n          emptyDir", "        - name: caches\n          emptyDir", "expected a volume 'cache'"),
    (DEPLOYMENT, "value: 0.0.0.0", "value: 127.0.0.1", "expected that the server listens at 0.0.0.0"),
    (DEPLOYMENT, "enableServiceLinks: false", "enableServiceLinks: true", "expected enableServiceLinks: false"),
    (DEPLOYMENT, "runAsNonRoot: true", "runAsNonRoot: false", "expected runAsNonRoot: true"),
    (DEPLOYMENT, "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "expected allowPrivilegeEscalation: false"),
    (DEPLOYMENT, "      livenessProbe", "      livenesProbe", "livenessProbe: expected the path /v2/health/live"),
    (DEPLOYMENT, "replicas: 2\n", "replicas: 2\n  replicas: 3\n", "the key ['replicas'] is there twice"),
    (DEPLOYMENT, "          lifecycle:\n            preStop:\n              exec:\n                command: [\"sleep\", \"5\"]\n", "", "expected a preStop"),
    (f"{KUBERNETES}/service.yaml", "targetPort: admin", "targetPort: admins", "expected one of the ports ['admin', 'http'], got 'admins'"),
    (f"{KUBERNETES}/service.yaml", "selector:\n    app.kubernetes.io/name: vx-serve", "selector:\n    app.kubernetes.io/name: vx-server", "expected a selector of"),
    (f"{KUBERNETES}/poddisruptionbudget.yaml", "app.kubernetes.io/name: vx-serve", "app.kubernetes.io/name: vx", "expected a selector of"),
    (f"{KUBERNETES}/poddisruptionbudget.yaml", "maxUnavailable: 1", "maxUnavailable: 2", "expected maxUnavailable: 1"),
    (f"{KUBERNETES}/monitoring/servicemonitor.yaml", "path: /metrics", "path: /metric", "the server has no path '/metric'"),
    (f"{KUBERNETES}/monitoring/servicemonitor.yaml", "port: admin", "port: http", "expected one service with the port 'http'"),
    (SCALED, "vx_queue_depth{", "vx_queue_length{", "the server has no metric 'vx_queue_length'"),
    (SCALED, 'job="vx-serve-admin"', 'job="vx-serve"', "expected a query of vx_queue_depth of the job"),
    (SCALED, "scaleTargetRef:\n    name: vx-serve", "scaleTargetRef:\n    name: vx", "expected the Deployment 'vx-serve'"),
    (RUNTIME, "--model={{.Name}}=/mnt/models", "--model=/mnt/models", "expected the container kserve-container with"),
    (RUNTIME, "--no-auth", "--log=info", "and there are no keys"),
    (RUNTIME, "containerPort: 8080", "containerPort: 8081", "expected the ports [8080] of the server, got [8081]"),
    (f"{KUBERNETES}/kserve/inferenceservice.yaml", "runtime: vx-serve", "runtime: vx", "expected the runtime 'vx-serve'"),
    (f"{KUBERNETES}/kustomization.yaml", "  - service.yaml\n", "", "expected the resources"),
    (f"{KUBERNETES}/kustomization.yaml", "newTag: ", "newTag: 1", "expected the tag"),
    (COMPOSE, "127.0.0.1:8080:8080", "8080:8080", "expected the port 8080 at 127.0.0.1"),
    (COMPOSE, "stop_grace_period: 40s", "stop_grace_period: 20s", "stop_grace_period: expected at least 30s"),
    (COMPOSE, "/api/v1/health", "/api/v1/healthy", "expected the health of port 8080"),
    (COMPOSE, "VX_CACHE: /var/cache/vx", "VX_CACHE: /var/cache", "cache_dir is /var/cache: expected one of"),
    (COMPOSE, "VX_MODEL_DIR", "VX_MODELS_DIR", "is not read, did you mean 'VX_MODEL_DIR'"),
    ("Dockerfile", "EXPOSE 8080", "EXPOSE 8081", "expected EXPOSE 8080"),
    ("Dockerfile", "VX_SERVER__HOST", "VX_SERVER_HOST", "VX_SERVER_HOST: is not read"),
    (UNIT, "UMask=0077\n", "", "expected UMask=0077, got None"),
    (UNIT, "NoNewPrivileges=yes", "NoNewPrivileges=no", "expected NoNewPrivileges=yes, got no"),
    (UNIT, "LoadCredential=keys:vx-serve.keys", "LoadCredential=keys:/etc/vx/keys", "expected LoadCredential=keys:vx-serve.keys"),
    (UNIT, "TimeoutStopSec=90", "TimeoutStopSec=30", "expected at least 35"),
    (ALERTS, "vx_model_ready == 0", "vx_models_ready == 0", "VxServeModelNotReady: the server has no metric 'vx_models_ready'"),
    (ALERTS, 'code=~"5..|429"', 'status=~"5..|429"', "'vx_requests_total' has no label 'status'"),
    (ALERTS, "rate(vx_queue_seconds_bucket[5m])", "vx_queue_seconds_bucket", "expected a rate of the counter 'vx_queue_seconds_bucket'"),
    (ALERTS, "vx_queue_seconds_bucket", "vx_queue_seconds", "the server has no metric 'vx_queue_seconds'"),
    (ALERTS, "sum by (model, le)", "sum by (modell, le)", "no metric has the label 'modell'"),
    (ALERTS, "vx_queue_depth > 0.8", "(vx_queue_depth > 0.8", "expected as many brackets"),
    (ALERTS, "{severity: critical}", "{severity: bad}", "expected a severity"),
    (GRAFANA, "vx_device_busy_seconds_total", "vx_device_busy_total", "Busy devices: the server has no metric 'vx_device_busy_total'"),
    (GRAFANA, "label_values(vx_build_info", "label_values(vx_build", "$instance: the server has no metric 'vx_build'"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(arguments.bin), folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        facts = Facts(bench)
        problems = find_problems(Tree(), facts)
        bench.check("deploy/ is right", problems == [], "\n  ".join(["", *problems]))
        for path, before, after, text in PLANTS:
            original = Tree().read(path)
            bench.check(f"{path} has {before!r}", before in original)
            problems = find_problems(Tree({path: original.replace(before, after, 1)}), facts)
            bench.check(f"{path}: {after!r} in place of {before!r} is seen", any(text in problem for problem in problems), problems)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
