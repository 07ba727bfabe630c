"""The package vx of a build folder, for tests that would start a tool for each case only to get what it gives."""
import os
import sys


def import_vx(bin):
    """The module, or None where the build made none: with a sanitizer, or without nanobind, which scripts/test counts. Tests start the tools of `bin` then."""
    folder = os.path.join(os.path.dirname(os.path.abspath(bin)), "python")
    if not os.path.exists(os.path.join(folder, "vx", "__init__.py")):
        return None
    sys.path.insert(0, folder)
    import vx
    return vx
