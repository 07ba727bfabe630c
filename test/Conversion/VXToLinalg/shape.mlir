// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-verify-no-encoding | FileCheck %s

// Dimensions that both shapes share need no division.
// CHECK-LABEL: func.func @reshape
// CHECK:         linalg.generic
// CHECK-NOT:       arith.divui
// CHECK:           arith.muli
// CHECK:           tensor.extract %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<?x25x3xf32>
vx.kernel @reshape "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?x25x3xf32, #vx.enc<[s0, 25, 3]>>):
  %0 = vx.reshape %a : tensor<?x25x3xf32, #vx.enc<[s0, 25, 3]>> -> tensor<?x5x5x3xf32, #vx.enc<[s0, 5, 5, 3]>>
  vx.yield %0 : tensor<?x5x5x3xf32, #vx.enc<[s0, 5, 5, 3]>>
}

// -----

// Nothing is read from an input that the place does not belong to, so empty inputs are legal.
// CHECK-LABEL: func.func @concat
// CHECK:           scf.if
// CHECK-NEXT:        arith.subi
// CHECK-NEXT:        tensor.extract
// CHECK:           else
// CHECK:             tensor.extract
vx.kernel @concat "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?xf32, #vx.enc<[s0]>>, %b: tensor<2xf32>):
  %0 = vx.concat axis = 0 (%a, %b) {vx.anchor} : tensor<?xf32, #vx.enc<[s0]>>, tensor<2xf32>
  vx.yield %0 : tensor<?xf32, #vx.enc<[s0 + 2]>>
}

// -----

// A size that may be 1 or the result's is decided when the kernel runs; a size of 1 is decided here.
// CHECK-DAG:   #[[$ONE:.+]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @broadcast
// CHECK:         linalg.generic {indexing_maps = [#[[$ONE]], #{{.+}}]
// CHECK:         linalg.generic
// CHECK:           arith.select
// CHECK:           tensor.extract
vx.kernel @broadcast "x" symbols ["s0", "s1"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<1x4xf32>, %b: tensor<?x4xf32, #vx.enc<[s1, 4]>>):
  %0 = vx.broadcast %a, [0, 1] : tensor<1x4xf32> -> tensor<?x4xf32, #vx.enc<[s0, 4]>>
  %1 = vx.broadcast %b, [0, 1] : tensor<?x4xf32, #vx.enc<[s1, 4]>> -> tensor<?x4xf32, #vx.enc<[s0, 4]>>
  %2 = vx.add %0, %1 : tensor<?x4xf32, #vx.enc<[s0, 4]>>, tensor<?x4xf32, #vx.enc<[s0, 4]>>
  vx.yield %2 : tensor<?x4xf32, #vx.enc<[s0, 4]>>
}

// -----

// Ten rounds of two products each; the place is counted along the whole tensor, and the key is read as a scalar is that is repeated.
// CHECK-DAG:   #[[$SCALAR:.+]] = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @random_bits
// CHECK:         linalg.generic {indexing_maps = [#[[$SCALAR]], #{{.+}}]
// CHECK:           arith.index_cast %{{.+}} : index to i64
// CHECK-COUNT-20:  arith.muli %{{.+}} : i64
// CHECK-NOT:       arith.muli
// CHECK-COUNT-3:   arith.select
// CHECK:           linalg.yield %{{.+}} : i32
vx.kernel @random_bits "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%k: tensor<i64>):
  %0 = vx.random_bits %k number = 3 : tensor<?x4xui32, #vx.enc<[s0, 4]>>
  vx.yield %0 : tensor<?x4xui32, #vx.enc<[s0, 4]>>
}
