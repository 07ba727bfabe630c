// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @encodings(
// CHECK-SAME: tensor<?x8xf32, #vx.enc<[batch, 8]>>
// CHECK-SAME: tensor<?x?xf32>
// CHECK-SAME: tensor<4x16xf32, #vx.enc<[4, 16]>>
func.func private @encodings(tensor<?x8xf32, #vx.enc<[batch, 8]>>, tensor<?x?xf32>,
                             tensor<4x16xf32, #vx.enc<[4, 16]>>)

// -----

// CHECK-LABEL: func.func private @types(
// CHECK-SAME: !vx.sequence<tensor<*xf32>>, !vx.optional<tensor<2xi64>>, !vx.optional<!vx.sequence<tensor<?xi1>>>, tensor<2x!vx.string>
func.func private @types(!vx.sequence<tensor<*xf32>>, !vx.optional<tensor<2xi64>>,
                         !vx.optional<!vx.sequence<tensor<?xi1>>>, tensor<2x!vx.string>)

// -----

// expected-error @+1 {{expects one dimension expression for each dimension: 2, got 1}}
func.func private @count(tensor<?x8xf32, #vx.enc<[batch]>>)

// -----

// expected-error @+1 {{expects dimension 1 and its expression to agree, got 8 in the shape and '9' in the encoding}}
func.func private @static(tensor<?x8xf32, #vx.enc<[batch, 9]>>)

// -----

// expected-error @+1 {{expects dimension 0 and its expression to agree, got ? in the shape and '4' in the encoding}}
func.func private @constant_for_dynamic(tensor<?xf32, #vx.enc<[4]>>)

// -----

// expected-error @+1 {{expects dimension 0 and its expression to agree, got 4 in the shape and 'n' in the encoding}}
func.func private @symbol_for_static(tensor<4xf32, #vx.enc<[n]>>)

// -----

// expected-error @+1 {{expects an optional of a tensor or a sequence, got 'i32'}}
func.func private @optional(!vx.optional<i32>)
