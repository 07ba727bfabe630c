"""The data of fit, evaluate and predict: arrays with all rows, or batches that an iterable gives."""
from ._values import by_column, is_frame, plain, root_of, to_array, to_input


def _is_array(value):
    return hasattr(value, "__dlpack__") or hasattr(value, "__array__") or root_of(value) == "pandas" or is_frame(value)


def is_batches(x, y=None):
    """Whether data is an iterable of batches and no array: a DataLoader, a generator, or a list of tuples or dicts without `y`."""
    if y is not None or isinstance(x, (dict, tuple, str, bytes)) or _is_array(x):
        return False
    if isinstance(x, list):
        return bool(x) and all(isinstance(batch, (tuple, dict)) for batch in x)
    if not hasattr(x, "__iter__") and not hasattr(x, "__next__"):
        text = "; give it to a torch.utils.data.DataLoader, which makes batches" if hasattr(x, "__getitem__") else ""
        raise TypeError(f"data: expected arrays, a dict of them, or an iterable of batches, got {type(x).__name__}{text}")
    return True


def _named(values, entries, what):
    """{name: array} for these inputs: from a dict, a frame with their columns, a tuple in their order, or one array."""
    names = [entry["name"] for entry in entries]
    if isinstance(values, dict):
        unknown = [name for name in values if name not in names]
        if unknown:
            raise TypeError(f"{what}: the model has no input '{unknown[0]}', but {', '.join(names)}")
        return dict(values)
    if is_frame(values) and (columns := by_column(values, entries)):
        return columns
    if len(entries) > 1:
        if not isinstance(values, (tuple, list)) or len(values) != len(entries):
            got = f"{len(values)} of them" if isinstance(values, (tuple, list)) else type(values).__name__
            raise TypeError(f"{what}: expected a dict of arrays, or a tuple of {len(entries)} for {', '.join(names)}, got {got}")
        return dict(zip(names, values))
    return {names[0]: values}


def weighted_loss(loss):
    """The text of a loss that takes a weight for each row."""
    return f"{loss}{',' if ':' in loss else ':'}sample_weight=true"


def ignored_index(loss):
    """The label that does not count; None: there is none."""
    for entry in loss.partition(":")[2].split(","):
        if entry.startswith("ignore_index="):
            return int(entry.partition("=")[2])
    return None


def _weights_of_samples(given, shape):
    """Weights of rows in the shape of what the loss is computed for; those of whole rows count for each element of it. Raises ValueError."""
    import numpy
    weights = numpy.asarray(to_array(given) if hasattr(given, "__dlpack__") else plain(given), numpy.float64)
    if weights.shape != shape[:weights.ndim] or not weights.ndim:
        raise ValueError(f"sample_weight: expected {shape[0]} weights, one for each row{f', or an array of {list(shape)}' if len(shape) > 1 else ''}, got {list(weights.shape)}")
    wrong = ~(numpy.isfinite(weights) & (weights >= 0))
    if wrong.any():
        place = tuple(int(i) for i in numpy.argwhere(wrong)[0])
        raise ValueError(f"sample_weight: expected weights of 0 or more, got {weights[place]} in row {place[0]}")
    return weights.reshape(weights.shape + (1,) * (len(shape) - weights.ndim))


