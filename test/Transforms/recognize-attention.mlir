// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-recognize-attention),canonicalize,cse)" | FileCheck %s
// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-recognize-attention{strict-math}),canonicalize,cse)" | FileCheck %s --check-prefix=STRICT
// STRICT-NOT: vx.attention
vx.symbol "batch"
vx.symbol "length"
vx.symbol "step"
vx.symbol "past"

// Heads are split and joined by views, both operands are scaled, keys are left out by a bias, and rows of NaN are 0.
// CHECK-LABEL: func.func @exported(
// CHECK-SAME:    %[[Q:[^ :]+]]: {{[^,]+, [^)]+}}, %[[K:[^ :]+]]: {{[^,]+, [^)]+}}, %[[V:[^ :]+]]: {{[^,]+, [^)]+}}, %[[B:[^ :]+]]: tensor<?x1x1x?xf32
// CHECK-DAG:     %[[QH:.+]] = vx.reshape %[[Q]] : {{.+}} -> tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
// CHECK-DAG:     %[[KH:.+]] = vx.reshape %[[K]]
// CHECK-DAG:     %[[VH:.+]] = vx.reshape %[[V]]
// CHECK:         %[[R:.+]] = vx.attention %[[QH]], %[[KH]], %[[VH]] bias(%[[B]] : {{.+}}) scale = 1.250000e-01 zero_invalid dims = [0, 2, 1, 3] x [0, 2, 1, 3] x [0, 2, 1, 3] -> [0, 2, 1, 3]
// CHECK-NEXT:    %[[J:.+]] = vx.reshape %[[R]] : {{.+}} -> tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>
// CHECK-NEXT:    return %[[J]]
func.func @exported(%q: tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>, %k: tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>,
                    %v: tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>, %b: tensor<?x1x1x?xf32, #vx.enc<[batch, 1, 1, length]>>) -> tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>> {
  %half = vx.constant dense<0.5> : tensor<f32>
  %quarter = vx.constant dense<0.25> : tensor<f32>
  %zero = vx.constant dense<0.0> : tensor<f32>
  %q0 = vx.reshape %q : tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>> -> tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %q1 = vx.transpose %q0, [0, 2, 1, 3] : tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %c0 = vx.broadcast %half, [] : tensor<f32> -> tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>>
  %q2 = vx.mul %q1, %c0 : tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>>, tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>>
  %k0 = vx.reshape %k : tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>> -> tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %k1 = vx.transpose %k0, [0, 2, 3, 1] : tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %c1 = vx.broadcast %quarter, [] : tensor<f32> -> tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>>
  %k2 = vx.mul %c1, %k1 : tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>>, tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>>
  %v0 = vx.reshape %v : tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>> -> tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %v1 = vx.transpose %v0, [0, 2, 1, 3] : tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>>
  %x0 = vx.contract %q2, %k2 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>>, tensor<?x12x64x?xf32, #vx.enc<[batch, 12, 64, length]>>
  %b0 = vx.broadcast %b, [0, 1, 2, 3] : tensor<?x1x1x?xf32, #vx.enc<[batch, 1, 1, length]>> -> tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>
  %x1 = vx.add %x0, %b0 : tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>, tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>
  %p0 = vx.softmax %x1 axis = 3 : tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>
  %n = vx.is_nan %p0 : tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>
  %z = vx.broadcast %zero, [] : tensor<f32> -> tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>
  %p1 = vx.select %n, %z, %p0 : tensor<?x12x?x?xi1, #vx.enc<[batch, 12, length, length]>>, tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>, tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>
  %r0 = vx.contract %p1, %v1 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<?x12x?x?xf32, #vx.enc<[batch, 12, length, length]>>, tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>>
  %r1 = vx.transpose %r0, [0, 2, 1, 3] : tensor<?x12x?x64xf32, #vx.enc<[batch, 12, length, 64]>>
  %r2 = vx.reshape %r1 : tensor<?x?x12x64xf32, #vx.enc<[batch, length, 12, 64]>> -> tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>
  return %r2 : tensor<?x?x768xf32, #vx.enc<[batch, length, 768]>>
}

