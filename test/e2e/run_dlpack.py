#!/usr/bin/env python3
"""NumPy's arrays as inputs of calls and results as NumPy's arrays, by DLPack, through the C interface: NumPy says what a tensor looks like.

  run_dlpack.py --library libvx_runtime.so --bin BUILD/bin

Exit code: 0 all passed, 1 some failed.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = """
func.func @main(%x: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "x"}, %k: tensor<2xi64> {vx.name = "k"}) -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"}, tensor<2xi64> {vx.name = "l"}) {
  %y = vx.mul %x, %x : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %l = vx.neg %k : tensor<2xi64>
  return %y, %l : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<2xi64>
}
vx.symbol "n"
"""
NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Runtime:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.vx_status_message.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        status = function(*arguments)
        if status:
            raise RuntimeError(self.library.vx_status_message(ctypes.c_void_p(status)).decode())

    def make(self, name, *arguments):
        made = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(made))
        return made

    def value_of(self, array):
        """A value that reads the array in place."""
        capsule = array.__dlpack__(max_version=(1, 0))
        value = self.make("vx_tensor_from_dlpack", ctypes.c_void_p(python.PyCapsule_GetPointer(capsule, NAME)))
        python.PyCapsule_SetName(capsule, USED)
        return value

    def release(self, value):
        self.library.vx_value_release(value)


class Given:
    """What the runtime has given, for numpy.from_dlpack."""

    def __init__(self, runtime, value):
        self.tensor = runtime.make("vx_tensor_to_dlpack", value)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **arguments):
        return python.PyCapsule_New(self.tensor, NAME, None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    runtime, passed, failed = Runtime(options.library), 0, 0

    def check(what, good, detail=""):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        print(f"{'ok    ' if good else 'FAILED'} {what}{'' if good else f': {detail}'}")

    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/square.mlir", "w") as file:
            file.write(PROGRAM)
        subprocess.run([os.path.join(options.bin, "vx-compile"), f"{folder}/square.mlir", "--target=cpu,vulkan", "-o", f"{folder}/square.vxm"], check=True)
        module = runtime.make("vx_module_load", f"{folder}/square.vxm".encode())
        for device in ("cpu", "vulkan"):
            # Size and device of vx_instance_options; what it has more is 0.
            given = (ctypes.c_char_p * 2)()
            ctypes.cast(given, ctypes.POINTER(ctypes.c_size_t))[0] = ctypes.sizeof(given)
            given[1] = device.encode()
            instance = runtime.make("vx_instance_create", module, given)
            call = runtime.make("vx_call_create", instance, None)
            x, k = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32), np.array([7, -3])
            before = sys.getrefcount(x)
            inputs = [runtime.value_of(x), runtime.value_of(k)]
            check(f"{device}: an input holds the array", sys.getrefcount(x) > before)
            outputs = (ctypes.c_void_p * 2)()
            runtime.call("vx_call_run", call, ctypes.c_size_t(2), (ctypes.c_void_p * 2)(*(value.value for value in inputs)), ctypes.c_size_t(2), outputs)
            got = [np.from_dlpack(Given(runtime, ctypes.c_void_p(output))) for output in outputs]
            for value in [*inputs, *(ctypes.c_void_p(output) for output in outputs)]:
                runtime.release(value)
            check(f"{device}: the results are right", np.array_equal(got[0], x * x) and np.array_equal(got[1], -k) and got[0].dtype == np.float32 and got[1].dtype == np.int64, got)
            check(f"{device}: nobody may write them", not got[0].flags.writeable)
            copy = got[0].copy()
            del got
            check(f"{device}: the array is free again", sys.getrefcount(x) == before, f"{sys.getrefcount(x)} references, want {before}")
            check(f"{device}: copies stay", np.array_equal(copy, x * x))
            runtime.library.vx_call_release(call)
            runtime.library.vx_instance_release(instance)
        for what, array in (("columns first", np.asfortranarray(np.ones((4, 3), np.float32))), ("every second row", np.ones((6, 3), np.float32)[::2]),
                            ("backwards", np.ones(3, np.float32)[::-1]), ("complex numbers", np.ones(3, np.complex64))):
            try:
                runtime.value_of(array)
                check(f"{what} is refused", False)
            except RuntimeError as error:
                check(f"{what} is refused", "stride" in str(error) or "type code 5 of 64 bits" in str(error), error)
        for kind in (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float64):
            array = np.arange(6).astype(kind).reshape(2, 3)
            value = runtime.value_of(array)
            again = np.from_dlpack(Given(runtime, value))
            check(f"{np.dtype(kind).name} comes back", again.dtype == array.dtype and np.array_equal(again, array) and np.shares_memory(again, array))
            runtime.release(value)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
