// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @places(
func.func @places(%n: index, %i: tensor<?x1xi64>, %s: tensor<1xi32>) {
  %a = vxk.buffer 0 read_write () : memref<5x8xf32>
  // CHECK: vxk.places %{{.+}}[%{{.+}}] axes = [0] add(%{{.+}}) : memref<5x8xf32>, tensor<?x1xi64> -> memref<?x8xf32>
  %0 = vxk.places %a[%i] axes = [0] add (%n) : memref<5x8xf32>, tensor<?x1xi64> -> memref<?x8xf32>
  // CHECK: vxk.places %{{.+}}[%{{.+}}] axes = [0] slice() : memref<5x8xf32>, tensor<1xi32> -> memref<2x8xf32>
  %1 = vxk.places %a[%s] axes = [0] slice () : memref<5x8xf32>, tensor<1xi32> -> memref<2x8xf32>
  return
}

// -----

func.func @c1(%i: tensor<?x1xi64>) {
  %a = vxk.buffer 0 read_write () : memref<5x8xf32>
  // expected-error @+1 {{'vxk.places' op expects one size for each '?' of 'memref<?x8xf32>': 1, got 0}}
  %0 = vxk.places %a[%i] axes = [0] () : memref<5x8xf32>, tensor<?x1xi64> -> memref<?x8xf32>
  return
}
