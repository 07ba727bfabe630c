// RUN: vx-opt %s --vx-find-independent-rows | FileCheck %s

vx.symbol "n"
vx.symbol "m"
vx.symbol "k"
vx.symbol "s"
vx.symbol instance "pages"
vx.symbol data_dependent "t"
vx.symbol data_dependent "i"
vx.symbol data_dependent "size"
vx.variable @count : tensor<i64>
vx.variable @w : tensor<4x4xf32>

// --- What keeps rows apart.

// A linear layer with an activation and a norm; what is no input of rows is the same for all.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["rows", "same"], symbol = "n"}
func.func @layer(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %w: tensor<4x4xf32>, %b: tensor<4xf32>)
    -> (tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x4xf32>) {
  %v = vx.variable_load @w : tensor<4x4xf32>
  %u = vx.add %w, %v : tensor<4x4xf32>, tensor<4x4xf32>
  %0 = vx.contract %x, %u batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x4xf32>
  %1 = vx.broadcast %b, [1] : tensor<4xf32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %2 = vx.add %0, %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  %3 = vx.tanh %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %4 = vx.layer_norm %3, %b, %b axis = 1 epsilon = 0.1 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4xf32>, tensor<4xf32>
  %5 = vx.softmax %4 axis = 1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %5, %u : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x4xf32>
}

