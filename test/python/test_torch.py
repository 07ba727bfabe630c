"""Modules of PyTorch in vx and back, and the backend of torch.compile; against PyTorch and ONNX Runtime, where they are installed (run_torch.py)."""
import inspect
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnxruntime
import torch
from torch import nn

import nn_cases
import vx
import vx.nn

CPU = {"device": "cpu", "targets": "cpu"}


class Convolutions(nn.Module):
    """A network with all that an export for inference loses: batch norms, dropouts."""

    def __init__(self, dropout=0.25):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6, momentum=0.2)
        self.second, self.norm2 = nn.Conv2d(6, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8)
        self.drop, self.head = nn.Dropout(dropout), nn.Linear(8 * 9, 10)

    def forward(self, image):
        x = torch.relu(self.norm(self.conv(image)))
        x = torch.relu(self.norm2(self.second(x)))
        return self.head(self.drop(x.flatten(1)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(5, 7, num_layers=2, batch_first=True, bidirectional=True), nn.Linear(14, 3)

    def forward(self, series):
        return self.head(self.lstm(series)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(13, 16)
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 24, dropout=0.1, batch_first=True), 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)

    def forward(self, tokens):
        return self.head(self.blocks(self.table(tokens)).mean(1))


class Lion(torch.optim.Optimizer):
    """As the paper has it; torch has none."""

    def __init__(self, groups, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(groups, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                mean = self.state[parameter].setdefault("mean", torch.zeros_like(parameter))
                direction = torch.sign(first * mean + (1 - first) * parameter.grad)
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
                mean.mul_(second).add_(parameter.grad, alpha=1 - second)


class Layers(unittest.TestCase):
    """vx.nn and torch.nn: the results that test_nn.py compares with, and weights from one to the other."""

    def test_goldens(self):
        with np.load(nn_cases.GOLDENS) as goldens:
            made = nn_cases.compute(torch)
            self.assertEqual(set(made), set(goldens))
            for name, value in made.items():
                np.testing.assert_allclose(value, goldens[name], rtol=1e-3, atol=1e-5, err_msg=name)

    def test_weights(self):
        names = {"x": ("batch", 6)}
        for theirs, ours in ((nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)), vx.nn.MLP([6, 5, 3])),):
            x = torch.randn(4, 6)
            model = ours.compile(names, loss="mse", optimizer=vx.SGD(0.1), weights=theirs.state_dict(), **CPU)
            self.assertLess(difference(only(model(x)), theirs(x).detach()), 1e-6)
            model.fit(x, torch.zeros(4, 3), epochs=3, verbose=0)
            self.assertGreater(difference(only(model(x)), theirs(x).detach()), 1e-3)
            theirs.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in model.get_weights().items()})
            self.assertLess(difference(only(model(x)), theirs(x).detach()), 1e-6)

    def test_groups_of_parameters(self):
        """Five steps of each optimizer with rates and decays of groups, against torch's with param_groups."""
        rows = torch.Generator().manual_seed(3)
        x, y = torch.randn(16, 6, generator=rows), torch.randn(16, 3, generator=rows)
        for ours, make in ((vx.SGD, lambda groups, lr: torch.optim.SGD(groups, lr, momentum=0.9, weight_decay=0.1)), (vx.Adam, lambda groups, lr: torch.optim.Adam(groups, lr, weight_decay=0.1)),
                           (vx.AdamW, lambda groups, lr: torch.optim.AdamW(groups, lr, weight_decay=0.1)), (vx.RMSprop, lambda groups, lr: torch.optim.RMSprop(groups, lr, weight_decay=0.1)),
                           (vx.Lion, lambda groups, lr: Lion(groups, lr, weight_decay=0.1))):
            theirs = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
            weights = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
            with self.subTest(optimizer=ours.__name__):
                more = {"momentum": 0.9} if ours is vx.SGD else {}
                optimizer = ours(0.02, weight_decay=0.1, groups=[vx.ParamGroup("*.bias", weight_decay=0), vx.ParamGroup("0.w*", lr=0.002, weight_decay=0.3)], **more)
                model = vx.nn.MLP([6, 5, 3]).compile({"x": ("batch", 6)}, loss="mse", optimizer=optimizer, weights=weights, **CPU)
                model.fit(x, y, epochs=5, batch_size=16, verbose=0)
                groups = [{"params": [theirs[2].weight]}, {"params": [theirs[0].bias, theirs[2].bias], "weight_decay": 0}, {"params": [theirs[0].weight], "lr": 0.002, "weight_decay": 0.3}]
                step = make(groups, 0.02)
                for _ in range(5):
                    step.zero_grad()
                    nn.functional.mse_loss(theirs(x), y).backward()
                    step.step()
                for name, tensor in theirs.state_dict().items():
                    self.assertGreater(difference(tensor, weights[name]), 1e-4)
                    self.assertLess(difference(model.get_weights()[name], tensor), 1e-6, name)

    def test_weights_of_classes(self):
        """cross_entropy with torch's `weight`, and fit's class_weight, which is the same without smoothing."""
        rows = torch.Generator().manual_seed(4)
        x, label, weight = torch.randn(24, 6, generator=rows), torch.randint(0, 3, (24,), generator=rows), torch.tensor([0.2, 1.5, 0.7])
        label[::5] = -100
        for smoothing in (0.0, 0.2):
            loss = f"cross_entropy:ignore_index=-100,smoothing={smoothing},class_weight=0.2/1.5/0.7"
            theirs = nn.Linear(6, 3)
            start = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
            wanted = nn.functional.cross_entropy(theirs(x), label, weight, label_smoothing=smoothing)
            model = vx.from_torch(theirs, x, train=True, loss=loss, optimizer=vx.SGD(0.5), **CPU)
            self.assertLess(abs(model.evaluate(x, label, batch_size=7)["loss"] - float(wanted.detach())), 1e-6)
            model.fit(x, label, batch_size=24, verbose=0)
            wanted.backward()
            with torch.no_grad():
                for parameter in theirs.parameters():
                    parameter -= 0.5 * parameter.grad
            for name, tensor in theirs.state_dict().items():
                self.assertLess(difference(model.get_weights()[name], tensor), 1e-6, name)
        soft = torch.softmax(torch.randn(24, 3, generator=rows), 1)
        model = vx.from_torch(theirs, x, train=True, loss="cross_entropy:soft=true,class_weight=0.2/1.5/0.7", **CPU)
        self.assertLess(abs(model.evaluate(x, soft)["loss"] - float(nn.functional.cross_entropy(theirs(x), soft, weight).detach())), 1e-6)
        # Modules of vx.nn; a weight of a row beside that of its class.
        label = label.clamp(min=0)
        for kind in ("cross_entropy", "nll"):
            model = vx.nn.Linear(6, 3).compile({"x": ("batch", 6)}, loss=f"{kind}:class_weight=0.2/1.5/0.7", sample_weight=True, weights=theirs.state_dict(), **CPU)
            for samples in (None, torch.rand(24, generator=rows)):
                logs = theirs(x).detach() if kind == "nll" else torch.log_softmax(theirs(x).detach(), 1)
                each = weight[label] * (1 if samples is None else samples)
                wanted = float((-logs[torch.arange(24), label] * each).sum() / each.sum())
                self.assertAlmostEqual(model.evaluate(x, label, sample_weight=samples)["loss"], wanted, places=5)
        for loss, text in (("cross_entropy:class_weight=1/2", "class_weight: expected 3 weights, one for each class, got 2"), ("nll:class_weight=1/2/-1", "expected weights of at least 0, such as 1/0.5/2, got '1/2/-1'"),
                           ("cross_entropy:class_weight=1/2/1,smoothing=0.1", "class_weight: expected cross_entropy or nll without other keys")):
            with self.assertRaisesRegex(ValueError, text):
                vx.nn.Linear(6, 3).compile({"x": ("batch", 6)}, loss=loss, **CPU)

    def test_files_of_torch(self):
        module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(3, 2).to(torch.bfloat16))
        module[0].weight.data = module[0].weight.data.transpose(2, 3)
        with tempfile.TemporaryDirectory() as folder:
            source, output = (os.path.join(folder, name) for name in ("model.pt", "out.safetensors"))
            for content in (module.state_dict(), {"state_dict": module.state_dict(), "optimizer": torch.optim.AdamW(module.parameters()).state_dict()}, dict(module.state_dict(keep_vars=True))):
                torch.save(content, source)
                self.assertEqual(vx._convert.convert(source, output), [])
                arrays = vx._convert.read_safetensors(output)
                self.assertEqual(set(arrays), set(module.state_dict()))
                for name, value in module.state_dict().items():
                    np.testing.assert_array_equal(arrays[name], value.float().numpy() if value.is_floating_point() else value.numpy())
            torch.save(module, source)
            with self.assertRaisesRegex(ValueError, "got a 'torch.nn.modules.container.Sequential': save the state dict"):
                vx._convert.convert(source, output)


