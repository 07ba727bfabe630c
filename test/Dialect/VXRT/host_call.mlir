// RUN: vx-opt %s | FileCheck %s

// CHECK: %[[L:.+]] = vxrt.list_empty i32 : !vxrt.object
// CHECK: vxrt.host_call "string_match"("[a-z]+", -1) [i1] %[[L]] : !vxrt.object
vxrt.program @p symbols [] {
  %0 = vxrt.list_empty i32 : !vxrt.object
  %1 = vxrt.host_call "string_match"("[a-z]+", -1) [i1] %0 : !vxrt.object
  vxrt.return %1 : !vxrt.object ranks [-1]
}
