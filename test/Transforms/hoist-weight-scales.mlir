// RUN: vx-opt %s --split-input-file --vx-hoist-weight-scales | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-hoist-weight-scales=strict-math | FileCheck %s --check-prefix=STRICT
// STRICT-NOT: vx.mul {{.*}} : tensor<3x5xf32>

// A scale of each column multiplies the sums.
// CHECK-LABEL: @columns
// CHECK:         %[[W:.*]] = vx.cast %{{.*}} : tensor<4x5xi8> -> tensor<4x5xf32>
// CHECK:         %[[B:.*]] = vx.broadcast %{{.*}}, [1] : tensor<5xf32> -> tensor<3x5xf32>
// CHECK:         %[[SUMS:.*]] = vx.contract %arg0, %[[W]] batch = [] x [] contracting = [1] x [0]
// CHECK:         vx.mul %[[SUMS]], %[[B]]
func.func @columns(%x: tensor<3x4xf32>, %s: tensor<1x5xf32>) -> tensor<3x5xf32> {
  %w = vx.constant dense<[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15], [16, 17, 18, 19, 20]]> : tensor<4x5xi8>
  %c = vx.cast %w : tensor<4x5xi8> -> tensor<4x5xf32>
  %b = vx.broadcast %s, [0, 1] : tensor<1x5xf32> -> tensor<4x5xf32>
  %d = vx.mul %c, %b : tensor<4x5xf32>, tensor<4x5xf32>
  %0 = vx.contract %x, %d batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// So does one number, on either side, beside a zero point; of a factor whose columns come first.
// CHECK-LABEL: @one_number
// CHECK:         %[[W:.*]] = vx.sub
// CHECK:         %[[SUMS:.*]] = vx.contract %arg0, %[[W]] batch = [] x [] contracting = [1] x [1]
// CHECK:         vx.mul %[[SUMS]], %{{.*}} : tensor<3x5xf32>, tensor<3x5xf32>
func.func @one_number(%x: tensor<3x4xf32>, %s: tensor<f32>, %z: tensor<5xf32>) -> tensor<3x5xf32> {
  %w = vx.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 1], [2, 3, 4, 5]]> : tensor<5x4xui8>
  %c = vx.cast %w : tensor<5x4xui8> -> tensor<5x4xf32>
  %u = vx.broadcast %z, [0] : tensor<5xf32> -> tensor<5x4xf32>
  %e = vx.sub %c, %u : tensor<5x4xf32>, tensor<5x4xf32>
  %b = vx.broadcast %s, [] : tensor<f32> -> tensor<5x4xf32>
  %d = vx.mul %b, %e : tensor<5x4xf32>, tensor<5x4xf32>
  %0 = vx.contract %x, %d batch = [] x [] contracting = [1] x [1] : tensor<3x4xf32>, tensor<5x4xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// Of a batch, the scales of its matrices and columns.
// CHECK-LABEL: @batch
// CHECK:         %[[B:.*]] = vx.broadcast %{{.*}}, [0, 2] : tensor<2x5xf32> -> tensor<2x3x5xf32>
// CHECK:         vx.mul %{{.*}}, %[[B]]
func.func @batch(%x: tensor<2x3x4xf32>, %w: tensor<2x5x4xi8>, %s: tensor<2x5xf32>) -> tensor<2x3x5xf32> {
  %k = vx.constant dense_resource<weights> : tensor<2x5x4xi8>
  %c = vx.cast %k : tensor<2x5x4xi8> -> tensor<2x5x4xf32>
  %b = vx.broadcast %s, [0, 1] : tensor<2x5xf32> -> tensor<2x5x4xf32>
  %d = vx.mul %c, %b : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %0 = vx.contract %x, %d batch = [0] x [0] contracting = [2] x [2] : tensor<2x3x4xf32>, tensor<2x5x4xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// A scale of each row, which is summed over, stays; so does that of floats.
// CHECK-LABEL: @rows
// CHECK:         %[[D:.*]] = vx.mul
// CHECK:         %[[R:.*]] = vx.contract %arg0, %[[D]]
// CHECK:         %[[E:.*]] = vx.mul
// CHECK:         %[[Q:.*]] = vx.contract %arg0, %[[E]]
// CHECK:         return %[[R]], %[[Q]]
func.func @rows(%x: tensor<3x2xf32>, %s: tensor<2x1xf32>, %f: tensor<2x5xf32>, %t: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %w = vx.constant dense<[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]> : tensor<2x5xi8>
  %c = vx.cast %w : tensor<2x5xi8> -> tensor<2x5xf32>
  %b = vx.broadcast %s, [0, 1] : tensor<2x1xf32> -> tensor<2x5xf32>
  %d = vx.mul %c, %b : tensor<2x5xf32>, tensor<2x5xf32>
  %0 = vx.contract %x, %d batch = [] x [] contracting = [1] x [0] : tensor<3x2xf32>, tensor<2x5xf32>
  %g = vx.broadcast %t, [1] : tensor<5xf32> -> tensor<2x5xf32>
  %e = vx.mul %f, %g : tensor<2x5xf32>, tensor<2x5xf32>
  %1 = vx.contract %x, %e batch = [] x [] contracting = [1] x [0] : tensor<3x2xf32>, tensor<2x5xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}
