// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @pages(
func.func @pages(%a: tensor<9x4x32x64xf32>, %i: tensor<?x2xi64, #vx.enc<[t, 2]>>, %u: tensor<?x4x64xf32, #vx.enc<[t, 4, 64]>>) -> tensor<9x4x32x64xf32> {
  // CHECK: vx.scatter set %{{.*}}, %{{.*}}, %{{.*}} axes = [0, 2] : tensor<9x4x32x64xf32>, tensor<?x2xi64, #vx.enc<[t, 2]>>, tensor<?x4x64xf32, #vx.enc<[t, 4, 64]>>
  %0 = vx.scatter set %a, %i, %u axes = [0, 2] : tensor<9x4x32x64xf32>, tensor<?x2xi64, #vx.enc<[t, 2]>>, tensor<?x4x64xf32, #vx.enc<[t, 4, 64]>>
  return %0 : tensor<9x4x32x64xf32>
}

// -----

// CHECK-LABEL: func.func @elements(
func.func @elements(%a: tensor<5xi32>, %i: tensor<2x3x1xi32>, %u: tensor<2x3xi32>) -> tensor<5xi32> {
  // CHECK: vx.scatter add
  %0 = vx.scatter add %a, %i, %u axes = [0] : tensor<5xi32>, tensor<2x3x1xi32>, tensor<2x3xi32>
  return %0 : tensor<5xi32>
}

// -----

func.func @c1_order(%a: tensor<4x5xf32>, %i: tensor<3x2xi64>, %u: tensor<3xf32>) {
  // expected-error @+1 {{'vx.scatter' op expects 'axes' to be dimensions of 'input', increasing: 0 to 1, got [1, 0]}}
  %0 = vx.scatter set %a, %i, %u axes = [1, 0] : tensor<4x5xf32>, tensor<3x2xi64>, tensor<3xf32>
  return
}

// -----

func.func @c1_range(%a: tensor<4x5xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) {
  // expected-error @+1 {{'vx.scatter' op expects 'axes' to be dimensions of 'input', increasing: 0 to 1, got [2]}}
  %0 = vx.scatter set %a, %i, %u axes = [2] : tensor<4x5xf32>, tensor<3x1xi64>, tensor<3x4xf32>
  return
}

// -----

func.func @c1_none(%a: tensor<4x5xf32>, %i: tensor<3x0xi64>, %u: tensor<3x4x5xf32>) {
  // expected-error @+1 {{'vx.scatter' op expects 'axes' to be dimensions of 'input', increasing: 0 to 1, got []}}
  %0 = vx.scatter set %a, %i, %u axes = [] : tensor<4x5xf32>, tensor<3x0xi64>, tensor<3x4x5xf32>
  return
}

// -----

func.func @c2(%a: tensor<4x5xf32>, %i: tensor<3xi64>, %u: tensor<3x5xf32>) {
  // expected-error @+1 {{'vx.scatter' op expects tuples of 1 indices, got 'tensor<3xi64>'}}
  %0 = vx.scatter set %a, %i, %u axes = [0] : tensor<4x5xf32>, tensor<3xi64>, tensor<3x5xf32>
  return
}

// -----

func.func @c3(%a: tensor<4x5xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) {
  // expected-error @+1 {{'vx.scatter' op expects 'updates' of type 'tensor<3x5xf32>', got 'tensor<3x4xf32>'}}
  %0 = vx.scatter set %a, %i, %u axes = [0] : tensor<4x5xf32>, tensor<3x1xi64>, tensor<3x4xf32>
  return
}

// -----

func.func @c4(%a: tensor<4xi1>, %i: tensor<3x1xi64>, %u: tensor<3xi1>) {
  // expected-error @+1 {{'vx.scatter' op expects numbers to add, got 'tensor<4xi1>'}}
  %0 = vx.scatter add %a, %i, %u axes = [0] : tensor<4xi1>, tensor<3x1xi64>, tensor<3xi1>
  return
}
