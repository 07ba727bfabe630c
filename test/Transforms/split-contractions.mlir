// RUN: vx-opt %s --vx-split-contractions | FileCheck %s
// RUN: vx-interpret %s --seed 5 --print > %t.whole
// RUN: vx-opt %s --vx-split-contractions -o %t.mlir
// RUN: vx-interpret %t.mlir --seed 5 --print > %t.parts
// RUN: %python %S/Inputs/compare.py %t.whole %t.parts 1e-4

// One tile of long sums: parts of 512 products, as many as divide the sum.
// CHECK-LABEL: func.func @main(
// CHECK-DAG:     %[[A:.+]] = vx.reshape %arg0 : tensor<4096x24xf32> -> tensor<8x512x24xf32>
// CHECK-DAG:     %[[B:.+]] = vx.reshape %arg1 : tensor<4096x16xf32> -> tensor<8x512x16xf32>
// CHECK:         %[[P:.+]] = vx.contract %[[A]], %[[B]] batch = [0] x [0] contracting = [1] x [1] : tensor<8x512x24xf32>, tensor<8x512x16xf32>
// CHECK:         vx.reduce sum %[[P]] axes = [0] : tensor<8x24x16xf32>
func.func @main(%a: tensor<4096x24xf32>, %b: tensor<4096x16xf32>) -> tensor<24x16xf32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [0] x [0] : tensor<4096x24xf32>, tensor<4096x16xf32>
  return %0 : tensor<24x16xf32>
}

// Of several summed dimensions the longest is cut first, then the others, and a batch stays in front; parts of narrow floats are f32.
// CHECK-LABEL: func.func @two_sums(
// CHECK:         %[[P:.+]] = vx.contract %{{.+}}, %{{.+}} batch = [2, 3, 0] x [0, 4, 1] contracting = [1, 4] x [2, 5] sums = f32
// CHECK-SAME:      : tensor<7x2x2x2x257x20xf16>, tensor<2x7x2x24x2x257xf16>
// CHECK:         %[[S:.+]] = vx.reduce sum %[[P]] axes = [1, 2] : tensor<2x2x7x20x24xf32>
// CHECK:         vx.cast %[[S]] : tensor<2x20x24xf32> -> tensor<2x20x24xf16>
func.func @two_sums(%a: tensor<14x2x514x20xf16>, %b: tensor<2x14x24x514xf16>) -> tensor<2x20x24xf16> {
  %0 = vx.contract %a, %b batch = [1] x [0] contracting = [0, 2] x [1, 3] : tensor<14x2x514x20xf16>, tensor<2x14x24x514xf16>
  return %0 : tensor<2x20x24xf16>
}

// Short sums, sums of integers, of a vector and of few rows, results that keep all busy, and lengths that nothing divides stay whole.
// CHECK-LABEL: func.func @whole(
// CHECK-NOT:     vx.reduce
// CHECK:         return
func.func @whole(%a: tensor<3000x24xf32>, %b: tensor<4096x24xi32>, %c: tensor<4096x24xf32>, %d: tensor<4096xf32>, %e: tensor<4099x24xf32>,
    %f: tensor<4096x15xf32>) -> (tensor<24x24xf32>, tensor<24x24xi32>, tensor<24xf32>, tensor<24x24xf32>, tensor<15x24xf32>) {
  %0 = vx.contract %a, %a batch = [] x [] contracting = [0] x [0] : tensor<3000x24xf32>, tensor<3000x24xf32>
  %1 = vx.contract %b, %b batch = [] x [] contracting = [0] x [0] : tensor<4096x24xi32>, tensor<4096x24xi32>
  %2 = vx.contract %c, %d batch = [] x [] contracting = [0] x [0] : tensor<4096x24xf32>, tensor<4096xf32>
  %3 = vx.contract %e, %e batch = [] x [] contracting = [0] x [0] : tensor<4099x24xf32>, tensor<4099x24xf32>
  %4 = vx.contract %f, %c batch = [] x [] contracting = [0] x [0] : tensor<4096x15xf32>, tensor<4096x24xf32>
  return %0, %1, %2, %3, %4 : tensor<24x24xf32>, tensor<24x24xi32>, tensor<24xf32>, tensor<24x24xf32>, tensor<15x24xf32>
}

// A weight of few bits keeps its form: its parts are those of the integers and of the numbers of blocks, so that none is computed in f32 before. Blocks are
// cut, and not the places of one.
// CHECK-LABEL: func.func @few_bits(
// CHECK-NOT:     vx.reshape %{{.+}} : tensor<20x16x8x32xf32>
// CHECK-DAG:     vx.reshape %{{.+}} : tensor<20x16x8x32xi4> -> tensor<20x8x2x8x32xi4>
// CHECK-DAG:     vx.reshape %{{.+}} : tensor<20x16x8xi8> -> tensor<20x8x2x8xi8>
// CHECK-DAG:     vx.reshape %{{.+}} : tensor<20x16x1xf16> -> tensor<20x8x2x1xf16>
// CHECK:         vx.contract %{{.+}}, %{{.+}} batch = [1] x [1] contracting = [2, 3, 4] x [2, 3, 4] : tensor<24x8x2x8x32xf32>, tensor<20x8x2x8x32xf32>
func.func @few_bits(%x: tensor<24x16x8x32xf32>) -> tensor<24x20xf32> {
  %w = vx.constant dense_resource<w> : tensor<20x16x8x32xi4>
  %c = vx.cast %w : tensor<20x16x8x32xi4> -> tensor<20x16x8x32xf32>
  %own = vx.constant dense_resource<own> : tensor<20x16x8xi8>
  %own_f = vx.cast %own : tensor<20x16x8xi8> -> tensor<20x16x8xf32>
  %all = vx.constant dense_resource<all> : tensor<20x16x1xf16>
  %all_f = vx.cast %all : tensor<20x16x1xf16> -> tensor<20x16x1xf32>
  %all_b = vx.broadcast %all_f, [0, 1, 2] : tensor<20x16x1xf32> -> tensor<20x16x8xf32>
  %n = vx.mul %all_b, %own_f : tensor<20x16x8xf32>, tensor<20x16x8xf32>
  %s = vx.broadcast %n, [0, 1, 2] : tensor<20x16x8xf32> -> tensor<20x16x8x32xf32>
  %d = vx.mul %c, %s : tensor<20x16x8x32xf32>, tensor<20x16x8x32xf32>
  %r = vx.contract %x, %d batch = [] x [] contracting = [1, 2, 3] x [1, 2, 3] : tensor<24x16x8x32xf32>, tensor<20x16x8x32xf32>
  return %r : tensor<24x20xf32>
}
