// How many tensors a list has.
func.func @main(%list: !vx.sequence<tensor<3xf32>> {vx.name = "list"}) -> (tensor<i64> {vx.name = "count"}) {
  %count = vx.sequence_length %list : !vx.sequence<tensor<3xf32>>
  return %count : tensor<i64>
}
