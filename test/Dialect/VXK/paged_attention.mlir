// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @paged_attention(
func.func @paged_attention(%q: tensor<?x8x64xf32>, %k: tensor<?x2x32x64xf32>, %t: tensor<2x?xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>, %r: memref<?x8x64xf16>) {
  // CHECK: vxk.paged_attention %{{.+}}, %{{.+}}, %{{.+}} table(%{{.+}}) starts(%{{.+}}) lengths(%{{.+}}) scale = 1.250000e-01 softcap = 5.000000e+01 window = 512 into %{{.+}} : tensor<?x8x64xf32>, tensor<?x2x32x64xf32>, tensor<?x2x32x64xf32>, tensor<2x?xi64>, tensor<3xi64>, tensor<2xi64> into memref<?x8x64xf16>
  vxk.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 softcap = 50.0 window = 512 into %r
      : tensor<?x8x64xf32>, tensor<?x2x32x64xf32>, tensor<?x2x32x64xf32>, tensor<2x?xi64>, tensor<3xi64>, tensor<2xi64> into memref<?x8x64xf16>
  return
}

// -----

func.func @c1_heads(%q: tensor<5x?x64xf32>, %k: tensor<?x2x32x64xf32>, %t: tensor<2x?xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>, %r: memref<5x?x64xf32>) {
  // expected-error @+1 {{expects a query of [tokens, heads, depth] and keys and values of [pages, key heads, places, depth], got 'tensor<5x?x64xf32>', 'tensor<?x2x32x64xf32>' and 'tensor<?x2x32x64xf32>'}}
  vxk.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 into %r
      : tensor<5x?x64xf32>, tensor<?x2x32x64xf32>, tensor<?x2x32x64xf32>, tensor<2x?xi64>, tensor<3xi64>, tensor<2xi64> into memref<5x?x64xf32>
  return
}
