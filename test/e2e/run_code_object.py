#!/usr/bin/env python3
"""Runs one code object of a module by hand, without the runtime of vx, as docs/module-format.md tells it.

  run_code_object.py --bin BUILD/bin --library LIBAMDHIP64
"""
import argparse
import array
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
vx.symbol "n" min = 1 max = 100000
func.func @main(%x: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "x"}, %y: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"})
    -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "r"}) {
  %p = vx.mul %x, %y : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %r = vx.sub %p, %y : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  return %r : tensor<?x3xf32, #vx.enc<[n, 3]>>
}
"""


def code_objects(vx_info, path, chip):
    """(entry, ELF file, kernel's entry of vx-info) of each kernel for one chip."""
    info = json.loads(subprocess.run([vx_info, path, "--json"], capture_output=True, text=True, check=True).stdout)
    target = next(target for target in info["targets"] if target["name"] == "rocm")
    variant = next(variant for variant in target["variants"] if variant["name"] == chip)
    at = info["sections"][variant["section"]]["offset"]
    data = open(path, "rb").read()
    for kernel, size in zip(target["kernels"], variant["kernel_sizes"]):
        yield "vx_" + kernel["key"][:16], data[at:at + size], kernel
        at += size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--library", required=True)
    options = parser.parse_args()
    chip = os.environ.get("VX_ROCM_EMULATOR_CHIP", "gfx1100")
    hip = ctypes.CDLL(options.library)

    def call(name, *arguments):
        result = getattr(hip, name)(*arguments)
        if result != 0:
            hip.hipGetErrorString.restype = ctypes.c_char_p
            raise SystemExit(f"{name} fails with {result}: {hip.hipGetErrorString(result).decode()}")

    def allocate(words):
        """Device memory that the host sees."""
        host = ctypes.c_void_p()
        call("hipHostMalloc", ctypes.byref(host), ctypes.c_size_t(ctypes.sizeof(words)), ctypes.c_uint(0))
        ctypes.memmove(host.value, words, ctypes.sizeof(words))
        return host.value

    call("hipInit", 0)
    rows = 37
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/program.mlir", "w") as file:
            file.write(PROGRAM)
        subprocess.run([f"{options.bin}/vx-compile", f"{folder}/program.mlir", "--target=rocm", f"--rocm={chip}", "--no-cache", "-o",
                        f"{folder}/program.vxm"], check=True)
        kernels = subprocess.run([f"{options.bin}/vx-compile", f"{folder}/program.mlir", "--target=rocm", f"--rocm={chip}", "--stop-after=kernels",
                                  "-o", "-"], capture_output=True, text=True, check=True).stdout
        (entry, elf, kernel), = code_objects(f"{options.bin}/vx-info", f"{folder}/program.vxm", chip)
    assert (kernel["buffers"], kernel["scalars"]) == (3, 1), kernel
    floats = ctypes.c_float * (rows * 3)
    x, y = [k / 4 for k in range(rows * 3)], [k - 50.0 for k in range(rows * 3)]
    buffers = [allocate(floats(*x)), allocate(floats(*y)), allocate(floats())]
    # An expression over the kernel's scalars.
    count = re.search(r"workgroups <(.*?)> #", kernels).group(1)
    workgroups = eval(count, {"ceildiv": lambda a, b: -(-a // b), "s0": rows})
    fault = allocate((ctypes.c_uint64 * 4)())
    words = [fault, 0, workgroups, 0, *buffers, rows]
    block = ctypes.c_uint64(allocate((ctypes.c_uint64 * len(words))(*words)))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("hipModuleLoadData", ctypes.byref(module), elf)
    call("hipModuleGetFunction", ctypes.byref(function), module, entry.encode())
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(block))
    call("hipModuleLaunchKernel", function, min(workgroups, 65535), (workgroups + 65534) // 65535, 1, *kernel["workgroup_size"], 0, None, arguments,
         None)
    call("hipStreamSynchronize", None)
    got = list(array.array("f", ctypes.string_at(buffers[2], rows * 3 * 4)))
    want = [a * b - b for a, b in zip(x, y)]
    faults = ctypes.cast(fault, ctypes.POINTER(ctypes.c_uint32))[0]
    print(f"{entry} on {chip}: {sum(a == b for a, b in zip(got, want))} of {len(want)} right, {faults} faults")
    return 0 if got == want and faults == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
