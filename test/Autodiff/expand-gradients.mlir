// RUN: vx-opt %s --split-input-file --vx-expand-gradients --canonicalize --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @sine(
// CHECK-SAME:  %[[X:.+]]: tensor<3xf32>, %[[G:.+]]: tensor<3xf32>
// CHECK-NEXT:    %[[C:.+]] = vx.cos %[[X]]
// CHECK-NEXT:    %[[D:.+]] = vx.mul %[[G]], %[[C]]
// CHECK-NEXT:    return %[[D]]
func.func @sine(%x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %y = vx.sin %x : tensor<3xf32>
  %dx = vx.gradient %y wrt(%x : tensor<3xf32>) seed(%g : tensor<3xf32>) : tensor<3xf32>
  return %dx : tensor<3xf32>
}

// The gradient of a gradient.
// CHECK-LABEL: func.func @twice(
// CHECK:         vx.sin
// CHECK:         vx.neg
// CHECK-NOT:     vx.gradient
func.func @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = vx.sin %x : tensor<3xf32>
  %dx = vx.gradient %y wrt(%x : tensor<3xf32>) : tensor<3xf32>
  %ddx = vx.gradient %dx wrt(%x : tensor<3xf32>) : tensor<3xf32>
  return %ddx : tensor<3xf32>
}

// No transpose where an order of the operands needs none: x [b, k] times w [n, k].
// CHECK-LABEL: func.func @linear(
// CHECK-SAME:  %[[X:.+]]: tensor<8x4xf32>, %[[W:.+]]: tensor<5x4xf32>, %[[G:.+]]: tensor<8x5xf32>
// CHECK-DAG:     vx.contract %[[G]], %[[W]] batch = [] x [] contracting = [1] x [0]
// CHECK-DAG:     vx.contract %[[G]], %[[X]] batch = [] x [] contracting = [0] x [0]
// CHECK-NOT:     vx.transpose
// CHECK:         return
func.func @linear(%x: tensor<8x4xf32>, %w: tensor<5x4xf32>, %g: tensor<8x5xf32>) -> (tensor<8x4xf32>, tensor<5x4xf32>) {
  %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [1] : tensor<8x4xf32>, tensor<5x4xf32>
  %dx, %dw = vx.gradient %y wrt(%x, %w : tensor<8x4xf32>, tensor<5x4xf32>) seed(%g : tensor<8x5xf32>) : tensor<8x5xf32>
  return %dx, %dw : tensor<8x4xf32>, tensor<5x4xf32>
}

// A watched value is another one than what it is made of, and a stopped one a constant: of w * x with w = stop(x) the gradient is x.
// CHECK-LABEL: func.func @marks(
// CHECK-SAME:  %[[X:.+]]: tensor<3xf32>, %[[G:.+]]: tensor<3xf32>
// CHECK-NEXT:    %[[D:.+]] = vx.mul %[[G]], %[[X]]
// CHECK-NEXT:    return %[[D]]
func.func @marks(%x: tensor<3xf32>, %g: tensor<3xf32>) -> tensor<3xf32> {
  %w = vx.watch %x : tensor<3xf32>
  %s = vx.stop_gradient %w : tensor<3xf32>
  %y = vx.mul %s, %w : tensor<3xf32>, tensor<3xf32>
  %dw = vx.gradient %y wrt(%w : tensor<3xf32>) seed(%g : tensor<3xf32>) : tensor<3xf32>
  return %dw : tensor<3xf32>
}

// CHECK-LABEL: func.func @custom(
// CHECK-SAME:  %[[X:.+]]: tensor<4xf32>, %[[G:.+]]: tensor<4xf32>
// CHECK:         %[[R:.+]] = vx.round %[[X]]
// CHECK:         return %[[R]], %[[G]]
func.func @custom(%x: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = vx.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = vx.round %a : tensor<4xf32>
    vx.yield %0 : tensor<4xf32>
  } pullback {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    vx.yield %c : tensor<4xf32>
  }
  %dx = vx.gradient %r wrt(%x : tensor<4xf32>) seed(%g : tensor<4xf32>) : tensor<4xf32>
  return %r, %dx : tensor<4xf32>, tensor<4xf32>
}

