// Every row of %w is [4, 6]; it depends on constants alone, and is too much work for the compiler.
vx.symbol "n" min = 1 max = 64
func.func @main(%x: tensor<?x4096xf32, #vx.enc<[n, 4096]>> {vx.name = "x"})
    -> (tensor<?x2xf32, #vx.enc<[n, 2]>> {vx.name = "y"}) {
  %a = vx.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = vx.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]> : tensor<4x2xf32>
  %rows = vx.broadcast %a, [1] : tensor<4xf32> -> tensor<4096x4xf32>
  %w = vx.contract %rows, %b batch = [] x [] contracting = [1] x [0] : tensor<4096x4xf32>, tensor<4x2xf32>
  %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [0]
    : tensor<?x4096xf32, #vx.enc<[n, 4096]>>, tensor<4096x2xf32>
  return %y : tensor<?x2xf32, #vx.enc<[n, 2]>>
}
