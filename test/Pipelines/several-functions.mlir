// RUN: vx-compile %s --target=cpu --stop-after=graph -o - | FileCheck %s

// What is constant in one function is nothing to the next one, whose ops may lie where the first one's were.

// CHECK-LABEL: func.func @first(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<33x1xi32>, %[[I:[^ :]+]]: tensor<i32>
// CHECK:         %[[WIDE:.+]] = vx.max %[[X]]
// CHECK:         %[[R:.+]] = vx.min %[[WIDE]]
// CHECK:         %[[ONE:.+]] = vx.broadcast %[[I]]
// CHECK:         vx.max %[[ONE]]
// CHECK:         %[[S:.+]] = vx.broadcast
// CHECK-NEXT:    return %[[R]], %[[S]]
func.func @first(%x: tensor<33x1xi32>, %i: tensor<i32>) -> (tensor<33x1xi32>, tensor<33x1xi32>) {
  %a = vx.constant dense<-1000> : tensor<i32>
  %b = vx.constant dense<1000> : tensor<i32>
  %low = vx.broadcast %a, [] : tensor<i32> -> tensor<33x1xi32>
  %high = vx.broadcast %b, [] : tensor<i32> -> tensor<33x1xi32>
  %0 = vx.max %x, %low : tensor<33x1xi32>, tensor<33x1xi32>
  %1 = vx.min %0, %high : tensor<33x1xi32>, tensor<33x1xi32>
  %2 = vx.broadcast %i, [] : tensor<i32> -> tensor<33x1xi32>
  %3 = vx.max %2, %low : tensor<33x1xi32>, tensor<33x1xi32>
  %4 = vx.min %3, %high : tensor<33x1xi32>, tensor<33x1xi32>
  return %1, %4 : tensor<33x1xi32>, tensor<33x1xi32>
}

// CHECK-LABEL: func.func @second(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<33x1xi32>, %[[I:[^ :]+]]: tensor<i32>
// CHECK:         %[[WIDE:.+]] = vx.max %[[X]]
// CHECK:         %[[R:.+]] = vx.min %[[WIDE]]
// CHECK:         %[[ONE:.+]] = vx.broadcast %[[I]]
// CHECK:         vx.max %[[ONE]]
// CHECK:         %[[S:.+]] = vx.broadcast
// CHECK-NEXT:    return %[[R]], %[[S]]
func.func @second(%x: tensor<33x1xi32>, %i: tensor<i32>) -> (tensor<33x1xi32>, tensor<33x1xi32>) {
  %a = vx.constant dense<-1000> : tensor<i32>
  %b = vx.constant dense<1000> : tensor<i32>
  %low = vx.broadcast %a, [] : tensor<i32> -> tensor<33x1xi32>
  %high = vx.broadcast %b, [] : tensor<i32> -> tensor<33x1xi32>
  %0 = vx.max %x, %low : tensor<33x1xi32>, tensor<33x1xi32>
  %1 = vx.min %0, %high : tensor<33x1xi32>, tensor<33x1xi32>
  %2 = vx.broadcast %i, [] : tensor<i32> -> tensor<33x1xi32>
  %3 = vx.max %2, %low : tensor<33x1xi32>, tensor<33x1xi32>
  %4 = vx.min %3, %high : tensor<33x1xi32>, tensor<33x1xi32>
  return %1, %4 : tensor<33x1xi32>, tensor<33x1xi32>
}

// CHECK-LABEL: func.func @third(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<33x1xi32>, %[[I:[^ :]+]]: tensor<i32>
// CHECK:         %[[WIDE:.+]] = vx.max %[[X]]
// CHECK:         %[[R:.+]] = vx.min %[[WIDE]]
// CHECK:         %[[ONE:.+]] = vx.broadcast %[[I]]
// CHECK:         vx.max %[[ONE]]
// CHECK:         %[[S:.+]] = vx.broadcast
// CHECK-NEXT:    return %[[R]], %[[S]]
func.func @third(%x: tensor<33x1xi32>, %i: tensor<i32>) -> (tensor<33x1xi32>, tensor<33x1xi32>) {
  %a = vx.constant dense<-1000> : tensor<i32>
  %b = vx.constant dense<1000> : tensor<i32>
  %low = vx.broadcast %a, [] : tensor<i32> -> tensor<33x1xi32>
  %high = vx.broadcast %b, [] : tensor<i32> -> tensor<33x1xi32>
  %0 = vx.max %x, %low : tensor<33x1xi32>, tensor<33x1xi32>
  %1 = vx.min %0, %high : tensor<33x1xi32>, tensor<33x1xi32>
  %2 = vx.broadcast %i, [] : tensor<i32> -> tensor<33x1xi32>
  %3 = vx.max %2, %low : tensor<33x1xi32>, tensor<33x1xi32>
  %4 = vx.min %3, %high : tensor<33x1xi32>, tensor<33x1xi32>
  return %1, %4 : tensor<33x1xi32>, tensor<33x1xi32>
}
