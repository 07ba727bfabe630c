// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-cuda-codegen{variant=sm_80})"

// A strategy of matrix fragments that does not fit the contraction of its kernel.
// expected-error @+1 {{expects a strategy that fits its contraction: want 2 sizes in 'reduction', got #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [16], threads = 64>}}
vx.kernel @one_reduction "x" symbols [] workgroups <4> #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [16], threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want steps of a multiple of 16 in 2 or more stages, got #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [16, 1], threads = 64>}}
vx.kernel @one_stage "x" symbols [] workgroups <4> #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [16, 1], threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want steps of a multiple of 16 in 2 or more stages, got #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [24, 2], threads = 64>}}
vx.kernel @half_a_step "x" symbols [] workgroups <4> #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [24, 2], threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want fragments of 16 x 16 for each subgroup of 32 threads, got a tile of 24 x 24 in #vx.strategy<"mma", workgroup = [24, 24], vector = [], reduction = [32, 2], threads = 64>}}
vx.kernel @fragments "x" symbols [] workgroups <4> #vx.strategy<"mma", workgroup = [24, 24], vector = [], reduction = [32, 2], threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want fragments of 16 x 16 for each subgroup of 32 threads, got a tile of 32 x 32 in #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [32, 2], threads = 48>}}
vx.kernel @subgroups "x" symbols [] workgroups <4> #vx.strategy<"mma", workgroup = [32, 32], vector = [], reduction = [32, 2], threads = 48> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}
