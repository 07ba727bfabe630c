// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-gpu-lower-kernel-interface | FileCheck %s

// CHECK-LABEL: func.func private @kernel.body(
// CHECK-SAME:    !llvm.ptr<1> {llvm.align = 64 : i64, llvm.noalias, llvm.noundef}
// CHECK-DAG:     gpu.thread_id x upper_bound 96
// CHECK-DAG:     llvm.getelementptr %{{.+}}[7]
// CHECK-DAG:     llvm.getelementptr %{{.+}}[2]
// CHECK:         gpu.barrier
// The entry reads the buffers' addresses, of an operand that nothing reads too; scalars lie behind them.
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME:    %[[BLOCK:.+]]: !llvm.ptr<1>) attributes {vxk.entry = 96 : i64}
// CHECK-DAG:     gpu.block_id x upper_bound 65535
// CHECK-DAG:     gpu.block_id y upper_bound 65535
// CHECK:         llvm.getelementptr %[[BLOCK]][4]
// CHECK:         llvm.getelementptr %[[BLOCK]][5]
// CHECK:         llvm.getelementptr %[[BLOCK]][6]
// CHECK:         call @kernel.body(
func.func @kernel() attributes {vxk.kernel, vxk.threads = 96 : i64} {
  %n = vxk.scalar 0
  %i = vxk.thread_id
  %g = vxk.workgroup_id
  %c = vxk.workgroup_count
  %a = vxk.buffer 1 read (%n) : memref<?xf32>
  %r = vxk.buffer 2 write (%n) : memref<?xf32>
  %p = arith.addi %i, %g : index
  %q = arith.addi %p, %c : index
  %x = memref.load %a[%q] : memref<?xf32>
  vxk.barrier
  memref.store %x, %r[%q] : memref<?xf32>
  return
}

// -----

func.func @device_memory() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  // expected-error@+1 {{expects workgroup memory of a static shape, got 'memref<4xf32>'}}
  %m = memref.alloc() : memref<4xf32>
  return
}

// -----

// expected-error@+1 {{expects no arguments and no results of a kernel, got '(f32) -> ()'}}
func.func @argument(%x: f32) attributes {vxk.kernel} {
  return
}

// -----

// A guarded kernel has no workgroups once a fault is recorded.
// CHECK-LABEL: func.func private @guarded.body(
// CHECK:         %[[FAULTS:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i32
// CHECK:         %[[NONE:.+]] = arith.cmpi eq, %[[FAULTS]], %{{.+}} : i32
// CHECK:         arith.select %[[NONE]], %{{.+}}, %{{.+}} : i64
func.func @guarded() attributes {vxk.kernel, vxk.guarded, vxk.threads = 32 : i64} {
  %o = vxk.buffer 0 write() : memref<1xi32>
  %c0 = arith.constant 0 : index
  %count = vxk.workgroup_count
  %c = arith.index_cast %count : index to i32
  memref.store %c, %o[%c0] : memref<1xi32>
  return
}
