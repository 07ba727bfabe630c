// RUN: vx-interpret %s --dim n=3 --print | FileCheck %s
// RUN: not vx-interpret %s --function out_of_range --dim n=1 2>&1 | FileCheck %s --check-prefix=RANGE

vx.symbol "n"

// CHECK:      i: i32[3,2]
// CHECK-NEXT: {{\[}}[0, 1]
// CHECK-NEXT:  [0, 1]
// CHECK-NEXT:  [0, 1]]
// CHECK:      t: i32[2,3]
// CHECK-NEXT: {{\[}}[0, 0, 0]
// CHECK-NEXT:  [1, 1, 1]]
// CHECK:      s: i32[2,2]
// CHECK-NEXT: {{\[}}[1, 1]
// CHECK-NEXT:  [0, 0]]
// CHECK:      c: i32[4,2]
// CHECK-NEXT: {{\[}}[1, 1]
// CHECK-NEXT:  [0, 0]
// CHECK-NEXT:  [1, 1]
// CHECK-NEXT:  [0, 0]]
// CHECK:      p: i32[3,3]
// CHECK-NEXT: {{\[}}[1, 9, 9]
// CHECK-NEXT:  [0, 9, 9]
// CHECK-NEXT:  [9, 9, 9]]
// CHECK:      b: i32[2,3]
// CHECK-NEXT: {{\[}}[1, 1, 1]
// CHECK-NEXT:  [0, 0, 0]]
// CHECK:      d: i64[]
// CHECK-NEXT: 7
// The vectors of Random123 for a counter and a key of zeros, in hexadecimal 6627e8d5 e169c58d bc57ac4c 9b00dbd8, and what
// follows it.
// CHECK:      r: u32[3,2]
// CHECK-NEXT: {{\[}}[1713891541, 3781805453]
// CHECK-NEXT:  [3159862348, 2600524760]
// CHECK-NEXT:  [{{[0-9]+, [0-9]+}}]]
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>>) ->
    (tensor<?x2xi32, #vx.enc<[n, 2]>> {vx.name = "i"}, tensor<2x?xi32, #vx.enc<[2, n]>> {vx.name = "t"},
     tensor<2x2xi32> {vx.name = "s"}, tensor<4x2xi32> {vx.name = "c"}, tensor<3x3xi32> {vx.name = "p"},
     tensor<2x?xi32, #vx.enc<[2, n]>> {vx.name = "b"}, tensor<i64> {vx.name = "d"},
     tensor<3x2xui32> {vx.name = "r"}) {
  %i = vx.iota axis = 1 : tensor<?x2xi32, #vx.enc<[n, 2]>>
  %t = vx.transpose %i, [1, 0] : tensor<?x2xi32, #vx.enc<[n, 2]>>
  // Backwards along the rows, every second column from the symbol's end.
  %s = vx.slice %t starts [#vx.dim<1>, #vx.dim<n - 1>] strides [-1, -2] : tensor<2x?xi32, #vx.enc<[2, n]>> -> tensor<2x2xi32>
  %c = vx.concat axis = 0 (%s, %s) : tensor<2x2xi32>, tensor<2x2xi32>
  %v = vx.constant dense<9> : tensor<i32>
  // A negative amount removes.
  %p = vx.pad %s, %v low [#vx.dim<0>, #vx.dim<-1>] high [#vx.dim<1>, #vx.dim<2>] : tensor<2x2xi32>, tensor<i32>
  %k = vx.slice %s starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : tensor<2x2xi32> -> tensor<2x1xi32>
  %b = vx.broadcast %k, [0, 1] : tensor<2x1xi32> -> tensor<2x?xi32, #vx.enc<[2, n]>>
  %d = vx.dim_value <n * 2 + 1>
  %zero = vx.constant dense<0> : tensor<i64>
  %r = vx.random_bits %zero number = 0 : tensor<3x2xui32>
  return %i, %t, %s, %c, %p, %b, %d, %r : tensor<?x2xi32, #vx.enc<[n, 2]>>, tensor<2x?xi32, #vx.enc<[2, n]>>, tensor<2x2xi32>,
    tensor<4x2xi32>, tensor<3x3xi32>, tensor<2x?xi32, #vx.enc<[2, n]>>, tensor<i64>, tensor<3x2xui32>
}

// RANGE: vx-interpret: error: the indices 0 to 1 are out of range [0, 1) in '{{.*}}shape.mlir:[[@LINE+2]]:8'
func.func @out_of_range(%x: tensor<?xf32, #vx.enc<[n]>>) -> tensor<2xf32> {
  %0 = vx.slice %x starts [#vx.dim<0>] strides [1] : tensor<?xf32, #vx.enc<[n]>> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
