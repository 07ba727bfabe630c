// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

vx.symbol data_dependent "k"
// CHECK-LABEL: func.func @sequences(
func.func @sequences(%a: tensor<2xf32>, %p: tensor<i64>) -> tensor<?xf32, #vx.enc<[k]>> {
  // CHECK: vx.sequence_construct %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<2xf32>) -> !vx.sequence<tensor<?xf32>>
  %0 = vx.sequence_construct %a, %a : (tensor<2xf32>, tensor<2xf32>) -> !vx.sequence<tensor<?xf32>>
  // CHECK: vx.sequence_insert %{{.*}}, %{{.*}} at %{{.*}} : <tensor<?xf32>>, tensor<2xf32> -> <tensor<?xf32>>
  %1 = vx.sequence_insert %0, %a at %p : !vx.sequence<tensor<?xf32>>, tensor<2xf32> -> !vx.sequence<tensor<?xf32>>
  // CHECK: vx.sequence_erase %{{.*}} : <tensor<?xf32>>
  %2 = vx.sequence_erase %1 : !vx.sequence<tensor<?xf32>>
  // CHECK: vx.sequence_length %{{.*}} : !vx.sequence<tensor<?xf32>>
  %3 = vx.sequence_length %2 : !vx.sequence<tensor<?xf32>>
  // CHECK: vx.sequence_at %{{.*}}, %{{.*}} : !vx.sequence<tensor<?xf32>> -> tensor<?xf32, #vx.enc<[k]>>
  %4 = vx.sequence_at %2, %p : !vx.sequence<tensor<?xf32>> -> tensor<?xf32, #vx.enc<[k]>>
  // CHECK: vx.sequence_construct{{ +}}: () -> !vx.sequence<tensor<*xi64>>
  %5 = vx.sequence_construct : () -> !vx.sequence<tensor<*xi64>>
  return %4 : tensor<?xf32, #vx.enc<[k]>>
}

// -----

// An optional is a sequence of one tensor at most, and a sequence takes tensors of other ranks where its result does.
// CHECK-LABEL: func.func @optionals(
func.func @optionals(%o: !vx.optional<tensor<3xf32>>, %s: !vx.sequence<tensor<2xf32>>, %p: tensor<i64>) -> !vx.sequence<tensor<*xf32>> {
  // CHECK: vx.sequence_length %{{.*}} : !vx.optional<tensor<3xf32>>
  %0 = vx.sequence_length %o : !vx.optional<tensor<3xf32>>
  // CHECK: vx.sequence_at %{{.*}}, %{{.*}} : !vx.optional<tensor<3xf32>> -> tensor<3xf32>
  %1 = vx.sequence_at %o, %p : !vx.optional<tensor<3xf32>> -> tensor<3xf32>
  // CHECK: vx.sequence_insert %{{.*}}, %{{.*}} : <tensor<2xf32>>, tensor<3xf32> -> <tensor<*xf32>>
  %2 = vx.sequence_insert %s, %1 : !vx.sequence<tensor<2xf32>>, tensor<3xf32> -> !vx.sequence<tensor<*xf32>>
  return %2 : !vx.sequence<tensor<*xf32>>
}

// -----

func.func @c1_at_optional(%o: !vx.optional<tensor<3xf32>>, %p: tensor<i64>) {
  // expected-error @+1 {{'vx.sequence_at' op expects tensors of the sequence's element type: 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = vx.sequence_at %o, %p : !vx.optional<tensor<3xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @c1_construct(%a: tensor<2xi32>) {
  // expected-error @+1 {{'vx.sequence_construct' op expects tensors of the sequence's element type: 'tensor<?xf32>', got 'tensor<2xi32>'}}
  %0 = vx.sequence_construct %a : (tensor<2xi32>) -> !vx.sequence<tensor<?xf32>>
  return
}

// -----

func.func @c1_insert(%s: !vx.sequence<tensor<?xf32>>, %a: tensor<2x2xf32>) {
  // expected-error @+1 {{'vx.sequence_insert' op expects tensors of the sequence's element type: 'tensor<?xf32>', got 'tensor<2x2xf32>'}}
  %0 = vx.sequence_insert %s, %a : !vx.sequence<tensor<?xf32>>, tensor<2x2xf32> -> !vx.sequence<tensor<?xf32>>
  return
}

// -----

func.func @c1_at(%s: !vx.sequence<tensor<3xf32>>, %p: tensor<i64>) {
  // expected-error @+1 {{'vx.sequence_at' op expects tensors of the sequence's element type: 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = vx.sequence_at %s, %p : !vx.sequence<tensor<3xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @c1_insert_result(%s: !vx.sequence<tensor<2xf32>>, %x: tensor<2xf32>) {
  // expected-error @+1 {{'vx.sequence_insert' op expects a result of the sequence's type: '!vx.sequence<tensor<2xf32>>', got '!vx.sequence<tensor<3xf32>>'}}
  %0 = vx.sequence_insert %s, %x : !vx.sequence<tensor<2xf32>>, tensor<2xf32> -> !vx.sequence<tensor<3xf32>>
  return
}
