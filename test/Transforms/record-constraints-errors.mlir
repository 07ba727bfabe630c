// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-record-constraints

// No value that the symbol may take is right.
vx.symbol "n" min = 1 max = 4
func.func @too_small(%a: tensor<1x1x?xf32, #vx.enc<[1, 1, n]>>) -> tensor<1x1x?xf32, #vx.enc<[1, 1, max(n - 4, 0)]>> {
  %f = vx.constant dense<1.0> : tensor<1x1x5xf32>
  // expected-error @+1 {{needs size 'n' to be at least '5', got n and 5}}
  %0 = vx.conv %a, %f strides = [1] dilations = [1] pads = [0] x [0] groups = 1 : tensor<1x1x?xf32, #vx.enc<[1, 1, n]>>, tensor<1x1x5xf32>
  return %0 : tensor<1x1x?xf32, #vx.enc<[1, 1, max(n - 4, 0)]>>
}

// -----

func.func @stated() {
  // expected-error @+1 {{needs sizes 'n' and 'm' equal, got 3 and 5}}
  vx.constraint equal <3>, <5> "sizes 'n' and 'm' equal"
  return
}

// -----

func.func @multiple() {
  // expected-error @+1 {{needs 'n' in rows of 'm', got 5 and 0}}
  vx.constraint multiple <5>, <0> "'n' in rows of 'm'"
  return
}
