// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"
!x = tensor<?x3x2xf32, #vx.enc<[n, 3, 2]>>
!c = tensor<3xf32>

// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%x: !x, %s: !c, %b: !c, %m: !c, %v: !c) {
  // CHECK: vx.batch_norm %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} epsilon = 1.000000e-01 momentum = 5.000000e-01 : tensor<?x3x2xf32
  %0:3 = vx.batch_norm %x, %s, %b, %m, %v epsilon = 0.1 momentum = 0.5 : !x, !c, !c, !c, !c
  // CHECK: vx.batch_norm %{{.+}} momentum = 5.000000e-01 of_batch : tensor<?x3x2xf32
  %1:3 = vx.batch_norm %x, %s, %b, %m, %v epsilon = 0.1 momentum = 0.5 of_batch : !x, !c, !c, !c, !c
  return
}

// -----

!c = tensor<3xf32>
func.func @c1_rank(%x: !c) {
  // expected-error @+1 {{'vx.batch_norm' op expects 'input' of 2 or more dimensions, got 'tensor<3xf32>'}}
  %0:3 = vx.batch_norm %x, %x, %x, %x, %x epsilon = 0.1 momentum = 0.5 : !c, !c, !c, !c, !c
  return
}

// -----

!c = tensor<3xf32>
func.func @c2_channels(%x: tensor<2x3xf32>, %c: !c, %v: tensor<2xf32>) {
  // expected-error @+1 {{'vx.batch_norm' op expects one number for each channel of 'tensor<2x3xf32>' as 'variance', got 'tensor<2xf32>'}}
  %0:3 = vx.batch_norm %x, %c, %c, %c, %v epsilon = 0.1 momentum = 0.5 : tensor<2x3xf32>, !c, !c, !c, tensor<2xf32>
  return
}

// -----

!c = tensor<3xf32>
func.func @c3_epsilon(%x: tensor<2x3xf32>, %c: !c) {
  // expected-error @+1 {{'vx.batch_norm' op expects 'epsilon' to be finite and at least 0, got -1.000000e+00}}
  %0:3 = vx.batch_norm %x, %c, %c, %c, %c epsilon = -1.0 momentum = 0.5 : tensor<2x3xf32>, !c, !c, !c, !c
  return
}

// -----

!c = tensor<3xf32>
func.func @c4_momentum(%x: tensor<2x3xf32>, %c: !c) {
  // expected-error @+1 {{'vx.batch_norm' op expects 'momentum' to be at least 0 and at most 1, got 1.500000e+00}}
  %0:3 = vx.batch_norm %x, %c, %c, %c, %c epsilon = 0.1 momentum = 1.5 : tensor<2x3xf32>, !c, !c, !c, !c
  return
}

// -----

!c = tensor<3xf32>
func.func @c5_types(%x: tensor<2x3xf32>, %c: !c, %v: tensor<3xf16>) {
  // expected-error @+1 {{'vx.batch_norm' op expects 'mean' and 'variance' of one element type, got 'tensor<3xf32>' and 'tensor<3xf16>'}}
  %0:3 = vx.batch_norm %x, %c, %c, %c, %v epsilon = 0.1 momentum = 0.5 : tensor<2x3xf32>, !c, !c, !c, tensor<3xf16>
  return
}
