// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-form-fusions,vx-join-rows))' | FileCheck %s

// The rows of all sequences, with a bias and what is added element for element; between two contractions nothing is taken apart.
// CHECK-LABEL: func.func @rows(
// CHECK:         %[[X:.+]] = vx.reshape %arg0 : {{.*}} -> tensor<?x4xf32, #vx.enc<[batch * length, 4]>>
// CHECK:         %[[HIDDEN:.+]] = vx.fusion(%[[X]], %arg1, %arg3)
// CHECK:           vx.contract {{.*}} contracting = [1] x [0] {vx.anchor} : tensor<?x4xf32, #vx.enc<[batch * length, 4]>>, tensor<4x5xf32>
// CHECK:           vx.broadcast {{.*}}, [1] : tensor<5xf32> -> tensor<?x5xf32, #vx.enc<[batch * length, 5]>>
// CHECK:         %[[RESULT:.+]] = vx.fusion(%[[HIDDEN]], %arg2, %{{.+}}) : (tensor<?x5xf32, #vx.enc<[batch * length, 5]>>
// CHECK:           vx.add {{.*}} : tensor<?x4xf32, #vx.enc<[batch * length, 4]>>
// CHECK:         %[[APART:.+]] = vx.reshape %[[RESULT]] : {{.*}} -> tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>>
// CHECK:         return %[[APART]]
vx.symbol "batch"
vx.symbol "length"
func.func @rows(%x: tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>>, %w: tensor<4x5xf32>, %v: tensor<5x4xf32>, %bias: tensor<5xf32>) -> tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>> {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [2] x [0] : tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>>, tensor<4x5xf32>
  %1 = vx.broadcast %bias, [2] : tensor<5xf32> -> tensor<?x?x5xf32, #vx.enc<[batch, length, 5]>>
  %2 = vx.add %0, %1 : tensor<?x?x5xf32, #vx.enc<[batch, length, 5]>>, tensor<?x?x5xf32, #vx.enc<[batch, length, 5]>>
  %3 = vx.contract %2, %v batch = [] x [] contracting = [2] x [0] : tensor<?x?x5xf32, #vx.enc<[batch, length, 5]>>, tensor<5x4xf32>
  %4 = vx.add %3, %x : tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>>, tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>>
  return %4 : tensor<?x?x4xf32, #vx.enc<[batch, length, 4]>>
}

// -----

// Dimensions of batches stay before them, and what is summed behind them moves along; one number for all rows is one row.
// CHECK-LABEL: func.func @batches(
// CHECK:         vx.reshape %arg0 : tensor<2x3x5x7x11xf32> -> tensor<2x105x11xf32>
// CHECK:         vx.reshape %arg2 : tensor<2x1x1x1x13xf32> -> tensor<2x1x13xf32>
// CHECK:         vx.contract {{.*}} batch = [0] x [0] contracting = [2] x [1] {vx.anchor} : tensor<2x105x11xf32>, tensor<2x11x13xf32>
// CHECK:         vx.broadcast {{.*}}, [0, 1, 2] : tensor<2x1x13xf32> -> tensor<2x105x13xf32>
// CHECK:         vx.reshape {{.*}} : tensor<2x105x13xf32> -> tensor<2x3x5x7x13xf32>
func.func @batches(%x: tensor<2x3x5x7x11xf32>, %w: tensor<2x11x13xf32>, %bias: tensor<2x1x1x1x13xf32>) -> tensor<2x3x5x7x13xf32> {
  %0 = vx.contract %x, %w batch = [0] x [0] contracting = [4] x [1] : tensor<2x3x5x7x11xf32>, tensor<2x11x13xf32>
  %1 = vx.broadcast %bias, [0, 1, 2, 3, 4] : tensor<2x1x1x1x13xf32> -> tensor<2x3x5x7x13xf32>
  %2 = vx.add %0, %1 : tensor<2x3x5x7x13xf32>, tensor<2x3x5x7x13xf32>
  return %2 : tensor<2x3x5x7x13xf32>
}

// -----

// A bias for each sequence, rows that are no neighbours, and a right side with the same rows stay.
// CHECK-LABEL: func.func @apart(
// CHECK-NOT:     vx.reshape
// CHECK:         return
func.func @apart(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %each: tensor<2x1x5xf32>, %y: tensor<2x4x3xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3x2x3xf32>) {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [2] x [0] : tensor<2x3x4xf32>, tensor<4x5xf32>
  %1 = vx.broadcast %each, [0, 1, 2] : tensor<2x1x5xf32> -> tensor<2x3x5xf32>
  %2 = vx.add %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
  %3 = vx.contract %y, %w batch = [] x [] contracting = [1] x [0] : tensor<2x4x3xf32>, tensor<4x5xf32>
  %4 = vx.contract %x, %x batch = [] x [] contracting = [2] x [2] : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  return %2, %3, %4 : tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3x2x3xf32>
}
