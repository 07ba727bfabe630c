// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @conv_filter(
func.func @conv_filter(%x: tensor<?x4x?x8xf32, #vx.enc<[n, 4, h, 8]>>, %g: tensor<?x6x?x4xf32, #vx.enc<[n, 6, o, 4]>>) -> tensor<6x2x3x?xf32, #vx.enc<[6, 2, 3, k]>> {
  // CHECK: vx.conv_filter %{{.*}}, %{{.*}} kernel [#vx.dim<3>, #vx.dim<k>] strides = [1, 2] dilations = [1, 1] pads = [0, 1] groups = 2 : tensor<?x4x?x8xf32, #vx.enc<[n, 4, h, 8]>>, tensor<?x6x?x4xf32, #vx.enc<[n, 6, o, 4]>>
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<k>] strides = [1, 2] dilations = [1, 1] pads = [0, 1] groups = 2 : tensor<?x4x?x8xf32, #vx.enc<[n, 4, h, 8]>>, tensor<?x6x?x4xf32, #vx.enc<[n, 6, o, 4]>>
  return %0 : tensor<6x2x3x?xf32, #vx.enc<[6, 2, 3, k]>>
}

// -----

// CHECK-LABEL: func.func @channels_last(
func.func @channels_last(%x: tensor<1x8x9x4xf32>, %g: tensor<1x8x5x6xf32>) -> tensor<3x3x4x6xf32> {
  // CHECK: vx.conv_filter {{.*}} groups = 1 channels_last : tensor<1x8x9x4xf32>, tensor<1x8x5x6xf32>
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<3>] strides = [1, 2] dilations = [1, 1] pads = [1, 1] groups = 1 channels_last : tensor<1x8x9x4xf32>, tensor<1x8x5x6xf32>
  return %0 : tensor<3x3x4x6xf32>
}

// -----

func.func @rank(%x: tensor<1x4xf32>, %g: tensor<1x6xf32>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 'input' and 'gradient' of one rank, 3 or more: got 'tensor<1x4xf32>' and 'tensor<1x6xf32>'}}
  %0 = vx.conv_filter %x, %g kernel [] strides = [] dilations = [] pads = [] groups = 1 : tensor<1x4xf32>, tensor<1x6xf32>
  return
}

// -----

func.func @kernel(%x: tensor<1x4x8xf32>, %g: tensor<1x6x8xf32>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 1 entries in 'kernel', got 2}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>, #vx.dim<1>] strides = [1] dilations = [1] pads = [0] groups = 1 : tensor<1x4x8xf32>, tensor<1x6x8xf32>
  return
}

// -----

func.func @strides(%x: tensor<1x4x8xf32>, %g: tensor<1x6x8xf32>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 'strides' of at least 1, got 0}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>] strides = [0] dilations = [1] pads = [0] groups = 1 : tensor<1x4x8xf32>, tensor<1x6x8xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x4x8xf32>, %g: tensor<1x6x8xf32>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 'groups' to divide the channels of 'input' and of 'gradient': got 4 groups for 'tensor<1x4x8xf32>' and 'tensor<1x6x8xf32>'}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>] strides = [1] dilations = [1] pads = [0] groups = 4 : tensor<1x4x8xf32>, tensor<1x6x8xf32>
  return
}

// -----

func.func @no_groups(%x: tensor<1x4x8xf32>, %g: tensor<1x6x8xf32>) {
  // expected-error @+1 {{got 0 groups for}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>] strides = [1] dilations = [1] pads = [0] groups = 0 : tensor<1x4x8xf32>, tensor<1x6x8xf32>
  return
}

// -----

func.func @batch(%x: tensor<1x4x8xf32>, %g: tensor<2x6x8xf32>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 'input' and 'gradient' with the same first dimension: got 'tensor<1x4x8xf32>' and 'tensor<2x6x8xf32>'}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>] strides = [1] dilations = [1] pads = [0] groups = 1 : tensor<1x4x8xf32>, tensor<2x6x8xf32>
  return
}

// -----

func.func @negative(%x: tensor<1x4x8xf32>, %g: tensor<1x6x8xf32>) {
  // expected-error @+1 {{'vx.conv_filter' op expects no negative size in 'kernel', got -1}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<-1>] strides = [1] dilations = [1] pads = [0] groups = 1 : tensor<1x4x8xf32>, tensor<1x6x8xf32>
  return
}

// -----

func.func @sums(%x: tensor<1x4x8xf64>, %g: tensor<1x6x8xf64>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 'sums' of f32 for operands of f16 or bf16: got 'f32' for operands of 'f64'}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>] strides = [1] dilations = [1] pads = [0] groups = 1 sums = f32 : tensor<1x4x8xf64>, tensor<1x6x8xf64>
  return
}

// -----

func.func @factors(%x: tensor<1x4x8xf16>, %g: tensor<1x6x8xf16>) {
  // expected-error @+1 {{'vx.conv_filter' op expects 'factors' of tf32 for operands of f32: got 'tf32' for operands of 'f16'}}
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>] strides = [1] dilations = [1] pads = [0] groups = 1 factors = tf32 : tensor<1x4x8xf16>, tensor<1x6x8xf16>
  return
}
