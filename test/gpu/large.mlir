// Kernels that move large tensors once: what they reach is held against the copy probe.
vx.symbol "rows" min = 1 max = 65536
vx.symbol "items" min = 1 max = 67108864

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

// Its result is larger than any card's memory where its operands are small.
func.func @outer(%x: tensor<?x1xf32, #vx.enc<[items, 1]>> {vx.name = "x"}, %w: tensor<1x4096xf32> {vx.name = "w"})
    -> (tensor<?x4096xf32, #vx.enc<[items, 4096]>> {vx.name = "y"}) {
  %y = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x1xf32, #vx.enc<[items, 1]>>, tensor<1x4096xf32>
  return %y : tensor<?x4096xf32, #vx.enc<[items, 4096]>>
}

// What it keeps between its kernels is larger than the memory that many a driver gives at once.
func.func @through(%x: tensor<?x1xf32, #vx.enc<[items, 1]>> {vx.name = "x"}, %w: tensor<1x4096xf32> {vx.name = "w"}, %v: tensor<4096x1xf32> {vx.name = "v"})
    -> (tensor<?x1xf32, #vx.enc<[items, 1]>> {vx.name = "y"}) {
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<?x1xf32, #vx.enc<[items, 1]>>, tensor<1x4096xf32>
  %1 = vx.slice %0 starts [#vx.dim<items - 1>, #vx.dim<0>] strides [-1, 1] : tensor<?x4096xf32, #vx.enc<[items, 4096]>> -> tensor<?x4096xf32, #vx.enc<[items, 4096]>>
  %y = vx.contract %1, %v batch = [] x [] contracting = [1] x [0] : tensor<?x4096xf32, #vx.enc<[items, 4096]>>, tensor<4096x1xf32>
  return %y : tensor<?x1xf32, #vx.enc<[items, 1]>>
}
