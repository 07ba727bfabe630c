// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg --vx-verify-no-encoding | FileCheck %s

// Buffers are the arguments, then the results; sizes are arithmetic on the kernel's scalars; encodings are gone.
// CHECK-LABEL: func.func @add() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = {{.*}}>, vxk.threads = 1 : i64}
// CHECK:         %[[S:.+]] = vxk.scalar 0
// CHECK:         %[[N:.+]] = arith.addi %[[S]], %{{.+}} : index
// CHECK:         %[[A:.+]] = vxk.buffer 0 read(%[[N]]) : memref<?x4xf32>
// CHECK:         %[[R:.+]] = vxk.buffer 2 write(%[[N]]) : memref<?x4xf32>
// CHECK:         bufferization.to_tensor %[[A]] restrict : memref<?x4xf32> to tensor<?x4xf32>
// CHECK:         %[[SUM:.+]] = linalg.generic
// CHECK:           arith.addf
// CHECK:         bufferization.materialize_in_destination %[[SUM]] in restrict writable %[[R]]
vx.kernel @add "x" symbols ["s0"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?x4xf32, #vx.enc<[s0 + 1, 4]>>, %b: tensor<?x4xf32, #vx.enc<[s0 + 1, 4]>>):
  %0 = vx.add %a, %b : tensor<?x4xf32, #vx.enc<[s0 + 1, 4]>>, tensor<?x4xf32, #vx.enc<[s0 + 1, 4]>>
  vx.yield %0 : tensor<?x4xf32, #vx.enc<[s0 + 1, 4]>>
}

// -----

// A bool is a byte in memory and one bit in a body.
// CHECK-LABEL: func.func @bools
// CHECK:         vxk.buffer 0 read() : memref<3xi8>
// CHECK:         arith.cmpi ne, %{{.+}}, %{{.+}} : i8
// CHECK:         arith.xori %{{.+}}, %{{.+}} : i1
// CHECK:         arith.extui %{{.+}} : i1 to i8
vx.kernel @bools "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xi1>):
  %0 = vx.not %a : tensor<3xi1>
  vx.yield %0 : tensor<3xi1>
}

// -----

// Neither a zero nor, for the least number, -1 reaches the division.
// CHECK-LABEL: func.func @division
// CHECK:         %[[ZERO:.+]] = arith.cmpi eq
// CHECK:         %[[MINUS:.+]] = arith.cmpi eq
// CHECK:         %[[UNSAFE:.+]] = arith.ori %[[ZERO]], %[[MINUS]]
// CHECK:         %[[SAFE:.+]] = arith.select %[[UNSAFE]]
// CHECK:         arith.divsi %{{.+}}, %[[SAFE]]
vx.kernel @division "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xi32>, %b: tensor<3xi32>):
  %0 = vx.div %a, %b : tensor<3xi32>, tensor<3xi32>
  vx.yield %0 : tensor<3xi32>
}

// -----

// Floats narrower than f32 are computed in f32 and rounded after the op.
// CHECK-LABEL: func.func @narrow
// CHECK:         arith.extf %{{.+}} : bf16 to f32
// CHECK:         arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK:         arith.truncf %{{.+}} : f32 to bf16
vx.kernel @narrow "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xbf16>, %b: tensor<3xbf16>):
  %0 = vx.mul %a, %b : tensor<3xbf16>, tensor<3xbf16>
  vx.yield %0 : tensor<3xbf16>
}
