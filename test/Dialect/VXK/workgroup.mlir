// RUN: vx-opt %s | vx-opt | FileCheck %s --check-prefix=ROUND
// RUN: vx-opt %s --int-range-optimizations | FileCheck %s --check-prefix=RANGE

// What a kernel asks of its place in the grid, printed and read back.
// ROUND-LABEL: func.func @place(
// ROUND:         vxk.workgroup_id
// ROUND-NEXT:    vxk.workgroup_count
// ROUND-NEXT:    vxk.thread_id
// ROUND-NEXT:    vxk.barrier
// ROUND-NEXT:    return
func.func @place() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %id = vxk.workgroup_id
  %count = vxk.workgroup_count
  %thread = vxk.thread_id
  vxk.barrier
  return
}

// The ranges: a thread is below the number of threads, a workgroup and a scalar are at least 0.
// RANGE-LABEL: func.func @ranges(
// RANGE-DAG:     %[[TRUE:.+]] = arith.constant true
// RANGE:         return %[[TRUE]], %[[TRUE]], %[[TRUE]], %[[SMALLER:[^ ,]+]] :
func.func @ranges() -> (i1, i1, i1, i1) attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %thread = vxk.thread_id
  %id = vxk.workgroup_id
  %n = vxk.scalar 0
  %below = arith.cmpi slt, %thread, %c64 : index
  %positive = arith.cmpi sge, %id, %c0 : index
  %size = arith.cmpi sge, %n, %c0 : index
  // Not known: the last thread is 63.
  %smaller = arith.cmpi slt, %thread, %c63 : index
  return %below, %positive, %size, %smaller : i1, i1, i1, i1
}

// What is known of a scalar is part of its range.
// RANGE-LABEL: func.func @scalar(
// RANGE:         %[[TRUE:.+]] = arith.constant true
// RANGE:         return %[[TRUE]]
func.func @scalar() -> i1 attributes {vxk.kernel} {
  %n = vxk.scalar 0 range [1, 512, 1]
  %c512 = arith.constant 512 : index
  %0 = arith.cmpi sle, %n, %c512 : index
  return %0 : i1
}
