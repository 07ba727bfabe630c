// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// Small values are inline, weights are resources.
// CHECK-LABEL: func.func @constants(
func.func @constants() {
  // CHECK: vx.constant dense<[1.000000e+00, -0.000000e+00]> : tensor<2xf32>
  %0 = vx.constant dense<[1.0, -0.0]> : tensor<2xf32>
  // CHECK: vx.constant dense_resource<w> : tensor<2xf32>
  %1 = vx.constant dense_resource<w> : tensor<2xf32>
  // CHECK: vx.constant dense<[true, false]> : tensor<2xi1>
  %2 = vx.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: vx.constant dense<2.000000e+00> : tensor<f32> {names = ["a", "b c"]}
  %3 = vx.constant dense<2.0> : tensor<f32> {names = ["a", "b c"]}
  return
}

// -----

func.func @no_names() {
  // expected-error @+1 {{'vx.constant' op expects 'names' to have at least 1 name, got none}}
  %0 = vx.constant dense<2.0> : tensor<f32> {names = []}
  return
}

// -----

func.func @not_a_tensor() {
  // expected-error @+1 {{invalid kind of attribute specified}}
  %0 = vx.constant 1.0 : f32
  return
}

{-# dialect_resources: { builtin: { w: "0x40000000000000000000803F" } } #-}
