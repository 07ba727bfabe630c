// RUN: vx-opt %s --split-input-file --vx-fold-batch-norm --vx-fold-constants --canonicalize | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-fold-batch-norm=strict-math | FileCheck %s --check-prefix=STRICT

// conv, bias, and the factor and offset of a normalisation: one filter and one offset, at any size.
// (conv + 1) * 2 + 3 and (conv + 2) * 4 + 3: factors 2 and 4, offsets 5 and 11.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<?x1x4xf32
// CHECK-DAG:     %[[W:.+]] = vx.constant dense<{{\[\[}}[2.000000e+00, 4.000000e+00]], {{\[}}[1.200000e+01, 1.600000e+01]]]> : tensor<2x1x2xf32>
// CHECK-DAG:     %[[O:.+]] = vx.constant dense<[5.000000e+00, 1.100000e+01]> : tensor<2xf32>
// CHECK:         %[[C:.+]] = vx.conv %[[X]], %[[W]]
// CHECK-NEXT:    %[[B:.+]] = vx.broadcast %[[O]], [1]
// CHECK-NEXT:    %[[Y:.+]] = vx.add %[[C]], %[[B]]
// CHECK-NEXT:    return %[[Y]]
// STRICT-LABEL: func.func @dynamic(
// STRICT:         vx.conv
// STRICT:         vx.mul
vx.symbol "n"
func.func @dynamic(%x: tensor<?x1x4xf32, #vx.enc<[n, 1, 4]>>) -> tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>> {
  %w = vx.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %b = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %f = vx.constant dense<[[2.0], [4.0]]> : tensor<2x1xf32>
  %o = vx.constant dense<3.0> : tensor<f32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<?x1x4xf32, #vx.enc<[n, 1, 4]>>, tensor<2x1x2xf32>
  %1 = vx.broadcast %b, [1] : tensor<2xf32> -> tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
  %2 = vx.add %0, %1 : tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>, tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
  %3 = vx.broadcast %f, [1, 2] : tensor<2x1xf32> -> tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
  %4 = vx.mul %2, %3 : tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>, tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
  %5 = vx.broadcast %o, [] : tensor<f32> -> tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
  %6 = vx.add %5, %4 : tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>, tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
  return %6 : tensor<?x2x3xf32, #vx.enc<[n, 2, 3]>>
}

// -----

// CHECK-LABEL: func.func @difference(
// CHECK:         vx.constant dense<-3.000000e+00>
// CHECK:         vx.conv
// CHECK:         vx.add
// CHECK-NOT:     vx.sub
func.func @difference(%x: tensor<1x1x4xf32>) -> tensor<1x2x3xf32> {
  %w = vx.constant dense<1.0> : tensor<2x1x2xf32>
  %b = vx.constant dense<3.0> : tensor<2xf32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x4xf32>, tensor<2x1x2xf32>
  %1 = vx.broadcast %b, [1] : tensor<2xf32> -> tensor<1x2x3xf32>
  %2 = vx.sub %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return %2 : tensor<1x2x3xf32>
}

// -----

