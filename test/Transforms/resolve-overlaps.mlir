// RUN: vx-opt %s --split-input-file --vx-resolve-overlaps | FileCheck %s

// A member is loaded behind a store of its pool, and stored; then the pool is loaded: all are accesses of the pool.
// CHECK-LABEL: func.func @by_turns(
// CHECK:         vx.variable_store %[[P:.+]], @pool : tensor<48xf32>
// CHECK:         %[[P1:.+]] = vx.variable_load @pool : tensor<48xf32>
// CHECK:         %[[S:.+]] = vx.slice %[[P1]] starts [#vx.dim<16>] strides [1] : tensor<48xf32> -> tensor<24xf32>
// CHECK:         %[[W:.+]] = vx.reshape %[[S]] : tensor<24xf32> -> tensor<8x3xf32>
// CHECK:         %[[W1:.+]] = vx.neg %[[W]]
// CHECK:         %[[F:.+]] = vx.reshape %[[W1]] : tensor<8x3xf32> -> tensor<24xf32>
// CHECK:         %[[AT:.+]] = vx.constant dense<16> : tensor<1xi64>
// CHECK:         %[[P2:.+]] = vx.variable_load @pool
// CHECK:         %[[U:.+]] = vx.update_slice %[[P2]], %[[AT]], %[[F]] axes = [0]
// CHECK:         vx.variable_store %[[U]], @pool
// CHECK:         vx.variable_load @pool
vx.variable @pool : tensor<48xf32>
vx.variable @w in @pool at 64 : tensor<8x3xf32>
func.func @by_turns(%x: tensor<48xf32>) -> tensor<48xf32> {
  vx.variable_store %x, @pool : tensor<48xf32>
  %w = vx.variable_load @w : tensor<8x3xf32>
  %w1 = vx.neg %w : tensor<8x3xf32>
  vx.variable_store %w1, @w : tensor<8x3xf32>
  %p = vx.variable_load @pool : tensor<48xf32>
  return %p : tensor<48xf32>
}

// -----

// In a loop the load comes before the store, and behind that of the round before. Elements of four bits fill their bytes.
// CHECK-LABEL: func.func @rounds(
// CHECK:         vx.loop
// CHECK-NOT:     @w
// CHECK:         vx.slice %{{.+}} starts [#vx.dim<128>] strides [1] : tensor<256xi4> -> tensor<3xi4>
// CHECK-NOT:     @w
// CHECK:         return
vx.symbol data_dependent "i"
vx.variable @pool : tensor<256xi4>
vx.variable @w in @pool at 64 : tensor<3xi4>
func.func @rounds(%k: tensor<i64>, %x: tensor<3xi4>) {
  vx.loop "i" trip_count(%k) {
    %p = vx.variable_load @pool : tensor<256xi4>
    %w = vx.variable_load @w : tensor<3xi4>
    vx.variable_store %x, @w : tensor<3xi4>
    %true = vx.constant dense<true> : tensor<i1>
    vx.yield %true : tensor<i1>
  }
  return
}

// -----

// Stays: the whole is loaded before a part is stored, members share no bytes, another function has its own order.
// CHECK-LABEL: func.func @in_order(
// CHECK:         vx.variable_load @pool
// CHECK:         vx.variable_store %{{.+}}, @w : tensor<8x3xf32>
// CHECK:         vx.variable_load @b
// CHECK:         vx.variable_store %{{.+}}, @b : tensor<16xf32>
// CHECK-LABEL: func.func @whole(
// CHECK:         vx.variable_store %{{.+}}, @pool
// CHECK-NOT:     vx.slice
vx.variable @pool : tensor<48xf32>
vx.variable @w in @pool at 64 : tensor<8x3xf32>
vx.variable @b in @pool at 0 : tensor<16xf32>
func.func @in_order(%x: tensor<8x3xf32>) -> tensor<48xf32> {
  %p = vx.variable_load @pool : tensor<48xf32>
  vx.variable_store %x, @w : tensor<8x3xf32>
  %b = vx.variable_load @b : tensor<16xf32>
  %b1 = vx.neg %b : tensor<16xf32>
  vx.variable_store %b1, @b : tensor<16xf32>
  return %p : tensor<48xf32>
}
func.func @whole(%x: tensor<48xf32>) {
  vx.variable_store %x, @pool : tensor<48xf32>
  return
}
