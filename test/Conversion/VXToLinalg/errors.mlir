// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --verify-diagnostics

vx.kernel @narrow "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xi4>):
  // expected-error @+1 {{'vx.add' op expects elements to compute with of 8 bits or more, floats of 16 or more, got 'tensor<3xi4>'}}
  %0 = vx.add %a, %a : tensor<3xi4>, tensor<3xi4>
  vx.yield %0 : tensor<3xi4>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects numbers or bools in a kernel, got 'tensor<3x!vx.string>'}}
vx.kernel @strings "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3x!vx.string>, %b: tensor<3xf32>):
  vx.yield %b : tensor<3xf32>
}

// -----

vx.kernel @nonzero "x" symbols ["s0"] workgroups <1> #vx.serial {
^bb0(%a: tensor<3xf32>):
  // expected-error @+1 {{'vx.nonzero' op expects to be the result of its kernel, got an intermediate value}}
  %0 = vx.nonzero %a {vx.anchor} : tensor<3xf32> -> tensor<1x?xi64, #vx.enc<[1, s0]>>
  %1 = vx.neg %0 : tensor<1x?xi64, #vx.enc<[1, s0]>>
  vx.yield %1 : tensor<1x?xi64, #vx.enc<[1, s0]>>
}

// -----

vx.kernel @two_uses "x" symbols [] workgroups <1> #vx.serial {
^bb0(%a: tensor<2x3x1xf32>):
  // expected-error @+1 {{'vx.cumulative_sum' op expects no use but as the result of its kernel, got 2 uses}}
  %0 = vx.cumulative_sum %a {vx.anchor} : tensor<2x3x1xf32>
  %1 = vx.neg %0 : tensor<2x3x1xf32>
  vx.yield %0, %1 : tensor<2x3x1xf32>, tensor<2x3x1xf32>
}

// -----

vx.kernel @update "x" symbols [] workgroups <1> #vx.serial {
^bb0(%a: tensor<5x32xf32>, %i: tensor<7x1xi64>, %u: tensor<7x32xf32>):
  %0 = vx.neg %a : tensor<5x32xf32>
  // expected-error @+1 {{'vx.scatter' op expects to update an operand of its kernel, got the result of 'vx.neg'}}
  %1 = vx.scatter set %0, %i, %u axes = [0] {vx.anchor} : tensor<5x32xf32>, tensor<7x1xi64>, tensor<7x32xf32>
  vx.yield %1 : tensor<5x32xf32>
}

// -----

vx.kernel @sequence "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xf32>):
  // expected-error @+1 {{'vx.sequence_construct' op expects tensors in a kernel, got '!vx.sequence<tensor<3xf32>>'}}
  %0 = vx.sequence_construct %a : (tensor<3xf32>) -> !vx.sequence<tensor<3xf32>>
  vx.yield %a : tensor<3xf32>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects a size for each dimension in a kernel, got 'tensor<?xf32>'}}
vx.kernel @size "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?xf32>):
  %0 = vx.neg %a : tensor<?xf32>
  vx.yield %0 : tensor<?xf32>
}

// -----

vx.kernel @sparse "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xf32>):
  // expected-error @+1 {{'vx.constant' op expects inline elements, or a resource of the size of}}
  %c = vx.constant sparse<[[1]], [2.0]> : tensor<3xf32>
  %0 = vx.add %a, %c : tensor<3xf32>, tensor<3xf32>
  vx.yield %0 : tensor<3xf32>
}

// -----

vx.kernel @no_kernel_op "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xf32>):
  %c = vx.count_nonzero %a {vx.anchor} : tensor<3xf32>
  // expected-error @+1 {{'vx.bind_symbol' op has no lowering to linalg: it is not an op of kernels}}
  vx.bind_symbol "k" = %c
  vx.yield %a : tensor<3xf32>
}

// -----

// expected-error @+1 {{'vx.kernel' op expects tensors in a kernel, got 'memref<3xf32>'}}
vx.kernel @memref "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: memref<3xf32>):
  %c = vx.constant dense<1.0> : tensor<3xf32>
  vx.yield %c : tensor<3xf32>
}
