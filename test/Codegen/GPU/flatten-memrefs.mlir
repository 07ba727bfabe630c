// RUN: vx-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(vx-flatten-memrefs))' | FileCheck %s

// A dynamic buffer is addressed by its row length.
// CHECK-LABEL: func.func @dynamic
// CHECK-DAG:     %[[N:.+]] = vxk.scalar 0
// CHECK-DAG:     %[[I:.+]] = vxk.thread_id
// CHECK-DAG:     %[[M:.+]] = vxk.buffer 0 read(%{{.+}}) : memref<?xf32>
// CHECK:         %[[ROW:.+]] = arith.muli %[[I]], %[[N]]
// CHECK:         %[[AT:.+]] = arith.addi %[[ROW]], %[[I]]
// CHECK:         memref.load %[[M]][%[[AT]]] : memref<?xf32>
func.func @dynamic() attributes {vxk.kernel} {
  %n = vxk.scalar 0
  %i = vxk.thread_id
  %m = vxk.buffer 0 read (%n, %n) : memref<?x?xf32>
  %r = vxk.buffer 1 write () : memref<1xf32>
  %c0 = arith.constant 0 : index
  %v = memref.load %m[%i, %i] : memref<?x?xf32>
  memref.store %v, %r[%c0] : memref<1xf32>
  return
}

// -----

// One dimension stays as it is.
// CHECK-LABEL: func.func @flat
// CHECK:         memref.store %{{.+}}, %{{.+}}[%[[I:.+]]] : memref<8xf32>
func.func @flat() attributes {vxk.kernel} {
  %i = vxk.thread_id
  %v = arith.constant 1.0 : f32
  %r = vxk.buffer 0 write () : memref<8xf32>
  memref.store %v, %r[%i] : memref<8xf32>
  return
}

// -----

// A memref from control flow has no buffer of its own.
func.func @chosen(%c: i1) attributes {vxk.kernel} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<4x4xf32>
  %b = vxk.buffer 1 read () : memref<4x4xf32>
  // expected-error@+1 {{expects a memref that views one buffer of the kernel, got the result of 'arith.select'}}
  %m = arith.select %c, %a, %b : memref<4x4xf32>
  %v = memref.load %m[%i, %i] : memref<4x4xf32>
  return
}
