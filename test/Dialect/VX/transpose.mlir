// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @transpose(
func.func @transpose(%a: tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>) -> tensor<4x?x3xf32, #vx.enc<[4, n, 3]>> {
  // CHECK: vx.transpose %{{.*}}, [2, 0, 1] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  %0 = vx.transpose %a, [2, 0, 1] : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
  return %0 : tensor<4x?x3xf32, #vx.enc<[4, n, 3]>>
}

// -----

func.func @c1_twice(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.transpose' op expects 'permutation' to hold each of the 2 dimensions of 'input' once, got [0, 0]}}
  %0 = vx.transpose %a, [0, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @c1_too_short(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.transpose' op expects 'permutation' to hold each of the 2 dimensions of 'input' once, got [0]}}
  %0 = vx.transpose %a, [0] : tensor<2x3xf32>
  return
}

// -----

func.func @c1_out_of_range(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.transpose' op expects 'permutation' to hold each of the 2 dimensions of 'input' once, got [0, -1]}}
  %0 = vx.transpose %a, [0, -1] : tensor<2x3xf32>
  return
}
