// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @segment
// CHECK-NEXT:  ^bb0(%[[N:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer, %[[Y:[^ :]+]]: !vxrt.buffer):
vxrt.program @segment symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer):
  // CHECK-NEXT: vxrt.segment {
  vxrt.segment {
    // CHECK-NEXT: vxrt.dispatch @kernel[%[[N]]] (%[[X]], %[[X]]) -> (%[[Y]]) scalars(%[[N]]) : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @kernel[%n](%x, %x) -> (%y) scalars(%n) : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    // CHECK-NEXT: vxrt.dispatch barrier @kernel[%[[N]]] () -> (%[[X]], %[[Y]]) scalars() : () -> (!vxrt.buffer, !vxrt.buffer)
    vxrt.dispatch barrier @kernel[%n]() -> (%x, %y) scalars() : () -> (!vxrt.buffer, !vxrt.buffer)
    // CHECK-NEXT: vxrt.copy %[[X]], %[[Y]] : !vxrt.buffer
    vxrt.copy %x, %y : !vxrt.buffer
    // CHECK-NEXT: vxrt.copy barrier %[[Y]], %[[X]] : !vxrt.buffer
    vxrt.copy barrier %y, %x : !vxrt.buffer
  // CHECK-NEXT: }
  }
  vxrt.return ranks []
}

// -----

vxrt.program @c1 symbols [] {
  // expected-error @+1 {{'vxrt.segment' op expects 'vxrt.dispatch' and 'vxrt.copy' only, got 'vxrt.const'}}
  vxrt.segment {
    %0 = vxrt.const 1
  }
  vxrt.return ranks []
}

// -----

vxrt.program @copy_outside symbols [] {
^bb0(%x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.copy' op expects parent op 'vxrt.segment'}}
  vxrt.copy %x, %x : !vxrt.buffer
  vxrt.return ranks []
}

// -----

vxrt.program @dispatch_outside symbols ["n"] {
^bb0(%n: i64):
  // expected-error @+1 {{'vxrt.dispatch' op expects parent op 'vxrt.segment'}}
  vxrt.dispatch @kernel[%n]() -> () scalars() : () -> ()
  vxrt.return ranks []
}
