// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32},vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})" -o /dev/null | FileCheck %s
// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-cpu-codegen{vector-bits=512 registers=32})" | FileCheck %s --check-prefix=LOOPS

// The exponentials of a row are computed once, by one instruction for the power of two, and lie in the result until the
// sum is known. No row is divided element by element.
// CHECK-LABEL: softmax:
// CHECK:       vscalefps
// CHECK-NOT:   vdivps
// CHECK:       .size
// LOOPS-LABEL: func.func @softmax(
// LOOPS:       scf.for
// LOOPS:         scf.for {{.*}} iter_args
// LOOPS:           vxk.scale
// LOOPS:           vector.store %{{.+}}, %[[RESULT:.+]][
// LOOPS:         scf.for
// LOOPS-NOT:       vxk.scale
// LOOPS:           vector.load %[[RESULT]][
// LOOPS:           vector.store %{{.+}}, %[[RESULT]][
vx.kernel @softmax "x" symbols [] workgroups <12> #vx.loops<tile = [1, 0]> {
^bb0(%x: tensor<12x128xf32>):
  %0 = vx.softmax %x axis = 1 {vx.anchor} : tensor<12x128xf32>
  vx.yield %0 : tensor<12x128xf32>
}

// -----

// Where a workgroup has a part of the row it does not store the others' elements.
// LOOPS-LABEL: func.func @parts(
// LOOPS:       vector.reduction <maximumf>
// LOOPS-NOT:   vector.store
// LOOPS:       vector.reduction <add>
// LOOPS:       vxk.scale
vx.kernel @parts "x" symbols [] workgroups <2> #vx.loops<tile = [0, 64]> {
^bb0(%x: tensor<12x128xf32>):
  %0 = vx.softmax %x axis = 1 {vx.anchor} : tensor<12x128xf32>
  vx.yield %0 : tensor<12x128xf32>
}

// -----

// A result of narrower elements has no room for them.
// LOOPS-LABEL: func.func @narrow(
// LOOPS:       vxk.scale
// LOOPS:       vxk.scale
vx.kernel @narrow "x" symbols [] workgroups <12> #vx.loops<tile = [1, 0]> {
^bb0(%x: tensor<12x128xf16>):
  %0 = vx.softmax %x axis = 1 {vx.anchor} : tensor<12x128xf16>
  vx.yield %0 : tensor<12x128xf16>
}

// -----

// Another reduction reads the exponentials too, at rows that are not stored yet.
// LOOPS-LABEL: func.func @both(
// LOOPS:       vxk.scale
// LOOPS:       vxk.scale
vx.kernel @both "x" symbols [] workgroups <1> #vx.loops<tile = [0, 0]> {
^bb0(%x: tensor<32x64xf32>):
  %0 = vx.exp %x : tensor<32x64xf32>
  %1 = vx.reduce sum %0 axes = [1] {vx.anchor} : tensor<32x64xf32>
  %2 = vx.reduce sum %0 axes = [0] : tensor<32x64xf32>
  %3 = vx.broadcast %1, [0] : tensor<32xf32> -> tensor<32x64xf32>
  %4 = vx.broadcast %2, [1] : tensor<64xf32> -> tensor<32x64xf32>
  %5 = vx.mul %3, %4 : tensor<32x64xf32>, tensor<32x64xf32>
  %6 = vx.div %0, %5 : tensor<32x64xf32>, tensor<32x64xf32>
  vx.yield %6 : tensor<32x64xf32>
}

// -----

// A reduction that does little has four sums, which do not wait for one another.
// CHECK-LABEL: largest:
// CHECK-COUNT-4: vcmpunordps
// LOOPS-LABEL: func.func @largest(
// LOOPS:       scf.for {{.*}} step %c64 iter_args(%{{[^,]+}} = %{{[^,]+}}, %{{[^,]+}} = %{{[^,]+}}, %{{[^,]+}} = %{{[^,]+}}, %{{[^,]+}} = %{{[^,]+}}) ->
vx.kernel @largest "x" symbols [] workgroups <12> #vx.loops<tile = [1]> {
^bb0(%x: tensor<12x1024xf32>):
  %0 = vx.reduce max %x axes = [1] {vx.anchor} : tensor<12x1024xf32>
  vx.yield %0 : tensor<12xf32>
}

// -----

// Rows of the windows over few channels are copied whole where they lie in the input: 21 elements in two vectors.
// LOOPS-LABEL: func.func @stem(
// LOOPS:       %[[FLAT:.+]] = memref.collapse_shape %{{.+}} : memref<1x224x224x3xf32> into memref<150528xf32>
// LOOPS:       scf.if
// LOOPS-NEXT:    vector.load %[[FLAT]][
// LOOPS:         vector.maskedload %[[FLAT]][
vx.kernel @stem "x" symbols [] workgroups <112> #vx.cpu_product<tile = [1, 1, 0, 0]> {
^bb0(%x: tensor<1x224x224x3xf32>, %p: tensor<4x7x7x3x16xf32>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<4x7x7x3x16xf32> -> tensor<64x3x7x7xf32>
  %0 = vx.conv %x, %w strides = [2, 2] dilations = [1, 1] pads = [3, 3] x [3, 3] groups = 1 channels_last {vx.anchor} : tensor<1x224x224x3xf32>, tensor<64x3x7x7xf32>
  vx.yield %0 : tensor<1x112x112x64xf32>
}
