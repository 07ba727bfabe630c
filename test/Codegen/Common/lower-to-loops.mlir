// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-lower-to-loops=lanes=16 --canonicalize --cse | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-lower-to-loops --canonicalize --cse | FileCheck %s --check-prefix=SCALAR

// A vector for 16 columns, and one with a mask for the rest. The bias of a row is read once for the row.
// CHECK-LABEL: func.func @bias
// CHECK:         %[[ID:.+]] = vxk.workgroup_id
// CHECK:         %[[COUNT:.+]] = vxk.workgroup_count
// CHECK:         %[[IN:.+]] = arith.cmpi ult, %[[ID]], %[[COUNT]]
// CHECK:         scf.if %[[IN]]
// CHECK:           scf.for %[[I:.+]] =
// CHECK:             memref.load %{{.+}}[%[[I]]]
// CHECK:             scf.for
// CHECK-NOT:           memref.load
// CHECK:               vector.load
// CHECK:               vector.store
// CHECK:             scf.for
// CHECK:               vector.create_mask
// CHECK:               vector.maskedload
// CHECK:               vector.maskedstore
// CHECK-NOT:     memref.alloc
// SCALAR-LABEL: func.func @bias
// SCALAR-NOT:     vector<
// SCALAR:         memref.store
vx.kernel @bias "x" symbols ["s0"] workgroups <ceildiv(s0, 4)> #vx.loops<tile = [4, 0]> {
^bb0(%a: tensor<?x?xf32, #vx.enc<[s0, s0]>>, %b: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.broadcast %b, [0] : tensor<?xf32, #vx.enc<[s0]>> -> tensor<?x?xf32, #vx.enc<[s0, s0]>>
  %1 = vx.add %a, %0 : tensor<?x?xf32, #vx.enc<[s0, s0]>>, tensor<?x?xf32, #vx.enc<[s0, s0]>>
  vx.yield %1 : tensor<?x?xf32, #vx.enc<[s0, s0]>>
}

// -----

// A row's maximum and sum are computed once for the row, along vectors, before the loop over its columns. The exponentials lie in
// the result meanwhile.
// CHECK-LABEL: func.func @softmax
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               arith.maximumf
// CHECK:             %[[MAX:.+]] = vector.reduction <maximumf>
// CHECK:             scf.for
// CHECK:               math.exp
// CHECK:               vector.store %{{.+}}, %[[RESULT:[0-9]+]][
// CHECK:             vector.reduction <add>
// CHECK:             arith.divf
// CHECK:             scf.for
// CHECK-NOT:           scf.for
// CHECK-NOT:           math.exp
// CHECK:               vector.load %[[RESULT]][
// CHECK:               vector.store %{{.+}}, %[[RESULT]][
vx.kernel @softmax "x" symbols ["s0"] workgroups <s0> #vx.thread_rows<tile = [1, 0], threads = 1> {
^bb0(%a: tensor<?x32xf32, #vx.enc<[s0, 32]>>):
  %0 = vx.softmax %a axis = 1 {vx.anchor} : tensor<?x32xf32, #vx.enc<[s0, 32]>>
  vx.yield %0 : tensor<?x32xf32, #vx.enc<[s0, 32]>>
}

// -----

// Loads behind a condition that differs between lanes take the condition as their mask.
// CHECK-LABEL: func.func @pad
// CHECK:         %[[MASK:.+]] = arith.andi %{{.+}}, %{{.+}} : vector<16xi1>
// CHECK:         vector.maskedload %{{.+}}, %[[MASK]]
// SCALAR-LABEL: func.func @pad
// SCALAR:         scf.if
// SCALAR:           memref.load
vx.kernel @pad "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<30xf32>, %v: tensor<f32>):
  %0 = vx.pad %a, %v low [#vx.dim<1>] high [#vx.dim<1>] {vx.anchor} : tensor<30xf32>, tensor<f32>
  vx.yield %0 : tensor<32xf32>
}

// -----

// With threads the elements of the tile are strided by thread, and nothing is a vector.
// CHECK-LABEL: func.func @threads
// CHECK:         %[[T:.+]] = vxk.thread_id
// CHECK:         scf.for %{{.+}} = %[[T]] to %{{.+}} step %c64
// CHECK-NOT:     vector<
// CHECK:         memref.store
vx.kernel @threads "x" symbols ["s0"] workgroups <ceildiv(s0, 256)> #vx.loops<tile = [256], threads = 64> {
^bb0(%a: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.neg %a : tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
}

// -----

