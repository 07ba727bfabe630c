// RUN: vx-interpret %s --input 'x=i64[2,3]:ones' --calls 2 --print | FileCheck %s
// RUN: not vx-interpret %s --function fault 2>&1 | FileCheck %s --check-prefix=FAULT
// RUN: not vx-interpret %s --function bind --input 'x=i64[]:ones' 2>&1 | FileCheck %s --check-prefix=BIND
// RUN: not vx-interpret %s --input 'x=i64[9,3]:ones' 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: vx-interpret %s --function if --input 'c=bool[]:ones' --print | FileCheck %s --check-prefix=THEN
// RUN: vx-interpret %s --function if --input 'c=bool[]:zeros' --print | FileCheck %s --check-prefix=ELSE
// RUN: vx-interpret %s --function growing_loop --print | FileCheck %s --check-prefix=LOOP
// RUN: vx-interpret %s --function pool_by_turns --calls 2 --print | FileCheck %s --check-prefix=POOL
// RUN: vx-interpret %s --function sequences --print | FileCheck %s --check-prefix=SEQUENCES
// RUN: vx-interpret %s --function optionals --print | FileCheck %s --check-prefix=OPTIONALS

vx.symbol "n" min = 1 max = 8
vx.symbol data_dependent "k"
vx.symbol data_dependent "i"
vx.symbol data_dependent "two" min = 2 max = 2
vx.variable @sum : tensor<3xi64> = dense<[0, 10, 20]> : tensor<3xi64>

// The variable lives on from the first call to the second. The result of `vx.nonzero` has the size that was read back.
// CHECK:      sum: i64[3]
// CHECK-NEXT: [4, 14, 24]
// CHECK:      places: i64[1,3]
// CHECK-NEXT: {{\[}}[0, 1, 2]]
func.func @main(%x: tensor<?x3xi64, #vx.enc<[n, 3]>> {vx.name = "x"}) -> (tensor<3xi64> {vx.name = "sum"}, tensor<1x?xi64, #vx.enc<[1, k]>> {vx.name = "places"}) {
  %0 = vx.reduce sum %x axes = [0] : tensor<?x3xi64, #vx.enc<[n, 3]>>
  %1 = vx.variable_load @sum : tensor<3xi64>
  %2 = vx.add %0, %1 : tensor<3xi64>, tensor<3xi64>
  vx.variable_store %2, @sum : tensor<3xi64>
  %3 = vx.count_nonzero %2 : tensor<3xi64>
  vx.bind_symbol "k" = %3
  %4 = vx.nonzero %2 : tensor<3xi64> -> tensor<1x?xi64, #vx.enc<[1, k]>>
  return %2, %4 : tensor<3xi64>, tensor<1x?xi64, #vx.enc<[1, k]>>
}
// INPUT: vx-interpret: error: input 'x': symbol 'n': expected 1 to 8, got 9

// A fault names the source node, and leaves the variable alone.
// FAULT: vx-interpret: error: index 12 at [0] is out of range [-5, 5) in 'gather_1 (Gather)'
func.func @fault() -> tensor<1xf32> {
  %a = vx.constant dense<0.0> : tensor<5xf32>
  %i = vx.constant dense<12> : tensor<1xi64>
  %0 = vx.gather %a, %i axis = 0 : tensor<5xf32>, tensor<1xi64> loc(fused<#vx.source<"gather_1", "Gather", "m.onnx">>["m.onnx":0:0])
  return %0 : tensor<1xf32>
}

// BIND: vx-interpret: error: symbol 'two': expected 2 to 2, got 1 in '{{.*}}program.mlir:[[@LINE+2]]:3'
func.func @bind(%x: tensor<i64> {vx.name = "x"}) -> tensor<?xi64, #vx.enc<[two]>> {
  vx.bind_symbol "two" = %x
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[two]>>
  return %0 : tensor<?xi64, #vx.enc<[two]>>
}

// THEN: 0: f32[2]
// ELSE: 0: f32[3]
func.func @if(%c: tensor<i1> {vx.name = "c"}) -> tensor<?xf32, #vx.enc<[k]>> {
  %a = vx.constant dense<1.0> : tensor<2xf32>
  %b = vx.constant dense<2.0> : tensor<3xf32>
  %0 = vx.if %c -> tensor<?xf32, #vx.enc<[k]>> {
    vx.yield %a : tensor<2xf32>
  } else {
    vx.yield %b : tensor<3xf32>
  }
  return %0 : tensor<?xf32, #vx.enc<[k]>>
}

// The carried value doubles in size, three times, with the number of the iteration in it.
// LOOP:      0: i64[8]
// LOOP-NEXT: [3, 3, 3, 3, 3, 3, 3, 3]
func.func @growing_loop() -> tensor<?xi64, #vx.enc<[k]>> {
  %n = vx.constant dense<3> : tensor<i64>
  %go = vx.constant dense<true> : tensor<i1>
  %a = vx.constant dense<0> : tensor<1xi64>
  %0 = vx.loop "i" trip_count(%n) inits(%a : tensor<1xi64>) -> tensor<?xi64, #vx.enc<[k]>> {
  ^bb0(%x: tensor<?xi64, #vx.enc<[k]>>):
    %1 = vx.concat axis = 0 (%x, %x) : tensor<?xi64, #vx.enc<[k]>>, tensor<?xi64, #vx.enc<[k]>>
    %i = vx.dim_value <i>
    %2 = vx.broadcast %i, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[k * 2]>>
    %3 = vx.add %1, %2 : tensor<?xi64, #vx.enc<[k * 2]>>, tensor<?xi64, #vx.enc<[k * 2]>>
    vx.yield %go, %3 : tensor<i1>, tensor<?xi64, #vx.enc<[k * 2]>>
  }
  return %0 : tensor<?xi64, #vx.enc<[k]>>
}

