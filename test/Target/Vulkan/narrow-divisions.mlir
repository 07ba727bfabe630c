// RUN: vx-opt %s --split-input-file --vx-convert-to-spirv | FileCheck %s

// A quotient of places that fit into 32 bits is computed in 32 bits, whatever their range is.
// CHECK-LABEL: spirv.func @by_constant
// CHECK:         %[[WIDE:.+]] = spirv.UDiv %[[N:.+]], %[[THREE:.+]] : i64
// CHECK:         %[[ALL:.+]] = spirv.BitwiseOr %[[N]], %[[THREE]] : i64
// CHECK:         %[[FITS:.+]] = spirv.ULessThanEqual %[[ALL]], %cst4294967295_i64 : i64
// CHECK:         %[[LOW:.+]] = spirv.UConvert %[[N]] : i64 to i32
// CHECK:         %[[NARROW:.+]] = spirv.UDiv %[[LOW]], %cst3_i32 : i32
// CHECK:         %[[WIDENED:.+]] = spirv.UConvert %[[NARROW]] : i32 to i64
// CHECK:         spirv.Select %[[FITS]], %[[WIDENED]], %[[WIDE]] : i1, i64
func.func @by_constant() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %n = vxk.scalar 0
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : index
  %at = arith.divui %n, %c3 : index
  memref.store %one, %r[%at] : memref<?xf32>
  return
}

// -----

// The low half of a divisor may be 0: by that nothing is divided.
// CHECK-LABEL: spirv.func @by_any
// CHECK:         %[[FITS:.+]] = spirv.ULessThanEqual
// CHECK:         spirv.UConvert %{{.+}} : i64 to i32
// CHECK-NEXT:    %[[LOW:.+]] = spirv.UConvert %{{.+}} : i64 to i32
// CHECK-NEXT:    %[[BY:.+]] = spirv.Select %[[FITS]], %[[LOW]], %cst1_i32{{.*}} : i1, i32
// CHECK:         spirv.UMod %{{.+}}, %[[BY]] : i32
func.func @by_any() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %n = vxk.scalar 0
  %m = vxk.scalar 1
  %r = vxk.buffer 0 write (%n) : memref<?xf32>
  %one = arith.constant 1.0 : f32
  %at = arith.remui %n, %m : index
  memref.store %one, %r[%at] : memref<?xf32>
  return
}

// -----

// Numbers of a tensor, too; powers of two are shifts in any case.
// CHECK-LABEL: spirv.func @numbers
// CHECK:         spirv.SDiv %{{.+}}, %{{.+}} : i64
// CHECK:         spirv.UDiv %{{.+}}, %{{.+}} : i32
// CHECK-NOT:     spirv.UMod %{{.+}} : i32
// CHECK:         spirv.UMod %{{.+}}, %cst8_i64{{.*}} : i64
func.func @numbers() attributes {vxk.kernel, vxk.threads = 64 : i64} {
  %n = vxk.scalar 0
  %a = vxk.buffer 0 read (%n) : memref<?xi64>
  %r = vxk.buffer 1 write (%n) : memref<?xi64>
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : i64
  %c8 = arith.constant 8 : i64
  %number = memref.load %a[%c0] : memref<?xi64>
  %seventh = arith.divsi %number, %c7 : i64
  %rest = arith.remui %seventh, %c8 : i64
  memref.store %rest, %r[%c0] : memref<?xi64>
  return
}
