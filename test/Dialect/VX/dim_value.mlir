// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @dim_value(
func.func @dim_value() -> tensor<i64> {
  // CHECK: vx.dim_value <past + step>
  %0 = vx.dim_value <past + step>
  return %0 : tensor<i64>
}
