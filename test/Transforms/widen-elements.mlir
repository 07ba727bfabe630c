// RUN: vx-opt %s --vx-widen-elements | FileCheck %s

// Floats of 8 bits are added as f32, and the sum is rounded.
// CHECK-LABEL: func.func @floats(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<8xf8E5M2>
func.func @floats(%x: tensor<8xf8E5M2>) -> tensor<8xf8E5M2> {
  // CHECK-NEXT: %[[A:.+]] = vx.cast %[[X]] : tensor<8xf8E5M2> -> tensor<8xf32>
  // CHECK-NEXT: %[[B:.+]] = vx.cast %[[X]] : tensor<8xf8E5M2> -> tensor<8xf32>
  // CHECK-NEXT: %[[S:.+]] = vx.add %[[A]], %[[B]] : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: %[[R:.+]] = vx.cast %[[S]] : tensor<8xf32> -> tensor<8xf8E5M2>
  // CHECK-NEXT: return %[[R]]
  %r = vx.add %x, %x : tensor<8xf8E5M2>, tensor<8xf8E5M2>
  return %r : tensor<8xf8E5M2>
}

// A sum of integers of 4 bits has the low bits of one of 8, along a dimension of any size.
// CHECK-LABEL: func.func @integers(
func.func @integers(%x: tensor<?x3xui4, #vx.enc<[n, 3]>>) -> tensor<?xui4, #vx.enc<[n]>> {
  // CHECK-NEXT: %[[A:.+]] = vx.cast %{{.+}} : tensor<?x3xui4, #vx.enc<[n, 3]>> -> tensor<?x3xui8, #vx.enc<[n, 3]>>
  // CHECK-NEXT: %[[S:.+]] = vx.reduce sum %[[A]] {{.+}} : tensor<?x3xui8, #vx.enc<[n, 3]>>
  // CHECK-NEXT: vx.cast %[[S]] : tensor<?xui8, #vx.enc<[n]>> -> tensor<?xui4, #vx.enc<[n]>>
  %r = vx.reduce sum %x axes = [1] : tensor<?x3xui4, #vx.enc<[n, 3]>>
  return %r : tensor<?xui4, #vx.enc<[n]>>
}

// What takes elements as they are is left alone, and so is what has none.
// CHECK-LABEL: func.func @moves(
func.func @moves(%x: tensor<2x3xi4>, %c: tensor<3x2xi1>, %y: tensor<4xf16>) -> (tensor<3x2xf16>, tensor<4xf16>) {
  // CHECK-NOT: -> tensor<{{.*}}xi8>
  %t = vx.transpose %x, [1, 0] : tensor<2x3xi4>
  %s = vx.select %c, %t, %t : tensor<3x2xi1>, tensor<3x2xi4>, tensor<3x2xi4>
  %r = vx.cast %s : tensor<3x2xi4> -> tensor<3x2xf16>
  // CHECK: vx.neg %{{.+}} : tensor<4xf16>
  %n = vx.neg %y : tensor<4xf16>
  return %r, %n : tensor<3x2xf16>, tensor<4xf16>
}
