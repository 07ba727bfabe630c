"""The backend "vx" of torch.compile: graphs of PyTorch that run as modules of vx, and eagerly where they cannot."""
import atexit as _atexit
import os as _os
from collections.abc import Callable as _Callable
import tempfile as _tempfile
import threading as _threading
import warnings as _warnings
import weakref as _weakref

import vx as _vx

from ._torch import import_torch, quiet, reason_of
from ._torch_attention import decompositions
from ._torch_split import Split, Unsupported

_MOST_MODULES = 8 # of a graph whose constants change; then it runs eagerly
_records, _graphs, _lock = [], _weakref.WeakSet(), _threading.Lock()


@_atexit.register
def _end():
    """Drops the instances before the interpreter ends; torch keeps the graphs."""
    for graph in list(_graphs):
        graph.drop()


def torch_graphs() -> list:
    """The graphs that torch.compile has given to the backend "vx" in this process, in their order, as dicts:

    `nodes`: how many operations; `device`: that of vx, or None for a graph that runs eagerly; `reason`: why it does; `modules`: how often it was compiled; `parts`: into how many modules
    it is divided; `eager`: the operations between these parts that run eagerly, as {"op": ..., "reason": ...}."""
    with _lock:
        return [dict(record) for record in _records]


def torch_backend(graph_module, example_inputs, options: dict | None = None) -> "_Callable":
    """Compiles a graph for torch.compile(model, backend="vx") or backend=vx.torch_backend; torch calls it.

    `options`, as torch.compile takes them: those of vx.Model; without `device` a graph runs where its tensors are. Parameters and buffers are constants of the module: after a change of
    them the graph is compiled again. An operation that vx or torch.onnx does not take runs eagerly, between modules of the others. A graph that writes its inputs runs eagerly as a whole, and so
    does one without an operation for vx. Both are told by a warning and in vx.torch_graphs().

    The backend is for inference. A backward pass computes the graph eagerly once more, and from then on the graph runs eagerly."""
    graph = _Graph(graph_module, example_inputs, dict(options or {}))
    with _lock:
        _records.append(graph.record)
        _graphs.add(graph)
    return graph


class _Part:
    """A model of vx as a function of lists of tensors. `is_fixed`: it takes no other sizes than these in dimensions that are dynamic in the graph; `fixed` lists them as (input, dimension)."""

    def __init__(self, torch, model, dims):
        self._torch, self._model = torch, model
        self._taken = [entry["name"] for entry in model.inputs]
        sizes = {entry["name"]: entry["shape"] for entry in model.inputs}
        self.fixed = [(number, dim) for number, own in enumerate(dims) for dim in own if f"x{number}" in sizes and isinstance(sizes[f"x{number}"][dim], int)]
        self.is_fixed = bool(self.fixed)
        self.device = model.report()["taken"]["device"]

    def __call__(self, tensors):
        named = {name: tensors[int(name[1:])] for name in self._taken}
        return [self._torch.from_dlpack(each) for each in self._model._instance.run_tensors(self._model._main, **named).values()]


def _compile_part(torch, module, inputs, dims, options):
    """A _Part of a module, or of a program of torch.export. Raises Unsupported with the reason."""
    names = [f"x{number}" for number in range(len(inputs))]
    with _tempfile.TemporaryDirectory(prefix="vx-torch-") as folder, torch.no_grad():
        path = _os.path.join(folder, "graph.onnx")
        try:
            with quiet(), torch._guards.tracing(None): # outside of the compilation that calls the backend
                if isinstance(module, torch.nn.Module):
                    shapes = tuple({dim: torch.export.Dim.AUTO for dim in own} or None for own in dims)
                    module = torch.export.export(module, tuple(inputs), dynamic_shapes=shapes, strict=False).run_decompositions(decompositions(torch))
                torch.onnx.export(module, f=path, dynamo=True, verbose=False, input_names=names)
        except ImportError as error:
            raise Unsupported(f"torch.onnx.export needs more packages: {error}: pip install onnxscript") from None
        except Exception as error: # whatever torch raises
            raise Unsupported(f"torch cannot export it: {reason_of(error)}") from None
        try:
            return _Part(torch, _vx.Model(path, cache=False, **options), dims)
        except _vx.Error as error:
            raise Unsupported(f"vx does not take it: {str(error).splitlines()[0]}") from None


