// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @fusion(
func.func @fusion(%a: tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> {
  // CHECK: vx.fusion(%{{.*}}) : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> #vx.loops<tile = [64]> {
  // CHECK: ^bb0(%[[X:.+]]: tensor<?xf32, #vx.enc<[n]>>):
  // CHECK:   vx.exp %[[X]]
  %0 = vx.fusion (%a) : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[n]>> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<?xf32, #vx.enc<[n]>>):
    %1 = vx.exp %x : tensor<?xf32, #vx.enc<[n]>>
    vx.yield %1 : tensor<?xf32, #vx.enc<[n]>>
  }
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}

// -----

// CHECK-LABEL: func.func @anchor(
func.func @anchor(%a: tensor<2x3xf32>) -> tensor<2xf32> {
  // CHECK: vx.reduce sum %{{.*}} axes = [1] {vx.anchor} : tensor<2x3xf32>
  %0 = vx.fusion (%a) : (tensor<2x3xf32>) -> tensor<2xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<2x3xf32>):
    %1 = vx.exp %x : tensor<2x3xf32>
    %2 = vx.reduce sum %1 axes = [1] {vx.anchor} : tensor<2x3xf32>
    vx.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @c1_arguments(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects the region's arguments to have the types of the operands: ('tensor<2xf32>'), got ('tensor<3xf32>')}}
  %0 = vx.fusion (%a) : (tensor<2xf32>) -> tensor<3xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<3xf32>):
    vx.yield %x : tensor<3xf32>
  }
  return
}

// -----

func.func @c1_results(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects the region to yield 'tensor<3xf32>' as value 0, got 'tensor<2xf32>'}}
  %0 = vx.fusion (%a) : (tensor<2xf32>) -> tensor<3xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}

// -----

// An op with a role of its own, and nothing says that it is the anchor.
func.func @c2_none(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects one op marked 'vx.anchor', got none where 'vx.reduce' of}}
  %0 = vx.fusion (%a) : (tensor<2x3xf32>) -> tensor<2xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<2x3xf32>):
    %1 = vx.reduce sum %x axes = [1] : tensor<2x3xf32>
    vx.yield %1 : tensor<2xf32>
  }
  return
}

// -----

func.func @c2_two(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects one op marked 'vx.anchor', got 'vx.softmax' of x (Softmax) and 'vx.reduce' of y (ReduceSum)}}
  %0 = vx.fusion (%a) : (tensor<2x3xf32>) -> tensor<2xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<2x3xf32>):
    %1 = vx.softmax %x axis = 1 {vx.anchor} : tensor<2x3xf32> loc(fused<#vx.source<"x", "Softmax", "f">>[unknown])
    %2 = vx.reduce sum %1 axes = [1] {vx.anchor} : tensor<2x3xf32> loc(fused<#vx.source<"y", "ReduceSum", "f">>[unknown])
    vx.yield %2 : tensor<2xf32>
  }
  return
}

// -----

func.func @c2_pointwise(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects an op with the role of an anchor to be marked 'vx.anchor', got 'vx.exp' of}}
  %0 = vx.fusion (%a) : (tensor<2xf32>) -> tensor<2xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<2xf32>):
    %1 = vx.exp %x {vx.anchor} : tensor<2xf32>
    vx.yield %1 : tensor<2xf32>
  }
  return
}

// -----

func.func @anchor_outside(%a: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{'vx.reduce' op expects to stand in 'vx.fusion' or 'vx.kernel' with 'vx.anchor', got 'func.func'}}
  %0 = vx.reduce sum %a axes = [1] {vx.anchor} : tensor<2x3xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @anchor_value(%a: tensor<2x3xf32>) {
  %0 = vx.fusion (%a) : (tensor<2x3xf32>) -> tensor<2xf32> #vx.loops<tile = [64]> {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @+1 {{'vx.reduce' op expects a unit attribute 'vx.anchor', got true}}
    %1 = vx.reduce sum %x axes = [1] {vx.anchor = true} : tensor<2x3xf32>
    vx.yield %1 : tensor<2xf32>
  }
  return
}

// -----

func.func @c3_sizes(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' op expects a strategy with at most one tile size for each of 1 dimensions that are visited, got 2 in #vx.loops<tile = [1, 64]>}}
  %0 = vx.fusion (%a) : (tensor<2xf32>) -> tensor<2xf32> #vx.loops<tile = [1, 64]> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @strategy_kind(%a: tensor<2xf32>) {
  // expected-error @+1 {{invalid kind of attribute specified}}
  %0 = vx.fusion (%a) : (tensor<2xf32>) -> tensor<2xf32> #vx.dim<2> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}
