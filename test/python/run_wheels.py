#!/usr/bin/env python3
"""Builds the wheels, installs them where nothing else of vx is, and runs test_*.py with them.

  run_wheels.py --build BUILD --source .

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import email
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile


def check_names(source):
    """What build-wheels says of modules for one Python, and of those for each from 3.12 on; this machine makes one kind only."""
    loader = importlib.machinery.SourceFileLoader("build_wheels", os.path.join(source, "scripts", "build-wheels"))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("build_wheels", loader))
    loader.exec_module(script)
    own, suffix = f"cp{sys.version_info.major}{sys.version_info.minor}", sysconfig.get_config_var("EXT_SUFFIX")
    for made, want in (([f"_runtime{suffix}"], (f"{own}-{own}{sys.abiflags}", suffix, f"=={sys.version_info.major}.{sys.version_info.minor}.*")),
                       (["_runtime.abi3.so"], ("cp312-abi3", ".abi3.so", ">=3.12")), (["_runtime.cpython-27m.so"], None)):
        with tempfile.TemporaryDirectory() as folder:
            for name in made:
                open(os.path.join(folder, name), "w").close()
            try:
                got = script.describe_modules(folder)
            except SystemExit:
                got = None
            assert got == want, (made, got, want)


LOAD_IMAGES = """
import ctypes, re, sys
ctypes.CDLL(sys.argv[1])
loaded = set(re.findall(r"(/\\S*lib(?:jpeg|png|tiff|webp|openjp|jbig|Lerc|deflate)\\S*)", open("/proc/self/maps").read()))
print("\\n".join(sorted(loaded)))
"""


def check_images(target):
    """The library of images finds all that it needs in the wheel; the JBIG coder, which is under the GPL, is not there."""
    library = os.path.join(target, "vx", "lib", "libvx_image.so.0")
    if not os.path.exists(library):
        print("   skipped: the build has no libvx_image")
        return
    done = subprocess.run([sys.executable, "-c", LOAD_IMAGES, library], capture_output=True, text=True)
    loaded = done.stdout.split()
    assert done.returncode == 0 and len(loaded) >= 6 and all(path.startswith(target) for path in loaded), (loaded, done.stderr)
    assert all(os.path.getsize(path) < 20000 for path in loaded if "jbig" in path), loaded


TOOLS = {"runtime": ["vx", "vx-bench", "vx-embed", "vx-info", "vx-run", "vx-selfcheck", "vx-train"], "compiler": ["vx-compile"]}


def check_metadata(path, name):
    """A package index and a type checker find all that they read."""
    with zipfile.ZipFile(path) as wheel:
        inside = wheel.namelist()
        info = next(entry.partition("/")[0] for entry in inside if entry.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
        for key, want in (("Metadata-Version", "2.4"), ("License-Expression", "Apache-2.0"), ("Author", "The developers of vx"), ("Description-Content-Type", "text/markdown")):
            assert metadata[key] == want, (name, key, metadata[key])
        assert metadata["Summary"] and metadata["Requires-Python"] and metadata["Keywords"] and "Typing :: Typed" in metadata.get_all("Classifier"), name
        assert metadata.get_payload().startswith("# vx for Python\n") and len(metadata.get_payload()) > 500, name
        licences = sorted(entry.rpartition("/")[2] for entry in inside if entry.startswith(f"{info}/licenses/"))
        assert "vx" in licences and sorted(metadata.get_all("License-File")) == licences, (licences, metadata.get_all("License-File"))
        assert sorted(entry.rpartition("/")[2] for entry in inside if entry.startswith("vx/bin/")) == TOOLS[name], name
        assert f"vx/_{name}.pyi" in inside and ("vx/py.typed" in inside) == (name == "runtime"), name


def check_tools(folder, target, source, which):
    """The tools start by the scripts that pip makes, and find the libraries of the wheels and one another."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    environment.update(PYTHONPATH=target, VX_CACHE=os.path.join(folder, "tools-cache"))

    def run(name, *command):
        return subprocess.run([sys.executable, os.path.join(target, "bin", name), *command], cwd=folder, env=environment, capture_output=True, text=True)

    for name in [tool for one in which for tool in TOOLS[one]]:
        done = run(name, "--version")
        assert done.returncode == 0 and done.stdout.startswith("vx"), (name, done)
    assert run("vx", "detect", "hardware").returncode == 0
    done = run("vx", "selfcheck", "--device=cpu", "--filter=networks/*")
    assert done.returncode == 0 and "5 of 5 cases passed" in done.stdout, done
    digits = os.path.join(source, "examples", "digits", "digits.onnx")
    if which == ["runtime"]: # which says so
        done = run("vx", "run", digits)
        assert done.returncode != 0 and "vx-compile" in done.stderr, done
        os.rename(os.path.join(target, "vx", "bin", "vx-info"), os.path.join(target, "vx", "bin", "vx-other"))
        done = run("vx-info", "--version")
        assert done.returncode == 1 and "install the wheel vx-runtime again" in done.stderr, done
        os.rename(os.path.join(target, "vx", "bin", "vx-other"), os.path.join(target, "vx", "bin", "vx-info"))
        return
    done = run("vx", "compile", digits, "--target=cpu", "-o", "tools.vxm")
    assert done.returncode == 0, done
    done = run("vx-run", "tools.vxm", "--device", "cpu")
    assert done.returncode == 0, done
    done = run("vx", "run", digits, "--device", "cpu") # which starts the compiler
    assert done.returncode == 0, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    passed = failed = 0
    check_names(arguments.source)
    cmake = tuple(int(number) for number in re.search(r"(\d+)\.(\d+)", subprocess.run(["cmake", "--version"], capture_output=True, text=True).stdout).groups())
    every = sys.version_info >= (3, 12) and cmake >= (3, 26) and not sys.abiflags
    with tempfile.TemporaryDirectory() as folder:
        wheels = os.path.join(folder, "wheels")
        subprocess.run([sys.executable, os.path.join(arguments.source, "scripts", "build-wheels"), arguments.build, wheels, "--fast"], check=True)
        names = sorted(os.listdir(wheels))
        tag = "cp312-abi3-manylinux" if every else "cp{0}{1}-cp{0}{1}{2}-manylinux".format(*sys.version_info[:2], sys.abiflags)
        assert len(names) == 2 and all(f"-{tag}" in name for name in names), (names, tag)
        inside = zipfile.ZipFile(os.path.join(wheels, next(name for name in names if "runtime" in name))).namelist()
        if any(re.search("LLVM|MLIR|protobuf|libvx_compiler|_compiler", name) for name in inside):
            failed += 1
            print(f"FAIL the runtime's wheel has {inside}")
        for name in names:
            check_metadata(os.path.join(wheels, name), "compiler" if "compiler" in name else "runtime")
        with zipfile.ZipFile(os.path.join(wheels, next(name for name in names if "compiler" in name))) as wheel:
            points = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("/entry_points.txt")]
        if not points or "[torch_dynamo_backends]\nvx = vx._torch_backend:torch_backend\n" not in points[0]:
            failed += 1
            print(f"FAIL torch.compile does not find the backend: entry points {points}")
        for which in (["runtime"], ["runtime", "compiler"]):
            target = os.path.join(folder, "-".join(which))
            chosen = [os.path.join(wheels, name) for name in names if any(f"vx_{one}-" in name for one in which)]
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target", target, *chosen],
                           check=True)
            if which == ["runtime"]:
                check_images(target)
            check_tools(folder, target, arguments.source, which)
            for test in ["runtime_alone"] if which == ["runtime"] else ["values", "model", "runs", "training", "fit", "fit_arguments", "expectations", "scores", "prefetch", "nn", "convert", "devices", "lora", "texts", "language_model"]:
                done = subprocess.run([sys.executable, os.path.join(here, f"test_{test}.py")], cwd=folder, env={
                    **environment, "PYTHONPATH": target, "VX_SOURCE": os.path.abspath(arguments.source)})
                passed, failed = passed + (done.returncode == 0), failed + (done.returncode != 0)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
