// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-sink-broadcasts),canonicalize,cse)" | FileCheck %s
vx.symbol "batch"
vx.symbol "length"

// Both conditions are the same for all rows: they are joined before they are repeated.
// CHECK-LABEL: func.func @both_repeated(
// CHECK:         %[[A:.+]] = vx.and %{{.+}}, %{{.+}} : tensor<?x1x?xi1, #vx.enc<[batch, 1, length]>>
// CHECK-NEXT:    %[[R:.+]] = vx.broadcast %[[A]], [0, 1, 2] : {{.+}} -> tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>>
// CHECK-NEXT:    return %[[R]]
func.func @both_repeated(%a: tensor<?xi1, #vx.enc<[batch]>>, %b: tensor<1x?xi1, #vx.enc<[1, length]>>) -> tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>> {
  %0 = vx.broadcast %a, [0] : tensor<?xi1, #vx.enc<[batch]>> -> tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>>
  %1 = vx.broadcast %b, [1, 2] : tensor<1x?xi1, #vx.enc<[1, length]>> -> tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>>
  %2 = vx.and %0, %1 : tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>>, tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>>
  return %2 : tensor<?x4x?xi1, #vx.enc<[batch, 4, length]>>
}

// Every dimension differs in one of the operands.
// CHECK-LABEL: func.func @crossed(
// CHECK:         %[[R:.+]] = vx.add %{{.+}}, %{{.+}} : tensor<3x4xf32>, tensor<3x4xf32>
// CHECK-NEXT:    return %[[R]]
func.func @crossed(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = vx.broadcast %a, [0] : tensor<3xf32> -> tensor<3x4xf32>
  %1 = vx.broadcast %b, [1] : tensor<4xf32> -> tensor<3x4xf32>
  %2 = vx.add %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// One operand is not repeated at all.
// CHECK-LABEL: func.func @one_whole(
// CHECK:         vx.mul %{{.+}}, %{{.+}} : tensor<3x4xf32>, tensor<3x4xf32>
func.func @one_whole(%a: tensor<3x4xf32>, %b: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %0 = vx.broadcast %b, [0, 1] : tensor<1x4xf32> -> tensor<3x4xf32>
  %1 = vx.mul %a, %0 : tensor<3x4xf32>, tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
