// RUN: vx-opt %s --vx-expand-training-forms | FileCheck %s
// RUN: vx-opt %s --vx-expand-training-forms='ops=dropout' | FileCheck %s --check-prefix=SOME
// RUN: not vx-opt %s --vx-expand-training-forms='ops=softmax' 2>&1 | FileCheck %s --check-prefix=NAME

// NAME: error: vx-expand-training-forms expects dropout or batch_norm in 'ops', got 'softmax'

vx.symbol "n"
!x = tensor<?x3x2xf32, #vx.enc<[n, 3, 2]>>
!m = tensor<?x3x2xi1, #vx.enc<[n, 3, 2]>>
!c = tensor<3xf32>

// CHECK-LABEL: func.func @elsewhere(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<?x3x2xf32
// CHECK:         %[[TRUE:.+]] = vx.constant dense<true>
// CHECK:         %[[MASK:.+]] = vx.broadcast %[[TRUE]]
// CHECK:         return %[[X]], %[[MASK]]
func.func @elsewhere(%x: !x) -> (!x, !m) {
  %0, %1 = vx.dropout %x ratio = 0.5 : !x
  return %0, %1 : !x, !m
}

// A fourth of 2^32 is the limit, 4/3 the scale.
// CHECK-LABEL: func.func @in_a_step(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<?x3x2xf32, #vx.enc<[n, 3, 2]>>, %[[KEY:.+]]: tensor<i64>
// CHECK:         %[[BITS:.+]] = vx.random_bits %[[KEY]] number = 5 : tensor<?x3x2xui32, #vx.enc<[n, 3, 2]>>
// CHECK:         vx.constant dense<1073741824> : tensor<ui32>
// CHECK:         %[[MASK:.+]] = vx.compare ge %[[BITS]]
// CHECK:         vx.constant dense<1.33333337> : tensor<f32>
// CHECK:         %[[SCALED:.+]] = vx.mul %[[X]]
// CHECK:         %[[Y:.+]] = vx.select %[[MASK]], %[[SCALED]]
// CHECK:         return %[[Y]], %[[MASK]]
func.func @in_a_step(%x: !x, %key: tensor<i64>) -> (!x, !m) {
  %0, %1 = vx.dropout %x key(%key) ratio = 0.25 number = 5 : !x
  return %0, %1 : !x, !m
}

// CHECK-LABEL: func.func @frozen(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<?x3x2xf32, #vx.enc<[n, 3, 2]>>, %{{.+}}, %{{.+}}, %[[M:[^:]+]]: tensor<3xf32>, %[[V:[^:]+]]: tensor<3xf32>
// CHECK-NOT:     vx.reduce
// CHECK:         return %{{.+}}, %[[M]], %[[V]]
// SOME-LABEL: func.func @frozen(
// SOME:         vx.batch_norm
func.func @frozen(%x: !x, %s: !c, %b: !c, %m: !c, %v: !c) -> (!x, !c, !c) {
  %0:3 = vx.batch_norm %x, %s, %b, %m, %v epsilon = 0.1 momentum = 0.5 : !x, !c, !c, !c, !c
  return %0#0, %0#1, %0#2 : !x, !c, !c
}

// Where there may be no elements, the statistics stay what they are then.
// CHECK-LABEL: func.func @of_batch(
// CHECK:         vx.reduce sum %{{.+}} axes = [0, 2]
// CHECK:         vx.reduce sum %{{.+}} axes = [0, 2]
// CHECK:         vx.sqrt
// CHECK:         vx.dim_value <n * 2>
// CHECK:         vx.select
// CHECK:         vx.select
func.func @of_batch(%x: !x, %s: !c, %b: !c, %m: !c, %v: !c) -> (!x, !c, !c) {
  %0:3 = vx.batch_norm %x, %s, %b, %m, %v epsilon = 0.1 momentum = 0.5 of_batch : !x, !c, !c, !c, !c
  return %0#0, %0#1, %0#2 : !x, !c, !c
}
