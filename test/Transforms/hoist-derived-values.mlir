// RUN: vx-opt %s --split-input-file --vx-hoist-derived-values --vx-verify-kernels | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-hoist-derived-values --vx-convert-to-schedule --vx-verify-schedule | FileCheck %s --check-prefix=SCHEDULE

// The transpose of a weight, and what is computed from that, run at load; the weight stays where a call reads it too.
// CHECK-LABEL: func.func private @derived_transpose() -> tensor<3x2xf32> attributes {vx.derived = "{{[0-9a-f]+}}"} {
// CHECK-NEXT:    %[[W:.+]] = vx.constant dense_resource<w>
// CHECK-NEXT:    %[[T:.+]] = vx.dispatch @transpose(%[[W]])
// CHECK-NEXT:    return %[[T]]
// CHECK-LABEL: func.func private @derived_exp() -> tensor<6xf32>
// CHECK-NEXT:    %[[T:.+]] = call @derived_transpose()
// CHECK-NEXT:    %[[V:.+]] = vx.reshape %[[T]]
// CHECK-NEXT:    vx.dispatch @exp(%[[V]])
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT:    %[[E:.+]] = call @derived_exp()
// CHECK-NEXT:    %[[Y:.+]] = vx.dispatch @mul(%arg0, %[[E]])
// CHECK-NEXT:    return %[[Y]]
// SCHEDULE-LABEL: vxrt.program @derived_transpose symbols [] {
// SCHEDULE-NOT:     vxrt.variable
// SCHEDULE:         vxrt.dispatch @transpose
// SCHEDULE:         vxrt.return
// SCHEDULE:       } {derived = "{{[0-9a-f]+}}"
// SCHEDULE-LABEL: vxrt.program @derived_exp symbols [] {
// SCHEDULE:         vxrt.derived @derived_transpose
// SCHEDULE:         vxrt.dispatch @exp
// SCHEDULE-LABEL: vxrt.program @chain symbols ["n"] {
// SCHEDULE:         vxrt.variable @v
// SCHEDULE:         %[[E:.+]] = vxrt.derived @derived_exp
// SCHEDULE:         vxrt.dispatch @mul[%{{.+}}] (%{{.+}}, %[[E]])
vx.symbol "n"
vx.variable @v : tensor<4xf32>
func.func @chain(%x: tensor<6xf32>) -> tensor<6xf32> {
  %w = vx.constant dense_resource<w> : tensor<2x3xf32>
  %0 = vx.dispatch @transpose(%w) symbols [] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = vx.reshape %0 : tensor<3x2xf32> -> tensor<6xf32>
  %2 = vx.dispatch @exp(%1) symbols [] : (tensor<6xf32>) -> tensor<6xf32>
  %3 = vx.dispatch @mul(%x, %2) symbols [] : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %3 : tensor<6xf32>
}
vx.kernel @transpose "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2x3xf32>):
  %0 = vx.transpose %x, [1, 0] {vx.anchor} : tensor<2x3xf32>
  vx.yield %0 : tensor<3x2xf32>
}
vx.kernel @exp "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<6xf32>):
  %0 = vx.exp %x : tensor<6xf32>
  vx.yield %0 : tensor<6xf32>
}
vx.kernel @mul "2" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<6xf32>, %y: tensor<6xf32>):
  %0 = vx.mul %x, %y : tensor<6xf32>, tensor<6xf32>
  vx.yield %0 : tensor<6xf32>
}
{-# dialect_resources: { builtin: { w: "0x04000000000080BF000000C00000003F000000400000C03F00002041" } } #-}

// -----

// Equal ones, in a branch and in another function, are made once; another constant makes another.
// CHECK:       func.func private @derived_exp()
// CHECK:         vx.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK:       func.func private @derived_exp_0()
// CHECK:         vx.constant dense<[1.000000e+00, 3.000000e+00]>
// CHECK-NOT:   func.func private
// CHECK-LABEL: func.func @branch(
// CHECK:         vx.if
// CHECK-NEXT:      %[[A:.+]] = func.call @derived_exp()
// CHECK-NEXT:      vx.yield %[[A]]
// CHECK:           %[[B:.+]] = func.call @derived_exp_0()
// CHECK-NEXT:      vx.yield %[[B]]
// CHECK-LABEL: func.func @again()
// CHECK-NEXT:    call @derived_exp()
func.func @branch(%c: tensor<i1>) -> tensor<2xf32> {
  %0 = vx.if %c -> tensor<2xf32> {
    %a = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = vx.dispatch @exp(%a) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
    vx.yield %1 : tensor<2xf32>
  } else {
    %b = vx.constant dense<[1.0, 3.0]> : tensor<2xf32>
    %2 = vx.dispatch @exp(%b) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
    vx.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
func.func @again() -> tensor<2xf32> {
  %a = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = vx.dispatch @exp(%a) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
vx.kernel @exp "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  %0 = vx.exp %x : tensor<2xf32>
  vx.yield %0 : tensor<2xf32>
}

// -----

// Not hoisted: what an input decides, what may fail, a size that a symbol decides, and a repetition of over a megabyte.
// CHECK-NOT:   func.func private
// CHECK-LABEL: func.func @stay(
// CHECK:         vx.dispatch @exp(
// CHECK:         vx.dispatch @gather(
// CHECK:         vx.dispatch @iota(
// CHECK:         vx.dispatch @repeat(
// SCHEDULE-LABEL: vxrt.program @stay
vx.symbol "n"
func.func @stay(%x: tensor<?xf32, #vx.enc<[n]>>)
    -> (tensor<?xf32, #vx.enc<[n]>>, tensor<2xf32>, tensor<?xi64, #vx.enc<[n]>>, tensor<2x262144xf32>) {
  %0 = vx.dispatch @exp(%x) symbols [#vx.dim<n>] : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>>
  %t = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = vx.constant dense<[1, 5]> : tensor<2xi64>
  %1 = vx.dispatch @gather(%t, %i) symbols [] {vx.fault_sites = ["g"]} : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %2 = vx.dispatch @iota() symbols [#vx.dim<n>] : () -> tensor<?xi64, #vx.enc<[n]>>
  %3 = vx.dispatch @repeat(%t) symbols [] : (tensor<2xf32>) -> tensor<2x262144xf32>
  return %0, %1, %2, %3 : tensor<?xf32, #vx.enc<[n]>>, tensor<2xf32>, tensor<?xi64, #vx.enc<[n]>>, tensor<2x262144xf32>
}
vx.kernel @exp "0" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<?xf32, #vx.enc<[s0]>>):
  %0 = vx.exp %x : tensor<?xf32, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
}
vx.kernel @gather "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%t: tensor<2xf32>, %i: tensor<2xi64>):
  %0 = vx.gather %t, %i axis = 0 {vx.anchor} : tensor<2xf32>, tensor<2xi64>
  vx.yield %0 : tensor<2xf32>
}
vx.kernel @iota "2" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0:
  %0 = vx.iota axis = 0 {vx.anchor} : tensor<?xi64, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?xi64, #vx.enc<[s0]>>
}
vx.kernel @repeat "3" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  %0 = vx.broadcast %x, [0] : tensor<2xf32> -> tensor<2x262144xf32>
  vx.yield %0 : tensor<2x262144xf32>
}

// -----

// A transposed parameter, and what is computed from that: the transpose is a value of its own where another function
// reads it, and a part of the other's program where nobody else does. Who stores the parameter reads it as it is, and a
// state is no weight.
// CHECK-LABEL: func.func private @derived_transpose() -> tensor<3x2xf32> attributes {vx.derived = "{{[0-9a-f]+}}"} {
// CHECK-NEXT:    %[[W:.+]] = vx.variable_load @w
// CHECK-NEXT:    %[[T:.+]] = vx.dispatch @transpose(%[[W]])
// CHECK-NEXT:    return %[[T]]
// CHECK-LABEL: func.func private @derived_exp() -> tensor<6xf32>
// CHECK-NEXT:    %[[T:.+]] = call @derived_transpose()
// CHECK-NEXT:    %[[V:.+]] = vx.reshape %[[T]]
// CHECK-NEXT:    %[[E:.+]] = vx.dispatch @exp(%[[V]])
// CHECK-NEXT:    return %[[E]]
// CHECK-LABEL: func.func private @derived_exp_1() -> tensor<6xf32>
// CHECK-NEXT:    %[[W:.+]] = vx.variable_load @v
// CHECK-NEXT:    %[[T:.+]] = vx.dispatch @transpose(%[[W]])
// CHECK-NEXT:    %[[V:.+]] = vx.reshape %[[T]]
// CHECK-NEXT:    %[[E:.+]] = vx.dispatch @exp(%[[V]])
// CHECK-NEXT:    return %[[E]]
// CHECK-NOT:   func.func private
// CHECK-LABEL: func.func @predict(
// CHECK-NEXT:    %[[E:.+]] = call @derived_exp()
// CHECK-NEXT:    %[[F:.+]] = call @derived_exp_1()
// CHECK-NEXT:    return %[[E]], %[[F]]
// CHECK-LABEL: func.func @other(
// CHECK-NEXT:    %[[T:.+]] = call @derived_transpose()
// CHECK-NEXT:    return %[[T]]
// CHECK-LABEL: func.func @train(
// CHECK-NEXT:    %[[W:.+]] = vx.variable_load @w
// CHECK-NEXT:    %[[T:.+]] = vx.dispatch @transpose(%[[W]])
// CHECK-LABEL: func.func @of_state(
// CHECK-NEXT:    %[[S:.+]] = vx.variable_load @s
// CHECK-NEXT:    %[[T:.+]] = vx.dispatch @transpose(%[[S]])
// SCHEDULE-LABEL: vxrt.program @derived_transpose symbols [] {
// SCHEDULE-NOT:     vxrt.variable @v
// SCHEDULE:         %[[W:.+]] = vxrt.variable @w
// SCHEDULE-NOT:     vxrt.variable
// SCHEDULE:         vxrt.dispatch @transpose[%{{.+}}] (%[[W]])
// SCHEDULE-LABEL: vxrt.program @predict symbols [] {
// SCHEDULE:         vxrt.derived @derived_exp
// SCHEDULE:         vxrt.derived @derived_exp_1
vx.variable @w role = parameter : tensor<2x3xf32>
vx.variable @v role = statistic : tensor<2x3xf32>
vx.variable @s : tensor<2x3xf32>
func.func @predict() -> (tensor<6xf32>, tensor<6xf32>) {
  %w = vx.variable_load @w : tensor<2x3xf32>
  %v = vx.variable_load @v : tensor<2x3xf32>
  %0 = vx.dispatch @transpose(%w) symbols [] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = vx.reshape %0 : tensor<3x2xf32> -> tensor<6xf32>
  %2 = vx.dispatch @exp(%1) symbols [] : (tensor<6xf32>) -> tensor<6xf32>
  %3 = vx.dispatch @transpose(%v) symbols [] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = vx.reshape %3 : tensor<3x2xf32> -> tensor<6xf32>
  %5 = vx.dispatch @exp(%4) symbols [] : (tensor<6xf32>) -> tensor<6xf32>
  return %2, %5 : tensor<6xf32>, tensor<6xf32>
}
func.func @other() -> tensor<3x2xf32> {
  %w = vx.variable_load @w : tensor<2x3xf32>
  %0 = vx.dispatch @transpose(%w) symbols [] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func @train(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %w = vx.variable_load @w : tensor<2x3xf32>
  %0 = vx.dispatch @transpose(%w) symbols [] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  vx.variable_store %x, @w : tensor<2x3xf32>
  return %0 : tensor<3x2xf32>
}
func.func @of_state() -> tensor<3x2xf32> {
  %s = vx.variable_load @s : tensor<2x3xf32>
  %0 = vx.dispatch @transpose(%s) symbols [] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
vx.kernel @transpose "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2x3xf32>):
  %0 = vx.transpose %x, [1, 0] {vx.anchor} : tensor<2x3xf32>
  vx.yield %0 : tensor<3x2xf32>
}
vx.kernel @exp "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<6xf32>):
  %0 = vx.exp %x : tensor<6xf32>
  vx.yield %0 : tensor<6xf32>
}

// -----

// Of few bytes of a weight much is computed: less than twice the weight is kept, whatever lies between. More is not.
// CHECK-LABEL: func.func @between(
// CHECK-NEXT:    %[[W:.+]] = call @derived_widen()
// CHECK-NEXT:    vx.dispatch @add(%arg0, %[[W]])
// CHECK-LABEL: func.func @much(
// CHECK:         %[[P:.+]] = call @derived_take()
// CHECK-NEXT:    vx.dispatch @widen_more(%[[P]])
func.func @between(%x: tensor<1048576x4xi8>) -> tensor<1048576x4xi8> {
  %w = vx.constant dense_resource<w> : tensor<1048576x2xi8>
  %0 = vx.dispatch @take(%w) symbols [] : (tensor<1048576x2xi8>) -> tensor<1048576x1xi8>
  %1 = vx.dispatch @widen(%0) symbols [] : (tensor<1048576x1xi8>) -> tensor<1048576x4xi8>
  %2 = vx.dispatch @add(%x, %1) symbols [] : (tensor<1048576x4xi8>, tensor<1048576x4xi8>) -> tensor<1048576x4xi8>
  return %2 : tensor<1048576x4xi8>
}
func.func @much() -> tensor<1048576x5xi8> {
  %w = vx.constant dense_resource<w> : tensor<1048576x2xi8>
  %0 = vx.dispatch @take(%w) symbols [] : (tensor<1048576x2xi8>) -> tensor<1048576x1xi8>
  %1 = vx.dispatch @widen_more(%0) symbols [] : (tensor<1048576x1xi8>) -> tensor<1048576x5xi8>
  return %1 : tensor<1048576x5xi8>
}
vx.kernel @take "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<1048576x2xi8>):
  %0 = vx.slice %x starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] {vx.anchor} : tensor<1048576x2xi8> -> tensor<1048576x1xi8>
  vx.yield %0 : tensor<1048576x1xi8>
}
vx.kernel @widen "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<1048576x1xi8>):
  %0 = vx.broadcast %x, [0, 1] : tensor<1048576x1xi8> -> tensor<1048576x4xi8>
  vx.yield %0 : tensor<1048576x4xi8>
}
vx.kernel @widen_more "2" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<1048576x1xi8>):
  %0 = vx.broadcast %x, [0, 1] : tensor<1048576x1xi8> -> tensor<1048576x5xi8>
  vx.yield %0 : tensor<1048576x5xi8>
}
vx.kernel @add "3" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<1048576x4xi8>, %y: tensor<1048576x4xi8>):
  %0 = vx.add %x, %y : tensor<1048576x4xi8>, tensor<1048576x4xi8>
  vx.yield %0 : tensor<1048576x4xi8>
}

