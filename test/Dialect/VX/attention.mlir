// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "past"
vx.symbol "step"
// CHECK-LABEL: func.func @attention(
func.func @attention(%q: tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>, %k: tensor<1x2x?x4xf32, #vx.enc<[1, 2, past + step, 4]>>,
                     %m: tensor<1x1x1x?xi1, #vx.enc<[1, 1, 1, past + step]>>, %b: tensor<1x8x1x1xf32>) -> tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>> {
  // CHECK: %[[R:.+]], %{{.+}} = vx.attention %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<1x1x1x?xi1, #vx.enc<[1, 1, 1, past + step]>>) bias(%{{.*}} : tensor<1x8x1x1xf32>)
  // CHECK-SAME: scale = 5.000000e-01 softcap = 3.000000e+01 causal window = 128 past = <past> zero_invalid
  // CHECK-SAME: dims = [0, 2, 1, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 2, 1, 3]
  // CHECK-SAME: -> tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>, tensor<1x8x?xf32, #vx.enc<[1, 8, step]>>
  %0, %1 = vx.attention %q, %k, %k mask(%m : tensor<1x1x1x?xi1, #vx.enc<[1, 1, 1, past + step]>>) bias(%b : tensor<1x8x1x1xf32>)
      scale = 0.5 softcap = 30.0 causal window = 128 past = <past> zero_invalid dims = [0, 2, 1, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 2, 1, 3]
      : tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>, tensor<1x2x?x4xf32, #vx.enc<[1, 2, past + step, 4]>>, tensor<1x2x?x4xf32, #vx.enc<[1, 2, past + step, 4]>>
      -> tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>, tensor<1x8x?xf32, #vx.enc<[1, 8, step]>>
  // CHECK: vx.attention %[[R]], %{{.*}}, %{{.*}} scale = 1.000000e+00 dims =
  %2 = vx.attention %0, %k, %k scale = 1.0 dims = [0, 2, 1, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 2, 1, 3]
      : tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>, tensor<1x2x?x4xf32, #vx.enc<[1, 2, past + step, 4]>>, tensor<1x2x?x4xf32, #vx.enc<[1, 2, past + step, 4]>>
      -> tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>
  return %2 : tensor<1x?x8x4xf32, #vx.enc<[1, step, 8, 4]>>
}

// -----

func.func @c1_rank(%q: tensor<2x3x4xf32>, %k: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects 'query' of rank 4, got 'tensor<2x3x4xf32>'}}
  %0 = vx.attention %q, %k, %k scale = 1.0 dims = [0, 1, 2] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c1_dims(%q: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects each dimension of 'key' once in 'key_dims': 0 to 3, got [0, 1, 1, 3]}}
  %0 = vx.attention %q, %q, %q scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 1, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c2_depth(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x5xf32>) {
  // expected-error @+1 {{'vx.attention' op expects 'query' and 'key' with the same depth, got 4 and 5}}
  %0 = vx.attention %q, %k, %k scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x5xf32>, tensor<1x2x3x5xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c2_result(%q: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects 'result' with the sizes of 'query' and the depth of 'value': 'tensor<1x3x2x4xf32>', got 'tensor<1x2x3x4xf32>'}}
  %0 = vx.attention %q, %q, %q scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 2, 1, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c3_heads(%q: tensor<1x4x3x4xf32>, %k: tensor<1x3x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects the heads of 'key' to divide those of 'query', got 3 and 4}}
  %0 = vx.attention %q, %k, %k scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x4x3x4xf32>, tensor<1x3x3x4xf32>, tensor<1x3x3x4xf32> -> tensor<1x4x3x4xf32>
  return
}

// -----

func.func @c4_mask(%q: tensor<1x2x3x4xf32>, %m: tensor<1x1x3x2xi1>) {
  // expected-error @+1 {{'vx.attention' op expects 'mask' with a size of 1 or that of the scores in each dimension: 'tensor<1x2x3x3xi1>', got 'tensor<1x1x3x2xi1>'}}
  %0 = vx.attention %q, %q, %q mask(%m : tensor<1x1x3x2xi1>) scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c4_bias(%q: tensor<1x2x3x4xf32>, %b: tensor<1x1x3x3xf64>) {
  // expected-error @+1 {{'vx.attention' op expects 'bias' with the element type of 'query': 'f32', got 'f64'}}
  %0 = vx.attention %q, %q, %q bias(%b : tensor<1x1x3x3xf64>) scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c5_scale(%q: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects 'scale' to be finite, got 0x7FF0000000000000 : f64}}
  %0 = vx.attention %q, %q, %q scale = 0x7FF0000000000000 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c5_softcap(%q: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects 'softcap' to be finite and above 0, got 0.000000e+00 : f64}}
  %0 = vx.attention %q, %q, %q scale = 1.0 softcap = 0.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c5_window(%q: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{'vx.attention' op expects 'window' to be at least 1, got 0}}
  %0 = vx.attention %q, %q, %q scale = 1.0 window = 0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @c6_log_sum_exp(%q: tensor<1x2x3x4xf16>) {
  // expected-error @+1 {{'vx.attention' op expects 'log_sum_exp' with one element for each query: 'tensor<1x2x3xf32>', got 'tensor<1x2x3xf16>'}}
  %0, %1 = vx.attention %q, %q, %q scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16> -> tensor<1x2x3x4xf16>, tensor<1x2x3xf16>
  return
}
