#!/usr/bin/env python3
"""The manifests of deploy/kubernetes against schemas: Kubernetes' own kinds in three versions, by kubernetes-validate, and the kinds of operators by check-jsonschema.

  run_manifests.py [--crds FOLDER]

The schemas of operators are in crds/: they have the fields that the manifests use, and refuse all others. --crds also holds the manifests against the operators' own
schemas, files GROUP/KIND_VERSION.json of a folder, as collections of such schemas have them. Exit code: 0 all passed, 1 some failed, 77 where kubernetes-validate or
check-jsonschema is missing.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import yaml

from run_deploy import Loader
from digits import ROOT

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

VERSIONS = ("1.33", "1.35", "1.37")
KUBERNETES = ROOT / "deploy/kubernetes"
CRDS = pathlib.Path(__file__).parent / "crds"
OWN = {"Deployment", "Service", "PodDisruptionBudget"}
OPERATORS = {"ServiceMonitor", "ScaledObject", "ServingRuntime", "InferenceService"}

# Mistakes that the schema of each kind must see: (kind, before, after).
PLANTS = (
    ("ServiceMonitor", "selector:", "selectors:"),
    ("ServiceMonitor", "port: admin", "ports: admin"),
    ("ServiceMonitor", "path: /metrics", "path: metrics"),
    ("ServiceMonitor", "interval: 15s", "interval: 15"),
    ("ServiceMonitor", "interval: 15s", "interval: 15 s"),
    ("ServiceMonitor", "monitoring.coreos.com/v1", "monitoring.coreos.com/v2"),
    ("ScaledObject", "scaleTargetRef:", "scaleTarget:"),
    ("ScaledObject", "minReplicaCount: 2", 'minReplicaCount: "2"'),
    ("ScaledObject", "maxReplicaCount: 8", "maxReplicas: 8"),
    ("ScaledObject", 'threshold: "16"', "threshold: 16"),
    ("ScaledObject", "serverAddress: http://", "serverAddress: "),
    ("ScaledObject", "type: prometheus", "type: prometeus"),
    ("ServingRuntime", "supportedModelFormats:", "supportedFormats:"),
    ("ServingRuntime", 'version: "3"', "version: 3"),
    ("ServingRuntime", "autoSelect: true", "autoselect: true"),
    ("ServingRuntime", 'protocolVersions: ["v2"]', 'protocolVersions: ["2"]'),
    ("ServingRuntime", "name: kserve-container", "name: vx"),
    ("ServingRuntime", "containerPort: 8080", "containerPort: 80800"),
    ("ServingRuntime", "periodSeconds: 2", "perodSeconds: 2"),
    ("ServingRuntime", "memory: 2Gi", "memory: 2GiB"),
    ("ServingRuntime", "runAsNonRoot: true", 'runAsNonRoot: "true"'),
    ("InferenceService", "predictor:", "predictors:"),
    ("InferenceService", "minReplicas: 1", "minReplicaCount: 1"),
    ("InferenceService", "protocolVersion: v2", "protocolVersion: 2"),
    ("InferenceService", "storageUri: pvc://", "storageURI: pvc://"),
    ("InferenceService", "storageUri: pvc://", "storageUri: /"),
)
# Of these the operators' own schemas take what is a matter of values, or of the operator itself.
LOOSER = {"path: metrics", "interval: 15 s", "serverAddress: ", "type: prometeus", "monitoring.coreos.com/v2", "name: vx", "containerPort: 80800", "memory: 2GiB", 'protocolVersions: ["2"]', "storageUri: /"}


def manifests():
    """(path, document) of each file that has one of the kinds."""
    for path in sorted(KUBERNETES.rglob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), Loader):
            if document and document.get("kind") != "Kustomization":
                yield path, document


def holds(schema, text):
    """Exit code and output of check-jsonschema for a manifest's text."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema), file.name], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def check_own(checks, found):
    import kubernetes_validate

    def wrongs(document, version):
        try:
            kubernetes_validate.validate(document, version, strict=True)
            return ""
        except Exception as error:  # of several classes, with the version
            return str(error) or repr(error)

    for version in VERSIONS:
        for path, document in found:
            if document["kind"] in OWN:
                checks.check(f"{path.name}: {document['kind']} in {version}", wrongs(document, version) == "", wrongs(document, version))
            if document["kind"] == "ServingRuntime":
                # Its containers are those of a pod.
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "vx"}, "spec": {"containers": document["spec"]["containers"]}}
                checks.check(f"{path.name}: its containers in {version}", wrongs(pod, version) == "", wrongs(pod, version))
                pod["spec"]["containers"][0] |= {"arg": []}
                checks.check(f"a wrong key of a container is seen in {version}", "arg" in wrongs(pod, version), wrongs(pod, version))
                del pod["spec"]["containers"][0]["arg"]
        deployment = json.loads(json.dumps(next(document for _, document in found if document["kind"] == "Deployment")))
        probe = deployment["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]
        probe["perodSeconds"] = probe.pop("periodSeconds")
        checks.check(f"a wrong key of a probe is seen in {version}", "perodSeconds" in wrongs(deployment, version), wrongs(deployment, version))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crds", type=pathlib.Path)
    arguments = parser.parse_args()
    missing = [name for name, module in (("kubernetes-validate", "kubernetes_validate"), ("check-jsonschema", "check_jsonschema")) if not importlib.util.find_spec(module)]
    if missing:
        print(f"no {', '.join(missing)}")
        return 77
    checks = Checks()
    found = list(manifests())
    checks.check("each kind has a schema", {document["kind"] for _, document in found} == OWN | OPERATORS, {document["kind"] for _, document in found})
    check_own(checks, found)
    for path, document in found:
        kind = document["kind"]
        if kind not in OPERATORS:
            continue
        text = path.read_text(encoding="utf-8")
        group, version = document["apiVersion"].split("/")
        schemas = [("", CRDS / f"{kind.lower()}.schema.json")]
        if arguments.crds:
            schemas.append((" (the operator's)", arguments.crds / group / f"{kind.lower()}_{version}.json"))
        for whose, schema in schemas:
            code, said = holds(schema, text)
            checks.check(f"{path.name}: {kind}{whose}", code == 0, said)
            for planted, before, after in PLANTS:
                if planted != kind or (whose and after in LOOSER):
                    continue
                checks.check(f"{path.name} has {before!r}", before in text)
                code, said = holds(schema, text.replace(before, after, 1))
                checks.check(f"{path.name}: {after!r} in place of {before!r} is seen{whose}", code == 1, said)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
