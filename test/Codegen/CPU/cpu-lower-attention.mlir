// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(vx-cpu-lower-attention{vector-bits=512 registers=32},vx-lower-to-loops{lanes=16}),canonicalize,cse)" | FileCheck %s
// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32},vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})" -o /dev/null | FileCheck %s --check-prefix=ASM

// Keys and values in one block: no sums from before. Eight keys by two vectors of queries are in registers, and each
// vector carries its maximum.
// CHECK-LABEL: func.func @one_block
// CHECK-DAG:     %[[QUERIES:.+]] = memref.alloca() {alignment = 64 : i64} : memref<8192xf32>
// CHECK-NOT:     memref.alloc(
// CHECK-NOT:     vector.gather
// CHECK:         vector.shuffle {{.+}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK:         %[[MAXIMA:.+]]:2 = scf.for {{.+}} = %c0 to %c128 step %c8 iter_args
// CHECK:           scf.for {{.+}} = %c0 to %c64 step %c1 iter_args
// CHECK-COUNT-16:    arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK-NOT:         arith.addf
// CHECK:             scf.yield
// CHECK-COUNT-16:  arith.cmpf ogt
// CHECK:           scf.yield
// Nothing is left over of 128 keys.
// CHECK-NOT:     scf.for
// CHECK:         scf.for {{.+}} = %c0 to %c128 step %c1 iter_args
// CHECK-COUNT-2:   math.exp
// CHECK-NOT:       math.exp
// CHECK:           scf.yield
// CHECK:         scf.for {{.+}} = %c0 to %c64 step %c8 {
// CHECK-NOT:       vector.load
// CHECK:           scf.for {{.+}} = %c0 to %c128 step %c1 iter_args
// CHECK-COUNT-16:    arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK-NOT:         arith.addf
// CHECK:             scf.yield
// CHECK-NOT:     vector.maskedstore
// CHECK:         return

// Both products stay in vector registers, and so do the exponentials between them.
// ASM-LABEL:   one_block:
// ASM:           vbroadcastss {{.+}}(%r{{.+}}), %zmm
// ASM-COUNT-16:  vfmadd231ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm
// ASM-NOT:       vmov
// ASM:           jne
// ASM:           vmaxps {{.*}}%zmm
// ASM-COUNT-8:   vfm{{.+}}ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm
// ASM-NOT:       call
// ASM:           vbroadcastss {{.+}}(%r{{.+}}), %zmm
// ASM-COUNT-16:  vfmadd231ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm
// ASM-NOT:       vmov
// ASM:           jne
// ASM:           .size one_block
vx.kernel @one_block "x" symbols [] workgroups <12> #vx.cpu_flash<tile = [1, 1, 128, 0]> {
^bb0(%q: tensor<1x12x128x64xf32>, %k: tensor<1x12x128x64xf32>, %v: tensor<1x12x128x64xf32>):
  %0 = vx.attention %q, %k, %v scale = 1.250000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x12x128x64xf32>, tensor<1x12x128x64xf32>, tensor<1x12x128x64xf32> -> tensor<1x12x128x64xf32>
  vx.yield %0 : tensor<1x12x128x64xf32>
}

// -----

// Any number of queries and keys: what there is of a smaller maximum is scaled, and a row that nothing takes part in
// gets no NaN from the difference of its maximum to itself.
// CHECK-LABEL: func.func @blocks
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:         scf.for {{.+}} step %c128
// CHECK:           scf.for {{.+}} step %c128
// CHECK:             %[[MAX:.+]]:2 = scf.for {{.+}} step %c8 iter_args
// CHECK:             scf.for {{.+}} step %c4 iter_args
// CHECK:             scf.for {{.+}} step %c2 iter_args
// CHECK:             %[[LAST:.+]]:2 = scf.for {{.+}} step %c1 iter_args
// CHECK:             %[[IS_NONE:.+]] = arith.cmpf oeq, %[[LAST]]#0, %[[NONE]]
// CHECK:             %[[SHIFT:.+]] = arith.select %[[IS_NONE]], %[[ZERO]], %[[LAST]]#0
// CHECK:             %[[DIFFERENCE:.+]] = arith.subf %{{.+}}, %[[SHIFT]]
// CHECK:             %[[FACTOR:.+]] = math.exp %[[DIFFERENCE]]
// CHECK:             arith.mulf %{{.+}}, %[[FACTOR]]
// CHECK:         vector.maskedstore
vx.kernel @blocks "x" symbols ["s0"] workgroups <ceildiv(s0, 128) * 12> #vx.cpu_flash<tile = [1, 128, 1, 0]> {
^bb0(%q: tensor<1x?x12x64xf32, #vx.enc<[1, s0, 12, 64]>>, %k: tensor<1x?x2x64xf32, #vx.enc<[1, s0, 2, 64]>>, %v: tensor<1x?x2x40xf32, #vx.enc<[1, s0, 2, 40]>>, %b: tensor<1x1x1x?xf32, #vx.enc<[1, 1, 1, s0]>>):
  %0 = vx.attention %q, %k, %v bias(%b : tensor<1x1x1x?xf32, #vx.enc<[1, 1, 1, s0]>>) scale = 1.250000e-01 causal dims = [0, 2, 1, 3] x [0, 2, 1, 3] x [0, 2, 1, 3] -> [0, 2, 1, 3] {vx.anchor} : tensor<1x?x12x64xf32, #vx.enc<[1, s0, 12, 64]>>, tensor<1x?x2x64xf32, #vx.enc<[1, s0, 2, 64]>>, tensor<1x?x2x40xf32, #vx.enc<[1, s0, 2, 40]>> -> tensor<1x?x12x40xf32, #vx.enc<[1, s0, 12, 40]>>
  vx.yield %0 : tensor<1x?x12x40xf32, #vx.enc<[1, s0, 12, 40]>>
}

// -----

// The result's elements are moved afterwards: plain loops.
// CHECK-LABEL: func.func @moved
// CHECK-NOT:     memref.alloca
// CHECK:         math.exp
vx.kernel @moved "x" symbols [] workgroups <1> #vx.cpu_flash<tile = [1, 1, 128, 0]> {
^bb0(%q: tensor<1x1x8x4xf32>):
  %0 = vx.attention %q, %q, %q scale = 0.5 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] {vx.anchor} : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32> -> tensor<1x1x8x4xf32>
  %1 = vx.transpose %0, [0, 1, 3, 2] : tensor<1x1x8x4xf32>
  vx.yield %1 : tensor<1x1x4x8xf32>
}
