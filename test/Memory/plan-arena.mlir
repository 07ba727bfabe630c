// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vxrt.program(vx-plan-arena))' | FileCheck %s

// Three buffers in a chain need the memory of two: the third lies where the first was, for every n.
// CHECK-LABEL: vxrt.program @chain
// CHECK:         vxrt.arena_reserve
// CHECK:         %[[A:.+]] = vxrt.arena_slice %[[LOW:.+]], %
// CHECK:         %[[B:.+]] = vxrt.arena_slice %[[HIGH:.+]], %
// CHECK:         %[[C:.+]] = vxrt.arena_slice %[[LOW]], %
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[A]])
// CHECK:       arena_lower_bound = #vx.dim<n * 128>, arena_size = #vx.dim<n * 128>
vxrt.program @chain symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %c64 = vxrt.const 64
  %one = vxrt.const 1
  %size = vxrt.calc mul %n, %c64
  %a = vxrt.allocate %size : !vxrt.buffer
  %b = vxrt.allocate %size : !vxrt.buffer
  %c = vxrt.allocate %size : !vxrt.buffer
  %y = vxrt.allocate %size : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%b) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%c) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %n : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @k "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>):
  %0 = vx.exp %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// The size of a buffer is a symbol, so that its allocation is the first op, before which the arena's expressions stand.
// CHECK-LABEL: vxrt.program @first_op
// CHECK:         vxrt.arena_reserve
// CHECK:         %[[A:.+]] = vxrt.arena_slice %[[LOW:.+]], %
// CHECK:         %[[B:.+]] = vxrt.arena_slice %[[HIGH:.+]], %
// CHECK-NOT:     vxrt.arena_slice
vxrt.program @first_op symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %a = vxrt.allocate %n : !vxrt.buffer
  %b = vxrt.allocate %n : !vxrt.buffer
  %one = vxrt.const 1
  %y = vxrt.allocate %n : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%b) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %n : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @k "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>):
  %0 = vx.exp %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// What outlives its commands, and what has a size that is known late, stays an allocation.
// CHECK-LABEL: vxrt.program @stays
// CHECK-NOT:     vxrt.arena_slice
// CHECK-COUNT-2: vxrt.allocate
vxrt.program @stays symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %c64 = vxrt.const 64
  %late = vxrt.read_i64 i64 %x[%zero] : !vxrt.buffer
  %one = vxrt.const 1
  %a = vxrt.allocate %late : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %b, %n : !vxrt.buffer, i64 ranks [1]
}

// -----

// A kernel that works in place lets its result take over the operand that dies with it: one buffer is enough.
// CHECK-LABEL: vxrt.program @in_place
// CHECK:         %[[A:.+]] = vxrt.arena_slice %[[OFFSET:.+]], %
// CHECK:         %[[B:.+]] = vxrt.arena_slice %[[OFFSET]], %
// CHECK:       arena_size = #vx.dim<64>
vxrt.program @in_place symbols [] {
^bb0(%x: !vxrt.buffer):
  %c64 = vxrt.const 64
  %one = vxrt.const 1
  %a = vxrt.allocate %c64 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %y = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @e[%one] (%b) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %one : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%x: tensor<4xf32>):
  %0 = vx.exp %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Three buffers that are alive one after another, of sizes that nobody can compare: the arena holds the largest of the three.
// CHECK-LABEL: vxrt.program @largest
// CHECK-COUNT-2: vxrt.calc max
// CHECK-NOT:     vxrt.calc max
// CHECK:         vxrt.arena_reserve
vxrt.program @largest symbols ["k", "m", "n"] {
^bb0(%k: i64, %m: i64, %n: i64, %x: !vxrt.buffer):
  %c64 = vxrt.const 64
  %one = vxrt.const 1
  %size_k = vxrt.calc mul %k, %c64
  %size_m = vxrt.calc mul %m, %c64
  %size_n = vxrt.calc mul %n, %c64
  %a = vxrt.allocate %size_k : !vxrt.buffer
  %b = vxrt.allocate %size_m : !vxrt.buffer
  %c = vxrt.allocate %size_n : !vxrt.buffer
  %y = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%b) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%c) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y : !vxrt.buffer ranks [0]
}
vx.kernel @k "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>):
  %0 = vx.exp %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Sizes that nobody can compare, two at a time: the first and the third lie below, the second above both, whichever is larger.
