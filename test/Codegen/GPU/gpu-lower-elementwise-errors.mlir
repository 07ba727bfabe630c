// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-elementwise))"

// A strategy that does not fit the result of its kernel.
// expected-error @+1 {{expects a strategy that fits its result: want a size in 'workgroup' for each of 1 dimensions and 1 in 'vector', got #vx.strategy<"elementwise", workgroup = [16], vector = [4, 4], reduction = [], threads = 64>}}
vx.kernel @two_vectors "x" symbols [] workgroups <1> #vx.strategy<"elementwise", workgroup = [16], vector = [4, 4], reduction = [], threads = 64> {
^bb0(%a: tensor<16xf32>):
  %r = vx.neg %a : tensor<16xf32>
  vx.yield %r : tensor<16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its result: want a size in 'workgroup' for each of 1 dimensions and 1 in 'vector', got #vx.strategy<"elementwise", workgroup = [0], vector = [4], reduction = [], threads = 64>}}
vx.kernel @no_tile "x" symbols [] workgroups <1> #vx.strategy<"elementwise", workgroup = [0], vector = [4], reduction = [], threads = 64> {
^bb0(%a: tensor<16xf32>):
  %r = vx.neg %a : tensor<16xf32>
  vx.yield %r : tensor<16xf32>
}
