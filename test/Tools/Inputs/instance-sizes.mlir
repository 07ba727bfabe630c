vx.symbol instance "pages" min = 2 max = 64 multiple = 2
vx.symbol "n"
vx.variable @sum : tensor<?xf32, #vx.enc<[pages]>>
func.func @main(%x: tensor<?xf32, #vx.enc<[pages]>> {vx.name = "x"}, %y: tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"})
    -> (tensor<?xf32, #vx.enc<[pages]>> {vx.name = "sum"}) {
  %0 = vx.variable_load @sum : tensor<?xf32, #vx.enc<[pages]>>
  %1 = vx.add %0, %x : tensor<?xf32, #vx.enc<[pages]>>, tensor<?xf32, #vx.enc<[pages]>>
  vx.variable_store %1, @sum : tensor<?xf32, #vx.enc<[pages]>>
  return %1 : tensor<?xf32, #vx.enc<[pages]>>
}
