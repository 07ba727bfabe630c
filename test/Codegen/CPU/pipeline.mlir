// RUN: vx-opt %s --vx-cpu-codegen=vector-bits=256 | FileCheck %s

// Nothing is left of tensors, linalg or vx, and eight lanes fill a register of 256 bits.
// CHECK-LABEL: func.func @gather
// CHECK-NOT:     tensor<
// CHECK-NOT:     linalg.
// CHECK:         vxk.report_fault
// CHECK:         scf.if
// CHECK:           vector.load {{.*}} vector<8xf32>
vx.kernel @gather "x" symbols ["s0"] workgroups <s0> #vx.loops<tile = [1, 0]> {
^bb0(%t: tensor<7x16xf32>, %i: tensor<?xi64, #vx.enc<[s0]>>):
  %0 = vx.gather %t, %i axis = 0 {vx.anchor} : tensor<7x16xf32>, tensor<?xi64, #vx.enc<[s0]>>
  vx.yield %0 : tensor<?x16xf32, #vx.enc<[s0, 16]>>
}
