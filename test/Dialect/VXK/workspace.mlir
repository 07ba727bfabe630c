// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @workspace()
func.func @workspace() attributes {vxk.kernel} {
  // CHECK: %[[SIZE:.+]] = vxk.scalar 1
  %size = vxk.scalar 1
  // CHECK: vxk.workspace %[[SIZE]] : memref<?xi8>
  %w = vxk.workspace %size : memref<?xi8>
  return
}

// -----

func.func @only_bytes(%size: index) {
  // expected-error @+1 {{must be 1D memref of 8-bit signless integer values, but got 'memref<?xf32>'}}
  %w = vxk.workspace %size : memref<?xf32>
  return
}