// A size that is known to be a multiple of the vector has no rest; one of which less is known has.
// CHECK-LABEL: func.func @whole
// CHECK:         vxk.scalar 0 range [64, 512, 64]
// CHECK:         vector.store
// CHECK-NOT:     vector.create_mask
// CHECK-LABEL: func.func @rest
// CHECK:         vector.store
// CHECK:         vector.create_mask
vx.kernel @whole "x" symbols ["s0"] workgroups <s0> #vx.loops<tile = [1, 0]> attributes {vx.symbol_ranges = array<i64: 64, 512, 64>} {
^bb0(%a: tensor<?x?xf32, #vx.enc<[s0, s0]>>):
  %0 = vx.neg %a : tensor<?x?xf32, #vx.enc<[s0, s0]>>
  vx.yield %0 : tensor<?x?xf32, #vx.enc<[s0, s0]>>
}
vx.kernel @rest "x" symbols ["s0"] workgroups <s0> #vx.loops<tile = [1, 0]> attributes {vx.symbol_ranges = array<i64: 64, 512, 8>} {
^bb0(%a: tensor<?x?xf32, #vx.enc<[s0, s0]>>):
  %0 = vx.neg %a : tensor<?x?xf32, #vx.enc<[s0, s0]>>
  vx.yield %0 : tensor<?x?xf32, #vx.enc<[s0, s0]>>
}

// -----

// Rows go to places of the data, one after the other; a place outside is skipped. Lines of a row are neighbours, whole rows are not where
// their own dimension is the one that is indexed.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[OUT:.+]] = vxk.buffer 3 read_write
// CHECK:         scf.for %[[ROW:.+]] =
// CHECK:           %[[WORD:.+]] = memref.load %{{.+}}[%[[ROW]], %{{.+}}] : memref<7x1xi64>
// CHECK:           %[[AT:.+]] = arith.index_cast %[[WORD]]
// CHECK:           %[[IN:.+]] = arith.cmpi ult, %[[AT]], %{{.+}}
// CHECK:           scf.if %[[IN]]
// CHECK:             vector.store %{{.+}}, %[[OUT]][%[[AT]], %{{.+}}]
// CHECK-NOT:     vxk.places
// CHECK-LABEL: func.func @columns
// CHECK-NOT:     vector.store
// CHECK:         arith.addf
// CHECK:         memref.store
vx.kernel @rows "x" symbols [] workgroups <1> #vx.loops<tile = [0, 0]> {
^bb0(%a: tensor<5x32xf32>, %i: tensor<7x1xi64>, %u: tensor<7x32xf32>):
  %0 = vx.scatter set %a, %i, %u axes = [0] {vx.anchor} : tensor<5x32xf32>, tensor<7x1xi64>, tensor<7x32xf32>
  vx.yield %0 : tensor<5x32xf32>
}
vx.kernel @columns "x" symbols [] workgroups <1> #vx.loops<tile = [0, 0]> {
^bb0(%a: tensor<32x5xf32>, %i: tensor<7x1xi64>, %u: tensor<7x32xf32>):
  %0 = vx.scatter add %a, %i, %u axes = [1] {vx.anchor} : tensor<32x5xf32>, tensor<7x1xi64>, tensor<7x32xf32>
  vx.yield %0 : tensor<32x5xf32>
}

// -----

// What is read as columns is read in squares: a vector of columns for each row, transposed in registers, by whole lines of 64 bytes. The last square of a row or
// column lies over a part of the one before it.
// CHECK-LABEL: func.func @columns_to_rows
// CHECK:         %[[IN:.+]] = vxk.buffer 0 read
// CHECK:         %[[OUT:.+]] = vxk.buffer 1
// CHECK:         scf.for %[[J:.+]] = %c0 to %c7 step %c1
// CHECK:           scf.for %[[LINE:.+]] = %{{.+}} to %[[END:.+]] step %c16
// CHECK:             %[[LAST:.+]] = arith.minui %{{.+}}, %[[END]]
// CHECK:             scf.for %[[ROW:.+]] = %c0 to %c29 step %c16
// CHECK:               %[[FIRST_ROW:.+]] = arith.minui %[[ROW]], %c13
// CHECK:               scf.for %[[COLUMN:.+]] = %[[LINE]] to %[[LAST]] step %c16
// CHECK:                 %[[FIRST:.+]] = arith.minui %[[COLUMN]], %{{.+}}
// CHECK-COUNT-16:        vector.load %[[IN]][{{.+}}, %[[J]], %[[FIRST]]] : memref<29x7x96xf32>, vector<16xf32>
// CHECK-COUNT-64:        vector.shuffle
// CHECK-COUNT-16:        vector.store %{{.+}}, %[[OUT]][%{{.+}}, %[[J]], %[[FIRST_ROW]]]
// CHECK-NOT:     vector.gather
vx.kernel @columns_to_rows "x" symbols [] workgroups <2> #vx.loops<tile = [48, 0, 0]> {
^bb0(%a: tensor<29x7x96xf32>):
  %0 = vx.transpose %a, [2, 1, 0] {vx.anchor} : tensor<29x7x96xf32>
  vx.yield %0 : tensor<96x7x29xf32>
}

