#!/usr/bin/env python3
"""Installs the tarball of the runtime, the Debian packages and the wheels of a release in new roots of Debian 12 and 13 that have no compiler and no network, within a minute, and runs the page
"The first hour in Python" there, as docs.blocks does here.

    run_roots.py --build BUILD --source . [--suite bookworm] [--files FOLDER]

FOLDER is one that scripts/release-files made; without it, it is made. mmdebstrap makes the roots, which stay in BUILD/roots, of the packages that ours depend on. The
packages of the compiler depend on LLVM 22.1, which not every Debian has: here the wheel brings it. A shard of `scripts/test --all`, since roots and wheels come from
the network. It needs root.
"""
import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# The Python of each, and the names that packages have there.
SUITES = {"bookworm": ("3.11", {}), "trixie": ("3.13", {"libssl3": "libssl3t64", "libpng16-16": "libpng16-16t64"})}
# What the page uses beside our packages.
TOOLS = ["python3", "python3-venv", "curl", "ca-certificates", "libvulkan1", "mesa-vulkan-drivers"]
OF_PYPI = ["numpy>=2.1", "onnx"]
LIMIT = 60  # seconds for all that is installed

# In a network namespace of its own, whose loopback is up, and a process namespace that ends with the command.
START = """
import fcntl, os, socket, struct, subprocess, sys
with socket.socket() as probe:
    fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
root = sys.argv[1]
subprocess.run(["mount", "-t", "proc", "proc", os.path.join(root, "proc")], check=True)
subprocess.run(["mount", "--rbind", "/dev", os.path.join(root, "dev")], check=True)
os.execvp("chroot", ["chroot", root, *sys.argv[2:]])
"""


