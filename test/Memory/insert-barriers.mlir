// RUN: vx-opt %s --pass-pipeline='builtin.module(vxrt.program(vx-insert-barriers))' | FileCheck %s

// A reader waits for the writer; two readers of one buffer do not wait for each other; a write to memory that an earlier
// command reads waits, even under another name.
// CHECK-LABEL: vxrt.program @hazards
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[A:.+]]) scalars
// CHECK:         vxrt.dispatch barrier @k[%{{.+}}] (%[[A]]) -> (%[[B:.+]]) scalars
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[A]]) -> (%[[C:.+]]) scalars
// CHECK:         vxrt.dispatch barrier @k[%{{.+}}] (%[[C]]) -> (%[[D:.+]]) scalars
// CHECK:         vxrt.copy barrier %[[D]]
vxrt.program @hazards symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %c128 = vxrt.const 128
  vxrt.arena_reserve %c128
  %a = vxrt.arena_slice %zero, %c64 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %c = vxrt.arena_slice %c64, %c64 : !vxrt.buffer
  %d = vxrt.arena_slice %zero, %c64 : !vxrt.buffer
  %e = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%c) -> (%d) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %d, %e : !vxrt.buffer
  }
  vxrt.return %b, %n, %e, %n : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
}

// Two buffers that are in use at one time do not share memory, wherever the plan has put them: their writers do not wait.
// CHECK-LABEL: vxrt.program @apart
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[A:.+]]) scalars
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[B:.+]]) scalars
// CHECK:         vxrt.copy barrier %[[A]]
// CHECK:         vxrt.copy %[[B]]
vxrt.program @apart symbols ["k", "m", "n"] {
^bb0(%k: i64, %m: i64, %n: i64, %x: !vxrt.buffer):
  %one = vxrt.const 1
  %below = vxrt.calc max %k, %m
  %above = vxrt.calc max %m, %n
  %size = vxrt.calc add %below, %above
  vxrt.arena_reserve %size
  %a = vxrt.arena_slice %above, %k : !vxrt.buffer
  %b = vxrt.arena_slice %below, %k : !vxrt.buffer
  %c = vxrt.allocate %k : !vxrt.buffer
  %d = vxrt.allocate %k : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %a, %c : !vxrt.buffer
    vxrt.copy %b, %d : !vxrt.buffer
  }
  vxrt.return %c, %k, %d, %k : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
}

// An element of a list is the buffer that went into it, under another name: its reader waits for the writer.
// What went into no list, and what the caller gave, is nobody's element.
// CHECK-LABEL: vxrt.program @elements
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[A:.+]]) scalars
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[B:.+]]) scalars
// CHECK:         vxrt.copy barrier %[[ELEMENT:.+]], %{{.+}} : !vxrt.buffer
// CHECK:         vxrt.copy %[[B]]
vxrt.program @elements symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %a = vxrt.allocate %c64 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %c = vxrt.allocate %c64 : !vxrt.buffer
  %d = vxrt.allocate %c64 : !vxrt.buffer
  %empty = vxrt.list_empty f32 : !vxrt.object
  %list = vxrt.list_insert %empty[%zero], %a dims(%n) : !vxrt.object, !vxrt.buffer -> !vxrt.object
  %element, %dim = vxrt.list_get %list[%zero] : !vxrt.object -> !vxrt.buffer, i64
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %element, %c : !vxrt.buffer
    vxrt.copy %b, %d : !vxrt.buffer
  }
  vxrt.return %c, %n, %d, %n : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
}

// What is guarded waits for what may report a fault, and the other way round, whatever memory they touch.
// CHECK-LABEL: vxrt.program @faults
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%{{.+}}) scalars() {vx.fault_sites = ["g"]}
// CHECK-NEXT:    vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%{{.+}}) scalars() :
// CHECK-NEXT:    vxrt.dispatch barrier @k[%{{.+}}] (%{{.+}}) -> (%{{.+}}) scalars() {vx.guarded}
vxrt.program @faults symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %a = vxrt.allocate %c64 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %c = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%c) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %a, %one, %b, %one, %c, %one : !vxrt.buffer, i64, !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1, 1]
}

// Two variables are one thing where they share bytes: the pool's reader and its writer wait for those of a member, members do not wait for
// each other.
// CHECK-LABEL: vxrt.program @pools
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[X:.+]]) -> (%[[A:.+]]) scalars
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[X]]) -> (%[[B:.+]]) scalars
// CHECK:         vxrt.dispatch barrier @k[%{{.+}}] (%[[POOL:.+]]) -> (%[[R:.+]]) scalars
// CHECK:         vxrt.dispatch barrier @k[%{{.+}}] (%[[X]]) -> (%[[A]]) scalars
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[X]]) -> (%[[OTHER:.+]]) scalars
// CHECK:         vxrt.copy barrier %[[X]], %[[POOL]]
vx.variable @pool : tensor<48xf32>
vx.variable @a in @pool at 0 : tensor<3x5xf32>
vx.variable @b in @pool at 64 : tensor<16xf32>
vx.variable @other : tensor<16xf32>
vxrt.program @pools symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c192 = vxrt.const 192
  %a = vxrt.variable @a : !vxrt.buffer
  %b = vxrt.variable @b : !vxrt.buffer
  %pool = vxrt.variable @pool : !vxrt.buffer
  %other = vxrt.variable @other : !vxrt.buffer
  %r = vxrt.allocate %c192 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%pool) -> (%r) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%other) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %x, %pool : !vxrt.buffer
  }
  vxrt.return ranks []
}

// An input and a result that may be the same memory are one: what writes the result waits for what reads the input. Another input is not.
// CHECK-LABEL: vxrt.program @aliases
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[X:.+]]) -> (%[[A:.+]]) scalars
// CHECK-NEXT:    vxrt.dispatch @k[%{{.+}}] (%[[Y:.+]]) -> (%[[C:.+]]) scalars
// CHECK-NEXT:    vxrt.dispatch barrier @k[%{{.+}}] (%[[Y]]) -> (%{{.+}}) scalars
vxrt.program @aliases symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %a = vxrt.allocate %c64 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %c = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%y) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%y) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %a, %one, %c, %one, %b, %one : !vxrt.buffer, i64, !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1, 1]
} {aliases = array<i64: 0, 2>}

// What reads a buffer waits for what writes a part of it; two parts have nothing to do with each other.
// CHECK-LABEL: vxrt.program @parts
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[A:.+]]) scalars
// CHECK-NEXT:    vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[B:.+]]) scalars
// CHECK-NEXT:    vxrt.dispatch barrier @k[%{{.+}}] (%[[W:.+]]) -> (%{{.+}}) scalars
// CHECK-NEXT:    vxrt.dispatch @k[%{{.+}}] (%[[W]]) -> (%{{.+}}) scalars
// CHECK-NEXT:    vxrt.dispatch barrier @k[%{{.+}}] (%{{.+}}) -> (%[[B]]) scalars
vxrt.program @parts symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c0 = vxrt.const 0
  %c64 = vxrt.const 64
  %c128 = vxrt.const 128
  vxrt.arena_reserve %c128
  %w = vxrt.arena_slice %c0, %c128 : !vxrt.buffer
  %a = vxrt.slice %w, %c0, %c64 : !vxrt.buffer
  %b = vxrt.slice %w, %c64, %c64 : !vxrt.buffer
  %y = vxrt.allocate %c64 : !vxrt.buffer
  %z = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%w) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%w) -> (%z) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return ranks []
}
