// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @choose
// CHECK-NEXT:  ^bb0(%[[C:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer):
vxrt.program @choose symbols ["c"] {
^bb0(%c: i64, %x: !vxrt.buffer):
  // CHECK-NEXT: vxrt.if %[[C]] -> !vxrt.buffer, i64 {
  // CHECK-NEXT:   vxrt.yield %[[X]], %[[C]] : !vxrt.buffer, i64
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   %[[ONE:.+]] = vxrt.const 1
  // CHECK-NEXT:   vxrt.yield %[[X]], %[[ONE]] : !vxrt.buffer, i64
  // CHECK-NEXT: }
  %0:2 = vxrt.if %c -> !vxrt.buffer, i64 {
    vxrt.yield %x, %c : !vxrt.buffer, i64
  } else {
    %one = vxrt.const 1
    vxrt.yield %x, %one : !vxrt.buffer, i64
  }
  // CHECK-NEXT: vxrt.if %[[C]] {
  // CHECK-NEXT:   vxrt.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   vxrt.yield
  // CHECK-NEXT: }
  vxrt.if %c {
    vxrt.yield
  } else {
    vxrt.yield
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c1_first symbols ["c"] {
^bb0(%c: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.if' op expects the first region to yield ('!vxrt.buffer'), got ('i64')}}
  %0 = vxrt.if %c -> !vxrt.buffer {
    vxrt.yield %c : i64
  } else {
    vxrt.yield %x : !vxrt.buffer
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c1_second symbols ["c"] {
^bb0(%c: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.if' op expects the second region to yield ('!vxrt.buffer'), got ()}}
  %0 = vxrt.if %c -> !vxrt.buffer {
    vxrt.yield %x : !vxrt.buffer
  } else {
    vxrt.yield
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c1_no_yield symbols ["c"] {
^bb0(%c: i64):
  // expected-error @+1 {{'vxrt.if' op expects the first region to end with 'vxrt.yield', got 'llvm.unreachable'}}
  vxrt.if %c {
    llvm.unreachable
  } else {
    vxrt.yield
  }
  vxrt.return ranks []
}

// -----

func.func @yield_elsewhere() {
  // expected-error @+1 {{'vxrt.yield' op expects parent op to be one of 'vxrt.if, vxrt.while'}}
  vxrt.yield
}
