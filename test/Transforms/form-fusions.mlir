// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-form-fusions))' | FileCheck %s

// Convolution, bias and activation are one kernel, whose anchor is the convolution; the bias is its operand, the zeros are computed inside.
// CHECK-LABEL: func.func @conv_bias_relu(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<?x1x8x8xf32, #vx.enc<[batch, 1, 8, 8]>>
// CHECK-NEXT:    %[[W:.+]] = vx.constant dense_resource<w>
// CHECK-NEXT:    %[[B:.+]] = vx.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT:    %[[Y:.+]] = vx.fusion(%[[X]], %[[W]], %[[B]])
// CHECK:           vx.conv {{.*}} {vx.anchor} :
// CHECK-NOT:       vx.anchor
// CHECK:           vx.add
// CHECK-NOT:       vx.anchor
// CHECK:           vx.max
// CHECK-NOT:       vx.anchor
// CHECK:           vx.yield
// CHECK:         return %[[Y]]
vx.symbol "batch"
func.func @conv_bias_relu(%x: tensor<?x1x8x8xf32, #vx.enc<[batch, 1, 8, 8]>>) -> tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>> {
  %w = vx.constant dense_resource<w> : tensor<2x1x3x3xf32>
  %b = vx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %zero = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1
    : tensor<?x1x8x8xf32, #vx.enc<[batch, 1, 8, 8]>>, tensor<2x1x3x3xf32>
  %1 = vx.broadcast %b, [1] : tensor<2xf32> -> tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>
  %2 = vx.add %0, %1 : tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>, tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>
  %3 = vx.broadcast %zero, [] : tensor<f32> -> tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>
  %4 = vx.max %2, %3 : tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>, tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>
  return %4 : tensor<?x2x8x8xf32, #vx.enc<[batch, 2, 8, 8]>>
}
{-# dialect_resources: { builtin: { w: "0x400000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F" } } #-}

// -----

// The activation ends the product's kernel rather than beginning the reduction's: both anchors stay apart.
// CHECK-LABEL: func.func @epilogue_before_prologue(
// CHECK:         vx.fusion
// CHECK:           vx.contract {{.*}} {vx.anchor} :
// CHECK:           vx.exp
// CHECK:         vx.fusion
// CHECK-NOT:       vx.exp
// CHECK:           vx.reduce {{.*}} {vx.anchor} :
func.func @epilogue_before_prologue(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) -> tensor<4xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>
  %1 = vx.exp %0 : tensor<4x5xf32>
  %2 = vx.reduce sum %1 axes = [1] : tensor<4x5xf32>
  return %2 : tensor<4xf32>
}

// -----