// SEQUENCES:      0: i64[3]
// SEQUENCES-NEXT: [4, 5, 6]
// SEQUENCES-NEXT: 1: i64[]
// SEQUENCES-NEXT: 2
// SEQUENCES-NEXT: 2: sequence of 1
// SEQUENCES-NEXT: 2[0]: i64[3]
// SEQUENCES-NEXT: [4, 5, 6]
func.func @sequences() -> (tensor<?xi64, #vx.enc<[k]>>, tensor<i64>, !vx.sequence<tensor<?xi64>>) {
  %a = vx.constant dense<[1, 2]> : tensor<2xi64>
  %b = vx.constant dense<[4, 5, 6]> : tensor<3xi64>
  %zero = vx.constant dense<0> : tensor<i64>
  %last = vx.constant dense<-1> : tensor<i64>
  %0 = vx.sequence_construct %a : (tensor<2xi64>) -> !vx.sequence<tensor<?xi64>>
  %1 = vx.sequence_insert %0, %b at %zero : !vx.sequence<tensor<?xi64>>, tensor<3xi64> -> !vx.sequence<tensor<?xi64>>
  %2 = vx.sequence_at %1, %zero : !vx.sequence<tensor<?xi64>> -> tensor<?xi64, #vx.enc<[k]>>
  %3 = vx.sequence_length %1 : !vx.sequence<tensor<?xi64>>
  %4 = vx.sequence_erase %1 at %last : !vx.sequence<tensor<?xi64>>
  return %2, %3, %4 : tensor<?xi64, #vx.enc<[k]>>, tensor<i64>, !vx.sequence<tensor<?xi64>>
}

// A variable and the pool that it lies in, by turns: each load gives what was stored last.
// POOL:      0: i64[2]
// POOL-NEXT: [16, 32]
// POOL-NEXT: 1: i64[12]
// POOL-NEXT: [0, 0, 0, 0, 0, 0, 0, 0, 8, 16, 0, 0]
vx.variable @pool : tensor<12xi64>
vx.variable @part in @pool at 64 : tensor<2xi64> = dense<[1, 2]> : tensor<2xi64>
func.func @pool_by_turns() -> (tensor<2xi64>, tensor<12xi64>) {
  %0 = vx.variable_load @part : tensor<2xi64>
  %1 = vx.add %0, %0 : tensor<2xi64>, tensor<2xi64>
  vx.variable_store %1, @part : tensor<2xi64>
  %2 = vx.variable_load @pool : tensor<12xi64>
  %3 = vx.add %2, %2 : tensor<12xi64>, tensor<12xi64>
  vx.variable_store %3, @pool : tensor<12xi64>
  %4 = vx.variable_load @part : tensor<2xi64>
  return %4, %2 : tensor<2xi64>, tensor<12xi64>
}

// OPTIONALS:      0: i64[]
// OPTIONALS-NEXT: 1
// OPTIONALS-NEXT: 1: i64[]
// OPTIONALS-NEXT: 0
// OPTIONALS-NEXT: 2: i64[]
// OPTIONALS-NEXT: 1
// OPTIONALS-NEXT: 3: sequence of 1
// OPTIONALS-NEXT: 3[0]: i64[2]
// OPTIONALS-NEXT: [1, 2]
// OPTIONALS-NEXT: 4: none
func.func @optionals() -> (tensor<i64>, tensor<i64>, tensor<i64>, !vx.sequence<tensor<2xi64>>, !vx.optional<!vx.sequence<tensor<2xi64>>>) {
  %a = vx.constant dense<[1, 2]> : tensor<2xi64>
  %s = vx.sequence_construct %a : (tensor<2xi64>) -> !vx.sequence<tensor<2xi64>>
  %some = vx.optional %s : !vx.sequence<tensor<2xi64>> -> !vx.optional<!vx.sequence<tensor<2xi64>>>
  %none = vx.optional -> !vx.optional<!vx.sequence<tensor<2xi64>>>
  %tensor = vx.optional %a : tensor<2xi64> -> !vx.optional<tensor<2xi64>>
  %0 = vx.sequence_length %some : !vx.optional<!vx.sequence<tensor<2xi64>>>
  %1 = vx.sequence_length %none : !vx.optional<!vx.sequence<tensor<2xi64>>>
  %2 = vx.sequence_length %tensor : !vx.optional<tensor<2xi64>>
  %3 = vx.optional_value %some : !vx.optional<!vx.sequence<tensor<2xi64>>> -> !vx.sequence<tensor<2xi64>>
  return %0, %1, %2, %3, %none : tensor<i64>, tensor<i64>, tensor<i64>, !vx.sequence<tensor<2xi64>>, !vx.optional<!vx.sequence<tensor<2xi64>>>
}
