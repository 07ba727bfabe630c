vx.symbol "n" max = 4
vx.symbol data_dependent "k"
func.func @main(%x: tensor<?x2xf32, #vx.enc<[n, 2]>> {vx.name = "x"}) ->
    (tensor<?x2xf32, #vx.enc<[n, 2]>> {vx.name = "y"}, !vx.sequence<tensor<?x?xf32>> {vx.name = "list"}) {
  %0 = vx.sequence_construct %x : (tensor<?x2xf32, #vx.enc<[n, 2]>>) -> !vx.sequence<tensor<?x?xf32>>
  return %x, %0 : tensor<?x2xf32, #vx.enc<[n, 2]>>, !vx.sequence<tensor<?x?xf32>>
}
func.func @words(%words: tensor<1x!vx.string> {vx.name = "words"}) {
  return
}
func.func @list(%list: !vx.sequence<tensor<?xf32>> {vx.name = "list"}) -> (!vx.sequence<tensor<?xf32>> {vx.name = "same"}) {
  return %list : !vx.sequence<tensor<?xf32>>
}
func.func @whole(%list: !vx.sequence<tensor<?xi64>> {vx.name = "list"}) {
  return
}
func.func @free(%free: tensor<?xf32> {vx.name = "free"}) {
  return
}
