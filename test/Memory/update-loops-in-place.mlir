// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vxrt.program(vx-carry-in-place,vx-elide-copies,vx-update-loops-in-place))' | FileCheck %s

// A loop updates a variable where it lies, and carries it no more; the memory of an iteration goes to before the loop.
// CHECK-LABEL: vxrt.program @rounds
// CHECK-DAG:     %[[W:.+]] = vxrt.variable @w
// CHECK:         %[[T:.+]] = vxrt.allocate
// CHECK:         vxrt.while %{{.+}} inits(%{{.+}} : i64) -> i64 {
// CHECK-NEXT:    ^bb0(%[[I:.+]]: i64):
// CHECK:           vxrt.dispatch @e[%{{.+}}] (%[[W]], %{{.+}}) -> (%[[T]]) scalars() :
// CHECK-NEXT:      vxrt.dispatch @e[%{{.+}}] (%[[W]], %[[T]]) -> (%[[W]]) scalars() :
// CHECK:           vxrt.yield %{{.+}}, %{{.+}} : i64, i64
// CHECK-NOT:     vxrt.copy
// CHECK:         vxrt.return
vx.variable @w : tensor<4xf32>
vxrt.program @rounds symbols [] {
^bb0(%x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %three = vxrt.const 3
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %more = vxrt.calc lt %zero, %three
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%i: i64, %v: !vxrt.buffer):
    %t = vxrt.allocate %c16 : !vxrt.buffer
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%v, %t) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %i, %one
    %goes = vxrt.calc lt %next, %three
    %flag = vxrt.calc mul %goes, %one
    vxrt.yield %flag, %next, %a : i64, i64, !vxrt.buffer
  }
  %w_0 = vxrt.variable @w : !vxrt.buffer
  %f = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w_0 : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Elements are replaced where they lie, guarded behind a kernel that may report a fault.
// CHECK-LABEL: vxrt.program @replaces
// CHECK-DAG:     %[[W:.+]] = vxrt.variable @w
// CHECK:         vx.fault_sites
// CHECK:         vxrt.while
// CHECK:           vxrt.dispatch @s[%{{.+}}] (%[[W]], %{{.+}}, %{{.+}}) -> (%[[W]]) scalars() {vx.guarded} :
// CHECK-NOT:     vxrt.copy
// CHECK:         vxrt.return
vx.variable @w : tensor<4xf32>
vxrt.program @replaces symbols ["n"] {
^bb0(%n: i64, %i: !vxrt.buffer, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c8 = vxrt.const 8
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %ok = vxrt.allocate %c8 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @f[%one] (%i) -> (%ok) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer) -> !vxrt.buffer
  }
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.copy %v, %a : !vxrt.buffer
      vxrt.dispatch @s[%one] (%a, %ok, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
  }
  %f = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w : !vxrt.buffer
  }
  vxrt.return ranks []
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

// -----

// Stays a copy: a fault in the loop, a size that may be none behind it, the old value read behind the write, a kernel that may
// not write over what it reads, a variable that shares bytes and is read in the loop. Where only the variable's own memory is
// at stake, the loop has a copy of it, made before the first iteration.
// CHECK-LABEL: vxrt.program @fault
// CHECK:         vxrt.copy %{{.+}}, %[[M:.+]] :
// CHECK:         vxrt.while
// CHECK:           vxrt.dispatch @e[%{{.+}}] (%[[M]], %{{.+}}) -> (%[[M]]) scalars() :
// CHECK:         vxrt.check_faults
// CHECK:         vxrt.copy %[[M]], %{{.+}} :
// CHECK-LABEL: vxrt.program @late_check
// CHECK-COUNT-2: vxrt.copy
// CHECK-LABEL: vxrt.program @old_value
// CHECK-COUNT-2: vxrt.copy
// CHECK-LABEL: vxrt.program @other_elements
// CHECK-COUNT-2: vxrt.copy
// CHECK-LABEL: vxrt.program @shared_bytes
// CHECK-COUNT-2: vxrt.copy
vx.variable @w : tensor<16xf32>
vx.variable @part in @w at 0 : tensor<4xf32>
vxrt.program @fault symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %w = vxrt.variable @w : !vxrt.buffer
  %part = vxrt.variable @part : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c64 : !vxrt.buffer
    %t = vxrt.allocate %c64 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%x, %x) -> (%t) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
  }
  %f = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @late_check symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %w = vxrt.variable @w : !vxrt.buffer
  %part = vxrt.variable @part : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c64 : !vxrt.buffer
    %t = vxrt.allocate %c64 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%x, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
  }
  vxrt.check equal %n, %r#0 "all rounds"
  %f = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @old_value symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %w = vxrt.variable @w : !vxrt.buffer
  %part = vxrt.variable @part : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c64 : !vxrt.buffer
    %t = vxrt.allocate %c64 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%v, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
  }
  %f = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @other_elements symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %w = vxrt.variable @w : !vxrt.buffer
  %part = vxrt.variable @part : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c64 : !vxrt.buffer
    %t = vxrt.allocate %c64 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @moves[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%x, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
  }
  %f = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @shared_bytes symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c64 = vxrt.const 64
  %w = vxrt.variable @w : !vxrt.buffer
  %part = vxrt.variable @part : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c64 : !vxrt.buffer
    %t = vxrt.allocate %c64 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%part, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
  }
  %f = vxrt.allocate %c64 : !vxrt.buffer
  vxrt.segment {
    vxrt.copy %r#1, %f : !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %f, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<16xf32>, %x: tensor<16xf32>):
  %0 = vx.add %w, %x : tensor<16xf32>, tensor<16xf32>
  vx.yield %0 : tensor<16xf32>
}
vx.kernel @moves "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<16xf32>, %x: tensor<16xf32>):
  %0 = vx.add %w, %x : tensor<16xf32>, tensor<16xf32>
  vx.yield %0 : tensor<16xf32>
}

