"""Metrics of outputs and targets, as sums with counts."""
import math as _math


class Metric:
    """A mean over rows or elements, as a sum and a count: so that of all batches equals that of one batch of all rows, whatever their sizes. A class of your own gives `name` and
    `update`, and may give `result`. `is_better_when_less` says how EarlyStopping compares it."""

    name = "metric"
    is_better_when_less = False

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self.sum, self.count = 0.0, 0

    def update(self, output, target) -> None:
        """Adds a batch. `output`: the model's first output, an array with the rows first. `target`: its labels or targets, with as many rows."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method update(output, target)")

    def result(self) -> float:
        """The mean over all batches since `reset`; NaN over nothing."""
        return self.sum / self.count if self.count else _math.nan


class TopK(Metric):
    """The share of rows whose label is among the `k` largest outputs of the last dimension. Of equal outputs those of smaller classes are larger. output: [rows, ..., classes];
    target: integers [rows, ...]. Negative labels do not count."""

    def __init__(self, k: int = 5):
        if int(k) != k or k < 1:
            raise ValueError(f"TopK: expected a whole number of 1 or more, got {k}")
        self.k, self.name = int(k), f"top_{int(k)}"
        super().__init__()

    def update(self, output, target):
        import numpy
        if output.shape[:-1] != target.shape or target.dtype.kind not in "iu":
            raise ValueError(f"{self.name}: expected integer labels of shape {list(output.shape[:-1])}, got {target.dtype} of {list(target.shape)}")
        best = numpy.argsort(-output.astype(numpy.float64), axis=-1, kind="stable")[..., :self.k]
        counted = target >= 0
        self.sum += float(((best == target[..., None]).any(-1) & counted).sum())
        self.count += int(counted.sum())


class _Difference(Metric):
    is_better_when_less = True

    def update(self, output, target):
        import numpy
        if output.shape != target.shape:
            raise ValueError(f"{self.name}: expected targets of the output's shape {list(output.shape)}, got {list(target.shape)}")
        difference = output.astype(numpy.float64) - target.astype(numpy.float64)
        self.sum += float(self._of(difference).sum())
        self.count += difference.size


class MAE(_Difference):
    """The mean of the absolute differences of outputs and targets, which have one shape."""

    name = "mae"

    def _of(self, difference):
        return abs(difference)


class MSE(_Difference):
    """The mean of the squared differences of outputs and targets, which have one shape."""

    name = "mse"

    def _of(self, difference):
        return difference * difference


def perplexity(loss):
    """e to the power of a loss that is a mean of negative logarithms of probabilities."""
    try:
        return _math.exp(loss)
    except OverflowError:
        return _math.inf


def make_metrics(given, own):
    """The metrics of a list of names and objects that the module does not compute itself, and whether perplexity is one. `own`: the names of those that it does."""
    made, has_perplexity = [], False
    for one in [given] if isinstance(given, (str, Metric)) else given:
        if isinstance(one, str) and (one in own or one == "perplexity"):
            has_perplexity |= one == "perplexity"
            continue
        if isinstance(one, str) and one in ("mae", "mse"):
            one = MAE() if one == "mae" else MSE()
        elif isinstance(one, str) and one.startswith("top_") and one[4:].isdigit():
            one = TopK(int(one[4:]))
        if not isinstance(one, Metric):
            raise ValueError(f"metrics: expected {', '.join([*own, 'perplexity', 'top_K', 'mae', 'mse'])} or a vx.Metric, got {one!r}")
        made.append(one)
    return made, has_perplexity
