"""What training gave, epoch by epoch."""
import os as _os
from typing import Any as _Any


def flat(epoch):
    """{name: number} of an epoch, with the scores of the validation as "val_NAME"."""
    values = {name: value for name, value in epoch.items() if name != "validation"}
    values.update({"val_" + name: value for name, value in (epoch.get("validation") or {}).items()})
    return values


class History(list):
    """The result of a fit: a dict for each epoch, with loss, metrics, rate, seconds, and validation if there is one. `stopped` says why training ended before its last
    epoch, or is None. `notes` has messages. `optimizer`, `loss`, `schedule` and `seed` are those of the training."""

    stopped: str | None
    notes: list
    optimizer: str
    loss: str
    schedule: str
    seed: int

    def __init__(self, facts):
        facts = dict(facts)
        super().__init__(facts.pop("epochs"))
        vars(self).update(facts)

    @property
    def history(self) -> dict:
        """The same as a dict of lists, with a number for each epoch: {"epoch", "step", "loss", "accuracy", "rate", "seconds", "val_loss", "val_accuracy", ...}. An epoch without one of
        the numbers has None there."""
        epochs = [flat(epoch) for epoch in self]
        return {name: [epoch.get(name) for epoch in epochs] for name in dict.fromkeys(name for epoch in epochs for name in epoch)}

    def plot(self, path=None, metrics=None) -> "_Any":
        """Draws a curve for each metric over the epochs, those of the validation dashed, and returns the figure of matplotlib. `path`: the file for the picture; None: no file.
        `metrics`: the names to draw, such as "loss"; None: all scores.

        Raises ImportError without matplotlib, and ValueError for a name that the history has not, and for a history without epochs."""
        try:
            import matplotlib.figure
        except ImportError:
            raise ImportError("history.plot needs matplotlib, which is not installed: pip install matplotlib") from None
        values = self.history
        names = [name for name in values if name not in ("epoch", "step", "rate", "seconds", "skipped", "loss_scale") and not name.startswith("val_")]
        if not self:
            raise ValueError("history.plot: expected an epoch or more, got none")
        if metrics is not None:
            unknown = [name for name in metrics if name not in values]
            if unknown:
                raise ValueError(f"history.plot: expected names of {', '.join(values)}, got {unknown[0]!r}")
            names = list(metrics)
        figure = matplotlib.figure.Figure(figsize=(5 * len(names), 4), layout="constrained")
        for place, name in enumerate(names, 1):
            axes = figure.add_subplot(1, len(names), place)
            for key, style in ((name, "-"), ("val_" + name, "--")):
                if key in values:
                    axes.plot(values["epoch"], values[key], style, label=key)
            axes.set_xlabel("epoch")
            axes.set_ylabel(name)
            axes.legend()
        if path is not None:
            figure.savefig(_os.fspath(path))
        return figure
