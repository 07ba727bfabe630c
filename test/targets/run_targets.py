#!/usr/bin/env python3
"""Builds that leave targets of the compiler and drivers of the runtime out (VX_TARGETS and VX_DRIVERS).

    run_targets.py --source REPOSITORY --work FOLDER --cc CC --cxx CXX names|configure|runtime|whole [cpu|cuda|rocm|vulkan]

names: lists that CMake takes or refuses, and its messages. configure: each target alone with cpu, with all tests; no source of another one
is in the build. runtime: the runtime of one target is built, and its tools name the parts that were left out. whole: everything of one target is built,
and its unit tests and lit tests are run. The last line is "N passed, N failed, N skipped".
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

ALL = ["cpu", "cuda", "rocm", "vulkan"]
# Sources that a build without a target or a driver does not have.
TARGET_SOURCES = {"cuda": "lib/Target/CUDA/", "rocm": "lib/Target/ROCM/", "vulkan": "lib/Target/Vulkan/"}
DRIVER_SOURCES = {"cuda": "lib/drivers/cuda/", "rocm": "lib/drivers/hip/", "vulkan": "lib/drivers/vulkan/"}
# Tests of ctest that a build without a driver does not have.
DRIVER_TESTS = {"cuda": "cuda_conformance", "rocm": "hip_conformance", "vulkan": "vulkan_driver"}

# A list, and "" or the text of the refusal.
NAMES = [
    ("VX_TARGETS", "cpu", ""),
    ("VX_TARGETS", "cuda;cpu", ""),
    ("VX_TARGETS", "cpu,vulkan", ""),
    ("VX_DRIVERS", "cpu;cpu;rocm", ""),
    ("VX_TARGETS", "cpu;cdua", "VX_TARGETS: target 'cdua' is unknown, known are: cpu, cuda, rocm, vulkan, did you mean 'cuda'"),
    ("VX_TARGETS", "cpu;Vulkn", "VX_TARGETS: target 'Vulkn' is unknown, known are: cpu, cuda, rocm, vulkan, did you mean 'vulkan'"),
    ("VX_DRIVERS", "cpu;hip", "VX_DRIVERS: driver 'hip' is unknown, known are: cpu, cuda, rocm, vulkan, did you mean 'rocm'"),
    ("VX_DRIVERS", "cpu;metal", "VX_DRIVERS: driver 'metal' is unknown, known are: cpu, cuda, rocm, vulkan\n"),
    ("VX_TARGETS", "cuda;rocm", "VX_TARGETS: expected cpu in the list, got 'cuda;rocm': tools compile for the CPU where no device is named, and other "
     "devices fall back to it; write -DVX_TARGETS='cpu;cuda;rocm'"),
    ("VX_DRIVERS", "", "VX_DRIVERS: expected cpu in the list, got '': values of the host, host functions and the fallback of every other device are the "
     "CPU's; write -DVX_DRIVERS='cpu'"),
]


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, is_right, detail=""):
        self.passed, self.failed = self.passed + bool(is_right), self.failed + (not is_right)
        if not is_right:
            print(f"FAILED {name}: {detail}", flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return 1 if self.failed else 0


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def check_names(checks, options):
    os.makedirs(options.work, exist_ok=True)
    script = os.path.join(options.work, "names.cmake")
    with open(script, "w") as file:
        file.write(f'cmake_minimum_required(VERSION 3.22)\ninclude("{options.source}/cmake/VxTargets.cmake")\n'
                   'message(STATUS "targets ${VX_TARGETS} without ${vx_missing_targets}, drivers ${VX_DRIVERS} without ${vx_missing_drivers}")\n')
    for variable, text, refusal in NAMES:
        done = run("cmake", f"-D{variable}={text}", "-P", script)
        name = f"{variable}={text}"
        said = re.sub(r"\s+", " ", done.stdout)  # CMake breaks lines
        if refusal:
            checks.check(name, done.returncode != 0 and " ".join(refusal.split()) in said, done.stdout)
            if refusal.endswith("\n"):
                checks.check(f"{name}: no name is near", "did you mean" not in said, done.stdout)
            continue
        kept = [one for one in ALL if one in re.split("[;,]", text)]
        missing = [one for one in ALL if one not in kept]
        what = "targets" if variable == "VX_TARGETS" else "drivers"
        checks.check(name, done.returncode == 0 and f"{what} {';'.join(kept)} without {';'.join(missing)}" in said.replace(", drivers", " , drivers"), done.stdout)


def configure(options, name, folder, *more):
    names = ";".join(dict.fromkeys(["cpu", name]))
    shutil.rmtree(folder, ignore_errors=True)
    return run("cmake", "-G", "Ninja", "-S", options.source, "-B", folder, f"-DCMAKE_C_COMPILER={options.cc}", f"-DCMAKE_CXX_COMPILER={options.cxx}",
               f"-DVX_TARGETS={names}", f"-DVX_DRIVERS={names}", *more)


def check_configured(checks, name, folder, compiler=True):
    with open(os.path.join(folder, "build.ninja")) as file:
        text = file.read()
    kinds = [("driver", DRIVER_SOURCES)] + [("target", TARGET_SOURCES)] * compiler
    for kind, sources in kinds:
        for other, part in sources.items():
            checks.check(f"{name}: sources of the {kind} {other}", (part in text) == (other == name), f"'{part}' is {'not ' * (other == name)}in build.ninja")
    if compiler:
        checks.check(f"{name}: code that GPUs share", ("lib/Codegen/GPU/" in text) == (name != "cpu"), "lib/Codegen/GPU/")
        checks.check(f"{name}: code of LLVM's GPUs", ("lib/Codegen/LLVMGPU/" in text) == (name in ("cuda", "rocm")), "lib/Codegen/LLVMGPU/")
    tests = ""
    for root, _, files in os.walk(os.path.join(folder, "test")):
        for file in files:
            if file == "CTestTestfile.cmake":
                with open(os.path.join(root, file)) as opened:
                    tests += opened.read()
    for other, test in DRIVER_TESTS.items():
        checks.check(f"{name}: tests of the driver {other}", (test in tests) == (other == name), test)


def check_configure(checks, options):
    for name in ALL:
        folder = os.path.join(options.work, f"configure-{name}")
        done = configure(options, name, folder, "-DCMAKE_BUILD_TYPE=Debug")
        checks.check(f"{name}: configured", done.returncode == 0, done.stdout[-3000:])
        if done.returncode == 0:
            check_configured(checks, name, folder)
        shutil.rmtree(folder, ignore_errors=True)


def check_runtime(checks, options, name):
    """The others' drivers are no code of the library, and its tools name them."""
    folder = os.path.join(options.work, f"runtime-{name}")
    done = configure(options, name, folder, "-DCMAKE_BUILD_TYPE=Debug", "-DVX_BUILD_COMPILER=OFF")
    checks.check(f"{name}: configured", done.returncode == 0, done.stdout[-3000:])
    if done.returncode:
        return
    check_configured(checks, name, folder, compiler=False)
    done = run("ninja", "-C", folder, "vx_runtime", "vx-info")
    checks.check(f"{name}: built", done.returncode == 0, done.stdout[-3000:])
    if done.returncode:
        return
    binaries = os.path.join(folder, "bin")
    listed = run(os.path.join(binaries, "vx-info"), "--hardware", "--json", env={**os.environ, "VX_PROBE": "0"})
    backends = {backend["name"]: backend for backend in json.loads(listed.stdout)["backends"]}
    has = ", ".join([one for one in ALL if one in ("cpu", name)] + ["null"])
    for other in ALL[1:]:
        reason = f"this runtime was built without the driver '{other}', it has: {has}"
        if other != name:
            checks.check(f"{name}: vx-info says why there is no {other}", (backends[other].get("code"), backends[other].get("reason")) == ("no_driver", reason), backends[other])
        else:
            checks.check(f"{name}: vx-info has {other}", backends[other].get("code") != "no_driver", backends[other])
    symbols = run("nm", "--demangle", os.path.join(folder, "lib", "libvx_runtime.so.0")).stdout
    for other, space in (("cuda", "vx::cuda::"), ("rocm", "vx::hip::"), ("vulkan", "vx::vulkan::")):
        checks.check(f"{name}: symbols of {other}", (space in symbols) == (other == name), space)


