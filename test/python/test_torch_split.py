"""Graphs of torch.compile with operations that vx does not take, and mistakes of users; where PyTorch is installed (run_torch.py)."""
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import numpy as np
import torch
from torch import nn

import vx
import vx._torch_backend
import vx._torch_split
from vx._torch_split import Unsupported

CPU = {"device": "cpu", "targets": "cpu"}


def difference(a, b):
    return float((a - b).abs().max())


class Split(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        torch._dynamo.reset()
        self.known = len(vx.torch_graphs())
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 6)

    def run_both(self, function, rows=(3, 5, 7), **options):
        """The record of the one graph, after calls with several numbers of rows against eager PyTorch; and the warnings."""
        compiled = torch.compile(function, backend=vx.torch_backend, dynamic=True, **options)
        with warnings.catch_warnings(record=True) as told, torch.no_grad():
            warnings.simplefilter("always")
            for count in rows:
                x = torch.randn(count, 4)
                for got, expected in zip(*(each if isinstance(each, tuple) else (each,) for each in (compiled(x), function(x)))):
                    self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
                    self.assertLess(difference(got, expected), 1e-5 * max(1, float(expected.abs().max())))
        record, = vx.torch_graphs()[self.known:]
        return record, [str(one.message) for one in told if "backend vx" in str(one.message)]

    def ops(self, record):
        return [entry["op"] for entry in record["eager"]]

    def test_one_operation(self):
        """The operation runs in torch, between two modules of vx that serve all sizes."""
        record, told = self.run_both(lambda x: self.second(torch.special.bessel_j0(torch.relu(self.first(x)))) + 1)
        self.assertEqual((record["device"], record["reason"], record["modules"], record["parts"], self.ops(record)), ("cpu:0", None, 1, 2, ["aten.special_bessel_j0.default"]))
        self.assertRegex(record["eager"][0]["reason"], "torch cannot export it: No ONNX function found for .*bessel_j0")
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], r"a graph of 5 operations runs in 2 parts, and eagerly between them: aten\.special_bessel_j0\.default \(torch cannot export it: ")

    def test_several_operations(self):
        """In sequence, and beside layers that do not need them: three parts, of which the first has all that it can have."""
        def function(x):
            return torch.erfinv(torch.tanh(self.second(torch.special.bessel_j0(torch.relu(self.first(x)))))) + torch.sigmoid(self.second(x))

        record, _ = self.run_both(function)
        self.assertEqual((record["parts"], self.ops(record)), (3, ["aten.special_bessel_j0.default", "aten.erfinv.default"]))

    def test_sizes_and_results(self):
        """Numbers that come of sizes, results of all kinds of steps, and one that is an operand too."""
        record, _ = self.run_both(lambda x: (torch.lgamma(self.first(x)).reshape(x.shape[0] * 2, 2).sum(0) * x.shape[0] + self.second(x).mean(), torch.lgamma(x), self.first(x)))
        self.assertEqual((record["parts"], self.ops(record)), (2, ["aten.lgamma.default"]))

    def test_tuples(self):
        """Operations with several results, in torch and in vx."""
        def function(x):
            inverse, code = torch.linalg.inv_ex(x[:3, :3].T @ x[:3, :3] + torch.eye(3))
            return inverse @ inverse, code, torch.topk(torch.lgamma(x).exp(), 2)[1]

        record, _ = self.run_both(function, rows=(3, 5))
        self.assertEqual(self.ops(record), ["aten.linalg_inv_ex.default", "aten.lgamma.default"])

    def test_writes_in_place(self):
        """Parts have no views of one another: an operation that writes in place gives a value instead."""
        def function(x):
            y = torch.lgamma(self.first(x))
            view = y.view(-1)
            view.mul_(2)
            return torch.relu_(y.add_(1)), view * 3

        record, _ = self.run_both(function)
        self.assertEqual((record["reason"], self.ops(record)), (None, ["aten.lgamma.default"]))

    def test_dropout(self):
        """A dropout that trains draws in torch; the layers around it are modules."""
        network = nn.Sequential(self.first, nn.Dropout(0.5), self.second).train()
        compiled = torch.compile(network, backend=vx.torch_backend)
        x = torch.randn(3, 4)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            compiled(x)
            torch.manual_seed(5)
            got = compiled(x)
            torch.manual_seed(5)
            self.assertLess(difference(got, network(x)), 1e-5)
        record, = vx.torch_graphs()[self.known:]
        self.assertEqual((record["parts"], len(record["eager"])), (2, 1))
        self.assertRegex(record["eager"][0]["reason"], "vx does not take it: .*Dropout")

    def test_nothing_left(self):
        """Views alone are not worth a module: the graph runs eagerly, with the reason of the whole."""
        record, told = self.run_both(lambda x: torch.lgamma(x.reshape(-1)[None]).transpose(0, 1))
        self.assertEqual((record["device"], record["parts"], record["eager"], record["modules"]), (None, 0, [], 0))
        self.assertRegex(record["reason"], "torch cannot export it: .*lgamma")
        self.assertIn("runs eagerly", told[0])

    def test_changed_parameters(self):
        compiled = torch.compile(lambda x: torch.lgamma(self.first(x)) + self.first.bias, backend=vx.torch_backend)
        x = torch.randn(3, 4)
        with warnings.catch_warnings(record=True) as told, torch.no_grad():
            warnings.simplefilter("always")
            compiled(x)
            self.first.weight.mul_(2)
            self.assertLess(difference(compiled(x), torch.lgamma(self.first(x)) + self.first.bias), 1e-4)
        record, = vx.torch_graphs()[self.known:]
        self.assertEqual((record["modules"], record["parts"]), (2, 2))
        self.assertEqual(sum("runs in 2 parts" in str(one.message) for one in told), 1)

    def test_gradients(self):
        """A backward pass of a divided graph is torch's."""
        x = torch.rand(3, 4, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.compile(lambda x: torch.lgamma(self.first(x)).square().sum(), backend=vx.torch_backend)(x).backward()
        got, x.grad = x.grad, None
        torch.lgamma(self.first(x)).square().sum().backward()
        self.assertLess(difference(got, x.grad), 1e-3 * float(x.grad.abs().max()))


class Part:
    """A model of a part that runs in torch."""

    def __init__(self, module, is_fixed):
        self.module, self.is_fixed = module, is_fixed

    def __call__(self, tensors):
        return list(self.module(*tensors))


class Decisions(unittest.TestCase):
    """Which operations run where, by a compiler that the test decides for."""

    def split(self, function, inputs, refuses=lambda node, inputs: False, is_fixed=lambda module: False):
        """The division of a function. `refuses(target, inputs)`: an operation alone is not taken."""
        class Module(nn.Module):
            def forward(self, *given):
                return function(*given)

        def compile(module, inputs, dims):
            nodes = [node for node in module.graph.nodes if node.op == "call_function"]
            if len(nodes) == 1 and refuses(str(nodes[0].target), inputs):
                raise Unsupported("refused")
            return Part(module, is_fixed(module))

        shapes = ({0: torch.export.Dim("rows", min=2, max=100)},) * len(inputs)
        with torch.no_grad():
            program = torch.export.export(Module(), inputs, dynamic_shapes=(shapes,)).run_decompositions({})
            split = vx._torch_split.Split(torch, program.module(check_guards=False), list(inputs), compile)
            for got, expected in zip(split(list(inputs)), function(*inputs)):
                self.assertLess(difference(got, expected), 1e-6)
        return split

    def test_kinds_of_operations(self):
        """An operation is tried once for each type and rank of its operands, and what holds for one says nothing about the others."""
        square = torch.rand(3, 4)
        for name, other, is_refused in (("type", square.double(), lambda given: given.dtype == torch.float64), ("rank", torch.rand(3, 4, 2), lambda given: given.dim() == 3)):
            for inputs in ((square, other), (other, square)):
                with self.subTest(name=name, refused_first=is_refused(inputs[0])):
                    tried = []

                    def refuses(target, given):
                        tried.append((target, given[0].dtype, given[0].dim()))
                        return target == "aten.tanh.default" and is_refused(given[0])

                    split = self.split(lambda a, b: (torch.tanh(a), torch.tanh(b), torch.tanh(a).exp()), inputs, refuses)
                    self.assertEqual(split.eager, [{"op": "aten.tanh.default", "reason": "refused"}])
                    eager = [node for node in split._nodes if node in split._eager]
                    self.assertEqual(len(eager), 2 if is_refused(inputs[0]) else 1)
                    self.assertTrue(all(is_refused(node.meta["val"]) for node in eager))
                    self.assertEqual(sum(target == "aten.tanh.default" for target, *_ in set(tried)), 2)

    def test_parts_of_fixed_sizes(self):
        """A division serves no other sizes if one of its parts does not, whichever it is."""
        def function(x):
            return (torch.lgamma(x.exp()).tanh() + 1,)

        refuses = lambda target, inputs: target == "aten.lgamma.default"
        for fixed, expected in (((), False), (("aten.exp.default",), True), (("aten.tanh.default",), True), (("aten.exp.default", "aten.tanh.default"), True)):
            has = lambda module: any(str(node.target) in fixed for node in module.graph.nodes)
            split = self.split(function, (torch.rand(3, 4),), refuses, has)
            self.assertEqual((len(split.parts), split.is_fixed), (2, expected), fixed)

    def test_a_part_of_fixed_sizes(self):
        """A size that a model has as a number, though the graph has it as a symbol, is fixed."""
        class Model:
            inputs = [{"name": "x0", "shape": ["rows", 4]}, {"name": "x2", "shape": [3, 4]}]

            def report(self):
                return {"taken": {"device": "cpu:0"}}

        for dims, fixed in (([[0], [], [0]], [(2, 0)]), ([[0], [0], []], []), ([[0, 1], [], [1, 0]], [(0, 1), (2, 1), (2, 0)])):
            part = vx._torch_backend._Part(torch, Model(), dims)
            self.assertEqual((part.fixed, part.is_fixed), (fixed, bool(fixed)))

    def test_a_graph_with_parts_of_fixed_sizes(self):
        """Such a graph has a module for each size, and calls of equal sizes share one."""
        class Fixed(vx._torch_backend._Part):
            def __init__(self, *given):
                super().__init__(*given)
                self.is_fixed = True

        torch._dynamo.reset()
        known = len(vx.torch_graphs())
        with unittest.mock.patch("vx._torch_backend._Part", Fixed), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            compiled = torch.compile(lambda x: torch.lgamma(torch.exp(x)) * 2, backend=vx.torch_backend, dynamic=True)
            for rows, modules in ((3, 1), (5, 2), (3, 2), (5, 2), (6, 3)):
                x = torch.rand(rows, 4)
                self.assertLess(difference(compiled(x), torch.lgamma(torch.exp(x)) * 2), 1e-4)
                record, = vx.torch_graphs()[known:]
                self.assertEqual((record["parts"], record["modules"]), (2, modules), rows)


class FusedLayers(unittest.TestCase):
    def test_encoder_layers(self):
        """The layer that torch fuses without gradients is one module, with each kind of mask; and an export of it is torch's own."""
        torch.manual_seed(9)
        x = torch.randn(3, 5, 16)
        causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
        padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])
        for norm_first, activation in ((False, "relu"), (True, "gelu")):
            layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True, norm_first=norm_first, activation=activation).eval()
            for norm in (layer.norm1, layer.norm2): # which begin alike
                nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
            for masks in ({}, {"src_mask": causal}, {"src_key_padding_mask": padding}, {"src_mask": causal, "src_key_padding_mask": padding}):
                with self.subTest(norm_first=norm_first, masks=list(masks)), torch.no_grad():
                    torch._dynamo.reset()
                    known = len(vx.torch_graphs())
                    got, expected = torch.compile(layer, backend=vx.torch_backend)(x, **masks), layer(x, **masks)
                    self.assertLess(difference(got, expected), 1e-5)
                    self.assertEqual([(graph["parts"], graph["eager"], graph["reason"]) for graph in vx.torch_graphs()[known:]], [(1, [], None)])
            with torch.no_grad():
                result, = vx.from_torch(layer, x, **CPU)(x).values()
                self.assertLess(difference(torch.from_numpy(result.copy()), layer(x)), 1e-5)


