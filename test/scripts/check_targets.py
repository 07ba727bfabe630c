#!/usr/bin/env python3
"""scripts/targets writes the tree's page from its reports, refuses wrong reports with the reason, and keeps no host or command line of a report.

    check_targets.py REPOSITORY
"""
import copy
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402


class Bench(Checks):
    is_quiet = True

    def __init__(self, source, folder):
        self.source, self.tree = source, os.path.join(folder, "tree")
        shutil.copytree(os.path.join(source, "docs", "data", "targets"), os.path.join(self.tree, "docs", "data", "targets"))
        shutil.copy(os.path.join(source, "docs", "targets.md"), os.path.join(self.tree, "docs"))
        self.report = os.path.join(folder, "report.json")

    def targets(self, *arguments, root=None):
        done = subprocess.run([sys.executable, "-B", os.path.join(self.source, "scripts", "targets"), "--root", root or self.tree, *arguments], capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).strip()

    def page(self):
        with open(os.path.join(self.tree, "docs", "targets.md"), encoding="utf-8") as file:
            return file.read()


def report_of(name="NVIDIA H200", device="cuda:0", date="2026-11-30T10:00:00Z", passed=200):
    """One as vx-selfcheck writes it (tools/vx-selfcheck/selfcheck-report.schema.json)."""
    case = {"name": "networks/digits", "kind": "network", "outcome": "passed", "elements": 10, "share_of_allowed": 0.1, "first_ms": 3, "median_ms": 0.5, "min_ms": 0.4, "runs": 9, "problems": []}
    return {"version": 1, "tool": "vx-selfcheck", "vx": "0.2.0", "right": passed == 200, "asked": "cuda",
            "device": {"device": device, "name": name, "details": "sm_90, driver 580|1", "total_memory": 150 << 30, "software": False, "features": ["a", "b"]},
            "record": {"date": date, "host": "secret-host", "cpu": "AMD EPYC", "cores": 16, "load": 0.1, "nvidia_driver": "580.1", "devices": [{}], "commit": "0123456789ab", "command": "vx-selfcheck /home/secret"},
            "seconds": 41.2, "ops": {"passed": passed, "failed": 200 - passed, "skipped": 0}, "networks": {"passed": 5, "failed": 0, "skipped": 0}, "cases": [case, case | {"name": "products/x", "kind": "op"}]}


def main():
    source = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(source, folder)
        code, said = bench.targets("--check", root=source)
        bench.check("the page is that of the reports", code == 0, said)

        def add(report):
            with open(bench.report, "w", encoding="utf-8") as file:
                file.write(report if isinstance(report, str) else json.dumps(report))
            return bench.targets("--add", bench.report)

        before = bench.page()
        code, said = add(report_of())
        kept = os.path.join(bench.tree, "docs/data/targets/cuda-nvidia-h200-sm-90-driver-580-1.json")
        row = "| cuda | NVIDIA H200 | sm_90, driver 580\\|1 | 150.0 GiB | 200 of 200 | 5 of 5 | 2026-11-30 | 01234567 |"
        bench.check("a report is added", code == 0 and os.path.exists(kept) and row in bench.page() and "| cuda, NVIDIA H200 | 0.500 | " in bench.page() and "| cuda, NVIDIA H200 | `a`, `b` |" in bench.page(), said + bench.page())
        with open(kept, encoding="utf-8") as file:
            text = file.read()
        bench.check("host and command are not kept, nor cases of ops", "secret" not in text and "products" not in text, text)
        lines = [line for line in bench.page().splitlines() if line.startswith("| c")]
        bench.check("the CPU is first", lines[0].startswith("| cpu ") and lines[1].startswith("| cuda "), lines)
        count = len(glob.glob(os.path.join(bench.tree, "docs/data/targets/*.json")))
        add(report_of(date="2026-12-01T10:00:00Z"))
        bench.check("a later one replaces it", len(glob.glob(os.path.join(bench.tree, "docs/data/targets/*.json"))) == count and "2026-12-01" in bench.page() and "| 2026-11-30 | 01234567 |" not in bench.page())
        good = bench.page()
        bench.check("the page has changed", good != before)

        for what, change, message in (
                ("a failure", lambda r: report_of(passed=199), "expected a report whose cases are all right, got {\"passed\": 199, \"failed\": 1, \"skipped\": 0} of ops"),
                ("another version", lambda r: r | {"version": 2}, "expected version 1, got 2"),
                ("another tool", lambda r: r | {"tool": "vx-bench"}, "expected a report of vx-selfcheck, got another document"),
                ("a list", lambda r: [r], "expected a report of vx-selfcheck, got another document"),
                ("no device", lambda r: {key: value for key, value in r.items() if key != "device"}, "expected the fields of docs/selfcheck.md, got none of 'device'"),
                ("no JSON", lambda r: json.dumps(r)[:200], "expected JSON: "),
                ("a text for a number", lambda r: r | {"seconds": "41"}, "'seconds': expected a number or null, got \"41\"")):
            code, said = add(change(copy.deepcopy(report_of())))
            bench.check(f"a report with {what} is refused", code == 1 and message in said and bench.page() == good, said)

        def changed(change, message, path=kept):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(change(text))
            code, said = bench.targets("--check")
            bench.check(f"it is seen: {message}", code == 1 and message in said, said)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        changed(lambda text: text.replace('"total_memory"', '"total_memry"'), "cuda-nvidia-h200-sm-90-driver-580-1.json:9: unknown key 'device.total_memry', did you mean 'total_memory'")
        changed(lambda text: text.replace('"right": true', '"right": false'), ":4: 'right': expected true, got false")
        changed(lambda text: text.replace('"cores": 16', '"cores": true'), "'record.cores': expected int, got true")
        changed(lambda text: text.replace('"name": "NVIDIA H200"', '"name": "NVIDIA H100"'), "expected the name cuda-nvidia-h100-sm-90-driver-580-1.json")
        changed(lambda text: text.replace('"passed": 200', '"passed": 100'), "docs/targets.md is not that of the reports: run scripts/targets")
        changed(lambda text: text + "x", "docs/targets.md is not that of the reports", os.path.join(bench.tree, "docs/targets.md"))
        code, said = bench.targets("--check")
        bench.check("all is well again", code == 0, said)
        return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
