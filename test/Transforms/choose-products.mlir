// How products are computed: the choice of each target.
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=cpu})' | FileCheck %s --check-prefix=CPU
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=cuda})' | FileCheck %s --check-prefix=CUDA
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=vulkan variants=baseline})' | FileCheck %s --check-prefix=VULKAN
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-fused{target=cpu},vx-kernels{target=cpu})' | FileCheck %s --check-prefix=KERNELS --implicit-check-not=vx.product
// RUN: not vx-opt %s --pass-pipeline='builtin.module(func.func(vx-choose-products))' 2>&1 | FileCheck %s --check-prefix=ALONE

// ALONE: error: 'vx-choose-products' expects a target, as the pipeline 'vx-fused' gives it, got none

// A kernel has its strategy, and no choice any more: equal kernels are equal text.
// KERNELS: vx.kernel
// KERNELS: #vx.cpu_product<

// A weight is packed once, a second factor of the call only for many rows.
// CPU-LABEL: func.func @contractions(
// CPU:         vx.contract {{.*}}vx.product = #vx.product<family = cpu_product, packed = true>
// CPU:         vx.contract {{.*}}vx.product = #vx.product<family = cpu_product>
// CPU:         vx.contract {{.*}}vx.product = #vx.product<family = cpu_product, packed = true>
// CUDA-LABEL: func.func @contractions(
// CUDA-COUNT-3: vx.contract {{.*}}vx.product = #vx.product<family = tiled_product>
func.func @contractions(%x: tensor<40x256xf32>, %y: tensor<256x256xf32>, %z: tensor<512x256xf32>)
    -> (tensor<40x256xf32>, tensor<40x256xf32>, tensor<512x256xf32>) {
  %w = vx.constant dense_resource<w> : tensor<256x256xf32>
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<40x256xf32>, tensor<256x256xf32>
  %1 = vx.contract %x, %y batch = [] x [] contracting = [1] x [0] : tensor<40x256xf32>, tensor<256x256xf32>
  %2 = vx.contract %z, %y batch = [] x [] contracting = [1] x [0] : tensor<512x256xf32>, tensor<256x256xf32>
  return %0, %1, %2 : tensor<40x256xf32>, tensor<40x256xf32>, tensor<512x256xf32>
}

// A matrix of which each element is read once may be computed in the kernel of its product with a vector.
// CUDA-LABEL: func.func @vector(
// CUDA:         vx.fusion
// CUDA:         vx.mul
// CUDA-NEXT:    vx.contract {{.*}}vx.product = #vx.product<family = rows, prologue = 1>
// CUDA-NOT:     vx.fusion
// CUDA:         return
// A row of a product is read by all columns: its producer is another kernel.
// CUDA-LABEL: func.func @row(
// CUDA:         vx.fusion
// CUDA:         vx.mul
// CUDA:         vx.fusion
// CUDA:         vx.contract {{.*}}family = rows, prologue = 1
func.func @vector(%x: tensor<1x64xf32>, %a: tensor<64x256xf32>, %b: tensor<64x256xf32>) -> tensor<1x256xf32> {
  %m = vx.mul %a, %b : tensor<64x256xf32>, tensor<64x256xf32>
  %0 = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<1x64xf32>, tensor<64x256xf32>
  return %0 : tensor<1x256xf32>
}
func.func @row(%x: tensor<1x64xf32>, %y: tensor<1x64xf32>, %b: tensor<64x256xf32>) -> tensor<1x256xf32> {
  %m = vx.mul %x, %y : tensor<1x64xf32>, tensor<1x64xf32>
  %0 = vx.contract %m, %b batch = [] x [] contracting = [1] x [0] : tensor<1x64xf32>, tensor<64x256xf32>
  return %0 : tensor<1x256xf32>
}

