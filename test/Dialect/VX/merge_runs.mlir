// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"
// CHECK-LABEL: func.func @merge_runs(
func.func @merge_runs(%k: tensor<4x?x1xf32, #vx.enc<[4, n, 1]>>, %p: tensor<4x?xi64, #vx.enc<[4, n]>>, %l: tensor<i64>) -> tensor<4x?xi64, #vx.enc<[4, n]>> {
  // CHECK: vx.merge_runs %{{.*}}, %{{.*}} level(%{{.*}}) : tensor<4x?x1xf32, #vx.enc<[4, n, 1]>>, tensor<4x?xi64, #vx.enc<[4, n]>>
  %0 = vx.merge_runs %k, %p level(%l) : tensor<4x?x1xf32, #vx.enc<[4, n, 1]>>, tensor<4x?xi64, #vx.enc<[4, n]>>
  // CHECK: vx.merge_runs descending %{{.*}}, %{{.*}} level(%{{.*}})
  %1 = vx.merge_runs descending %k, %0 level(%l) : tensor<4x?x1xf32, #vx.enc<[4, n, 1]>>, tensor<4x?xi64, #vx.enc<[4, n]>>
  return %1 : tensor<4x?xi64, #vx.enc<[4, n]>>
}

// -----

func.func @c1_rank(%k: tensor<4x7xf32>, %p: tensor<4x7xi64>, %l: tensor<i64>) {
  // expected-error @+1 {{'vx.merge_runs' op expects 'keys' of [rows, n, members] and 'places' of [rows, n], got 'tensor<4x7xf32>' and 'tensor<4x7xi64>'}}
  %0 = vx.merge_runs %k, %p level(%l) : tensor<4x7xf32>, tensor<4x7xi64>
  return
}

// -----

func.func @c1_rows(%k: tensor<4x7x1xf32>, %p: tensor<4x8xi64>, %l: tensor<i64>) {
  // expected-error @+1 {{'vx.merge_runs' op expects 'keys' of [rows, n, members] and 'places' of [rows, n], got 'tensor<4x7x1xf32>' and 'tensor<4x8xi64>'}}
  %0 = vx.merge_runs %k, %p level(%l) : tensor<4x7x1xf32>, tensor<4x8xi64>
  return
}
