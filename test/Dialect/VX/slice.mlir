// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @slice(
func.func @slice(%a: tensor<?x8xf32, #vx.enc<[n, 8]>>) {
  // CHECK: vx.slice %{{.*}} starts [#vx.dim<n - 1>, #vx.dim<7>] strides [-1, -2] : tensor<?x8xf32, #vx.enc<[n, 8]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %0 = vx.slice %a starts [#vx.dim<n - 1>, #vx.dim<7>] strides [-1, -2] : tensor<?x8xf32, #vx.enc<[n, 8]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  return
}

// -----

func.func @c1_count(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.slice' op expects 'starts', 'strides' and the result to have one entry for each of the 1 dimensions of 'input', got 1, 2 and 1}}
  %0 = vx.slice %a starts [#vx.dim<0>] strides [1, 1] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @c2_stride(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.slice' op expects strides that are not 0, got [0]}}
  %0 = vx.slice %a starts [#vx.dim<0>] strides [0] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @c3_behind_the_end(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.slice' op expects the box to lie inside of dimension 0 of 'input': indices 0 to 7, got 2 to 8}}
  %0 = vx.slice %a starts [#vx.dim<2>] strides [2] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @c3_before_the_begin(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.slice' op expects the box to lie inside of dimension 0 of 'input': indices 0 to 7, got 2 to -1}}
  %0 = vx.slice %a starts [#vx.dim<2>] strides [-1] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

// Far strides do not wrap around into the box.
func.func @c3_overflow(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.slice' op expects the box to lie inside of dimension 0 of 'input': indices 0 to 7}}
  %0 = vx.slice %a starts [#vx.dim<0>] strides [4611686018427387904] : tensor<8xf32> -> tensor<5xf32>
  return
}

// -----

// An empty box lies anywhere.
// CHECK-LABEL: func.func @empty(
func.func @empty(%a: tensor<8xf32>) {
  %0 = vx.slice %a starts [#vx.dim<8>] strides [1] : tensor<8xf32> -> tensor<0xf32>
  return
}
