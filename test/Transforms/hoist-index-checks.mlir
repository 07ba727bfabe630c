// RUN: vx-opt %s --vx-hoist-index-checks | FileCheck %s
// RUN: vx-compile %s -target=cpu --stop-after=schedule -o - | FileCheck %s --check-prefix=PLACE

// Of what reads new state, also by way of other ops, the indices are checked before; the fault is that of the gather. What reads other state has
// its own fault, before the update, too.
// CHECK-LABEL: func.func @behind(
// CHECK: %[[OK:.*]] = vx.check_indices %arg2 below [#vx.dim<9>] : tensor<2xi64>
// CHECK: %[[BOTH:.*]] = vx.check_indices %arg3 below [#vx.dim<9>, #vx.dim<4>] : tensor<3x2xi64>
// CHECK: vx.gather %{{.*}}, %arg2 axis = 0 : tensor<9x4xf32>, tensor<2xi64>
// CHECK: %[[NEW:.*]] = vx.scatter
// CHECK: vx.gather %[[NEW]], %[[OK]] axis = 0 in_range
// CHECK: vx.gather %{{.*}}, %[[BOTH]] axis = 0 members = 2 in_range
// PLACE-LABEL: vxrt.program @behind
// PLACE-NOT: vxrt.copy
// PLACE: vxrt.dispatch {{.*}}@neg_scatter_guarded
// PLACE-NOT: vxrt.copy
// PLACE: vxrt.return
vx.variable @cache : tensor<9x4xf32>
vx.variable @rows : tensor<9x4xf32>
func.func @behind(%at: tensor<1x1xi64> {vx.name = "at"}, %x: tensor<1x4xf32> {vx.name = "x"}, %pages: tensor<2xi64> {vx.name = "pages"},
                  %both: tensor<3x2xi64> {vx.name = "both"})
    -> (tensor<2x4xf32> {vx.name = "y"}, tensor<3xf32> {vx.name = "z"}, tensor<2x4xf32> {vx.name = "old"}) {
  %cache = vx.variable_load @cache : tensor<9x4xf32>
  %ok = vx.check_indices %at below [#vx.dim<9>] : tensor<1x1xi64>
  %minus = vx.neg %x : tensor<1x4xf32>
  %new = vx.scatter set %cache, %ok, %minus axes = [0] : tensor<9x4xf32>, tensor<1x1xi64>, tensor<1x4xf32>
  vx.variable_store %new, @cache : tensor<9x4xf32>
  %y = vx.gather %new, %pages axis = 0 : tensor<9x4xf32>, tensor<2xi64>
  %exp = vx.exp %new : tensor<9x4xf32>
  %z = vx.gather %exp, %both axis = 0 members = 2 : tensor<9x4xf32>, tensor<3x2xi64>
  %rows = vx.variable_load @rows : tensor<9x4xf32>
  %old = vx.gather %rows, %pages axis = 0 : tensor<9x4xf32>, tensor<2xi64>
  return %y, %z, %old : tensor<2x4xf32>, tensor<3xf32>, tensor<2x4xf32>
}

// Indices that are checked, or constants that count from the start, are in range as they are.
// CHECK-LABEL: func.func @known(
// CHECK: %[[LOW:.*]] = vx.check_indices %{{.*}} below [#vx.dim<9>] : tensor<1xi64>
// CHECK: vx.neg
// CHECK: vx.gather %{{.*}}, %{{.*}} axis = 0 in_range
// CHECK: vx.gather %{{.*}}, %{{.*}} axis = 1 :
// CHECK: vx.gather %{{.*}}, %{{.*}} axis = 0 in_range
// CHECK: vx.gather %{{.*}}, %[[LOW]] axis = 0 in_range
vx.variable @wide : tensor<9x8xf32>
func.func @known(%x: tensor<9x8xf32>, %i: tensor<2xi64>, %n: tensor<9x0xf32>) -> (tensor<2x8xf32>, tensor<9x2xf32>, tensor<3x8xf32>, tensor<1x8xf32>) {
  %ok = vx.check_indices %i below [#vx.dim<9>] : tensor<2xi64>
  %new = vx.neg %x : tensor<9x8xf32>
  vx.variable_store %new, @wide : tensor<9x8xf32>
  %0 = vx.gather %new, %ok axis = 0 : tensor<9x8xf32>, tensor<2xi64>
  // Of the new state itself.
  %part = vx.reduce max %new axes = [0, 1] : tensor<9x8xf32>
  %whole = vx.cast %part : tensor<f32> -> tensor<i64>
  %wide = vx.broadcast %whole, [] : tensor<i64> -> tensor<2xi64>
  %1 = vx.gather %new, %wide axis = 1 : tensor<9x8xf32>, tensor<2xi64>
  %near = vx.constant dense<[0, 8, 3]> : tensor<3xi64>
  %2 = vx.gather %new, %near axis = 0 : tensor<9x8xf32>, tensor<3xi64>
  %far = vx.constant dense<-1> : tensor<1xi64>
  %3 = vx.gather %new, %far axis = 0 : tensor<9x8xf32>, tensor<1xi64>
  return %0, %1, %2, %3 : tensor<2x8xf32>, tensor<9x2xf32>, tensor<3x8xf32>, tensor<1x8xf32>
}

// A result without elements reads no index, so that a wrong one is none.
// CHECK-LABEL: func.func @empty(
// CHECK: vx.gather %{{.*}}, %arg1 axis = 1 : tensor<0x8xf32>, tensor<2xi64>
vx.variable @none : tensor<0x8xf32>
func.func @empty(%x: tensor<0x8xf32>, %i: tensor<2xi64>) -> tensor<0x2xf32> {
  %new = vx.neg %x : tensor<0x8xf32>
  vx.variable_store %new, @none : tensor<0x8xf32>
  %0 = vx.gather %new, %i axis = 1 : tensor<0x8xf32>, tensor<2xi64>
  return %0 : tensor<0x2xf32>
}

// What is loaded behind a store of its bytes is new state, too.
// CHECK-LABEL: func.func @stored(
// CHECK: vx.variable_store
// CHECK: vx.variable_load @wide
// CHECK: vx.gather
func.func @stored(%x: tensor<9x8xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32> {
  %new = vx.neg %x : tensor<9x8xf32>
  vx.variable_store %new, @wide : tensor<9x8xf32>
  %again = vx.variable_load @wide : tensor<9x8xf32>
  %0 = vx.gather %again, %i axis = 0 : tensor<9x8xf32>, tensor<2xi64>
  return %0 : tensor<2x8xf32>
}

// Checked for other sizes, or constants beyond the end: checked again, and the call fails.
// CHECK-LABEL: func.func @unfit(
// CHECK-DAG: %[[OTHER:.*]] = vx.check_indices %arg1 below [#vx.dim<12>]
// CHECK-DAG: %[[FIT:.*]] = vx.check_indices %[[OTHER]] below [#vx.dim<9>]
// CHECK-DAG: %[[PAST:.*]] = vx.check_indices %{{.*}} below [#vx.dim<9>] : tensor<3xi64>
// CHECK: vx.neg
// CHECK: vx.gather %{{.*}}, %[[FIT]] axis = 0 in_range
// CHECK: vx.gather %{{.*}}, %[[PAST]] axis = 0 in_range
func.func @unfit(%x: tensor<9x8xf32>, %i: tensor<2xi64>) -> (tensor<2x8xf32>, tensor<3x8xf32>) {
  %ok = vx.check_indices %i below [#vx.dim<12>] : tensor<2xi64>
  %new = vx.neg %x : tensor<9x8xf32>
  vx.variable_store %new, @wide : tensor<9x8xf32>
  %0 = vx.gather %new, %ok axis = 0 : tensor<9x8xf32>, tensor<2xi64>
  %past = vx.constant dense<[0, 9, 3]> : tensor<3xi64>
  %1 = vx.gather %new, %past axis = 0 : tensor<9x8xf32>, tensor<3xi64>
  return %0, %1 : tensor<2x8xf32>, tensor<3x8xf32>
}
