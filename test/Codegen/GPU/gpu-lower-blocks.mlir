// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-cuda-codegen{variant=sm_80})' | FileCheck %s

// Eight neighbours of a block have its scale in common: one load for all of them, where a row is in registers and where it takes several rounds.
// CHECK-LABEL:     @row_of_blocks
// CHECK:           memref.load %{{.+}} : memref<1024x8x32xi8>
// CHECK:           memref.load %{{.+}} : memref<1024x8xf16>
// CHECK-COUNT-7:   memref.load %{{.+}} : memref<1024x8x32xi8>
// CHECK:           scf.for
// CHECK:           memref.load %{{.+}} : memref<1024x8x32xi8>
// CHECK:           memref.load %{{.+}} : memref<1024x8xf16>
// CHECK-COUNT-7:   memref.load %{{.+}} : memref<1024x8x32xi8>
// CHECK-NOT:       memref<1024x8xf16>
vx.kernel @row_of_blocks "x" symbols [] workgroups <256> #vx.rows<tile = [1, 4], sharing = subgroup, runs = 1, lanes = 8, threads = 128> {
^bb0(%a: tensor<1x8x32xf32>, %w: tensor<1024x8x32xi8>, %s: tensor<1024x8xf16>):
  %c = vx.cast %w : tensor<1024x8x32xi8> -> tensor<1024x8x32xf32>
  %sf = vx.cast %s : tensor<1024x8xf16> -> tensor<1024x8xf32>
  %sb = vx.broadcast %sf, [0, 1] : tensor<1024x8xf32> -> tensor<1024x8x32xf32>
  %d = vx.mul %c, %sb : tensor<1024x8x32xf32>, tensor<1024x8x32xf32>
  %0 = vx.contract %a, %d batch = [] x [] contracting = [1, 2] x [1, 2] {vx.anchor} : tensor<1x8x32xf32>, tensor<1024x8x32xf32>
  vx.yield %0 : tensor<1x1024xf32>
}
