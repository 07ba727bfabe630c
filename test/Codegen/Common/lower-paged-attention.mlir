// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-convert-to-linalg,func.func(vx-lower-paged-attention{lanes=16}))' | FileCheck %s

// The sequence of a token is looked for. Of each page the scores, the greatest so far, the weights, and the values by these; the pages are read where they lie.
// CHECK-LABEL: func.func @paged_attention
// CHECK-DAG:     %[[KEYS:.+]] = vxk.buffer 1
// CHECK-DAG:     %[[VALUES:.+]] = vxk.buffer 2
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<32xf32>
// CHECK:         scf.for %{{.+}} -> (i1, index, i64)
// CHECK:         scf.for %{{.+}} -> (f32, f32, index)
// CHECK:           scf.if
// CHECK:             vector.load %[[KEYS]]{{.*}}vector<16xf32>
// CHECK:             vector.reduction <add>
// CHECK:           arith.maximumf {{.*}}vector<16xf32>
// CHECK:           math.exp
// CHECK:           math.exp {{.*}}vector<16xf32>
// CHECK:           scf.for %{{.+}} -> (vector<16xf32>, vector<16xf32>)
// CHECK:             vector.load %[[VALUES]]{{.*}}vector<16xf32>
// CHECK:         arith.divf {{.*}}vector<16xf32>
// CHECK-NOT:     vxk.paged_attention
vx.kernel @paged_attention "x" symbols ["s0"] workgroups <1> #vx.loops<tile = [1, 1, 0]> {
^bb0(%q: tensor<2x4x32xf32>, %k: tensor<?x2x32x32xf32, #vx.enc<[s0, 2, 32, 32]>>, %v: tensor<?x2x32x32xf32, #vx.enc<[s0, 2, 32, 32]>>, %t: tensor<1x2xi64>, %s: tensor<2xi64>, %l: tensor<1xi64>):
  %0 = vx.paged_attention %q, %k, %v table(%t) starts(%s) lengths(%l) scale = 0.5 softcap = 2.0 window = 9 {vx.anchor}
      : tensor<2x4x32xf32>, tensor<?x2x32x32xf32, #vx.enc<[s0, 2, 32, 32]>>, tensor<1x2xi64>, tensor<2xi64>, tensor<1xi64>
  vx.yield %0 : tensor<2x4x32xf32>
}

// -----

// Four threads have parts of a key each, and six have an element of the depth each, for a sixth of the places; they wait for each other's products,
// scores and weights, and at the end for the sums. Narrow elements are widened as they are read.
// CHECK-LABEL: func.func @threads
// CHECK:         memref.alloc() : memref<32xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.alloc() : memref<120xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
// CHECK:         vxk.thread_id
// CHECK:         scf.for %{{.+}} -> (f32, f32, index)
// CHECK:           arith.extf
// CHECK-COUNT-3:         vxk.barrier
// CHECK:         vxk.barrier
// CHECK-NOT:     vxk.barrier
// CHECK:         arith.truncf
vx.kernel @threads "x" symbols [] workgroups <1> #vx.loops<tile = [1, 1, 0], threads = 128> {
^bb0(%q: tensor<2x4x20xf16>, %k: tensor<3x2x32x20xf16>, %t: tensor<1x2xi64>, %s: tensor<2xi64>, %l: tensor<1xi64>):
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.5 {vx.anchor} : tensor<2x4x20xf16>, tensor<3x2x32x20xf16>, tensor<1x2xi64>, tensor<2xi64>, tensor<1xi64>
  vx.yield %0 : tensor<2x4x20xf16>
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
