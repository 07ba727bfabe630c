// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vxrt.program(vx-elide-copies))' | FileCheck %s

// What nothing reads any more is updated where it lies, by one kernel after the other.
// CHECK-LABEL: vxrt.program @chain
// CHECK:         %[[A:.+]] = vxrt.allocate
// CHECK-NOT:     vxrt.allocate
// CHECK:         vxrt.segment {
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%{{.+}}) -> (%[[A]])
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%[[A]]) -> (%[[A]])
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%[[A]]) -> (%[[A]])
// CHECK-NEXT:    }
// CHECK-NEXT:    vxrt.return %[[A]]
vxrt.program @chain symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  %c = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %a, %b : !vxrt.buffer
    vxrt.dispatch @e[%one] (%b) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %b, %c : !vxrt.buffer
    vxrt.dispatch @e[%one] (%c) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %c, %one : !vxrt.buffer, i64 ranks [1]
}

// -----

// Stays: the copy of an input, of what is read behind it, of what a loop reads again, and of what is returned.
// CHECK-LABEL: vxrt.program @stays
// CHECK-COUNT-4: vxrt.copy
vxrt.program @stays symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  %c = vxrt.allocate %c16 : !vxrt.buffer
  %d = vxrt.allocate %c16 : !vxrt.buffer
  %e = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %x, %a : !vxrt.buffer
    vxrt.dispatch @e[%one] (%a) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %a, %b : !vxrt.buffer
    vxrt.dispatch @e[%one] (%a) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  %0 = vxrt.while %one inits(%one : i64) -> i64 {
  ^bb0(%i: i64):
    %f = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.copy %c, %f : !vxrt.buffer
      vxrt.dispatch @e[%one] (%f) -> (%f) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    }
    vxrt.yield %i, %i : i64, i64
  }
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x) -> (%d) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %d, %e : !vxrt.buffer
  }
  vxrt.return %d, %one, %e, %one : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
}
