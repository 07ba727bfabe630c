// RUN: vx-opt %s --pass-pipeline="builtin.module(vx-fused{target=vulkan})" | FileCheck %s

// Threads share a row where each brings one number of its part; a place beside it is for one thread to carry.
// CHECK-LABEL: func.func @rows(
// CHECK:         vx.fusion(%{{.+}}) {{.*}} #vx.rows<
// CHECK:           vx.reduce
// CHECK:         vx.fusion(%{{.+}}) {{.*}} #vx.rows<
// CHECK:           vx.softmax
// CHECK:         vx.fusion(%{{.+}}) {{.*}} #vx.loops<
// CHECK:           vx.arg_reduce
func.func @rows(%x: tensor<64x5000xf32> {vx.name = "x"}) -> (tensor<64xf32>, tensor<64x5000xf32>, tensor<64xi64>) {
  %0 = vx.reduce sum %x axes = [1] : tensor<64x5000xf32>
  %1 = vx.softmax %x axis = 1 : tensor<64x5000xf32>
  %2 = vx.arg_reduce max %x axis = 1 : tensor<64x5000xf32>
  return %0, %1, %2 : tensor<64xf32>, tensor<64x5000xf32>, tensor<64xi64>
}
