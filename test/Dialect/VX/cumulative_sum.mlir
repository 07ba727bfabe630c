// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"
// CHECK-LABEL: func.func @cumulative_sum(
func.func @cumulative_sum(%x: tensor<4x?x2xf16, #vx.enc<[4, n, 2]>>) -> tensor<4x?x2xf16, #vx.enc<[4, n, 2]>> {
  // CHECK: vx.cumulative_sum %{{.*}} : tensor<4x?x2xf16, #vx.enc<[4, n, 2]>>
  %0 = vx.cumulative_sum %x : tensor<4x?x2xf16, #vx.enc<[4, n, 2]>>
  // CHECK: vx.cumulative_sum exclusive reverse %{{.*}} : tensor<4x?x2xf16, #vx.enc<[4, n, 2]>>
  %1 = vx.cumulative_sum exclusive reverse %0 : tensor<4x?x2xf16, #vx.enc<[4, n, 2]>>
  return %1 : tensor<4x?x2xf16, #vx.enc<[4, n, 2]>>
}

// -----

func.func @c1(%x: tensor<4x7xf32>) {
  // expected-error @+1 {{'vx.cumulative_sum' op expects an input of 3 dimensions, got 'tensor<4x7xf32>'}}
  %0 = vx.cumulative_sum %x : tensor<4x7xf32>
  return
}
