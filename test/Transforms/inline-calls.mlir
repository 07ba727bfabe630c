// RUN: vx-opt %s --split-input-file --vx-inline-calls --verify-diagnostics | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-inline-calls --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// One function at two sizes, one of them a number: its symbol is what the operand says.
// CHECK-LABEL: module
// CHECK-NOT:     @double
// CHECK:         func.func @main(%[[A:.+]]: tensor<?xf32, #vx.enc<[n]>>, %[[B:.+]]: tensor<4xf32>)
// CHECK-NEXT:      %[[C:.+]] = vx.concat axis = 0(%[[A]], %[[A]])
// CHECK-NEXT:      %[[X:.+]] = vx.add %[[C]], %[[C]] : tensor<?xf32, #vx.enc<[n * 2]>>, tensor<?xf32, #vx.enc<[n * 2]>>
// CHECK-NEXT:      %[[Y:.+]] = vx.add %[[B]], %[[B]] : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:      return %[[X]], %[[Y]]
vx.symbol "n"
func.func private @double(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  %0 = vx.add %x, %x : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}
func.func @main(%a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<4xf32>) -> (tensor<?xf32, #vx.enc<[n * 2]>>, tensor<4xf32>) {
  %c = vx.concat axis = 0 (%a, %a) : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %0 = vx.call @double(%c) : (tensor<?xf32, #vx.enc<[n * 2]>>) -> tensor<?xf32, #vx.enc<[n * 2]>>
  %1 = vx.call @double(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<?xf32, #vx.enc<[n * 2]>>, tensor<4xf32>
}

// -----

// What a function binds while it runs is another symbol in each call, of the same declaration; the caller's name for the
// size of a result is that. A function that may be called from outside stays.
// CHECK-LABEL: module
// CHECK:         vx.symbol data_dependent "k" min = 1 max = 8
// CHECK-DAG:     vx.symbol data_dependent "k_1" min = 1 max = 8
// CHECK-DAG:     vx.symbol data_dependent "k_2" min = 1 max = 8
// CHECK:         func.func @first
// CHECK:         func.func @main
// CHECK:           vx.bind_symbol "k_1"
// CHECK-NEXT:      %[[X:.+]] = vx.slice {{.+}} -> tensor<?xf32, #vx.enc<[k_1]>>
// CHECK-NEXT:      vx.bind_symbol "k_2"
// CHECK-NEXT:      %[[Y:.+]] = vx.slice {{.+}} -> tensor<?xf32, #vx.enc<[k_2]>>
// CHECK-NEXT:      vx.concat axis = 0(%[[X]], %[[Y]]) : tensor<?xf32, #vx.enc<[k_1]>>, tensor<?xf32, #vx.enc<[k_2]>>
vx.symbol "n" min = 8
vx.symbol data_dependent "k" min = 1 max = 8
vx.symbol data_dependent "p"
vx.symbol data_dependent "q"
func.func @first(%x: tensor<?xf32, #vx.enc<[n]>>, %c: tensor<i64>) -> tensor<?xf32, #vx.enc<[k]>> {
  vx.bind_symbol "k" = %c
  %0 = vx.slice %x starts [#vx.dim<0>] strides [1] : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xf32, #vx.enc<[k]>>
  return %0 : tensor<?xf32, #vx.enc<[k]>>
}
func.func @main(%a: tensor<16xf32>, %b: tensor<9xf32>, %c: tensor<i64>, %d: tensor<i64>) -> tensor<?xf32, #vx.enc<[p + q]>> {
  %0 = vx.call @first(%a, %c) : (tensor<16xf32>, tensor<i64>) -> tensor<?xf32, #vx.enc<[p]>>
  %1 = vx.call @first(%b, %d) : (tensor<9xf32>, tensor<i64>) -> tensor<?xf32, #vx.enc<[q]>>
  %2 = vx.concat axis = 0 (%0, %1) : tensor<?xf32, #vx.enc<[p]>>, tensor<?xf32, #vx.enc<[q]>>
  return %2 : tensor<?xf32, #vx.enc<[p + q]>>
}

// -----

// What the function wants of sizes, by its types and declarations, is wanted of the operands' where it is not known.
// CHECK-LABEL: func.func @wants(
// CHECK-NEXT:    vx.constraint equal <m>, <l> "sizes 'm' and 'l' equal"
// CHECK-NEXT:    vx.constraint at_least <l>, <1> "size 'l' to be at least '1'"
// CHECK-NEXT:    vx.constraint at_least <64>, <l> "size '64' to be at least 'l'"
// CHECK-NEXT:    vx.constraint multiple <l>, <8> "size 'l' to be a multiple of '8'"
// CHECK-NEXT:    vx.add
vx.symbol "n" min = 1 max = 64 multiple = 8
vx.symbol "l"
vx.symbol "m"
func.func private @sum(%x: tensor<?xf32, #vx.enc<[n]>>, %y: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  %0 = vx.add %x, %y : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}
func.func @wants(%a: tensor<?xf32, #vx.enc<[l]>>, %b: tensor<?xf32, #vx.enc<[m]>>) -> tensor<?xf32, #vx.enc<[l]>> {
  %0 = vx.call @sum(%a, %b) : (tensor<?xf32, #vx.enc<[l]>>, tensor<?xf32, #vx.enc<[m]>>) -> tensor<?xf32, #vx.enc<[l]>>
  return %0 : tensor<?xf32, #vx.enc<[l]>>
}

// -----

// Calls inside of calls and of regions.
// CHECK-LABEL: func.func @nested(
// CHECK-NOT:     vx.call
// CHECK:         vx.if
// CHECK-NEXT:      %[[X:.+]] = vx.exp %arg0
// CHECK-NEXT:      %[[Y:.+]] = vx.neg %[[X]]
// CHECK-NEXT:      vx.yield %[[Y]]
func.func private @inner(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = vx.exp %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @outer(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = vx.call @inner(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = vx.neg %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @nested(%x: tensor<2xf32>, %p: tensor<i1>) -> tensor<2xf32> {
  %0 = vx.if %p -> tensor<2xf32> {
    %1 = vx.call @outer(%x) : (tensor<2xf32>) -> tensor<2xf32>
    vx.yield %1 : tensor<2xf32>
  } else {
    vx.yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @again(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{expected functions without recursion, got 'again', which calls itself}}
  %0 = vx.call @again(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
