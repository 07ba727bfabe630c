// Kernels that move large tensors once: what they reach is held against the copy probe.
vx.symbol "rows" min = 1 max = 65536

func.func @elementwise(%x: tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "x"}, %r: tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "r"})
    -> (tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "y"}) {
  %y = vx.add %x, %r : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>, tensor<?x4096xf32, #vx.enc<[rows, 4096]>>
  return %y : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>
}

func.func @softmax(%x: tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "x"}) -> (tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "y"}) {
  %y = vx.softmax %x axis = 1 : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>
  return %y : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>
}

func.func @layer_norm(%x: tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "x"}, %s: tensor<4096xf32> {vx.name = "s"}, %b: tensor<4096xf32> {vx.name = "b"})
    -> (tensor<?x4096xf32, #vx.enc<[rows, 4096]>> {vx.name = "y"}) {
  %y = vx.layer_norm %x, %s, %b axis = 1 epsilon = 1.0e-5 : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>, tensor<4096xf32>, tensor<4096xf32>
  return %y : tensor<?x4096xf32, #vx.enc<[rows, 4096]>>
}
