// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-convert-to-schedule

// Functions that break a promise of the phases before: sizes that nothing gives, and ops that neither the host nor a kernel runs.
vx.symbol data_dependent "k"
func.func @used_early() -> tensor<?xf32, #vx.enc<[k]>> {
  // expected-error @+1 {{the size 'k' is used before it is known, in}}
  %0 = vx.dispatch @none () symbols [] : () -> tensor<?xf32, #vx.enc<[k]>>
  return %0 : tensor<?xf32, #vx.enc<[k]>>
}
vx.kernel @none "" symbols [] workgroups <1> #vx.loops<tile = []> {
  %0 = vx.constant dense<1.0> : tensor<1xf32>
  vx.yield %0 : tensor<1xf32>
}

// -----

vx.kernel @none "" symbols [] workgroups <1> #vx.loops<tile = []> {
  %0 = vx.constant dense<1.0> : tensor<1xf32>
  vx.yield %0 : tensor<1xf32>
}
func.func @unknown_size() {
  // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
  %0 = vx.dispatch @none () symbols [] : () -> tensor<?xf32>
  return
}

// -----

func.func @result(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
  return %x : tensor<?xf32>
}

// -----

vx.variable @state : tensor<2xf32>
func.func @result_variable() -> tensor<?xf32> {
  %0 = vx.variable_load @state : tensor<?xf32>
  // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
  return %0 : tensor<?xf32>
}

// -----

func.func @host_only() -> tensor<i64> {
  // expected-error @+1 {{is read as memory, but only the host has it}}
  %0 = vx.dim_value <3>
  return %0 : tensor<i64>
}

// -----

func.func @strings_result() -> tensor<1x!vx.string> {
  %s = vx.constant dense<"a"> : tensor<1x!vx.string>
  // expected-error @+1 {{tensors of '!vx.string' have no form in device memory, in}}
  return %s : tensor<1x!vx.string>
}

// -----

func.func @at(%s: !vx.sequence<tensor<?xf32>>) {
  %i = vx.constant dense<0> : tensor<i64>
  // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
  %0 = vx.sequence_at %s, %i : !vx.sequence<tensor<?xf32>> -> tensor<?xf32>
  return
}

// -----

func.func @insert(%x: tensor<?xf32>) {
  // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
  %0 = vx.sequence_construct %x : (tensor<?xf32>) -> !vx.sequence<tensor<?xf32>>
  return
}

// -----

func.func @bind(%k: tensor<i64>) {
  // expected-error @+1 {{the symbol 'k' is not declared, in}}
  vx.bind_symbol "k" = %k
  return
}

// -----

func.func @elementwise(%k: tensor<i64>) {
  // expected-error @+1 {{is not scheduled: neither the host nor a kernel runs it}}
  %0 = vx.neg %k : tensor<i64>
  return
}

// -----

vx.symbol data_dependent "k"
func.func @if_unknown(%c: tensor<i1>, %x: tensor<?xf32>, %y: tensor<2xf32>) {
  %0 = vx.if %c -> tensor<?xf32, #vx.enc<[k]>> {
    // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
    vx.yield %x : tensor<?xf32>
  } else {
    vx.yield %y : tensor<2xf32>
  }
  return
}

// -----

vx.symbol data_dependent "k"
vx.symbol data_dependent "i"
func.func @loop_unknown(%x: tensor<?xf32>) {
  %n = vx.constant dense<3> : tensor<i64>
  %go = vx.constant dense<true> : tensor<i1>
  // expected-error @+1 {{the size of 'tensor<?xf32>' is not known, in}}
  %0 = vx.loop "i" trip_count(%n) inits(%x : tensor<?xf32>) -> tensor<?xf32, #vx.enc<[k]>> {
  ^bb0(%y: tensor<?xf32>):
    vx.yield %go, %y : tensor<i1>, tensor<?xf32>
  }
  return
}

// -----

vx.variable @pool : tensor<48xf32>
vx.variable @part in @pool at 64 : tensor<3xf32>
func.func @unordered(%x: tensor<48xf32>) -> tensor<3xf32> {
  vx.variable_store %x, @pool : tensor<48xf32>
  // expected-error-re @+1 {{'vx.variable_load' of 'part' may follow a store of 'pool', which shares bytes with it, in {{.+}}: expected one variable for both, got two; run 'vx-resolve-overlaps' first}}
  %0 = vx.variable_load @part : tensor<3xf32>
  return %0 : tensor<3xf32>
}
