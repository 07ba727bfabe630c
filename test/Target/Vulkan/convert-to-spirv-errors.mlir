// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-convert-to-spirv

// Kernels by hand that no shader can be: the first reason is the one that helps.
func.func @narrow_floats() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  // expected-error @+2 {{'vxk.buffer' op expects elements that a Vulkan shader can store, got 'memref<32xbf16>'}}
  // expected-error @+1 {{failed to legalize operation 'vxk.buffer'}}
  %a = vxk.buffer 0 read () : memref<32xbf16>
  %r = vxk.buffer 1 write () : memref<32xbf16>
  %x = memref.load %a[%i] : memref<32xbf16>
  memref.store %x, %r[%i] : memref<32xbf16>
  return
}

// -----

func.func @wide_shuffle() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read_write () : memref<32xf64>
  %one = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  %x = memref.load %a[%i] : memref<32xf64>
  // expected-error @+2 {{'gpu.shuffle' op expects 32 bits to be exchanged by 'xor', got 'f64'}}
  // expected-error @+1 {{failed to legalize operation 'gpu.shuffle'}}
  %s, %v = gpu.shuffle xor %x, %one, %width : f64
  memref.store %s, %a[%i] : memref<32xf64>
  return
}

// -----

func.func @shuffle_by_a_step() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %a = vxk.buffer 0 read_write () : memref<32xf32>
  %one = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  %x = memref.load %a[%i] : memref<32xf32>
  // expected-error @+2 {{'gpu.shuffle' op expects 32 bits to be exchanged by 'xor', got 'f32'}}
  // expected-error @+1 {{failed to legalize operation 'gpu.shuffle'}}
  %s, %v = gpu.shuffle up %x, %one, %width : f32
  memref.store %s, %a[%i] : memref<32xf32>
  return
}

// -----

func.func @dynamic_memory() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  %n = vxk.scalar 0
  // expected-error @+2 {{'memref.alloca' op expects a static shape for memory of a thread, got 'memref<?xf32>'}}
  // expected-error @+1 {{failed to legalize operation 'memref.alloca'}}
  %m = memref.alloca(%n) : memref<?xf32>
  %a = vxk.buffer 0 read_write () : memref<32xf32>
  %x = memref.load %a[%i] : memref<32xf32>
  memref.store %x, %m[%i] : memref<?xf32>
  %y = memref.load %m[%n] : memref<?xf32>
  memref.store %y, %a[%i] : memref<32xf32>
  return
}

// -----

// expected-error @+1 {{expects a kernel of one block, without arguments and results, got 1 blocks, 1 arguments and 0 results}}
func.func @argument(%c: i1) attributes {vxk.kernel, vxk.threads = 32 : i64} {
  return
}

// -----

func.func @foreign_value() attributes {vxk.kernel, vxk.threads = 32 : i64} {
  %i = vxk.thread_id
  // expected-error @+1 {{expects a value that a Vulkan shader can hold, got 'memref<32xi32>'}}
  %a = vxk.buffer 0 read () : memref<32xi32>
  %c = builtin.unrealized_conversion_cast %a : memref<32xi32> to index
  %e = arith.index_cast %c : index to i32
  %r = vxk.buffer 1 write () : memref<32xi32>
  memref.store %e, %r[%i] : memref<32xi32>
  return
}
