// RUN: vx-opt %s --vx-build-train-step='loss=cross_entropy optimizer=sgd' 2>&1 | FileCheck %s
// RUN: not vx-opt %s --vx-build-train-step='loss=nll optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=NLL

// NLL:   error: --loss: nll: expected logarithms of probabilities, got the probabilities of '{{.*}}build-train-step-softmax.mlir:{{[0-9:]+}}'; use cross_entropy, which takes these
// CHECK: note: --loss: cross_entropy takes logits, and the output is what '{{.*}}build-train-step-softmax.mlir:{{[0-9:]+}}' makes of them: the loss takes its input
// CHECK-LABEL: func.func @predict(
// CHECK:         vx.softmax
// CHECK-LABEL: func.func @evaluate(
// CHECK:         %[[Z:.+]] = vx.mul
// CHECK:         vx.custom_gradient(%[[Z]],
// CHECK:           vx.softmax log
vx.variable @w role = parameter : tensor<2x3xf32>
func.func @main(%x: tensor<2x3xf32> {vx.name = "x"}) -> (tensor<2x3xf32> {vx.name = "y"}) {
  %w = vx.variable_load @w : tensor<2x3xf32>
  %z = vx.mul %x, %w : tensor<2x3xf32>, tensor<2x3xf32>
  %y = vx.softmax %z axis = 1 : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