class _Graph:
    """A graph of torch with its modules: one for all sizes that the graph takes, or one for each."""

    def __init__(self, graph_module, examples, options):
        self._torch = import_torch("torch.compile")
        self._eager, self._options = graph_module, options
        self._modules, self._guard = {}, _threading.Lock()
        self.record = {"nodes": sum(node.op not in ("placeholder", "output", "get_attr") for node in graph_module.graph.nodes), "device": None, "reason": None, "modules": 0, "parts": 1, "eager": []}
        try:
            self._read_placeholders(examples)
            self._read_outputs()
            self._find(examples)
        except Unsupported as error:
            self._give_up(str(error))

    def drop(self):
        self._modules = {}

    def _give_up(self, reason):
        self.record.update(reason=reason, device=None, parts=0, eager=[])
        self.drop()
        _warnings.warn(f"torch.compile, backend vx: a graph of {self.record['nodes']} operations runs eagerly: {reason}", stacklevel=3)

    # Inputs and results.

    def _read_placeholders(self, examples):
        """Sorts the inputs: tensors of a call; constants, which are parameters and buffers; numbers, which torch passes as tensors of rank 0; and sizes."""
        torch = self._torch
        self._tensors, self._constants, self._numbers, self._sizes = [], [], [], {}
        nodes = [node for node in self._eager.graph.nodes if node.op == "placeholder"]
        sizes = {}
        for place, (node, example) in enumerate(zip(nodes, examples)):
            if isinstance(example, torch.Tensor):
                if isinstance(example, torch.nn.Parameter) or getattr(example, "_dynamo_static_input_type", None) is not None:
                    self._constants.append(place)
                elif example.dim() == 0 and node.users and all(user.op == "call_method" and user.target == "item" for user in node.users):
                    self._numbers.append(place)
                else:
                    self._tensors.append(place)
            elif node.users:
                sizes[place] = example
        fakes = {place: nodes[place].meta.get("example_value") for place in self._tensors}
        self._dynamic = {place: [dim for dim, size in enumerate(fake.shape) if not isinstance(size, int)] if fake is not None else [] for place, fake in fakes.items()}
        for place, size in sizes.items():
            known = [(tensor, dim) for tensor, dims in self._dynamic.items() for dim in dims if fakes[tensor].shape[dim].node.expr == size.node.expr] if hasattr(size, "node") else []
            if not known:
                raise Unsupported(f"its input '{nodes[place].target}' is a number that changes, and no size of a tensor")
            self._sizes[place] = known[0]
        if not self._tensors:
            raise Unsupported("it takes no tensor")

    def _read_outputs(self):
        """The results: which of them are tensors, and the expressions of the others."""
        results = next(node for node in self._eager.graph.nodes if node.op == "output").args[0]
        self._results = []
        for result in results:
            value = result.meta.get("example_value", result.meta.get("val")) if hasattr(result, "meta") else result
            if isinstance(value, self._torch.Tensor):
                self._results.append(None)
            elif value is None or isinstance(value, (bool, int, float)):
                self._results.append(lambda args, value=value: value)
            else:
                raise Unsupported(f"its result '{result}' is a {type(value).__name__} and no tensor")
        if None not in self._results:
            raise Unsupported("it gives no tensor")

    # Modules.

    def _state(self, args):
        """A module's constants and numbers: places and versions of the first ones, values of the second ones."""
        def version(tensor):
            return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version
        return (*(version(args[place]) for place in self._constants), *(args[place].item() for place in self._numbers))

    def _find(self, args):
        """The model for a call."""
        state = self._state(args)
        with self._guard:
            shapes, models = self._modules.get("shapes"), self._modules.get("models", {})
            if self._modules.get("state") != state or shapes is None:
                models = {}
            key = tuple(args[place].shape[dim] for place, dim in shapes) if models else None
            if not models or key not in models:
                if self.record["modules"] == _MOST_MODULES:
                    raise Unsupported(f"its parameters, numbers or sizes have changed so often that it was compiled {_MOST_MODULES} times")
                model, fixed = self._compile(args)
                if not models or fixed != shapes:
                    models = {}
                models[tuple(args[place].shape[dim] for place, dim in fixed)] = model
                self._modules = {"state": state, "shapes": fixed, "models": models}
                return model
            return models[key]

    def _device(self, args):
        devices = {args[place].device for place in (*self._tensors, *self._constants)}
        if len(devices) > 1:
            raise Unsupported(f"its tensors are on {len(devices)} devices: {', '.join(sorted(map(str, devices)))}")
        device = devices.pop()
        if device.type not in ("cpu", "cuda"):
            raise Unsupported(f"its tensors are on {device}, which vx does not know")
        name = "rocm" if device.type == "cuda" and self._torch.version.hip else device.type
        return name if name == "cpu" else f"{name}:{device.index or 0}"

    def _compile(self, args):
        """A model for these constants, and the sizes of its inputs that are fixed in it though the graph takes any, as (input, dimension)."""
        torch = self._torch
        options = {"device": self._device(args), "fallback": False, **self._options}
        if options["device"] == "cpu":
            options.setdefault("threads", torch.get_num_threads())
        bridge = _make_bridge(torch, self._eager, self._tensors, {place: args[place] for place in self._constants},
                              {place: args[place].item() for place in self._numbers}, self._sizes, [result is None for result in self._results])
        inputs = tuple(args[place].detach() for place in self._tensors)
        dims = [self._dynamic[place] for place in self._tensors]
        shapes = {f"x{number}": {dim: torch.export.Dim.AUTO for dim in own} or None for number, own in enumerate(dims)}
        try:
            with quiet(), torch._guards.tracing(None), torch.no_grad(): # outside of the compilation that calls the backend
                # Almost without decompositions, the program still has no op that writes in place afterwards.
                program = torch.export.export(bridge, inputs, dynamic_shapes=(tuple(shapes.values()),), strict=False).run_decompositions(decompositions(torch))
        except Exception as error: # whatever torch raises
            raise Unsupported(f"torch cannot export it: {reason_of(error)}") from None
        signature = program.graph_signature
        written = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
        if written:
            raise Unsupported(f"it writes {', '.join(written)}, as batch norms of a model that trains do")
        try:
            model = _compile_part(torch, program, inputs, dims, options)
            fixed, device = model.fixed, model.device
        except Unsupported as error:
            model = self._split(program, inputs, options, error)
            fixed, device = [(number, dim) for number, own in enumerate(dims) for dim in own] if model.is_fixed else [], model.parts[0].device
        self.record.update(modules=self.record["modules"] + 1, device=device)
        return model, tuple((self._tensors[number], dim) for number, dim in fixed)

    def _split(self, program, inputs, options, reason):
        """The program with the operations that vx does not take in torch. Raises Unsupported with the reason of the whole if nothing is left for vx."""
        torch = self._torch
        if self.record["nodes"] < 2:
            raise reason
        with torch.no_grad():
            try:
                split = Split(torch, program.module(check_guards=False), inputs, lambda *part: _compile_part(torch, *part, options))
            except Unsupported:
                raise reason from None
        if self.record["eager"] != split.eager:
            self.record.update(eager=split.eager, parts=len(split.parts))
            what = "; ".join(f"{entry['op']} ({entry['reason']})" for entry in split.eager)
            _warnings.warn(f"torch.compile, backend vx: a graph of {self.record['nodes']} operations runs in {len(split.parts)} parts, and eagerly between them: {what}", stacklevel=3)
        return split

    # Calls.

    def __call__(self, *args):
        torch = self._torch
        if self.record["reason"] is not None:
            return self._eager(*args)
        if torch.is_grad_enabled() and any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
            return self._with_gradient(args)
        try:
            return self._run(args)
        except Unsupported as error:
            self._give_up(str(error))
            return self._eager(*args)

    def _run(self, args):
        results = iter(self._find(args)([args[place] for place in self._tensors]))
        return tuple(next(results) if make is None else make(args) for make in self._results)

    def _with_gradient(self, args):
        torch, graph = self._torch, self

        class Run(torch.autograd.Function):
            @staticmethod
            def forward(context, *inputs):
                context.save_for_backward(*(each for each in inputs if isinstance(each, torch.Tensor)))
                context.inputs = [None if isinstance(each, torch.Tensor) else each for each in inputs]
                try:
                    results = graph._run(inputs)
                except Unsupported as error:
                    graph._give_up(str(error))
                    results = graph._eager(*inputs)
                return tuple(results)

            @staticmethod
            def backward(context, *gradients):
                if graph.record["reason"] is None:
                    graph._give_up("it has a backward pass, and the backend is for inference: vx.from_torch(..., train=True).fit trains in vx")
                saved = iter(context.saved_tensors)
                inputs = [next(saved).detach().requires_grad_(needed) if each is None else each for each, needed in zip(context.inputs, context.needs_input_grad)]
                wanted = [each for each, needed in zip(inputs, context.needs_input_grad) if needed]
                with torch.enable_grad():
                    results = graph._eager(*inputs)
                pairs = [(result, gradient) for result, gradient in zip(results, gradients)
                         if isinstance(result, torch.Tensor) and result.requires_grad and gradient is not None]
                found = iter(torch.autograd.grad([result for result, _ in pairs], wanted, [gradient for _, gradient in pairs], allow_unused=True))
                return tuple(next(found) if needed else None for needed in context.needs_input_grad)

        return Run.apply(*args)


