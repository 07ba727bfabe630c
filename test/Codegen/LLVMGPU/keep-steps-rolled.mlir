// RUN: vx-opt %s --vx-gpu-lower-kernel-interface=keep-steps-rolled | FileCheck %s --check-prefixes=BOTH,KEPT
// RUN: vx-opt %s --vx-gpu-lower-kernel-interface | FileCheck %s --check-prefixes=BOTH,FREE

// A loop with a barrier is kept, where that is asked for; one without a barrier inside of it is not.
// BOTH-LABEL: func.func private @kernel.body(
// BOTH:         scf.for
// BOTH:           gpu.barrier
// BOTH:           scf.for
// BOTH:           }
// BOTH-NOT:       llvm.loop_annotation
// KEPT:         } {llvm.loop_annotation = #[[ANNOTATION:.+]]}
// FREE:         }
// BOTH-NOT:       llvm.loop_annotation
// BOTH:         return
func.func @kernel() attributes {vxk.kernel, vxk.threads = 96 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %i = vxk.thread_id
  %a = vxk.buffer 0 read () : memref<96xf32>
  %r = vxk.buffer 1 write () : memref<96xf32>
  scf.for %step = %c0 to %c4 step %c1 {
    vxk.barrier
    scf.for %part = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i] : memref<96xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %r[%i] : memref<96xf32>
    }
  }
  return
}
