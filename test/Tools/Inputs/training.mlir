// A step of w += rate * (y - w * x), written by hand.
module attributes {vx.training = #vx.training<
    train_step = @fit, evaluate = @judge, predict = @model, inputs = ["x", "y"], hypers = {rate = "rate"}, metrics = ["loss", "largest"], optimizer = "by hand",
    loss = "of y">} {
  vx.symbol "n"
  vx.variable @w role = parameter : tensor<f32>
  func.func @model(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}) -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}) {
    %w = vx.variable_load @w : tensor<f32>
    %0 = vx.broadcast %w, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[n]>>
    %1 = vx.mul %x, %0 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
    return %1 : tensor<?xf32, #vx.enc<[n]>>
  }
  func.func @judge(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}, %y: tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"})
      -> (tensor<f32> {vx.name = "largest"}, tensor<f32> {vx.name = "loss"}) {
    %w = vx.variable_load @w : tensor<f32>
    %0 = vx.broadcast %w, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[n]>>
    %1 = vx.mul %x, %0 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
    %2 = vx.sub %y, %1 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
    %3 = vx.reduce max %2 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
    %4 = vx.reduce sum %2 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
    return %3, %4 : tensor<f32>, tensor<f32>
  }
  func.func @fit(%rate: tensor<f32> {vx.name = "rate"}, %y: tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}, %x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"})
      -> (tensor<f32> {vx.name = "largest"}, tensor<f32> {vx.name = "loss"}) {
    %w = vx.variable_load @w : tensor<f32>
    %0 = vx.broadcast %w, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[n]>>
    %1 = vx.mul %x, %0 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
    %2 = vx.sub %y, %1 : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
    %3 = vx.reduce max %2 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
    %4 = vx.reduce sum %2 axes = [0] : tensor<?xf32, #vx.enc<[n]>>
    %5 = vx.mul %4, %rate : tensor<f32>, tensor<f32>
    %6 = vx.add %w, %5 : tensor<f32>, tensor<f32>
    vx.variable_store %6, @w : tensor<f32>
    return %3, %4 : tensor<f32>, tensor<f32>
  }
}
