"""Modules of PyTorch as models of vx, through torch.onnx. The package needs torch only where one of these is called."""
import contextlib as _contextlib
import inspect as _inspect
import io as _io
import logging as _logging
import os as _os
import re as _re
import shutil as _shutil
import tempfile as _tempfile
import warnings as _warnings
import weakref as _weakref

import vx as _vx

from ._model import Model

# A batch norm that takes the statistics of the batch, in the text of torch's graph: the argument before momentum and epsilon is True.
_TRAINED_NORM = _re.compile(r"_native_batch_norm_legit_functional.*, True, [^,]+, [^,)]+\)")


def import_torch(what):
    try:
        import torch
    except ImportError:
        raise ImportError(f"{what} needs PyTorch: pip install torch onnxscript") from None
    return torch


@_contextlib.contextmanager
def _modes(module, train):
    """The module ready for an export: for inference all of it, for training as it is if it trains, so that parts which are frozen stay so."""
    before = [(part, part.training) for part in module.modules()]
    if not train or not module.training:
        module.train(train)
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


@_contextlib.contextmanager
def quiet():
    """Without the lines that torch's exporter prints."""
    level = _logging.root.manager.disable
    _logging.disable(_logging.WARNING)
    try:
        with _warnings.catch_warnings(), _contextlib.redirect_stdout(_io.StringIO()), _contextlib.redirect_stderr(_io.StringIO()):
            _warnings.simplefilter("ignore")
            yield
    finally:
        _logging.disable(level)


def reason_of(error):
    """Torch's reason, and the line of the user's program where torch names one."""
    texts, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        texts.append(str(error))
        error = error.__cause__
    text = texts[-1].strip() or "torch gives no reason"
    lines = [line for each in reversed(texts) for line in _re.findall(r'File "[^"]+", line \d+, in \w+', each) if "site-packages" not in line]
    return text.splitlines()[0] + (f" ({lines[-1]})" if lines else "")


def _arguments(module, example):
    """The arguments of a call by position, those by name, and all of them by the names in the signature of `forward`."""
    args, kwargs = ((), dict(example)) if isinstance(example, dict) else (tuple(example) if isinstance(example, (tuple, list)) else (example,), {})
    try:
        bound = _inspect.signature(module.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"from_torch: example: {type(module).__name__}.forward: {error}") from None
    return args, kwargs, bound.arguments


def _dynamic_shapes(torch, arguments, dynamic, train):
    """Of each argument the names of its sizes that a call binds, as torch.onnx.export takes them."""
    tensors = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    if dynamic is None:
        dynamic = {name: {0: "batch"} for name, value in tensors.items() if value.dim()} if train else {}
    for name, sizes in dynamic.items():
        if name not in tensors:
            raise ValueError(f"from_torch: dynamic: expected names of {', '.join(tensors)}, got '{name}'")
        for dim in sizes:
            if not isinstance(dim, int) or not 0 <= dim < tensors[name].dim():
                raise ValueError(f"from_torch: dynamic: '{name}' has {tensors[name].dim()} dimensions, got a size {dim!r}")
    names = {}
    for sizes in dynamic.values():
        for size in sizes.values():
            names.setdefault(size, torch.export.Dim(size) if isinstance(size, str) else size)
    return {name: {dim: names[size] for dim, size in dynamic.get(name, {}).items()} if name in tensors else None for name in arguments}


def export(torch, module, args, kwargs, dynamic_shapes, input_names=None, optimize=True):
    """The ONNX program of a module. Raises vx.CompileError with torch's reason."""
    try:
        with quiet():
            return torch.onnx.export(module, args, kwargs=kwargs, dynamo=True, dynamic_shapes=dynamic_shapes, input_names=input_names, optimize=optimize, verbose=False)
    except ImportError as error:
        raise ImportError(f"torch.onnx.export needs more packages: {error}: pip install onnxscript") from None
    except Exception as error: # whatever torch raises
        failure = _vx.CompileError(f"torch cannot export {type(module).__name__}: {reason_of(error)}")
        failure.code = "unsupported"
        raise failure from error


def _save(program, path):
    with quiet():
        program.save(path, external_data=sum(value.const_value.nbytes for value in program.model.graph.initializers.values() if value.const_value is not None) > 1 << 30)


def _write_forms(program, folder):
    """Writes the program for inference and for training: in the second one batch norms that take the batch's statistics say so, in the first one nothing is dropped."""
    import onnx_ir
    graph = program.model.graph
    norms = [node for node in graph if node.op_type == "BatchNormalization" and _TRAINED_NORM.search(node.metadata_props.get("pkg.torch.onnx.fx_node", ""))]
    for node in norms:
        node.attributes["training_mode"] = onnx_ir.AttrInt64("training_mode", 1)
    training, inference = (_os.path.join(folder, f"{form}.onnx") for form in ("training", "inference"))
    _save(program, training)
    for node in norms:
        node.attributes["training_mode"] = onnx_ir.AttrInt64("training_mode", 0)
    for node in graph:
        if node.op_type == "Dropout" and len(node.inputs) > 2:
            node.replace_input_with(2, None)
    _save(program, inference)
    return training, inference


