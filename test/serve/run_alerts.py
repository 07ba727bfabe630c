#!/usr/bin/env python3
"""deploy/prometheus/alerts.yaml and the server's metrics by promtool: the rules are valid, each alert goes off when it should and not before, and /metrics of a
server that has answered is in Prometheus' format.

  run_alerts.py --bin BUILD/bin

Exit code: 0 all passed, 1 some failed, 77 where promtool (Debian's package prometheus) is missing.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from digits import IMAGES, ROOT, infer
from run_embeddings import Bench
from served import Server

RULES = ROOT / "deploy/prometheus/alerts.yaml"
SERIES = pathlib.Path(__file__).parent / "alerts.test.yaml"

# Rules that are wrong: the tests must see each. (before, after)
PLANTS = (
    ('up{job=~"vx-serve.*"} == 0', 'up{job=~"vx-serve"} == 0'),
    ('up{job=~"vx-serve.*"} == 0', "up == 0"),
    ("vx_model_ready == 0 and on(instance) vx_draining == 0", "vx_model_ready == 0"),
    ("vx_model_ready == 0 and on(instance) vx_draining == 0", "vx_model_ready == 1 and on(instance) vx_draining == 0"),
    ("for: 15m", "for: 10m"),
    ('code=~"5..|429"', 'code=~"5.."'),
    ('code=~"5..|429"', 'code=~"[45].."'),
    ("> 0.01 *", "> 0.005 *"),
    ("> 0.01 *", "> 0.02 *"),
    ("vx_queue_depth > 0.8 * vx_queue_limit", "vx_queue_depth > 0.9 * vx_queue_limit"),
    ("vx_queue_depth > 0.8 * vx_queue_limit", "vx_queue_depth > 0.7 * vx_queue_limit"),
    ("histogram_quantile(0.95,", "histogram_quantile(0.5,"),
    ("histogram_quantile(0.95,", "histogram_quantile(0.99,"),
    ("> 1\n        for: 10m", "> 2.5\n        for: 10m"),
    ("sum by (instance, device) (vx_model_memory_bytes)", "max by (instance, device) (vx_model_memory_bytes)"),
    ("> 0.9 * max by", "> 0.8 * max by"),
    ('> 0.8 * process_max_fds{job=~"vx-serve.*"}', '> 0.7 * process_max_fds{job=~"vx-serve.*"}'),
    ('process_open_fds{job=~"vx-serve.*"} > 0.8 * process_max_fds{job=~"vx-serve.*"}', "process_open_fds > 0.8 * process_max_fds"),
    ("severity: critical", "severity: warning"),
    ("takes no requests", "takes requests"),
)


def promtool(*arguments, given=None):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, input=given, timeout=120)
    return done.returncode, done.stdout + done.stderr


def check_series(bench, name, rules):
    """Exit code and output of `promtool test rules` for some rules."""
    folder = bench.path(name)
    os.mkdir(folder)
    for file, text in (("alerts.yaml", rules), ("series.yaml", SERIES.read_text(encoding="utf-8").replace("[RULES]", "[alerts.yaml]"))):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            out.write(text)
    return promtool("test", "rules", os.path.join(folder, "series.yaml"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    if not shutil.which("promtool"):
        print("no promtool, which is in Debian's package prometheus")
        return 77
    rules = RULES.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(arguments.bin), folder, ["cpu"])
        code, said = promtool("check", "rules", str(RULES))
        names = re.findall(r"- alert: (\w+)", rules)
        bench.check("the rules are valid", code == 0 and f"{len(names)} rules found" in said, said)
        code, said = check_series(bench, "right", rules)
        bench.check("each alert goes off as it should", code == 0, said)
        tested = set(re.findall(r"alertname: (\w+)", SERIES.read_text(encoding="utf-8")))
        bench.check_equal("each alert is tested", sorted(names), sorted(tested))
        for i, (before, after) in enumerate(PLANTS):
            bench.check(f"the rules have {before!r}", before in rules)
            code, said = check_series(bench, f"plant-{i}", rules.replace(before, after, 1))
            bench.check(f"{after!r} in place of {before!r} is seen", code == 1 and "FAILED" in said, said)

        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        with Server(bench, f"--model-dir={bench.path('models')}", name="metrics") as server:
            server.wait_until_ready()
            infer(server, IMAGES[:3])
            server.ask("POST", "/v2/models/digits/infer", {})
            server.ask("GET", "/v2/models/nix")
            text = server.ask("GET", "/metrics")[2].decode()
        code, said = promtool("check", "metrics", given=text)
        bench.check("/metrics is in Prometheus' format, with the names that it asks for", code == 0 and not said and "vx_batch_rows_bucket" in text, said)
        code, said = promtool("check", "metrics", given=text.replace("# TYPE vx_requests_total counter", "# TYPE vx_requests_total gauge"))
        bench.check("a metric of the wrong kind is seen", code != 0 and "vx_requests_total" in said, said)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
