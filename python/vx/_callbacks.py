"""Functions that are called while Model.fit trains."""
import csv as _csv
import math as _math
import os as _os
import sys as _sys
import time as _time

from ._history import flat


class Callback:
    """An observer of Model.fit, which calls its `callbacks` in their order. A class of your own replaces any of the methods. An exception ends the fit after the current step and comes out of it; the
    weights are those of that step, and the next fit works.

    `model` is the Model, which may be evaluated, saved, and stopped (`model.stop(reason)`). `plan` is {"epochs", "steps_per_epoch", "rows"}, with None for what is not known."""

    model = None
    plan = {}

    def on_begin(self) -> None:
        """Before the first step. `model` and `plan` are set."""

    def on_step(self, step: dict) -> None:
        """After each step. `step` has step (from 1), epoch (from 1), step_in_epoch, rate, loss and the metrics of its rows."""

    def on_epoch(self, epoch: dict) -> None:
        """After each epoch and its validation. `epoch` is the entry of the history: epoch (from 1), step, rate, seconds, loss, metrics, and validation."""

    def on_end(self, history) -> None:
        """After the last step of a fit that no exception has ended."""


class _Monitor(Callback):
    """A callback that compares a score of the epochs."""

    def __init__(self, monitor, mode, least=0.0):
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode: expected auto, min or max, got {mode!r}")
        if not least >= 0:
            raise ValueError(f"least: expected a difference of 0 or more, got {least}")
        self.monitor, self.mode, self.least = monitor, mode, float(least)

    def on_begin(self):
        self.best, self.waited = None, 0

    def _score(self, epoch):
        """The name and the value of the score that is compared."""
        values = flat(epoch)
        name = self.monitor or ("val_loss" if "val_loss" in values else "loss")
        if name not in values:
            raise ValueError(f"{type(self).__name__}: monitor: expected one of {', '.join(values)}, got {name!r}")
        return name, values[name]

    def _is_less_better(self, name):
        plain = name.removeprefix("val_")
        return self.mode == "min" or self.mode == "auto" and (plain in ("loss", "perplexity") or self.model.is_better_when_less(plain))

    def _improves(self, epoch):
        """Whether an epoch is better than the best one by more than `least`. Counts those that are not."""
        name, value = self._score(epoch)
        if not _math.isnan(value) and (self.best is None or (value < self.best - self.least if self._is_less_better(name) else value > self.best + self.least)):
            self.best, self.waited = value, 0
            return True
        self.waited += 1
        return False


class EarlyStopping(_Monitor):
    """Ends training when a score has not become better by more than `least` for `patience` epochs.

    `monitor`: a name of the history, such as "val_accuracy"; None: "val_loss", or "loss" without a validation. `mode`: whether less ("min") or more ("max") is better; "auto": less for
    losses and differences, more for others. `restore_best`: when training ends, the weights are those of the best epoch, also if it ends for another reason; the optimizer's state
    stays that of the last step. `best` and `best_epoch` say which it was."""

    def __init__(self, monitor: str | None = None, patience: int = 1, least: float = 0.0, mode: str = "auto", restore_best: bool = False):
        super().__init__(monitor, mode, least)
        if int(patience) != patience or patience < 1:
            raise ValueError(f"EarlyStopping: patience: expected 1 epoch or more, got {patience}")
        self.patience, self.restore_best = int(patience), restore_best

    def on_begin(self):
        super().on_begin()
        self.best_epoch, self._weights = None, None

    def on_epoch(self, epoch):
        if self._improves(epoch):
            self.best_epoch = epoch["epoch"]
            if self.restore_best:
                self._weights = self.model.get_weights()
        elif self.waited >= self.patience:
            name, _ = self._score(epoch)
            self.model.stop(f"early stopping: {name} has not become better than {self.best} by more than {self.least} in {self.waited} epochs")

    def on_end(self, history):
        if self._weights is not None:
            self.model.set_weights(self._weights)
            self._weights = None


class ReduceLROnPlateau(_Monitor):
    """Multiplies the rate of all further steps of a fit by `factor` when a score has not become better by more than `least` for `patience` epochs, down to `min_rate`. `monitor` and
    `mode` are those of EarlyStopping. `cooldown`: epochs after that in which it does not count."""

    def __init__(self, monitor: str | None = None, factor: float = 0.1, patience: int = 10, least: float = 1e-4, mode: str = "auto", min_rate: float = 0.0, cooldown: int = 0):
        super().__init__(monitor, mode, least)
        if not 0 < factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor: expected a number between 0 and 1, got {factor}")
        if int(patience) != patience or patience < 1:
            raise ValueError(f"ReduceLROnPlateau: patience: expected 1 epoch or more, got {patience}")
        self.factor, self.patience, self.min_rate, self.cooldown = float(factor), int(patience), float(min_rate), int(cooldown)

    def on_begin(self):
        super().on_begin()
        self._rest = 0

    def on_epoch(self, epoch):
        is_better = self._improves(epoch)
        if self._rest > 0:
            self._rest -= 1
            self.waited = 0
        elif not is_better and self.waited >= self.patience:
            rate = epoch["rate"]
            if rate > self.min_rate:
                self.model.scale_rate(max(self.factor, self.min_rate / rate))
            self.waited, self._rest = 0, self.cooldown


