// RUN: vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd:weight_decay=0.5;w:lr=0.25x,weight_decay=0;enc::b*:lr=2x' | FileCheck %s
// RUN: vx-opt %s --vx-build-train-step='loss=mse optimizer=sgd:weight_decay=0.5;w:weight_decay=0.5,lr=1x' | FileCheck %s --check-prefix=SAME
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;v:lr=0.1x' 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;*.kernel:lr=0.1x;unused:lr=0x' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;*:lr=0.1x;w:lr=0x' 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;w' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;[:lr=1x' 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;w:beta1=0.5' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;w:lr=0.1' 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;w:lr=-1x' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;w:weight_decay=' 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam;w:lr=1x,lr=2x' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not vx-opt %s --vx-build-train-step='loss=mse optimizer=adam:clip_norm=0' 2>&1 | FileCheck %s --check-prefix=CLIP

// NEAR:     error: --param-group 'v': expected names of trained parameters, got none of them, did you mean 'w'
// NONE:     error: --param-group '*.kernel': expected names of trained parameters, got none of them; there are 'w', 'enc::b'
// NONE:     error: --param-group 'unused': expected names of trained parameters, got none of them; there are 'w', 'enc::b'
// BOTH:     error: --param-group 'w': expected one group for each weight, got 'w', which is also in the group '*'
// FORM:     error: --param-group: expected GLOB:lr=0.1x,weight_decay=0, got 'w'
// PATTERN:  error: --param-group: expected names of parameters, got '[': {{.+}}
// KEY:      error: --param-group 'w': a group has the keys lr, weight_decay, got 'beta1=0.5'
// FACTOR:   error: --param-group 'w': expected a multiple of the learning rate as lr, such as 0.1x, got '0.1'
// NEGATIVE: error: --param-group 'w': expected a number of at least 0 as lr, got '-1'
// DECAY:    error: --param-group 'w': expected a number of at least 0 as weight_decay, got ''
// TWICE:    error: --param-group 'w': lr is given twice
// CLIP:     error: --optimizer: expected a number above 0 as clip_norm, got '0'

// A factor and a decay for each slot of the pool: 1 of w, whose slots are 3, and 1 of b. The names are the file's.
// CHECK:      optimizer = "sgd:momentum=0,dampening=0,weight_decay=0.5,nesterov=0,w:lr=0.25,w:weight_decay=0,enc::b*:lr=2"
// CHECK-LABEL: func.func @train_step(
// CHECK-DAG:     vx.constant dense<[2.500000e-01, 2.500000e-01, 2.500000e-01, 2.000000e+00]> : tensor<4xf32>
// CHECK-DAG:     vx.constant dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 5.000000e-01]> : tensor<4xf32>
// CHECK:         vx.variable_store %{{.+}}, @parameters

// Groups that are as all the others cost nothing.
// SAME-LABEL: func.func @train_step(
// SAME-NOT:     : tensor<4xf32>
// SAME:         vx.variable_store %{{.+}}, @parameters

module attributes {vx.name = "groups"} {
  vx.symbol "n"
  vx.variable @w role = parameter : tensor<20x2xf32>
  vx.variable @unused role = parameter : tensor<3xf32>
  vx.variable @b role = parameter source = "enc::b" : tensor<2xf32>
  func.func @main(%x: tensor<?x20xf32, #vx.enc<[n, 20]>> {vx.name = "x"}) -> (tensor<?x2xf32, #vx.enc<[n, 2]>> {vx.name = "y"}) {
    %w = vx.variable_load @w : tensor<20x2xf32>
    %b = vx.variable_load @b : tensor<2xf32>
    %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x20xf32, #vx.enc<[n, 20]>>, tensor<20x2xf32>
    %1 = vx.broadcast %b, [1] : tensor<2xf32> -> tensor<?x2xf32, #vx.enc<[n, 2]>>
    %2 = vx.add %0, %1 : tensor<?x2xf32, #vx.enc<[n, 2]>>, tensor<?x2xf32, #vx.enc<[n, 2]>>
    return %2 : tensor<?x2xf32, #vx.enc<[n, 2]>>
  }
}
