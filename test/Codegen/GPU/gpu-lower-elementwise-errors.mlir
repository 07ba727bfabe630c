// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-elementwise))"

// A strategy that does not fit the result of its kernel.
// expected-error @+1 {{expects a strategy that fits its result: a tile size for each of 2 dimensions, 1 or more, got #vx.elementwise<tile = [16], lanes = 4, threads = 64>}}
vx.kernel @one_size "x" symbols [] workgroups <1> #vx.elementwise<tile = [16], lanes = 4, threads = 64> {
^bb0(%a: tensor<16x16xf32>):
  %r = vx.neg %a : tensor<16x16xf32>
  vx.yield %r : tensor<16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its result: a tile size for each of 0 dimensions, 1 or more, got #vx.elementwise<tile = [], lanes = 1, threads = 64>}}
vx.kernel @scalar "x" symbols [] workgroups <1> #vx.elementwise<tile = [], lanes = 1, threads = 64> {
^bb0(%a: tensor<f32>):
  %r = vx.neg %a : tensor<f32>
  vx.yield %r : tensor<f32>
}
