// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=vulkan})' | FileCheck %s
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=cuda variants=sm_80})' | FileCheck %s --check-prefix=MMA
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=cpu})' | FileCheck %s --check-prefix=CPU

// What each target makes of an anchor and its sizes, field by field.

// Neighbours along the last dimension for each thread.
// CHECK-LABEL: func.func @elementwise(
// CHECK:         vx.fusion{{.*}} #vx.elementwise<tile = [1, 1024], lanes = 4, threads = 256> {
// CPU-LABEL:   func.func @elementwise(
// CPU:           vx.fusion{{.*}} #vx.loops<tile = [16, 0]> {
func.func @elementwise(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %0 = vx.exp %x : tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}

// All threads of a workgroup share a long row.
// CHECK-LABEL: func.func @long_rows(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [1, 0], sharing = workgroup, runs = 4, lanes = 4, threads = 256> {
func.func @long_rows(%x: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %0 = vx.softmax %x axis = 1 : tensor<64x4096xf32>
  return %0 : tensor<64x4096xf32>
}

// A subgroup has a row, where there are many.
// CHECK-LABEL: func.func @many_rows(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [4], sharing = subgroup, runs = 4, lanes = 4, threads = 128> {
func.func @many_rows(%x: tensor<4096x512xf32>) -> tensor<4096xf32> {
  %0 = vx.reduce sum %x axes = [1] : tensor<4096x512xf32>
  return %0 : tensor<4096xf32>
}

// A thread has a whole row, where they are short.
// CHECK-LABEL: func.func @short_rows(
// CHECK:         vx.fusion{{.*}} #vx.thread_rows<tile = [64, 0], threads = 64> {
func.func @short_rows(%x: tensor<4096x10xf32>) -> tensor<4096x10xf32> {
  %0 = vx.softmax %x axis = 1 : tensor<4096x10xf32>
  return %0 : tensor<4096x10xf32>
}

// Neighbouring threads have neighbouring rows, where these lie so.
// CHECK-LABEL: func.func @columns(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [8], sharing = columns, runs = 8, lanes = 1, threads = 256> {
func.func @columns(%x: tensor<4096x512xf32>) -> tensor<512xf32> {
  %0 = vx.reduce sum %x axes = [0] : tensor<4096x512xf32>
  return %0 : tensor<512xf32>
}

// The elements of all rounds are in registers at a time: of sixteen tensors those of four rounds.
// CHECK-LABEL: func.func @columns_of_many(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [8], sharing = columns, runs = 4, lanes = 1, threads = 256> {
func.func @columns_of_many(%x0: tensor<4096x512xf32>, %x1: tensor<4096x512xf32>, %x2: tensor<4096x512xf32>, %x3: tensor<4096x512xf32>, %x4: tensor<4096x512xf32>, %x5: tensor<4096x512xf32>, %x6: tensor<4096x512xf32>, %x7: tensor<4096x512xf32>, %x8: tensor<4096x512xf32>, %x9: tensor<4096x512xf32>, %x10: tensor<4096x512xf32>, %x11: tensor<4096x512xf32>, %x12: tensor<4096x512xf32>, %x13: tensor<4096x512xf32>, %x14: tensor<4096x512xf32>, %x15: tensor<4096x512xf32>) -> tensor<512xf32> {
  %1 = vx.add %x0, %x1 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %2 = vx.add %1, %x2 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %3 = vx.add %2, %x3 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %4 = vx.add %3, %x4 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %5 = vx.add %4, %x5 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %6 = vx.add %5, %x6 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %7 = vx.add %6, %x7 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %8 = vx.add %7, %x8 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %9 = vx.add %8, %x9 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %10 = vx.add %9, %x10 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %11 = vx.add %10, %x11 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %12 = vx.add %11, %x12 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %13 = vx.add %12, %x13 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %14 = vx.add %13, %x14 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %15 = vx.add %14, %x15 : tensor<4096x512xf32>, tensor<4096x512xf32>
  %r = vx.reduce sum %15 axes = [0] : tensor<4096x512xf32>
  return %r : tensor<512xf32>
}

