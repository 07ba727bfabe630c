// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @fault(
// CHECK-SAME:    %[[BAD:[^ :]+]]: i1, %[[INDEX:[^ :]+]]: i64, %[[LOWER:[^ :]+]]: i64, %[[UPPER:[^ :]+]]: i64
func.func @fault(%bad: i1, %index: i64, %lower: i64, %upper: i64) {
  // CHECK: vxk.report_fault %[[BAD]] value %[[INDEX]] range %[[LOWER]], %[[UPPER]] site 3
  vxk.report_fault %bad value %index range %lower, %upper site 3
  return
}

// -----

// CHECK-LABEL: func.func @place(
// CHECK-SAME:    %[[I:[^ :]+]]: i64, %[[J:[^ :]+]]: i64)
func.func @place(%i: i64, %j: i64) {
  // CHECK: vxk.report_fault %{{.+}} value %[[I]] range %[[I]], %[[J]] at[%[[I]], %[[J]]] site 0
  %bad = arith.cmpi slt, %i, %j : i64
  vxk.report_fault %bad value %i range %i, %j at [%i, %j] site 0
  return
}

// -----

// It writes: nothing removes it, even where its condition is all that is known.
// CHECK-LABEL: func.func @stays(
// CHECK:         vxk.report_fault
func.func @stays(%index: i64) {
  %false = arith.constant false
  vxk.report_fault %false value %index range %index, %index site 0
  return
}

// -----

func.func @index_is_an_i64(%bad: i1, %index: index, %lower: i64) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%index' expects different type than prior uses: 'i64' vs 'index'}}
  vxk.report_fault %bad value %index range %lower, %lower site 0
  return
}
