// RUN: vx-opt %s --split-input-file "--pass-pipeline=builtin.module(vx-convert-to-linalg,func.func(vx-cpu-lower-depthwise{vector-bits=512 registers=32},vx-lower-to-loops{lanes=16}),canonicalize,cse)" | FileCheck %s

// Eight places share each load of the filter; only the row's ends, one place at a time, have a loop over the window's columns.
// CHECK-LABEL: func.func @depthwise
// CHECK:         scf.for {{.*}} step %c8
// CHECK:           scf.for
// CHECK-NOT:         scf.for
// CHECK-NOT:         scf.if
// CHECK-COUNT-24:    arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK-COUNT-8:   arith.maximumf
// CHECK-NOT:     vector.gather
vx.kernel @depthwise "x" symbols ["s0"] workgroups <s0> #vx.cpu_depthwise<tile = [1, 4, 0, 0]> {
^bb0(%x: tensor<?x20x20x32xf32, #vx.enc<[s0, 20, 20, 32]>>, %p: tensor<2x3x3x1x16xf32>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<2x3x3x1x16xf32> -> tensor<32x1x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 32 channels_last {vx.anchor} : tensor<?x20x20x32xf32, #vx.enc<[s0, 20, 20, 32]>>, tensor<32x1x3x3xf32>
  %z = vx.constant dense<0.0> : tensor<f32>
  %b = vx.broadcast %z, [] : tensor<f32> -> tensor<?x20x20x32xf32, #vx.enc<[s0, 20, 20, 32]>>
  %1 = vx.max %0, %b : tensor<?x20x20x32xf32, #vx.enc<[s0, 20, 20, 32]>>, tensor<?x20x20x32xf32, #vx.enc<[s0, 20, 20, 32]>>
  vx.yield %1 : tensor<?x20x20x32xf32, #vx.enc<[s0, 20, 20, 32]>>
}

// -----

// Four filters and four channels a group: four groups are in a vector, and each lane takes the channels of its own.
// CHECK-LABEL: func.func @groups
// CHECK-NOT:     vector.gather
// CHECK:         scf.for {{.*}} step %c8
// CHECK:           vector.load {{.*}} : memref<1x9x20x32xf32>, vector<16xf32>
// CHECK-NEXT:      vector.shuffle %{{.+}} [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]
// CHECK-COUNT-96:  arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK-NOT:     vector.gather
vx.kernel @groups "x" symbols [] workgroups <1> #vx.cpu_depthwise<tile = [1, 4, 0, 0]> {
^bb0(%x: tensor<1x9x20x32xf32>, %p: tensor<1x3x3x4x48xf32>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<1x3x3x4x48xf32> -> tensor<32x4x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 8 channels_last {vx.anchor} : tensor<1x9x20x32xf32>, tensor<32x4x3x3xf32>
  vx.yield %0 : tensor<1x9x20x32xf32>
}

// -----

// Two filters for each channel, along one dimension. Whole vectors have no mask; the last vector is half full and has one.
// CHECK-LABEL: func.func @multiplier
// CHECK-NOT:     vector.create_mask
// CHECK:         vector.store
// CHECK:         vector.constant_mask [12]
// CHECK:         scf.for {{.*}} step %c8
// CHECK:           vector.maskedload {{.*}} : memref<1x33x12xf32>
// CHECK:           vector.shuffle %{{.+}} [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
// CHECK:           vector.maskedstore
vx.kernel @multiplier "x" symbols [] workgroups <1> #vx.cpu_depthwise<tile = [1, 16, 0]> {
^bb0(%x: tensor<1x33x12xf32>, %w: tensor<24x1x3xf32>):
  %0 = vx.conv %x, %w strides = [1] dilations = [1] pads = [1] x [1] groups = 12 channels_last {vx.anchor} : tensor<1x33x12xf32>, tensor<24x1x3xf32>
  vx.yield %0 : tensor<1x33x24xf32>
}

// -----

// Three filters a group with a channel: a vector begins anywhere in a group, and each lane looks its channel up.
// CHECK-LABEL: func.func @looked_up
// CHECK:         %[[COLUMN:.+]] = arith.remui %{{.+}}, %c3
// CHECK:         %[[FIRST:.+]] = vector.broadcast %{{.+}} : i32 to vector<16xi32>
// CHECK:         %[[ALL:.+]] = arith.addi %[[FIRST]], %{{.+}} : vector<16xi32>
// CHECK:         %[[OWN:.+]] = arith.divui %[[ALL]], %{{.+}} : vector<16xi32>
// CHECK:         %[[TABLE:.+]] = vector.maskedload %{{.+}} : memref<1x9x9x12xf32>
// CHECK:         vxk.lookup %[[TABLE]], %[[OWN]] : vector<16xf32>, vector<16xi32>
vx.kernel @looked_up "x" symbols [] workgroups <1> #vx.cpu_depthwise<tile = [1, 4, 0, 0]> {
^bb0(%x: tensor<1x9x9x12xf32>, %w: tensor<36x1x3x3xf32>):
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 12 channels_last {vx.anchor} : tensor<1x9x9x12xf32>, tensor<36x1x3x3xf32>
  vx.yield %0 : tensor<1x9x9x36xf32>
}

// -----

// Three filters a group with three channels do not fill vectors: plain loops.
// CHECK-LABEL: func.func @three
// CHECK-NOT:     vector.shuffle
vx.kernel @three "x" symbols [] workgroups <1> #vx.cpu_depthwise<tile = [1, 4, 0, 0]> {
^bb0(%x: tensor<1x9x9x12xf32>, %w: tensor<12x3x3x3xf32>):
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 4 channels_last {vx.anchor} : tensor<1x9x9x12xf32>, tensor<12x3x3x3xf32>
  vx.yield %0 : tensor<1x9x9x12xf32>
}
