// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: module
// CHECK: vx.variable @sum : tensor<3xf32>
vx.variable @sum : tensor<3xf32>
// CHECK: vx.variable @count : tensor<i64> = dense<7> : tensor<i64>
vx.variable @count : tensor<i64> = dense<7> : tensor<i64>
// CHECK: vx.variable @w role = parameter source = "encoder/w" : tensor<2xf32>
vx.variable @w role = parameter source = "encoder/w" : tensor<2xf32>
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
