// RUN: vx-opt %s --split-input-file --vx-verify-no-encoding --verify-diagnostics

// expected-error @+1 {{'func.func' op expects tensors without an encoding, got 'tensor<?xf32, #vx.enc<[n]>>'}}
func.func @argument(%a: tensor<?xf32, #vx.enc<[n]>>) {
  return
}

// -----

func.func @op(%a: tensor<3xf32>) {
  // expected-error @+1 {{expected no vx op after the conversion to linalg, got 'vx.neg'}}
  %0 = vx.neg %a : tensor<3xf32>
  return
}
