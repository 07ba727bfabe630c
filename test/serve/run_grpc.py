#!/usr/bin/env python3
"""vx-serve over gRPC by tritonclient, which is unchanged, and by calls that it does not make.

  run_grpc.py --bin BUILD/bin [--only NAME,...]

Exit code: 0 all passed, 1 some failed, 77 where tritonclient[grpc] is missing or vx-serve was built without gRPC.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from digits import ROOT
from run_embeddings import Bench

CHECKS = ("protocol", "types", "wrong", "limits", "keys", "leaving_calls", "slow_reader", "clients", "leaving", "grpc_tls", "start")


class GrpcBench(Bench):
    def ended(self, environment, *arguments):
        """Exit code and messages of a server that does not start."""
        done = subprocess.run([os.path.join(self.bin, "vx-serve"), *arguments], capture_output=True, text=True, timeout=60, env=environment)
        return done.returncode, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", help="checks by their names, with commas between")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",") if arguments.only else CHECKS
    for name in chosen:
        if name not in CHECKS:
            sys.exit(f"FAILED no check matches '{name}', known are {', '.join(CHECKS)}")
    if not os.path.exists(os.path.join(arguments.bin, "../lib/libvx_grpc.so.0")):
        print("vx-serve was built without gRPC")
        return 77
    try:
        import tritonclient.grpc  # noqa: F401
    except (ImportError, RuntimeError):  # the second where the package has no gRPC
        print("no tritonclient[grpc]")
        return 77
    import check_grpc
    from check_models import make_models
    with tempfile.TemporaryDirectory() as folder:
        bench = GrpcBench(os.path.abspath(arguments.bin), folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        check_grpc.make_typed_model(bench)
        check_grpc.make_contents_models(bench)
        make_models(bench)
        for name in chosen:
            getattr(check_grpc, f"check_{name}")(bench)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
