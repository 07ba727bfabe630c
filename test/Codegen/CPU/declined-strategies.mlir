// RUN: vx-opt %s --split-input-file --vx-cpu-codegen --remarks-filter-missed=vx.strategy --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// A kernel that does not look like the strategy that was asked for says why, and becomes plain loops.

// CHECK: remark: [Missed] cpu_product | Category:vx.strategy | reason="it has not one result and one sum, or the result reads the sum at another place than its own", taken=loops
vx.kernel @no_sum "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_product | Category:vx.strategy | reason="its sum is neither of floats nor of integers of 32 bits, or has fewer than two dimensions", taken=loops
vx.kernel @integers "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4xi64>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<4x4xi64>, tensor<4x4xi64>
  vx.yield %0 : tensor<4x4xi64>
}

// -----

// CHECK: remark: [Missed] cpu_product | Category:vx.strategy | reason="it sums no products, does not begin with a constant, or may fail at an index", taken=loops
vx.kernel @maximum "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4x4xf32>):
  %0 = vx.reduce max %x axes = [2] {vx.anchor} : tensor<4x4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_product | Category:vx.strategy | reason="it sums no products, does not begin with a constant, or may fail at an index", taken=loops
vx.kernel @plain_sum "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4x4xf32>):
  %0 = vx.reduce sum %x axes = [2] {vx.anchor} : tensor<4x4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_product | Category:vx.strategy | reason="the last dimension is not that of one factor alone", taken=loops
vx.kernel @batch_last "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4x4xf32>):
  %0 = vx.contract %x, %x batch = [0, 1] x [0, 1] contracting = [2] x [2] {vx.anchor} : tensor<4x4x4xf32>, tensor<4x4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_product | Category:vx.strategy | reason="it has one row: no dimension before the last is that of the other factor alone", taken=loops
vx.kernel @one_row "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4x4xf32>):
  %0 = vx.contract %x, %w batch = [0] x [0] contracting = [1] x [1] {vx.anchor} : tensor<4x4xf32>, tensor<4x4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_flash | Category:vx.strategy | reason="it is no attention of two products around a softmax, with depths that are known", taken=loops
vx.kernel @attention "k" symbols [] workgroups <1> #vx.cpu_flash<tile = [4, 4]> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_depthwise | Category:vx.strategy | reason="it is no convolution with groups, sums of f32, f64 or i32, channels last, whose filter's sizes are known and whose result is read in place", taken=loops
vx.kernel @depthwise "k" symbols [] workgroups <1> #vx.cpu_depthwise<tile = [4, 4]> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.exp %x : tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}

// -----

// CHECK: remark: [Missed] cpu_depthwise | Category:vx.strategy | reason="the filters of its groups do not fill vectors", taken=loops
vx.kernel @groups "k" symbols [] workgroups <1> #vx.cpu_depthwise<tile = [1, 4, 0, 0]> {
^bb0(%x: tensor<1x9x9x12xf32>, %w: tensor<12x3x3x3xf32>):
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 4 channels_last {vx.anchor} : tensor<1x9x9x12xf32>, tensor<12x3x3x3xf32>
  vx.yield %0 : tensor<1x9x9x12xf32>
}

// -----

// What fits says nothing.
vx.kernel @fits "k" symbols [] workgroups <1> #vx.cpu_product<tile = [4, 4]> {
^bb0(%x: tensor<4x4xf32>):
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [0] {vx.anchor} : tensor<4x4xf32>, tensor<4x4xf32>
  vx.yield %0 : tensor<4x4xf32>
}
