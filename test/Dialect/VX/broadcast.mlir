// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @broadcast(
func.func @broadcast(%a: tensor<1x3xf32>) {
  // CHECK: vx.broadcast %{{.*}}, [1, 2] : tensor<1x3xf32> -> tensor<?x4x3xf32, #vx.enc<[n, 4, 3]>>
  %0 = vx.broadcast %a, [1, 2] : tensor<1x3xf32> -> tensor<?x4x3xf32, #vx.enc<[n, 4, 3]>>
  return
}

// -----

// CHECK-LABEL: func.func @scalar(
func.func @scalar(%a: tensor<f32>) {
  // CHECK: vx.broadcast %{{.*}}, [] : tensor<f32> -> tensor<2xf32>
  %0 = vx.broadcast %a, [] : tensor<f32> -> tensor<2xf32>
  return
}

// -----

func.func @c1_count(%a: tensor<3xf32>) {
  // expected-error @+1 {{'vx.broadcast' op expects one entry of 'dimensions' for each dimension of 'input': 1, got 0}}
  %0 = vx.broadcast %a, [] : tensor<3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @c1_order(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.broadcast' op expects 'dimensions' to increase and to stay below the result's rank 2, got [1, 0]}}
  %0 = vx.broadcast %a, [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @c1_rank(%a: tensor<3xf32>) {
  // expected-error @+1 {{'vx.broadcast' op expects 'dimensions' to increase and to stay below the result's rank 1, got [1]}}
  %0 = vx.broadcast %a, [1] : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @c2_size(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.broadcast' op expects dimension 0 of 'input' to have size 1 or that of dimension 0 of the result: got 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = vx.broadcast %a, [0] : tensor<2xf32> -> tensor<3xf32>
  return
}
