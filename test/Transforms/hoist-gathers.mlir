// RUN: vx-opt %s --split-input-file --vx-hoist-gathers | FileCheck %s

// A table in small integers with a scale for each row and an offset for all: only what is picked is computed, of any number of rows.
// CHECK-LABEL: func.func @quantised(
// CHECK-SAME:    %[[I:[^ :]+]]: tensor<?xi64, #vx.enc<[n]>>
// CHECK-DAG:     %[[Q:.+]] = vx.constant dense<1> : tensor<4x3xi8>
// CHECK-DAG:     %[[S:.+]] = vx.constant dense<5.000000e-01> : tensor<4x1xf32>
// CHECK-DAG:     %[[O:.+]] = vx.constant dense<2.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[QR:.+]] = vx.gather %[[Q]], %[[I]] axis = 0
// CHECK-DAG:     %[[C:.+]] = vx.cast %[[QR]]
// CHECK-DAG:     %[[SR:.+]] = vx.gather %[[S]], %[[I]] axis = 0
// CHECK-DAG:     %[[SB:.+]] = vx.broadcast %[[SR]], [0, 1] : tensor<?x1xf32, #vx.enc<[n, 1]>> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
// CHECK-DAG:     %[[OB:.+]] = vx.broadcast %[[O]], [] : tensor<f32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
// CHECK-DAG:     %[[M:.+]] = vx.mul %[[C]], %[[SB]]
// CHECK:         %[[R:.+]] = vx.add %[[M]], %[[OB]]
// CHECK-NEXT:    return %[[R]]
vx.symbol "n"
func.func @quantised(%i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?x3xf32, #vx.enc<[n, 3]>> {
  %q = vx.constant dense<1> : tensor<4x3xi8>
  %s = vx.constant dense<0.5> : tensor<4x1xf32>
  %o = vx.constant dense<2.0> : tensor<f32>
  %0 = vx.cast %q : tensor<4x3xi8> -> tensor<4x3xf32>
  %1 = vx.broadcast %s, [0, 1] : tensor<4x1xf32> -> tensor<4x3xf32>
  %2 = vx.mul %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
  %3 = vx.broadcast %o, [] : tensor<f32> -> tensor<4x3xf32>
  %4 = vx.add %2, %3 : tensor<4x3xf32>, tensor<4x3xf32>
  %5 = vx.gather %4, %i axis = 0 : tensor<4x3xf32>, tensor<?xi64, #vx.enc<[n]>>
  return %5 : tensor<?x3xf32, #vx.enc<[n, 3]>>
}

// -----

// The second dimension, by two dimensions of indices.
// CHECK-LABEL: func.func @columns(
// CHECK:         %[[G:.+]] = vx.gather %{{.+}}, %{{.+}} axis = 0 : tensor<4xf32>, tensor<2x5xi64>
// CHECK:         vx.broadcast %[[G]], [1, 2] : tensor<2x5xf32> -> tensor<3x2x5xf32>
// CHECK:         vx.mul
func.func @columns(%i: tensor<2x5xi64>) -> tensor<3x2x5xf32> {
  %q = vx.constant dense<1.0> : tensor<3x4xf32>
  %s = vx.constant dense<0.5> : tensor<4xf32>
  %1 = vx.broadcast %s, [1] : tensor<4xf32> -> tensor<3x4xf32>
  %2 = vx.mul %q, %1 : tensor<3x4xf32>, tensor<3x4xf32>
  %3 = vx.gather %2, %i axis = 1 : tensor<3x4xf32>, tensor<2x5xi64>
  return %3 : tensor<3x2x5xf32>
}

// -----

// What an input decides, and a table that is read whole as well, stay.
// CHECK-LABEL: func.func @stay(
// CHECK:         %[[T:.+]] = vx.neg %{{.+}} : tensor<4x3xf32>
// CHECK-NEXT:    vx.gather %[[T]]
// CHECK:         %[[X:.+]] = vx.exp
// CHECK-NEXT:    vx.gather %[[X]]
func.func @stay(%i: tensor<2xi64>, %x: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) {
  %q = vx.constant dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<4x3xf32>
  %0 = vx.neg %q : tensor<4x3xf32>
  %1 = vx.gather %0, %i axis = 0 : tensor<4x3xf32>, tensor<2xi64>
  %2 = vx.exp %x : tensor<4x3xf32>
  %3 = vx.gather %2, %i axis = 0 : tensor<4x3xf32>, tensor<2xi64>
  return %1, %0, %3 : tensor<2x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
}

// -----

// Numbers in blocks: the bytes of the rows. A table that a product reads too, in any function, is read in the form that the product has.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME:    %[[I:[^ :]+]]: tensor<?xi64, #vx.enc<[n]>>
// CHECK:         %[[W:.+]] = vx.constant
// CHECK:         %[[G:.+]] = vx.gather %[[W]], %[[I]] axis = 0 : tensor<4x34xui8>
// CHECK:         %[[R:.+]] = vx.decode_blocks q8_0 %[[G]] : tensor<?x34xui8, #vx.enc<[n, 34]>>
// CHECK:         return %[[R]]
// CHECK-LABEL: func.func @embedding(
// CHECK:         %[[D:.+]] = vx.decode_blocks
// CHECK:         vx.gather %[[D]]
// CHECK-LABEL: func.func @head(
// CHECK:         %[[D:.+]] = vx.decode_blocks
// CHECK:         %[[R:.+]] = vx.gather %[[D]]
// CHECK:         vx.contract %[[R]], %[[D]]
vx.symbol "n"
func.func @blocks(%i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?x32xf32, #vx.enc<[n, 32]>> {
  %w = vx.constant dense<1> : tensor<4x34xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<4x34xui8>
  %r = vx.gather %d, %i axis = 0 : tensor<4x32xf32>, tensor<?xi64, #vx.enc<[n]>>
  return %r : tensor<?x32xf32, #vx.enc<[n, 32]>>
}
func.func @embedding(%i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?x32xf32, #vx.enc<[n, 32]>> {
  %w = vx.constant dense<2> : tensor<4x34xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<4x34xui8>
  %r = vx.gather %d, %i axis = 0 : tensor<4x32xf32>, tensor<?xi64, #vx.enc<[n]>>
  return %r : tensor<?x32xf32, #vx.enc<[n, 32]>>
}
func.func @head(%i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %w = vx.constant dense<2> : tensor<4x34xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<4x34xui8>
  %r = vx.gather %d, %i axis = 0 : tensor<4x32xf32>, tensor<?xi64, #vx.enc<[n]>>
  %p = vx.contract %r, %d batch = [] x [] contracting = [1] x [1] : tensor<?x32xf32, #vx.enc<[n, 32]>>, tensor<4x32xf32>
  return %p : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// -----

// Along a row the bytes are those of several numbers.
// CHECK-LABEL: func.func @within_blocks(
// CHECK:         %[[D:.+]] = vx.decode_blocks q8_0
// CHECK:         vx.gather %[[D]]
func.func @within_blocks(%i: tensor<2xi64>) -> tensor<4x2xf32> {
  %w = vx.constant dense<1> : tensor<4x34xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<4x34xui8>
  %r = vx.gather %d, %i axis = 1 : tensor<4x32xf32>, tensor<2xi64>
  return %r : tensor<4x2xf32>
}