// The anchor decides, whatever follows it.
// CHECK-LABEL: func.func @product(
// CHECK:         vx.fusion{{.*}} #vx.tiled_product<tile = [32, 16], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
// CPU-LABEL:   func.func @product(
// CPU:           vx.fusion{{.*}} #vx.cpu_product<tile = [132, 192]> {
func.func @product(%x: tensor<512x256xf32>, %w: tensor<256x384xf32>) -> tensor<512x384xf32> {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<512x256xf32>, tensor<256x384xf32>
  %1 = vx.exp %0 : tensor<512x384xf32>
  return %1 : tensor<512x384xf32>
}

// Matrix fragments, where the variant has them for the factors.
// CHECK-LABEL: func.func @narrow_product(
// CHECK:         vx.fusion{{.*}} #vx.tiled_product<tile = [32, 16], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
// MMA-LABEL:   func.func @narrow_product(
// MMA:           vx.fusion{{.*}} #vx.mma<tile = [64, 32], step = 32, stages = 4, threads = 256> {
func.func @narrow_product(%x: tensor<512x256xf16>, %w: tensor<256x384xf16>) -> tensor<512x384xf32> {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] sums = f32 : tensor<512x256xf16>, tensor<256x384xf16>
  return %0 : tensor<512x384xf32>
}

// A matrix times a vector is a sum of each row.
// CHECK-LABEL: func.func @vector(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [1, 1], sharing = workgroup, runs = 1, lanes = 4, threads = 128> {
func.func @vector(%x: tensor<512x256xf32>, %w: tensor<256x1xf32>) -> tensor<512x1xf32> {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<512x256xf32>, tensor<256x1xf32>
  return %0 : tensor<512x1xf32>
}

// Of a weight of few bits a thread reads eight neighbours at once, and a subgroup has a long row, where there are many.
// CHECK-LABEL: func.func @blocks_by_vector(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [1, 4], sharing = subgroup, runs = 4, lanes = 8, threads = 128> {
// CHECK-LABEL: func.func @few_blocks_by_vector(
// CHECK:         vx.fusion{{.*}} #vx.rows<tile = [1, 1], sharing = workgroup, runs = 2, lanes = 8, threads = 256> {
func.func @blocks_by_vector(%x: tensor<1x4096xf32>) -> tensor<1x2048xf32> {
  %w = vx.constant dense_resource<many> : tensor<2048x4352xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<2048x4352xui8>
  %0 = vx.contract %x, %d batch = [] x [] contracting = [1] x [1] : tensor<1x4096xf32>, tensor<2048x4096xf32>
  return %0 : tensor<1x2048xf32>
}
func.func @few_blocks_by_vector(%x: tensor<1x4096xf32>) -> tensor<1x512xf32> {
  %w = vx.constant dense_resource<few> : tensor<512x4352xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<512x4352xui8>
  %0 = vx.contract %x, %d batch = [] x [] contracting = [1] x [1] : tensor<1x4096xf32>, tensor<512x4096xf32>
  return %0 : tensor<1x512xf32>
}

// The filters and a box of places.
// CHECK-LABEL: func.func @conv(
// CHECK:         vx.fusion{{.*}} #vx.tiled_product<tile = [1, 32, 1, 16], block_rows = 4, block_columns = 4, step = 8, slices = 4> {
// CPU-LABEL:   func.func @conv(
// CPU:           vx.fusion{{.*}} #vx.cpu_product<tile = [1, 4, 0, 0]> {
func.func @conv(%x: tensor<1x16x32x32xf32>, %w: tensor<64x16x3x3xf32>) -> tensor<1x64x32x32xf32> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 : tensor<1x16x32x32xf32>, tensor<64x16x3x3xf32>
  return %0 : tensor<1x64x32x32xf32>
}

