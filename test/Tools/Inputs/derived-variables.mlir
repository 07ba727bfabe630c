// predict multiplies by the weights, train adds to them.
vx.symbol "n" min = 1 max = 64
vx.variable @weight role = parameter : tensor<64x32xf32>
func.func @predict(%x: tensor<?x64xf32, #vx.enc<[n, 64]>> {vx.name = "x"}) -> (tensor<?x32xf32, #vx.enc<[n, 32]>> {vx.name = "y"}) {
  %w = vx.variable_load @weight : tensor<64x32xf32>
  %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x64xf32, #vx.enc<[n, 64]>>, tensor<64x32xf32>
  return %y : tensor<?x32xf32, #vx.enc<[n, 32]>>
}
func.func @train(%d: tensor<64x32xf32> {vx.name = "d"}) {
  %w = vx.variable_load @weight : tensor<64x32xf32>
  %n = vx.add %w, %d : tensor<64x32xf32>, tensor<64x32xf32>
  vx.variable_store %n, @weight : tensor<64x32xf32>
  return
}
