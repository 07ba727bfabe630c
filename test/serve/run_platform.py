#!/usr/bin/env python3
"""vx-serve as a platform and its operators have it: it leaves without loss, and can be observed.

  run_platform.py --bin BUILD/bin [--only NAME,...]

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import os
import sys
import tempfile

from check_budget import check_budget, check_lazy, check_shared_weights
from check_leaving import check_leaving
from check_observed import check_admin_port, check_log, check_metrics, check_openapi
from check_tls import check_tls
from check_traces import check_traces
from digits import ROOT
from run_embeddings import Bench


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", help="checks by their names, with commas between")
    arguments = parser.parse_args()
    checks = {"leaving": check_leaving, "metrics": check_metrics, "log": check_log, "admin_port": check_admin_port, "openapi": check_openapi, "tls": check_tls, "lazy": check_lazy, "budget": check_budget, "shared_weights": check_shared_weights, "traces": check_traces}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(arguments.bin), folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        for name in arguments.only.split(",") if arguments.only else checks:
            if name not in checks:
                sys.exit(f"FAILED no check matches '{name}', known are {', '.join(checks)}")
            checks[name](bench)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
