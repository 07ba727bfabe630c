// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-convert-to-linalg,func.func(vx-gpu-lower-select-boxes))' | FileCheck %s

// All threads go through the same candidates; each compares one with the boxes that it has selected itself.
// CHECK-LABEL: func.func @select_boxes
// CHECK-DAG:     memref.alloc() : memref<3xi32, #gpu.address_space<workgroup>>
// CHECK-DAG:     memref.alloc() : memref<512xi64, #gpu.address_space<workgroup>>
// CHECK:         arith.minimumf
// CHECK:         vxk.barrier
// CHECK:         arith.remui
// CHECK:         memref.store %c-1_i64
// CHECK-NOT:     vxk.select_boxes
vx.kernel @select_boxes "x" symbols ["s0"] workgroups <1> #vx.sort<tile = [1, 1, 0], threads = 64> {
^bb0(%b: tensor<1x?x4xf32, #vx.enc<[1, s0, 4]>>, %s: tensor<1x2x?xf32, #vx.enc<[1, 2, s0]>>, %o: tensor<f32>, %l: tensor<f32>):
  %0 = vx.select_boxes %b, %s overlap(%o) least(%l) {vx.anchor} : tensor<1x?x4xf32, #vx.enc<[1, s0, 4]>>, tensor<1x2x?xf32, #vx.enc<[1, 2, s0]>> -> tensor<1x2x3xi64>
  vx.yield %0 : tensor<1x2x3xi64>
}

// -----

// CHECK-LABEL: func.func @other
// CHECK:         vxk.select_boxes
vx.kernel @other "x" symbols [] workgroups <1> #vx.cpu_sort<tile = [1, 1, 0]> {
^bb0(%b: tensor<1x9x4xf32>, %s: tensor<1x2x9xf32>, %o: tensor<f32>, %l: tensor<f32>):
  %0 = vx.select_boxes %b, %s overlap(%o) least(%l) {vx.anchor} : tensor<1x9x4xf32>, tensor<1x2x9xf32> -> tensor<1x2x3xi64>
  vx.yield %0 : tensor<1x2x3xi64>
}
