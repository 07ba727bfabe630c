// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @select(
func.func @select(%c: tensor<?xi1, #vx.enc<[n]>>, %a: tensor<?xui8, #vx.enc<[n]>>) -> tensor<?xui8, #vx.enc<[n]>> {
  // CHECK: vx.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi1, #vx.enc<[n]>>, tensor<?xui8, #vx.enc<[n]>>, tensor<?xui8, #vx.enc<[n]>>
  %0 = vx.select %c, %a, %a : tensor<?xi1, #vx.enc<[n]>>, tensor<?xui8, #vx.enc<[n]>>, tensor<?xui8, #vx.enc<[n]>>
  return %0 : tensor<?xui8, #vx.enc<[n]>>
}

// -----

func.func @c1_shapes(%c: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{expects operands of one shape: 'tensor<3xi1>', got 'tensor<2xf32>'}}
  %0 = vx.select %c, %a, %a : tensor<3xi1>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @c1_element_types(%c: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error @+1 {{'vx.select' op failed to verify that all of {on_true, on_false} have same element type}}
  %0 = vx.select %c, %a, %b : tensor<2xi1>, tensor<2xf32>, tensor<2xf16>
  return
}
