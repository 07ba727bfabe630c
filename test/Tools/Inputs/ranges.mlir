vx.symbol "n" min = 1 max = 64
vx.symbol "m" min = 1 max = 64
func.func @main(%table: tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "table"}, %words: tensor<100x3xf32> {vx.name = "words"},
                %row: tensor<?xi64, #vx.enc<[m]>> {vx.name = "row"},
                %shifted: tensor<?xi32, #vx.enc<[m]>> {vx.name = "shifted"},
                %both: tensor<?xi32, #vx.enc<[m]>> {vx.name = "both"},
                %scaled: tensor<?xi32, #vx.enc<[m]>> {vx.name = "scaled"},
                %free: tensor<?xi32, #vx.enc<[m]>> {vx.name = "free"})
    -> (tensor<?x3xf32, #vx.enc<[m, 3]>> {vx.name = "a"}, tensor<?x3xf32, #vx.enc<[m, 3]>> {vx.name = "b"},
        tensor<?x3xf32, #vx.enc<[m, 3]>> {vx.name = "c"}, tensor<?x3xf32, #vx.enc<[m, 3]>> {vx.name = "d"}, tensor<?x3xf32, #vx.enc<[m, 3]>> {vx.name = "e"}, tensor<?xi32, #vx.enc<[m]>> {vx.name = "f"}) {
  %a = vx.gather %table, %row axis = 0 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?xi64, #vx.enc<[m]>>
  %two = vx.constant dense<2> : tensor<i32>
  %twos = vx.broadcast %two, [] : tensor<i32> -> tensor<?xi32, #vx.enc<[m]>>
  %sum = vx.add %shifted, %twos : tensor<?xi32, #vx.enc<[m]>>, tensor<?xi32, #vx.enc<[m]>>
  %b = vx.gather %words, %sum axis = 0 : tensor<100x3xf32>, tensor<?xi32, #vx.enc<[m]>>
  %c = vx.gather %words, %both axis = 0 : tensor<100x3xf32>, tensor<?xi32, #vx.enc<[m]>>
  %d = vx.gather %table, %both axis = 0 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?xi32, #vx.enc<[m]>>
  %product = vx.mul %scaled, %twos : tensor<?xi32, #vx.enc<[m]>>, tensor<?xi32, #vx.enc<[m]>>
  %e = vx.gather %words, %product axis = 0 : tensor<100x3xf32>, tensor<?xi32, #vx.enc<[m]>>
  %f = vx.add %free, %twos : tensor<?xi32, #vx.enc<[m]>>, tensor<?xi32, #vx.enc<[m]>>
  return %a, %b, %c, %d, %e, %f : tensor<?x3xf32, #vx.enc<[m, 3]>>, tensor<?x3xf32, #vx.enc<[m, 3]>>, tensor<?x3xf32, #vx.enc<[m, 3]>>, tensor<?x3xf32, #vx.enc<[m, 3]>>, tensor<?x3xf32, #vx.enc<[m, 3]>>, tensor<?xi32, #vx.enc<[m]>>
}