// A value that does not matter: zeros, where that is asked for.
// CHECK-LABEL: func.func @unreached_zero(
// CHECK:         vx.constant dense<0.0
// CHECK-NOT:     vx.gradient
func.func @unreached_zero(%x: tensor<3xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {
  %y = vx.sin %x : tensor<3xf32>
  %dz = vx.gradient %y wrt(%z : tensor<2xf32>) zero_unreached : tensor<3xf32>
  return %dz : tensor<2xf32>
}

// -----

// What a size that only the call tells was repeated by is summed.
// CHECK-LABEL: func.func @repeated(
// CHECK:         vx.reshape %{{.*}} -> tensor<?x?xf32, #vx.enc<[m, floordiv(broadcast(m, n), max(1, m))]>>
// CHECK:         vx.reduce sum %{{.*}} axes = [1]
vx.symbol "n"
vx.symbol "m"
func.func @repeated(%x: tensor<?xf32, #vx.enc<[m]>>, %o: tensor<?xf32, #vx.enc<[n]>>,
                    %g: tensor<?xf32, #vx.enc<[broadcast(n, m)]>>) -> tensor<?xf32, #vx.enc<[m]>> {
  %y = vx.broadcast %x, [0] : tensor<?xf32, #vx.enc<[m]>> -> tensor<?xf32, #vx.enc<[broadcast(n, m)]>>
  %dx = vx.gradient %y wrt(%x : tensor<?xf32, #vx.enc<[m]>>) seed(%g : tensor<?xf32, #vx.enc<[broadcast(n, m)]>>)
      : tensor<?xf32, #vx.enc<[broadcast(n, m)]>>
  return %dx : tensor<?xf32, #vx.enc<[m]>>
}

// -----

func.func @unreached(%x: tensor<3xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {
  %y = vx.sin %x : tensor<3xf32>
  // expected-note @+1 {{the gradient with respect to input 1 is 0: nothing that it is taken of depends on it, or its derivative is 0 everywhere}}
  %dz = vx.gradient %y wrt(%z : tensor<2xf32>) : tensor<3xf32>
  return %dz : tensor<2xf32>
}

// -----

func.func @through_integers(%x: tensor<3xf32>) -> tensor<3xf32> {
  %n = vx.cast %x : tensor<3xf32> -> tensor<3xi64>
  %y = vx.cast %n : tensor<3xi64> -> tensor<3xf32>
  // expected-note @+1 {{the gradient with respect to input 0 is 0: nothing that it is taken of depends on it, or its derivative is 0 everywhere}}
  %dx = vx.gradient %y wrt(%x : tensor<3xf32>) : tensor<3xf32>
  return %dx : tensor<3xf32>
}

// -----

// All ops without a gradient are told at once.
vx.variable @v : tensor<3xf32>
func.func @reads_what_is_stored(%x: tensor<3xf32>, %c: tensor<i1>) -> tensor<3xf32> {
  // expected-error @+1 {{'vx.if' op has no gradient here: it reads variable 'v', which is stored before the gradient is taken}}
  %a = vx.if %c -> tensor<3xf32> {
    %v = vx.variable_load @v : tensor<3xf32>
    %0 = vx.mul %x, %v : tensor<3xf32>, tensor<3xf32>
    vx.yield %0 : tensor<3xf32>
  } else {
    vx.yield %x : tensor<3xf32>
  }
  // expected-error @+1 {{'vx.if' op has no gradient here: it reads variable 'v', which is stored before the gradient is taken}}
  %b = vx.if %c -> tensor<3xf32> {
    %v = vx.variable_load @v : tensor<3xf32>
    %0 = vx.mul %a, %v : tensor<3xf32>, tensor<3xf32>
    vx.yield %0 : tensor<3xf32>
  } else {
    vx.yield %x : tensor<3xf32>
  }
  vx.variable_store %b, @v : tensor<3xf32>
  %dx = vx.gradient %b wrt(%x : tensor<3xf32>) : tensor<3xf32>
  return %dx : tensor<3xf32>
}

// -----

vx.symbol data_dependent "i"
func.func @reads_a_carried_sequence(%x: tensor<3xf32>, %n: tensor<i64>) -> tensor<3xf32> {
  %s = vx.sequence_construct %x : (tensor<3xf32>) -> !vx.sequence<tensor<3xf32>>
  // expected-error @+1 {{'vx.loop' op has no gradient here: it reads a sequence that it carries}}
  %l = vx.loop "i" trip_count(%n) inits(%s : !vx.sequence<tensor<3xf32>>) -> !vx.sequence<tensor<3xf32>> {
  ^bb0(%q: !vx.sequence<tensor<3xf32>>):
    %zero = vx.constant dense<0> : tensor<i64>
    %0 = vx.sequence_at %q, %zero : !vx.sequence<tensor<3xf32>> -> tensor<3xf32>
    %1 = vx.mul %0, %0 : tensor<3xf32>, tensor<3xf32>
    %2 = vx.sequence_insert %q, %1 : !vx.sequence<tensor<3xf32>>, tensor<3xf32> -> !vx.sequence<tensor<3xf32>>
    %true = vx.constant dense<true> : tensor<i1>
    vx.yield %true, %2 : tensor<i1>, !vx.sequence<tensor<3xf32>>
  }
  %zero = vx.constant dense<0> : tensor<i64>
  %y = vx.sequence_at %l, %zero : !vx.sequence<tensor<3xf32>> -> tensor<3xf32>
  %dx = vx.gradient %y wrt(%x : tensor<3xf32>) : tensor<3xf32>
  return %dx : tensor<3xf32>
}

// -----

// What is not reached is told beside what has no gradient.
vx.variable @v : tensor<3xf32>
func.func @reads_what_is_stored_and_not_the_other(%x: tensor<3xf32>, %z: tensor<3xf32>, %c: tensor<i1>) -> tensor<3xf32> {
  // expected-error @+1 {{'vx.if' op has no gradient here: it reads variable 'v', which is stored before the gradient is taken}}
  %a = vx.if %c -> tensor<3xf32> {
    %v = vx.variable_load @v : tensor<3xf32>
    %0 = vx.mul %x, %v : tensor<3xf32>, tensor<3xf32>
    vx.yield %0 : tensor<3xf32>
  } else {
    vx.yield %x : tensor<3xf32>
  }
  vx.variable_store %a, @v : tensor<3xf32>
  %dx, %dz = vx.gradient %a wrt(%x, %z : tensor<3xf32>, tensor<3xf32>) : tensor<3xf32>
  return %dz : tensor<3xf32>
}

// -----

// The other way from the input to the value is not taken for all of it.
func.func @through_an_optional(%x: tensor<3xf32>) -> tensor<3xf32> {
  %s = vx.sequence_construct %x : (tensor<3xf32>) -> !vx.sequence<tensor<3xf32>>
  // expected-error @+1 {{'vx.optional' op has no gradient here: none passes through an optional}}
  %o = vx.optional %s : !vx.sequence<tensor<3xf32>> -> !vx.optional<!vx.sequence<tensor<3xf32>>>
  %v = vx.optional_value %o : !vx.optional<!vx.sequence<tensor<3xf32>>> -> !vx.sequence<tensor<3xf32>>
  %zero = vx.constant dense<0> : tensor<i64>
  %0 = vx.sequence_at %v, %zero : !vx.sequence<tensor<3xf32>> -> tensor<3xf32>
  %y = vx.add %0, %x : tensor<3xf32>, tensor<3xf32>
  %dx = vx.gradient %y wrt(%x : tensor<3xf32>) : tensor<3xf32>
  return %dx : tensor<3xf32>
}
