// RUN: vx-opt %s --split-input-file --vx-split-windows | FileCheck %s

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

// A sum would be rounded in another order, a small window is as fast, and so is one of one dimension.
// CHECK-LABEL: func.func @whole
// CHECK: vx.reduce_window sum {{.+}} window = [1, 1, 5, 5]
// CHECK: vx.reduce_window max {{.+}} window = [1, 1, 3, 5]
// CHECK: vx.reduce_window max {{.+}} window = [1, 1, 1, 16]
// CHECK-NOT: vx.reduce_window
func.func @whole(%x: tensor<1x4x20x30xf32>) -> (tensor<1x4x16x26xf32>, tensor<1x4x18x26xf32>, tensor<1x4x20x15xf32>) {
  %0 = vx.reduce_window sum %x window = [1, 1, 5, 5] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  %1 = vx.reduce_window max %x window = [1, 1, 3, 5] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  %2 = vx.reduce_window max %x window = [1, 1, 1, 16] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x20x30xf32>
  return %0, %1, %2 : tensor<1x4x16x26xf32>, tensor<1x4x18x26xf32>, tensor<1x4x20x15xf32>
}
