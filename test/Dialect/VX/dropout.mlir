// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"

// CHECK-LABEL: func.func @dropout(
func.func @dropout(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %key: tensor<i64>) {
  // CHECK: vx.dropout %{{.+}} ratio = 2.000000e-01 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %0, %1 = vx.dropout %x ratio = 0.2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  // CHECK: vx.dropout %{{.+}} key(%{{.+}}) ratio = 5.000000e-01 number = 3 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %2, %3 = vx.dropout %0 key(%key) ratio = 0.5 number = 3 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return
}

// -----

func.func @c1_ratio(%x: tensor<4xf32>) {
  // expected-error @+1 {{'vx.dropout' op expects 'ratio' to be at least 0 and below 1, got 1.000000e+00}}
  %0, %1 = vx.dropout %x ratio = 1.0 : tensor<4xf32>
  return
}
