// Two functions with a dimension of their own each.
vx.symbol "rows" min = 1 max = 64
vx.symbol "items" min = 1 max = 1000

func.func @double(%x: tensor<?xf32, #vx.enc<[rows]>> {vx.name = "x"}) -> (tensor<?xf32, #vx.enc<[rows]>> {vx.name = "y"}) {
  %y = vx.add %x, %x : tensor<?xf32, #vx.enc<[rows]>>, tensor<?xf32, #vx.enc<[rows]>>
  return %y : tensor<?xf32, #vx.enc<[rows]>>
}

func.func @square(%x: tensor<?xf32, #vx.enc<[items]>> {vx.name = "x"}) -> (tensor<?xf32, #vx.enc<[items]>> {vx.name = "y"}) {
  %y = vx.mul %x, %x : tensor<?xf32, #vx.enc<[items]>>, tensor<?xf32, #vx.enc<[items]>>
  return %y : tensor<?xf32, #vx.enc<[items]>>
}
