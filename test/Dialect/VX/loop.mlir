// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol data_dependent "i"
vx.symbol data_dependent "k"
// A carried value may change its size: the region's argument binds `k` at each iteration.
// CHECK-LABEL: func.func @loop(
func.func @loop(%n: tensor<i64>, %go: tensor<i1>, %a: tensor<1xf32>) {
  // CHECK: vx.loop "i" trip_count(%{{.*}}) condition(%{{.*}}) inits(%{{.*}} : tensor<1xf32>) -> tensor<?xf32> {
  // CHECK: ^bb0(%{{.*}}: tensor<?xf32, #vx.enc<[k]>>):
  %0 = vx.loop "i" trip_count(%n) condition(%go) inits(%a : tensor<1xf32>) -> tensor<?xf32> {
  ^bb0(%x: tensor<?xf32, #vx.enc<[k]>>):
    %1 = vx.concat axis = 0 (%x, %x) : tensor<?xf32, #vx.enc<[k]>>, tensor<?xf32, #vx.enc<[k]>>
    vx.yield %go, %1 : tensor<i1>, tensor<?xf32, #vx.enc<[k * 2]>>
  }
  // Neither trip count nor condition: the loop ends by the condition that it yields.
  // CHECK: vx.loop "i" {
  vx.loop "i" {
    vx.yield %go : tensor<i1>
  }
  return
}

// -----

vx.symbol data_dependent "i"
func.func @c1_arguments(%go: tensor<i1>, %a: tensor<1xf32>) {
  // expected-error @+1 {{'vx.loop' op expects one region argument and one result for each of the 1 carried values, got 0 and 1}}
  %0 = vx.loop "i" inits(%a : tensor<1xf32>) -> tensor<1xf32> {
    vx.yield %go, %a : tensor<i1>, tensor<1xf32>
  }
  return
}

// -----

vx.symbol data_dependent "i"
func.func @c1_type(%go: tensor<i1>, %a: tensor<1xf32>) {
  // expected-error @+1 {{'vx.loop' op expects carried value 0 to keep its type: 'tensor<1xf32>', got 'tensor<1xi32>'}}
  %0 = vx.loop "i" inits(%a : tensor<1xf32>) -> tensor<1xi32> {
  ^bb0(%x: tensor<1xf32>):
    vx.yield %go, %a : tensor<i1>, tensor<1xf32>
  }
  return
}

// -----

vx.symbol data_dependent "i"
func.func @c2_condition(%a: tensor<1xf32>) {
  // expected-error @+1 {{'vx.loop' op expects the region to yield 'tensor<i1>' as value 0, got 'tensor<1xf32>'}}
  %0 = vx.loop "i" inits(%a : tensor<1xf32>) -> tensor<1xf32> {
  ^bb0(%x: tensor<1xf32>):
    vx.yield %x, %x : tensor<1xf32>, tensor<1xf32>
  }
  return
}

// -----

vx.symbol "i"
func.func @c3_iteration(%go: tensor<i1>) {
  // expected-error @+1 {{'vx.loop' op expects the symbol 'i' to be declared as data-dependent, got a symbol of an input's size}}
  vx.loop "i" {
    vx.yield %go : tensor<i1>
  }
  return
}

// -----

vx.symbol instance "i"
func.func @c3_instance(%go: tensor<i1>) {
  // expected-error @+1 {{'vx.loop' op expects the symbol 'i' to be declared as data-dependent, got a symbol of the instance}}
  vx.loop "i" {
    vx.yield %go : tensor<i1>
  }
  return
}

// -----

func.func @c3_undeclared(%go: tensor<i1>) {
  // expected-error @+1 {{'vx.loop' op expects the symbol 'i' to be declared as data-dependent, got no declaration}}
  vx.loop "i" {
    vx.yield %go : tensor<i1>
  }
  return
}

// -----

vx.symbol data_dependent "i"
vx.variable @v : tensor<4xf32>
vx.variable @u : tensor<4xf32>
// CHECK-LABEL: func.func @commits(
func.func @commits(%n: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>) {
  vx.variable_store %a, @u : tensor<4xf32>
  // CHECK: vx.loop commits "i" trip_count(%{{.*}}) {
  vx.loop commits "i" trip_count(%n) {
    vx.variable_store %a, @v : tensor<4xf32>
    vx.yield %go : tensor<i1>
  }
  return
}

// -----

vx.symbol data_dependent "i"
vx.symbol data_dependent "j"
func.func @c4_place(%go: tensor<i1>) {
  vx.loop "i" {
    // expected-error @+1 {{'vx.loop' op expects a loop that commits to stand in a function's own block, got one in 'vx.loop'}}
    vx.loop commits "j" {
      vx.yield %go : tensor<i1>
    }
    vx.yield %go : tensor<i1>
  }
  return
}

// -----

vx.symbol data_dependent "i"
vx.variable @pool : tensor<32xf32>
vx.variable @v in @pool at 64 : tensor<4xf32>
func.func @c4_stored_before(%go: tensor<i1>, %a: tensor<4xf32>, %p: tensor<32xf32>) {
  vx.variable_store %p, @pool : tensor<32xf32>
  // expected-error @+1 {{'vx.loop' op expects no store before it of what it commits, got one of 'pool' before 'v'}}
  vx.loop commits "i" {
    vx.variable_store %a, @v : tensor<4xf32>
    vx.yield %go : tensor<i1>
  }
  return
}
