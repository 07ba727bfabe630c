#!/usr/bin/env python3
"""Every op of ONNX with inputs of types that few ops take: each node is imported or refused by its name, and nothing ends the importer.

  check_op_types.py --bin BUILD/bin

The inputs are [2,3] of strings, of 4-bit integers and of floats that have no sign, all or all but the first, which is f32. Constants of floats of 6 bits take their
places too, all: the ops of READERS read them, Identity passes them on to the output, which refuses them, and every other op refuses them.

Exit code: 0 all are answered, 1 some are not.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import AttributeProto, TensorProto, helper

VALUES = {AttributeProto.FLOAT: 1.0, AttributeProto.INT: 1, AttributeProto.STRING: "a", AttributeProto.FLOATS: [1.0], AttributeProto.INTS: [1], AttributeProto.STRINGS: ["a"]}
MOST = 6  # inputs of a node
SIX = TensorProto.FLOAT6E3M2
READERS = {"Cast", "DequantizeLinear"}


def models():
    newest = {}
    for schema in onnx.defs.get_all_schemas():
        if not schema.deprecated:
            newest[schema.domain, schema.name] = max(newest.get((schema.domain, schema.name), 0), schema.since_version)
    for (domain, name), version in sorted(newest.items()):
        schema = onnx.defs.get_schema(name, version, domain)
        node = helper.make_node(name, [], [f"y{i}" for i in range(max(1, schema.min_output))], name="n", domain=domain)
        for attribute in schema.attributes.values():
            if attribute.required and int(attribute.type.value) in VALUES:
                node.attribute.append(helper.make_attribute(attribute.name, VALUES[int(attribute.type.value)]))
        for count in sorted({schema.min_input, min(schema.max_input, MOST)}):
            for own in (TensorProto.STRING, TensorProto.INT4, TensorProto.FLOAT8E8M0) if count else ():
                for first in (own, TensorProto.FLOAT) if count > 1 else (own,):
                    types = [first, *[own] * (count - 1)]
                    del node.input[:]
                    node.input.extend(f"x{i}" for i in range(count))
                    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(f"x{i}", of, [2, 3]) for i, of in enumerate(types)],
                                              [helper.make_empty_tensor_value_info(output) for output in node.output])
                    versions = {domain: version, "": onnx.defs.onnx_opset_version()}
                    opsets = [helper.make_opsetid(of, number) for of, number in versions.items()]
                    yield name, f"{name} of {', '.join(map(TensorProto.DataType.Name, types))}", helper.make_model(graph, opset_imports=opsets)
        if node.input:
            constants = [TensorProto(name=f"x{i}", data_type=SIX, dims=[2, 3], raw_data=b"abcde") for i in range(len(node.input))]
            graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info(output) for output in node.output], constants)
            yield name, f"{name} of constants of 6 bits", helper.make_model(graph, opset_imports=opsets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    passed = failed = imported = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for name, title, model in models():
            onnx.save(model, path)
            done = subprocess.run([os.path.join(options.bin, "onnx-import-print"), path], capture_output=True, text=True)
            good = done.returncode == 0 or (done.returncode == 3 and "node 'n' (" in done.stderr)
            if model.graph.initializer and name == "Identity":
                good = "tensor 'x0' has float6e3m2 elements" in done.stderr
            elif model.graph.initializer and name not in READERS:
                good = good and done.returncode != 0
            imported += done.returncode == 0
            passed += good
            failed += not good
            if not good:
                print(f"FAILED {title}: exit code {done.returncode}: {done.stderr.strip()}", flush=True)
    print(f"{passed} passed, {failed} failed; {imported} of them are imported")
    return 1 if failed or not imported else 0


if __name__ == "__main__":
    sys.exit(main())