// -----

// A value of over a megabyte and twice what it is computed from is hoisted where hoisted dispatches alone read it, up to 8 times as
// large: its memory is free again after them. Where a call reads it, too, it stays, and so does what is computed from it.
// CHECK-LABEL: func.func private @derived_widen() -> tensor<262144xi64>
// CHECK-LABEL: func.func private @derived_sign() -> tensor<262144xi8>
// CHECK-NEXT:    call @derived_widen()
// CHECK-LABEL: func.func @moment(
// CHECK-NEXT:    call @derived_sign()
// CHECK-NEXT:    return
// CHECK-LABEL: func.func @called(
// CHECK-NEXT:    vx.constant
// CHECK-NEXT:    vx.dispatch @widen(
// CHECK-NEXT:    vx.dispatch @sign(
// CHECK-NEXT:    vx.dispatch @scale(
// CHECK-LABEL: func.func @large(
// CHECK-NEXT:    vx.constant
// CHECK-NEXT:    vx.dispatch @repeat(
// CHECK-NEXT:    vx.dispatch @first(
func.func @moment() -> tensor<262144xi8> {
  %w = vx.constant dense<3> : tensor<262144xi8>
  %0 = vx.dispatch @widen(%w) symbols [] : (tensor<262144xi8>) -> tensor<262144xi64>
  %1 = vx.reshape %0 : tensor<262144xi64> -> tensor<512x512xi64>
  %2 = vx.reshape %1 : tensor<512x512xi64> -> tensor<262144xi64>
  %3 = vx.dispatch @sign(%2) symbols [] : (tensor<262144xi64>) -> tensor<262144xi8>
  return %3 : tensor<262144xi8>
}
func.func @called(%x: tensor<i64>) -> (tensor<262144xi8>, tensor<262144xi64>) {
  %w = vx.constant dense<5> : tensor<262144xi8>
  %0 = vx.dispatch @widen(%w) symbols [] : (tensor<262144xi8>) -> tensor<262144xi64>
  %1 = vx.dispatch @sign(%0) symbols [] : (tensor<262144xi64>) -> tensor<262144xi8>
  %2 = vx.dispatch @scale(%0, %x) symbols [] : (tensor<262144xi64>, tensor<i64>) -> tensor<262144xi64>
  return %1, %2 : tensor<262144xi8>, tensor<262144xi64>
}
func.func @large() -> tensor<262144xi8> {
  %w = vx.constant dense<7> : tensor<262144xi8>
  %0 = vx.dispatch @repeat(%w) symbols [] : (tensor<262144xi8>) -> tensor<9x262144xi8>
  %1 = vx.dispatch @first(%0) symbols [] : (tensor<9x262144xi8>) -> tensor<262144xi8>
  return %1 : tensor<262144xi8>
}
vx.kernel @widen "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi8>):
  %0 = vx.cast %x : tensor<262144xi8> -> tensor<262144xi64>
  vx.yield %0 : tensor<262144xi64>
}
vx.kernel @sign "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi64>):
  %0 = vx.sign %x : tensor<262144xi64>
  %1 = vx.cast %0 : tensor<262144xi64> -> tensor<262144xi8>
  vx.yield %1 : tensor<262144xi8>
}
vx.kernel @scale "2" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi64>, %y: tensor<i64>):
  %0 = vx.broadcast %y, [] : tensor<i64> -> tensor<262144xi64>
  %1 = vx.mul %x, %0 : tensor<262144xi64>, tensor<262144xi64>
  vx.yield %1 : tensor<262144xi64>
}
vx.kernel @repeat "3" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi8>):
  %0 = vx.broadcast %x, [1] : tensor<262144xi8> -> tensor<9x262144xi8>
  vx.yield %0 : tensor<9x262144xi8>
}
vx.kernel @first "4" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<9x262144xi8>):
  %0 = vx.reduce max %x axes = [0] {vx.anchor} : tensor<9x262144xi8>
  vx.yield %0 : tensor<262144xi8>
}

