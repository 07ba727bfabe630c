// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-products))"

// A strategy by hand, or from a tuning record, that does not fit the contraction of its kernel.
// expected-error @+1 {{expects a strategy that fits its contraction: a tile size for each of 2 dimensions, got #vx.tiled_product<tile = [16], block_rows = 1, block_columns = 1, step = 8, slices = 4>}}
vx.kernel @sizes "x" symbols [] workgroups <4> #vx.tiled_product<tile = [16], block_rows = 1, block_columns = 1, step = 8, slices = 4> {
^bb0(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<16x16xf32>, tensor<16x16xf32>
  vx.yield %r : tensor<16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: a tile size of 1 for dimension 0, got 2}}
vx.kernel @batch "x" symbols [] workgroups <4> #vx.tiled_product<tile = [2, 16, 16], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
^bb0(%a: tensor<4x16x16xf32>, %b: tensor<4x16x16xf32>):
  %r = vx.contract %a, %b batch = [0] x [0] contracting = [2] x [1] {vx.anchor} : tensor<4x16x16xf32>, tensor<4x16x16xf32>
  vx.yield %r : tensor<4x16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: one block for each of 64 threads, got a tile of 2 x 128 in #vx.tiled_product<tile = [2, 128], block_rows = 4, block_columns = 4, step = 8, slices = 4>}}
vx.kernel @blocks "x" symbols [] workgroups <4> #vx.tiled_product<tile = [2, 128], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
^bb0(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<16x16xf32>, tensor<16x16xf32>
  vx.yield %r : tensor<16x16xf32>
}

// -----

// expected-error @+1 {{expects a strategy that fits its contraction: a tile size that divides the 6 filters of a group for dimension 3, got 4}}
vx.kernel @groups "x" symbols [] workgroups <4> #vx.tiled_product<tile = [1, 8, 8, 4], block_rows = 1, block_columns = 4, step = 8, slices = 1> {
^bb0(%x: tensor<1x8x8x12xf32>, %w: tensor<12x6x3x3xf32>):
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 2 channels_last {vx.anchor} : tensor<1x8x8x12xf32>, tensor<12x6x3x3xf32>
  vx.yield %r : tensor<1x8x8x12xf32>
}
