// Dropouts and batch norms on their way into a training step.
// RUN: vx-opt %s --vx-constants-to-variables='train=auto' --vx-build-train-step='loss=mse optimizer=sgd' 2>&1 | FileCheck %s
// RUN: vx-opt %s --vx-constants-to-variables='train=auto freeze=mean' --vx-build-train-step='loss=mse optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=FREEZE

// CHECK: w {{ *}}trained  f32[3,3]: weight of a product
// CHECK: b {{ *}}trained  f32[1]: an added bias
// CHECK: scale {{ *}}trained  f32[3]: scale of a norm
// CHECK: bias {{ *}}trained  f32[3]: bias of a norm
// CHECK: mean {{ *}}updated  f32[3]: collected by a batch norm
// CHECK: variance {{ *}}updated  f32[3]: collected by a batch norm
// CHECK: inputs = ["x", "target"], hypers = {rate = "rate", seed = "seed"}, metrics = ["loss"]
// CHECK: vx.variable @mean role = statistic : tensor<3xf32> = dense<0.000000e+00>
// CHECK: vx.variable @variance role = statistic : tensor<3xf32> = dense<1.000000e+00>

// CHECK-LABEL: func.func @predict(
// CHECK:         vx.dropout %{{.+}} ratio = 5.000000e-01 : tensor<4x3xf32>
// CHECK:         vx.batch_norm %{{.+}} momentum = 0.899999976 : tensor<4x3xf32>
// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT:     vx.name = "seed"
// CHECK:         vx.dropout %{{.+}} ratio = 5.000000e-01 : tensor<4x3xf32>
// CHECK:         vx.batch_norm %{{.+}} momentum = 0.899999976 : tensor<4x3xf32>
// CHECK-NOT:     vx.variable_store
// One of the ratio 0 draws nothing.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    {vx.name = "rate"}, %[[SEED:.+]]: tensor<i64> {vx.name = "seed"})
// CHECK:         vx.dropout %{{.+}} key(%[[SEED]]) ratio = 5.000000e-01 : tensor<4x3xf32>
// CHECK:         %{{.+}}, %[[MEAN:.+]], %[[VARIANCE:.+]] = vx.batch_norm %{{.+}} momentum = 0.899999976 of_batch : tensor<4x3xf32>
// CHECK:         vx.dropout %{{.+}} ratio = 0.000000e+00 : tensor<4x3xf32>
// CHECK:         vx.dropout %{{.+}} key(%[[SEED]]) ratio = 2.500000e-01 number = 1 : tensor<4x3xf32>
// CHECK:         vx.variable_store %[[MEAN]], @mean : tensor<3xf32>
// CHECK:         vx.variable_store %[[VARIANCE]], @variance : tensor<3xf32>

// FREEZE:       mean {{ *}}frozen   f32[3]: by --freeze
// FREEZE:       variance {{ *}}updated
// FREEZE-LABEL: func.func @train_step(
// FREEZE-NOT:   @mean
// FREEZE:       vx.variable_store %{{.+}}, @variance : tensor<3xf32>

!x = tensor<4x3xf32>
!c = tensor<3xf32>
func.func @main(%x: !x {vx.name = "x"}) -> (!x {vx.name = "y"}) {
  %w = vx.constant dense<0.5> : tensor<3x3xf32> {names = ["w"]}
  %b = vx.constant dense<0.25> : tensor<1xf32> {names = ["b"]}
  %s = vx.constant dense<2.0> : !c {names = ["scale"]}
  %o = vx.constant dense<0.5> : !c {names = ["bias"]}
  %m = vx.constant dense<0.0> : !c {names = ["mean"]}
  %v = vx.constant dense<1.0> : !c {names = ["variance"]}
  %0, %m0 = vx.dropout %x ratio = 0.5 : !x
  %1 = vx.contract %0, %w batch = [] x [] contracting = [1] x [0] : !x, tensor<3x3xf32>
  %2:3 = vx.batch_norm %1, %s, %o, %m, %v epsilon = 0.1 momentum = 0.9 : !x, !c, !c, !c, !c
  %3, %m3 = vx.dropout %2#0 ratio = 0.0 : !x
  %4 = vx.contract %3, %w batch = [] x [] contracting = [1] x [0] : !x, tensor<3x3xf32>
  %5, %m5 = vx.dropout %4 ratio = 0.25 : !x
  // One number behind a product is a bias, whether or not a dropout lies between.
  %6 = vx.broadcast %b, [1] : tensor<1xf32> -> !x
  %7 = vx.add %5, %6 : !x, !x
  return %7 : !x
}
