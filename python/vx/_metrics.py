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


def _columns(name, output, target):
    """The outputs [rows, columns] in f64, and their targets: labels [rows] of as many classes, or [rows, columns] of 0 and 1, which may be NaN for a row that does not count."""
    import numpy
    if output.shape[:-1] == target.shape and output.ndim >= 1 and output.shape[-1] > 1:
        if target.dtype.kind not in "iub":
            raise ValueError(f"{name}: expected integer labels of shape {list(target.shape)}, got {target.dtype}")
        return output.reshape(-1, output.shape[-1]).astype(numpy.float64), target.reshape(-1).astype(numpy.int64)
    if output.shape != target.shape and output.shape[:-1] == target.shape and output.ndim: # [rows, 1] and [rows]
        output = output[..., 0]
    if output.shape != target.shape:
        raise ValueError(f"{name}: expected labels of shape {list(output.shape[:-1])}, or targets of the output's shape {list(output.shape)}, got {list(target.shape)}")
    width = output.shape[-1] if output.ndim > 1 else 1
    target = target.reshape(-1, width).astype(numpy.float64)
    wrong = (target != 0) & (target != 1) & ~(target < 0)
    if wrong.any():
        row, column = numpy.argwhere(wrong)[0]
        raise ValueError(f"{name}: expected targets of 0 and 1, or less than 0 for those that do not count, got {target[row, column]:g} in row {row}")
    return output.reshape(-1, width).astype(numpy.float64), numpy.where(target < 0, numpy.nan, target)


def _labels(name, labels, classes):
    """The rows that count, whose labels are classes."""
    if labels.size and labels.max() >= classes:
        row = int((labels >= classes).argmax())
        raise ValueError(f"{name}: expected labels of 0 to {classes - 1}, got {labels[row]} in row {row}")
    return labels >= 0


class _Curve:
    """Counts of negative and positive rows by score, in at most BINS bins: exact while there are no more different scores. Then neighbours are merged, so that each bin has about as
    many rows."""

    BINS = 10_000

    def __init__(self):
        import numpy
        self._scores, self._counts = numpy.empty(0), numpy.empty((2, 0), numpy.int64)
        self._waiting, self._rows = [], 0

    def add(self, scores, truth):
        """Scores, and whether each is of a positive row."""
        self._waiting.append((scores, truth))
        self._rows += len(scores)
        if self._rows > self.BINS:
            self._merge()

    def _merge(self):
        import numpy
        scores = numpy.concatenate([self._scores, *(one for one, _ in self._waiting)])
        truth = numpy.concatenate([numpy.empty(0, bool), *(one for _, one in self._waiting)])
        counts = numpy.concatenate([self._counts, numpy.stack([~truth, truth]).astype(numpy.int64)], 1)
        self._waiting, self._rows = [], 0
        if scores.size:
            order = scores.argsort(kind="stable")
            scores, counts = scores[order], counts[:, order]
            scores, counts = self._join(scores, counts, numpy.diff(scores, prepend=numpy.nan) != 0)
        if scores.size > self.BINS:
            rows = counts.sum(0)
            place = (rows.cumsum() - rows) * self.BINS // rows.sum()
            scores, counts = self._join(scores, counts, numpy.diff(place, prepend=-1) != 0)
        self._scores, self._counts = scores, counts

    @staticmethod
    def _join(scores, counts, begins):
        """Neighbours as one, up to the next that begins a bin. Its score is their mean."""
        import numpy
        begins, rows = begins.nonzero()[0], counts.sum(0)
        joined = numpy.add.reduceat(counts, begins, axis=1)
        means = numpy.add.reduceat(scores * rows, begins) / joined.sum(0)
        return means.clip(scores[begins], numpy.append(scores[begins[1:] - 1], scores[-1])), joined

    def area(self):
        """The share of the pairs of a positive and a negative row in which the positive one has the larger score, where equal scores count half; NaN without such pairs."""
        self._merge()
        negative, positive = self._counts.astype(float)
        if not negative.sum() or not positive.sum():
            return _math.nan
        return float((positive * (negative.cumsum() - negative / 2)).sum() / (negative.sum() * positive.sum()))


class AUC(Metric):
    """The area under the curve of true positives over false positives, of 10,000 bins: within 1e-3 of scikit-learn's roc_auc_score.

    output: [rows] or [rows, 1] with targets of 0 and 1 in as many rows; [rows, 2] with labels, where class 1 is the positive one; [rows, ..., classes] with labels: the mean over the
    classes of the area of each against all others; or [rows, columns] with targets of 0 and 1 of this shape: the mean over the columns. Outputs may be probabilities or logits of any
    size. Negative labels and targets do not count. A class without a positive or without a negative row is left out of the mean; NaN if all are.

    `update` raises ValueError for shapes and labels that do not fit, and for an output that is NaN, with the row. The counts of a class take 240 KB."""

    name = "auc"

    def reset(self):
        self._curves = None

    def update(self, output, target):
        import numpy
        scores, target = _columns(self.name, output, target)
        if numpy.isnan(scores).any():
            raise ValueError(f"{self.name}: expected numbers, got NaN in row {int(numpy.isnan(scores).any(1).argmax())} of the output")
        scores, classes = scores.clip(-1e290, 1e290), scores.shape[1]
        if target.ndim == 1:
            counts = _labels(self.name, target, classes)
            scores, target = self._of_classes(scores[counts]), target[counts]
            target = (target[:, None] == numpy.arange(classes)[-scores.shape[1]:]).astype(float)
        if self._curves is None:
            self._curves, self._classes = [_Curve() for _ in range(scores.shape[1])], classes
        if self._classes != classes or len(self._curves) != target.shape[1]:
            raise ValueError(f"{self.name}: expected outputs of {self._classes} columns as before, got {classes}")
        for column, curve in enumerate(self._curves):
            counted = ~numpy.isnan(target[:, column])
            curve.add(scores[counted, column], target[counted, column] == 1)

    @staticmethod
    def _of_classes(scores):
        """The logit of each class against all others, or of two classes that of the second alone."""
        import numpy
        if scores.shape[1] == 2:
            return scores[:, 1:] - scores[:, :1]
        shares = numpy.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        # Rows that are probabilities already.
        shares = numpy.where(((scores >= 0).all(1) & (abs(scores.sum(1) - 1) < 2e-3))[:, None], scores, shares)
        rest = numpy.stack([numpy.delete(shares, one, 1).sum(1) for one in range(scores.shape[1])], 1) # 1 - share, without its rounding
        tiny = numpy.finfo(float).tiny
        return numpy.log(shares.clip(tiny)) - numpy.log(rest.clip(tiny))

    def result(self):
        areas = [area for area in (curve.area() for curve in self._curves or ()) if not _math.isnan(area)]
        return sum(areas) / len(areas) if areas else _math.nan


