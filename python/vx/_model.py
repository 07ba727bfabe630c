"""A model from its file to results and training: an instance and a session in one object."""
import contextlib as _contextlib
import os as _os

import vx as _vx

from ._ahead import prepared
from ._cache import Entry, default_folder
from ._data import Batches, Columns, is_batches, weighted_loss
from ._fit import Fit, Sums, make_callbacks, run_batches
from ._history import History
from ._lora import LoRA, merge_file
from ._metrics import make_metrics, perplexity
from ._optimizers import Optimizer
from ._values import arguments, is_frame, to_array, to_input


def _is_module(path):
    with open(path, "rb") as file:
        return file.read(8).startswith(b"VXMODULE")


def _target_of(device, fallback):
    """The targets that a model is compiled for to run on a device."""
    name = device.partition(":")[0]
    target = {"auto": _vx.default_targets(), "null": "cpu", "cpu": "cpu"}.get(name, name)
    return target if not fallback or "cpu" in target.split(",") else target + ",cpu"


class Model:
    """A model on a device: runs, trains, evaluates and describes itself.

    `source`: the path of an ONNX file, of vx text (.mlir) or of a folder that vx-compile takes, which is compiled (wheel vx-compiler); the path of a module (.vxm), which is loaded; the
    bytes of an ONNX file or of a module; or a vx.Module. A file is compiled once: its module is kept in the cache (VX_CACHE) until the file, its weights, the options or the compiler
    change. `cache` False compiles it in memory.

    `device`, `fallback`, `threads` and `seed` are those of vx.Instance. `targets`: those of vx.compile; None: that of the device, and the CPU to fall back to. `options`: those of
    vx.compile. `lora`: a vx.LoRA, whose adapters are all that is trained. A model with `loss` trains; then `train` is "auto" and `optimizer` "adamw" unless they are given. `optimizer` may be an object, such as vx.AdamW(3e-4).

    `module` is the vx.Module, `inputs` and `outputs` are lists of {"name", "dtype", "shape"} in which sizes that a call binds are texts, `notes` are those of the compiler,
    `history` has the numbers of the last fit. One thread at a time may use a model that trains.

    Raises vx.CompileError for a model that does not compile, vx.Error for a module that does not load and a device that is refused, TypeError for options with a module."""

    def __init__(self, source, device=None, targets: str | None = None, fallback: bool = True, threads: int = 0, seed: int = 0, cache: bool = True, **options):
        self._place = {"device": _vx._device(device), "fallback": fallback, "threads": threads, "seed": seed}
        self._rate, self._kept = None, set() # names of parameters that no step changes
        if not hasattr(self, "_sizes_of_parameters"):
            self._sizes_of_parameters, self._count_of_buffers = None, None # of a module of PyTorch or of vx.nn, as {name: elements} and a sum
        self._source, self._targets, self._cache, self._options = source, targets, cache, self._plain(options)
        self._is_compiled = self._wants_compiler(source)
        self.notes, self.history, self._fits, self._going, self._last_batch = [], None, 0, None, 0
        if not self._is_compiled and (options or targets is not None):
            name = next(iter(options), "targets")
            raise TypeError(f"vx.Model: '{name}' is for a model that is compiled, and {source if isinstance(source, (str, _os.PathLike)) else 'this'} is a module")
        self._load(self._compile(self._options) if self._is_compiled else source)

    def _plain(self, options):
        """The options with the optimizer as text. The optimizer's learning rate is kept for each fit that gives no `rate`."""
        loss, optimizer = options.get("loss"), options.get("optimizer")
        if loss is not None and not isinstance(loss, str):
            raise TypeError(f"loss: expected a text such as 'cross_entropy' or 'mse', got {_class_of(loss)}; a loss of your own is a function for vx.nn, or an output of the model and 'none:OUTPUT'")
        if optimizer is not None and not isinstance(optimizer, (str, Optimizer)):
            raise TypeError(f"optimizer: expected an object such as vx.AdamW(3e-4), or a text such as 'adamw', got {_class_of(optimizer)}")
        if not isinstance(optimizer, Optimizer):
            return options
        self._rate = optimizer.lr
        return {**options, "optimizer": str(optimizer)}

    @staticmethod
    def _wants_compiler(source):
        if isinstance(source, _vx.Module):
            return False
        if isinstance(source, bytes):
            return not source.startswith(b"VXMODULE")
        path = _os.fspath(source)
        return _os.path.isdir(path) or not _is_module(path)

    def _compile(self, options):
        options = dict(options)
        if options.get("loss") is not None or options.get("train") is not None:
            options.setdefault("train", "auto")
            options.setdefault("optimizer", "adamw")
        targets = _target_of(self._place["device"], self._place["fallback"]) if self._targets is None else self._targets
        if self._cache and default_folder():
            options.setdefault("cache_folder", default_folder())
        lora = options.pop("lora", None)
        if lora is not None:
            return self._compile_adapters(lora, targets, options)
        if isinstance(self._source, bytes):
            return _vx.Module(_vx.compile_bytes(self._source, targets=targets, **options))
        path = _os.fspath(self._source)
        entry = Entry(path, {"targets": targets, **options}, _vx.compiler_version()) if self._cache else None
        if entry is None or entry.path is None:
            if _os.path.isdir(path):
                raise ValueError(f"vx.Model: '{path}' is a folder, which is compiled into the cache: expected cache=True, and VX_CACHE, XDG_CACHE_HOME or HOME to be a folder to write to")
            with open(path, "rb") as file:
                model = file.read()
            return _vx.Module(_vx.compile_bytes(model, _os.path.basename(path), targets=targets, data_folder=_os.path.dirname(path) or ".", **options))
        if _os.path.exists(entry.path):
            try:
                return _vx.Module(entry.path)
            except _vx.Error:
                pass # damaged, or of another version: made again
        self.notes = _vx.compile(path, entry.path, targets=targets, **options)
        entry.remove_older()
        return _vx.Module(entry.path)

    def _compile_adapters(self, lora, targets, options):
        """Compiles the model with the adapters of vx.LoRA, which are all that is trained."""
        if not isinstance(lora, LoRA):
            raise TypeError(f"lora: expected a vx.LoRA, got {type(lora).__name__}")
        for name, usual in (("train", "auto"), ("init", None), ("freeze", None), ("classes", None)):
            if options.get(name) not in (None, usual):
                raise ValueError(f"lora, {name}: expected one of them, got both: with adapters these alone are trained")
        if options.get("loss") is None:
            raise ValueError("lora: expected a model that trains: give loss")
        if isinstance(self._source, bytes):
            model, place = self._source, {}
        else:
            path = _os.fspath(self._source)
            if _os.path.isdir(path) or path.endswith(".mlir"):
                raise ValueError(f"lora: expected an ONNX file, got '{path}'")
            with open(path, "rb") as file:
                model = file.read()
            place = {"name": _os.path.basename(path), "data_folder": _os.path.dirname(path) or "."}
        model, names = lora.add(model)
        return _vx.Module(_vx.compile_bytes(model, targets=targets, **place, **{**options, "train": ",".join(names)}))

    def _load(self, source):
        self.module = source if isinstance(source, _vx.Module) else _vx.Module(source)
        self._functions = {function["name"]: function for function in self.module.functions()}
        description = self.module.describe()
        self._training = description.get("training")
        self._variables = description["variables"]
        self._session = self._instance = None
        if self._training:
            self._session = _vx.Session(self.module, **self._place)
            # Of a module without a function of prediction the inputs of the evaluation without those of the loss are not known.
            self._main = self._training.get("predict") or self._training.get("evaluate") or self._training["train_step"]
        else:
            self._instance = _vx.Instance(self.module, **self._place)
            self._main = next(iter(self._functions))
        self.inputs, self.outputs = self._functions[self._main]["inputs"], self._functions[self._main]["outputs"]
        if self._training:
            step = {entry["name"]: entry for entry in self._functions[self._training["train_step"]]["inputs"]}
            self._columns = Columns(self.inputs, [step[name] for name in self._training["inputs"]], self._training["loss"])

    def __call__(self, *arrays, **named) -> dict:
        """Runs the model and returns its outputs by name, as NumPy arrays (a vx.Tensor for a type that NumPy has not).

        Inputs come by position, by name, as one dict, or as one frame of pandas with a column for each input; a frame for one input is a matrix. Each may be a list, a number, an array
        of NumPy of any layout and byte order, a tensor of torch (with requires_grad too), or anything with DLPack. Its elements may be of any float or integer type, if the input's type
        holds each value; floats are rounded to the nearest.

        Raises TypeError for inputs that are missing, unknown, or no numbers; ValueError with the first value that the type does not hold, and its index; vx.Error for wrong shapes."""
        return self.run(self._main, *arrays, **named)

    def run(self, function: str, /, *arrays, **named) -> dict:
        """The same for any function of the module. Raises KeyError for a function that it has not."""
        if self._instance is not None:
            return self._instance.run(function, *arrays, **named)
        inputs, outputs = arguments(self._functions, function, arrays, named)
        return {name: to_array(result) for name, result in zip(outputs, self._session._own.run(function, inputs))}

    def predict(self, x, batch_size: int = 0) -> dict:
        """Returns the outputs by name for all rows of `x`, which is computed `batch_size` rows at a time; 0: those of the last fit, of the module, or 32.

        `x`: an array, a list, a dict or frame by the inputs' names, or an iterable of batches of these or of (x, y), of which y is left out. The first dimension of each input is the rows, of
        which all have equally many. Outputs have as many. Raises as calling the model does, and ValueError for a model whose inputs or outputs have no rows in common."""
        batch_size = _vx._whole("batch_size", batch_size, 0, 2**31 - 1)
        if is_batches(x):
            parts = [self.predict(tuple(batch)[0] if isinstance(batch, (tuple, list)) else batch, batch_size) for batch in Batches(x).epoch(1)]
            return _join(parts, [entry["name"] for entry in self.outputs])
        if self._session is not None:
            tensors = self._columns.arrange(x, needs_targets=False)
            return self._session.predict({entry["name"]: tensors[entry["name"]] for entry in self.inputs}, batch_size)
        return self._predict_rows(x, batch_size)

    def _predict_rows(self, x, batch_size):
        from ._data import rows_of
        sizes = {str(entry["shape"][0]) if entry["shape"] else "none" for entry in [*self.inputs, *self.outputs]}
        if len(sizes) != 1 or "none" in sizes:
            raise ValueError(f"predict: expected a model whose inputs and outputs have one number of rows, got {', '.join(sorted(sizes))}; call the model itself")
        tensors = Columns(self.inputs, [], "").arrange(x, needs_targets=False)
        rows, size = rows_of(tensors), self.inputs[0]["shape"][0]
        if isinstance(size, int):
            if batch_size not in (0, size) or rows % size:
                raise ValueError(f"predict: expected batches of {size} rows, which the model is compiled for, got {f'batch_size {batch_size}' if batch_size else f'{rows} rows'}")
            batch_size = size
        batch_size = batch_size or self._last_batch or 32
        if rows <= batch_size:
            return self._instance.run(self._main, **tensors)
        arrays = {name: to_array(tensor) for name, tensor in tensors.items()}
        parts = [self._instance.run(self._main, **{name: array[begin:begin + batch_size] for name, array in arrays.items()}) for begin in range(0, rows, batch_size)]
        return _join(parts, [entry["name"] for entry in self.outputs])

    def _want_training(self, what):
        if self._session is None:
            raise ValueError(f"{what}: expected a model with a loss: give loss='cross_entropy' (and optimizer=...) to vx.Model, or a module of vx-compile --train")

    def evaluate(self, x, y=None, batch_size: int = 0, sample_weight=None, metrics=()) -> dict:
        """Returns the loss and the metrics over all rows: {"loss": ..., "accuracy": ...}. They are sums divided by their counts, and so do not depend on the size of batches.

        `x`, `y`: as fit takes them. `metrics`: more than the module computes: "perplexity", "top_K" (as "top_5"), "mae", "mse", "auc", "f1", or objects of vx.Metric. Raises as fit does."""
        self._want_training("evaluate")
        batch_size = _vx._whole("batch_size", batch_size, 0, 2**31 - 1)
        made, has_perplexity = make_metrics(metrics, self._training["metrics"], self._training["loss"])
        if is_batches(x, y):
            batches, what = x, "data"
            return self._score(lambda: self._parts(Batches(batches, what=what), batch_size), made, has_perplexity)
        if sample_weight is not None:
            self._take_weights()
        tensors = self._columns.arrange(x, y, sample_weight)
        return self._score(lambda: [(tensors, batch_size)], made, has_perplexity)

    def _parts(self, batches, batch_size, prefetch=None):
        """(columns, rows of a call) of each batch, which a thread fetches ahead."""
        depth = (0 if batches.is_iterator else 2) if prefetch is None else prefetch
        with _contextlib.closing(prepared(batches.epoch(1), lambda batch: self._columns.arrange(_pair(batch)), depth)) as made:
            for get in made:
                yield get(), batch_size

    def _score(self, parts, metrics, has_perplexity):
        """The means over parts, each with all columns and the rows of a call."""
        sums = Sums()
        for metric in metrics:
            metric.reset()
        for tensors, batch_size in parts():
            sums.add(*self._session._own.evaluate(list(tensors.items()), batch_size))
            if metrics:
                self._update(metrics, tensors, batch_size)
        scores = sums.means()
        scores.update({metric.name: metric.result() for metric in metrics})
        if has_perplexity:
            scores["perplexity"] = perplexity(scores["loss"])
        return scores

    def _update(self, metrics, tensors, batch_size):
        if not self._columns.targets:
            raise ValueError(f"metrics: '{metrics[0].name}' is of outputs and targets, and the loss of this module takes no targets")
        outputs = self._session.predict({entry["name"]: tensors[entry["name"]] for entry in self.inputs}, batch_size)
        target = to_array(tensors[self._columns.targets[0]["name"]])
        for metric in metrics:
            metric.update(next(iter(outputs.values())), target)

    def fit(self, x, y=None, *, epochs: int = 1, batch_size: int = 0, validation_data=None, validation_split: float = 0.0, callbacks=(), metrics=(), class_weight=None, sample_weight=None,
            loss: str | None = None, optimizer=None, rate: float | None = None, schedule: str = "constant", warmup: int = 0, accumulate: int = 1,
            shuffle: bool = True, steps_per_epoch: int | None = None, prefetch: int | None = None, stop_on_nan: bool = False, seed: int | None = None, verbose: int = 1) -> History:
        """Trains for `epochs` more epochs, and returns a vx.History. Each fit begins its schedule and counts its steps and epochs anew; weights and the optimizer's state go on.

        `x`, `y`: arrays with all rows, as predict takes them, `y` for the loss; or x is (x, y), or (x, y, sample_weight), or a dict with both. `y` may be a dict by the names of the
        targets. Or x is an iterable of batches of these, such as a DataLoader: it is iterated once for each epoch, and has as many steps as batches. An iterator ends once: for
        several epochs, or a schedule, it needs `steps_per_epoch`. Rows of arrays are drawn in a new order in each epoch, with `shuffle` False in their own; batches are not.

        `prefetch`: how many batches of an iterable, of the validation too, a thread fetches and converts while a step runs; 0: none. None: 2, or 0 for an iterator, since a generator may depend on the steps. A
        generator with `prefetch` runs on that thread and must not use the model. When fit ends early, the batches that were fetched are lost to an iterator.

        `batch_size`: rows of a step; 0: those of the module, or 32. `validation_data`: (x, y), a dict, or an iterable of batches, evaluated after each epoch. `validation_split`: the
        share of the rows, from the end, that is not trained on but evaluated. `callbacks`: objects of vx.Callback, called in their order. `metrics`: those of evaluate, for the
        validation. `class_weight`: {class: weight}, or `sample_weight`: a number for each row; 0 or more. The loss is the sum of the weighted losses
        divided by the sum of the weights, over a batch and over an epoch; metrics are not weighted, and `class_weight` does not count in the validation. A model whose loss takes no weights is
        compiled once more for the first fit with some, and goes on with its weights and the optimizer's state; so it is for the first one with `accumulate`. Batches of an iterable have weights as (x, y, sample_weight), if the
        model has a loss such as "cross_entropy:sample_weight=true".

        `loss` and `optimizer` compile a model that has none yet, as vx.Model does. `optimizer`: an object such as vx.AdamW(3e-4), or its text. `rate`: the learning rate; None: that of the
        optimizer's object, of the module, or 1e-3. `schedule`, `warmup`, `accumulate`
        and `stop_on_nan` are those of Session.fit; `accumulate` and `stop_on_nan` are not for iterables. `seed`: of the order of the rows and of dropouts; None: another one for each
        fit, from that of the model. `verbose`: 0 nothing; 1 a line for each epoch, and a bar on a terminal; 2 a line for each epoch.

        An exception of a callback or of the data, and Ctrl-C, end the fit after the current step. The weights of that step stay, `model.history` has the epochs before, and the next
        fit works. A second Ctrl-C cancels that step as well; over an iterable the first does so.

        Raises TypeError and ValueError for arguments and data that do not fit, before the first step if they are arrays; vx.TrainError for labels out of range, with the row; vx.Error
        for a step that fails. For batches the message begins with the epoch and the batch."""
        if self._going is not None:
            raise RuntimeError("fit: expected no fit that goes on, got one: a callback cannot begin another")
        self._make_trainable(loss, self._plain({"loss": loss, "optimizer": optimizer})["optimizer"])
        rate = self._rate if rate is None else rate
        epochs, batch_size = _vx._whole("epochs", epochs, 1), _vx._whole("batch_size", batch_size, 0, 2**31 - 1)
        if steps_per_epoch is not None:
            steps_per_epoch = _vx._whole("steps_per_epoch", steps_per_epoch, 1)
        if validation_split and validation_data is not None:
            raise ValueError("validation_data, validation_split: expected one of them, got both")
        extra, has_perplexity = make_metrics(metrics, self._training["metrics"], self._training["loss"])
        self._less = {metric.name for metric in extra if metric.is_better_when_less}
        form = (*_vx._schedule(schedule), self._session._own.usual_rate() if rate is None else float(rate), _vx._whole("warmup", warmup))
        named = {"epochs": epochs, "batch": batch_size, "rate": rate, "schedule": schedule, "warmup": warmup, "accumulate": accumulate, "stop_on_nan": stop_on_nan}
        seed = self._place["seed"] + self._fits if seed is None else seed
        columns = batches = None
        if is_batches(x, y):
            for name, value, usual in (("validation_split", validation_split, 0.0), ("sample_weight", sample_weight, None), ("class_weight", class_weight, None), ("accumulate", accumulate, 1),
                                       ("stop_on_nan", stop_on_nan, False), ("batch_size", batch_size, 0)):
                if value != usual:
                    raise ValueError(f"fit: {name} is for arrays, and the data is an iterable of batches")
            batches = Batches(x, steps_per_epoch)
            prefetch = (0 if batches.is_iterator else 2) if prefetch is None else _vx._whole("prefetch", prefetch, 0, 2**16)
        else:
            if prefetch is not None:
                raise ValueError("fit: prefetch is for an iterable of batches, and the data is arrays")
            if steps_per_epoch is not None:
                raise ValueError("fit: steps_per_epoch is for an iterable of batches, and the data is arrays")
            if sample_weight is not None or class_weight is not None or (isinstance(x, tuple) and len(x) == 3 and y is None):
                self._take_weights()
            columns = self._columns.arrange(x, y, sample_weight, class_weight)
            if not shuffle and (accumulate != 1 or stop_on_nan):
                raise ValueError(f"fit: {'accumulate' if accumulate != 1 else 'stop_on_nan'} is for rows in a new order for each epoch: expected shuffle=True")
            if accumulate != 1:
                self._take_gradients()
        if validation_split:
            columns, validation = self._columns.split(columns, validation_split)
            validation_data = {name: validation[name] for name in validation}
        if columns is not None and not shuffle:
            batches, columns, prefetch = Batches(self._slices(columns, batch_size)), None, 0
        if extra and validation_data is None:
            raise ValueError(f"metrics: '{extra[0].name}' is computed over the validation: expected validation_data or validation_split, got none")
        of_arrays, validate = self._validation(validation_data, columns is not None, batch_size, extra, has_perplexity, prefetch)
        plan = {"epochs": epochs, "steps_per_epoch": batches.length if batches else self._steps(columns, batch_size, accumulate), "rows": None if batches else _rows(columns)}
        fit = self._going = Fit(self, self._session._own, make_callbacks(callbacks, verbose), validate, has_perplexity, plan)
        self._fits += 1
        self.history = fit.so_far()
        try:
            self._session._own.restart()
            fit.begin()
            if batches is not None:
                names = self._training["inputs"]
                facts = run_batches(fit, batches, lambda batch: self._columns.arrange(_pair(batch)), names, epochs, form, prefetch)
                facts.update(optimizer=self._training["optimizer"], loss=self._training["loss"], schedule=schedule, seed=self._place["seed"])
            else:
                done = self._session.fit(columns, **named, seed=seed, validation=of_arrays, on_step=fit.on_step if fit.sees_steps else None, on_epoch=fit.on_epoch)
                facts = dict(vars(done))
            self.history = fit.end(facts)
        except BaseException:
            self.history = fit.so_far()
            raise
        finally:
            self._going = None
        return self.history

    def _make_trainable(self, loss, optimizer):
        if self._session is not None:
            for name, given, own in (("loss", loss, self._training["loss"]), ("optimizer", optimizer, self._training["optimizer"])):
                if given is not None and own.partition(":")[0] != given.partition(":")[0]:
                    raise ValueError(f"fit: {name}: the model is compiled with '{own}', got '{given}': make another vx.Model")
            return
        if loss is None or not self._is_compiled:
            self._want_training("fit")
        self._options = {**self._options, "loss": loss, **({} if optimizer is None else {"optimizer": optimizer})}
        self._load(self._compile(self._options))

    def _take_weights(self):
        """Compiles the model once more where its loss takes no weights of rows; its variables go on."""
        if not self._columns.weights and self._is_compiled and self._columns.targets:
            self._recompile({**self._options, "loss": weighted_loss(self._options["loss"])})

    def _take_gradients(self):
        """Compiles the model once more where it keeps no gradients, which steps of several batches add up. Raises ValueError for a module without them."""
        if self._training.get("backward"):
            return
        if not self._is_compiled:
            raise ValueError("fit: accumulate: expected a module that keeps its gradients, got one that does not: compile it with keep_gradients=True (vx-compile --keep-gradients)")
        self._recompile({**self._options, "keep_gradients": True})

    def _recompile(self, options):
        """Compiles the model with other options; its variables go on."""
        old, roles = self._session, ("parameter", "statistic", "optimizer", "counter")
        values = {one["name"]: old.read_variable(one["name"]) for one in self._variables if one["role"] in roles}
        self._load(self._compile(options))
        self._options = options
        for name, value in values.items():
            self._session.write_variable(name, value)

    def _step_size(self, batch_size):
        """The rows of a step, and whether the module fixes them."""
        size = self._functions[self._training["train_step"]]["inputs"][0]["shape"][0]
        return (size, True) if isinstance(size, int) else (batch_size or 32, False)

    def _slices(self, columns, batch_size):
        """Batches of rows in their order, as a list of dicts. Raises ValueError for rows that a module with a fixed size does not divide."""
        (size, is_fixed), rows = self._step_size(batch_size), _rows(columns)
        if is_fixed and (batch_size not in (0, size) or rows % size):
            raise ValueError(f"fit: expected batches of {size} rows, which the model is compiled for, got {f'batch_size {batch_size}' if batch_size not in (0, size) else f'{rows} rows'}")
        arrays = {name: to_array(tensor) for name, tensor in columns.items()}
        self._last_batch = size
        return [{name: array[begin:begin + size] for name, array in arrays.items()} for begin in range(0, rows, size)]

    def _steps(self, columns, batch_size, accumulate):
        (size, is_fixed), rows = self._step_size(batch_size), _rows(columns)
        return -(-(rows // size if is_fixed else -(-rows // size)) // accumulate)

    def _validation(self, data, trains_arrays, batch_size, metrics, has_perplexity, prefetch):
        """The arrays that Session.fit evaluates itself, or None; and a function that gives the other scores of the validation, or None. Errors in arrays are found here."""
        if data is None:
            return None, None
        if isinstance(data, (list, tuple, dict)) and not data:
            raise ValueError("validation_data: expected (x, y), a dict of arrays, or an iterable of batches, got none of them: " + repr(data))
        if is_batches(data):
            if hasattr(data, "__next__"):
                raise TypeError("validation_data: expected arrays, or an iterable that begins again for each epoch, got an iterator, which ends once")
            return None, lambda: self._score(lambda: self._parts(Batches(data, what="validation_data"), 0, prefetch), metrics, has_perplexity)
        tensors = self._columns.arrange(data)
        if not trains_arrays:
            return None, lambda: self._score(lambda: [(tensors, batch_size)], metrics, has_perplexity)

        def others():
            for metric in metrics:
                metric.reset()
            if metrics:
                self._update(metrics, tensors, batch_size)
            return {metric.name: metric.result() for metric in metrics}

        return tensors, others

    def is_better_when_less(self, name: str) -> bool:
        """Whether less of a score is better, as EarlyStopping asks: of losses, perplexity, and metrics that say so."""
        return name in ("loss", "perplexity") or name in getattr(self, "_less", ())

    def stop(self, reason: str = "stopped") -> None:
        """Ends the fit that goes on after its step. `stopped` of its history is the reason. For callbacks and other threads."""
        if self._going is not None:
            if self._going.reason is None:
                self._going.reason = reason
            self._session.stop()

    def scale_rate(self, factor: float) -> None:
        """Multiplies the learning rate of all further steps of the fit that goes on. For callbacks. Raises ValueError for a factor that is not finite or less than 0."""
        if not 0 <= factor < float("inf"):
            raise ValueError(f"scale_rate: expected a factor of 0 or more, got {factor}")
        if self._going is not None:
            self._going.scale_rate(factor)

    def _weights(self):
        """The names of the variables that hold the weights, without the pools that they lie in."""
        weights = [one for one in self._variables if one["role"] in ("parameter", "statistic")]

        def is_pool(one):
            return any(other is not one and other["storage"] == one["storage"] and one["offset"] <= other["offset"] and other["offset"] + other["size"] <= one["offset"] + one["size"]
                       and other["size"] < one["size"] for other in weights)

        return [one["name"] for one in weights if not is_pool(one)]

    def get_weights(self) -> dict:
        """Copies of the parameters and running statistics, as {name: array}: by the names of the model's initializers, which are those of PyTorch's modules in their exports."""
        owner = self._session or self._instance
        return {name: owner.read_variable(name) for name in self._weights()}

    def set_weights(self, weights: dict) -> None:
        """Sets variables by name; each array has the variable's type and shape."""
        owner = self._session or self._instance
        for name, array in weights.items():
            owner.write_variable(name, array)

    def save(self, path, only_weights: bool = False) -> None:
        """Writes the trained weights. "NAME.vxm" is a module with the trained weights, for every target that the model was compiled for; the state of the optimizer is not in it.
        "NAME.safetensors" is a checkpoint of training or, with `only_weights`, the weights alone.

        Raises ValueError for another ending, vx.TrainError or vx.Error if the file cannot be written; then the file of this name is the old one."""
        self._want_training("save")
        path = _os.fspath(path)
        if path.endswith(".vxm") and not only_weights:
            self._session.save_module(path)
        elif path.endswith(".safetensors"):
            self._session.save(path, only_weights)
        else:
            raise ValueError(f"save: expected a file .safetensors{'' if only_weights else ' or .vxm'}, got '{path}'")

    def load(self, path) -> list:
        """Loads a file of `save`, or weights such as those of a state dict of PyTorch (safetensors). Returns notes. Raises vx.TrainError with the tensors that do not fit."""
        self._want_training("load")
        return self._session.load(path)

    def export(self, path, form: str = "inference") -> None:
        """Writes the ONNX model with the trained weights. `form`: "inference", without dropouts and with batch norms that use their running statistics; "training", as the model's
        file says. Raises ValueError for another form, vx.TrainError for a module that was not made of an ONNX model."""
        self._want_training("export")
        path = _os.fspath(path)
        if self._options.get("lora") is None:
            self._session.export_onnx(path, form)
            return
        part = f"{path}.adapters" # the file of this name stays until the merged one is complete
        try:
            self._session.export_onnx(part, form)
            merge_file(part)
            _os.replace(part, path)
        finally:
            if _os.path.exists(part):
                _os.remove(part)

    def summary(self) -> str:
        """The inputs and outputs, the device, and of a model that trains each parameter, the optimizer and the loss, as text."""
        def line(entries):
            return ", ".join(f"{entry['name']}: {entry['dtype']}[{','.join(map(str, entry['shape']))}]" for entry in entries)

        text = f"inputs   {line(self.inputs)}\noutputs  {line(self.outputs)}\ndevice   {self.report()['taken']['device']}\n"
        if self._session is not None:
            return text + f"loss     {self._training['loss']}\noptimizer {self._training['optimizer']}\n\n" + self._session.summary() + self._sums_text()
        return text + f"weights  {sum(section['size'] for section in self.module.describe()['constants'])} bytes of constants\n"

    def _sums_text(self):
        """The numbers of elements that are trained and those that are not, as PyTorch counts them where the model was made of a module; a file has frozen weights among its constants."""
        trained = {one["name"]: one["elements"] for one in self._parameters() if one["name"] not in self._kept}
        if self._sizes_of_parameters is None:
            return f"trainable {sum(trained.values())}\nbuffers   {sum(one['elements'] for one in self._parameters('statistic'))}\n"
        frozen = sum(size for name, size in self._sizes_of_parameters.items() if name not in trained)
        return f"trainable {sum(trained.values())}\nfrozen    {frozen}\nbuffers   {self._count_of_buffers}\n"

    def _parameters(self, role="parameter"):
        import math
        names = set(self._weights())
        return [{"name": one["name"], "elements": math.prod(one["dims"])} for one in self._variables if one["role"] == role and one["name"] in names]

    def report(self) -> dict:
        """The device report: which device was taken, and why each other one was refused."""
        return (self._session or self._instance).report()

    def __str__(self):
        return (self._session or self._instance)._own.report_text()

    def __repr__(self):
        return f"vx.Model({', '.join(entry['name'] for entry in self.inputs)} -> {', '.join(entry['name'] for entry in self.outputs)}, on {self.report()['taken']['device']})"


def _class_of(value):
    return value.__qualname__ if callable(value) and hasattr(value, "__qualname__") else f"{type(value).__module__}.{type(value).__qualname__}"


def _pair(batch):
    """A batch of a DataLoader, which gives lists."""
    return tuple(batch) if isinstance(batch, list) else batch


def _rows(columns):
    from ._data import rows_of
    return rows_of(columns)


def _join(parts, names):
    import numpy
    return {name: numpy.concatenate([part[name] for part in parts]) for name in names}
