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

// -----

// Sums of four products of bytes are instructions on words; the signed factor comes first.
// CHECK:       spirv.module PhysicalStorageBuffer64 GLSL450 requires #spirv.vce<v1.5, [Shader, Int64, PhysicalStorageBufferAddresses, DotProductInput4x8BitPacked, DotProduct], [SPV_KHR_physical_storage_buffer, SPV_KHR_integer_dot_product]>
// CHECK:         %[[A:.+]] = spirv.Load "PhysicalStorageBuffer" %{{.+}} ["Aligned", 4] : i32
// CHECK:         %[[B:.+]] = spirv.Load "PhysicalStorageBuffer" %{{.+}} ["Aligned", 4] : i32
// CHECK:         %[[UU:.+]] = spirv.UDot %[[A]], %[[B]], <PackedVectorFormat4x8Bit> : i32 -> i32
// CHECK:         %[[S0:.+]] = spirv.IAdd %{{.+}}, %[[UU]] : i32
// CHECK:         %[[SS:.+]] = spirv.SDot %[[A]], %[[B]], <PackedVectorFormat4x8Bit> : i32 -> i32
// CHECK:         %[[S1:.+]] = spirv.IAdd %[[S0]], %[[SS]] : i32
// CHECK:         %[[SU:.+]] = spirv.SUDot %[[A]], %[[B]], <PackedVectorFormat4x8Bit> : i32 -> i32
// CHECK:         %[[S2:.+]] = spirv.IAdd %[[S1]], %[[SU]] : i32
// CHECK:         %[[US:.+]] = spirv.SUDot %[[B]], %[[A]], <PackedVectorFormat4x8Bit> : i32 -> i32
// CHECK:         spirv.IAdd %[[S2]], %[[US]] : i32
func.func @dots() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<32xi32>
  %b = vxk.buffer 1 read () : memref<32xi32>
  %r = vxk.buffer 2 read_write () : memref<32xi32>
  %x = memref.load %a[%i] : memref<32xi32>
  %y = memref.load %b[%i] : memref<32xi32>
  %z = memref.load %r[%i] : memref<32xi32>
  %zero = vector.from_elements %z : vector<1xi32>
  %xv = vector.from_elements %x : vector<1xi32>
  %yv = vector.from_elements %y : vector<1xi32>
  %xb = vector.bitcast %xv : vector<1xi32> to vector<4xi8>
  %yb = vector.bitcast %yv : vector<1xi32> to vector<4xi8>
  %0 = vxk.dot %zero, %xb, %yb : vector<1xi32>, vector<4xi8>
  %1 = vxk.dot %0, signed %xb, signed %yb : vector<1xi32>, vector<4xi8>
  %2 = vxk.dot %1, signed %xb, %yb : vector<1xi32>, vector<4xi8>
  %3 = vxk.dot %2, %xb, signed %yb : vector<1xi32>, vector<4xi8>
  %s = vector.extract %3[0] : i32 from vector<1xi32>
  memref.store %s, %r[%i] : memref<32xi32>
  return
}
