// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @buffer()
func.func @buffer() attributes {vxk.kernel} {
  // CHECK: %[[N:.+]] = vxk.scalar 0
  %n = vxk.scalar 0
  // CHECK: vxk.buffer 0 read(%[[N]]) : memref<?x4xf32>
  %a = vxk.buffer 0 read (%n) : memref<?x4xf32>
  // CHECK: vxk.buffer 1 write() : memref<4xi1>
  %b = vxk.buffer 1 write () : memref<4xi1>
  // CHECK: vxk.buffer 2 read_write(%[[N]], %[[N]]) : memref<?x?xi64>
  %c = vxk.buffer 2 read_write (%n, %n) : memref<?x?xi64>
  return
}

// -----

func.func @c1_layout() {
  // expected-error @+1 {{'vxk.buffer' op expects a memref of identity layout, got 'memref<4xf32, strided<[2]>>'}}
  %a = vxk.buffer 0 read () : memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @c1_sizes() {
  // expected-error @+1 {{'vxk.buffer' op expects one size for each '?' of 'memref<?x4xf32>': 1, got 0}}
  %a = vxk.buffer 0 read () : memref<?x4xf32>
  return
}

// -----

func.func @unknown_access(%n: index) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'access' [read, write, read_write]}}
  %a = vxk.buffer 0 append (%n) : memref<?xf32>
  return
}

// -----

func.func @tensor() {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.memref, but found 'tensor<4xf32>'}}
  %a = vxk.buffer 0 read () : tensor<4xf32>
  return
}
