"""Compiled machine-learning models: load them, run them on the best device, train them, and, where the wheel vx-compiler is installed, compile them.

    import vx
    model = vx.Model("model.onnx")                                 # compiled once, by the wheel vx-compiler
    logits = model(image=pixels)["logits"]
    vx.compile("model.onnx", "model.vxm", targets="cpu,vulkan")   # a module for machines that have vx-runtime alone
    logits = vx.Model("model.vxm")(image=pixels)["logits"]

Arrays are NumPy's, or those of any library with DLPack. A CPU reads an input in place if it begins at a multiple of 64 bytes. Other inputs are copied once. So is an array that is not contiguous,
or not in this machine's byte order. Results are NumPy arrays over the runtime's memory. Those of element types that NumPy lacks (bf16) are vx.Tensor. The interpreter's lock is released while a
module is compiled, loaded, run or trained. docs/python.md has programs."""
import atexit as _atexit
import json as _json
import math as _math
import operator as _operator
import os as _os
import threading as _threading
import warnings as _warnings
import weakref as _weakref
from collections.abc import Callable as _Callable
from typing import Any as _Any

from . import _runtime
from ._callbacks import Callback, Checkpoint, CSVLog, EarlyStopping, Log, ProgressBar, ReduceLROnPlateau
from ._devices import Device, DeviceKind, available, default_device, devices, empty, ones, place as _device, set_default_device, tensor, zeros
from ._history import History
from ._lora import LoRA
from ._metrics import AUC, F1, MAE, MSE, Metric, TopK
from ._optimizers import SGD, Adagrad, Adam, AdamW, Lion, Optimizer, ParamGroup, RMSprop
from ._runtime import Error, Tensor, TrainError
from ._tensorboard import TensorBoard
from ._language_model import Answer, LanguageModel
from ._texts import DecodeStream, Embedder, Encoding, Tokenizer
from ._values import arguments as _arguments, to_array as _to_array, to_tensor as _to_tensor

__all__ = ["AUC", "Adagrad", "Adam", "AdamW", "Answer", "CSVLog", "Callback", "Checkpoint", "CompileError", "DecodeStream", "Device", "DeviceKind", "EarlyStopping", "Embedder", "Encoding", "Error", "F1", "History", "Instance", "LanguageModel", "Lion", "LoRA", "Log", "MAE",
           "MSE", "Metric", "Model", "Module", "Optimizer", "ParamGroup", "Pending", "ProgressBar", "RMSprop", "ReduceLROnPlateau", "SGD", "Session", "Tensor", "TensorBoard", "Tokenizer", "TopK", "TrainError", "available",
           "compile", "compile_bytes", "default_device", "default_targets", "devices", "empty", "from_torch", "list_devices", "nn", "ones", "set_default_device", "set_log", "tensor", "torch_backend",
           "torch_graphs", "version", "zeros"]
__version__ = _runtime.version().split()[1]


class CompileError(Error):
    """A model or an option that the compiler does not take, with the expected and the given value. `code` is "failed", "usage" or "unsupported"."""


def version() -> str:
    """The versions of the runtime and of the module files that it reads, as vx_version."""
    return _runtime.version()


_LEVELS = {"info": 0, "warning": 1, "error": 2}


def set_log(function: _Callable[[str, str], object] | None, level: str = "warning") -> None:
    """Has the runtime's messages passed to `function(level, message)`, for the whole process: those of `level` (info, warning, error) and above. With None, as at first, they are
    dropped. The function is called on any thread, and must not call vx. Its exceptions go to sys.unraisablehook."""
    if level not in _LEVELS:
        raise ValueError(f"set_log: level: expected {', '.join(_LEVELS)}, got {level!r}")
    if function is not None and not callable(function):
        raise TypeError(f"set_log: expected a function or None, got {type(function).__name__}")
    _runtime.set_log(function, _LEVELS[level])


