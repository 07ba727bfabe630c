// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: vxrt.program @sizes
vxrt.program @sizes symbols ["n"] {
^bb0(%n: i64):
  // CHECK: %[[C:.+]] = vxrt.const -3
  %c = vxrt.const -3
  // CHECK: vxrt.calc add %{{.+}}, %[[C]]
  %0 = vxrt.calc add %n, %c
  // CHECK: vxrt.calc sub
  %1 = vxrt.calc sub %n, %0
  // CHECK: vxrt.calc mul
  %2 = vxrt.calc mul %n, %1
  // CHECK: vxrt.calc floordiv
  %3 = vxrt.calc floordiv %n, %2
  // CHECK: vxrt.calc ceildiv
  %4 = vxrt.calc ceildiv %n, %3
  // CHECK: vxrt.calc mod
  %5 = vxrt.calc mod %n, %4
  // CHECK: vxrt.calc max
  %6 = vxrt.calc max %n, %5
  // CHECK: vxrt.calc min
  %7 = vxrt.calc min %n, %6
  // CHECK: vxrt.calc eq
  %8 = vxrt.calc eq %n, %7
  // CHECK: vxrt.calc ne
  %9 = vxrt.calc ne %n, %8
  // CHECK: vxrt.calc lt
  %10 = vxrt.calc lt %n, %9
  // CHECK: %[[LE:.+]] = vxrt.calc le
  %11 = vxrt.calc le %n, %10
  // CHECK: vxrt.select %[[LE]], %{{.+}}, %[[C]]
  %12 = vxrt.select %11, %n, %c
  vxrt.return ranks []
}

// -----

vxrt.program @unknown symbols ["n"] {
^bb0(%n: i64):
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'kind' [add, sub, mul, floordiv, ceildiv, mod, max, min, eq, ne, lt, le]}}
  %0 = vxrt.calc xor %n, %n
  vxrt.return ranks []
}

// -----

vxrt.program @buffers_are_no_sizes symbols [] {
^bb0(%x: !vxrt.buffer): // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%x' expects different type than prior uses: 'i64' vs '!vxrt.buffer'}}
  %0 = vxrt.calc add %x, %x
  vxrt.return ranks []
}
