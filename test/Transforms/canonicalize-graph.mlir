// RUN: vx-opt %s --split-input-file --vx-canonicalize-graph | FileCheck %s

// CHECK-LABEL: func.func @fires(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<2x3xf32>
// CHECK-NOT:     vx.
// CHECK:         return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @fires(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %one = vx.constant dense<1.0> : tensor<f32>
  %ones = vx.broadcast %one, [] : tensor<f32> -> tensor<2x3xf32>
  %zeros = vx.constant dense<0.0> : tensor<2x3xf32>
  %minus = vx.constant dense<-0.0> : tensor<2x3xf32>
  %0 = vx.mul %ones, %x : tensor<2x3xf32>, tensor<2x3xf32>
  %1 = vx.div %x, %ones : tensor<2x3xf32>, tensor<2x3xf32>
  %2 = vx.sub %x, %zeros : tensor<2x3xf32>, tensor<2x3xf32>
  %3 = vx.add %x, %minus : tensor<2x3xf32>, tensor<2x3xf32>
  %4 = vx.transpose %x, [1, 0] : tensor<2x3xf32>
  %5 = vx.transpose %4, [1, 0] : tensor<3x2xf32>
  %6 = vx.neg %x : tensor<2x3xf32>
  %7 = vx.neg %6 : tensor<2x3xf32>
  %8 = vx.cast %x : tensor<2x3xf32> -> tensor<2x3xf64>
  %9 = vx.cast %8 : tensor<2x3xf64> -> tensor<2x3xf32>
  %true = vx.constant dense<true> : tensor<2x3xi1>
  %10 = vx.select %true, %x, %zeros : tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>
  return %0, %1, %2, %3, %5, %7, %9, %10 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @integers(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<2xi32>
// CHECK-NOT:     vx.
// CHECK:         return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @integers(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %zero = vx.constant dense<0> : tensor<2xi32>
  %0 = vx.add %zero, %x : tensor<2xi32>, tensor<2xi32>
  %1 = vx.or %x, %zero : tensor<2xi32>, tensor<2xi32>
  %2 = vx.not %x : tensor<2xi32>
  %3 = vx.not %2 : tensor<2xi32>
  %v = vx.constant dense<7> : tensor<i32>
  %4 = vx.pad %x, %v low [#vx.dim<0>] high [#vx.dim<0>] : tensor<2xi32>, tensor<i32>
  %ones = vx.constant dense<-1> : tensor<4xi32>
  %some = vx.slice %ones starts [#vx.dim<1>] strides [1] : tensor<4xi32> -> tensor<2xi32>
  %5 = vx.and %some, %x : tensor<2xi32>, tensor<2xi32>
  %6 = vx.reduce sum %x axes = [] : tensor<2xi32>
  return %0, %1, %3, %4, %5, %6 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}

// -----

// All bits of an integer are neutral for `and`, not the lowest one alone; what one side of a difference or quotient does, the other does not.
// CHECK-LABEL: func.func @must_not_integers(
// CHECK:         vx.and
// CHECK:         vx.sub
// CHECK:         vx.div
func.func @must_not_integers(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %zero = vx.constant dense<0> : tensor<2xi32>
  %one = vx.constant dense<1> : tensor<2xi32>
  %0 = vx.and %x, %one : tensor<2xi32>, tensor<2xi32>
  %1 = vx.sub %zero, %x : tensor<2xi32>, tensor<2xi32>
  %2 = vx.div %one, %x : tensor<2xi32>, tensor<2xi32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}

// -----

// x + 0 turns -0 into +0, x - (-0) too, x * 0 loses NaN, 1 / x is not x, and f16 does not hold what f32 does.
// CHECK-LABEL: func.func @must_not(
// CHECK:         vx.add
// CHECK:         vx.sub
// CHECK:         vx.mul
// CHECK:         vx.div
// CHECK:         vx.cast
// CHECK:         vx.cast
func.func @must_not(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = vx.constant dense<0.0> : tensor<2xf32>
  %minus = vx.constant dense<-0.0> : tensor<2xf32>
  %one = vx.constant dense<1.0> : tensor<2xf32>
  %0 = vx.add %x, %zero : tensor<2xf32>, tensor<2xf32>
  %1 = vx.sub %x, %minus : tensor<2xf32>, tensor<2xf32>
  %2 = vx.mul %x, %zero : tensor<2xf32>, tensor<2xf32>
  %3 = vx.div %one, %x : tensor<2xf32>, tensor<2xf32>
  %4 = vx.cast %x : tensor<2xf32> -> tensor<2xf16>
  %5 = vx.cast %4 : tensor<2xf16> -> tensor<2xf32>
  return %0, %1, %2, %3, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<?x3xf32, #vx.enc<[n, 3]>>
// CHECK-NEXT:    %[[T:.+]] = vx.transpose %[[X]], [1, 0]
// CHECK-NEXT:    %[[B:.+]] = vx.broadcast %[[X]], [0, 2] : tensor<?x3xf32, #vx.enc<[n, 3]>> -> tensor<?x4x3xf32, #vx.enc<[n, 4, 3]>>
// CHECK-NEXT:    return %[[T]], %[[B]]
vx.symbol "n"
func.func @dynamic(%x: tensor<?x3xf32, #vx.enc<[n, 3]>>) -> (tensor<3x?xf32, #vx.enc<[3, n]>>, tensor<?x4x3xf32, #vx.enc<[n, 4, 3]>>) {
  %0 = vx.transpose %x, [1, 0] : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %1 = vx.transpose %0, [1, 0] : tensor<3x?xf32, #vx.enc<[3, n]>>
  %2 = vx.transpose %1, [1, 0] : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %3 = vx.broadcast %x, [0, 2] : tensor<?x3xf32, #vx.enc<[n, 3]>> -> tensor<?x1x3xf32, #vx.enc<[n, 1, 3]>>
  %4 = vx.broadcast %3, [0, 1, 2] : tensor<?x1x3xf32, #vx.enc<[n, 1, 3]>> -> tensor<?x4x3xf32, #vx.enc<[n, 4, 3]>>
  return %2, %4 : tensor<3x?xf32, #vx.enc<[3, n]>>, tensor<?x4x3xf32, #vx.enc<[n, 4, 3]>>
}

// Places count from 0 to the size less 1, so that both comparisons are known, and the choice with them.
// CHECK-LABEL: func.func @known_comparisons(
// CHECK:         %[[I:.+]] = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
// CHECK-NEXT:    return %[[I]]
func.func @known_comparisons() -> tensor<?xi64, #vx.enc<[n]>> {
  %zero = vx.constant dense<0> : tensor<i64>
  %zeros = vx.broadcast %zero, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %size = vx.dim_value <n>
  %sizes = vx.broadcast %size, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %i = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %negative = vx.compare lt %i, %zeros : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %inside = vx.compare gt %sizes, %i : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %0 = vx.select %negative, %sizes, %i : tensor<?xi1, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %1 = vx.select %inside, %0, %zeros : tensor<?xi1, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  return %1 : tensor<?xi64, #vx.enc<[n]>>
}

// The last place may be any.
// CHECK-LABEL: func.func @unknown_comparison(
// CHECK:         vx.compare lt
func.func @unknown_comparison() -> tensor<?xi1, #vx.enc<[n]>> {
  %size = vx.dim_value <m>
  %sizes = vx.broadcast %size, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %i = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %0 = vx.compare lt %i, %sizes : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  return %0 : tensor<?xi1, #vx.enc<[n]>>
}

// One place may be read in any direction.
// CHECK-LABEL: func.func @slice_of_one_place(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<4x1xf32>
// CHECK-NEXT:    %[[TURNED:.+]] = vx.slice %[[X]] starts [#vx.dim<3>, #vx.dim<0>] strides [-1, 1] :
// CHECK-NEXT:    return %[[X]], %[[TURNED]]
func.func @slice_of_one_place(%x: tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
  %0 = vx.slice %x starts [#vx.dim<0>, #vx.dim<0>] strides [1, -1] : tensor<4x1xf32> -> tensor<4x1xf32>
  %1 = vx.slice %x starts [#vx.dim<3>, #vx.dim<0>] strides [-1, -2] : tensor<4x1xf32> -> tensor<4x1xf32>
  return %0, %1 : tensor<4x1xf32>, tensor<4x1xf32>
}

// -----

// A loop carries what something reads, or what that needs: here `a` and what it is made of, `b`, and not `c`, which counts for itself.
// CHECK-LABEL: func.func @unread_carried(
// CHECK-SAME:    %[[N:.+]]: tensor<i64>, %[[X:.+]]: tensor<2xf32>
// CHECK:         %[[R:.+]]:2 = vx.loop "i" trip_count(%[[N]]) inits(%[[X]], %[[X]] :
// CHECK-NEXT:    ^bb0(%[[A:.+]]: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>):
// CHECK-NOT:       vx.neg
// CHECK-NOT:       vx.sequence
// CHECK:         return %[[R]]#0
vx.symbol data_dependent "i"
func.func @unread_carried(%n: tensor<i64>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %e = vx.sequence_construct : () -> !vx.sequence<tensor<2xf32>>
  %r:4 = vx.loop "i" trip_count(%n) inits(%x, %x, %x, %e : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, !vx.sequence<tensor<2xf32>>)
      -> tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, !vx.sequence<tensor<2xf32>> {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %s: !vx.sequence<tensor<2xf32>>):
    %0 = vx.add %a, %b : tensor<2xf32>, tensor<2xf32>
    %1 = vx.mul %b, %b : tensor<2xf32>, tensor<2xf32>
    %2 = vx.neg %c : tensor<2xf32>
    %3 = vx.sequence_insert %s, %0 : !vx.sequence<tensor<2xf32>>, tensor<2xf32> -> !vx.sequence<tensor<2xf32>>
    %t = vx.constant dense<true> : tensor<i1>
    vx.yield %t, %0, %1, %2, %3 : tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, !vx.sequence<tensor<2xf32>>
  }
  return %r#0 : tensor<2xf32>
}

// -----

// What ends the loop, what has an effect, and what binds a size is read.
// CHECK-LABEL: func.func @must_not_unread_carried(
// CHECK:         vx.loop "i" inits(%{{.+}}, %{{.+}}, %{{.+}} :
vx.symbol data_dependent "i"
vx.symbol data_dependent "m"
vx.symbol data_dependent "k"
vx.variable @v : tensor<2xf32>
func.func @must_not_unread_carried(%n: tensor<i64>, %x: tensor<2xf32>) {
  %r:3 = vx.loop "i" inits(%n, %x, %x : tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> tensor<i64>, tensor<2xf32>, tensor<?xf32, #vx.enc<[k]>> {
  ^bb0(%a: tensor<i64>, %b: tensor<2xf32>, %c: tensor<?xf32, #vx.enc<[m]>>):
    %one = vx.constant dense<1> : tensor<i64>
    %0 = vx.sub %a, %one : tensor<i64>, tensor<i64>
    %1 = vx.compare gt %0, %one : tensor<i64>, tensor<i64>
    %2 = vx.neg %b : tensor<2xf32>
    vx.variable_store %2, @v : tensor<2xf32>
    %3 = vx.concat axis = 0 (%c, %b) : tensor<?xf32, #vx.enc<[m]>>, tensor<2xf32>
    vx.yield %1, %0, %2, %3 : tensor<i1>, tensor<i64>, tensor<2xf32>, tensor<?xf32, #vx.enc<[m + 2]>>
  }
  return
}
