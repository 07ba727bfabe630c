// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(vx-lower-products{vector-bits=512 registers=32},vx-lower-to-loops{lanes=16}),canonicalize,cse)" | FileCheck %s

// Twelve rows of two vectors are in registers; the panel of B is packed once for all rows of the tile.
// CHECK-LABEL: func.func @matmul
// CHECK-DAG:     %[[PACKED:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16384xf32>
// CHECK-DAG:     %[[SUMS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<4096xf32>
// CHECK:         vector.store %{{.+}}, %[[PACKED]]
// CHECK:         scf.for {{.*}} step %c12
// CHECK:           vector.load %[[SUMS]]
// CHECK-COUNT-24:  arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:           vector.store %{{.+}}, %[[SUMS]]
// CHECK:         arith.maximumf
// CHECK:         vector.store
// CHECK-NOT:     memref.alloc(
vx.kernel @matmul "x" symbols ["s0"] workgroups <ceildiv(s0, 128)> #vx.strategy<"matmul", workgroup = [128, 64], vector = [], reduction = [], threads = 1> {
^bb0(%a: tensor<?x512xf32, #vx.enc<[s0, 512]>>, %b: tensor<512x64xf32>, %c: tensor<?x64xf32, #vx.enc<[s0, 64]>>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<?x512xf32, #vx.enc<[s0, 512]>>, tensor<512x64xf32>
  %1 = vx.max %0, %c : tensor<?x64xf32, #vx.enc<[s0, 64]>>, tensor<?x64xf32, #vx.enc<[s0, 64]>>
  vx.yield %1 : tensor<?x64xf32, #vx.enc<[s0, 64]>>
}

// -----

// The places of a convolution's output are the columns; the padding is applied as they are packed.
// CHECK-LABEL: func.func @conv
// CHECK:         memref.collapse_shape
// CHECK:         vector.gather
// CHECK:         scf.for {{.*}} iter_args
vx.kernel @conv "x" symbols ["s0"] workgroups <s0> #vx.strategy<"conv", workgroup = [1, 0, 0, 0], vector = [], reduction = [], threads = 1> {
^bb0(%x: tensor<?x4x7x7xf32, #vx.enc<[s0, 4, 7, 7]>>, %w: tensor<8x4x3x3xf32>):
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<?x4x7x7xf32, #vx.enc<[s0, 4, 7, 7]>>, tensor<8x4x3x3xf32>
  vx.yield %0 : tensor<?x8x7x7xf32, #vx.enc<[s0, 8, 7, 7]>>
}

// -----

// The result's elements are moved after the product: plain loops.
// CHECK-LABEL: func.func @moved
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for {{.*}} iter_args
// CHECK:         vector.store
vx.kernel @moved "x" symbols [] workgroups <1> #vx.strategy<"matmul", workgroup = [0, 0], vector = [], reduction = [], threads = 1> {
^bb0(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<8x16xf32>, tensor<16x8xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<8x8xf32>
  vx.yield %1 : tensor<8x8xf32>
}
