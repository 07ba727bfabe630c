// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-cuda-codegen{variant=sm_80})"

// A strategy of matrix fragments that does not fit the contraction of its kernel.
// expected-error @+1 {{expects a strategy that fits its contraction: steps of a multiple of 16, got #vx.mma<tile = [32, 32], step = 24, stages = 2, threads = 64>}}
vx.kernel @half_a_step "x" symbols [] workgroups <4> #vx.mma<tile = [32, 32], step = 24, stages = 2, threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 {vx.anchor} : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: fragments of 16 x 16 for each subgroup of 32 threads, got a tile of 24 x 24 in #vx.mma<tile = [24, 24], step = 32, stages = 2, threads = 64>}}
vx.kernel @fragments "x" symbols [] workgroups <4> #vx.mma<tile = [24, 24], step = 32, stages = 2, threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 {vx.anchor} : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: fragments of 16 x 16 for each subgroup of 32 threads, got a tile of 32 x 32 in #vx.mma<tile = [32, 32], step = 32, stages = 2, threads = 48>}}
vx.kernel @subgroups "x" symbols [] workgroups <4> #vx.mma<tile = [32, 32], step = 32, stages = 2, threads = 48> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 {vx.anchor} : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}
