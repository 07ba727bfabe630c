// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @list
// CHECK-NEXT:  ^bb0(%[[N:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer):
vxrt.program @list symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // CHECK-NEXT: %[[NONE:.+]] = vxrt.list_empty f32 : !vxrt.object
  %none = vxrt.list_empty f32 : !vxrt.object
  // CHECK-NEXT: %[[ONE:.+]] = vxrt.list_insert %[[NONE]][%[[N]]], %[[X]] dims(%[[N]], %[[N]]) : !vxrt.object, !vxrt.buffer -> !vxrt.object
  %one = vxrt.list_insert %none[%n], %x dims(%n, %n) : !vxrt.object, !vxrt.buffer -> !vxrt.object
  // CHECK-NEXT: %[[TWO:.+]] = vxrt.list_insert %[[ONE]][%[[N]]], %[[X]] dims() : !vxrt.object, !vxrt.buffer -> !vxrt.object
  %two = vxrt.list_insert %one[%n], %x dims() : !vxrt.object, !vxrt.buffer -> !vxrt.object
  // CHECK-NEXT: vxrt.list_size %[[TWO]] : !vxrt.object
  %size = vxrt.list_size %two : !vxrt.object
  // CHECK-NEXT: vxrt.list_get %[[TWO]][%[[N]]] : !vxrt.object -> !vxrt.buffer, i64, i64
  %first:3 = vxrt.list_get %two[%n] : !vxrt.object -> !vxrt.buffer, i64, i64
  // CHECK-NEXT: vxrt.list_get %[[TWO]][%[[N]]] : !vxrt.object -> !vxrt.buffer
  %scalar = vxrt.list_get %two[%n] : !vxrt.object -> !vxrt.buffer
  // CHECK-NEXT: vxrt.list_erase %[[TWO]][%[[N]]] : !vxrt.object -> !vxrt.object
  %less = vxrt.list_erase %two[%n] : !vxrt.object -> !vxrt.object
  // CHECK-NEXT: %[[NOT:.+]] = vxrt.no_list f32 : !vxrt.object
  %not = vxrt.no_list f32 : !vxrt.object
  // CHECK-NEXT: vxrt.has_list %[[NOT]] : !vxrt.object
  %has = vxrt.has_list %not : !vxrt.object
  vxrt.return ranks []
}

// -----

vxrt.program @a_buffer_is_no_list symbols [] {
^bb0(%x: !vxrt.buffer):
  // expected-error @+1 {{custom op 'vxrt.list_size' invalid kind of type specified: expected vxrt.object, but found '!vxrt.buffer'}}
  %size = vxrt.list_size %x : !vxrt.buffer
  vxrt.return ranks []
}
