// RUN: vx-opt %s --split-input-file --verify-diagnostics | vx-opt --split-input-file | FileCheck %s

// CHECK: module attributes {vx.training = #vx.training<train_step = @train_step, evaluate = @evaluate, predict = @predict,
// CHECK-SAME: inputs = ["x", "1"], hypers = {rate = "rate", scale = "scale", seed = "seed"}, metrics = ["loss", "1"], optimizer = "sgd", loss = "mse">}
module attributes {vx.training = #vx.training<
    train_step = @train_step, evaluate = @evaluate, predict = @predict, inputs = ["x", "1"], hypers = {rate = "rate", seed = "seed", scale = "scale"},
    metrics = ["loss", "1"], optimizer = "sgd", loss = "mse">} {
  func.func @train_step(%x: tensor<3xf32> {vx.name = "x"}, %t: tensor<3xf32>, %rate: tensor<f32> {vx.name = "rate"}, %seed: tensor<i64> {vx.name = "seed"},
                        %scale: tensor<f32> {vx.name = "scale"}) -> (tensor<f32> {vx.name = "loss"}, tensor<f32>) {
    return %rate, %rate : tensor<f32>, tensor<f32>
  }
  func.func @evaluate(%x: tensor<3xf32> {vx.name = "x"}, %t: tensor<3xf32>) -> tensor<3xf32> {
    return %t : tensor<3xf32>
  }
  func.func @predict(%x: tensor<3xf32>) -> tensor<3xf32> {
    return %x : tensor<3xf32>
  }
}

// -----

// CHECK: module attributes {vx.training = #vx.training<backward = @b, step = @s>}
module attributes {vx.training = #vx.training<step = @s, backward = @b>} {
  func.func @b() {
    return
  }
  func.func @s() {
    return
  }
}

// -----

// expected-error @+1 {{expects '#vx.training' as 'vx.training', got "yes"}}
module attributes {vx.training = "yes"} {
}

// -----

module {
  // expected-error @+1 {{expects 'vx.training' to stand on a module, got 'func.func'}}
  func.func @c1() attributes {vx.training = #vx.training<optimizer = "sgd">} {
    return
  }
}

// -----

// expected-error @+1 {{expects 'vx.training' to name public functions with a body, got 'c1'}}
module attributes {vx.training = #vx.training<predict = @c1>} {
}

// -----

// expected-error @+1 {{expects 'vx.training' to name public functions with a body, got 'c1'}}
module attributes {vx.training = #vx.training<predict = @c1>} {
  func.func private @c1() {
    return
  }
}

// -----

// expected-error @+1 {{expects 'vx.training' to name public functions with a body, got 'c1'}}
module attributes {vx.training = #vx.training<step = @c1>} {
  vx.variable @c1 : tensor<f32>
}

// -----

// expected-error @+1 {{expects strings as 'inputs', got 3 : i64}}
module attributes {vx.training = #vx.training<train_step = @c2, inputs = [3]>} {
}

// -----

// expected-error @+1 {{expects strings as 'metrics', got unit}}
module attributes {vx.training = #vx.training<train_step = @c2, metrics = [unit]>} {
}

// -----

// expected-error @+1 {{expects strings under 'rate', 'seed' and 'scale' as 'hypers', got 'speed' = "rate"}}
module attributes {vx.training = #vx.training<train_step = @c2, hypers = {speed = "rate"}>} {
}

// -----

// expected-error @+1 {{expects strings under 'rate', 'seed' and 'scale' as 'hypers', got 'rate' = 1 : i64}}
module attributes {vx.training = #vx.training<train_step = @c2, hypers = {rate = 1}>} {
}

// -----

// expected-error @+1 {{expects a 'train_step' that has the inputs and metrics, got none}}
module attributes {vx.training = #vx.training<metrics = ["loss"]>} {
}

// -----

// expected-error @+1 {{expects 'vx.training' to name inputs of 'c3', got 'y'}}
module attributes {vx.training = #vx.training<train_step = @c3, inputs = ["y"]>} {
  func.func @c3(%x: tensor<f32> {vx.name = "x"}) {
    return
  }
}

// -----

// expected-error @+1 {{expects 'vx.training' to name each input of 'c3' once, got 'x' again}}
module attributes {vx.training = #vx.training<train_step = @c3, inputs = ["x"], hypers = {rate = "x"}>} {
  func.func @c3(%x: tensor<f32> {vx.name = "x"}) {
    return
  }
}

