// RUN: vx-opt %s --split-input-file --vx-record-constraints | FileCheck %s

// What an op takes for equal is stated before it, once; what two symbols share is not.
// CHECK-LABEL: func.func @fires(
// CHECK-NEXT:    vx.constraint equal <k>, <l> "sizes 'k' and 'l' equal"
// CHECK-NEXT:    vx.contract
// CHECK-NEXT:    vx.constraint broadcast <m>, <n> "sizes 'm' and 'n' equal or one of them 1"
// CHECK-NEXT:    vx.broadcast
// CHECK-NEXT:    vx.broadcast
// CHECK-NEXT:    vx.add
// CHECK-NEXT:    vx.constraint repeat <n>, <8> "size 'n' to be 1 or '8'"
// CHECK-NEXT:    vx.broadcast
// CHECK-NEXT:    vx.neg
// CHECK-NEXT:    return
vx.symbol "k"
vx.symbol "l"
vx.symbol "m"
vx.symbol "n"
func.func @fires(%a: tensor<2x?xf32, #vx.enc<[2, k]>>, %b: tensor<?x3xf32, #vx.enc<[l, 3]>>, %x: tensor<?xf32, #vx.enc<[n]>>,
                 %y: tensor<?xf32, #vx.enc<[m]>>)
    -> (tensor<2x3xf32>, tensor<?xf32, #vx.enc<[broadcast(m, n)]>>, tensor<8xf32>, tensor<?x3xf32, #vx.enc<[l, 3]>>) {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<2x?xf32, #vx.enc<[2, k]>>, tensor<?x3xf32, #vx.enc<[l, 3]>>
  %1 = vx.broadcast %x, [0] : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xf32, #vx.enc<[broadcast(m, n)]>>
  %2 = vx.broadcast %y, [0] : tensor<?xf32, #vx.enc<[m]>> -> tensor<?xf32, #vx.enc<[broadcast(m, n)]>>
  %3 = vx.add %1, %2 : tensor<?xf32, #vx.enc<[broadcast(m, n)]>>, tensor<?xf32, #vx.enc<[broadcast(m, n)]>>
  %4 = vx.broadcast %x, [0] : tensor<?xf32, #vx.enc<[n]>> -> tensor<8xf32>
  %5 = vx.neg %b : tensor<?x3xf32, #vx.enc<[l, 3]>>
  return %0, %3, %4, %5 : tensor<2x3xf32>, tensor<?xf32, #vx.enc<[broadcast(m, n)]>>, tensor<8xf32>, tensor<?x3xf32, #vx.enc<[l, 3]>>
}

// -----

// The ranges and multiples of symbols prove what the expressions alone do not; bounds that a program clamps prove a slice.
// CHECK-LABEL: func.func @proved(
// CHECK-NOT:     vx.constraint
// CHECK:         return
vx.symbol "n" min = 3 multiple = 4
vx.symbol "m"
func.func @proved(%a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<1x1x?xf32, #vx.enc<[1, 1, n]>>, %c: tensor<?xf32, #vx.enc<[m]>>)
    -> (tensor<?x4xf32, #vx.enc<[floordiv(n, 4), 4]>>, tensor<1x1x?xf32, #vx.enc<[1, 1, n - 2]>>, tensor<?xf32, #vx.enc<[min(m, 5)]>>,
        tensor<?xf32, #vx.enc<[ceildiv(m, 2)]>>) {
  %0 = vx.reshape %a : tensor<?xf32, #vx.enc<[n]>> -> tensor<?x4xf32, #vx.enc<[floordiv(n, 4), 4]>>
  %f = vx.constant dense<1.0> : tensor<1x1x3xf32>
  %1 = vx.conv %b, %f strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x?xf32, #vx.enc<[1, 1, n]>>, tensor<1x1x3xf32>
  %2 = "vx.cast"(%1) : (tensor<1x1x?xf32, #vx.enc<[1, 1, max(n - 2, 0)]>>) -> tensor<1x1x?xf32, #vx.enc<[1, 1, n - 2]>>
  %3 = vx.slice %c starts [#vx.dim<max(m - 5, 0)>] strides [1] : tensor<?xf32, #vx.enc<[m]>> -> tensor<?xf32, #vx.enc<[min(m, 5)]>>
  %4 = vx.slice %c starts [#vx.dim<0>] strides [2] : tensor<?xf32, #vx.enc<[m]>> -> tensor<?xf32, #vx.enc<[ceildiv(m, 2)]>>
  return %0, %2, %3, %4 : tensor<?x4xf32, #vx.enc<[floordiv(n, 4), 4]>>, tensor<1x1x?xf32, #vx.enc<[1, 1, n - 2]>>, tensor<?xf32, #vx.enc<[min(m, 5)]>>,
        tensor<?xf32, #vx.enc<[ceildiv(m, 2)]>>
}

// -----

// Inside of a region what is stated around it holds already; what a region states holds in it alone. Values that leave a region have the
// sizes of the results, and what is never true may never be reached.
// CHECK-LABEL: func.func @regions(
// CHECK:         vx.constraint equal <n>, <m>
// CHECK-NEXT:    vx.add
// CHECK-NEXT:    vx.if
// CHECK-NEXT:      vx.sub
// CHECK-NEXT:      vx.constraint equal <n + 1>, <4>
// CHECK-NEXT:      vx.cast
// CHECK-NEXT:      vx.constraint equal <n>, <k>
// CHECK-NEXT:      vx.yield
// CHECK-NEXT:    } else {
// CHECK-NEXT:      vx.constant
// CHECK-NEXT:      vx.constraint equal <m>, <k>
// CHECK-NEXT:      vx.yield
vx.symbol "k"
vx.symbol "m"
vx.symbol "n" max = 2
func.func @regions(%c: tensor<i1>, %a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<?xf32, #vx.enc<[m]>>, %d: tensor<?xf32, #vx.enc<[k]>>,
                   %e: tensor<?xf32, #vx.enc<[n + 1]>>)
    -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[k]>>, tensor<4xf16>) {
  %0 = vx.add %a, %b : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>
  %1:2 = vx.if %c -> tensor<?xf32, #vx.enc<[k]>>, tensor<4xf16> {
    %2 = vx.sub %a, %b : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>
    %3 = "vx.cast"(%e) : (tensor<?xf32, #vx.enc<[n + 1]>>) -> tensor<4xf16>
    vx.yield %2, %3 : tensor<?xf32, #vx.enc<[n]>>, tensor<4xf16>
  } else {
    %4 = vx.constant dense<1.0> : tensor<4xf16>
    vx.yield %b, %4 : tensor<?xf32, #vx.enc<[m]>>, tensor<4xf16>
  }
  return %0, %1#0, %1#1 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[k]>>, tensor<4xf16>
}

// -----

// A constraint that stands there goes when it is proved, and is not stated twice; what nothing reads wants nothing.
// CHECK-LABEL: func.func @stated(
// CHECK-NEXT:    vx.constraint equal <n>, <m> "'shape' to fit"
// CHECK-NEXT:    vx.add
// CHECK-NEXT:    return
vx.symbol "m"
vx.symbol "n"
func.func @stated(%a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<?xf32, #vx.enc<[m]>>, %c: tensor<5xf32>) -> tensor<?xf32, #vx.enc<[n]>> {
  vx.constraint equal <n>, <m> "'shape' to fit"
  vx.constraint at_least <n + 3>, <3> "nothing"
  vx.constraint equal <n>, <m> "the same"
  %0 = vx.add %a, %b : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>
  %1 = vx.broadcast %b, [0] : tensor<?xf32, #vx.enc<[m]>> -> tensor<5xf32>
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}

// -----

// No size is divided by 0, be it in a type or as a number.
// CHECK-LABEL: func.func @divided(
// CHECK-NEXT:    vx.constraint at_least <n>, <1> "size 'n' to be at least '1'"
// CHECK-NEXT:    vx.dim_value <mod(m, n)>
// CHECK-NEXT:    vx.constraint at_least <k>, <1> "size 'k' to be at least '1'"
// CHECK:         vx.reshape
// CHECK-NEXT:    vx.dim_value <floordiv(m, max(1, n))>
// CHECK-NEXT:    return
vx.symbol "k"
vx.symbol "m"
vx.symbol "n"
func.func @divided(%a: tensor<?xf32, #vx.enc<[m]>>, %b: tensor<?x?xf32, #vx.enc<[n, k]>>)
    -> (tensor<i64>, tensor<?x?xf32, #vx.enc<[k, floordiv(m, k)]>>, tensor<i64>) {
  %0 = vx.dim_value <mod(m, n)>
  %1 = vx.reshape %a : tensor<?xf32, #vx.enc<[m]>> -> tensor<?x?xf32, #vx.enc<[k, floordiv(m, k)]>>
  %2 = vx.dim_value <floordiv(m, max(n, 1))>
  return %0, %1, %2 : tensor<i64>, tensor<?x?xf32, #vx.enc<[k, floordiv(m, k)]>>, tensor<i64>
}

// -----

// That a loop's value keeps its size is stated before the loop, where the memory for it is made, if no symbol of the loop's is in it;
// what else the body relies on stands in it.
// CHECK-LABEL: func.func @carried(
// CHECK:         vx.constraint equal <broadcast(m, n)>, <n> "the state to keep its size"
// CHECK-NEXT:    vx.loop
// CHECK:           vx.constraint equal <i + 2>, <n>
// CHECK-NEXT:      vx.constraint equal <m>, <k>
vx.symbol data_dependent "i"
vx.symbol "k"
vx.symbol "m"
vx.symbol "n"
func.func @carried(%trips: tensor<i64>, %a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<?xf32, #vx.enc<[m]>>, %c: tensor<?xf32, #vx.enc<[k]>>)
    -> tensor<?xf32, #vx.enc<[n]>> {
  %0 = vx.loop "i" trip_count(%trips) inits(%a : tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  ^bb0(%state: tensor<?xf32, #vx.enc<[n]>>):
    %true = vx.constant dense<true> : tensor<i1>
    vx.constraint equal <i + 2>, <n> "as many places"
    %1 = vx.add %b, %c : tensor<?xf32, #vx.enc<[m]>>, tensor<?xf32, #vx.enc<[k]>>
    %2 = vx.broadcast %1, [0] : tensor<?xf32, #vx.enc<[m]>> -> tensor<?xf32, #vx.enc<[broadcast(m, n)]>>
    %3 = vx.broadcast %state, [0] : tensor<?xf32, #vx.enc<[n]>> -> tensor<?xf32, #vx.enc<[broadcast(m, n)]>>
    %4 = vx.mul %2, %3 : tensor<?xf32, #vx.enc<[broadcast(m, n)]>>, tensor<?xf32, #vx.enc<[broadcast(m, n)]>>
    vx.constraint equal <broadcast(m, n)>, <n> "the state to keep its size"
    %5 = vx.reshape %4 : tensor<?xf32, #vx.enc<[broadcast(m, n)]>> -> tensor<?xf32, #vx.enc<[n]>>
    vx.yield %true, %5 : tensor<i1>, tensor<?xf32, #vx.enc<[n]>>
  }
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}
