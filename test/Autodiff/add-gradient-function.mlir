// RUN: vx-opt %s --vx-add-gradient-function='of=y wrt=x,w,v' | FileCheck %s
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-add-gradient-function{of=y wrt=x,w,v},vx-graph,vx-grad)' | FileCheck %s --check-prefix=GRAD
// RUN: not vx-opt %s --vx-add-gradient-function='of=q wrt=x' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not vx-opt %s --vx-add-gradient-function='of=y wrt=q' 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not vx-opt %s --vx-add-gradient-function='of=y wrt=n' 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not vx-opt %s --vx-add-gradient-function='of=k wrt=x' 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not vx-opt %s --vx-add-gradient-function='of=y' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not vx-opt %s --vx-add-gradient-function='of=y wrt=x' --vx-add-gradient-function='of=y wrt=x' 2>&1 | FileCheck %s --check-prefix=TWICE

// OUTPUT:  error: expected the name of an output to take the gradient of, got 'q'; the model has 'y', 'k'
// INPUT:   error: the gradient of 'y': expected the name of an input, initializer or variable, got 'q'
// INTEGER: error: the gradient of 'y': expected 'n' to be a tensor of floats, got i64[3]
// COUNT:   error: the gradient of 'k': expected a tensor of floats, got i64[3]
// NONE:    error: the gradient of 'y': expected names to take it with respect to, got none
// TWICE:   error: expected no 'gradient' in the model, got one: the gradient is added as a function of this name; rename it

vx.variable @v role = parameter : tensor<3xf32>

// CHECK-LABEL: func.func @main(
// CHECK:         vx.variable_store
// CHECK-LABEL: func.func @gradient(
// CHECK-SAME:    %[[X:.+]]: tensor<3xf32> {vx.name = "x"}, %{{.+}}: tensor<3xi64> {vx.name = "n"})
// CHECK-SAME:    -> (tensor<3xf32> {vx.name = "grad/x"}, tensor<3xf32> {vx.name = "grad/w"}, tensor<3xf32> {vx.name = "grad/v"})
// CHECK:         vx.watch %[[X]]
// CHECK-NOT:     vx.variable_store
// CHECK:         %[[D:.+]]:3 = vx.gradient
// CHECK-NEXT:    return %[[D]]#0, %[[D]]#1, %[[D]]#2

// GRAD-LABEL: func.func @gradient(
// GRAD-NOT:     vx.watch
// GRAD-NOT:     vx.gradient
func.func @main(%x: tensor<3xf32> {vx.name = "x"}, %n: tensor<3xi64> {vx.name = "n"})
    -> (tensor<3xf32> {vx.name = "y"}, tensor<3xi64> {vx.name = "k"}) {
  %w = vx.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> {names = ["w"]}
  %v = vx.variable_load @v : tensor<3xf32>
  %0 = vx.mul %x, %w : tensor<3xf32>, tensor<3xf32>
  %1 = vx.mul %0, %v : tensor<3xf32>, tensor<3xf32>
  vx.variable_store %0, @v : tensor<3xf32>
  return %1, %n : tensor<3xf32>, tensor<3xi64>
}