// Fragments of f16 read eight channels together; three channels alone are moved for nothing. Factors of f32 have no fragments.
// CUDA-LABEL: func.func @halves(
// CUDA:         vx.conv {{.*}} channels_last {{.*}}family = mma, channels_last = true, packed = true
// CUDA-LABEL: func.func @few_channels(
// CUDA:         vx.conv {{.*}}vx.product = #vx.product<family = mma>
// CUDA-LABEL: func.func @floats(
// CUDA:         vx.conv {{.*}}vx.product = #vx.product<family = tiled_product>
// CUDA-LABEL: func.func @rounded(
// CUDA:         vx.conv {{.*}} channels_last factors = tf32 {{.*}}family = mma, channels_last = true, packed = true
// VULKAN-LABEL: func.func @halves(
// VULKAN:         vx.conv {{.*}}vx.product = #vx.product<family = tiled_product>
func.func @halves(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x54x54xf16> {
  %w = vx.constant dense_resource<w> : tensor<64x64x3x3xf16>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>
  return %0 : tensor<1x64x54x54xf16>
}
func.func @few_channels(%x: tensor<1x3x8x8xf16>) -> tensor<1x16x6x6xf16> {
  %w = vx.constant dense_resource<w> : tensor<16x3x3x3xf16>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x3x8x8xf16>, tensor<16x3x3x3xf16>
  return %0 : tensor<1x16x6x6xf16>
}
func.func @floats(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x6x6xf32> {
  %w = vx.constant dense_resource<w> : tensor<16x16x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>
  return %0 : tensor<1x16x6x6xf32>
}
func.func @rounded(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x54x54xf32> {
  %w = vx.constant dense_resource<w> : tensor<64x64x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 factors = tf32 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>
  return %0 : tensor<1x64x54x54xf32>
}

// Convolutions behind one another have one layout: that of the faster sum. The gradient of a filter has channels last only.
// CPU-LABEL: func.func @region(
// CPU:         vx.conv {{.*}} channels_last {{.*}}family = cpu_product, channels_last = true, packed = true
// CPU:         vx.conv {{.*}} channels_last {{.*}}family = cpu_depthwise, channels_last = true, packed = true
// CPU-LABEL: func.func @alone(
// CPU:         vx.conv {{.*}}groups = 64 {{.*}}vx.product = #vx.product<family = loops, reason = layout>
// CPU-LABEL: func.func @bytes(
// CPU:         vx.conv {{.*}} channels_last {{.*}}family = cpu_product, channels_last = true, packed = true, neighbours = 4
// CPU-LABEL: func.func @filter(
// CPU:         vx.conv_filter {{.*}} channels_last {{.*}}family = cpu_product, channels_last = true
func.func @region(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %v = vx.constant dense_resource<v> : tensor<64x64x1x1xf32>
  %w = vx.constant dense_resource<w> : tensor<64x1x3x3xf32>
  %0 = vx.conv %x, %v strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>
  %1 = vx.conv %0, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  return %1 : tensor<1x64x56x56xf32>
}
func.func @alone(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense_resource<w> : tensor<64x1x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  return %0 : tensor<1x64x56x56xf32>
}
func.func @bytes(%x: tensor<1x64x14x14xui8>) -> tensor<1x64x14x14xi32> {
  %w = vx.constant dense_resource<w> : tensor<64x64x3x3xi8>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 sums = i32 : tensor<1x64x14x14xui8>, tensor<64x64x3x3xi8>
  return %0 : tensor<1x64x14x14xi32>
}
func.func @filter(%x: tensor<2x5x8x9xf32>, %g: tensor<2x7x6x4xf32>) -> tensor<7x5x3x2xf32> {
  %0 = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<2>] strides = [1, 2] dilations = [2, 1] pads = [1, 0] groups = 1 : tensor<2x5x8x9xf32>, tensor<2x7x6x4xf32>
  return %0 : tensor<7x5x3x2xf32>
}

// A weight of bytes in blocks is packed as it is. More than 8 rows have the sums that any number of rows has.
// CPU-LABEL: func.func @bytes_in_blocks(
// CPU:         vx.contract {{.*}}vx.product = #vx.product<family = cpu_product, packed = true>
// CPU-LABEL: func.func @rows_by_column(
// CPU:         vx.contract {{.*}}vx.product = #vx.product<family = cpu_product>
// CPU:         vx.contract {{.*}}vx.product = #vx.product<family = loops, reason = narrow>
func.func @bytes_in_blocks(%x: tensor<3x2x2xf32>) -> tensor<3x32xf32> {
  %w = vx.constant dense_resource<w> : tensor<32x2x2xui8>
  %f = vx.cast %w : tensor<32x2x2xui8> -> tensor<32x2x2xf32>
  %0 = vx.contract %x, %f batch = [] x [] contracting = [1, 2] x [1, 2] : tensor<3x2x2xf32>, tensor<32x2x2xf32>
  return %0 : tensor<3x32xf32>
}
func.func @rows_by_column(%x: tensor<9x64xf32>, %y: tensor<8x64xf32>, %v: tensor<1x64xf32>) -> (tensor<9x1xf32>, tensor<8x1xf32>) {
  %0 = vx.contract %x, %v batch = [] x [] contracting = [1] x [1] : tensor<9x64xf32>, tensor<1x64xf32>
  %1 = vx.contract %y, %v batch = [] x [] contracting = [1] x [1] : tensor<8x64xf32>, tensor<1x64xf32>
  return %0, %1 : tensor<9x1xf32>, tensor<8x1xf32>
}
