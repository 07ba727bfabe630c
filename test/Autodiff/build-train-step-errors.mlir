// RUN: vx-opt %s --split-input-file --verify-diagnostics --vx-build-train-step='loss=mse optimizer=sgd keep-gradients'

// expected-error @+1 {{the loss of output 'y' reaches no weight that is trained}}
module {
  func.func @main(%x: tensor<3xf32> {vx.name = "x"}) -> (tensor<3xf32> {vx.name = "y"}) {
    return %x : tensor<3xf32>
  }
}

// -----

// All at once.
// expected-error @+5 {{a function 'backward' cannot be added: the model has one}}
// expected-error @+4 {{an input 'target' cannot be added to the training step: the model has one}}
// expected-error @+3 {{an input 'rate' cannot be added to the training step: the model has one}}
// expected-error @+2 {{an input 'keep' cannot be added to the training step: the model has one}}
// expected-error @+1 {{a model that stores variables is not trained: function 'main' stores 'w'}}
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

// expected-error @+1 {{--loss: output 'y' is f32[n]: dimension 0 is to be known when a step begins}}
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

// expected-error @+1 {{the loss wants the name of an output: the model has 2 of floats, of 'y', 'z', 'k'}}
module {
  func.func @main(%x: tensor<3xf32> {vx.name = "x"}, %k: tensor<i64>) -> (tensor<3xf32> {vx.name = "y"}, tensor<3xf32> {vx.name = "z"}, tensor<i64> {vx.name = "k"}) {
    return %x, %x, %k : tensor<3xf32>, tensor<3xf32>, tensor<i64>
  }
}

// -----

// expected-error @+1 {{an input 'seed' cannot be added to the training step: the model has one}}
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

// expected-error-re @+1 {{--dropout: node '{{.*}}' is in a loop, of which each turn would drop the same elements; want --dropout=frozen}}
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
