// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @encodings(
// CHECK-SAME: tensor<?x8xf32, #vx.enc<[batch, 8]>>
// CHECK-SAME: tensor<?x?xf32>
// CHECK-SAME: tensor<4x16xf32, #vx.enc<[4, 16], layout = <order = [1, 0], inner = [0], tiles = [8]>>>
func.func private @encodings(tensor<?x8xf32, #vx.enc<[batch, 8]>>, tensor<?x?xf32>,
                             tensor<4x16xf32, #vx.enc<[4, 16], layout = <order = [1, 0], inner = [0], tiles = [8]>>>)

// -----

// CHECK-LABEL: func.func private @types(
// CHECK-SAME: !vx.sequence<tensor<*xf32>>, !vx.optional<tensor<2xi64>>, !vx.optional<!vx.sequence<tensor<?xi1>>>, tensor<2x!vx.string>
func.func private @types(!vx.sequence<tensor<*xf32>>, !vx.optional<tensor<2xi64>>,
                         !vx.optional<!vx.sequence<tensor<?xi1>>>, tensor<2x!vx.string>)

// -----

// expected-error @+1 {{expects one dimension expression for each dimension: want 2, got 1}}
func.func private @count(tensor<?x8xf32, #vx.enc<[batch]>>)

// -----

// expected-error @+1 {{expects dimension 1 and its expression to agree: the shape says 8, the encoding '9'}}
func.func private @static(tensor<?x8xf32, #vx.enc<[batch, 9]>>)

// -----

// expected-error @+1 {{expects dimension 0 and its expression to agree: the shape says ?, the encoding '4'}}
func.func private @constant_for_dynamic(tensor<?xf32, #vx.enc<[4]>>)

// -----

// expected-error @+1 {{expects dimension 0 and its expression to agree: the shape says 4, the encoding 'n'}}
func.func private @symbol_for_static(tensor<4xf32, #vx.enc<[n]>>)

// -----

// expected-error @+1 {{expects a layout of one entry of 'order' for each dimension: want 2, got 1}}
func.func private @layout_rank(tensor<4x4xf32, #vx.enc<[4, 4], layout = <order = [0]>>>)

// -----

// expected-error @+1 {{expects 'order' to be a permutation of 0 to 1, got 0}}
func.func private @layout_order(tensor<4x4xf32, #vx.enc<[4, 4], layout = <order = [0, 0]>>>)

// -----

// expected-error @+1 {{expects as many 'tiles' as 'inner' dimensions: want 1, got 2}}
func.func private @layout_tiles(tensor<4x4xf32, #vx.enc<[4, 4], layout = <order = [0, 1], inner = [0], tiles = [2, 2]>>>)

// -----

// expected-error @+1 {{expects tiles of at least 1, got 0}}
func.func private @layout_tile(tensor<4x4xf32, #vx.enc<[4, 4], layout = <order = [0, 1], inner = [0], tiles = [0]>>>)

// -----

// expected-error @+1 {{expects 'inner' dimensions below 2, got 2}}
func.func private @layout_inner(tensor<4x4xf32, #vx.enc<[4, 4], layout = <order = [0, 1], inner = [2], tiles = [4]>>>)

// -----

// expected-error @+1 {{expects an optional of a tensor or a sequence, got 'i32'}}
func.func private @optional(!vx.optional<i32>)
