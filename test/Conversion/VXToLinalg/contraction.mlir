// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-verify-no-encoding | FileCheck %s

// Only the products and sums of a contraction may become fused multiply-adds. What the anchor became says so.
// CHECK-LABEL: func.func @contract
// CHECK:         %[[INIT:.+]] = linalg.fill
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:      outs(%[[INIT]]
// CHECK-SAME:      attrs = {vxk.anchor}
// CHECK:           arith.mulf {{.*}} fastmath<contract> : f32
// CHECK:           arith.addf {{.*}} fastmath<contract> : f32
vx.kernel @contract "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?x4xf32, #vx.enc<[s0, 4]>>, %b: tensor<5x4xf32>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] {vx.anchor} : tensor<?x4xf32, #vx.enc<[s0, 4]>>, tensor<5x4xf32>
  vx.yield %0 : tensor<?x5xf32, #vx.enc<[s0, 5]>>
}

// -----

// f16 operands are summed up in f32 and rounded once: the anchor is the sum.
// CHECK-LABEL: func.func @narrow
// CHECK:         linalg.fill {{.*}} outs(%{{.+}} : tensor<2x5xf32>)
// CHECK:         linalg.generic {{.*}} attrs = {vxk.anchor}
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK-NOT:     vxk.anchor
// CHECK:         linalg.generic
// CHECK:           arith.truncf %{{.+}} : f32 to f16
vx.kernel @narrow "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<2x4xf16>, %b: tensor<4x5xf16>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<2x4xf16>, tensor<4x5xf16>
  vx.yield %0 : tensor<2x5xf16>
}

// -----

// Padding is a branch around the read, one for each padded dimension. Strategies read the window from an attribute.
// CHECK-LABEL: func.func @conv
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
// CHECK-SAME:      attrs = {vxk.anchor, vxk.window = #vxk.window<strides = [1, 1], dilations = [1, 1], pads_low = [1, 1], pads_high = [1, 1], groups = 1>}
// CHECK:           scf.if
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          tensor.extract
vx.kernel @conv "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<?x1x8x8xf32, #vx.enc<[s0, 1, 8, 8]>>, %w: tensor<2x1x3x3xf32>):
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 {vx.anchor} : tensor<?x1x8x8xf32, #vx.enc<[s0, 1, 8, 8]>>, tensor<2x1x3x3xf32>
  vx.yield %0 : tensor<?x2x8x8xf32, #vx.enc<[s0, 2, 8, 8]>>
}

// -----

// An op that is not the anchor leaves no mark.
// CHECK-LABEL: func.func @two_sums
// CHECK-COUNT-1: vxk.anchor}
// CHECK-NOT:     vxk.anchor}
vx.kernel @two_sums "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<4x4xf32>):
  %0 = vx.contract %a, %a batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = vx.contract %0, %a batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<4x4xf32>, tensor<4x4xf32>
  vx.yield %1 : tensor<4x4xf32>
}

// -----

// Each part of attention says which it is; the last one is the anchor.
// CHECK-LABEL: func.func @attention
// CHECK:         attrs = {vxk.attention_part = #vxk.attention_part<dots>}
// CHECK:         attrs = {vxk.attention_part = #vxk.attention_part<scores>}
// CHECK:         attrs = {vxk.attention_part = #vxk.attention_part<max>}
// CHECK:         attrs = {vxk.attention_part = #vxk.attention_part<sum>}
// CHECK:         attrs = {vxk.attention_part = #vxk.attention_part<values>}
// CHECK:         attrs = {vxk.anchor, vxk.attention_part = #vxk.attention_part<result>}
vx.kernel @attention "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x8xf32>):
  %0 = vx.attention %q, %k, %v scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32> -> tensor<1x2x4x8xf32>
  vx.yield %0 : tensor<1x2x4x8xf32>
}