// CHECK-LABEL: vxrt.program @stacked
// CHECK:         %[[ABOVE:.+]] = vxrt.calc max %
// CHECK:         vxrt.arena_reserve
// CHECK:         vxrt.arena_slice %[[LOW:.+]], %
// CHECK:         vxrt.arena_slice %[[ABOVE]], %
// CHECK:         vxrt.arena_slice %[[LOW]], %
// CHECK:       arena_lower_bound = #vx.dim<max(k * 64 + m * 64, m * 64 + n * 64)>, arena_size = #vx.dim<max(k * 64 + m * 64, m * 64 + n * 64)>
vxrt.program @stacked symbols ["k", "m", "n"] {
^bb0(%k: i64, %m: i64, %n: i64, %x: !vxrt.buffer):
  %c64 = vxrt.const 64
  %one = vxrt.const 1
  %size_k = vxrt.calc mul %k, %c64
  %size_m = vxrt.calc mul %m, %c64
  %size_n = vxrt.calc mul %n, %c64
  %a = vxrt.allocate %size_k : !vxrt.buffer
  %b = vxrt.allocate %size_m : !vxrt.buffer
  %c = vxrt.allocate %size_n : !vxrt.buffer
  %y = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%b) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%c) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y : !vxrt.buffer ranks [0]
}
vx.kernel @k "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>):
  %0 = vx.exp %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// By its declaration `n * 64` is at most 32768, so that the arena has that size and no maximum of the two.
// CHECK-LABEL: vxrt.program @bounded
// CHECK:       arena_lower_bound = #vx.dim<32768>, arena_size = #vx.dim<32768>
vx.symbol "n" min = 1 max = 512
vxrt.program @bounded symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %c64 = vxrt.const 64
  %fixed = vxrt.const 32768
  %one = vxrt.const 1
  %size = vxrt.calc mul %n, %c64
  %a = vxrt.allocate %size : !vxrt.buffer
  %y = vxrt.allocate %size : !vxrt.buffer
  %b = vxrt.allocate %fixed : !vxrt.buffer
  %z = vxrt.allocate %size : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%b) -> (%z) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %n, %z, %n : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
}
vx.kernel @k "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>):
  %0 = vx.exp %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// What would be put one after another is computed where it is to lie: no kernel is called for it.
