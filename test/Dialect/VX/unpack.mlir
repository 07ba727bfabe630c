// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @unpack(
func.func @unpack(%a: tensor<2x5x5x3x16xf32>) -> tensor<20x3x5x5xf32> {
  // CHECK: vx.unpack %{{.*}} dim = 0 permutation = [0, 2, 3, 1] : tensor<2x5x5x3x16xf32> -> tensor<20x3x5x5xf32>
  %0 = vx.unpack %a dim = 0 permutation = [0, 2, 3, 1] : tensor<2x5x5x3x16xf32> -> tensor<20x3x5x5xf32>
  return %0 : tensor<20x3x5x5xf32>
}

// -----

func.func @c1_rank(%a: tensor<2x16xf32>) {
  // expected-error @+1 {{'vx.unpack' op expects an 'input' of 3 dimensions, dimension 2 static and at least 1, and a 'dim' below 2, got 'tensor<2x16xf32>' and 0}}
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

// -----

// CHECK-LABEL: func.func @neighbours(
func.func @neighbours(%a: tensor<20x3x5xi8>, %b: tensor<?x9xi8>) -> (tensor<20x3x5xi8>, tensor<2x?x16x4xi8>) {
  // CHECK: vx.pack %{{.*}} dim = 0 tile = 16 permutation = [0, 1, 2] inner = 4 : tensor<20x3x5xi8>
  %0 = vx.pack %a dim = 0 tile = 16 permutation = [0, 1, 2] inner = 4 : tensor<20x3x5xi8>
  // CHECK: vx.unpack %{{.*}} dim = 0 permutation = [0, 1, 2] inner = 4 : tensor<2x3x2x16x4xi8> -> tensor<20x3x5xi8>
  %1 = vx.unpack %0 dim = 0 permutation = [0, 1, 2] inner = 4 : tensor<2x3x2x16x4xi8> -> tensor<20x3x5xi8>
  %2 = vx.pack %b dim = 1 tile = 16 permutation = [1, 0] inner = 4 : tensor<?x9xi8>
  %3 = vx.reshape %2 : tensor<1x?x16x4xi8> -> tensor<2x?x16x4xi8>
  return %1, %3 : tensor<20x3x5xi8>, tensor<2x?x16x4xi8>
}

// -----

func.func @c1_neighbours(%a: tensor<2x3x16xi8>) {
  // expected-error @+1 {{'vx.unpack' op expects an 'input' of 4 dimensions, dimension 2 static and at least 1, and a 'dim' below 2, got 'tensor<2x3x16xi8>' and 0}}
  %0 = vx.unpack %a dim = 0 permutation = [0, 1] inner = 4 : tensor<2x3x16xi8> -> tensor<20x9xi8>
  return
}

// -----

func.func @c1_sum(%a: tensor<2x3x16x4xi8>) {
  // expected-error @+1 {{'vx.unpack' op expects dimension 1 of 'input' to be 2, got 3}}
  %0 = vx.unpack %a dim = 0 permutation = [0, 1] inner = 4 : tensor<2x3x16x4xi8> -> tensor<20x8xi8>
  return
}

// -----

func.func @c3_tiled(%a: tensor<20x3xi8>) {
  // expected-error @+1 {{'vx.pack' op expects 'inner' of at least 1, and of 1 where 'dim' is the last of 'permutation', got 4 with 'dim' 0 and 'permutation' [1, 0]}}
  %0 = vx.pack %a dim = 0 tile = 16 permutation = [1, 0] inner = 4 : tensor<20x3xi8>
  return
}

// -----

func.func @c3_none(%a: tensor<20x3xi8>) {
  // expected-error @+1 {{'vx.pack' op expects 'inner' of at least 1, and of 1 where 'dim' is the last of 'permutation', got 0 with 'dim' 0 and 'permutation' [0, 1]}}
  %0 = vx.pack %a dim = 0 tile = 16 permutation = [0, 1] inner = 0 : tensor<20x3xi8>
  return
}
