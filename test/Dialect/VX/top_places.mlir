// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"
// CHECK-LABEL: func.func @top_places(
func.func @top_places(%k: tensor<4x?xf32, #vx.enc<[4, n]>>) -> tensor<4x5xi64> {
  // CHECK: vx.top_places %{{.*}} count = 7 : tensor<4x?xf32, #vx.enc<[4, n]>>
  %0 = vx.top_places %k count = 7 : tensor<4x?xf32, #vx.enc<[4, n]>>
  // CHECK: vx.top_places descending %{{.*}} count = 5 : tensor<4x?xf32, #vx.enc<[4, n]>>
  %1 = vx.top_places descending %k count = 5 : tensor<4x?xf32, #vx.enc<[4, n]>>
  return %1 : tensor<4x5xi64>
}

// -----

func.func @c1(%k: tensor<4x7x1xf32>) {
  // expected-error @+1 {{'vx.top_places' op expects 'keys' of [rows, n], got 'tensor<4x7x1xf32>'}}
  %0 = vx.top_places %k count = 3 : tensor<4x7x1xf32>
  return
}

// -----

func.func @c2_many(%k: tensor<4x7000xf32>) {
  // expected-error @+1 {{'vx.top_places' op expects 'count' to be 0 to 1024, got 1025}}
  %0 = vx.top_places %k count = 1025 : tensor<4x7000xf32>
  return
}

// -----

func.func @c2_negative(%k: tensor<4x7000xf32>) {
  // expected-error @+1 {{'vx.top_places' op expects 'count' to be 0 to 1024, got -1}}
  %0 = vx.top_places %k count = -1 : tensor<4x7000xf32>
  return
}

// -----

func.func @c3(%k: tensor<4x7xf32>) {
  // expected-error @+1 {{'vx.top_places' op expects rows of at least 8 elements, got 'tensor<4x7xf32>'}}
  %0 = vx.top_places %k count = 8 : tensor<4x7xf32>
  return
}
