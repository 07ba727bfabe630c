"""Modules of vx.nn: trees of layers with named parameters, and their compilation."""
import math as _math
import os as _os

import vx as _vx

from . import _nn_functions as F
from ._convert import read_safetensors
from ._nn_graph import ELEMENT_TYPES, Build, Init, Tensor, constant, current, place
from ._optimizers import Optimizer


class Input:
    """An input of a model: its sizes, numbers or names of sizes that each call binds, and its element type. nn.Input("batch", 3, 224, 224), nn.Input("batch", "time", dtype="i64")"""

    def __init__(self, *dims, dtype: str = "f32"):
        if dtype not in ELEMENT_TYPES:
            raise ValueError(f"Input: dtype: expected {', '.join(ELEMENT_TYPES)}, got {dtype!r}")
        for dim in dims:
            if not isinstance(dim, (int, str)) or isinstance(dim, bool) or isinstance(dim, int) and dim < 0:
                raise ValueError(f"Input: expected sizes of 0 or more, or names, got {dim!r}")
        self.dims, self.dtype = tuple(dims), dtype

    def __repr__(self):
        return f"nn.Input({', '.join(map(repr, self.dims))}, dtype={self.dtype!r})"


def _input(name, given):
    if isinstance(given, Input):
        return given
    if isinstance(given, (tuple, list)):
        return Input(*given)
    raise TypeError(f"inputs: '{name}': expected an nn.Input or a tuple of sizes, got {type(given).__name__}")


class Parameter(Tensor):
    """A variable of the model, as an attribute of a module. `init`: its first values, an nn.Init; `requires_grad` False: it is not trained. It is a tensor while the model is built."""

    def __init__(self, *shape, init: Init | None = None, dtype: str = "f32", requires_grad: bool = True):
        if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape):
            raise ValueError(f"Parameter: expected sizes of 0 or more, got {shape}")
        self._sizes, self._dtype, self.init, self.requires_grad, self._role = tuple(shape), dtype, init or Init.zeros(), requires_grad, 0

    def _id(self, build):
        if id(self) not in build.values:
            raise RuntimeError("vx.nn: expected a parameter of the model that is being built: it is an attribute of no module of it; lists of layers are nn.ModuleList")
        return build.values[id(self)]

    @property
    def shape(self) -> tuple:
        return self._sizes

    @property
    def dtype(self) -> str:
        return self._dtype

    def __repr__(self):
        return f"nn.Parameter({', '.join(map(str, self._sizes))})"


class Statistic(Parameter):
    """A variable that layers collect and that is not trained, such as the mean of a batch norm."""

    def __init__(self, *shape, init: Init | None = None):
        super().__init__(*shape, init=init, requires_grad=False)
        self._role = 1