class F1(Metric):
    """The harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN), of counts that are summed over all rows: that of scikit-learn's f1_score.

    output and target: as AUC takes them. Of classes the largest output is the prediction, the first of equal ones. Other outputs are positive if they are more than `threshold`, which is
    0.5, or 0 for logits (`from_logits`).

    `average`: "binary" (of class 1, or of the only column), "macro" (the mean over the classes), "micro" (of the sums over the classes), "weighted" (by the rows of each class); "auto":
    binary for two classes or one column, else macro. A class that neither the labels nor the predictions have is left out of the mean. NaN over nothing."""

    name = "f1"

    def __init__(self, average: str = "auto", threshold: float | None = None, from_logits: bool = False):
        if average not in ("auto", "binary", "macro", "micro", "weighted"):
            raise ValueError(f"F1: average: expected auto, binary, macro, micro or weighted, got {average!r}")
        self.average, self.from_logits = average, from_logits
        self.threshold = (0.0 if from_logits else 0.5) if threshold is None else float(threshold)
        super().__init__()

    def reset(self):
        self._counts, self._is_binary, self.count = None, False, 0

    def update(self, output, target):
        import numpy
        scores, target = _columns(self.name, output, target)
        scores, classes = scores.clip(-1e300, 1e300), scores.shape[1]
        if target.ndim == 1:
            counts = _labels(self.name, target, classes)
            predicted, labels = scores[counts].argmax(1), target[counts]
            truth, guess = (numpy.eye(classes, dtype=bool)[values] for values in (labels, predicted))
            known, is_binary = numpy.ones(truth.shape, bool), classes == 2
        else:
            if not self.from_logits and self.threshold == 0.5 and scores.size and (scores.min() < 0 or scores.max() > 1):
                raise ValueError(f"{self.name}: expected probabilities, got outputs of {scores.min():g} to {scores.max():g}: give vx.F1(from_logits=True), or a threshold")
            known, truth, guess, is_binary = ~numpy.isnan(target), target == 1, scores > self.threshold, classes == 1
        if self.average == "binary" and not is_binary:
            raise ValueError(f"{self.name}: expected two classes or one column for the average 'binary', got {classes}")
        new = numpy.stack([(truth & guess & known).sum(0), (~truth & guess & known).sum(0), (truth & ~guess & known).sum(0)])
        if self._counts is not None and self._counts.shape != new.shape:
            raise ValueError(f"{self.name}: expected outputs of {self._counts.shape[1]} columns as before, got {classes}")
        self._counts, self._is_binary = new if self._counts is None else self._counts + new, is_binary
        self.count += int(known.any(1).sum())

    def result(self):
        if not self.count:
            return _math.nan
        counts = self._counts
        average = ("binary" if self._is_binary else "macro") if self.average == "auto" else self.average
        if average == "binary":
            counts = counts[:, -1:]
        elif average == "micro":
            counts = counts.sum(1, keepdims=True)
        hits, false, missed = counts.astype(float)
        scores = 2 * hits / (2 * hits + false + missed).clip(min=1)
        if average in ("binary", "micro"):
            return float(scores[0])
        weights = hits + missed if average == "weighted" else (hits + false + missed > 0).astype(float)
        return float((scores * weights).sum() / weights.sum()) if weights.any() else _math.nan


def perplexity(loss):
    """e to the power of a loss that is a mean of negative logarithms of probabilities."""
    try:
        return _math.exp(loss)
    except OverflowError:
        return _math.inf


def _by_name(name, loss):
    """The metric of a name, or None."""
    if name.startswith("top_") and name[4:].isdigit():
        return TopK(int(name[4:]))
    made = {"mae": MAE, "mse": MSE, "auc": AUC}.get(name)
    if name == "f1":
        return F1(from_logits=loss.partition(":")[0] == "bce_logits")
    return made and made()


def make_metrics(given, own, loss):
    """The metrics of a list of names and objects that the module does not compute itself, and whether perplexity is one. `own`: the names of those that it does; `loss`: its loss."""
    made, has_perplexity = [], False
    for one in [given] if isinstance(given, (str, Metric)) else given:
        if isinstance(one, str) and (one in own or one == "perplexity"):
            has_perplexity |= one == "perplexity"
            continue
        metric = _by_name(one, loss) if isinstance(one, str) else one
        if not isinstance(metric, Metric):
            raise ValueError(f"metrics: expected {', '.join([*own, 'perplexity', 'top_K', 'mae', 'mse', 'auc', 'f1'])} or a vx.Metric, got {one!r}")
        made.append(metric)
    return made, has_perplexity
