// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// The sizes along the axis add up, as expressions.
// CHECK-LABEL: func.func @concat(
func.func @concat(%a: tensor<?x2xf32, #vx.enc<[n, 2]>>, %b: tensor<3x2xf32>) -> tensor<?x2xf32, #vx.enc<[n + 3, 2]>> {
  // CHECK: vx.concat axis = 0(%{{.*}}, %{{.*}}) : tensor<?x2xf32, #vx.enc<[n, 2]>>, tensor<3x2xf32>
  %0 = vx.concat axis = 0 (%a, %b) : tensor<?x2xf32, #vx.enc<[n, 2]>>, tensor<3x2xf32>
  return %0 : tensor<?x2xf32, #vx.enc<[n + 3, 2]>>
}

// -----

func.func @c1_none() {
  // expected-error @+2 {{'vx.concat' op expects at least 1 input, got 0}}
  // expected-error @+1 {{'vx.concat' op failed to infer returned types}}
  %0 = "vx.concat"() {axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @c1_element_types(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @+1 {{'vx.concat' op expects inputs that differ along dimension 0 only: 'tensor<2xf32>', got 'tensor<2xi32>'}}
  %0 = vx.concat axis = 0 (%a, %b) : tensor<2xf32>, tensor<2xi32>
  return
}

// -----

func.func @c2_axis(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.concat' op expects 'axis' to be a dimension of the inputs: 0 to 0, got -1}}
  %0 = vx.concat axis = -1 (%a) : tensor<2xf32>
  return
}

// -----

func.func @c3_other_dimension(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{'vx.concat' op expects inputs that differ along dimension 0 only: 'tensor<2x3xf32>', got 'tensor<2x4xf32>'}}
  %0 = vx.concat axis = 0 (%a, %b) : tensor<2x3xf32>, tensor<2x4xf32>
  return
}
