// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @reduce_window(
func.func @reduce_window(%a: tensor<?x8xf32, #vx.enc<[n, 8]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  // CHECK: vx.reduce_window max %{{.*}} window = [1, 3] strides = [1, 2] dilations = [1, 1] pads = [0, 0] x [0, 1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
  %0 = vx.reduce_window max %a window = [1, 3] strides = [1, 2] dilations = [1, 1] pads = [0, 0] x [0, 1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// -----

func.func @c1_count(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.reduce_window' op expects 'window' to have one entry for each dimension: 1, got 2}}
  %0 = vx.reduce_window max %a window = [1, 3] strides = [1] dilations = [1] pads = [0] x [0] : tensor<8xf32>
  return
}

// -----

func.func @c1_window(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.reduce_window' op expects 'window' of at least 1, got 0}}
  %0 = vx.reduce_window max %a window = [0] strides = [1] dilations = [1] pads = [0] x [0] : tensor<8xf32>
  return
}

// -----

func.func @c2_kind(%a: tensor<8xi32>) {
  // expected-error @+1 {{'vx.reduce_window' op expects 'sum', 'prod', 'max' or 'min', got 'and'}}
  %0 = vx.reduce_window and %a window = [1] strides = [1] dilations = [1] pads = [0] x [0] : tensor<8xi32>
  return
}

// -----

func.func @c3_padded_size(%a: tensor<8xf32>) {
  // expected-error @+1 {{'vx.reduce_window' op expects a padded size of at least 0 in spatial dimension 0, got -2}}
  %0 = vx.reduce_window max %a window = [1] strides = [1] dilations = [1] pads = [-5] x [-5] : tensor<8xf32>
  return
}
