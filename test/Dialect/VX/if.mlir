// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol data_dependent "k"
// The size of the result is that of the branch taken: the symbol `k` is bound to it.
// CHECK-LABEL: func.func @if(
func.func @if(%c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<?xf32, #vx.enc<[k]>> {
  // CHECK: vx.if %{{.*}} -> tensor<?xf32, #vx.enc<[k]>> {
  // CHECK:   vx.yield %{{.*}} : tensor<2xf32>
  // CHECK: } else {
  // CHECK:   vx.yield %{{.*}} : tensor<3xf32>
  %0 = vx.if %c -> tensor<?xf32, #vx.enc<[k]>> {
    vx.yield %a : tensor<2xf32>
  } else {
    vx.yield %b : tensor<3xf32>
  }
  return %0 : tensor<?xf32, #vx.enc<[k]>>
}

// -----

func.func @c1_count(%c: tensor<i1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.if' op expects the second region to yield 1 values, got 0}}
  %0 = vx.if %c -> tensor<2xf32> {
    vx.yield %a : tensor<2xf32>
  } else {
    vx.yield
  }
  return
}

// -----

func.func @c1_type(%c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'vx.if' op expects the first region to yield 'tensor<3xf32>' as value 0, got 'tensor<2xf32>'}}
  %0 = vx.if %c -> tensor<3xf32> {
    vx.yield %a : tensor<2xf32>
  } else {
    vx.yield %b : tensor<3xf32>
  }
  return
}

// -----

func.func @c1_no_terminator(%c: tensor<i1>) {
  // expected-error @+1 {{'vx.if' op expects a non-empty block}}
  "vx.if"(%c) ({
  ^bb0:
  }, {
    vx.yield
  }) : (tensor<i1>) -> ()
  return
}

// -----

func.func @c1_end(%c: tensor<i1>) {
  // expected-error @+1 {{'vx.if' op expects the first region to end with 'vx.yield', got 'func.return'}}
  "vx.if"(%c) ({
    func.return
  }, {
    vx.yield
  }) : (tensor<i1>) -> ()
  return
}