// The convolution has another reader: it would run twice.
// CHECK-LABEL: func.func @must_not_twice(
// CHECK:         vx.conv
// CHECK:         vx.mul
func.func @must_not_twice(%x: tensor<1x1x4xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>) {
  %w = vx.constant dense<1.0> : tensor<2x1x2xf32>
  %f = vx.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x4xf32>, tensor<2x1x2xf32>
  %1 = vx.broadcast %f, [1] : tensor<2xf32> -> tensor<1x2x3xf32>
  %2 = vx.mul %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return %0, %2 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

// -----

// A factor that differs along the width is no factor of the filter.
// CHECK-LABEL: func.func @must_not_spatial(
// CHECK:         vx.conv
// CHECK:         vx.mul
func.func @must_not_spatial(%x: tensor<1x1x4xf32>) -> tensor<1x2x3xf32> {
  %w = vx.constant dense<1.0> : tensor<2x1x2xf32>
  %f = vx.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x4xf32>, tensor<2x1x2xf32>
  %1 = vx.broadcast %f, [2] : tensor<3xf32> -> tensor<1x2x3xf32>
  %2 = vx.mul %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return %2 : tensor<1x2x3xf32>
}

// -----

// Weights that are an input are not known.
// CHECK-LABEL: func.func @must_not_unknown(
// CHECK:         vx.conv
// CHECK:         vx.mul
func.func @must_not_unknown(%x: tensor<1x1x4xf32>, %w: tensor<2x1x2xf32>) -> tensor<1x2x3xf32> {
  %f = vx.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x4xf32>, tensor<2x1x2xf32>
  %1 = vx.broadcast %f, [1] : tensor<2xf32> -> tensor<1x2x3xf32>
  %2 = vx.mul %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return %2 : tensor<1x2x3xf32>
}

// -----

// Factors of a sum that is no convolution's: nothing matches, nothing is left behind, and the rewrites come to an end.
// CHECK-LABEL: func.func @must_not_litter(
// CHECK-NOT:     vx.reshape
// CHECK:         vx.add
// CHECK:         vx.mul
// CHECK:         vx.add
func.func @must_not_litter(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  %o = vx.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %f = vx.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
  %0 = vx.broadcast %o, [1, 2] : tensor<2x1xf32> -> tensor<1x2x3xf32>
  %1 = vx.add %x, %0 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %2 = vx.broadcast %f, [1, 2] : tensor<2x1xf32> -> tensor<1x2x3xf32>
  %3 = vx.mul %1, %2 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %4 = vx.add %3, %0 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return %4 : tensor<1x2x3xf32>
}

// -----

// Parameters and statistics that the function does not store are taken for constants; the arithmetic on them is done when
// they have changed.
// CHECK-LABEL: func.func @variables(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<1x1x4xf32>
// CHECK-DAG:     %[[W:.+]] = vx.variable_load @w
// CHECK-DAG:     %[[F:.+]] = vx.variable_load @f
// CHECK:         %[[B:.+]] = vx.broadcast %[[F]], [0] : tensor<2xf32> -> tensor<2x1x2xf32>
// CHECK:         %[[S:.+]] = vx.mul %[[W]], %[[B]]
// CHECK:         %[[C:.+]] = vx.conv %[[X]], %[[S]]
// CHECK-NEXT:    return %[[C]]
// CHECK-LABEL: func.func @stored(
// CHECK:         vx.conv
// CHECK:         vx.mul
vx.variable @w role = parameter : tensor<2x1x2xf32>
vx.variable @f role = statistic : tensor<2xf32>
func.func @variables(%x: tensor<1x1x4xf32>) -> tensor<1x2x3xf32> {
  %w = vx.variable_load @w : tensor<2x1x2xf32>
  %f = vx.variable_load @f : tensor<2xf32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x4xf32>, tensor<2x1x2xf32>
  %1 = vx.broadcast %f, [1] : tensor<2xf32> -> tensor<1x2x3xf32>
  %2 = vx.mul %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return %2 : tensor<1x2x3xf32>
}
func.func @stored(%x: tensor<1x1x4xf32>) -> tensor<1x2x3xf32> {
  %w = vx.variable_load @w : tensor<2x1x2xf32>
  %f = vx.variable_load @f : tensor<2xf32>
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x4xf32>, tensor<2x1x2xf32>
  %1 = vx.broadcast %f, [1] : tensor<2xf32> -> tensor<1x2x3xf32>
  %2 = vx.mul %0, %1 : tensor<1x2x3xf32>, tensor<1x2x3xf32>
  %3 = vx.neg %f : tensor<2xf32>
  vx.variable_store %3, @f : tensor<2xf32>
  return %2 : tensor<1x2x3xf32>
}
