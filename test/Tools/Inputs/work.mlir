// 2 * 8 * 4 flops for each row of the product, and 4 for the sum.
vx.symbol "rows" min = 1 max = 1024
func.func @main(%x: tensor<?x8xf32, #vx.enc<[rows, 8]>> {vx.name = "x"}, %w: tensor<8x4xf32> {vx.name = "w"},
                %b: tensor<?x4xf32, #vx.enc<[rows, 4]>> {vx.name = "b"}) -> (tensor<?x4xf32, #vx.enc<[rows, 4]>> {vx.name = "y"}) {
  %p = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[rows, 8]>>, tensor<8x4xf32>
  %y = vx.add %p, %b : tensor<?x4xf32, #vx.enc<[rows, 4]>>, tensor<?x4xf32, #vx.enc<[rows, 4]>>
  return %y : tensor<?x4xf32, #vx.enc<[rows, 4]>>
}