class Module:
    """A layer or a model, as torch.nn.Module: a class of your own makes its parts in __init__, after super().__init__(), and uses them in `forward`, which takes and returns tensors. Names
    of parameters follow from the attributes: "fc1.weight"."""

    def __init__(self):
        object.__setattr__(self, "_parts", {})

    def __setattr__(self, name, value):
        if isinstance(value, (Module, Parameter)):
            if "_parts" not in vars(self):
                raise AttributeError(f"{type(self).__name__}: expected super().__init__() before the attribute '{name}'")
            self._parts[name] = value
        elif name in vars(self).get("_parts", ()):
            del self._parts[name]
        object.__setattr__(self, name, value)

    def forward(self, *inputs):
        """Computes the outputs: a tensor, a tuple or list of them, or a dict by their names."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method forward")

    def __call__(self, *inputs, **named):
        build = current()
        build.layers.append((build.names.get(id(self), build.layers[-1][0] if build.layers else ""), type(self).__name__))
        try:
            return self.forward(*inputs, **named)
        finally:
            build.layers.pop()

    def named_modules(self, prefix: str = ""):
        """(name, module) of itself, "", and of all modules in it, each once."""
        seen, waiting = set(), [(prefix, self)]
        while waiting:
            name, module = waiting.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            parts = vars(module).get("_parts", {})
            waiting.extend((f"{name}.{key}" if name else key, part) for key, part in reversed(parts.items()) if isinstance(part, Module))

    def named_parameters(self) -> list:
        """[(name, parameter)] of all parameters and statistics, each once: a shared one has its first name."""
        found, seen = [], set()

        def visit(prefix, module):
            for key, part in module._parts.items():
                name = f"{prefix}.{key}" if prefix else key
                if isinstance(part, Parameter):
                    if id(part) not in seen:
                        seen.add(id(part))
                        found.append((name, part))
                else:
                    visit(name, part)

        visit("", self)
        return found

    def parameters(self) -> list:
        """The parameters that named_parameters has, without statistics."""
        return [parameter for _, parameter in self.named_parameters() if not isinstance(parameter, Statistic)]

    def num_parameters(self) -> int:
        """The number of elements of all parameters."""
        return sum(_math.prod(parameter.shape) for parameter in self.parameters())

    def requires_grad_(self, requires_grad: bool = True):
        """Whether its parameters are trained. Returns itself."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def _describe(self):
        return ""

    def __repr__(self):
        parts = [(key, part) for key, part in self._parts.items() if isinstance(part, Module)]
        if not parts:
            return f"{type(self).__name__}({self._describe()})"
        lines = [f"  ({key}): " + repr(part).replace("\n", "\n  ") for key, part in parts]
        return f"{type(self).__name__}(\n" + "\n".join(lines) + "\n)"

    def compile(self, inputs: dict, outputs=None, *, loss=None, labels: dict | None = None, optimizer=None, sample_weight: bool = False, weights=None, symbols: dict | None = None,
                name: str = "model", targets: str | None = None, device=None, fallback: bool = True, threads: int = 0, seed: int = 0, clip_norm: float = 0.0,
                clip_value: float = 0.0, keep_gradients: bool = False, memory: int = 0, planned_batch: int = 0, **options) -> "_vx.Model":
        """Builds the graph, compiles it, and returns a vx.Model. Needs the wheel vx-compiler.

        `inputs`: {name: nn.Input} in the order of forward's arguments; a tuple of sizes is an input of f32. `outputs`: the names of what forward returns; None: "output", "output_0", ...,
        or the keys of a dict. `symbols`: {name: (least, most)} or (least, most, multiple) of sizes.

        `loss` makes a model that trains: a text of vx-compile --loss ("cross_entropy:smoothing=0.1"), for the first output or the one that it names, with the input "label" or "target";
        or a function of the outputs of forward and of the tensors of `labels` ({name: nn.Input}), which returns the loss, a scalar, or a dict with "loss" and metrics. `sample_weight`
        (of losses by text): the step has an input "sample_weight" [batch] for `fit(sample_weight=..., class_weight=...)`, and the loss is a weighted mean.

        `weights`: {name: array} of first values, such as a state dict, or the path of a safetensors file; every parameter and statistic has one. Without a loss they are constants, which are folded and packed.

        `optimizer`: vx.AdamW(3e-4), or its text. `device`, `fallback`, `threads` and `seed` are those of vx.Model, `targets` and `options` those of vx.compile, the others those of
        vx-compile --train.

        Raises vx.CompileError for shapes that do not fit, with the file and line of your code and the layer; TypeError and ValueError for arguments that do not."""
        native = self._build(inputs, outputs, loss, labels, optimizer, sample_weight, weights, symbols, name,
                             (clip_norm, clip_value, keep_gradients, memory, planned_batch))
        device = _vx._device(device)
        targets = _vx._model._target_of(device, fallback) if targets is None else targets
        result, messages, module = native.compile({"targets": targets, **options})
        notes = _vx._tell(result, messages)
        model = _vx.Model(_vx.Module(module), device=device, fallback=fallback, threads=threads, seed=seed)
        model.notes = notes
        named = self.named_parameters()
        model._sizes_of_parameters = {key: _math.prod(one.shape) for key, one in named if not isinstance(one, Statistic)}
        model._kept = {key for key, one in named if not isinstance(one, Statistic) and not one.requires_grad}
        model._count_of_buffers = sum(_math.prod(one.shape) for _, one in named if isinstance(one, Statistic))
        return model

    def _build(self, inputs, outputs=None, loss=None, labels=None, optimizer=None, sample_weight=False, weights=None, symbols=None, name="model", training=(0.0, 0.0, False, 0, 0)):
        """The graph that compile compiles."""
        inputs = {key: _input(key, given) for key, given in inputs.items()}
        if loss is None:
            for key, given, usual in (("optimizer", optimizer, None), ("labels", labels, None), ("sample_weight", sample_weight, False)):
                if given != usual:
                    raise ValueError(f"compile: {key} is for a model that trains: give loss")
        native = _vx._load_compiler().Graph(name)
        for symbol, bounds in (symbols or {}).items():
            if not isinstance(bounds, (tuple, list)) or len(bounds) not in (2, 3):
                raise ValueError(f"symbols: '{symbol}': expected (least, most) or (least, most, multiple), got {bounds!r}")
            native.symbol(symbol, *bounds, *(() if len(bounds) == 3 else (1,)))
        with Build(native) as build:
            build.names = {id(module): path.replace(".", "/") for path, module in self.named_modules() if path}
            given = _arrays(self, weights)
            is_constant = weights is not None and loss is None
            if not is_constant:
                _add_variables(build, self, given)
            names, heads = _add_function(build, "predict", self, inputs, {}, outputs, None, given if is_constant else None)
            if loss is not None:
                step, extra = _make_loss(loss, labels, heads, names, sample_weight)
                _add_function(build, "evaluate", self, inputs, extra, names, step, None)
                rate = optimizer.lr if isinstance(optimizer, Optimizer) else 0.0
                freeze = ",".join(key for key, one in self.named_parameters() if not one.requires_grad and not isinstance(one, Statistic))
                native.train("evaluate", "predict", "adamw" if optimizer is None else str(optimizer), rate, *training[:2], freeze, *training[2:])
        return native


