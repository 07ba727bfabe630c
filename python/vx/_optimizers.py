"""Optimizers with the names and arguments of PyTorch's, and their texts for vx-compile."""
import math as _math


class ParamGroup:
    """The parameters whose names match `pattern` ('*', '?', '[a-z]'), with a learning rate and a decay of weights of their own, for `groups` of an optimizer.

    `lr`: their learning rate where that of the optimizer is its `lr`; a schedule, and another `rate` of a fit, multiply both alike, as PyTorch's schedulers do. None: that of the
    optimizer. `weight_decay`: None: that of the optimizer. The model is refused if no trained parameter has such a name, or if two groups have one parameter (vx.CompileError).

    Raises ValueError for a pattern that is empty, for a number below 0, and for a group with neither."""

    def __init__(self, pattern, lr=None, weight_decay=None):
        if not isinstance(pattern, str):
            raise TypeError(f"ParamGroup: expected a pattern of names, got {type(pattern).__name__}")
        if not pattern or ";" in pattern:
            raise ValueError(f"ParamGroup: expected a pattern of names without ';', got {pattern!r}")
        if lr is None and weight_decay is None:
            raise ValueError(f"ParamGroup '{pattern}': expected lr or weight_decay, got neither")
        self.pattern = pattern
        self.lr = None if lr is None else _number("lr", lr)
        self.weight_decay = None if weight_decay is None else _number("weight_decay", weight_decay)

    def _text(self, lr):
        values = []
        if self.lr is not None:
            if lr == 0:
                raise ValueError(f"ParamGroup '{self.pattern}': expected an optimizer with an lr above 0, of which the group's is a multiple, got 0")
            values.append(f"lr={self.lr / lr!r}x")
        if self.weight_decay is not None:
            values.append(f"weight_decay={self.weight_decay!r}")
        return f";{self.pattern}:{','.join(values)}"

    def __repr__(self):
        return f"ParamGroup({self.pattern!r}, lr={self.lr}, weight_decay={self.weight_decay})"


class Optimizer:
    """An optimizer and its learning rate, for `vx.Model` and `Model.fit`. str() of it is the text of vx-compile --optimizer.

    `lr`: the learning rate of a fit that has no `rate`. `clip_norm`: the most norm of all gradients together; None: any. `groups`: a list of vx.ParamGroup. Raises ValueError for a number
    out of its range, and TypeError for one that is no number."""

    def __init__(self, name, lr, clip_norm, values, groups=()):
        self.lr = _number("lr", lr)
        self.groups = list(groups or ())
        for group in self.groups:
            if not isinstance(group, ParamGroup):
                raise TypeError(f"groups: expected a list of vx.ParamGroup, got {group!r}")
        if clip_norm is not None:
            values["clip_norm"] = _number("clip_norm", clip_norm)
        texts = [f"{key}={str(value).lower() if isinstance(value, bool) else _number(key, value)}" for key, value in values.items()]
        self._text = f"{name}:{','.join(texts)}{''.join(group._text(self.lr) for group in self.groups)}"

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<{self._text} lr={self.lr}>"


def _number(name, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None
    if not _math.isfinite(number) or number < 0:
        raise ValueError(f"{name}: expected 0 or more, got {value}")
    return number


def _two(betas):
    try:
        first, second = betas
    except (TypeError, ValueError):
        raise TypeError(f"betas: expected two numbers, got {betas!r}") from None
    return {"beta1": first, "beta2": second}


class SGD(Optimizer):
    """torch.optim.SGD."""

    def __init__(self, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *, clip_norm=None, groups=()):
        super().__init__("sgd", lr, clip_norm, {"momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": bool(nesterov)}, groups)


class Adam(Optimizer):
    """torch.optim.Adam: the decay of weights is a part of the gradient."""

    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, clip_norm=None, groups=()):
        super().__init__("adam", lr, clip_norm, {**_two(betas), "eps": eps, "weight_decay": weight_decay}, groups)


class AdamW(Optimizer):
    """torch.optim.AdamW: the decay of weights is beside the gradient."""

    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, *, clip_norm=None, groups=()):
        super().__init__("adamw", lr, clip_norm, {**_two(betas), "eps": eps, "weight_decay": weight_decay}, groups)


class RMSprop(Optimizer):
    """torch.optim.RMSprop."""

    def __init__(self, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, *, clip_norm=None, groups=()):
        super().__init__("rmsprop", lr, clip_norm, {"alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum, "centered": bool(centered)}, groups)


class Adagrad(Optimizer):
    """torch.optim.Adagrad."""

    def __init__(self, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, *, clip_norm=None, groups=()):
        super().__init__("adagrad", lr, clip_norm,
                         {"lr_decay": lr_decay, "weight_decay": weight_decay, "initial_accumulator_value": initial_accumulator_value, "eps": eps}, groups)


class Lion(Optimizer):
    """Lion, as in "Symbolic Discovery of Optimization Algorithms" (Chen et al., 2023)."""

    def __init__(self, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, clip_norm=None, groups=()):
        super().__init__("lion", lr, clip_norm, {**_two(betas), "weight_decay": weight_decay}, groups)
