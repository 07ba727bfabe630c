// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-schedule

// Nothing but programs is left, and nothing but vxrt ops in them.
// expected-error @+1 {{after 'schedule' programs hold vxrt ops only, got 'func.func' of}}
func.func @function_is_left(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{after 'schedule' programs hold vxrt ops only, got 'func.return' of}}
  return %x : tensor<2xf32>
}

// -----

vxrt.program @other_op symbols [] {
  // expected-error @+1 {{after 'schedule' programs hold vxrt ops only, got 'arith.constant' of}}
  %0 = arith.constant 1 : i64
  vxrt.return ranks []
}
