#!/usr/bin/env python3
"""What an op does where an optional input or attribute is absent, against ONNX Runtime.

  run_defaults.py --bin BUILD/bin [--filter TEXT] [--unseen]

The ops, their attributes and inputs are those of the schemas of the package onnx, in the newest version that ONNX Runtime computes. A default is seen by a node that
leaves it absent and whose answer ONNX Runtime changes when it is given another value; these nodes (default_bases.py, and floats of a few shapes) must give ONNX Runtime's answers. What is not
seen must stand in unseen_defaults.txt with what was found instead, and nothing else. --unseen prints these lines. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import itertools
import os
import sys
import tempfile

from onnx import defs

from default_bases import BASES, LISTS, TEXTS, Base, normal
from learned_nodes import learned
from run_models import Bench, compare, np, onnx, onnxruntime
from run_nodes import Node, merge
import rounding

UNSEEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unseen_defaults.txt")
COMMON = 22  # the opset of what has no newer version
SHARED = 24  # nodes of one module
# Draws are other ones in each implementation: run_nodes.py judges their distribution.
DRAWN = "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"
# No importer; and a locale of the machine decides what ONNX Runtime takes.
LEFT_OUT = "MaxRoiPool", "StringNormalizer"
# What ONNX Runtime takes absent and vx refuses with a reason, in unseen_defaults.txt.
REFUSED = "LinearClassifier.classlabels_ints", "LinearRegressor.targets"
# What ONNX Runtime takes no 0 of, also not by an error: it divides by it.
POSITIVE = "group", "offset_group", "block_size", "num_outputs", "hidden_size", "strides", "dilations", "kernel_shape", "q_num_heads", "kv_num_heads", "num_heads", "chunk_size", "sample_size"
INTS = ([1, 1], [2, 2], [0, 1], [1], [2], [0], [1, 1, 1, 1], [1, 0], [0, 2, 1], [1, 1, 2, 2], [3, 3], [11, 13])


def schemas():
    """Of each op its versions, newest first, with the opset to take each in."""
    versions = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            versions.setdefault((schema.domain, schema.name), []).append(schema)
    for (domain, op), own in sorted(versions.items()):
        own.sort(key=lambda schema: -schema.since_version)
        later, takes = 10**6, []
        for schema in own:
            if not schema.deprecated:
                takes.append((schema, min(later - 1, max(schema.since_version, COMMON)) if domain == "" else schema.since_version))
            later = schema.since_version
        if takes and op not in DRAWN:
            yield domain, op, takes


def optional_names(schema):
    inputs = [formal.name for formal in schema.inputs if formal.option == defs.OpSchema.FormalParameterOption.Optional]
    return [name for name, attribute in schema.attributes.items() if not attribute.required], inputs


def other_values(name, attribute):
    kind = attribute.type
    default = onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value and attribute.default_value.name else None
    types = defs.OpSchema.AttrType
    if kind == types.INT:
        yield from (value for value in (1, 0, 2, 3, -1, 6, 10, 11) if value != default and (value > 0 or name not in POSITIVE))
    elif kind == types.FLOAT:
        yield from (2 * default, default / 2) if default else (0.25, 2.0)
    elif kind == types.STRING:
        yield from (text for text in TEXTS.get(name, ()) if default is None or text != default.decode())
    elif kind == types.INTS:
        yield from (values for values in INTS if min(values) > 0 or name not in POSITIVE)
    elif kind == types.FLOATS:
        yield from ([0.5], [0.5, 0.25], [0.5, 0.25, 2.0], [0.5] * 4)
    elif kind == types.STRINGS:
        yield from LISTS.get(name, ())
    elif kind == types.TENSOR:
        yield onnx.numpy_helper.from_array(np.array([3], np.float32))


def node_of(op, domain, opset, schema, base, title=""):
    """The base as a Node: all inputs but the first are initializers."""
    formal = [one.name for one in schema.inputs]
    names = [formal[i] if i < len(formal) - 1 or i == len(formal) - 1 else f"{formal[-1]}_{i}" for i in range(len(base.inputs))]
    given = dict(zip(names, base.inputs))
    while given and list(given.values())[-1] is None:
        given.popitem()
    return Node(title, op, given, terms=base.terms, constants=tuple(names[1:]), fixed=tuple(names), opset=opset, outputs=base.outputs, domain=domain, **base.attributes)


class Reference:
    """ONNX Runtime's answers, None where it has none."""

    def __init__(self, folder):
        self.path, self.asked = os.path.join(folder, "asked.onnx"), 0

    def __call__(self, node):
        self.asked += 1
        try:
            onnx.save(node.model(), self.path)
            own = {name: np.asarray(array) for name, array in node.inputs.items() if array is not None and name not in node.constants}
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.log_severity_level = 1, 4
            answers = onnxruntime.InferenceSession(self.path, options, providers=["CPUExecutionProvider"]).run(node.outputs, own)
        except Exception:  # whatever it says of a value that the op has not
            return None
        return answers if all(isinstance(answer, np.ndarray) for answer in answers) else None


