// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-simplify-views),canonicalize,cse)" | FileCheck %s
// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-simplify-views),canonicalize,cse)" -o %t.once.mlir
// RUN: vx-opt %t.once.mlir --pass-pipeline="builtin.module(func.func(vx-simplify-views),canonicalize,cse)" -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
vx.symbol "batch"
vx.symbol "length"

// Two transpositions with reshapes between them are one.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:[^ :]+]]:
// CHECK-NEXT:    %[[S:.+]] = vx.reshape %[[X]] : {{.+}} -> tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
// CHECK-NEXT:    %[[T:.+]] = vx.transpose %[[S]], [0, 2, 3, 1]
// CHECK-NEXT:    return %[[T]]
func.func @chain(%x: tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>) -> tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>> {
  %0 = vx.reshape %x : tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>> -> tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %1 = vx.transpose %0, [0, 2, 1, 3] : tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %2 = vx.reshape %1 : tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>> -> tensor<?x?x64xf32, #vx.enc<[batch * 12, length, 64]>>
  %3 = vx.transpose %2, [0, 2, 1] : tensor<?x?x64xf32, #vx.enc<[batch * 12, length, 64]>>
  %4 = vx.reshape %3 : tensor<?x64x?xf32, #vx.enc<[batch * 12, 64, length]>> -> tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>>
  return %4 : tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>>
}

// One part of three that were joined: the slice goes before the transposition, and both transpositions are one.
// CHECK-LABEL: func.func @one_of_three(
// CHECK:         %[[S:.+]] = vx.slice %{{.+}} starts [#vx.dim<0>, #vx.dim<0>, #vx.dim<4>, #vx.dim<0>] strides [1, 1, 1, 1] : tensor<5x?x12x8xf32, #vx.enc<[5, batch, 12, 8]>>
// CHECK-NEXT:    %[[T:.+]] = vx.transpose %[[S]], [1, 2, 0, 3]
// CHECK-NEXT:    return %[[T]]
func.func @one_of_three(%x: tensor<5x?x96xf32, #vx.enc<[5, batch, 96]>>) -> tensor<?x4x5x8xf32, #vx.enc<[batch, 4, 5, 8]>> {
  %i = vx.constant dense<1> : tensor<i64>
  %0 = vx.reshape %x : tensor<5x?x96xf32, #vx.enc<[5, batch, 96]>> -> tensor<1x5x?x3x32xf32, #vx.enc<[1, 5, batch, 3, 32]>>
  %1 = vx.transpose %0, [3, 1, 2, 0, 4] : tensor<1x5x?x3x32xf32, #vx.enc<[1, 5, batch, 3, 32]>>
  %2 = vx.reshape %1 : tensor<3x5x?x1x32xf32, #vx.enc<[3, 5, batch, 1, 32]>> -> tensor<3x5x?x32xf32, #vx.enc<[3, 5, batch, 32]>>
  %3 = vx.gather %2, %i axis = 0 : tensor<3x5x?x32xf32, #vx.enc<[3, 5, batch, 32]>>, tensor<i64>
  %4 = vx.reshape %3 : tensor<5x?x32xf32, #vx.enc<[5, batch, 32]>> -> tensor<5x?x8xf32, #vx.enc<[5, batch * 4, 8]>>
  %5 = vx.transpose %4, [1, 0, 2] : tensor<5x?x8xf32, #vx.enc<[5, batch * 4, 8]>>
  %6 = vx.reshape %5 : tensor<?x5x8xf32, #vx.enc<[batch * 4, 5, 8]>> -> tensor<?x4x5x8xf32, #vx.enc<[batch, 4, 5, 8]>>
  return %6 : tensor<?x4x5x8xf32, #vx.enc<[batch, 4, 5, 8]>>
}

// An index out of range is left to fail the call.
// CHECK-LABEL: func.func @outside(
// CHECK:         vx.gather
func.func @outside(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  %i = vx.constant dense<3> : tensor<i64>
  %0 = vx.gather %x, %i axis = 0 : tensor<3x4xf32>, tensor<i64>
  return %0 : tensor<4xf32>
}

