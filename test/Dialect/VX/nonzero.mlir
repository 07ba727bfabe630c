// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol data_dependent "k"
// CHECK-LABEL: func.func @nonzero(
func.func @nonzero(%a: tensor<2x3xf32>) -> tensor<2x?xi64, #vx.enc<[2, k]>> {
  // CHECK: %[[COUNT:.+]] = vx.count_nonzero %{{.*}} : tensor<2x3xf32>
  %0 = vx.count_nonzero %a : tensor<2x3xf32>
  // CHECK: vx.bind_symbol "k" = %[[COUNT]]
  vx.bind_symbol "k" = %0
  // CHECK: vx.nonzero %{{.*}} : tensor<2x3xf32> -> tensor<2x?xi64, #vx.enc<[2, k]>>
  %1 = vx.nonzero %a : tensor<2x3xf32> -> tensor<2x?xi64, #vx.enc<[2, k]>>
  return %1 : tensor<2x?xi64, #vx.enc<[2, k]>>
}

// -----

func.func @c1_rows(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.nonzero' op expects a result of rank 2 with one row for each of the 2 dimensions of 'input', got 'tensor<3x6xi64>'}}
  %1 = vx.nonzero %a : tensor<2x3xf32> -> tensor<3x6xi64>
  return
}
