// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-fused{target=cpu})' | FileCheck %s

// Heads that share keys read them in one tile where the queries are few.
// CHECK: vx.fusion{{.*}} #vx.cpu_flash<tile = [1, 4, {{[0-9]+}}, 0]>
func.func @shared(%q: tensor<1x32x2x64xf32>, %k: tensor<1x8x512x64xf32>, %v: tensor<1x8x512x64xf32>) -> tensor<1x32x2x64xf32> {
  %r = vx.attention %q, %k, %v scale = 5.000000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x32x2x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32> -> tensor<1x32x2x64xf32>
  return %r : tensor<1x32x2x64xf32>
}

// -----

// Of many queries each head is a tile.
// CHECK: vx.fusion{{.*}} #vx.cpu_flash<tile = [1, 1, {{[0-9]+}}, 0]>
func.func @many(%q: tensor<1x32x5x64xf32>, %k: tensor<1x8x512x64xf32>, %v: tensor<1x8x512x64xf32>) -> tensor<1x32x5x64xf32> {
  %r = vx.attention %q, %k, %v scale = 5.000000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x32x5x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32> -> tensor<1x32x5x64xf32>
  return %r : tensor<1x32x5x64xf32>
}
