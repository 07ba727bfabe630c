// RUN: vx-opt %s --vx-convert-to-rocdl=chip=gfx1100 | FileCheck %s

// The product of two factors of few bits and the sum that it is added to are one instruction, whichever operand of the sum it is. Another product
// is one of 32 bits.
// CHECK-LABEL: @few_bits(%arg0: i32, %arg1: i32, %arg2: i32)
// CHECK:         %[[ONE:.+]] = llvm.inline_asm "v_mad_i32_i24 $0, $1, $2, $3", "=v,v,v,v" %arg0, %arg1, %arg2 :
// CHECK:         %[[TWO:.+]] = llvm.inline_asm "v_mad_i32_i24 $0, $1, $2, $3", "=v,v,v,v" %arg1, %arg2, %[[ONE]] :
// CHECK:         %[[PRODUCT:.+]] = llvm.mul %arg0, %arg2 : i32
// CHECK-NEXT:    %[[THREE:.+]] = llvm.add %[[TWO]], %[[PRODUCT]]
// CHECK-NEXT:    llvm.return %[[THREE]]
func.func @few_bits(%a: i32, %b: i32, %c: i32) -> i32 {
  %0 = arith.muli %a, %b {vxk.few_bits} : i32
  %1 = arith.addi %0, %c : i32
  %2 = arith.muli %b, %c {vxk.few_bits} : i32
  %3 = arith.addi %1, %2 : i32
  %4 = arith.muli %a, %c : i32
  %5 = arith.addi %3, %4 : i32
  return %5 : i32
}
