// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-convert-to-spirv | FileCheck %s

// The parameter block comes by a push constant, a buffer by its address; only what may be contracted is left open.
// CHECK:       spirv.module PhysicalStorageBuffer64 GLSL450 requires #spirv.vce<v1.5, [Shader, Int64, SignedZeroInfNanPreserve, PhysicalStorageBufferAddresses], [SPV_KHR_physical_storage_buffer]>
// CHECK:         spirv.GlobalVariable @parameters : !spirv.ptr<!spirv.struct<(i64 [0])>, PushConstant>
// CHECK:         spirv.func @k
// CHECK:           spirv.Load "PhysicalStorageBuffer" %{{.+}} ["Aligned", 4] : f32
// CHECK:           spirv.FAdd %{{.+}}, %{{.+}} {no_contraction} : f32
// CHECK:           spirv.FMul %{{.+}}, %{{[^{]+}} : f32
// CHECK:           spirv.Store "PhysicalStorageBuffer" %{{.+}}, %{{.+}} ["Aligned", 4] : f32
// CHECK:         spirv.EntryPoint "GLCompute" @k, @parameters, @workgroup_id, @thread_id
// CHECK:         spirv.ExecutionMode @k "LocalSize", 32, 1, 1
// CHECK:         spirv.ExecutionMode @k "SignedZeroInfNanPreserve", 32
func.func @k() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<32xf32>
  %r = vxk.buffer 1 write () : memref<32xf32>
  %x = memref.load %a[%i] : memref<32xf32>
  %s = arith.addf %x, %x : f32
  %p = arith.mulf %s, %x fastmath<contract> : f32
  memref.store %p, %r[%i] : memref<32xf32>
  return
}

// -----

// expected-error@+1 {{expects one function with 'vxk.kernel', got 0}}
module {}

// -----

// A guarded kernel has no workgroups once a fault is recorded.
// CHECK:         spirv.func @guarded
// CHECK:           %[[FAULTS:.+]] = spirv.Load "PhysicalStorageBuffer" %{{.+}} ["Aligned", 4] : i32
// CHECK:           %[[NONE:.+]] = spirv.IEqual %[[FAULTS]], %{{.+}} : i32
// CHECK:           spirv.Select %[[NONE]], %{{.+}}, %{{.+}} : i1, i64
func.func @guarded() attributes {vxk.kernel, vxk.guarded, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %count = vxk.workgroup_count
  %r = vxk.buffer 0 write () : memref<32xi64>
  %c = arith.index_cast %count : index to i64
  memref.store %c, %r[%i] : memref<32xi64>
  return
}
