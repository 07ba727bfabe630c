// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"
// CHECK-LABEL: func.func @select_boxes(
func.func @select_boxes(%b: tensor<2x?x4xf32, #vx.enc<[2, n, 4]>>, %s: tensor<2x3x?xf32, #vx.enc<[2, 3, n]>>, %o: tensor<f32>, %l: tensor<f32>) -> tensor<2x3x5xi64> {
  // CHECK: vx.select_boxes %{{.*}}, %{{.*}} overlap(%{{.*}}) least(%{{.*}}) : tensor<2x?x4xf32, #vx.enc<[2, n, 4]>>, tensor<2x3x?xf32, #vx.enc<[2, 3, n]>> -> tensor<2x3x5xi64>
  %0 = vx.select_boxes %b, %s overlap(%o) least(%l) : tensor<2x?x4xf32, #vx.enc<[2, n, 4]>>, tensor<2x3x?xf32, #vx.enc<[2, 3, n]>> -> tensor<2x3x5xi64>
  return %0 : tensor<2x3x5xi64>
}

// -----

func.func @c1_coordinates(%b: tensor<2x7x3xf32>, %s: tensor<2x3x7xf32>, %o: tensor<f32>) {
  // expected-error @+1 {{'vx.select_boxes' op expects 'boxes' of [images, n, 4], 'scores' of [images, classes, n] and a result of [images, classes, count], got 'tensor<2x7x3xf32>', 'tensor<2x3x7xf32>' and 'tensor<2x3x5xi64>'}}
  %0 = vx.select_boxes %b, %s overlap(%o) least(%o) : tensor<2x7x3xf32>, tensor<2x3x7xf32> -> tensor<2x3x5xi64>
  return
}

// -----

func.func @c1_boxes(%b: tensor<2x7x4xf32>, %s: tensor<2x3x8xf32>, %o: tensor<f32>) {
  // expected-error @+1 {{'vx.select_boxes' op expects 'boxes' of [images, n, 4], 'scores' of [images, classes, n] and a result of [images, classes, count], got 'tensor<2x7x4xf32>', 'tensor<2x3x8xf32>' and 'tensor<2x3x5xi64>'}}
  %0 = vx.select_boxes %b, %s overlap(%o) least(%o) : tensor<2x7x4xf32>, tensor<2x3x8xf32> -> tensor<2x3x5xi64>
  return
}

// -----

func.func @c1_result(%b: tensor<2x7x4xf32>, %s: tensor<2x3x7xf32>, %o: tensor<f32>) {
  // expected-error @+1 {{'vx.select_boxes' op expects 'boxes' of [images, n, 4], 'scores' of [images, classes, n] and a result of [images, classes, count], got 'tensor<2x7x4xf32>', 'tensor<2x3x7xf32>' and 'tensor<2x4x5xi64>'}}
  %0 = vx.select_boxes %b, %s overlap(%o) least(%o) : tensor<2x7x4xf32>, tensor<2x3x7xf32> -> tensor<2x4x5xi64>
  return
}
