// RUN: vx-opt %s --split-input-file --vx-expand-math | FileCheck %s

// Scalars and vectors of any shape become arithmetic; no other math op is left.
// CHECK-LABEL: func.func @every_function(
// CHECK-NOT:     math.{{exp|log|sin|cos|tan|erf|pow|rsqrt}}
// CHECK:         return
func.func @every_function(%x: f32, %v: vector<2x3x16xf32>, %d: f64) -> (f32, vector<2x3x16xf32>, f64) {
  %0 = math.exp %x : f32
  %1 = math.exp2 %0 : f32
  %2 = math.expm1 %1 : f32
  %3 = math.log %2 : f32
  %4 = math.log2 %3 : f32
  %5 = math.log1p %4 : f32
  %6 = math.log10 %5 : f32
  %7 = math.sin %6 : f32
  %8 = math.cos %7 : f32
  %9 = math.tan %8 : f32
  %10 = math.sinh %9 : f32
  %11 = math.cosh %10 : f32
  %12 = math.rsqrt %11 : f32
  %13 = math.erf %v : vector<2x3x16xf32>
  %14 = math.tanh %13 : vector<2x3x16xf32>
  %15 = math.powf %14, %v : vector<2x3x16xf32>
  %16 = math.exp %d : f64
  return %12, %15, %16 : f32, vector<2x3x16xf32>, f64
}

// -----

// Rounding to a multiple of ln 2, a polynomial, and a power of two in two steps.
// CHECK-LABEL: func.func @exp(
// CHECK-SAME:    %[[X:.+]]: vector<4xf32>
// CHECK:         arith.select
// CHECK:         %[[SHIFTED:.+]] = math.fma
// CHECK:         arith.bitcast %[[SHIFTED]] : vector<4xf32> to vector<4xi32>
// CHECK-COUNT-8: math.fma
// CHECK:         arith.shrsi
// CHECK:         %[[ONCE:.+]] = arith.mulf
// CHECK:         %[[TWICE:.+]] = arith.mulf %[[ONCE]]
// CHECK:         return %[[TWICE]]
func.func @exp(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.exp %x : vector<4xf32>
  return %0 : vector<4xf32>
}

// -----

// Narrow types are computed in f32.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME:    %[[X:.+]]: bf16
// CHECK:         arith.extf %[[X]] : bf16 to f32
// CHECK:         %[[R:.+]] = arith.truncf %{{.+}} : f32 to bf16
// CHECK:         return %[[R]]
func.func @narrow(%x: bf16) -> bf16 {
  %0 = math.tanh %x : bf16
  return %0 : bf16
}

// -----

// What a target rounds correctly stays.
// CHECK-LABEL: func.func @stays(
// CHECK-NEXT:    math.sqrt
// CHECK-NEXT:    math.floor
// CHECK-NEXT:    math.fma
// CHECK-NEXT:    math.roundeven
// CHECK-NEXT:    return
func.func @stays(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = math.sqrt %x : tensor<?xf32>
  %1 = math.floor %0 : tensor<?xf32>
  %2 = math.fma %0, %1, %x : tensor<?xf32>
  %3 = math.roundeven %2 : tensor<?xf32>
  return %3 : tensor<?xf32>
}
