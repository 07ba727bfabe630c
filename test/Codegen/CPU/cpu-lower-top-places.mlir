// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-convert-to-linalg,func.func(vx-cpu-lower-top-places{vector-bits=512}))' | FileCheck %s

// Of a long row those that may be among the best are appended; what sorts them stands there once.
// CHECK-LABEL: func.func @long
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<128xi64>
// CHECK:         scf.for
// CHECK:           %{{.+}}:2 = scf.for %{{.+}} iter_args(%[[KEPT:.+]] = %{{.+}}, %[[BOUND:.+]] = %{{.+}}) -> (index, i32)
// CHECK-COUNT-4:     arith.cmpi sle
// CHECK:             scf.if
// CHECK-COUNT-4:       vector.compressstore
// CHECK:             scf.if
// CHECK:               vector.scatter
// CHECK-NOT:     vector.scatter %{{.+}}[%{{.+}}] [%{{.+}}], %{{.+}}, %{{.+}} : memref<256xi64>
// CHECK-NOT:     vxk.top_places
vx.kernel @long "x" symbols ["s0"] workgroups <1> #vx.cpu_sort<tile = [4]> {
^bb0(%k: tensor<9x?xf32, #vx.enc<[9, s0]>>):
  %0 = vx.top_places %k count = 5 {vx.anchor} : tensor<9x?xf32, #vx.enc<[9, s0]>>
  vx.yield %0 : tensor<9x5xi64>
}

// -----

// A short row is sorted whole: nothing is left out, so nothing is compared with a bound. Two numbers where one does not hold code and place.
// CHECK-LABEL: func.func @short
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<64xi64>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<64xi32>
// CHECK-NOT:     vector.compressstore
// CHECK:         vector.scatter
vx.kernel @short "x" symbols [] workgroups <1> #vx.cpu_sort<tile = [4]> {
^bb0(%k: tensor<9x37xf64>):
  %0 = vx.top_places descending %k count = 37 {vx.anchor} : tensor<9x37xf64>
  vx.yield %0 : tensor<9x37xi64>
}

// -----

// Another strategy is not this pass's.
// CHECK-LABEL: func.func @other
// CHECK:         vxk.top_places
vx.kernel @other "x" symbols [] workgroups <1> #vx.sort<tile = [1, 0], threads = 64> {
^bb0(%k: tensor<9x37xf32>):
  %0 = vx.top_places %k count = 3 {vx.anchor} : tensor<9x37xf32>
  vx.yield %0 : tensor<9x3xi64>
}
