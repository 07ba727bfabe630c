// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @predicates(
func.func @predicates(%a: tensor<?xi64, #vx.enc<[n]>>, %b: tensor<2xi1>) {
  // CHECK: vx.compare eq %{{.*}}, %{{.*}} : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %0 = vx.compare eq %a, %a : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  // CHECK: vx.compare ne
  %1 = vx.compare ne %b, %b : tensor<2xi1>, tensor<2xi1>
  // CHECK: vx.compare lt
  %2 = vx.compare lt %b, %b : tensor<2xi1>, tensor<2xi1>
  // CHECK: vx.compare le
  %3 = vx.compare le %b, %b : tensor<2xi1>, tensor<2xi1>
  // CHECK: vx.compare gt
  %4 = vx.compare gt %b, %b : tensor<2xi1>, tensor<2xi1>
  // CHECK: vx.compare ge
  %5 = vx.compare ge %b, %b : tensor<2xi1>, tensor<2xi1>
  // CHECK: vx.not %{{.*}} : tensor<?xi1, #vx.enc<[n]>>
  %6 = vx.not %0 : tensor<?xi1, #vx.enc<[n]>>
  return
}

// -----

func.func @c1_shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expects operands of one shape: 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = vx.compare lt %a, %b : tensor<2xf32>, tensor<3xf32>
  return
}
