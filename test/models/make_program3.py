#!/usr/bin/env python3
"""A program that no vision model needs, as ONNX: NonZero -> Gather -> Loop with a carried sum and a growing sequence, an If, and
an index that comes from the input.

  make_program3.py OUT.onnx
"""
import sys

import onnx
from onnx import TensorProto, helper


def make_model():
    node, tensor = helper.make_node, helper.make_tensor
    info = helper.make_tensor_value_info
    f32, i64, boolean = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

    body = helper.make_graph(
        [node("Gather", ["values", "i"], ["value"], name="take", axis=0), node("Add", ["sum", "value"], ["next_sum"], name="accumulate"),
         node("SequenceInsert", ["list", "next_sum"], ["next_list"], name="remember"), node("Identity", ["going"], ["still_going"], name="go_on")],
        "body",
        [info("i", i64, []), info("going", boolean, []), info("sum", f32, []),
         helper.make_tensor_sequence_value_info("list", f32, [])],
        [info("still_going", boolean, []), info("next_sum", f32, []), helper.make_tensor_sequence_value_info("next_list", f32, [])])
    kept = helper.make_graph([node("Identity", ["values"], ["then_kept"], name="keep")], "positive", [], [info("then_kept", f32, [None])])
    replaced = helper.make_graph([node("Neg", ["x"], ["else_kept"], name="turn")], "negative", [], [info("else_kept", f32, [None])])
    graph = helper.make_graph(
        [node("NonZero", ["x"], ["places"], name="find"), node("Squeeze", ["places", "first_axis"], ["flat"], name="flatten"),
         node("Gather", ["x", "flat"], ["values"], name="pick_values", axis=0), node("Size", ["flat"], ["count"], name="count"),
         node("SequenceEmpty", [], ["empty"], name="start", dtype=f32),
         node("Loop", ["count", "true", "zero", "empty"], ["sum", "sums"], name="add_up", body=body),
         node("Greater", ["sum", "zero"], ["positive"], name="compare"),
         node("If", ["positive"], ["kept"], name="choose", then_branch=kept, else_branch=replaced),
         node("Gather", ["x", "pick"], ["picked"], name="pick_one", axis=0),
         node("SequenceAt", ["sums", "last"], ["last_sum"], name="last_of_list")],
        "program3", [info("x", f32, ["n"]), info("pick", i64, [])],
        [info("sum", f32, []), info("kept", f32, ["kept"]), info("picked", f32, []), info("last_sum", f32, [])],
        [tensor("first_axis", i64, [1], [0]), tensor("true", boolean, [], [True]), tensor("zero", f32, [], [0.0]), tensor("last", i64, [], [-1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    onnx.save(make_model(), sys.argv[1])
