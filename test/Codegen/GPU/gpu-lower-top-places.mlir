// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-convert-to-linalg,func.func(vx-gpu-lower-top-places))' | FileCheck %s

// A workgroup has a row. The next elements are sorted with the best ones only where one of them is better than the worst of these.
// CHECK-LABEL: func.func @long
// CHECK-DAG:     memref.alloc() : memref<128xi64, #gpu.address_space<workgroup>>
// CHECK-DAG:     memref.alloc() : memref<1xi32, #gpu.address_space<workgroup>>
// CHECK:         scf.for
// CHECK:           vxk.barrier
// CHECK:           scf.for
// CHECK:           vxk.barrier
// CHECK:           scf.if
// CHECK:             vxk.barrier
// CHECK-NOT:     vxk.top_places
vx.kernel @long "x" symbols ["s0"] workgroups <1> #vx.sort<tile = [1, 0], threads = 64> {
^bb0(%k: tensor<9x?xf32, #vx.enc<[9, s0]>>):
  %0 = vx.top_places %k count = 5 {vx.anchor} : tensor<9x?xf32, #vx.enc<[9, s0]>>
  vx.yield %0 : tensor<9x5xi64>
}

// -----

// A short row is sorted at once.
// CHECK-LABEL: func.func @short
// CHECK-DAG:     memref.alloc() : memref<64xi64, #gpu.address_space<workgroup>>
// CHECK-DAG:     memref.alloc() : memref<64xi32, #gpu.address_space<workgroup>>
// CHECK-NOT:     memref<1xi32
vx.kernel @short "x" symbols [] workgroups <1> #vx.sort<tile = [1, 0], threads = 64> {
^bb0(%k: tensor<9x37xf64>):
  %0 = vx.top_places descending %k count = 37 {vx.anchor} : tensor<9x37xf64>
  vx.yield %0 : tensor<9x37xi64>
}

// -----

// CHECK-LABEL: func.func @other
// CHECK:         vxk.top_places
vx.kernel @other "x" symbols [] workgroups <1> #vx.cpu_sort<tile = [1, 0]> {
^bb0(%k: tensor<9x37xf32>):
  %0 = vx.top_places %k count = 3 {vx.anchor} : tensor<9x37xf32>
  vx.yield %0 : tensor<9x3xi64>
}