// Few filters a group fill vectors together, more are a product for each group: columns are cut between groups.
// CPU-LABEL:   func.func @conv_few(
// CPU:           vx.fusion{{.*}} #vx.cpu_depthwise<tile = [1, 1, 0, 0]> {
func.func @conv_few(%x: tensor<1x32x32x128xf32>, %w: tensor<128x4x3x3xf32>) -> tensor<1x32x32x128xf32> {
  %0 = vx.transpose %x, [0, 3, 1, 2] : tensor<1x32x32x128xf32>
  %1 = vx.conv %0, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 32 : tensor<1x128x32x32xf32>, tensor<128x4x3x3xf32>
  %2 = vx.transpose %1, [0, 2, 3, 1] : tensor<1x128x32x32xf32>
  return %2 : tensor<1x32x32x128xf32>
}
// CPU-LABEL:   func.func @conv_many(
// CPU:           vx.fusion{{.*}} #vx.cpu_product<tile = [1, 0, 0, 48]> {
func.func @conv_many(%x: tensor<1x240x7x7xf32>, %w: tensor<240x24x3x3xf32>) -> tensor<1x240x7x7xf32> {
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 10 : tensor<1x240x7x7xf32>, tensor<240x24x3x3xf32>
  return %0 : tensor<1x240x7x7xf32>
}
// CPU-LABEL:   func.func @conv_line(
// CPU:           vx.fusion{{.*}} #vx.cpu_depthwise<tile = [1, {{[0-9]+}}, 0]> {
func.func @conv_line(%x: tensor<1x512x64xf32>, %w: tensor<64x1x3xf32>) -> tensor<1x512x64xf32> {
  %0 = vx.transpose %x, [0, 2, 1] : tensor<1x512x64xf32>
  %1 = vx.conv %0, %w strides = [1] dilations = [1] pads = [1] x [1] groups = 64 : tensor<1x64x512xf32>, tensor<64x1x3xf32>
  %2 = vx.transpose %1, [0, 2, 1] : tensor<1x64x512xf32>
  return %2 : tensor<1x512x64xf32>
}

// What moves elements is elementwise.
// CHECK-LABEL: func.func @gather(
// CHECK:         vx.fusion{{.*}} #vx.elementwise<tile = [2, 64], lanes = 1, threads = 128> {
func.func @gather(%x: tensor<100x64xf32>, %i: tensor<7xi64>) -> tensor<7x64xf32> {
  %0 = vx.gather %x, %i axis = 0 : tensor<100x64xf32>, tensor<7xi64>
  return %0 : tensor<7x64xf32>
}

// One worker counts.
// CHECK-LABEL: func.func @serial(
// CHECK:         vx.fusion{{.*}} #vx.serial {
// CPU-LABEL:   func.func @serial(
// CPU:           vx.fusion{{.*}} #vx.serial {
func.func @serial(%x: tensor<100xf32>) -> tensor<i64> {
  %0 = vx.count_nonzero %x : tensor<100xf32>
  return %0 : tensor<i64>
}

// Rows of several dimensions are one; short ones are counted together where a bias for each item keeps them apart. Weights that are
// packed repay a product of one row, too.
// CPU-LABEL:   func.func @rows_of_one(
// CPU:           vx.fusion{{.*}} #vx.cpu_product<tile = [132, 192]> {
func.func @rows_of_one(%x: tensor<512x1x256xf32>, %w: tensor<256x384xf32>) -> tensor<512x1x384xf32> {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [2] x [0] : tensor<512x1x256xf32>, tensor<256x384xf32>
  return %0 : tensor<512x1x384xf32>
}
// CPU-LABEL:   func.func @rows_of_two(
// CPU:           vx.fusion{{.*}} #vx.cpu_product<tile = [66, 0, 192]> {
func.func @rows_of_two(%x: tensor<512x2x256xf32>, %w: tensor<256x384xf32>, %bias: tensor<512x384xf32>) -> tensor<512x2x384xf32> {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [2] x [0] : tensor<512x2x256xf32>, tensor<256x384xf32>
  %1 = vx.broadcast %bias, [0, 2] : tensor<512x384xf32> -> tensor<512x2x384xf32>
  %2 = vx.add %0, %1 : tensor<512x2x384xf32>, tensor<512x2x384xf32>
  return %2 : tensor<512x2x384xf32>
}
// CPU-LABEL:   func.func @packed_row(
// CPU:           vx.fusion{{.*}} #vx.cpu_product<tile = [132, {{.+}}]> {
func.func @packed_row(%x: tensor<1x256xf32>) -> tensor<1x384xf32> {
  %w = vx.constant dense_resource<w> : tensor<384x256xf32>
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [1] : tensor<1x256xf32>, tensor<384x256xf32>
  return %0 : tensor<1x384xf32>
}

