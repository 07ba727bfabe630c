// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(vx-cpu-lower-products{vector-bits=512 registers=32},vx-lower-to-loops{lanes=16}),canonicalize,cse)" | FileCheck %s

// Six rows of four vectors are in registers; B is packed for all rows of the block, in eight blocks of k, and so are rows that
// would all fall into one set of the cache.
// CHECK-LABEL: func.func @matmul
// CHECK-DAG:     %[[ROWS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16912xf32>
// CHECK-DAG:     %[[SUMS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<8448xf32>
// CHECK-DAG:     %[[COLUMNS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<8192xf32>
// CHECK:         vector.store %{{.+}}, %[[SUMS]]
// CHECK:         vector.store %{{.+}}, %[[ROWS]]
// CHECK:         vector.store %{{.+}}, %[[COLUMNS]]
// CHECK:         scf.for {{.*}} step %c6
// CHECK:           vector.load %[[SUMS]]
// CHECK-COUNT-4:   vector.load %[[COLUMNS]]
// CHECK-COUNT-24:  arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:           vector.store %{{.+}}, %[[SUMS]]
// Of up to five rows that are left, as many as a power of two have at once.
// CHECK:         scf.for {{.*}} step %c4
// CHECK-COUNT-16:  arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:         scf.for {{.*}} step %c2
// CHECK-COUNT-8:   arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:         scf.for {{.*}} step %c1
// CHECK-COUNT-4:   arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:         arith.maximumf
// CHECK:         vector.store
// CHECK-NOT:     memref.alloc(
vx.kernel @matmul "x" symbols ["s0"] workgroups <ceildiv(s0, 128)> #vx.cpu_product<tile = [128, 64]> {
^bb0(%a: tensor<?x1024xf32, #vx.enc<[s0, 1024]>>, %b: tensor<1024x64xf32>, %c: tensor<?x64xf32, #vx.enc<[s0, 64]>>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<?x1024xf32, #vx.enc<[s0, 1024]>>, tensor<1024x64xf32>
  %1 = vx.max %0, %c : tensor<?x64xf32, #vx.enc<[s0, 64]>>, tensor<?x64xf32, #vx.enc<[s0, 64]>>
  vx.yield %1 : tensor<?x64xf32, #vx.enc<[s0, 64]>>
}

// -----

// Other rows that nothing is computed of are read where they lie, those of an item of a batch behind the others'.
// CHECK-LABEL: func.func @plain
// CHECK-DAG:     %[[SIZE:.+]] = vxk.scalar 0
// CHECK-COUNT-2: memref.alloca
// CHECK-NOT:     memref.alloca
// CHECK:         %[[ROWS:.+]] = memref.collapse_shape %{{.+}} {{\[\[}}0, 1, 2]] : memref<3x?x384xf32> into memref<?xf32>
// CHECK:         scf.for %[[ITEM:.+]] = %c0 to %c3
// CHECK:           %[[BEFORE:.+]] = arith.muli %[[ITEM]], %[[SIZE]] : index
// CHECK:           scf.for %[[ROW:.+]] = {{.*}} step %c6
// CHECK:             %[[NUMBER:.+]] = arith.addi %[[BEFORE]], %[[ROW]]
// CHECK:             arith.muli %[[NUMBER]], %c384
// CHECK-COUNT-6:     memref.load %[[ROWS]]
vx.kernel @plain "x" symbols ["s0"] workgroups <ceildiv(s0, 128)> #vx.cpu_product<tile = [0, 128, 64]> {
^bb0(%a: tensor<3x?x384xf32, #vx.enc<[3, s0, 384]>>, %b: tensor<3x384x64xf32>):
  %0 = vx.contract %a, %b batch = [0] x [0] contracting = [2] x [1] {vx.anchor} : tensor<3x?x384xf32, #vx.enc<[3, s0, 384]>>, tensor<3x384x64xf32>
  vx.yield %0 : tensor<3x?x64xf32, #vx.enc<[3, s0, 64]>>
}

// -----

