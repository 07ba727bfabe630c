"""Loads the compiler's extension after the libraries that its wheel brings: these name one another, and the loader looks for them in the system's folders only. In a build folder
the extension finds them itself."""
import ctypes
import importlib
import os


def load():
    folder = os.path.join(os.path.dirname(__file__), "lib")
    order = os.path.join(folder, "load-order")
    if os.path.exists(order):
        with open(order, encoding="utf-8") as file:
            for name in file.read().split():
                ctypes.CDLL(os.path.join(folder, name))
    return importlib.import_module("vx._compiler")
