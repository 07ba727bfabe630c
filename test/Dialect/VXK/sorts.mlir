// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sorts(
func.func @sorts(%c: tensor<4x?xi32>, %p: memref<4x3xi64>, %k: tensor<4x?x2xi64>, %q: tensor<4x?xi64>, %l: index, %m: memref<4x?xi64>, %b: tensor<1x9x4xf32>, %s: tensor<1x2x9xi32>,
                 %o: f32, %n: memref<1x2x3xi64>, %x: tensor<2x?x3xf16>, %y: memref<2x?x3xf16>) {
  // CHECK: vxk.top_places %{{.+}} into %{{.+}} : tensor<4x?xi32> into memref<4x3xi64>
  vxk.top_places %c into %p : tensor<4x?xi32> into memref<4x3xi64>
  // CHECK: vxk.merge_runs %{{.+}}, %{{.+}} level %{{.+}} into %{{.+}} : tensor<4x?x2xi64>, tensor<4x?xi64> into memref<4x?xi64>
  vxk.merge_runs %k, %q level %l into %m : tensor<4x?x2xi64>, tensor<4x?xi64> into memref<4x?xi64>
  // CHECK: vxk.select_boxes %{{.+}}, %{{.+}} overlap %{{.+}} into %{{.+}} : tensor<1x9x4xf32>, tensor<1x2x9xi32> into memref<1x2x3xi64>
  vxk.select_boxes %b, %s overlap %o into %n : tensor<1x9x4xf32>, tensor<1x2x9xi32> into memref<1x2x3xi64>
  // CHECK: vxk.cumulative_sum %{{.+}} into %{{.+}} exclusive reverse : tensor<2x?x3xf16> into memref<2x?x3xf16>
  vxk.cumulative_sum %x into %y exclusive reverse : tensor<2x?x3xf16> into memref<2x?x3xf16>
  return
}

// -----

func.func @c1_top_places(%c: tensor<4x?xi32>, %p: memref<4x?xi64>) {
  // expected-error @+1 {{expects codes of [rows, n] and a known number of places of each row, got 'tensor<4x?xi32>' and 'memref<4x?xi64>'}}
  vxk.top_places %c into %p : tensor<4x?xi32> into memref<4x?xi64>
  return
}

// -----

func.func @c1_merge_runs(%c: tensor<4x?xi32>, %q: tensor<4x?xi64>, %l: index, %p: memref<4x?xi64>) {
  // expected-error @+1 {{expects codes of [rows, n, members] and places of [rows, n], got 'tensor<4x?xi32>' and 'tensor<4x?xi64>'}}
  vxk.merge_runs %c, %q level %l into %p : tensor<4x?xi32>, tensor<4x?xi64> into memref<4x?xi64>
  return
}

// -----

func.func @c1_select_boxes(%b: tensor<9x4xf32>, %s: tensor<1x2x9xi32>, %o: f32, %n: memref<1x2x3xi64>) {
  // expected-error @+1 {{expects boxes of [images, n, 4] and codes of [images, classes, n], got 'tensor<9x4xf32>' and 'tensor<1x2x9xi32>'}}
  vxk.select_boxes %b, %s overlap %o into %n : tensor<9x4xf32>, tensor<1x2x9xi32> into memref<1x2x3xi64>
  return
}

// -----

func.func @c1_cumulative_sum(%x: tensor<2x3xf32>, %y: memref<2x3x1xf32>) {
  // expected-error @+1 {{expects an input of 3 dimensions, got 'tensor<2x3xf32>'}}
  vxk.cumulative_sum %x into %y : tensor<2x3xf32> into memref<2x3x1xf32>
  return
}
