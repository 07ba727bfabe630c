// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol "n"
vx.symbol "p"
vx.symbol "s"
vx.symbol "m"
// CHECK-LABEL: func.func @paged_attention(
func.func @paged_attention(%q: tensor<?x8x64xf32, #vx.enc<[n, 8, 64]>>, %k: tensor<?x2x32x64xf16, #vx.enc<[p, 2, 32, 64]>>, %t: tensor<?x?xi64, #vx.enc<[s, m]>>,
                           %s: tensor<?xi64, #vx.enc<[s + 1]>>, %l: tensor<?xi64, #vx.enc<[s]>>) -> tensor<?x8x64xf32, #vx.enc<[n, 8, 64]>> {
  // CHECK: vx.paged_attention %{{.+}}, %{{.+}}, %{{.+}} table(%{{.+}}) starts(%{{.+}}) lengths(%{{.+}}) scale = 1.250000e-01 softcap = 5.000000e+01 window = 512 : tensor<?x8x64xf32, #vx.enc<[n, 8, 64]>>, tensor<?x2x32x64xf16, #vx.enc<[p, 2, 32, 64]>>, tensor<?x?xi64, #vx.enc<[s, m]>>
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 softcap = 50.0 window = 512
      : tensor<?x8x64xf32, #vx.enc<[n, 8, 64]>>, tensor<?x2x32x64xf16, #vx.enc<[p, 2, 32, 64]>>, tensor<?x?xi64, #vx.enc<[s, m]>>, tensor<?xi64, #vx.enc<[s + 1]>>, tensor<?xi64, #vx.enc<[s]>>
  return %0 : tensor<?x8x64xf32, #vx.enc<[n, 8, 64]>>
}

// -----

func.func @c1_rank(%q: tensor<5x512xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x512xf32>' and 'tensor<9x2x32x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x512xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_pages_rank(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x2x32xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_depth(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x32xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x2x32x32xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32x32xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_groups(%q: tensor<5x8x64xf32>, %k: tensor<9x3x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x3x32x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x3x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_no_key_heads(%q: tensor<5x8x64xf32>, %k: tensor<9x0x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x0x32x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x0x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_no_places(%q: tensor<5x8x64xf32>, %k: tensor<9x2x0x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x2x0x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x0x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_unknown_places(%q: tensor<5x8x64xf32>, %k: tensor<9x2x?x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x2x?x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x?x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_unknown_heads(%q: tensor<5x?x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x?x64xf32>' and 'tensor<9x2x32x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x?x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c2_rank(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<8xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'table' of [sequences, most pages], 'starts' of [sequences + 1] and 'lengths' of [sequences], got 'tensor<8xi64>', 'tensor<3xi64>' and 'tensor<2xi64>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<8xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c2_table(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<3x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'table' of [sequences, most pages], 'starts' of [sequences + 1] and 'lengths' of [sequences], got 'tensor<3x4xi64>', 'tensor<3xi64>' and 'tensor<2xi64>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<3x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c2_starts(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<2xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'table' of [sequences, most pages], 'starts' of [sequences + 1] and 'lengths' of [sequences], got 'tensor<2x4xi64>', 'tensor<2xi64>' and 'tensor<2xi64>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>
  return
}

// -----

func.func @c2_lengths_rank(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2x1xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'table' of [sequences, most pages], 'starts' of [sequences + 1] and 'lengths' of [sequences], got 'tensor<2x4xi64>', 'tensor<3xi64>' and 'tensor<2x1xi64>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2x1xi64>
  return
}

// -----

func.func @c3_scale(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'scale' to be finite, got 0x7FF0000000000000 : f64}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0x7FF0000000000000 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c3_softcap(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'softcap' to be finite and above 0, got 0.000000e+00 : f64}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 softcap = 0.0 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c3_window(%q: tensor<5x8x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'window' to be at least 1, got 0}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 window = 0 : tensor<5x8x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_no_depth(%q: tensor<5x8x0xf32>, %k: tensor<9x2x32x0xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x0xf32>' and 'tensor<9x2x32x0xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x0xf32>, tensor<9x2x32x0xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_no_heads(%q: tensor<5x0x64xf32>, %k: tensor<9x2x32x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x0x64xf32>' and 'tensor<9x2x32x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x0x64xf32>, tensor<9x2x32x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_deep(%q: tensor<5x8x4097xf32>, %k: tensor<9x2x32x4097xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x4097xf32>' and 'tensor<9x2x32x4097xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x4097xf32>, tensor<9x2x32x4097xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}

// -----

func.func @c1_many_places(%q: tensor<5x8x64xf32>, %k: tensor<9x2x1025x64xf32>, %t: tensor<2x4xi64>, %s: tensor<3xi64>, %l: tensor<2xi64>) {
  // expected-error @+1 {{'vx.paged_attention' op expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, places, depth], with key heads that divide the heads, the same depth of at most 4096 and at most 1024 places, got 'tensor<5x8x64xf32>' and 'tensor<9x2x1025x64xf32>'}}
  %0 = vx.paged_attention %q, %k, %k table(%t) starts(%s) lengths(%l) scale = 0.125 : tensor<5x8x64xf32>, tensor<9x2x1025x64xf32>, tensor<2x4xi64>, tensor<3xi64>, tensor<2xi64>
  return
}
