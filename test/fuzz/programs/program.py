"""A random program: values with their ranges, ops as text, and how it is written with symbols or with sizes."""
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))

from op_case import ACCUMULATOR, EPSILON, FLOATS, INTEGERS, NUMPY, decode, encode, tensor_type  # noqa: E402,F401

# Integers up to this are exact in the type, and so are sums and products of them that stay below.
EXACT = {"f16": 2.0**11, "bf16": 2.0**8, "f32": 2.0**24, "f64": 2.0**53}
# Rounded values stay below this, so that nothing overflows.
LARGEST = {"f16": 1e3, "bf16": 1e4, "f32": 1e5, "f64": 1e6}

FUNCTIONS = {"max": max, "min": min, "floordiv": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b}


def size_of(dim, sizes):
    """The value of a dimension: a number, or an expression over symbols."""
    return eval(dim, dict(FUNCTIONS), dict(sizes)) if isinstance(dim, str) else dim


def shape_of(dims, sizes):
    return tuple(size_of(dim, sizes) for dim in dims)


def resolved(dim, sizes):
    """With the sizes that are known; those that data decides stay."""
    if not isinstance(dim, str) or sizes is None:
        return dim
    if all(name in FUNCTIONS or name in sizes for name in re.findall(r"[A-Za-z_]\w*", dim)):
        return size_of(dim, sizes)
    return re.sub(r"[A-Za-z_]\w*", lambda match: str(sizes.get(match[0], match[0])), dim)


def plus(dim, amount):
    return f"{dim} + {amount}" if isinstance(dim, str) or isinstance(amount, str) else dim + amount


def times(a, b):
    if not isinstance(a, str) and not isinstance(b, str):
        return a * b
    if a in (0, 1) or b in (0, 1):
        return 0 if 0 in (a, b) else b if a == 1 else a
    return f"({a}) * ({b})"


class Value:
    """A tensor of a program. Its elements lie in [low, high]; floats that are `exact` are whole numbers, on which sums and products have no
    rounding whatever their order, others have one. `special` values may be infinite or no number; what `is_private` is for one op alone."""

    is_private = False

    def __init__(self, name, dtype, dims, low, high, exact=True, special=False):
        self.name, self.dtype, self.dims, self.low, self.high = name, dtype, list(dims), low, high
        self.exact, self.special = exact, special

    @property
    def magnitude(self):
        return max(abs(self.low), abs(self.high))

    @property
    def is_float(self):
        return self.dtype in FLOATS

    def type(self, sizes):
        return tensor_type(self.dtype, [resolved(dim, sizes) for dim in self.dims])


class Input(Value):
    """`make(random, shape)` gives the elements; a constant stands in the program instead, and must where it is `fixed`."""

    def __init__(self, *arguments, make, constant=False, fixed=False, binds=False, **options):
        super().__init__(*arguments, **options)
        self.make, self.constant, self.fixed, self.binds = make, constant, fixed, binds
        # By axis, a symbol of the model that stands for the dimension: that it is equal to others is for the compiler to find out, or to check.
        self.own_symbols = {}

    def named_dims(self):
        return [dim for axis, dim in enumerate(self.dims) if axis not in self.own_symbols]

    def array(self, seed, sizes):
        shape = shape_of(self.dims, sizes)
        random = np.random.default_rng([seed, *self.name.encode(), *shape])
        return encode(self.make(random, shape), self.dtype).reshape(shape)


class Op:
    """`text(c)` writes the op: c.o and c.t are the operands' names and types, c.r and c.rt the results', c.dim(expression) an attribute.

    `inner` is the relative error, in units of the accumulator, that each operand's elements may have instead of the op's own (a sum's); `outer`
    that of the result, in units of its type, and with `absolute` also of 1: they make the perturbed programs from which tolerances come."""

    absolute = False

    def __init__(self, kind, operands, results, text, inner=0, outer=0, regions=()):
        self.kind, self.operands, self.results, self.text = kind, list(operands), list(results), text
        self.inner, self.outer, self.regions = inner, outer, list(regions)

    def reads(self):
        """The values from outside that the op and its regions read."""
        found = list(self.operands)
        for region in self.regions:
            own = {id(value) for value in region.arguments}
            for op in region.ops:
                found += [value for value in op.reads() if id(value) not in own]
                own |= {id(value) for value in op.results}
            found += [value for value in region.yields if id(value) not in own]
        return found

    def kinds(self):
        yield self.kind
        for region in self.regions:
            for op in region.ops:
                yield from op.kinds()


