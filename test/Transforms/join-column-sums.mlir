// RUN: vx-opt %s --vx-join-column-sums | FileCheck %s

vx.symbol "n"

// Those that lie beside each other, with the zeros between them; what stands before stays a part of its own.
// CHECK-LABEL: func.func @biases(
// CHECK-DAG:     %[[ZERO:.+]] = vx.broadcast %{{.+}}, [] : tensor<f32> -> tensor<7x6xf32>
// CHECK:         %[[ALL:.+]] = vx.concat axis = 1(%arg1, %arg2, %[[ZERO]]) : tensor<7x16xf32>, tensor<7x10xf32>, tensor<7x6xf32>
// CHECK:         %[[SUM:.+]] = vx.reduce sum %[[ALL]] axes = [0] : tensor<7x32xf32>
// CHECK:         vx.concat axis = 0(%arg0, %[[SUM]]) : tensor<64xf32>, tensor<32xf32>
func.func @biases(%w: tensor<64xf32>, %a: tensor<7x16xf32>, %b: tensor<7x10xf32>) -> tensor<96xf32> {
  %0 = vx.reduce sum %a axes = [0] : tensor<7x16xf32>
  %1 = vx.reduce sum %b axes = [0] : tensor<7x10xf32>
  %zeros = vx.constant dense<0.0> : tensor<6xf32>
  %2 = vx.concat axis = 0(%1, %zeros) : tensor<10xf32>, tensor<6xf32>
  %3 = vx.concat axis = 0(%w, %0, %2) : tensor<64xf32>, tensor<16xf32>, tensor<16xf32>
  return %3 : tensor<96xf32>
}

// Of as many rows, whatever the number is.
// CHECK-LABEL: func.func @symbols(
// CHECK:         %[[ALL:.+]] = vx.concat axis = 1(%arg0, %arg1) : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x5xf32, #vx.enc<[n, 5]>>
// CHECK:         %[[SUM:.+]] = vx.reduce sum %[[ALL]] axes = [0]
// CHECK:         return %[[SUM]] : tensor<8xf32>
func.func @symbols(%a: tensor<?x3xf32, #vx.enc<[n, 3]>>, %b: tensor<?x5xf32, #vx.enc<[n, 5]>>) -> tensor<8xf32> {
  %0 = vx.reduce sum %a axes = [0] : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %1 = vx.reduce sum %b axes = [0] : tensor<?x5xf32, #vx.enc<[n, 5]>>
  %2 = vx.concat axis = 0(%0, %1) : tensor<3xf32>, tensor<5xf32>
  return %2 : tensor<8xf32>
}

// Not of other numbers of rows, not another reduction or another axis, and not what something else reads too.
// CHECK-LABEL: func.func @apart(
// CHECK-NOT:     vx.concat axis = 1
// CHECK:         vx.concat axis = 0(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) : tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<5xf32>, tensor<5xf32>
func.func @apart(%a: tensor<5x3xf32>, %b: tensor<6x4xf32>) -> (tensor<20xf32>, tensor<3xf32>) {
  %0 = vx.reduce sum %a axes = [0] : tensor<5x3xf32>
  %1 = vx.reduce sum %b axes = [0] : tensor<6x4xf32>
  %2 = vx.reduce max %a axes = [0] : tensor<5x3xf32>
  %3 = vx.reduce sum %a axes = [1] : tensor<5x3xf32>
  %4 = vx.reduce sum %a axes = [1] : tensor<5x3xf32>
  %5 = vx.concat axis = 0(%0, %1, %2, %3, %4) : tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<5xf32>, tensor<5xf32>
  return %5, %0 : tensor<20xf32>, tensor<3xf32>
}

// Up to four pieces and 1024 columns; the next one begins anew.
// CHECK-LABEL: func.func @many(
// CHECK:         vx.concat axis = 1(%arg0, %arg1, %arg2, %arg3) :
// CHECK:         vx.concat axis = 1(%arg4, %arg5) :
func.func @many(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %c: tensor<2x3xf32>, %d: tensor<2x3xf32>, %e: tensor<2x1000xf32>, %f: tensor<2x24xf32>, %g: tensor<2x1xf32>)
    -> tensor<1037xf32> {
  %0 = vx.reduce sum %a axes = [0] : tensor<2x3xf32>
  %1 = vx.reduce sum %b axes = [0] : tensor<2x3xf32>
  %2 = vx.reduce sum %c axes = [0] : tensor<2x3xf32>
  %3 = vx.reduce sum %d axes = [0] : tensor<2x3xf32>
  %4 = vx.reduce sum %e axes = [0] : tensor<2x1000xf32>
  %5 = vx.reduce sum %f axes = [0] : tensor<2x24xf32>
  %6 = vx.reduce sum %g axes = [0] : tensor<2x1xf32>
  %7 = vx.concat axis = 0(%0, %1, %2, %3, %4, %5, %6) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1000xf32>, tensor<24xf32>, tensor<1xf32>
  return %7 : tensor<1037xf32>
}
