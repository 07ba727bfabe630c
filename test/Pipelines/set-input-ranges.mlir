// RUN: vx-opt %s --vx-set-input-ranges | FileCheck %s

// One of several values in each place is an index where it comes from an input.
// CHECK-LABEL: func.func @chosen(
// CHECK-SAME:    tensor<3xi64> {vx.name = "i", vx.range = {lower = 0 : i64, upper = #vx.dim<10>}}
// CHECK-SAME:    tensor<3xi64> {vx.name = "j", vx.range = {lower = 0 : i64, upper = #vx.dim<10>}}
// CHECK-SAME:    tensor<3xi1> {vx.name = "c"})
func.func @chosen(%w: tensor<10x4xf32> {vx.name = "w"}, %i: tensor<3xi64> {vx.name = "i"}, %j: tensor<3xi64> {vx.name = "j"},
                  %c: tensor<3xi1> {vx.name = "c"}) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = vx.max %i, %j : tensor<3xi64>, tensor<3xi64>
  %1 = vx.gather %w, %0 axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  %2 = vx.select %c, %i, %j : tensor<3xi1>, tensor<3xi64>, tensor<3xi64>
  %3 = vx.gather %w, %2 axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  return %1, %3 : tensor<3x4xf32>, tensor<3x4xf32>
}

// What a comparison keeps from being an index is one value more, counted as the input's.
// CHECK-LABEL: func.func @ignored(
// CHECK-SAME:    tensor<3xi64> {vx.name = "ne", vx.range = {also = -100 : i64, lower = 0 : i64, upper = #vx.dim<10>}}
// CHECK-SAME:    tensor<3xi64> {vx.name = "eq", vx.range = {also = -101 : i64, lower = -1 : i64, upper = #vx.dim<9>}}
// CHECK-SAME:    tensor<3xi64> {vx.name = "kept", vx.range = {lower = 0 : i64, upper = #vx.dim<10>}}
// CHECK-SAME:    tensor<3xi64> {vx.name = "used", vx.range = {lower = 0 : i64, upper = #vx.dim<10>}}
func.func @ignored(%w: tensor<10x4xf32> {vx.name = "w"}, %ne: tensor<3xi64> {vx.name = "ne"}, %eq: tensor<3xi64> {vx.name = "eq"},
                   %kept: tensor<3xi64> {vx.name = "kept"}, %used: tensor<3xi64> {vx.name = "used"})
    -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %none = vx.constant dense<-100> : tensor<3xi64>
  %zero = vx.constant dense<0> : tensor<3xi64>
  %one = vx.constant dense<1> : tensor<3xi64>
  %0 = vx.compare ne %ne, %none : tensor<3xi64>, tensor<3xi64>
  %1 = vx.select %0, %ne, %zero : tensor<3xi1>, tensor<3xi64>, tensor<3xi64>
  %2 = vx.gather %w, %1 axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  %3 = vx.add %eq, %one : tensor<3xi64>, tensor<3xi64>
  %4 = vx.compare eq %3, %none : tensor<3xi64>, tensor<3xi64>
  %5 = vx.select %4, %zero, %3 : tensor<3xi1>, tensor<3xi64>, tensor<3xi64>
  %6 = vx.gather %w, %5 axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  %7 = vx.compare eq %kept, %none : tensor<3xi64>, tensor<3xi64>
  %8 = vx.select %7, %kept, %zero : tensor<3xi1>, tensor<3xi64>, tensor<3xi64>
  %9 = vx.gather %w, %8 axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  %10 = vx.compare ne %used, %none : tensor<3xi64>, tensor<3xi64>
  %11 = vx.select %10, %used, %zero : tensor<3xi1>, tensor<3xi64>, tensor<3xi64>
  %12 = vx.gather %w, %11 axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  %13 = vx.gather %w, %used axis = 0 : tensor<10x4xf32>, tensor<3xi64>
  return %2, %6, %9, %12, %13 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// An index may be moved, cast and counted from elsewhere; what is looked up is none.
// CHECK-LABEL: func.func @moved(
// CHECK-SAME:    tensor<2x3xi32> {vx.name = "i", vx.range = {lower = 1 : i64, upper = #vx.dim<8>}}
// CHECK-SAME:    tensor<7xi64> {vx.name = "t"})
func.func @moved(%i: tensor<2x3xi32> {vx.name = "i"}, %t: tensor<7xi64> {vx.name = "t"}) -> tensor<6xi64> {
  %0 = vx.reshape %i : tensor<2x3xi32> -> tensor<6xi32>
  %1 = vx.cast %0 : tensor<6xi32> -> tensor<6xi64>
  %one = vx.constant dense<1> : tensor<6xi64>
  %2 = vx.sub %1, %one : tensor<6xi64>, tensor<6xi64>
  %3 = vx.gather %t, %2 axis = 0 : tensor<7xi64>, tensor<6xi64>
  return %3 : tensor<6xi64>
}
