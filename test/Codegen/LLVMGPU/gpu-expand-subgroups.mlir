// RUN: vx-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(vx-gpu-expand-subgroups{subgroup-size=32}))' | FileCheck %s
// RUN: vx-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(vx-gpu-expand-subgroups{subgroup-size=64}))' | FileCheck %s --check-prefix=WIDE

// Places in subgroups are parts of the thread's number.
// CHECK-LABEL: func.func @places
// CHECK-DAG:     %[[SIZE:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[NUMBER:.+]] = arith.constant 4 : index
// CHECK:         arith.divui %{{.+}}, %
// CHECK:         arith.remui %{{.+}}, %
// CHECK-NOT:     gpu.
// WIDE-LABEL: func.func @places
// WIDE-DAG:      arith.constant 64 : index
// WIDE-DAG:      arith.constant 2 : index
func.func @places(%m: memref<4xindex>) attributes {vxk.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %size = gpu.subgroup_size : index
  %count = gpu.num_subgroups : index
  %id = gpu.subgroup_id : index
  %lane = gpu.lane_id
  %a = arith.addi %size, %count : index
  %b = arith.addi %id, %lane : index
  %c = arith.addi %a, %b : index
  memref.store %c, %m[%c0] : memref<4xindex>
  return
}

// -----

// A value of 64 bits goes as two words; a maximum keeps NaN.
// CHECK-LABEL: func.func @wide
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK-NOT:      gpu.shuffle
// WIDE-LABEL: func.func @wide
// WIDE-COUNT-12:  gpu.shuffle xor
// WIDE-NOT:       gpu.shuffle
func.func @wide(%x: f64) -> f64 attributes {vxk.threads = 64 : i64} {
  %r = gpu.subgroup_reduce maximumf %x : (f64) -> f64
  return %r : f64
}

// -----

func.func @vector(%x: vector<2xf32>) -> vector<2xf32> attributes {vxk.threads = 64 : i64} {
  // expected-error@+1 {{expects a number reduced over the whole subgroup, got 'vector<2xf32>'}}
  %r = gpu.subgroup_reduce add %x : (vector<2xf32>) -> vector<2xf32>
  return %r : vector<2xf32>
}
