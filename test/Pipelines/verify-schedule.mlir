// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-schedule

// Nothing but programs is left, and nothing but vxrt ops in them.
// expected-error @+1 {{after 'schedule' programs hold vxrt ops only, got 'func.func' of}}
func.func @function_is_left(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{after 'schedule' programs hold vxrt ops only, got 'func.return' of}}
  return %x : tensor<2xf32>
}

// -----

vxrt.program @other_op symbols [] {
  // expected-error @+1 {{after 'schedule' programs hold vxrt ops only, got 'arith.constant' of}}
  %0 = arith.constant 1 : i64
  vxrt.return ranks []
}

// -----

// A call that is refused has changed no variable.
vx.variable @v : tensor<4xi64>
vxrt.program @late_check symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %0 = vxrt.const 4
  vxrt.check equal %n, %0 "sizes 'n' and '4' equal"
  %1 = vxrt.variable @v : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %x, %1 : !vxrt.buffer
  }
  // expected-error @+1 {{after 'schedule' nothing may fail a call from the first command on that writes a variable or the memory of an input, got 'vxrt.check' of}}
  vxrt.check equal %n, %0 "sizes 'n' and '4' equal"
  vxrt.return ranks []
}

// -----

// A kernel that writes a variable where it lies reports no fault itself.
vx.variable @v : tensor<4xi64>
vxrt.program @faulty_writer symbols [] {
^bb0(%x: !vxrt.buffer):
  %0 = vxrt.const 4
  %1 = vxrt.variable @v : !vxrt.buffer
  vxrt.segment {
    // expected-error @+1 {{after 'schedule' nothing may fail a call from the first command on that writes a variable or the memory of an input, got 'vxrt.dispatch' of}}
    vxrt.dispatch @k[%0] (%x) -> (%1) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return ranks []
}

// -----

// Behind a kernel that may have reported a fault only what is guarded writes, until somebody has looked.
vx.variable @v : tensor<4xi64>
vxrt.program @unguarded symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %0 = vxrt.const 4
  %1 = vxrt.variable @v : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @f[%0] (%x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%0] (%x) -> (%1) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
    // expected-error @+1 {{after 'schedule' only guarded kernels write a variable or the memory of an input where a fault may have been reported, got 'vxrt.dispatch' of}}
    vxrt.dispatch @k[%0] (%x) -> (%1) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return ranks []
}

// -----

vx.variable @v : tensor<4xi64>
vxrt.program @looked_between symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %0 = vxrt.const 4
  %1 = vxrt.variable @v : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @f[%0] (%x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.dispatch @k[%0] (%x) -> (%1) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %y, %1 : !vxrt.buffer
  }
  vxrt.return ranks []
}

// -----

// A command may have written over an input.
vxrt.program @late_input symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %0 = vxrt.read_input 0 : i64
  vxrt.segment {
    vxrt.copy %x, %y : !vxrt.buffer
  }
  // expected-error @+1 {{after 'schedule' inputs are read before the first command, got 'vxrt.read_input' of}}
  %1 = vxrt.read_input 1 : i64
  vxrt.return ranks []
}

// -----

// What comes first in a loop comes behind what is last in it; one that commits begins anew.
vx.variable @v : tensor<4xi64>
vxrt.program @rounds symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %0 = vxrt.const 4
  %1 = vxrt.variable @v : !vxrt.buffer
  vxrt.while %n {
    // expected-error @+1 {{after 'schedule' nothing may fail a call from the first command on that writes a variable or the memory of an input, got 'vxrt.check' of}}
    vxrt.check equal %n, %0 "sizes 'n' and '4' equal"
    vxrt.segment {
      vxrt.copy %x, %1 : !vxrt.buffer
    }
    vxrt.yield %n : i64
  }
  vxrt.return ranks []
}
vxrt.program @commits symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer):
  %0 = vxrt.const 4
  %1 = vxrt.variable @v : !vxrt.buffer
  vxrt.while commits %n {
    vxrt.check equal %n, %0 "sizes 'n' and '4' equal"
    vxrt.segment {
      vxrt.dispatch @f[%0] (%x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @k[%0] (%x) -> (%1) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
    }
    vxrt.check_faults
    vxrt.yield %n : i64
  }
  vxrt.check equal %n, %0 "sizes 'n' and '4' equal"
  vxrt.return ranks []
}

// -----

vx.variable @v : tensor<4xi64>
vxrt.program @unfinished symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer):
  %1 = vxrt.variable @v : !vxrt.buffer
  // expected-error @+1 {{after 'schedule' an iteration that commits ends with no fault to be looked for, got 'vxrt.while' of}}
  vxrt.while commits %n {
    vxrt.segment {
      vxrt.dispatch @f[%n] (%x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @k[%n] (%x) -> (%1) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
    }
    vxrt.yield %n : i64
  }
  vxrt.return ranks []
}

// -----

vxrt.program @begun_with_a_fault symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer):
  vxrt.segment {
    vxrt.dispatch @f[%n] (%x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
  }
  // expected-error @+1 {{after 'schedule' a loop that commits begins with no fault to be looked for, got 'vxrt.while' of}}
  vxrt.while commits %n {
    vxrt.yield %n : i64
  }
  vxrt.return ranks []
}

// -----

// A result that may be the memory of an input: what reads the input comes first, and the last of them may be who writes.
vxrt.program @read_behind symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %0 = vxrt.const 4
  %a = vxrt.allocate %0 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %x, %y : !vxrt.buffer
    vxrt.copy %x, %a : !vxrt.buffer
    // expected-error @+1 {{after 'schedule' nothing reads input 0 after the first command that writes result 0, which may be its memory, got 'vxrt.copy' of}}
    vxrt.copy %x, %y : !vxrt.buffer
  }
  vxrt.return %a, %0 : !vxrt.buffer, i64 ranks [1]
} {aliases = array<i64: 0, 0>}

// -----

// A call that fails leaves such an input as it was.
vxrt.program @fails_behind symbols [] {
^bb0(%x: !vxrt.buffer, %y: !vxrt.buffer):
  %0 = vxrt.const 4
  %a = vxrt.allocate %0 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @f[%0] (%x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
    vxrt.copy %x, %a : !vxrt.buffer
    vxrt.dispatch @k[%0] (%a) -> (%a) scalars() {vx.guarded} : (!vxrt.buffer) -> !vxrt.buffer
    // expected-error @+1 {{after 'schedule' only guarded kernels write a variable or the memory of an input where a fault may have been reported, got 'vxrt.dispatch' of}}
    vxrt.dispatch @k[%0] (%a) -> (%a) scalars() : (!vxrt.buffer) -> !vxrt.buffer
  }
  // expected-error @+1 {{after 'schedule' nothing may fail a call from the first command on that writes a variable or the memory of an input, got 'vxrt.allocate' of}}
  %b = vxrt.allocate %0 : !vxrt.buffer
  vxrt.return %a, %0 : !vxrt.buffer, i64 ranks [1]
} {aliases = array<i64: 0, 0>}