def differ(one, other):
    """Whether a comparison tells the two apart, by ten times what it allows."""
    for a, b in zip(one, other):
        if a.dtype != b.dtype or a.shape != b.shape:
            return True
        if a.dtype in (object, bool) or not np.issubdtype(a.dtype, np.floating):
            if not np.array_equal(a, b):
                return True
        elif not np.array_equal(np.isfinite(a), np.isfinite(b)) or (a.size and float(np.nan_to_num(abs(a.astype(np.float64) - b)).max()) > 10 * rounding.limit(a, 64)):
            return True
    return False


def bases_of(op, schema, nodes_of_learning, left):
    """Also those of learning without networks that others test, as they are and without each attribute that may be absent."""
    yield from BASES.get(op, ())
    for node in nodes_of_learning.get(op, ())[:8]:
        for name in (None, *node.attributes):
            if name is None or name in left:
                yield Base(*node.inputs.values(), outputs=len(node.outputs), terms=max(64, node.terms), **{key: value for key, value in node.attributes.items() if key != name})
    count = schema.min_input
    if count and not any(attribute.required for attribute in schema.attributes.values()):
        for shape in ((2, 3, 4), (2, 3, 5, 7), (3, 4)):
            yield Base(*(normal(*shape) for _ in range(count)))


def search(ask, domain, op, takes, nodes_of_learning):
    """The nodes that see a default, with what each sees, and the names that none sees, each with what was found instead: 'no node' that ONNX
    Runtime computes, 'untried' as each node needs it or no other value is known, 'refused' other values, and the 'same' answers by all that were tried."""
    for schema, opset in takes:
        attributes, inputs = optional_names(schema)
        left, found, ran, why = set(attributes + inputs), [], False, {}
        for base in bases_of(op, schema, nodes_of_learning, left) if left and op not in LEFT_OUT else ():
            if not left:
                break
            want = ask(node_of(op, domain, opset, schema, base))
            if want is None:
                continue
            ran = True
            seen = set()
            for name in sorted(left):
                if name in base.attributes or f"{op}.{name}" in REFUSED:
                    continue
                if name in attributes:
                    values = base.give[name] if name in base.give else other_values(name, schema.attributes[name])
                    others = (Base(*base.inputs, outputs=base.outputs, **base.attributes, **{name: value}) for value in values)
                else:
                    place = [formal.name for formal in schema.inputs].index(name)
                    if place < len(base.inputs) and base.inputs[place] is not None or name not in base.give:
                        continue
                    values = base.give[name]
                    padded = base.inputs + [None] * (len(schema.inputs) - len(base.inputs))
                    others = (Base(*padded[:place], *(value if isinstance(value, tuple) else (value,)), *padded[place + (len(value) if isinstance(value, tuple) else 1):],
                                   outputs=base.outputs, **base.attributes) for value in (values if isinstance(values, list) else [values]))
                for answer in (ask(node_of(op, domain, opset, schema, other)) for other in others):
                    if answer is None:
                        why.setdefault(name, "refused")
                        continue
                    why[name] = "same"
                    if differ(want, answer):
                        seen.add(name)
                        break
            left -= seen
            if seen:
                found.append((node_of(op, domain, opset, schema, base, f"{op} {opset} without {', '.join(sorted(seen))}"), want))
        if ran or not left:
            return found, {name: why.get(name, "untried") for name in sorted(left)}
    return [], dict.fromkeys(sorted(sum(optional_names(takes[0][0]), [])), "no node")