// A reshape that cuts across both dimensions of a transposed tensor needs the elements in their new order.
// CHECK-LABEL: func.func @across(
// CHECK:         vx.transpose
// CHECK-NEXT:    vx.reshape
// CHECK-NEXT:    vx.transpose
func.func @across(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %0 = vx.transpose %x, [1, 0] : tensor<4x6xf32>
  %1 = vx.reshape %0 : tensor<6x4xf32> -> tensor<8x3xf32>
  %2 = vx.transpose %1, [1, 0] : tensor<8x3xf32>
  return %2 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @operand_of_concat(
// CHECK-SAME:    %{{[^ :]+}}: {{.+}}, %[[B:[^ :]+]]: tensor<?x3xf32, #vx.enc<[batch, 3]>>)
// CHECK-NEXT:    return %[[B]]
func.func @operand_of_concat(%a: tensor<?x3xf32, #vx.enc<[length, 3]>>, %b: tensor<?x3xf32, #vx.enc<[batch, 3]>>) -> tensor<?x3xf32, #vx.enc<[batch, 3]>> {
  %0 = vx.concat axis = 0(%a, %b) : tensor<?x3xf32, #vx.enc<[length, 3]>>, tensor<?x3xf32, #vx.enc<[batch, 3]>>
  %1 = vx.slice %0 starts [#vx.dim<length>, #vx.dim<0>] strides [1, 1] : tensor<?x3xf32, #vx.enc<[batch + length, 3]>> -> tensor<?x3xf32, #vx.enc<[batch, 3]>>
  return %1 : tensor<?x3xf32, #vx.enc<[batch, 3]>>
}

// CHECK-LABEL: func.func @fold_into_contract(
// CHECK:         %[[R:.+]] = vx.contract %{{.+}}, %{{.+}} batch = [0] x [0] contracting = [2] x [2]
// CHECK-NEXT:    return %[[R]]
func.func @fold_into_contract(%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
  %0 = vx.transpose %b, [0, 2, 1] : tensor<2x5x4xf32>
  %1 = vx.contract %a, %0 batch = [0] x [0] contracting = [2] x [1] : tensor<2x3x4xf32>, tensor<2x4x5xf32>
  return %1 : tensor<2x3x5xf32>
}

// The transposition goes over the contraction and its bias, and meets its inverse.
// CHECK-LABEL: func.func @sink_over_contract(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<?x5x8xf32, #vx.enc<[batch, 5, 8]>>
// CHECK-NEXT:    %[[P:.+]] = vx.contract %[[X]],
// CHECK-NEXT:    %[[B:.+]] = vx.broadcast %{{.+}}, [2]
// CHECK-NEXT:    %[[R:.+]] = vx.add %[[P]], %[[B]] : tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>
// CHECK-NEXT:    return %[[R]]
func.func @sink_over_contract(%x: tensor<?x5x8xf32, #vx.enc<[batch, 5, 8]>>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>> {
  %0 = vx.transpose %x, [1, 0, 2] : tensor<?x5x8xf32, #vx.enc<[batch, 5, 8]>>
  %1 = vx.contract %0, %w batch = [] x [] contracting = [2] x [0] : tensor<5x?x8xf32, #vx.enc<[5, batch, 8]>>, tensor<8x6xf32>
  %2 = vx.broadcast %b, [2] : tensor<6xf32> -> tensor<5x?x6xf32, #vx.enc<[5, batch, 6]>>
  %3 = vx.add %1, %2 : tensor<5x?x6xf32, #vx.enc<[5, batch, 6]>>, tensor<5x?x6xf32, #vx.enc<[5, batch, 6]>>
  %4 = vx.transpose %3, [1, 0, 2] : tensor<5x?x6xf32, #vx.enc<[5, batch, 6]>>
  return %4 : tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>
}

// What follows the contraction has the shape from before the reshape, so the sum is its epilogue.
// CHECK-LABEL: func.func @split_free_dims(
// CHECK-NEXT:    %[[P:.+]] = vx.contract
// CHECK-NEXT:    %[[R:.+]] = vx.add %[[P]]
// CHECK-NEXT:    return %[[R]]
func.func @split_free_dims(%x: tensor<?x5x8xf32, #vx.enc<[batch, 5, 8]>>, %w: tensor<8x6xf32>, %y: tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>) -> tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>> {
  %0 = vx.reshape %x : tensor<?x5x8xf32, #vx.enc<[batch, 5, 8]>> -> tensor<?x8xf32, #vx.enc<[batch * 5, 8]>>
  %1 = vx.contract %0, %w batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[batch * 5, 8]>>, tensor<8x6xf32>
  %2 = vx.reshape %1 : tensor<?x6xf32, #vx.enc<[batch * 5, 6]>> -> tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>
  %3 = vx.add %2, %y : tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>, tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>
  return %3 : tensor<?x5x6xf32, #vx.enc<[batch, 5, 6]>>
}

// Rows that an exporter replaces between two transpositions are replaced where the tensor lies; the updates get its order.
// CHECK-LABEL: func.func @scatter_below_transpose(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<2x4x?x8xf32, {{.+}}>, %[[I:[^ :]+]]: tensor<3x1xi64>, %[[U:[^ :]+]]: tensor<3x8x2x4xf32>
// CHECK-NEXT:    %[[T:.+]] = vx.transpose %[[U]], [0, 2, 3, 1]
// CHECK-NEXT:    %[[S:.+]] = vx.scatter set %[[X]], %[[I]], %[[T]] axes = [2]
// CHECK-NEXT:    return %[[S]]
func.func @scatter_below_transpose(%x: tensor<2x4x?x8xf32, #vx.enc<[2, 4, n, 8]>>, %i: tensor<3x1xi64>, %u: tensor<3x8x2x4xf32>) -> tensor<2x4x?x8xf32, #vx.enc<[2, 4, n, 8]>> {
  %0 = vx.transpose %x, [2, 3, 0, 1] : tensor<2x4x?x8xf32, #vx.enc<[2, 4, n, 8]>>
  %1 = vx.scatter set %0, %i, %u axes = [0] : tensor<?x8x2x4xf32, #vx.enc<[n, 8, 2, 4]>>, tensor<3x1xi64>, tensor<3x8x2x4xf32>
  %2 = vx.transpose %1, [2, 3, 0, 1] : tensor<?x8x2x4xf32, #vx.enc<[n, 8, 2, 4]>>
  return %2 : tensor<2x4x?x8xf32, #vx.enc<[2, 4, n, 8]>>
}

// Stays: nothing transposes it back, or the members of the tuples would change places.
// CHECK-LABEL: func.func @scatter_stays(
// CHECK-COUNT-2: vx.transpose %{{.+}}, [1, 0]
// CHECK:         vx.scatter set %{{.+}} axes = [0]
// CHECK:         vx.scatter set %{{.+}} axes = [0, 1]
// CHECK:         vx.transpose %{{.+}}, [1, 0]
func.func @scatter_stays(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>, %i: tensor<3x1xi64>, %j: tensor<3x2xi64>, %u: tensor<3x4xf32>, %v: tensor<3xf32>) -> (tensor<5x4xf32>, tensor<4x5xf32>) {
  %0 = vx.transpose %x, [1, 0] : tensor<4x5xf32>
  %1 = vx.transpose %y, [1, 0] : tensor<4x5xf32>
  %2 = vx.scatter set %0, %i, %u axes = [0] : tensor<5x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>
  %3 = vx.scatter set %1, %j, %v axes = [0, 1] : tensor<5x4xf32>, tensor<3x2xi64>, tensor<3xf32>
  %4 = vx.transpose %3, [1, 0] : tensor<5x4xf32>
  return %2, %4 : tensor<5x4xf32>, tensor<4x5xf32>
}
