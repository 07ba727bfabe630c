// Three kernels: the one in the middle computes four ops.
vx.symbol "n" min = 1 max = 64
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}, %y: tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"})
    -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "z"}) {
  %d = vx.softmax %x axis = 0 : tensor<?xf32, #vx.enc<[n]>>
  %e = vx.softmax %d axis = 0 : tensor<?xf32, #vx.enc<[n]>>
  %a = vx.exp %y : tensor<?xf32, #vx.enc<[n]>>
  %b = vx.sub %e, %a : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %c = vx.tanh %b : tensor<?xf32, #vx.enc<[n]>>
  %z = vx.softmax %c axis = 0 : tensor<?xf32, #vx.enc<[n]>>
  return %z : tensor<?xf32, #vx.enc<[n]>>
}
