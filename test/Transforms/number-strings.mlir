// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-number-strings | FileCheck %s

// Equal strings have one number, 0 is the empty one, and what the caller has are strings.
// CHECK: module attributes {vx.strings = ["", "a", "b"]}
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME:    %[[X:.+]]: tensor<?xi32, #vx.enc<[n]>> {vx.is_string}, %{{.+}}: !vx.sequence<tensor<*xi32>> {vx.is_string}, %{{.+}}: tensor<2xf32>)
// CHECK-SAME:    -> (tensor<?xi32, #vx.enc<[n]>> {vx.is_string}, tensor<?xi1, #vx.enc<[n]>>)
// CHECK-NEXT:    vx.constant dense<[1, 0, 2, 1]> : tensor<4xi32>
// CHECK-NEXT:    %[[B:.+]] = vx.constant dense<2> : tensor<i32>
// CHECK-NEXT:    %[[ALL:.+]] = vx.broadcast %[[B]], [] : tensor<i32> -> tensor<?xi32, #vx.enc<[n]>>
// CHECK-NEXT:    %[[EQ:.+]] = vx.compare eq %[[X]], %[[ALL]]
// CHECK-NEXT:    %[[S:.+]] = vx.select %[[EQ]], %[[X]], %[[ALL]] : {{.+}}, tensor<?xi32, #vx.enc<[n]>>, tensor<?xi32, #vx.enc<[n]>>
// CHECK-NEXT:    %[[U:.+]] = vx.host_function string_upper(%[[S]]) : (tensor<?xi32, #vx.enc<[n]>>) -> tensor<?xi32, #vx.enc<[n]>>
vx.symbol "n"
func.func @numbers(%x: tensor<?x!vx.string, #vx.enc<[n]>>, %q: !vx.sequence<tensor<*x!vx.string>>, %y: tensor<2xf32>)
    -> (tensor<?x!vx.string, #vx.enc<[n]>>, tensor<?xi1, #vx.enc<[n]>>) {
  %0 = vx.constant dense<["a", "", "b", "a"]> : tensor<4x!vx.string>
  %1 = vx.constant dense<"b"> : tensor<!vx.string>
  %2 = vx.broadcast %1, [] : tensor<!vx.string> -> tensor<?x!vx.string, #vx.enc<[n]>>
  %3 = vx.compare eq %x, %2 : tensor<?x!vx.string, #vx.enc<[n]>>, tensor<?x!vx.string, #vx.enc<[n]>>
  %4 = vx.select %3, %x, %2 : tensor<?xi1, #vx.enc<[n]>>, tensor<?x!vx.string, #vx.enc<[n]>>, tensor<?x!vx.string, #vx.enc<[n]>>
  %5 = vx.host_function string_upper(%4) : (tensor<?x!vx.string, #vx.enc<[n]>>) -> tensor<?x!vx.string, #vx.enc<[n]>>
  return %5, %3 : tensor<?x!vx.string, #vx.enc<[n]>>, tensor<?xi1, #vx.enc<[n]>>
}

// -----

// Without strings nothing changes.
// CHECK-NOT: vx.strings
// CHECK-LABEL: func.func @none(
// CHECK-NEXT:    return
func.func @none(%x: tensor<2xi32>) {
  return
}

// -----

func.func @order(%x: tensor<2x!vx.string>) -> tensor<2xi1> {
  // expected-error @+1 {{expected 'eq' or 'ne' of strings, which have no order, got 'lt' in}}
  %0 = vx.compare lt %x, %x : tensor<2x!vx.string>, tensor<2x!vx.string>
  return %0 : tensor<2xi1>
}

// -----

// expected-error @+1 {{variable 'words': expected numbers or bools, got strings}}
vx.variable @words : tensor<2x!vx.string>
