// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(func.func(vx-flatten-memrefs))"

// Memory that is no view of a buffer by load and store.
// expected-error @+1 {{expects memrefs that are made in the kernel, got one that control flow passes on, of type 'memref<4x4xf32>'}}
func.func @argument(%m: memref<4x4xf32>) attributes {vxk.kernel} {
  %i = vxk.thread_id
  %v = memref.load %m[%i, %i] : memref<4x4xf32>
  return
}

// -----

func.func @dim() attributes {vxk.kernel} {
  %i = vxk.thread_id
  %m = vxk.buffer 0 read () : memref<4x4xf32>
  // expected-error @+1 {{'memref.dim' op expects a constant dimension below 2, got one that is not constant}}
  %d = memref.dim %m, %i : memref<4x4xf32>
  return
}

// -----

func.func @dim_beyond() attributes {vxk.kernel} {
  %i = arith.constant 7 : index
  %m = vxk.buffer 0 read () : memref<4x4xf32>
  // expected-error @+1 {{'memref.dim' op expects a constant dimension below 2, got 7}}
  %d = memref.dim %m, %i : memref<4x4xf32>
  return
}

// -----

func.func @copies() attributes {vxk.kernel} {
  %a = vxk.buffer 0 read () : memref<4x4xf32>
  %b = vxk.buffer 1 write () : memref<4x4xf32>
  // expected-error @+1 {{'memref.copy' op expects accesses by load and store only, got an operand of type 'memref<4x4xf32>'}}
  memref.copy %a, %b : memref<4x4xf32> to memref<4x4xf32>
  return
}

// -----

func.func @unranked() attributes {vxk.kernel} {
  %i = arith.constant 0 : index
  %a = vxk.buffer 0 read () : memref<4x4xf32>
  // expected-error @+1 {{'memref.cast' op expects a ranked memref, got 'memref<*xf32>'}}
  %u = memref.cast %a : memref<4x4xf32> to memref<*xf32>
  %d = memref.dim %u, %i : memref<*xf32>
  return
}
