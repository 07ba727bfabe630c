"""Reads the metadata of every ROCm kernel of module files with llvm-readobj, prints registers and memory of each, and fails on
scratch memory, a spill, hidden arguments, or metadata that is not what the runtime relies on.

usage: inspect.py LLVM-READOBJ MODULE.vxm...
"""
import re
import struct
import subprocess
import sys
import tempfile

# Kernels that may use scratch memory: name and reason.
ALLOWED = {
    "vx_cfd5ba7aefcfeb4d": "attention of vit_b_16 on gfx1100 and gfx1151 has one register too many before its loop: 8 bytes",
    "vx_3a549d093a1bef20": "the same of its training step: 16 bytes",
    "vx_f2bf8417734b521d": "the 49 places of a filter of 7 x 7 beside each other, in resnet50's training step: scalar registers lie in vector registers",
    "vx_a946c5dff6324873": "gradients of 60 biases in one kernel of bert_base's training step: scalar registers lie in vector registers",
}

WAVEFRONT = {"gfx90a": 64, "gfx942": 64}


def code_objects(path):
    """The ELF files for AMD GPUs in a module file: machine 224, as long as their section headers say."""
    data = open(path, "rb").read()
    at = data.find(b"\x7fELF\x02\x01")
    while at >= 0:
        if struct.unpack_from("<H", data, at + 18)[0] == 224:
            headers = struct.unpack_from("<Q", data, at + 40)[0]
            size, count = struct.unpack_from("<HH", data, at + 58)
            yield data[at:at + headers + size * count]
        at = data.find(b"\x7fELF\x02\x01", at + 4)


def read(readobj, elf):
    with tempfile.NamedTemporaryFile(suffix=".co") as file:
        file.write(elf)
        file.flush()
        return subprocess.run([readobj, "--notes", "--file-header", "--symbols", file.name], text=True,
                              capture_output=True, check=True).stdout


def main(readobj, paths):
    failed = count = 0
    for path in paths:
        found = 0
        for elf in code_objects(path):
            found += 1
            text = read(readobj, elf)

            def field(name):
                values = re.findall(r"\." + name + r":\s+(\S+)", text)
                return values[0] if len(values) == 1 else str(values)

            chip = re.search(r"amdhsa.target:\s+amdgcn-amd-amdhsa--(\w+)", text).group(1)
            kernel = field("symbol").removesuffix(".kd")
            threads = re.search(r"\.reqd_workgroup_size:\s+- (\d+)\s+- 1\s+- 1\s", text)
            problems = []

            def want(what, got, wanted):
                if str(got) != str(wanted):
                    problems.append(f"{what}: expected {wanted}, got {got}")

            want("code object version 5 (ABI version)", re.search(r"ABIVersion: (\d+)", text).group(1), 3)
            want("wavefront size", field("wavefront_size"), WAVEFRONT.get(chip, 32))
            want("bytes of arguments", field("kernarg_segment_size"), 8)
            want("kind of the argument", field("value_kind"), "global_buffer")
            want("most threads", field("max_flat_workgroup_size"), threads.group(1) if threads else "the workgroup's")
            want("descriptor", len(re.findall(r"Name: " + re.escape(kernel) + r"\.kd", text)) > 0, True)
            if int(field("group_segment_fixed_size")) > 65536:
                problems.append(f"workgroup memory: expected at most 65536 bytes, got {field('group_segment_fixed_size')}")
            if kernel not in ALLOWED:
                want("scratch bytes", field("private_segment_fixed_size"), 0)
                want("spilled vector registers", field("vgpr_spill_count"), 0)
                want("spilled scalar registers", field("sgpr_spill_count"), 0)
                want("dynamic stack", field("uses_dynamic_stack"), "false")
            print(f"{chip} {kernel}: {field('vgpr_count')} vector and {field('sgpr_count')} scalar registers, "
                  f"{field('group_segment_fixed_size')} bytes of workgroup memory, "
                  f"{threads.group(1) if threads else '?'} threads")
            if problems:
                failed += 1
                print(f"FAILED {path}: {chip} {kernel}: " + "; ".join(problems))
        if not found:
            failed += 1
            print(f"FAILED {path}: no ROCm kernel is in it")
        count += found
    print(f"{count} kernels, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
