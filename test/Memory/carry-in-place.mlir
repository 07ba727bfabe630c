// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vxrt.program(vx-carry-in-place))' | FileCheck %s

// A tensor that goes through two loops lies in one buffer, which gets a copy of the input that it begins as. What makes the next
// value reads the old one in its place, or replaces elements of it; no iteration copies, and none takes memory for it.
// CHECK-LABEL: vxrt.program @nested
// CHECK:         %[[M:.+]] = vxrt.allocate %{{.+}} : !vxrt.buffer
// CHECK:         vxrt.segment {
// CHECK-NEXT:      vxrt.copy %[[X:.+]], %[[M]] :
// CHECK:         vxrt.while %{{.+}} inits(%{{.+}} : i64) -> i64 {
// CHECK:           vxrt.while %{{.+}} inits(%{{.+}} : i64) -> i64 {
// CHECK-NOT:         vxrt.copy
// CHECK:             vxrt.dispatch @s[%{{.+}}] (%[[M]], %{{.+}}, %{{.+}}) -> (%[[M]]) scalars() {vx.fault_sites = ["g"]} :
// CHECK:             vxrt.yield %{{.+}}, %{{.+}} : i64, i64
// CHECK:           vxrt.dispatch @e[%{{.+}}] (%[[M]], %{{.+}}) -> (%[[M]]) scalars() :
// CHECK-NOT:       vxrt.allocate
// CHECK:           vxrt.yield %{{.+}}, %{{.+}} : i64, i64
// CHECK:         vxrt.dispatch @e[%{{.+}}] (%[[M]], %[[X]]) -> (%{{.+}}) scalars() :
vxrt.program @nested symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %i: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %q:2 = vxrt.while %more inits(%zero, %v : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
    ^bb0(%l: i64, %u: !vxrt.buffer):
      %c16 = vxrt.const 16
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.copy %u, %a : !vxrt.buffer
        vxrt.dispatch @s[%one] (%a, %i, %x) -> (%a) scalars() {vx.fault_sites = ["g"]} : (!vxrt.buffer, !vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      %next = vxrt.calc add %l, %one
      %goes = vxrt.calc lt %next, %n
      vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
    }
    %c16 = vxrt.const 16
    %b = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%q#1, %x) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %b : i64, i64, !vxrt.buffer
  }
  %c16 = vxrt.const 16
  %c4 = vxrt.const 4
  %result = vxrt.allocate %c16 : !vxrt.buffer
  vxrt.segment {
    vxrt.dispatch @e[%one] (%r#1, %x) -> (%result) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
  }
  vxrt.return %result, %c4 : !vxrt.buffer, i64 ranks [1]
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @s "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>, %i: tensor<1x1xi64>, %x: tensor<1xf32>):
  %0 = vx.scatter set %w, %i, %x axes = [0] {vx.anchor} : tensor<4xf32>, tensor<1x1xi64>, tensor<1xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// A branch in a loop that leaves the tensor alone copies nothing. A loop in one branch that gives a variable's value has one
// memory with it, and the other branch gives it as it was: the copy stands before the branch.
// CHECK-LABEL: vxrt.program @branches
// CHECK:         vxrt.copy %{{.+}}, %[[M:.+]] :
// CHECK:         vxrt.while %{{.+}} inits(%{{.+}} : i64) -> i64 {
// CHECK:           vxrt.if %{{[^ ]+}} {
// CHECK-NOT:         vxrt.copy
// CHECK:             vxrt.dispatch @e[%{{.+}}] (%[[M]], %{{.+}}) -> (%[[M]]) scalars() :
// CHECK:           } else {
// CHECK-NEXT:        vxrt.yield
// CHECK:         vxrt.copy %{{.+}}, %[[V:.+]] :
// CHECK:         vxrt.if %{{[^ ]+}} {
// CHECK-NEXT:      vxrt.while %{{.+}} inits(%{{.+}} : i64) -> i64 {
// CHECK-NOT:         vxrt.copy
// CHECK:             vxrt.dispatch @e[%{{.+}}] (%[[V]], %{{.+}}) -> (%[[V]]) scalars() :
// CHECK:         } else {
// CHECK-NEXT:      vxrt.yield
// CHECK:         vxrt.copy %[[V]], %{{.+}} :
vx.variable @w : tensor<4xf32>
vxrt.program @branches symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %w = vxrt.variable @w : !vxrt.buffer
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %odd = vxrt.calc lt %k, %n
    %t = vxrt.if %odd -> !vxrt.buffer {
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      vxrt.yield %a : !vxrt.buffer
    } else {
      vxrt.yield %v : !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    %goes = vxrt.calc lt %next, %n
    vxrt.yield %goes, %next, %t : i64, i64, !vxrt.buffer
  }
  %given = vxrt.if %more -> !vxrt.buffer {
    %q:2 = vxrt.while %more inits(%zero, %w : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
    ^bb0(%k: i64, %v: !vxrt.buffer):
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%v, %r#1) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      %next = vxrt.calc add %k, %one
      %goes = vxrt.calc lt %next, %n
      vxrt.yield %goes, %next, %a : i64, i64, !vxrt.buffer
    }
    vxrt.yield %q#1 : !vxrt.buffer
  } else {
    vxrt.yield %w : !vxrt.buffer
  }
  vxrt.segment {
    vxrt.copy %given, %w : !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Carried on: where the next value lies cannot be where the old one does. It is read behind the kernel; the kernel reads other
// elements; two hold one another's, or begin as two and go on as one; the branch gives other memory, or memory of another
// size; a list holds it; the loop carries sizes.
// CHECK-LABEL: vxrt.program @read_behind
// CHECK:         -> i64, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @other_elements
// CHECK:         -> i64, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @in_turn
// CHECK:         -> i64, !vxrt.buffer, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @begin_as_two
// CHECK:         -> i64, !vxrt.buffer, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @other_memory
// CHECK:         -> i64, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @other_size
// CHECK:         -> i64, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @held
// CHECK:         -> i64, !vxrt.object, !vxrt.buffer {
// CHECK-LABEL: vxrt.program @sizes
// CHECK:         -> i64, i64, !vxrt.buffer {
vxrt.program @read_behind symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    %t = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      vxrt.dispatch @e[%one] (%v, %x) -> (%t) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %a : i64, i64, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @other_elements symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @moves[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %a : i64, i64, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @in_turn symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %r:3 = vxrt.while %more inits(%zero, %x, %x : i64, !vxrt.buffer, !vxrt.buffer) -> i64, !vxrt.buffer, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer, %u: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %u) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %u, %a : i64, i64, !vxrt.buffer, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @begin_as_two symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %r:3 = vxrt.while %more inits(%zero, %x, %y : i64, !vxrt.buffer, !vxrt.buffer) -> i64, !vxrt.buffer, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer, %u: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %a, %a : i64, i64, !vxrt.buffer, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @other_memory symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %y: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %t = vxrt.if %k -> !vxrt.buffer {
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      vxrt.yield %a : !vxrt.buffer
    } else {
      vxrt.yield %y : !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %t : i64, i64, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @other_size symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %bytes = vxrt.calc mul %n, %c16
  %more = vxrt.calc lt %zero, %n
  %r:2 = vxrt.while %more inits(%zero, %x : i64, !vxrt.buffer) -> i64, !vxrt.buffer {
  ^bb0(%k: i64, %v: !vxrt.buffer):
    %t = vxrt.if %k -> !vxrt.buffer {
      %a = vxrt.allocate %c16 : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      vxrt.yield %a : !vxrt.buffer
    } else {
      %b = vxrt.allocate %bytes : !vxrt.buffer
      vxrt.segment {
        vxrt.dispatch @e[%one] (%v, %x) -> (%b) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
      }
      vxrt.yield %b : !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %t : i64, i64, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @held symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c4 = vxrt.const 4
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %list = vxrt.list_empty f32 : !vxrt.object
  %r:3 = vxrt.while %more inits(%zero, %list, %x : i64, !vxrt.object, !vxrt.buffer) -> i64, !vxrt.object, !vxrt.buffer {
  ^bb0(%k: i64, %l: !vxrt.object, %v: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%v, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %longer = vxrt.list_insert %l[%zero], %a dims(%c4) : !vxrt.object, !vxrt.buffer -> !vxrt.object
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %longer, %a : i64, i64, !vxrt.object, !vxrt.buffer
  }
  vxrt.return ranks []
}
vxrt.program @sizes symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  %zero = vxrt.const 0
  %one = vxrt.const 1
  %c16 = vxrt.const 16
  %more = vxrt.calc lt %zero, %n
  %r:3 = vxrt.while %more inits(%zero, %n, %x : i64, i64, !vxrt.buffer) -> i64, i64, !vxrt.buffer {
  ^bb0(%k: i64, %s: i64, %v: !vxrt.buffer):
    %a = vxrt.allocate %c16 : !vxrt.buffer
    vxrt.segment {
      vxrt.dispatch @e[%one] (%x, %x) -> (%a) scalars() : (!vxrt.buffer, !vxrt.buffer) -> !vxrt.buffer
    }
    %next = vxrt.calc add %k, %one
    vxrt.yield %one, %next, %s, %a : i64, i64, i64, !vxrt.buffer
  }
  vxrt.return ranks []
}
vx.kernel @e "0" symbols [] workgroups <1> #vx.loops<tile = []> attributes {vx.in_place = array<i64: 0, 0>} {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
vx.kernel @moves "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%w: tensor<4xf32>, %x: tensor<4xf32>):
  %0 = vx.add %w, %x : tensor<4xf32>, tensor<4xf32>
  vx.yield %0 : tensor<4xf32>
}
