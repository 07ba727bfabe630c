// x times the weights, as often as the caller says.
vx.symbol data_dependent "turn"
vx.variable @w role = parameter : tensor<8x8xf32> = dense<0.5> : tensor<8x8xf32>
func.func @main(%x: tensor<4x8xf32> {vx.name = "x"}, %turns: tensor<i64> {vx.name = "turns"}) -> (tensor<4x8xf32> {vx.name = "y"}) {
  %w = vx.variable_load @w : tensor<8x8xf32>
  %y = vx.loop "turn" trip_count(%turns) inits(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%c: tensor<4x8xf32>):
    %next = vx.contract %c, %w batch = [] x [] contracting = [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32>
    %go = vx.constant dense<true> : tensor<i1>
    vx.yield %go, %next : tensor<i1>, tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}