def _whole(name, value, least=0, most=2**64 - 1):
    """A whole number, which the C interface has no other place for."""
    try:
        number = _operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {type(value).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: expected {least} to {most}, got {number}")
    return number


def _sizes(symbols):
    return [(name, _whole(f"size '{name}'", value, -2**63, 2**63 - 1)) for name, value in symbols.items()]


def _two(name, value, second):
    """A value, or a pair of it and a number."""
    if not isinstance(value, tuple):
        return value, second
    if len(value) != 2:
        raise ValueError(f"{name}: expected one or a pair, got {len(value)}")
    return value


def list_devices() -> dict:
    """The devices of each backend, or the reason why it has none: the document of vx_list_devices in vx.h."""
    return _json.loads(_runtime.list_devices())


class Module:
    """A module file, or the bytes of one."""

    def __init__(self, source: "str | _os.PathLike | bytes") -> None:
        self._own = _runtime.Module.from_bytes(source) if isinstance(source, bytes) else _runtime.Module(_os.fspath(source))

    def functions(self) -> list:
        """[{"name", "inputs": [{"name", "dtype", "shape"}], "outputs"}]. Sizes that a call binds are texts."""
        return self._own.functions()

    def describe(self) -> dict:
        """The document of vx-info --json."""
        return _json.loads(self._own.describe())

    def assets(self) -> list:
        """[{"name", "kind", "bytes"}]: copies of the bytes that no program reads, such as a tokenizer."""
        return self._own.assets()

    def _first(self):
        names = [function["name"] for function in self.functions()]
        return names[0] if names else ""

    def estimate_memory(self, function: str | None = None, device: Device | str | None = None, memory_limit: int = 0, **symbols: int) -> dict:
        """Estimates the bytes of the device that a call of `function` (None: the first one) takes, before there is an instance. Returns a dict with the fields of vx_memory_estimate.
        `symbols` are all sizes that the inputs bind, and those that an instance is made with."""
        of_instance = self._own.symbols()
        sizes = _sizes(symbols)
        return self._own.estimate_memory(self._first() if function is None else function, _device(device), _whole("memory_limit", memory_limit),
                                         [size for size in sizes if size[0] in of_instance], [size for size in sizes if size[0] not in of_instance])


class Pending:
    """A run that goes on while the thread that submitted it does other work. Dropping the last reference waits until the run is done. When the process ends, the run is cancelled."""

    def __init__(self, own, outputs):
        self._own, self._outputs = own, outputs
        _going.add(self)

    def wait(self, timeout: float | None = None) -> dict:
        """Waits for the run. Returns the results by name, as Instance.run does, or raises the error of the run. After `timeout` seconds it raises a vx.Error with the code "timed_out",
        and the run goes on. The code is "cancelled" for a run that was cancelled, or was not done by its deadline."""
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"timeout: expected 0 seconds or more, got {timeout}")
        return {name: _to_array(result) for name, result in zip(self._outputs, self._own.wait(timeout))}

    def done(self) -> bool:
        """Returns whether the run has ended. A run that failed has ended too."""
        return self._own.done()

    def cancel(self) -> None:
        """Asks the run to end, and does not wait. A run that is done, or writes variables already, ends as it would have."""
        self._own.cancel()


_going = _weakref.WeakSet()


@_atexit.register
def _end():
    """Ends the runs that are left, so that no thread of the runtime calls the interpreter after its end."""
    _runtime.set_log(None, 0)
    left = list(_going)
    for pending in left: # all of them, as one may wait for another
        pending.cancel()
    for pending in left:
        try:
            pending.wait()
        except Error:
            pass


