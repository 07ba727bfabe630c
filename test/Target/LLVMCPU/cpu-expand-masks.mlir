// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-cpu-expand-masks{masked-bits=32}))' | FileCheck %s --check-prefixes=CHECK,OF32
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-cpu-expand-masks{masked-bits=65}))' | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-cpu-expand-masks{masked-bits=8}))' | FileCheck %s --check-prefix=BYTES

// Bytes have no masked instruction before AVX-512, and no element has one before AVX: all lanes at once are a load without a mask.

// CHECK-LABEL: func.func @bytes
// CHECK-SAME:    (%[[M:.+]]: memref<64xi8>, %[[TO:.+]]: memref<64xi8>, %[[MASK:.+]]: vector<8xi1>, %[[PASS:.+]]: vector<8xi8>, %[[AT:.+]]: index)
// CHECK:         %[[ALL:.+]] = vector.reduction <and>, %[[MASK]] : vector<8xi1> into i1
// CHECK-NEXT:    %[[VALUE:.+]] = scf.if %[[ALL]] -> (vector<8xi8>) {
// CHECK-NEXT:      %[[WHOLE:.+]] = vector.load %[[M]][%[[AT]]] : memref<64xi8>, vector<8xi8>
// CHECK-NEXT:      scf.yield %[[WHOLE]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[PART:.+]] = vector.maskedload %[[M]][%[[AT]]], %[[MASK]], %[[PASS]]
// CHECK-NEXT:      scf.yield %[[PART]]
// CHECK:         %[[STORES:.+]] = vector.reduction <and>, %[[MASK]] : vector<8xi1> into i1
// CHECK-NEXT:    scf.if %[[STORES]] {
// CHECK-NEXT:      vector.store %[[VALUE]], %[[TO]][%[[AT]]] : memref<64xi8>, vector<8xi8>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      vector.maskedstore %[[TO]][%[[AT]]], %[[MASK]], %[[VALUE]]
// BYTES-LABEL: func.func @bytes
// BYTES-NOT:     scf.if
// BYTES:         return
func.func @bytes(%m: memref<64xi8>, %to: memref<64xi8>, %mask: vector<8xi1>, %pass: vector<8xi8>, %at: index) {
  %value = vector.maskedload %m[%at], %mask, %pass : memref<64xi8>, vector<8xi1>, vector<8xi8> into vector<8xi8>
  vector.maskedstore %to[%at], %mask, %value : memref<64xi8>, vector<8xi1>, vector<8xi8>
  return
}

// OF32-LABEL: func.func @words
// OF32-NOT:     scf.if
// OF32:         return
// NONE-LABEL: func.func @words
// NONE:         vector.load
// NONE:         vector.store
func.func @words(%m: memref<64xf32>, %mask: vector<8xi1>, %pass: vector<8xf32>, %at: index) {
  %value = vector.maskedload %m[%at], %mask, %pass : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %m[%at], %mask, %value : memref<64xf32>, vector<8xi1>, vector<8xf32>
  return
}

// The lanes of a constant mask are known: LLVM reads those, without a branch.
// CHECK-LABEL: func.func @constant
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @constant(%m: memref<64xf16>, %pass: vector<4xf16>, %at: index) {
  %mask = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  %value = vector.maskedload %m[%at], %mask, %pass : memref<64xf16>, vector<4xi1>, vector<4xf16> into vector<4xf16>
  vector.maskedstore %m[%at], %mask, %value : memref<64xf16>, vector<4xi1>, vector<4xf16>
  return
}

// A mask of loops over rows stays a value: the branch is taken from it.
// CHECK-LABEL: func.func @made
// CHECK:         vector.create_mask
// CHECK:         vector.reduction <and>
// CHECK:         scf.if
func.func @made(%m: memref<64xf16>, %pass: vector<4xf16>, %at: index, %left: index, %to: memref<64xf16>) {
  %mask = vector.create_mask %left : vector<4xi1>
  %value = vector.maskedload %m[%at], %mask, %pass : memref<64xf16>, vector<4xi1>, vector<4xf16> into vector<4xf16>
  vector.store %value, %to[%at] : memref<64xf16>, vector<4xf16>
  return
}
