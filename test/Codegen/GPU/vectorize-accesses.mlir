// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-vectorize-accesses))' | FileCheck %s

// Four neighbours from a multiple of 4 on are one load, and one store.
// CHECK-LABEL: func.func @four
// CHECK:         %[[V:.+]] = vector.load %{{.+}}[%[[AT:.+]]] : memref<1024xf32>, vector<4xf32>
// CHECK-NOT:     memref.load
// CHECK:         %[[R:.+]] = vector.from_elements %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : vector<4xf32>
// CHECK:         vector.store %[[R]], %{{.+}}[%[[AT]]] : memref<1024xf32>, vector<4xf32>
// CHECK-NOT:     memref.store
func.func @four() attributes {vxk.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %t = vxk.thread_id
  %x = vxk.buffer 0 read () : memref<1024xf32>
  %y = vxk.buffer 1 write () : memref<1024xf32>
  %i0 = arith.muli %t, %c4 : index
  %i1 = arith.addi %i0, %c1 : index
  %i2 = arith.addi %i0, %c2 : index
  %i3 = arith.addi %i0, %c3 : index
  %v0 = memref.load %x[%i0] : memref<1024xf32>
  %v1 = memref.load %x[%i1] : memref<1024xf32>
  %v2 = memref.load %x[%i2] : memref<1024xf32>
  %v3 = memref.load %x[%i3] : memref<1024xf32>
  memref.store %v0, %y[%i0] : memref<1024xf32>
  memref.store %v1, %y[%i1] : memref<1024xf32>
  memref.store %v2, %y[%i2] : memref<1024xf32>
  memref.store %v3, %y[%i3] : memref<1024xf32>
  return
}

// -----

// 16 bytes are two f64; a place that is no multiple of 2 stays alone.
// CHECK-LABEL: func.func @two
// CHECK:         vector.load %{{.+}}[%{{.+}}] : memref<1024xf64>, vector<2xf64>
// CHECK:         memref.load
// CHECK-NOT:     vector.store
func.func @two() attributes {vxk.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = vxk.thread_id
  %x = vxk.buffer 0 read () : memref<1024xf64>
  %y = vxk.buffer 1 write () : memref<1024xf64>
  %i0 = arith.muli %t, %c2 : index
  %i1 = arith.addi %i0, %c1 : index
  %i2 = arith.addi %i0, %c2 : index
  %v0 = memref.load %x[%i0] : memref<1024xf64>
  %v1 = memref.load %x[%i1] : memref<1024xf64>
  %v2 = memref.load %x[%i2] : memref<1024xf64>
  %t1 = arith.addi %t, %c1 : index
  %s = arith.addf %v0, %v1 : f64
  %r = arith.addf %s, %v2 : f64
  memref.store %s, %y[%t] : memref<1024xf64>
  memref.store %r, %y[%t1] : memref<1024xf64>
  return
}

// -----

// A store between two loads may write what the second one reads: buffers may be the same memory.
// CHECK-LABEL: func.func @store_between
// CHECK-COUNT-2: memref.load
// CHECK-NOT:     vector.load
func.func @store_between() attributes {vxk.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = vxk.thread_id
  %x = vxk.buffer 0 read () : memref<1024xf32>
  %y = vxk.buffer 1 write () : memref<1024xf32>
  %i0 = arith.muli %t, %c2 : index
  %i1 = arith.addi %i0, %c1 : index
  %v0 = memref.load %x[%i0] : memref<1024xf32>
  memref.store %v0, %y[%t] : memref<1024xf32>
  %v1 = memref.load %x[%i1] : memref<1024xf32>
  memref.store %v1, %y[%i1] : memref<1024xf32>
  return
}

// -----

// Loads do not move over a barrier.
// CHECK-LABEL: func.func @barrier_between
// CHECK:         memref.load
// CHECK:         vxk.barrier
// CHECK:         memref.load
func.func @barrier_between() attributes {vxk.kernel} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = vxk.thread_id
  %m = memref.alloc() : memref<64xf32, #gpu.address_space<workgroup>>
  %y = vxk.buffer 0 write () : memref<1024xf32>
  %i0 = arith.muli %t, %c2 : index
  %i1 = arith.addi %i0, %c1 : index
  %v0 = memref.load %m[%i0] : memref<64xf32, #gpu.address_space<workgroup>>
  vxk.barrier
  %v1 = memref.load %m[%i1] : memref<64xf32, #gpu.address_space<workgroup>>
  %s = arith.addf %v0, %v1 : f32
  memref.store %s, %y[%t] : memref<1024xf32>
  return
}