// The best elements of rows, and boxes by these.
// CHECK-LABEL: func.func @top_places(
// CHECK:         vx.fusion{{.*}} #vx.sort<tile = [1, 0], threads = 256> {
// CPU-LABEL:   func.func @top_places(
// CPU:           vx.fusion{{.*}} #vx.cpu_sort<tile = [2, 0]> {
func.func @top_places(%x: tensor<64x4096xf32>) -> tensor<64x9xi64> {
  %0 = vx.top_places %x count = 9 : tensor<64x4096xf32>
  return %0 : tensor<64x9xi64>
}
// CHECK-LABEL: func.func @select_boxes(
// CHECK:         vx.fusion{{.*}} #vx.sort<tile = [1, 1, 0], threads = 128> {
// CPU-LABEL:   func.func @select_boxes(
// CPU:           vx.fusion{{.*}} #vx.cpu_sort<tile = [1, 1, 0]> {
func.func @select_boxes(%b: tensor<1x9x4xf32>, %s: tensor<1x2x9xf32>, %o: tensor<f32>, %l: tensor<f32>) -> tensor<1x2x3xi64> {
  %0 = vx.select_boxes %b, %s overlap(%o) least(%l) : tensor<1x9x4xf32>, tensor<1x2x9xf32> -> tensor<1x2x3xi64>
  return %0 : tensor<1x2x3xi64>
}

// A token and a head each: on a GPU with several threads for each place of a page.
// CHECK-LABEL: func.func @paged_attention(
// CHECK:         vx.fusion{{.*}} #vx.loops<tile = [1, 1, 0], threads = 128> {
// CPU-LABEL:   func.func @paged_attention(
// CPU:           vx.fusion{{.*}} #vx.loops<tile = [1, 1, 0]> {
func.func @paged_attention(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) -> tensor<5x8x64xf32> {
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return %0 : tensor<5x8x64xf32>
}

// CHECK-LABEL: func.func @deep_paged_attention(
// CHECK:         vx.fusion{{.*}} #vx.loops<tile = [1, 1, 0], threads = 256> {
// CPU-LABEL:   func.func @deep_paged_attention(
func.func @deep_paged_attention(%q: tensor<5x8x256xf32>, %k: tensor<9x2x32x256xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) -> tensor<5x8x256xf32> {
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x256xf32>, tensor<9x2x32x256xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return %0 : tensor<5x8x256xf32>
}

// Several places for each thread, so that a search serves them all.
// CHECK-LABEL: func.func @merge_runs(
// CHECK:         vx.fusion{{.*}} #vx.loops<tile = [1, 1024], threads = 128> {
// CPU-LABEL:   func.func @merge_runs(
// CPU:           vx.fusion{{.*}} #vx.loops<tile = [1, 4096]> {
func.func @merge_runs(%k: tensor<2x65536x1xf32>, %p: tensor<2x65536xi64>, %l: tensor<i64>) -> tensor<2x65536xi64> {
  %0 = vx.merge_runs %k, %p level(%l) : tensor<2x65536x1xf32>, tensor<2x65536xi64>
  return %0 : tensor<2x65536xi64>
}

// Whole lines for a CPU; a GPU has sums of blocks instead.
// CHECK-LABEL: func.func @cumulative_sum(
// CHECK-NOT:     vx.cumulative_sum
// CHECK:         return
// CPU-LABEL:   func.func @cumulative_sum(
// CPU:           vx.fusion{{.*}} #vx.loops<tile = [1, 0, 256]> {
func.func @cumulative_sum(%x: tensor<2x65536x300xf32>) -> tensor<2x65536x300xf32> {
  %0 = vx.cumulative_sum %x : tensor<2x65536x300xf32>
  return %0 : tensor<2x65536x300xf32>
}
{-#
  dialect_resources: { builtin: { w: "0x04000000" } }
#-}

// Sums of columns fill a vector, however long they are; sums of rows are shared out one by one.
// CPU-LABEL:   func.func @column_sums(
// CPU:           vx.fusion{{.*}} #vx.loops<tile = [16]> {
func.func @column_sums(%x: tensor<65536x32xf32>) -> tensor<32xf32> {
  %0 = vx.reduce sum %x axes = [0] : tensor<65536x32xf32>
  return %0 : tensor<32xf32>
}
// CPU-LABEL:   func.func @row_sums(
// CPU:           vx.fusion{{.*}} #vx.loops<tile = [1]> {
func.func @row_sums(%x: tensor<32x65536xf32>) -> tensor<32xf32> {
  %0 = vx.reduce sum %x axes = [1] : tensor<32x65536xf32>
  return %0 : tensor<32xf32>
}
