// RUN: vx-opt %s --vx-constants-to-variables='train=auto init=random' 2>&1 | FileCheck %s

// The gates of a recurrent layer's weights are written in another order: slices of the constant are concatenated.
// CHECK-DAG: weight {{ *}}trained  f32[4,3]: weight of a product, starts with random numbers
// CHECK-DAG: bias {{ *}}trained  f32[4]: an added bias, starts with random numbers
// A row beside rows that are computed is data, and no weight.
// CHECK-DAG: row {{ *}}frozen   f32[1,3]: operand 0 of vx.concat
// A table whose slice is only multiplied is none either.
// CHECK-DAG: rotary {{ *}}frozen   f32[8,4]: a factor that is no scale of a norm
// CHECK-DAG: 2 of 4 initializers are trained, 16 numbers
// CHECK-DAG: vx.variable @weight role = parameter init = <uniform(-0.57735026918962584, 0.57735026918962584)> : tensor<4x3xf32>
// CHECK-DAG: vx.variable @bias role = parameter init = <uniform(-0.57735026918962584, 0.57735026918962584)> : tensor<4xf32>
func.func @main(%x: tensor<5x3xf32> {vx.name = "x"}) -> (tensor<6x4xf32> {vx.name = "y"}) {
  %weight = vx.constant dense<1.0> : tensor<4x3xf32> {names = ["weight"]}
  %bias = vx.constant dense<1.0> : tensor<4xf32> {names = ["bias"]}
  %row = vx.constant dense<1.0> : tensor<1x3xf32> {names = ["row"]}
  %rotary = vx.constant dense<1.0> : tensor<8x4xf32> {names = ["rotary"]}
  %rows = vx.concat axis = 0(%row, %x) : tensor<1x3xf32>, tensor<5x3xf32>
  %w0 = vx.slice %weight starts [#vx.dim<2>, #vx.dim<0>] strides [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
  %w1 = vx.slice %weight starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
  %w = vx.concat axis = 0(%w0, %w1) : tensor<2x3xf32>, tensor<2x3xf32>
  %product = vx.contract %rows, %w batch = [] x [] contracting = [1] x [1] : tensor<6x3xf32>, tensor<4x3xf32>
  %b0 = vx.slice %bias starts [#vx.dim<2>] strides [1] : tensor<4xf32> -> tensor<2xf32>
  %b1 = vx.slice %bias starts [#vx.dim<0>] strides [1] : tensor<4xf32> -> tensor<2xf32>
  %b = vx.concat axis = 0(%b0, %b1) : tensor<2xf32>, tensor<2xf32>
  %biases = vx.broadcast %b, [1] : tensor<4xf32> -> tensor<6x4xf32>
  %sum = vx.add %product, %biases : tensor<6x4xf32>, tensor<6x4xf32>
  %angles = vx.slice %rotary starts [#vx.dim<1>, #vx.dim<0>] strides [1, 1] : tensor<8x4xf32> -> tensor<6x4xf32>
  %turned = vx.mul %sum, %angles : tensor<6x4xf32>, tensor<6x4xf32>
  return %turned : tensor<6x4xf32>
}
