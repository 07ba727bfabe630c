// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-contraction))"

// A strategy by hand, or from a tuning record, that does not fit the contraction of its kernel.
// expected-error @+1 {{expects a strategy that fits its contraction: want 2 sizes in 'vector' and 2 in 'reduction', got #vx.strategy<"matmul", workgroup = [16, 16], vector = [4], reduction = [8, 4], threads = 64>}}
vx.kernel @sizes "x" symbols [] workgroups <4> #vx.strategy<"matmul", workgroup = [16, 16], vector = [4], reduction = [8, 4], threads = 64> {
^bb0(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32>
  vx.yield %r : tensor<16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want a workgroup size for dimension 0, got #vx.strategy<"matmul", workgroup = [0, 16], vector = [4, 4], reduction = [8, 4], threads = 64>}}
vx.kernel @dynamic "x" symbols ["n"] workgroups <4> #vx.strategy<"matmul", workgroup = [0, 16], vector = [4, 4], reduction = [8, 4], threads = 64> {
^bb0(%a: tensor<?x16xf32, #vx.enc<[n, 16]>>, %b: tensor<16x16xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<?x16xf32, #vx.enc<[n, 16]>>, tensor<16x16xf32>
  vx.yield %r : tensor<?x16xf32, #vx.enc<[n, 16]>>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want a workgroup size of 1 for dimension 0, got 2}}
vx.kernel @batch "x" symbols [] workgroups <4> #vx.strategy<"matmul", workgroup = [2, 16, 16], vector = [4, 4], reduction = [8, 4], threads = 64> {
^bb0(%a: tensor<4x16x16xf32>, %b: tensor<4x16x16xf32>):
  %r = vx.contract %a, %b batch = [0] x [0] contracting = [2] x [1] : tensor<4x16x16xf32>, tensor<4x16x16xf32>
  vx.yield %r : tensor<4x16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want one block for each of 32 threads, got a tile of 16 x 16 in #vx.strategy<"matmul", workgroup = [16, 16], vector = [4, 4], reduction = [8, 4], threads = 32>}}
vx.kernel @tile "x" symbols [] workgroups <4> #vx.strategy<"matmul", workgroup = [16, 16], vector = [4, 4], reduction = [8, 4], threads = 32> {
^bb0(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32>
  vx.yield %r : tensor<16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: want blocks of 1, 2 or a multiple of 4, got #vx.strategy<"matmul", workgroup = [12, 12], vector = [3, 3], reduction = [8, 1], threads = 16>}}
vx.kernel @blocks "x" symbols [] workgroups <4> #vx.strategy<"matmul", workgroup = [12, 12], vector = [3, 3], reduction = [8, 1], threads = 16> {
^bb0(%a: tensor<12x16xf32>, %b: tensor<16x12xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<12x16xf32>, tensor<16x12xf32>
  vx.yield %r : tensor<12x12xf32>
}
