// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @gather(
func.func @gather(%a: tensor<4x?x5xf32, #vx.enc<[4, n, 5]>>, %i: tensor<2x?xi64, #vx.enc<[2, k]>>) -> tensor<4x2x?x5xf32, #vx.enc<[4, 2, k, 5]>> {
  // CHECK: vx.gather %{{.*}}, %{{.*}} axis = 1 : tensor<4x?x5xf32, #vx.enc<[4, n, 5]>>, tensor<2x?xi64, #vx.enc<[2, k]>>
  %0 = vx.gather %a, %i axis = 1 : tensor<4x?x5xf32, #vx.enc<[4, n, 5]>>, tensor<2x?xi64, #vx.enc<[2, k]>>
  return %0 : tensor<4x2x?x5xf32, #vx.enc<[4, 2, k, 5]>>
}

// -----

// CHECK-LABEL: func.func @tuples(
func.func @tuples(%a: tensor<4x?x5x6xf32, #vx.enc<[4, n, 5, 6]>>, %i: tensor<?x2xi64, #vx.enc<[k, 2]>>) -> tensor<4x?x6xf32, #vx.enc<[4, k, 6]>> {
  // CHECK: vx.gather %{{.*}}, %{{.*}} axis = 1 members = 2 : tensor<4x?x5x6xf32, #vx.enc<[4, n, 5, 6]>>, tensor<?x2xi64, #vx.enc<[k, 2]>>
  %0 = vx.gather %a, %i axis = 1 members = 2 : tensor<4x?x5x6xf32, #vx.enc<[4, n, 5, 6]>>, tensor<?x2xi64, #vx.enc<[k, 2]>>
  return %0 : tensor<4x?x6xf32, #vx.enc<[4, k, 6]>>
}

// -----

// CHECK-LABEL: func.func @in_range(
func.func @in_range(%a: tensor<4x5xf32>, %i: tensor<7xi64>, %t: tensor<3x2xi64>) -> (tensor<7x5xf32>, tensor<3xf32>) {
  // CHECK: vx.gather %{{.*}}, %{{.*}} axis = 0 in_range : tensor<4x5xf32>, tensor<7xi64>
  %0 = vx.gather %a, %i axis = 0 in_range : tensor<4x5xf32>, tensor<7xi64>
  // CHECK: vx.gather %{{.*}}, %{{.*}} axis = 0 members = 2 in_range : tensor<4x5xf32>, tensor<3x2xi64>
  %1 = vx.gather %a, %t axis = 0 members = 2 in_range : tensor<4x5xf32>, tensor<3x2xi64>
  return %0, %1 : tensor<7x5xf32>, tensor<3xf32>
}

// -----

func.func @c2_members(%a: tensor<4x5xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+1 {{'vx.gather' op expects 'members' to count dimensions of 'input': 1 to 1, got 2}}
  %0 = vx.gather %a, %i axis = 1 members = 2 : tensor<4x5xf32>, tensor<3x2xi64>
  return
}

// -----

func.func @c2_tuples(%a: tensor<4x5xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{'vx.gather' op expects tuples of 2 indices, got 'tensor<3xi64>'}}
  %0 = vx.gather %a, %i axis = 0 members = 2 : tensor<4x5xf32>, tensor<3xi64>
  return
}

// -----

func.func @c1_axis(%a: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{'vx.gather' op expects 'axis' to be a dimension of 'input': 0 to 0, got 1}}
  %0 = vx.gather %a, %i axis = 1 : tensor<4xf32>, tensor<2xi64>
  return
}

// -----

func.func @floats_are_no_indices(%a: tensor<4xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{'vx.gather' op operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<2xf32>'}}
  %0 = vx.gather %a, %i axis = 0 : tensor<4xf32>, tensor<2xf32>
  return
}
