// RUN: vx-opt %s --split-input-file --vx-bind-sequence-lengths | FileCheck %s

// A kernel reads the length: it becomes a symbol.
// CHECK:       vx.symbol data_dependent "length.0"
// CHECK-LABEL: func.func @read_by_kernel(
// CHECK:         %[[N:.+]] = vx.sequence_length
// CHECK-NEXT:    vx.bind_symbol "length.0" = %[[N]]
// CHECK-NEXT:    %[[V:.+]] = vx.dim_value <length.0>
// CHECK-NEXT:    vx.neg %[[V]]
func.func @read_by_kernel(%s: !vx.sequence<tensor<3xf32>>) -> tensor<i64> {
  %0 = vx.sequence_length %s : !vx.sequence<tensor<3xf32>>
  %1 = vx.neg %0 : tensor<i64>
  return %1 : tensor<i64>
}

// -----

// Only the host reads it: nothing changes.
// CHECK-LABEL: func.func @read_by_host(
// CHECK-NOT:     vx.bind_symbol
// CHECK:         vx.sequence_at
vx.symbol data_dependent "size"
func.func @read_by_host(%s: !vx.sequence<tensor<?xf32>>) -> tensor<?xf32, #vx.enc<[size]>> {
  %0 = vx.sequence_length %s : !vx.sequence<tensor<?xf32>>
  %1 = vx.sequence_at %s, %0 : !vx.sequence<tensor<?xf32>> -> tensor<?xf32, #vx.enc<[size]>>
  return %1 : tensor<?xf32, #vx.enc<[size]>>
}