class Instance:
    """A module on a device. `device`: a vx.Device, or auto, cpu, vulkan[:N], cuda[:N], rocm[:N]; None: the default device. With `fallback` False a refused device is an error. `symbols`: the sizes that the instance is made
    with. `share`: an instance of the same module. The new one has its device, parameters and statistics, and other variables of its own. Threads may share an instance."""

    def __init__(self, module: "Module | str | _os.PathLike | bytes", device: Device | str | None = None, fallback: bool = True, threads: int = 0, seed: int = 0, memory_limit: int = 0,
                 symbols: dict | None = None, share: "Instance | None" = None) -> None:
        if share is not None:
            if not isinstance(share, Instance):
                raise TypeError(f"share: expected an instance, got {type(share).__name__}")
            if device not in (None, "auto") or (fallback, threads, memory_limit) != (True, 0, 0):
                raise ValueError("share: device, fallback, threads and memory_limit are those of the instance that is shared with")
        self.module = module if isinstance(module, Module) else Module(module)
        self._own = _runtime.Instance(self.module._own, "auto" if share is not None else _device(device), bool(fallback), _whole("threads", threads, 0, 2**32 - 1), _whole("seed", seed),
                                      _whole("memory_limit", memory_limit), _sizes(symbols or {}), None if share is None else share._own)
        self._functions = {function["name"]: function for function in self.module.functions()}

    def _run(self, function, arrays, named):
        inputs, outputs = _arguments(self._functions, function, arrays, named)
        return zip(outputs, self._own.run(function, inputs, _threading.current_thread() is _threading.main_thread()))

    def run(self, function: str, /, *arrays, **named) -> dict:
        """Runs a function and returns the results by name. Inputs are given by position, by name, or both, or as one dict or frame of them. Numbers are converted to the input's type if
        it holds each value; else a ValueError names the first that it does not hold. Floats are rounded to the nearest. Ctrl-C cancels the run, also while it waits for its turn, and raises KeyboardInterrupt."""
        return {name: _to_array(result) for name, result in self._run(function, arrays, named)}

    def run_tensors(self, function: str, /, *arrays, **named) -> dict:
        """Runs a function and returns the results as vx.Tensor, which stay where they are. In a GPU's memory they go into the next call without a copy, of another module too. By DLPack
        they go into another library (torch.from_dlpack(...)). `numpy.from_dlpack(tensor, device="cpu")` copies one to the host."""
        return dict(self._run(function, arrays, named))

    def try_with_fallback(self, function: str, /, *arrays, **named) -> dict:
        """Runs a function as `run` does, and once more on the next device if that fails with vx.Error of code "device_lost", "out_of_memory" or "unsupported". This is the instance on
        that device from then on; `report()["failed"]` has the device that failed, with code and reason, and `report()["taken"]` the other one. A line of standard error tells of it, or a
        warning of vx.set_log. There is no second run if a variable has been written since the instance was made, by write_variable or a run, nor if `fallback` is False or instances share
        variables: the message of the error says so. Ctrl-C waits for the end of the call. While it is called, other threads must not call it on this instance."""
        inputs, outputs = _arguments(self._functions, function, arrays, named)
        moved: list = []
        try:
            results = self._own.try_with_fallback(function, inputs, moved)
        finally:
            if moved:
                self._own = moved[0]
        return {name: _to_array(result) for name, result in zip(outputs, results)}

    def submit(self, function: str, /, *arrays, deadline_ms: int = 0, **named) -> Pending:
        """Starts a run and returns a Pending, which has the results. Arrays that are read in place must not change until the run is done. With `deadline_ms`, a run that is not done so
        many milliseconds later is cancelled. Runs go on side by side. Runs that use a variable which one of them stores are done in their order."""
        inputs, outputs = _arguments(self._functions, function, arrays, named)
        return Pending(self._own.submit(function, inputs, _whole("deadline_ms", deadline_ms, 0, 2**32 - 1)), outputs)

    def estimate_memory(self, function: str | None = None, **symbols: int) -> dict:
        """Estimates the bytes that a call of `function` (None: the first one) takes at these sizes of its inputs. Returns a dict with the fields of vx_memory_estimate in vx.h."""
        return self._own.estimate_memory(self.module._first() if function is None else function, _sizes(symbols))

    def __call__(self, *arrays, **named) -> dict:
        """Runs the module's first function, as `run` does."""
        return self.run(next(iter(self._functions)), *arrays, **named)

    def report(self) -> dict:
        """Returns the device report: which device was taken, and why each other one was refused."""
        return _json.loads(self._own.report())

    def __str__(self):
        return self._own.report_text()

    def variables(self) -> list:
        """The names of the instance's variables."""
        return self._own.variables()

    def read_variable(self, name: str) -> "_Any":
        """A copy of a variable's elements."""
        return _to_array(self._own.read_variable(name))

    def write_variable(self, name: str, array) -> None:
        """Sets a variable's elements; the array has its type and shape."""
        self._own.write_variable(name, _to_tensor(array))


def _columns(data):
    if not hasattr(data, "items"):
        raise TypeError(f"data: expected a dict of arrays, got {type(data).__name__}")
    return [(name, _to_tensor(array)) for name, array in data.items()]


# As vx-train has them, with how many numbers each takes.
_SCHEDULES = {"constant": (0, 0), "cosine": (0, 1), "step": (1, 2), "exponential": (1, 1), "one-cycle": (0, 1)}


def _schedule(text):
    name, colon, rest = str(text).partition(":")
    try:
        numbers = [float(number) for number in rest.split(",")] if colon else []
        least, most = _SCHEDULES[name]
        good = least <= len(numbers) <= most and all(map(_math.isfinite, numbers)) and (name != "step" or (numbers[0] >= 1 and numbers[0] % 1 == 0 and numbers[0] <= 1e15))
    except (KeyError, ValueError):
        good = False
    if not good:
        raise ValueError(f"schedule: expected constant, cosine[:END], step:EPOCHS[,FACTOR], exponential:FACTOR or one-cycle[:PART], got {text!r}")
    return name, numbers


