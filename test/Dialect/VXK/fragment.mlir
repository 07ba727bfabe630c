// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// A product of two fragments from workgroup memory, one that lies along the sum and one that lies across it.
// CHECK-LABEL: func.func @product(
// CHECK-SAME:    %[[M:[^ :]+]]: memref<4096xbf16, #gpu.address_space<workgroup>>, %[[I:[^ :]+]]: index, %[[Z:[^ :]+]]: f32
func.func @product(%m: memref<4096xbf16, #gpu.address_space<workgroup>>, %i: index, %zero: f32) -> (f32, f32) {
  // CHECK: %[[C:.+]] = vxk.fill_fragment %[[Z]] : <accumulator, 16x8x16, f32>
  %c = vxk.fill_fragment %zero : !vxk.fragment<accumulator, 16x8x16, f32>
  // CHECK: %[[A:.+]] = vxk.load_fragment %[[M]][%[[I]]] stride 40 along_sum : memref<4096xbf16, #gpu.address_space<workgroup>> -> <lhs, 16x8x16, bf16>
  %a = vxk.load_fragment %m[%i] stride 40 along_sum : memref<4096xbf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x8x16, bf16>
  // CHECK: %[[B:.+]] = vxk.load_fragment %[[M]][%[[I]]] stride 8 : memref<4096xbf16, #gpu.address_space<workgroup>> -> <rhs, 16x8x16, bf16>
  %b = vxk.load_fragment %m[%i] stride 8 : memref<4096xbf16, #gpu.address_space<workgroup>> -> !vxk.fragment<rhs, 16x8x16, bf16>
  // CHECK: %[[D:.+]] = vxk.multiply_accumulate %[[A]], %[[B]], %[[C]] : <lhs, 16x8x16, bf16>, <rhs, 16x8x16, bf16>, <accumulator, 16x8x16, f32>
  %d = vxk.multiply_accumulate %a, %b, %c : !vxk.fragment<lhs, 16x8x16, bf16>, !vxk.fragment<rhs, 16x8x16, bf16>, !vxk.fragment<accumulator, 16x8x16, f32>
  // CHECK: vxk.fragment_elements %[[D]] : <accumulator, 16x8x16, f32> -> f32, f32
  %x, %y = vxk.fragment_elements %d : !vxk.fragment<accumulator, 16x8x16, f32> -> f32, f32
  return %x, %y : f32, f32
}

// -----

// Elements of tf32 lie in memory as f32.
// CHECK-LABEL: func.func @tf32(
func.func @tf32(%m: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) -> !vxk.fragment<lhs, 16x16x8, tf32> {
  // CHECK: vxk.load_fragment
  %a = vxk.load_fragment %m[%i] stride 20 along_sum : memref<64xf32, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x8, tf32>
  return %a : !vxk.fragment<lhs, 16x16x8, tf32>
}

// -----

// expected-error @+1 {{'!vxk.fragment' expects sizes of at least 1: got 16x0x8}}
func.func @type_c1(%a: !vxk.fragment<lhs, 16x0x8, f16>)

// -----

// expected-error @+1 {{'!vxk.fragment' expects f16, bf16 or tf32 for 'rhs', got 'f32'}}
func.func @type_c2_factor(%a: !vxk.fragment<rhs, 16x16x8, f32>)

// -----

// expected-error @+1 {{'!vxk.fragment' expects f32 for 'accumulator', got 'f16'}}
func.func @type_c2_accumulator(%a: !vxk.fragment<accumulator, 16x16x8, f16>)

// -----

// expected-error @+1 {{expects lhs, rhs or accumulator, got 'middle'}}
func.func @type_role(%a: !vxk.fragment<middle, 16x16x8, f16>)

// -----

// expected-error @+1 {{expects rows, columns and depth, got 2 sizes}}
func.func @type_sizes(%a: !vxk.fragment<lhs, 16x16, f16>)

// -----

func.func @fill_c1(%z: f32) {
  // expected-error @+1 {{'vxk.fill_fragment' op expects an accumulator as its result, got '!vxk.fragment<lhs, 16x16x8, f16>'}}
  %a = vxk.fill_fragment %z : !vxk.fragment<lhs, 16x16x8, f16>
  return
}

// -----

func.func @load_c1_role(%m: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{'vxk.load_fragment' op expects a factor as its result, got '!vxk.fragment<accumulator, 16x16x8, f32>'}}
  %a = vxk.load_fragment %m[%i] stride 16 : memref<64xf32, #gpu.address_space<workgroup>> -> !vxk.fragment<accumulator, 16x16x8, f32>
  return
}

// -----

func.func @load_c1_element(%m: memref<64xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{'vxk.load_fragment' op expects memory of 'f32' for '!vxk.fragment<lhs, 16x16x8, tf32>', got 'f16'}}
  %a = vxk.load_fragment %m[%i] stride 16 : memref<64xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x8, tf32>
  return
}

// -----

func.func @load_c2_small(%m: memref<64xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{'vxk.load_fragment' op expects a stride of at least 16 and a multiple of 8, got 8}}
  %a = vxk.load_fragment %m[%i] stride 8 : memref<64xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x8, f16>
  return
}

// -----

func.func @load_c2_odd(%m: memref<64xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{'vxk.load_fragment' op expects a stride of at least 8 and a multiple of 8, got 12}}
  %a = vxk.load_fragment %m[%i] stride 12 along_sum : memref<64xf16, #gpu.address_space<workgroup>> -> !vxk.fragment<lhs, 16x16x8, f16>
  return
}

// -----

func.func @multiply_c1(%a: !vxk.fragment<lhs, 16x16x8, f16>, %b: !vxk.fragment<rhs, 16x16x8, bf16>, %c: !vxk.fragment<accumulator, 16x16x8, f32>) {
  // expected-error @+1 {{'vxk.multiply_accumulate' op expects a lhs, a rhs and an accumulator of one shape: got '!vxk.fragment<lhs, 16x16x8, f16>', '!vxk.fragment<rhs, 16x16x8, bf16>' and '!vxk.fragment<accumulator, 16x16x8, f32>'}}
  %d = vxk.multiply_accumulate %a, %b, %c : !vxk.fragment<lhs, 16x16x8, f16>, !vxk.fragment<rhs, 16x16x8, bf16>, !vxk.fragment<accumulator, 16x16x8, f32>
  return
}

// -----

func.func @elements_c1_role(%a: !vxk.fragment<lhs, 16x16x8, f16>) {
  // expected-error @+1 {{'vxk.fragment_elements' op expects an accumulator, got '!vxk.fragment<lhs, 16x16x8, f16>'}}
  %x = vxk.fragment_elements %a : !vxk.fragment<lhs, 16x16x8, f16> -> f32
  return
}

// -----

func.func @elements_c1_count(%a: !vxk.fragment<accumulator, 16x16x8, f32>) {
  // expected-error @+1 {{'vxk.fragment_elements' op expects a part of '!vxk.fragment<accumulator, 16x16x8, f32>' for each of a power of 2 of threads, got 3 elements of 256}}
  %x, %y, %z = vxk.fragment_elements %a : !vxk.fragment<accumulator, 16x16x8, f32> -> f32, f32, f32
  return
}
