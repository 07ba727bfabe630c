#!/usr/bin/env python3
"""Whether scripts/release-files makes what it promises, of a finished build:

    run_release.py --build BUILD --source .            the tarball of the runtime, its list of libraries and its checksums
    run_release.py --build BUILD --source . --twice    all files twice, in another environment the second time: equal bytes; the packages' contents; and the runtime
                                                       compiled twice from nothing, without ccache
"""
import argparse
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402


class Bench(Checks):
    def __init__(self, options, folder):
        self.build, self.source, self.folder = os.path.abspath(options.build), os.path.abspath(options.source), folder

    def run(self, *command, **options):
        done = subprocess.run(command, capture_output=True, text=True, **options)
        return done.returncode, done.stdout + done.stderr

    def make(self, name, *parts, build=None, script=None, **environment):
        out = os.path.join(self.folder, name)
        code, text = self.run(sys.executable, script or os.path.join(self.source, "scripts", "release-files"), build or self.build, out, *(f"--part={part}" for part in parts),
                              env=os.environ | environment)
        self.check(f"release-files makes {name}", code == 0, text)
        return out


def check_runtime(bench):
    out = bench.make("runtime", "runtime")
    version = re.search(r"^project\(vx VERSION ([\d.]+)", open(os.path.join(bench.source, "CMakeLists.txt")).read(), re.M)[1]
    names = sorted(os.listdir(out))
    bench.check("its files", names == ["SHA256SUMS", f"vx-{version}.cdx.json", f"vx-runtime-{version}-linux-x86_64.tar.xz"], names)
    code, text = bench.run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=out)
    bench.check("its checksums are right", code == 0 and text.count(": OK") == 2, text)

    with tarfile.open(os.path.join(out, names[2])) as archive:
        entries = archive.getmembers()
        archive.extractall(bench.folder, filter="tar")
    times = {entry.mtime for entry in entries}
    code, text = bench.run("git", "-C", bench.source, "log", "-1", "--format=%ct %H")
    epoch, commit = text.split()
    bench.check("all times are the commit's, and all is root's", times == {int(os.environ.get("SOURCE_DATE_EPOCH", epoch))} and {entry.uname for entry in entries} == {"root"}, times)
    root = os.path.join(bench.folder, f"vx-{version}")
    tools = sorted(os.listdir(os.path.join(root, "bin")))
    bench.check("its tools", {"vx", "vx-run", "vx-info", "vx-bench", "vx-selfcheck", "vx-train", "vx-embed", "vx-llm", "vx-serve", "vx-models"} == set(tools), tools)
    for tool in tools:
        code, text = bench.run(os.path.join(root, "bin", tool), "--version", env={})
        bench.check(f"{tool} prints its version and commit", code == 0 and text.startswith(f"vx {version}\n") and re.search(rf"^commit {commit[:12]}(-changed)?$", text, re.M),
                    f"expected {version} and commit {commit[:12]}, which is checked out (build it first), got {text}")
    bench.check("it has the licences", os.path.exists(os.path.join(root, "share/doc/vx-tools/copyright")))

    with open(os.path.join(out, f"vx-{version}.cdx.json")) as file:
        bom = json.load(file)
    with open(os.path.join(bench.source, "cmake", "third-party.json")) as file:
        table = json.load(file)
    product = bom["metadata"]["component"]
    bench.check("the list of libraries is CycloneDX, of the version and the commit", (bom["bomFormat"], bom["specVersion"], product["version"], product["properties"][0]["value"]) ==
                ("CycloneDX", "1.5", version, commit), product)
    parts = {part["name"]: part for part in bom["components"]}
    linked = sorted(name for name, part in parts.items() if part["properties"][0]["value"] == "linked")
    wanted = ["libjpeg-turbo", "libpng", "libtiff", "libwebp", "openjpeg", "openssl", "pcre2"]
    if os.path.exists(os.path.join(bench.build, "lib", "libvx_grpc.so.0")):  # where its packages were when vx was built
        wanted += ["abseil", "grpc", "protobuf (whole)"]
    bench.check("it has the libraries that are linked", linked == sorted(wanted), linked)
    missing = [entry["name"] for entry in table["compiled in"] if parts.get(entry["name"], {}).get("properties", [{}])[0].get("value") != "compiled in"]
    bench.check("it has the libraries that are compiled in, with versions and licences", not missing and all(part["version"] and part["licenses"] for part in parts.values()), missing)
    # Each library of scripts/setup is in the table, or is for tests and tools only.
    packages = re.findall(r"^apt (\S+-dev) ", open(os.path.join(bench.source, "test", "scripts", "packages.txt")).read(), re.M)
    known = {entry.get("package") for kind in ("compiled in", "linked") for entry in table[kind]}
    others = {"libvulkan-dev", "libgtest-dev", "libgmock-dev", "libclang-rt-22-dev", "dpkg-dev", "python3-dev", "libxml2-dev"}
    bench.check("the table has each library that scripts/setup installs", set(packages) - others <= known, set(packages) - others - known)
    copyright = open(os.path.join(bench.source, "cmake", "copyright")).read()
    named = set(re.findall(r"^Files: third-party/([^/\n]+)$", copyright, re.M))
    bench.check("the licences have each library that is compiled in", {entry["name"] for entry in table["compiled in"]} == named, named)
    texts = set(re.findall(r"^License: (.+)\n ", copyright, re.M))
    used = set(re.findall(r"^License: (.+)\n(?! )", copyright, re.M))
    bench.check("each licence has its text", used <= texts, used - texts)
    check_unknown(bench)