// Keys behind the query's place are left out, and each head of the keys serves four of the query.
// CHECK-LABEL: func.func @grouped_causal(
// CHECK-SAME:    %[[Q:[^ :]+]]: {{[^,]+, [^)]+}}, %[[K:[^ :]+]]: tensor<1x2x?x32xf32, #vx.enc<[1, 2, past + step, 32]>>)
// CHECK-NEXT:    %[[R:.+]] = vx.attention %[[Q]], %[[K]], %[[K]] scale = 5.000000e-01 causal past = <past> dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
// CHECK-NEXT:    return %[[R]]
func.func @grouped_causal(%q: tensor<1x8x?x32xf32, #vx.enc<[1, 8, step, 32]>>, %k: tensor<1x2x?x32xf32, #vx.enc<[1, 2, past + step, 32]>>) -> tensor<1x8x?x32xf32, #vx.enc<[1, 8, step, 32]>> {
  %half = vx.constant dense<0.5> : tensor<f32>
  %low = vx.constant dense<0xFF800000> : tensor<f32>
  %t = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[past + step]>>
  %tw = vx.broadcast %t, [1] : tensor<?xi64, #vx.enc<[past + step]>> -> tensor<?x?xi64, #vx.enc<[step, past + step]>>
  %s = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[step]>>
  %p = vx.dim_value <past>
  %pw = vx.broadcast %p, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[step]>>
  %sp = vx.add %s, %pw : tensor<?xi64, #vx.enc<[step]>>, tensor<?xi64, #vx.enc<[step]>>
  %sw = vx.broadcast %sp, [0] : tensor<?xi64, #vx.enc<[step]>> -> tensor<?x?xi64, #vx.enc<[step, past + step]>>
  %le = vx.compare le %tw, %sw : tensor<?x?xi64, #vx.enc<[step, past + step]>>, tensor<?x?xi64, #vx.enc<[step, past + step]>>
  %not = vx.not %le : tensor<?x?xi1, #vx.enc<[step, past + step]>>
  %k0 = vx.broadcast %k, [0, 1, 3, 4] : tensor<1x2x?x32xf32, #vx.enc<[1, 2, past + step, 32]>> -> tensor<1x2x4x?x32xf32, #vx.enc<[1, 2, 4, past + step, 32]>>
  %k1 = vx.reshape %k0 : tensor<1x2x4x?x32xf32, #vx.enc<[1, 2, 4, past + step, 32]>> -> tensor<1x8x?x32xf32, #vx.enc<[1, 8, past + step, 32]>>
  %x0 = vx.contract %q, %k1 batch = [0, 1] x [0, 1] contracting = [3] x [3] : tensor<1x8x?x32xf32, #vx.enc<[1, 8, step, 32]>>, tensor<1x8x?x32xf32, #vx.enc<[1, 8, past + step, 32]>>
  %c = vx.broadcast %half, [] : tensor<f32> -> tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>
  %x1 = vx.mul %x0, %c : tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>, tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>
  %m = vx.broadcast %not, [2, 3] : tensor<?x?xi1, #vx.enc<[step, past + step]>> -> tensor<1x8x?x?xi1, #vx.enc<[1, 8, step, past + step]>>
  %l = vx.broadcast %low, [] : tensor<f32> -> tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>
  %x2 = vx.select %m, %l, %x1 : tensor<1x8x?x?xi1, #vx.enc<[1, 8, step, past + step]>>, tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>, tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>
  %w = vx.softmax %x2 axis = 3 : tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>
  %r = vx.contract %w, %k1 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<1x8x?x?xf32, #vx.enc<[1, 8, step, past + step]>>, tensor<1x8x?x32xf32, #vx.enc<[1, 8, past + step, 32]>>
  return %r : tensor<1x8x?x32xf32, #vx.enc<[1, 8, step, 32]>>
}

// The scores are a result of their own.
// CHECK-LABEL: func.func @scores_are_read(
// CHECK-NOT:     vx.attention
// CHECK:         return
func.func @scores_are_read(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x5xf32>) {
  %x = vx.contract %q, %k batch = [0] x [0] contracting = [2] x [2] : tensor<2x3x8xf32>, tensor<2x5x8xf32>
  %p = vx.softmax %x axis = 2 : tensor<2x3x5xf32>
  %r = vx.contract %p, %k batch = [0] x [0] contracting = [2] x [1] : tensor<2x3x5xf32>, tensor<2x5x8xf32>
  return %r, %x : tensor<2x3x8xf32>, tensor<2x3x5xf32>
}

