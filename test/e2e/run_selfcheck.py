#!/usr/bin/env python3
"""vx-selfcheck on the CPU, on Vulkan's software device and on devices that are not there; its report by the schema; and packs with a planted fault.

  run_selfcheck.py --build BUILD --source SOURCE

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import jsonschema

HEADER = struct.Struct("<8sIIQQ")  # tools/check-plan/check_pack.h


class Pack:
    """A pack whose manifest and files can be changed in place."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        size = HEADER.unpack_from(self.data)[4]
        self.manifest = json.loads(self.data[HEADER.size:HEADER.size + size])
        self.manifest_size = size

    def place(self, name):
        return self.manifest["files"][name]

    def check(self, name):
        return next(check for check in self.manifest["checks"] if check["name"] == name)

    def change(self, position, new):
        self.data[position:position + len(new)] = new

    def change_manifest(self, old, new):
        """Texts of one length."""
        assert len(old) == len(new)
        text = bytes(self.data[HEADER.size:HEADER.size + self.manifest_size])
        assert text.count(old) >= 1
        self.change(HEADER.size, text.replace(old, new))

    def write(self, path, checksum=True, cut=None, **header):
        magic, version, crc, size, manifest = HEADER.unpack_from(self.data)
        if checksum:
            crc = zlib.crc32(self.data[HEADER.size:])
        values = {"magic": magic, "version": version, "crc": crc, "size": size, "manifest": manifest, **header}
        HEADER.pack_into(self.data, 0, *values.values())
        with open(path, "wb") as file:
            file.write(self.data[:cut])
        return path


