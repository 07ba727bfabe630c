// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// One operand: the type is the operand's, with its symbols.
// CHECK-LABEL: func.func @unary(
func.func @unary(%a: tensor<?x3xf32, #vx.enc<[n, 3]>>, %i: tensor<4xi32>, %b: tensor<2xi1>) {
  // CHECK: vx.neg %{{.*}} : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %0 = vx.neg %a : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.abs %{{.*}} : tensor<4xi32>
  %1 = vx.abs %i : tensor<4xi32>
  // CHECK: vx.sign
  %2 = vx.sign %0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.ceil
  %3 = vx.ceil %2 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.floor
  %4 = vx.floor %3 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.round
  %5 = vx.round %4 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.sqrt
  %6 = vx.sqrt %5 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.exp
  %7 = vx.exp %6 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.log
  %8 = vx.log %7 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.sin
  %9 = vx.sin %8 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.cos
  %10 = vx.cos %9 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.tanh
  %11 = vx.tanh %10 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.erf
  %12 = vx.erf %11 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.asin
  %17 = vx.asin %12 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.acos
  %18 = vx.acos %17 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.atan
  %19 = vx.atan %18 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.not %{{.*}} : tensor<2xi1>
  %13 = vx.not %b : tensor<2xi1>
  // CHECK: vx.is_nan %{{.*}} : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %14 = vx.is_nan %12 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: vx.is_inf
  %15 = vx.is_inf %12 : tensor<?x3xf32, #vx.enc<[n, 3]>>
  // The predicates give bools of the operand's shape.
  // CHECK: vx.and %{{.*}} : tensor<?x3xi1, #vx.enc<[n, 3]>>, tensor<?x3xi1, #vx.enc<[n, 3]>>
  %16 = vx.and %14, %15 : tensor<?x3xi1, #vx.enc<[n, 3]>>, tensor<?x3xi1, #vx.enc<[n, 3]>>
  return
}

// -----

// Two operands, of every class of element types.
// CHECK-LABEL: func.func @binary(
func.func @binary(%f: tensor<2xf16>, %g: tensor<2xf8E4M3FN>, %i: tensor<2xui8>, %p: tensor<2xi4>, %b: tensor<2xi1>) {
  // CHECK: vx.add %{{.*}} : tensor<2xf16>, tensor<2xf16>
  %0 = vx.add %f, %f : tensor<2xf16>, tensor<2xf16>
  // CHECK: vx.sub %{{.*}} : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>
  %1 = vx.sub %g, %g : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>
  // CHECK: vx.mul %{{.*}} : tensor<2xui8>, tensor<2xui8>
  %2 = vx.mul %i, %i : tensor<2xui8>, tensor<2xui8>
  // CHECK: vx.div %{{.*}} : tensor<2xi4>, tensor<2xi4>
  %3 = vx.div %p, %p : tensor<2xi4>, tensor<2xi4>
  // CHECK: vx.rem
  %4 = vx.rem %p, %p : tensor<2xi4>, tensor<2xi4>
  // CHECK: vx.pow
  %5 = vx.pow %f, %f : tensor<2xf16>, tensor<2xf16>
  // CHECK: vx.max
  %6 = vx.max %f, %f : tensor<2xf16>, tensor<2xf16>
  // CHECK: vx.min
  %7 = vx.min %f, %f : tensor<2xf16>, tensor<2xf16>
  // CHECK: vx.or
  %8 = vx.or %b, %b : tensor<2xi1>, tensor<2xi1>
  // CHECK: vx.xor
  %9 = vx.xor %i, %i : tensor<2xui8>, tensor<2xui8>
  return
}

// -----

// The result's sizes are the best known of the operands': a constant before an expression before nothing.
// CHECK-LABEL: func.func @best_known_shape(
func.func @best_known_shape(%a: tensor<?x?xf32>, %b: tensor<?x3xf32, #vx.enc<[n, 3]>>, %c: tensor<2x?xf32>) {
  // CHECK: %[[AB:.+]] = vx.add
  %0 = vx.add %a, %b : tensor<?x?xf32>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  // CHECK: %[[ABC:.+]] = vx.add %[[AB]], %{{.*}} : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<2x?xf32>
  %1 = vx.add %0, %c : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<2x?xf32>
  // CHECK: vx.neg %[[ABC]] : tensor<2x3xf32>
  %2 = vx.neg %1 : tensor<2x3xf32>
  return
}

// -----

func.func @c1_different_sizes(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expects operands of one shape: 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = vx.add %a, %b : tensor<2xf32>, tensor<3xf32>
  return
}

// -----

func.func @c1_different_ranks(%a: tensor<2xf32>, %b: tensor<2x1xf32>) {
  // expected-error @+1 {{expects operands of one shape: 'tensor<2xf32>', got 'tensor<2x1xf32>'}}
  %0 = vx.mul %a, %b : tensor<2xf32>, tensor<2x1xf32>
  return
}

// -----

// Sizes that differ by a constant are never equal, whatever the symbol is.
func.func @c1_expressions_that_differ(%a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<?xf32, #vx.enc<[n + 1]>>) {
  // expected-error @+1 {{expects operands of one shape: 'tensor<?xf32, #vx.enc<[n]>>', got 'tensor<?xf32, #vx.enc<[n + 1]>>'}}
  %0 = vx.sub %a, %b : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n + 1]>>
  return
}

// -----

func.func @c1_different_element_types(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @+1 {{'vx.add' op failed to verify that all of {lhs, rhs} have same element type}}
  %0 = vx.add %a, %b : tensor<2xf32>, tensor<2xi32>
  return
}

// -----

func.func @bools_do_not_add(%a: tensor<2xi1>) {
  // expected-error @+1 {{'vx.add' op operand #0 must be ranked tensor of number values, but got 'tensor<2xi1>'}}
  %0 = vx.add %a, %a : tensor<2xi1>, tensor<2xi1>
  return
}