def check(bench, group):
    """One module of all nodes. A module that fails is a failure; its nodes by themselves say which it was."""
    named = {f"n{number}_": (node, want) for number, (node, want) in enumerate(group)}
    try:
        onnx.save(merge({prefix: node for prefix, (node, _) in named.items()}), bench.path("nodes.onnx"))
        bench.compile(bench.path("nodes.onnx"), bench.path("nodes.vxm"))
        inputs = {f"{prefix}{name}": np.asarray(array) for prefix, (node, _) in named.items() for name, array in node.inputs.items() if array is not None and name not in node.constants}
        wants = [(f"{prefix}{name}", array, node) for prefix, (node, want) in named.items() for name, array in zip(node.outputs, want)]
        got, _ = bench.run(bench.path("nodes.vxm"), "cpu", inputs, [name for name, _, _ in wants], strings={name for name, array, _ in wants if array.dtype == object})
    except RuntimeError as error:
        bench.check(group[0][0].title if len(group) == 1 else f"a module of {len(group)} nodes", False, error)
        for one in group if len(group) > 1 else ():
            check(bench, [one])
        return
    for name, want, node in wants:
        answer = got[name].view(want.dtype) if got[name].dtype.kind == "V" else got[name]  # NumPy has no such floats
        compare(bench, f"{node.title}, {name.partition('_')[2]}", answer, want, node.terms)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--unseen", action="store_true")
    options = parser.parse_args()
    reasons = {}
    if os.path.exists(UNSEEN):
        with open(UNSEEN) as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    name, _, text = line.rstrip("\n").partition(": ")
                    why, separator, reason = text.partition("; ")
                    reasons[name] = why, separator + reason
    nodes_of_learning = {}
    for node in learned(Node):
        nodes_of_learning.setdefault(node.op, []).append(node)
    with tempfile.TemporaryDirectory() as folder:
        bench, ask = Bench(options.bin, folder, ["cpu"]), Reference(folder)
        cases, unseen, count = [], {}, 0
        for domain, op, takes in schemas():
            if options.filter not in op:
                continue
            found, left = search(ask, domain, op, takes, nodes_of_learning)
            count += len(left) + sum(node.title.count(",") + 1 for node, _ in found)
            cases += found
            unseen |= {f"{op}.{name}": why for name, why in left.items()}
        if options.unseen:
            print("\n".join(f"{name}: {why}{reasons.get(name, (why, ''))[1]}" for name, why in unseen.items()))
            return 0
        for name, why in unseen.items():
            listed, reason = reasons.get(name, ("nothing", ""))
            bench.check(f"{name} is not seen: {why}{reason}", why == listed, f"unseen_defaults.txt has {listed}; add a base that sees it, or bring the list up")
        stale = [name for name in reasons if name not in unseen and options.filter in name.partition(".")[0]]
        bench.check("what unseen_defaults.txt names is not seen", not stale, f"seen: {', '.join(stale)}")
        key = lambda case: (case[0].domain, case[0].opset)
        for _, same in itertools.groupby(sorted(cases, key=key), key=key):
            same = list(same)
            for begin in range(0, len(same), SHARED):
                check(bench, same[begin:begin + SHARED])
        kinds = ", ".join(f"{list(unseen.values()).count(why)} {why}" for why in sorted(set(unseen.values())))
        print(f"{count - len(unseen)} defaults seen by {len(cases)} nodes, {len(unseen)} not seen ({kinds}), {ask.asked} answers of ONNX Runtime; {bench.passed} passed, {bench.failed} failed")
    if not count:
        print(f"FAILED no node matches '{options.filter}'")
    return 1 if bench.failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
