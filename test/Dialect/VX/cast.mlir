// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @cast(
func.func @cast(%a: tensor<?xf32, #vx.enc<[n]>>) {
  // CHECK: vx.cast %{{.*}} : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xui4, #vx.enc<[n]>>
  %0 = vx.cast %a : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xui4, #vx.enc<[n]>>
  return
}

// -----

func.func @c1_shapes(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.cast' op expects operands and results of one shape: 'tensor<2xf32>', got 'tensor<3xi32>'}}
  %0 = vx.cast %a : tensor<2xf32> -> tensor<3xi32>
  return
}

// -----

func.func @c2_strings(%a: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.cast' op expects numbers or bools on both sides, got 'tensor<2x!vx.string>' to 'tensor<2xf32>'}}
  %0 = vx.cast %a : tensor<2x!vx.string> -> tensor<2xf32>
  return
}