class Bench(Checks):
    def __init__(self, options):
        self.build, self.source, self.store = os.path.abspath(options.build), os.path.abspath(options.source), os.path.join(os.path.abspath(options.build), "roots")
        self.skipped = 0
        os.makedirs(self.store, exist_ok=True)

    def run(self, *command, **options):
        done = subprocess.run(command, capture_output=True, text=True, **options)
        if done.returncode:
            sys.exit(f"run_roots.py: {' '.join(command)[:300]} exits with {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def root_of(self, suite, packages, folder):
        """A new root with these packages; the archive of it is made once."""
        key = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:12]
        archive = os.path.join(self.store, f"{suite}-{key}.tar")
        if not os.path.exists(archive):
            self.run("mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(sorted(packages))}", suite, archive + ".part.tar")
            os.replace(archive + ".part.tar", archive)
        root = os.path.join(folder, "root")
        os.makedirs(root)
        self.run("tar", "-x", "-f", archive, "-C", root)
        return root

    def wheels_of(self, version):
        folder = os.path.join(self.store, f"wheels-{version}")
        if not os.path.exists(folder):
            platforms = [f"--platform={name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")]
            self.run(sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version", version, *platforms, "-d", folder + ".part", *OF_PYPI)
            os.replace(folder + ".part", folder)
        return folder


def run_in(root, *command, timeout=600):
    """The exit code and the output of a command in a root without network."""
    start = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-c", START, root]
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run([*start, *command], capture_output=True, text=True, timeout=timeout, env=variables)
    return done.returncode, done.stdout + done.stderr


def debs_without_llvm(folder):
    """The packages that need no LLVM, and the names of other packages that they depend on."""
    debs, needed = [], set()
    for path in sorted(glob.glob(os.path.join(folder, "*.deb"))):
        if "compiler" not in os.path.basename(path):
            debs.append(path)
            depends = subprocess.run(["dpkg-deb", "-f", path, "Depends"], capture_output=True, text=True, check=True).stdout
            needed |= {re.sub(r"[ :(|].*", "", entry) for entry in depends.strip().split(", ") if entry}
    return debs, {name for name in needed if not re.match(r"(lib)?vx-", name)}


def check_suite(bench, suite, files, folder):
    version, names = SUITES[suite]
    debs, needed = debs_without_llvm(files)
    root = bench.root_of(suite, sorted(set(TOOLS) | {names.get(name, name) for name in needed}), folder)
    for place, paths in (("debs", debs), ("wheels", glob.glob(os.path.join(files, "*.whl")) + glob.glob(os.path.join(bench.wheels_of(version), "*.whl")))):
        os.makedirs(os.path.join(root, place))
        for path in paths:
            shutil.copy(path, os.path.join(root, place))
    for name in ("docs", "test/docs"):
        shutil.copytree(os.path.join(bench.source, name), os.path.join(root, "tree", name))
    shutil.copy(os.path.join(bench.source, "README.md"), os.path.join(root, "tree"))
    with open(os.path.join(root, "etc", "hosts"), "w") as file:
        file.write("127.0.0.1 localhost\n")  # as an installer writes it
    code, text = run_in(root, "sh", "-c", "command -v cc gcc g++ clang clang-22 ld make cmake")
    bench.check(f"{suite} has no compiler", code != 0 and not text.strip(), text)
    code, text = run_in(root, "curl", "-s", "--max-time", "5", "http://example.org")
    bench.check(f"{suite} has no network", code != 0, text)

    began = time.monotonic()
    # Before the packages, whose libraries it must not need.
    with tarfile.open(next(iter(glob.glob(os.path.join(files, "vx-runtime-*.tar.xz"))))) as archive:
        archive.extractall(os.path.join(root, "opt"), filter="tar")
    tools = os.path.join("/", os.path.relpath(next(iter(glob.glob(os.path.join(root, "opt", "vx-*", "bin")))), root))
    shutil.copy(next(iter(sorted(glob.glob(os.path.join(bench.source, "test", "compat", "*", "network.vxm")), reverse=True))), os.path.join(root, "network.vxm"))
    code, text = run_in(root, f"{tools}/vx-run", "/network.vxm", "--device=cpu", "--print")
    bench.check(f"{suite}: vx-run of the tarball runs a module", code == 0 and "logits" in text, text)
    code, text = run_in(root, "sh", "-c", "apt-get install -y --no-install-recommends /debs/*.deb")
    bench.check(f"{suite}: the packages are installed", code == 0, text[-3000:])
    code, text = run_in(root, "vx-run", "--version")
    bench.check(f"{suite}: vx-run starts", code == 0 and text.startswith("vx "), text)
    code, text = run_in(root, "vx-serve", "--check-config", "--config", "/etc/vx/config.toml")
    bench.check(f"{suite}: vx-serve reads the configuration of its package", code == 0, text)
    code, text = run_in(root, "sh", "-c", "python3 -m venv /venv && /venv/bin/pip install -q --no-index --find-links /wheels vx-compiler onnx")
    has_wheel = any(re.search(rf"-cp{version.replace('.', '')}-|-abi3-", os.path.basename(path)) for path in glob.glob(os.path.join(files, "vx_compiler*.whl")))
    if not has_wheel:
        bench.skipped += 1
        print(f"   skipped: {suite}: there is no wheel for Python {version}, since this machine has no such Python", flush=True)
        return
    bench.check(f"{suite}: the wheels are installed", code == 0, text[-3000:])
    took = time.monotonic() - began
    bench.check(f"{suite}: all of it is installed in {took:.0f} s, at most {LIMIT}", took <= LIMIT, f"{took:.0f} s")
    code, text = run_in(root, "/venv/bin/python", "/tree/test/docs/run_blocks.py", "--build", "/none", "--source", "/tree", "--python", "/none", "--installed", "--page",
                        "docs/first-hour-python.md")
    print("   " + text.strip().replace("\n", "\n   "))
    bench.check(f"{suite}: the first hour in Python", code == 0 and re.search(r"first-hour-python\.md: 1\d blocks ran", text), text[-3000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--files")
    options = parser.parse_args()
    bench = Bench(options)
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or os.path.join(folder, "files")
        if not options.files:
            bench.run(sys.executable, os.path.join(bench.source, "scripts", "release-files"), bench.build, files, "--part=runtime", "--part=debs", "--part=wheels")
        for suite in options.suite or SUITES:
            place = os.path.join(folder, suite)
            os.makedirs(place)
            check_suite(bench, suite, os.path.abspath(files), place)
    return bench.finish(f", {bench.skipped} skipped")


if __name__ == "__main__":
    sys.exit(main())
