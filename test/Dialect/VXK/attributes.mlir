// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// What linalg ops say of where they come from.
// CHECK-LABEL: module
// CHECK-SAME:    test.part = #vxk.attention_part<log_sum_exp>
// CHECK-SAME:    test.unpacking = #vxk.unpacking<dim = 1, permutation = [1, 0]>
// CHECK-SAME:    test.window = #vxk.window<strides = [1, 2], dilations = [1, 1], pads_low = [0, 1], pads_high = [2, 3], groups = 4>
// CHECK-SAME:    test.window_last = #vxk.window<strides = [], dilations = [], pads_low = [], pads_high = [], groups = 1, channels_last = true>
module attributes {
  test.part = #vxk.attention_part<log_sum_exp>,
  test.unpacking = #vxk.unpacking<dim = 1, permutation = [1, 0]>,
  test.window = #vxk.window<strides = [1, 2], dilations = [1, 1], pads_low = [0, 1], pads_high = [2, 3], groups = 4>,
  test.window_last = #vxk.window<strides = [], dilations = [], pads_low = [], pads_high = [], groups = 1, channels_last = true>} {}

// -----

// expected-error @+1 {{'func.func' op expects one op marked 'vxk.anchor' in a kernel, got 'arith.constant' and 'vxk.scalar'}}
func.func @two_anchors() attributes {vxk.kernel} {
  %0 = arith.constant {vxk.anchor} 1 : index
  %1 = vxk.scalar 0 {vxk.anchor}
  return
}