// -----

// expected-error @+1 {{expects 'vx.training' to name all inputs of 'c3', got none for 'y'}}
module attributes {vx.training = #vx.training<train_step = @c3, inputs = ["x"]>} {
  func.func @c3(%x: tensor<f32> {vx.name = "x"}, %y: tensor<f32> {vx.name = "y"}, %a: tensor<f32> {vx.name = "a"}) {
    return
  }
}

// -----

// expected-error @+1 {{expects 'rate' to be a scalar of 'f32', got input 'x' of type 'tensor<1xf32>'}}
module attributes {vx.training = #vx.training<train_step = @c4, hypers = {rate = "x"}>} {
  func.func @c4(%x: tensor<1xf32> {vx.name = "x"}) {
    return
  }
}

// -----

// expected-error @+1 {{expects 'seed' to be a scalar of 'i64', got input 'x' of type 'tensor<i32>'}}
module attributes {vx.training = #vx.training<train_step = @c4, hypers = {seed = "x"}>} {
  func.func @c4(%x: tensor<i32> {vx.name = "x"}) {
    return
  }
}

// -----

// expected-error @+1 {{expects 'vx.training' to name results of 'c5', got 'loss'}}
module attributes {vx.training = #vx.training<train_step = @c5, metrics = ["loss"]>} {
  func.func @c5() {
    return
  }
}

// -----

// expected-error @+1 {{expects strings as 'counts', got unit}}
module attributes {vx.training = #vx.training<train_step = @c2, metrics = ["loss"], counts = [unit]>} {
}

// -----

// expected-error @+1 {{expects a count for each of 1 metrics, got 2}}
module attributes {vx.training = #vx.training<train_step = @c7, metrics = ["loss"], counts = ["", ""]>} {
}

// -----

// expected-error @+1 {{expects count 'loss' to be a scalar of f32 that 'c7' gives beside its metrics, got a metric}}
module attributes {vx.training = #vx.training<train_step = @c7, inputs = ["x"], metrics = ["loss"], counts = ["loss"]>} {
  func.func @c7(%x: tensor<f32> {vx.name = "x"}) -> (tensor<f32> {vx.name = "loss"}) {
    return %x : tensor<f32>
  }
}

// -----

// expected-error @+1 {{expects count 'n' to be a scalar of f32 that 'c7' gives beside its metrics, got no result}}
module attributes {vx.training = #vx.training<train_step = @c7, inputs = ["x"], metrics = ["loss"], counts = ["n"]>} {
  func.func @c7(%x: tensor<f32> {vx.name = "x"}) -> (tensor<f32> {vx.name = "loss"}) {
    return %x : tensor<f32>
  }
}

// -----

// expected-error @+1 {{expects count 'n' to be a scalar of f32 that 'c7' gives beside its metrics, got tensor<i64>}}
module attributes {vx.training = #vx.training<train_step = @c7, inputs = ["x", "y"], metrics = ["loss"], counts = ["n"]>} {
  func.func @c7(%x: tensor<f32> {vx.name = "x"}, %y: tensor<i64> {vx.name = "y"}) -> (tensor<f32> {vx.name = "loss"}, tensor<i64> {vx.name = "n"}) {
    return %x, %y : tensor<f32>, tensor<i64>
  }
}

// -----

// expected-error @+1 {{expects metric 'loss' to be a scalar of 'f32', got 'tensor<i64>'}}
module attributes {vx.training = #vx.training<train_step = @c5, inputs = ["x"], metrics = ["loss"]>} {
  func.func @c5(%x: tensor<i64> {vx.name = "x"}) -> (tensor<i64> {vx.name = "loss"}) {
    return %x : tensor<i64>
  }
}

// -----

// expected-error @+1 {{expects 'c6' to take the inputs of training: x, y, got y, x}}
module attributes {vx.training = #vx.training<train_step = @step, evaluate = @c6, inputs = ["x", "y"]>} {
  func.func @step(%x: tensor<f32> {vx.name = "x"}, %y: tensor<f32> {vx.name = "y"}) {
    return
  }
  func.func @c6(%y: tensor<f32> {vx.name = "y"}, %x: tensor<f32> {vx.name = "x"}) {
    return
  }
}
