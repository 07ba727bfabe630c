// RUN: vx-opt %s --split-input-file --vx-split-windows | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-split-windows=masks | FileCheck %s --check-prefix=MASKS

// Each dimension has its own stride, dilation and pads; those of windows of one element go with the first dimension.
// CHECK-LABEL: func.func @wide
// CHECK: %[[LINES:.+]] = vx.reduce_window max %arg0 window = [1, 1, 5, 1] strides = [1, 2, 2, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 1, 0] x [0, 0, 2, 0]
// CHECK: vx.reduce_window max %[[LINES]] window = [1, 1, 1, 4] strides = [1, 1, 1, 3] dilations = [1, 1, 1, 2] pads = [0, 0, 0, 2] x [0, 0, 0, 1]
func.func @wide(%x: tensor<1x4x20x30xf32>) -> tensor<1x2x10x9xf32> {
  %0 = vx.reduce_window max %x window = [1, 1, 5, 4] strides = [1, 2, 2, 3] dilations = [1, 1, 1, 2] pads = [0, 0, 1, 2] x [0, 0, 2, 1] : tensor<1x4x20x30xf32>
  return %0 : tensor<1x2x10x9xf32>
}

// -----

// CHECK-LABEL: func.func @three_dimensions
// CHECK-COUNT-3: vx.reduce_window min
func.func @three_dimensions(%x: tensor<1x4x8x8x8xi32>) -> tensor<1x4x6x6x6xi32> {
  %0 = vx.reduce_window min %x window = [1, 1, 3, 3, 3] strides = [1, 1, 1, 1, 1] dilations = [1, 1, 1, 1, 1] pads = [0, 0, 0, 0, 0] x [0, 0, 0, 0, 0] : tensor<1x4x8x8x8xi32>
  return %0 : tensor<1x4x6x6x6xi32>
}

// -----

// A sum of narrow floats would be rounded, a small window is as fast, one of one dimension has nothing to split, and a product is
// left alone.
// CHECK-LABEL: func.func @whole
// CHECK: vx.reduce_window sum {{.+}} window = [1, 1, 5, 5]
// CHECK: vx.reduce_window max {{.+}} window = [1, 1, 3, 5]
// CHECK: vx.reduce_window max {{.+}} window = [1, 1, 1, 16]
// CHECK: vx.reduce_window prod {{.+}} window = [1, 1, 5, 5]
// CHECK-NOT: vx.reduce_window
func.func @whole(%h: tensor<1x4x20x30xf16>, %x: tensor<1x4x20x30xf32>) -> (tensor<1x4x16x26xf16>, tensor<1x4x18x26xf32>, tensor<1x4x20x15xf32>, tensor<1x4x16x26xf32>) {
  %0 = vx.reduce_window sum %h window = [1, 1, 5, 5] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf16>
  %1 = vx.reduce_window max %x window = [1, 1, 3, 5] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  %2 = vx.reduce_window max %x window = [1, 1, 1, 16] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  %3 = vx.reduce_window prod %x window = [1, 1, 5, 5] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  return %0, %1, %2, %3 : tensor<1x4x16x26xf16>, tensor<1x4x18x26xf32>, tensor<1x4x20x15xf32>, tensor<1x4x16x26xf32>
}

// -----

// Integers and floats of 32 bits are added in parts.
// CHECK-LABEL: func.func @sums
// CHECK-COUNT-2: vx.reduce_window sum %{{.+}} : tensor<1x4x{{.+}}xf32>
// CHECK-COUNT-2: vx.reduce_window sum %{{.+}} : tensor<1x4x{{.+}}xi8>
func.func @sums(%x: tensor<1x4x20x30xf32>, %i: tensor<1x4x20x30xi8>) -> (tensor<1x4x17x27xf32>, tensor<1x4x17x27xi8>) {
  %0 = vx.reduce_window sum %x window = [1, 1, 4, 4] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  %1 = vx.reduce_window sum %i window = [1, 1, 4, 4] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xi8>
  return %0, %1 : tensor<1x4x17x27xf32>, tensor<1x4x17x27xi8>
}

// -----

// Masks are what splits 9 elements: with borders, along the last dimension.
// MASKS-LABEL: func.func @borders
// MASKS: vx.reduce_window max %arg0 window = [1, 1, 3, 3]
// MASKS-NEXT: vx.reduce_window max %arg0 window = [1, 3, 3, 1]
// MASKS-NEXT: %[[LINES:.+]] = vx.reduce_window max %arg0 window = [1, 1, 3, 1]
// MASKS-NEXT: vx.reduce_window max %[[LINES]] window = [1, 1, 1, 3] {{.+}} pads = [0, 0, 0, 0] x [0, 0, 0, 1]
// MASKS-NEXT: vx.reduce_window max %arg0 window = [1, 1, 2, 3]
// MASKS-NEXT: return
// CHECK-LABEL: func.func @borders
// CHECK-COUNT-4: vx.reduce_window
// CHECK-NOT: vx.reduce_window
func.func @borders(%x: tensor<1x4x20x30xf32>) -> (tensor<1x4x20x28xf32>, tensor<1x4x20x30xf32>, tensor<1x4x20x29xf32>, tensor<1x4x19x30xf32>) {
  %0 = vx.reduce_window max %x window = [1, 1, 3, 3] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 1, 0] x [0, 0, 1, 0] : tensor<1x4x20x30xf32>
  %1 = vx.reduce_window max %x window = [1, 3, 3, 1] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 1, 1, 0] x [0, 1, 1, 0] : tensor<1x4x20x30xf32>
  %2 = vx.reduce_window max %x window = [1, 1, 3, 3] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 1, 0] x [0, 0, 1, 1] : tensor<1x4x20x30xf32>
  %3 = vx.reduce_window max %x window = [1, 1, 2, 3] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 1] x [0, 0, 0, 1] : tensor<1x4x20x30xf32>
  return %0, %1, %2, %3 : tensor<1x4x20x28xf32>, tensor<1x4x20x30xf32>, tensor<1x4x20x29xf32>, tensor<1x4x19x30xf32>
}
