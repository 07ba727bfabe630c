// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-convert-to-linalg,func.func(vx-cpu-lower-cumulative-sum{vector-bits=512}))' | FileCheck %s

// A vector of neighbours is carried along the middle dimension, from its end on, and stored before the element is added.
// CHECK-LABEL: func.func @columns
// CHECK:         scf.for %{{.+}} iter_args(%[[SUM:.+]] = %{{.+}}) -> (vector<16xf32>)
// CHECK:           vector.maskedload
// CHECK:           arith.addf %[[SUM]], %{{.+}}
// CHECK:           vector.maskedstore %{{.+}}, %{{.+}}, %[[SUM]]
// CHECK-NOT:     vxk.cumulative_sum
vx.kernel @columns "x" symbols ["s0"] workgroups <1> #vx.loops<tile = [1, 0, 256]> {
^bb0(%x: tensor<2x?x300xf32, #vx.enc<[2, s0, 300]>>):
  %0 = vx.cumulative_sum exclusive reverse %x {vx.anchor} : tensor<2x?x300xf32, #vx.enc<[2, s0, 300]>>
  vx.yield %0 : tensor<2x?x300xf32, #vx.enc<[2, s0, 300]>>
}

// -----

// Of one column a number is; of narrow floats it is an f32.
// CHECK-LABEL: func.func @line
// CHECK:         scf.for %{{.+}} iter_args(%[[SUM:.+]] = %{{.+}}) -> (f32)
// CHECK:           arith.extf
// CHECK:           arith.truncf
vx.kernel @line "x" symbols [] workgroups <1> #vx.loops<tile = [1, 0, 0]> {
^bb0(%x: tensor<2x70x1xf16>):
  %0 = vx.cumulative_sum %x {vx.anchor} : tensor<2x70x1xf16>
  vx.yield %0 : tensor<2x70x1xf16>
}

// -----

// CHECK-LABEL: func.func @other
// CHECK:         bufferization.materialize_in_destination
vx.kernel @other "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<7xf32>):
  %0 = vx.exp %x : tensor<7xf32>
  vx.yield %0 : tensor<7xf32>
}
