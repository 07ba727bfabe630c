// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-apply-precision{precision=f16}))' | FileCheck %s
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-apply-precision{precision=bf16},vx-apply-precision{precision=bf16}))' | FileCheck %s --check-prefix=BF16
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-apply-precision{precision=tf32}))' | FileCheck %s --check-prefix=TF32
// RUN: vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-apply-precision{precision=f32}))' | FileCheck %s --check-prefix=F32
// RUN: not vx-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(vx-apply-precision{precision=f8}))' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: 'precision': expected f32, tf32, f16 or bf16, got 'f8'

// Both factors are rounded, and the sums stay f32; a second time nothing changes. A dynamic size stays what it is.
// CHECK-LABEL: func.func @contract(
// CHECK-SAME:    %[[X:[^ :]+]]: {{.+}}, %[[W:[^ :]+]]: tensor<8x4xf32>
// CHECK-NEXT:    %[[A:.+]] = vx.cast %[[X]] : tensor<?x8xf32, #vx.enc<[n, 8]>> -> tensor<?x8xf16, #vx.enc<[n, 8]>>
// CHECK-NEXT:    %[[B:.+]] = vx.cast %[[W]] : tensor<8x4xf32> -> tensor<8x4xf16>
// CHECK-NEXT:    %[[R:.+]] = vx.contract %[[A]], %[[B]] batch = [] x [] contracting = [1] x [0] sums = f32
// CHECK-NEXT:    return %[[R]]
// BF16-LABEL: func.func @contract(
// BF16-COUNT-2: vx.cast
// BF16-NOT:     vx.cast
// BF16:         vx.contract {{.*}} sums = f32 : tensor<?x8xbf16, #vx.enc<[n, 8]>>, tensor<8x4xbf16>
// TF32-LABEL: func.func @contract(
// TF32-NEXT:    vx.contract {{.*}} factors = tf32 : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x4xf32>
// F32-LABEL: func.func @contract(
// F32-NEXT:    vx.contract {{.*}} contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x4xf32>
func.func @contract(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #vx.enc<[n, 4]>> {
  %r = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x4xf32>
  return %r : tensor<?x4xf32, #vx.enc<[n, 4]>>
}

// -----

// CHECK-LABEL: func.func @conv(
// CHECK:         vx.conv {{.*}} groups = 1 sums = f32 : tensor<1x4x8xf16>, tensor<6x4x3xf16>
// TF32-LABEL: func.func @conv(
// TF32:         vx.conv {{.*}} groups = 1 factors = tf32 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
func.func @conv(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x6xf32> {
  %r = vx.conv %x, %w strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x4x8xf32>, tensor<6x4x3xf32>
  return %r : tensor<1x6x6xf32>
}

// -----

// What is not f32 keeps the precision that the model asks for, and so does attention.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     vx.cast
// CHECK:         return
// TF32-LABEL: func.func @others(
// TF32-NOT:     tf32
// TF32:         return
func.func @others(%a: tensor<4x4xf64>, %i: tensor<4x4xi32>, %q: tensor<1x2x3x4xf32>) -> (tensor<4x4xf64>, tensor<4x4xi32>, tensor<1x2x3x4xf32>) {
  %0 = vx.contract %a, %a batch = [] x [] contracting = [1] x [0] : tensor<4x4xf64>, tensor<4x4xf64>
  %1 = vx.contract %i, %i batch = [] x [] contracting = [1] x [0] : tensor<4x4xi32>, tensor<4x4xi32>
  %2 = vx.attention %q, %q, %q scale = 5.000000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return %0, %1, %2 : tensor<4x4xf64>, tensor<4x4xi32>, tensor<1x2x3x4xf32>
}
