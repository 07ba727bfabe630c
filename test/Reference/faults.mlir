// Calls that fail in an op: sizes that no type states and that do not fit together, and values that are no tensor to
// compute with. The exit code is 1, and the message names the source.
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function elementwise --input x=f32[2]:ones --input y=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=ELEMENTWISE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function no_size 2>&1 | FileCheck %s --match-full-lines --check-prefix=NO-SIZE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function negative_size --dim n=3 2>&1 | FileCheck %s --match-full-lines --check-prefix=NEGATIVE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function too_large 2>&1 | FileCheck %s --match-full-lines --check-prefix=LARGE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function no_value 2>&1 | FileCheck %s --match-full-lines --check-prefix=NO-VALUE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function division --dim n=1 2>&1 | FileCheck %s --match-full-lines --check-prefix=DIVISION
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function reshape --input x=f32[5]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=RESHAPE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function unpack --input x=f32[2,4]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=UNPACK
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function broadcast --input x=f32[2]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=BROADCAST
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function slice --dim n=2 2>&1 | FileCheck %s --match-full-lines --check-prefix=SLICE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function slice_start 2>&1 | FileCheck %s --match-full-lines --check-prefix=SLICE-START
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function concat --input x=f32[2,3]:ones --input y=f32[2,4]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=CONCAT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function pad --dim n=1 2>&1 | FileCheck %s --match-full-lines --check-prefix=PAD
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function pad_low 2>&1 | FileCheck %s --match-full-lines --check-prefix=PAD-LOW
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function pad_high 2>&1 | FileCheck %s --match-full-lines --check-prefix=PAD-HIGH
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function contract_batch --input x=f32[2,3]:ones --input y=f32[4,3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=BATCH
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function contract --input x=f32[2,3]:ones --input y=f32[4,3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=CONTRACT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function conv --input x=f32[1,3,5]:ones --input y=f32[4,2,3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=CONV
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function arg_reduce --input x=f32[2,0]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=ARG-REDUCE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function layer_norm --input x=f32[2,3]:ones --input y=f32[4]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=LAYER-NORM
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function rms_norm --input x=f32[2,3]:ones --input y=f32[4]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=RMS-NORM
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function attention --input k=f32[1,2,3,4]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=ATTENTION
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function mask --input m=bool[1,1,5,3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=MASK
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function past 2>&1 | FileCheck %s --match-full-lines --check-prefix=PAST
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function gather 2>&1 | FileCheck %s --match-full-lines --check-prefix=GATHER
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function scatter --input u=f32[3]:ones 2>&1 | FileCheck %s --match-full-lines --check-prefix=SCATTER
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function nonzero 2>&1 | FileCheck %s --match-full-lines --check-prefix=NONZERO
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function insert 2>&1 | FileCheck %s --match-full-lines --check-prefix=INSERT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function at 2>&1 | FileCheck %s --match-full-lines --check-prefix=AT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function erase_at 2>&1 | FileCheck %s --match-full-lines --check-prefix=ERASE-AT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function erase 2>&1 | FileCheck %s --match-full-lines --check-prefix=ERASE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function no_sequence 2>&1 | FileCheck %s --match-full-lines --check-prefix=NO-SEQUENCE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function strings 2>&1 | FileCheck %s --match-full-lines --check-prefix=STRINGS
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function sparse 2>&1 | FileCheck %s --match-full-lines --check-prefix=SPARSE
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function missing 2>&1 | FileCheck %s --match-full-lines --check-prefix=MISSING
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function short 2>&1 | FileCheck %s --match-full-lines --check-prefix=SHORT
// RUN: sh %S/../Tools/Inputs/exits-with 1 vx-interpret %s --function unknown 2>&1 | FileCheck %s --match-full-lines --check-prefix=UNKNOWN

vx.symbol "n"
vx.symbol data_dependent "k"

// ELEMENTWISE: vx-interpret: error: the operands' shapes [2] and [3] differ in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @elementwise(%x: tensor<?xf32> {vx.name = "x"}, %y: tensor<?xf32> {vx.name = "y"}) -> tensor<?xf32> {
  %0 = vx.add %x, %y : tensor<?xf32>, tensor<?xf32>
  return %0 : tensor<?xf32>
}

// NO-SIZE: vx-interpret: error: dimension 0 has no size in its type in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @no_size() -> tensor<?xi64> {
  %0 = vx.iota axis = 0 : tensor<?xi64>
  return %0 : tensor<?xi64>
}

// NEGATIVE: vx-interpret: error: dimension 'n - 4' is -1, below 0 in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @negative_size(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xi64, #vx.enc<[n - 4]>> {
  %0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n - 4]>>
  return %0 : tensor<?xi64, #vx.enc<[n - 4]>>
}

