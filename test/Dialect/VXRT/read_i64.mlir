// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @read
// CHECK-NEXT:  ^bb0(%[[N:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer):
vxrt.program @read symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // CHECK-NEXT: vxrt.read_i64 i1 %[[X]][%[[N]]] : !vxrt.buffer
  %0 = vxrt.read_i64 i1 %x[%n] : !vxrt.buffer
  // CHECK-NEXT: vxrt.read_i64 i32 %[[X]][%[[N]]] : !vxrt.buffer
  %1 = vxrt.read_i64 i32 %x[%n] : !vxrt.buffer
  // CHECK-NEXT: %[[VALUE:.+]] = vxrt.read_i64 i64 %[[X]][%[[N]]] : !vxrt.buffer
  %2 = vxrt.read_i64 i64 %x[%n] : !vxrt.buffer
  // CHECK-NEXT: vxrt.check_faults
  vxrt.check_faults
  // CHECK-NEXT: vxrt.check_range %[[VALUE]] range %[[N]], %[[VALUE]] "size 'n'"
  vxrt.check_range %2 range %n, %2 "size 'n'"
  vxrt.return ranks []
}

// -----

vxrt.program @c1 symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.read_i64' op expects an element of i1, i32 or i64, got 'f32'}}
  %0 = vxrt.read_i64 f32 %x[%n] : !vxrt.buffer
  vxrt.return ranks []
}
