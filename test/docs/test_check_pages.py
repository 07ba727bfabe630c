#!/usr/bin/env python3
"""Faults that check_pages.py must find, each planted in the text of one page or source, or a file that is not there: test_check_pages.py SOURCE"""
import os
import sys

import check_pages
import parts_faults
from pages import Tree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# Of each check: the file, a text in it, another text in its place (None: the file is not there), and a part of a line that the check then prints.
PLANTS = {
    "links": [("docs/glossary.md", "(phases.md)", "(phase.md)", "there is no file 'docs/phase.md'"),
              ("docs/glossary.md", "(training.md#checkpoints)", "(training.md#checkpoint)", "docs/training.md has no heading '#checkpoint'"),
              ("README.md", "(docs/roadmap.md)", "(docs/ops.md)", "docs/roadmap.md: no other page has a link to it")],
    "glossary": [("docs/glossary.md", "### arena\n", "### zone\n", "expected 'asset' before 'zone'"),
                 ("docs/glossary.md", "### arena\n", "### arenaceous\n", "'arenaceous': no other page uses it"),
                 ("docs/glossary.md", "### instance\n", "### instances\n", "expected an entry 'instance', which is of vx.h"),
                 ("docs/glossary.md", "### fused\n", "### fuse\n", "expected an entry 'fused', which is of the table of docs/phases.md"),
                 ("docs/glossary.md", "### shadow\n", "### shadows\n", "expected an entry 'shadow', which is of vx_variable_role"),
                 ("docs/glossary.md", "See [phases](phases.md).", "", "expected a link to the page that explains it"),
                 ("docs/glossary.md", "### gate\n\n", "### gate\n\nOne. Two. ", "'gate': expected one or two sentences, got 3")],
    "environment": [("docs/environment.md", "| `VX_CACHE` |", "| `VX_CASH` |", "'VX_CACHE' is missing, which"), ("docs/environment.md", "| `VX_CACHE` |", "| `VX_CASH` |", "'VX_CASH': nothing reads it"),
                    ("docs/environment.md", "A server has a file", "`VX_ORDER` has a file", "'VX_ORDER' stands in no table"),
                    ("docs/environment.md", "| `VX_UNMAP_FROM` |", "| `VX_MAP_FROM` |", "'VX_UNMAP_FROM' is missing among those of tests and scripts"),
                    ("docs/environment.md", "| `VX_UNMAP_FROM` |", "| `VX_MAP_FROM` |", "'VX_MAP_FROM': no test or script reads it"),
                    ("docs/environment.md", "| number | `8080` |", "| number | `8081` |", "'VX_SERVER__PORT': expected the default `8080`, got `8081`"),
                    ("runtime/lib/drivers/cuda/cuda_driver.h", '"VX_CUDA_LIBRARY"', '"VX_CUDA_DRIVER"', "'VX_CUDA_DRIVER' is missing, which runtime/lib/drivers/cuda/cuda_driver.h reads"),
                    ("runtime/lib/serve/configuration_keys.cpp", '"server", "port"', '"server", "porto"', "'VX_SERVER__PORTO' is missing"),
                    ("runtime/lib/serve/known_variables.h", '"VX_API_KEY"', '"VX_API_KEYS"', "'VX_API_KEY' is missing: a server would warn"),
                    ("base/lib/cache_folder.cpp", '"VX_CACHE"', '"VX_KERNELS"', "'VX_KERNELS' is missing"),
                    ("scripts/fuzz", "VX_BUILD_DIR:-", "VX_BUILT:-", "'VX_BUILT' is missing among those of tests and scripts")],
    "errors": [("docs/errors.md", "| `VX_FAULT` | 7 |", "| `VX_FAULT` | 17 |", "The runtime: VX_FAULT 7 1 is missing"), ("docs/errors.md", "| `VX_FAULT` | 7 |", "| `VX_FALSE` | 7 |", "VX_FALSE 7 1: no source has it"),
               ("runtime/include/vx/runtime/vx.h", "VX_TIMED_OUT = 12", "VX_TIMED_OUT = 12, VX_TIRED = 13", "VX_TIRED 13 ? is missing"),
               ("tools/command-line/command_line.cpp", "case VX_FAULT:", "case VX_FAULT: return ExitCode::BadInput;", "VX_FAULT 7 3 is missing"),
               ("runtime/lib/hal/driver.cpp", 'return "no_code"', 'return "codeless"', "Refusals of a device: codeless is missing"),
               ("compiler/include/vx/compiler/vxc.h", "VXC_CANCELLED = 5", "VXC_CANCELLED = 6", "The compiler: VXC_CANCELLED 6 is missing"),
               ("tools/command-line/command_line.cpp", "  4  no device", "  5  no device", "Exit codes of the tools: 5 is missing"),
               ("runtime/include/vx/train/error.hpp", "data,     //", "file,     //", "Exceptions in C++ and Python: file is missing"),
               ("runtime/lib/serve/service_error.cpp", '"queue_full", 429', '"queue_full", 503', "HTTP: 503 queue_full rate_limit_error is missing"),
               ("docs/errors.md", "| Read the server's log at the request's id. |", "| |", "expected a cause and a remedy")],
    "troubleshooting": [("runtime/lib/module/loader.cpp", "and no vx module", "and not a module", "'10. A model is passed to the runtime': no source has the message"),
                        ("runtime/lib/hal/vendor_library.cpp", "names another one", "names one", "'1. The GPU is not used': no source has the message"),
                        ("compiler/lib/Driver/MemoryBudget.cpp", "expected at least", "expected more than", "'23. The memory budget is too small': no source has the message"),
                        ("docs/troubleshooting.md", "> `error: externally-managed-environment`", "> `error: externally managed`", "'33. pip installs nothing': no source has the message"),
                        ("docs/troubleshooting.md", "### 7. ", "### 8. ", "expected the number 7"), ("docs/troubleshooting.md", "> `the module has no code", "`the module has no code", "expected a message"),
                        ("docs/troubleshooting.md", "- **Cure**: ", "- ", "expected '- **Cure**: '")],
    "http": [("runtime/lib/serve/embedding_routes.cpp", '"user", "pooling"', '"users", "pooling"', "the field 'users' is missing"), ("runtime/lib/serve/kserve_tensors.cpp", '"binary_data_size"', '"bytes"', "the field 'bytes' is missing"),
             ("docs/http-reference.md", "| `encoding_format` |", "| `format` |", "the field 'format': no source reads it")],
    "numerics": [("tools/vx-compile/vx-compile.cpp", '"--strict-math"', '"--exact"', "Flags of vx-compile: '--exact' is missing"), ("docs/numerics.md", "| `--precision` |", "| `--precisely` |", "'--precisely' does not exist"),
                 ("runtime/include/vx/runtime/vx.h", "  int no_fallback;", "  int no_fallback;\n  int math;", "Settings of an instance: 'math' is missing"),
                 ("compiler/include/vx/Transforms/Passes.td", 'Pass<"vx-recognize-norms"', 'Pass<"vx-find-norms"', "expected that --strict-math switches off")],
    "tools": [("tools/vx-train/vx-train.cpp", '"--early-stop"', '"--patience"', "docs/training.md: '--patience' of vx-train is missing"), ("docs/training.md", "| `--threads` |", "| threads |", "'--threads' of vx-train is missing"),
              ("tools/vx-train/vx-train.cpp", '"--stop-on-nan"', '"--stop-on-inf"', "'--stop-on-inf' of vx-train is missing"), ("tools/vx-train/vx-train.cpp", '"--save-module"', '"--sav"', "'--sav' of vx-train is missing"),
              ("tools/vx-bench/load_flags.cpp", '"--turns"', '"--rounds"', "docs/benchmarks.md: '--rounds' of vx-bench is missing"), ("docs/benchmarks.md", "`--encoding base64`", "Base64", "'--encoding' of vx-bench is missing")],
    "backends": [("compiler/lib/Target/CUDA/CUDAVariants.cpp", '{"sm_80", 76}', '{"sm_75", 70}, {"sm_80", 76}', "cuda: expected sm_75, sm_80"),
                 ("compiler/lib/Target/LLVMCPU/CPUVariants.cpp", "makeSpec(known[2])", "makeSpec(known[3])", "cpu: expected avx512+vnni, avx512, x86-64-v2, got avx512+vnni, avx512, x86-64-v3"),
                 ("docs/backends.md", "| `integer-dot`, `baseline` | `integer-dot`, `baseline` |", "| `integer-dot`, `baseline` | `half` |", "vulkan: expected integer-dot, baseline, got half"),
                 ("runtime/lib/drivers/cuda/cuda_vendor.h", "minVersion = 11060", "minVersion = 12010", "expected 'CUDA 12.1'"),
                 ("runtime/lib/exec/device_report.cpp", '"cuda", "rocm"', '"rocm", "cuda"', "expected 'order: `rocm,cuda,vulkan,cpu`'")],
    "codegen": [("docs/codegen.md", "| its columns or its sum run along several dimensions |", "| its results are bits |", "expected the reasons"),
                ("compiler/lib/Analysis/ProductCandidates.cpp", "has its groups, or", "has groups, or", "expected the reasons"),
                ("docs/codegen.md", "`cpu_depthwise`", "`cpu_channels`", "the strategy 'cpu_depthwise' of"),
                ("dialects/include/vx/Dialect/VX/IR/VXStrategies.td", '"tiled_product"', '"tiles"', "the strategy 'tiles' of")],
    "platforms": [("docs/platforms.md", "`sm_86`, ", "", "Chips: 'sm_86' of cuda is missing"), ("docs/platforms.md", "`sm_86`, ", "`sm_86`, `sm_75`, ", "Chips: cuda has no variant 'sm_75'"),
                  ("docs/platforms.md", "`sm_86`, ", "`sm_86`, `sm_80`, ", "'sm_80' of cuda has two states"), ("docs/platforms.md", "| null | none | tested", "| zero | none | tested", "Drivers: 'null' is missing"),
                  ("docs/platforms.md", "| x86-64 | tested:", "| x86-64 | fine:", "Operating systems: Debian 12: expected one of tested")],
    "changelog": [("CMakeLists.txt", "project(vx VERSION 0", "project(vx VERSION 7", "expected the newest entry to be of 7."),
                  ("runtime/include/vx/abi/version.h", 'VX_VERSION_STRING "0', 'VX_VERSION_STRING "7', "expected the version 0."),
                  ("runtime/include/vx/abi/version.h", "VX_MODULE_ABI_MINOR ", "VX_MODULE_ABI_MINOR 9", "expected 'Module ABI ")],
    "flags": [("docs/numerics.md", "`--strict-math` switches off", "`--exact-math` switches off", "docs/numerics.md: '--exact-math': no tool has it"),
              ("docs/serving.md", "`--drain-s`", "`--drain-seconds`", "'--drain-seconds': no tool has it")],
    "paths": [("docs/math.md", "`test/unit/compiler/math`", "`test/unit/compiler/maths`", "docs/math.md: 'test/unit/compiler/maths' is not there"),
              ("docs/module-format.md", "runtime/lib/module/check_program.cpp", "runtime/lib/module/check_programs.cpp", "'runtime/lib/module/check_programs.cpp' is not there"),
              ("docs/math.md", "`MathCoefficients.inc`", "`MathNumbers.inc`", "there is no file 'MathNumbers.inc'")],
    "site": [("docs/site/mkdocs.yml", "docs/errors.md", "docs/error.md", "expected 'docs/errors.md' once in the navigation, got it 0 times"),
             ("docs/site/mkdocs.yml", "docs/errors.md", "docs/error.md", "there is no page 'docs/error.md'"),
             ("docs/site/mkdocs.yml", "docs/errors.md", "docs/start.md", "expected 'docs/start.md' once in the navigation, got it 2 times"),
             ("scripts/site", ', "SECURITY.md"', "", "expected the pages README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md"),
             ("docs/site/requirements.txt", "mkdocs-material==", "mkdocs-immaterial==", "expected mkdocs-material with a version and hashes")],
    "forge": [(".github/workflows/ci.yml", "run: scripts/test", "run: scripts/tests", "expected a step with 'run: scripts/test'"),
              (".github/workflows/ci.yml", "run: scripts/test", "run: scripts/tests", "there is no 'scripts/tests'"),
              (".github/ISSUE_TEMPLATE/fault.md", "about: ", "", "expected a head with name, about"),
              (".github/ISSUE_TEMPLATE/request.md", "`vx-run --version`", "the version", "expected that it asks for the output"),
              (".github/pull_request_template.md", "`scripts/test --fast`", "the tests", "expected a box for 'scripts/test --fast'"),
              (".github/pull_request_template.md", "`scripts/check-format`", "`scripts/format`", "there is no 'scripts/format'"),
              ("SECURITY.md", "## Report a vulnerability", "## Contact", "expected a section 'Report a vulnerability'"),
              (".devcontainer/Dockerfile", "COPY scripts/setup", "COPY setup", "there is no 'setup' to copy"),
              (".devcontainer/Dockerfile", "RUN /tmp/vx/scripts/setup", "RUN true", "expected that it runs scripts/setup")],
}


def main():
    root, checks = sys.argv[1], Checks()
    checks.is_quiet = True
    plants = PLANTS | parts_faults.plants(Tree(root))
    for name in plants.keys() - check_pages.CHECKS.keys():
        checks.check(name, False, "faults are planted for it, and there is no such check")
    for name in check_pages.CHECKS:
        if name not in plants:
            checks.check(name, False, "no fault is planted for it")
        for path, old, new, expected in plants.get(name, []):
            text = Tree(root).read(path)
            planted = None if new is None else text.replace(old, new, 1)
            got = check_pages.run_check(name, Tree(root, {path: planted})) if planted != text else [f"'{old}' is not in {path}"]
            checks.check(name, planted != text and any(expected in line for line in got),
                         f"expected '{expected}' with '{new}' in {path}, got:\n  " + "\n  ".join(got or ["nothing"]))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
