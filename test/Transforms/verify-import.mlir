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
  // expected-error @+1 {{'arith.constant' does not belong to the 'import' phase}}
  %0 = arith.constant 1 : i32
  return
}

// -----

func.func @c1_a_later_phase(%a: tensor<2xf32>) {
  // expected-error @+1 {{'vx.fusion' does not belong to the 'import' phase}}
  %0 = vx.fusion (%a) <"loops", workgroup = [1], vector = [], reduction = [], threads = 1> : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    vx.yield %x : tensor<2xf32>
  }
  return
}

// -----

// expected-error @+1 {{dimension symbol 'n' is not declared by a 'vx.symbol'}}
func.func @c2_undeclared(%x: tensor<?xf32, #vx.enc<[n + 1]>>) {
  return
}

// -----

vx.symbol "k"
func.func @c2_bound_by_the_call(%a: tensor<i64>) {
  // expected-error @+1 {{'vx.bind_symbol' op expects the symbol 'k' to be declared as data-dependent}}
  vx.bind_symbol "k" = %a
  return
}

// -----

func.func @c3_no_source(%a: tensor<2xf32>) {
  // expected-error @unknown {{'vx.neg' has a location that names no source}}
  %0 = vx.neg %a : tensor<2xf32> loc(unknown)
  return
}
