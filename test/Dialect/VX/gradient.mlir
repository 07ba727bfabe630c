// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @gradient(
func.func @gradient(%x: tensor<3xf32>, %w: tensor<2x3xf32>, %y: tensor<2xf32>, %s: tensor<2xf32>) -> (tensor<3xf32>, tensor<2x3xf32>, tensor<3xf32>) {
  // CHECK: %{{.*}}:2 = vx.gradient %{{.*}} wrt(%{{.*}}, %{{.*}} : tensor<3xf32>, tensor<2x3xf32>) : tensor<2xf32>
  %dx, %dw = vx.gradient %y wrt(%x, %w : tensor<3xf32>, tensor<2x3xf32>) : tensor<2xf32>
  // CHECK: vx.gradient %{{.*}} wrt(%{{.*}} : tensor<3xf32>) seed(%{{.*}} : tensor<2xf32>) zero_unreached : tensor<2xf32>
  %dz = vx.gradient %y wrt(%x : tensor<3xf32>) seed(%s : tensor<2xf32>) zero_unreached : tensor<2xf32>
  return %dx, %dw, %dz : tensor<3xf32>, tensor<2x3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @marks(
func.func @marks(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: vx.watch %{{.*}} : tensor<3xf32>
  %0 = vx.watch %x : tensor<3xf32>
  // CHECK: vx.stop_gradient %{{.*}} : tensor<3xf32>
  %1 = vx.stop_gradient %x : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @custom(
func.func @custom(%x: tensor<4xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  // CHECK: vx.custom_gradient(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32> {
  // CHECK: } pullback {
  // CHECK: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xi64>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
  %r = vx.custom_gradient (%x, %n) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %k: tensor<4xi64>):
    %0 = vx.round %a : tensor<4xf32>
    vx.yield %0 : tensor<4xf32>
  } pullback {
  ^bb0(%a: tensor<4xf32>, %k: tensor<4xi64>, %b: tensor<4xf32>, %g: tensor<4xf32>):
    vx.yield %g : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @c2_seed(%x: tensor<3xf32>, %y: tensor<2xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'vx.gradient' op expects 'seed' of the type of 'value': 'tensor<2xf32>', got 'tensor<4xf32>'}}
  %0 = vx.gradient %y wrt(%x : tensor<3xf32>) seed(%s : tensor<4xf32>) : tensor<2xf32>
  return
}

// -----

func.func @c3_none(%y: tensor<2xf32>) {
  // expected-error @+1 {{'vx.gradient' op expects at least 1 value in 'wrt', got 0}}
  "vx.gradient"(%y) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @c1_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'vx.custom_gradient' op expects 1 values of 'forward', got 0}}
  %r = vx.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    vx.yield
  } pullback {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %g: tensor<4xf32>):
    vx.yield %g : tensor<4xf32>
  }
  return
}

// -----

func.func @c1_end(%x: tensor<4xf32>) {
  // expected-error @+1 {{'vx.custom_gradient' op expects 'forward' to end with 'vx.yield', got 'func.return'}}
  %r = "vx.custom_gradient"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    func.return
  }, {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %g: tensor<4xf32>):
    vx.yield %g : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @c2_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{'vx.custom_gradient' op expects 3 arguments of 'pullback', got 2}}
  %r = vx.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    vx.yield %a : tensor<4xf32>
  } pullback {
  ^bb0(%a: tensor<4xf32>, %g: tensor<4xf32>):
    vx.yield %g : tensor<4xf32>
  }
  return
}

// -----

func.func @c2_values(%x: tensor<4xf32>) {
  // expected-error @+1 {{'vx.custom_gradient' op expects 'tensor<4xf32>' as number 0 of the values of 'pullback', got 'tensor<f32>'}}
  %r = vx.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    vx.yield %a : tensor<4xf32>
  } pullback {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %g: tensor<4xf32>):
    %0 = vx.constant dense<0.0> : tensor<f32>
    vx.yield %0 : tensor<f32>
  }
  return
}