class Session:
    """Trains a module that vx.compile(..., train=...), vx-compile --train or vx/builder.hpp has made for it. Data are dicts of arrays, by the names of the inputs. The first
    dimension is the rows. One thread at a time may use a session, except for `stop`."""

    def __init__(self, module: "Module | str | _os.PathLike | bytes", device: Device | str | None = None, fallback: bool = True, threads: int = 0, seed: int = 0) -> None:
        self.module = module if isinstance(module, Module) else Module(module)
        self._own = _runtime.Session(self.module._own, _device(device), bool(fallback), _whole("threads", threads, 0, 2**32 - 1), _whole("seed", seed))
        training = self.module.describe()["training"]
        outputs = {function["name"]: [entry["name"] for entry in function["outputs"]] for function in self.module.functions()}
        self._outputs = outputs.get(training.get("predict"), [])

    def fit(self, data: dict, epochs: int = 1, batch: int = 0, validation: dict | None = None, rate: float | None = None, schedule: str = "constant", warmup: int = 0, seed: int | None = None,
            accumulate: int = 1, max_steps: int = 0, early_stop=None, stop_on_nan: bool = False, checkpoint=None, resume=None, history=None, on_step=None, on_epoch=None) -> History:
        """Trains, and returns a History. The arguments mean the same as the options of vx-train with these names (docs/training.md). `rate` is its --lr.

        `schedule`: "constant", "cosine:1e-5", and so on. `warmup`: steps before it. `accumulate`: batches of a step; it needs a module that was made with keep_gradients.
        `early_stop`: epochs without a smaller loss, or (epochs, least). `checkpoint`: a folder, or (folder, epochs). `resume`: a checkpoint or such a folder, which is loaded first.
        `history`: a file that gets the history as JSON.

        `on_step`: a function that is called after each step, or (function, steps). Its argument is a dict of step, epoch, rate, loss and metrics. `on_epoch`: a function that is
        called with each epoch's dict. An exception of these, or Ctrl-C, ends training after the current step, with a checkpoint if there is a folder for it. The session can go on from
        there. The next Ctrl-C cancels that step as well.

        A history that cannot be written is a TrainError, which has it as `history`. Arrays are converted as vx-train converts files: an image of uint8 is not, since only you know its
        scale."""
        form, numbers = _schedule(schedule)
        if early_stop is not None:
            epochs_without, least = _two("early_stop", early_stop, 0.0)
            early_stop = _whole("early_stop", epochs_without, 1), float(least)
        if checkpoint is not None:
            folder, every = _two("checkpoint", checkpoint, 1)
            checkpoint = _os.fspath(folder), _whole("checkpoint", every, 1)
        on_step, every_step = _two("on_step", on_step, 1)
        for name, function in (("on_step", on_step), ("on_epoch", on_epoch)):
            if function is not None and not callable(function):
                raise TypeError(f"{name}: expected a function, got {type(function).__name__}")
        arguments = (_columns(data), None if validation is None else _columns(validation), _whole("epochs", epochs), _whole("batch", batch, 0, 2**31 - 1),
                     _whole("accumulate", accumulate, 1), _whole("max_steps", max_steps), bool(stop_on_nan), None if seed is None else _whole("seed", seed),
                     None if rate is None else float(rate), form, numbers, _whole("warmup", warmup), early_stop, checkpoint, "" if history is None else _os.fspath(history),
                     on_step, _whole("on_step", every_step, 1), on_epoch)
        notes = [] if resume is None else self.load(resume)
        facts, problem = self._own.fit(*arguments)
        done = History(facts)
        done.notes[:0] = notes
        if problem:
            error = TrainError(problem)
            error.code, error.history = "io", done
            raise error
        return done

    def stop(self) -> None:
        """Ends the current fit after its step. `stopped` of its history is "stopped". For `on_step`, `on_epoch` and other threads."""
        self._own.stop()

    def progress(self) -> dict:
        """Returns the position in training: {"step", "epoch", "row", "seed"}."""
        return self._own.progress()

    def evaluate(self, data: dict, batch: int = 0) -> dict:
        """Returns means over all rows: {"loss": ..., "accuracy": ...}. Where the module has counts, such as labels that are not ignored, the means are over these counts. `batch` is that of
        predict. Ctrl-C ends it."""
        return self._own.evaluate(_columns(data), batch)[0]

    def predict(self, data: dict, batch: int = 0) -> dict:
        """Returns the outputs of the model by name, for all rows. `batch`: rows of a call; 0: those of the last fit, of the module, or 32. Ctrl-C ends it."""
        return {name: _to_array(result) for name, result in zip(self._outputs, self._own.predict(_columns(data), batch))}

    def save(self, path, only_weights: bool = False) -> None:
        """Writes a checkpoint, or the weights alone, as safetensors."""
        self._own.save(_os.fspath(path), only_weights)

    def load(self, path) -> list:
        """Loads a file of `save`, or a file of weights such as that of a PyTorch state dict. Returns notes."""
        return self._own.load(_os.fspath(path))

    def export_onnx(self, path, form: str = "inference") -> None:
        """Writes the ONNX model that the module was made of, with the trained weights. `form`: "inference", without dropouts and with batch norms that use their running statistics;
        "training", as the model's file says. Raises ValueError for another form."""
        if form not in ("inference", "training"):
            raise ValueError(f"form: expected inference or training, got {form!r}")
        self._own.export_onnx(_os.fspath(path), form == "training")

    def save_module(self, path) -> None:
        """Writes a module that starts with the trained weights, for every target of this one, without the compiler. The state of the optimizer is not in it."""
        self._own.save_module(_os.fspath(path))

    def summary(self) -> str:
        """The parameters, optimizer and loss as text, as vx-train --summary prints them."""
        return self._own.summary()

    def read_variable(self, name: str) -> "_Any":
        """A copy of a variable's elements."""
        return _to_array(self._own.read_variable(name))

    def write_variable(self, name: str, array) -> None:
        """Sets a variable's elements; the array has its type and shape."""
        self._own.write_variable(name, _to_tensor(array))

    def report(self) -> dict:
        """Which device was taken and why others were not."""
        return _json.loads(self._own.report())


