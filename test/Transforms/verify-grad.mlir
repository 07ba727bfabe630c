// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-grad

vx.symbol "n"
func.func @good(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n * 2]>> {
  %0 = vx.concat axis = 0 (%x, %x) : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  return %0 : tensor<?xf32, #vx.enc<[n * 2]>>
}

// -----

func.func @c1_another_dialect(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected ops of the 'grad' phase, got 'tensor.empty'}}
  %0 = tensor.empty() : tensor<2xf32>
  return
}

// -----

func.func @c3_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an expression for each dimension of a value, got 'tensor<2x?xf32>'}}
  %0 = vx.reshape %x : tensor<4xf32> -> tensor<2x?xf32>
  return
}
