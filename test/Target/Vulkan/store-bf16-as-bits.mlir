// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-store-bf16-as-bits | FileCheck %s

// Memory, constants and choices of bf16 are of its bits; what reads them as such reads them.
// CHECK-LABEL: func @bits
// CHECK-SAME: (%[[M:.*]]: memref<8xi16>, %[[C:.*]]: i1)
func.func @bits(%m: memref<8xbf16>, %c: i1) {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 16256 : i16
  // CHECK-DAG: %[[MANY:.*]] = arith.constant dense<[16256, -16384]> : vector<2xi16>
  %one = arith.constant 1.0 : bf16
  %many = arith.constant dense<[1.0, -2.0]> : vector<2xbf16>
  %i = arith.constant 0 : index
  // CHECK: %[[X:.*]] = memref.load %[[M]][%{{.*}}] : memref<8xi16>
  %x = memref.load %m[%i] : memref<8xbf16>
  // CHECK: %[[Y:.*]] = arith.select %[[C]], %[[X]], %[[ONE]] : i16
  %y = arith.select %c, %x, %one : bf16
  // CHECK-NOT: arith.bitcast
  // CHECK: %[[W:.*]] = arith.extui %[[Y]] : i16 to i32
  %b = arith.bitcast %y : bf16 to i16
  %w = arith.extui %b : i16 to i32
  %n = arith.trunci %w : i32 to i16
  // CHECK: %[[N:.*]] = arith.trunci %[[W]] : i32 to i16
  %r = arith.bitcast %n : i16 to bf16
  // CHECK: memref.store %[[N]], %[[M]]
  memref.store %r, %m[%i] : memref<8xbf16>
  // CHECK: vector.store %[[MANY]], %[[M]][%{{.*}}] : memref<8xi16>, vector<2xi16>
  vector.store %many, %m[%i] : memref<8xbf16>, vector<2xbf16>
  return
}

// -----

func.func @arithmetic(%x: bf16) -> bf16 {
  // expected-error @+1 {{expected arithmetic in f32 on Vulkan, got 'arith.addf' in bf16}}
  %y = arith.addf %x, %x : bf16
  return %y : bf16
}
