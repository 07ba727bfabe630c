// --strict-math reaches the passes of a target: no product applies the numbers of a block to the block's sum.
// RUN: vx-compile %s --target=cpu --stop-after fused -o - | FileCheck %s
// RUN: vx-compile %s --target=cpu --strict-math --stop-after fused -o - | FileCheck %s --check-prefix=STRICT
// CHECK:      vx.contract {{.*}} {vx.anchor, vx.block_sums, {{.*}}}
// STRICT:     vx.contract
// STRICT-NOT: vx.block_sums
func.func @main(%x: tensor<1x64xf32>) -> tensor<1x16xf32> {
  %w = vx.constant dense<1> : tensor<16x68xui8>
  %d = vx.decode_blocks q8_0 %w : tensor<16x68xui8>
  %r = vx.contract %x, %d batch = [] x [] contracting = [1] x [1] : tensor<1x64xf32>, tensor<16x64xf32>
  return %r : tensor<1x16xf32>
}
