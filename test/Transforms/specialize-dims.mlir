// RUN: vx-opt %s --vx-specialize-dims="dims=batch=2,seq=8" | FileCheck %s

// Types, attributes, constants' readers and the function's type: no trace of the symbols is left; others stay.
// CHECK-LABEL: module
// CHECK-NOT:     "batch"
// CHECK:         vx.symbol "n"
// CHECK-NOT:     "seq"
// CHECK:         func.func @main(%{{.*}}: tensor<2x16xf32> {vx.name = "x"}, %{{.*}}: tensor<?xf32, #vx.enc<[n]>>, %{{.*}}: !vx.sequence<tensor<2xf32>>) -> tensor<?xf32, #vx.enc<[n + 2]>>
// CHECK:         vx.slice %{{.*}} starts [#vx.dim<1>, #vx.dim<0>] strides [1, 1] : tensor<2x16xf32> -> tensor<1x16xf32>
// CHECK:         vx.dim_value <n + 16>
vx.symbol "batch" min = 1 max = 4
vx.symbol "n"
vx.symbol "seq" multiple = 8
func.func @main(%x: tensor<?x?xf32, #vx.enc<[batch, seq * 2]>> {vx.name = "x"}, %y: tensor<?xf32, #vx.enc<[n]>>, %s: !vx.sequence<tensor<?xf32, #vx.enc<[batch]>>>) -> tensor<?xf32, #vx.enc<[n + batch]>> {
  %0 = vx.slice %x starts [#vx.dim<batch - 1>, #vx.dim<0>] strides [1, 1] : tensor<?x?xf32, #vx.enc<[batch, seq * 2]>> -> tensor<1x?xf32, #vx.enc<[1, seq * 2]>>
  %1 = vx.dim_value <n + seq * batch>
  %v = vx.constant dense<0.0> : tensor<f32>
  %2 = vx.pad %y, %v low [#vx.dim<batch>] high [#vx.dim<0>] : tensor<?xf32, #vx.enc<[n]>>, tensor<f32>
  return %2 : tensor<?xf32, #vx.enc<[n + batch]>>
}
