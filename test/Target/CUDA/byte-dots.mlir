// RUN: vx-compile %s --target=cuda --stop-after=target -o - | FileCheck %s
// RUN: vx-compile %s --target=rocm --stop-after=target -o - | FileCheck %s --check-prefix=ROCM
// RUN: vx-compile %s --target=vulkan --stop-after=target -o - | FileCheck %s --check-prefix=VULKAN

// Four products of bytes are one instruction. The four channels of a place and of a filter are one word in memory, in place of which there are
// zeros where the window reaches over the end. 38 products are nine words and a half: their bytes are read one by one.
// CHECK-LABEL: kernel unpack_conv
// CHECK-NOT:     -> i8
// CHECK:         llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xi8>
// CHECK-NOT:     -> i8
// CHECK:         nvvm.dot.accumulate.4way %{{.+}} <unsigned>, %{{.+}} <signed>
// CHECK-LABEL: kernel contract
// CHECK-NOT:     -> vector<4xi8>
// CHECK:         llvm.load {{.+}} -> i8
// CHECK-NOT:     -> vector<4xi8>
// CHECK:         nvvm.dot.accumulate.4way %{{.+}} <unsigned>, %{{.+}} <signed>
// With three channels a convolution has them first, and the filters are the rows of its tiles.
// CHECK-LABEL: kernel conv
// CHECK:         llvm.load {{.+}} -> i8
// CHECK:         nvvm.dot.accumulate.4way %{{.+}} <signed>, %{{.+}} <unsigned>
// ROCm multiplies and adds at once, and Vulkan does neither.
// ROCM-NOT:      nvvm.dot
// ROCM:          llvm.inline_asm "v_mad_i32_i24 $0, $1, $2, $3", "=v,v,v,v"
// VULKAN:        spirv.IMul
func.func @main(%x: tensor<1x64x16x16xui8> {vx.name = "x"}, %a: tensor<64x38xui8> {vx.name = "a"}, %b: tensor<96x38xi8> {vx.name = "b"})
    -> (tensor<1x32x16x16xi32> {vx.name = "conv"}, tensor<64x96xi32> {vx.name = "product"}) {
  %w = vx.constant dense<3> : tensor<32x64x3x3xi8>
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 sums = i32 : tensor<1x64x16x16xui8>, tensor<32x64x3x3xi8>
  %p = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = i32 : tensor<64x38xui8>, tensor<96x38xi8>
  return %r, %p : tensor<1x32x16x16xi32>, tensor<64x96xi32>
}
func.func @three(%x: tensor<1x3x32x32xui8> {vx.name = "x"}) -> (tensor<1x32x32x32xi32> {vx.name = "conv"}) {
  %w = vx.constant dense<3> : tensor<32x3x3x3xi8>
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 sums = i32 : tensor<1x3x32x32xui8>, tensor<32x3x3x3xi8>
  return %r : tensor<1x32x32x32xi32>
}
