// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// Batch dimensions first, then the free ones of each side.
// CHECK-LABEL: func.func @batched(
func.func @batched(%a: tensor<?x4x8xf32, #vx.enc<[b, 4, 8]>>, %b: tensor<8x?x5xf32, #vx.enc<[8, b, 5]>>) -> tensor<?x4x5xf32, #vx.enc<[b, 4, 5]>> {
  // CHECK: vx.contract %{{.*}}, %{{.*}} batch = [0] x [1] contracting = [2] x [0] : tensor<?x4x8xf32, #vx.enc<[b, 4, 8]>>, tensor<8x?x5xf32, #vx.enc<[8, b, 5]>>
  %0 = vx.contract %a, %b batch = [0] x [1] contracting = [2] x [0] : tensor<?x4x8xf32, #vx.enc<[b, 4, 8]>>, tensor<8x?x5xf32, #vx.enc<[8, b, 5]>>
  return %0 : tensor<?x4x5xf32, #vx.enc<[b, 4, 5]>>
}

// -----

// CHECK-LABEL: func.func @outer_product(
func.func @outer_product(%a: tensor<2xi8>, %b: tensor<3xi8>) -> tensor<2x3xi8> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [] x [] : tensor<2xi8>, tensor<3xi8>
  return %0 : tensor<2x3xi8>
}

// -----

func.func @c1_batch_count(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.contract' op expects as many batch dimensions on both sides: got 1 and 0}}
  %0 = vx.contract %a, %a batch = [0] x [] contracting = [] x [] : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @c1_contracting_count(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.contract' op expects as many contracting dimensions on both sides: got 0 and 1}}
  %0 = vx.contract %a, %a batch = [] x [] contracting = [] x [0] : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @c1_twice(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{'vx.contract' op expects each dimension of 'lhs' at most once, got 0 twice}}
  %0 = vx.contract %a, %a batch = [0] x [0] contracting = [0] x [1] : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @c2_range(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{'vx.contract' op expects dimensions of 'rhs': 0 to 1, got 2}}
  %0 = vx.contract %a, %a batch = [] x [] contracting = [0] x [2] : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @c3_sizes(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{'vx.contract' op expects dimension 1 of 'lhs' and 0 of 'rhs' to have the same size: got 'tensor<2x3xf32>' and 'tensor<4x5xf32>'}}
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<2x3xf32>, tensor<4x5xf32>
  return
}

// -----

// The sums of narrow factors as they were accumulated, and factors that may be rounded.
// CHECK-LABEL: func.func @precision(
func.func @precision(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>, %c: tensor<2x3xf32>, %d: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK: vx.contract %{{.*}}, %{{.*}} batch = [] x [] contracting = [1] x [0] sums = f32 : tensor<2x3xf16>, tensor<3x4xf16>
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = f32 : tensor<2x3xf16>, tensor<3x4xf16>
  // CHECK: vx.contract %{{.*}}, %{{.*}} batch = [] x [] contracting = [1] x [0] factors = tf32 : tensor<2x3xf32>, tensor<3x4xf32>
  %1 = vx.contract %c, %d batch = [] x [] contracting = [1] x [0] factors = tf32 : tensor<2x3xf32>, tensor<3x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

func.func @c4_operands(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{'vx.contract' op expects 'sums' of f32 for operands of f16 or bf16: got 'f32' for operands of 'f32'}}
  %0 = vx.contract %a, %a batch = [] x [] contracting = [1] x [0] sums = f32 : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @c4_type(%a: tensor<2x2xf16>) {
  // expected-error @+1 {{'vx.contract' op expects 'sums' of f32 for operands of f16 or bf16: got 'f64' for operands of 'f16'}}
  %0 = vx.contract %a, %a batch = [] x [] contracting = [1] x [0] sums = f64 : tensor<2x2xf16>, tensor<2x2xf16>
  return
}

// -----

func.func @c5_factors(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{'vx.contract' op expects 'factors' of tf32 for operands of f32: got 'bf16' for operands of 'f32'}}
  %0 = vx.contract %a, %a batch = [] x [] contracting = [1] x [0] factors = bf16 : tensor<2x2xf32>, tensor<2x2xf32>
  return
}

// -----

// CHECK-LABEL: func.func @bytes
// CHECK:         vx.contract %arg0, %arg1 batch = [] x [] contracting = [1] x [0] sums = i32 : tensor<4x8xui8>, tensor<8x5xi8>
func.func @bytes(%a: tensor<4x8xui8>, %b: tensor<8x5xi8>) -> tensor<4x5xi32> {
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = i32 : tensor<4x8xui8>, tensor<8x5xi8>
  return %0 : tensor<4x5xi32>
}

// -----

func.func @wide_bytes(%a: tensor<4x8xi16>, %b: tensor<8x5xi8>) {
  // expected-error @+1 {{'vx.contract' op expects operands of i8 or ui8 for 'sums' of i32, got 'i16' and 'i8'}}
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = i32 : tensor<4x8xi16>, tensor<8x5xi8>
  return
}

// -----

func.func @two_types(%a: tensor<4x8xui8>, %b: tensor<8x5xi8>) {
  // expected-error @+1 {{'vx.contract' op expects operands of one element type, got 'ui8' and 'i8'}}
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<4x8xui8>, tensor<8x5xi8>
  return
}

// -----

func.func @factors_of_bytes(%a: tensor<4x8xi8>, %b: tensor<8x5xi8>) {
  // expected-error @+1 {{'vx.contract' op expects operands of i8 or ui8 and no 'factors' for 'sums' of i32, got 'i8' and 'i8'}}
  %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = i32 factors = tf32 : tensor<4x8xi8>, tensor<8x5xi8>
  return
}
