// RUN: vx-opt %s --vx-build-train-step='loss=cross_entropy optimizer=adamw clip-norm=1 clip-value=0.5' | FileCheck %s
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-build-train-step{loss=cross_entropy:y,smoothing=0.1 optimizer=sgd:momentum=0.9},vx-graph,vx-grad,vx-optimised)' | FileCheck %s --check-prefix=PIPELINE
// RUN: vx-opt %s --vx-build-train-step='loss=cross_entropy:ignore_index=-100 optimizer=sgd' | FileCheck %s --check-prefix=IGNORED
// RUN: vx-opt %s --vx-build-train-step='loss=none optimizer=adagrad:initial_accumulator_value=0.1' | FileCheck %s --check-prefix=NONE
// RUN: vx-opt %s --vx-build-train-step='loss=cross_entropy:ignore_index=-100 optimizer=sgd clip-norm=1 keep-gradients' | FileCheck %s --check-prefix=HALVES
// RUN: not vx-opt %s --vx-build-train-step='loss=cross_entropy:q optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not vx-opt %s --vx-build-train-step='loss=mse:k optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not vx-opt %s --vx-build-train-step='loss=cross_entropy:axis=2 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not vx-opt %s --vx-build-train-step='loss=hinge optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd:speed=1' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd' --vx-build-train-step='loss=mse:y optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=TWICE

// OUTPUT:  error: expected the name of an output to take the loss of, got 'q'; the model has 'y', 'k'
// INTEGER: error: --loss: expected output 'k' to be a tensor of floats, got i64[n]
// AXIS:    error: --loss: cross_entropy: expected an axis of classes from -2 to 1 of output f32[n,3], got 2
// LOSS:    error: --loss: expected one of bce, bce_logits, cross_entropy, huber, kl, l1, mse, nll, none, got 'hinge'
// KEY:     error: --optimizer: sgd has the keys momentum, dampening, weight_decay, nesterov, got 'speed=1'
// TWICE:   error: expected no 'train_step' in the model, got one: training adds a function of this name; rename it
// TWICE:   error: expected no 'evaluate' in the model, got one: training adds a function of this name; rename it

// CHECK: vx.training = #vx.training<train_step = @train_step, evaluate = @evaluate, predict = @predict, inputs = ["x", "k", "label"], hypers = {rate = "rate"},
// CHECK-SAME: metrics = ["loss", "accuracy"], optimizer = "adamw:beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.01,clip_norm=1,clip_value=0.5", loss = "cross_entropy">

// Slots of 16 floats, in the order of the module; what no gradient reaches stays where it is.
// CHECK:      vx.variable @parameters role = parameter : tensor<32xf32>
// CHECK-NEXT: vx.variable @w role = parameter in @parameters at 0 : tensor<4x3xf32>
// CHECK-NEXT: vx.variable @unused role = parameter : tensor<3xf32>
// CHECK-NEXT: vx.variable @b role = parameter in @parameters at 64 : tensor<3xf32>
// CHECK-NEXT: vx.variable @adamw.m role = optimizer : tensor<32xf32>
// CHECK-NEXT: vx.variable @"adamw.m/w" role = optimizer in @adamw.m at 0 : tensor<4x3xf32>
// CHECK-NEXT: vx.variable @"adamw.m/b" role = optimizer in @adamw.m at 64 : tensor<3xf32>
// CHECK-NEXT: vx.variable @adamw.v role = optimizer : tensor<32xf32>
// CHECK:      vx.variable @step role = counter : tensor<i64>

// CHECK-LABEL: func.func @predict(
// CHECK-NOT:     vx.variable_store
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME:    %{{.+}} {vx.name = "x"}, %{{.+}} {vx.name = "k"}, %[[LABEL:.+]]: tensor<?xi64, #vx.enc<[n]>> {vx.name = "label"})
// CHECK-SAME:    -> (tensor<f32> {vx.name = "loss"}, tensor<f32> {vx.name = "accuracy"})
// CHECK:         %[[CLASS:.+]] = vx.check_indices %[[LABEL]] below [#vx.dim<3>] from_start
// CHECK:         vx.custom_gradient(%{{.+}}, %[[CLASS]])
// CHECK:           vx.softmax log
// CHECK:           vx.reduce sum
// CHECK:         pullback
// CHECK:           vx.softmax log
// CHECK:           vx.exp
// CHECK:         vx.reduce max
// CHECK-NOT:     vx.variable_store
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[RATE:.+]]: tensor<f32> {vx.name = "rate"})
// CHECK:         %[[W:.+]] = vx.watch
// CHECK:         %[[B:.+]] = vx.watch
// CHECK:         %[[G:.+]]:2 = vx.gradient %{{.+}} wrt(%[[W]], %[[B]] : tensor<4x3xf32>, tensor<3xf32>)
// CHECK:         vx.concat
// CHECK:         vx.reduce sum
// CHECK:         vx.sqrt
// CHECK:         vx.variable_load @step
// CHECK:         vx.variable_store %{{.+}}, @adamw.m
// CHECK:         vx.variable_store %{{.+}}, @adamw.v
// CHECK:         vx.variable_store %{{.+}}, @parameters
// CHECK:         vx.variable_store %{{.+}}, @step

