// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32},vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})" -o /dev/null > %t
// RUN: %python %S/Inputs/hot-loops.py < %t | FileCheck %s --check-prefix=LOOPS
// RUN: FileCheck %s --check-prefix=ASM < %t

// A few rows decode the integers as they load them: the numbers of a column, or of a block, are in registers.
// LOOPS:      few_rows:
// LOOPS-NEXT:   8 multiply-adds, 0 of them scalar, in {{[34]}}{{[0-9]}} instructions, 0 of them on the stack
// LOOPS:      blocks:
// LOOPS-NEXT:   4 multiply-adds, 0 of them scalar, in 2{{[0-9]}} instructions, 0 of them on the stack
// Many rows read what was decoded once for them.
// LOOPS:      many_rows:
// LOOPS-NEXT:   24 multiply-adds, 0 of them scalar, in 4{{[0-9]}} instructions

// Integers of 4 bits that are converted and nothing else: a table in a register has their floats.
// LOOPS:      halves:
// LOOPS-NEXT:   8 multiply-adds, 0 of them scalar, in 2{{[0-9]}} instructions, 0 of them on the stack

// The same of a block, whose scale and minimum its sum has: outside of the loop, each is one load of 16 neighbours.
// LOOPS:      block_sums:
// LOOPS-NEXT:   8 multiply-adds, 0 of them scalar, in {{2[0-9]|3[0-4]}} instructions, 0 of them on the stack

// ASM-LABEL: few_rows:
// ASM:         vpmovsxbd {{.*}}(%
// ASM:         vcvtdq2ps
// ASM:         vfmadd
// ASM-LABEL: blocks:
// ASM:         vpmovzxbq {{.*}}(%
// ASM:         vcvtdq2ps
// ASM:         vfmadd
// Beyond the last column no scale is read.
// ASM-LABEL: odd:
// ASM:         vmovups {{.*}}(%r{{.*}}), %zmm{{[0-9]+}} {%k{{[0-9]}}} {z}
// ASM:         vfmadd
vx.kernel @few_rows "x" symbols [] workgroups <6> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1x1000xf32>, %p: tensor<16x1000x64xi8>, %s: tensor<1024xf32>):
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<16x1000x64xi8> -> tensor<1000x1024xi8>
  %c = vx.cast %u : tensor<1000x1024xi8> -> tensor<1000x1024xf32>
  %b = vx.broadcast %s, [1] : tensor<1024xf32> -> tensor<1000x1024xf32>
  %d = vx.mul %c, %b : tensor<1000x1024xf32>, tensor<1000x1024xf32>
  %0 = vx.contract %a, %d batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<1x1000xf32>, tensor<1000x1024xf32>
  vx.yield %0 : tensor<1x1024xf32>
}

// -----

vx.kernel @blocks "x" symbols [] workgroups <6> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1x32x32xf32>, %p: tensor<16x32x32x64xui4>, %s: tensor<32x1x1024xf32>):
  %u = vx.unpack %p dim = 2 permutation = [2, 0, 1] : tensor<16x32x32x64xui4> -> tensor<32x32x1024xui4>
  %c = vx.cast %u : tensor<32x32x1024xui4> -> tensor<32x32x1024xf32>
  %b = vx.broadcast %s, [0, 1, 2] : tensor<32x1x1024xf32> -> tensor<32x32x1024xf32>
  %d = vx.mul %c, %b : tensor<32x32x1024xf32>, tensor<32x32x1024xf32>
  %0 = vx.contract %a, %d batch = [] x [] contracting = [1, 2] x [0, 1] {vx.anchor} : tensor<1x32x32xf32>, tensor<32x32x1024xf32>
  vx.yield %0 : tensor<1x1024xf32>
}

// -----

