// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// Symbols first, then buffers and objects; results with their sizes.
// CHECK-LABEL: vxrt.program @main symbols ["n", "m"] {
// CHECK-NEXT:  ^bb0(%[[N:[^ :]+]]: i64, %[[M:[^ :]+]]: i64, %[[X:[^ :]+]]: !vxrt.buffer, %[[LIST:[^ :]+]]: !vxrt.object):
vxrt.program @main symbols ["n", "m"] {
^bb0(%n: i64, %m: i64, %x: !vxrt.buffer, %list: !vxrt.object):
  // CHECK: vxrt.return %[[X]], %[[N]], %[[M]], %[[LIST]], %[[X]] : !vxrt.buffer, i64, i64, !vxrt.object, !vxrt.buffer ranks [2, -1, 0]
  vxrt.return %x, %n, %m, %list, %x : !vxrt.buffer, i64, i64, !vxrt.object, !vxrt.buffer ranks [2, -1, 0]
// CHECK-NEXT: } {input_names = ["x", "list"]}
} {input_names = ["x", "list"]}

// -----

// CHECK-LABEL: vxrt.program @nothing symbols [] {
vxrt.program @nothing symbols [] {
  // CHECK-NEXT: vxrt.return ranks []
  vxrt.return ranks []
}

// -----

// expected-error @+1 {{'vxrt.program' op expects an i64 for each symbol: 2 region arguments or more, got 1}}
vxrt.program @c1_too_few symbols ["n", "m"] {
^bb0(%n: i64):
  vxrt.return ranks []
}

// -----

// expected-error @+1 {{'vxrt.program' op expects an i64 for each symbol, got '!vxrt.buffer' as region argument 0}}
vxrt.program @c1_symbol symbols ["n"] {
^bb0(%n: !vxrt.buffer):
  vxrt.return ranks []
}

// -----

// expected-error @+1 {{'vxrt.program' op expects buffers and objects after the symbols, got 'i64' as region argument 1}}
vxrt.program @c1_input symbols ["n"] {
^bb0(%n: i64, %x: i64):
  vxrt.return ranks []
}

// -----

// expected-error @+1 {{'vxrt.program' op expects to end with 'vxrt.return', got 'llvm.unreachable'}}
vxrt.program @c2 symbols [] {
  llvm.unreachable
}

// -----

// expected-error @+1 {{'vxrt.program' op expects an input and a result in each pair of 'aliases', got 3 numbers}}
vxrt.program @c3_odd symbols [] {
^bb0(%x: !vxrt.buffer):
  vxrt.return ranks []
} {aliases = array<i64: 0, 0, 0>}

// -----

// expected-error @+1 {{'vxrt.program' op expects 'aliases' of 1 inputs and 0 results, got input 0 with result 0}}
vxrt.program @c3_no_result symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  vxrt.return ranks []
} {aliases = array<i64: 0, 0>}

// -----

// expected-error @+1 {{'vxrt.program' op expects 'aliases' of buffers, got input 1 with result 0}}
vxrt.program @c3_list symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer, %l: !vxrt.object):
  vxrt.return %x, %n : !vxrt.buffer, i64 ranks [1]
} {aliases = array<i64: 1, 0>}

// -----

vxrt.program @outer symbols [] {
  // expected-error @+1 {{'vxrt.program' op expects parent op 'builtin.module'}}
  vxrt.program @inner symbols [] {
    vxrt.return ranks []
  }
  vxrt.return ranks []
}

// -----

vxrt.program @return_c1_size symbols [] {
^bb0(%x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.return' op expects 2 values for result 0 of rank 1, got 1}}
  vxrt.return %x : !vxrt.buffer ranks [1]
}

// -----

vxrt.program @return_c1_type symbols ["n"] {
^bb0(%n: i64, %x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.return' op expects 'i64' as value 1 of result 0 of rank 1, got '!vxrt.buffer'}}
  vxrt.return %x, %x : !vxrt.buffer, !vxrt.buffer ranks [1]
}

// -----

vxrt.program @return_c1_object symbols [] {
^bb0(%x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.return' op expects '!vxrt.object' as value 0 of result 0 of rank -1, got '!vxrt.buffer'}}
  vxrt.return %x : !vxrt.buffer ranks [-1]
}

// -----

vxrt.program @return_c1_rest symbols [] {
^bb0(%x: !vxrt.buffer):
  // expected-error @+1 {{'vxrt.return' op expects 1 values for the results of 'ranks', got 2}}
  vxrt.return %x, %x : !vxrt.buffer, !vxrt.buffer ranks [0]
}

// -----

func.func @return_elsewhere() {
  // expected-error @+1 {{'vxrt.return' op expects parent op 'vxrt.program'}}
  vxrt.return ranks []
}
