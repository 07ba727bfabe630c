vx.symbol "n" min = 1 max = 64
func.func @main(%x: tensor<?x?xf32, #vx.enc<[n, n]>> {vx.name = "x"}) -> (tensor<?x?xf32, #vx.enc<[n, n]>> {vx.name = "y"}) {
  %0 = vx.transpose %x, [1, 0] : tensor<?x?xf32, #vx.enc<[n, n]>>
  return %0 : tensor<?x?xf32, #vx.enc<[n, n]>>
}
