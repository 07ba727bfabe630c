// RUN: vx-opt %s --split-input-file --vx-constants-to-variables='train=auto init=random' 2>/dev/null | FileCheck %s

// A table that is a factor too, as a language model's head, starts as a factor; an added table as those of places, and what is added once to all rows at 0.
// CHECK-DAG: vx.variable @tokens role = parameter init = <uniform(-5.000000e-01, 5.000000e-01)> : tensor<9x4xf32>{{$}}
// CHECK-DAG: vx.variable @places role = parameter init = <normal(0.000000e+00, 2.000000e-02)> : tensor<5x4xf32>{{$}}
// CHECK-DAG: vx.variable @one role = parameter init = <uniform(0.000000e+00, 0.000000e+00)> : tensor<1x4xf32>{{$}}
func.func @tied(%ids: tensor<5xi64> {vx.name = "ids"}) -> (tensor<5x9xf32> {vx.name = "y"}) {
  %tokens = vx.constant dense<0.5> : tensor<9x4xf32> {names = ["tokens"]}
  %places = vx.constant dense<0.5> : tensor<5x4xf32> {names = ["places"]}
  %one = vx.constant dense<0.5> : tensor<1x4xf32> {names = ["one"]}
  %rows = vx.gather %tokens, %ids axis = 0 : tensor<9x4xf32>, tensor<5xi64>
  %a = vx.add %rows, %places : tensor<5x4xf32>, tensor<5x4xf32>
  %ones = vx.broadcast %one, [0, 1] : tensor<1x4xf32> -> tensor<5x4xf32>
  %b = vx.add %a, %ones : tensor<5x4xf32>, tensor<5x4xf32>
  %y = vx.contract %b, %tokens batch = [] x [] contracting = [1] x [1] : tensor<5x4xf32>, tensor<9x4xf32>
  return %y : tensor<5x9xf32>
}

// -----

// The first operand of a product, and the bias of a product that another one was added to; each head of a batch of products has its own inputs.
// CHECK-DAG: vx.variable @left role = parameter init = <uniform(-2.500000e-01, 2.500000e-01)> : tensor<3x16xf32>{{$}}
// CHECK-DAG: vx.variable @bias role = parameter init = <uniform(-2.500000e-01, 2.500000e-01)> : tensor<3x1xf32>{{$}}
// CHECK-DAG: vx.variable @heads role = parameter init = <uniform(-5.000000e-01, 5.000000e-01)> : tensor<7x4x2xf32>{{$}}
func.func @first(%x: tensor<16x7xf32> {vx.name = "x"}, %h: tensor<7x5x4xf32>) -> (tensor<3x7xf32> {vx.name = "y"}) {
  %w = vx.constant dense<0.5> : tensor<3x16xf32> {names = ["left"]}
  %bias = vx.constant dense<0.5> : tensor<3x1xf32> {names = ["bias"]}
  %heads = vx.constant dense<0.5> : tensor<7x4x2xf32> {names = ["heads"]}
  %p = vx.contract %w, %x batch = [] x [] contracting = [1] x [0] : tensor<3x16xf32>, tensor<16x7xf32>
  %q = vx.contract %h, %heads batch = [0] x [0] contracting = [2] x [1] : tensor<7x5x4xf32>, tensor<7x4x2xf32>
  %sum = vx.reduce sum %q axes = [1, 2] : tensor<7x5x2xf32>
  %sums = vx.broadcast %sum, [1] : tensor<7xf32> -> tensor<3x7xf32>
  %a = vx.add %p, %sums : tensor<3x7xf32>, tensor<3x7xf32>
  %b = vx.broadcast %bias, [0, 1] : tensor<3x1xf32> -> tensor<3x7xf32>
  %y = vx.add %a, %b : tensor<3x7xf32>, tensor<3x7xf32>
  return %y : tensor<3x7xf32>
}

// -----

// What a batch norm collects.
// CHECK-DAG: vx.variable @mean role = statistic init = <uniform(0.000000e+00, 0.000000e+00)> : tensor<3xf32>{{$}}
// CHECK-DAG: vx.variable @variance role = statistic init = <uniform(1.000000e+00, 1.000000e+00)> : tensor<3xf32>{{$}}
func.func @norm(%x: tensor<2x3xf32> {vx.name = "x"}) -> (tensor<2x3xf32> {vx.name = "y"}) {
  %scale = vx.constant dense<0.5> : tensor<3xf32> {names = ["scale"]}
  %bias = vx.constant dense<0.5> : tensor<3xf32> {names = ["bias"]}
  %mean = vx.constant dense<0.5> : tensor<3xf32> {names = ["mean"]}
  %variance = vx.constant dense<0.5> : tensor<3xf32> {names = ["variance"]}
  %y:3 = vx.batch_norm %x, %scale, %bias, %mean, %variance epsilon = 0.1 momentum = 0.9
      : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  return %y#0 : tensor<2x3xf32>
}
