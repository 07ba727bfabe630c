// RUN: vx-interpret %s --print | FileCheck %s

// CHECK:      0: i32[2,2]
// CHECK-NEXT: {{\[}}[19, 22]
// CHECK-NEXT:  [43, 50]]
// CHECK:      1: f32[2]
// CHECK-NEXT: [17, 53]
// CHECK:      2: f32[1,1,3]
// CHECK-NEXT: {{\[\[}}[5, 13, 9]]]
// CHECK:      3: f32[1,2,2]
// CHECK-NEXT: {{\[\[}}[1, 2]
// CHECK-NEXT:   [30, 40]]]
// CHECK:      4: f32[2,0]
// CHECK:      5: f32[2,2]
// CHECK-NEXT: {{\[}}[0, 0]
// CHECK-NEXT:  [0, 0]]
func.func @main() -> (tensor<2x2xi32>, tensor<2xf32>, tensor<1x1x3xf32>, tensor<1x2x2xf32>, tensor<2x0xf32>, tensor<2x2xf32>) {
  %a = vx.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = vx.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<2x2xi32>, tensor<2x2xi32>
  // Row by row: the rows are the batch.
  %fa = vx.cast %a : tensor<2x2xi32> -> tensor<2x2xf32>
  %fb = vx.cast %b : tensor<2x2xi32> -> tensor<2x2xf32>
  %1 = vx.contract %fa, %fb batch = [0] x [0] contracting = [1] x [1] : tensor<2x2xf32>, tensor<2x2xf32>
  // [0, 1, 2, 3, 4, 5, 0] with [1, 1, 2] at every second place: the padding reads as 0.
  %x = vx.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>
  %c = vx.constant dense<[[[1.0, 1.0, 2.0]]]> : tensor<1x1x3xf32>
  %2 = vx.conv %x, %c strides = [2] dilations = [1] pads = [1] x [1] groups = 1 : tensor<1x1x5xf32>, tensor<1x1x3xf32>
  // Two groups of one channel each.
  %y = vx.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %g = vx.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %3 = vx.conv %y, %g strides = [1] dilations = [1] pads = [0] x [0] groups = 2 : tensor<1x2x2xf32>, tensor<2x1x1xf32>
  %e = vx.constant dense<> : tensor<2x0xf32>
  %f = vx.constant dense<> : tensor<0x2xf32>
  %4 = vx.contract %fa, %e batch = [] x [] contracting = [1] x [0] : tensor<2x2xf32>, tensor<2x0xf32>
  // An empty sum is 0.
  %5 = vx.contract %e, %f batch = [] x [] contracting = [1] x [0] : tensor<2x0xf32>, tensor<0x2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x2xi32>, tensor<2xf32>, tensor<1x1x3xf32>, tensor<1x2x2xf32>, tensor<2x0xf32>, tensor<2x2xf32>
}