def _make_bridge(torch, graph, tensors, constants, numbers, sizes, are_tensors):
    """A module of the call's tensors alone, which torch.export takes: constants are its buffers, numbers are fixed, and sizes are those of the tensors."""
    class Bridge(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for place, value in constants.items():
                self.register_buffer(f"c{place}", value.detach())

        def forward(self, *inputs):
            given = dict(zip(tensors, inputs))
            args = {**given, **{place: getattr(self, f"c{place}") for place in constants}}
            args.update({place: given[tensor].shape[dim] for place, (tensor, dim) in sizes.items()})
            values = {}
            for place, node in enumerate(placeholders):
                values[node] = numbers[place] if place in numbers else args.get(place)
            results = run(values)
            return tuple(result for result, is_tensor in zip(results, are_tensors) if is_tensor)

    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]

    def run(values):
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                continue
            if node.op == "call_method" and node.target == "item" and isinstance(values.get(node.args[0]), (bool, int, float)):
                values[node] = values[node.args[0]]
                continue
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda each: values[each])
            if node.op == "output":
                return args[0]
            if node.op == "get_attr":
                value = graph
                for part in node.target.split("."):
                    value = getattr(value, part)
            elif node.op == "call_function":
                value = node.target(*args, **kwargs)
            elif node.op == "call_method":
                value = getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                value = graph.get_submodule(node.target)(*args, **kwargs)
            values[node] = value
        raise Unsupported("it has no result")

    return Bridge()
