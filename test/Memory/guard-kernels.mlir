// RUN: vx-opt %s --split-input-file --vx-guard-kernels | FileCheck %s

// Two guarded dispatches of one kernel have one copy of it; what is used without a guard stays, with the key it had.
// CHECK-LABEL: vxrt.program @both
// CHECK:         vxrt.dispatch @e[%{{.+}}] (%{{.+}}) -> (%{{.+}}) scalars() :
// CHECK:         vxrt.dispatch @e_guarded[%{{.+}}] (%{{.+}}) -> (%{{.+}}) scalars() {vx.guarded} :
// CHECK:         vxrt.dispatch @e_guarded[%{{.+}}] (%{{.+}}) -> (%{{.+}}) scalars() {vx.guarded} :
// CHECK:       vx.kernel @e "00000000000000000000000000000000"
// CHECK-NOT:     vx.guarded
// CHECK:       vx.kernel @e_guarded "[[KEY:[0-9a-f]+]]"
// CHECK-SAME:    attributes {vx.guarded}
// CHECK-NOT:   vx.kernel
vxrt.program @both symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %one = vxrt.const 1
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%x) -> (%y) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%x) -> (%y) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "00000000000000000000000000000000" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>):
  %0 = vx.neg %w : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// A kernel that is guarded wherever it runs is only that; a name that is taken is another.
// CHECK-LABEL: vxrt.program @only
// CHECK:         vxrt.dispatch @e_guarded_{{.+}}[
// CHECK-NOT:   vx.kernel @e "
// CHECK:       vx.kernel @e_guarded_{{.+}} "
vxrt.program @only symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %one = vxrt.const 1
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x) -> (%y) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e_guarded[%one] (%x) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "00000000000000000000000000000000" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>):
  %0 = vx.neg %w : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @e_guarded "11111111111111111111111111111111" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>):
  %0 = vx.abs %w : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
