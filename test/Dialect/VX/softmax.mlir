// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @softmax(
func.func @softmax(%a: tensor<?x3xf32, #vx.enc<[n, 3]>>) -> tensor<?x3xf32, #vx.enc<[n, 3]>> {
  // CHECK: vx.softmax %{{.*}} axis = 1 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %0 = vx.softmax %a axis = 1 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.softmax log %{{.*}} axis = 0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %1 = vx.softmax log %0 axis = 0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  return %1 : tensor<?x3xf32, #vx.enc<[n, 3]>>
}

// -----

func.func @c1_axis(%a: tensor<3xf32>) {
  // expected-error @+1 {{'vx.softmax' op expects 'axis' to be a dimension of 'input': 0 to 0, got 1}}
  %0 = vx.softmax %a axis = 1 : tensor<3xf32>
  return
}
