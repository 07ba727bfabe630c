// What passes make of an op that computes again what another one has computed (vx.copy): it stays apart from that one, and its kernel is the
// same.
// RUN: vx-opt %s --pass-pipeline='builtin.module(cse,canonicalize)' | FileCheck %s --check-prefix=JOINED
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-simplify-views),canonicalize,cse)' | FileCheck %s --check-prefix=VIEWS
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-apply-precision{precision=bf16}),cse)' | FileCheck %s --check-prefix=PRECISION
// RUN: vx-opt %s --vx-decompose=ops=softmax --cse | FileCheck %s --check-prefix=DECOMPOSED
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-form-fusions))' | FileCheck %s --check-prefix=FUSED
// RUN: vx-opt %s --pass-pipeline='builtin.module(func.func(vx-form-fusions),vx-outline-kernels{target=cpu})' | FileCheck %s --check-prefix=KERNELS

// JOINED-LABEL: func.func @rows(
// JOINED:         vx.softmax
// JOINED:         vx.softmax {{.*}} {vx.copy = 4 : i64}
// JOINED-NOT:     vx.softmax
// JOINED:         return
// DECOMPOSED-LABEL: func.func @rows(
// DECOMPOSED-COUNT-2: vx.exp
// DECOMPOSED-NOT:     vx.exp
// DECOMPOSED:         return
// KERNELS-LABEL: func.func @rows(
// KERNELS:         vx.dispatch @softmax(
// KERNELS-NEXT:    vx.dispatch @softmax(
// KERNELS-NEXT:    vx.dispatch @softmax(
func.func @rows(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = vx.softmax %x axis = 1 : tensor<4x8xf32>
  %1 = vx.softmax %x axis = 1 : tensor<4x8xf32>
  %2 = vx.softmax %x axis = 1 {vx.copy = 4 : i64} : tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A contraction that takes a transposition in is still a copy, and its operand in bf16 is its own.
// VIEWS-LABEL: func.func @product(
// VIEWS:         vx.contract %arg0, %arg1 batch = [] x [] contracting = [0] x [0] :
// VIEWS:         vx.contract %arg0, %arg1 batch = [] x [] contracting = [0] x [0] {vx.copy = 4 : i64} :
// PRECISION-LABEL: func.func @product(
// PRECISION-COUNT-4: vx.cast
// PRECISION-NOT:     vx.cast
// PRECISION:         return
func.func @product(%x: tensor<8x4xf32>, %w: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %t = vx.transpose %x, [1, 0] : tensor<8x4xf32>
  %0 = vx.contract %t, %w batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x2xf32>
  %1 = vx.contract %t, %w batch = [] x [] contracting = [1] x [0] {vx.copy = 4 : i64} : tensor<4x8xf32>, tensor<8x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}

// A copy with two readers would be one of two results of the other one's kernel, which reads the same, and be kept from there on; what it
// reads would be computed late in its kernel.
// FUSED-LABEL: func.func @siblings(
// FUSED:         vx.fusion
// FUSED:           vx.neg
// FUSED-NEXT:      vx.exp
// FUSED-NEXT:      vx.yield
// FUSED:         vx.softmax
// FUSED:         vx.fusion
// FUSED:           vx.exp {{.*}} {vx.copy = 4 : i64}
// FUSED-NEXT:      vx.yield
func.func @siblings(%x: tensor<4x8xf32>, %m: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %n = vx.neg %x : tensor<4x8xf32>
  %e = vx.exp %n : tensor<4x8xf32>
  %a = vx.contract %e, %m batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32>
  %s = vx.softmax %e axis = 1 : tensor<4x8xf32>
  %c = vx.exp %n {vx.copy = 4 : i64} : tensor<4x8xf32>
  %b = vx.contract %c, %m batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32>
  %d = vx.contract %c, %c batch = [] x [] contracting = [1] x [1] : tensor<4x8xf32>, tensor<4x8xf32>
  return %s, %a, %b, %d : tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// A group whose last op stands late is computed when something waits for it, and what does not wait for it stays behind: the softmax is
// not read before.
// FUSED-LABEL: func.func @order(
// FUSED:           vx.reduce sum
// FUSED:           vx.reduce max
// FUSED:         vx.fusion
// FUSED:           vx.sub
// FUSED:         vx.contract
// FUSED:         vx.softmax
func.func @order(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %m: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x8xf32>, tensor<f32>) {
  %0 = vx.reduce sum %x axes = [0, 1] : tensor<4x8xf32>
  %r = vx.broadcast %0, [] : tensor<f32> -> tensor<4x8xf32>
  %1 = vx.sub %y, %r : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = vx.contract %1, %m batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32>
  %3 = vx.softmax %y axis = 1 : tensor<4x8xf32>
  %4 = vx.reduce max %x axes = [0, 1] : tensor<4x8xf32>
  return %2, %3, %4 : tensor<4x4xf32>, tensor<4x8xf32>, tensor<f32>
}
