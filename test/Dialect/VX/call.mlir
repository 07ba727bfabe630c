// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main(
vx.symbol "n"
func.func private @f(%x: tensor<?x2xf32, #vx.enc<[n, 2]>>, %y: tensor<i64>) -> tensor<?x2xf32, #vx.enc<[n, 2]>> {
  return %x : tensor<?x2xf32, #vx.enc<[n, 2]>>
}
func.func @main(%x: tensor<3x2xf32>, %y: tensor<i64>) -> tensor<3x2xf32> {
  // CHECK: vx.call @f(%{{.+}}, %{{.+}}) : (tensor<3x2xf32>, tensor<i64>) -> tensor<3x2xf32>
  %0 = vx.call @f(%x, %y) : (tensor<3x2xf32>, tensor<i64>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @none(%x: tensor<2xf32>) {
  // expected-error @+1 {{expects 'other' to be a function of the module, with a body, got none}}
  %0 = vx.call @other(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @counts(%x: tensor<2xf32>) {
  // expected-error @+1 {{expects as many operands as 'f' has: 1, got 2}}
  %0 = vx.call @f(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @types(%x: tensor<2xf32>) {
  // expected-error @+1 {{expects result 0 of the type that 'f' has: 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = vx.call @f(%x) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
