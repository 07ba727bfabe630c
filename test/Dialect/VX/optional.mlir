// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @optionals(
func.func @optionals(%s: !vx.sequence<tensor<2xf32>>, %x: tensor<2xf32>) -> !vx.sequence<tensor<?xf32>> {
  // CHECK: vx.optional -> <!vx.sequence<tensor<?xf32>>>
  %0 = vx.optional -> !vx.optional<!vx.sequence<tensor<?xf32>>>
  // CHECK: %[[S:.+]] = vx.optional %{{.*}} : !vx.sequence<tensor<2xf32>> -> <!vx.sequence<tensor<?xf32>>>
  %1 = vx.optional %s : !vx.sequence<tensor<2xf32>> -> !vx.optional<!vx.sequence<tensor<?xf32>>>
  // CHECK: vx.optional %{{.*}} : tensor<2xf32> -> <tensor<*xf32>>
  %2 = vx.optional %x : tensor<2xf32> -> !vx.optional<tensor<*xf32>>
  // CHECK: vx.sequence_length %[[S]] : !vx.optional<!vx.sequence<tensor<?xf32>>>
  %3 = vx.sequence_length %1 : !vx.optional<!vx.sequence<tensor<?xf32>>>
  // CHECK: vx.optional_value %[[S]] : <!vx.sequence<tensor<?xf32>>> -> <tensor<?xf32>>
  %4 = vx.optional_value %1 : !vx.optional<!vx.sequence<tensor<?xf32>>> -> !vx.sequence<tensor<?xf32>>
  return %4 : !vx.sequence<tensor<?xf32>>
}

// -----

func.func @c1_optional(%x: tensor<2xi32>) {
  // expected-error @+1 {{'vx.optional' op expects a value of the type that the optional holds: 'tensor<?xf32>', got 'tensor<2xi32>'}}
  %0 = vx.optional %x : tensor<2xi32> -> !vx.optional<tensor<?xf32>>
  return
}

// -----

func.func @c1_optional_sequence(%x: tensor<2xf32>) {
  // expected-error @+1 {{'vx.optional' op expects a value of the type that the optional holds: '!vx.sequence<tensor<2xf32>>', got 'tensor<2xf32>'}}
  %0 = vx.optional %x : tensor<2xf32> -> !vx.optional<!vx.sequence<tensor<2xf32>>>
  return
}

// -----

func.func @c1_optional_value(%o: !vx.optional<tensor<2xf32>>) {
  // expected-error @+1 {{'vx.optional_value' op expects a result of the type that the optional holds: 'tensor<2xf32>', got '!vx.sequence<tensor<2xf32>>'}}
  %0 = vx.optional_value %o : !vx.optional<tensor<2xf32>> -> !vx.sequence<tensor<2xf32>>
  return
}
