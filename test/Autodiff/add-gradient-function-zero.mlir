// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-add-gradient-function{of=y wrt=v,x,w,n},vx-graph,vx-grad)' 2>&1 | FileCheck %s

// What the output does not depend on, or only where its derivative is 0, has zeros, and a note by its name.
// CHECK: note: the gradient with respect to 'v' is 0: nothing that it is taken of depends on it, or its derivative is 0 everywhere
// CHECK-NOT: with respect to 'x'
// CHECK: note: the gradient with respect to 'w' is 0: nothing that it is taken of depends on it, or its derivative is 0 everywhere
// CHECK: note: the gradient with respect to 'n' is 0: nothing that it is taken of depends on it, or its derivative is 0 everywhere

vx.variable @v role = parameter : tensor<2xf32>

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME:    -> (tensor<2xf32> {vx.name = "grad/v"}, tensor<3xf32> {vx.name = "grad/x"}, tensor<4xf32> {vx.name = "grad/w"}, tensor<3xf32> {vx.name = "grad/n"})
// CHECK-DAG:     %[[ZERO:.+]] = vx.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[V:.+]] = vx.broadcast %[[ZERO]], [] : tensor<f32> -> tensor<2xf32>
// CHECK-DAG:     %[[W:.+]] = vx.broadcast %[[ZERO]], [] : tensor<f32> -> tensor<4xf32>
// CHECK:         return %[[V]], %{{.+}}, %[[W]], %{{.+}}
func.func @main(%x: tensor<3xf32> {vx.name = "x"}, %n: tensor<3xf32> {vx.name = "n"})
    -> (tensor<3xf32> {vx.name = "y"}, tensor<2xf32> {vx.name = "other"}, tensor<4xf32> {vx.name = "third"}) {
  %w = vx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> {names = ["w"]}
  %v = vx.variable_load @v : tensor<2xf32>
  %floor = vx.floor %n : tensor<3xf32>
  %y = vx.mul %x, %floor : tensor<3xf32>, tensor<3xf32>
  return %y, %v, %w : tensor<3xf32>, tensor<2xf32>, tensor<4xf32>
}
