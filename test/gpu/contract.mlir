// A product of large matrices, compiled in each precision: what it reaches is held against the device's peak.
vx.symbol "rows" min = 1 max = 65536

func.func @main(%x: tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "x"}, %w: tensor<4096x4096xf32> {vx.name = "w"})
    -> (tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "y"}) {
  %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>, tensor<4096x4096xf32>
  return %y : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>
}
