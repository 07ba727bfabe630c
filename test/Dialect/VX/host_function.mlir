// RUN: vx-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @good(
// CHECK: vx.host_function string_concat(%{{.+}}, %{{.+}}) : (tensor<2x!vx.string>, tensor<2x!vx.string>) -> tensor<2x!vx.string>
// CHECK: vx.host_function string_split(%{{.+}}) {limit = 3 : i64, text = "-"} : (tensor<2x!vx.string>) -> (tensor<2x?x!vx.string, #vx.enc<[2, parts]>>, tensor<2xi64>)
// CHECK: vx.host_function string_match(%{{.+}}) {text = "a+"} : (tensor<2xi32>) -> tensor<2xi1>
// CHECK: vx.host_function string_parse(%{{.+}}) : (tensor<2x!vx.string>) -> tensor<2xf16>
vx.symbol data_dependent "parts"
func.func @good(%s: tensor<2x!vx.string>, %n: tensor<2xi32>) {
  %0 = vx.host_function string_concat(%s, %s) : (tensor<2x!vx.string>, tensor<2x!vx.string>) -> tensor<2x!vx.string>
  %1:2 = vx.host_function string_split(%0) {text = "-", limit = 3} : (tensor<2x!vx.string>) -> (tensor<2x?x!vx.string, #vx.enc<[2, parts]>>, tensor<2xi64>)
  %2 = vx.host_function string_match(%n) {text = "a+"} : (tensor<2xi32>) -> tensor<2xi1>
  %3 = vx.host_function string_parse(%s) : (tensor<2x!vx.string>) -> tensor<2xf16>
  %4 = vx.host_function string_format(%2) : (tensor<2xi1>) -> tensor<2x!vx.string>
  return
}

// -----

func.func @c1_operands(%s: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.host_function' op expects 2 operands of 'string_concat', got 1}}
  %0 = vx.host_function string_concat(%s) : (tensor<2x!vx.string>) -> tensor<2x!vx.string>
  return
}

// -----

func.func @c1_results(%s: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.host_function' op expects 2 results of 'string_split', got 1}}
  %0 = vx.host_function string_split(%s) : (tensor<2x!vx.string>) -> tensor<2x3x!vx.string>
  return
}

// -----

func.func @c1_strings(%s: tensor<2xf32>) {
  // expected-error @+1 {{'vx.host_function' op expects strings as operand 0 of 'string_upper', got 'tensor<2xf32>'}}
  %0 = vx.host_function string_upper(%s) : (tensor<2xf32>) -> tensor<2x!vx.string>
  return
}

// -----

func.func @c1_bools(%s: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.host_function' op expects bools as result 0 of 'string_match', got 'tensor<2xi8>'}}
  %0 = vx.host_function string_match(%s) : (tensor<2x!vx.string>) -> tensor<2xi8>
  return
}

// -----

func.func @c1_numbers(%s: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.host_function' op expects integers of a byte or more or floats of two as result 0 of 'string_parse', got 'tensor<2xi4>'}}
  %0 = vx.host_function string_parse(%s) : (tensor<2x!vx.string>) -> tensor<2xi4>
  return
}

// -----

func.func @c2_shape(%s: tensor<2x!vx.string>, %t: tensor<3x!vx.string>) {
  // expected-error @+1 {{'vx.host_function' op expects values of the shape of 'tensor<2x!vx.string>', got 'tensor<3x!vx.string>'}}
  %0 = vx.host_function string_concat(%s, %t) : (tensor<2x!vx.string>, tensor<3x!vx.string>) -> tensor<2x!vx.string>
  return
}

// -----

func.func @c2_parts(%s: tensor<2x!vx.string>) {
  // expected-error @+1 {{'vx.host_function' op expects values of the shape of 'tensor<2x!vx.string>' and one dimension, got 'tensor<2x!vx.string>'}}
  %0:2 = vx.host_function string_split(%s) : (tensor<2x!vx.string>) -> (tensor<2x!vx.string>, tensor<2xi64>)
  return
}

// -----

// CHECK-LABEL: func.func @images(
// CHECK: vx.host_function image_decode(%{{.+}}) {text = "BGR"} : (tensor<?xui8, #vx.enc<[n]>>) -> tensor<?x?x3xui8, #vx.enc<[h, w, 3]>>
// CHECK: vx.host_function image_decode(%{{.+}}) {text = "Grayscale"} : (tensor<?xui8, #vx.enc<[n]>>) -> tensor<?x?x1xui8, #vx.enc<[h, w, 1]>>
vx.symbol "n"
vx.symbol data_dependent "h"
vx.symbol data_dependent "w"
func.func @images(%f: tensor<?xui8, #vx.enc<[n]>>) {
  %0 = vx.host_function image_decode(%f) {text = "BGR"} : (tensor<?xui8, #vx.enc<[n]>>) -> tensor<?x?x3xui8, #vx.enc<[h, w, 3]>>
  %1 = vx.host_function image_decode(%f) {text = "Grayscale"} : (tensor<?xui8, #vx.enc<[n]>>) -> tensor<?x?x1xui8, #vx.enc<[h, w, 1]>>
  return
}

// -----

func.func @c1_bytes(%f: tensor<9xi8>) {
  // expected-error @+1 {{'vx.host_function' op expects u8s as operand 0 of 'image_decode', got 'tensor<9xi8>'}}
  %0 = vx.host_function image_decode(%f) {text = "RGB"} : (tensor<9xi8>) -> tensor<2x2x3xui8>
  return
}

// -----

func.func @c2_samples(%f: tensor<9xui8>) {
  // expected-error @+1 {{'vx.host_function' op expects bytes of one dimension and an image of [height, width, 1], got 'tensor<9xui8>' and 'tensor<2x2x3xui8>'}}
  %0 = vx.host_function image_decode(%f) {text = "Grayscale"} : (tensor<9xui8>) -> tensor<2x2x3xui8>
  return
}

// -----

func.func @c2_file(%f: tensor<3x3xui8>) {
  // expected-error @+1 {{'vx.host_function' op expects bytes of one dimension and an image of [height, width, 3], got 'tensor<3x3xui8>' and 'tensor<2x2x3xui8>'}}
  %0 = vx.host_function image_decode(%f) {text = "RGB"} : (tensor<3x3xui8>) -> tensor<2x2x3xui8>
  return
}

// -----

func.func @c3_order(%f: tensor<9xui8>) {
  // expected-error @+1 {{'vx.host_function' op expects 'text' to be RGB, BGR or Grayscale, got 'YUV'}}
  %0 = vx.host_function image_decode(%f) {text = "YUV"} : (tensor<9xui8>) -> tensor<2x2x3xui8>
  return
}
