// RUN: vx-opt %s --split-input-file --vx-split-reductions --cse | FileCheck %s

// The second stage reads one element of each slice.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<1024x1024xf32>
// CHECK-NEXT:    %[[S:.+]] = vx.reduce sum %[[X]] axes = [1] : tensor<1024x1024xf32>
// CHECK-NEXT:    %[[R:.+]] = vx.reduce sum %[[S]] axes = [0] : tensor<1024xf32>
// CHECK-NEXT:    return %[[R]]
func.func @whole(%x: tensor<1024x1024xf32>) -> tensor<f32> {
  %0 = vx.reduce sum %x axes = [0, 1] : tensor<1024x1024xf32>
  return %0 : tensor<f32>
}

// -----

// What computes the elements comes behind the reshape, and a repeated number is repeated there; floats narrower than f32 are sums in f32
// until the end.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<131072xf16>
// CHECK:         %[[C:.+]] = vx.constant
// CHECK:         %[[Y:.+]] = vx.reshape %[[X]] : tensor<131072xf16> -> tensor<512x256xf16>
// CHECK:         %[[B:.+]] = vx.broadcast %[[C]], [] : tensor<f16> -> tensor<512x256xf16>
// CHECK:         %[[P:.+]] = vx.mul %[[Y]], %[[B]] : tensor<512x256xf16>, tensor<512x256xf16>
// CHECK:         %[[W:.+]] = vx.cast %[[P]] : tensor<512x256xf16> -> tensor<512x256xf32>
// CHECK:         %[[S:.+]] = vx.reduce sum %[[W]] axes = [1] : tensor<512x256xf32>
// CHECK:         %[[R:.+]] = vx.reduce sum %[[S]] axes = [0] : tensor<512xf32>
// CHECK:         vx.cast %[[R]] : tensor<f32> -> tensor<f16>
func.func @narrow(%x: tensor<131072xf16>) -> tensor<f16> {
  %c = vx.constant dense<2.0> : tensor<f16>
  %b = vx.broadcast %c, [] : tensor<f16> -> tensor<131072xf16>
  %p = vx.mul %x, %b : tensor<131072xf16>, tensor<131072xf16>
  %0 = vx.reduce sum %p axes = [0] : tensor<131072xf16>
  return %0 : tensor<f16>
}

// -----

// The greatest of rows and of columns: rows share the slices, and a greatest f16 needs no wider type.
// CHECK-LABEL: func.func @few_rows(
// CHECK:         vx.reshape %{{.+}} : tensor<3x512x256xf16> -> tensor<3x256x512xf16>
// CHECK:         vx.reduce max %{{.+}} axes = [2] : tensor<3x256x512xf16>
// CHECK:         vx.reduce max %{{.+}} axes = [1] : tensor<3x256xf16>
// CHECK:         vx.reshape %{{.+}} : tensor<65536x8xi32> -> tensor<128x512x8xi32>
// CHECK:         vx.reduce sum %{{.+}} axes = [1] : tensor<128x512x8xi32>
// CHECK:         vx.reduce sum %{{.+}} axes = [0] : tensor<128x8xi32>
func.func @few_rows(%x: tensor<3x512x256xf16>, %y: tensor<65536x8xi32>) -> (tensor<3xf16>, tensor<8xi32>) {
  %0 = vx.reduce max %x axes = [1, 2] : tensor<3x512x256xf16>
  %1 = vx.reduce sum %y axes = [0] : tensor<65536x8xi32>
  return %0, %1 : tensor<3xf16>, tensor<8xi32>
}

// -----

// A prime length, and one that only the call knows, are filled up with what changes nothing.
// CHECK-LABEL: func.func @padded(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<65537xf32>
// CHECK:         %[[INF:.+]] = vx.constant dense<0xFF800000> : tensor<f32>
// CHECK:         %[[P:.+]] = vx.pad %[[X]], %[[INF]] low [#vx.dim<0>] high [#vx.dim<255>]
// CHECK:         vx.reshape %[[P]] : tensor<65792xf32> -> tensor<256x257xf32>
// CHECK:         %[[TRUE:.+]] = vx.constant dense<true> : tensor<i1>
// CHECK:         vx.pad %{{.+}}, %[[TRUE]] low [#vx.dim<0>] high
// CHECK:         vx.reduce and %{{.+}} axes = [1] : tensor<1024x?xi1, #vx.enc<[1024, ceildiv(k * m * n, 1024)]>>
// CHECK:         vx.reduce and %{{.+}} axes = [0] : tensor<1024xi1>
vx.symbol "n"
vx.symbol "m"
vx.symbol "k"
func.func @padded(%x: tensor<65537xf32>, %y: tensor<?x?x?xi1, #vx.enc<[n, m, k]>>) -> (tensor<f32>, tensor<i1>) {
  %0 = vx.reduce max %x axes = [0] : tensor<65537xf32>
  %1 = vx.reduce and %y axes = [0, 1, 2] : tensor<?x?x?xi1, #vx.enc<[n, m, k]>>
  return %0, %1 : tensor<f32>, tensor<i1>
}

// -----

// A part of the length that is known has a divisor: nothing is filled up.
// CHECK-LABEL: func.func @known_part(
// CHECK-NOT:     vx.pad
// CHECK:         vx.reshape %{{.+}} : tensor<?x3072xf32, #vx.enc<[n, 3072]>> -> tensor<1024x?xf32, #vx.enc<[1024, n * 3]>>
vx.symbol "n"
func.func @known_part(%x: tensor<?x3072xf32, #vx.enc<[n, 3072]>>) -> tensor<f32> {
  %0 = vx.reduce sum %x axes = [0, 1] : tensor<?x3072xf32, #vx.enc<[n, 3072]>>
  return %0 : tensor<f32>
}

// -----

// Short rows, many rows, rows of dimensions that are no neighbours, and a product that others read as it is.
// CHECK-LABEL: func.func @must_not(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<65535xf32>, %[[Y:[^ :]+]]: tensor<33x65536xf32>, %[[Z:[^ :]+]]: tensor<1024x2x1024xf32>
// CHECK:         vx.reduce sum %[[X]] axes = [0] : tensor<65535xf32>
// CHECK:         vx.reduce sum %[[Y]] axes = [1] : tensor<33x65536xf32>
// CHECK:         vx.reduce sum %[[Z]] axes = [0, 2] : tensor<1024x2x1024xf32>
func.func @must_not(%x: tensor<65535xf32>, %y: tensor<33x65536xf32>, %z: tensor<1024x2x1024xf32>) -> (tensor<f32>, tensor<33xf32>, tensor<2xf32>) {
  %0 = vx.reduce sum %x axes = [0] : tensor<65535xf32>
  %1 = vx.reduce sum %y axes = [1] : tensor<33x65536xf32>
  %2 = vx.reduce sum %z axes = [0, 2] : tensor<1024x2x1024xf32>
  return %0, %1, %2 : tensor<f32>, tensor<33xf32>, tensor<2xf32>
}
