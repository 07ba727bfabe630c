// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-cuda-codegen{variant=sm_80})' | FileCheck %s
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-rocm-codegen{variant=gfx1100})' | FileCheck %s --check-prefix=WMMA
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-rocm-codegen{variant=gfx942})' | FileCheck %s --check-prefix=MFMA
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-rocm-codegen{variant=gfx1030})' | FileCheck %s --check-prefix=BLOCKS

// Both factors come by asynchronous copies, two stages ahead of their products in a ring of three: the left one lies along the sum, the
// right one across it. Each of 4 subgroups has 32 x 32 of the tile. Where there are no asynchronous copies both factors come through
// registers, and where a thread reads neighbours along the sum only, both are staged so. A GPU without fragments adds in blocks.
// CHECK-LABEL: func.func @aligned
// CHECK-DAG:     %[[B:.+]] = memref.alloc() : memref<6912xf16, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[A:.+]] = memref.alloc() : memref<7680xf16, #gpu.address_space<workgroup>>
// CHECK:         vxk.async_copy {{.*}} to %[[A]]{{.*}} count 8
// CHECK:         vxk.async_copy {{.*}} to %[[B]]{{.*}} count 8
// CHECK:         vxk.async_commit
// CHECK:         vxk.async_commit
// CHECK:         scf.for
// CHECK:           vxk.async_wait 1
// CHECK-NEXT:      vxk.barrier
// CHECK:           vxk.async_copy
// CHECK:           vxk.async_commit
// CHECK-COUNT-2:   vxk.load_fragment %[[A]]{{.*}} stride 40 along_sum : {{.*}} -> <lhs, 16x16x16, f16>
// CHECK-COUNT-2:   vxk.load_fragment %[[B]]{{.*}} stride 72 : {{.*}} -> <rhs, 16x16x16, f16>
// CHECK-COUNT-4:   vxk.multiply_accumulate
// CHECK-COUNT-4:   vxk.load_fragment
// CHECK-COUNT-4:   vxk.multiply_accumulate
// CHECK-NOT:       vxk.multiply_accumulate
// CHECK-NOT:       vector.store
// CHECK:         vxk.async_wait 0
// CHECK-COUNT-4: vxk.fragment_elements {{.*}} -> f32, f32, f32, f32, f32, f32, f32, f32
// WMMA-LABEL: func.func @aligned
// WMMA-NOT:     async
// WMMA:         scf.for
// WMMA:           vxk.barrier
// WMMA:           vxk.load_fragment {{.*}} stride 40 along_sum
// WMMA-COUNT-8:   vxk.multiply_accumulate
// WMMA:         vxk.fragment_elements {{.*}} -> f32, f32, f32, f32, f32, f32, f32, f32
// MFMA-LABEL: func.func @aligned
// MFMA-COUNT-16: vxk.multiply_accumulate
// MFMA:         vxk.fragment_elements {{.*}} -> f32, f32, f32, f32 
// BLOCKS-LABEL: func.func @aligned
// BLOCKS-NOT:   fragment
// BLOCKS:       scf.for
// BLOCKS:         arith.mulf
vx.kernel @aligned "x" symbols ["n"] workgroups <ceildiv(n, 64) * 2> #vx.mma<tile = [64, 64], step = 32, stages = 3, threads = 128> {
^bb0(%a: tensor<?x256xf16, #vx.enc<[n, 256]>>, %b: tensor<256x128xf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = f32 {vx.anchor} : tensor<?x256xf16, #vx.enc<[n, 256]>>, tensor<256x128xf16>
  vx.yield %r : tensor<?x128xf32, #vx.enc<[n, 128]>>
}

// -----

// Rows of 17 elements are not aligned, and the last steps reach over the end of the sum: zeros take part there.
// CHECK-LABEL: func.func @odd
// CHECK-NOT:     async
// CHECK:         arith.select
// CHECK:         vxk.multiply_accumulate {{.*}}bf16
vx.kernel @odd "x" symbols [] workgroups <4> #vx.mma<tile = [32, 32], step = 32, stages = 2, threads = 64> {
^bb0(%a: tensor<33x17xbf16>, %b: tensor<35x17xbf16>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [1] sums = f32 {vx.anchor} : tensor<33x17xbf16>, tensor<35x17xbf16>
  vx.yield %r : tensor<33x35xf32>
}

// -----

// Factors of f32 stay so in memory; a GPU without tf32 computes with them as they are.
// CHECK-LABEL: func.func @tf32
// CHECK:         vxk.async_copy {{.*}} count 4 {{.*}} : memref<64x64xf32> to
// CHECK:         vxk.multiply_accumulate {{.*}}<lhs, 16x16x8, tf32>
// WMMA-LABEL: func.func @tf32
// WMMA-NOT:     fragment
// WMMA:         arith.mulf
vx.kernel @tf32 "x" symbols [] workgroups <4> #vx.mma<tile = [32, 32], step = 16, stages = 2, threads = 64> {
^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
  %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] factors = tf32 {vx.anchor} : tensor<64x64xf32>, tensor<64x64xf32>
  vx.yield %r : tensor<64x64xf32>
}

// -----

// The filter lies along the sum of all channels and places at once; patches are read one by one.
// CHECK-LABEL: func.func @conv
// CHECK:         scf.for
// CHECK:           vxk.async_copy
// CHECK:           memref.load
// CHECK:           vxk.multiply_accumulate
// CHECK:           vector.store
vx.kernel @conv "x" symbols [] workgroups <8> #vx.mma<tile = [1, 16, 2, 16], step = 32, stages = 2, threads = 64> {
^bb0(%x: tensor<1x16x8x16xf16>, %w: tensor<32x16x3x3xf16>):
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 sums = f32 {vx.anchor} : tensor<1x16x8x16xf16>, tensor<32x16x3x3xf16>
  vx.yield %r : tensor<1x32x8x16xf32>
}

// -----

// With the channels last, neighbours in memory are neighbours along the sum: 8 channels of one place come at once, as zeros where the window
// reaches over the edge. The filter lies in the order of the sum. Where there are no asynchronous copies the same are vectors in registers.
// CHECK-LABEL: func.func @channels_last
// CHECK:         scf.for
// CHECK:           %[[ROW:.+]] = arith.cmpi ult
// CHECK:           arith.select
// CHECK:           vxk.async_copy {{.*}} count 8 if {{.*}} : memref<1x8x16x16xf16> to
// CHECK:           vxk.async_copy {{.*}} count 8 {{.*}} : memref<32x3x3x16x1xf16> to
// CHECK:           vxk.multiply_accumulate
// WMMA-LABEL: func.func @channels_last
// WMMA:         scf.for
// WMMA:           vector.load {{.*}} memref<1x8x16x16xf16>, vector<8xf16>
// WMMA:           vxk.multiply_accumulate
vx.kernel @channels_last "x" symbols [] workgroups <8> #vx.mma<tile = [1, 2, 16, 16], step = 32, stages = 3, threads = 64> {
^bb0(%x: tensor<1x8x16x16xf16>, %p: tensor<32x3x3x16x1xf16>):
  %w = vx.unpack %p dim = 0 permutation = [0, 2, 3, 1] : tensor<32x3x3x16x1xf16> -> tensor<32x16x3x3xf16>
  %r = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 channels_last sums = f32 {vx.anchor} : tensor<1x8x16x16xf16>, tensor<32x16x3x3xf16>
  vx.yield %r : tensor<1x8x16x32xf32>
}