// LARGE: vx-interpret: error: a tensor of the shape [4294967296, 4294967296] has more bytes than 64 bits count in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @too_large() -> tensor<4294967296x4294967296xi8> {
  %0 = vx.iota axis = 0 : tensor<4294967296x4294967296xi8>
  return %0 : tensor<4294967296x4294967296xi8>
}

// NO-VALUE: vx-interpret: error: symbol 'k' has no value yet in 'k * 2' in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @no_value() -> tensor<i64> {
  %0 = vx.dim_value <k * 2>
  return %0 : tensor<i64>
}

// DIVISION: vx-interpret: error: dimension 'floordiv(n, n - 1)' divides by zero or does not fit 64 bits in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @division(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<i64> {
  %0 = vx.dim_value <floordiv(n, n - 1)>
  return %0 : tensor<i64>
}

// RESHAPE: vx-interpret: error: the shapes [5] and [2, 3] have different numbers of elements in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @reshape(%x: tensor<?xf32> {vx.name = "x"}) -> tensor<2x3xf32> {
  %0 = vx.reshape %x : tensor<?xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// UNPACK: vx-interpret: error: the shape [2, 4] does not unpack to [9] in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @unpack(%x: tensor<?x4xf32> {vx.name = "x"}) -> tensor<9xf32> {
  %0 = vx.unpack %x dim = 0 permutation = [0] : tensor<?x4xf32> -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// BROADCAST: vx-interpret: error: the shape [2] does not broadcast to [4, 3] in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @broadcast(%x: tensor<?xf32> {vx.name = "x"}) -> tensor<4x3xf32> {
  %0 = vx.broadcast %x, [1] : tensor<?xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// A last index beyond 64 bits is out of range like any other.
// SLICE: vx-interpret: error: the indices 0 to 9223372036854775807 are out of range [0, 2) in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @slice(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<4xf32> {
  %0 = vx.slice %x starts [#vx.dim<0>] strides [4611686018427387904] : tensor<?xf32, #vx.enc<[n]>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// SLICE-START: vx-interpret: error: symbol 'k' has no value yet in 'k' in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @slice_start(%x: tensor<2xf32>) -> tensor<1xf32> {
  %0 = vx.slice %x starts [#vx.dim<k>] strides [1] : tensor<2xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// CONCAT: vx-interpret: error: the shapes [2, 3] and [2, 4] differ in dimension 1 in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @concat(%x: tensor<?x?xf32> {vx.name = "x"}, %y: tensor<?x?xf32> {vx.name = "y"}) -> tensor<?x?xf32> {
  %0 = vx.concat axis = 0 (%x, %y) : tensor<?x?xf32>, tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// PAD: vx-interpret: error: the padded size of dimension 0 is below 0 or does not fit 64 bits: -2 + 1 + 0 in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @pad(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n - 2]>> {
  %v = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.pad %x, %v low [#vx.dim<-2>] high [#vx.dim<0>] : tensor<?xf32, #vx.enc<[n]>>, tensor<f32>
  return %0 : tensor<?xf32, #vx.enc<[n - 2]>>
}

// PAD-LOW: vx-interpret: error: symbol 'k' has no value yet in 'k' in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @pad_low(%x: tensor<2xf32>) -> tensor<?xf32, #vx.enc<[k + 2]>> {
  %v = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.pad %x, %v low [#vx.dim<k>] high [#vx.dim<0>] : tensor<2xf32>, tensor<f32>
  return %0 : tensor<?xf32, #vx.enc<[k + 2]>>
}

// PAD-HIGH: vx-interpret: error: symbol 'k' has no value yet in 'k' in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @pad_high(%x: tensor<2xf32>) -> tensor<?xf32, #vx.enc<[k + 2]>> {
  %v = vx.constant dense<0.0> : tensor<f32>
  %0 = vx.pad %x, %v low [#vx.dim<0>] high [#vx.dim<k>] : tensor<2xf32>, tensor<f32>
  return %0 : tensor<?xf32, #vx.enc<[k + 2]>>
}

// BATCH: vx-interpret: error: dimension 0 of [2, 3] and 0 of [4, 3] differ in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @contract_batch(%x: tensor<?x?xf32> {vx.name = "x"}, %y: tensor<?x?xf32> {vx.name = "y"}) -> tensor<?xf32> {
  %0 = vx.contract %x, %y batch = [0] x [0] contracting = [1] x [1] : tensor<?x?xf32>, tensor<?x?xf32>
  return %0 : tensor<?xf32>
}

// CONTRACT: vx-interpret: error: dimension 1 of [2, 3] and 0 of [4, 3] differ in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @contract(%x: tensor<?x?xf32> {vx.name = "x"}, %y: tensor<?x?xf32> {vx.name = "y"}) -> tensor<?x?xf32> {
  %0 = vx.contract %x, %y batch = [] x [] contracting = [1] x [0] : tensor<?x?xf32>, tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CONV: vx-interpret: error: a filter of shape [4, 2, 3] in 2 groups does not fit an input of shape [1, 3, 5] in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @conv(%x: tensor<?x?x?xf32> {vx.name = "x"}, %y: tensor<?x?x?xf32> {vx.name = "y"}) -> tensor<?x?x?xf32> {
  %0 = vx.conv %x, %y strides = [1] dilations = [1] pads = [0] x [0] groups = 2 : tensor<?x?x?xf32>, tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// ARG-REDUCE: vx-interpret: error: dimension 1 of [2, 0] has no element to choose in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @arg_reduce(%x: tensor<?x?xf32> {vx.name = "x"}) -> tensor<?xi64> {
  %0 = vx.arg_reduce max %x axis = 1 : tensor<?x?xf32>
  return %0 : tensor<?xi64>
}

// LAYER-NORM: vx-interpret: error: the shapes [3] of a row and [4] differ in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @layer_norm(%x: tensor<?x?xf32> {vx.name = "x"}, %y: tensor<?xf32> {vx.name = "y"}) -> tensor<?x?xf32> {
  %0 = vx.layer_norm %x, %y, %y axis = 1 epsilon = 1.0e-5 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>
  return %0 : tensor<?x?xf32>
}

