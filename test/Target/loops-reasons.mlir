// A product in plain loops has a reason.
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-fused{target=cpu})' | FileCheck %s --check-prefix=CPU
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-fused{target=vulkan})' | FileCheck %s --check-prefix=GPU
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-fused{target=cuda})' | FileCheck %s --check-prefix=CUDA

// CPU-LABEL: func.func @layout(
// CPU:         #vx.loops<
// CPU:         vx.loops_reason = "vectors run along the rows of its images, since a move of the channels takes longer"
// GPU-LABEL: func.func @layout(
// GPU:         #vx.loops<
// GPU:         vx.loops_reason = "no strategy for products has its groups, or too few products for one"
func.func @layout(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  return %0 : tensor<1x64x56x56xf32>
}

// -----

// A tile of a product has filters of one group: as many as divide the group's.
// GPU-LABEL: func.func @groups_of_four(
// GPU:         #vx.tiled_product<tile = [1, 4, {{[0-9]+}}, {{[0-9]+}}], block_rows = 4, block_columns = 4,
// GPU-NOT:     vx.loops_reason
func.func @groups_of_four(%x: tensor<1x128x56x56xf32>) -> tensor<1x128x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<128x4x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 32 : tensor<1x128x56x56xf32>, tensor<128x4x3x3xf32>
  return %0 : tensor<1x128x56x56xf32>
}

// -----

// CUDA-LABEL: func.func @groups_of_fragments(
// CUDA:         #vx.mma<tile = [1, {{[0-9]+}}, {{[0-9]+}}, {{16|48}}],
func.func @groups_of_fragments(%x: tensor<1x144x28x28xf16>) -> tensor<1x144x28x28xf16> {
  %w = vx.constant dense<3.0> : tensor<144x48x3x3xf16>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 3 : tensor<1x144x28x28xf16>, tensor<144x48x3x3xf16>
  return %0 : tensor<1x144x28x28xf16>
}

// -----

// GPU-LABEL: func.func @groups_of_six(
// GPU:         vx.loops_reason = "no strategy for products has its groups, or too few products for one"
func.func @groups_of_six(%x: tensor<1x12x28x28xf32>) -> tensor<1x12x28x28xf32> {
  %w = vx.constant dense<3.0> : tensor<12x6x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 2 : tensor<1x12x28x28xf32>, tensor<12x6x3x3xf32>
  return %0 : tensor<1x12x28x28xf32>
}

// -----

// The columns are rows of memory, which one row of the left factor does not repay to copy.
// CPU-LABEL: func.func @narrow(
// CPU:         #vx.loops<
// CPU:         vx.loops_reason = "one factor has few rows or columns, or none, so that packed factors are not read often enough"
func.func @narrow(%a: tensor<1x512xf32>, %b: tensor<512x512xf32>) -> tensor<1x512xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] : tensor<1x512xf32>, tensor<512x512xf32>
  return %0 : tensor<1x512xf32>
}

// -----

// Sums that end within a vector take longer in plain loops than the copy does.
// CPU-LABEL: func.func @masked(
// CPU:         #vx.cpu_product<
func.func @masked(%a: tensor<2x70xf32>, %b: tensor<32x70xf32>) -> tensor<2x32xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] : tensor<2x70xf32>, tensor<32x70xf32>
  return %0 : tensor<2x32xf32>
}

// -----

// CPU-LABEL: func.func @elements(
// CPU:         vx.loops_reason = "no strategy for products has its element types"
func.func @elements(%a: tensor<20x64xi64>, %b: tensor<64x32xi64>) -> tensor<20x32xi64> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<20x64xi64>, tensor<64x32xi64>
  return %0 : tensor<20x32xi64>
}

// -----

// CPU-LABEL: func.func @sizes(
// CPU:         vx.loops_reason = "the sizes of its filter are not known"
func.func @sizes(%x: tensor<1x9x9x4xf32>, %w: tensor<?x2x3x3xf32, #vx.enc<[2 * f, 2, 3, 3]>>)
    -> tensor<1x7x7x?xf32, #vx.enc<[1, 7, 7, 2 * f]>> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 2 channels_last : tensor<1x9x9x4xf32>, tensor<?x2x3x3xf32, #vx.enc<[2 * f, 2, 3, 3]>>
  return %0 : tensor<1x7x7x?xf32, #vx.enc<[1, 7, 7, 2 * f]>>
}

// -----

// CPU-LABEL: func.func @dimensions(
// CPU:         vx.loops_reason = "its columns or its sum run along several dimensions"
func.func @dimensions(%a: tensor<20x64xf32>, %b: tensor<8x64x9xf32>) -> tensor<20x8x9xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] : tensor<20x64xf32>, tensor<8x64x9xf32>
  return %0 : tensor<20x8x9xf32>
}

// -----

// An op that makes several elements of a byte is in a kernel of its own: the product keeps its strategy.
// CPU-LABEL: func.func @packed(
// CPU:         #vx.cpu_product<
// CPU:         vx.contract
// CPU:         #vx.loops<
// CPU:         vx.cast
// CPU-NOT:     vx.loops_reason
// GPU-LABEL: func.func @packed(
// GPU:         #vx.tiled_product<
// GPU:         vx.contract
// GPU:         #vx.elementwise<
// GPU:         vx.cast
// GPU-NOT:     vx.loops_reason
func.func @packed(%a: tensor<20x64xf32>, %b: tensor<64x32xf32>) -> tensor<20x32xui4> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<20x64xf32>, tensor<64x32xf32>
  %1 = vx.cast %0 : tensor<20x32xf32> -> tensor<20x32xui4>
  return %1 : tensor<20x32xui4>
}

// -----

// So is an op that reads labels which a kernel has to check, on a CPU.
// CPU-LABEL: func.func @labels(
// CPU:         #vx.loops<
// CPU:         vx.check_indices
// CPU:         #vx.cpu_product<
// CPU-NOT:     vx.loops_reason
// GPU-LABEL: func.func @labels(
// GPU:         #vx.tiled_product<
// GPU-NOT:     vx.fusion
// GPU:         vx.check_indices
// GPU-NOT:     vx.fusion
// GPU:         return
func.func @labels(%a: tensor<20x64xf32>, %b: tensor<64x32xf32>, %i: tensor<20xi64>) -> tensor<20x32xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<20x64xf32>, tensor<64x32xf32>
  %1 = vx.check_indices %i below [#vx.dim<32>] from_start : tensor<20xi64>
  %2 = vx.broadcast %1, [0] : tensor<20xi64> -> tensor<20x32xi64>
  %3 = vx.iota axis = 1 : tensor<20x32xi64>
  %4 = vx.compare eq %2, %3 : tensor<20x32xi64>, tensor<20x32xi64>
  %5 = vx.cast %4 : tensor<20x32xi1> -> tensor<20x32xf32>
  %6 = vx.sub %0, %5 : tensor<20x32xf32>, tensor<20x32xf32>
  return %6 : tensor<20x32xf32>
}

// -----

// A product with a strategy of its own has none.
// CPU-LABEL: func.func @product(
// CPU-NOT:     vx.loops_reason
// GPU-LABEL: func.func @product(
// GPU-NOT:     vx.loops_reason
func.func @product(%a: tensor<20x64xf32>, %b: tensor<64x32xf32>) -> tensor<20x32xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<20x64xf32>, tensor<64x32xf32>
  return %0 : tensor<20x32xf32>
}
