vx.symbol "n" min = 1 max = 64

func.func @main(%x: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "x"}, %pick: tensor<i64> {vx.name = "pick"})
    -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"}, tensor<3xf32> {vx.name = "row"}, !vx.sequence<tensor<3xf32>> {vx.name = "rows"}) {
  %w = vx.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %b = vx.broadcast %w, [1] : tensor<3xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %y = vx.mul %x, %b : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %row = vx.gather %x, %pick axis = 0 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<i64>
  %rows = vx.sequence_construct %row : (tensor<3xf32>) -> !vx.sequence<tensor<3xf32>>
  return %y, %row, %rows : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<3xf32>, !vx.sequence<tensor<3xf32>>
}
