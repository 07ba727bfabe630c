// RUN: vx-opt %s --vx-join-contract-dims --vx-join-reduced-dims | FileCheck %s

vx.symbol "n"

// All rows of all sequences, and the heads of both behind a dimension that is kept.
// CHECK-LABEL: func.func @rows(
// CHECK-DAG:     %[[A:.+]] = vx.reshape %arg0 : tensor<?x32x4xf32, #vx.enc<[n, 32, 4]>> -> tensor<?x4xf32, #vx.enc<[n * 32, 4]>>
// CHECK-DAG:     %[[B:.+]] = vx.reshape %arg1 : tensor<?x32x5xf32, #vx.enc<[n, 32, 5]>> -> tensor<?x5xf32, #vx.enc<[n * 32, 5]>>
// CHECK:         vx.contract %[[A]], %[[B]] batch = [] x [] contracting = [0] x [0]
func.func @rows(%a: tensor<?x32x4xf32, #vx.enc<[n, 32, 4]>>, %b: tensor<?x32x5xf32, #vx.enc<[n, 32, 5]>>) -> tensor<4x5xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [0, 1] x [0, 1] : tensor<?x32x4xf32, #vx.enc<[n, 32, 4]>>, tensor<?x32x5xf32, #vx.enc<[n, 32, 5]>>
  return %0 : tensor<4x5xf32>
}

// Whatever the order of the list; three of four, and what is a batch or kept moves along.
// CHECK-LABEL: func.func @some(
// CHECK-DAG:     %[[A:.+]] = vx.reshape %arg0 : tensor<2x3x5x7x11x13xf32> -> tensor<2x105x11x13xf32>
// CHECK-DAG:     %[[B:.+]] = vx.reshape %arg1 : tensor<13x3x5x7x2x17xf32> -> tensor<13x105x2x17xf32>
// CHECK:         vx.contract %[[A]], %[[B]] batch = [0] x [2] contracting = [1, 3] x [1, 0] {{.*}}: tensor<2x105x11x13xf32>, tensor<13x105x2x17xf32>
func.func @some(%a: tensor<2x3x5x7x11x13xf32>, %b: tensor<13x3x5x7x2x17xf32>) -> tensor<2x11x17xf32> {
  %0 = vx.contract %a, %b batch = [0] x [4] contracting = [3, 5, 1, 2] x [3, 0, 1, 2] : tensor<2x3x5x7x11x13xf32>, tensor<13x3x5x7x2x17xf32>
  return %0 : tensor<2x11x17xf32>
}

// Neighbours of one operand alone, and neighbours in another order, stay.
// CHECK-LABEL: func.func @apart(
// CHECK-NOT:     vx.reshape
// CHECK:         contracting = [0, 1] x [0, 2]
// CHECK:         contracting = [0, 1] x [1, 0]
func.func @apart(%a: tensor<3x5x7xf32>, %b: tensor<3x2x5xf32>, %c: tensor<5x3xf32>) -> (tensor<7x2xf32>, tensor<7xf32>) {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [0, 1] x [0, 2] : tensor<3x5x7xf32>, tensor<3x2x5xf32>
  %1 = vx.contract %a, %c batch = [] x [] contracting = [0, 1] x [1, 0] : tensor<3x5x7xf32>, tensor<5x3xf32>
  return %0, %1 : tensor<7x2xf32>, tensor<7xf32>
}

// Columns in two dimensions, as einsum has them, are one; apart from each other they stay two.
// CHECK-LABEL: func.func @columns(
// CHECK-DAG:     %[[B:.+]] = vx.reshape %arg1 : tensor<2x88x10x4xf32> -> tensor<2x88x40xf32>
// CHECK:         %[[R:.+]] = vx.contract %{{.+}}, %[[B]] batch = [0] x [0] contracting = [2] x [1]
// CHECK:         vx.reshape %[[R]] : tensor<2x19x40xf32> -> tensor<2x19x10x4xf32>
// CHECK-NOT:     vx.reshape
// CHECK:         vx.contract %{{.+}}, %arg2 batch = [] x [] contracting = [1] x [1]
func.func @columns(%a: tensor<2x19x88xf32>, %b: tensor<2x88x10x4xf32>, %c: tensor<5x7x3xf32>, %d: tensor<9x7xf32>)
    -> (tensor<2x19x10x4xf32>, tensor<9x5x3xf32>) {
  %0 = vx.contract %a, %b batch = [0] x [0] contracting = [2] x [1] : tensor<2x19x88xf32>, tensor<2x88x10x4xf32>
  %1 = vx.contract %d, %c batch = [] x [] contracting = [1] x [1] : tensor<9x7xf32>, tensor<5x7x3xf32>
  return %0, %1 : tensor<2x19x10x4xf32>, tensor<9x5x3xf32>
}

