// RUN: vx-opt %s --split-input-file --vx-cpu-lower-kernel-interface --verify-diagnostics | FileCheck %s

// Buffers begin at word 4 of the block, scalars lie behind them, and a workgroup's number is x + 65535 y.
// CHECK-LABEL: func.func private @add.body(
// CHECK-SAME:    %[[BLOCK:[^ :]+]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[ID:[^ :]+]]: i64
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef, llvm.readonly}
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef}
// CHECK:         llvm.getelementptr %[[BLOCK]][6]
// CHECK:         arith.index_cast %[[ID]]
// CHECK:         llvm.getelementptr %[[BLOCK]][2]
// CHECK-LABEL: func.func @add(
// CHECK-SAME:    %[[B:[^ :]+]]: !llvm.ptr, %[[X:[^ :]+]]: i32, %[[Y:[^ :]+]]: i32
// CHECK-DAG:     %[[WIDTH:.+]] = arith.constant 65535 : i64
// CHECK-DAG:     %[[X64:.+]] = arith.extui %[[X]]
// CHECK-DAG:     %[[Y64:.+]] = arith.extui %[[Y]]
// CHECK:         %[[ROW:.+]] = arith.muli %[[Y64]], %[[WIDTH]]
// CHECK:         %[[LINEAR:.+]] = arith.addi %[[X64]], %[[ROW]]
// CHECK:         llvm.getelementptr %[[B]][4]
// CHECK:         llvm.getelementptr %[[B]][5]
// CHECK:         call @add.body(%[[B]], %[[LINEAR]]
func.func @add() attributes {vxk.kernel} {
  %n = vxk.scalar 0
  %a = vxk.buffer 0 read(%n) : memref<?xf32>
  %o = vxk.buffer 1 write(%n) : memref<?xf32>
  %id = vxk.workgroup_id
  %count = vxk.workgroup_count
  %in = arith.cmpi ult, %id, %count : index
  scf.if %in {
    %x = memref.load %a[%id] : memref<?xf32>
    memref.store %x, %o[%id] : memref<?xf32>
  }
  return
}

// -----

// With several results, one of them may lie over an operand that another still needs.
// CHECK-LABEL: func.func private @two.body(
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.noundef, llvm.readonly}
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.noundef}
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef}
func.func @two() attributes {vxk.kernel, vxk.in_place = array<i64: 0, 1>} {
  %c0 = arith.constant 0 : index
  %a = vxk.buffer 0 read() : memref<1xf32>
  %o = vxk.buffer 1 write() : memref<1xf32>
  %p = vxk.buffer 2 write() : memref<1xf32>
  %x = memref.load %a[%c0] : memref<1xf32>
  memref.store %x, %o[%c0] : memref<1xf32>
  memref.store %x, %p[%c0] : memref<1xf32>
  return
}

// -----

// A fault is a call out of line, one function for each rank of a place, with what the record holds of it; and the record's count is added to atomically.
// CHECK-LABEL: func.func private @report.body(
// CHECK:         scf.if
// CHECK:           llvm.call @vx.report_fault.0(
// CHECK:         scf.if
// CHECK:           llvm.call @vx.report_fault.9({{.*}}) : (!llvm.ptr, i64, i64, i64, i64, {{(i64, )*}}i64) -> ()
// CHECK-LABEL: llvm.func internal @vx.report_fault.0(
// CHECK-SAME:    cold
// CHECK:         llvm.atomicrmw add %{{.+}}, %{{.+}} monotonic
func.func @report() attributes {vxk.kernel} {
  %bad = arith.constant true
  %v = arith.constant 7 : i64
  vxk.report_fault %bad value %v range %v, %v site 3
  vxk.report_fault %bad value %v range %v, %v at [%v, %v, %v, %v, %v, %v, %v, %v, %v] site 4
  return
}

// -----

// expected-error @below {{'func.func' op expects no arguments and no results of a kernel, got '(i32) -> ()'}}
func.func @arguments(%x: i32) attributes {vxk.kernel} {
  return
}

// -----

func.func @dynamic_stack() attributes {vxk.kernel} {
  %n = vxk.scalar 0
  // expected-error @below {{'memref.alloca' op expects a static shape for a kernel's stack buffer, got 'memref<?xf32>'}}
  %m = memref.alloca(%n) : memref<?xf32>
  return
}

// -----

// A guarded kernel has no workgroups once a fault is recorded: the count that the record, of word 0, begins with is not 0.
// CHECK-LABEL: func.func private @guarded.body(
// CHECK-SAME:    %[[BLOCK:[^ :]+]]: !llvm.ptr
// CHECK-DAG:     %[[W:.+]] = llvm.getelementptr %[[BLOCK]][2]
// CHECK-DAG:     %[[COUNT:.+]] = llvm.load %[[W]] invariant
// CHECK-DAG:     %[[R:.+]] = llvm.getelementptr %[[BLOCK]][0]
// CHECK-DAG:     %[[RECORD:.+]] = llvm.load %[[R]] invariant
// CHECK:         %[[FAULTS:.+]] = llvm.load %[[RECORD]] : !llvm.ptr -> i32
// CHECK:         %[[NONE:.+]] = arith.cmpi eq, %[[FAULTS]], %{{.+}} : i32
// CHECK:         arith.select %[[NONE]], %[[COUNT]], %{{.+}} : i64
func.func @guarded() attributes {vxk.kernel, vxk.guarded} {
  %o = vxk.buffer 0 write() : memref<1xindex>
  %c0 = arith.constant 0 : index
  %count = vxk.workgroup_count
  memref.store %count, %o[%c0] : memref<1xindex>
  return
}
