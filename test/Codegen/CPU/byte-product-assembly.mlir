// RUN: vx-opt %s "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32 byte-dots=true},vx-cpu-lowering{variant=avx512+vnni},vx-cpu-print-assembly{variant=avx512+vnni})" -o /dev/null > %t.vnni
// RUN: %python %S/Inputs/hot-loops.py < %t.vnni | FileCheck %s --check-prefix=VNNI
// RUN: FileCheck %s --check-prefix=DOT < %t.vnni
// RUN: vx-opt %s "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32},vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})" -o /dev/null | %python %S/Inputs/hot-loops.py | FileCheck %s --check-prefix=AVX512
// RUN: vx-opt %s "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=256 registers=16},vx-cpu-lowering{variant=x86-64-v3},vx-cpu-print-assembly{variant=x86-64-v3})" -o /dev/null | %python %S/Inputs/hot-loops.py | FileCheck %s --check-prefix=V3

// With VNNI one instruction is four products for each of 16 sums. Without it each factor is widened to two registers of 16 bits, so that
// fewer sums fit. Nothing is spilled.
// VNNI:        packed:
// VNNI-NEXT:     24 multiply-adds, 0 of them scalar, in 3{{[0-9]}} instructions, 0 of them on the stack
// DOT:         vpdpbusd
// DOT-NOT:     vpmaddwd
// AVX512:      packed:
// AVX512-NEXT:   32 multiply-adds, 0 of them scalar, in {{[0-9]+}} instructions, 0 of them on the stack
// V3:          packed:
// V3-NEXT:       16 multiply-adds, 0 of them scalar, in {{[0-9]+}} instructions, 0 of them on the stack
vx.kernel @packed "x" symbols [] workgroups <48> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1024x1020xui8>, %p: tensor<64x255x16x4xi8>):
  %b = vx.unpack %p dim = 1 permutation = [1, 0] inner = 4 : tensor<64x255x16x4xi8> -> tensor<1020x1024xi8>
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = i32 {vx.anchor} : tensor<1024x1020xui8>, tensor<1020x1024xi8>
  vx.yield %0 : tensor<1024x1024xi32>
}
