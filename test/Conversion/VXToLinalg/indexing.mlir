// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-verify-no-encoding | FileCheck %s

// A wrong index is reported with its place and the site's number in the kernel, and reads nothing.
// CHECK-LABEL: func.func @gather
// CHECK:           %[[I:.+]] = linalg.index 0
// CHECK:           %[[PLACE:.+]] = arith.index_cast %[[I]] : index to i64
// CHECK:           vxk.report_fault %{{.+}} value %{{.+}} range %{{.+}}, %{{.+}} at[%[[PLACE]]] site 0
// CHECK:           scf.if
// CHECK-NEXT:        tensor.extract
// CHECK:           vxk.report_fault {{.*}} site 1
vx.kernel @gather "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%t: tensor<7x4xf32>, %i: tensor<?xi64, #vx.enc<[s0]>>):
  %0 = vx.gather %t, %i axis = 0 {vx.anchor} : tensor<7x4xf32>, tensor<?xi64, #vx.enc<[s0]>>
  %1 = vx.gather %t, %i axis = 0 : tensor<7x4xf32>, tensor<?xi64, #vx.enc<[s0]>>
  %2 = vx.add %0, %1 : tensor<?x4xf32, #vx.enc<[s0, 4]>>, tensor<?x4xf32, #vx.enc<[s0, 4]>>
  vx.yield %2 : tensor<?x4xf32, #vx.enc<[s0, 4]>>
}

// -----

// Each member of a tuple is checked against its own dimension, and named by its place in the tensor of tuples.
// CHECK-LABEL: func.func @tuples
// CHECK:           linalg.generic
// CHECK:             tensor.extract %{{.+}}[%[[I:.+]], %[[FIRST:.+]]] : tensor<?x2xi64>
// CHECK:             %[[K:.+]] = arith.index_cast %[[FIRST]] : index to i64
// CHECK:             vxk.report_fault {{.*}} at[%{{.+}}, %[[K]]] site 0
// CHECK:             tensor.extract %{{.+}}[%{{.+}}, %[[SECOND:.+]]] : tensor<?x2xi64>
// CHECK:             %[[L:.+]] = arith.index_cast %[[SECOND]] : index to i64
// CHECK:             vxk.report_fault {{.*}} at[%{{.+}}, %[[L]]] site 0
// CHECK:             scf.if
// CHECK-NEXT:          scf.if
// CHECK-NEXT:            tensor.extract
vx.kernel @tuples "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%t: tensor<7x4x3xf32>, %i: tensor<?x2xi64, #vx.enc<[s0, 2]>>):
  %0 = vx.gather %t, %i axis = 0 members = 2 {vx.anchor} : tensor<7x4x3xf32>, tensor<?x2xi64, #vx.enc<[s0, 2]>>
  vx.yield %0 : tensor<?x3xf32, #vx.enc<[s0, 3]>>
}

// -----

// CHECK-LABEL: func.func @count
// CHECK:         %[[COUNT:.+]] = scf.for
// CHECK:           tensor.extract
// CHECK:         tensor.from_elements
vx.kernel @count "x" symbols ["s0"] workgroups <1> #vx.serial {
^bb0(%a: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.count_nonzero %a {vx.anchor} : tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %0 : tensor<i64>
}

// -----

// Places are stored as they are found, never beyond the result's columns.
// CHECK-LABEL: func.func @nonzero
// CHECK:         %[[R:.+]] = vxk.buffer 1 write
// CHECK:         arith.cmpi slt
// CHECK:         scf.if
// CHECK:           memref.store %{{.+}}, %[[R]]
// CHECK-NOT:     materialize_in_destination
vx.kernel @nonzero "x" symbols ["s0", "s1"] workgroups <1> #vx.serial {
^bb0(%a: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.nonzero %a {vx.anchor} : tensor<?xf32, #vx.enc<[s0]>> -> tensor<1x?xi64, #vx.enc<[1, s1]>>
  vx.yield %0 : tensor<1x?xi64, #vx.enc<[1, s1]>>
}

// -----

// Keys become numbers in their order: of floats by their bits, both zeros 0 and a NaN the greatest.
// CHECK-LABEL: func.func @merge_runs
// CHECK:         %[[CODES:.+]] = linalg.generic
// CHECK:           arith.bitcast %{{.+}} : f32 to i32
// CHECK:           arith.shrsi
// CHECK:           arith.select
// CHECK:         vxk.merge_runs %[[CODES]], %{{.+}} level %{{.+}} into
vx.kernel @merge_runs "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%k: tensor<2x?x3xf32, #vx.enc<[2, s0, 3]>>, %p: tensor<2x?xi64, #vx.enc<[2, s0]>>, %l: tensor<i64>):
  %0 = vx.merge_runs %k, %p level(%l) {vx.anchor} : tensor<2x?x3xf32, #vx.enc<[2, s0, 3]>>, tensor<2x?xi64, #vx.enc<[2, s0]>>
  vx.yield %0 : tensor<2x?xi64, #vx.enc<[2, s0]>>
}

// -----

// The greatest first: the least number of the complement. Of unsigned ones the sign changes.
// CHECK-LABEL: func.func @top_places
// CHECK:         %[[CODES:.+]] = linalg.generic
// CHECK:           %[[SIGNED:.+]] = arith.xori %{{.+}}, %c-2147483648{{.*}} : i32
// CHECK:           arith.xori %[[SIGNED]], %c-1{{.*}} : i32
// CHECK:         vxk.top_places %[[CODES]] into %{{.+}} : tensor<2x?xi32> into memref<2x5xi64>
vx.kernel @top_places "x" symbols ["s0"] workgroups <1> #vx.cpu_sort<tile = []> {
^bb0(%k: tensor<2x?xui32, #vx.enc<[2, s0]>>):
  %0 = vx.top_places descending %k count = 5 {vx.anchor} : tensor<2x?xui32, #vx.enc<[2, s0]>>
  vx.yield %0 : tensor<2x5xi64>
}

// -----

// A score that is too small, or NaN, is that of no box.
// CHECK-LABEL: func.func @select_boxes
// CHECK:         %[[CODES:.+]] = linalg.generic
// CHECK:           arith.cmpf oge
// CHECK:         vxk.select_boxes %{{.+}}, %{{.+}} overlap %{{.+}} into %{{.+}} : tensor<1x9x4xf32>, tensor<1x2x9xi32> into memref<1x2x3xi64>
vx.kernel @select_boxes "x" symbols [] workgroups <1> #vx.cpu_sort<tile = []> {
^bb0(%b: tensor<1x9x4xf32>, %s: tensor<1x2x9xf32>, %o: tensor<f32>, %l: tensor<f32>):
  %0 = vx.select_boxes %b, %s overlap(%o) least(%l) {vx.anchor} : tensor<1x9x4xf32>, tensor<1x2x9xf32> -> tensor<1x2x3xi64>
  vx.yield %0 : tensor<1x2x3xi64>
}
