// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-fused

// An op that a device runs stands in no fusion.
func.func @fused(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{after 'fused' every op of a device stands in a fusion region, got 'vx.neg' of}}
  %0 = vx.neg %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Nothing chose how the product is computed.
func.func @silent(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{after 'fused' a product has '#vx.product', got 'vx.contract' of}}
  %0 = vx.fusion(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> #vx.loops<tile = [0, 0]> {
  ^bb0(%c: tensor<2x3xf32>, %d: tensor<3x4xf32>):
    %1 = vx.contract %c, %d batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<2x3xf32>, tensor<3x4xf32>
    vx.yield %1 : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

// The strategy is of another family than the one that was chosen.
func.func @family(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{after 'fused' the strategy of a product is of the family that was chosen for it, 'mma', got #vx.loops<tile = [0, 0]> for 'vx.contract' of}}
  %0 = vx.fusion(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> #vx.loops<tile = [0, 0]> {
  ^bb0(%c: tensor<2x3xf32>, %d: tensor<3x4xf32>):
    %1 = vx.contract %c, %d batch = [] x [] contracting = [1] x [0] {vx.anchor, vx.product = #vx.product<family = mma>} : tensor<2x3xf32>, tensor<3x4xf32>
    vx.yield %1 : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}
