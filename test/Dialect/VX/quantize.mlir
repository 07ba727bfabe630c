// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @pair(
func.func @pair(%x: tensor<3xf16>, %s: tensor<3xf16>, %z: tensor<3xui8>) -> tensor<3xf16> {
  // CHECK: vx.quantize %{{.+}}, %{{.+}}, %{{.+}} : (tensor<3xf16>, tensor<3xf16>, tensor<3xui8>) -> tensor<3xui8>
  %0 = vx.quantize %x, %s, %z : (tensor<3xf16>, tensor<3xf16>, tensor<3xui8>) -> tensor<3xui8>
  // CHECK: vx.dequantize %{{.+}}, %{{.+}} : (tensor<3xui8>, tensor<3xf16>) -> tensor<3xf16>
  %1 = vx.dequantize %0, %s : (tensor<3xui8>, tensor<3xf16>) -> tensor<3xf16>
  return %1 : tensor<3xf16>
}

// -----

func.func @c1(%x: tensor<3xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'vx.quantize' op expects operands and results of one shape: 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = vx.quantize %x, %s : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xi8>
  return
}

// -----

func.func @c2_wide(%x: tensor<3xf32>) {
  // expected-error @+1 {{'vx.quantize' op expects integers of 2 to 16 bits, got 'i32'}}
  %0 = vx.quantize %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @c2_zero(%x: tensor<3xi8>, %s: tensor<3xf32>, %z: tensor<3xui8>) {
  // expected-error @+1 {{'vx.dequantize' op expects 'zero' to have elements of 'i8', got 'ui8'}}
  %0 = vx.dequantize %x, %s, %z : (tensor<3xi8>, tensor<3xf32>, tensor<3xui8>) -> tensor<3xf32>
  return
}

// -----

func.func @c2_zero_of_wide(%x: tensor<3xi32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'vx.dequantize' op expects integers of 2 to 16 bits, or of 32 without 'zero', got 'i32'}}
  %0 = vx.dequantize %x, %s, %x : (tensor<3xi32>, tensor<3xf32>, tensor<3xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @c2_floats(%x: tensor<3xi8>, %s: tensor<3xf8E5M2>) {
  // expected-error @+1 {{'vx.dequantize' op expects floats of 16 bits or more, got 'f8E5M2'}}
  %0 = vx.dequantize %x, %s : (tensor<3xi8>, tensor<3xf8E5M2>) -> tensor<3xf8E5M2>
  return
}

// -----

// CHECK-LABEL: func.func @blocks(
func.func @blocks(%x: tensor<2x3x40xui8>) -> tensor<2x3x64xf32> {
  // CHECK: vx.decode_blocks q4_1 %{{.+}} : tensor<2x3x40xui8>
  %0 = vx.decode_blocks q4_1 %x : tensor<2x3x40xui8>
  return %0 : tensor<2x3x64xf32>
}

// -----

func.func @blocks_c1(%x: tensor<2x41xui8>) {
  // expected-error @+1 {{'vx.decode_blocks' op expects a last dimension of blocks of 20 bytes, got 'tensor<2x41xui8>'}}
  %0 = vx.decode_blocks q4_1 %x : tensor<2x41xui8>
  return
}

// -----

func.func @blocks_of_a_scalar(%x: tensor<ui8>) {
  // expected-error @+1 {{'vx.decode_blocks' op expects a last dimension of blocks of 144 bytes, got 'tensor<ui8>'}}
  %0 = vx.decode_blocks q4_k %x : tensor<ui8>
  return
}
