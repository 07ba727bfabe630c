// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-verify-import

// A model as the frontends make it, with a size that nothing describes yet.
vx.symbol "n"
vx.symbol data_dependent "k"
func.func @good(%x: tensor<?xf32, #vx.enc<[n]>>, %y: tensor<?xf32>) -> tensor<1x?xi64, #vx.enc<[1, k]>> {
  %0 = vx.count_nonzero %x : tensor<?xf32, #vx.enc<[n]>>
  vx.bind_symbol "k" = %0
  %1 = vx.nonzero %x : tensor<?xf32, #vx.enc<[n]>> -> tensor<1x?xi64, #vx.enc<[1, k]>>
  return %1 : tensor<1x?xi64, #vx.enc<[1, k]>>
}

// -----

func.func @c1_another_dialect() {
  // expected-error @+1 {{expected ops of the 'import' phase, got 'arith.constant'}}
  %0 = arith.constant 1 : i32
  return
}

// -----

func.func @c1_a_later_phase(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected ops of the 'import' phase, got 'vx.fusion'}}
  %0 = vx.fusion (%a) : (tensor<2xf32>) -> tensor<2xf32> #vx.loops<tile = [1]> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}

// -----

// expected-error @+1 {{expected a 'vx.symbol' that declares dimension symbol 'n', got none}}
func.func @c2_undeclared(%x: tensor<?xf32, #vx.enc<[n + 1]>>) {
  return
}

// -----

vx.symbol "k"
func.func @c2_bound_by_the_call(%a: tensor<i64>) {
  // expected-error @+1 {{'vx.bind_symbol' op expects the symbol 'k' to be declared as data-dependent, got a symbol of an input's size}}
  vx.bind_symbol "k" = %a
  return
}

// -----

func.func @c2_bound_and_undeclared(%a: tensor<i64>) {
  // expected-error @+1 {{'vx.bind_symbol' op expects the symbol 'k' to be declared as data-dependent, got no declaration}}
  vx.bind_symbol "k" = %a
  return
}

// -----

vx.symbol instance "k"
func.func @c2_bound_by_the_instance(%a: tensor<i64>) {
  // expected-error @+1 {{'vx.bind_symbol' op expects the symbol 'k' to be declared as data-dependent, got a symbol of the instance}}
  vx.bind_symbol "k" = %a
  return
}

// -----

func.func @c3_no_source(%a: tensor<2xf32>) {
  // expected-error @unknown {{'vx.neg': expected a location that names a source, got none}}
  %0 = vx.neg %a : tensor<2xf32> loc(unknown)
  return
}

// -----

func.func @c1_call(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{expected ops of the 'import' phase, got 'func.call'}}
  %0 = func.call @c1_call(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

module {
  // expected-error @+1 {{expected ops of the 'import' phase, got 'builtin.module'}}
  module @c1_nested_module {
  }
}

// -----

// expected-error @+1 {{expects function 'c1_declaration' to have a body of one block that ends with 'func.return', got 0 blocks}}
func.func private @c1_declaration(tensor<2xf32>)

// -----

// expected-error @+1 {{expects function 'c1_blocks' to have a body of one block that ends with 'func.return', got 2 blocks}}
func.func @c1_blocks(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
^bb1(%y: tensor<2xf32>):
  return %y : tensor<2xf32>
}

// -----

// expected-error @+1 {{expects function 'c1_yield' to have a body of one block that ends with 'func.return', got 'vx.yield' at its end}}
func.func @c1_yield() {
  vx.yield
}

// -----

// What a call hands over: sequences may hold what has no rank, and strings.
func.func @c4_good(%a: tensor<i1>, %b: !vx.sequence<tensor<*x!vx.string>>, %c: !vx.optional<!vx.sequence<tensor<2xf32>>>) {
  return
}

// -----

// expected-error @+1 {{expects a tensor, a sequence or an optional as input 1 of function 'c4_scalar', got 'i32'}}
func.func @c4_scalar(%x: tensor<i32>, %y: i32) {
  return
}

// -----

// expected-error @+1 {{expects a tensor, a sequence or an optional as input 0 of function 'c4_rank', got 'tensor<*xf32>'}}
func.func @c4_rank(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @+1 {{expects a tensor, a sequence or an optional as input 0 of function 'c4_element', got '!vx.sequence<tensor<2xi3>>'}}
func.func @c4_element(%x: !vx.sequence<tensor<2xi3>>) {
  return
}

// -----

// expected-error @+1 {{expects a tensor, a sequence or an optional as input 0 of function 'c4_encoding', got 'tensor<2xf32, "mine">'}}
func.func @c4_encoding(%x: tensor<2xf32, "mine">) {
  return
}

// -----

// expected-error @+1 {{expects a function to have a name, got ''}}
func.func @""() {
  return
}

// -----

// expected-error @+1 {{expects a string as the name of result 0 of function 'c4_name', got 3 : i64}}
func.func @c4_name(%x: tensor<f32>) -> (tensor<f32> {vx.name = 3 : i64}) {
  return %x : tensor<f32>
}

// -----

// The first input's own number is its name.
// expected-error @+1 {{expects another name for each input of function 'c4_names', got '0' for number 1}}
func.func @c4_names(%x: tensor<f32>, %y: tensor<f32> {vx.name = "0"}) {
  return
}

// -----

// expected-error @+1 {{expects another name for each result of function 'c4_no_name', got '' for number 0}}
func.func @c4_no_name(%x: tensor<f32>) -> (tensor<f32> {vx.name = ""}) {
  return %x : tensor<f32>
}

// -----

func.func @c5_bytes() {
  // expected-error @+1 {{'vx.iota': expected values of fewer than 2^64 bytes, got 'tensor<4294967296x4294967296xi8>'}}
  %0 = vx.iota axis = 0 : tensor<4294967296x4294967296xi8>
  return
}

// -----

// expected-error @+1 {{'func.func': expected values of fewer than 2^64 bytes, got 'tensor<4294967296x4294967296xi8>'}}
func.func @c5_input(%x: tensor<4294967296x4294967296xi8>) {
  return
}

// -----

func.func @c6_sparse() {
  // expected-error @+1 {{'vx.constant' op expects an inline constant or a resource for 'tensor<3xf32>', got 'builtin.sparse_elements'}}
  %0 = vx.constant sparse<[[1]], [2.0]> : tensor<3xf32>
  return
}

// -----

// expected-error @+1 {{'vx.variable' op expects the resource 'missing', got none}}
vx.variable @c6_missing : tensor<3xf32> = dense_resource<missing> : tensor<3xf32>
func.func @c6() {
  return
}

// -----

func.func @c6_short() {
  // expected-error @+1 {{'vx.constant' op expects 12 bytes in the resource 'short' of type 'tensor<3xf32>', got 8}}
  %0 = vx.constant dense_resource<short> : tensor<3xf32>
  return
}
{-#
  dialect_resources: {
    builtin: {
      short: "0x040000000000000000000000"
    }
  }
#-}
