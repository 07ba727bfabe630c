// RUN: vx-opt %s --split-input-file --vx-split-weight-blocks | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-split-weight-blocks=strict-math=true | FileCheck %s --check-prefix=STRICT

// Every rounding step is kept: no product may apply the numbers of a block to its sum.
// STRICT-COUNT-3: contracting = [1, 2
// STRICT-NOT:     vx.block_sums

// Scales and zero points of blocks of 2 along the sum; the other numbers are those of columns, or of all elements.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %[[X:.*]]: tensor<3x4xf32>
func.func @blocks(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = vx.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %s0 = vx.constant dense<[[[0.1, 0.2]], [[0.3, 0.4]]]> : tensor<2x1x2xf32>
  %z0 = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %one = vx.constant dense<1.0> : tensor<4x2xf32>
  %s1 = vx.broadcast %s0, [0, 1, 2] : tensor<2x1x2xf32> -> tensor<2x2x2xf32>
  %s = vx.reshape %s1 : tensor<2x2x2xf32> -> tensor<4x2xf32>
  %z = vx.broadcast %z0, [1] : tensor<2xf32> -> tensor<4x2xf32>
  %c = vx.cast %w : tensor<4x2xi8> -> tensor<4x2xf32>
  %d = vx.sub %c, %z : tensor<4x2xf32>, tensor<4x2xf32>
  %e = vx.mul %d, %s : tensor<4x2xf32>, tensor<4x2xf32>
  %f = vx.add %e, %one : tensor<4x2xf32>, tensor<4x2xf32>
  // CHECK: %[[W:.*]] = vx.reshape %{{.*}} : tensor<4x2xi8> -> tensor<2x2x2xi8>
  // CHECK: %[[C:.*]] = vx.cast %[[W]] : tensor<2x2x2xi8> -> tensor<2x2x2xf32>
  // CHECK: %[[Z:.*]] = vx.broadcast %{{.*}}, [2] : tensor<2xf32> -> tensor<2x2x2xf32>
  // CHECK: %[[D:.*]] = vx.sub %[[C]], %[[Z]]
  // CHECK: %[[S:.*]] = vx.broadcast %{{.*}}, [0, 1, 2] : tensor<2x1x2xf32> -> tensor<2x2x2xf32>
  // CHECK: %[[E:.*]] = vx.mul %[[D]], %[[S]]
  // CHECK: %[[ONE:.*]] = vx.constant dense<1.000000e+00> : tensor<2x2x2xf32>
  // CHECK: %[[F:.*]] = vx.add %[[E]], %[[ONE]]
  // CHECK: %[[OF_X:.*]] = vx.reshape %[[X]] : tensor<3x4xf32> -> tensor<3x2x2xf32>
  // CHECK: vx.contract %[[OF_X]], %[[F]] batch = [] x [] contracting = [1, 2] x [0, 1] {vx.block_sums}
  %r = vx.contract %x, %f batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

// Rows of a call, the sum as the last dimension of the weight, and a variable.
vx.variable @w role = parameter : tensor<2x6xi4>
vx.symbol "N"
// CHECK-LABEL: func.func @transposed(
func.func @transposed(%x: tensor<?x6xf32, #vx.enc<[N, 6]>>) -> tensor<?x2xf32, #vx.enc<[N, 2]>> {
  %w = vx.variable_load @w : tensor<2x6xi4>
  %s0 = vx.constant dense<[[[0.1], [0.2]], [[0.3], [0.4]]]> : tensor<2x2x1xf32>
  %s1 = vx.broadcast %s0, [0, 1, 2] : tensor<2x2x1xf32> -> tensor<2x2x3xf32>
  %s = vx.reshape %s1 : tensor<2x2x3xf32> -> tensor<2x6xf32>
  %c = vx.cast %w : tensor<2x6xi4> -> tensor<2x6xf32>
  %d = vx.mul %c, %s : tensor<2x6xf32>, tensor<2x6xf32>
  // CHECK: vx.contract %{{.*}}, %{{.*}} batch = [] x [] contracting = [1, 2] x [1, 2] {vx.block_sums} : tensor<?x2x3xf32, #vx.enc<[N, 2, 3]>>, tensor<2x2x3xf32>
  %r = vx.contract %x, %d batch = [] x [] contracting = [1] x [1] : tensor<?x6xf32, #vx.enc<[N, 6]>>, tensor<2x6xf32>
  return %r : tensor<?x2xf32, #vx.enc<[N, 2]>>
}

// -----

// Blocks of two sizes, blocks along the columns, a number for each place of the sum beside blocks, and floats.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-4: vx.contract %{{.*}}, %{{.*}} batch = [] x [] contracting = [1] x [0] :
func.func @others(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %w = vx.constant dense<[[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8], [7, 8, 9, 10]]> : tensor<4x4xi8>
  %c = vx.cast %w : tensor<4x4xi8> -> tensor<4x4xf32>
  %s0 = vx.constant dense<[[[0.1, 0.2, 0.3, 0.4]], [[0.3, 0.4, 0.5, 0.6]]]> : tensor<2x1x4xf32>
  %s1 = vx.broadcast %s0, [0, 1, 2] : tensor<2x1x4xf32> -> tensor<2x2x4xf32>
  %s = vx.reshape %s1 : tensor<2x2x4xf32> -> tensor<4x4xf32>
  %q0 = vx.constant dense<[[[0.1, 0.2, 0.3, 0.4]]]> : tensor<1x1x4xf32>
  %q1 = vx.broadcast %q0, [0, 1, 2] : tensor<1x1x4xf32> -> tensor<1x4x4xf32>
  %q = vx.reshape %q1 : tensor<1x4x4xf32> -> tensor<4x4xf32>
  %p0 = vx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %p = vx.broadcast %p0, [0] : tensor<4xf32> -> tensor<4x4xf32>
  %h0 = vx.constant dense<[[[0.1], [0.2]], [[0.3], [0.4]], [[0.5], [0.6]], [[0.7], [0.8]]]> : tensor<4x2x1xf32>
  %h1 = vx.broadcast %h0, [0, 1, 2] : tensor<4x2x1xf32> -> tensor<4x2x2xf32>
  %h = vx.reshape %h1 : tensor<4x2x2xf32> -> tensor<4x4xf32>
  %d0 = vx.mul %c, %s : tensor<4x4xf32>, tensor<4x4xf32>
  %a = vx.mul %d0, %q : tensor<4x4xf32>, tensor<4x4xf32>
  %b = vx.mul %c, %h : tensor<4x4xf32>, tensor<4x4xf32>
  %d = vx.mul %d0, %p : tensor<4x4xf32>, tensor<4x4xf32>
  %v = vx.constant dense<[[1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0], [5.0, 6.0, 7.0, 8.0], [7.0, 8.0, 9.0, 1.0]]> : tensor<4x4xf32>
  %e = vx.mul %v, %s : tensor<4x4xf32>, tensor<4x4xf32>
  %r0 = vx.contract %x, %a batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x4xf32>
  %r1 = vx.contract %x, %b batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x4xf32>
  %r2 = vx.contract %x, %d batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x4xf32>
  %r3 = vx.contract %x, %e batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x4xf32>
  return %r0, %r1, %r2, %r3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// Two blocks have a number in common, which each multiplies by its own: the blocks are split once more, so that a kernel
// reads both as they are. Views lie before what widens them.
// CHECK-LABEL: func.func @groups(
func.func @groups(%x: tensor<1x8xf32>) -> tensor<1x3xf32> {
  %w = vx.constant dense<[[1, 2, 3, 4, 5, 6, 7, 0], [2, 3, 4, 5, 6, 7, 0, 1], [3, 4, 5, 6, 7, 0, 1, 2]]> : tensor<3x8xi4>
  %c = vx.cast %w : tensor<3x8xi4> -> tensor<3x8xf32>
  %own = vx.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]> : tensor<3x2x2xi8>
  %own_f = vx.cast %own : tensor<3x2x2xi8> -> tensor<3x2x2xf32>
  %both = vx.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]> : tensor<3x2x1xf16>
  %both_f = vx.cast %both : tensor<3x2x1xf16> -> tensor<3x2x1xf32>
  %all = vx.broadcast %both_f, [0, 1, 2] : tensor<3x2x1xf32> -> tensor<3x2x2xf32>
  %of_blocks = vx.mul %all, %own_f : tensor<3x2x2xf32>, tensor<3x2x2xf32>
  %s0 = vx.reshape %of_blocks : tensor<3x2x2xf32> -> tensor<3x4xf32>
  %s1 = vx.broadcast %s0, [0, 1] : tensor<3x4xf32> -> tensor<3x4x2xf32>
  %s = vx.reshape %s1 : tensor<3x4x2xf32> -> tensor<3x8xf32>
  %d = vx.mul %c, %s : tensor<3x8xf32>, tensor<3x8xf32>
  // A number of each block that groups have nothing to do with.
  %m0 = vx.constant dense<[[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], [3.0, 4.0, 5.0, 6.0]]> : tensor<3x4xf16>
  %m1 = vx.cast %m0 : tensor<3x4xf16> -> tensor<3x4xf32>
  %m2 = vx.broadcast %m1, [0, 1] : tensor<3x4xf32> -> tensor<3x4x2xf32>
  %m = vx.reshape %m2 : tensor<3x4x2xf32> -> tensor<3x8xf32>
  %e = vx.add %d, %m : tensor<3x8xf32>, tensor<3x8xf32>
  // CHECK: %[[N:.*]] = vx.mul %{{.*}}, %{{.*}} : tensor<3x2x2xf32>, tensor<3x2x2xf32>
  // CHECK: %[[C:.*]] = vx.cast %{{.*}} : tensor<3x2x2x2xi4> -> tensor<3x2x2x2xf32>
  // CHECK: %[[S:.*]] = vx.broadcast %[[N]], [0, 1, 2] : tensor<3x2x2xf32> -> tensor<3x2x2x2xf32>
  // CHECK: %[[D:.*]] = vx.mul %[[C]], %[[S]]
  // CHECK: %[[V:.*]] = vx.reshape %{{.*}} : tensor<3x4xf16> -> tensor<3x2x2xf16>
  // CHECK: %[[W:.*]] = vx.cast %[[V]] : tensor<3x2x2xf16> -> tensor<3x2x2xf32>
  // CHECK: %[[M:.*]] = vx.broadcast %[[W]], [0, 1, 2] : tensor<3x2x2xf32> -> tensor<3x2x2x2xf32>
  // CHECK: %[[E:.*]] = vx.add %[[D]], %[[M]]
  // CHECK: vx.contract %{{.*}}, %[[E]] batch = [] x [] contracting = [1, 2, 3] x [1, 2, 3] {vx.block_sums} : tensor<1x2x2x2xf32>, tensor<3x2x2x2xf32>
  %r = vx.contract %x, %e batch = [] x [] contracting = [1] x [1] : tensor<1x8xf32>, tensor<3x8xf32>
  return %r : tensor<1x3xf32>
}
