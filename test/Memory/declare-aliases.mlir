// RUN: vx-opt %s --pass-pipeline='builtin.module(vxrt.program(vx-declare-aliases))' | FileCheck %s

vx.kernel @scatter "00000000000000000000000000000000" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>, %i: tensor<1x1xi64>, %u: tensor<1xf32>):
  %0 = vx.scatter set %x, %i, %u axes = [0] {vx.anchor} : tensor<4xf32>, tensor<1x1xi64>, tensor<1xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @add "11111111111111111111111111111111" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0, 1, 0>} {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %0 = vx.add %x, %y : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @reverse "22222222222222222222222222222222" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<4xf32>):
  %0 = vx.neg %x : tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// Two inputs whose rows are replaced, one of them twice, behind a kernel that may report a fault: what writes is guarded. Readers of the new
// values do not matter. A size may be dynamic.
// CHECK-LABEL: vxrt.program @replaced
// CHECK:         vxrt.copy
// CHECK-NEXT:    vxrt.dispatch @scatter[{{.+}}] ({{.+}}) -> ({{.+}}) scalars() {vx.guarded}
// CHECK-NEXT:    vxrt.dispatch @scatter[{{.+}}] ({{.+}}) -> ({{.+}}) scalars() {vx.guarded}
// CHECK-NEXT:    vxrt.copy
// CHECK-NEXT:    vxrt.dispatch @scatter[{{.+}}] ({{.+}}) -> ({{.+}}) scalars() {vx.guarded}
// CHECK-NEXT:    vxrt.dispatch @reverse[{{.+}}] ({{.+}}) -> ({{.+}}) scalars() :
// CHECK:       aliases = array<i64: 1, 0, 0, 1>
vxrt.program @replaced symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer, %i: !vxrt.buffer, %u: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %j = vxrt.allocate %c16 : !vxrt.buffer
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  %c = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @reverse[%one] (%i) -> (%j) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %y, %a : !vxrt.buffer
    vxrt.dispatch @scatter[%one] (%a, %j, %u) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @scatter[%one] (%a, %j, %u) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %x, %b : !vxrt.buffer
    vxrt.dispatch @scatter[%one] (%b, %j, %u) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @reverse[%one] (%a) -> (%c) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %a, %n, %b, %n, %c, %n : !vxrt.buffer, i64, !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1, 1]
} {function_type = (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>, tensor<1xi64>, tensor<1xf32>) -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>)}

// Elementwise where it lies, without a guard where nothing may have reported a fault. One result takes one input, and the other the other.
// CHECK-LABEL: vxrt.program @elementwise
// CHECK:         vxrt.dispatch @add[{{.+}}] ({{.+}}) -> ({{.+}}) scalars() :
// CHECK-NEXT:    vxrt.dispatch @add[{{.+}}] ({{.+}}) -> ({{.+}}) scalars() :
// CHECK:       aliases = array<i64: 1, 1>
vxrt.program @elementwise symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @add[%one] (%x, %y) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @add[%one] (%a, %y) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %x, %one, %b, %one : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
} {function_type = (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)}

// An input that is given back as it is.
// CHECK-LABEL: vxrt.program @passed_on
// CHECK:       aliases = array<i64: 0, 0>
vxrt.program @passed_on symbols [] {
^bb0(%x: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %x, %a : !vxrt.buffer
  }
  vxrt.return %a, %one : !vxrt.buffer, i64 ranks [1]
} {function_type = (tensor<4xf32>) -> tensor<4xf32>}

// None: something reads the old elements later.
// CHECK-LABEL: vxrt.program @read_behind
// CHECK-NOT:   aliases
vxrt.program @read_behind symbols [] {
^bb0(%x: !vxrt.buffer, %i: !vxrt.buffer, %u: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %x, %a : !vxrt.buffer
    vxrt.dispatch @scatter[%one] (%a, %i, %u) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @reverse[%one] (%x) -> (%b) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %a, %one, %b, %one : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
} {function_type = (tensor<4xf32>, tensor<1x1xi64>, tensor<1xf32>) -> (tensor<4xf32>, tensor<8xf32>)}

// None: a kernel that reads other elements than it writes; one that reads the input twice, once as another operand; an input that a loop holds;
// another type.
// CHECK-LABEL: vxrt.program @others
// CHECK-NOT:   aliases
vxrt.program @others symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer, %z: !vxrt.buffer, %w: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  %c = vxrt.allocate %c16 : !vxrt.buffer
  %d = vxrt.allocate %c16 : !vxrt.buffer
  %0:2 = vxrt.while %one inits(%one, %z : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%i: i64, %k: !vxrt.buffer):
    vxrt.yield %i, %i, %k : i64, i64, !vxrt.buffer
  }
  vxrt.segment {
    vxrt.dispatch @reverse[%one] (%x) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @add[%one] (%y, %y) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %z, %c : !vxrt.buffer
    vxrt.copy %w, %d : !vxrt.buffer
  }
  vxrt.return %a, %one, %b, %one, %c, %one, %d, %one : !vxrt.buffer, i64, !vxrt.buffer, i64, !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1, 1, 1]
} {function_type = (tensor<4xf32>, tensor<5xf32>, tensor<6xf32>, tensor<7xi32>) -> (tensor<4xf32>, tensor<5xf32>, tensor<6xf32>, tensor<7xf32>)}

// None: what writes may report a fault itself, or something may fail the call behind it.
// CHECK-LABEL: vxrt.program @fails
// CHECK-NOT:   aliases
vxrt.program @fails symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer, %i: !vxrt.buffer, %u: !vxrt.buffer):
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %a = vxrt.allocate %c16 : !vxrt.buffer
  %b = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %x, %a : !vxrt.buffer
    vxrt.dispatch @scatter[%one] (%a, %i, %u) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %y, %b : !vxrt.buffer
    vxrt.dispatch @scatter[%one] (%b, %i, %u) -> (%b) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %a, %one, %b, %one : !vxrt.buffer, i64, !vxrt.buffer, i64 ranks [1, 1]
} {function_type = (tensor<4xf32>, tensor<5xf32>, tensor<1x1xi64>, tensor<1xf32>) -> (tensor<4xf32>, tensor<5xf32>)}