class Columns:
    """How the data of a model are divided: `inputs` are those of its prediction, `targets` what its loss takes beside them, without `weights`, the names of inputs for weights of
    rows."""

    WEIGHTS = ("sample_weight", "weight")

    def __init__(self, inputs, step, loss):
        names = [entry["name"] for entry in inputs]
        beside = [entry for entry in step if entry["name"] not in names]
        self.inputs, self.loss = inputs, loss
        self.targets = [entry for entry in beside if entry["name"] not in self.WEIGHTS]
        self.weights = [entry for entry in beside if entry["name"] in self.WEIGHTS]
        self.entries = {entry["name"]: entry for entry in [*inputs, *step]}

    def arrange(self, x, y=None, sample_weight=None, class_weight=None, needs_targets=True):
        """{name: vx.Tensor} of x, y and weights. x may be (x, y) or (x, y, sample_weight), or a dict that has the targets too.

        Raises TypeError and ValueError that name the input; ValueError for weights that the loss does not take."""
        if y is None and isinstance(x, tuple) and needs_targets and self.targets:
            if not 2 <= len(x) <= 3:
                raise TypeError(f"data: expected (x, y) or (x, y, sample_weight), got a tuple of {len(x)}")
            if len(x) == 3 and sample_weight is not None:
                raise TypeError("sample_weight is given twice: in the data, and as an argument")
            x, y, sample_weight = x[0], x[1], x[2] if len(x) == 3 else sample_weight
        if isinstance(x, dict) and y is None:
            own = {entry["name"] for entry in self.inputs}
            y = {name: value for name, value in x.items() if name not in own and name in self.entries} or None
            x = {name: value for name, value in x.items() if not y or name not in y}
        given = _named(x, self.inputs, "x")
        if y is not None and self.targets:
            given.update(_named({name: value for name, value in y.items()} if isinstance(y, dict) else y, [*self.targets, *(self.weights if isinstance(y, dict) else [])], "y"))
        wanted = [*self.inputs, *(self.targets if needs_targets else [])]
        missing = [entry["name"] for entry in wanted if entry["name"] not in given]
        if missing:
            raise TypeError(f"data: expected {', '.join(entry['name'] for entry in wanted)}, got none for {', '.join(missing)}")
        tensors = {name: to_input(value, self.entries[name]) for name, value in given.items()}
        if needs_targets:
            self._weigh(tensors, sample_weight, class_weight)
        return tensors

    def _weigh(self, tensors, sample_weight, class_weight):
        if class_weight is None and sample_weight is None and (not self.weights or self.weights[0]["name"] in tensors):
            return
        if class_weight is not None and sample_weight is not None:
            raise ValueError("class_weight, sample_weight: expected one of them, got both")
        import numpy
        if not self.weights:
            what = "class_weight" if class_weight is not None else "sample_weight"
            raise ValueError(f"{what}: the loss '{self.loss}' of this module takes no weights: expected a module whose training step has an input 'sample_weight'; compile it with "
                             f"loss='{weighted_loss(self.loss)}'")
        entry = self.weights[0]
        rank = len(entry["shape"])
        shape = tuple(tensors[self.targets[0]["name"]].shape)[:rank] if self.targets else (rows_of(tensors),)
        weights = numpy.ones(shape, numpy.float32) # each row counts once
        if class_weight is not None:
            weights = self._weights_of_classes(to_array(tensors[self.targets[0]["name"]]), class_weight)
        if sample_weight is not None:
            weights = weights * _weights_of_samples(sample_weight, shape)
        tensors[entry["name"]] = to_input(weights.astype(numpy.float32), entry)

    def _weights_of_classes(self, labels, class_weight):
        import numpy
        if labels.dtype.kind not in "iu":
            raise ValueError(f"class_weight: expected labels that are classes, got {labels.dtype}")
        if not isinstance(class_weight, dict):
            raise TypeError(f"class_weight: expected a dict of weights by class, got {type(class_weight).__name__}")
        ignored = ignored_index(self.loss)
        unknown = set(numpy.unique(labels).tolist()) - set(class_weight) - {ignored}
        if unknown:
            raise ValueError(f"class_weight: expected a weight for each class of the labels, got none for {min(unknown)}")
        weights = numpy.zeros(labels.shape, numpy.float32)
        for label, weight in class_weight.items():
            if not 0 <= weight < float("inf"):
                raise ValueError(f"class_weight: expected a weight of 0 or more for class {label}, got {weight}")
            weights[labels == label] = weight
        return weights

    def split(self, tensors, share):
        """Two dicts without a common row: the first rows, and the last `share` of them, at least one row each."""
        if not 0 < share < 1:
            raise ValueError(f"validation_split: expected a share between 0 and 1, got {share}")
        rows = rows_of(tensors)
        if rows < 2:
            raise ValueError(f"validation_split: expected 2 rows or more, got {rows}")
        first = min(max(rows - round(rows * share), 1), rows - 1)
        arrays = {name: to_array(tensor) for name, tensor in tensors.items()}
        return {name: array[:first] for name, array in arrays.items()}, {name: array[first:] for name, array in arrays.items()}


def rows_of(tensors):
    """The number of rows of columns. Raises ValueError if they differ."""
    rows = {name: (tuple(tensor.shape) or (None,))[0] for name, tensor in tensors.items()}
    first = next(iter(rows))
    for name, count in rows.items():
        if count is None:
            raise ValueError(f"data: '{name}': expected an array with rows, got one number")
        if count != rows[first]:
            raise ValueError(f"data: expected as many rows in each array, got {rows[first]} in '{first}' and {count} in '{name}'")
    return rows[first]


class Batches:
    """Batches of an iterable, epoch by epoch. An iterator, which ends once, goes on in the next epoch if `per_epoch` divides it."""

    def __init__(self, source, per_epoch=None, what="data"):
        self.what, self._source, self.per_epoch = what, source, per_epoch
        self.is_iterator = hasattr(source, "__next__")
        self._iterator = source if self.is_iterator else None
        self.length = per_epoch
        if per_epoch is None and hasattr(source, "__len__"):
            try:
                self.length = len(source)
            except TypeError:
                pass # of a DataLoader over a dataset without a length

    def epoch(self, number):
        """The batches of an epoch, from 1. Raises ValueError if there is none, or if there are less than `per_epoch` or than its length says."""
        count, limit = 0, self.per_epoch
        iterator = iter(self._source) if self._iterator is None else self._iterator
        while limit is None or count < limit:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            count += 1
            yield batch
        if count == 0:
            again = ": an iterator ends once; give an iterable that begins again, or steps_per_epoch" if number > 1 and self._iterator is not None else ""
            raise ValueError(f"{self.what}: expected batches, got none in epoch {number}{again}")
        if self.length is not None and count < self.length:
            raise ValueError(f"{self.what}: expected {self.length} batches in epoch {number}, got {count}")
