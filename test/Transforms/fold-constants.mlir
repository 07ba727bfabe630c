// RUN: vx-opt %s --split-input-file --vx-fold-constants="max-elements=16 max-growth=4 max-inline=4" | FileCheck %s

// A chain of constants is one constant; nothing of the chain is left.
// CHECK-LABEL: func.func @fires(
// CHECK-NEXT:    %[[C:.+]] = vx.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    return %[[C]]
func.func @fires() -> tensor<2xf32> {
  %a = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = vx.constant dense<1.0> : tensor<f32>
  %0 = vx.broadcast %b, [] : tensor<f32> -> tensor<2xf32>
  %1 = vx.add %a, %a : tensor<2xf32>, tensor<2xf32>
  %2 = vx.add %1, %0 : tensor<2xf32>, tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// Resources fold too, into a resource when the result is large.
// CHECK-LABEL: func.func @resource(
// CHECK-NEXT:    %[[C:.+]] = vx.constant dense_resource<folded_{{[0-9a-f]+}}> : tensor<2x4xi8>
// CHECK-NEXT:    return %[[C]]
// CHECK:       folded_{{[0-9a-f]+}}: "0x{{[0-9A-F]+}}0105020603070408"
func.func @resource() -> tensor<2x4xi8> {
  %a = vx.constant dense_resource<w> : tensor<4x2xi8>
  %b = vx.constant dense<[[0, 1], [0, 1], [0, 1], [0, 1]]> : tensor<4x2xi8>
  %r = vx.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi8>
  %0 = vx.reshape %r : tensor<8xi8> -> tensor<2x4xi8>
  %z = vx.sub %a, %a : tensor<4x2xi8>, tensor<4x2xi8>
  %1 = vx.transpose %0, [1, 0] : tensor<2x4xi8>
  %2 = vx.add %z, %1 : tensor<4x2xi8>, tensor<4x2xi8>
  %3 = vx.reshape %2 : tensor<4x2xi8> -> tensor<2x4xi8>
  return %3 : tensor<2x4xi8>
}

{-# dialect_resources: { builtin: { w: "0x010000000101010101010101" } } #-}

// -----

// Repeating is left to the device, but readers fold through it.
// CHECK-LABEL: func.func @through_a_broadcast(
// CHECK-DAG:     %[[ONE:.+]] = vx.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[B:.+]] = vx.broadcast %[[ONE]], [] : tensor<f32> -> tensor<8xf32>
// CHECK-DAG:     %[[SUM:.+]] = vx.constant dense<8.000000e+00> : tensor<f32>
// CHECK:         return %[[B]], %[[SUM]]
func.func @through_a_broadcast() -> (tensor<8xf32>, tensor<f32>) {
  %a = vx.constant dense<1.0> : tensor<f32>
  %0 = vx.broadcast %a, [] : tensor<f32> -> tensor<8xf32>
  %1 = vx.reduce sum %0 axes = [0] : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<f32>
}

// -----

// A result that is larger than what it is made of stays an op, and so does one above the limit.
// CHECK-LABEL: func.func @must_not(
// CHECK:         vx.concat
// CHECK:         vx.contract
func.func @must_not() -> (tensor<18xi8>, tensor<3x3xf32>) {
  %a = vx.constant dense<1> : tensor<9xi8>
  %0 = vx.concat axis = 0 (%a, %a) : tensor<9xi8>, tensor<9xi8>
  %b = vx.constant dense<1.0> : tensor<3xf32>
  %1 = vx.contract %b, %b batch = [] x [] contracting = [] x [] : tensor<3xf32>, tensor<3xf32>
  return %0, %1 : tensor<18xi8>, tensor<3x3xf32>
}

// -----

// What fails at run time is left to fail at run time, where it names its node.
// CHECK-LABEL: func.func @must_not_fault(
// CHECK:         vx.gather
func.func @must_not_fault() -> tensor<1xf32> {
  %a = vx.constant dense<1.0> : tensor<3xf32>
  %i = vx.constant dense<7> : tensor<1xi64>
  %0 = vx.gather %a, %i axis = 0 : tensor<3xf32>, tensor<1xi64>
  return %0 : tensor<1xf32>
}

// -----

// A size that the call decides is not known.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         vx.iota
// CHECK:         vx.dim_value <n>
// CHECK:         vx.slice
vx.symbol "n"
func.func @dynamic(%x: tensor<?xf32, #vx.enc<[n]>>) -> (tensor<?xi64, #vx.enc<[n]>>, tensor<i64>, tensor<2xf32>) {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %1 = vx.dim_value <n>
  %a = vx.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %2 = vx.slice %a starts [#vx.dim<n>] strides [1] : tensor<3xf32> -> tensor<2xf32>
  return %0, %1, %2 : tensor<?xi64, #vx.enc<[n]>>, tensor<i64>, tensor<2xf32>
}

// -----

// What binds a symbol stays when nothing reads its result: the size is read.
// CHECK-LABEL: func.func @must_not_unbind(
// CHECK:         vx.if
// CHECK:         vx.sequence_at
// CHECK:         vx.loop
// CHECK:         vx.dim_value <y>
vx.symbol "n"
vx.symbol data_dependent "y"
vx.symbol data_dependent "z"
vx.symbol data_dependent "k"
vx.symbol data_dependent "i"
func.func @must_not_unbind(%x: tensor<?xf32, #vx.enc<[n]>>, %c: tensor<i1>, %p: tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = vx.if %c -> tensor<?xf32, #vx.enc<[y]>> {
    %a = vx.concat axis = 0 (%x, %x) : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
    vx.yield %a : tensor<?xf32, #vx.enc<[n * 2]>>
  } else {
    vx.yield %x : tensor<?xf32, #vx.enc<[n]>>
  }
  %s = vx.sequence_construct %x : (tensor<?xf32, #vx.enc<[n]>>) -> !vx.sequence<tensor<?xf32>>
  %1 = vx.sequence_at %s, %p : !vx.sequence<tensor<?xf32>> -> tensor<?xf32, #vx.enc<[z]>>
  %2 = vx.loop "i" trip_count(%p) inits(%x : tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[k]>> {
  ^bb0(%v: tensor<?xf32, #vx.enc<[k]>>):
    %w = vx.concat axis = 0 (%v, %v) : tensor<?xf32, #vx.enc<[k]>>, tensor<?xf32, #vx.enc<[k]>>
    vx.yield %c, %w : tensor<i1>, tensor<?xf32, #vx.enc<[k * 2]>>
  }
  %3 = vx.dim_value <y>
  %4 = vx.dim_value <z>
  %5 = vx.dim_value <k>
  return %3, %4, %5 : tensor<i64>, tensor<i64>, tensor<i64>
}

// -----

// A folded value tells of what, by the names of the initializers; a reshaped one is still that initializer.
// CHECK-LABEL: func.func @names(
// CHECK-DAG:     %[[SUM:.+]] = vx.constant dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32> {names = ["folded from a, b"]}
// CHECK-DAG:     %[[TWICE:.+]] = vx.constant dense<[8.000000e+00, 1.200000e+01]> : tensor<2xf32> {names = ["folded from c, d"]}
// CHECK-DAG:     %[[MANY:.+]] = vx.constant dense<[1.500000e+01, 2.000000e+01]> : tensor<2xf32> {names = ["folded from a, b, c, d and 1 more"]}
// CHECK-DAG:     %[[SAME:.+]] = vx.constant {{.+}} : tensor<1x2xf32> {names = ["a"]}
// CHECK-DAG:     %[[NUMBER:.+]] = vx.constant dense<9.000000e+00> : tensor<f32>{{$}}
// CHECK:         return %[[SUM]], %[[TWICE]], %[[MANY]], %[[SAME]], %[[NUMBER]]
func.func @names() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<f32>) {
  %a = vx.constant dense<[1.0, 2.0]> : tensor<2xf32> {names = ["a"]}
  %b = vx.constant dense<[3.0, 4.0]> : tensor<2xf32> {names = ["b"]}
  %c = vx.constant dense<[4.0, 6.0]> : tensor<2xf32> {names = ["folded from c, d"]}
  %e = vx.constant dense<[7.0, 9.0]> : tensor<2xf32> {names = ["folded from c", "d", "e"]}
  %0 = vx.add %a, %b : tensor<2xf32>, tensor<2xf32>
  %1 = vx.add %c, %c : tensor<2xf32>, tensor<2xf32>
  %2 = vx.add %a, %e : tensor<2xf32>, tensor<2xf32>
  %3 = vx.add %2, %e : tensor<2xf32>, tensor<2xf32>
  %4 = vx.mul %0, %b : tensor<2xf32>, tensor<2xf32>
  %5 = vx.sub %4, %4 : tensor<2xf32>, tensor<2xf32>
  %6 = vx.add %5, %3 : tensor<2xf32>, tensor<2xf32>
  %7 = vx.reshape %a : tensor<2xf32> -> tensor<1x2xf32>
  %n = vx.constant dense<3.0> : tensor<f32> {names = ["n"]}
  %8 = vx.mul %n, %n : tensor<f32>, tensor<f32>
  return %0, %1, %6, %7, %8 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<f32>
}

// -----

// Equal constants are one, with all their names; a value of another type is another.
// CHECK-LABEL: func.func @equal(
// CHECK-NEXT:    %[[C:.+]] = vx.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> {names = ["a", "b"]}
// CHECK-NEXT:    %[[OTHER:.+]] = vx.constant dense<{{.+}}> : tensor<1x2xf32> {names = ["c"]}
// CHECK-NEXT:    %[[SUM:.+]] = vx.add %[[C]], %arg0
// CHECK:         vx.if
// CHECK-NEXT:      vx.add %arg0, %[[C]]
// CHECK:         return %[[SUM]], {{.+}}, %[[OTHER]]
func.func @equal(%x: tensor<2xf32>, %p: tensor<i1>) -> (tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>) {
  %a = vx.constant dense<[1.0, 2.0]> : tensor<2xf32> {names = ["a"]}
  %c = vx.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32> {names = ["c"]}
  %0 = vx.add %a, %x : tensor<2xf32>, tensor<2xf32>
  %1 = vx.if %p -> tensor<2xf32> {
    %b = vx.constant dense<[1.0, 2.0]> : tensor<2xf32> {names = ["b", "a"]}
    %2 = vx.add %x, %b : tensor<2xf32>, tensor<2xf32>
    vx.yield %2 : tensor<2xf32>
  } else {
    vx.yield %x : tensor<2xf32>
  }
  return %0, %1, %c : tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>
}

// -----

// A constant that only stands in a branch does not come to dominate the other one by itself.
// CHECK-LABEL: func.func @equal_in_branches(
// CHECK-NEXT:    %[[C:.+]] = vx.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> {names = ["a", "b"]}
// CHECK:         vx.yield %[[C]]
// CHECK:         vx.yield %[[C]]
func.func @equal_in_branches(%p: tensor<i1>) -> tensor<2xf32> {
  %0 = vx.if %p -> tensor<2xf32> {
    %a = vx.constant dense<[1.0, 2.0]> : tensor<2xf32> {names = ["a"]}
    vx.yield %a : tensor<2xf32>
  } else {
    %b = vx.constant dense<[1.0, 2.0]> : tensor<2xf32> {names = ["b"]}
    vx.yield %b : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// A region that sees nothing outside keeps constants of its own.
// CHECK-LABEL: func.func @isolated(
func.func @isolated(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %[[TWO:.+]] = vx.constant dense<[2.000000e+00, 3.000000e+00]>
  %two = vx.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = vx.mul %x, %two : tensor<2xf32>, tensor<2xf32>
  // CHECK: vx.custom_gradient
  %1 = vx.custom_gradient (%0) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    // CHECK: %[[INSIDE:.+]] = vx.constant dense<[2.000000e+00, 3.000000e+00]>
    // CHECK: vx.add %{{.+}}, %[[INSIDE]]
    %2 = vx.constant dense<[2.0, 3.0]> : tensor<2xf32>
    %3 = vx.add %a, %2 : tensor<2xf32>, tensor<2xf32>
    vx.yield %3 : tensor<2xf32>
  } pullback {
  ^bb0(%a: tensor<2xf32>, %r: tensor<2xf32>, %g: tensor<2xf32>):
    vx.yield %g : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// -----

// What two functions fold alike is one resource.
// CHECK-LABEL: func.func @first(
// CHECK-NEXT:    vx.constant dense_resource<[[$R:folded_[0-9a-f]+]]> : tensor<8xi8>
// CHECK-LABEL: func.func @second(
// CHECK-NEXT:    vx.constant dense_resource<[[$R]]> : tensor<8xi8>
func.func @first() -> tensor<8xi8> {
  %a = vx.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi8>
  %0 = vx.add %a, %a : tensor<8xi8>, tensor<8xi8>
  return %0 : tensor<8xi8>
}
func.func @second() -> tensor<8xi8> {
  %a = vx.constant dense<[2, 4, 6, 8, 10, 12, 14, 16]> : tensor<8xi8>
  %b = vx.constant dense<0> : tensor<8xi8>
  %0 = vx.add %a, %b : tensor<8xi8>, tensor<8xi8>
  return %0 : tensor<8xi8>
}

// -----

// Integers that a product, a convolution or a gather reads as floats stay integers, through scales and reshapes too.
// CHECK-LABEL: func.func @low_bits(
// CHECK-DAG:     vx.cast %{{.+}} : tensor<2x2xi8> -> tensor<2x2xf32>
// CHECK-DAG:     vx.cast %{{.+}} : tensor<3x2xi4> -> tensor<3x2xf32>
// CHECK-DAG:     vx.cast %{{.+}} : tensor<1x2x1x2xui8> -> tensor<1x2x1x2xf32>
// CHECK-NOT:     vx.cast
// CHECK:         return
func.func @low_bits(%x: tensor<1x2xf32>, %i: tensor<1xi64>, %y: tensor<1x2x1x2xf32>, %z: tensor<2xf32>)
    -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x1x1x1xf32>, tensor<2xf32>, tensor<1x2xf32>) {
  %a = vx.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %b = vx.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi4>
  %c = vx.constant dense<[[[[1, 2]], [[3, 4]]]]> : tensor<1x2x1x2xui8>
  %d = vx.constant dense<[7, 8]> : tensor<2xi8>
  %e = vx.constant dense<[[9, 8], [7, 6]]> : tensor<2x2xi16>
  %af = vx.cast %a : tensor<2x2xi8> -> tensor<2x2xf32>
  %two = vx.constant dense<2.0> : tensor<2x2xf32>
  %as = vx.mul %af, %two : tensor<2x2xf32>, tensor<2x2xf32>
  %at = vx.transpose %as, [1, 0] : tensor<2x2xf32>
  %0 = vx.contract %x, %at batch = [] x [] contracting = [1] x [0] : tensor<1x2xf32>, tensor<2x2xf32>
  %bf = vx.cast %b : tensor<3x2xi4> -> tensor<3x2xf32>
  %1 = vx.gather %bf, %i axis = 0 : tensor<3x2xf32>, tensor<1xi64>
  %cf = vx.cast %c : tensor<1x2x1x2xui8> -> tensor<1x2x1x2xf32>
  %2 = vx.conv %y, %cf strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>
  // No product reads these, and those have more bits.
  %df = vx.cast %d : tensor<2xi8> -> tensor<2xf32>
  %3 = vx.add %z, %df : tensor<2xf32>, tensor<2xf32>
  %ef = vx.cast %e : tensor<2x2xi16> -> tensor<2x2xf32>
  %4 = vx.contract %x, %ef batch = [] x [] contracting = [1] x [0] : tensor<1x2xf32>, tensor<2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x1x1x1xf32>, tensor<2xf32>, tensor<1x2xf32>
}

// -----

// So do floats of 16 bits that a product or a gather reads. The filters of a convolution and other operands are folded.
// CHECK-LABEL: func.func @narrow_floats(
// CHECK-DAG:     vx.cast %{{.+}} : tensor<2x2xf16> -> tensor<2x2xf32>
// CHECK-DAG:     vx.cast %{{.+}} : tensor<3x2xbf16> -> tensor<3x2xf32>
// CHECK-NOT:     vx.cast
// CHECK:         return
func.func @narrow_floats(%x: tensor<1x2xf32>, %i: tensor<1xi64>, %y: tensor<1x2x1x2xf32>, %z: tensor<2xf32>)
    -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x1x1x1xf32>, tensor<2xf32>) {
  %a = vx.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>
  %b = vx.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xbf16>
  %c = vx.constant dense<[[[[1.0, 2.0]], [[3.0, 4.0]]]]> : tensor<1x2x1x2xf16>
  %d = vx.constant dense<[7.0, 8.0]> : tensor<2xbf16>
  %af = vx.cast %a : tensor<2x2xf16> -> tensor<2x2xf32>
  %0 = vx.contract %x, %af batch = [] x [] contracting = [1] x [1] : tensor<1x2xf32>, tensor<2x2xf32>
  %bf = vx.cast %b : tensor<3x2xbf16> -> tensor<3x2xf32>
  %1 = vx.gather %bf, %i axis = 0 : tensor<3x2xf32>, tensor<1xi64>
  %cf = vx.cast %c : tensor<1x2x1x2xf16> -> tensor<1x2x1x2xf32>
  %2 = vx.conv %y, %cf strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>
  %df = vx.cast %d : tensor<2xbf16> -> tensor<2xf32>
  %3 = vx.add %z, %df : tensor<2xf32>, tensor<2xf32>
  return %0, %1, %2, %3 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x1x1x1xf32>, tensor<2xf32>
}

// -----

// A repeated scale stays so behind a view of it, and is folded into a value that reads it.
// CHECK-LABEL: func.func @repeated(
// CHECK-DAG:     %[[S:.+]] = vx.constant {{.*}} : tensor<2x1xf32>
// CHECK-DAG:     %[[R:.+]] = vx.broadcast %[[S]], [0, 1] : tensor<2x1xf32> -> tensor<2x4xf32>
// CHECK-DAG:     %[[V:.+]] = vx.reshape %[[R]]
// CHECK-DAG:     vx.mul %{{.+}}, %[[V]]
// CHECK-DAG:     %[[F:.+]] = vx.constant dense_resource<folded_{{.+}}> : tensor<8xf32>
// CHECK-DAG:     vx.mul %{{.+}}, %[[F]]
func.func @repeated(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %i = vx.iota axis = 0 : tensor<2x1xi64>
  %s = vx.cast %i : tensor<2x1xi64> -> tensor<2x1xf32>
  %r = vx.broadcast %s, [0, 1] : tensor<2x1xf32> -> tensor<2x4xf32>
  %v = vx.reshape %r : tensor<2x4xf32> -> tensor<8xf32>
  %0 = vx.mul %x, %v : tensor<8xf32>, tensor<8xf32>
  %f = vx.exp %v : tensor<8xf32>
  %1 = vx.mul %x, %f : tensor<8xf32>, tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
