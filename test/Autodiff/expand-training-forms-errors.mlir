// RUN: vx-opt %s --vx-expand-training-forms --verify-diagnostics

func.func @unknown(%x: tensor<?xf32>, %key: tensor<i64>) -> tensor<?xf32> {
  // expected-error-re @+1 {{'vx.dropout' of {{.+}}: expected an expression for each dimension of its operands, got 'tensor<?xf32>'}}
  %0, %1 = vx.dropout %x key(%key) ratio = 0.25 : tensor<?xf32>
  return %0 : tensor<?xf32>
}