vx.kernel @many_rows "x" symbols [] workgroups <6> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<512x1000xf32>, %p: tensor<16x1000x64xi8>, %s: tensor<1024xf32>):
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<16x1000x64xi8> -> tensor<1000x1024xi8>
  %c = vx.cast %u : tensor<1000x1024xi8> -> tensor<1000x1024xf32>
  %b = vx.broadcast %s, [1] : tensor<1024xf32> -> tensor<1000x1024xf32>
  %d = vx.mul %c, %b : tensor<1000x1024xf32>, tensor<1000x1024xf32>
  %0 = vx.contract %a, %d batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<512x1000xf32>, tensor<1000x1024xf32>
  vx.yield %0 : tensor<512x1024xf32>
}

// -----

vx.kernel @odd "x" symbols [] workgroups <1> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1x1000xf32>, %p: tensor<3x1000x16xi8>, %s: tensor<41xf32>):
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<3x1000x16xi8> -> tensor<1000x41xi8>
  %c = vx.cast %u : tensor<1000x41xi8> -> tensor<1000x41xf32>
  %b = vx.broadcast %s, [1] : tensor<41xf32> -> tensor<1000x41xf32>
  %d = vx.mul %c, %b : tensor<1000x41xf32>, tensor<1000x41xf32>
  %0 = vx.contract %a, %d batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<1x1000xf32>, tensor<1000x41xf32>
  vx.yield %0 : tensor<1x41xf32>
}

// -----

// ASM-LABEL: halves:
// ASM:         vpmovzxbd {{.*}}(%
// ASM:         vperm{{ps|d}} %zmm
// ASM:         vpsrld $4
// ASM:         vfmadd
vx.kernel @halves "x" symbols [] workgroups <6> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1x1000xf32>, %p: tensor<16x1000x64xi4>):
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<16x1000x64xi4> -> tensor<1000x1024xi4>
  %c = vx.cast %u : tensor<1000x1024xi4> -> tensor<1000x1024xf32>
  %0 = vx.contract %a, %c batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<1x1000xf32>, tensor<1000x1024xf32>
  vx.yield %0 : tensor<1x1024xf32>
}

// -----

// ASM-LABEL: block_sums:
// ASM:         vperm{{ps|d}} %zmm
// ASM:         vfmadd
// ASM:         vcvtph2ps {{.*}}(%
vx.kernel @block_sums "x" symbols [] workgroups <6> #vx.cpu_product<tile = [132, 192]> {
^bb0(%a: tensor<1x32x32xf32>, %p: tensor<16x32x32x64xui4>, %s: tensor<32x32x32xf16>, %m: tensor<32x32x32xf16>):
  %u = vx.unpack %p dim = 0 permutation = [0, 1, 2] : tensor<16x32x32x64xui4> -> tensor<1024x32x32xui4>
  %c = vx.cast %u : tensor<1024x32x32xui4> -> tensor<1024x32x32xf32>
  %su = vx.unpack %s dim = 0 permutation = [0, 1] : tensor<32x32x32xf16> -> tensor<1024x32xf16>
  %sf = vx.cast %su : tensor<1024x32xf16> -> tensor<1024x32xf32>
  %sb = vx.broadcast %sf, [0, 1] : tensor<1024x32xf32> -> tensor<1024x32x32xf32>
  %mu = vx.unpack %m dim = 0 permutation = [0, 1] : tensor<32x32x32xf16> -> tensor<1024x32xf16>
  %mf = vx.cast %mu : tensor<1024x32xf16> -> tensor<1024x32xf32>
  %mb = vx.broadcast %mf, [0, 1] : tensor<1024x32xf32> -> tensor<1024x32x32xf32>
  %d = vx.mul %c, %sb : tensor<1024x32x32xf32>, tensor<1024x32x32xf32>
  %e = vx.sub %d, %mb : tensor<1024x32x32xf32>, tensor<1024x32x32xf32>
  %0 = vx.contract %a, %e batch = [] x [] contracting = [1, 2] x [1, 2] {vx.anchor, vx.block_sums} : tensor<1x32x32xf32>, tensor<1024x32x32xf32>
  vx.yield %0 : tensor<1x1024xf32>
}
