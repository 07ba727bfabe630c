vx.symbol "n" min = 3 max = 3000000000000000000 multiple = 3
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}) -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}) {
  %0 = vx.exp %x : tensor<?xf32, #vx.enc<[n]>>
  return %0 : tensor<?xf32, #vx.enc<[n]>>
}
