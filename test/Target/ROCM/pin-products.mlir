// RUN: vx-opt %s --vx-rocm-print-assembly=variant=gfx1100 -o %t.mlir | FileCheck %s
// RUN: vx-opt %s --vx-rocm-print-assembly=variant=gfx1151 -o %t.mlir | FileCheck %s

// A product of fragments whose result is stored by some threads is computed by all, before the others are switched off.
// CHECK-LABEL: some_store:
// CHECK:         v_wmma_f32_16x16x16_f16
// CHECK:         s_and_saveexec
// CHECK-NOT:     v_wmma
// CHECK:         s_endpgm
llvm.func @some_store(%p: !llvm.ptr<1>, %n: i32) attributes {rocdl.kernel} {
  %i = rocdl.workitem.id.x : i32
  %a = llvm.load %p : !llvm.ptr<1> -> vector<16xf16>
  %c = llvm.load %p : !llvm.ptr<1> -> vector<8xf32>
  %d = rocdl.wmma.f32.16x16x16.f16 %a, %a, %c : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  %inside = llvm.icmp "ult" %i, %n : i32
  llvm.cond_br %inside, ^store, ^end
^store:
  llvm.store %d, %p : vector<8xf32>, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
}
