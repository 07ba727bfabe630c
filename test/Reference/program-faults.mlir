// Calls that fail between the ops: inputs, symbols and variables that do not fit their declarations, and functions that
// cannot be called. The exit code is 1.
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function two --input x=f32[2]:ones --input y=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=CONFLICT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function two --input x=f32[2,2]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=RANK
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function two --input x=f16[2]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=TYPE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function two --input x=f32[0]:ones --input y=f32[0]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=RANGE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function pairs --input x=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=MULTIPLE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function undeclared --input x=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=UNDECLARED
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function list --input x=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=KIND
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function constant_size --input x=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=CONSTANT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function load --input x=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=LOAD
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function load_unbound 2>&1 | FileCheck %s --match-full-lines --check-prefix=UNBOUND
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function load_text 2>&1 | FileCheck %s --match-full-lines --check-prefix=TEXT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function load_words 2>&1 | FileCheck %s --match-full-lines --check-prefix=WORDS
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function dispatch_unbound 2>&1 | FileCheck %s --match-full-lines --check-prefix=DISPATCH
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function dispatch_size --input x=f32[2]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=DISPATCH-SIZE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function declared 2>&1 | FileCheck %s --match-full-lines --check-prefix=DECLARED
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function calls_declared 2>&1 | FileCheck %s --match-full-lines --check-prefix=DECLARED
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function first 2>&1 | FileCheck %s --match-full-lines --check-prefix=RECURSION

vx.symbol "n" min = 1
vx.symbol "pairs" multiple = 2
vx.symbol data_dependent "k"
vx.variable @state : tensor<2xf32>
vx.variable @text : tensor<2x!vx.string>

// CONFLICT: vx-interpret: error: input 'y': expected size 2 of 'n' in dimension 0, got 3
// RANK: vx-interpret: error: input 'x': expected 'tensor<?xf32, #vx.enc<[n]>>', got f32[2,2]
// TYPE: vx-interpret: error: input 'x': expected 'tensor<?xf32, #vx.enc<[n]>>', got f16[2]
// RANGE: vx-interpret: error: input 'x': symbol 'n': expected 1 to 9223372036854775807, got 0 in '{{.*}}program-faults.mlir:[[@LINE+1]]:1'
func.func @two(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}, %y: tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}) {
  return
}

// MULTIPLE: vx-interpret: error: input 'x': symbol 'pairs': expected a multiple of 2, got 3 in '{{.*}}program-faults.mlir:[[@LINE+1]]:1'
func.func @pairs(%x: tensor<?xf32, #vx.enc<[pairs]>> {vx.name = "x"}) {
  return
}

// UNDECLARED: vx-interpret: error: input 'x': symbol 'm' is not declared in '{{.*}}program-faults.mlir:[[@LINE+1]]:1'
func.func @undeclared(%x: tensor<?xf32, #vx.enc<[m]>> {vx.name = "x"}) {
  return
}

// KIND: vx-interpret: error: input 'x': expected '!vx.sequence<tensor<?xf32>>', got f32[3]
func.func @list(%x: !vx.sequence<tensor<?xf32>> {vx.name = "x"}) {
  return
}

// CONSTANT: vx-interpret: error: expected a value of type 'tensor<2xf32>', got f32[3] in '{{.*}}program-faults.mlir:[[@LINE+1]]:1'
func.func @constant_size(%x: tensor<2xf32> {vx.name = "x"}) {
  return
}

// LOAD: vx-interpret: error: expected a value of type 'tensor<?xf32, #vx.enc<[n]>>', got f32[2] in '{{.*}}program-faults.mlir:[[@LINE+2]]:8'
func.func @load(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}) {
  %0 = vx.variable_load @state : tensor<?xf32, #vx.enc<[n]>>
  return
}

// UNBOUND: vx-interpret: error: symbol 'k' has no value yet in 'k' in '{{.*}}program-faults.mlir:[[@LINE+2]]:8'
func.func @load_unbound() {
  %0 = vx.variable_load @state : tensor<?xf32, #vx.enc<[k]>>
  return
}

// TEXT: vx-interpret: error: variable 'text' holds neither numbers nor bools in '{{.*}}program-faults.mlir:[[@LINE+2]]:8'
func.func @load_text() {
  %0 = vx.variable_load @text : tensor<2x!vx.string>
  return
}

// WORDS: vx-interpret: error: expects a constant of numbers or bools, got 'tensor<2x!vx.string>' in '{{.*}}program-faults.mlir:[[@LINE+1]]:1'
vx.variable @words : tensor<2x!vx.string> = dense<["a", "b"]> : tensor<2x!vx.string>
func.func @load_words() {
  %0 = vx.variable_load @words : tensor<2x!vx.string>
  return
}

vx.kernel @double "" symbols ["s0"] workgroups <s0> #vx.loops<tile = [1]> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.add %x, %x : tensor<?xf32, #vx.enc<[s0]>>, tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
}

// DISPATCH: vx-interpret: error: symbol 'k' has no value yet in 'k' in '{{.*}}program-faults.mlir:[[@LINE+2]]:8'
func.func @dispatch_unbound(%x: tensor<2xf32>) {
  %0 = vx.dispatch @double (%x) symbols [#vx.dim<k>] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// DISPATCH-SIZE: vx-interpret: error: expected a value of type 'tensor<?xf32, #vx.enc<[s0]>>', got f32[2] in '{{.*}}program-faults.mlir:[[@LINE+2]]:8'
func.func @dispatch_size(%x: tensor<?xf32> {vx.name = "x"}) {
  %0 = vx.dispatch @double (%x) symbols [#vx.dim<3>] : (tensor<?xf32>) -> tensor<3xf32>
  return
}

// DECLARED: vx-interpret: error: function 'declared' has no body of one block
func.func private @declared()
func.func @calls_declared() {
  func.call @declared() : () -> ()
  return
}

// By way of another function too: no call ends.
// RECURSION: vx-interpret: error: function 'first' calls itself in '{{.*}}program-faults.mlir:[[@LINE+6]]:3'
func.func @first() {
  func.call @second() : () -> ()
  return
}
func.func @second() {
  func.call @first() : () -> ()
  return
}