def check_whole(checks, options, name):
    folder = os.path.join(options.work, f"whole-{name}")
    done = configure(options, name, folder, "-DCMAKE_BUILD_TYPE=Release")
    checks.check(f"{name}: configured", done.returncode == 0, done.stdout[-3000:])
    if done.returncode:
        return
    check_configured(checks, name, folder)
    done = run("ninja", "-C", folder)
    checks.check(f"{name}: built", done.returncode == 0, done.stdout[-3000:])
    if done.returncode:
        return
    compiler = os.path.join(folder, "bin", "vx-compile")
    model = os.path.join(options.source, "examples", "digits", "digits.onnx")
    kept = [one for one in ALL if one in ("cpu", name)]
    done = run(compiler, model, f"--target={','.join(kept)}", "--no-cache", "-o", os.path.join(folder, "digits.vxm"))
    checks.check(f"{name}: compiles for its targets", done.returncode == 0, done.stdout)
    has = ", ".join([*kept, "null"])
    for other in ALL:
        if other not in kept:
            refused = run(os.path.join(folder, "bin", "vx-run"), os.path.join(folder, "digits.vxm"), f"--device={other}", "--no-fallback")
            reason = f"this runtime was built without the driver '{other}', it has: {has}"
            checks.check(f"{name}: vx-run refuses {other}", refused.returncode != 0 and reason in refused.stdout, refused.stdout)
        reason = f"this vx-compile was built without the target '{other}', it has: {', '.join(kept)}"
        if other not in kept:
            for arguments in ([f"--target=cpu,{other}"], [f"--{other}=x"]):
                done = run(compiler, model, *arguments, "--no-cache", "-o", os.path.join(folder, "none.vxm"))
                checks.check(f"{name}: vx-compile refuses {arguments}", done.returncode == 2 and reason in done.stdout, done.stdout)
    done = run("ctest", "--test-dir", folder, "-L", "^(unit|lit|layers)$", "-j2", "--output-on-failure")
    found = re.search(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", done.stdout)
    checks.check(f"{name}: tests", found and int(found[2]) == 0, done.stdout[-6000:])
    if found:
        print(f"{name}: {found[3]} tests, {found[2]} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("source", "work", "cc", "cxx"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("check", choices=["names", "configure", "runtime", "whole"])
    parser.add_argument("name", nargs="?", choices=ALL)
    options = parser.parse_args()
    options.source, options.work = os.path.abspath(options.source), os.path.abspath(options.work)
    if options.check in ("runtime", "whole") and not options.name:
        parser.error(f"{options.check}: expected the name of a target, one of {', '.join(ALL)}")
    checks = Checks()
    if options.check == "names":
        check_names(checks, options)
    elif options.check == "configure":
        check_configure(checks, options)
    else:
        {"runtime": check_runtime, "whole": check_whole}[options.check](checks, options, options.name)
    sys.exit(checks.close())


if __name__ == "__main__":
    main()
