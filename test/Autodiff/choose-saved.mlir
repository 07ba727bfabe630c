// RUN: vx-opt %s --split-input-file --vx-choose-saved | FileCheck %s

// exp's input is kept for a contraction of the reverse part, so its result is computed again where it is read: one op fewer in memory. The
// copy stands in front of its reader.
// CHECK-LABEL: func.func @input(
// CHECK:         %[[Z:.+]] = vx.contract
// CHECK:         %[[E:.+]] = vx.exp %[[Z]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[Y:.+]] = vx.mul %[[E]], %[[Z]]
// CHECK-NEXT:    %[[L:.+]] = vx.reduce sum %[[Y]]
// CHECK-NEXT:    vx.contract %[[Z]]
// CHECK-NEXT:    vx.variable_store
// CHECK-NEXT:    %[[COPY:.+]] = vx.exp %[[Z]] {vx.copy = 1 : i64}
// CHECK-NEXT:    vx.mul %{{.+}}, %[[COPY]]
module attributes {vx.training = #vx.training<backward = @input>} {
  vx.variable @w role = gradient : tensor<4x8xf32>
  vx.variable @v role = gradient : tensor<8x4xf32>
  func.func @input(%x: tensor<8x6xf32>, %m: tensor<6x4xf32>, %g: tensor<8x4xf32>, %h: tensor<8x8xf32>) -> tensor<f32> {
    %z = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32>
    %e = vx.exp %z : tensor<8x4xf32>
    %y = vx.mul %e, %z : tensor<8x4xf32>, tensor<8x4xf32>
    %l = vx.reduce sum %y axes = [0, 1] : tensor<8x4xf32>
    %dw = vx.contract %z, %h batch = [] x [] contracting = [0] x [0] : tensor<8x4xf32>, tensor<8x8xf32>
    vx.variable_store %dw, @w : tensor<4x8xf32>
    %d = vx.mul %g, %e : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %d, @v : tensor<8x4xf32>
    return %l : tensor<f32>
  }
}

// -----

// Where nothing else wants the input, exp's result is as good; and a contraction reads what is in memory, so what it reads is never
// computed again.
// CHECK-LABEL: func.func @result(
// CHECK-NOT:     vx.copy
module attributes {vx.training = #vx.training<backward = @result>} {
  vx.variable @w role = gradient : tensor<4x8xf32>
  vx.variable @v role = gradient : tensor<8x4xf32>
  func.func @result(%x: tensor<8x6xf32>, %m: tensor<6x4xf32>, %g: tensor<8x4xf32>, %h: tensor<8x8xf32>) -> tensor<f32> {
    %z = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32>
    %e = vx.exp %z : tensor<8x4xf32>
    %y = vx.neg %e : tensor<8x4xf32>
    %l = vx.reduce sum %y axes = [0, 1] : tensor<8x4xf32>
    %dw = vx.contract %y, %h batch = [] x [] contracting = [0] x [0] : tensor<8x4xf32>, tensor<8x8xf32>
    vx.variable_store %dw, @w : tensor<4x8xf32>
    %z2 = vx.contract %y, %m batch = [] x [] contracting = [1] x [1] : tensor<8x4xf32>, tensor<6x4xf32>
    %d = vx.mul %g, %e : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %d, @v : tensor<8x4xf32>
    return %l : tensor<f32>
  }
}

// -----

