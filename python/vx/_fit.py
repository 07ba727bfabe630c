"""What Model.fit does: over arrays by Session.fit, over batches of an iterable by single steps."""
import contextlib as _contextlib
import math as _math
import sys as _sys
import time as _time

from . import _runtime
from ._ahead import prepared
from ._callbacks import Callback, Log, ProgressBar
from ._history import History
from ._metrics import perplexity


class Sums:
    """Means of batches as sums, with a count for each."""

    def __init__(self):
        self._sums, self._counts = {}, {}

    def add(self, scores, counts):
        for name, value in scores.items():
            if counts[name] != 0:
                self._sums[name] = self._sums.get(name, 0.0) + value * counts[name]
            self._counts[name] = self._counts.get(name, 0) + counts[name]

    def means(self):
        return {name: self._sums[name] / count if count != 0 else _math.nan for name, count in self._counts.items()}


def make_callbacks(given, verbose):
    """The callbacks of a fit, those of `verbose` first."""
    if verbose not in (0, 1, 2):
        raise ValueError(f"verbose: expected 0 (nothing), 1 (a line for each epoch, and a bar on a terminal) or 2 (a line for each epoch), got {verbose!r}")
    callbacks = [given] if isinstance(given, Callback) else list(given or ())
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(f"callbacks: expected objects of vx.Callback, got {callback!r}")
    bars = [ProgressBar()] if verbose == 1 and _sys.stderr is not None and _sys.stderr.isatty() else []
    return [*bars, *([Log()] if verbose else []), *callbacks]


class Fit:
    """One fit: its callbacks, its validation and its history. `validate()` gives scores of the validation beside those that an epoch has already, or is None."""

    def __init__(self, model, session, callbacks, validate, has_perplexity, plan):
        self.model, self.session, self.callbacks, self.validate, self.has_perplexity = model, session, callbacks, validate, has_perplexity
        self.epochs, self.reason = [], None
        self.rate_factor = 1.0
        self.sees_steps = any(type(callback).on_step is not Callback.on_step for callback in callbacks)
        for callback in callbacks:
            callback.model, callback.plan = model, plan
        session.scale_rate(1.0)

    def begin(self):
        for callback in self.callbacks:
            callback.on_begin()

    def on_step(self, step):
        for callback in self.callbacks:
            callback.on_step(step)

    def on_epoch(self, epoch):
        if self.validate is not None:
            epoch["validation"] = {**epoch.get("validation", {}), **self.validate()}
        if self.has_perplexity:
            for scores in (epoch, epoch.get("validation")):
                if scores is not None:
                    scores["perplexity"] = perplexity(scores["loss"])
        self.epochs.append(epoch)
        for callback in self.callbacks:
            callback.on_epoch(epoch)

    def end(self, facts):
        if self.reason is not None:
            facts["stopped"] = self.reason
        facts["epochs"] = self.epochs
        history = History(facts)
        for callback in self.callbacks:
            callback.on_end(history)
        return history

    def so_far(self):
        """The history of a fit that goes on, or that an exception has ended."""
        return History({"epochs": self.epochs, "stopped": self.reason, "notes": []})

    def scale_rate(self, factor):
        self.rate_factor *= factor
        self.session.scale_rate(self.rate_factor)


def _named(error, place):
    """An error of a batch, with the batch in its message."""
    text = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    error.args = (f"{place}: {text}", *error.args[1:])
    return error


def run_batches(fit, batches, arrange, inputs, epochs, schedule, prefetch):
    """Trains on batches, with `arrange(batch)` as {name: tensor}, and gives the facts of the history. `schedule`: (form, numbers, rate, warmup). `prefetch`: the batches that a thread
    is ahead."""
    form, numbers, rate, warmup = schedule
    length = batches.length
    if length is None and form != "constant":
        raise ValueError(f"schedule: '{form}' depends on the steps of an epoch, which an iterable without a length does not tell: give steps_per_epoch")
    step, notes = 0, []
    for epoch in range(1, epochs + 1):
        begin, sums, used, in_epoch = _time.monotonic(), Sums(), rate, 0
        with _contextlib.closing(prepared(batches.epoch(epoch), arrange, prefetch)) as made: # closed at an exception too, which ends its thread
            for number, get in enumerate(made, 1):
                used = _runtime.scheduled_rate(form, numbers, rate, warmup, step, length or 1, (length or 1) * epochs)
                try:
                    tensors = get()
                    scores, counts = fit.session.train_step([tensors[name] for name in inputs], used)
                except (TypeError, ValueError, _runtime.Error) as error:
                    raise _named(error, f"epoch {epoch}, batch {number}") from None
                step, in_epoch, used = step + 1, number, used * fit.rate_factor
                sums.add(scores, counts)
                if not _math.isfinite(scores["loss"]) and not any(note.startswith(f"epoch {epoch}:") for note in notes):
                    notes.append(f"epoch {epoch}: step {step}: the loss is {scores['loss']}, at a rate of {used}")
                fit.on_step({**scores, "epoch": epoch, "step": step, "step_in_epoch": in_epoch, "rate": used})
                if fit.reason is not None:
                    break
        if fit.reason is not None:
            break
        fit.on_epoch({**sums.means(), "epoch": epoch, "step": step, "rate": used, "seconds": _time.monotonic() - begin})
        if fit.reason is not None:
            break
    return {"notes": notes, "stopped": None}
