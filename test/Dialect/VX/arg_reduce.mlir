// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @arg_reduce(
func.func @arg_reduce(%a: tensor<?x3xf32, #vx.enc<[n, 3]>>) -> tensor<?xi64, #vx.enc<[n]>> {
  // CHECK: vx.arg_reduce max %{{.*}} axis = 1 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %0 = vx.arg_reduce max %a axis = 1 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.arg_reduce min %{{.*}} axis = 0 last : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %1 = vx.arg_reduce min %a axis = 0 last : tensor<?x3xf32, #vx.enc<[n, 3]>>
  return %0 : tensor<?xi64, #vx.enc<[n]>>
}

// -----

func.func @c1_axis(%a: tensor<3xf32>) {
  // expected-error @+1 {{'vx.arg_reduce' op expects 'axis' to be a dimension of 'input': 0 to 0, got 1}}
  %0 = vx.arg_reduce max %a axis = 1 : tensor<3xf32>
  return
}

// -----

func.func @c2_kind(%a: tensor<3xf32>) {
  // expected-error @+1 {{'vx.arg_reduce' op expects 'max' or 'min', got 'sum'}}
  %0 = vx.arg_reduce sum %a axis = 0 : tensor<3xf32>
  return
}

// -----

func.func @c3_empty(%a: tensor<2x0xf32>) {
  // expected-error @+1 {{'vx.arg_reduce' op expects at least 1 element along dimension 1, got 0}}
  %0 = vx.arg_reduce max %a axis = 1 : tensor<2x0xf32>
  return
}