def _load_compiler():
    try:
        from . import _compiler_libraries
    except ImportError:
        raise ImportError("vx.compile needs the compiler: install the wheel vx-compiler beside vx-runtime") from None
    return _compiler_libraries.load()


def _tell(result, messages):
    errors = [text for severity, text in messages if severity == "error"]
    for severity, text in messages:
        if severity == "warning":
            _warnings.warn(text, stacklevel=3)
    if result != 0:
        error = CompileError("\n".join(errors) or f"the compiler gave up with {result}")
        error.code = {1: "failed", 2: "usage", 3: "unsupported"}.get(result, "unknown")
        raise error
    return [text for severity, text in messages if severity == "note"]


def compiler_version() -> str:
    """A text that is another one when the compiler is: its versions, and the time of its library."""
    compiler = _load_compiler()
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        places = {line.split(maxsplit=5)[5].rstrip("\n") for line in file if "/libvx_compiler.so" in line}
    return compiler.version() + "".join(f"\n{place} {_os.stat(place).st_mtime_ns}" for place in sorted(places) if _os.path.exists(place))


def default_targets() -> str:
    """The targets that a model is compiled for by default: that of the best device of this machine (of CUDA, ROCm and Vulkan, without software devices), and the CPU: "cuda,cpu", or
    "cpu"."""
    built = _load_compiler().targets().split(",")
    backends = {backend["name"]: backend for backend in list_devices()["backends"]}
    for name in ("cuda", "rocm", "vulkan"):
        if name in built and any(not device["software"] for device in backends.get(name, {}).get("devices", ())):
            return name + ",cpu"
    return "cpu"


def compile(model, output, targets: str | None = None, **options) -> list:
    """Compiles an ONNX file (or vx text, .mlir) to the module file `output`, and returns notes. `targets`: as "cpu,vulkan"; None: `default_targets()`. The other options are those of vx-compile by their names in vxc.h: dims=["batch=1,32"],
    precision="f16", train="auto", loss="cross_entropy", optimizer="adamw:weight_decay=0.05", and so on."""
    return _tell(*_load_compiler().compile(_os.fspath(model), _os.fspath(output), {"targets": default_targets() if targets is None else targets, **options}))


def compile_bytes(model: bytes, name: str = "model", targets: str | None = None, **options) -> bytes:
    """Compiles the bytes of an ONNX model to the bytes of a module, which vx.Module takes."""
    result, messages, module = _load_compiler().compile_bytes(model, name, {"targets": default_targets() if targets is None else targets, **options})
    _tell(result, messages)
    return module


from ._model import Model # which is made of all of the above
from . import nn
from ._torch import from_torch
from ._torch_backend import torch_backend, torch_graphs
