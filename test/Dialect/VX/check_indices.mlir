// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @tuples(
func.func @tuples(%i: tensor<?x2xi32, #vx.enc<[t, 2]>>) -> tensor<?x2xi32, #vx.enc<[t, 2]>> {
  // CHECK: vx.check_indices %{{.*}} below [#vx.dim<n>, #vx.dim<32>] : tensor<?x2xi32, #vx.enc<[t, 2]>>
  %0 = vx.check_indices %i below [#vx.dim<n>, #vx.dim<32>] : tensor<?x2xi32, #vx.enc<[t, 2]>>
  return %0 : tensor<?x2xi32, #vx.enc<[t, 2]>>
}

// -----

// CHECK-LABEL: func.func @scalar(
func.func @scalar(%i: tensor<i64>) -> tensor<i64> {
  // CHECK: vx.check_indices
  %0 = vx.check_indices %i below [#vx.dim<n>] : tensor<i64>
  return %0 : tensor<i64>
}

// -----

func.func @c1(%i: tensor<5x3xi64>) {
  // expected-error @+1 {{'vx.check_indices' op expects one entry in 'sizes', or one for each member of the last dimension of 'indices', 'tensor<5x3xi64>', got 2}}
  %0 = vx.check_indices %i below [#vx.dim<n>, #vx.dim<32>] : tensor<5x3xi64>
  return
}

// -----

func.func @c1_none(%i: tensor<i64>) {
  // expected-error @+1 {{'vx.check_indices' op expects one entry in 'sizes', or one for each member of the last dimension of 'indices', 'tensor<i64>', got 0}}
  %0 = vx.check_indices %i below [] : tensor<i64>
  return
}

// -----

// CHECK-LABEL: func.func @from_start(
func.func @from_start(%i: tensor<4xi64>) -> tensor<4xi64> {
  // CHECK: vx.check_indices %{{.*}} below [#vx.dim<10>] from_start : tensor<4xi64>
  %0 = vx.check_indices %i below [#vx.dim<10>] from_start : tensor<4xi64>
  return %0 : tensor<4xi64>
}
