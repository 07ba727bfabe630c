// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(canonicalize,vx-gpu-lower-attention,canonicalize,cse))" | FileCheck %s

// Each thread has two queries, four keys of a block, and two groups of four columns of the result. A query's heads are
// grouped in 32 bits.
// CHECK-LABEL: func.func @attention
// CHECK-DAG:     %[[SHARES:.+]] = memref.alloc() : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[WEIGHTS:.+]] = memref.alloc() : memref<1152xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-3: memref.alloc() : memref<2176xf32, #gpu.address_space<workgroup>>
// CHECK-NOT:     memref.alloc
// CHECK:         vector.store {{.+}} : memref<2176xf32
// CHECK:         scf.for {{.+}} = %c0 to %c128 step %c32 iter_args
// CHECK:           scf.for {{.+}} = %c0 to %c4 step %c1 {
// CHECK:             arith.divui {{.+}}, %c3_i32 : i32
// CHECK:             vector.store {{.+}} : memref<2176xf32
// CHECK:           vxk.barrier
// CHECK:           scf.for {{.+}} = %c0 to %c64 step %c4 iter_args
// CHECK-COUNT-6:     vector.load
// CHECK-COUNT-32:    arith.addf {{.+}} fastmath<contract>
// CHECK-NOT:         arith.addf
// CHECK:             scf.yield
// CHECK-COUNT-2:   memref.store {{.+}}, %[[SHARES]]
// CHECK:           vxk.barrier
// CHECK-COUNT-8:   memref.load %[[SHARES]]
// CHECK:           arith.cmpf oeq
// CHECK-COUNT-5:   math.exp
// CHECK:           memref.store {{.+}}, %[[WEIGHTS]]
// CHECK:           vxk.barrier
// CHECK:           scf.for {{.+}} = %c0 to %c32 step %c4 iter_args
// CHECK-COUNT-64:    arith.addf {{.+}} fastmath<contract>
// CHECK-NOT:         arith.addf
// CHECK:             scf.yield
// CHECK-NOT:       vxk.barrier
// CHECK:           scf.yield
// CHECK:         vxk.barrier
// CHECK:         memref.store
vx.kernel @attention "x" symbols [] workgroups <24> #vx.flash<tile = [1, 1, 32, 0], keys = 32, threads = 128> {
^bb0(%q: tensor<1x6x128x64xf32>, %k: tensor<1x2x128x64xf32>, %v: tensor<1x2x128x64xf32>):
  %0 = vx.attention %q, %k, %v scale = 1.250000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x6x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32> -> tensor<1x6x128x64xf32>
  vx.yield %0 : tensor<1x6x128x64xf32>
}

// -----

// Keys behind the last one are no part of a row, and values there are 0, since 0 times what lies there may be NaN.
// CHECK-LABEL: func.func @any_length
// CHECK:         vxk.barrier
// CHECK:         %[[INSIDE:.+]] = arith.cmpi ult, %{{.+}}, %[[COUNT:.+]] : index
// CHECK:         arith.select %[[INSIDE]], %{{.+}}, %cst
// CHECK:         vxk.barrier
// CHECK:         %[[HERE:.+]] = arith.cmpi ult, %{{.+}}, %[[COUNT]] : index
// CHECK:         arith.select %[[HERE]], %{{.+}}, %cst
// CHECK:         vxk.barrier
vx.kernel @any_length "x" symbols ["s0"] workgroups <ceildiv(s0, 16)> #vx.flash<tile = [1, 1, 16, 0], keys = 8, threads = 128> {
^bb0(%q: tensor<1x1x?x5xf16, #vx.enc<[1, 1, s0, 5]>>):
  %0 = vx.attention %q, %q, %q scale = 0.5 causal dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x1x?x5xf16, #vx.enc<[1, 1, s0, 5]>>, tensor<1x1x?x5xf16, #vx.enc<[1, 1, s0, 5]>>, tensor<1x1x?x5xf16, #vx.enc<[1, 1, s0, 5]>> -> tensor<1x1x?x5xf16, #vx.enc<[1, 1, s0, 5]>>
  vx.yield %0 : tensor<1x1x?x5xf16, #vx.enc<[1, 1, s0, 5]>>
}

// -----

// expected-error@+1 {{expects a strategy that fits attention: one batch and head, a multiple of 16 queries, of 8 keys, and 128 threads, got #vx.flash<tile = [1, 1, 24, 0]}}
vx.kernel @uneven "x" symbols [] workgroups <1> #vx.flash<tile = [1, 1, 24, 0], keys = 8, threads = 128> {
^bb0(%q: tensor<1x1x24x4xf32>):
  %0 = vx.attention %q, %q, %q scale = 0.5 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x1x24x4xf32>, tensor<1x1x24x4xf32>, tensor<1x1x24x4xf32> -> tensor<1x1x24x4xf32>
  vx.yield %0 : tensor<1x1x24x4xf32>
}
