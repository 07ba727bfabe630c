// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @fusion(
func.func @fusion(%a: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  // CHECK: vx.fusion(%{{.*}}) <"loops", workgroup = [64], vector = [8], reduction = [], threads = 1> : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  // CHECK: ^bb0(%[[X:.+]]: tensor<?xf32, #vx.enc<[n]>>):
  // CHECK:   vx.exp %[[X]]
  %0 = vx.fusion (%a) <"loops", workgroup = [64], vector = [8], reduction = [], threads = 1> : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  ^bb0(%x: tensor<?xf32, #vx.enc<[n]>>):
    %1 = vx.exp %x : tensor<?xf32, #vx.enc<[n]>>
    vx.yield %1 : tensor<?xf32, #vx.enc<[n]>>
  }
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}

// -----

func.func @c1_arguments(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects the region's arguments to have the types of the operands}}
  %0 = vx.fusion (%a) <"loops", workgroup = [64], vector = [], reduction = [], threads = 1> : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%x: tensor<3xf32>):
    vx.yield %x : tensor<3xf32>
  }
  return
}

// -----

func.func @c1_results(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects the region to yield 'tensor<3xf32>' as value 0, got 'tensor<2xf32>'}}
  %0 = vx.fusion (%a) <"loops", workgroup = [64], vector = [], reduction = [], threads = 1> : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @strategy_tile(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects tile sizes of at least 0 in 'vector' of its strategy, got -8}}
  %0 = vx.fusion (%a) <"loops", workgroup = [64], vector = [-8], reduction = [], threads = 1> : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @strategy_threads(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects at least 1 thread in its strategy, got 0}}
  %0 = vx.fusion (%a) <"loops", workgroup = [64], vector = [], reduction = [], threads = 0> : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}
