// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @known(
func.func @known() -> (index, index) {
  // CHECK: vxk.scalar 0 range [64, 512, 64]
  %0 = vxk.scalar 0 range [64, 512, 64]
  // CHECK: vxk.scalar 1
  %1 = vxk.scalar 1
  return %0, %1 : index, index
}

// -----

func.func @c1() {
  // expected-error @+1 {{'vxk.scalar' op expects the least and greatest value and what it is a multiple of in 'range', got [2, 1, 1]}}
  %0 = vxk.scalar 0 range [2, 1, 1]
  return
}

// -----

func.func @c1_count() {
  // expected-error @+1 {{'vxk.scalar' op expects the least and greatest value and what it is a multiple of in 'range', got [2]}}
  %0 = vxk.scalar 0 range [2]
  return
}
