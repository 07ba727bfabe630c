#!/usr/bin/env python3
"""vx-serve by real clients: http.client, openai and tritonclient, and by some that are none.

  run_server.py --bin BUILD/bin --losing-vulkan LIBRARY [--only NAME,...]

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import os
import sys
import tempfile

from check_codes import check_codes, check_methods
from check_details import check_details
from check_devices import check_device_loss, check_several_devices
from check_embeddings import check_deterministic, check_embeddings, check_openai_keys
from check_hostile import check_large_calls, check_names, check_promises
from check_kinds import check_absent, check_kinds
from check_models import check_changed_models, check_failing_models, make_models
from check_operation import check_addresses, check_cancel, check_command_line, check_descriptors, check_gone_clients, check_load, check_reload
from check_rerank import check_rerank
from check_tensors import check_batches, check_infer, check_plain_folder, check_repository
from digits import ROOT
from embedding_models import Folder
from run_embeddings import Bench


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--losing-vulkan", required=True, help="libvx_losing_vulkan.so")
    parser.add_argument("--only", help="checks by their names, with commas between")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.bin, folder, ["cpu"])
        os.mkdir(bench.path("models"))
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("models/digits.vxm"))
        make_models(bench)
        tiny = Folder(bench.path("tiny"), max_tokens=60)
        bench.tool("vx-compile", tiny.path, "--target=cpu", "-o", bench.path("tiny.vxm"))
        checks = {
            "infer": check_infer,
            "large_calls": check_large_calls,
            "promises": check_promises,
            "names": check_names,
            "plain": check_plain_folder,
            "repository": check_repository,
            "codes": check_codes,
            "methods": check_methods,
            "reload": check_reload,
            "batches": check_batches,
            "load": check_load,
            "cancel": check_cancel,
            "failing_models": check_failing_models,
            "changed_models": check_changed_models,
            "kinds": check_kinds,
            "absent": check_absent,
            "gone_clients": check_gone_clients,
            "descriptors": check_descriptors,
            "addresses": check_addresses,
            "deterministic": check_deterministic,
            "openai": check_openai_keys,
            "command_line": check_command_line,
            "device_loss": lambda bench: check_device_loss(bench, arguments.losing_vulkan),
            "several_devices": lambda bench: check_several_devices(bench, arguments.losing_vulkan),
            "embeddings": lambda bench: check_embeddings(bench, tiny),
            "rerank": check_rerank,
            "details": check_details,
        }
        chosen = arguments.only.split(",") if arguments.only else list(checks)
        for name in chosen:
            if name not in checks:
                sys.exit(f"FAILED no check matches '{name}', known are {', '.join(checks)}")
        for name in chosen:
            checks[name](bench)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
