"""The stubs and annotations that type checkers read: stubs are as scripts/python-stubs makes them of the modules, and vx.nn lists its names.

  test_stubs.py BUILD    with the package of the build"""
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import tempfile
import unittest

import vx
from vx import _nn_functions, _nn_layers

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Stubs(unittest.TestCase):
    def test_stubs(self):
        script = importlib.machinery.SourceFileLoader("python_stubs", os.path.join(SOURCE, "scripts", "python-stubs"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("python_stubs", script))
        script.exec_module(module)
        with tempfile.TemporaryDirectory() as folder:
            sys.argv = ["python-stubs", BUILD, folder]
            module.main()
            for name in ("_runtime.pyi", "_text.pyi", "_compiler.pyi"):
                with open(os.path.join(folder, name), encoding="utf-8") as file, open(os.path.join(SOURCE, "python", "vx", name), encoding="utf-8") as committed:
                    self.assertEqual(file.read(), committed.read(), f"{name}: scripts/python-stubs build python/vx writes it")
        self.assertTrue(os.path.exists(os.path.join(SOURCE, "python", "vx", "py.typed")))

    def test_names(self):
        for module, wanted in ((_nn_layers, lambda value: isinstance(value, type) and issubclass(value, vx.nn.Module)), (_nn_functions, lambda value: inspect.isfunction(value) and value.__name__ != "function_of")):
            names = sorted(name for name, value in vars(module).items() if not name.startswith("_") and wanted(value) and value.__module__ == module.__name__)
            self.assertEqual(module.__all__, names)
            self.assertTrue(set(names) <= set(vx.nn.__all__) and all(inspect.getdoc(getattr(vx.nn, name)) for name in names))
        self.assertEqual([name for name in vx.__all__ if not hasattr(vx, name)], [])

    def test_annotations(self):
        """Each public function and method of the package has the type of its result."""
        missing = []
        for name in vx.__all__:
            value = getattr(vx, name)
            if inspect.isfunction(value):
                missing += [name] if "return" not in value.__annotations__ else []
            elif inspect.isclass(value) and value.__module__.startswith("vx") and not issubclass(value, BaseException) and name != "Tensor":
                missing += [f"{name}.{key}" for key, one in vars(value).items() if inspect.isfunction(one) and one.__doc__ and not key.startswith("_") and "return" not in one.__annotations__]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
