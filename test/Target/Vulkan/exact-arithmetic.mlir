// RUN: vx-opt %s --split-input-file --vx-convert-to-spirv | FileCheck %s

// A remainder is divided out step by step: the opcode for it may be off by a whole divisor.
// CHECK-LABEL: spirv.func @remainder
// CHECK-NOT:     spirv.FRem
// CHECK:         spirv.mlir.loop
// CHECK:         spirv.mlir.loop
// CHECK:           spirv.FSub
// CHECK-NOT:     spirv.FRem
func.func @remainder() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<2xf32>
  %r = vxk.buffer 1 write () : memref<2xf32>
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%i] : memref<2xf32>
  %y = memref.load %a[%c1] : memref<2xf32>
  %z = arith.remf %x, %y : f32
  memref.store %z, %r[%i] : memref<2xf32>
  return
}

// -----

// The rounding error of a product comes from exact products of halves; another fused multiply-add stays one.
// CHECK-LABEL: spirv.func @error_of_product
// CHECK:         %[[HIGH:.+]] = spirv.FMul %[[X:[^,]+]], %[[Y:[^ ]+]] {no_contraction} : f32
// CHECK:         spirv.BitwiseAnd
// CHECK:         spirv.BitwiseAnd
// CHECK-NOT:     spirv.GL.Fma
// CHECK:         spirv.GL.Fma %[[X]], %[[Y]], %[[X]] : f32
// CHECK-NOT:     spirv.GL.Fma
func.func @error_of_product() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<2xf32>
  %r = vxk.buffer 1 write () : memref<2xf32>
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%i] : memref<2xf32>
  %y = memref.load %a[%c1] : memref<2xf32>
  %high = arith.mulf %x, %y : f32
  %negated = arith.negf %high : f32
  %low = math.fma %x, %y, %negated : f32
  memref.store %low, %r[%i] : memref<2xf32>
  %other = math.fma %x, %y, %x : f32
  memref.store %other, %r[%c1] : memref<2xf32>
  return
}

// -----

// A loop of no iteration gives its initial values; one that surely runs needs no choice.
// CHECK-LABEL: spirv.func @loops
// CHECK:         spirv.mlir.loop
// CHECK:         %[[RUNS:.+]] = spirv.SGreaterThan %{{.+}}, %{{.+}} : i64
// CHECK:         spirv.Select %[[RUNS]], %{{.+}}, %{{.+}} : i1, f32
// CHECK:         spirv.mlir.loop
// CHECK-NOT:     spirv.Select
func.func @loops() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<2xf32>
  %r = vxk.buffer 1 write () : memref<2xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %init = arith.constant 3.0 : f32
  %s = scf.for %k = %c0 to %i step %c1 iter_args(%v = %init) -> f32 {
    %x = memref.load %a[%k] : memref<2xf32>
    %n = arith.addf %v, %x : f32
    scf.yield %n : f32
  }
  memref.store %s, %r[%c0] : memref<2xf32>
  %t = scf.for %k = %c0 to %c2 step %c1 iter_args(%v = %init) -> f32 {
    %x = memref.load %a[%k] : memref<2xf32>
    %n = arith.mulf %v, %x : f32
    scf.yield %n : f32
  }
  memref.store %t, %r[%c1] : memref<2xf32>
  return
}

// -----

// An f64 is rounded by a sum, with the sign that it had; an f32 by the instruction.
// CHECK-LABEL: spirv.func @round
// CHECK:         spirv.GL.RoundEven %{{.+}} : f32
// CHECK-NOT:     spirv.GL.RoundEven
// CHECK:         %[[BOUND:.+]] = spirv.Constant 0x4330000000000000 : f64
// CHECK:         %[[SUM:.+]] = spirv.FAdd %{{.+}}, %[[BOUND]] {no_contraction} : f64
// CHECK:         spirv.FSub %[[SUM]], %[[BOUND]] {no_contraction} : f64
// CHECK:         spirv.BitwiseOr
func.func @round() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<2xf32>
  %b = vxk.buffer 1 read () : memref<2xf64>
  %r = vxk.buffer 2 write () : memref<2xf32>
  %s = vxk.buffer 3 write () : memref<2xf64>
  %x = memref.load %a[%i] : memref<2xf32>
  %y = math.roundeven %x : f32
  memref.store %y, %r[%i] : memref<2xf32>
  %z = memref.load %b[%i] : memref<2xf64>
  %w = math.roundeven %z : f64
  memref.store %w, %s[%i] : memref<2xf64>
  return
}

// -----

// A constant zero that is multiplied or divides is one that no driver knows: the upper half of the number of workgroups, with the sign of
// the constant. Sums, and other constants, are left alone.
// CHECK-LABEL: spirv.func @zeros
// CHECK:         %[[HALF:.+]] = spirv.ShiftRightLogical %{{.+}}, %{{.+}} : i64
// CHECK:         %[[NARROW:.+]] = spirv.SConvert %[[HALF]] : i64 to i32
// CHECK:         %[[ZERO:.+]] = spirv.Bitcast %[[NARROW]] : i32 to f32
// CHECK:         spirv.FMul %[[X:.+]], %[[ZERO]] {no_contraction} : f32
// CHECK:         %[[SIGN:.+]] = spirv.Constant -2147483648 : i32
// CHECK:         %[[SIGNED:.+]] = spirv.BitwiseOr %{{.+}}, %[[SIGN]] : i32
// CHECK:         %[[MINUS:.+]] = spirv.Bitcast %[[SIGNED]] : i32 to f32
// CHECK:         spirv.FMul %{{.+}}, %[[MINUS]] {no_contraction} : f32
// CHECK:         spirv.FAdd %{{.+}}, %cst_f32{{.*}} {no_contraction} : f32
func.func @zeros() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<2xf32>
  %r = vxk.buffer 1 write () : memref<2xf32>
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %x = memref.load %a[%i] : memref<2xf32>
  %p = arith.mulf %x, %zero : f32
  %q = arith.mulf %minus, %p : f32
  %s = arith.addf %q, %zero : f32
  memref.store %s, %r[%i] : memref<2xf32>
  return
}

// -----

// What is rounded is used with bits that no driver knows to be its own; what is only stored is left alone.
// CHECK-LABEL: spirv.func @rounded
// CHECK:         %[[ZERO:.+]] = spirv.SConvert %{{.+}} : i64 to i16
// CHECK:         %[[BITS:.+]] = spirv.Bitcast %{{.+}} : f16 to i16
// CHECK:         %[[SAME:.+]] = spirv.BitwiseOr %[[BITS]], %[[ZERO]] : i16
// CHECK:         %[[BACK:.+]] = spirv.Bitcast %[[SAME]] : i16 to f16
// CHECK:         spirv.FConvert %[[BACK]] : f16 to f32
// CHECK:         %[[STORED:.+]] = spirv.FConvert %{{.+}} : f32 to f16
// CHECK-NOT:     spirv.Bitcast
// CHECK:         spirv.Store "PhysicalStorageBuffer" %{{.+}}, %[[STORED]]
func.func @rounded() attributes {vxk.kernel, vxk.threads = 1 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<2xf32>
  %r = vxk.buffer 1 write () : memref<2xf32>
  %s = vxk.buffer 2 write () : memref<2xf16>
  %x = memref.load %a[%i] : memref<2xf32>
  %n = arith.truncf %x : f32 to f16
  %w = arith.extf %n : f16 to f32
  memref.store %w, %r[%i] : memref<2xf32>
  %y = arith.addf %x, %x : f32
  %m = arith.truncf %y : f32 to f16
  memref.store %m, %s[%i] : memref<2xf16>
  return
}
