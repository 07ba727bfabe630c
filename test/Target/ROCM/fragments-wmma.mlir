// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-rocm-pipeline{variant=gfx1100},vx-rocm-print-assembly{variant=gfx1100})' -o %t.mlir | FileCheck %s
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(vx-rocm-pipeline{variant=gfx1151},vx-rocm-print-assembly{variant=gfx1151})' -o %t.mlir | FileCheck %s

// A product of two fragments is one instruction.
// CHECK-LABEL: f16:
// CHECK:          v_wmma_f32_16x16x16_f16
// CHECK-NOT:      v_wmma
// CHECK:         s_endpgm
func.func @f16() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %r = vxk.buffer 0 write () : memref<1xf32>
  %m = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %c = vxk.fill_fragment %zero : !vxk.fragment<accumulator, 16x16x16, f32>
  %a = vxk.load_fragment %m[%c0] stride 24 along_sum : memref<1024xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x16, f16>
  %b = vxk.load_fragment %m[%c0] stride 40 along_sum : memref<1024xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<rhs, 16x16x16, f16>
  %d = vxk.multiply_accumulate %a, %b, %c : !vxk.fragment<lhs, 16x16x16, f16>, !vxk.fragment<rhs, 16x16x16, f16>, !vxk.fragment<accumulator, 16x16x16, f32>
  %e:8 = vxk.fragment_elements %d : !vxk.fragment<accumulator, 16x16x16, f32> -> f32, f32, f32, f32, f32, f32, f32, f32
  memref.store %e#1, %r[%c0] : memref<1xf32>
  return
}

// -----

// CHECK-LABEL: bf16:
// CHECK:          v_wmma_f32_16x16x16_bf16
// CHECK-NOT:      v_wmma
// CHECK:         s_endpgm
func.func @bf16() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %r = vxk.buffer 0 write () : memref<1xf32>
  %m = memref.alloc() : memref<1024xbf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %c = vxk.fill_fragment %zero : !vxk.fragment<accumulator, 16x16x16, f32>
  %a = vxk.load_fragment %m[%c0] stride 24 along_sum : memref<1024xbf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x16, bf16>
  %b = vxk.load_fragment %m[%c0] stride 40 along_sum : memref<1024xbf16, #gpu.address_space<workgroup>> -> !vxk.fragment<rhs, 16x16x16, bf16>
  %d = vxk.multiply_accumulate %a, %b, %c : !vxk.fragment<lhs, 16x16x16, bf16>, !vxk.fragment<rhs, 16x16x16, bf16>, !vxk.fragment<accumulator, 16x16x16, f32>
  %e:8 = vxk.fragment_elements %d : !vxk.fragment<accumulator, 16x16x16, f32> -> f32, f32, f32, f32, f32, f32, f32, f32
  memref.store %e#1, %r[%c0] : memref<1xf32>
  return
}
