"""Graphs of PyTorch in which single operations run eagerly and all others as modules of vx."""
import itertools as _itertools
import operator as _operator

# Operations that compute nothing: a part of these alone is not worth a module.
_VIEWS = {"view", "_unsafe_view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand", "slice", "select", "alias", "clone", "detach", "split", "split_with_sizes",
          "unbind", "getitem"}


class Unsupported(Exception):
    """Why a graph, or a part of it, runs eagerly."""


def _value(node):
    return node.meta.get("val")


def _name(node):
    """The name of an operation as torch prints it: aten.linalg_inv_ex.default."""
    return str(node.target) if not callable(node.target) or hasattr(node.target, "_schema") else getattr(node.target, "__name__", str(node.target))


class Split:
    """A functional graph of torch.export as steps: models of vx, and single operations of torch.

    `whole`: the program's graph module. `compile(module, inputs, dims)`: a model of a module, whose call takes and gives lists of tensors and whose `is_fixed` says that it takes no other
    sizes; raises Unsupported. `eager` lists the operations that run eagerly: {"op", "reason"}. Raises Unsupported if no operation is left for vx."""

    def __init__(self, torch, whole, inputs, compile):
        self._torch, self._whole, self._compile, self._inputs = torch, whole, compile, inputs
        self._nodes = [node for node in whole.graph.nodes if node.op == "call_function"]
        self.eager, self._steps, self.parts, self.is_fixed = [], [], [], False
        self._eager = self._find_unsupported()
        self._make_steps(self._levels())
        if not self.parts:
            raise Unsupported("; ".join(f"{entry['op']}: {entry['reason']}" for entry in self.eager))

    # Which operations.

    def _is_tensor(self, node):
        return isinstance(_value(node), (self._torch.Tensor, tuple, list))

    def _sources(self, node, found=None):
        """The tensors that a node reads: its own, and those whose sizes its numbers are computed from."""
        found = {} if found is None else found
        for each in node.all_input_nodes:
            if self._is_tensor(each) or each.op in ("placeholder", "get_attr"):
                found[each] = None
            else:
                self._sources(each, found)
        return found

    def _key(self, node):
        """Equal for operations that vx takes or refuses alike: the same one over tensors of the same types and ranks."""
        def describe(argument):
            value = _value(argument)
            return f"{value.dtype}{value.dim()}" if isinstance(value, self._torch.Tensor) else type(value).__name__
        return repr((str(node.target), self._torch.fx.node.map_arg((node.args, node.kwargs), describe)))

    def _find_unsupported(self):
        """Tries each kind of operation alone."""
        known, eager = {}, set()
        for node in self._nodes:
            if not self._is_tensor(node):
                continue
            if node.target is _operator.getitem:
                if node.args[0] in eager:
                    eager.add(node)
                continue
            key = self._key(node)
            if key not in known:
                known[key] = self._try(node)
                if known[key] is not None:
                    self.eager.append({"op": _name(node), "reason": known[key]})
            if known[key] is not None:
                eager.add(node)
        return eager

    def _try(self, node):
        """Why vx does not take one operation, or None."""
        torch = self._torch
        graph, made, inputs = torch.fx.Graph(), {}, []
        for each in node.all_input_nodes:
            value = _value(each)
            if isinstance(value, torch.Tensor):
                made[each] = graph.placeholder(f"x{len(inputs)}")
                inputs.append(torch.empty([self._hint(size) for size in value.shape], dtype=value.dtype, device=value.device))
            elif isinstance(value, (tuple, list)):
                return None # with its tensors it is another operation; the part says whether it is taken
        if not inputs:
            return None
        result = graph.create_node("call_function", node.target, *torch.fx.node.map_arg((node.args, node.kwargs), lambda each: made[each] if each in made else self._hint(_value(each))))
        several = isinstance(_value(node), (tuple, list))
        graph.output(tuple(graph.call_function(_operator.getitem, (result, user.args[1])) for user in node.users) if several else (result,))
        try:
            self._compile(torch.fx.GraphModule(torch.nn.Module(), graph), inputs, [[] for _ in inputs])
        except Unsupported as error:
            return str(error)
        return None

    @staticmethod
    def _hint(value):
        node = getattr(value, "node", None)
        return value if node is None else node.hint

    # In which order.

    def _levels(self):
        """{node: level}: the part of a level reads parts of less or equal levels, and what runs eagerly of lesser ones."""
        levels = {}
        for node in self._nodes:
            sources = [each for each in self._sources(node) if each in levels]
            levels[node] = max((levels[each] + (each in self._eager and node not in self._eager) for each in sources), default=0)
        return levels

    def _make_steps(self, levels):
        tensors = iter(self._inputs)
        env = {node: next(tensors) for node in self._whole.graph.nodes if node.op == "placeholder"}
        for level in range(max(levels.values(), default=0) + 1):
            here = [node for node in self._nodes if levels[node] == level]
            mine = [node for node in here if node not in self._eager and self._is_tensor(node)]
            step = self._make_part(mine, env) if any(_name(node).split(".")[1 if "." in _name(node) else 0] not in _VIEWS for node in mine) else None
            own = set() if step is None else set(mine)
            if step is not None:
                self._steps.append(step)
                self._run_step(step, env)
            for node in here:
                if node not in own and (node.users or not self._is_tensor(node)):
                    self._steps.append((None, [node], [node]))
                    self._run_step(self._steps[-1], env)
        self._forget_early()

    def _make_part(self, nodes, env):
        """A step that runs these nodes in vx, or None if vx does not take them together."""
        torch = self._torch
        own = set(nodes)
        outside = dict.fromkeys(source for node in nodes for source in self._sources(node) if source not in own and source.op != "get_attr")
        if any(not isinstance(_value(each), torch.Tensor) for each in outside):
            return None
        graph, made = torch.fx.Graph(), {}
        for number, each in enumerate(outside):
            made[each] = graph.placeholder(f"x{number}")

        def copy(node):
            if node not in made:
                for each in node.all_input_nodes:
                    copy(each)
                made[node] = graph.node_copy(node, lambda each: made[each])
            return made[node]

        for node in nodes:
            copy(node)
        results = [node for node in nodes if isinstance(_value(node), torch.Tensor) and any(user not in own for user in node.users)]
        graph.output(tuple(made[node] for node in results))
        inputs = [env[each].detach() for each in outside]
        dims = [[dim for dim, size in enumerate(_value(each).shape) if not isinstance(size, int)] for each in outside]
        try:
            model = self._compile(torch.fx.GraphModule(self._whole, graph), inputs, dims)
        except Unsupported as error:
            self.eager.append({"op": f"{len(nodes)} operations from {_name(nodes[0])} to {_name(nodes[-1])}", "reason": str(error)})
            return None
        self.parts.append(model)
        self.is_fixed = self.is_fixed or model.is_fixed
        return model, list(outside), results

    def _forget_early(self):
        """Adds to each step the values that no later step reads."""
        last = {}
        for number, (model, reads, results) in enumerate(self._steps):
            for node in _itertools.chain(*(each.all_input_nodes for each in reads)) if model is None else reads:
                last[node] = number
            for node in results:
                last.setdefault(node, number)
        for node in self._output().all_input_nodes:
            last.pop(node, None)
        self._steps = [(*step, [node for node, place in last.items() if place == number]) for number, step in enumerate(self._steps)]

    # Runs.

    def _output(self):
        return next(node for node in self._whole.graph.nodes if node.op == "output")

    def _read(self, node, env):
        if node.op == "get_attr":
            value = self._whole
            for part in node.target.split("."):
                value = getattr(value, part)
            return value
        return env[node]

    def _run_step(self, step, env):
        model, reads, results = step[:3]
        if model is None:
            node, = reads
            args, kwargs = self._torch.fx.node.map_arg((node.args, node.kwargs), lambda each: self._read(each, env))
            env[node] = node.target(*args, **kwargs)
        else:
            env.update(zip(results, model([env[each] for each in reads])))

    def __call__(self, inputs):
        """The results for all inputs of the program, as a list."""
        given = iter(inputs)
        env = {node: next(given) for node in self._whole.graph.nodes if node.op == "placeholder"}
        for step in self._steps:
            self._run_step(step, env)
            for node in step[3]:
                env.pop(node, None)
        return list(self._torch.fx.node.map_arg(self._output().args[0], lambda each: self._read(each, env)))
