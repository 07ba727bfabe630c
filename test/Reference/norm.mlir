// RUN: vx-interpret %s --print | FileCheck %s

// CHECK:      softmax: f32[3,2]
// CHECK-NEXT: {{\[}}[0.5, 0.5]
// CHECK-NEXT:  [0, 1]
// CHECK-NEXT:  [{{-?}}nan, {{-?}}nan]]
// CHECK:      log: f32[3,2]
// CHECK-NEXT: {{\[}}[-0.6931472, -0.6931472]
// CHECK-NEXT:  [-inf, 0]
// CHECK-NEXT:  [{{-?}}nan, {{-?}}nan]]
// CHECK:      layer: f32[2,2]
// CHECK-NEXT: {{\[}}[-1, 2]
// CHECK-NEXT:  [1, 0]]
// CHECK:      rms: f32[1,2]
// CHECK-NEXT: {{\[}}[0.75, 1]]
func.func @main() -> (tensor<3x2xf32> {vx.name = "softmax"}, tensor<3x2xf32> {vx.name = "log"}, tensor<2x2xf32> {vx.name = "layer"},
    tensor<1x2xf32> {vx.name = "rms"}) {
  // Large values do not overflow; a row with +inf is NaN.
  %a = vx.constant dense<[[1000.0, 1000.0], [0xFF800000, 0.0], [0x7F800000, 0.0]]> : tensor<3x2xf32>
  %0 = vx.softmax %a axis = 1 : tensor<3x2xf32>
  %1 = vx.softmax log %a axis = 1 : tensor<3x2xf32>
  %x = vx.constant dense<[[1.0, 3.0], [5.0, 5.0]]> : tensor<2x2xf32>
  %s = vx.constant dense<[2.0, 2.0]> : tensor<2xf32>
  %b = vx.constant dense<[1.0, 0.0]> : tensor<2xf32>
  // Mean 2 and variance 1 in the first row; the second has no variance, epsilon keeps it from 0 / 0.
  %2 = vx.layer_norm %x, %s, %b axis = 1 epsilon = 1.0e-12 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
  %y = vx.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
  %t = vx.constant dense<1.0> : tensor<2xf32>
  // Mean square 12.5, epsilon 3.5: the root is 4.
  %3 = vx.rms_norm %y, %t, epsilon = 3.5 : tensor<1x2xf32>, tensor<2xf32>
  return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<1x2xf32>
}
