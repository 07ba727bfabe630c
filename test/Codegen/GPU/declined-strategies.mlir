// RUN: vx-opt %s --split-input-file --vx-gpu-codegen --remarks-filter-missed=vx.strategy --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// A kernel that does not look like the strategy that was asked for says why, and what takes it.

// CHECK: remark: [Missed] tiled_product | Category:vx.strategy | reason="it is no product of two factors that give rows and columns", taken=loops
vx.kernel @no_sum "k" symbols [] workgroups <1> #vx.tiled_product<tile = [4, 4], block_rows = 1, block_columns = 1, step = 8, slices = 1> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] tiled_product | Category:vx.strategy | reason="it has more than one sum of products", taken=loops
vx.kernel @two_sums "k" symbols [] workgroups <1> #vx.tiled_product<tile = [4, 4], block_rows = 1, block_columns = 1, step = 8, slices = 1> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = vx.contract %0, %x batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] tiled_product | Category:vx.strategy | reason="a result reads the sum at another place than its own", taken=loops
vx.kernel @moved "k" symbols [] workgroups <1> #vx.tiled_product<tile = [4, 4], block_rows = 1, block_columns = 1, step = 8, slices = 1> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] flash | Category:vx.strategy | reason="it is no attention of two products around a softmax, with depths that are known", taken=loops
vx.kernel @attention "k" symbols [] workgroups <1> #vx.flash<tile = [4, 4], keys = 8, threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] rows | Category:vx.strategy | reason="it has no reduction", taken=loops
vx.kernel @rows "k" symbols [] workgroups <1> #vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 1, threads = 128> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] rows | Category:vx.strategy | reason="it has a reduction of another kind, or one that is not read along whole rows", taken=loops
vx.kernel @rows_moved "k" symbols [] workgroups <1> #vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 1, threads = 128> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.softmax %x axis = 1 {vx.anchor} : tensor<4x4xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] rows | Category:vx.strategy | reason="its results have different sizes", taken=loops
vx.kernel @several "k" symbols [] workgroups <1> #vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 1, threads = 128> {
^bb0(%x: tensor<4x4xf32>, %y: tensor<2x4xf32>):
  %0 = vx.softmax %x axis = 1 {vx.anchor} : tensor<4x4xf32>
  %1 = vx.exp %y : tensor<2x4xf32>
  vx.yield %0, %1 : tensor<4x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK: remark: [Missed] elementwise | Category:vx.strategy | reason="its results have different sizes", taken=loops
vx.kernel @sizes "k" symbols [] workgroups <1> #vx.elementwise<tile = [4, 4], lanes = 1, threads = 16> {
^bb0(%x: tensor<4x4xf32>, %y: tensor<2x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  %1 = vx.exp %y : tensor<2x4xf32>
  vx.yield %0, %1 : tensor<4x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK: remark: [Missed] mma | Category:vx.strategy | reason="the variant has no matrix unit for its factors", taken=tiled_product
vx.kernel @mma "k" symbols [] workgroups <1> #vx.mma<tile = [64, 64], step = 16, stages = 2, threads = 128> {
^bb0(%x: tensor<64x64xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<64x64xf32>, tensor<64x64xf32>
  vx.yield %0 : tensor<64x64xf32>
}

// -----

// What fits says nothing.
vx.kernel @fits "k" symbols [] workgroups <1> #vx.elementwise<tile = [4, 4], lanes = 1, threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}