// Without heads there is one.
// CHECK-LABEL: func.func @no_heads(
// CHECK:         vx.attention %{{.+}}, %{{.+}}, %{{.+}} scale = 1.000000e+00 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<2x1x3x8xf32>, tensor<2x1x5x8xf32>, tensor<2x1x5x8xf32> -> tensor<2x1x3x8xf32>
func.func @no_heads(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>) -> tensor<2x3x8xf32> {
  %x = vx.contract %q, %k batch = [0] x [0] contracting = [2] x [2] : tensor<2x3x8xf32>, tensor<2x5x8xf32>
  %p = vx.softmax %x axis = 2 : tensor<2x3x5xf32>
  %r = vx.contract %p, %k batch = [0] x [0] contracting = [2] x [1] : tensor<2x3x5xf32>, tensor<2x5x8xf32>
  return %r : tensor<2x3x8xf32>
}

// Keys whose repeated heads go through a transposition of matrices, with heads and batch as one dimension in between.
// CHECK-LABEL: func.func @grouped_through_views(
// CHECK-SAME:    %[[Q:[^ :]+]]: {{[^,]+, [^)]+}}, %[[K:[^ :]+]]: tensor<?x2x?x16xf32, #vx.enc<[b, 2, n, 16]>>)
// CHECK-NEXT:    %[[R:.+]] = vx.attention %[[Q]], %[[K]], %[[K]] scale = 1.000000e+00 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
// CHECK-NEXT:    return %[[R]]
func.func @grouped_through_views(%q: tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>, %k: tensor<?x2x?x16xf32, #vx.enc<[b, 2, n, 16]>>) -> tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>> {
  %k0 = vx.broadcast %k, [0, 1, 3, 4] : tensor<?x2x?x16xf32, #vx.enc<[b, 2, n, 16]>> -> tensor<?x2x3x?x16xf32, #vx.enc<[b, 2, 3, n, 16]>>
  %k1 = vx.reshape %k0 : tensor<?x2x3x?x16xf32, #vx.enc<[b, 2, 3, n, 16]>> -> tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
  %k2 = vx.reshape %k1 : tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>> -> tensor<?x?x16xf32, #vx.enc<[b * 6, n, 16]>>
  %k3 = vx.transpose %k2, [0, 2, 1] : tensor<?x?x16xf32, #vx.enc<[b * 6, n, 16]>>
  %k4 = vx.reshape %k3 : tensor<?x16x?xf32, #vx.enc<[b * 6, 16, n]>> -> tensor<?x6x16x?xf32, #vx.enc<[b, 6, 16, n]>>
  %x = vx.contract %q, %k4 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>, tensor<?x6x16x?xf32, #vx.enc<[b, 6, 16, n]>>
  %w = vx.softmax %x axis = 3 : tensor<?x6x?x?xf32, #vx.enc<[b, 6, n, n]>>
  %r = vx.contract %w, %k1 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<?x6x?x?xf32, #vx.enc<[b, 6, n, n]>>, tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
  return %r : tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
}

// Values are repeated as heads are, keys in another order: both are taken as they are.
// CHECK-LABEL: func.func @differently_repeated(
// CHECK:         vx.attention %{{.+}}, %{{.+}}, %{{.+}} scale = 1.000000e+00 {{.*}} : tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>, tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>, tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
func.func @differently_repeated(%q: tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>, %k: tensor<?x2x?x16xf32, #vx.enc<[b, 2, n, 16]>>) -> tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>> {
  %k0 = vx.broadcast %k, [0, 2, 3, 4] : tensor<?x2x?x16xf32, #vx.enc<[b, 2, n, 16]>> -> tensor<?x3x2x?x16xf32, #vx.enc<[b, 3, 2, n, 16]>>
  %k1 = vx.reshape %k0 : tensor<?x3x2x?x16xf32, #vx.enc<[b, 3, 2, n, 16]>> -> tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
  %v0 = vx.broadcast %k, [0, 1, 3, 4] : tensor<?x2x?x16xf32, #vx.enc<[b, 2, n, 16]>> -> tensor<?x2x3x?x16xf32, #vx.enc<[b, 2, 3, n, 16]>>
  %v1 = vx.reshape %v0 : tensor<?x2x3x?x16xf32, #vx.enc<[b, 2, 3, n, 16]>> -> tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
  %x = vx.contract %q, %k1 batch = [0, 1] x [0, 1] contracting = [3] x [3] : tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>, tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
  %w = vx.softmax %x axis = 3 : tensor<?x6x?x?xf32, #vx.enc<[b, 6, n, n]>>
  %r = vx.contract %w, %v1 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<?x6x?x?xf32, #vx.enc<[b, 6, n, n]>>, tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
  return %r : tensor<?x6x?x16xf32, #vx.enc<[b, 6, n, 16]>>
}