def _arrays(module, weights):
    """{name: array} of the first values that are given, or None. Raises ValueError for names and shapes that do not fit."""
    if weights is None:
        return None
    import numpy
    if isinstance(weights, (str, _os.PathLike)):
        weights = read_safetensors(weights)
    known, arrays = dict(module.named_parameters()), {}
    for key, value in weights.items():
        if key not in known:
            if key.endswith("num_batches_tracked"):
                continue # of PyTorch's batch norms
            raise ValueError(f"weights: the model has no parameter '{key}', but {', '.join(known) or 'none'}")
        array = numpy.asarray(_vx._values.to_array(_vx._to_tensor(value)))
        if array.shape != known[key].shape:
            raise ValueError(f"weights: '{key}': expected the shape {list(known[key].shape)}, got {list(array.shape)}")
        arrays[key] = numpy.ascontiguousarray(_vx._values.convert(array, known[key].dtype, key))
    missing = [key for key in known if key not in arrays]
    if missing:
        raise ValueError(f"weights: expected all of {', '.join(known)}, got none for {', '.join(missing)}")
    return arrays


def _add_variables(build, module, given):
    for key, parameter in module.named_parameters():
        init, data = parameter.init, None
        if given is not None:
            init, data = Init(5), given[key].tobytes()
        build.values[id(parameter)] = build.native.variable(key, ELEMENT_TYPES[parameter.dtype], list(parameter.shape), parameter._role, init.kind, init.a, init.b, data, place("variable"))


def _outputs(results, outputs):
    """The names and tensors of forward's results."""
    if isinstance(results, Tensor):
        results, names = [results], ["output"]
    elif isinstance(results, dict):
        results, names = list(results.values()), list(results)
    elif isinstance(results, (tuple, list)):
        results, names = list(results), [f"output_{i}" for i in range(len(results))]
    else:
        raise TypeError(f"forward: expected a tensor, a tuple of them, or a dict, got {type(results).__name__}")
    for one in results:
        if not isinstance(one, Tensor):
            raise TypeError(f"forward: expected tensors as results, got {type(one).__name__}")
    if outputs is not None:
        outputs = [outputs] if isinstance(outputs, str) else list(outputs)
        if len(outputs) != len(results):
            raise ValueError(f"outputs: expected {len(results)} names for the results of forward, got {len(outputs)}")
        names = outputs
    return names, results


def _add_function(build, name, module, inputs, extra, outputs, step, constants):
    """Adds a function over `inputs` and `extra`: the module's results, or with `step(results, tensors of extra)` the loss and metrics. Returns the names and (dtype, shape) of the
    module's results."""
    every = {**inputs, **extra}
    ids = build.native.begin_function(name, [(key, ELEMENT_TYPES[one.dtype], list(one.dims)) for key, one in every.items()], place("function"))
    tensors = dict(zip(every, (Tensor(build, one) for one in ids)))
    if constants is not None:
        for key, parameter in module.named_parameters():
            build.values[id(parameter)] = constant(constants[key], parameter.dtype)._id(build)
    raw = module(*(tensors[key] for key in inputs))
    names, results = _outputs(raw, outputs)
    heads = [(one.dtype, one.shape) for one in results]
    if step is None:
        build.native.end_function(names, [one._id(build) for one in results])
        return names, heads
    scores = step(raw, results, {key: tensors[key] for key in extra})
    build.native.end_function(list(scores), [one._id(build) for one in scores.values()])
    return names, heads


_ROWS = {"mse": lambda output, target: (output - target) ** 2, "l1": lambda output, target: F.abs(output - target),
         "bce": lambda output, target: -(target * F.clamp(F.log(output), min=-100) + (1 - target) * F.clamp(F.log(1 - output), min=-100)),
         "bce_logits": lambda output, target: F.relu(output) - output * target + F.softplus(-F.abs(output))}


