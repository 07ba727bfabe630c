// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @iota(
func.func @iota() {
  // CHECK: vx.iota axis = 1 : tensor<?x3xi64, #vx.enc<[n, 3]>>
  %0 = vx.iota axis = 1 : tensor<?x3xi64, #vx.enc<[n, 3]>>
  return
}

// -----

func.func @c1_axis() {
  // expected-error @+1 {{'vx.iota' op expects 'axis' to be a dimension of the result: 0 to 0, got 1}}
  %0 = vx.iota axis = 1 : tensor<3xi64>
  return
}

// -----

func.func @c1_scalar() {
  // expected-error @+1 {{'vx.iota' op expects 'axis' to be a dimension of the result: 0 to -1, got 0}}
  %0 = vx.iota axis = 0 : tensor<i64>
  return
}
