// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @rms_norm(
func.func @rms_norm(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %s: tensor<8xf32>) -> tensor<?x8xf32, #vx.enc<[n, 8]>> {
  // CHECK: vx.rms_norm %{{.*}}, %{{.*}}, epsilon = {{.+}} : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8xf32>
  %0 = vx.rms_norm %x, %s, epsilon = 1.0e-5 : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8xf32>
  return %0 : tensor<?x8xf32, #vx.enc<[n, 8]>>
}

// -----

func.func @c1_scalar(%x: tensor<f32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{'vx.rms_norm' op expects 'input' of rank 1 or more, got 'tensor<f32>'}}
  %0 = vx.rms_norm %x, %s, epsilon = 1.0 : tensor<f32>, tensor<1xf32>
  return
}

// -----

func.func @c2_scale(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'vx.rms_norm' op expects one 'scale' per column of 'input': 'tensor<8xf32>', got 'tensor<4xf32>'}}
  %0 = vx.rms_norm %x, %s, epsilon = 1.0 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @c3_epsilon(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'vx.rms_norm' op expects 'epsilon' to be finite and greater than 0, got 0.000000}}
  %0 = vx.rms_norm %x, %s, epsilon = 0.0 : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @c3_nan(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'vx.rms_norm' op expects 'epsilon' to be finite and greater than 0, got nan}}
  %0 = vx.rms_norm %x, %s, epsilon = 0x7FC00000 : tensor<4x8xf32>, tensor<8xf32>
  return
}
