// RUN: vx-opt %s --split-input-file --vx-build-train-step='evaluate=evaluate optimizer=sgd keep-gradients' | FileCheck %s

// A loss that the model has made: its sum by the sum of weights, of which an empty batch has 0. The metric beside it is a mean over rows; the last one is
// divided by a parameter, so that batches are not weighed by it.
// CHECK: metrics = ["loss", "plain", "scaled"], optimizer = {{.+}}, counts = ["loss.count", "", ""]
vx.symbol "n"
vx.variable @w role = parameter : tensor<f32>

// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME:    -> (tensor<f32> {vx.name = "loss"}, tensor<f32> {vx.name = "plain"}, tensor<f32> {vx.name = "scaled"}, tensor<f32> {vx.name = "loss.count"})
// CHECK:         %[[WEIGHTS:.+]] = vx.reduce sum %{{.+}} axes = [0]
// CHECK:         return %{{.+}}, %{{.+}}, %{{.+}}, %[[WEIGHTS]]
// CHECK-LABEL: func.func @backward(
// CHECK:         %[[WEIGHTS:.+]] = vx.reduce sum %{{.+}} axes = [0]
// CHECK:         %[[ALL:.+]] = vx.add %{{.+}}, %[[WEIGHTS]]
// CHECK:         vx.variable_store %[[ALL]], @grad.rows
func.func @evaluate(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}, %c: tensor<?xf32, #vx.enc<[n]>> {vx.name = "c"})
    -> (tensor<f32> {vx.name = "loss"}, tensor<f32> {vx.name = "plain"}, tensor<f32> {vx.name = "scaled"}) {
  %w = vx.variable_load @w : tensor<f32>
  %0 = vx.broadcast %w, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[n]>>
  %1 = vx.mul %x, %0 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %2 = vx.mul %1, %c : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %count = vx.reduce sum %c axes = [0] : tensor<?xf32, #vx.enc<[n]>>
  %least = vx.constant dense<1.0e-6> : tensor<f32>
  %guarded = vx.max %count, %least : tensor<f32>, tensor<f32>
  %sum = vx.reduce sum %2 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
  %loss = vx.div %sum, %guarded : tensor<f32>, tensor<f32>
  %plain = vx.reduce max %1 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
  %other = vx.reduce sum %1 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
  %scaled = vx.div %sum, %other : tensor<f32>, tensor<f32>
  return %loss, %plain, %scaled : tensor<f32>, tensor<f32>, tensor<f32>
}