// Packed weights are read where they lie, and one block of k needs no sums from before.
// CHECK-LABEL: func.func @packed
// CHECK:         %[[TILES:.+]] = memref.collapse_shape %{{.+}} {{\[\[}}0, 1, 2]] : memref<2x64x16xf32> into memref<2048xf32>
// CHECK:         scf.for {{.*}} iter_args(%{{.+}} = %cst
// CHECK-COUNT-2:   vector.load %[[TILES]]
// CHECK-COUNT-14:  arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK-NOT:     vector.gather
vx.kernel @packed "x" symbols [] workgroups <1> #vx.cpu_product<tile = [0, 0]> {
^bb0(%a: tensor<7x64xf32>, %p: tensor<2x64x16xf32>):
  %b = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<2x64x16xf32> -> tensor<64x32xf32>
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<7x64xf32>, tensor<64x32xf32>
  vx.yield %0 : tensor<7x32xf32>
}

// -----

// The places of a convolution's output are the rows; the padding is applied as they are packed, by runs of channels.
// CHECK-LABEL: func.func @conv
// CHECK:         scf.if
// CHECK:           scf.if {{.*}} -> (vector<16xf32>)
// CHECK-NEXT:        vector.load
// CHECK-NOT:     vector.gather
vx.kernel @conv "x" symbols ["s0"] workgroups <s0> #vx.cpu_product<tile = [1, 0, 0, 0]> {
^bb0(%x: tensor<?x7x7x16xf32, #vx.enc<[s0, 7, 7, 16]>>, %p: tensor<1x3x3x16x16xf32>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<1x3x3x16x16xf32> -> tensor<8x16x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last {vx.anchor} : tensor<?x7x7x16xf32, #vx.enc<[s0, 7, 7, 16]>>, tensor<8x16x3x3xf32>
  vx.yield %0 : tensor<?x7x7x8xf32, #vx.enc<[s0, 7, 7, 8]>>
}

// -----

// The result's elements are moved after the product: plain loops.
// CHECK-LABEL: func.func @moved
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for {{.*}} iter_args
// CHECK:         vector.store
vx.kernel @moved "x" symbols [] workgroups <1> #vx.cpu_product<tile = [0, 0]> {
^bb0(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<8x16xf32>, tensor<16x8xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<8x8xf32>
  vx.yield %1 : tensor<8x8xf32>
}

// -----

// Groups are products in sequence: the rows of a group are its own channels, and its last vector ends in the room of the only tile.
// CHECK-LABEL: func.func @groups
// CHECK:         scf.for %[[GROUP:.+]] = %c0 to %c2 step %c1
// CHECK:           %[[FIRST:.+]] = arith.muli %[[GROUP]], %c24
// CHECK:           arith.divui %{{.+}}, %c24
// CHECK:           vector.maskedload {{.*}} : memref<1x9x20x48xf32>
// CHECK:           scf.for {{.*}} step %c12
// CHECK-COUNT-24:    arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK:           vector.maskedstore
vx.kernel @groups "x" symbols [] workgroups <1> #vx.cpu_product<tile = [1, 4, 0, 0]> {
^bb0(%x: tensor<1x9x20x48xf32>, %p: tensor<1x3x3x24x64xf32>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<1x3x3x24x64xf32> -> tensor<48x24x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 2 channels_last {vx.anchor} : tensor<1x9x20x48xf32>, tensor<48x24x3x3xf32>
  vx.yield %0 : tensor<1x9x20x48xf32>
}

// -----

// A few rows read B where it lies, 16 rows of it at a time: nothing is packed.
// CHECK-LABEL: func.func @few_rows
// CHECK-COUNT-1: memref.alloca
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for {{.*}} step %c16
// CHECK:           scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %c1 iter_args
// CHECK-COUNT-4:     vector.load
// CHECK-COUNT-4:     arith.addf {{.*}} fastmath<contract> : vector<16xf32>
vx.kernel @few_rows "x" symbols [] workgroups <2> #vx.cpu_product<tile = [0, 128]> {
^bb0(%a: tensor<1x200xf32>, %b: tensor<200x256xf32>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<1x200xf32>, tensor<200x256xf32>
  vx.yield %0 : tensor<1x256xf32>
}

// -----

// Where the columns of B are rows of memory, sixteen vectors of rows become sixteen vectors of columns in registers.
// CHECK-LABEL: func.func @transposed
// CHECK-COUNT-16: vector.load
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT:      vector.gather
vx.kernel @transposed "x" symbols [] workgroups <1> #vx.cpu_product<tile = [0, 0]> {
^bb0(%a: tensor<9x64xf32>, %b: tensor<32x64xf32>):
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] {vx.anchor} : tensor<9x64xf32>, tensor<32x64xf32>
  vx.yield %0 : tensor<9x32xf32>
}
