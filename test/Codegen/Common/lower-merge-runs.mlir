// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-convert-to-linalg,func.func(vx-lower-merge-runs))' | FileCheck %s

// Where a part of a pair of runs begins is searched for; behind that one place is taken after the other.
// CHECK-LABEL: func.func @merge_runs
// CHECK:         scf.for %[[PAIR:.+]] =
// CHECK:           %[[TAKEN:.+]]:2 = scf.for %{{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (index, index)
// CHECK:           scf.for %{{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (index, index)
// CHECK:             memref.store
// CHECK-NOT:         vxk.merge_runs
vx.kernel @merge_runs "x" symbols ["s0"] workgroups <1> #vx.loops<tile = [1, 64]> {
^bb0(%k: tensor<2x?x1xf32, #vx.enc<[2, s0, 1]>>, %p: tensor<2x?xi64, #vx.enc<[2, s0]>>, %l: tensor<i64>):
  %0 = vx.merge_runs %k, %p level(%l) {vx.anchor} : tensor<2x?x1xf32, #vx.enc<[2, s0, 1]>>, tensor<2x?xi64, #vx.enc<[2, s0]>>
  vx.yield %0 : tensor<2x?xi64, #vx.enc<[2, s0]>>
}

// -----

// Of tuples the first member that differs counts; threads have neighbouring places.
// CHECK-LABEL: func.func @tuples
// CHECK:         vxk.thread_id
// CHECK:         scf.for %{{.+}} -> (i1, i1)
vx.kernel @tuples "x" symbols [] workgroups <1> #vx.loops<tile = [1, 64], threads = 8> {
^bb0(%k: tensor<2x50x3xi64>, %p: tensor<2x50xi64>, %l: tensor<i64>):
  %0 = vx.merge_runs %k, %p level(%l) {vx.anchor} : tensor<2x50x3xi64>, tensor<2x50xi64>
  vx.yield %0 : tensor<2x50xi64>
}

// -----

// Another kernel is left alone.
// CHECK-LABEL: func.func @other
// CHECK:         bufferization.materialize_in_destination
vx.kernel @other "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<7xf32>):
  %0 = vx.exp %x : tensor<7xf32>
  vx.yield %0 : tensor<7xf32>
}
