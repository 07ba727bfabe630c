module attributes {vx.name = "four"} {
  func.func @main(%x: tensor<512x32xf32> {vx.name = "x"}) -> (tensor<512x4xf32> {vx.name = "y"}) {
    %w0 = vx.constant dense<0.01> : tensor<32x64xf32> {names = ["fc0.weight"]}
    %w1 = vx.constant dense<0.02> : tensor<64x64xf32> {names = ["fc1.weight"]}
    %w2 = vx.constant dense<0.03> : tensor<64x64xf32> {names = ["fc2.weight"]}
    %w3 = vx.constant dense<0.04> : tensor<64x4xf32> {names = ["fc3.weight"]}
    %z0 = vx.contract %x, %w0 batch = [] x [] contracting = [1] x [0] : tensor<512x32xf32>, tensor<32x64xf32>
    %h0 = vx.tanh %z0 : tensor<512x64xf32>
    %z1 = vx.contract %h0, %w1 batch = [] x [] contracting = [1] x [0] : tensor<512x64xf32>, tensor<64x64xf32>
    %h1 = vx.tanh %z1 : tensor<512x64xf32>
    %z2 = vx.contract %h1, %w2 batch = [] x [] contracting = [1] x [0] : tensor<512x64xf32>, tensor<64x64xf32>
    %h2 = vx.tanh %z2 : tensor<512x64xf32>
    %y = vx.contract %h2, %w3 batch = [] x [] contracting = [1] x [0] : tensor<512x64xf32>, tensor<64x4xf32>
    return %y : tensor<512x4xf32>
  }
}
