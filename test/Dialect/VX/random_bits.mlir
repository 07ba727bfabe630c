// RUN: vx-opt %s | vx-opt | FileCheck %s

vx.symbol "n"

// CHECK-LABEL: func.func @random_bits(
func.func @random_bits(%key: tensor<i64>) -> tensor<?x3xui32, #vx.enc<[n, 3]>> {
  // CHECK: vx.random_bits %{{.+}} number = 7 : tensor<?x3xui32, #vx.enc<[n, 3]>>
  %0 = vx.random_bits %key number = 7 : tensor<?x3xui32, #vx.enc<[n, 3]>>
  return %0 : tensor<?x3xui32, #vx.enc<[n, 3]>>
}
