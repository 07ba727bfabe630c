// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @pad(
func.func @pad(%a: tensor<?x4xf32, #vx.enc<[n, 4]>>, %v: tensor<f32>) -> tensor<?x3xf32, #vx.enc<[n + p, 3]>> {
  // CHECK: vx.pad %{{.*}}, %{{.*}} low [#vx.dim<p>, #vx.dim<-2>] high [#vx.dim<0>, #vx.dim<1>] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<f32>
  %0 = vx.pad %a, %v low [#vx.dim<p>, #vx.dim<-2>] high [#vx.dim<0>, #vx.dim<1>] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<f32>
  return %0 : tensor<?x3xf32, #vx.enc<[n + p, 3]>>
}

// -----

func.func @c1_count(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'vx.pad' op expects one amount for each of the 1 dimensions of 'input', got 0 low and 1 high}}
  %0 = vx.pad %a, %v low [] high [#vx.dim<0>] : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @c2_negative(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'vx.pad' op expects dimension 0 of the result to be at least 0, got -1}}
  %0 = vx.pad %a, %v low [#vx.dim<-5>] high [#vx.dim<0>] : tensor<4xf32>, tensor<f32>
  return
}
