// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-use-channels-last,vx-canonicalize-graph),cse)' | FileCheck %s
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-use-channels-last,vx-canonicalize-graph,vx-use-channels-last,vx-canonicalize-graph),cse)' | FileCheck %s

// One transpose at the input, none between the layers, and the reduction over the places ends the layout.
// CHECK-LABEL: func.func @layers
// CHECK:         vx.transpose %{{.+}}, [0, 2, 3, 1]
// CHECK:         vx.conv {{.*}} channels_last
// CHECK:         vx.broadcast %{{.+}}, [3] : tensor<4xf32> -> tensor<1x8x8x4xf32>
// CHECK:         vx.reduce_window max {{.*}} window = [1, 2, 2, 1] strides = [1, 2, 2, 1]
// CHECK:         vx.conv {{.*}} channels_last
// CHECK:         vx.add
// CHECK:         vx.concat axis = 3
// CHECK:         vx.reduce sum {{.*}} axes = [1, 2]
// CHECK-NOT:     vx.transpose
func.func @layers(%x: tensor<1x3x8x8xf32>, %b: tensor<4xf32>, %w: tensor<4x3x3x3xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<1x8xf32> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 {vx.product = #vx.product<family = cpu_product, channels_last = true>} : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>
  %1 = vx.broadcast %b, [1] : tensor<4xf32> -> tensor<1x4x8x8xf32>
  %2 = vx.add %0, %1 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
  %3 = vx.reduce_window max %2 window = [1, 1, 2, 2] strides = [1, 1, 2, 2] dilations = [1, 1, 1, 1] pads = [0, 0, 0, 0] x [0, 0, 0, 0] : tensor<1x4x8x8xf32>
  %4 = vx.conv %3, %v strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 {vx.product = #vx.product<family = cpu_product, channels_last = true>} : tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>
  %5 = vx.add %4, %3 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
  %6 = vx.concat axis = 1 (%5, %3) : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
  %7 = vx.reduce sum %6 axes = [2, 3] : tensor<1x8x4x4xf32>
  return %7 : tensor<1x8xf32>
}

// An operand that lies in memory otherwise keeps the sum where it is.
// CHECK-LABEL: func.func @other_operand
// CHECK:         vx.conv {{.*}} channels_last
// CHECK:         %[[BACK:.+]] = vx.transpose %{{.+}}, [0, 3, 1, 2]
// CHECK:         vx.add %[[BACK]], %{{.+}} : tensor<1x4x8x8xf32>
func.func @other_operand(%x: tensor<1x3x8x8xf32>, %y: tensor<1x4x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 {vx.product = #vx.product<family = cpu_product, channels_last = true>} : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>
  %1 = vx.add %0, %y : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// A convolution that was chosen with its channels first keeps them.
// CHECK-LABEL: func.func @first
// CHECK-NOT:     channels_last
func.func @first(%x: tensor<1x4x8x8xf16>, %w: tensor<4x4x3x3xf16>) -> tensor<1x4x6x6xf16> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 {vx.product = #vx.product<family = mma>} : tensor<1x4x8x8xf16>, tensor<4x4x3x3xf16>
  return %0 : tensor<1x4x6x6xf16>
}

// The product's choice stays.
// CHECK-LABEL: func.func @chosen
// CHECK:         vx.conv {{.*}} channels_last factors = tf32 {vx.product = #vx.product<family = mma, channels_last = true, packed = true>}
func.func @chosen(%x: tensor<1x8x8x8xf32>, %w: tensor<4x8x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 factors = tf32 {vx.product = #vx.product<family = mma, channels_last = true, packed = true>} : tensor<1x8x8x8xf32>, tensor<4x8x1x1xf32>
  return %0 : tensor<1x4x8x8xf32>
}

// The gradient of a filter reads both operands with channels last, and its filters are the innermost dimension.
// CHECK-LABEL: func.func @filter
// CHECK:         %[[X:.+]] = vx.transpose %arg0, [0, 2, 3, 1]
// CHECK:         %[[G:.+]] = vx.transpose %arg1, [0, 2, 3, 1]
// CHECK:         %[[F:.+]] = vx.conv_filter %[[X]], %[[G]] kernel [#vx.dim<3>, #vx.dim<2>] strides = [1, 2] dilations = [2, 1] pads = [1, 0] groups = 1 channels_last {{.*}} : tensor<2x8x9x5xf32>, tensor<2x6x4x7xf32>
// CHECK:         vx.transpose %[[F]], [3, 2, 0, 1] : tensor<3x2x5x7xf32>
func.func @filter(%x: tensor<2x5x8x9xf32>, %g: tensor<2x7x6x4xf32>) -> tensor<7x5x3x2xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<2>] strides = [1, 2] dilations = [2, 1] pads = [1, 0] groups = 1 {vx.product = #vx.product<family = cpu_product, channels_last = true>} : tensor<2x5x8x9xf32>, tensor<2x7x6x4xf32>
  return %0 : tensor<7x5x3x2xf32>
}
