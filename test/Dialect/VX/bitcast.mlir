// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @bitcast(
func.func @bitcast(%a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<3xi1>, %c: tensor<3xui4>) {
  // CHECK: vx.bitcast %{{.*}} : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xui32, #vx.enc<[n]>>
  %0 = vx.bitcast %a : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xui32, #vx.enc<[n]>>
  // CHECK: vx.bitcast %{{.*}} : tensor<3xi1> -> tensor<3xf8E5M2>
  %1 = vx.bitcast %b : tensor<3xi1> -> tensor<3xf8E5M2>
  // CHECK: vx.bitcast %{{.*}} : tensor<3xui4> -> tensor<3xf4E2M1FN>
  %2 = vx.bitcast %c : tensor<3xui4> -> tensor<3xf4E2M1FN>
  return
}

// -----

func.func @c1_shapes(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.bitcast' op expects operands and results of one shape: 'tensor<2xf32>', got 'tensor<3xi32>'}}
  %0 = vx.bitcast %a : tensor<2xf32> -> tensor<3xi32>
  return
}

// -----

func.func @c2_bits(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.bitcast' op expects elements of as many bits on both sides: 32, got 64 of 'tensor<2xi64>'}}
  %0 = vx.bitcast %a : tensor<2xf32> -> tensor<2xi64>
  return
}

// -----

func.func @c2_strings(%a: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.bitcast' op expects numbers or bools on both sides, got 'tensor<2x!vx.string>' to 'tensor<2xf32>'}}
  %0 = vx.bitcast %a : tensor<2x!vx.string> -> tensor<2xf32>
  return
}