// -----

// A variable goes through a loop in a loop, and through a branch of it that may leave it alone. It is updated where it lies by
// kernels that are guarded, for one before the loops may report a fault; a wait in the loop fails no call that wrote. Memory
// and sizes of the inner loop go to before the outer one.
// CHECK-LABEL: vxrt.program @nested
// CHECK-DAG:     %[[W:.+]] = vxrt.variable @w
// CHECK:         vx.fault_sites
// CHECK:         %[[T:.+]] = vxrt.allocate
// CHECK:         vxrt.while
// CHECK:           vxrt.while
// CHECK-NOT:         vxrt.calc mul
// CHECK:             vxrt.dispatch @e[%{{.+}}] (%[[W]], %{{.+}}) -> (%[[T]]) scalars() :
// CHECK:             vxrt.dispatch @e[%{{.+}}] (%[[W]], %[[T]]) -> (%[[W]]) scalars() {vx.guarded} :
// CHECK:           vxrt.read_i64
// CHECK:           vxrt.if %{{[^ ]+}} {
// CHECK:             vxrt.dispatch @e[%{{.+}}] (%[[W]], %{{.+}}) -> (%[[W]]) scalars() :
// CHECK:           } else {
// CHECK-NEXT:        vxrt.yield
// CHECK-NOT:     vxrt.copy
// CHECK:         vxrt.return
vx.variable @w : tensor<4xf32>
vxrt.program @nested symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %y = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%x, %x) -> (%y) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %q:2 = vxrt.while %more inits(%zero, %v : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
    ^bb0(%l: i64, %u: !vxrt.buffer):
      %bytes = vxrt.calc mul %n, %c16
      %t = vxrt.allocate %bytes : !vxrt.buffer
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%u, %y) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
        vxrt.dispatch @e[%one] (%u, %t) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      %next = vxrt.calc add %l, %one
      %goes = vxrt.calc lt %next, %n
      vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
    }
    %flag = vxrt.read_i64 i1 %q#1[%zero] : !vxrt.buffer
    %t = vxrt.if %flag -> !vxrt.buffer {
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%q#1, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      vxrt.yield %a : !vxrt.buffer
    } else {
      vxrt.yield %q#1 : !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %t : i64, i64, !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %r#1, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// In a branch, a size that no call with the other one may want stays there, and so does the copy.
// CHECK-LABEL: vxrt.program @risky
// CHECK-COUNT-2: vxrt.copy
vx.variable @w : tensor<4xf32>
vxrt.program @risky symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %s = vxrt.if %more -> !vxrt.buffer {
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      %less = vxrt.calc sub %n, %c16
      %t = vxrt.allocate %less : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%a, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      vxrt.yield %a : !vxrt.buffer
    } else {
      vxrt.yield %v : !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %s : i64, i64, !vxrt.buffer
  }
  vxrt.check_faults
  vxrt.segment {
    vxrt.copy %r#1, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
