// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32},vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})" -o /dev/null | %python %S/Inputs/hot-loops.py | FileCheck %s --check-prefix=AVX512
// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=256 registers=16},vx-cpu-lowering{variant=x86-64-v3},vx-cpu-print-assembly{variant=x86-64-v3})" -o /dev/null | %python %S/Inputs/hot-loops.py | FileCheck %s --check-prefix=V3

// What the loops over k are made of: as many multiply-adds as registers hold sums, the loads for them, a step and a jump. Nothing
// is spilled, and the rows that do not fill a tile are vectors too.
// AVX512:      packed:
// AVX512-NEXT:   24 multiply-adds, 0 of them scalar, in 3{{[0-9]}} instructions, 0 of them on the stack
// AVX512-NEXT:   16 multiply-adds, 0 of them scalar, in 2{{[0-9]}} instructions, 0 of them on the stack
// V3:          packed:
// V3-NEXT:       12 multiply-adds, 0 of them scalar, in 2{{[0-9]}} instructions, 0 of them on the stack

vx.kernel @packed "x" symbols [] workgroups <48> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1024x1024xf32>, %p: tensor<64x1024x16xf32>):
  %b = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<64x1024x16xf32> -> tensor<1024x1024xf32>
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  vx.yield %0 : tensor<1024x1024xf32>
}

// -----

// AVX512:      conv3x3:
// AVX512-NEXT:   24 multiply-adds, 0 of them scalar, in 3{{[0-9]}} instructions, 0 of them on the stack
// AVX512-NOT:    {{[1-9][0-9]*}} of them scalar
// AVX512-NOT:    {{[1-9][0-9]*}} of them on the stack
// V3:          conv3x3:
// V3-NEXT:       12 multiply-adds, 0 of them scalar, in 2{{[0-9]}} instructions, 0 of them on the stack
// V3-NOT:        {{[1-9][0-9]*}} of them scalar
// V3-NOT:        {{[1-9][0-9]*}} of them on the stack
vx.kernel @conv3x3 "x" symbols [] workgroups <28> #vx.cpu_product<tile = [1, 2, 0, 0]> {
^bb0(%x: tensor<1x56x56x64xf32>, %p: tensor<4x3x3x64x16xf32>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<4x3x3x64x16xf32> -> tensor<64x64x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last {vx.anchor} : tensor<1x56x56x64xf32>, tensor<64x64x3x3xf32>
  vx.yield %0 : tensor<1x56x56x64xf32>
}