def _make_loss(loss, labels, heads, names, sample_weight):
    """A function (results, their list, {name: tensor}) -> {"loss": ..., metrics}, and the inputs that it takes."""
    if callable(loss):
        if sample_weight:
            raise ValueError("sample_weight: expected a loss by its text, got a function, which takes weights among its labels")
        extra = {key: _input(key, given) for key, given in (labels or {}).items()}

        def own(raw, results, tensors):
            made = loss(raw, **tensors)
            made = made if isinstance(made, dict) else {"loss": made}
            if next(iter(made), None) != "loss" or not all(isinstance(one, Tensor) for one in made.values()):
                raise TypeError(f"loss: expected a tensor, or a dict of tensors that begins with 'loss', got {made!r}")
            return made

        return own, extra
    if labels is not None:
        raise ValueError("labels: expected a loss that is a function, got a text, whose input is 'label' or 'target'")
    kind, _, rest = str(loss).partition(":")
    output, *keys = rest.split(",") if rest and "=" not in rest.split(",")[0] else ["", *([rest] if rest else [])]
    if output and output not in names:
        raise ValueError(f"loss: expected an output of {', '.join(names)}, got '{output}'")
    at = names.index(output) if output else 0
    dtype, shape = heads[at]
    spec = ",".join([f"{kind}:", *(key for key in keys if key)])
    values = dict(key.partition("=")[::2] for part in keys for key in part.split(",") if key)
    if kind == "none":
        if sample_weight:
            raise ValueError("sample_weight: the loss 'none' takes no weights")
        return lambda raw, results, tensors: {"loss": results[at].mean() if results[at].ndim else results[at]}, {}
    if any(dim is None for dim in shape):
        raise ValueError(f"loss: expected an output whose sizes are known by number or name, got {shape}: give a function and labels")
    is_labels = kind in ("cross_entropy", "nll") and values.get("soft") not in ("true", "1")
    if is_labels:
        axis = int(values.get("axis", -1)) % max(len(shape), 1)
        extra = {"label": Input(*(dim for i, dim in enumerate(shape) if i != axis), dtype="i64")}
    else:
        extra = {"target": Input(*shape, dtype=dtype)}
    classes = values.get("class_weight")
    if classes is not None:
        if kind not in ("cross_entropy", "nll") or len(values) > 1:
            raise ValueError(f"class_weight: expected cross_entropy or nll without other keys, got '{loss}'; vx.compile of an ONNX file has all of them together")
        classes = _class_weights(classes, shape[-1])
    if sample_weight:
        extra["sample_weight"] = Input(shape[0] if shape else 1)
        if values.keys() - {"class_weight"} or kind not in ("cross_entropy", "nll", *_ROWS):
            raise ValueError(f"sample_weight: expected cross_entropy, nll, {', '.join(_ROWS)} without keys, got '{loss}'")

    def step(raw, results, tensors):
        head = results[at]
        target = tensors["label" if is_labels else "target"]
        weight = tensors["sample_weight"] if sample_weight else None
        if classes is not None:
            of_rows = F.embedding(target, constant(classes, "f32"))
            weight = of_rows if weight is None else of_rows * (weight if len(shape) == 2 else weight.reshape(-1, *[1] * (len(shape) - 2)))
        scores = {"loss": F._loss(spec, head, target, kind) if weight is None else _weighted(kind, head, target, weight)}
        if kind == "cross_entropy" and is_labels:
            scores["accuracy"] = F._loss(",".join(["cross_entropy:", *(f"{key}={value}" for key, value in values.items() if key in ("ignore_index", "axis"))]), head, target, "accuracy", 2)[1]
        return scores

    return step, extra


def _class_weights(text, classes):
    """The numbers of "1/0.5/2", one for each class."""
    import math
    try:
        weights = [float(part) for part in text.split("/")]
    except ValueError:
        weights = [-1.0]
    if not all(0 <= weight < math.inf for weight in weights):
        raise ValueError(f"class_weight: expected weights of at least 0, such as 1/0.5/2, got '{text}'")
    if len(weights) != classes:
        raise ValueError(f"class_weight: expected {classes} weights, one for each class, got {len(weights)}")
    return weights


def _weighted(kind, output, target, weight):
    """sum(weight * loss of the row) / sum(weight)"""
    if kind in ("cross_entropy", "nll"):
        rows = -F.pick(output if kind == "nll" else F.log_softmax(output), target)
    else:
        rows = _ROWS[kind](output, target)
    if rows.ndim > weight.ndim:
        rows = rows.mean(list(range(1, rows.ndim)))
    return (weight * rows).sum() / weight.sum()

