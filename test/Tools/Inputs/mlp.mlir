module attributes {vx.name = "mlp"} {
  vx.symbol "batch"
  func.func @main(%x: tensor<?x784xf32, #vx.enc<[batch, 784]>> {vx.name = "x"}) -> (tensor<?x10xf32, #vx.enc<[batch, 10]>> {vx.name = "y"}) {
    %w0 = vx.constant dense<0.01> : tensor<256x784xf32> {names = ["fc0.weight"]}
    %b0 = vx.constant dense<0.0> : tensor<256xf32> {names = ["fc0.bias"]}
    %w1 = vx.constant dense<0.02> : tensor<128x256xf32> {names = ["fc1.weight"]}
    %b1 = vx.constant dense<0.0> : tensor<128xf32> {names = ["fc1.bias"]}
    %w2 = vx.constant dense<0.03> : tensor<10x128xf32> {names = ["fc2.weight"]}
    %b2 = vx.constant dense<0.0> : tensor<10xf32> {names = ["fc2.bias"]}
    %zero = vx.constant dense<0.0> : tensor<f32>
    %z0 = vx.contract %x, %w0 batch = [] x [] contracting = [1] x [1] : tensor<?x784xf32, #vx.enc<[batch, 784]>>, tensor<256x784xf32>
    %r0 = vx.broadcast %b0, [1] : tensor<256xf32> -> tensor<?x256xf32, #vx.enc<[batch, 256]>>
    %a0 = vx.add %z0, %r0 : tensor<?x256xf32, #vx.enc<[batch, 256]>>, tensor<?x256xf32, #vx.enc<[batch, 256]>>
    %n0 = vx.broadcast %zero, [] : tensor<f32> -> tensor<?x256xf32, #vx.enc<[batch, 256]>>
    %h0 = vx.max %a0, %n0 : tensor<?x256xf32, #vx.enc<[batch, 256]>>, tensor<?x256xf32, #vx.enc<[batch, 256]>>
    %z1 = vx.contract %h0, %w1 batch = [] x [] contracting = [1] x [1] : tensor<?x256xf32, #vx.enc<[batch, 256]>>, tensor<128x256xf32>
    %r1 = vx.broadcast %b1, [1] : tensor<128xf32> -> tensor<?x128xf32, #vx.enc<[batch, 128]>>
    %a1 = vx.add %z1, %r1 : tensor<?x128xf32, #vx.enc<[batch, 128]>>, tensor<?x128xf32, #vx.enc<[batch, 128]>>
    %n1 = vx.broadcast %zero, [] : tensor<f32> -> tensor<?x128xf32, #vx.enc<[batch, 128]>>
    %h1 = vx.max %a1, %n1 : tensor<?x128xf32, #vx.enc<[batch, 128]>>, tensor<?x128xf32, #vx.enc<[batch, 128]>>
    %z2 = vx.contract %h1, %w2 batch = [] x [] contracting = [1] x [1] : tensor<?x128xf32, #vx.enc<[batch, 128]>>, tensor<10x128xf32>
    %r2 = vx.broadcast %b2, [1] : tensor<10xf32> -> tensor<?x10xf32, #vx.enc<[batch, 10]>>
    %y = vx.add %z2, %r2 : tensor<?x10xf32, #vx.enc<[batch, 10]>>, tensor<?x10xf32, #vx.enc<[batch, 10]>>
    return %y : tensor<?x10xf32, #vx.enc<[batch, 10]>>
  }
}
