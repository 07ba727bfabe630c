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

// In 32 bits, too: the factor may come from a number of 64.
// CHECK-LABEL: spirv.func @narrow
// CHECK:         %[[BIT:.+]] = spirv.BitwiseAnd %{{.+}}, %{{.+}} : i32
// CHECK-NOT:     spirv.IMul %[[BIT]]
// CHECK:         spirv.INotEqual %[[BIT]], %{{.+}} : i32
// CHECK:         spirv.Select %{{.+}}, %{{.+}}, %{{.+}} : i1, i32
func.func @narrow() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : i32
  %narrow = arith.index_castui %i : index to i32
  %bit = arith.andi %narrow, %c1 : i32
  %small = arith.muli %bit, %narrow : i32
  %wide = arith.index_castui %small : i32 to index
  memref.store %one, %r[%wide] : memref<?xf32>
  return
}

// -----

// What follows from a choice between two constants: of 0 and 9, modulo 5, is 0 and 4.
// CHECK-LABEL: spirv.func @follows
// CHECK:         %[[REST:.+]] = spirv.UMod %{{.+}}, %{{.+}} : i32
// CHECK-NOT:     spirv.IMul %[[REST]]
// CHECK:         %[[OTHER:.+]] = spirv.INotEqual %[[REST]], %{{.+}} : i32
// CHECK:         %[[PRODUCT:.+]] = spirv.IMul %[[N:.+]], %cst4_i32 : i32
// CHECK:         spirv.Select %[[OTHER]], %[[PRODUCT]], %cst0_i32{{.*}} : i1, i32
func.func @follows() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : i32
  %c5 = arith.constant 5 : i32
  %c9 = arith.constant 9 : i32
  %narrow = arith.index_castui %i : index to i32
  %less = arith.cmpi ult, %narrow, %c9 : i32
  %either = arith.select %less, %c0, %c9 : i32
  %rest = arith.remui %either, %c5 : i32
  %many = arith.index_castui %n : index to i32
  %small = arith.muli %rest, %many : i32
  %wide = arith.index_castui %small : i32 to index
  memref.store %one, %r[%wide] : memref<?xf32>
  return
}

// -----

// A factor of three values stays as it is.
// CHECK-LABEL: spirv.func @others
// CHECK:         spirv.UMod %{{.+}}, %{{.+}} : i32
// CHECK-NOT:     spirv.Select
// CHECK:         spirv.IMul %{{.+}}, %{{.+}} : i32
// CHECK-NOT:     spirv.Select
func.func @others() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : i32
  %narrow = arith.index_castui %i : index to i32
  %digit = arith.remui %narrow, %c3 : i32
  %many = arith.index_castui %n : index to i32
  %small = arith.muli %digit, %many : i32
  %wide = arith.index_castui %small : i32 to index
  memref.store %one, %r[%wide] : memref<?xf32>
  return
}