// CHECK-LABEL: vxrt.program @joined
// CHECK:         %[[SIZE:.+]] = vxrt.const 192
// CHECK:         %[[W:.+]] = vxrt.arena_slice %{{.+}}, %[[SIZE]] : !vxrt.buffer
// CHECK:         %[[BEHIND:.+]] = vxrt.const 128
// CHECK-NEXT:    %[[A:.+]] = vxrt.slice %[[W]], %{{.+}}, %[[BEHIND]] : !vxrt.buffer
// CHECK:         %[[B:.+]] = vxrt.slice %[[W]], %[[BEHIND]], %{{.+}} : !vxrt.buffer
// CHECK:         vxrt.dispatch @make[%{{.+}}] (%{{.+}}) -> (%[[A]])
// CHECK-NEXT:    vxrt.dispatch @make[%{{.+}}] (%{{.+}}) -> (%[[B]])
// CHECK-NEXT:    vxrt.dispatch @read[%{{.+}}] (%[[W]])
// CHECK:       arena_size = #vx.dim<192>
vxrt.program @joined symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c48 = vxrt.const 48
  %c64 = vxrt.const 64
  %c128 = vxrt.const 128
  %c192 = vxrt.const 192
  %a = vxrt.allocate %c128 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %w = vxrt.allocate %c192 : !vxrt.buffer
  %y = vxrt.allocate %c192 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @make[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @make[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @join[%one] (%b, %a) -> (%w) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @read[%one] (%w) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %c48 : !vxrt.buffer, i64 ranks [1]
}
// What something else reads as well is computed where it is to lie, too, and nothing takes its memory before the whole is not needed; what is given
// twice, or is the caller's, is copied.
// CHECK-LABEL: vxrt.program @joined_with_copies
// CHECK:         %[[W:.+]] = vxrt.arena_slice %{{.+}}, %{{.+}} : !vxrt.buffer
// CHECK:         %[[A:.+]] = vxrt.slice %[[W]],
// CHECK:         %[[B:.+]] = vxrt.slice %[[W]],
// CHECK:         %[[V:.+]] = vxrt.arena_slice %{{.+}}, %{{.+}} : !vxrt.buffer
// CHECK-DAG:     %[[FIRST:.+]] = vxrt.slice %[[V]], %{{.+}}, %[[C128:.+]] : !vxrt.buffer
// CHECK-DAG:     %[[AGAIN:.+]] = vxrt.slice %[[V]], %[[C128]], %[[C128]] : !vxrt.buffer
// CHECK:         %[[U:.+]] = vxrt.arena_slice %{{.+}}, %{{.+}} : !vxrt.buffer
// CHECK-DAG:     %[[D:.+]] = vxrt.slice %[[U]], %{{.+}}, %{{.+}} : !vxrt.buffer
// CHECK-DAG:     %[[X:.+]] = vxrt.slice %[[U]], %{{.+}}, %{{.+}} : !vxrt.buffer
// CHECK:         vxrt.segment
// CHECK-NEXT:      vxrt.dispatch @make[%{{.+}}] (%{{.+}}) -> (%[[A]])
// CHECK-NEXT:      vxrt.dispatch @make[%{{.+}}] (%[[A]]) -> (%[[B]])
// CHECK-NEXT:      vxrt.dispatch @read[%{{.+}}] (%[[W]])
// CHECK-NEXT:      vxrt.dispatch @make[%{{.+}}] (%{{.+}}) -> (%[[FIRST]])
// CHECK-NEXT:      vxrt.copy %[[FIRST]], %[[AGAIN]] : !vxrt.buffer
// CHECK-NEXT:      vxrt.dispatch @read_twice[%{{.+}}] (%[[V]])
// CHECK-NEXT:      vxrt.dispatch @make[%{{.+}}] (%{{.+}}) -> (%[[D]])
// CHECK-NEXT:      vxrt.copy %{{.+}}, %[[X]] : !vxrt.buffer
// CHECK-NEXT:      vxrt.dispatch @read[%{{.+}}] (%[[U]])
vxrt.program @joined_with_copies symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c48 = vxrt.const 48
  %c64 = vxrt.const 64
  %c128 = vxrt.const 128
  %c192 = vxrt.const 192
  %c256 = vxrt.const 256
  %a = vxrt.allocate %c128 : !vxrt.buffer
  %b = vxrt.allocate %c64 : !vxrt.buffer
  %c = vxrt.allocate %c128 : !vxrt.buffer
  %d = vxrt.allocate %c128 : !vxrt.buffer
  %w = vxrt.allocate %c192 : !vxrt.buffer
  %v = vxrt.allocate %c256 : !vxrt.buffer
  %u = vxrt.allocate %c192 : !vxrt.buffer
  %y = vxrt.allocate %c192 : !vxrt.buffer
  %z = vxrt.allocate %c192 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @make[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @make[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @join[%one] (%b, %a) -> (%w) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @read[%one] (%w) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @make[%one] (%y) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @twice[%one] (%c) -> (%v) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @read_twice[%one] (%v) -> (%z) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @make[%one] (%z) -> (%d) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @join[%one] (%x, %d) -> (%u) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @read[%one] (%u) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %c48 : !vxrt.buffer, i64 ranks [1]
}
// A kernel of few tensors stays where copies would be as many commands as it has tensors, and where one begins in between; of many, all are copied.
// CHECK-LABEL: vxrt.program @not_joined
// CHECK:         vxrt.dispatch @join[
// CHECK:         vxrt.dispatch @join_short
// CHECK-NOT:     vxrt.dispatch @join_many
// CHECK-COUNT-5: vxrt.copy %{{.+}}, %{{.+}} : !vxrt.buffer
// CHECK-NOT:     vxrt.copy
// CHECK:         vxrt.return
vxrt.program @not_joined symbols [] {
^bb0(%x: !vxrt.buffer, %b: !vxrt.buffer):
  %one = vxrt.const 1
  %c48 = vxrt.const 48
  %c64 = vxrt.const 64
  %c128 = vxrt.const 128
  %c192 = vxrt.const 192
  %c640 = vxrt.const 640
  %d = vxrt.allocate %c128 : !vxrt.buffer
  %e = vxrt.allocate %c64 : !vxrt.buffer
  %u = vxrt.allocate %c192 : !vxrt.buffer
  %t = vxrt.allocate %c192 : !vxrt.buffer
  %y = vxrt.allocate %c192 : !vxrt.buffer
  %many = vxrt.allocate %c640 : !vxrt.buffer
  %z = vxrt.allocate %c640 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @join[%one] (%b, %x) -> (%u) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @make[%one] (%u) -> (%d) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @make[%one] (%u) -> (%e) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @join_short[%one] (%d, %e) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @read[%one] (%t) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @join_many[%one] (%x) -> (%many) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @read_many[%one] (%many) -> (%z) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y, %c48, %z, %c640 : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
}
vx.kernel @twice "4" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<32xf32>):
  %0 = vx.concat axis = 0(%a, %a) {vx.anchor} : tensor<32xf32>, tensor<32xf32>
  vx.yield %0 : tensor<64xf32>
}
vx.kernel @read_twice "5" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<64xf32>):
  %0 = vx.exp %x : tensor<64xf32>
  vx.yield %0 : tensor<64xf32>
}
vx.kernel @join_many "6" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<32xf32>):
  %0 = vx.concat axis = 0(%a, %a, %a, %a, %a) {vx.anchor} : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
  vx.yield %0 : tensor<160xf32>
}
vx.kernel @read_many "7" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<160xf32>):
  %0 = vx.exp %x : tensor<160xf32>
  vx.yield %0 : tensor<160xf32>
}
vx.kernel @make "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<32xf32>):
  %0 = vx.exp %x : tensor<32xf32>
  vx.yield %0 : tensor<32xf32>
}
vx.kernel @join "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%b: tensor<16xf32>, %a: tensor<32xf32>):
  %0 = vx.concat axis = 0(%a, %b) {vx.anchor} : tensor<32xf32>, tensor<16xf32>
  vx.yield %0 : tensor<48xf32>
}
vx.kernel @join_short "2" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<31xf32>, %b: tensor<17xf32>):
  %0 = vx.concat axis = 0(%a, %b) {vx.anchor} : tensor<31xf32>, tensor<17xf32>
  vx.yield %0 : tensor<48xf32>
}
vx.kernel @read "3" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<48xf32>):
  %0 = vx.exp %x : tensor<48xf32>
  vx.yield %0 : tensor<48xf32>
}