// The positions of a window's last dimension are channels where bytes have too few of these.
// CHECK-LABEL: func.func @window(
// CHECK:         %[[P:.+]] = vx.pad %arg0
// CHECK:         %[[S0:.+]] = vx.slice %[[P]]{{.*}} -> tensor<1x3x9x4xui8>
// CHECK:         %[[S1:.+]] = vx.slice %[[P]]{{.*}} -> tensor<1x3x9x4xui8>
// CHECK:         %[[T:.+]] = vx.transpose %arg1, [0, 3, 1, 2] : tensor<8x3x5x2xi8>
// CHECK:         %[[F:.+]] = vx.reshape %[[T]] : tensor<8x2x3x5xi8> -> tensor<8x6x5x1xi8>
// CHECK:         %[[C:.+]] = vx.concat axis = 1(%[[S0]], %[[S1]])
// CHECK:         vx.conv %[[C]], %[[F]] strides = [1, 1] dilations = [1, 1] pads = [2, 0] x [2, 0] groups = 1 sums = i32
// Four channels, and floats, are left alone.
// CHECK-NOT:     vx.concat
func.func @window(%x: tensor<1x3x9x8xui8>, %w: tensor<8x3x5x2xi8>, %y: tensor<1x4x9x8xui8>, %v: tensor<8x4x5x2xi8>, %z: tensor<1x3x9x8xf32>,
                  %u: tensor<8x3x5x2xf32>) -> (tensor<1x8x9x4xi32>, tensor<1x8x5x7xi32>, tensor<1x8x5x7xf32>) {
  %0 = vx.conv %x, %w strides = [1, 2] dilations = [1, 3] pads = [2, 1] x [2, 1] groups = 1 sums = i32 : tensor<1x3x9x8xui8>, tensor<8x3x5x2xi8>
  %1 = vx.conv %y, %v strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 sums = i32 : tensor<1x4x9x8xui8>, tensor<8x4x5x2xi8>
  %2 = vx.conv %z, %u strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x3x9x8xf32>, tensor<8x3x5x2xf32>
  return %0, %1, %2 : tensor<1x8x9x4xi32>, tensor<1x8x5x7xi32>, tensor<1x8x5x7xf32>
}

// Neighbouring axes of a reduction are one, through elementwise ops that nothing else reads.
// CHECK-LABEL: func.func @reduction(
// CHECK:         %[[X:.+]] = vx.reshape %{{.+}} : tensor<2x3x5x7xf32> -> tensor<2x3x35xf32>
// CHECK:         vx.reduce max %[[X]] axes = [2] : tensor<2x3x35xf32>
func.func @reduction(%x: tensor<2x3x5x7xf32>) -> tensor<2x3xf32> {
  %0 = vx.reduce max %x axes = [2, 3] : tensor<2x3x5x7xf32>
  return %0 : tensor<2x3xf32>
}

// Axes that are no neighbours stay two.
// CHECK-LABEL: func.func @two_runs(
// CHECK:         %[[X:.+]] = vx.reshape %{{.+}} : tensor<2x3x5x7x4x6xf32> -> tensor<6x5x7x24xf32>
// CHECK:         vx.reduce sum %[[X]] axes = [0, 3] : tensor<6x5x7x24xf32>
func.func @two_runs(%x: tensor<2x3x5x7x4x6xf32>) -> tensor<5x7xf32> {
  %0 = vx.reduce sum %x axes = [0, 1, 4, 5] : tensor<2x3x5x7x4x6xf32>
  return %0 : tensor<5x7xf32>
}

// CHECK-LABEL: func.func @elementwise(
// CHECK-NOT:     vx.mul
// CHECK:         %[[X:.+]] = vx.reshape %{{.+}} : tensor<2x3x5xf32> -> tensor<2x15xf32>
// CHECK:         %[[S:.+]] = vx.broadcast %{{.+}}, [] : tensor<f32> -> tensor<2x15xf32>
// CHECK:         %[[M:.+]] = vx.mul %[[X]], %[[S]] : tensor<2x15xf32>, tensor<2x15xf32>
// CHECK:         vx.reduce sum %[[M]] axes = [1] : tensor<2x15xf32>
func.func @elementwise(%x: tensor<2x3x5xf32>, %s: tensor<f32>) -> tensor<2xf32> {
  %b = vx.broadcast %s, [] : tensor<f32> -> tensor<2x3x5xf32>
  %m = vx.mul %x, %b : tensor<2x3x5xf32>, tensor<2x3x5xf32>
  %0 = vx.reduce sum %m axes = [1, 2] : tensor<2x3x5xf32>
  return %0 : tensor<2xf32>
}

// Another op reads the product, or a factor lies along a joined dimension: nothing is joined.
// CHECK-LABEL: func.func @not_joined(
// CHECK-NOT:     vx.reshape
// CHECK:         return
func.func @not_joined(%x: tensor<2x3x5xf32>, %c: tensor<3xf32>) -> (tensor<2xf32>, tensor<2x3x5xf32>, tensor<2xf32>) {
  %m = vx.mul %x, %x : tensor<2x3x5xf32>, tensor<2x3x5xf32>
  %0 = vx.reduce sum %m axes = [1, 2] : tensor<2x3x5xf32>
  %b = vx.broadcast %c, [1] : tensor<3xf32> -> tensor<2x3x5xf32>
  %d = vx.sub %x, %b : tensor<2x3x5xf32>, tensor<2x3x5xf32>
  %1 = vx.reduce sum %d axes = [1, 2] : tensor<2x3x5xf32>
  return %0, %m, %1 : tensor<2xf32>, tensor<2x3x5xf32>, tensor<2xf32>
}
