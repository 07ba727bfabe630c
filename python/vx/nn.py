"""Models built in Python: layers and functions with PyTorch's names, compiled by the wheel vx-compiler.

    from vx import nn
    model = nn.MLP([784, 256, 10], "relu").compile({"image": ("batch", 784)}, "logits", loss="cross_entropy", optimizer=vx.AdamW(1e-3))
    model.fit(x, y, epochs=5)

A module describes the graph: its forward runs once when it is compiled, on tensors without values. Nodes are those of the C++ builder (vx/builder.hpp) for the same model, and so are the
kernels. First values of parameters are PyTorch's, by the seed of the model. Functions are in vx.nn and in vx.nn.functional."""
from . import _nn_functions, _nn_layers
from . import _nn_functions as functional
from ._nn_functions import *
from ._nn_graph import Init, Tensor
from ._nn_layers import *
from ._nn_module import Input, Module, Parameter, Statistic

__all__ = ["Init", "Input", "Module", "Parameter", "Statistic", "Tensor"]
__all__ += _nn_layers.__all__
__all__ += _nn_functions.__all__