def check_unknown(bench):
    """A library that the table does not have is found."""
    tree = os.path.join(bench.folder, "tree")
    for name in ("scripts", "cmake", "python"):
        shutil.copytree(os.path.join(bench.source, name), os.path.join(tree, name))
    shutil.copy(os.path.join(bench.source, "CMakeLists.txt"), tree)
    os.symlink(os.path.join(bench.source, ".git"), os.path.join(tree, ".git"))
    path = os.path.join(tree, "cmake", "third-party.json")
    with open(path) as file:
        table = json.load(file)
    table["linked"] = [entry for entry in table["linked"] if entry["name"] != "pcre2"]
    with open(path, "w") as file:
        json.dump(table, file)
    code, text = bench.run(sys.executable, os.path.join(tree, "scripts", "release-files"), bench.build, os.path.join(bench.folder, "unknown"), "--part=runtime")
    bench.check("a library that the table lacks stops the release", code != 0 and "third-party.json: 'libpcre2-8.so.0' is missing, which " in text, text)


def check_twice(bench):
    first = bench.make("first")
    # Other times of files, another zone, another mask of modes, and another order of hashes.
    for path in glob.glob(os.path.join(bench.source, "runtime", "include", "vx", "**", "*.h*"), recursive=True):
        os.utime(path)
    os.umask(0o077)  # which must not be the packages'
    second = bench.make("second", TZ="Asia/Kathmandu", PERL_HASH_SEED="7", LC_ALL="C.UTF-8", PYTHONHASHSEED="3")
    os.umask(0o022)
    for name in sorted(set(os.listdir(first)) | set(os.listdir(second))):
        paths = [os.path.join(folder, name) for folder in (first, second)]
        digests = [hashlib.sha256(open(path, "rb").read()).hexdigest() if os.path.exists(path) else "none" for path in paths]
        bench.check(f"{name} has the same bytes twice", digests[0] == digests[1], digests)
    check_debs(bench, first)
    check_wheels(bench, first)


