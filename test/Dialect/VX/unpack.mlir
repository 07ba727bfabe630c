// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @unpack(
func.func @unpack(%a: tensor<2x5x5x3x16xf32>) -> tensor<20x3x5x5xf32> {
  // CHECK: vx.unpack %{{.*}} dim = 0 permutation = [0, 2, 3, 1] : tensor<2x5x5x3x16xf32> -> tensor<20x3x5x5xf32>
  %0 = vx.unpack %a dim = 0 permutation = [0, 2, 3, 1] : tensor<2x5x5x3x16xf32> -> tensor<20x3x5x5xf32>
  return %0 : tensor<20x3x5x5xf32>
}

// -----

func.func @c1_rank(%a: tensor<2x16xf32>) {
  // expected-error @+1 {{'vx.unpack' op expects an 'input' of 3 dimensions, the last one static and at least 1, and a 'dim' below 2, got 'tensor<2x16xf32>' and 0}}
  %0 = vx.unpack %a dim = 0 permutation = [0, 1] : tensor<2x16xf32> -> tensor<20x3xf32>
  return
}

// -----

func.func @c1_permutation(%a: tensor<2x3x16xf32>) {
  // expected-error @+1 {{'vx.unpack' op expects 'permutation' to hold each of the 2 dimensions of 'input' once, got [0, 0]}}
  %0 = vx.unpack %a dim = 0 permutation = [0, 0] : tensor<2x3x16xf32> -> tensor<20x3xf32>
  return
}

// -----

func.func @c1_size(%a: tensor<2x3x16xf32>) {
  // expected-error @+1 {{'vx.unpack' op expects dimension 0 of 'input' to be 3, got 2}}
  %0 = vx.unpack %a dim = 0 permutation = [0, 1] : tensor<2x3x16xf32> -> tensor<40x3xf32>
  return
}
