# The configuration of all lit suites: one folder of test/ for one component of the tree. Values that the build knows come
# from lit.site.cfg.py, which the configure step writes into the build folder and which loads this file.
import ctypes
import os
import platform
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import lit_format  # noqa: E402  (processes of lit find the class by the name of its module)

built = set(config.vx_targets) & set(config.vx_drivers)
config.name = "vx"
config.test_format = lit_format.TestOfBuiltTargets(os.path.dirname(__file__), built)
config.suffixes = [".mlir", ".test"]
# Suites of other kinds live beside the lit suites.
config.excludes = ["Inputs", "CMakeLists.txt", "unit", "e2e", "fuzz", "conformance", "lit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.vx_build_dir, "test")

# Tools of the build come first: a test must never run an installed copy.
tools = os.pathsep.join([config.vx_bin_dir, config.llvm_bin_dir])
config.environment["PATH"] = os.pathsep.join([tools, config.environment.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"
# A machine that runs many tests at once is slow to answer.
config.environment["VX_PROBE_SECONDS"] = "60"
for name in ("NO_COLOR", "VX_DEVICE_ORDER", "VK_ICD_FILENAMES", "VK_DRIVER_FILES", "ASAN_OPTIONS", "UBSAN_OPTIONS",
             "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%vx_src", config.vx_source_dir))
config.substitutions.append(("%vx_bin", config.vx_bin_dir))
config.substitutions.append(("%models", os.path.join(config.vx_source_dir, "test", "models")))
config.substitutions.append(("%python", config.python))


def count_vulkan_devices():
    """Asks the loader itself, so that a machine with a loader and no driver counts as one without Vulkan."""
    try:
        vulkan = ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return 0

    class InstanceCreateInfo(ctypes.Structure):
        _fields_ = [("sType", ctypes.c_int), ("pNext", ctypes.c_void_p), ("flags", ctypes.c_uint32),
                    ("pApplicationInfo", ctypes.c_void_p), ("layerCount", ctypes.c_uint32),
                    ("layers", ctypes.c_void_p), ("extensionCount", ctypes.c_uint32), ("extensions", ctypes.c_void_p)]

    instance, count = ctypes.c_void_p(), ctypes.c_uint32()
    info = InstanceCreateInfo(sType=1)
    if vulkan.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)) != 0:
        return 0
    if vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None) != 0:
        count.value = 0
    vulkan.vkDestroyInstance(instance, None)
    return count.value


# A tool of ours is a feature by its name, for tests that run it only to go further than the tool they are about.
for tool in ("vx-opt", "vx-compile", "vx-run", "vx-info", "vx-bench", "vx-interpret", "vx-serve"):
    if os.path.exists(os.path.join(config.vx_bin_dir, tool)):
        config.available_features.add(tool)
for tool in ("systemd-analyze",):
    if shutil.which(tool):
        config.available_features.add(tool)
# The library of images is built where those are that it links.
if os.path.exists(os.path.join(config.vx_build_dir, "lib", "libvx_image.so.0")):
    config.available_features.add("vx-image")
# What stands in for ROCm's library has an emulated GPU.
emulated = os.path.join(config.vx_build_dir, "lib", "libvx_emulated_hip.so")
if os.path.exists(emulated):
    config.available_features.add("emulated-rocm")
    config.substitutions.append(("%emulated_rocm", emulated))
# Checkers from elsewhere, used where they are present.
for tool in ("ptxas", "spirv-val", "spirv-dis", "llvm-objdump", "llvm-readelf", "llvm-mca"):
    if shutil.which(tool, path=config.environment["PATH"]):
        config.available_features.add(tool)
# A browser without a window, for what we draw.
for browser in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
    if shutil.which(browser):
        config.available_features.add("browser")
        config.substitutions.append(("%browser", shutil.which(browser)))
        break
pythons = [os.path.join(config.vx_source_dir, "build", "venv", "bin", "python"), config.python, "python3"]
# A Python with NumPy, and one with ONNX Runtime too: the one that scripts/test makes, or one of the PATH.
for python in pythons:
    found = shutil.which(python)
    if found and subprocess.run([found, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
        config.available_features.add("numpy")
        config.substitutions.append(("%numpy_python", found))
        break
for python in pythons:
    probe = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('numpy', 'onnxruntime'))))"
    found = shutil.which(python)
    if found and subprocess.run([found, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
        config.available_features.add("onnxruntime")
        config.substitutions.append(("%onnxruntime_bin", os.path.dirname(found)))
        break
for python in pythons:
    probe = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('numpy', 'onnx', 'torch'))))"
    found = shutil.which(python)
    if found and subprocess.run([found, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
        config.available_features.add("torch")
        config.substitutions.append(("%torch_bin", os.path.dirname(found)))
        break
# Kernels that refuse system calls on request, by which tests break disks.
refuse_call = os.path.join(config.vx_source_dir, "test", "Tools", "Inputs", "refuse_call.py")
if subprocess.run([config.python, refuse_call, "rename", "EIO", "true"], stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("seccomp")
if "vulkan" in built and count_vulkan_devices() > 0:
    config.available_features.add("vulkan")
config.available_features.add(platform.machine().replace("amd64", "x86_64"))
if config.vx_sanitize:
    config.available_features.add("sanitizer")
