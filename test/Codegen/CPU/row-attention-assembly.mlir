// RUN: vx-opt %s "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32},vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})" -o /dev/null > %t
// RUN: %python %S/Inputs/hot-loops.py < %t | FileCheck %s

// Of one query the lanes lie along the depths: four keys at once, and the values as they lie in memory.
// CHECK:      attention:
// CHECK-NEXT:   32 multiply-adds, 0 of them scalar, in 7{{[0-9]}} instructions
// CHECK-NEXT:   8 multiply-adds, 0 of them scalar, in 1{{[0-9]}} instructions
vx.kernel @attention "x" symbols [] workgroups <8> #vx.cpu_flash<tile = [1, 4, 64, 0]> {
^bb0(%q: tensor<1x32x1x128xf32>, %k: tensor<1x8x4096x128xf32>, %v: tensor<1x8x4096x128xf32>):
  %r = vx.attention %q, %k, %v scale = 5.000000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x32x1x128xf32>, tensor<1x8x4096x128xf32>, tensor<1x8x4096x128xf32> -> tensor<1x32x1x128xf32>
  vx.yield %r : tensor<1x32x1x128xf32>
}
