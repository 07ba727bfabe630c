// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// Equal products of sizes are equal numbers of elements, also with symbols.
// CHECK-LABEL: func.func @reshape(
func.func @reshape(%a: tensor<?x6xf32, #vx.enc<[n, 6]>>) {
  // CHECK: vx.reshape %{{.*}} : tensor<?x6xf32, #vx.enc<[n, 6]>> -> tensor<2x?xf32, #vx.enc<[2, n * 3]>>
  %0 = vx.reshape %a : tensor<?x6xf32, #vx.enc<[n, 6]>> -> tensor<2x?xf32, #vx.enc<[2, n * 3]>>
  return
}

// -----

func.func @c1_static(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.reshape' op expects as many elements as 'input' has: 6 of 'tensor<2x3xf32>', got 7 of 'tensor<7xf32>'}}
  %0 = vx.reshape %a : tensor<2x3xf32> -> tensor<7xf32>
  return
}

// -----

func.func @c1_symbolic(%a: tensor<?xf32, #vx.enc<[n]>>) {
  // expected-error @+1 {{'vx.reshape' op expects as many elements as 'input' has: n of 'tensor<?xf32, #vx.enc<[n]>>', got n + 1 of 'tensor<?xf32, #vx.enc<[n + 1]>>'}}
  %0 = vx.reshape %a : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xf32, #vx.enc<[n + 1]>>
  return
}

// -----

func.func @c2_element_type(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.reshape' op expects the element type of 'input': 'f32', got 'i32'}}
  %0 = vx.reshape %a : tensor<2xf32> -> tensor<2xi32>
  return
}
