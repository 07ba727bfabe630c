// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK-LABEL: module
// CHECK: vx.symbol "batch" min = 1 max = 4096 multiple = 8
vx.symbol "batch" min = 1 max = 4096 multiple = 8
// CHECK: vx.symbol data_dependent "any name"
vx.symbol data_dependent "any name"

// -----

// expected-error @+1 {{'vx.symbol' op expects 0 <= min <= max and multiple >= 1, got min -1, max 4 and multiple 1}}
vx.symbol "c1_negative" min = -1 max = 4

// -----

// expected-error @+1 {{'vx.symbol' op expects 0 <= min <= max and multiple >= 1, got min 5, max 4 and multiple 1}}
vx.symbol "c1_empty_range" min = 5 max = 4

// -----

// expected-error @+1 {{'vx.symbol' op expects 0 <= min <= max and multiple >= 1, got min 0, max 4 and multiple 0}}
vx.symbol "c1_multiple" min = 0 max = 4 multiple = 0

// -----

vx.symbol "c2_twice"
// expected-error @+1 {{'vx.symbol' op expects one declaration of symbol 'c2_twice', got a second one}}
vx.symbol "c2_twice" max = 4

// -----

func.func @not_in_a_module() {
  // expected-error @+1 {{'vx.symbol' op expects parent op 'builtin.module'}}
  vx.symbol "n"
  return
}