class Mistakes(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(8)
        self.network = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
        self.x, self.y = torch.randn(24, 6), torch.randint(0, 3, (24,))

    def test_exporters_lines(self):
        """The lines that torch prints of a module that it cannot export are in the error, and nowhere else."""
        code = """
import torch, vx
class Branches(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
try:
    vx.from_torch(Branches(), torch.ones(3))
except vx.CompileError as error:
    print("data-dependent" in str(error))
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_two_backends(self):
        """A module that torch has compiled is the module itself for an export; one backend over another runs as torch decides, and is right."""
        expected = self.network(self.x).detach()
        for backend in ("eager", vx.torch_backend):
            torch._dynamo.reset()
            model = vx.from_torch(torch.compile(self.network, backend=backend), self.x, train=True, loss="cross_entropy", optimizer=vx.SGD(0.1), **CPU)
            result, = model(self.x).values()
            self.assertLess(difference(torch.from_numpy(result.copy()), expected), 1e-5)
            self.assertEqual(set(model.state_dict()), set(self.network.state_dict()))
            with torch.no_grad():
                self.assertLess(difference(torch.compile(torch.compile(self.network, backend=backend), backend=vx.torch_backend)(self.x), expected), 1e-5)

    def test_objects_of_torch(self):
        """An optimizer and a loss of torch are refused with what is expected."""
        options = {"train": True, **CPU}
        for error, says, more in ((TypeError, r"loss: expected a text such as 'cross_entropy' or 'mse', got torch\.nn\.modules\.loss\.CrossEntropyLoss;", {"loss": nn.CrossEntropyLoss()}),
                                  (TypeError, "loss: expected a text .*, got cross_entropy;", {"loss": nn.functional.cross_entropy}),
                                  (TypeError, r"optimizer: expected an object such as vx\.AdamW\(3e-4\), or a text such as 'adamw', got torch\.optim\.adam\.Adam$",
                                   {"loss": "cross_entropy", "optimizer": torch.optim.Adam(self.network.parameters())})):
            with self.assertRaisesRegex(error, says):
                vx.from_torch(self.network, self.x, **options).fit(self.x, self.y, verbose=0, **more)
            with self.assertRaisesRegex(error, says):
                vx.from_torch(self.network, self.x, **options, **more)

    def test_tensors_without_memory(self):
        model = vx.from_torch(nn.Linear(6, 3), self.x, **CPU)
        for value, says in ((torch.empty(24, 6, device="meta"), "meta"), (torch.zeros(24, 6).to_sparse(), "unsupported memory format")):
            with self.assertRaisesRegex(ValueError, rf"input 'input': torch\.Tensor gives no array by DLPack: .*{says}"):
                model(value)

    def test_summary(self):
        """Trained and frozen parameters and buffers are counted as PyTorch counts them."""
        network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 3))
        network[0].weight.requires_grad_(False)
        model = vx.from_torch(network, torch.zeros(2, 1, 8, 8), train=True, loss="cross_entropy", **CPU)
        trained = sum(one.numel() for one in network.parameters() if one.requires_grad)
        frozen = sum(one.numel() for one in network.parameters() if not one.requires_grad)
        self.assertTrue(model.summary().endswith(f"trainable {trained}\nfrozen    {frozen}\nbuffers   {sum(one.numel() for one in network.buffers())}\n"), model.summary())
        adapters = vx.from_torch(nn.Linear(6, 3), self.x, train=True, loss="mse", lora=vx.LoRA("*weight", rank=2), **CPU)
        self.assertTrue(adapters.summary().endswith("trainable 18\nfrozen    21\nbuffers   0\n"), adapters.summary())

    def test_frames_and_layouts(self):
        """Tensors and arrays of any layout give the same results."""
        model = vx.from_torch(nn.Linear(6, 3), self.x, **CPU)
        first, = model(self.x).values()
        for same in (self.x.T.contiguous().T, self.x.double(), self.x.numpy()[::-1][::-1], np.asfortranarray(self.x.numpy())):
            np.testing.assert_array_equal(next(iter(model(same).values())), first)


if __name__ == "__main__":
    unittest.main()
