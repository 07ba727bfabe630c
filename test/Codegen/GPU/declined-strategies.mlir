// RUN: vx-opt %s --split-input-file --vx-gpu-codegen --remarks-filter-missed=vx.strategy --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// A kernel that does not look like the strategy that was asked for says why, and what takes it.

// CHECK: remark: [Missed] matmul | Category:vx.strategy | reason="it is no product of two factors that give rows and columns", taken=loops
vx.kernel @no_sum "k" symbols [] workgroups <1> <"matmul", workgroup = [4, 4], vector = [1, 1], reduction = [8, 1], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] matmul | Category:vx.strategy | reason="it has more than one sum of products", taken=loops
vx.kernel @two_sums "k" symbols [] workgroups <1> <"matmul", workgroup = [4, 4], vector = [1, 1], reduction = [8, 1], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = vx.contract %0, %x batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] matmul | Category:vx.strategy | reason="a result reads the sum at another place than its own", taken=loops
vx.kernel @moved "k" symbols [] workgroups <1> <"matmul", workgroup = [4, 4], vector = [1, 1], reduction = [8, 1], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] attention | Category:vx.strategy | reason="it is no attention of two products around a softmax, with depths that are known", taken=loops
vx.kernel @attention "k" symbols [] workgroups <1> <"attention", workgroup = [4, 4], vector = [1, 1], reduction = [8], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] rows | Category:vx.strategy | reason="it has no reduction", taken=loops
vx.kernel @rows "k" symbols [] workgroups <1> <"rows", workgroup = [1, 0], vector = [1, 1], reduction = [], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] rows | Category:vx.strategy | reason="it has a reduction of another kind, or one that is not read along whole rows", taken=loops
vx.kernel @rows_moved "k" symbols [] workgroups <1> <"rows", workgroup = [1, 0], vector = [1, 1], reduction = [], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.softmax %x axis = 1 : tensor<4x4xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] rows | Category:vx.strategy | reason="its results have different sizes", taken=loops
vx.kernel @several "k" symbols [] workgroups <1> <"rows", workgroup = [1, 0], vector = [1, 1], reduction = [], threads = 16> {
^bb0(%x: tensor<4x4xf32>, %y: tensor<2x4xf32>):
  %0 = vx.softmax %x axis = 1 : tensor<4x4xf32>
  %1 = vx.exp %y : tensor<2x4xf32>
  vx.yield %0, %1 : tensor<4x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK: remark: [Missed] elementwise | Category:vx.strategy | reason="its results have different sizes", taken=loops
vx.kernel @sizes "k" symbols [] workgroups <1> <"elementwise", workgroup = [4, 4], vector = [1], reduction = [], threads = 16> {
^bb0(%x: tensor<4x4xf32>, %y: tensor<2x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  %1 = vx.exp %y : tensor<2x4xf32>
  vx.yield %0, %1 : tensor<4x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK: remark: [Missed] mma | Category:vx.strategy | reason="the variant has no matrix unit for its factors", taken=matmul
vx.kernel @mma "k" symbols [] workgroups <1> <"mma", workgroup = [64, 64], vector = [32, 32], reduction = [16, 2], threads = 128> {
^bb0(%x: tensor<64x64xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32>
  vx.yield %0 : tensor<64x64xf32>
}

// -----

// What fits says nothing.
vx.kernel @fits "k" symbols [] workgroups <1> <"elementwise", workgroup = [4, 4], vector = [1], reduction = [], threads = 16> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}
