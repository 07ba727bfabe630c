// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-fused

// An op that a device runs stands in no fusion.
func.func @fused(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{after 'fused' every op of a device stands in a fusion region, got 'vx.neg' of}}
  %0 = vx.neg %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
