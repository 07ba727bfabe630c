"""Compiled machine-learning models: load them, run them on the best device, train them, and, where the wheel vx-compiler is installed, compile them.

    import vx
    vx.compile("model.onnx", "model.vxm", targets="cpu,vulkan")   # vx-compiler
    model = vx.Instance(vx.Module("model.vxm"))                    # vx-runtime
    logits = model(image=pixels)["logits"]

Arrays are NumPy's or of any library that speaks DLPack. Inputs at a multiple of 64 bytes are read where they lie by a CPU, others are copied once; an array that is not
contiguous, or not in this machine's byte order, is copied as well. Results are NumPy arrays over the runtime's memory, but for element types that NumPy has not (bf16), which are vx.Tensor. The interpreter's lock is given up
while a module is compiled, loaded, run or trained."""
import json as _json
import os as _os
import warnings as _warnings

from . import _runtime
from ._runtime import Error, Tensor, TrainError

__all__ = ["CompileError", "Error", "Instance", "Module", "Session", "Tensor", "TrainError", "compile", "compile_bytes", "list_devices", "version"]
__version__ = _runtime.version().split()[1]


class CompileError(Error):
    """A model or an option that the compiler does not take; says what was wanted and what came."""


def version():
    return _runtime.version()


def list_devices():
    """What devices there are, and why others are not taken, as vx-run --list-devices --json tells."""
    return _json.loads(_runtime.list_devices())


def _to_tensor(array):
    if isinstance(array, Tensor):
        return array
    if not hasattr(array, "__dlpack__") or type(array).__module__.partition(".")[0] == "numpy":
        import numpy
        array = numpy.asarray(array)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if not array.flags.c_contiguous:
            array = numpy.array(array, order="C") # keeps its rank, which ascontiguousarray does not
    return Tensor.from_capsule(array.__dlpack__(max_version=(1, 0)))


def _to_array(tensor):
    if tensor.dtype == "bf16":
        return tensor
    import numpy
    return numpy.from_dlpack(tensor)


class Module:
    """A module file, or the bytes of one."""

    def __init__(self, source):
        self._own = _runtime.Module.from_bytes(source) if isinstance(source, bytes) else _runtime.Module(_os.fspath(source))

    def functions(self):
        """[{"name", "inputs": [{"name", "dtype", "shape"}], "outputs"}]; sizes that a call binds are texts."""
        return self._own.functions()

    def describe(self):
        """All that vx-info --json tells."""
        return _json.loads(self._own.describe())


class Instance:
    """A module on a device. `device`: auto, cpu, vulkan[:N], cuda[:N], rocm[:N]; with `fallback` False a refused device is an error. Threads may share it."""

    def __init__(self, module, device="auto", fallback=True, threads=0, seed=0, memory_limit=0):
        self.module = module if isinstance(module, Module) else Module(module)
        self._own = _runtime.Instance(self.module._own, device, fallback, threads, seed, memory_limit)
        self._functions = {function["name"]: function for function in self.module.functions()}

    def run(self, function, /, *arrays, **named):
        """The results by name. Inputs by place, by name, or both."""
        if function not in self._functions:
            raise KeyError(f"the module has no function '{function}', but {', '.join(self._functions)}")
        info = self._functions[function]
        names = [entry["name"] for entry in info["inputs"]]
        if len(arrays) > len(names):
            raise TypeError(f"function '{function}' takes {len(names)} inputs, got {len(arrays)}")
        given = dict(zip(names, arrays))
        for name, array in named.items():
            if name not in names:
                raise TypeError(f"function '{function}' has no input '{name}', but {', '.join(names)}")
            if name in given:
                raise TypeError(f"function '{function}': input '{name}' is given twice")
            given[name] = array
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"function '{function}' wants inputs {', '.join(names)}, got none for {', '.join(missing)}")
        results = self._own.run(function, [_to_tensor(given[name]) for name in names])
        return {entry["name"]: _to_array(result) for entry, result in zip(info["outputs"], results)}

    def __call__(self, *arrays, **named):
        """The module's first function."""
        return self.run(next(iter(self._functions)), *arrays, **named)

    def report(self):
        """Which device was taken and why others were not; what it holds."""
        return _json.loads(self._own.report())

    def __str__(self):
        return self._own.report_text()

    def variables(self):
        return self._own.variables()

    def read_variable(self, name):
        return _to_array(self._own.read_variable(name))

    def write_variable(self, name, array):
        self._own.write_variable(name, _to_tensor(array))


