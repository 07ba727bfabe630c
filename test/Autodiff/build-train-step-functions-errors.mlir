// Functions that a model states for the loss, and a loss of an output without dimensions.
// RUN: not vx-opt %s --vx-build-train-step='evaluate=cost optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not vx-opt %s --vx-build-train-step='evaluate=mean predict=guess optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=PREDICT
// RUN: not vx-opt %s --vx-build-train-step='evaluate=rows optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not vx-opt %s --vx-build-train-step='evaluate=mean freeze=[a optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=FREEZE
// RUN: not vx-opt %s --vx-build-train-step='loss=kl:m optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=KL

// MISSING: error: expected a function 'cost' in the model, got none{{$}}
// PREDICT: error: expected a function 'guess' in the model, got none{{$}}
// ROWS:    error: function 'rows': expected a scalar of f32 for the loss and each metric, got f32[3] for 'y'{{$}}
// FREEZE:  error: --freeze: expected names of parameters, got '[a': invalid glob pattern, unmatched '['{{$}}
// KL:      error: --loss: kl: expected an output of one dimension or more, got f32[]{{$}}

vx.variable @w role = parameter : tensor<3xf32>

func.func @mean(%x: tensor<3xf32> {vx.name = "x"}) -> (tensor<f32> {vx.name = "m"}) {
  %w = vx.variable_load @w : tensor<3xf32>
  %0 = vx.mul %x, %w : tensor<3xf32>, tensor<3xf32>
  %1 = vx.reduce sum %0 axes = [0] : tensor<3xf32>
  return %1 : tensor<f32>
}

func.func @rows(%x: tensor<3xf32> {vx.name = "x"}) -> (tensor<3xf32> {vx.name = "y"}) {
  %w = vx.variable_load @w : tensor<3xf32>
  %0 = vx.mul %x, %w : tensor<3xf32>, tensor<3xf32>
  return %0 : tensor<3xf32>
}
