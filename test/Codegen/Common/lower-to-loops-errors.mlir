// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-lower-to-loops --verify-diagnostics

vx.kernel @constant "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<65xf32>):
  // expected-error @+1 {{expects at most 64 elements of a kernel's constant, got 65: pass it as a buffer}}
  %c = vx.constant dense<[0.,1.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.,0.]> : tensor<65xf32>
  %0 = vx.add %a, %c : tensor<65xf32>, tensor<65xf32>
  vx.yield %0 : tensor<65xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects a strategy in 'vxk.strategy', got none}}
func.func @strategy() attributes {vxk.kernel} {
  return
}
