// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-cuda-pipeline,vx-cuda-print-ptx{variant=sm_80})' -o %t.mlir | FileCheck %s
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-cuda-pipeline,vx-cuda-print-ptx{variant=sm_90a})' -o %t.mlir | FileCheck %s --check-prefix=HOPPER

// The oldest PTX that knows the GPU. One pointer comes in, and the workgroup has the threads that were chosen. A product and a
// sum join only where they may; nothing else is left to the assembler, so each operation says how it rounds. Buffers are global
// memory.
// CHECK:         .version 7.6
// CHECK-NEXT:    .target sm_80
// HOPPER:        .version 8.0
// HOPPER-NEXT:   .target sm_90a
// CHECK:         .visible .entry rounding(
// CHECK-NEXT:      .param .u64 .ptr .global {{.*}}rounding_param_0
// CHECK-NEXT:    )
// CHECK-NEXT:    .reqntid 32, 1, 1
// CHECK-NEXT:    .minnctapersm 1
// CHECK:           ld.global.nc.b64
// CHECK:           ld.global.b32
// CHECK:           add.rn.f32
// CHECK:           mul.rn.f32
// CHECK:           fma.rn.f32
// CHECK:           div.rn.f32
// CHECK:           sqrt.rn.f32
// CHECK:           st.global.b32
// CHECK-NOT:     .ftz
func.func @rounding() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<32xf32>
  %r = vxk.buffer 1 write () : memref<32xf32>
  %x = memref.load %a[%i] : memref<32xf32>
  %s = arith.addf %x, %x : f32
  %p = arith.mulf %s, %x : f32
  %q = arith.mulf %p, %x fastmath<contract> : f32
  %f = arith.addf %q, %s fastmath<contract> : f32
  %d = arith.divf %f, %x : f32
  %w = math.sqrt %d : f32
  memref.store %w, %r[%i] : memref<32xf32>
  return
}

// -----

// Workgroup memory is the kernel's own; a barrier waits for all of its threads.
// CHECK:         .visible .entry workgroup_memory(
// CHECK:         .shared .align 16 .b8 {{.+}}[256]
// CHECK:           st.shared.b32
// CHECK:           bar.sync 0
// CHECK:           ld.shared.b32
func.func @workgroup_memory() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %c63 = arith.constant 63 : index
  %j = arith.subi %c63, %i : index
  %a = vxk.buffer 0 read () : memref<64xf32>
  %r = vxk.buffer 1 write () : memref<64xf32>
  %m = memref.alloc() : memref<64xf32, #gpu.address_space<workgroup>>
  %x = memref.load %a[%i] : memref<64xf32>
  memref.store %x, %m[%i] : memref<64xf32, #gpu.address_space<workgroup>>
  vxk.barrier
  %y = memref.load %m[%j] : memref<64xf32, #gpu.address_space<workgroup>>
  memref.store %y, %r[%i] : memref<64xf32>
  return
}

// -----

// A fault is counted in one step, and who counted the first one writes the rest. No call: it would need a stack.
// CHECK:         .visible .entry fault(
// CHECK:           atom{{.*}}.add.u32
// CHECK:           st.global.b32 {{.*}}+4]
// CHECK:           st.global.b32 {{.*}}+8]
// CHECK:           st.global.b32 {{.*}}+16]
// CHECK:           st.global.b32 {{.*}}+24]
// CHECK:           st.global.b32 {{.*}}+32], 1
// CHECK:           st.global.b32 {{.*}}+40]
// CHECK-NOT:       call
// CHECK:           ret
func.func @fault() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %n = vxk.scalar 0
  %a = vxk.buffer 0 read () : memref<1xi64>
  %r = vxk.buffer 1 write () : memref<1xi64>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %upper = arith.index_cast %n : index to i64
  %x = memref.load %a[%c0] : memref<1xi64>
  %bad = arith.cmpi uge, %x, %upper : i64
  vxk.report_fault %bad value %x range %zero, %upper at [%zero] site 2
  memref.store %x, %r[%c0] : memref<1xi64>
  return
}

// -----

// The sum of a subgroup of 32 threads is five steps, in each of which all have the same bits.
// CHECK:         .visible .entry subgroup(
// CHECK-COUNT-5:   shfl.sync.bfly.b32
// CHECK-NOT:       shfl
// CHECK:           ret
func.func @subgroup() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<64xf32>
  %r = vxk.buffer 1 write () : memref<64xf32>
  %x = memref.load %a[%i] : memref<64xf32>
  %s = gpu.subgroup_reduce add %x : (f32) -> f32
  memref.store %s, %r[%i] : memref<64xf32>
  return
}
