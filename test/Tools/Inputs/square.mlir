vx.symbol "n"
func.func @main(%x: tensor<?x?xf32, #vx.enc<[n, n]>> {vx.name = "x"}) -> (tensor<?x?xf32, #vx.enc<[n, n]>> {vx.name = "y"}) {
  %0 = vx.exp %x : tensor<?x?xf32, #vx.enc<[n, n]>>
  return %0 : tensor<?x?xf32, #vx.enc<[n, n]>>
}