// -----

// A size that is not known may be less than a square: then, and where something is read as rows, columns are read by blocks of whole lines: the places of a block
// are the loop next to the innermost one.
// CHECK-LABEL: func.func @columns_beside_rows
// CHECK:         %[[OUT:.+]] = vxk.buffer 2
// CHECK:         scf.for %[[BLOCK:.+]] = %{{.+}} to %[[END:.+]] step %c16
// CHECK:           %[[NEXT:.+]] = arith.addi %[[BLOCK]], %c16
// CHECK:           %[[LAST:.+]] = arith.minui %[[NEXT]], %[[END]]
// CHECK:           scf.for %[[J:.+]] = %c0 to %c7 step %c1
// CHECK:             scf.for %[[I:.+]] = %[[BLOCK]] to %[[LAST]] step %c1
// CHECK:               vector.gather
// CHECK:               vector.store %{{.+}}, %[[OUT]][%[[I]], %[[J]], %{{.+}}]
vx.kernel @columns_beside_rows "x" symbols [] workgroups <2> #vx.loops<tile = [48, 0, 0]> {
^bb0(%a: tensor<32x7x96xf32>, %b: tensor<96x7x32xf32>):
  %0 = vx.transpose %a, [2, 1, 0] {vx.anchor} : tensor<32x7x96xf32>
  %1 = vx.add %0, %b : tensor<96x7x32xf32>, tensor<96x7x32xf32>
  vx.yield %1 : tensor<96x7x32xf32>
}

// -----

// CHECK-LABEL: func.func @unknown_columns
// CHECK:         %[[WIDE:.+]] = arith.cmpi sge, %{{.+}}, %c16
// CHECK:         scf.if %[[WIDE]] {
// CHECK-COUNT-64:  vector.shuffle
// CHECK:         scf.if %{{.+}} {
// CHECK:           vector.gather
vx.kernel @unknown_columns "x" symbols ["s0"] workgroups <1> #vx.loops<tile = [0, 0]> {
^bb0(%a: tensor<32x?xf32, #vx.enc<[32, s0]>>):
  %0 = vx.transpose %a, [1, 0] {vx.anchor} : tensor<32x?xf32, #vx.enc<[32, s0]>>
  vx.yield %0 : tensor<?x32xf32, #vx.enc<[s0, 32]>>
}

// -----

// What all elements of a column need is computed in the loop over columns, around the loop over rows, and under the mask of the last vector.
// CHECK-LABEL: func.func @softmax_of_columns
// CHECK: scf.for %[[COLUMN:.+]] = %{{.+}} to %c32 step %c16
// CHECK: scf.for {{.+}} iter_args
// CHECK: arith.maximumf
// CHECK: scf.for {{.+}} iter_args
// CHECK: scf.for %[[ROW:[a-z0-9]+]] = %c0 to %c40 step %c1 {
// CHECK-NOT: iter_args
// CHECK: vector.store
// CHECK: vector.constant_mask
// CHECK-NOT: vector.load
// CHECK: vector.maskedload
// CHECK-NOT: vector.load
// CHECK: vector.maskedstore
vx.kernel @softmax_of_columns "softmax_of_columns" symbols [] workgroups <1> #vx.loops<tile = [0, 0]> {
^bb0(%a: tensor<40x37xf32>):
  %0 = vx.softmax %a axis = 0 {vx.anchor} : tensor<40x37xf32>
  vx.yield %0 : tensor<40x37xf32>
}

// -----

// Every second element comes from two vectors, of which the last ends with the last element.
// CHECK-LABEL: func.func @every_second
// CHECK: %[[FIRST:.+]] = vector.load %{{.+}}[%[[AT:.+]]]
// CHECK: vector.shuffle %[[FIRST]], %[[FIRST]] [16, 18, 20, 22, 24, 26, 28, 30, 8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: %[[NEXT:.+]] = arith.addi %[[AT]], %c15
// CHECK: %[[SECOND:.+]] = vector.load %{{.+}}[%[[NEXT]]]
// CHECK: vector.shuffle %{{.+}}, %[[SECOND]] [0, 1, 2, 3, 4, 5, 6, 7, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-NOT: vector.gather
vx.kernel @every_second "every_second" symbols [] workgroups <1> #vx.loops<tile = [0]> {
^bb0(%a: tensor<63xf32>):
  %0 = vx.slice %a starts [#vx.dim<0>] strides [2] {vx.anchor} : tensor<63xf32> -> tensor<32xf32>
  vx.yield %0 : tensor<32xf32>
}

