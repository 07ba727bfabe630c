// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-graph

vx.symbol "n"
func.func @good(%x: tensor<?xf32, #vx.enc<[n]>>, %s: !vx.sequence<tensor<?xf32>>) -> tensor<?xf32, #vx.enc<[n * 2]>> {
  %0 = vx.concat axis = 0 (%x, %x) : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  return %0 : tensor<?xf32, #vx.enc<[n * 2]>>
}

// -----

func.func @c1_another_dialect(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected ops of the 'graph' phase, got 'tensor.empty'}}
  %0 = tensor.empty() : tensor<2xf32>
  return
}

// -----

vx.symbol "n"
func.func @c2_undeclared(%x: tensor<?xf32, #vx.enc<[n]>>) {
  // expected-error @+1 {{expected a 'vx.symbol' that declares dimension symbol 'm', got none}}
  %0 = vx.dim_value <n + m>
  return
}

// -----

// expected-error @+1 {{expected an expression for each dimension of a value, got 'tensor<?xf32>'}}
func.func @c3_argument(%x: tensor<?xf32>) {
  return
}

// -----

func.func @c3_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an expression for each dimension of a value, got 'tensor<2x?xf32>'}}
  %0 = vx.reshape %x : tensor<4xf32> -> tensor<2x?xf32>
  return
}

// -----

vx.symbol "n"
vx.symbol "m"
// expected-error @+1 {{expected an input of 'c4_unbound' with the size 'm', so that a call binds it, got none}}
func.func @c4_unbound(%x: tensor<?xf32, #vx.enc<[n * m]>>, %y: tensor<?xf32, #vx.enc<[n]>>) {
  return
}