class Region:
    def __init__(self, arguments, ops, yields):
        self.arguments, self.ops, self.yields = arguments, ops, yields


class Context:
    pass


class Program:
    def __init__(self, seed, inputs, ops, results, header, runs, fault=None):
        self.seed, self.inputs, self.ops, self.results = seed, inputs, ops, results
        # Of `header` lines; `runs` are the sizes of the symbols; `fault`: the call must fail.
        self.header, self.runs, self.fault = list(header), runs, fault

    def kinds(self):
        return [kind for op in self.ops for kind in op.kinds()]

    def all_ops(self):
        def visit(ops):
            for op in ops:
                yield op
                for region in op.regions:
                    yield from visit(region.ops)

        return visit(self.ops)

    def types(self):
        found = {value.dtype for value in (*self.inputs, *self.results)}
        for op in self.all_ops():
            found.update(value.dtype for value in (*op.operands, *op.results))
        return found

    def pruned(self):
        """Without ops and inputs that no result needs. An op without results has an effect."""
        needed, kept = {id(value) for value in self.results}, []
        for op in reversed(self.ops):
            if not op.results or any(id(value) in needed for value in op.results):
                kept.append(op)
                needed |= {id(value) for value in op.reads()}
        inputs = [value for value in self.inputs if id(value) in needed]
        # Symbols are bound by inputs: one of each stays.
        inputs += [value for value in self.inputs if value not in inputs and value.binds]
        return Program(self.seed, inputs, kept[::-1], self.results, self.header, self.runs, self.fault)


class Writer:
    """Writes programs as one function. `prefix` stands before each name of a program."""

    def __init__(self, sizes, prefix="", perturbed=None, copy=""):
        self.sizes, self.prefix, self.perturbed, self.copy = sizes, prefix, perturbed, copy
        self.lines, self.deltas, self.counter = [], {}, 0

    def name(self, value):
        return f"%{self.prefix}{value.name}"

    def delta(self, value, relative, dtype):
        """An input around 1; its name."""
        name = f"{self.prefix}d{len(self.deltas)}"
        shape = shape_of(value.dims, self.sizes)
        unit = np.random.default_rng([self.perturbed, len(self.deltas)]).uniform(-1, 1, shape)
        self.deltas[name] = (value.dtype, encode(1 + np.sign(unit) * np.maximum(abs(unit), 0.3) * relative * EPSILON[dtype], value.dtype).reshape(shape))
        return name

    def ops(self, ops, indent="  "):
        for op in ops:
            context = Context()
            context.o = [self.name(value) for value in op.operands]
            context.t = [value.type(self.sizes) for value in op.operands]
            context.r = [self.name(value) for value in op.results]
            context.rt = [value.type(self.sizes) for value in op.results]
            context.dim = lambda dim: f"#vx.dim<{resolved(dim, self.sizes)}>"
            context.size = lambda dim: resolved(dim, self.sizes)
            context.indent, context.prefix, context.copy = indent, self.prefix, self.copy
            context.name, context.type = self.name, lambda value: value.type(self.sizes)
            context.region = lambda region, indent=indent: self.region(region, indent + "  ")
            after = []
            if self.perturbed is not None:
                if op.inner:
                    for index, value in enumerate(op.operands):
                        if value.is_float:
                            delta = self.delta(value, op.inner, ACCUMULATOR[value.dtype])
                            self.counter += 1
                            self.lines.append(f"{indent}%{self.prefix}q{self.counter} = vx.mul {context.o[index]}, %{delta} : {context.t[index]}, {context.t[index]}")
                            context.o[index] = f"%{self.prefix}q{self.counter}"
                if op.outer:
                    for index, value in enumerate(op.results):
                        if value.is_float:
                            delta = self.delta(value, op.outer, value.dtype)
                            steps = [("mul", delta)]
                            if op.absolute:  # by the difference of two numbers around 1
                                steps += [("add", self.delta(value, op.outer, value.dtype)), ("sub", self.delta(value, op.outer, value.dtype))]
                            name, kind = context.r[index], context.rt[index]
                            for step, (operation, other) in enumerate(steps):
                                made = name if step + 1 == len(steps) else f"{name}_s{step + 1}"
                                after.append(f"{indent}{made} = vx.{operation} {name}_s{step}, %{other} : {kind}, {kind}")
                            context.r[index] += "_s0"
            text = op.text(context)
            self.lines += [indent + line for line in text.split("\n")] if text else []
            self.lines += after

    def region(self, region, indent):
        """The lines of a region, to be put between braces."""
        outer, self.lines = self.lines, []
        self.ops(region.ops, indent)
        text, self.lines = "\n".join(line[len(indent) - 2:] for line in self.lines), outer
        return text


