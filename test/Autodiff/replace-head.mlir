// RUN: vx-opt %s --split-input-file --vx-replace-head='classes=7' | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-replace-head='classes=7' --vx-constants-to-variables=train=auto 2>/dev/null | FileCheck %s --check-prefix=VARIABLES

// A product's weight and bias, and a softmax behind them; the layer before stays.
// CHECK-LABEL: func.func @gemm(
// CHECK-SAME:    -> (tensor<?x7xf32, #vx.enc<[n, 7]>> {vx.name = "y"})
// CHECK:         vx.constant dense<2.000000e+00> : tensor<16x6xf32> {names = ["a.w"]}
// CHECK-DAG:     %[[W:.+]] = vx.constant {{.*}}dense<0.000000e+00> : tensor<7x16xf32> {names = ["fc.w"], vx.init = #vx.init<uniform(-2.500000e-01, 2.500000e-01)>}
// CHECK-DAG:     %[[B:.+]] = vx.constant {{.*}}dense<0.000000e+00> : tensor<7xf32> {names = ["fc.b"], vx.init = #vx.init<uniform(-2.500000e-01, 2.500000e-01)>}
// CHECK:         vx.contract %{{.+}}, %[[W]] {{.+}} : tensor<?x16xf32, #vx.enc<[n, 16]>>, tensor<7x16xf32>
// CHECK:         vx.broadcast %[[B]], [1] : tensor<7xf32> -> tensor<?x7xf32, #vx.enc<[n, 7]>>
// CHECK:         vx.softmax %{{.+}} axis = 1 : tensor<?x7xf32, #vx.enc<[n, 7]>>
// CHECK-NOT:     tensor<10
// VARIABLES:     vx.variable @fc.w role = parameter init = <uniform(-2.500000e-01, 2.500000e-01)> : tensor<7x16xf32>
// VARIABLES-NOT: vx.init
vx.symbol "n"
func.func @gemm(%x: tensor<?x6xf32, #vx.enc<[n, 6]>> {vx.name = "x"}) -> (tensor<?x10xf32, #vx.enc<[n, 10]>> {vx.name = "y"}) {
  %a = vx.constant dense<2.0> : tensor<16x6xf32> {names = ["a.w"]}
  %w = vx.constant dense<3.0> : tensor<10x16xf32> {names = ["fc.w"]}
  %b = vx.constant dense<4.0> : tensor<10xf32> {names = ["fc.b"]}
  %0 = vx.contract %x, %a batch = [] x [] contracting = [1] x [1] : tensor<?x6xf32, #vx.enc<[n, 6]>>, tensor<16x6xf32>
  %1 = vx.contract %0, %w batch = [] x [] contracting = [1] x [1] : tensor<?x16xf32, #vx.enc<[n, 16]>>, tensor<10x16xf32>
  %2 = vx.broadcast %b, [1] : tensor<10xf32> -> tensor<?x10xf32, #vx.enc<[n, 10]>>
  %3 = vx.add %1, %2 : tensor<?x10xf32, #vx.enc<[n, 10]>>, tensor<?x10xf32, #vx.enc<[n, 10]>>
  %4 = vx.softmax %3 axis = 1 : tensor<?x10xf32, #vx.enc<[n, 10]>>
  return %4 : tensor<?x10xf32, #vx.enc<[n, 10]>>
}

// -----

// A weight that is transposed and the product's first operand, with a sequence in between.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    -> (tensor<2x5x7xf32> {vx.name = "y"})
// CHECK-DAG:     vx.constant {{.*}} : tensor<4x7xf32> {names = ["w"], vx.init = #vx.init<uniform(-5.000000e-01, 5.000000e-01)>}
// CHECK:         vx.transpose %{{.+}}, [1, 0] : tensor<4x7xf32>
// CHECK:         vx.contract {{.+}} : tensor<7x4xf32>, tensor<2x5x4xf32>
// CHECK:         vx.transpose %{{.+}}, [1, 2, 0] : tensor<7x2x5xf32>
func.func @transposed(%x: tensor<2x5x4xf32>) -> (tensor<2x5x10xf32> {vx.name = "y"}) {
  %w = vx.constant dense<3.0> : tensor<4x10xf32> {names = ["w"]}
  %0 = vx.transpose %w, [1, 0] : tensor<4x10xf32>
  %1 = vx.contract %0, %x batch = [] x [] contracting = [1] x [2] : tensor<10x4xf32>, tensor<2x5x4xf32>
  %2 = vx.transpose %1, [1, 2, 0] : tensor<10x2x5xf32>
  return %2 : tensor<2x5x10xf32>
}

// -----

// A convolution, cut at 0, its mean over all places, and views.
// CHECK-LABEL: func.func @conv(
// CHECK-SAME:    -> (tensor<2x7xf32> {vx.name = "y"})
// CHECK-DAG:     vx.constant {{.*}} : tensor<7x4x1x1xf32> {names = ["w"], vx.init = #vx.init<uniform(-5.000000e-01, 5.000000e-01)>}
// CHECK-DAG:     vx.constant {{.*}} : tensor<7xf32> {names = ["b"], vx.init = #vx.init<uniform(-5.000000e-01, 5.000000e-01)>}
// CHECK:         vx.conv
// CHECK:         vx.max %{{.+}}, %{{.+}} : tensor<2x7x3x3xf32>
// CHECK:         vx.reduce sum %{{.+}} axes = [2, 3] : tensor<2x7x3x3xf32>
// CHECK:         vx.reshape %{{.+}} : tensor<2x7xf32> -> tensor<2x7x1x1xf32>
// CHECK:         vx.reshape %{{.+}} : tensor<2x7x1x1xf32> -> tensor<2x7xf32>
func.func @conv(%x: tensor<2x4x3x3xf32>) -> (tensor<2x10xf32> {vx.name = "y"}) {
  %w = vx.constant dense<3.0> : tensor<10x4x1x1xf32> {names = ["w"]}
  %b = vx.constant dense<3.0> : tensor<10xf32> {names = ["b"]}
  %zero = vx.constant dense<0.0> : tensor<2x10x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<2x4x3x3xf32>, tensor<10x4x1x1xf32>
  %1 = vx.broadcast %b, [1] : tensor<10xf32> -> tensor<2x10x3x3xf32>
  %2 = vx.add %0, %1 : tensor<2x10x3x3xf32>, tensor<2x10x3x3xf32>
  %3 = vx.max %2, %zero : tensor<2x10x3x3xf32>, tensor<2x10x3x3xf32>
  %4 = vx.reduce sum %3 axes = [2, 3] : tensor<2x10x3x3xf32>
  %5 = vx.reshape %4 : tensor<2x10xf32> -> tensor<2x10x1x1xf32>
  %6 = vx.reshape %5 : tensor<2x10x1x1xf32> -> tensor<2x10xf32>
  return %6 : tensor<2x10xf32>
}