// -----

// A size that an input's element gives is checked first, and the arena has room for it. Without a bound that is declared it is a memory of
// its own.
// CHECK-LABEL: vxrt.program @read_sizes
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    vxrt.read_input 1 : i64 symbol "free"
// CHECK-NEXT:    %[[K:.+]] = vxrt.read_input 0 : i64 symbol "k"
// CHECK:         vxrt.check_range %[[K]] range %{{.+}}, %{{.+}} "size 'k'"
// CHECK-NEXT:    %[[FOUR:.+]] = vxrt.const 4
// CHECK-NEXT:    vxrt.check multiple %[[K]], %[[FOUR]] "size 'k' to be a multiple of 4"
// CHECK:         %[[MORE:.+]] = vxrt.calc add %[[K]], %{{.+}}
// CHECK-NEXT:    vxrt.check at_least %arg2, %[[MORE]] "size 'n' to be at least 'k + 1'"
// CHECK:         %[[SIZE:.+]] = vxrt.calc add
// CHECK-NEXT:    vxrt.arena_reserve %[[SIZE]]
// CHECK:         %[[A:.+]] = vxrt.arena_slice
// CHECK:         vxrt.calc mul %[[K]]
// CHECK:         %[[B:.+]] = vxrt.arena_slice
// CHECK:         %[[C:.+]] = vxrt.allocate
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%{{.+}}) -> (%[[A]])
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[A]]) -> (%[[B]])
// CHECK:         vxrt.dispatch @k[%{{.+}}] (%[[B]]) -> (%[[C]])
// CHECK:       arena_lower_bound = #vx.dim<256>
// CHECK-NOT:   arena_size
vx.symbol data_dependent "k" min = 0 max = 400 multiple = 4
vx.symbol data_dependent "free"
vx.symbol "n"
vxrt.program @read_sizes symbols ["k", "free", "n"] {
^bb0(%ks: i64, %frees: i64, %n: i64, %count: !vxrt.buffer, %other: !vxrt.buffer):
  %one = vxrt.const 1
  %bytes = vxrt.const 256
  %a = vxrt.allocate %bytes : !vxrt.buffer
  %free = vxrt.read_input 1 : i64 symbol "free"
  %k = vxrt.read_input 0 : i64 symbol "k"
  %zero = vxrt.const 0
  %end = vxrt.const 401
  %four = vxrt.const 4
  vxrt.check_range %k range %zero, %end "size 'k'"
  vxrt.check multiple %k, %four "size 'k' to be a multiple of 4"
  %size = vxrt.calc mul %k, %bytes
  %b = vxrt.allocate %size : !vxrt.buffer
  %free_size = vxrt.calc mul %free, %bytes
  %c = vxrt.allocate %free_size : !vxrt.buffer
  %more = vxrt.calc add %k, %one
  vxrt.check at_least %n, %more "size 'n' to be at least 'k + 1'"
  %y = vxrt.allocate %bytes : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @k[%one] (%count) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%a) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%b) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%one] (%c) -> (%y) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %y : !vxrt.buffer ranks [0]
}
vx.kernel @k "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<64xf32>):
  %0 = vx.exp %x : tensor<64xf32>
  vx.yield %0 : tensor<64xf32>
}
