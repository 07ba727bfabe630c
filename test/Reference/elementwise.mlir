// RUN: vx-interpret %s --function integers --print | FileCheck %s --check-prefix=INTEGERS
// RUN: vx-interpret %s --function unsigned --print | FileCheck %s --check-prefix=UNSIGNED
// RUN: vx-interpret %s --function floats --print | FileCheck %s --check-prefix=FLOATS
// RUN: vx-interpret %s --function casts --print | FileCheck %s --check-prefix=CASTS

// Division truncates; by zero it gives 0, and the least number over -1 is itself. Sums wrap.
// INTEGERS:      0: i8[4]
// INTEGERS-NEXT: [-3, 0, -128, 3]
// INTEGERS-NEXT: 1: i8[4]
// INTEGERS-NEXT: [-1, 0, 0, 1]
// INTEGERS-NEXT: 2: i8[4]
// INTEGERS-NEXT: [-5, 5, 127, 9]
// INTEGERS-NEXT: 3: i8[4]
// INTEGERS-NEXT: [7, 5, -128, 7]
func.func @integers() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) {
  %a = vx.constant dense<[-7, 5, -128, 7]> : tensor<4xi8>
  %b = vx.constant dense<[2, 0, -1, 2]> : tensor<4xi8>
  %0 = vx.div %a, %b : tensor<4xi8>, tensor<4xi8>
  %1 = vx.rem %a, %b : tensor<4xi8>, tensor<4xi8>
  %2 = vx.add %a, %b : tensor<4xi8>, tensor<4xi8>
  %3 = vx.abs %a : tensor<4xi8>
  return %0, %1, %2, %3 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>
}

// UNSIGNED:      0: u8[2]
// UNSIGNED-NEXT: [127, 0]
// UNSIGNED-NEXT: 1: u8[2]
// UNSIGNED-NEXT: [255, 1]
// UNSIGNED-NEXT: 2: bool[2]
// UNSIGNED-NEXT: [false, true]
func.func @unsigned() -> (tensor<2xui8>, tensor<2xui8>, tensor<2xi1>) {
  %a = vx.constant dense<[255, 0]> : tensor<2xui8>
  %b = vx.constant dense<[2, 1]> : tensor<2xui8>
  %0 = vx.div %a, %b : tensor<2xui8>, tensor<2xui8>
  %1 = vx.max %a, %b : tensor<2xui8>, tensor<2xui8>
  %2 = vx.compare lt %a, %b : tensor<2xui8>, tensor<2xui8>
  return %0, %1, %2 : tensor<2xui8>, tensor<2xui8>, tensor<2xi1>
}

// +0 is the greater of two zeros, NaN wins in max and min, and no comparison with NaN holds but `ne`.
// FLOATS:      0: f32[4]
// FLOATS-NEXT: [0, nan, 1, inf]
// FLOATS-NEXT: 1: f32[4]
// FLOATS-NEXT: [-0, nan, -1, 2]
// FLOATS-NEXT: 2: bool[4]
// FLOATS-NEXT: [false, true, true, true]
// FLOATS-NEXT: 3: f32[4]
// FLOATS-NEXT: [-0, nan, -1, 1]
// FLOATS-NEXT: 4: f32[4]
// FLOATS-NEXT: [-0, nan, -2, inf]
func.func @floats() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) {
  %a = vx.constant dense<[-0.0, 0x7FC00000, -1.0, 0x7F800000]> : tensor<4xf32>
  %b = vx.constant dense<[0.0, 2.0, 1.0, 2.0]> : tensor<4xf32>
  %0 = vx.max %a, %b : tensor<4xf32>, tensor<4xf32>
  %1 = vx.min %a, %b : tensor<4xf32>, tensor<4xf32>
  %2 = vx.compare ne %a, %b : tensor<4xf32>, tensor<4xf32>
  %3 = vx.sign %a : tensor<4xf32>
  %c = vx.constant dense<[-0.5, 0x7FC00000, -1.5, 0x7F800000]> : tensor<4xf32>
  %4 = vx.round %c : tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
}

// Float to integer truncates and saturates, NaN gives 0 and is true as a bool.
// CASTS:      0: i8[6]
// CASTS-NEXT: [-1, 127, -128, 0, 127, 0]
// CASTS-NEXT: 1: u8[6]
// CASTS-NEXT: [0, 255, 0, 0, 255, 0]
// CASTS-NEXT: 2: bool[6]
// CASTS-NEXT: [true, true, true, true, true, false]
// CASTS-NEXT: 3: f32[2]
// CASTS-NEXT: [16777216, -1]
// CASTS-NEXT: 4: i8[2]
// CASTS-NEXT: [1, -1]
func.func @casts() -> (tensor<6xi8>, tensor<6xui8>, tensor<6xi1>, tensor<2xf32>, tensor<2xi8>) {
  %a = vx.constant dense<[-1.75, 300.0, -300.0, 0x7FC00000, 0x7F800000, 0.0]> : tensor<6xf32>
  %0 = vx.cast %a : tensor<6xf32> -> tensor<6xi8>
  %1 = vx.cast %a : tensor<6xf32> -> tensor<6xui8>
  %2 = vx.cast %a : tensor<6xf32> -> tensor<6xi1>
  %i = vx.constant dense<[16777217, -1]> : tensor<2xi64>
  %3 = vx.cast %i : tensor<2xi64> -> tensor<2xf32>
  %4 = vx.cast %i : tensor<2xi64> -> tensor<2xi8>
  return %0, %1, %2, %3, %4 : tensor<6xi8>, tensor<6xui8>, tensor<6xi1>, tensor<2xf32>, tensor<2xi8>
}