class Tests:
    def __init__(self, build, source, folder):
        self.build, self.folder, self.failed, self.passed = build, folder, 0, 0
        self.pack = os.path.join(build, "share", "vx", "selfcheck.pack")
        with open(os.path.join(source, "tools", "vx-selfcheck", "selfcheck-report.schema.json")) as file:
            self.schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def check(self, title, right, told=""):
        self.passed += bool(right)
        self.failed += not right
        if not right:
            print(f"FAILED {title}: {told}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, prefix=(), **environment):
        done = subprocess.run([*prefix, os.path.join(self.build, "bin", "vx-selfcheck"), *arguments], capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
        return done.returncode, done.stdout, done.stderr

    def fails(self, title, code, message, *arguments, **more):
        got, out, err = self.run(*arguments, **more)
        self.check(title, got == code and message in err and err.startswith("vx-selfcheck: error: ") and err.count("\n") == 1, f"exit code {got}, expected {code} and '{message}': {out}{err}")

    def report(self, title, *arguments, code=0, **more):
        path = self.path("report.json")
        got, out, err = self.run(*arguments, "-o", path, **more)
        self.check(f"{title}: exit code", got == code, f"{got}, expected {code}: {out[-2000:]}{err}")
        with open(path) as file:
            report = json.load(file)
        os.remove(path)
        errors = [f"{'/'.join(map(str, error.path))}: {error.message}" for error in jsonschema.Draft202012Validator(self.schema).iter_errors(report)]
        self.check(f"{title}: the report is as its schema has it", not errors, errors[:3])
        for kind, key in (("op", "ops"), ("network", "networks")):
            counted = {outcome: sum(case["kind"] == kind and case["outcome"] == outcome for case in report["cases"]) for outcome in ("passed", "failed", "skipped")}
            self.check(f"{title}: counts of {key}", counted == report[key], f"{counted}, {report[key]}")
        self.check(f"{title}: right", report["right"] == (code == 0), report["right"])
        return report, out


def check_devices(tests):
    for device in ("cpu", "vulkan"):
        report, out = tests.report(device, f"--device={device}")
        tests.check(f"{device}: 200 ops and 5 networks", (report["ops"]["passed"], report["networks"]["passed"]) == (200, 5), report["ops"])
        tests.check(f"{device}: less than a minute", report["seconds"] < 60, report["seconds"])
        tests.check(f"{device}: taken", report["device"]["device"] == f"{device}:0" and report["asked"] == device, report["device"])
        tests.check(f"{device}: driver facts", report["device"]["details"] and report["device"]["features"], report["device"])
        tests.check(f"{device}: the summary", f"205 of 205 cases passed, 0 failed, 0 skipped" in out and out.endswith("everything is right\n") and "networks/transformer " in out, out)
        tests.check(f"{device}: times", all(case["min_ms"] <= case["median_ms"] for case in report["cases"]), "a least time above the median")
    tests.check("vulkan: it is software", report["device"]["software"], report["device"])
    emulated = os.path.join(tests.build, "lib", "libvx_emulated_hip.so")
    if os.path.exists(emulated):
        report, _ = tests.report("rocm", "--device=rocm", VX_HIP_LIBRARY=emulated, VX_ROCM_EMULATOR_CHIP="gfx1100")
        tests.check("rocm: 200 ops and 5 networks", (report["ops"]["passed"], report["networks"]["passed"]) == (200, 5), report["ops"])


def check_refusals(tests):
    emulated = os.path.join(tests.build, "lib", "libvx_emulated_hip.so")
    if os.path.exists(emulated):
        # A chip that the pack has no code for: no other device takes its place.
        report, _ = tests.report("another chip", "--device=rocm", "--filter=networks/*", code=1, VX_HIP_LIBRARY=emulated, VX_ROCM_EMULATOR_CHIP="gfx1150")
        tests.check("another chip: no network ran", report["networks"]["passed"] == 0 and "gfx1150" in report["cases"][0]["problems"][0]["text"], report["cases"][0])
    # All outputs of the null device are zeros: a tool that compares nothing would pass here.
    report, out = tests.report("null", "--device=null", code=1)
    tests.check("null: nearly all is wrong", report["ops"]["failed"] > 190 and report["networks"]["failed"] == 5, report["ops"])
    tests.check("null: the summary", "NOT right" in out, out[-300:])
    tests.fails("no CUDA", 4, "device 'cuda' is not there: cuda: '/nonexistent.so' could not be opened", "--device=cuda", VX_CUDA_LIBRARY="/nonexistent.so")
    tests.fails("no HIP", 4, "device 'rocm:1' is not there: rocm: '/nonexistent.so' could not be opened", "--device=rocm:1", VX_HIP_LIBRARY="/nonexistent.so")
    tests.fails("no such number", 4, "device 'vulkan:7' is not there: vulkan: there is no device 7, but 1 of them", "--device=vulkan:7")
    tests.fails("no such name", 2, "device 'tpu' is unknown, known are: auto, cuda, rocm, vulkan, cpu, null", "--device=tpu")


def check_cases(tests):
    code, out, err = tests.run("--list")
    names = [line.split(" ")[0] for line in out.splitlines()]
    tests.check("--list", code == 0 and len(names) == len(set(names)) == 205 and "networks/digits" in names and out.count("(network)") == 5, out[:300] + err)
    report, _ = tests.report("--filter", "--device=cpu", "--filter=reductions/reduce_sum_?o*")
    tests.check("--filter: those that match", [case["name"] for case in report["cases"]] == ["reductions/reduce_sum_columns", "reductions/reduce_sum_rows"], report["cases"])
    tests.fails("--filter without a match", 2, "--filter: no case matches 'ops/*'; --list prints the 205 names", "--filter=ops/*")
    code, out, err = tests.run("--device=cpu", "--filter=*/log_f32", "-o", "-")
    tests.check("-o -", code == 0 and json.loads(out)["cases"][0]["name"] == "elementwise/log_f32", out + err)


def check_faults(tests):
    """Wrong values, one at a time, each reported with its case, element and both values."""
    def wrong(title, pack, case, problem, output="r"):
        report, out = tests.report(title, "--device=cpu", "--pack", pack.write(tests.path("wrong.pack")), code=1)
        failed = [entry for entry in report["cases"] if entry["outcome"] == "failed"]
        tests.check(f"{title}: this case alone", [entry["name"] for entry in failed] == [case], [entry["name"] for entry in failed])
        got = failed[0]["problems"][0] if failed else {}
        tests.check(f"{title}: the element", {key: got.get(key) for key in problem} == problem and got.get("output") == output, got)
        tests.check(f"{title}: the summary", f"FAILED  {case} on cpu:0: output '{output}': " in out and f"the first at {problem['element']}: expected {problem['expected']}, got {problem['got']}" in out, out[-600:])

    pack = Pack(tests.pack)
    position, size = pack.place("xor_ui8.r.want.npy")
    value = pack.data[position + size - 1]
    pack.change(position + size - 1, bytes([value ^ 1]))
    wrong("an integer", pack, "integers/xor_ui8", {"element": "[130]", "expected": str(value ^ 1), "got": str(value)})
    # A float by its last bits: no difference is allowed here.
    pack = Pack(tests.pack)
    position, size = pack.place("neg_f32.r.want.npy")
    first = position + size - 7 * 37 * 4
    bits, = struct.unpack_from("<I", pack.data, first)
    pack.change(first, struct.pack("<I", bits ^ 1))
    report, _ = tests.report("a bit of a float", "--device=cpu", "--pack", pack.write(tests.path("wrong.pack")), code=1)
    failed = [case for case in report["cases"] if case["outcome"] == "failed"]
    tests.check("a bit of a float", [case["name"] for case in failed] == ["elementwise/neg_f32"] and failed[0]["problems"][0]["element"] == "[0,0]", failed)
    # A sum that is off by a thousandth, and an output of a network.
    for name, case, output in (("matmul_64x64x64.r", "products/matmul_64x64x64", "r"), ("transformer.y", "networks/transformer", "y")):
        pack = Pack(tests.pack)
        position, size = pack.place(f"{name}.want.npy")
        value, = struct.unpack_from("<f", pack.data, position + size - 4)
        pack.change(position + size - 4, struct.pack("<f", value + 0.01))
        report, _ = tests.report(name, "--device=cpu", "--pack", pack.write(tests.path("wrong.pack")), code=1)
        failed = [entry for entry in report["cases"] if entry["outcome"] == "failed"]
        tests.check(f"{name} is off", [entry["name"] for entry in failed] == [case] and failed[0]["problems"][0]["output"] == output, failed)
    # A loop that does not end: the later cases of its module are reported, and those of other modules run.
    pack = Pack(tests.pack)
    position, size = pack.place("loop.n.npy")
    pack.change(position + size - 8, struct.pack("<q", 1 << 40))
    report, _ = tests.report("a hang", "--device=cpu", "--limit=2", "--pack", pack.write(tests.path("wrong.pack")), code=1)
    failed = {entry["name"]: entry["problems"][0]["text"] for entry in report["cases"] if entry["outcome"] == "failed"}
    tests.check("a hang is reported", failed.get("programs/loop") == "no end after 2 s" and failed.get("programs/nonzero", "").startswith("not run: no end after 2 s"), failed)
    tests.check("a hang: all other modules ran", report["ops"]["passed"] >= 200 - 6 and report["networks"]["passed"] == 5, report["ops"])
    # A module whose code is damaged.
    pack = Pack(tests.pack)
    position, size = pack.place("moves.vxm")
    pack.change(position + size - 200, bytes(100))
    report, _ = tests.report("damaged code", "--device=cpu", "--filter=moves/*", "--pack", pack.write(tests.path("wrong.pack")), code=1)
    tests.check("damaged code is reported", report["ops"]["passed"] == 0 and "hash" in report["cases"][0]["problems"][0]["text"], report["cases"][0])
    # Code for other devices only.
    pack = Pack(tests.pack)
    pack.change_manifest(b'"targets":["cpu",', b'"targets":["npu",')
    report, out = tests.report("no code", "--device=cpu", "--filter=programs/*", "--pack", pack.write(tests.path("wrong.pack")), code=1)
    tests.check("no code is reported", report["ops"]["skipped"] == 6 and "skipped programs/if_else on cpu:0: it has no code for cpu:0" in out, out)


def check_files(tests):
    other = tests.path("other.pack")
    pack = lambda: Pack(tests.pack)
    size = os.path.getsize(tests.pack)
    run = ("--device=cpu", "--pack", other)
    with open(tests.pack, "rb") as file:
        data = file.read()
    tests.check("the pack does not name a folder of the build", b"elementwise.mlir" in data and b"/elementwise.mlir" not in data and b"/digits.onnx" not in data, "a path")
    tests.fails("no pack", 3, f"{tests.path('absent.pack')}: cannot be opened: No such file or directory", "--pack", tests.path("absent.pack"))
    with open(other, "wb"):
        pass
    tests.fails("an empty file", 3, "expected a pack of vx-selfcheck, got another file of 0 bytes", *run)
    for cut in (31, 32, 1000, size // 2, size - 1):
        pack().write(other, cut=cut)
        tests.fails(f"cut at {cut}", 3, "got another file of 31 bytes" if cut == 31 else f"expected {size} bytes, got {cut}: the file is cut off or has grown; install it again", *run)
    with open(pack().write(other), "ab") as file:
        file.write(b"x")
    tests.fails("a byte more", 3, f"expected {size} bytes, got {size + 1}: the file is cut off or has grown; install it again", *run)
    pack().write(other, magic=b"VXCHECK\0")
    tests.fails("another kind of file", 3, "expected a pack of vx-selfcheck", *run)
    pack().write(other, version=2)
    tests.fails("another layout", 3, "expected a pack of layout 1, got layout 2: take the pack of this version of vx", *run)
    changed = pack()
    changed.data[size // 2] ^= 1
    changed.write(other, checksum=False)
    tests.fails("a changed byte", 3, "bytes have changed; install it again", *run)
    pack().write(other, manifest=size)
    tests.fails("a manifest beyond the file", 3, f"expected a manifest of at most {size - 32} bytes, got {size}", *run)
    pack().write(other, manifest=17)
    tests.fails("a manifest that is cut off", 3, "expected a manifest with 'vx', 'files' and 'checks', got another text", *run)
    changed = pack()
    version = changed.manifest["vx"]
    later = str((int(version[0]) + 1) % 10) + version[1:]
    changed.change_manifest(f'"vx":"{version}"'.encode(), f'"vx":"{later}"'.encode())
    changed.write(other)
    tests.fails("another version", 3, f"expected the pack of vx {version}, got that of vx {later}: take the pack of this version", *run)
    changed = pack()
    changed.change_manifest(b'"loop.n.npy":[', b'"loop.m.npy":[')
    changed.write(other)
    report, _ = tests.report("a file that is not there", *run, "--filter=programs/loop", code=1)
    tests.check("a file that is not there is reported", "expected a file 'loop.n.npy' in the pack, got none" in report["cases"][0]["problems"][0]["text"], report["cases"][0])
    tests.fails("a folder that is not there", 1, "cannot write", "--device=cpu", "-o", tests.path("absent/report.json"))
    tests.fails("the report is the pack", 2, "is the same file as the pack", "--device=cpu", "--pack", other, "-o", other)
    tests.fails("a full disk", 1, "cannot write '/dev/full': No space left on device", "--device=cpu", "--filter=programs/loop", "-o", "/dev/full")
    # A disk with room for the begin of the report only.
    disk = tests.path("disk")
    os.makedirs(disk)
    mount = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", f"mount -t tmpfs -o size=8192 none '{disk}' && \"$@\"; code=$?; ls -A '{disk}' >&2; exit $code", "sh"]
    if subprocess.run([*mount, "true"], capture_output=True).returncode == 0:
        report = os.path.join(disk, "report.json")
        code, out, err = tests.run("--device=cpu", "-o", report, prefix=mount)
        tests.check("a disk that is full leaves nothing half-written", code == 1 and err == f"vx-selfcheck: error: cannot write '{report}': No space left on device\n", f"{code} {err}")
    else:
        print("skipped: no tmpfs can be mounted here, for a disk that is full")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(options.build, options.source, folder)
        for part in (check_devices, check_refusals, check_cases, check_faults, check_files):
            part(tests)
    print(f"{tests.passed} passed, {tests.failed} failed")
    sys.exit(tests.failed > 0)


if __name__ == "__main__":
    main()
