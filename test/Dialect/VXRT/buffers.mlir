// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @buffers
vxrt.program @buffers symbols ["n"] {
^bb0(%n: i64):
  // CHECK: vxrt.arena_reserve %[[N:[^ ]+]]
  vxrt.arena_reserve %n
  // CHECK: vxrt.arena_slice %[[N]], %[[N]] : !vxrt.buffer
  %slice = vxrt.arena_slice %n, %n : !vxrt.buffer
  // CHECK: vxrt.slice %{{.+}}, %[[N]], %[[N]] : !vxrt.buffer
  %part = vxrt.slice %slice, %n, %n : !vxrt.buffer
  // CHECK: vxrt.allocate %[[N]] : !vxrt.buffer
  %fresh = vxrt.allocate %n : !vxrt.buffer
  // CHECK: vxrt.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : !vxrt.buffer
  %weights = vxrt.constant dense<[1.0, 2.0]> : tensor<2xf32> : !vxrt.buffer
  // CHECK: vxrt.variable @state : !vxrt.buffer
  %state = vxrt.variable @state : !vxrt.buffer
  vxrt.return ranks []
}
vx.variable @state : tensor<2xf32>

// -----

vxrt.program @only_elements symbols [] {
  // expected-error @+1 {{invalid kind of attribute specified}}
  %weights = vxrt.constant "text" : !vxrt.buffer
  vxrt.return ranks []
}

// -----

vxrt.program @only_buffers symbols ["n"] {
^bb0(%n: i64):
  // expected-error @+1 {{custom op 'vxrt.allocate' invalid kind of type specified: expected vxrt.buffer, but found 'i64'}}
  %0 = vxrt.allocate %n : i64
  vxrt.return ranks []
}
