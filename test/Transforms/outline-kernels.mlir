// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-form-fusions),vx-outline-kernels{target=cpu})' | FileCheck %s

// Two layers of one shape are one kernel, whatever their symbols are called; each dispatch says what its symbols are.
// CHECK-LABEL: func.func @equal_kernels(
// CHECK:         vx.dispatch @exp(%{{.+}}) symbols [#vx.dim<n>]
// CHECK:         vx.dispatch @exp(%{{.+}}) symbols [#vx.dim<m>]
// CHECK:       vx.kernel @exp "{{[0-9a-f]+}}" symbols ["s0"]
// CHECK:         vx.exp %{{.+}} : tensor<?xf32, #vx.enc<[s0]>>
// CHECK-NOT:   vx.kernel
vx.symbol "n"
vx.symbol "m"
func.func @equal_kernels(%x: tensor<?xf32, #vx.enc<[n]>>, %y: tensor<?xf32, #vx.enc<[m]>>)
    -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>) {
  %0 = vx.exp %x : tensor<?xf32, #vx.enc<[n]>>
  %1 = vx.exp %y : tensor<?xf32, #vx.enc<[m]>>
  return %0, %1 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>
}

// -----

// Their anchor is theirs, too: the first of several reductions, whichever the group grew from.
// CHECK-LABEL: func.func @equal_anchors(
// CHECK:         vx.dispatch @[[NAME:.+]](%{{.+}}) symbols [#vx.dim<n>]
// CHECK:         vx.dispatch @[[NAME]](%{{.+}}) symbols [#vx.dim<m>]
// CHECK:       vx.kernel @[[NAME]] "{{[0-9a-f]+}}" symbols ["s0"]
// CHECK:         vx.reduce sum %{{.*}} axes = [1] {vx.anchor} :
// CHECK:         vx.reduce max %{{.*}} axes = [1] :
// CHECK-NOT:   vx.kernel
vx.symbol "n"
vx.symbol "m"
func.func @equal_anchors(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %y: tensor<?x8xf32, #vx.enc<[m, 8]>>)
    -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>, tensor<?xf32, #vx.enc<[m]>>) {
  %0 = vx.reduce sum %x axes = [1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
  %1 = vx.reduce max %x axes = [1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
  %2 = vx.reduce sum %y axes = [1] : tensor<?x8xf32, #vx.enc<[m, 8]>>
  %3 = vx.reduce max %y axes = [1] : tensor<?x8xf32, #vx.enc<[m, 8]>>
  return %0, %1, %2, %3 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>, tensor<?xf32, #vx.enc<[m]>>
}

// -----

// Another element type is another kernel, with another name.
// CHECK-LABEL: func.func @other_types(
// CHECK:       vx.kernel @exp "[[KEY:[0-9a-f]+]]"
// CHECK-NOT:   "[[KEY]]"
// CHECK:       vx.kernel @exp_1 "
func.func @other_types(%x: tensor<4xf32>, %y: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>) {
  %0 = vx.exp %x : tensor<4xf32>
  %1 = vx.exp %y : tensor<4xf64>
  return %0, %1 : tensor<4xf32>, tensor<4xf64>
}

// -----

// The residual is read where the result is written, so the result may take over its memory; the factors of a product may not be.
// CHECK-LABEL: func.func @in_place(
// CHECK:       vx.kernel @contract_add
// CHECK-SAME:    vx.in_place = array<i64: 2, 0>
func.func @in_place(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %r: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = vx.add %0, %r : tensor<4x4xf32>, tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// What is declared of a symbol, its kernels know: those of another range are others.
// CHECK-LABEL: func.func @ranges(
// CHECK:         vx.kernel @exp "
// CHECK-SAME:      vx.symbol_ranges = array<i64: 64, 512, 64>
// CHECK:         vx.kernel @exp_1 "
// CHECK-NOT:       vx.symbol_ranges
vx.symbol "n" min = 64 max = 512 multiple = 64
vx.symbol "m"
func.func @ranges(%x: tensor<?xf32, #vx.enc<[n]>>, %y: tensor<?xf32, #vx.enc<[m]>>) -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>) {
  %0 = vx.exp %x : tensor<?xf32, #vx.enc<[n]>>
  %1 = vx.exp %y : tensor<?xf32, #vx.enc<[m]>>
  return %0, %1 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>
}

// -----

// Where a slice begins is a parameter where there are many: the kernel knows the least, the greatest and what all are multiples of. What is the same in all of them
// is none.
// CHECK-LABEL: func.func @starts(
// CHECK:         vx.dispatch @[[NAME:slice.*]](%{{.+}}) symbols [#vx.dim<8>]
// CHECK:         vx.dispatch @[[NAME]](%{{.+}}) symbols [#vx.dim<0>]
// CHECK:         vx.dispatch @[[NAME]](%{{.+}}) symbols [#vx.dim<24>]
// CHECK:         vx.dispatch @[[NAME]](%{{.+}}) symbols [#vx.dim<16>]
// CHECK:         vx.dispatch @[[NAME]](%{{.+}}) symbols [#vx.dim<40>]
// CHECK:       vx.kernel @[[NAME]] "{{[0-9a-f]+}}" symbols ["s0"]
// CHECK-SAME:    vx.symbol_ranges = array<i64: 0, 40, 8>
// CHECK:         vx.slice %{{.+}} starts [#vx.dim<s0>, #vx.dim<3>]
// CHECK-NOT:   vx.kernel
vx.symbol "start0"
func.func @starts(%x: tensor<48x64xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = vx.slice %x starts [#vx.dim<8>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %1 = vx.slice %x starts [#vx.dim<0>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %2 = vx.slice %x starts [#vx.dim<24>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %3 = vx.slice %x starts [#vx.dim<16>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %4 = vx.slice %x starts [#vx.dim<40>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  return %0, %1, %2, %3, %4 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// Four are four.
// CHECK-LABEL: func.func @few_starts(
// CHECK-COUNT-4: vx.kernel @slice
// CHECK-NOT:   vx.kernel
func.func @few_starts(%x: tensor<48x64xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = vx.slice %x starts [#vx.dim<8>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %1 = vx.slice %x starts [#vx.dim<0>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %2 = vx.slice %x starts [#vx.dim<24>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  %3 = vx.slice %x starts [#vx.dim<16>, #vx.dim<3>] strides [1, 1] : tensor<48x64xf32> -> tensor<8x32xf32>
  return %0, %1, %2, %3 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// Sizes count from the least: windows over sizes that are all so much greater have one kernel.
// CHECK-LABEL: func.func @shifted(
// CHECK:         vx.dispatch @[[NAME:reduce_window.*]](%{{.+}}) symbols [#vx.dim<t + 1>]
// CHECK:         vx.dispatch @[[NAME]](%{{.+}}) symbols [#vx.dim<t + 3>]
// CHECK:       vx.kernel @[[NAME]] "{{[0-9a-f]+}}" symbols ["s0"]
// CHECK:         vx.reduce_window max %{{.+}} : tensor<?xf32, #vx.enc<[s0 + 2]>>
// CHECK-NOT:   vx.kernel
vx.symbol "t"
func.func @shifted(%x: tensor<?xf32, #vx.enc<[t + 3]>>, %y: tensor<?xf32, #vx.enc<[t + 5]>>)
    -> (tensor<?xf32, #vx.enc<[t + 1]>>, tensor<?xf32, #vx.enc<[t + 3]>>) {
  %0 = vx.reduce_window max %x window = [3] strides = [1] dilations = [1] pads = [0] x [0] : tensor<?xf32, #vx.enc<[t + 3]>>
  %1 = vx.reduce_window max %y window = [3] strides = [1] dilations = [1] pads = [0] x [0] : tensor<?xf32, #vx.enc<[t + 5]>>
  return %0, %1 : tensor<?xf32, #vx.enc<[t + 1]>>, tensor<?xf32, #vx.enc<[t + 3]>>
}

// -----

// But not where another form of the symbol is there too.
// CHECK-LABEL: func.func @both_forms(
// CHECK:         vx.dispatch @{{.+}}(%{{.+}}) symbols [#vx.dim<t>]
// CHECK:       vx.kernel @{{.+}} symbols ["s0"]
// CHECK:         tensor<?x?xf32, #vx.enc<[s0 + 2, s0 * 2]>>
vx.symbol "t"
func.func @both_forms(%x: tensor<?x?xf32, #vx.enc<[t + 2, t * 2]>>) -> tensor<?x?xf32, #vx.enc<[t + 2, t * 2]>> {
  %0 = vx.exp %x : tensor<?x?xf32, #vx.enc<[t + 2, t * 2]>>
  return %0 : tensor<?x?xf32, #vx.enc<[t + 2, t * 2]>>
}