// RMS-NORM: vx-interpret: error: the shapes [3] of a row and [4] differ in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @rms_norm(%x: tensor<?x?xf32> {vx.name = "x"}, %y: tensor<?xf32> {vx.name = "y"}) -> tensor<?x?xf32> {
  %0 = vx.rms_norm %x, %y, epsilon = 1.0e-5 : tensor<?x?xf32>, tensor<?xf32>
  return %0 : tensor<?x?xf32>
}

// ATTENTION: vx-interpret: error: the shapes [1, 3, 5, 4], [1, 2, 3, 4] and [1, 2, 3, 4] of query, key and value do not fit in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @attention(%k: tensor<1x?x3x4xf32> {vx.name = "k"}) -> tensor<1x3x5x4xf32> {
  %q = vx.constant dense<1.0> : tensor<1x3x5x4xf32>
  %0 = vx.attention %q, %k, %k scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
    : tensor<1x3x5x4xf32>, tensor<1x?x3x4xf32>, tensor<1x?x3x4xf32> -> tensor<1x3x5x4xf32>
  return %0 : tensor<1x3x5x4xf32>
}

// MASK: vx-interpret: error: the shapes [1, 1, 5, 3] of a mask and [1, 2, 4, 3] of the scores do not fit in '{{.*}}faults.mlir:[[@LINE+4]]:8'
func.func @mask(%m: tensor<1x1x?x3xi1> {vx.name = "m"}) -> tensor<1x2x4x4xf32> {
  %q = vx.constant dense<1.0> : tensor<1x2x4x4xf32>
  %k = vx.constant dense<1.0> : tensor<1x2x3x4xf32>
  %0 = vx.attention %q, %k, %k mask(%m : tensor<1x1x?x3xi1>) scale = 1.0 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
    : tensor<1x2x4x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// PAST: vx-interpret: error: symbol 'k' has no value yet in 'k' in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @past() -> tensor<1x2x3x4xf32> {
  %q = vx.constant dense<1.0> : tensor<1x2x3x4xf32>
  %0 = vx.attention %q, %q, %q scale = 1.0 causal past = <k> dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3]
    : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return %0 : tensor<1x2x3x4xf32>
}

// GATHER: vx-interpret: error: index -6 at [0] is out of range [-5, 5) in '{{.*}}faults.mlir:[[@LINE+4]]:8'
func.func @gather() -> tensor<1xf32> {
  %a = vx.constant dense<0.0> : tensor<5xf32>
  %i = vx.constant dense<-6> : tensor<1xi32>
  %0 = vx.gather %a, %i axis = 0 : tensor<5xf32>, tensor<1xi32>
  return %0 : tensor<1xf32>
}

// SCATTER: vx-interpret: error: needs updates of shape [4], got [3] in '{{.*}}faults.mlir:[[@LINE+4]]:8'
func.func @scatter(%u: tensor<?xf32> {vx.name = "u"}) -> tensor<5xf32> {
  %x = vx.constant dense<1.0> : tensor<5xf32>
  %i = vx.constant dense<0> : tensor<4x1xi64>
  %0 = vx.scatter set %x, %i, %u axes = [0] : tensor<5xf32>, tensor<4x1xi64>, tensor<?xf32>
  return %0 : tensor<5xf32>
}

