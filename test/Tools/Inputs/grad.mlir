func.func @main(%x: tensor<3xf32> {vx.name = "x"}, %n: tensor<3xf32> {vx.name = "n"}) -> (tensor<3xf32> {vx.name = "y"}) {
  %w = vx.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32> {names = ["w"]}
  %0 = vx.mul %x, %x : tensor<3xf32>, tensor<3xf32>
  %1 = vx.mul %0, %w : tensor<3xf32>, tensor<3xf32>
  return %1 : tensor<3xf32>
}
