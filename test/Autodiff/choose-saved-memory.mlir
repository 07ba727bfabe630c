// RUN: vx-opt %s --vx-choose-saved | FileCheck %s --check-prefix=KEPT
// RUN: vx-opt %s --vx-choose-saved='memory=600 sizes=n=8' | FileCheck %s --check-prefix=KEPT
// RUN: vx-opt %s --vx-choose-saved='memory=512 sizes=n=8' | FileCheck %s
// RUN: vx-opt %s --vx-choose-saved='memory=600 sizes=n=16' | FileCheck %s
// RUN: not vx-opt %s --vx-choose-saved='sizes=n=many' 2>&1 | FileCheck %s --check-prefix=SIZES

// Under a budget contractions are computed again too, in front of their first readers of the reverse part, from what is kept; without one
// nothing is.
// KEPT-NOT: vx.copy
// CHECK-LABEL: func.func @step(
// CHECK:         %[[Z0:.+]] = vx.contract %arg0
// CHECK:         %[[H0:.+]] = vx.tanh %[[Z0]]
// CHECK:         %[[Z1:.+]] = vx.contract %[[H0]]
// CHECK:         %[[H1:.+]] = vx.tanh %[[Z1]]
// CHECK:         vx.reduce sum
// CHECK:         vx.contract %[[H1]], %arg2
// CHECK:         vx.variable_store %{{.+}}, @w1
// CHECK:         %[[AGAIN:.+]] = vx.contract %arg0, %{{.+}} {vx.copy = 1 : i64}
// CHECK-NEXT:    %[[COPY:.+]] = vx.tanh %[[AGAIN]] {vx.copy = 1 : i64}
// CHECK-NEXT:    vx.contract %[[COPY]]
// SIZES: error: vx-choose-saved expects NAME=N in 'sizes', got 'n=many'
module attributes {vx.training = #vx.training<backward = @step>} {
  vx.symbol "n"
  vx.variable @w0 role = gradient : tensor<8x8xf32>
  vx.variable @w1 role = gradient : tensor<8x8xf32>
  func.func @step(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %m: tensor<8x8xf32>, %g: tensor<?x8xf32, #vx.enc<[n, 8]>>) -> tensor<f32> {
    %z0 = vx.contract %x, %m batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x8xf32>
    %h0 = vx.tanh %z0 : tensor<?x8xf32, #vx.enc<[n, 8]>>
    %z1 = vx.contract %h0, %m batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x8xf32>
    %h1 = vx.tanh %z1 : tensor<?x8xf32, #vx.enc<[n, 8]>>
    %l = vx.reduce sum %h1 axes = [0, 1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
    %d1 = vx.contract %h1, %g batch = [] x [] contracting = [0] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
    vx.variable_store %d1, @w1 : tensor<8x8xf32>
    %d0 = vx.contract %h0, %g batch = [] x [] contracting = [0] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
    vx.variable_store %d0, @w0 : tensor<8x8xf32>
    return %l : tensor<f32>
  }
}
