// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-cuda-pipeline,vx-cuda-print-ptx{variant=sm_80})' -o %t.mlir | FileCheck %s

// A fragment of f16 is one ldmatrix, transposed where it lies across the sum, and a product two mma.sync of 8 columns each.
// CHECK:         .visible .entry f16(
// CHECK-COUNT-1:   ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-1:   ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-NOT:       ldmatrix
// CHECK-COUNT-2:   mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT:       mma.sync
// CHECK:           ret
func.func @f16() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %r = vxk.buffer 0 write () : memref<2xf32>
  %m = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %c = vxk.fill_fragment %zero : !vxk.fragment<accumulator, 16x16x16, f32>
  %a = vxk.load_fragment %m[%c0] stride 24 along_sum : memref<1024xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x16, f16>
  %b = vxk.load_fragment %m[%c0] stride 24 : memref<1024xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<rhs, 16x16x16, f16>
  %d = vxk.multiply_accumulate %a, %b, %c : !vxk.fragment<lhs, 16x16x16, f16>, !vxk.fragment<rhs, 16x16x16, f16>, !vxk.fragment<accumulator, 16x16x16, f32>
  %e:8 = vxk.fragment_elements %d : !vxk.fragment<accumulator, 16x16x16, f32> -> f32, f32, f32, f32, f32, f32, f32, f32
  memref.store %e#0, %r[%c0] : memref<2xf32>
  memref.store %e#7, %r[%c1] : memref<2xf32>
  return
}

// -----

// tf32 is rounded when a fragment is read: by ldmatrix along the sum, where a row of 4 is one of 16 bytes, and word by word across it.
// CHECK:         .visible .entry tf32(
// CHECK-DAG:       ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-8:   cvt.rna.tf32.f32
// CHECK-NOT:       cvt.rna.tf32.f32
// CHECK-COUNT-2:   mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// CHECK-NOT:       mma.sync
// CHECK:           ret
func.func @tf32() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %r = vxk.buffer 0 write () : memref<2xf32>
  %m = memref.alloc() : memref<1024xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %c = vxk.fill_fragment %zero : !vxk.fragment<accumulator, 16x16x8, f32>
  %a = vxk.load_fragment %m[%c0] stride 20 along_sum : memref<1024xf32, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x8, tf32>
  %b = vxk.load_fragment %m[%c0] stride 24 : memref<1024xf32, #gpu.address_space<workgroup>> -> !vxk.fragment<rhs, 16x16x8, tf32>
  %d = vxk.multiply_accumulate %a, %b, %c : !vxk.fragment<lhs, 16x16x8, tf32>, !vxk.fragment<rhs, 16x16x8, tf32>, !vxk.fragment<accumulator, 16x16x8, f32>
  %e:8 = vxk.fragment_elements %d : !vxk.fragment<accumulator, 16x16x8, f32> -> f32, f32, f32, f32, f32, f32, f32, f32
  memref.store %e#3, %r[%c0] : memref<2xf32>
  memref.store %e#7, %r[%c1] : memref<2xf32>
  return
}

// -----

// Lines of 16 bytes pass by the first cache; what is not valid is filled with zeros.
// CHECK:         .visible .entry async(
// CHECK:           cp.async.cg.shared.global [{{.+}}], [{{.+}}], 16, %r
// CHECK:           cp.async.ca.shared.global [{{.+}}], [{{.+}}], 8, 8
// CHECK-NEXT:      cp.async.commit_group
// CHECK-NEXT:      cp.async.wait_group 1
// CHECK-NEXT:      bar.sync 0
func.func @async() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %s = vxk.buffer 0 read () : memref<32xf32>
  %r = vxk.buffer 1 write () : memref<32xf32>
  %n = vxk.scalar 0
  %m = memref.alloc() : memref<64xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i = vxk.thread_id
  %true = arith.constant true
  %valid = arith.cmpi ult, %i, %n : index
  vxk.async_copy %s[%c0] to %m[%c0] count 4 if %valid : memref<32xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  vxk.async_copy %s[%c4] to %m[%c4] count 2 if %true : memref<32xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  vxk.async_commit
  vxk.async_wait 1
  vxk.barrier
  %x = memref.load %m[%i] : memref<64xf32, #gpu.address_space<workgroup>>
  memref.store %x, %r[%i] : memref<32xf32>
  return
}
