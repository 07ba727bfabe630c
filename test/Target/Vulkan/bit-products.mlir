// RUN: vx-opt %s --split-input-file --vx-convert-to-spirv | FileCheck %s

// A factor that is 0 or 1 chooses between the other one and 0, on either side and wherever its range comes from.
// CHECK-LABEL: spirv.func @remainder
// CHECK:         %[[BIT:.+]] = spirv.UMod %{{.+}}, %{{.+}} : i64
// CHECK-NOT:     spirv.IMul %[[BIT]]
// CHECK:         %[[SET:.+]] = spirv.INotEqual %[[BIT]], %[[ZERO:.+]] : i64
// CHECK:         spirv.Select %[[SET]], %[[N:.+]], %[[ZERO]] : i1, i64
func.func @remainder() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c2 = arith.constant 2 : index
  %bit = arith.remui %i, %c2 : index
  %at = arith.muli %bit, %n : index
  memref.store %one, %r[%at] : memref<?xf32>
  return
}

// -----

// CHECK-LABEL: spirv.func @extended
// CHECK:         %[[NARROW:.+]] = spirv.BitwiseAnd %{{.+}}, %{{.+}} : i32
// CHECK:         %[[SET:.+]] = spirv.INotEqual %[[NARROW]], %{{.+}} : i32
// CHECK:         spirv.Select %[[SET]], %{{.+}}, %{{.+}} : i1, i64
func.func @extended() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : i32
  %narrow = arith.index_castui %i : index to i32
  %masked = arith.andi %narrow, %c1 : i32
  %bit = arith.index_castui %masked : i32 to index
  %at = arith.muli %n, %bit : index
  memref.store %one, %r[%at] : memref<?xf32>
  return
}

// -----

// Threads below 2, by the size of the workgroup.
// CHECK-LABEL: spirv.func @threads
// CHECK:         spirv.INotEqual
// CHECK:         spirv.Select
func.func @threads() attributes {vxk.kernel, vxk.threads = 2 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %at = arith.muli %i, %n : index
  memref.store %one, %r[%at] : memref<?xf32>
  return
}

// -----

// A factor that may be 2, and a product of 32 bits, stay as they are.
// CHECK-LABEL: spirv.func @others
// CHECK-NOT:     spirv.Select
// CHECK:         spirv.IMul %{{.+}}, %{{.+}} : i32
// CHECK-NOT:     spirv.Select
// CHECK:         spirv.IMul %{{.+}}, %{{.+}} : i64
// CHECK-NOT:     spirv.Select
func.func @others() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %narrow = arith.index_castui %i : index to i32
  %bit = arith.andi %narrow, %c1 : i32
  %small = arith.muli %bit, %narrow : i32
  %wide = arith.index_castui %small : i32 to index
  memref.store %one, %r[%wide] : memref<?xf32>
  %digit = arith.remui %i, %c3 : index
  %at = arith.muli %digit, %n : index
  memref.store %one, %r[%at] : memref<?xf32>
  return
}
