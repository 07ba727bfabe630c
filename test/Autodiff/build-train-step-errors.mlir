// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-build-train-step='loss=mse optimizer=sgd keep-gradients'

// expected-error @+1 {{expected a trained weight that the loss of output 'y' depends on, got none; train more weights or freeze fewer}}
module {
  func.func @main(%x: tensor<3xf32> {vx.name = "x"}) -> (tensor<3xf32> {vx.name = "y"}) {
    return %x : tensor<3xf32>
  }
}

// -----

// All at once.
// expected-error @+5 {{expected no 'backward' in the model, got one: training adds a function of this name; rename it}}
// expected-error @+4 {{expected no input 'target' in the model, got one: the training step adds an input of this name; rename it}}
// expected-error @+3 {{expected no input 'rate' in the model, got one: the training step adds an input of this name; rename it}}
// expected-error @+2 {{expected no input 'keep' in the model, got one: the training step adds an input of this name; rename it}}
// expected-error @+1 {{training: expected a model that stores no variables, got function 'main', which stores 'w'}}
module {
  vx.variable @w role = parameter : tensor<3xf32>
  func.func @main(%x: tensor<3xf32> {vx.name = "target"}, %r: tensor<f32> {vx.name = "rate"}, %k: tensor<f32> {vx.name = "keep"}) -> (tensor<3xf32> {vx.name = "y"}) {
    vx.variable_store %x, @w : tensor<3xf32>
    return %x : tensor<3xf32>
  }
  func.func private @backward(%x: tensor<3xf32>) -> tensor<3xf32> {
    return %x : tensor<3xf32>
  }
}

// -----

// expected-error @+1 {{--loss: expected output 'y' to have sizes that are known when a step begins, got f32[n] with a dimension 0 that depends on data}}
module {
  vx.symbol data_dependent "n"
  func.func @main(%x: tensor<3xf32> {vx.name = "x"}) -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}) {
    %0 = vx.count_nonzero %x : tensor<3xf32>
    vx.bind_symbol "n" = %0
    %1 = vx.nonzero %x : tensor<3xf32> -> tensor<1x?xi64, #vx.enc<[1, n]>>
    %2 = vx.reshape %1 : tensor<1x?xi64, #vx.enc<[1, n]>> -> tensor<?xi64, #vx.enc<[n]>>
    %3 = vx.cast %2 : tensor<?xi64, #vx.enc<[n]>> -> tensor<?xf32, #vx.enc<[n]>>
    return %3 : tensor<?xf32, #vx.enc<[n]>>
  }
}

// -----

// expected-error @+1 {{expected the name of an output to take the loss of, got none; the model has 2 of floats, of 'y', 'z', 'k'}}
module {
  func.func @main(%x: tensor<3xf32> {vx.name = "x"}, %k: tensor<i64>) -> (tensor<3xf32> {vx.name = "y"}, tensor<3xf32> {vx.name = "z"}, tensor<i64> {vx.name = "k"}) {
    return %x, %x, %k : tensor<3xf32>, tensor<3xf32>, tensor<i64>
  }
}

// -----

// expected-error @+1 {{expected no input 'seed' in the model, got one: the training step adds an input of this name; rename it}}
module {
  vx.variable @w role = parameter : tensor<3xf32>
  func.func @main(%x: tensor<3xf32> {vx.name = "seed"}) -> (tensor<3xf32> {vx.name = "y"}) {
    %w = vx.variable_load @w : tensor<3xf32>
    %0, %m = vx.dropout %w ratio = 0.5 : tensor<3xf32>
    %1 = vx.add %x, %0 : tensor<3xf32>, tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}

// -----

// expected-error-re @+1 {{--dropout: expected no dropout in a loop, where each iteration would drop the same elements, got node '{{.*}}'; use --dropout=frozen}}
module {
  vx.variable @w role = parameter : tensor<3xf32>
  vx.symbol data_dependent "i"
  func.func @main(%x: tensor<3xf32> {vx.name = "x"}, %n: tensor<i64> {vx.name = "n"}) -> (tensor<3xf32> {vx.name = "y"}) {
    %w = vx.variable_load @w : tensor<3xf32>
    %on = vx.constant dense<true> : tensor<i1>
    %0 = vx.loop "i" trip_count(%n) inits(%x : tensor<3xf32>) -> tensor<3xf32> {
    ^bb0(%a: tensor<3xf32>):
      %1, %m = vx.dropout %w ratio = 0.5 : tensor<3xf32>
      %2 = vx.add %a, %1 : tensor<3xf32>, tensor<3xf32>
      vx.yield %on, %2 : tensor<i1>, tensor<3xf32>
    }
    return %0 : tensor<3xf32>
  }
}
