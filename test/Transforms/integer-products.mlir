// RUN: vx-opt %s --split-input-file --vx-integer-products | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-integer-products=strict-math | FileCheck %s --check-prefix=STRICT

// STRICT-NOT: sums = i32

// One scale for the input and one for each filter. Outside of the input lies its zero point, of which each window's sum has as many times the
// filter's too much.
// CHECK-LABEL: func.func @conv(
// CHECK-SAME:    %[[X:.+]]: tensor<1x3x8x8xui8>, %[[W:.+]]: tensor<4x3x3x3xi8>,
// CHECK:         %[[PADDED:.+]] = vx.pad %[[X]], %{{.+}} low [#vx.dim<0>, #vx.dim<0>, #vx.dim<1>, #vx.dim<1>] high
// CHECK:         %[[SUMS:.+]] = vx.conv %[[PADDED]], %[[W]] {{.*}}pads = [0, 0] x [0, 0] groups = 1 sums = i32
// CHECK:         vx.reduce sum %{{.+}} axes = [1, 2, 3] : tensor<4x3x3x3xi32>
// CHECK:         vx.mul %{{.+}} : tensor<4xi32>
// CHECK:         vx.sub %[[SUMS]]
// CHECK:         vx.cast %{{.+}} : tensor<1x4x8x8xi32> -> tensor<1x4x8x8xf32>
// CHECK:         vx.mul
// CHECK-NOT:     vx.conv
func.func @conv(%x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>, %t: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %s = vx.constant dense<0.25> : tensor<1x3x8x8xf32>
  %z = vx.constant dense<7> : tensor<1x3x8x8xui8>
  %a = vx.dequantize %x, %s, %z : (tensor<1x3x8x8xui8>, tensor<1x3x8x8xf32>, tensor<1x3x8x8xui8>) -> tensor<1x3x8x8xf32>
  %spread = vx.broadcast %t, [0] : tensor<4xf32> -> tensor<4x3x3x3xf32>
  %b = vx.dequantize %w, %spread : (tensor<4x3x3x3xi8>, tensor<4x3x3x3xf32>) -> tensor<4x3x3x3xf32>
  %r = vx.conv %a, %b strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>
  return %r : tensor<1x4x8x8xf32>
}

// -----

// Signed bytes on the left are unsigned ones less 128, and unsigned ones on the right signed ones and 128: a zero point of 128 is none.
// CHECK-LABEL: func.func @signs(
// CHECK:         vx.xor
// CHECK:         vx.bitcast %{{.+}} : tensor<5x6xi8> -> tensor<5x6xui8>
// CHECK:         vx.bitcast %{{.+}} : tensor<6x7xui8> -> tensor<6x7xi8>
// CHECK:         vx.contract %{{.+}} sums = i32 : tensor<5x6xui8>, tensor<6x7xi8>
// CHECK:         vx.reduce sum %{{.+}} axes = [0] : tensor<6x7xi32>
// CHECK-NOT:     vx.reduce sum
func.func @signs(%x: tensor<5x6xi8>, %w: tensor<6x7xui8>) -> tensor<5x7xf32> {
  %s = vx.constant dense<0.25> : tensor<5x6xf32>
  %t = vx.constant dense<0.5> : tensor<6x7xf32>
  %z = vx.constant dense<128> : tensor<6x7xui8>
  %a = vx.dequantize %x, %s : (tensor<5x6xi8>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %b = vx.dequantize %w, %t, %z : (tensor<6x7xui8>, tensor<6x7xf32>, tensor<6x7xui8>) -> tensor<6x7xf32>
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<5x6xf32>, tensor<6x7xf32>
  return %r : tensor<5x7xf32>
}

// -----

// A scale that differs along the sum, a sum of too many products, and factors of 16 bits stay floats.
// CHECK-LABEL: func.func @floats(
// CHECK-NOT:     sums = i32
func.func @floats(%x: tensor<5x6xui8>, %w: tensor<6x7xi8>, %t: tensor<6xf32>, %long: tensor<5x65794xui8>, %row: tensor<65794x1xi8>, %wide: tensor<5x6xi16>)
    -> (tensor<5x7xf32>, tensor<5x1xf32>, tensor<5x7xf32>) {
  %s = vx.constant dense<0.25> : tensor<5x6xf32>
  %one = vx.constant dense<1.0> : tensor<6x7xf32>
  %a = vx.dequantize %x, %s : (tensor<5x6xui8>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %spread = vx.broadcast %t, [0] : tensor<6xf32> -> tensor<6x7xf32>
  %b = vx.dequantize %w, %spread : (tensor<6x7xi8>, tensor<6x7xf32>) -> tensor<6x7xf32>
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<5x6xf32>, tensor<6x7xf32>
  %sl = vx.constant dense<0.25> : tensor<5x65794xf32>
  %sr = vx.constant dense<0.25> : tensor<65794x1xf32>
  %c = vx.dequantize %long, %sl : (tensor<5x65794xui8>, tensor<5x65794xf32>) -> tensor<5x65794xf32>
  %d = vx.dequantize %row, %sr : (tensor<65794x1xi8>, tensor<65794x1xf32>) -> tensor<65794x1xf32>
  %1 = vx.contract %c, %d batch = [] x [] contracting = [1] x [0] : tensor<5x65794xf32>, tensor<65794x1xf32>
  %e = vx.dequantize %wide, %s : (tensor<5x6xi16>, tensor<5x6xf32>) -> tensor<5x6xf32>
  %f = vx.dequantize %w, %one : (tensor<6x7xi8>, tensor<6x7xf32>) -> tensor<6x7xf32>
  %2 = vx.contract %e, %f batch = [] x [] contracting = [1] x [0] : tensor<5x6xf32>, tensor<6x7xf32>
  return %0, %1, %2 : tensor<5x7xf32>, tensor<5x1xf32>, tensor<5x7xf32>
}