// NONZERO: vx-interpret: error: the input has 2 elements that are not zero, the result's type says 3 in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @nonzero() -> tensor<1x3xi64> {
  %a = vx.constant dense<[4, 0, 5]> : tensor<3xi64>
  %0 = vx.nonzero %a : tensor<3xi64> -> tensor<1x3xi64>
  return %0 : tensor<1x3xi64>
}

// One place behind the last tensor can be inserted at, not read.
// INSERT: vx-interpret: error: position 2 is out of range [-1, 2) in '{{.*}}faults.mlir:[[@LINE+5]]:8'
func.func @insert() -> !vx.sequence<tensor<2xi64>> {
  %a = vx.constant dense<0> : tensor<2xi64>
  %two = vx.constant dense<2> : tensor<i64>
  %s = vx.sequence_construct %a : (tensor<2xi64>) -> !vx.sequence<tensor<2xi64>>
  %0 = vx.sequence_insert %s, %a at %two : !vx.sequence<tensor<2xi64>>, tensor<2xi64> -> !vx.sequence<tensor<2xi64>>
  return %0 : !vx.sequence<tensor<2xi64>>
}

// AT: vx-interpret: error: position 1 is out of range [-1, 1) in '{{.*}}faults.mlir:[[@LINE+5]]:8'
func.func @at() -> tensor<2xi64> {
  %a = vx.constant dense<0> : tensor<2xi64>
  %one = vx.constant dense<1> : tensor<i64>
  %s = vx.sequence_construct %a : (tensor<2xi64>) -> !vx.sequence<tensor<2xi64>>
  %0 = vx.sequence_at %s, %one : !vx.sequence<tensor<2xi64>> -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// ERASE-AT: vx-interpret: error: position -2 is out of range [-1, 1) in '{{.*}}faults.mlir:[[@LINE+5]]:8'
func.func @erase_at() -> !vx.sequence<tensor<2xi64>> {
  %a = vx.constant dense<0> : tensor<2xi64>
  %before = vx.constant dense<-2> : tensor<i64>
  %s = vx.sequence_construct %a : (tensor<2xi64>) -> !vx.sequence<tensor<2xi64>>
  %0 = vx.sequence_erase %s at %before : !vx.sequence<tensor<2xi64>>
  return %0 : !vx.sequence<tensor<2xi64>>
}

// ERASE: vx-interpret: error: the sequence is empty, there is no tensor to erase in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @erase() -> !vx.sequence<tensor<2xi64>> {
  %s = vx.sequence_construct : () -> !vx.sequence<tensor<2xi64>>
  %0 = vx.sequence_erase %s : !vx.sequence<tensor<2xi64>>
  return %0 : !vx.sequence<tensor<2xi64>>
}

// STRINGS: vx-interpret: error: the reference evaluator computes with numbers and bools, got 'tensor<1x!vx.string>' in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @strings() -> tensor<1x!vx.string> {
  %0 = vx.constant dense<"text"> : tensor<1x!vx.string>
  return %0 : tensor<1x!vx.string>
}

// SPARSE: vx-interpret: error: expects an inline constant or a resource for 'tensor<3xf32>', got 'builtin.sparse_elements' in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @sparse() -> tensor<3xf32> {
  %0 = vx.constant sparse<[[1]], [2.0]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// MISSING: vx-interpret: error: expects the resource 'weights', got none in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @missing() -> tensor<3xf32> {
  %0 = vx.constant dense_resource<weights> : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// SHORT: vx-interpret: error: expects 12 bytes in the resource 'short' of type 'tensor<3xf32>', got 8 in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @short() -> tensor<3xf32> {
  %0 = vx.constant dense_resource<short> : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// UNKNOWN: vx-interpret: error: the reference evaluator does not know 'builtin.unrealized_conversion_cast' in '{{.*}}faults.mlir:[[@LINE+2]]:8'
func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      short: "0x040000000000000000000000"
    }
  }
#-}

// NO-SEQUENCE: vx-interpret: error: the optional holds none in '{{.*}}faults.mlir:[[@LINE+3]]:8'
func.func @no_sequence() -> !vx.sequence<tensor<2xi64>> {
  %o = vx.optional -> !vx.optional<!vx.sequence<tensor<2xi64>>>
  %0 = vx.optional_value %o : !vx.optional<!vx.sequence<tensor<2xi64>>> -> !vx.sequence<tensor<2xi64>>
  return %0 : !vx.sequence<tensor<2xi64>>
}