def _columns(data):
    return [(name, _to_tensor(array)) for name, array in data.items()]


class Session:
    """Trains a module that vx.compile(..., train=...), vx-compile --train or vx/builder.hpp has made for it. Data are dicts of arrays, by the names of the inputs; the first
    dimension is the rows."""

    def __init__(self, module, device="auto", fallback=True, threads=0, seed=0):
        self.module = module if isinstance(module, Module) else Module(module)
        self._own = _runtime.Session(self.module._own, device, fallback, threads, seed)
        training = self.module.describe()["training"]
        outputs = {function["name"]: [entry["name"] for entry in function["outputs"]] for function in self.module.functions()}
        self._outputs = outputs.get(training.get("predict"), [])

    def fit(self, data, epochs=1, batch=0, validation=None, rate=None, schedule="constant", end=0.0, seed=None, on_epoch=None):
        """Trains, and gives a dict for each epoch: loss, metrics, rate, seconds, and validation where there is some. `rate` None: the module's, or 1e-3; `schedule`: constant, or
        cosine down to `end`. `on_epoch` is called with each dict; what it raises ends the training. Ctrl-C ends it behind the step that is going on."""
        return self._own.fit(_columns(data), None if validation is None else _columns(validation), epochs, batch, rate, schedule, end, seed, on_epoch)

    def evaluate(self, data, batch=0):
        """Means over all rows: {"loss": ..., "accuracy": ...}."""
        return self._own.evaluate(_columns(data), batch)

    def predict(self, data, batch=0):
        return {name: _to_array(result) for name, result in zip(self._outputs, self._own.predict(_columns(data), batch))}

    def save(self, path, only_weights=False):
        """A checkpoint, or the weights alone, as safetensors."""
        self._own.save(_os.fspath(path), only_weights)

    def load(self, path):
        """From a file of `save`, or one of weights, as of a PyTorch state dict. Gives what was noted."""
        return self._own.load(_os.fspath(path))

    def export_onnx(self, path):
        self._own.export_onnx(_os.fspath(path))

    def summary(self):
        return self._own.summary()

    def read_variable(self, name):
        return _to_array(self._own.read_variable(name))

    def report(self):
        return _json.loads(self._own.report())


def _load_compiler():
    try:
        from . import _compiler_libraries
    except ImportError:
        raise ImportError("vx.compile wants the compiler: install the wheel vx-compiler beside vx-runtime") from None
    return _compiler_libraries.load()


def _tell(result, messages):
    errors = [text for severity, text in messages if severity == "error"]
    for severity, text in messages:
        if severity == "warning":
            _warnings.warn(text, stacklevel=3)
    if result != 0:
        raise CompileError("\n".join(errors) or f"the compiler gave up with {result}")
    return [text for severity, text in messages if severity == "note"]


def compile(model, output, targets="cpu", **options):
    """Compiles an ONNX file (or vx text, .mlir) to the module file `output`; gives the notes. The options are those of vx-compile by their names in vxc.h: dims=["batch=1,32"],
    precision="f16", train="auto", loss="cross_entropy", optimizer="adamw:weight_decay=0.05", ..."""
    return _tell(*_load_compiler().compile(_os.fspath(model), _os.fspath(output), {"targets": targets, **options}))


def compile_bytes(model, name="model", targets="cpu", **options):
    """The same of the bytes of an ONNX model, to the bytes of a module, which vx.Module takes."""
    result, messages, module = _load_compiler().compile_bytes(model, name, {"targets": targets, **options})
    _tell(result, messages)
    return module
