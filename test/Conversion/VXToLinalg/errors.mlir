// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --verify-diagnostics

// expected-error @+1 {{'vx.kernel' op expects elements of type bool, f16, bf16, f32, f64 or an integer of 8 to 64 bits in a kernel, got 'tensor<3xi4>'}}
vx.kernel @packed "x" symbols [] workgroups <1> #vx.strategy<"loops", workgroup = [], vector = [], reduction = [], threads = 1> {
^bb0(%a: tensor<3xi4>):
  %0 = vx.add %a, %a : tensor<3xi4>, tensor<3xi4>
  vx.yield %0 : tensor<3xi4>
}

// -----

vx.kernel @nonzero "x" symbols ["s0"] workgroups <1> #vx.strategy<"serial", workgroup = [], vector = [], reduction = [], threads = 1> {
^bb0(%a: tensor<3xf32>):
  // expected-error @+1 {{'vx.nonzero' op expects to be the result of its kernel, and nothing else to use it}}
  %0 = vx.nonzero %a : tensor<3xf32> -> tensor<1x?xi64, #vx.enc<[1, s0]>>
  %1 = vx.neg %0 : tensor<1x?xi64, #vx.enc<[1, s0]>>
  vx.yield %1 : tensor<1x?xi64, #vx.enc<[1, s0]>>
}
