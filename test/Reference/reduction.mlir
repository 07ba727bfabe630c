// RUN: vx-interpret %s --print | FileCheck %s
// RUN: not vx-interpret %s --function empty_arg --input 0=f32[2,0]:zeros 2>&1 | FileCheck %s --check-prefix=EMPTY

vx.symbol "n"

// CHECK:      sum: f32[2]
// CHECK-NEXT: [6, nan]
// CHECK:      max: f32[2]
// CHECK-NEXT: [3, nan]
// CHECK:      none: f32[3]
// CHECK-NEXT: [-inf, -inf, -inf]
// CHECK:      least: i8[]
// CHECK-NEXT: 127
// CHECK:      all: bool[]
// CHECK-NEXT: true
// CHECK:      arg: i64[2]
// CHECK-NEXT: [0, 1]
// CHECK:      last: i64[2]
// CHECK-NEXT: [2, 1]
// CHECK:      window: f32[3]
// CHECK-NEXT: [3, 6, 5]
func.func @main() -> (tensor<2xf32> {vx.name = "sum"}, tensor<2xf32> {vx.name = "max"}, tensor<3xf32> {vx.name = "none"},
    tensor<i8> {vx.name = "least"}, tensor<i1> {vx.name = "all"}, tensor<2xi64> {vx.name = "arg"}, tensor<2xi64> {vx.name = "last"},
    tensor<3xf32> {vx.name = "window"}) {
  %a = vx.constant dense<[[3.0, 0.0, 3.0], [1.0, 0x7FC00000, 5.0]]> : tensor<2x3xf32>
  %sum = vx.reduce sum %a axes = [1] : tensor<2x3xf32>
  %max = vx.reduce max %a axes = [1] : tensor<2x3xf32>
  %e = vx.constant dense<> : tensor<0x3xf32>
  %none = vx.reduce max %e axes = [0] : tensor<0x3xf32>
  %i = vx.constant dense<> : tensor<0xi8>
  %least = vx.reduce min %i axes = [0] : tensor<0xi8>
  %b = vx.constant dense<[true, true]> : tensor<2xi1>
  %all = vx.reduce and %b axes = [0] : tensor<2xi1>
  // NaN counts as the greatest.
  %arg = vx.arg_reduce max %a axis = 1 : tensor<2x3xf32>
  %last = vx.arg_reduce max %a axis = 1 last : tensor<2x3xf32>
  // Outside of the input nothing takes part.
  %w = vx.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %window = vx.reduce_window sum %w window = [3] strides = [1] dilations = [1] pads = [1] x [1] : tensor<3xf32>
  return %sum, %max, %none, %least, %all, %arg, %last, %window : tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<i8>, tensor<i1>,
    tensor<2xi64>, tensor<2xi64>, tensor<3xf32>
}

// EMPTY: vx-interpret: error: dimension 1 of [2, 0] has no element to choose in '{{.*}}reduction.mlir:[[@LINE+2]]:8'
func.func @empty_arg(%a: tensor<2x?xf32, #vx.enc<[2, n]>>) -> tensor<2xi64> {
  %0 = vx.arg_reduce max %a axis = 1 : tensor<2x?xf32, #vx.enc<[2, n]>>
  return %0 : tensor<2xi64>
}