// A value with another reader outside leaves the kernel of the one that it meets element for element. Pointwise ops need no anchor.
// CHECK-LABEL: func.func @two_readers(
// CHECK:         %[[R:.+]]:2 = vx.fusion
// CHECK-NOT:       vx.anchor
// CHECK:           %[[E:.+]] = vx.exp
// CHECK-NOT:       vx.anchor
// CHECK:           %[[N:.+]] = vx.neg %[[E]]
// CHECK-NOT:       vx.anchor
// CHECK:           vx.yield %[[N]], %[[E]]
// CHECK-NOT:     vx.fusion
// CHECK:         return %[[R]]#1, %[[R]]#0
func.func @two_readers(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = vx.exp %a : tensor<4xf32>
  %1 = vx.neg %0 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// It stays apart where an element of it is read at another place.
// CHECK-LABEL: func.func @read_elsewhere(
// CHECK-COUNT-2: vx.fusion
func.func @read_elsewhere(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = vx.exp %a : tensor<4x4xf32>
  %1 = vx.transpose %0, [1, 0] : tensor<4x4xf32>
  %2 = vx.add %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  return %0, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The optimizer's step is one kernel: what moves behind it is what reads its results, and a load keeps its place among the stores.
// CHECK-LABEL: func.func @step(
// CHECK-DAG:     %[[M:.+]] = vx.variable_load @m
// CHECK-DAG:     %[[W:.+]] = vx.variable_load @w
// CHECK:         %[[R:.+]]:2 = vx.fusion
// CHECK:           vx.yield
// CHECK-NOT:     vx.fusion
// CHECK:         vx.variable_store %[[R]]#1, @m
// CHECK:         vx.variable_load @m
// CHECK:         vx.variable_store %[[R]]#0, @w
vx.variable @w : tensor<4xf32>
vx.variable @m : tensor<4xf32>
func.func @step(%g: tensor<4xf32>) -> tensor<4xf32> {
  %m = vx.variable_load @m : tensor<4xf32>
  %0 = vx.add %m, %g : tensor<4xf32>, tensor<4xf32>
  vx.variable_store %0, @m : tensor<4xf32>
  %new = vx.variable_load @m : tensor<4xf32>
  %w = vx.variable_load @w : tensor<4xf32>
  %1 = vx.sub %w, %0 : tensor<4xf32>, tensor<4xf32>
  vx.variable_store %1, @w : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// What is read again only once a store has happened stays apart: the store waits for the one, and the other for the store.
// CHECK-LABEL: func.func @through_a_variable(
// CHECK-COUNT-2: vx.fusion
vx.variable @m : tensor<4xf32>
func.func @through_a_variable(%g: tensor<4xf32>) -> tensor<4xf32> {
  %0 = vx.exp %g : tensor<4xf32>
  vx.variable_store %0, @m : tensor<4xf32>
  %m = vx.variable_load @m : tensor<4xf32>
  %1 = vx.add %m, %0 : tensor<4xf32>, tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A variable that shares bytes with the one that is stored is the same: the load of a part keeps its place behind the store of the whole.
// CHECK-LABEL: func.func @through_a_pool(
// CHECK:         vx.fusion
// CHECK:         vx.variable_store %{{.+}}, @pool
// CHECK:         vx.variable_load @part
// CHECK-LABEL: func.func @through_a_part(
// CHECK-COUNT-2: vx.fusion
vx.variable @pool : tensor<20xf32>
vx.variable @part in @pool at 64 : tensor<4xf32>
vx.variable @w : tensor<20xf32>
func.func @through_a_pool(%g: tensor<20xf32>) -> tensor<4xf32> {
  %p = vx.variable_load @pool : tensor<20xf32>
  %0 = vx.add %p, %g : tensor<20xf32>, tensor<20xf32>
  vx.variable_store %0, @pool : tensor<20xf32>
  %new = vx.variable_load @part : tensor<4xf32>
  %w = vx.variable_load @w : tensor<20xf32>
  %1 = vx.sub %w, %0 : tensor<20xf32>, tensor<20xf32>
  vx.variable_store %1, @w : tensor<20xf32>
  return %new : tensor<4xf32>
}
func.func @through_a_part(%g: tensor<4xf32>, %p: tensor<20xf32>) -> tensor<4xf32> {
  %0 = vx.exp %g : tensor<4xf32>
  vx.variable_store %0, @part : tensor<4xf32>
  %q = vx.variable_load @pool : tensor<20xf32>
  %s = vx.slice %q starts [#vx.dim<0>] strides [1] : tensor<20xf32> -> tensor<4xf32>
  %1 = vx.add %s, %0 : tensor<4xf32>, tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// So does what the size of the other hangs on.
// CHECK-LABEL: func.func @through_a_symbol(
// CHECK-COUNT-3: vx.fusion
vx.symbol data_dependent "count"
func.func @through_a_symbol(%a: tensor<4xi64>, %b: tensor<?xf32, #vx.enc<[count]>>) -> (tensor<4xi64>, tensor<4xi64>) {
  %0 = vx.neg %a : tensor<4xi64>
  %most = vx.reduce max %0 axes = [0] : tensor<4xi64>
  vx.bind_symbol "count" = %most
  %c = vx.dim_value <count>
  %d = vx.broadcast %c, [] : tensor<i64> -> tensor<4xi64>
  %1 = vx.add %0, %d : tensor<4xi64>, tensor<4xi64>
  return %0, %1 : tensor<4xi64>, tensor<4xi64>
}

// -----

// The product's result leaves beside its epilogue, and the mask that the gradient reads beside both.
// CHECK-LABEL: func.func @product_and_mask(
// CHECK:         %[[R:.+]]:2 = vx.fusion
// CHECK:           vx.contract
// CHECK-DAG:       vx.max
// CHECK-DAG:       vx.compare
// CHECK:           vx.yield
// CHECK-NOT:     vx.fusion
func.func @product_and_mask(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xi1>) {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>
  %zero = vx.constant dense<0.0> : tensor<f32>
  %1 = vx.broadcast %zero, [] : tensor<f32> -> tensor<4x5xf32>
  %2 = vx.max %0, %1 : tensor<4x5xf32>, tensor<4x5xf32>
  %3 = vx.compare gt %0, %1 : tensor<4x5xf32>, tensor<4x5xf32>
  return %2, %3 : tensor<4x5xf32>, tensor<4x5xi1>
}

// -----

// Two reductions of one tensor along the same axes read it once, each with what it makes of the elements first. The first is the anchor.
// CHECK-LABEL: func.func @two_reductions(
// CHECK:         vx.fusion
// CHECK:           vx.reduce sum %{{.*}} axes = [1] {vx.anchor} :
// CHECK:           vx.mul
// CHECK:           vx.reduce max %{{.*}} axes = [1] :
// CHECK:           vx.yield
// CHECK-NOT:     vx.fusion
func.func @two_reductions(%a: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = vx.reduce sum %a axes = [1] : tensor<4x8xf32>
  %1 = vx.mul %a, %a : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = vx.reduce max %1 axes = [1] : tensor<4x8xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Along other axes they do not.
// CHECK-LABEL: func.func @other_axes(
// CHECK-COUNT-2: vx.fusion
func.func @other_axes(%a: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = vx.reduce sum %a axes = [1] : tensor<4x4xf32>
  %1 = vx.reduce max %a axes = [0] : tensor<4x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Only the host reads the trip count: it needs no kernel.
// CHECK-LABEL: func.func @host_scalar(
// CHECK-NEXT:    %[[N:.+]] = vx.dim_value <n>
// CHECK-NOT:     vx.fusion
// CHECK:         vx.loop "i" trip_count(%[[N]])
vx.symbol "n"
vx.symbol data_dependent "i"
func.func @host_scalar(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  %n = vx.dim_value <n>
  %true = vx.constant dense<true> : tensor<i1>
  %r = vx.loop "i" trip_count(%n) inits(%x : tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  ^bb0(%c: tensor<?xf32, #vx.enc<[n]>>):
    %0 = vx.neg %c : tensor<?xf32, #vx.enc<[n]>>
    vx.yield %true, %0 : tensor<i1>, tensor<?xf32, #vx.enc<[n]>>
  }
  return %r : tensor<?xf32, #vx.enc<[n]>>
}

// -----

// What constants alone decide is a kernel of its own, with its own epilogue, and runs at load; the elementwise op that reads
// the input too is not.
// CHECK-LABEL: func.func @derived(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<3x2xf32>
// CHECK:         %[[T:.+]] = vx.fusion(%{{.+}}, %{{.+}}) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK:           vx.transpose
// CHECK-NEXT:      vx.mul
// CHECK:         vx.fusion(%[[X]], %[[T]])
// CHECK-NOT:       vx.transpose
// CHECK:           vx.add
func.func @derived(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = vx.constant dense_resource<w> : tensor<2x3xf32>
  %s = vx.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = vx.transpose %w, [1, 0] : tensor<2x3xf32>
  %1 = vx.mul %0, %s : tensor<3x2xf32>, tensor<3x2xf32>
  %2 = vx.add %x, %1 : tensor<3x2xf32>, tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// A function of a repeated number is computed where it is read, and so is what would take more memory than it saves time.
// CHECK-LABEL: func.func @not_derived(
// CHECK-COUNT-1: vx.fusion(
// CHECK:           vx.sqrt
// CHECK:           vx.cast
// CHECK-NOT:     vx.fusion(
func.func @not_derived(%x: tensor<1024x512xf32>) -> tensor<1024x512xf32> {
  %s = vx.constant dense<2.0> : tensor<f32>
  %w = vx.constant dense_resource<i8> : tensor<1024x512xi8>
  %0 = vx.broadcast %s, [] : tensor<f32> -> tensor<1024x512xf32>
  %1 = vx.sqrt %0 : tensor<1024x512xf32>
  %2 = vx.cast %w : tensor<1024x512xi8> -> tensor<1024x512xf32>
  %3 = vx.add %x, %1 : tensor<1024x512xf32>, tensor<1024x512xf32>
  %4 = vx.add %3, %2 : tensor<1024x512xf32>, tensor<1024x512xf32>
  return %4 : tensor<1024x512xf32>
}

// -----

// What the host holds as memory is repeated by a kernel; a kernel that reads it too repeats it anew, from the same tensor, which is
// therefore no part of either kernel.
// CHECK-LABEL: func.func @repeated_twice(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<1x4xf32>
// CHECK:         %[[N:.+]] = vx.fusion(%[[X]])
// CHECK:           vx.neg
// CHECK-NOT:       vx.broadcast
// CHECK:         %[[B:.+]] = vx.fusion(%[[N]])
// CHECK:           vx.broadcast
// CHECK:         vx.fusion(%[[N]])
// CHECK:           vx.broadcast
// CHECK:           vx.arg_reduce
// CHECK:         vx.reshape %[[B]]
func.func @repeated_twice(%x: tensor<1x4xf32>) -> (tensor<4xi64>, tensor<1x3x4xf32>) {
  %0 = vx.neg %x : tensor<1x4xf32>
  %1 = vx.broadcast %0, [0, 1] : tensor<1x4xf32> -> tensor<3x4xf32>
  %2 = vx.arg_reduce min %1 axis = 0 : tensor<3x4xf32>
  %3 = vx.reshape %1 : tensor<3x4xf32> -> tensor<1x3x4xf32>
  return %2, %3 : tensor<4xi64>, tensor<1x3x4xf32>
}

// -----

// Where only the host reads what is repeated, what computes it joins.
// CHECK-LABEL: func.func @repeated_once(
// CHECK-COUNT-1: vx.fusion(
// CHECK:           vx.neg
// CHECK:           vx.broadcast
// CHECK-NOT:     vx.fusion(
func.func @repeated_once(%x: tensor<1x4xf32>) -> tensor<1x3x4xf32> {
  %0 = vx.neg %x : tensor<1x4xf32>
  %1 = vx.broadcast %0, [0, 1] : tensor<1x4xf32> -> tensor<3x4xf32>
  %2 = vx.reshape %1 : tensor<3x4xf32> -> tensor<1x3x4xf32>
  return %2 : tensor<1x3x4xf32>
}

// -----

// Places that are not zero are written where there is room for them: what is computed from them is another kernel, or begins one.
// CHECK-LABEL: func.func @after_nonzero(
// CHECK:         %[[P:.+]] = vx.fusion(
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.nonzero
// CHECK-NEXT:      vx.yield
// CHECK:         vx.fusion(%[[P]])
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.not
// CHECK-NEXT:      vx.reduce
// CHECK-NEXT:      vx.yield
vx.symbol data_dependent "count"
func.func @after_nonzero(%x: tensor<4xi32>, %count: tensor<i64>) -> tensor<1xi64> {
  vx.bind_symbol "count" = %count
  %0 = vx.nonzero %x : tensor<4xi32> -> tensor<1x?xi64, #vx.enc<[1, count]>>
  %1 = vx.not %0 : tensor<1x?xi64, #vx.enc<[1, count]>>
  %2 = vx.reduce sum %1 axes = [1] : tensor<1x?xi64, #vx.enc<[1, count]>>
  return %2 : tensor<1xi64>
}

// -----

// What only a dead op of a region read is dead, too: no op of a device is left outside.
// CHECK-LABEL: func.func @dead(
// CHECK-NOT:     vx.log
// CHECK:         vx.loop
// CHECK-NOT:     vx.gather
vx.symbol data_dependent "i"
func.func @dead(%x: tensor<4xf32>, %at: tensor<2xi64>, %trips: tensor<i64>) -> tensor<4xf32> {
  %log = vx.log %x : tensor<4xf32>
  %0 = vx.loop "i" trip_count(%trips) inits(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%value: tensor<4xf32>):
    %going = vx.constant dense<true> : tensor<i1>
    %unused = vx.gather %log, %at axis = 0 : tensor<4xf32>, tensor<2xi64>
    vx.yield %going, %value : tensor<i1>, tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// What is updated is an operand of its kernel, and not computed in it; what is written may be. Nothing joins behind.
// CHECK-LABEL: func.func @update(
// CHECK:         %[[BASE:.+]] = vx.fusion
// CHECK:           vx.neg
// CHECK-NOT:       vx.scatter
// CHECK:         %[[NEW:.+]] = vx.fusion
// CHECK-SAME:      (%{{.+}}, %[[BASE]], %{{.+}})
// CHECK:           vx.abs
// CHECK-NEXT:      vx.scatter
// CHECK-NEXT:      vx.yield
// CHECK:         vx.fusion
// CHECK:           vx.exp
func.func @update(%x: tensor<4x8xf32>, %i: tensor<2x1xi64>, %u: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = vx.neg %x : tensor<4x8xf32>
  %1 = vx.abs %u : tensor<2x8xf32>
  %2 = vx.scatter add %0, %i, %1 axes = [0] : tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>
  %3 = vx.exp %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// A number in all places is made by a kernel, not stored.
// CHECK-LABEL: func.func @zeros(
// CHECK:         %[[ZEROS:.+]] = vx.fusion
// CHECK:           vx.broadcast
// CHECK:         vx.fusion
// CHECK-SAME:      (%[[ZEROS]],
// CHECK:           vx.scatter
func.func @zeros(%i: tensor<2x1xi64>, %u: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = vx.constant dense<0.0> : tensor<4x8xf32>
  %1 = vx.scatter add %0, %i, %u axes = [0] : tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// What parameters alone decide is a kernel of its own, too, where the function does not store them, and each value that
// others read: the scale and the offset are two, though they meet element for element.
// CHECK-LABEL: func.func @derived_from_variables(
// CHECK:         %[[S:.+]] = vx.fusion(%{{.+}}) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.sqrt
// CHECK:         %[[O:.+]] = vx.fusion(%{{.+}}, %[[S]]) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.mul
// CHECK:         vx.fusion(%arg0, %[[S]], %[[O]])
// CHECK-LABEL: func.func @of_what_it_stores(
// CHECK-COUNT-1: vx.fusion(
// CHECK-NOT:     vx.fusion(
vx.variable @var role = statistic : tensor<2xf32>
vx.variable @mean role = statistic : tensor<2xf32>
func.func @derived_from_variables(%x: tensor<2xf32>) -> tensor<2xf32> {
  %v = vx.variable_load @var : tensor<2xf32>
  %m = vx.variable_load @mean : tensor<2xf32>
  %s = vx.sqrt %v : tensor<2xf32>
  %o = vx.mul %m, %s : tensor<2xf32>, tensor<2xf32>
  %0 = vx.mul %x, %s : tensor<2xf32>, tensor<2xf32>
  %1 = vx.sub %0, %o : tensor<2xf32>, tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @of_what_it_stores(%x: tensor<2xf32>) -> tensor<2xf32> {
  %v = vx.variable_load @var : tensor<2xf32>
  %m = vx.variable_load @mean : tensor<2xf32>
  %s = vx.sqrt %v : tensor<2xf32>
  %o = vx.mul %m, %s : tensor<2xf32>, tensor<2xf32>
  %0 = vx.mul %x, %s : tensor<2xf32>, tensor<2xf32>
  %1 = vx.sub %0, %o : tensor<2xf32>, tensor<2xf32>
  vx.variable_store %1, @mean : tensor<2xf32>
  vx.variable_store %x, @var : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// Two numbers of one scalar that a kernel reads in every place: what repeats them is computed there, and no kernel takes them along, so that
// one makes both.
// CHECK-LABEL: func.func @numbers_of_all_elements(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<64xf32>, %[[T:[^ :]+]]: tensor<f32>
// CHECK:         %[[BOTH:.+]]:2 = vx.fusion(%[[T]]) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
// CHECK:           vx.sqrt
// CHECK:           vx.exp
// CHECK:         vx.fusion(%[[X]], {{.*}}%[[BOTH]]#
// CHECK-NOT:     vx.fusion(
func.func @numbers_of_all_elements(%x: tensor<64xf32>, %t: tensor<f32>) -> tensor<64xf32> {
  %0 = vx.sqrt %t : tensor<f32>
  %1 = vx.exp %t : tensor<f32>
  %2 = vx.broadcast %0, [] : tensor<f32> -> tensor<64xf32>
  %3 = vx.broadcast %1, [] : tensor<f32> -> tensor<64xf32>
  %4 = vx.mul %x, %2 : tensor<64xf32>, tensor<64xf32>
  %5 = vx.add %4, %3 : tensor<64xf32>, tensor<64xf32>
  return %5 : tensor<64xf32>
}

// -----

// Each kernel that reads random bits, or which of them are above a number, draws them: neither is in memory.
// CHECK-LABEL: func.func @drawn_where_read(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<8x4xf32>, %[[W:[^ :]+]]: tensor<4x4xf32>, %[[KEY:[^ :]+]]: tensor<i64>
// CHECK:         %[[A:.+]] = vx.fusion(%[[KEY]], %[[X]]) : (tensor<i64>, tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK:           vx.random_bits
// CHECK:         %[[B:.+]] = vx.fusion(%[[A]], %[[W]]) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
// CHECK-NOT:       vx.random_bits
// CHECK:         vx.fusion(%[[B]], %[[W]], %[[KEY]]) : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<i64>) -> tensor<8x4xf32>
// CHECK:           vx.random_bits
// CHECK-NOT:     vx.fusion
// CHECK:         return
func.func @drawn_where_read(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %key: tensor<i64>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %bits = vx.random_bits %key number = 0 : tensor<8x4xui32>
  %c = vx.constant dense<7> : tensor<ui32>
  %limit = vx.broadcast %c, [] : tensor<ui32> -> tensor<8x4xui32>
  %mask = vx.compare ge %bits, %limit : tensor<8x4xui32>, tensor<8x4xui32>
  %z = vx.constant dense<0.0> : tensor<8x4xf32>
  %0 = vx.select %mask, %x, %z : tensor<8x4xi1>, tensor<8x4xf32>, tensor<8x4xf32>
  %1 = vx.contract %0, %w batch = [] x [] contracting = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32>
  %2 = vx.contract %1, %w batch = [] x [] contracting = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32>
  %3 = vx.select %mask, %2, %z : tensor<8x4xi1>, tensor<8x4xf32>, tensor<8x4xf32>
  return %1, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Bits that leave the function are in memory; who reads which of them are above a number draws them all the same.
// CHECK-LABEL: func.func @bits_that_leave(
// CHECK:         vx.fusion
// CHECK:           vx.random_bits
// CHECK-NOT:       vx.compare
// CHECK:         vx.fusion
// CHECK:           vx.random_bits
// CHECK:           vx.compare
// CHECK:           vx.cast
// CHECK:         }
// CHECK-NOT:     vx.compare
// CHECK:         return
func.func @bits_that_leave(%key: tensor<i64>) -> (tensor<8x4xui32>, tensor<8x4xf32>) {
  %bits = vx.random_bits %key number = 0 : tensor<8x4xui32>
  %c = vx.constant dense<7> : tensor<ui32>
  %limit = vx.broadcast %c, [] : tensor<ui32> -> tensor<8x4xui32>
  %mask = vx.compare ge %bits, %limit : tensor<8x4xui32>, tensor<8x4xui32>
  %0 = vx.cast %mask : tensor<8x4xi1> -> tensor<8x4xf32>
  return %bits, %0 : tensor<8x4xui32>, tensor<8x4xf32>
}

// -----

// Single numbers are made together, whatever they are made of, one behind another too.
// CHECK-LABEL: func.func @numbers(
// CHECK:         vx.fusion({{.+}}) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK-DAG:       vx.reduce sum %{{.+}} axes = [0] {vx.anchor} : tensor<300xf32>
// CHECK-DAG:       vx.reduce max %{{.+}} axes = [0, 1] : tensor<8x16xf32>
// CHECK-DAG:       vx.sqrt
// CHECK-DAG:       vx.exp
// CHECK-NOT:     vx.fusion(
func.func @numbers(%x: tensor<300xf32>, %y: tensor<8x16xf32>, %t: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = vx.reduce sum %x axes = [0] : tensor<300xf32>
  %1 = vx.sqrt %0 : tensor<f32>
  %2 = vx.reduce max %y axes = [0, 1] : tensor<8x16xf32>
  %3 = vx.div %2, %1 : tensor<f32>, tensor<f32>
  %4 = vx.exp %t : tensor<f32>
  %5 = vx.neg %t : tensor<f32>
  return %1, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// But for what ends another anchor's kernel, and for what waits for a kernel that reads one of them.
// CHECK-LABEL: func.func @numbers_apart(
// CHECK:         vx.fusion(
// CHECK:           vx.contract
// CHECK:           vx.neg
// CHECK:         %[[S:.+]] = vx.fusion(
// CHECK:           vx.sqrt
// CHECK:         vx.fusion({{.+}}) -> tensor<300x300xf32>
// CHECK:         vx.fusion(
// CHECK:           vx.reduce max
// CHECK-NOT:     vx.fusion(
func.func @numbers_apart(%x: tensor<300xf32>, %y: tensor<300xf32>, %t: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<300x300xf32>) {
  %0 = vx.contract %x, %y batch = [] x [] contracting = [0] x [0] : tensor<300xf32>, tensor<300xf32>
  %1 = vx.neg %0 : tensor<f32>
  %2 = vx.sqrt %t : tensor<f32>
  %3 = vx.broadcast %2, [] : tensor<f32> -> tensor<300x300xf32>
  %4 = vx.broadcast %x, [0] : tensor<300xf32> -> tensor<300x300xf32>
  %5 = vx.mul %3, %4 : tensor<300x300xf32>, tensor<300x300xf32>
  %6 = vx.reduce max %5 axes = [0, 1] : tensor<300x300xf32>
  return %1, %6, %5 : tensor<f32>, tensor<f32>, tensor<300x300xf32>
}

// -----

// Reductions that read one tensor, each with what ends it; the last has nothing in common with the first.
// CHECK-LABEL: func.func @reductions_with_ends(
// CHECK:         vx.fusion({{.+}}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-DAG:       vx.neg
// CHECK-DAG:       vx.sqrt
// CHECK-DAG:       vx.exp
// CHECK-NOT:     vx.fusion(
func.func @reductions_with_ends(%a: tensor<8x10xf32>, %b: tensor<8x10xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = vx.mul %a, %b : tensor<8x10xf32>, tensor<8x10xf32>
  %1 = vx.reduce sum %0 axes = [1] : tensor<8x10xf32>
  %2 = vx.neg %1 : tensor<8xf32>
  %3 = vx.reduce max %a axes = [1] : tensor<8x10xf32>
  %4 = vx.sqrt %3 : tensor<8xf32>
  %5 = vx.reduce max %b axes = [1] : tensor<8x10xf32>
  %6 = vx.exp %5 : tensor<8xf32>
  return %2, %4, %6 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Each reduction has memory of its workgroup: a kernel has eight of them at the most.
// CHECK-LABEL: func.func @many_numbers(
// CHECK: vx.fusion
// CHECK-COUNT-2: vx.reduce sum
// CHECK: vx.fusion
// CHECK-COUNT-8: vx.reduce sum
// CHECK-NOT: vx.reduce
func.func @many_numbers(%x0: tensor<33xf32>, %x1: tensor<34xf32>, %x2: tensor<35xf32>, %x3: tensor<36xf32>, %x4: tensor<37xf32>, %x5: tensor<38xf32>, %x6: tensor<39xf32>, %x7: tensor<40xf32>, %x8: tensor<41xf32>, %x9: tensor<42xf32>) -> tensor<f32> {
  %r0 = vx.reduce sum %x0 axes = [0] : tensor<33xf32>
  %r1 = vx.reduce sum %x1 axes = [0] : tensor<34xf32>
  %r2 = vx.reduce sum %x2 axes = [0] : tensor<35xf32>
  %r3 = vx.reduce sum %x3 axes = [0] : tensor<36xf32>
  %r4 = vx.reduce sum %x4 axes = [0] : tensor<37xf32>
  %r5 = vx.reduce sum %x5 axes = [0] : tensor<38xf32>
  %r6 = vx.reduce sum %x6 axes = [0] : tensor<39xf32>
  %r7 = vx.reduce sum %x7 axes = [0] : tensor<40xf32>
  %r8 = vx.reduce sum %x8 axes = [0] : tensor<41xf32>
  %r9 = vx.reduce sum %x9 axes = [0] : tensor<42xf32>
  %s1 = vx.add %r0, %r1 : tensor<f32>, tensor<f32>
  %s2 = vx.add %s1, %r2 : tensor<f32>, tensor<f32>
  %s3 = vx.add %s2, %r3 : tensor<f32>, tensor<f32>
  %s4 = vx.add %s3, %r4 : tensor<f32>, tensor<f32>
  %s5 = vx.add %s4, %r5 : tensor<f32>, tensor<f32>
  %s6 = vx.add %s5, %r6 : tensor<f32>, tensor<f32>
  %s7 = vx.add %s6, %r7 : tensor<f32>, tensor<f32>
  %s8 = vx.add %s7, %r8 : tensor<f32>, tensor<f32>
  %s9 = vx.add %s8, %r9 : tensor<f32>, tensor<f32>
  return %s9 : tensor<f32>
}

// -----

// Many tensors that lie one behind another are computed where they are to lie, so what makes them and what reads them are kernels of their own; few are a part of
// the kernel that reads them, and so are those that do not begin where buffers do, or of which one is a number in all places.
// CHECK-LABEL: func.func @many_parts(
// CHECK-COUNT-2: vx.exp
// CHECK:         vx.fusion
// CHECK:           vx.concat axis = 0(
// CHECK-NEXT:      vx.yield
// CHECK:         vx.fusion
// CHECK:           vx.sin
func.func @many_parts(%a: tensor<16xf32>, %b: tensor<32xf32>) -> tensor<112xf32> {
  %0 = vx.exp %a : tensor<16xf32>
  %1 = vx.exp %b : tensor<32xf32>
  %2 = vx.concat axis = 0(%0, %1, %a, %1, %0) : tensor<16xf32>, tensor<32xf32>, tensor<16xf32>, tensor<32xf32>, tensor<16xf32>
  %3 = vx.sin %2 : tensor<112xf32>
  return %3 : tensor<112xf32>
}
// CHECK-LABEL: func.func @few_parts(
// CHECK-COUNT-1: vx.fusion
// CHECK-NOT:     vx.fusion
// CHECK:         return
func.func @few_parts(%a: tensor<16xf32>, %b: tensor<32xf32>) -> tensor<48xf32> {
  %2 = vx.concat axis = 0(%a, %b) : tensor<16xf32>, tensor<32xf32>
  %3 = vx.sin %2 : tensor<48xf32>
  return %3 : tensor<48xf32>
}
// CHECK-LABEL: func.func @many_short_parts(
// CHECK-COUNT-1: vx.fusion
// CHECK-NOT:     vx.fusion
// CHECK:         return
func.func @many_short_parts(%a: tensor<16xf32>, %b: tensor<3xf32>) -> tensor<57xf32> {
  %2 = vx.concat axis = 0(%a, %b, %a, %b, %b, %a) : tensor<16xf32>, tensor<3xf32>, tensor<16xf32>, tensor<3xf32>, tensor<3xf32>, tensor<16xf32>
  %3 = vx.sin %2 : tensor<57xf32>
  return %3 : tensor<57xf32>
}
// CHECK-LABEL: func.func @many_parts_of_a_number(
// CHECK-COUNT-1: vx.fusion
// CHECK-NOT:     vx.fusion
// CHECK:         return
func.func @many_parts_of_a_number(%a: tensor<16xf32>) -> tensor<80xf32> {
  %zero = vx.constant dense<0.0> : tensor<16xf32>
  %2 = vx.concat axis = 0(%a, %zero, %a, %zero, %a) : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  %3 = vx.sin %2 : tensor<80xf32>
  return %3 : tensor<80xf32>
}

// -----

// A number that is made of sizes is made by each kernel that reads it, and waits for none.
// CHECK-LABEL: func.func @number_of_sizes(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<?x8xf32, #vx.enc<[batch, 8]>>
// CHECK-NEXT:    %[[ROWS:.+]] = vx.fusion(%[[X]]) {{.*}}-> tensor<?x8xf32
// CHECK:           vx.softmax {{.*}} {vx.anchor} :
// CHECK:           vx.dim_value <max(1, batch)>
// CHECK:           vx.div
// CHECK:           vx.mul
// CHECK:         %[[MEAN:.+]] = vx.fusion(%[[X]]) {{.*}}-> tensor<f32>
// CHECK:           vx.reduce
// CHECK:           vx.dim_value <max(1, batch)>
// CHECK:           vx.div
// CHECK-NOT:     vx.fusion
// CHECK:         return
vx.symbol "batch"
func.func @number_of_sizes(%x: tensor<?x8xf32, #vx.enc<[batch, 8]>>) -> (tensor<?x8xf32, #vx.enc<[batch, 8]>>, tensor<f32>) {
  %one = vx.constant dense<1.0> : tensor<f32>
  %size = vx.dim_value <max(1, batch)>
  %count = vx.cast %size : tensor<i64> -> tensor<f32>
  %share = vx.div %one, %count : tensor<f32>, tensor<f32>
  %0 = vx.softmax %x axis = 1 : tensor<?x8xf32, #vx.enc<[batch, 8]>>
  %shares = vx.broadcast %share, [] : tensor<f32> -> tensor<?x8xf32, #vx.enc<[batch, 8]>>
  %1 = vx.mul %0, %shares : tensor<?x8xf32, #vx.enc<[batch, 8]>>, tensor<?x8xf32, #vx.enc<[batch, 8]>>
  %2 = vx.reduce sum %x axes = [0, 1] : tensor<?x8xf32, #vx.enc<[batch, 8]>>
  %3 = vx.div %2, %count : tensor<f32>, tensor<f32>
  return %1, %3 : tensor<?x8xf32, #vx.enc<[batch, 8]>>, tensor<f32>
}

// -----

// What the host decides by is made by a kernel where it is more than a size.
// CHECK-LABEL: func.func @number_for_the_host(
// CHECK:         %[[IS:.+]] = vx.fusion
// CHECK:           vx.dim_value <batch>
// CHECK:           vx.compare gt
// CHECK:         vx.if %[[IS]]
vx.symbol "batch"
func.func @number_for_the_host(%x: tensor<?x8xf32, #vx.enc<[batch, 8]>>) -> tensor<?x8xf32, #vx.enc<[batch, 8]>> {
  %limit = vx.constant dense<4> : tensor<i64>
  %size = vx.dim_value <batch>
  %is = vx.compare gt %size, %limit : tensor<i64>, tensor<i64>
  %0 = vx.if %is -> tensor<?x8xf32, #vx.enc<[batch, 8]>> {
    %1 = vx.exp %x : tensor<?x8xf32, #vx.enc<[batch, 8]>>
    vx.yield %1 : tensor<?x8xf32, #vx.enc<[batch, 8]>>
  } else {
    vx.yield %x : tensor<?x8xf32, #vx.enc<[batch, 8]>>
  }
  return %0 : tensor<?x8xf32, #vx.enc<[batch, 8]>>
}

// -----

// A product decodes the weight that it reads. What others read too, and what a reduction reads, is a kernel.
// CHECK-LABEL: func.func @low_bits(
// CHECK:         vx.fusion
// CHECK:           vx.cast %{{.+}} : tensor<4x8xi8> -> tensor<4x8xf32>
// CHECK:           vx.mul
// CHECK:           vx.contract
// CHECK:         vx.fusion
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.unpack
// CHECK-NEXT:      vx.cast
// CHECK-NEXT:      vx.contract
// CHECK:         %[[D:.+]] = vx.fusion
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.cast
// CHECK-NEXT:      vx.yield
// CHECK:         vx.fusion(%{{.+}}, %[[D]])
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      vx.contract
func.func @low_bits(%x: tensor<3x4xf32>, %p: tensor<1x4x16xi4>, %s: tensor<8xf32>)
    -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<8xf32>) {
  %w = vx.constant dense_resource<w> : tensor<4x8xi8>
  %v = vx.constant dense_resource<v> : tensor<4x8xi8>
  %c = vx.cast %w : tensor<4x8xi8> -> tensor<4x8xf32>
  %b = vx.broadcast %s, [1] : tensor<8xf32> -> tensor<4x8xf32>
  %d = vx.mul %c, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %0 = vx.contract %x, %d batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x8xf32>
  %u = vx.unpack %p dim = 1 permutation = [1, 0] : tensor<1x4x16xi4> -> tensor<4x8xi4>
  %e = vx.cast %u : tensor<4x8xi4> -> tensor<4x8xf32>
  %1 = vx.contract %x, %e batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x8xf32>
  %f = vx.cast %v : tensor<4x8xi8> -> tensor<4x8xf32>
  %2 = vx.contract %x, %f batch = [] x [] contracting = [1] x [0] : tensor<3x4xf32>, tensor<4x8xf32>
  %3 = vx.reduce sum %f axes = [0] : tensor<4x8xf32>
  return %0, %1, %2, %3 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<8xf32>
}

// -----

// Two ways lead from each op to the one before: the search for weights of few bits visits each op once.
// CHECK-LABEL: func.func @squares(
// CHECK:         vx.fusion
func.func @squares(%0: tensor<2xf32>) -> tensor<2xf32> {
  %1 = vx.mul %0, %0 : tensor<2xf32>, tensor<2xf32>
  %2 = vx.mul %1, %1 : tensor<2xf32>, tensor<2xf32>
  %3 = vx.mul %2, %2 : tensor<2xf32>, tensor<2xf32>
  %4 = vx.mul %3, %3 : tensor<2xf32>, tensor<2xf32>
  %5 = vx.mul %4, %4 : tensor<2xf32>, tensor<2xf32>
  %6 = vx.mul %5, %5 : tensor<2xf32>, tensor<2xf32>
  %7 = vx.mul %6, %6 : tensor<2xf32>, tensor<2xf32>
  %8 = vx.mul %7, %7 : tensor<2xf32>, tensor<2xf32>
  %9 = vx.mul %8, %8 : tensor<2xf32>, tensor<2xf32>
  %10 = vx.mul %9, %9 : tensor<2xf32>, tensor<2xf32>
  %11 = vx.mul %10, %10 : tensor<2xf32>, tensor<2xf32>
  %12 = vx.mul %11, %11 : tensor<2xf32>, tensor<2xf32>
  %13 = vx.mul %12, %12 : tensor<2xf32>, tensor<2xf32>
  %14 = vx.mul %13, %13 : tensor<2xf32>, tensor<2xf32>
  %15 = vx.mul %14, %14 : tensor<2xf32>, tensor<2xf32>
  %16 = vx.mul %15, %15 : tensor<2xf32>, tensor<2xf32>
  %17 = vx.mul %16, %16 : tensor<2xf32>, tensor<2xf32>
  %18 = vx.mul %17, %17 : tensor<2xf32>, tensor<2xf32>
  %19 = vx.mul %18, %18 : tensor<2xf32>, tensor<2xf32>
  %20 = vx.mul %19, %19 : tensor<2xf32>, tensor<2xf32>
  %21 = vx.mul %20, %20 : tensor<2xf32>, tensor<2xf32>
  %22 = vx.mul %21, %21 : tensor<2xf32>, tensor<2xf32>
  %23 = vx.mul %22, %22 : tensor<2xf32>, tensor<2xf32>
  %24 = vx.mul %23, %23 : tensor<2xf32>, tensor<2xf32>
  %25 = vx.mul %24, %24 : tensor<2xf32>, tensor<2xf32>
  %26 = vx.mul %25, %25 : tensor<2xf32>, tensor<2xf32>
  %27 = vx.mul %26, %26 : tensor<2xf32>, tensor<2xf32>
  %28 = vx.mul %27, %27 : tensor<2xf32>, tensor<2xf32>
  %29 = vx.mul %28, %28 : tensor<2xf32>, tensor<2xf32>
  %30 = vx.mul %29, %29 : tensor<2xf32>, tensor<2xf32>
  %31 = vx.mul %30, %30 : tensor<2xf32>, tensor<2xf32>
  %32 = vx.mul %31, %31 : tensor<2xf32>, tensor<2xf32>
  %33 = vx.mul %32, %32 : tensor<2xf32>, tensor<2xf32>
  %34 = vx.mul %33, %33 : tensor<2xf32>, tensor<2xf32>
  %35 = vx.mul %34, %34 : tensor<2xf32>, tensor<2xf32>
  %36 = vx.mul %35, %35 : tensor<2xf32>, tensor<2xf32>
  %37 = vx.mul %36, %36 : tensor<2xf32>, tensor<2xf32>
  %38 = vx.mul %37, %37 : tensor<2xf32>, tensor<2xf32>
  %39 = vx.mul %38, %38 : tensor<2xf32>, tensor<2xf32>
  %40 = vx.mul %39, %39 : tensor<2xf32>, tensor<2xf32>
  %41 = vx.mul %40, %40 : tensor<2xf32>, tensor<2xf32>
  %42 = vx.mul %41, %41 : tensor<2xf32>, tensor<2xf32>
  %43 = vx.mul %42, %42 : tensor<2xf32>, tensor<2xf32>
  %44 = vx.mul %43, %43 : tensor<2xf32>, tensor<2xf32>
  %45 = vx.mul %44, %44 : tensor<2xf32>, tensor<2xf32>
  %46 = vx.mul %45, %45 : tensor<2xf32>, tensor<2xf32>
  %47 = vx.mul %46, %46 : tensor<2xf32>, tensor<2xf32>
  %48 = vx.mul %47, %47 : tensor<2xf32>, tensor<2xf32>
  return %48 : tensor<2xf32>
}

// -----

// A product reads the numbers of blocks as they are: it widens and multiplies them. What another op reads too is computed once for both.
// CHECK-LABEL: func.func @numbers_of_blocks(
// CHECK:         vx.fusion(%{{.+}}) : (tensor<1x2x2x4xf32>, tensor<3x2x2x4xi4>, tensor<3x2x1xf16>, tensor<3x2x2xi8>) -> tensor<1x3xf32>
// CHECK:         vx.mul
// CHECK:         vx.mul
// CHECK:         vx.contract
// CHECK-LABEL: func.func @numbers_that_are_read(
// CHECK:         vx.fusion(%{{.+}}) : (tensor<3x2x2xi8>) -> tensor<3x2x2xf32>
// CHECK:         vx.yield
// CHECK:         vx.fusion(%{{.+}}) : (tensor<1x2x2x4xf32>, tensor<3x2x2x4xi4>, tensor<3x2x2xf32>) -> tensor<1x3xf32>
func.func @numbers_of_blocks(%x: tensor<1x2x2x4xf32>) -> tensor<1x3xf32> {
  %w = vx.constant dense_resource<w> : tensor<3x2x2x4xi4>
  %c = vx.cast %w : tensor<3x2x2x4xi4> -> tensor<3x2x2x4xf32>
  %own = vx.constant dense_resource<own> : tensor<3x2x2xi8>
  %own_f = vx.cast %own : tensor<3x2x2xi8> -> tensor<3x2x2xf32>
  %all = vx.constant dense_resource<all> : tensor<3x2x1xf16>
  %all_f = vx.cast %all : tensor<3x2x1xf16> -> tensor<3x2x1xf32>
  %all_b = vx.broadcast %all_f, [0, 1, 2] : tensor<3x2x1xf32> -> tensor<3x2x2xf32>
  %n = vx.mul %all_b, %own_f : tensor<3x2x2xf32>, tensor<3x2x2xf32>
  %s = vx.broadcast %n, [0, 1, 2] : tensor<3x2x2xf32> -> tensor<3x2x2x4xf32>
  %d = vx.mul %c, %s : tensor<3x2x2x4xf32>, tensor<3x2x2x4xf32>
  %r = vx.contract %x, %d batch = [] x [] contracting = [1, 2, 3] x [1, 2, 3] : tensor<1x2x2x4xf32>, tensor<3x2x2x4xf32>
  return %r : tensor<1x3xf32>
}
func.func @numbers_that_are_read(%x: tensor<1x2x2x4xf32>) -> (tensor<1x3xf32>, tensor<3x2x2xf32>) {
  %w = vx.constant dense_resource<w> : tensor<3x2x2x4xi4>
  %c = vx.cast %w : tensor<3x2x2x4xi4> -> tensor<3x2x2x4xf32>
  %own = vx.constant dense_resource<own> : tensor<3x2x2xi8>
  %own_f = vx.cast %own : tensor<3x2x2xi8> -> tensor<3x2x2xf32>
  %s = vx.broadcast %own_f, [0, 1, 2] : tensor<3x2x2xf32> -> tensor<3x2x2x4xf32>
  %d = vx.mul %c, %s : tensor<3x2x2x4xf32>, tensor<3x2x2x4xf32>
  %r = vx.contract %x, %d batch = [] x [] contracting = [1, 2, 3] x [1, 2, 3] : tensor<1x2x2x4xf32>, tensor<3x2x2x4xf32>
  return %r, %own_f : tensor<1x3xf32>, tensor<3x2x2xf32>
}

// -----

// Two readers of a weight decode it for themselves: a product, and the rows that are picked from it.
// CHECK-LABEL: func.func @two_readers(
// CHECK:         %[[ROWS:.+]] = vx.fusion(%[[W:.+]], %{{.+}}) : (tensor<8x4xi8>, tensor<3xi64>) -> tensor<3x4xf32>
// CHECK:         vx.cast
// CHECK:         vx.gather
// CHECK:         vx.fusion(%[[ROWS]], %[[W]]) : (tensor<3x4xf32>, tensor<8x4xi8>) -> tensor<3x8xf32>
// CHECK:         vx.cast
// CHECK:         vx.contract
func.func @two_readers(%i: tensor<3xi64>) -> tensor<3x8xf32> {
  %w = vx.constant dense_resource<w> : tensor<8x4xi8>
  %c = vx.cast %w : tensor<8x4xi8> -> tensor<8x4xf32>
  %rows = vx.gather %c, %i axis = 0 : tensor<8x4xf32>, tensor<3xi64>
  %r = vx.contract %rows, %c batch = [] x [] contracting = [1] x [1] : tensor<3x4xf32>, tensor<8x4xf32>
  return %r : tensor<3x8xf32>
}
