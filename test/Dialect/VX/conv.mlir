// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @conv(
func.func @conv(%x: tensor<?x4x?x8xf32, #vx.enc<[n, 4, h, 8]>>, %w: tensor<6x2x3x3xf32>) -> tensor<?x6x?x4xf32, #vx.enc<[n, 6, max(0, h - 2), 4]>> {
  // CHECK: vx.conv %{{.*}}, %{{.*}} strides = [1, 2] dilations = [1, 1] pads = [0, 1] x [0, 1] groups = 2 : tensor<?x4x?x8xf32, #vx.enc<[n, 4, h, 8]>>, tensor<6x2x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 2] dilations = [1, 1] pads = [0, 1] x [0, 1] groups = 2 : tensor<?x4x?x8xf32, #vx.enc<[n, 4, h, 8]>>, tensor<6x2x3x3xf32>
  return %0 : tensor<?x6x?x4xf32, #vx.enc<[n, 6, max(0, h - 2), 4]>>
}

// -----

// CHECK-LABEL: func.func @channels_last(
func.func @channels_last(%x: tensor<1x8x9x4xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x8x5x6xf32> {
  // CHECK: vx.conv {{.*}} groups = 1 channels_last : tensor<1x8x9x4xf32>, tensor<6x4x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 2] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last : tensor<1x8x9x4xf32>, tensor<6x4x3x3xf32>
  return %0 : tensor<1x8x5x6xf32>
}

// -----

func.func @c1_rank(%x: tensor<1x4xf32>, %w: tensor<6x4xf32>) {
  // expected-error @+1 {{'vx.conv' op expects 'input' and 'filter' of one rank, 3 or more: got 'tensor<1x4xf32>' and 'tensor<6x4xf32>'}}
  %0 = vx.conv %x, %w strides = [] dilations = [] pads = [] x [] groups = 1 : tensor<1x4xf32>, tensor<6x4xf32>
  return
}

// -----

func.func @c2_count(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects 'strides' to have one entry for each dimension: 1, got 2}}
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @c2_stride(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects 'strides' of at least 1, got 0}}
  %0 = vx.conv %x, %w strides = [0] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @c2_dilation(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects 'dilations' of at least 1, got -1}}
  %0 = vx.conv %x, %w strides = [1] dilations = [-1] pads = [0] x [0] groups = 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @c3_groups(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects 'groups' to divide the channels of 'input' and the filters: got 0 groups for 'tensor<1x4x8xf32>' and 'tensor<6x4x3xf32>'}}
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 0 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

func.func @c3_filters(%x: tensor<1x4x8xf32>, %w: tensor<5x2x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects 'groups' to divide the channels of 'input' and the filters: got 2 groups for 'tensor<1x4x8xf32>' and 'tensor<5x2x3xf32>'}}
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 2 : tensor<1x4x8xf32>, tensor<5x2x3xf32>
  return
}

// -----

func.func @c3_channels(%x: tensor<1x4x8xf32>, %w: tensor<6x3x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects channels / groups channels in 'filter': 4, got 3}}
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x4x8xf32>, tensor<6x3x3xf32>
  return
}

// -----

func.func @c4_padded_size(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects a padded size of at least 0 in spatial dimension 0, got -1}}
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [-9] x [0] groups = 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return
}

// -----

// CHECK-LABEL: func.func @precision(
func.func @precision(%x: tensor<1x4x8xbf16>, %w: tensor<6x4x3xbf16>, %y: tensor<1x4x8xf32>, %v: tensor<6x4x3xf32>) -> (tensor<1x6x6xf32>, tensor<1x6x6xf32>) {
  // CHECK: vx.conv {{.*}} groups = 1 sums = f32 : tensor<1x4x8xbf16>, tensor<6x4x3xbf16>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 sums = f32 : tensor<1x4x8xbf16>, tensor<6x4x3xbf16>
  // CHECK: vx.conv {{.*}} groups = 1 factors = tf32 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  %1 = vx.conv %y, %v strides = [1] dilations = [1] pads = [0] x [0] groups = 1 factors = tf32 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return %0, %1 : tensor<1x6x6xf32>, tensor<1x6x6xf32>
}

// -----

func.func @c5_sums(%x: tensor<1x4x8xf64>, %w: tensor<6x4x3xf64>) {
  // expected-error @+1 {{'vx.conv' op expects 'sums' of f32 for operands of f16 or bf16: got 'f32' for operands of 'f64'}}
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 sums = f32 : tensor<1x4x8xf64>, tensor<6x4x3xf64>
  return
}

// -----

func.func @c6_factors(%x: tensor<1x4x8xf16>, %w: tensor<6x4x3xf16>) {
  // expected-error @+1 {{'vx.conv' op expects 'factors' of tf32 for operands of f32: got 'tf32' for operands of 'f16'}}
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 factors = tf32 : tensor<1x4x8xf16>, tensor<6x4x3xf16>
  return
}

// -----

// CHECK-LABEL: func.func @bytes
// CHECK:         vx.conv {{.*}} sums = i32 : tensor<1x2x9x9xi8>, tensor<4x2x3x3xui8>
func.func @bytes(%x: tensor<1x2x9x9xi8>, %w: tensor<4x2x3x3xui8>) -> tensor<1x4x7x7xi32> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 sums = i32 : tensor<1x2x9x9xi8>, tensor<4x2x3x3xui8>
  return %0 : tensor<1x4x7x7xi32>
}

// -----

func.func @two_types(%x: tensor<1x2x9x9xf16>, %w: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{'vx.conv' op expects operands of one element type, got 'f16' and 'f32'}}
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x2x9x9xf16>, tensor<4x2x3x3xf32>
  return
}