// The fewest bytes lie in the middle of a chain. What repeats one number is not copied where that is at hand, what repeats a copy is.
// CHECK-LABEL: func.func @middle(
// CHECK:         %[[N:.+]] = vx.cast %{{.+}} : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?x4xf16, #vx.enc<[n, 4]>>
// CHECK:         vx.reduce sum
// CHECK:         %[[W:.+]] = vx.cast %[[N]] {vx.copy = 1 : i64} : tensor<?x4xf16, #vx.enc<[n, 4]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
// CHECK-NEXT:    %[[T:.+]] = vx.mul %[[W]], %{{.+}} {vx.copy = 1 : i64}
// CHECK-NEXT:    vx.mul %{{.+}}, %[[T]] :
// CHECK-NEXT:    %[[R:.+]] = vx.mul %{{.+}}, %[[W]] :
module attributes {vx.training = #vx.training<backward = @middle>} {
  vx.symbol "n"
  vx.variable @v role = gradient : tensor<4xf32>
  vx.variable @u role = gradient : tensor<4xf32>
  func.func @middle(%x: tensor<?x6xf32, #vx.enc<[n, 6]>>, %m: tensor<6x4xf32>, %g: tensor<?x4xf32, #vx.enc<[n, 4]>>) -> tensor<f32> {
    %z = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<?x6xf32, #vx.enc<[n, 6]>>, tensor<6x4xf32>
    %n = vx.cast %z : tensor<?x4xf32, #vx.enc<[n, 4]>> -> tensor<?x4xf16, #vx.enc<[n, 4]>>
    %w = vx.cast %n : tensor<?x4xf16, #vx.enc<[n, 4]>> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
    %two = vx.constant dense<2.0> : tensor<f32>
    %twos = vx.broadcast %two, [] : tensor<f32> -> tensor<?x4xf32, #vx.enc<[n, 4]>>
    %t = vx.mul %w, %twos : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
    %l = vx.reduce sum %t axes = [0, 1] : tensor<?x4xf32, #vx.enc<[n, 4]>>
    %a = vx.mul %g, %t : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
    %b = vx.mul %a, %w : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<?x4xf32, #vx.enc<[n, 4]>>
    %c = vx.reduce sum %b axes = [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>
    vx.variable_store %c, @v : tensor<4xf32>
    return %l : tensor<f32>
  }
}

// -----

// The greater of two numbers is told by the result, which a contraction wants whole; a mask of
// what the lesser was is no such comparison.
// CHECK-LABEL: func.func @choice(
// CHECK:         %[[A:.+]] = vx.add
// CHECK:         %[[Z:.+]] = vx.broadcast
// CHECK:         %[[H:.+]] = vx.max %[[A]], %[[Z]]
// CHECK:         vx.compare gt %[[H]], %[[Z]]
// CHECK:         vx.compare lt %[[A]], %[[Z]]
module attributes {vx.training = #vx.training<backward = @choice>} {
  vx.variable @w role = gradient : tensor<4x4xf32>
  vx.variable @v role = gradient : tensor<4x4xf32>
  func.func @choice(%x: tensor<4x4xf32>, %m: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<f32> {
    %y = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
    %a = vx.add %y, %x : tensor<4x4xf32>, tensor<4x4xf32>
    %c = vx.constant dense<0.0> : tensor<f32>
    %zeros = vx.broadcast %c, [] : tensor<f32> -> tensor<4x4xf32>
    %h = vx.max %a, %zeros : tensor<4x4xf32>, tensor<4x4xf32>
    %l = vx.reduce sum %h axes = [0, 1] : tensor<4x4xf32>
    %dw = vx.contract %h, %g batch = [] x [] contracting = [0] x [0] : tensor<4x4xf32>, tensor<4x4xf32>
    vx.variable_store %dw, @w : tensor<4x4xf32>
    %chosen = vx.compare gt %a, %zeros : tensor<4x4xf32>, tensor<4x4xf32>
    %other = vx.compare lt %a, %zeros : tensor<4x4xf32>, tensor<4x4xf32>
    %both = vx.or %chosen, %other : tensor<4x4xi1>, tensor<4x4xi1>
    %d = vx.select %both, %g, %zeros : tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>
    vx.variable_store %d, @v : tensor<4x4xf32>
    return %l : tensor<f32>
  }
}

// -----

// A variable that has been stored since is not read again: the copy takes the value that was loaded. Which elements a dropout keeps is
// computed from the same key wherever that is read. Readers of two kernels have a copy each.
// CHECK-LABEL: func.func @state(
// CHECK:         %[[S:.+]] = vx.variable_load @s
// CHECK:         %[[Z:.+]] = vx.contract
// CHECK:         %[[BITS:.+]] = vx.random_bits %arg3
// CHECK:         %[[KEEP:.+]] = vx.compare ge %[[BITS]]
// CHECK:         vx.mul %[[Z]], %[[S]] {vx.copy = 1 : i64}
// CHECK:         vx.variable_store %{{.+}}, @s
// CHECK-NOT:     vx.variable_load
// CHECK-NOT:     vx.random_bits
// CHECK:         %[[Y:.+]] = vx.mul %[[Z]], %[[S]] {vx.copy = 2 : i64}
// CHECK-NEXT:    %[[D:.+]] = vx.select %[[KEEP]], %[[Y]], %{{.+}} {vx.copy = 2 : i64}
// CHECK-NEXT:    vx.mul %arg2, %[[D]]
module attributes {vx.training = #vx.training<backward = @state>} {
  vx.variable @s role = statistic : tensor<8x4xf32>
  vx.variable @w role = gradient : tensor<4x8xf32>
  vx.variable @v role = gradient : tensor<8x4xf32>
  func.func @state(%x: tensor<8x6xf32>, %m: tensor<6x4xf32>, %g: tensor<8x4xf32>, %key: tensor<i64>, %h: tensor<8x8xf32>) -> tensor<f32> {
    %s = vx.variable_load @s : tensor<8x4xf32>
    %z = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32>
    %y = vx.mul %z, %s : tensor<8x4xf32>, tensor<8x4xf32>
    %bits = vx.random_bits %key number = 0 : tensor<8x4xui32>
    %half = vx.constant dense<2147483648> : tensor<ui32>
    %halves = vx.broadcast %half, [] : tensor<ui32> -> tensor<8x4xui32>
    %keep = vx.compare ge %bits, %halves : tensor<8x4xui32>, tensor<8x4xui32>
    %zero = vx.constant dense<0.0> : tensor<f32>
    %zeros = vx.broadcast %zero, [] : tensor<f32> -> tensor<8x4xf32>
    %d = vx.select %keep, %y, %zeros : tensor<8x4xi1>, tensor<8x4xf32>, tensor<8x4xf32>
    %l = vx.reduce sum %d axes = [0, 1] : tensor<8x4xf32>
    %next = vx.add %s, %y : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %next, @s : tensor<8x4xf32>
    %dw = vx.contract %z, %h batch = [] x [] contracting = [0] x [0] : tensor<8x4xf32>, tensor<8x8xf32>
    vx.variable_store %dw, @w : tensor<4x8xf32>
    %e = vx.mul %g, %d : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %e, @v : tensor<8x4xf32>
    return %l : tensor<f32>
  }
}

// -----

// A chain of 8 ops is cheap.
// CHECK-LABEL: func.func @chain8(
// CHECK-COUNT-8: {vx.copy = 1 : i64}
// CHECK-NOT:     vx.copy
module attributes {vx.training = #vx.training<backward = @chain8>} {
  vx.variable @w role = gradient : tensor<4x8xf32>
  vx.variable @v role = gradient : tensor<8x4xf32>
  func.func @chain8(%x: tensor<8x6xf32>, %m: tensor<6x4xf32>, %g: tensor<8x4xf32>, %h: tensor<8x8xf32>) -> tensor<f32> {
    %0 = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32>
    %1 = vx.sin %0 : tensor<8x4xf32>
    %2 = vx.neg %1 : tensor<8x4xf32>
    %3 = vx.sin %2 : tensor<8x4xf32>
    %4 = vx.neg %3 : tensor<8x4xf32>
    %5 = vx.sin %4 : tensor<8x4xf32>
    %6 = vx.neg %5 : tensor<8x4xf32>
    %7 = vx.sin %6 : tensor<8x4xf32>
    %8 = vx.neg %7 : tensor<8x4xf32>
    %l = vx.reduce sum %8 axes = [0, 1] : tensor<8x4xf32>
    %dw = vx.contract %0, %h batch = [] x [] contracting = [0] x [0] : tensor<8x4xf32>, tensor<8x8xf32>
    vx.variable_store %dw, @w : tensor<4x8xf32>
    %d = vx.mul %g, %8 : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %d, @v : tensor<8x4xf32>
    return %l : tensor<f32>
  }
}

// -----

// One of 9 is not: its end is kept.
// CHECK-LABEL: func.func @chain9(
// CHECK-NOT:     vx.copy
module attributes {vx.training = #vx.training<backward = @chain9>} {
  vx.variable @w role = gradient : tensor<4x8xf32>
  vx.variable @v role = gradient : tensor<8x4xf32>
  func.func @chain9(%x: tensor<8x6xf32>, %m: tensor<6x4xf32>, %g: tensor<8x4xf32>, %h: tensor<8x8xf32>) -> tensor<f32> {
    %0 = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32>
    %1 = vx.sin %0 : tensor<8x4xf32>
    %2 = vx.neg %1 : tensor<8x4xf32>
    %3 = vx.sin %2 : tensor<8x4xf32>
    %4 = vx.neg %3 : tensor<8x4xf32>
    %5 = vx.sin %4 : tensor<8x4xf32>
    %6 = vx.neg %5 : tensor<8x4xf32>
    %7 = vx.sin %6 : tensor<8x4xf32>
    %8 = vx.neg %7 : tensor<8x4xf32>
    %9 = vx.sin %8 : tensor<8x4xf32>
    %l = vx.reduce sum %9 axes = [0, 1] : tensor<8x4xf32>
    %dw = vx.contract %0, %h batch = [] x [] contracting = [0] x [0] : tensor<8x4xf32>, tensor<8x8xf32>
    vx.variable_store %dw, @w : tensor<4x8xf32>
    %d = vx.mul %g, %9 : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %d, @v : tensor<8x4xf32>
    return %l : tensor<f32>
  }
}

// -----

// What is repeated to a larger shape is read from memory, so to compute it again would take a kernel.
// CHECK-LABEL: func.func @repeated(
// CHECK-NOT:     vx.copy
module attributes {vx.training = #vx.training<backward = @repeated>} {
  vx.variable @v role = gradient : tensor<8x4xf32>
  func.func @repeated(%x: tensor<8x4xf32>, %m: tensor<4xf16>, %g: tensor<8x4xf32>) -> tensor<f32> {
    %0 = vx.neg %m : tensor<4xf16>
    %1 = vx.cast %0 : tensor<4xf16> -> tensor<4xf32>
    %2 = vx.broadcast %1, [1] : tensor<4xf32> -> tensor<8x4xf32>
    %3 = vx.mul %x, %2 : tensor<8x4xf32>, tensor<8x4xf32>
    %l = vx.reduce sum %3 axes = [0, 1] : tensor<8x4xf32>
    %d = vx.mul %g, %2 : tensor<8x4xf32>, tensor<8x4xf32>
    vx.variable_store %d, @v : tensor<8x4xf32>
    return %l : tensor<f32>
  }
}
