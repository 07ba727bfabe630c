// RUN: vx-opt %s --vx-decompose="ops=softmax,layer_norm,rms_norm,attention,conv_filter" | FileCheck %s
// RUN: vx-opt %s --vx-decompose="ops=rms_norm" | FileCheck %s --check-prefix=ONE
// RUN: not vx-opt %s --vx-decompose="ops=contract" 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: vx-interpret %s --dim n=3 --seed 5 --print > %t.whole
// RUN: vx-opt %s --vx-decompose="ops=softmax,layer_norm,rms_norm,attention,conv_filter" -o %t.mlir
// RUN: vx-interpret %t.mlir --dim n=3 --seed 5 --print > %t.parts
// RUN: %python %S/Inputs/compare.py %t.whole %t.parts 1e-5

// ERROR: error: vx-decompose expects attention, batch_norm, conv_filter, cumulative_sum, decode_blocks, dequantize, dropout, layer_norm, quantize, rms_norm or softmax in 'ops', got 'contract'
// ONE-LABEL: func.func @main(
// ONE:         vx.softmax
// ONE:         vx.layer_norm
// ONE-NOT:     vx.rms_norm
// ONE-LABEL: func.func @attention(
// ONE:         vx.attention
vx.symbol "n"

// CHECK-LABEL: func.func @main(
// CHECK:         vx.reduce max %{{.*}} axes = [1] : tensor<2x?xf32, #vx.enc<[2, n]>>
// CHECK:         vx.exp
// CHECK:         vx.reduce sum
// The mean over a size that the call decides.
// CHECK:         vx.reduce sum %{{.*}} axes = [1]
// CHECK:         vx.dim_value <n>
// CHECK:         vx.sqrt
// CHECK-NOT:     vx.softmax
// CHECK-NOT:     vx.layer_norm
// CHECK-NOT:     vx.rms_norm
func.func @main(%x: tensor<2x?xf32, #vx.enc<[2, n]>>, %s: tensor<?xf32, #vx.enc<[n]>>) -> (tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<2x?xf32, #vx.enc<[2, n]>>) {
  %0 = vx.softmax %x axis = 1 : tensor<2x?xf32, #vx.enc<[2, n]>>
  %1 = vx.softmax log %x axis = 0 : tensor<2x?xf32, #vx.enc<[2, n]>>
  %2 = vx.layer_norm %x, %s, %s axis = 1 epsilon = 1.0e-5 : tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %3 = vx.rms_norm %x, %s, epsilon = 1.0e-5 : tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<?xf32, #vx.enc<[n]>>
  return %0, %1, %2, %3 : tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<2x?xf32, #vx.enc<[2, n]>>, tensor<2x?xf32, #vx.enc<[2, n]>>
}