// Rows are several elements of a dimension, lie along another one, and come back.
// CHECK-LABEL: func.func @moved(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["rows", "rows"], symbol = "n"}
func.func @moved(%x: tensor<?x?x6xf32, #vx.enc<[n, s, 6]>>, %w: tensor<6x6xf32>)
    -> (tensor<?x?x6xf32, #vx.enc<[n, s, 6]>>, tensor<?x6xf32, #vx.enc<[n, 6]>>) {
  %0 = vx.reshape %x : tensor<?x?x6xf32, #vx.enc<[n, s, 6]>> -> tensor<?x6xf32, #vx.enc<[n*s, 6]>>
  %1 = vx.contract %0, %w batch = [] x [] contracting = [1] x [0] : tensor<?x6xf32, #vx.enc<[n*s, 6]>>, tensor<6x6xf32>
  %2 = vx.reshape %1 : tensor<?x6xf32, #vx.enc<[n*s, 6]>> -> tensor<?x?x2x3xf32, #vx.enc<[n, s, 2, 3]>>
  // Behind the sequence, and once more one dimension with it and the heads.
  %3 = vx.transpose %2, [1, 0, 2, 3] : tensor<?x?x2x3xf32, #vx.enc<[n, s, 2, 3]>>
  %4 = vx.reshape %3 : tensor<?x?x2x3xf32, #vx.enc<[s, n, 2, 3]>> -> tensor<?x3xf32, #vx.enc<[s*n*2, 3]>>
  %5 = vx.exp %4 : tensor<?x3xf32, #vx.enc<[s*n*2, 3]>>
  %6 = vx.reshape %5 : tensor<?x3xf32, #vx.enc<[s*n*2, 3]>> -> tensor<?x?x3xf32, #vx.enc<[s, n*2, 3]>>
  %7 = vx.transpose %6, [1, 0, 2] : tensor<?x?x3xf32, #vx.enc<[s, n*2, 3]>>
  %8 = vx.reshape %7 : tensor<?x?x3xf32, #vx.enc<[n*2, s, 3]>> -> tensor<?x2x?x3xf32, #vx.enc<[n, 2, s, 3]>>
  %9 = vx.transpose %8, [0, 2, 1, 3] : tensor<?x2x?x3xf32, #vx.enc<[n, 2, s, 3]>>
  %10 = vx.reshape %9 : tensor<?x?x2x3xf32, #vx.enc<[n, s, 2, 3]>> -> tensor<?x?x6xf32, #vx.enc<[n, s, 6]>>
  %11 = vx.reduce sum %10 axes = [1] : tensor<?x?x6xf32, #vx.enc<[n, s, 6]>>
  return %10, %11 : tensor<?x?x6xf32, #vx.enc<[n, s, 6]>>, tensor<?x6xf32, #vx.enc<[n, 6]>>
}

// Each op along its other dimensions: windows, sums, places, slices, tables, attention with a bias that is shared and one that is not.
// CHECK-LABEL: func.func @along(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 2, 3>, outputs = ["rows", "rows", "rows", "rows", "rows"], symbol = "n"}
func.func @along(%x: tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, %f: tensor<4x4x3x3xf32>, %ids: tensor<?x5xi64, #vx.enc<[n, 5]>>,
                 %mask: tensor<?x1x1x8xi1, #vx.enc<[n, 1, 1, 8]>>, %bias: tensor<1x4x8x8xf32>, %table: tensor<9x4xf32>)
    -> (tensor<?x4x6x6xf32, #vx.enc<[n, 4, 6, 6]>>, tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, tensor<?x5x4xf32, #vx.enc<[n, 5, 4]>>,
        tensor<?x2xi64, #vx.enc<[n, 2]>>, tensor<?x8x8xi64, #vx.enc<[n, 8, 8]>>) {
  %0 = vx.conv %x, %f strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, tensor<4x4x3x3xf32>
  %1 = vx.reduce_window max %0 window = [1, 1, 3, 3] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] pads = [0, 0, 1, 1] x [0, 0, 1, 1]
      : tensor<?x4x6x6xf32, #vx.enc<[n, 4, 6, 6]>>
  %2 = vx.attention %x, %x, %x mask(%mask : tensor<?x1x1x8xi1, #vx.enc<[n, 1, 1, 8]>>) bias(%bias : tensor<1x4x8x8xf32>) scale = 1.0 causal
      dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
      : tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>
      -> tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>
  %3 = vx.gather %table, %ids axis = 0 : tensor<9x4xf32>, tensor<?x5xi64, #vx.enc<[n, 5]>>
  %zero = vx.constant dense<0.0> : tensor<f32>
  %4 = vx.pad %3, %zero low [#vx.dim<0>, #vx.dim<1>, #vx.dim<0>] high [#vx.dim<0>, #vx.dim<1>, #vx.dim<0>] : tensor<?x5x4xf32, #vx.enc<[n, 5, 4]>>, tensor<f32>
  %5 = vx.slice %4 starts [#vx.dim<0>, #vx.dim<1>, #vx.dim<0>] strides [1, 1, 1] : tensor<?x7x4xf32, #vx.enc<[n, 7, 4]>> -> tensor<?x5x4xf32, #vx.enc<[n, 5, 4]>>
  %6 = vx.cumulative_sum %5 : tensor<?x5x4xf32, #vx.enc<[n, 5, 4]>>
  %7 = vx.top_places %ids count = 2 : tensor<?x5xi64, #vx.enc<[n, 5]>>
  %8 = vx.concat axis = 1 (%x, %x) : tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>
  %9 = vx.arg_reduce max %8 axis = 1 : tensor<?x8x8x8xf32, #vx.enc<[n, 8, 8, 8]>>
  return %1, %2, %6, %7, %9 : tensor<?x4x6x6xf32, #vx.enc<[n, 4, 6, 6]>>, tensor<?x4x8x8xf32, #vx.enc<[n, 4, 8, 8]>>, tensor<?x5x4xf32, #vx.enc<[n, 5, 4]>>,
      tensor<?x2xi64, #vx.enc<[n, 2]>>, tensor<?x8x8xi64, #vx.enc<[n, 8, 8]>>
}

// What is written into each row, at places that are the same for all.
// CHECK-LABEL: func.func @updated(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["rows", "rows"], symbol = "n"}
func.func @updated(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %u: tensor<?x2xf32, #vx.enc<[n, 2]>>, %at: tensor<1xi64>, %p: tensor<2x1xi64>)
    -> (tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>) {
  %0 = vx.update_slice %x, %at, %u axes = [1] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<1xi64>, tensor<?x2xf32, #vx.enc<[n, 2]>>
  %1 = vx.transpose %u, [1, 0] : tensor<?x2xf32, #vx.enc<[n, 2]>>
  %2 = vx.scatter add %x, %p, %1 axes = [1] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<2x1xi64>, tensor<2x?xf32, #vx.enc<[2, n]>>
  return %0, %2 : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
}

// A loop whose number of rounds is the same for all, from zeros on; a branch that all take.
// CHECK-LABEL: func.func @rounds(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["rows", "rows"], symbol = "n"}
func.func @rounds(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %count: tensor<i64>, %c: tensor<i1>)
    -> (tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>) {
  %zero = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.broadcast %zero, [] : tensor<f32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.loop "i" trip_count(%count) inits(%0 : tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  ^bb0(%a: tensor<?x4xf32, #vx.enc<[n, 4]>>):
    %go = vx.constant dense<true> : tensor<i1>
    %2 = vx.add %a, %x : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
    vx.yield %go, %2 : tensor<i1>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  %3 = vx.if %c -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
    vx.yield %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  } else {
    vx.yield %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  return %1, %3 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Two names that a constraint takes for one; another size is one for all.
// CHECK-LABEL: func.func @equal(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["rows"], symbol = "n"}
func.func @equal(%x: tensor<?x?xf32, #vx.enc<[n, k]>>, %y: tensor<?x?xf32, #vx.enc<[m, k]>>) -> tensor<?x?xf32, #vx.enc<[n, k]>> {
  vx.constraint equal <n>, <m> "sizes 'n' and 'm' equal"
  %0 = vx.add %x, %y : tensor<?x?xf32, #vx.enc<[n, k]>>, tensor<?x?xf32, #vx.enc<[m, k]>>
  return %0 : tensor<?x?xf32, #vx.enc<[n, k]>>
}

// Images against texts: a row of images depends on all texts, which are shared then.
// CHECK-LABEL: func.func @similarity(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["rows", "{{.*}}: gives rows along dimension 1 of [m,n]"], symbol = "n"}
func.func @similarity(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %y: tensor<?x4xf32, #vx.enc<[m, 4]>>)
    -> (tensor<?x?xf32, #vx.enc<[n, m]>>, tensor<?x?xf32, #vx.enc<[m, n]>>) {
  %0 = vx.contract %x, %y batch = [] x [] contracting = [1] x [1] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[m, 4]>>
  %1 = vx.transpose %0, [1, 0] : tensor<?x?xf32, #vx.enc<[n, m]>>
  return %0, %1 : tensor<?x?xf32, #vx.enc<[n, m]>>, tensor<?x?xf32, #vx.enc<[m, n]>>
}

// Counting along another dimension is the same for all; so are random bits of a key that they share.
// CHECK-LABEL: func.func @counted(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["rows", "rows"], symbol = "n"}
func.func @counted(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %key: tensor<i64>) -> (tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xui32, #vx.enc<[n, 4]>>) {
  %0 = vx.iota axis = 1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.add %x, %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  %2 = vx.random_bits %key number = 0 : tensor<4xui32>
  %3 = vx.broadcast %2, [1] : tensor<4xui32> -> tensor<?x4xui32, #vx.enc<[n, 4]>>
  return %1, %3 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xui32, #vx.enc<[n, 4]>>
}

// A gather that picks from each row by its number: in tuples, as an index has it in PyTorch, and as a place in all elements in a row.
// CHECK-LABEL: func.func @by_number(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["rows", "rows"], symbol = "n"}
func.func @by_number(%x: tensor<?x?xf32, #vx.enc<[n, s]>>, %i: tensor<?x1xi64, #vx.enc<[n, 1]>>) -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?x?xf32, #vx.enc<[n, s]>>) {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %1 = vx.reshape %0 : tensor<?xi64, #vx.enc<[n]>> -> tensor<?x1xi64, #vx.enc<[n, 1]>>
  %2 = vx.concat axis = 1 (%1, %i) : tensor<?x1xi64, #vx.enc<[n, 1]>>, tensor<?x1xi64, #vx.enc<[n, 1]>>
  %3 = vx.gather %x, %2 axis = 0 members = 2 : tensor<?x?xf32, #vx.enc<[n, s]>>, tensor<?x2xi64, #vx.enc<[n, 2]>>
  %size = vx.dim_value <s>
  %4 = vx.broadcast %size, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %5 = vx.mul %0, %4 : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %6 = vx.broadcast %5, [0] : tensor<?xi64, #vx.enc<[n]>> -> tensor<?x?xi64, #vx.enc<[n, s]>>
  %7 = vx.iota axis = 1 : tensor<?x?xi64, #vx.enc<[n, s]>>
  %8 = vx.add %7, %6 : tensor<?x?xi64, #vx.enc<[n, s]>>, tensor<?x?xi64, #vx.enc<[n, s]>>
  %9 = vx.reshape %x : tensor<?x?xf32, #vx.enc<[n, s]>> -> tensor<?xf32, #vx.enc<[n*s]>>
  %10 = vx.gather %9, %8 axis = 0 : tensor<?xf32, #vx.enc<[n*s]>>, tensor<?x?xi64, #vx.enc<[n, s]>>
  return %3, %10 : tensor<?xf32, #vx.enc<[n]>>, tensor<?x?xf32, #vx.enc<[n, s]>>
}

// Zeros are the same however they are cut.
// CHECK-LABEL: func.func @zeros(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["rows"], symbol = "n"}
func.func @zeros(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %zero = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.broadcast %zero, [] : tensor<f32> -> tensor<2x?x4xf32, #vx.enc<[2, n, 4]>>
  %1 = vx.reshape %0 : tensor<2x?x4xf32, #vx.enc<[2, n, 4]>> -> tensor<?x4xf32, #vx.enc<[n*2, 4]>>
  %2 = vx.slice %1 starts [#vx.dim<n>, #vx.dim<0>] strides [1, 1] : tensor<?x4xf32, #vx.enc<[n*2, 4]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %3 = vx.add %x, %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %3 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// --- What joins them, and why.

// A sum over all rows.
// CHECK-LABEL: func.func @reduced(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @reduced(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<4xf32> {
  %0 = vx.reduce sum %x axes = [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<4xf32>
}

// A batch norm in training: its mean joins rows, and so does what is computed with it.
// CHECK-LABEL: func.func @normalised(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @normalised(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.reduce sum %x axes = [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.broadcast %0, [1] : tensor<4xf32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %2 = vx.sub %x, %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// The range of a dynamic quantisation is that of all rows.
// CHECK-LABEL: func.func @quantised(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @quantised(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.reduce max %x axes = [0, 1] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.broadcast %0, [] : tensor<f32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %2 = vx.div %x, %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Of all rows in each column.
// CHECK-LABEL: func.func @softmax_of_rows(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @softmax_of_rows(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.softmax %x axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Of the rows before each one.
// CHECK-LABEL: func.func @cumulated(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 1 of [1,n,4]"], symbol = "n"}
func.func @cumulated(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<1x?x4xf32, #vx.enc<[1, n, 4]>>
  %1 = vx.cumulative_sum %0 : tensor<1x?x4xf32, #vx.enc<[1, n, 4]>>
  %2 = vx.reshape %1 : tensor<1x?x4xf32, #vx.enc<[1, n, 4]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// The first rows in an order.
// CHECK-LABEL: func.func @sorted(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 1 of [4,n]"], symbol = "n"}
func.func @sorted(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<4x2xi64> {
  %0 = vx.transpose %x, [1, 0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.top_places %0 count = 2 : tensor<4x?xf32, #vx.enc<[4, n]>>
  return %1 : tensor<4x2xi64>
}

// A step of such a sort.
// CHECK-LABEL: func.func @sort_step(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 1 of [1,n,4]"], symbol = "n"}
func.func @sort_step(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<1x?xi64, #vx.enc<[1, n]>> {
  %zero = vx.constant dense<0> : tensor<i64>
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<1x?x4xf32, #vx.enc<[1, n, 4]>>
  %1 = vx.iota axis = 1 : tensor<1x4xi64>
  %2 = vx.gather %1, %1 axis = 1 : tensor<1x4xi64>, tensor<1x4xi64>
  %3 = vx.cast %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?x4xi64, #vx.enc<[n, 4]>>
  %4 = vx.reduce sum %3 axes = [1] : tensor<?x4xi64, #vx.enc<[n, 4]>>
  %5 = vx.reshape %4 : tensor<?xi64, #vx.enc<[n]>> -> tensor<1x?xi64, #vx.enc<[1, n]>>
  %6 = vx.merge_runs %0, %5 level(%zero) : tensor<1x?x4xf32, #vx.enc<[1, n, 4]>>, tensor<1x?xi64, #vx.enc<[1, n]>>
  return %6 : tensor<1x?xi64, #vx.enc<[1, n]>>
}

// The place of the greatest.
// CHECK-LABEL: func.func @best(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @best(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<4xi64> {
  %0 = vx.arg_reduce max %x axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<4xi64>
}

// Windows over neighbouring rows.
// CHECK-LABEL: func.func @windowed(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @windowed(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.reduce_window max %x window = [3, 1] strides = [1, 1] dilations = [1, 1] pads = [1, 0] x [1, 0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A convolution along the rows.
// CHECK-LABEL: func.func @convolved(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 2 of [1,4,n]"], symbol = "n"}
func.func @convolved(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %f: tensor<4x4x3xf32>) -> tensor<1x4x?xf32, #vx.enc<[1, 4, n]>> {
  %0 = vx.transpose %x, [1, 0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.reshape %0 : tensor<4x?xf32, #vx.enc<[4, n]>> -> tensor<1x4x?xf32, #vx.enc<[1, 4, n]>>
  %2 = vx.conv %1, %f strides = [1] dilations = [1] pads = [1] x [1] groups = 1 : tensor<1x4x?xf32, #vx.enc<[1, 4, n]>>, tensor<4x4x3xf32>
  return %2 : tensor<1x4x?xf32, #vx.enc<[1, 4, n]>>
}

// Each row with all rows.
// CHECK-LABEL: func.func @products(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: takes each row together with all rows"], symbol = "n"}
func.func @products(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x?xf32, #vx.enc<[n, n]>> {
  %0 = vx.contract %x, %x batch = [] x [] contracting = [1] x [1] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x?xf32, #vx.enc<[n, n]>>
}

// Queries that know their place among rows.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 2 of [1,1,n,4]"], symbol = "n"}
func.func @causal(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %k: tensor<1x1x5x4xf32>) -> tensor<1x1x?x4xf32, #vx.enc<[1, 1, n, 4]>> {
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<1x1x?x4xf32, #vx.enc<[1, 1, n, 4]>>
  %1 = vx.attention %0, %k, %k scale = 1.0 causal dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
      : tensor<1x1x?x4xf32, #vx.enc<[1, 1, n, 4]>>, tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32> -> tensor<1x1x?x4xf32, #vx.enc<[1, 1, n, 4]>>
  return %1 : tensor<1x1x?x4xf32, #vx.enc<[1, 1, n, 4]>>
}

// One row for all.
// CHECK-LABEL: func.func @first(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @first(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.slice %x starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<1x4xf32>
  %1 = vx.broadcast %0, [0, 1] : tensor<1x4xf32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Rows in another order.
// CHECK-LABEL: func.func @reversed(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: computes with the number of rows"], symbol = "n"}
func.func @reversed(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.slice %x starts [#vx.dim<n - 1>, #vx.dim<0>] strides [-1, 1] : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Rows moved by one.
// CHECK-LABEL: func.func @shifted(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @shifted(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %zero = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.pad %x, %zero low [#vx.dim<1>, #vx.dim<0>] high [#vx.dim<-1>, #vx.dim<0>] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<f32>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Rows behind one another, of two inputs.
// CHECK-LABEL: func.func @joined(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @joined(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n*2, 4]>> {
  %0 = vx.concat axis = 0 (%x, %x) : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n*2, 4]>>
}

// Rows of which the data tell the places.
// CHECK-LABEL: func.func @picked(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @picked(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.gather %x, %i axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?xi64, #vx.enc<[n]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Rows that are written where the data tell.
// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @scattered(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %i: tensor<?x1xi64, #vx.enc<[n, 1]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.scatter set %x, %i, %x axes = [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x1xi64, #vx.enc<[n, 1]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// An index that counts from the last row.
// CHECK-LABEL: func.func @from_the_end(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: computes with the number of rows"], symbol = "n"}
func.func @from_the_end(%i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?xi64, #vx.enc<[n]>> {
  %0 = vx.check_indices %i below [#vx.dim<n>] : tensor<?xi64, #vx.enc<[n]>>
  return %0 : tensor<?xi64, #vx.enc<[n]>>
}

// The number of each row, as for a vector with a one there.
// CHECK-LABEL: func.func @numbered(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @numbered(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xi1, #vx.enc<[n, 4]>> {
  %0 = vx.iota axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.compare eq %x, %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %1 : tensor<?x4xi1, #vx.enc<[n, 4]>>
}

// Random bits by place.
// CHECK-LABEL: func.func @noise(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @noise(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %key: tensor<i64>) -> tensor<?x4xui32, #vx.enc<[n, 4]>> {
  %0 = vx.random_bits %key number = 0 : tensor<?x4xui32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xui32, #vx.enc<[n, 4]>>
}

// A part of a table, as long as there are rows.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @positions(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %t: tensor<100x4xf32>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.slice %t starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : tensor<100x4xf32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %1 = vx.add %x, %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A table with a row for each, which no type says.
// CHECK-LABEL: func.func @beside_a_table(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @beside_a_table(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %t: tensor<?x4xf32, #vx.enc<[m, 4]>>) -> tensor<?x4xf32, #vx.enc<[m, 4]>> {
  %0 = vx.add %t, %x : tensor<?x4xf32, #vx.enc<[m, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[m, 4]>>
}

// The number of rows, as a number.
// CHECK-LABEL: func.func @mean(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: computes with the number of rows"], symbol = "n"}
func.func @mean(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.dim_value <n>
  %1 = vx.cast %0 : tensor<i64> -> tensor<f32>
  %2 = vx.broadcast %1, [] : tensor<f32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
  %3 = vx.div %x, %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %3 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Rows as the inner part of a dimension are followed, but not to where they are cut.
// CHECK-LABEL: func.func @inner(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: moves rows to where they are no dimension, from [n,4] to [2,n * 2]"], symbol = "n"}
func.func @inner(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<2x?xf32, #vx.enc<[2, n*2]>> {
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<2x?xf32, #vx.enc<[2, n*2]>>
  return %0 : tensor<2x?xf32, #vx.enc<[2, n*2]>>
}

// The same elements as rows of another length.
// CHECK-LABEL: func.func @cut(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: moves rows to where they are no dimension, from [n,4] to [4,n]"], symbol = "n"}
func.func @cut(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<4x?xf32, #vx.enc<[4, n]>>
  %1 = vx.transpose %0, [1, 0] : tensor<4x?xf32, #vx.enc<[4, n]>>
  return %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Rows of two elements with rows of four.
// CHECK-LABEL: func.func @unequal(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["{{.*}}: takes rows of different numbers of elements together"], symbol = "n"}
func.func @unequal(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %y: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?xf32, #vx.enc<[n*4]>> {
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?xf32, #vx.enc<[n*4]>>
  %1 = vx.transpose %y, [1, 0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %2 = vx.reshape %1 : tensor<4x?xf32, #vx.enc<[4, n]>> -> tensor<?xf32, #vx.enc<[n*4]>>
  %3 = vx.add %0, %2 : tensor<?xf32, #vx.enc<[n*4]>>, tensor<?xf32, #vx.enc<[n*4]>>
  return %3 : tensor<?xf32, #vx.enc<[n*4]>>
}

// Several elements of the result for each row.
// CHECK-LABEL: func.func @flattened(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: gives rows along dimension 0 of [n * 4]"], symbol = "n"}
func.func @flattened(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?xf32, #vx.enc<[n*4]>> {
  %0 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?xf32, #vx.enc<[n*4]>>
  return %0 : tensor<?xf32, #vx.enc<[n*4]>>
}

// A loop that goes on while any row wants it to.
// CHECK-LABEL: func.func @until(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the rows how often it is run"], symbol = "n"}
func.func @until(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.loop "i" inits(%x : tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  ^bb0(%a: tensor<?x4xf32, #vx.enc<[n, 4]>>):
    %1 = vx.exp %a : tensor<?x4xf32, #vx.enc<[n, 4]>>
    %zero = vx.constant dense<0.0> : tensor<f32>
    %2 = vx.reduce max %1 axes = [0, 1] : tensor<?x4xf32, #vx.enc<[n, 4]>>
    %go = vx.compare lt %2, %zero : tensor<f32>, tensor<f32>
    vx.yield %go, %1 : tensor<i1>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A loop with a round for each row.
// CHECK-LABEL: func.func @times(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the rows how often it is run"], symbol = "n"}
func.func @times(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %n = vx.dim_value <n>
  %0 = vx.loop "i" trip_count(%n) inits(%x : tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  ^bb0(%a: tensor<?x4xf32, #vx.enc<[n, 4]>>):
    %1 = vx.exp %a : tensor<?x4xf32, #vx.enc<[n, 4]>>
    %go = vx.constant dense<true> : tensor<i1>
    vx.yield %go, %1 : tensor<i1>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A loop whose second round takes what the first one joined.
// CHECK-LABEL: func.func @mixing(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @mixing(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %count: tensor<i64>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0:2 = vx.loop "i" trip_count(%count) inits(%x, %x : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>> {
  ^bb0(%a: tensor<?x4xf32, #vx.enc<[n, 4]>>, %b: tensor<?x4xf32, #vx.enc<[n, 4]>>):
    %go = vx.constant dense<true> : tensor<i1>
    %1 = vx.softmax %a axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
    vx.yield %go, %a, %1 : tensor<i1>, tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  return %0#1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// What the second round gives on only the third one has.
// CHECK-LABEL: func.func @third_round(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @third_round(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %count: tensor<i64>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0:2 = vx.loop "i" trip_count(%count) inits(%x, %x : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>> {
  ^bb0(%a: tensor<?x4xf32, #vx.enc<[n, 4]>>, %b: tensor<?x4xf32, #vx.enc<[n, 4]>>):
    %go = vx.constant dense<true> : tensor<i1>
    %1 = vx.softmax %b axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
    vx.yield %go, %b, %1 : tensor<i1>, tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  return %0#0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A branch that one row decides for all.
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the rows which of its branches is taken"], symbol = "n"}
func.func @branch(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %zero = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.reduce max %x axes = [0, 1] : tensor<?x4xf32, #vx.enc<[n, 4]>>
  %c = vx.compare lt %0, %zero : tensor<f32>, tensor<f32>
  %1 = vx.if %c -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
    vx.yield %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
  } else {
    %2 = vx.exp %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
    vx.yield %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
  }
  return %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// Elements that are not zero, whose number depends on all rows.
// CHECK-LABEL: func.func @found(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n,4]"], symbol = "n"}
func.func @found(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<2x?xi64, #vx.enc<[2, t]>> {
  %0 = vx.count_nonzero %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
  vx.bind_symbol "t" = %0
  %1 = vx.nonzero %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<2x?xi64, #vx.enc<[2, t]>>
  return %1 : tensor<2x?xi64, #vx.enc<[2, t]>>
}

// Zeros, as many as all rows tell.
// CHECK-LABEL: func.func @sized(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: has a size that depends on the rows"], symbol = "n"}
func.func @sized(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?xf32, #vx.enc<[t]>> {
  %0 = vx.count_nonzero %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
  vx.bind_symbol "t" = %0
  %zero = vx.constant dense<0.0> : tensor<f32>
  %1 = vx.broadcast %zero, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[t]>>
  return %1 : tensor<?xf32, #vx.enc<[t]>>
}

// State: the next call reads what this one left.
// CHECK-LABEL: func.func @stored(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: stores variable 'count'"], symbol = "n"}
func.func @stored(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %c: tensor<i64>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  vx.variable_store %c, @count : tensor<i64>
  %0 = vx.exp %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A sequence of rows.
// CHECK-LABEL: func.func @listed(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: is nothing that rows are followed through"], symbol = "n"}
func.func @listed(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> !vx.sequence<tensor<?x4xf32>> {
  %0 = vx.sequence_construct %x : (tensor<?x4xf32, #vx.enc<[n, 4]>>) -> !vx.sequence<tensor<?x4xf32>>
  return %0 : !vx.sequence<tensor<?x4xf32>>
}

// The parts of strings are as many as those of the string with the most of them; their number is its own.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs more than its own row along dimension 0 of [n]"], symbol = "n"}
func.func @parts(%x: tensor<?xi32, #vx.enc<[n]>> {vx.is_string}) -> tensor<?x?xi32, #vx.enc<[n, size]>> {
  %0:2 = vx.host_function string_split(%x) {text = ","} : (tensor<?xi32, #vx.enc<[n]>>) -> (tensor<?x?xi32, #vx.enc<[n, size]>>, tensor<?xi64, #vx.enc<[n]>>)
  return %0#0 : tensor<?x?xi32, #vx.enc<[n, size]>>
}

// A number of rows that a node wants.
// CHECK-LABEL: func.func @wanted(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: needs at least 2 rows"], symbol = "n"}
func.func @wanted(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  vx.constraint at_least <n>, <2> "at least 2 rows"
  %0 = vx.exp %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// An input that has the rows in another place can not be joined so.
// CHECK-LABEL: func.func @beside(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["input 'y' has 'n' in another place than as the size of its first dimension"], symbol = "n"}
func.func @beside(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %y: tensor<4x?xf32, #vx.enc<[4, n]>> {vx.name = "y"}) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.exp %x : tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %0 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A place in its own row that nobody has looked at may be one in the next.
// CHECK-LABEL: func.func @behind_its_row(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @behind_its_row(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %i: tensor<?xi64, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %four = vx.constant dense<4> : tensor<i64>
  %1 = vx.broadcast %four, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %2 = vx.mul %0, %1 : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %3 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?xf32, #vx.enc<[n*4]>>
  %4 = vx.add %2, %i : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %5 = vx.gather %3, %4 axis = 0 : tensor<?xf32, #vx.enc<[n*4]>>, tensor<?xi64, #vx.enc<[n]>>
  return %5 : tensor<?xf32, #vx.enc<[n]>>
}

// Rows of three elements in rows of four.
// CHECK-LABEL: func.func @other_steps(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @other_steps(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %four = vx.constant dense<3> : tensor<i64>
  %1 = vx.broadcast %four, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %2 = vx.mul %0, %1 : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %3 = vx.reshape %x : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?xf32, #vx.enc<[n*4]>>
  %4 = vx.gather %3, %2 axis = 0 : tensor<?xf32, #vx.enc<[n*4]>>, tensor<?xi64, #vx.enc<[n]>>
  return %4 : tensor<?xf32, #vx.enc<[n]>>
}

// The number of the next row.
// CHECK-LABEL: func.func @next_row(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @next_row(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %one = vx.constant dense<1> : tensor<i64>
  %1 = vx.broadcast %one, [] : tensor<i64> -> tensor<?xi64, #vx.enc<[n]>>
  %2 = vx.add %0, %1 : tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[n]>>
  %3 = vx.gather %x, %2 axis = 0 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?xi64, #vx.enc<[n]>>
  return %3 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// A row of a table for each number.
// CHECK-LABEL: func.func @of_a_table(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @of_a_table(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>, %t: tensor<100x4xf32>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  %1 = vx.gather %t, %0 axis = 0 : tensor<100x4xf32>, tensor<?xi64, #vx.enc<[n]>>
  %2 = vx.add %x, %1 : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
  return %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// The number of a row as the index in another dimension.
// CHECK-LABEL: func.func @at_the_wrong_member(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0, 1>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @at_the_wrong_member(%x: tensor<?x?x4xf32, #vx.enc<[n, s, 4]>>, %i: tensor<?x1xi64, #vx.enc<[n, 1]>>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %0 = vx.iota axis = 0 : tensor<?x1xi64, #vx.enc<[n, 1]>>
  %1 = vx.concat axis = 1 (%i, %0) : tensor<?x1xi64, #vx.enc<[n, 1]>>, tensor<?x1xi64, #vx.enc<[n, 1]>>
  %2 = vx.gather %x, %1 axis = 0 members = 2 : tensor<?x?x4xf32, #vx.enc<[n, s, 4]>>, tensor<?x2xi64, #vx.enc<[n, 2]>>
  return %2 : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// The numbers themselves.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: vx.batch = {inputs = array<i64: 0>, outputs = ["{{.*}}: depends on the place of a row among the others"], symbol = "n"}
func.func @numbers(%x: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<?xi64, #vx.enc<[n]>> {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>
  return %0 : tensor<?xi64, #vx.enc<[n]>>
}

// No input has a size that could be the number of rows: one is fixed, one is bound when an instance is made, one is an expression.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: vx.batch
func.func @none(%x: tensor<2x4xf32>, %y: tensor<?x4xf32, #vx.enc<[pages, 4]>>, %z: tensor<?x?xf32, #vx.enc<[s + 1, s]>>) -> tensor<2x4xf32> {
  return %x : tensor<2x4xf32>
}
