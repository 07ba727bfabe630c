// RUN: vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd:momentum=0.9 clip-norm=1 scale-loss keep-gradients' | FileCheck %s
// RUN: vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd' | FileCheck %s --check-prefix=PLAIN
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd scale-loss' --vx-build-train-step='loss=mse:y optimizer=sgd scale-loss' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-build-train-step{loss=mse optimizer=sgd scale-loss},vx-graph,vx-grad,vx-optimised)' | FileCheck %s --check-prefix=PIPELINE

// TWICE: error: expected no 'loss_scale' in the model, got one: the scale of the loss is added as a variable of this name; rename it
// TWICE: error: expected no 'loss_scale.good' in the model, got one: the scale of the loss is added as a variable of this name; rename it
// TWICE: error: expected no 'loss_scale.skipped' in the model, got one: the scale of the loss is added as a variable of this name; rename it

// PLAIN-NOT: loss_scale
// PLAIN-NOT: vx.select

// CHECK:      vx.variable @step role = counter : tensor<i64>
// CHECK-NEXT: vx.variable @loss_scale role = optimizer : tensor<f32> = dense<6.553600e+04> : tensor<f32>
// CHECK-NEXT: vx.variable @loss_scale.good role = counter : tensor<i64>
// CHECK-NEXT: vx.variable @loss_scale.skipped role = counter : tensor<i64>

// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT:     loss_scale

// The loss leaves as it is; gradients are of the loss times the scale, and one number divides and clips them.
// CHECK-LABEL: func.func @train_step(
// CHECK:         %[[SCALE:.+]] = vx.variable_load @loss_scale : tensor<f32>
// CHECK:         vx.gradient %[[LOSS:.+]] wrt({{.+}}) seed(%[[SCALE]] : tensor<f32>) : tensor<f32>
// CHECK:         %[[G:.+]] = vx.concat
// CHECK:         %[[SQUARES:.+]] = vx.mul %[[G]], %[[G]]
// CHECK:         %[[SUM:.+]] = vx.reduce sum %[[SQUARES]]
// CHECK:         %[[NORM:.+]] = vx.sqrt %[[SUM]]
// CHECK:         %[[SIZE:.+]] = vx.abs %[[NORM]]
// CHECK:         %[[MAX:.+]] = vx.constant dense<3.40282347E+38>
// CHECK:         %[[FINITE:.+]] = vx.compare le %[[SIZE]], %[[MAX]]
// CHECK:         %[[OLD:.+]] = vx.variable_load @loss_scale :
// CHECK:         %[[FACTOR:.+]] = vx.div %{{.+}}, %[[OLD]]
// CHECK:         vx.mul %[[NORM]], %[[FACTOR]]
// CHECK-NOT:     vx.reduce
// CHECK:         %[[CHANGES:.+]] = vx.broadcast %[[FINITE]], [] : tensor<i1> -> tensor<32xi1>
// CHECK:         %[[MOMENTUM:.+]] = vx.select %[[CHANGES]], %{{.+}}, %{{.+}}
// CHECK:         %[[PARAMETERS:.+]] = vx.select %[[CHANGES]], %{{.+}}, %{{.+}}
// CHECK:         %[[STEP:.+]] = vx.select %[[FINITE]]
// CHECK:         vx.variable_store %[[MOMENTUM]], @sgd.momentum
// CHECK:         vx.variable_store %[[PARAMETERS]], @parameters
// CHECK:         vx.variable_store %[[STEP]], @step
// CHECK:         vx.variable_store %{{.+}}, @loss_scale :
// CHECK:         vx.variable_store %{{.+}}, @loss_scale.good :
// CHECK:         vx.variable_store %{{.+}}, @loss_scale.skipped :
// CHECK:         return %[[LOSS]]

// What is kept is divided; nothing is decided yet, and of a batch norm what is not finite is not collected.
// CHECK-LABEL: func.func @backward(
// CHECK:         vx.gradient %{{.+}} seed(
// CHECK:         %[[FACTOR:.+]] = vx.div
// CHECK:         %[[REPEATED:.+]] = vx.broadcast %[[FACTOR]]
// CHECK:         %[[OWN:.+]] = vx.mul %{{.+}}, %[[REPEATED]]
// CHECK:         %[[COUNTED:.+]] = vx.select %{{.+}}, %[[OWN]], %{{.+}} : tensor<32xi1>
// CHECK:         %[[NEXT:.+]] = vx.select %{{.+}}, %{{.+}}, %[[COUNTED]]
// CHECK:         vx.variable_store %[[NEXT]], @grad :
// CHECK:         %[[SIZE:.+]] = vx.abs %[[MEAN:.+]] : tensor<3xf32>
// CHECK:         %[[FINITE:.+]] = vx.compare le %[[SIZE]]
// CHECK:         %[[COLLECTED:.+]] = vx.select %[[FINITE]], %[[MEAN]]
// CHECK:         vx.variable_store %[[COLLECTED]], @mean
// CHECK-NOT:     @loss_scale
// CHECK-LABEL: func.func @update(
// CHECK:         %[[G:.+]] = vx.variable_load @grad :
// CHECK:         vx.mul %[[G]], %[[G]]
// CHECK:         vx.variable_store %{{.+}}, @loss_scale :

// PIPELINE-LABEL: func.func @train_step(
// PIPELINE-NOT:     vx.gradient
// PIPELINE:         vx.variable_store %{{.+}}, @loss_scale :

vx.symbol "n"
vx.variable @w role = parameter : tensor<4x3xf32>
vx.variable @b role = parameter : tensor<3xf32>
vx.variable @mean role = statistic : tensor<3xf32>
vx.variable @variance role = statistic : tensor<3xf32>
func.func @main(%x: tensor<?x4xf32, #vx.enc<[n, 4]>> {vx.name = "x"}) -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"}) {
  %w = vx.variable_load @w : tensor<4x3xf32>
  %b = vx.variable_load @b : tensor<3xf32>
  %m = vx.variable_load @mean : tensor<3xf32>
  %v = vx.variable_load @variance : tensor<3xf32>
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x3xf32>
  %1, %nm, %nv = vx.batch_norm %0, %b, %b, %m, %v epsilon = 0.001 momentum = 0.9 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  return %1 : tensor<?x3xf32, #vx.enc<[n, 3]>>
}
