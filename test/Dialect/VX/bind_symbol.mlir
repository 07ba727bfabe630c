// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol data_dependent "k"
// CHECK-LABEL: func.func @bind_symbol(
func.func @bind_symbol(%a: tensor<i64>) -> tensor<?xi64, #vx.enc<[k]>> {
  // CHECK: vx.bind_symbol "k" = %{{.*}}
  vx.bind_symbol "k" = %a
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[k]>>
  return %0 : tensor<?xi64, #vx.enc<[k]>>
}

// -----

vx.symbol data_dependent "k"
func.func @not_a_scalar(%a: tensor<1xi64>) {
  // expected-note @-1 {{prior use here}}
  // expected-error @+1 {{use of value '%a' expects different type than prior uses: 'tensor<i64>' vs 'tensor<1xi64>'}}
  vx.bind_symbol "k" = %a
  return
}
