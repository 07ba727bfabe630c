// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-fused{target=cpu})' | FileCheck %s

// Four neighbours along the sum lie together in the packed weight, as one instruction reads them.
// CHECK-LABEL: func.func @product(
// CHECK: vx.pack %{{.+}} dim = 1 tile = 16 permutation = [1, 0] inner = 4 {{.*}}: tensor<30x20xi8>
// CHECK: vx.unpack %{{.+}} dim = 1 permutation = [1, 0] inner = 4 : tensor<2x8x16x4xi8> -> tensor<30x20xi8>
func.func @product(%a: tensor<6x30xui8>) -> tensor<6x20xi32> {
  %w = vx.constant dense<3> : tensor<30x20xi8>
  %r = vx.contract %a, %w batch = [] x [] contracting = [1] x [0] sums = i32 : tensor<6x30xui8>, tensor<30x20xi8>
  return %r : tensor<6x20xi32>
}

// -----

// CHECK-LABEL: func.func @conv(
// CHECK: vx.pack %{{.+}} dim = 0 tile = 16 permutation = [0, 2, 3, 1] inner = 4 {{.*}}: tensor<20x6x3x3xi8>
func.func @conv(%x: tensor<1x6x9x9xui8>) -> tensor<1x20x7x7xi32> {
  %w = vx.constant dense<3> : tensor<20x6x3x3xi8>
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 sums = i32 : tensor<1x6x9x9xui8>, tensor<20x6x3x3xi8>
  return %r : tensor<1x20x7x7xi32>
}

// -----

// The vectors of a depthwise convolution of images with their channels last run along the filters: no neighbours are
// summed at once.
// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT: inner
// CHECK: vx.pack %{{.+}} dim = 0 tile = 64 permutation = [0, 2, 3, 1] {{.*}}: tensor<32x1x3x3xi8>
// CHECK-NOT: inner
func.func @depthwise(%x: tensor<1x9x9x32xui8>) -> tensor<1x7x7x32xi32> {
  %w = vx.constant dense<3> : tensor<32x1x3x3xi8>
  %t = vx.transpose %x, [0, 3, 1, 2] : tensor<1x9x9x32xui8>
  %r = vx.conv %t, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 32 sums = i32 : tensor<1x32x9x9xui8>, tensor<32x1x3x3xi8>
  %u = vx.transpose %r, [0, 2, 3, 1] : tensor<1x32x7x7xi32>
  return %u : tensor<1x7x7x32xi32>
}

// -----

// Floats have no such instruction.
// CHECK-LABEL: func.func @floats(
// CHECK-NOT: inner
func.func @floats(%a: tensor<6x30xf32>) -> tensor<6x20xf32> {
  %w = vx.constant dense<3.0> : tensor<30x20xf32>
  %r = vx.contract %a, %w batch = [] x [] contracting = [1] x [0] : tensor<6x30xf32>, tensor<30x20xf32>
  return %r : tensor<6x20xf32>
}
