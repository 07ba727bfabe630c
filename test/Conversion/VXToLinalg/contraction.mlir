// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-verify-no-encoding | FileCheck %s

// Only the products and sums of a contraction may become fused multiply-adds.
// CHECK-LABEL: func.func @contract
// CHECK:         %[[INIT:.+]] = linalg.fill
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:      outs(%[[INIT]]
// CHECK:           arith.mulf {{.*}} fastmath<contract> : f32
// CHECK:           arith.addf {{.*}} fastmath<contract> : f32
vx.kernel @contract "x" symbols ["s0"] workgroups <1> #vx.strategy<"loops", workgroup = [], vector = [], reduction = [], threads = 1> {
^bb0(%a: tensor<?x4xf32, #vx.enc<[s0, 4]>>, %b: tensor<5x4xf32>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] : tensor<?x4xf32, #vx.enc<[s0, 4]>>, tensor<5x4xf32>
  vx.yield %0 : tensor<?x5xf32, #vx.enc<[s0, 5]>>
}

// -----

// f16 operands are summed up in f32 and rounded once.
// CHECK-LABEL: func.func @narrow
// CHECK:         linalg.fill {{.*}} outs(%{{.+}} : tensor<2x5xf32>)
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         linalg.generic
// CHECK:           arith.truncf %{{.+}} : f32 to f16
vx.kernel @narrow "x" symbols [] workgroups <1> #vx.strategy<"loops", workgroup = [], vector = [], reduction = [], threads = 1> {
^bb0(%a: tensor<2x4xf16>, %b: tensor<4x5xf16>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<2x4xf16>, tensor<4x5xf16>
  vx.yield %0 : tensor<2x5xf16>
}

// -----

// Padding is a branch around the read, one for each padded dimension.
// CHECK-LABEL: func.func @conv
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
// CHECK-SAME:      vxk.conv
// CHECK:           scf.if
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          tensor.extract
vx.kernel @conv "x" symbols ["s0"] workgroups <1> #vx.strategy<"loops", workgroup = [], vector = [], reduction = [], threads = 1> {
^bb0(%x: tensor<?x1x8x8xf32, #vx.enc<[s0, 1, 8, 8]>>, %w: tensor<2x1x3x3xf32>):
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<?x1x8x8xf32, #vx.enc<[s0, 1, 8, 8]>>, tensor<2x1x3x3xf32>
  vx.yield %0 : tensor<?x2x8x8xf32, #vx.enc<[s0, 2, 8, 8]>>
}
