"""What the tests of all encoders do with a module: make it, run it, and compare its vectors."""
import os

import numpy as np

LIMIT = 1e-5  # of the largest number


def compile_model(bench, path, name=None, targets=None):
    """A module of a file or folder, by default of the same name, and for all devices of the test."""
    module = bench.path((name or os.path.basename(path)) + ".vxm")
    bench.tool("vx-compile", path, f"--target={targets or ','.join(bench.devices)}", "--no-cache", "-o", module)
    return module


def run_main(bench, module, inputs, device):
    flags = []
    for name, array in inputs.items():
        np.save(bench.path(f"{name}.npy"), array)
        flags.append(f"--input={name}=@{bench.path(name)}.npy")
    bench.tool("vx-run", module, "--function=main", f"--device={device}", "--no-fallback", f"--output=last_hidden_state=@{bench.path('out.npy')}", *flags)
    return np.load(bench.path("out.npy"))


def compare(bench, title, got, want, mask=None):
    """The places where the mask is not 1 are padding, which nothing reads."""
    where = slice(None) if mask is None else mask == 1
    apart = np.abs(got - want)[where].max() / np.abs(want[where]).max() if got.shape == want.shape else np.inf
    bench.check(title, apart <= LIMIT, f"apart by {apart} of the largest, of {got.shape} and {want.shape}")
