// What the host has as inputs and outputs: a sequence and an optional.
func.func @main(%x: !vx.sequence<tensor<?xf32>> {vx.name = "x"}) ->
    (!vx.sequence<tensor<?xf32>> {vx.name = "y"}, !vx.optional<!vx.sequence<tensor<?xf32>>> {vx.name = "o"}) {
  %o = vx.optional %x : !vx.sequence<tensor<?xf32>> -> !vx.optional<!vx.sequence<tensor<?xf32>>>
  return %x, %o : !vx.sequence<tensor<?xf32>>, !vx.optional<!vx.sequence<tensor<?xf32>>>
}
func.func @back(%o: !vx.optional<!vx.sequence<tensor<?xf32>>> {vx.name = "o"}) ->
    (!vx.optional<!vx.sequence<tensor<?xf32>>> {vx.name = "same"}) {
  return %o : !vx.optional<!vx.sequence<tensor<?xf32>>>
}