def constant_text(value, array, kind):
    if array.size == 0:
        return f"vx.constant dense<> : {kind}"
    if value.dtype == "i1":
        nested = str(array.tolist()).replace("True", "true").replace("False", "false")
        return f"vx.constant dense<{nested}> : {kind}"
    return f'vx.constant dense<"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"> : {kind}'


def write(programs, sizes_of, function="main", perturbed=0):
    """The text of a function that holds `programs`, its header, and the values of the perturbations by name.

    `sizes_of(program)`: the symbols' sizes, or None to leave them. With `perturbed`, each program stands that often more, its values a little off."""
    arguments, results, body, header, deltas, returned = [], [], [], [], {}, []
    for index, program in enumerate(programs):
        prefix = f"p{index}_"
        sizes = sizes_of(program)
        for value in program.inputs:
            if not value.constant:
                arguments.append(f'%{prefix}{value.name}: {value.type(sizes)} {{vx.name = "{prefix}{value.name}"}}')
        header += [line for line in program.header if sizes is None or "data_dependent" in line or "vx.variable" in line or "func.func" in line]
        for copy in range(perturbed + 1 if any(not value.exact for value in program.results) else 1):
            mark = f"w{copy}_" if copy else ""
            own = prefix + mark
            writer = Writer(sizes, own, copy * 1000 + index if copy else None, mark)
            if copy:  # each has variables of its own
                header += [line.replace("@", f"@{mark}") for line in program.header if "vx.variable" in line]
            for value in program.inputs:
                kind = value.type(sizes)
                if value.constant:
                    constant = constant_text(value, value.array(program.seed, {}), kind)
                    # Every other one is a weight of the instance, from which the same is derived.
                    if value.array(program.seed, {}).size and (program.seed + len(writer.lines)) % 2:
                        header.append(f"vx.variable @{own}{value.name} role = parameter : {kind} = {constant.removeprefix('vx.constant ')}")
                        constant = f"vx.variable_load @{own}{value.name} : {kind}"
                    writer.lines.append(f"  %{own}{value.name} = {constant}")
                elif copy:
                    writer.lines.append(f"  %{own}{value.name} = vx.reshape %{prefix}{value.name} : {kind} -> {kind}")
            writer.ops(program.ops)
            body += writer.lines
            deltas.update(writer.deltas)
            for name, (dtype, array) in writer.deltas.items():
                arguments.append(f'%{name}: {tensor_type(dtype, array.shape)} {{vx.name = "{name}"}}')
            for value in program.results:
                results.append(f'{value.type(sizes)} {{vx.name = "{own}{value.name}_"}}')
                returned.append((f"%{own}{value.name}", value.type(sizes)))
    text = f"func.func @{function}(" + ",\n    ".join(arguments) + ")\n    -> (" + ",\n    ".join(results) + ") {\n" + "\n".join(body)
    text += "\n  return " + ", ".join(name for name, _ in returned) + " : " + ", ".join(kind for _, kind in returned) + "\n}\n"
    return text, list(dict.fromkeys(header)), deltas
