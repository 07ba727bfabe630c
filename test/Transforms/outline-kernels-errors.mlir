// RUN: vx-opt %s --verify-diagnostics --vx-outline-kernels

// How many workgroups there are follows from the size of the result.
func.func @unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{expects a result of known size, which gives its number of workgroups, got 'tensor<?xf32>'}}
  %0 = vx.fusion (%x) : (tensor<?xf32>) -> tensor<?xf32> #vx.loops<tile = [1]> {
  ^bb0(%a: tensor<?xf32>):
    %1 = vx.neg %a : tensor<?xf32>
    vx.yield %1 : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}
