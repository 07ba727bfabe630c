// A model with products of bytes has code for processors with VNNI. For others that code would be the same as without it.
// RUN: rm -rf %t && mkdir -p %t
// RUN: vx-compile %s --target=cpu -o %t/bytes.vxm && vx-info %t/bytes.vxm | FileCheck %s --check-prefix=BYTES
// RUN: sed 's/ui8/f32/g; s/i8/f32/g; s/ sums = i32//; s/i32/f32/g; s/dense<3>/dense<3.0>/' %s > %t/floats.mlir
// RUN: vx-compile %t/floats.mlir --target=cpu -o %t/floats.vxm && vx-info %t/floats.vxm | FileCheck %s --check-prefix=FLOATS
// RUN: vx-compile %t/floats.mlir --target=cpu --cpu=avx512+vnni -o %t/named.vxm && vx-info %t/named.vxm | FileCheck %s --check-prefix=NAMED
// BYTES:      avx512+vnni
// BYTES:      avx512
// BYTES:      x86-64-v3
// FLOATS-NOT: vnni
// NAMED:      avx512+vnni

func.func @main(%a: tensor<6x30xui8>) -> tensor<6x20xi32> {
  %w = vx.constant dense<3> : tensor<30x20xi8>
  %r = vx.contract %a, %w batch = [] x [] contracting = [1] x [0] sums = i32 : tensor<6x30xui8>, tensor<30x20xi8>
  return %r : tensor<6x20xi32>
}
