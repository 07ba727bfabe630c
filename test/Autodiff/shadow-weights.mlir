// RUN: vx-opt %s --split-input-file --vx-shadow-weights=precision=bf16 | FileCheck %s
// RUN: vx-opt %s --split-input-file --vx-shadow-weights=precision=f16 | FileCheck %s --check-prefix=F16
// RUN: vx-opt %s --split-input-file --vx-shadow-weights=precision=tf32 | FileCheck %s --check-prefix=NONE
// RUN: vx-opt %s --split-input-file --vx-shadow-weights | FileCheck %s --check-prefix=NONE

// NONE-NOT: shadow

// What lies between two places that a variable may begin at, @b here, has none.
// CHECK:      vx.variable @parameters role = parameter : tensor<112xf32>
// CHECK-NEXT: vx.variable @"shadow/parameters" role = shadow source = "parameters" : tensor<112xbf16>
// CHECK-NEXT: vx.variable @w role = parameter in @parameters at 0 : tensor<8x8xf32>
// CHECK-NEXT: vx.variable @"shadow/w" role = shadow in @"shadow/parameters" at 0 : tensor<8x8xbf16>
// CHECK-NEXT: vx.variable @v role = parameter in @parameters at 256 : tensor<4x4xf32>
// CHECK-NEXT: vx.variable @"shadow/v" role = shadow in @"shadow/parameters" at 128 : tensor<4x4xbf16>
// CHECK-NEXT: vx.variable @b role = parameter in @parameters at 320 : tensor<16xf32>
// CHECK-NOT:  vx.variable
// CHECK-LABEL: func.func @predict(
// CHECK:         %[[X:.+]] = vx.cast %{{.+}} : tensor<?x8xf32, {{.+}}> -> tensor<?x8xbf16, {{.+}}>
// CHECK-NOT:     vx.variable_load @w
// CHECK:         %[[W:.+]] = vx.variable_load @"shadow/w" : tensor<8x8xbf16>
// CHECK-NOT:     vx.cast
// CHECK:         vx.contract %[[X]], %[[W]]
// CHECK:         vx.variable_load @b
// CHECK:         vx.cast
// CHECK-LABEL: func.func @train_step(
// CHECK:         %[[V:.+]] = vx.variable_load @v : tensor<4x4xf32>
// CHECK-NEXT:    %[[LOW:.+]] = vx.variable_load @"shadow/v" : tensor<4x4xbf16>
// CHECK-NEXT:    vx.variable_store %[[NEW:.+]], @parameters : tensor<112xf32>
// CHECK-NEXT:    %[[ROUNDED:.+]] = vx.cast %[[NEW]] : tensor<112xf32> -> tensor<112xbf16>
// CHECK-NEXT:    vx.variable_store %[[ROUNDED]], @"shadow/parameters" : tensor<112xbf16>
// CHECK-NEXT:    return %[[V]], %[[LOW]]

// A cast to another type stays.
// F16-LABEL: func.func @predict(
// F16:         vx.variable_load @w : tensor<8x8xf32>
// F16:         vx.cast
module {
  vx.symbol "n"
  vx.variable @parameters role = parameter : tensor<112xf32>
  vx.variable @w role = parameter in @parameters at 0 : tensor<8x8xf32>
  vx.variable @v role = parameter in @parameters at 256 : tensor<4x4xf32>
  vx.variable @b role = parameter in @parameters at 320 : tensor<16xf32>
  func.func @predict(%x: tensor<?x8xf32, #vx.enc<[n, 8]>> {vx.name = "x"}) -> (tensor<?x8xf32, #vx.enc<[n, 8]>> {vx.name = "y"}, tensor<16xbf16> {vx.name = "z"}) {
    %0 = vx.cast %x : tensor<?x8xf32, #vx.enc<[n, 8]>> -> tensor<?x8xbf16, #vx.enc<[n, 8]>>
    %w = vx.variable_load @w : tensor<8x8xf32>
    %1 = vx.cast %w : tensor<8x8xf32> -> tensor<8x8xbf16>
    %2 = vx.contract %0, %1 batch = [] x [] contracting = [1] x [0] sums = f32 : tensor<?x8xbf16, #vx.enc<[n, 8]>>, tensor<8x8xbf16>
    %b = vx.variable_load @b : tensor<16xf32>
    %3 = vx.cast %b : tensor<16xf32> -> tensor<16xbf16>
    return %2, %3 : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<16xbf16>
  }
  func.func @train_step(%p: tensor<112xf32> {vx.name = "p"}) -> (tensor<4x4xf32> {vx.name = "v"}, tensor<4x4xbf16> {vx.name = "low"}) {
    %v = vx.variable_load @v : tensor<4x4xf32>
    vx.variable_store %p, @parameters : tensor<112xf32>
    %low = vx.cast %v : tensor<4x4xf32> -> tensor<4x4xbf16>
    return %v, %low : tensor<4x4xf32>, tensor<4x4xbf16>
  }
}

// -----

// A parameter that is stored apart, and one that nothing stores, have none.
// CHECK-LABEL: module
// CHECK-NOT:     shadow
module {
  vx.variable @parameters role = parameter : tensor<64xf32>
  vx.variable @w role = parameter in @parameters at 0 : tensor<32xf32>
  vx.variable @fixed role = parameter : tensor<64xf32>
  func.func @step(%p: tensor<64xf32> {vx.name = "p"}, %q: tensor<32xf32> {vx.name = "q"}) -> (tensor<32xbf16> {vx.name = "low"}) {
    %w = vx.variable_load @w : tensor<32xf32>
    %low = vx.cast %w : tensor<32xf32> -> tensor<32xbf16>
    vx.variable_store %p, @parameters : tensor<64xf32>
    vx.variable_store %q, @w : tensor<32xf32>
    return %low : tensor<32xbf16>
  }
}
