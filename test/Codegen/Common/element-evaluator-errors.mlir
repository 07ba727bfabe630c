// RUN: vx-opt %s --split-input-file --verify-diagnostics "--pass-pipeline=builtin.module(func.func(vx-lower-to-loops{lanes=8}))"

// Kernels of tensor ops by hand, with an op that no element can be computed of.
func.func @resource() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [4]>} {
  %r = vxk.buffer 0 write () : memref<4xf32>
  // expected-error @+1 {{'arith.constant' op expects inline elements, got dense_resource<w> : tensor<4xf32>}}
  %c = arith.constant dense_resource<w> : tensor<4xf32>
  bufferization.materialize_in_destination %c in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{expects a tensor that an op of the kernel computes, got a block argument of type 'tensor<4xf32>'}}
func.func @argument(%a: tensor<4xf32>) attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [4]>} {
  %r = vxk.buffer 0 write () : memref<4xf32>
  bufferization.materialize_in_destination %a in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @unknown() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [4]>} {
  %r = vxk.buffer 0 write () : memref<4xf32>
  %x = arith.constant 1.0 : f32
  // expected-error @+1 {{'tensor.splat' op is not known to the code generator of kernels}}
  %a = tensor.splat %x : tensor<4xf32>
  bufferization.materialize_in_destination %a in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @body() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [4]>} {
  %a = vxk.buffer 0 read () : memref<4xi32>
  %r = vxk.buffer 1 write () : memref<4xi32>
  %t = bufferization.to_tensor %a restrict : memref<4xi32> to tensor<4xi32>
  %e = tensor.empty() : tensor<4xi32>
  %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%x: i32, %o: i32):
    // expected-error @+1 {{'arith.mulsi_extended' op is not known in the body of a kernel's op}}
    %low, %high = arith.mulsi_extended %x, %x : i32
    linalg.yield %high : i32
  } -> tensor<4xi32>
  bufferization.materialize_in_destination %g in restrict writable %r : (tensor<4xi32>, memref<4xi32>) -> ()
  return
}

// -----

func.func @vector() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [16]>} {
  %a = vxk.buffer 0 read () : memref<16xi32>
  %r = vxk.buffer 1 write () : memref<16xi32>
  %t = bufferization.to_tensor %a restrict : memref<16xi32> to tensor<16xi32>
  %e = tensor.empty() : tensor<16xi32>
  %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t : tensor<16xi32>) outs(%e : tensor<16xi32>) {
  ^bb0(%x: i32, %o: i32):
    // expected-error @+1 {{'func.call' op cannot be computed on vectors}}
    %y = func.call @f(%x) : (i32) -> i32
    linalg.yield %y : i32
  } -> tensor<16xi32>
  bufferization.materialize_in_destination %g in restrict writable %r : (tensor<16xi32>, memref<16xi32>) -> ()
  return
}
func.func private @f(i32) -> i32

// -----

func.func @vector_index() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [16]>} {
  %r = vxk.buffer 1 write () : memref<16xindex>
  %e = tensor.empty() : tensor<16xindex>
  %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<16xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    // expected-error @+1 {{'func.call' op cannot be computed on vectors}}
    %y = func.call @f(%i) : (index) -> index
    linalg.yield %y : index
  } -> tensor<16xindex>
  bufferization.materialize_in_destination %g in restrict writable %r : (tensor<16xindex>, memref<16xindex>) -> ()
  return
}
func.func private @f(index) -> index

// -----

func.func @bounds() attributes {vxk.kernel, vxk.strategy = #vx.loops<tile = [16]>} {
  %r = vxk.buffer 1 write () : memref<16xindex>
  %e = tensor.empty() : tensor<16xindex>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<16xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    // expected-error @+1 {{'scf.for' op has bounds that differ from lane to lane}}
    %y = scf.for %k = %zero to %i step %one iter_args(%s = %zero) -> (index) {
      scf.yield %k : index
    }
    linalg.yield %y : index
  } -> tensor<16xindex>
  bufferization.materialize_in_destination %g in restrict writable %r : (tensor<16xindex>, memref<16xindex>) -> ()
  return
}
