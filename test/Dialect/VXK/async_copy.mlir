// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @stage(
// CHECK-SAME:    %[[S:[^ :]+]]: memref<8x8xf16>, %[[T:[^ :]+]]: memref<64xf16, #gpu.address_space<workgroup>>, %[[I:[^ :]+]]: index, %[[V:[^ :]+]]: i1
func.func @stage(%s: memref<8x8xf16>, %t: memref<64xf16, #gpu.address_space<workgroup>>, %i: index, %valid: i1) {
  // CHECK:      vxk.async_copy %[[S]][%[[I]], %[[I]]] to %[[T]][%[[I]]] count 8 if %[[V]] : memref<8x8xf16> to memref<64xf16, #gpu.address_space<workgroup>>
  // CHECK-NEXT: vxk.async_commit
  // CHECK-NEXT: vxk.async_wait 1
  vxk.async_copy %s[%i, %i] to %t[%i] count 8 if %valid : memref<8x8xf16> to memref<64xf16, #gpu.address_space<workgroup>>
  vxk.async_commit
  vxk.async_wait 1
  return
}

// -----

func.func @copy_c1_element(%s: memref<8xf32>, %t: memref<64xf16, #gpu.address_space<workgroup>>, %i: index, %valid: i1) {
  // expected-error @+1 {{'vxk.async_copy' op expects a buffer and workgroup memory of one element type: got 'memref<8xf32>' and 'memref<64xf16, #gpu.address_space<workgroup>>'}}
  vxk.async_copy %s[%i] to %t[%i] count 4 if %valid : memref<8xf32> to memref<64xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copy_c1_memory(%s: memref<8xf32>, %t: memref<64xf32>, %i: index, %valid: i1) {
  // expected-error @+1 {{'vxk.async_copy' op expects a buffer and workgroup memory of one element type: got 'memref<8xf32>' and 'memref<64xf32>'}}
  vxk.async_copy %s[%i] to %t[%i] count 4 if %valid : memref<8xf32> to memref<64xf32>
  return
}

// -----

func.func @copy_c2(%s: memref<8xf32>, %t: memref<64xf32, #gpu.address_space<workgroup>>, %i: index, %valid: i1) {
  // expected-error @+1 {{'vxk.async_copy' op expects to copy 4, 8 or 16 bytes, got 3 elements of 'f32'}}
  vxk.async_copy %s[%i] to %t[%i] count 3 if %valid : memref<8xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copy_c3(%s: memref<8x8xf32>, %t: memref<64xf32, #gpu.address_space<workgroup>>, %i: index, %valid: i1) {
  // expected-error @+1 {{'vxk.async_copy' op expects one index for each dimension of 'memref<8x8xf32>': 2, got 1}}
  vxk.async_copy %s[%i] to %t[%i] count 4 if %valid : memref<8x8xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @wait_c1() {
  // expected-error @+1 {{'vxk.async_wait' op expects 0 or more stages, got -1}}
  vxk.async_wait -1
  return
}
