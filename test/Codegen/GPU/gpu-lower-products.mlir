// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-products,canonicalize,cse))" | FileCheck %s

// A convolution by a tile: filters and patches go through workgroup memory, and each thread keeps 4 x 4 sums.
// CHECK-LABEL: func.func @conv
// CHECK-COUNT-2: memref.alloc() : memref<{{.+}}, #gpu.address_space<workgroup>>
// CHECK:         vxk.barrier
// CHECK-COUNT-16: arith.addf
vx.kernel @conv "x" symbols ["n"] workgroups <n * 4> #vx.tiled_product<tile = [1, 16, 2, 8], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
^bb0(%x: tensor<?x16x8x8xf32, #vx.enc<[n, 16, 8, 8]>>, %w: tensor<16x16x3x3xf32>):
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 {vx.anchor} : tensor<?x16x8x8xf32, #vx.enc<[n, 16, 8, 8]>>, tensor<16x16x3x3xf32>
  vx.yield %r : tensor<?x16x8x8xf32, #vx.enc<[n, 16, 8, 8]>>
}

// -----

// The same of a batch of one, whose place in the batch is no loop.
// CHECK-LABEL: func.func @one
// CHECK-COUNT-2: memref.alloc() : memref<{{.+}}, #gpu.address_space<workgroup>>
// CHECK:         vxk.barrier
// CHECK-COUNT-16: arith.addf
vx.kernel @one "x" symbols [] workgroups <4> #vx.tiled_product<tile = [1, 16, 2, 8], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
^bb0(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>):
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 {vx.anchor} : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>
  vx.yield %r : tensor<1x16x8x8xf32>
}