// Narrow floats are computed in f32 and rounded at the end.
// CHECK-LABEL: func.func @narrow(
// CHECK:         vx.cast %{{.*}} : tensor<2x3xf16> -> tensor<2x3xf32>
// CHECK:         vx.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf16>
func.func @narrow(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = vx.softmax %x axis = 1 : tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// The softmax of attention is expanded as well, and a head of the keys is repeated for two of the query.
// CHECK-LABEL: func.func @attention(
// CHECK:         vx.broadcast %{{.*}}, [0, 1, 3, 4] : tensor<1x2x5x8xf32> -> tensor<1x2x2x5x8xf32>
// CHECK:         vx.contract %{{.*}}, %{{.*}} batch = [0, 2] x [0, 1] contracting = [3] x [3] : tensor<1x3x4x8xf32>, tensor<1x4x5x8xf32>
// CHECK:         vx.tanh
// CHECK:         vx.iota axis = 0 : tensor<3x5xi64>
// CHECK:         vx.compare le
// CHECK:         vx.exp
// CHECK:         vx.is_nan
// CHECK:         vx.contract
// CHECK:         vx.transpose %{{.*}}, [0, 2, 1, 3]
// CHECK-NOT:     vx.attention
func.func @attention(%q: tensor<1x3x4x8xf32>, %k: tensor<1x2x5x8xf32>, %m: tensor<1x1x1x5xi1>, %b: tensor<1x4x1x5xf32>) -> (tensor<1x3x4x8xf32>, tensor<1x4x3xf32>) {
  %0, %1 = vx.attention %q, %k, %k mask(%m : tensor<1x1x1x5xi1>) bias(%b : tensor<1x4x1x5xf32>) scale = 0.5 softcap = 3.0 causal window = 4 past = <2> zero_invalid
      dims = [0, 2, 1, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 2, 1, 3] : tensor<1x3x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x3x4x8xf32>, tensor<1x4x3xf32>
  return %0, %1 : tensor<1x3x4x8xf32>, tensor<1x4x3xf32>
}

// The gradient of a filter is a product with what each of its places reads; of groups, and of a stride over sizes that may be none, a convolution.
// CHECK-LABEL: func.func @filter(
// CHECK-COUNT-6: vx.slice %{{.+}} : tensor<2x16x10x8xf32>
// CHECK-COUNT-6: vx.contract %{{.+}}, %{{.+}} batch = [] x [] contracting = [0, 2] x [0, 2] : tensor<2x16x24xf32>, tensor<2x7x24xf32>
// CHECK:         vx.concat axis = 0(%{{.+}}) : tensor<1x16x7xf32>
// CHECK:         vx.transpose %{{.+}}, [3, 2, 0, 1] : tensor<3x2x16x7xf32>
// CHECK-NOT:     vx.conv
// Those of few channels together.
// CHECK-LABEL: func.func @filter_of_few_channels(
// CHECK-COUNT-6: vx.slice %{{.+}} : tensor<2x5x10x8xf32>
// CHECK:         vx.concat axis = 1(%{{.+}}) : tensor<2x5x6x4xf32>
// CHECK:         vx.contract %{{.+}}, %{{.+}} batch = [] x [] contracting = [0, 2] x [0, 2] : tensor<2x30x24xf32>, tensor<2x7x24xf32>
// CHECK-NOT:     vx.conv
// CHECK-LABEL: func.func @filter_of_one(
// CHECK-NOT:     vx.concat
// CHECK:         vx.contract %{{.+}}, %{{.+}} batch = [] x [] contracting = [0, 2] x [0, 2] : tensor<2x5x24xf32>, tensor<2x7x24xf32>
// CHECK-NOT:     vx.conv
// CHECK-LABEL: func.func @filter_of_groups(
// CHECK:         vx.conv %
// CHECK-NOT:     vx.conv_filter
// CHECK-LABEL: func.func @filter_of_stride(
// CHECK:         vx.conv %
// CHECK-NOT:     vx.conv_filter
func.func @filter(%x: tensor<2x16x8x9xf32>, %g: tensor<2x7x6x4xf32>) -> tensor<7x16x3x2xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<2>] strides = [1, 2] dilations = [2, 1] pads = [1, 0] groups = 1 : tensor<2x16x8x9xf32>, tensor<2x7x6x4xf32>
  return %0 : tensor<7x16x3x2xf32>
}
func.func @filter_of_few_channels(%x: tensor<2x5x8x9xf32>, %g: tensor<2x7x6x4xf32>) -> tensor<7x5x3x2xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<2>] strides = [1, 2] dilations = [2, 1] pads = [1, 0] groups = 1 : tensor<2x5x8x9xf32>, tensor<2x7x6x4xf32>
  return %0 : tensor<7x5x3x2xf32>
}
func.func @filter_of_one(%x: tensor<2x5x11x8xf32>, %g: tensor<2x7x6x4xf32>) -> tensor<7x5x1x1xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<1>, #vx.dim<1>] strides = [2, 2] dilations = [1, 1] pads = [0, 0] groups = 1 : tensor<2x5x11x8xf32>, tensor<2x7x6x4xf32>
  return %0 : tensor<7x5x1x1xf32>
}
func.func @filter_of_groups(%x: tensor<2x6x8x9xf32>, %g: tensor<2x4x6x7xf32>) -> tensor<4x3x3x3xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<3>] strides = [1, 1] dilations = [1, 1] pads = [0, 0] groups = 2 : tensor<2x6x8x9xf32>, tensor<2x4x6x7xf32>
  return %0 : tensor<4x3x3x3xf32>
}
func.func @filter_of_stride(%x: tensor<2x5x?xf32, #vx.enc<[2, 5, n * 2 + 1]>>, %g: tensor<2x7x?xf32, #vx.enc<[2, 7, n]>>) -> tensor<7x5x3xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>] strides = [2] dilations = [1] pads = [0] groups = 1 : tensor<2x5x?xf32, #vx.enc<[2, 5, n * 2 + 1]>>, tensor<2x7x?xf32, #vx.enc<[2, 7, n]>>
  return %0 : tensor<7x5x3xf32>
}
