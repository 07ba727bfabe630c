// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-fused

// An op that a device runs stands in no fusion.
func.func @fused(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{after 'fused' every op of a device stands in a fusion region, got 'vx.neg' of}}
  %0 = vx.neg %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A product is in plain loops without a reason.
func.func @silent(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{after 'fused' a product in plain loops has a reason, got 'vx.contract' of}}
  %0 = vx.fusion(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> #vx.loops<tile = [0, 0]> {
  ^bb0(%c: tensor<2x3xf32>, %d: tensor<3x4xf32>):
    %1 = vx.contract %c, %d batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<2x3xf32>, tensor<3x4xf32>
    vx.yield %1 : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}