class _Folder:
    """A folder that goes with its last reference."""

    def __init__(self):
        self.name = _tempfile.mkdtemp(prefix="vx-torch-")
        _weakref.finalize(self, _shutil.rmtree, self.name, ignore_errors=True)


class TorchModel(Model):
    """A vx.Model that was made of a module of PyTorch."""

    def __init__(self, module, files, folder, trained, **options):
        self._training_file, self._folder, self._trained = files[0], folder, trained # the folder lives as long as the model
        self._torch_state = {name: value.detach() for name, value in module.state_dict().items()}
        self._sizes_of_parameters = {name: value.numel() for name, value in module.named_parameters()}
        self._count_of_buffers = sum(value.numel() for value in module.buffers())
        super().__init__(files[1], cache=False, **options)

    def _compile(self, options):
        if options.get("loss") is not None or options.get("train") is not None:
            if not self._trained:
                raise ValueError("fit: expected a model that trains: give train=True to vx.from_torch")
            self._source = self._training_file
            if options.get("lora") is None: # whose adapters are all that is trained
                options = {"train": self._trained, **options}
        return super()._compile(options)

    def state_dict(self) -> dict:
        """The trained weights as tensors of PyTorch by the names of the module, for its load_state_dict. Values that vx does not train, such as a count of batches, are as they were.

        Raises ValueError for a model that does not train."""
        self._want_training("state_dict")
        torch = import_torch("state_dict")
        weights = {name: torch.from_numpy(array.copy()) for name, array in self.get_weights().items()}
        places = {}
        for name, value in self._torch_state.items():
            if name in weights:
                places[value.data_ptr(), value.shape] = name
        state = {}
        lora = self._options.get("lora")
        for name, value in self._torch_state.items():
            if f"{name}.lora_B" in weights: # with the adapters' sum
                both = weights[f"{name}.lora_B"] @ weights[f"{name}.lora_A"]
                state[name] = (value + lora.alpha / lora.rank * both).to(value.dtype)
                continue
            own = name if name in weights else places.get((value.data_ptr(), value.shape)) # tied weights have one name in the file
            state[name] = value.clone() if own is None else weights[own].to(value.dtype)
        return state


def from_torch(module, example, dynamic: dict | None = None, train: bool = False, **options) -> Model:
    """Makes a vx.Model of a torch.nn.Module, through torch.onnx (its packages: torch and onnxscript).

    `example`: a tensor, a tuple of the arguments of module.forward, or a dict by their names; sizes and types are taken from them, no values. Inputs of the model have the names of
    these arguments. `dynamic`: sizes that each call binds, as {"x": {0: "batch"}}; None: none or, with `train`, the first size of each input is "batch".

    `train` True keeps dropouts, batch norms and the names of parameters, so that the model can be trained: by `fit(loss=...)`, or with `loss` among the options. All parameters are trained whose
    requires_grad is True, or with `lora=vx.LoRA(...)` its adapters alone; `state_dict()` then has the sums. Parts of a training module whose `training` is False stay as in inference. `state_dict()` of the model gives trained weights back to the module.
    False makes a model for inference, in which constants are folded.

    `options`: those of vx.Model. The module is as before when this returns.

    Raises vx.CompileError, code "unsupported", with torch's reason and line for a module that torch cannot export; TypeError and ValueError for an example or sizes that do not fit;
    ImportError without the packages."""
    torch = import_torch("from_torch")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch: expected a torch.nn.Module, got {type(module).__name__}")
    module = getattr(module, "_orig_mod", module) # of torch.compile, whose backend has no part in an export
    if not train:
        for name in ("loss", "optimizer"):
            if options.get(name) is not None:
                raise ValueError(f"from_torch: {name} is for a model that trains: give train=True")
    args, kwargs, arguments = _arguments(module, example)
    shapes = _dynamic_shapes(torch, arguments, dynamic, train)
    names = [name for name, value in arguments.items() if isinstance(value, torch.Tensor)]
    folder = _Folder()
    with _modes(module, train):
        program = export(torch, module, args, kwargs, shapes, names, optimize=not train)
    if not train:
        path = _os.path.join(folder.name, "model.onnx")
        _save(program, path)
        return TorchModel(module, (path, path), folder, None, **options)
    known = program.model.graph.initializers
    trained = [name for name, parameter in module.named_parameters(remove_duplicate=False) if parameter.requires_grad and name in known]
    if not trained:
        raise ValueError(f"from_torch: expected a parameter with requires_grad on which {type(module).__name__}'s results depend, got none")
    return TorchModel(module, _write_forms(program, folder.name), folder, ",".join(trained), **options)
