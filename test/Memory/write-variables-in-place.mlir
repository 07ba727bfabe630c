// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vxrt.program(vx-write-variables-in-place))' | FileCheck %s

// A value whose kernel may write over what it reads lies where the variable does; without a kernel that reports faults
// nothing is waited for, and one segment is left.
// CHECK-LABEL: vxrt.program @step
// CHECK-DAG:     %[[W:.+]] = vxrt.variable @w
// CHECK-NOT:     vxrt.allocate
// CHECK-NOT:     vxrt.check_faults
// CHECK:         vxrt.segment {
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%{{.+}}, %{{.+}}) -> (%[[W]])
// CHECK-NEXT:    }
// CHECK-NEXT:    vxrt.return
vx.variable @w : tensor<4xf32>
vxrt.program @step symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %a = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%w, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  %w_0 = vxrt.variable @w : !vxrt.buffer
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %a, %w_0 : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// The kernel comes behind another that reports faults, and behind the last reader of the old value. It is guarded, and nothing is waited for.
// CHECK-LABEL: vxrt.program @behind
// CHECK:         %[[W:.+]] = vxrt.variable @w
// CHECK-NOT:     vxrt.check_faults
// CHECK:         vxrt.segment {
// CHECK-NEXT:      vxrt.dispatch @f[%{{.+}}] (%{{.+}}, %{{.+}}) -> (%{{.+}}) scalars() {vx.fault_sites = ["g"]} :
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%{{.+}}, %{{.+}}) -> (%[[W]]) scalars() {vx.guarded} :
// CHECK-NEXT:    }
// CHECK-NOT:     vxrt.check_faults
// CHECK:         vxrt.return
vx.variable @w : tensor<4xf32>
vxrt.program @behind symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%w, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @f[%one] (%w, %x) -> (%b) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  %w_0 = vxrt.variable @w : !vxrt.buffer
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %a, %w_0 : !vxrt.buffer
  }
  %four = vxrt.const 4
  vxrt.return %b, %four : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @f "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Stays a copy: a kernel that reads other elements of the variable than it writes, and a value that is returned.
// CHECK-LABEL: vxrt.program @copies
// CHECK-COUNT-2: vxrt.copy
vx.variable @w : tensor<4xf32>
vx.variable @u : tensor<4xf32>
vxrt.program @copies symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %u = vxrt.variable @u : !vxrt.buffer
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x, %w) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%u, %x) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %a, %w : !vxrt.buffer
    vxrt.copy %b, %u : !vxrt.buffer
  }
  %four = vxrt.const 4
  vxrt.return %b, %four : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// A copy of the variable that kernels replace elements of: they do so where the variable lies, guarded.
// CHECK-LABEL: vxrt.program @append
// CHECK:         %[[W:.+]] = vxrt.variable @w
// CHECK-NOT:     vxrt.check_faults
// CHECK:         vxrt.segment {
// CHECK-NEXT:      vxrt.dispatch @f[%{{.+}}] (%{{.+}}) -> (%[[OK:.+]]) scalars() {vx.fault_sites = ["g"]} :
// CHECK-NEXT:      vxrt.dispatch @s[%{{.+}}] (%[[W]], %[[OK]], %{{.+}}) -> (%[[W]]) scalars() {vx.guarded} :
// CHECK-NEXT:      vxrt.dispatch @s[%{{.+}}] (%[[W]], %[[OK]], %{{.+}}) -> (%[[W]]) scalars() {vx.guarded} :
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%[[W]]) -> (%{{.+}}) scalars() :
// CHECK-NEXT:    }
// CHECK-NOT:     vxrt.copy
// CHECK-NOT:     vxrt.check_faults
// CHECK:         vxrt.return
vx.variable @w : tensor<4xf32>
vxrt.program @append symbols [] {
^bb0(%i: !vxrt.buffer, %x: !vxrt.buffer):
  %one = vxrt.const 1
  %four = vxrt.const 4
  %c8 = vxrt.const 8
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %ok = vxrt.allocate %c8 : !vxrt.buffer
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %r = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %w, %a : !vxrt.buffer
    vxrt.dispatch @f[%one] (%i) -> (%ok) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @s[%one] (%a, %ok, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @s[%one] (%a, %ok, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%a) -> (%r) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  %w_0 = vxrt.variable @w : !vxrt.buffer
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %a, %w_0 : !vxrt.buffer
  }
  vxrt.return %r, %four : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @f "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%i: tensor<1x1xi64>):
  %0 = vx.check_indices %i below [#vx.dim<4>] {vx.anchor} : tensor<1x1xi64>
  vx.yield %0 : tensor<1x1xi64>
}
vx.kernel @s "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>, %i: tensor<1x1xi64>, %x: tensor<1xf32>):
  %0 = vx.scatter set %w, %i, %x axes = [0] {vx.anchor} : tensor<4xf32>, tensor<1x1xi64>, tensor<1xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @e "2" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>):
  %0 = vx.neg %w : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Stays a copy: the kernel that writes reads the old value too, or another reads the old value behind it.
