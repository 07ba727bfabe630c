// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: module
// CHECK: vx.variable @sum : tensor<3xf32>
vx.variable @sum : tensor<3xf32>
// CHECK: vx.variable @count : tensor<i64> = dense<7> : tensor<i64>
vx.variable @count : tensor<i64> = dense<7> : tensor<i64>
// CHECK: vx.variable @w role = parameter source = "encoder/w" : tensor<2xf32>
vx.variable @w role = parameter source = "encoder/w" : tensor<2xf32>
// CHECK: vx.variable @u role = parameter init = <uniform(-1.000000e-01, 1.000000e-01)> : tensor<2x3xf16>
vx.variable @u role = parameter init = <uniform(-0.1, 0.1)> : tensor<2x3xf16>
// CHECK: vx.variable @n source = "a" init = <normal(0.000000e+00, 2.000000e-02)> : tensor<bf16>
vx.variable @n source = "a" init = <normal(0.0, 0.02)> : tensor<bf16>
// CHECK: vx.variable @o init = <orthogonal(1.000000e+00)> : tensor<4x2x2xf64>
vx.variable @o init = <orthogonal(1.0)> : tensor<4x2x2xf64>
// CHECK: vx.symbol instance "pages" min = 1
vx.symbol instance "pages" min = 1
// CHECK: vx.variable @k role = cache : tensor<?x4xf32, #vx.enc<[pages, 4]>>
vx.variable @k role = cache : tensor<?x4xf32, #vx.enc<[pages, 4]>>
// CHECK-LABEL: func.func @use(
func.func @use(%a: tensor<3xf32>) {
  // CHECK: %[[OLD:.+]] = vx.variable_load @sum : tensor<3xf32>
  %0 = vx.variable_load @sum : tensor<3xf32>
  %1 = vx.add %0, %a : tensor<3xf32>, tensor<3xf32>
  // CHECK: vx.variable_store %{{.*}}, @sum : tensor<3xf32>
  vx.variable_store %1, @sum : tensor<3xf32>
  return
}

// -----

// expected-error @+1 {{'vx.variable' op expects each size to be a number or over symbols of the instance, got 'tensor<?xf32>'}}
vx.variable @c1_dynamic : tensor<?xf32>

// -----

vx.symbol "n"
// expected-error @+1 {{'vx.variable' op expects sizes over symbols of the instance, got 'n'}}
vx.variable @c1_call : tensor<?xf32, #vx.enc<[n]>>

// -----

// expected-error @+1 {{'vx.symbol' op expects symbol 'n' to be of the instance or data-dependent, got both}}
vx.symbol data_dependent instance "n"

// -----

// expected-error @+1 {{'vx.variable' op expects 'initial' of the variable's type: want 'tensor<3xf32>', got 'tensor<4xf32>'}}
vx.variable @c2_initial : tensor<3xf32> = dense<0.0> : tensor<4xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects 'initial' or 'init', got both}}
vx.variable @c3_both init = <uniform(0.0, 1.0)> : tensor<3xf32> = dense<0.0> : tensor<3xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects random values of f16, bf16, f32 or f64, got 'tensor<3xi32>'}}
vx.variable @c4_type init = <uniform(0.0, 1.0)> : tensor<3xi32>

// -----

vx.symbol instance "pages"
// expected-error @+1 {{'vx.variable' op expects random values of a static size, got 'tensor<?xf32, #vx.enc<[pages]>>'}}
vx.variable @c4_size init = <uniform(0.0, 1.0)> : tensor<?xf32, #vx.enc<[pages]>>

// -----

// expected-error @+1 {{'vx.variable' op expects rank 2 or more of orthogonal values, got 'tensor<3xf32>'}}
vx.variable @c4_rank init = <orthogonal(1.0)> : tensor<3xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects random values by finite numbers, got 0.000000e+00 : f64 and 0x7FF0000000000000 : f64}}
vx.variable @c4_infinite init = <normal(0.0, 0x7FF0000000000000)> : tensor<3xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects a first bound of at most the second, got 5.000000e-01 : f64 and -2.000000e+00 : f64}}
vx.variable @c4_bounds init = <uniform(0.5, -2.0)> : tensor<3xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects a deviation of at least 0, got -1.000000e+00 : f64}}
vx.variable @c4_deviation init = <normal(0.0, -1.0)> : tensor<3xf32>

// -----

// expected-error @+1 {{expects 'uniform', 'normal' or 'orthogonal', got 'cauchy'}}
vx.variable @kind init = <cauchy(0.0, 1.0)> : tensor<3xf32>

// -----

func.func @c1_load_of_none() {
  // expected-error @+1 {{'vx.variable_load' op expects a variable 'sum', there is none}}
  %0 = vx.variable_load @sum : tensor<3xf32>
  return
}

// -----

vx.variable @sum : tensor<3xf32>
func.func @c1_load_of_another_type() {
  // expected-error @+1 {{'vx.variable_load' op expects the type of variable 'sum': want 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = vx.variable_load @sum : tensor<4xf32>
  return
}

// -----

vx.variable @sum : tensor<3xf32>
func.func @c1_store_of_another_type(%a: tensor<3xi32>) {
  // expected-error @+1 {{'vx.variable_store' op expects the type of variable 'sum': want 'tensor<3xf32>', got 'tensor<3xi32>'}}
  vx.variable_store %a, @sum : tensor<3xi32>
  return
}
