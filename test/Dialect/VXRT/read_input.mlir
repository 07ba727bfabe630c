// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @read
vxrt.program @read symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %l: !vxrt.object, %y: !vxrt.buffer):
  // CHECK: vxrt.read_input 0 : i1
  %0 = vxrt.read_input 0 : i1
  // CHECK-NEXT: vxrt.read_input 2 : i64
  %1 = vxrt.read_input 2 : i64
  // CHECK-NEXT: vxrt.read_input 0 : i32 symbol "n"
  %2 = vxrt.read_input 0 : i32 symbol "n"
  vxrt.return ranks []
}

// -----

vxrt.program @c1_number symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.read_input' op expects an input below 1, got 1}}
  %0 = vxrt.read_input 1 : i64
  vxrt.return ranks []
}

// -----

vxrt.program @c1_object symbols [] {
^bb0(%x: !vxrt.buffer, %l: !vxrt.object):
  // expected-error @+1 {{'vxrt.read_input' op expects input 1 to be a buffer, got '!vxrt.object'}}
  %0 = vxrt.read_input 1 : i64
  vxrt.return ranks []
}

// -----

vxrt.program @c2 symbols [] {
^bb0(%x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.read_input' op expects an element of i1, i32 or i64, got 'f32'}}
  %0 = vxrt.read_input 0 : f32
  vxrt.return ranks []
}

// -----

vxrt.program @c3_unknown symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.read_input' op expects a symbol of the program, got "m"}}
  %0 = vxrt.read_input 0 : i64 symbol "m"
  vxrt.return ranks []
}

// -----

vxrt.program @c3_twice symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.read_input' op expects one op that gives "n", got two}}
  %0 = vxrt.read_input 0 : i64 symbol "n"
  %1 = vxrt.read_input 0 : i64 symbol "n"
  vxrt.return ranks []
}
