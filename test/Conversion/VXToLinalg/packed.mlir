// RUN: vx-opt %s --split-input-file --vx-convert-to-linalg | FileCheck %s

// A byte is made of both elements that it holds; behind the last one of an odd number nothing is read.
// CHECK-LABEL: func.func @odd()
// CHECK:       vxk.buffer 0 read() : memref<3xi8>
// CHECK:       vxk.buffer 1 write() : memref<2xi8>
// CHECK:       linalg.generic
// CHECK:         %[[FIRST:.+]] = tensor.extract
// CHECK:         %[[LOW:.+]] = arith.andi %[[FIRST]], %{{.+}} : i8
// CHECK:         arith.cmpi ult
// CHECK:         %[[SECOND:.+]] = scf.if
// CHECK:         %[[MASKED:.+]] = arith.andi %[[SECOND]], %{{.+}} : i8
// CHECK:         %[[HIGH:.+]] = arith.shli %[[MASKED]], %{{.+}} : i8
// CHECK:         arith.ori %[[LOW]], %[[HIGH]] : i8
vx.kernel @odd "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<3xi8>):
  %0 = vx.cast %a : tensor<3xi8> -> tensor<3xi4>
  vx.yield %0 : tensor<3xi4>
}

// -----

// Of an even number none is behind the last byte.
// CHECK-LABEL: func.func @even()
// CHECK-NOT:   scf.if
vx.kernel @even "x" symbols [] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<2x2xi8>):
  %0 = vx.cast %a : tensor<2x2xi8> -> tensor<2x2xui4>
  vx.yield %0 : tensor<2x2xui4>
}

// -----

// Sizes that the call brings: as many bytes as hold four elements each.
// CHECK-LABEL: func.func @dynamic()
// CHECK:       %[[BYTES:.+]] = arith.ceildivsi
// CHECK:       vxk.buffer 0 read(%[[BYTES]]) : memref<?xi8>
// CHECK:       arith.divui
// CHECK:       arith.remui
// CHECK:       arith.shrui
// CHECK:       arith.shrsi
vx.kernel @dynamic "x" symbols ["n"] workgroups <1> #vx.loops<tile = []> {
^bb0(%a: tensor<?x3xi2, #vx.enc<[n, 3]>>):
  %0 = vx.cast %a : tensor<?x3xi2, #vx.enc<[n, 3]>> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  vx.yield %0 : tensor<?x3xf32, #vx.enc<[n, 3]>>
}
