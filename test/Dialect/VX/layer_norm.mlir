// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @layer_norm(
func.func @layer_norm(%x: tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>, %s: tensor<3x4xf32>) -> tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>> {
  // CHECK: vx.layer_norm %{{.*}}, %{{.*}}, %{{.*}} axis = 1 epsilon = {{.+}} : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>, tensor<3x4xf32>, tensor<3x4xf32>
  %0 = vx.layer_norm %x, %s, %s axis = 1 epsilon = 1.0e-5 : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>, tensor<3x4xf32>, tensor<3x4xf32>
  return %0 : tensor<?x3x4xf32, #vx.enc<[n, 3, 4]>>
}

// -----

func.func @c1_axis(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'vx.layer_norm' op expects 'axis' to be a dimension of 'input': 0 to 1, got 2}}
  %0 = vx.layer_norm %x, %s, %s axis = 2 epsilon = 0.0 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @c2_bias(%x: tensor<3x4xf32>, %s: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'vx.layer_norm' op expects 'bias' to have the shape of a row of 'input': 'tensor<4xf32>', got 'tensor<3xf32>'}}
  %0 = vx.layer_norm %x, %s, %b axis = 1 epsilon = 0.0 : tensor<3x4xf32>, tensor<4xf32>, tensor<3xf32>
  return
}

// -----

func.func @c3_epsilon(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'vx.layer_norm' op expects 'epsilon' to be finite and at least 0, got -1.000000}}
  %0 = vx.layer_norm %x, %s, %s axis = 1 epsilon = -1.0 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}
