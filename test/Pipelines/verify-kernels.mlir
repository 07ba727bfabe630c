// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-kernels

// A fusion that is left, two kernels of one key, and a kernel that nothing dispatches.
func.func @fusion(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{after 'kernels' no fusion region is left, got one of}}
  %0 = vx.fusion (%x) : (tensor<2xf32>) -> tensor<2xf32> #vx.loops<tile = [1]> {
  ^bb0(%a: tensor<2xf32>):
    vx.yield %a : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

vx.kernel @a "same" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  vx.yield %x : tensor<2xf32>
}
// expected-error @+1 {{after 'kernels' equal kernels are one, got the key 'same' for 'a' and 'b'}}
vx.kernel @b "same" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  vx.yield %x : tensor<2xf32>
}
func.func @equal_kernels(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = vx.dispatch @a (%x) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
  %1 = vx.dispatch @b (%0) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// expected-error @+1 {{after 'kernels' every kernel is dispatched, got none for 'unused'}}
vx.kernel @unused "key" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  vx.yield %x : tensor<2xf32>
}

// -----

// expected-note @+1 {{see existing symbol definition here}}
vx.kernel @twice "a" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  vx.yield %x : tensor<2xf32>
}
// expected-error @+1 {{redefinition of symbol named 'twice'}}
vx.kernel @twice "b" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%x: tensor<2xf32>):
  vx.yield %x : tensor<2xf32>
}