def only(results):
    result, = results.values()
    return result


def difference(a, b):
    return float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max())


def answers(module, *inputs):
    module.eval()
    with torch.no_grad():
        return module(*inputs).numpy()


class FromTorch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def cases(self):
        classes = lambda count, rows=37: torch.randint(0, count, (rows,))
        return [(Convolutions(), torch.randn(37, 1, 8, 8), classes(10)), (Recurrent(), torch.randn(37, 6, 5), classes(3)), (Transformer(), torch.randint(0, 13, (37, 9)), classes(4))]

    def test_round_trip(self):
        """PyTorch, vx and ONNX Runtime give the same answers with the weights that vx has trained."""
        for module, x, y in self.cases():
            with self.subTest(type(module).__name__), tempfile.TemporaryDirectory() as folder:
                module.train()
                first = {name: value.clone() for name, value in module.state_dict().items()}
                model = vx.from_torch(module, x[:5], train=True, **CPU)
                self.assertTrue(module.training)
                self.assertEqual([entry["name"] for entry in model.inputs], list(inspect.signature(module.forward).parameters))
                self.assertLess(difference(only(model(x)), answers(module, x)), 1e-5)
                history = model.fit(x, y, epochs=4, batch_size=8, loss="cross_entropy", optimizer=vx.AdamW(5e-3), metrics=["accuracy"], verbose=0, seed=1)
                losses = history.history["loss"]
                self.assertLess(losses[-1], losses[0])
                self.assertEqual(history.history["rate"], [5e-3] * 4)
                state = model.state_dict()
                self.assertEqual(list(state), list(first))
                trained = [name for name, _ in module.named_parameters()]
                still = [name for name in trained if torch.equal(state[name], first[name])]
                self.assertEqual(still, [])
                missing = module.load_state_dict(state)
                self.assertEqual((missing.missing_keys, missing.unexpected_keys), ([], []))
                expected = answers(module, x)
                self.assertLess(difference(only(model.predict(x)), expected), 1e-5)
                path = os.path.join(folder, "trained.onnx")
                model.export(path)
                session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
                self.assertLess(difference(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0], expected), 1e-5)
                model.save(os.path.join(folder, "trained.vxm"))
                self.assertLess(difference(only(vx.Model(os.path.join(folder, "trained.vxm"), device="cpu")(x)), expected), 1e-5)
                model.save(os.path.join(folder, "trained.safetensors"), only_weights=True)
                again = vx.from_torch(type(module)(), x[:5], train=True, loss="cross_entropy", **CPU)
                again.load(os.path.join(folder, "trained.safetensors"))
                self.assertLess(difference(only(again(x)), expected), 1e-5)

    def test_steps_of_torch(self):
        """vx and a loop in PyTorch take the same five steps: afterwards parameters and running means are equal."""
        for make, rate in ((lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9, weight_decay=1e-3, nesterov=True), vx.SGD(0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)),
                           (lambda parameters: torch.optim.AdamW(parameters, 1e-3, betas=(0.8, 0.95), weight_decay=0.1), vx.AdamW(1e-3, betas=(0.8, 0.95), weight_decay=0.1)),
                           (lambda parameters: torch.optim.Adam(parameters, 2e-3, weight_decay=0.01), vx.Adam(2e-3, weight_decay=0.01)),
                           (lambda parameters: torch.optim.RMSprop(parameters, 1e-3, momentum=0.5), vx.RMSprop(1e-3, momentum=0.5)),
                           (lambda parameters: torch.optim.Adagrad(parameters, 1e-2, lr_decay=0.1), vx.Adagrad(1e-2, lr_decay=0.1))):
            with self.subTest(str(rate)):
                module = Convolutions(dropout=0.0).train()
                x, y = torch.randn(40, 1, 8, 8), torch.randint(0, 10, (40,))
                model = vx.from_torch(module, x[:8], train=True, loss="cross_entropy", optimizer=rate, **CPU)
                batches = [(x[begin:begin + 8], y[begin:begin + 8]) for begin in range(0, 40, 8)]
                model.fit(batches, epochs=1, verbose=0)
                optimizer = make(module.parameters())
                for inputs, labels in batches:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(module(inputs), labels).backward()
                    optimizer.step()
                state, own = model.state_dict(), module.state_dict()
                for name in own:
                    if name.endswith(("num_batches_tracked", "running_var")): # vx's variance is the biased one
                        continue
                    self.assertLess(difference(state[name], own[name]), 2e-4 * max(1.0, float(own[name].abs().max())), name)

    def test_frozen_parts(self):
        module = Convolutions(dropout=0.0).train()
        module.conv.weight.requires_grad_(False)
        module.norm2.eval()
        before = {name: value.clone() for name, value in module.state_dict().items()}
        x, y = torch.randn(24, 1, 8, 8), torch.randint(0, 10, (24,))
        model = vx.from_torch(module, x, train=True, **CPU)
        self.assertEqual((module.norm2.training, module.norm.training, module.training), (False, True, True))
        model.fit(x, y, epochs=2, batch_size=8, loss="cross_entropy", verbose=0)
        state = model.state_dict()
        changed = {name for name in state if not torch.equal(state[name], before[name])}
        self.assertEqual(changed, set(before) - {"conv.weight", "norm2.running_mean", "norm2.running_var", "norm.num_batches_tracked", "norm2.num_batches_tracked"})

    def test_adapters(self):
        """A module of PyTorch with adapters: they alone are trained, and its own weights have the sums after load_state_dict."""
        torch.manual_seed(4)
        module, x = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)), torch.randn(64, 6)
        y = (x[:, :3] * 3).argmax(1)
        before = {name: value.clone() for name, value in module.state_dict().items()}
        model = vx.from_torch(module, x[:2], train=True, loss="cross_entropy", optimizer=vx.AdamW(2e-2), lora=vx.LoRA("*.weight", rank=2, alpha=4), **CPU)
        self.assertEqual(set(model.get_weights()), {f"{layer}.weight.lora_{part}" for layer in (0, 2) for part in "AB"})
        self.assertLess(difference(only(model(x)), module(x).detach()), 1e-5)
        history = model.fit(x, y, epochs=20, verbose=0).history
        self.assertLess(history["loss"][-1], history["loss"][0] * 0.8)
        module.load_state_dict(model.state_dict())
        self.assertLess(difference(only(model.predict(x)), module(x).detach()), 1e-4)
        changed = {name for name, value in module.state_dict().items() if not torch.equal(value, before[name])}
        self.assertEqual(changed, {"0.weight", "2.weight"})
        with tempfile.TemporaryDirectory() as folder:
            model.export(os.path.join(folder, "merged.onnx"))
            session = onnxruntime.InferenceSession(os.path.join(folder, "merged.onnx"))
            self.assertLess(difference(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0], module(x).detach()), 1e-4)

    def test_tied_weights(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.head = nn.Embedding(11, 6), nn.Linear(6, 11, bias=False)
                self.head.weight = self.table.weight

            def forward(self, tokens):
                return self.head(torch.tanh(self.table(tokens)).mean(1))

        module, x, y = Tied().train(), torch.randint(0, 11, (20, 3)), torch.randint(0, 11, (20,))
        before = module.table.weight.detach().clone()
        model = vx.from_torch(module, x, train=True, **CPU)
        model.fit(x, y, epochs=2, batch_size=5, loss="cross_entropy", verbose=0)
        state = model.state_dict()
        self.assertFalse(torch.equal(state["table.weight"], before))
        self.assertTrue(torch.equal(state["table.weight"], state["head.weight"]))
        module.load_state_dict(state)
        self.assertLess(difference(only(model(x)), answers(module, x)), 1e-5)

    def test_inputs_by_name_and_dynamic_sizes(self):
        class Two(nn.Module):
            def forward(self, a, b, scale=2.0):
                return torch.cat([a, b], 0) * scale

        model = vx.from_torch(Two(), {"a": torch.randn(3, 4), "b": torch.randn(5, 4), "scale": 3.0}, dynamic={"a": {0: "n"}, "b": {0: "m"}}, **CPU)
        a, b = torch.randn(2, 4), torch.randn(7, 4)
        self.assertLess(difference(only(model(a=a, b=b)), torch.cat([a, b], 0) * 3), 1e-6)
        fixed = vx.from_torch(Two(), (torch.randn(3, 4), torch.randn(5, 4)), **CPU)
        self.assertEqual([entry["shape"] for entry in fixed.inputs], [(3, 4), (5, 4)])
        shared = vx.from_torch(nn.Linear(4, 2), torch.randn(3, 4), dynamic={"input": {0: "rows"}}, **CPU)
        self.assertEqual(shared.inputs[0]["shape"], ("rows", 4))

    def test_exports_by_hand(self):
        """The files that the page of Python says how to export train in vx as those of from_torch."""
        for module, x, y, options in ((*self.cases()[0], {"batch_norm": "train"}), (*self.cases()[1], {})):
            with self.subTest(type(module).__name__), tempfile.TemporaryDirectory() as folder:
                path, name = os.path.join(folder, "by_hand.onnx"), next(iter(inspect.signature(module.forward).parameters))
                torch.onnx.export(module.train(), (x[:4],), path, dynamo=True, optimize=False, input_names=[name], dynamic_shapes=({0: "batch"},), verbose=False)
                models = [vx.Model(path, loss="cross_entropy", optimizer=vx.SGD(0.1), cache=False, **options, **CPU),
                          vx.from_torch(module, x[:4], train=True, loss="cross_entropy", optimizer=vx.SGD(0.1), **CPU)]
                weights = []
                for model in models:
                    model.fit(x, y, batch_size=8, epochs=2, seed=4, verbose=0)
                    weights.append(model.get_weights())
                self.assertEqual(sorted(weights[0]), sorted(weights[1]))
                for name in weights[0]:
                    self.assertLess(difference(weights[0][name], weights[1][name]), 1e-5, name)

    def test_modes_are_left(self):
        module = Convolutions().train()
        module.norm2.eval()
        for train in (False, True):
            vx.from_torch(module, torch.randn(3, 1, 8, 8), train=train, **CPU)
            self.assertEqual([part.training for part in module.modules()], [part is not module.norm2 for part in module.modules()])
        module.eval()
        vx.from_torch(module, torch.randn(3, 1, 8, 8), train=True, **CPU)
        self.assertFalse(any(part.training for part in module.modules()))

    def test_refusals(self):
        class Branches(nn.Module):
            def forward(self, x):
                if x.sum() > 0:
                    return x
                return -x

        with self.assertRaisesRegex(vx.CompileError, r"torch cannot export Branches: .*test_torch\.py\", line \d+, in forward") as caught:
            vx.from_torch(Branches(), torch.randn(3), **CPU)
        self.assertEqual(caught.exception.code, "unsupported")
        linear, x = nn.Linear(4, 2), torch.randn(3, 4)
        for error, says, call in ((TypeError, "expected a torch.nn.Module, got function", lambda: vx.from_torch(lambda x: x, x)),
                                  (TypeError, r"example: Linear\.forward: ", lambda: vx.from_torch(linear, (x, x))),
                                  (ValueError, "dynamic: expected names of input, got 'x'", lambda: vx.from_torch(linear, x, dynamic={"x": {0: "n"}})),
                                  (ValueError, "'input' has 2 dimensions, got a size 2", lambda: vx.from_torch(linear, x, dynamic={"input": {2: "n"}})),
                                  (ValueError, "loss is for a model that trains: give train=True", lambda: vx.from_torch(linear, x, loss="mse")),
                                  (ValueError, "expected a parameter with requires_grad", lambda: vx.from_torch(nn.Linear(4, 2).requires_grad_(False), x, train=True)),
                                  (ValueError, "fit: expected a model that trains: give train=True", lambda: vx.from_torch(linear, x, **CPU).fit(x, x[:, :2], loss="mse")),
                                  (ValueError, "state_dict: expected a model with a loss", lambda: vx.from_torch(linear, x, **CPU).state_dict())):
            with self.assertRaisesRegex(error, says):
                call()


class Backend(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        torch._dynamo.reset()
        self.known = len(vx.torch_graphs())

    def compiled(self, module, **options):
        return torch.compile(module, backend=vx.torch_backend, **options)

    def graphs(self):
        return vx.torch_graphs()[self.known:]

    def test_sizes(self):
        """One module for all sizes, and results in torch's tensors."""
        module = Convolutions().eval()
        model = self.compiled(module, dynamic=True)
        for rows in (4, 7, 2, 15): # torch itself has a graph of its own for more than 15 images
            x = torch.randn(rows, 1, 8, 8)
            with torch.no_grad():
                result, expected = model(x), module(x)
            self.assertEqual((type(result), result.dtype, result.device.type, result.requires_grad), (torch.Tensor, torch.float32, "cpu", False))
            self.assertLess(difference(result, expected), 1e-5)
        self.assertEqual([(graph["device"], graph["modules"], graph["reason"]) for graph in self.graphs()], [("cpu:0", 1, None)])

    def test_backend_by_name(self):
        """An installed wheel registers the backend by its entry point."""
        with tempfile.TemporaryDirectory() as folder:
            info = os.path.join(folder, "vx_compiler-0.2.0.dist-info")
            os.mkdir(info)
            for name, text in (("METADATA", "Metadata-Version: 2.1\nName: vx-compiler\nVersion: 0.2.0\n"), ("entry_points.txt", "[torch_dynamo_backends]\nvx = vx._torch_backend:torch_backend\n")):
                with open(os.path.join(info, name), "w") as file:
                    file.write(text)
            code = "import torch, vx\nwith torch.no_grad(): print(torch.compile(torch.neg, backend='vx')(torch.ones(2)).tolist(), vx.torch_graphs()[0]['device'])"
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])})
        self.assertEqual(done.stdout, "[-1.0, -1.0] cpu:0\n", done.stderr)

    def test_results_that_are_no_tensors(self):
        class Many(nn.Module):
            def forward(self, x, flag):
                return {"a": x + 1, "b": (x > 0), "rest": [None, 3, x.long()]}, "text" if flag else 2

        x = torch.randn(3, 4)
        with torch.no_grad():
            got, text = self.compiled(Many())(x, True)
        self.assertEqual((got["rest"][:2], text, got["b"].dtype, got["rest"][2].dtype), ([None, 3], "text", torch.bool, torch.int64))
        self.assertTrue(torch.equal(got["a"], x + 1) and torch.equal(got["b"], x > 0) and torch.equal(got["rest"][2], x.long()))
        self.assertEqual([graph["reason"] for graph in self.graphs()], [None])

    def test_graph_breaks(self):
        class Broken(nn.Module):
            def forward(self, x):
                y = torch.exp(x)
                if y.sum() > 1000:
                    return y * 2
                return y * 3

        x = torch.randn(3, 4)
        with torch.no_grad():
            self.assertLess(difference(self.compiled(Broken())(x), torch.exp(x) * 3), 1e-5)
        self.assertEqual([graph["reason"] for graph in self.graphs()], [None, None])

    def test_changed_parameters(self):
        module, x = nn.Linear(4, 2).eval(), torch.randn(3, 4)
        model = self.compiled(module)
        with torch.no_grad():
            model(x)
            module.weight.mul_(2)
            self.assertLess(difference(model(x), module(x)), 1e-6)
            module.load_state_dict(nn.Linear(4, 2).state_dict())
            self.assertLess(difference(model(x), module(x)), 1e-6)
            self.assertEqual([graph["modules"] for graph in self.graphs()], [3])
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                for _ in range(10):
                    module.bias.add_(1)
                    self.assertLess(difference(model(x), module(x)), 1e-6)
        self.assertEqual(sum("runs eagerly" in str(one.message) for one in told), 1)
        self.assertRegex(self.graphs()[0]["reason"], "have changed so often that it was compiled 8 times")

    def test_gradients(self):
        module, x = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), torch.randn(3, 4, requires_grad=True)
        model = self.compiled(module)
        result = model(x)
        self.assertTrue(result.requires_grad)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result.square().sum().backward()
        self.assertTrue(any("it has a backward pass" in str(one.message) for one in told))
        got = [x.grad.clone(), *(parameter.grad.clone() for parameter in module.parameters())]
        x.grad = None
        module.zero_grad()
        module(x).square().sum().backward()
        for one, other in zip(got, [x.grad, *(parameter.grad for parameter in module.parameters())]):
            self.assertLess(difference(one, other), 1e-5)
        self.assertRegex(self.graphs()[0]["reason"], "backward pass")
        positive, doubled = self.compiled(lambda x: (x > 0, x * 2))(x)
        self.assertEqual((positive.requires_grad, doubled.requires_grad), (False, True))
        self.assertLess(difference(model(x).detach(), module(x).detach()), 1e-6)

    def test_what_runs_eagerly(self):
        """A batch norm that trains writes its statistics; a dropout draws; an op that ONNX has not."""
        norm, x = nn.BatchNorm1d(4).train(), torch.randn(6, 4)
        other = nn.BatchNorm1d(4).train()
        with warnings.catch_warnings(record=True) as told, torch.no_grad():
            warnings.simplefilter("always")
            self.assertLess(difference(self.compiled(norm)(x), other(x)), 1e-6)
            self.compiled(nn.Dropout(0.5).train())(x)
            self.assertLess(difference(self.compiled(lambda x: torch.special.bessel_j0(x))(x), torch.special.bessel_j0(x)), 1e-6)
        self.assertLess(difference(norm.running_mean, other.running_mean), 1e-6)
        reasons = [graph["reason"] for graph in self.graphs()]
        self.assertEqual(len(reasons), 3)
        for reason, says in zip(reasons, ("it writes .*batch norms", "vx does not take it: .*Dropout", "torch cannot export it: .*bessel_j0")):
            self.assertRegex(reason, says)
        self.assertEqual(sum("runs eagerly" in str(one.message) for one in told), 3)

    def test_inputs_that_are_written(self):
        x = torch.randn(3, 4)
        before = x.clone()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = self.compiled(lambda x: x.add_(1) * 2)(x)
        self.assertTrue(torch.equal(x, before + 1) and torch.equal(y, x * 2))
        self.assertRegex(self.graphs()[0]["reason"], "it writes ")

    def test_inference_mode_and_options(self):
        module, x = Convolutions().eval(), torch.randn(3, 1, 8, 8)
        with torch.inference_mode():
            self.assertLess(difference(self.compiled(module, options={"threads": 1, "targets": "cpu"})(x), module(x)), 1e-5)
            inner = nn.Linear(8, 2)
            self.assertLess(difference(self.compiled(inner)(x), inner(x)), 1e-5)
        with warnings.catch_warnings(record=True), torch.no_grad():
            warnings.simplefilter("always")
            self.compiled(nn.Tanh(), options={"device": "cuda:77", "targets": "cpu"})(x)
        self.assertEqual([graph["reason"] is None for graph in self.graphs()], [True, True, False])

    def test_numbers_that_change(self):
        model = self.compiled(lambda x, scale: x * scale, dynamic=True)
        x = torch.randn(5, 3)
        with torch.no_grad():
            for scale in (0.5, 0.25, 2.0):
                self.assertLess(difference(model(x, scale), x * scale), 1e-6)
            for count in (3, 4, 5):
                self.assertLess(difference(model(x, count), x * count), 1e-5)


if __name__ == "__main__":
    unittest.main()
