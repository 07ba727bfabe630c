// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-optimised=precision=tf32
// RUN: not vx-opt %s --split-input-file --vx-verify-optimised=precision=f64 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: 'precision': expected f32, tf32, f16 or bf16, got 'f64'

vx.symbol "n"
func.func @good(%x: tensor<?x3xf32, #vx.enc<[n, 3]>>, %w: tensor<3x2xf32>, %d: tensor<3x2xf64>, %i: tensor<4xi64> {vx.range = {lower = 0, upper = #vx.dim<3>}}, %j: tensor<4xi64>)
    -> (tensor<?x2xf32, #vx.enc<[n, 2]>>, tensor<2x2xf64>, tensor<4x2xf32>, tensor<4xi64>) {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] factors = tf32 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<3x2xf32>
  %1 = vx.contract %d, %d batch = [] x [] contracting = [0] x [0] : tensor<3x2xf64>, tensor<3x2xf64>
  %2 = vx.gather %w, %i axis = 0 : tensor<3x2xf32>, tensor<4xi64>
  %3 = vx.add %j, %j : tensor<4xi64>, tensor<4xi64>
  return %0, %1, %2, %3 : tensor<?x2xf32, #vx.enc<[n, 2]>>, tensor<2x2xf64>, tensor<4x2xf32>, tensor<4xi64>
}

// -----

func.func @c1_another_dialect(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected ops of the 'optimised' phase, got 'tensor.empty'}}
  %0 = tensor.empty() : tensor<2xf32>
  return
}

// -----

// What was specialised is named nowhere.
func.func @c2_specialised(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a 'vx.symbol' that declares dimension symbol 'n', got none}}
  %0 = vx.dim_value <n>
  return
}

// -----

func.func @c5_f32(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> tensor<4x2xf32> {
  // expected-error-re @+1 {{after 'optimised' 'vx.contract' of {{.+}}/verify-optimised.mlir:36:8 multiplies in tf32, got factors of f32}}
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<4x3xf32>, tensor<3x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// expected-error @+1 {{after 'optimised' input 1 of 'c6_none' states the range that the graph takes: expected {lower = 0 : i64, upper = #vx.dim<3>}, got none}}
func.func @c6_none(%w: tensor<3x2xf32>, %i: tensor<4xi64>) -> tensor<4x2xf32> {
  %0 = vx.gather %w, %i axis = 0 : tensor<3x2xf32>, tensor<4xi64>
  return %0 : tensor<4x2xf32>
}

// -----

// expected-error @+1 {{after 'optimised' input 0 of 'c6_needless' states the range that the graph takes: expected none, got {lower = 0 : i64}}}
func.func @c6_needless(%i: tensor<4xi64> {vx.range = {lower = 0}}) -> tensor<4xi64> {
  return %i : tensor<4xi64>
}
