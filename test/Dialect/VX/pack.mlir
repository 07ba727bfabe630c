// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @pack(
func.func @pack(%a: tensor<20x3x5x5xf32>) -> tensor<2x5x5x3x16xf32> {
  // CHECK: vx.pack %{{.*}} dim = 0 tile = 16 permutation = [0, 2, 3, 1] : tensor<20x3x5x5xf32>
  %0 = vx.pack %a dim = 0 tile = 16 permutation = [0, 2, 3, 1] : tensor<20x3x5x5xf32>
  return %0 : tensor<2x5x5x3x16xf32>
}

// -----

func.func @c1(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.pack' op expects 'permutation' to hold each of the 2 dimensions of 'input' once, got [1, 1]}}
  %0 = vx.pack %a dim = 0 tile = 16 permutation = [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @c2_dim(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.pack' op expects a 'dim' of the 2 of 'input' and a 'tile' of at least 1, got 2 and 16}}
  %0 = vx.pack %a dim = 2 tile = 16 permutation = [0, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @c2_tile(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.pack' op expects a 'dim' of the 2 of 'input' and a 'tile' of at least 1, got 1 and 0}}
  %0 = vx.pack %a dim = 1 tile = 0 permutation = [0, 1] : tensor<2x3xf32>
  return
}