// -----

// Rows of seven elements, and planes of seven rows, are one run of memory: vectors go through all of a channel, whose element of the
// bias is the same, and through a plane that all channels share.
// CHECK-LABEL: func.func @flat
// CHECK-DAG:     memref.collapse_shape %{{.+}} {{\[\[}}0], [1], [2, 3]] : memref<4x8x7x7xf32> into memref<4x8x49xf32>
// CHECK-DAG:     memref.collapse_shape %{{.+}} {{\[\[}}0, 1]] : memref<7x7xf32> into memref<49xf32>
// CHECK-NOT:     vector.gather
// CHECK:         memref.load %{{.+}} : memref<8xf32>
// CHECK:         vector.load %{{.+}} : memref<4x8x49xf32>, vector<16xf32>
// CHECK:         vector.store %{{.+}} : memref<4x8x49xf32>, vector<16xf32>
// CHECK-NOT:     vector.gather
// CHECK:         return
vx.kernel @flat "x" symbols [] workgroups <2> #vx.loops<tile = [2, 0, 0, 0]> {
^bb0(%x: tensor<4x8x7x7xf32>, %bias: tensor<8xf32>, %plane: tensor<7x7xf32>):
  %0 = vx.broadcast %bias, [1] : tensor<8xf32> -> tensor<4x8x7x7xf32>
  %1 = vx.broadcast %plane, [2, 3] : tensor<7x7xf32> -> tensor<4x8x7x7xf32>
  %2 = vx.add %x, %0 : tensor<4x8x7x7xf32>, tensor<4x8x7x7xf32>
  %3 = vx.mul %2, %1 : tensor<4x8x7x7xf32>, tensor<4x8x7x7xf32>
  vx.yield %3 : tensor<4x8x7x7xf32>
}

// -----

// Bytes alone fill a register with four times as many, and a size of 1 that is the same for all columns is no order.
// CHECK-LABEL: func.func @bytes
// CHECK:         scf.for {{.*}} to %{{.+}} step %c64
// CHECK:           vector.load {{.*}} vector<64xi8>
// CHECK:           vector.store {{.*}} vector<64xi8>
// CHECK:         vector.maskedload {{.*}} vector<64xi8>
vx.kernel @bytes "x" symbols [] workgroups <12> #vx.loops<tile = [1, 0, 0]> {
^bb0(%x: tensor<12x9x23xui8>, %y: tensor<1xui8>):
  %0 = vx.broadcast %y, [2] : tensor<1xui8> -> tensor<12x9x23xui8>
  %1 = vx.max %x, %0 : tensor<12x9x23xui8>, tensor<12x9x23xui8>
  vx.yield %1 : tensor<12x9x23xui8>
}

// -----

// One wider element among them: as many lanes as for words.
// CHECK-LABEL: func.func @bytes_to_words
// CHECK:         vector.load {{.*}} vector<16xi8>
vx.kernel @bytes_to_words "x" symbols [] workgroups <12> #vx.loops<tile = [1, 0, 0]> {
^bb0(%x: tensor<12x9x23xui8>):
  %0 = vx.cast %x : tensor<12x9x23xui8> -> tensor<12x9x23xf32>
  vx.yield %0 : tensor<12x9x23xf32>
}

// -----

// The last dimension that is cut into tiles begins the run.
// CHECK-LABEL: func.func @flat_tiles
// CHECK:         memref.collapse_shape %{{.+}} {{\[\[}}0], [1, 2]] : memref<6x40x3xf32> into memref<6x120xf32>
vx.kernel @flat_tiles "x" symbols [] workgroups <30> #vx.loops<tile = [1, 8, 0]> {
^bb0(%x: tensor<6x40x3xf32>):
  %0 = vx.neg %x : tensor<6x40x3xf32>
  vx.yield %0 : tensor<6x40x3xf32>
}

// -----

// A plane that the channels share begins the run at its own first dimension, whatever else is read.
// CHECK-LABEL: func.func @flat_plane
// CHECK-NOT:     vector.gather
// CHECK:         vector.load %{{.+}} : memref<49xf32>, vector<16xf32>
// CHECK-NOT:     vector.gather
// CHECK:         return
vx.kernel @flat_plane "x" symbols [] workgroups <1> #vx.loops<tile = [0, 0, 0, 0]> {
^bb0(%x: tensor<4x8x7x7xf32>, %plane: tensor<7x7xf32>):
  %0 = vx.broadcast %plane, [2, 3] : tensor<7x7xf32> -> tensor<4x8x7x7xf32>
  %1 = vx.mul %x, %0 : tensor<4x8x7x7xf32>, tensor<4x8x7x7xf32>
  vx.yield %1 : tensor<4x8x7x7xf32>
}
