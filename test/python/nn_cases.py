"""Layers that vx.nn and torch.nn have both, by the same code: `make(nn)` with either package as `nn`, and inputs. The results of PyTorch are in nn_goldens.npz.

  nn_cases.py FILE    writes it, with PyTorch
"""
import os
import sys

import numpy as np

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nn_goldens.npz")
_random = np.random.default_rng(7)


def _floats(*shape):
    return (_random.normal(size=shape) * 1.5).astype(np.float32)


def called(make, call):
    """A layer that is called in another way."""
    def wrapped(nn):
        class Called(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = make(nn)

            def forward(self, *inputs):
                return call(self.layer, *inputs)

        return Called()

    return wrapped


def _states(layer, *inputs):
    out, states = layer(*inputs)
    return (out, *states) if isinstance(states, tuple) else (out, states)


_MASK = np.zeros((2, 5), bool)
_MASK[0, 3:] = True
_LATER = np.triu(np.ones((6, 6), bool), 1)
_ADDED = _floats(6, 6)

CASES = {
    "Linear": (lambda nn: nn.Linear(5, 7), [_floats(3, 5)]),
    "Linear of rank 3, without a bias": (lambda nn: nn.Linear(5, 7, bias=False), [_floats(3, 4, 5)]),
    "Linear of rank 1 more": (lambda nn: nn.Linear(5, 7), [_floats(2, 3, 4, 5)]),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), [_floats(2, 4, 20)]),
    "Conv2d same": (lambda nn: nn.Conv2d(4, 6, (3, 4), padding="same"), [_floats(2, 4, 12, 13)]),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, (2, 3), (2, 1), (1, 0), bias=False), [_floats(2, 4, 7, 8)]),
    "Conv3d": (lambda nn: nn.Conv3d(2, 3, 2, padding="valid"), [_floats(2, 2, 5, 6, 7)]),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(4, 6, 3, dilation=2), [_floats(2, 4, 7)]),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), [_floats(2, 4, 7, 8)]),
    "Embedding": (lambda nn: nn.Embedding(9, 4), [_random.integers(0, 9, (3, 5))]),
    "LayerNorm": (lambda nn: nn.LayerNorm(8), [_floats(3, 5, 8)]),
    "RMSNorm": (lambda nn: nn.RMSNorm(8, eps=1e-3), [_floats(3, 5, 8)]),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(8), [_floats(3, 8)]),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3, eps=1e-2), [_floats(2, 3, 4, 5)]),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 6), [_floats(2, 6, 4, 5)]),
    "MultiheadAttention": (called(lambda nn: nn.MultiheadAttention(16, 4, batch_first=True), lambda layer, x: layer(x, x, x)[0]), [_floats(2, 6, 16)]),
    "MultiheadAttention across": (called(lambda nn: nn.MultiheadAttention(16, 2, batch_first=True), lambda layer, q, k, mask: layer(q, k, k, key_padding_mask=mask)[0]),
                                  [_floats(2, 6, 16), _floats(2, 5, 16), _MASK]),
    "MultiheadAttention masked": (called(lambda nn: nn.MultiheadAttention(16, 4, bias=False, batch_first=True), lambda layer, x, mask: layer(x, x, x, attn_mask=mask)[0]), [_floats(2, 6, 16), _LATER]),
    "MultiheadAttention added": (called(lambda nn: nn.MultiheadAttention(16, 4, batch_first=True), lambda layer, x, v, mask: layer(x, x, v, attn_mask=mask)[0]), [_floats(2, 6, 16), _floats(2, 6, 16), _ADDED]),
    "MultiheadAttention causal": (called(lambda nn: nn.MultiheadAttention(16, 4, batch_first=True), lambda layer, x, mask: layer(x, x, x, attn_mask=mask, is_causal=True)[0]), [_floats(2, 6, 16), _LATER]),
    **{f"TransformerEncoderLayer {activation} {first}": (lambda nn, activation=activation, first=first: nn.TransformerEncoderLayer(16, 4, 32, activation=activation, norm_first=first, batch_first=True), [_floats(2, 6, 16)])
       for activation in ("relu", "gelu") for first in (False, True)},
    "TransformerEncoderLayer masked": (called(lambda nn: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), lambda layer, x, mask: layer(x, src_key_padding_mask=mask)), [_floats(2, 5, 16), _MASK]),
    **{f"{name} {layers} {first}": (called(lambda nn, name=name, layers=layers, first=first: getattr(nn, name)(6, 5, num_layers=layers, batch_first=first), _states), [_floats(3, 4, 6)])
       for name in ("RNN", "GRU", "LSTM") for layers, first in ((1, False), (2, True))},
    "GRU with a state": (called(lambda nn: nn.GRU(6, 5, 2), lambda layer, x, h: _states(layer, x, h)), [_floats(3, 4, 6), _floats(2, 4, 5)]),
    "LSTM with states": (called(lambda nn: nn.LSTM(6, 5, 2), lambda layer, x, h, c: _states(layer, x, (h, c))), [_floats(3, 4, 6), _floats(2, 4, 5), _floats(2, 4, 5)]),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, 1, 1), [_floats(2, 3, 12)]),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), [_floats(2, 3, 9, 10)]),
    "AvgPool2d": (lambda nn: nn.AvgPool2d((3, 2), 2, 1), [_floats(2, 3, 9, 10)]),
    "AvgPool3d": (lambda nn: nn.AvgPool3d(2), [_floats(2, 3, 4, 5, 6)]),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d(1), [_floats(2, 3, 4, 5)]),
    "Flatten": (lambda nn: nn.Flatten(), [_floats(2, 3, 4)]),
    "Flatten of some": (lambda nn: nn.Flatten(2, 3), [_floats(2, 3, 4, 5, 2)]),
    **{name: (lambda nn, name=name, options=options: getattr(nn, name)(**options), [_floats(3, 4, 5)]) for name, options in (
        ("ReLU", {}), ("GELU", {}), ("SiLU", {}), ("Tanh", {}), ("Sigmoid", {}), ("ELU", {"alpha": 0.7}), ("LeakyReLU", {"negative_slope": 0.2}), ("Softplus", {}), ("SELU", {}), ("Mish", {}),
        ("Hardswish", {}), ("Hardsigmoid", {}), ("Softmax", {"dim": 1}), ("LogSoftmax", {"dim": -1}), ("Identity", {}))},
    "GELU tanh": (lambda nn: nn.GELU(approximate="tanh"), [_floats(3, 4, 5)]),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.LeakyReLU(0.1), nn.Linear(6, 2)), [_floats(3, 4)]),
}


def flat(values):
    """The tensors of a result, in their order."""
    if isinstance(values, (tuple, list)):
        return [one for value in values for one in flat(value)]
    return [] if values is None else [values]


def compute(torch):
    """{"NAME/weight/KEY": ..., "NAME/result/I": ...} of all cases, by PyTorch."""
    arrays = {}
    torch.manual_seed(3)
    for name, (make, inputs) in CASES.items():
        layer = make(torch.nn).eval()
        for key, value in layer.state_dict().items():
            if value.is_floating_point(): # no value is 0 or 1 by chance of its first values
                value.copy_(torch.randn(value.shape).abs() + 0.5 if key.endswith("running_var") else value + torch.randn(value.shape) * 0.1)
                arrays[f"{name}/weight/{key}"] = value.numpy().astype(np.float16) # as the file has them
                value.copy_(torch.from_numpy(arrays[f"{name}/weight/{key}"].astype(np.float32)))
        with torch.no_grad():
            for number, value in enumerate(flat(layer(*map(torch.from_numpy, inputs)))):
                arrays[f"{name}/result/{number}"] = value.numpy()
    return arrays


if __name__ == "__main__":
    import torch
    np.savez_compressed(sys.argv[1], **compute(torch))