def check_debs(bench, folder):
    debs = sorted(glob.glob(os.path.join(folder, "*.deb")))
    # A machine without the packages of gRPC builds no libvx_grpc.
    count = 14 + os.path.exists(os.path.join(bench.build, "lib", "libvx_grpc.so.0"))
    bench.check(f"there are {count} packages", len(debs) == count, debs)
    for path in debs:
        name = os.path.basename(path).split("_")[0]
        os.makedirs(os.path.join(bench.folder, "deb"), exist_ok=True)
        root = os.path.join(bench.folder, "deb", name)
        code, text = bench.run("dpkg-deb", "-R", path, root)
        bench.check(f"{name} is unpacked", code == 0, text)
        copyright = os.path.join(root, "usr/share/doc", name, "copyright")
        bench.check(f"{name} has its copyright", os.path.exists(copyright) and "License: Apache-2.0" in open(copyright).read())
        etc = [os.path.relpath(os.path.join(parent, one), root) for parent, _, names in os.walk(os.path.join(root, "etc")) for one in names]
        conffiles = os.path.join(root, "DEBIAN/conffiles")
        listed = open(conffiles).read().split() if os.path.exists(conffiles) else []
        bench.check(f"{name} names each file of /etc as a conffile", sorted("/" + one for one in etc) == sorted(listed), (etc, listed))
    etc = os.path.join(bench.folder, "deb", "vx-server", "etc/vx/config.toml")
    bench.check("vx-server has /etc/vx/config.toml", os.path.exists(etc))


def check_wheels(bench, folder):
    wheels = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "*.whl")))
    bench.check("there are wheels of both kinds, for manylinux", {name.split("-")[0] for name in wheels} == {"vx_runtime", "vx_compiler"} and all("manylinux_2_" in name for name in wheels), wheels)
    with open(glob.glob(os.path.join(folder, "*.cdx.json"))[0]) as file:
        shipped = [part for part in json.load(file)["components"] if any(one["value"].startswith("shipped") for one in part["properties"])]
    bench.check("the list has the libraries that wheels ship, none of them under the GPL", {"llvm", "mlir", "libtiff"} <= {part["name"] for part in shipped} and
                not any("GPL" in part["licenses"][0]["expression"] for part in shipped), shipped)
    for name in wheels:
        with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
            licences = [one for one in wheel.namelist() if ".dist-info/licenses/" in one]
            shipped = [one for one in wheel.namelist() if ".so" in one and "libvx_" not in one and "/lib/" in one]
        bench.check(f"{name} has the licences of {len(shipped)} libraries that it ships", len(licences) > len(shipped) / 3 and any(one.endswith("/vx") for one in licences), licences)


def check_compiled_twice(bench):
    """The runtime and its tools from nothing, twice in one folder."""
    build, made = os.path.join(bench.source, "build", "release-check"), []
    with open(os.path.join(bench.build, "CMakeCache.txt")) as file:
        compilers = [f"-D{name}={path}" for name, path in re.findall(r"^(CMAKE_C(?:XX)?_COMPILER):\w+=(.+)$", file.read(), re.M)]
    for turn in ("compiled once", "compiled again"):
        shutil.rmtree(build, ignore_errors=True)
        code, text = bench.run("cmake", "-S", bench.source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DVX_BUILD_COMPILER=OFF", "-DVX_BUILD_TESTS=OFF", *compilers)
        if code == 0:
            code, text = bench.run("cmake", "--build", build, env=os.environ | {"CCACHE_DISABLE": "1"})
        bench.check(f"the runtime is {turn}", code == 0, text[-2000:])
        out = bench.make(turn.replace(" ", "-"), "runtime", build=build)
        made.append(open(glob.glob(os.path.join(out, "*.tar.xz"))[0], "rb").read())
    bench.check("both tarballs have the same bytes", made[0] == made[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--twice", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        if options.twice:
            check_twice(bench)
            check_compiled_twice(bench)
        else:
            check_runtime(bench)
    return bench.finish(", 0 skipped")


if __name__ == "__main__":
    sys.exit(main())
