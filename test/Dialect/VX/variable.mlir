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
// CHECK: vx.variable @parameters role = parameter : tensor<48xf32>
vx.variable @parameters role = parameter : tensor<48xf32>
// CHECK: vx.variable @fc1_weight role = parameter source = "fc1/w" in @parameters at 64 : tensor<8x3xf32> = dense<1.000000e+00> : tensor<8x3xf32>
vx.variable @fc1_weight role = parameter source = "fc1/w" in @parameters at 64 : tensor<8x3xf32> = dense<1.0> : tensor<8x3xf32>
// CHECK: vx.variable @fc1_bias role = statistic in @parameters at 0 : tensor<16xf32>
vx.variable @fc1_bias role = statistic in @parameters at 0 : tensor<16xf32>
// CHECK: vx.variable @nothing role = parameter in @parameters at 192 : tensor<0xf32>
vx.variable @nothing role = parameter in @parameters at 192 : tensor<0xf32>
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

// expected-error @+1 {{'vx.variable' op expects 'initial' of the variable's type: 'tensor<3xf32>', got 'tensor<4xf32>'}}
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
vx.variable @c6_bounds init = <uniform(0.5, -2.0)> : tensor<3xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects a deviation of at least 0, got -1.000000e+00 : f64}}
vx.variable @c4_deviation init = <normal(0.0, -1.0)> : tensor<3xf32>

// -----

// expected-error @+1 {{expects 'uniform', 'normal' or 'orthogonal', got 'cauchy'}}
vx.variable @kind init = <cauchy(0.0, 1.0)> : tensor<3xf32>

// -----

func.func @c1_load_of_none() {
  // expected-error @+1 {{'vx.variable_load' op expects a variable 'sum', got none}}
  %0 = vx.variable_load @sum : tensor<3xf32>
  return
}

// -----

vx.variable @sum : tensor<3xf32>
func.func @c1_load_of_another_type() {
  // expected-error @+1 {{'vx.variable_load' op expects the type of variable 'sum': 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = vx.variable_load @sum : tensor<4xf32>
  return
}

// -----

vx.variable @sum : tensor<3xf32>
func.func @c1_store_of_another_type(%a: tensor<3xi32>) {
  // expected-error @+1 {{'vx.variable_store' op expects the type of variable 'sum': 'tensor<3xf32>', got 'tensor<3xi32>'}}
  vx.variable_store %a, @sum : tensor<3xi32>
  return
}

// -----

// expected-error @+1 {{'vx.variable' op expects a variable 'pool' to lie in, got none}}
vx.variable @c5_none in @pool at 0 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32>
vx.variable @part in @pool at 0 : tensor<16xf32>
// expected-error @+1 {{'vx.variable' op expects a pool that lies in no other, got 'part', which lies in 'pool'}}
vx.variable @c5_chain in @part at 0 : tensor<3xf32>

// -----

vx.variable @pool : tensor<6x8xf32>
// expected-error @+1 {{'vx.variable' op expects a pool of one dimension and of 'f32', got 'pool' of type 'tensor<6x8xf32>'}}
vx.variable @c5_rank in @pool at 0 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects a pool of one dimension and of 'i32', got 'pool' of type 'tensor<48xf32>'}}
vx.variable @c5_element_type in @pool at 0 : tensor<3xi32>

// -----

vx.symbol instance "pages"
vx.variable @pool role = cache : tensor<?xf32, #vx.enc<[pages * 32]>>
// expected-error @+1 {{'vx.variable' op expects sizes that are numbers in a pool and of it, got 'tensor<3xf32>' in 'tensor<?xf32, #vx.enc<[pages * 32]>>'}}
vx.variable @c5_instance role = cache in @pool at 0 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects an offset that is a multiple of 64, got 48}}
vx.variable @c6_alignment in @pool at 48 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects an offset that is a multiple of 64, got -64}}
vx.variable @c6_negative in @pool at -64 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects to lie in the 192 bytes of 'pool', got 68 bytes at 128}}
vx.variable @c6_bounds in @pool at 128 : tensor<17xf32>

// -----

vx.variable @pool role = optimizer : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects instances to share a variable as its pool, got role parameter in 'pool' of role optimizer}}
vx.variable @c7_role role = parameter in @pool at 0 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32> = dense<1.0> : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects one initial value for its bytes, got another one by 'pool'}}
vx.variable @c8_pool in @pool at 0 : tensor<3xf32> = dense<2.0> : tensor<3xf32>

// -----

vx.variable @pool init = <uniform(0.0, 1.0)> : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects one initial value for its bytes, got another one by 'pool'}}
vx.variable @c8_random init = <uniform(0.0, 1.0)> in @pool at 0 : tensor<3xf32>

// -----

vx.variable @pool : tensor<48xf32>
// expected-error @+1 {{'vx.variable' op expects one initial value for its bytes, got another one by 'b'}}
vx.variable @a in @pool at 0 : tensor<20xf32> = dense<2.0> : tensor<20xf32>
vx.variable @b in @pool at 64 : tensor<3xf32> = dense<2.0> : tensor<3xf32>

// -----

// expected-error @+1 {{'vx.variable' op expects a pool and an offset, or neither, got an offset without a pool}}
"vx.variable"() <{sym_name = "offset_alone", type = tensor<3xf32>, offset = 0 : i64}> : () -> ()
