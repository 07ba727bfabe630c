// RUN: vx-opt %s --split-input-file --vx-infer-shapes | FileCheck %s

// What an operand knows reaches every reader, the regions of fusions and the function's type.
// CHECK-LABEL: func.func @fires(
// CHECK-SAME:    -> tensor<3x2xf32>
// CHECK:         vx.neg %{{.*}} : tensor<2x3xf32>
// CHECK-NEXT:    vx.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf16>
// CHECK-NEXT:    vx.transpose %{{.*}}, [1, 0] : tensor<2x3xf16>
// CHECK-NEXT:    vx.fusion(%{{.*}}) : (tensor<3x2xf16>) -> tensor<3x2xf32>
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<3x2xf16>):
// CHECK-NEXT:    vx.cast %{{.*}} : tensor<3x2xf16> -> tensor<3x2xf32>
vx.symbol "n"
func.func @fires(%a: tensor<2x3xf32>) -> tensor<3x?xf32, #vx.enc<[3, n]>> {
  %0 = "vx.neg"(%a) : (tensor<2x3xf32>) -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %1 = vx.cast %0 : tensor<?x3xf32, #vx.enc<[n, 3]>> -> tensor<?x3xf16, #vx.enc<[n, 3]>>
  %2 = vx.transpose %1, [1, 0] : tensor<?x3xf16, #vx.enc<[n, 3]>>
  %3 = vx.fusion (%2) : (tensor<3x?xf16, #vx.enc<[3, n]>>) -> tensor<3x?xf32, #vx.enc<[3, n]>> #vx.loops<tile = [1, 1]> {
  ^bb0(%x: tensor<3x?xf16, #vx.enc<[3, n]>>):
    %4 = vx.cast %x : tensor<3x?xf16, #vx.enc<[3, n]>> -> tensor<3x?xf32, #vx.enc<[3, n]>>
    vx.yield %4 : tensor<3x?xf32, #vx.enc<[3, n]>>
  }
  return %3 : tensor<3x?xf32, #vx.enc<[3, n]>>
}

// -----

// An unknown size takes the operand's expression, and a known one is not replaced by another expression.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    -> (tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>)
// CHECK:         vx.exp
// CHECK:         return %{{.*}}, %{{.*}} : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[m]>>
vx.symbol "n"
vx.symbol "m"
func.func @dynamic(%a: tensor<?xf32, #vx.enc<[n]>>, %b: tensor<?xf32, #vx.enc<[m]>>) -> (tensor<?xf32>, tensor<?xf32, #vx.enc<[m]>>) {
  %0 = "vx.exp"(%a) : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32>
  %1 = "vx.exp"(%a) : (tensor<?xf32, #vx.enc<[n]>>) -> tensor<?xf32, #vx.enc<[m]>>
  return %0, %1 : tensor<?xf32>, tensor<?xf32, #vx.enc<[m]>>
}

// -----

// The size of a branch's result is the host's to bind: it stays.
// CHECK-LABEL: func.func @must_not(
// CHECK:         vx.if %{{.*}} -> tensor<?xf32, #vx.enc<[k]>>
// CHECK:         return %{{.*}} : tensor<?xf32, #vx.enc<[k]>>
vx.symbol data_dependent "k"
func.func @must_not(%c: tensor<i1>, %a: tensor<2xf32>) -> tensor<?xf32, #vx.enc<[k]>> {
  %0 = vx.if %c -> tensor<?xf32, #vx.enc<[k]>> {
    vx.yield %a : tensor<2xf32>
  } else {
    vx.yield %a : tensor<2xf32>
  }
  return %0 : tensor<?xf32, #vx.enc<[k]>>
}