// -----

// What a variable decides is made anew for each of its values, with what reads it in memory that nobody keeps: one reader.
// CHECK-LABEL: func.func private @derived_sign() -> tensor<262144xi8>
// CHECK:         vx.dispatch @widen(
// CHECK:         vx.dispatch @sign(
// CHECK-LABEL: func.func @one(
// CHECK-NEXT:    call @derived_sign()
// CHECK-LABEL: func.func @two(
// CHECK:         vx.dispatch @widen(
// CHECK:         vx.dispatch @sign(
// CHECK:         vx.dispatch @least(
vx.variable @v role = statistic : tensor<262144xi8>
vx.variable @u role = statistic : tensor<262144xi8>
func.func @one() -> tensor<262144xi8> {
  %w = vx.variable_load @v : tensor<262144xi8>
  %0 = vx.dispatch @widen(%w) symbols [] : (tensor<262144xi8>) -> tensor<262144xi64>
  %1 = vx.dispatch @sign(%0) symbols [] : (tensor<262144xi64>) -> tensor<262144xi8>
  return %1 : tensor<262144xi8>
}
func.func @two() -> (tensor<262144xi8>, tensor<i64>) {
  %w = vx.variable_load @u : tensor<262144xi8>
  %0 = vx.dispatch @widen(%w) symbols [] : (tensor<262144xi8>) -> tensor<262144xi64>
  %1 = vx.dispatch @sign(%0) symbols [] : (tensor<262144xi64>) -> tensor<262144xi8>
  %2 = vx.dispatch @least(%0) symbols [] : (tensor<262144xi64>) -> tensor<i64>
  return %1, %2 : tensor<262144xi8>, tensor<i64>
}
vx.kernel @widen "0" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi8>):
  %0 = vx.cast %x : tensor<262144xi8> -> tensor<262144xi64>
  vx.yield %0 : tensor<262144xi64>
}
vx.kernel @sign "1" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi64>):
  %0 = vx.sign %x : tensor<262144xi64>
  %1 = vx.cast %0 : tensor<262144xi64> -> tensor<262144xi8>
  vx.yield %1 : tensor<262144xi8>
}
vx.kernel @least "2" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<262144xi64>):
  %0 = vx.reduce min %x axes = [0] {vx.anchor} : tensor<262144xi64>
  vx.yield %0 : tensor<i64>
}
