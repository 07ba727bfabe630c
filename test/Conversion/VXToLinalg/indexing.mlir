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

// Each place is searched for by itself: how many of those before it come from the left run. Of tuples the first member that differs counts.
// CHECK-LABEL: func.func @merge_runs
// CHECK:         linalg.generic
// CHECK:           %[[LENGTH:.+]] = arith.shli %{{.+}}, %{{.+}} : index
// CHECK:           scf.for %{{.+}} iter_args(%[[LOW:.+]] = %{{.+}}, %[[HIGH:.+]] = %{{.+}}) -> (index, index)
// CHECK:             scf.for %{{.+}} -> (i1, i1)
// CHECK:               arith.cmpf olt
// CHECK:           arith.index_cast %{{.+}} : index to i64
vx.kernel @merge_runs "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%k: tensor<2x?x3xf32, #vx.enc<[2, s0, 3]>>, %p: tensor<2x?xi64, #vx.enc<[2, s0]>>, %l: tensor<i64>):
  %0 = vx.merge_runs %k, %p level(%l) {vx.anchor} : tensor<2x?x3xf32, #vx.enc<[2, s0, 3]>>, tensor<2x?xi64, #vx.enc<[2, s0]>>
  vx.yield %0 : tensor<2x?xi64, #vx.enc<[2, s0]>>
}
