// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-cpu-lowering{variant=avx512},vx-cpu-print-assembly{variant=avx512})' -o /dev/null | FileCheck %s --check-prefix=AVX512
// RUN: vx-opt %s --pass-pipeline='builtin.module(vx-cpu-lowering{variant=x86-64-v3},vx-cpu-print-assembly{variant=x86-64-v3})' -o /dev/null | FileCheck %s --check-prefix=V3

// The whole of exp stays in registers of the native width: no calls, no scalar code.
// AVX512-LABEL: exp:
// AVX512-NOT:     call
// AVX512-COUNT-8: vfm{{.+}}ps {{.*}}%zmm
// AVX512-NOT:     call
// AVX512:         vmovups %zmm
// AVX512:         .size exp
// V3-LABEL:     exp:
// V3-NOT:         call
// V3-COUNT-8:     vfm{{.+}}ps {{.*}}%ymm
// V3-NOT:         call
// V3:             vmov{{.+}} %ymm
// V3:             .size exp
func.func @exp() attributes {vxk.kernel} {
  %n = vxk.scalar 0
  %a = vxk.buffer 0 read(%n) : memref<?xf32>
  %o = vxk.buffer 1 write(%n) : memref<?xf32>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %n step %c16 {
    %x = vector.load %a[%i] : memref<?xf32>, vector<16xf32>
    %y = math.exp %x : vector<16xf32>
    vector.store %y, %o[%i] : memref<?xf32>, vector<16xf32>
  }
  return
}
