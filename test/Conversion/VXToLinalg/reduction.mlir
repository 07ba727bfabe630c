// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-verify-no-encoding | FileCheck %s

// The maximum over nothing is -inf, and a NaN wins.
// CHECK-LABEL: func.func @reduce
// CHECK:         arith.constant 0xFF800000 : f32
// CHECK:         arith.maximumf
vx.kernel @reduce "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?x4xf32, #vx.enc<[s0, 4]>>):
  %0 = vx.reduce max %a axes = [0] {vx.anchor} : tensor<?x4xf32, #vx.enc<[s0, 4]>>
  vx.yield %0 : tensor<4xf32>
}

// -----

// Unsigned numbers compare unsigned.
// CHECK-LABEL: func.func @unsigned
// CHECK:         arith.maxui
vx.kernel @unsigned "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3x4xui8>):
  %0 = vx.reduce max %a axes = [0] {vx.anchor} : tensor<3x4xui8>
  vx.yield %0 : tensor<4xui8>
}

// -----

// A softmax is two reductions, of which the second is over exponentials, and one elementwise op on these. Each row is divided once.
// CHECK-LABEL: func.func @softmax
// CHECK:         linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {{.*}}["parallel", "parallel"]
// CHECK:           math.exp
// CHECK:         linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}}["parallel"]
// CHECK:           arith.divf
// CHECK:         linalg.generic {{.*}}["parallel", "parallel"]
// CHECK-NOT:       math.exp
// CHECK:           arith.mulf
vx.kernel @softmax "x" symbols [] workgroups <1> #vx.thread_rows<tile = [1, 0], threads = 1> {
^bb0(%a: tensor<3x4xf32>):
  %0 = vx.softmax %a axis = 1 {vx.anchor} : tensor<3x4xf32>
  vx.yield %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @window
// CHECK:         tensor.empty() : tensor<2x2xf32>
// CHECK:         linalg.generic {{.*}}["parallel", "parallel", "parallel", "reduction", "reduction"]
vx.kernel @window "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3x4x4xf32>):
  %0 = vx.reduce_window max %a window = [1, 2, 2] strides = [1, 2, 2] dilations = [1, 1, 1] pads = [0, 0, 0] x [0, 0, 0] {vx.anchor} : tensor<3x4x4xf32>
  vx.yield %0 : tensor<3x2x2xf32>
}

// -----

// The position of the greatest element in a row, for one thread: the greatest, then the first of its equals. A NaN equals a NaN here.
// CHECK-LABEL: func.func @rows
// CHECK:         linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:           arith.cmpf oeq
// CHECK:           arith.cmpf une
// CHECK:           arith.minui {{.*}} : i32
vx.kernel @rows "x" symbols [] workgroups <3> #vx.loops<tile = [1]> {
^bb0(%a: tensor<3x40xf32>):
  %0 = vx.arg_reduce max %a axis = 1 {vx.anchor} : tensor<3x40xf32>
  vx.yield %0 : tensor<3xi64>
}

// -----

// Along another dimension, neighbours take part in one pass over the rows.
// CHECK-LABEL: func.func @columns
// CHECK:         linalg.generic {{.*}}["reduction", "parallel"]
// CHECK:           arith.cmpf ogt
// CHECK-NOT:     linalg.generic
vx.kernel @columns "x" symbols [] workgroups <1> #vx.loops<tile = [0]> {
^bb0(%a: tensor<3x40xf32>):
  %0 = vx.arg_reduce max %a axis = 0 {vx.anchor} : tensor<3x40xf32>
  vx.yield %0 : tensor<40xi64>
}
