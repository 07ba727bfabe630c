// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%a: tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>, %b: tensor<2xi1>) -> tensor<?xf32, #vx.enc<[n]>> {
  // CHECK: vx.reduce sum %{{.*}} axes = [1, 2] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  %0 = vx.reduce sum %a axes = [1, 2] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  // CHECK: vx.reduce prod
  %1 = vx.reduce prod %a axes = [] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  // CHECK: vx.reduce max
  %2 = vx.reduce max %a axes = [0] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  // CHECK: vx.reduce min
  %3 = vx.reduce min %a axes = [0] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  // CHECK: vx.reduce and
  %4 = vx.reduce and %b axes = [0] : tensor<2xi1>
  // CHECK: vx.reduce or
  %5 = vx.reduce or %b axes = [0] : tensor<2xi1>
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}

// -----

func.func @c1_order(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.reduce' op expects 'axes' to increase from 0 to at most 1, got [1, 0]}}
  %0 = vx.reduce sum %a axes = [1, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @c1_range(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.reduce' op expects 'axes' to increase from 0 to at most 1, got [2]}}
  %0 = vx.reduce sum %a axes = [2] : tensor<2x3xf32>
  return
}

// -----

func.func @c2_bools_have_no_sum(%a: tensor<2xi1>) {
  // expected-error @+1 {{'vx.reduce' op expects numbers for 'sum', got 'i1'}}
  %0 = vx.reduce sum %a axes = [0] : tensor<2xi1>
  return
}

// -----

func.func @c2_floats_have_no_and(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.reduce' op expects bools or integers for 'and', got 'f32'}}
  %0 = vx.reduce and %a axes = [0] : tensor<2xf32>
  return
}
