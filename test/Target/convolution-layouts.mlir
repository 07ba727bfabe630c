// A region of convolutions on a CPU has the layout in which its convolutions and the moves at its borders take less time.
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-fused{target=cpu})' | FileCheck %s

// Alone, a filter for each channel reads the rows of its images: moves of both images would take longer.
// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT:     vx.transpose
// CHECK:         vx.conv {{.*}} groups = 64 {vx.anchor, vx.product = #vx.product<family = loops, reason = layout>}
// CHECK-NOT:     vx.transpose
func.func @depthwise(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  return %0 : tensor<1x64x56x56xf32>
}

// -----

// Between images with their channels last nothing is moved.
// CHECK-LABEL: func.func @channels_last(
// CHECK-NOT:     vx.transpose
// CHECK:         vx.conv {{.*}} groups = 64 channels_last
// CHECK-NOT:     vx.transpose
func.func @channels_last(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %t = vx.transpose %x, [0, 3, 1, 2] : tensor<1x56x56x64xf32>
  %0 = vx.conv %t, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  %u = vx.transpose %0, [0, 2, 3, 1] : tensor<1x64x56x56xf32>
  return %u : tensor<1x56x56x64xf32>
}

// -----

// Beside a product of many channels, in one region with it, the same filter reads channels that lie together.
// CHECK-LABEL: func.func @beside_product(
// CHECK:         vx.conv {{.*}} groups = 64 channels_last
// CHECK:         vx.conv {{.*}} groups = 1 channels_last
func.func @beside_product(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %v = vx.constant dense<3.0> : tensor<64x64x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  %1 = vx.tanh %0 : tensor<1x64x56x56xf32>
  %2 = vx.conv %1, %v strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>
  return %2 : tensor<1x64x56x56xf32>
}

// -----

// A bias and a rectifier, which are made in either layout, join the region too.
// CHECK-LABEL: func.func @through_bias(
// CHECK:         vx.conv {{.*}} groups = 64 channels_last
// CHECK:         vx.conv {{.*}} groups = 1 channels_last
func.func @through_bias(%x: tensor<1x64x56x56xf32>, %b: tensor<64xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %v = vx.constant dense<3.0> : tensor<64x64x3x3xf32>
  %z = vx.constant dense<0.0> : tensor<1x64x56x56xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  %1 = vx.broadcast %b, [1] : tensor<64xf32> -> tensor<1x64x56x56xf32>
  %2 = vx.add %0, %1 : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
  %3 = vx.max %2, %z : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
  %4 = vx.conv %3, %v strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>
  return %4 : tensor<1x64x56x56xf32>
}

// -----

// A softmax parts regions: each has its own layout.
// CHECK-LABEL: func.func @two_regions(
// CHECK:         vx.conv {{.*}} groups = 64 {vx.anchor, vx.product = #vx.product<family = loops, reason = layout>}
// CHECK:         vx.conv {{.*}} groups = 1 channels_last
func.func @two_regions(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %v = vx.constant dense<3.0> : tensor<64x64x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  %1 = vx.softmax %0 axis = 3 : tensor<1x64x56x56xf32>
  %2 = vx.conv %1, %v strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>
  return %2 : tensor<1x64x56x56xf32>
}

// -----

// A filter's gradient has a kernel for channels that lie together only; what it reads is in its region.
// CHECK-LABEL: func.func @gradient(
// CHECK:         vx.conv {{.*}} groups = 1 channels_last
// CHECK:         vx.conv_filter {{.*}} channels_last
func.func @gradient(%x: tensor<1x1x56x56xf32>, %g: tensor<1x4x56x56xf32>) -> tensor<4x4x1x1xf32> {
  %w = vx.constant dense<3.0> : tensor<4x1x1x1xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x1x56x56xf32>, tensor<4x1x1x1xf32>
  %1 = vx.conv_filter %0, %g kernel [#vx.dim<1>, #vx.dim<1>] strides = [1, 1] dilations = [1, 1] pads = [0, 0] groups = 1 : tensor<1x4x56x56xf32>, tensor<1x4x56x56xf32>
  return %1 : tensor<4x4x1x1xf32>
}