class Checkpoint(_Monitor):
    """Writes a file of Model.save after every `every`-th epoch. `path` may have numbers of the epoch, as "run/{epoch:03}-{val_loss:.3f}.safetensors"; its folder is made. `best_only`:
    only after epochs that are better than all before, by `monitor` and `mode` as EarlyStopping compares them. `only_weights`: without the optimizer's state."""

    def __init__(self, path, every: int = 1, best_only: bool = False, monitor: str | None = None, mode: str = "auto", only_weights: bool = False):
        super().__init__(monitor, mode)
        if int(every) != every or every < 1:
            raise ValueError(f"Checkpoint: every: expected 1 epoch or more, got {every}")
        self.path, self.every, self.best_only, self.only_weights = _os.fspath(path), int(every), best_only, only_weights

    def on_epoch(self, epoch):
        if (self.best_only and not self._improves(epoch)) or epoch["epoch"] % self.every != 0:
            return
        try:
            path = self.path.format(**flat(epoch))
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"Checkpoint: path: expected names of {', '.join(flat(epoch))} in braces, got {self.path!r}: {error}") from None
        if folder := _os.path.dirname(path):
            _os.makedirs(folder, exist_ok=True)
        self.model.save(path, only_weights=self.only_weights)


class CSVLog(Callback):
    """Writes a line with commas for each epoch to a file: its first epoch's numbers, under their names. `append`: after the lines of the file, without names if it has lines."""

    def __init__(self, path, append: bool = False):
        self.path, self.append = _os.fspath(path), append

    def on_begin(self):
        self._names = None
        has_lines = self.append and _os.path.exists(self.path) and _os.path.getsize(self.path) > 0
        if has_lines:
            with open(self.path, newline="", encoding="utf-8") as file:
                self._names = next(_csv.reader(file))
        else:
            open(self.path, "w", encoding="utf-8").close()

    def on_epoch(self, epoch):
        values = flat(epoch)
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = _csv.writer(file)
            if self._names is None:
                self._names = list(values)
                writer.writerow(self._names)
            writer.writerow([values.get(name, "") for name in self._names])


def _number(value):
    return f"{abs(value) if _math.isnan(value) else value:.5g}"


def _scores(values):
    return "  ".join(f"{name} {_number(value)}" for name, value in values.items() if name not in ("epoch", "step", "step_in_epoch", "rate", "seconds", "skipped", "loss_scale"))


class Log(Callback):
    """Writes a line for each epoch to a file object; None: standard output."""

    def __init__(self, file=None):
        self.file = file

    def on_epoch(self, epoch):
        print(f"epoch {epoch['epoch']}/{self.plan['epochs']}  {_scores(flat(epoch))}  rate {epoch['rate']:.4g}  ({epoch['seconds']:.2f} s)", file=self.file or _sys.stdout, flush=True)

    def on_end(self, history):
        if history.stopped:
            print(f"stopped: {history.stopped}", file=self.file or _sys.stdout, flush=True)


def time_left(seconds, done, steps):
    """The seconds that the remaining steps of an epoch take if they are as the steps done; None if that is not known."""
    return None if not steps or done < 1 else seconds * (steps - done) / done


class ProgressBar(Callback):
    """Draws a line in place during an epoch, ten times a second at the most: a bar, the steps, the time that is left, and the scores of the last step. `file`: a file object; None:
    standard error. It draws on a terminal only, unless `always`."""

    WIDTH = 24

    def __init__(self, file=None, always: bool = False):
        self.file, self.always = file, always

    def on_begin(self):
        self._file = self.file or _sys.stderr
        self._is_shown = self.always or bool(getattr(self._file, "isatty", bool)())
        self._epoch, self._begin, self._last, self._is_dirty = 0, _time.monotonic(), None, False

    def on_step(self, step):
        now = _time.monotonic()
        if step["epoch"] != self._epoch:
            self._epoch, self._begin = step["epoch"], self._last if self._last is not None else self._begin
        if not self._is_shown or (self._is_dirty and now - self._drawn < 0.1):
            self._last = now
            return
        self._last = self._drawn = now
        steps, done = self.plan["steps_per_epoch"], step["step_in_epoch"]
        left = time_left(now - self._begin, done, steps)
        bar = "" if not steps else "[" + "=" * (self.WIDTH * done // steps) + " " * (self.WIDTH - self.WIDTH * done // steps) + "] "
        text = f"epoch {step['epoch']}/{self.plan['epochs']} {bar}{done}{f'/{steps}' if steps else ''}{'' if left is None else f'  {left:.0f} s left'}  {_scores(step)}"
        self._file.write("\r\033[K" + text)
        self._file.flush()
        self._is_dirty = True

    def on_epoch(self, epoch):
        self._last = _time.monotonic()
        self._clear()

    def on_end(self, history):
        self._clear()

    def _clear(self):
        if self._is_dirty:
            self._file.write("\r\033[K")
            self._file.flush()
        self._is_dirty = False
