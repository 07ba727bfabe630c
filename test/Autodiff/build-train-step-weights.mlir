// RUN: vx-opt %s --vx-build-train-step='loss=cross_entropy:y,class_weight=0.5/1/2,sample_weight=true,ignore_index=-1 optimizer=sgd keep-gradients' | FileCheck %s
// RUN: vx-opt %s --vx-build-train-step='loss=mse:y,sample_weight=true optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=MSE
// RUN: vx-opt %s --vx-build-train-step='loss=mse:sample_weight=false optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not vx-opt %s --vx-build-train-step='loss=cross_entropy:class_weight=1/2 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not vx-opt %s --vx-build-train-step='loss=mse:class_weight=1/2/3 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: not vx-opt %s --vx-build-train-step='loss=nll:class_weight=1/-2/3 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not vx-opt %s --vx-build-train-step='loss=nll:class_weight=0/0/0 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not vx-opt %s --vx-build-train-step='loss=nll:sample_weight=1 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not vx-opt %s --vx-build-train-step='loss=nll:y,speed=1,sample_weight=true optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: sed 's/"x"/"sample_weight"/' %s | not vx-opt --vx-build-train-step='loss=mse:sample_weight=true optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: sed 's/"y"/"z"/; s/-> (tensor<?x3xf32, #vx.enc<.n, 3.>>/-> (tensor<f32>/; s/return .*/%1 = vx.reduce sum %0 axes = [0, 1] : tensor<?x3xf32, #vx.enc<[n, 3]>>  return %1 : tensor<f32>/' %s | not vx-opt --vx-build-train-step='loss=none:sample_weight=true optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=SCALAR

// CLASSES:  error: --loss: cross_entropy: expected a class_weight for each class in dimension 1 of output f32[n,3], got 2
// NUMBERS:  error: --loss: class_weight is for cross_entropy and nll, got it for 'mse'
// NEGATIVE: error: --loss: expected a weight of at least 0 for each class, such as 1/0.5/2, as class_weight, got '-2' as that of class 1
// ZERO:     error: --loss: expected a class_weight above 0, got '0/0/0'
// FLAG:     error: --loss: expected true or false as sample_weight, got '1'
// KEY:      error: --loss: nll has the keys ignore_index, axis, got 'speed=1'
// INPUT:    error: --loss: mse: expected no input 'sample_weight' in the model, got one: the loss adds an input of this name; rename it
// SCALAR:   error: --loss: none: expected an output with rows, each of which takes a sample_weight, got f32[]

// The loss has a count of its own, the sum of the weights; so have the labels that are not ignored.
// CHECK:       inputs = ["x", "label", "sample_weight"]
// CHECK-SAME:  counts = ["loss.count", "accuracy.count"]
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME:    %[[LABEL:[^: ]+]]: tensor<?xi64, #vx.enc<[n]>> {vx.name = "label"}, %[[WEIGHT:[^: ]+]]: tensor<?xf32, #vx.enc<[n]>> {vx.name = "sample_weight"})
// CHECK:         vx.custom_gradient
// CHECK:           dense<[5.000000e-01, 1.000000e+00, 2.000000e+00]>
// CHECK-LABEL: func.func @train_step(
// CHECK:         vx.variable_store %{{.+}}, @parameters
// CHECK-LABEL: func.func @backward(
// CHECK:         vx.variable_store %{{.+}}, @grad.rows

// A weight of a row counts for each element of it.
// MSE:       inputs = ["x", "target", "sample_weight"]
// MSE-SAME:  counts = ["loss.count"]
// MSE-LABEL: func.func @evaluate(
// MSE-SAME:    %[[WEIGHT:[^: ]+]]: tensor<?xf32, #vx.enc<[n]>> {vx.name = "sample_weight"})
// MSE:         %[[ALL:.+]] = vx.broadcast %[[WEIGHT]], [0] : tensor<?xf32, #vx.enc<[n]>> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
// MSE:         vx.reduce sum %[[ALL]]

// OFF:       inputs = ["x", "target"]

module attributes {vx.name = "weights"} {
  vx.symbol "n"
  vx.variable @w role = parameter : tensor<4x3xf32>
  func.func @main(%x: tensor<?x4xf32, #vx.enc<[n, 4]>> {vx.name = "x"}) -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"}) {
    %w = vx.variable_load @w : tensor<4x3xf32>
    %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x3xf32>
    return %0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  }
}