// CHECK-LABEL: vxrt.program @old_value
// CHECK-COUNT-4: vxrt.copy
vx.variable @w : tensor<4xf32>
vx.variable @u : tensor<4xf32>
vxrt.program @old_value symbols [] {
^bb0(%i: !vxrt.buffer, %x: !vxrt.buffer):
  %one = vxrt.const 1
  %four = vxrt.const 4
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %u = vxrt.variable @u : !vxrt.buffer
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  %r = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %w, %a : !vxrt.buffer
    vxrt.dispatch @s[%one] (%a, %i, %w) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %u, %b : !vxrt.buffer
    vxrt.dispatch @s[%one] (%b, %i, %x) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @s[%one] (%b, %i, %u) -> (%r) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  %w_0 = vxrt.variable @w : !vxrt.buffer
  %u_0 = vxrt.variable @u : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %a, %w_0 : !vxrt.buffer
    vxrt.copy %b, %u_0 : !vxrt.buffer
  }
  vxrt.return %r, %four : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @s "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>, %i: tensor<1xi64>, %x: tensor<4xf32>):
  %0 = vx.update_slice %w, %i, %x axes = [0] {vx.anchor} : tensor<4xf32>, tensor<1xi64>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Variables of one pool: members are written where they lie, each behind what reads the old pool.
// CHECK-LABEL: vxrt.program @members
// CHECK-DAG:     %[[A:.+]] = vxrt.variable @a
// CHECK-DAG:     %[[B:.+]] = vxrt.variable @b
// CHECK-DAG:     %[[POOL:.+]] = vxrt.variable @pool
// CHECK:         vxrt.segment {
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%[[POOL]], %{{.+}}) -> (%{{.+}}) scalars() :
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%{{.+}}, %{{.+}}) -> (%[[A]]) scalars() :
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%{{.+}}, %{{.+}}) -> (%[[B]]) scalars() :
// CHECK-NEXT:    }
// CHECK-NOT:     vxrt.copy
vx.variable @pool : tensor<48xf32>
vx.variable @a in @pool at 0 : tensor<3x5xf32>
vx.variable @b in @pool at 64 : tensor<16xf32>
vxrt.program @members symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c60 = vxrt.const 60
  %c64 = vxrt.const 64
  %c192 = vxrt.const 192
  %n = vxrt.const 48
  %a = vxrt.variable @a : !vxrt.buffer
  %pool = vxrt.variable @pool : !vxrt.buffer
  %a1 = vxrt.allocate %c60 : !vxrt.buffer
  %b1 = vxrt.allocate %c64 : !vxrt.buffer
  %r = vxrt.allocate %c192 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%a, %x) -> (%a1) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%x, %x) -> (%b1) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%pool, %x) -> (%r) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  %a_0 = vxrt.variable @a : !vxrt.buffer
  %b_0 = vxrt.variable @b : !vxrt.buffer
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %a1, %a_0 : !vxrt.buffer
    vxrt.copy %b1, %b_0 : !vxrt.buffer
  }
  vxrt.return %r, %n : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<16xf32>, %x: tensor<16xf32>):
  %0 = vx.add %w, %x : tensor<16xf32>, tensor<16xf32>
  vx.yield %0 : tensor<16xf32>
}

// -----

// Stays a copy: a kernel that reads the pool at other bytes than it writes, and two stores of one byte, whose order stays.
// CHECK-LABEL: vxrt.program @shared_bytes
// CHECK:         vxrt.copy %{{.+}}, %[[A:.+]] :
// CHECK-NEXT:    vxrt.copy %{{.+}}, %[[C:.+]] :
// CHECK-NEXT:    vxrt.copy %{{.+}}, %[[D:.+]] :
vx.variable @pool : tensor<48xf32>
vx.variable @a in @pool at 0 : tensor<3x5xf32>
vx.variable @c in @pool at 64 : tensor<20xf32>
vx.variable @d in @pool at 128 : tensor<16xf32>
vxrt.program @shared_bytes symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c60 = vxrt.const 60
  %c64 = vxrt.const 64
  %c80 = vxrt.const 80
  %pool = vxrt.variable @pool : !vxrt.buffer
  %a = vxrt.variable @a : !vxrt.buffer
  %c = vxrt.variable @c : !vxrt.buffer
  %d = vxrt.variable @d : !vxrt.buffer
  %a1 = vxrt.allocate %c60 : !vxrt.buffer
  %c1 = vxrt.allocate %c80 : !vxrt.buffer
  %d1 = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%pool, %x) -> (%a1) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%x, %x) -> (%c1) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%x, %x) -> (%d1) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %a1, %a : !vxrt.buffer
    vxrt.copy %c1, %c : !vxrt.buffer
    vxrt.copy %d1, %d : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<16xf32>, %x: tensor<16xf32>):
  %0 = vx.add %w, %x : tensor<16xf32>, tensor<16xf32>
  vx.yield %0 : tensor<16xf32>
}
