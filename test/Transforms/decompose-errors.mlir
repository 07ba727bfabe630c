// RUN: vx-opt %s --verify-diagnostics "--pass-pipeline=builtin.module(func.func(vx-decompose{ops=softmax}))"

// The parts need the sizes that the whole does not.
func.func @unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'vx.softmax' op expects an expression for each dimension of its input, got 'tensor<?xf32>'}}
  %0 = vx.softmax %x axis = 0 : tensor<?xf32>
  return %0 : tensor<?xf32>
}
