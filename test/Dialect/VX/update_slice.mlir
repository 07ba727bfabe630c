// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @box(
func.func @box(%a: tensor<2x?x8xf32, #vx.enc<[2, n, 8]>>, %i: tensor<1xi64>, %u: tensor<2x?x8xf32, #vx.enc<[2, t, 8]>>) -> tensor<2x?x8xf32, #vx.enc<[2, n, 8]>> {
  // CHECK: vx.update_slice %{{.*}}, %{{.*}}, %{{.*}} axes = [1] : tensor<2x?x8xf32, #vx.enc<[2, n, 8]>>, tensor<1xi64>, tensor<2x?x8xf32, #vx.enc<[2, t, 8]>>
  %0 = vx.update_slice %a, %i, %u axes = [1] : tensor<2x?x8xf32, #vx.enc<[2, n, 8]>>, tensor<1xi64>, tensor<2x?x8xf32, #vx.enc<[2, t, 8]>>
  return %0 : tensor<2x?x8xf32, #vx.enc<[2, n, 8]>>
}

// -----

func.func @c1(%a: tensor<4x5xf32>, %i: tensor<2xi64>, %u: tensor<2x5xf32>) {
  // expected-error @+1 {{'vx.update_slice' op expects 'axes' to be dimensions of 'input', increasing: 0 to 1, got [0, 0]}}
  %0 = vx.update_slice %a, %i, %u axes = [0, 0] : tensor<4x5xf32>, tensor<2xi64>, tensor<2x5xf32>
  return
}

// -----

func.func @c2(%a: tensor<4x5xf32>, %i: tensor<2xi64>, %u: tensor<2x5xf32>) {
  // expected-error @+1 {{'vx.update_slice' op expects 'starts' of rank 1 and size 1, got 'tensor<2xi64>'}}
  %0 = vx.update_slice %a, %i, %u axes = [0] : tensor<4x5xf32>, tensor<2xi64>, tensor<2x5xf32>
  return
}

// -----

func.func @c3_rank(%a: tensor<4x5xf32>, %i: tensor<1xi64>, %u: tensor<5xf32>) {
  // expected-error @+1 {{'vx.update_slice' op expects a box that fits into 'input', 'tensor<4x5xf32>', got 'tensor<5xf32>'}}
  %0 = vx.update_slice %a, %i, %u axes = [0] : tensor<4x5xf32>, tensor<1xi64>, tensor<5xf32>
  return
}

// -----

func.func @c3_size(%a: tensor<4x5xf32>, %i: tensor<1xi64>, %u: tensor<2x6xf32>) {
  // expected-error @+1 {{'vx.update_slice' op expects a box that fits into 'input', 'tensor<4x5xf32>', got 'tensor<2x6xf32>'}}
  %0 = vx.update_slice %a, %i, %u axes = [0] : tensor<4x5xf32>, tensor<1xi64>, tensor<2x6xf32>
  return
}
