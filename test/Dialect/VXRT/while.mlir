// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @count
// CHECK-NEXT:  ^bb0(%[[N:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer):
vxrt.program @count symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // CHECK-NEXT: vxrt.while %[[N]] inits(%[[N]], %[[X]] : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  // CHECK-NEXT: ^bb0(%[[LEFT:[^ :]+]]: i64, %[[STATE:[^ :]+]]: !vxrt.buffer):
  %0:2 = vxrt.while %n inits(%n, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%left: i64, %state: !vxrt.buffer):
    %one = vxrt.const 1
    // CHECK: %[[NEXT:.+]] = vxrt.calc sub %[[LEFT]]
    %next = vxrt.calc sub %left, %one
    // CHECK-NEXT: vxrt.yield %[[NEXT]], %[[NEXT]], %[[STATE]] : i64, i64, !vxrt.buffer
    vxrt.yield %next, %next, %state : i64, i64, !vxrt.buffer
  }
  // CHECK: vxrt.while %[[N]] {
  vxrt.while %n {
    vxrt.yield %n : i64
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c1_arguments symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.while' op expects the region to take the initial values' types: ('!vxrt.buffer'), got ('i64')}}
  %0 = vxrt.while %n inits(%x : !vxrt.buffer) -> !vxrt.buffer {
  ^bb0(%state: i64):
    vxrt.yield %state, %x : i64, !vxrt.buffer
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c1_results symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.while' op expects results of the initial values' types: ('!vxrt.buffer'), got ('i64')}}
  %0 = vxrt.while %n inits(%x : !vxrt.buffer) -> i64 {
  ^bb0(%state: !vxrt.buffer):
    vxrt.yield %n, %state : i64, !vxrt.buffer
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c2 symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.while' op expects the region to yield ('i64', '!vxrt.buffer'), got ('!vxrt.buffer')}}
  %0 = vxrt.while %n inits(%x : !vxrt.buffer) -> !vxrt.buffer {
  ^bb0(%state: !vxrt.buffer):
    vxrt.yield %state : !vxrt.buffer
  }
  vxrt.return ranks []
}