// PIPELINE-LABEL: func.func @train_step(
// PIPELINE-NOT:     vx.gradient
// PIPELINE:         vx.variable_store %{{.+}}, @sgd.momentum

// IGNORED: metrics = ["loss", "accuracy"], optimizer = "sgd:{{.+}}", loss = "cross_entropy:ignore_index=-100", counts = ["loss.count", "loss.count"]
// IGNORED-LABEL: func.func @evaluate(
// IGNORED-SAME:    -> (tensor<f32> {vx.name = "loss"}, tensor<f32> {vx.name = "accuracy"}, tensor<f32> {vx.name = "loss.count"})
// IGNORED:         %[[KEPT:.+]] = vx.compare ne %{{.+}}, %{{.+}} : tensor<?xi64, #vx.enc<[n]>>
// IGNORED:         %[[LABEL:.+]] = vx.select %[[KEPT]]
// IGNORED:         vx.check_indices %[[LABEL]]

// NONE: vx.variable @adagrad.sum role = optimizer init = <uniform(1.000000e-01, 1.000000e-01)> : tensor<32xf32>
// NONE-LABEL: func.func @evaluate(
// NONE-SAME:    {vx.name = "k"}) -> (tensor<f32> {vx.name = "loss"}) {

// The halves of a step, by what is kept between them.
// HALVES: vx.training = #vx.training<train_step = @train_step, evaluate = @evaluate, predict = @predict, backward = @backward, step = @update,
// HALVES-DAG: vx.variable @grad role = gradient : tensor<32xf32>
// HALVES-DAG: vx.variable @"grad/w" role = gradient in @grad at 0 : tensor<4x3xf32>
// HALVES-DAG: vx.variable @"grad/b" role = gradient in @grad at 64 : tensor<3xf32>
// HALVES-DAG: vx.variable @grad.rows role = gradient : tensor<f32>
// HALVES-LABEL: func.func @train_step(
// HALVES-NOT:     @grad
// HALVES-LABEL: func.func @backward(
// HALVES-SAME:    %{{.+}} {vx.name = "label"}, %[[KEEP:.+]]: tensor<i1> {vx.name = "keep"}) -> (tensor<f32> {vx.name = "loss"}, tensor<f32> {vx.name = "accuracy"}, tensor<f32> {vx.name = "loss.count"}) {
// HALVES:         vx.gradient
// HALVES:         %[[OWN:.+]] = vx.concat
// HALVES:         %[[OLD:.+]] = vx.variable_load @grad : tensor<32xf32>
// HALVES:         %[[ROWS:.+]] = vx.variable_load @grad.rows : tensor<f32>
// HALVES:         %[[BEFORE:.+]] = vx.select %[[KEEP]], %[[ROWS]]
// HALVES:         %[[ALL:.+]] = vx.add %[[BEFORE]]
// HALVES:         %[[COUNTED:.+]] = vx.select %{{.+}}, %[[OWN]], %{{.+}} : tensor<32xi1>
// HALVES:         %[[NEXT:.+]] = vx.select %{{.+}}, %{{.+}}, %[[COUNTED]]
// HALVES:         vx.variable_store %[[NEXT]], @grad :
// HALVES:         vx.variable_store %[[ALL]], @grad.rows :
// HALVES-NOT:     vx.variable_store
// HALVES-LABEL: func.func @update(
// HALVES-SAME:    %[[RATE:.+]]: tensor<f32> {vx.name = "rate"}) {
// HALVES:         %[[G:.+]] = vx.variable_load @grad : tensor<32xf32>
// HALVES:         vx.reduce sum
// HALVES:         vx.variable_store %{{.+}}, @parameters
// HALVES:         vx.variable_store %{{.+}}, @step

vx.symbol "n"
vx.variable @w role = parameter : tensor<4x3xf32>
vx.variable @unused role = parameter : tensor<3xf32>
vx.variable @b role = parameter : tensor<3xf32>
func.func @main(%x: tensor<?x4xf32, #vx.enc<[n, 4]>> {vx.name = "x"}, %k: tensor<?xi64, #vx.enc<[n]>> {vx.name = "k"})
    -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"}, tensor<?xi64, #vx.enc<[n]>> {vx.name = "k"}) {
  %w = vx.variable_load @w : tensor<4x3xf32>
  %b = vx.variable_load @b : tensor<3xf32>
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x3xf32>
  %1 = vx.broadcast %b, [1] : tensor<3xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %2 = vx.add %0, %1 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  return %2, %k : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?xi64, #vx.enc<[n]>>
}
