// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-bound-shifts,canonicalize))' | FileCheck %s
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(arith-int-range-narrowing{int-bitwidths-supported=32},vx-bound-shifts))' | FileCheck %s --check-prefix=NARROW

// As many bits as there are, or more: nothing is left, or the sign.
// CHECK-LABEL: func.func @fires(
// CHECK-SAME:    %[[X:.+]]: i32, %[[V:.+]]: vector<2xi32>
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[ZEROS:.+]] = arith.constant dense<0> : vector<2xi32>
// CHECK-DAG:     %[[MOST:.+]] = arith.constant 31 : i32
// CHECK:         %[[S:.+]] = arith.shrsi %[[X]], %[[MOST]]
// CHECK:         return %[[ZERO]], %[[ZERO]], %[[S]], %[[ZEROS]]
func.func @fires(%x: i32, %v: vector<2xi32>) -> (i32, i32, i32, vector<2xi32>) {
  %c32 = arith.constant 32 : i32
  %c40 = arith.constant 40 : i32
  %cv = arith.constant dense<32> : vector<2xi32>
  %0 = arith.shrui %x, %c32 : i32
  %1 = arith.shli %x, %c40 : i32
  %2 = arith.shrsi %x, %c32 : i32
  %3 = arith.shrui %v, %cv : vector<2xi32>
  return %0, %1, %2, %3 : i32, i32, i32, vector<2xi32>
}

// CHECK-LABEL: func.func @must_not(
// CHECK:         arith.shrui
// CHECK:         arith.shrui
func.func @must_not(%x: i32, %n: i32) -> (i32, i32) {
  %c31 = arith.constant 31 : i32
  %0 = arith.shrui %x, %c31 : i32
  %1 = arith.shrui %x, %n : i32
  return %0, %1 : i32, i32
}

// The upper half of a number that is 0 or 1 is 0, computed in 32 bits too.
// NARROW-LABEL: func.func @narrowed(
// NARROW-NOT:     arith.shrui
// NARROW:         return
func.func @narrowed(%b: i1) -> i32 {
  %c32 = arith.constant 32 : i64
  %x = arith.extui %b : i1 to i64
  %h = arith.shrui %x, %c32 : i64
  %r = arith.trunci %h : i64 to i32
  return %r : i32
}
