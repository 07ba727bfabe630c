// A row of a cache is replaced.
func.func @step(%past: tensor<2x6x4xf32> {vx.name = "past"}, %at: tensor<1x1xi64> {vx.name = "at"}, %row: tensor<1x2x4xf32> {vx.name = "row"}) -> (tensor<2x6x4xf32> {vx.name = "present"}, tensor<2x4xf32> {vx.name = "sum"}) {
  %0 = vx.check_indices %at below [#vx.dim<6>] : tensor<1x1xi64>
  %1 = vx.scatter set %past, %0, %row axes = [1] : tensor<2x6x4xf32>, tensor<1x1xi64>, tensor<1x2x4xf32>
  %2 = vx.reduce sum %1 axes = [1] : tensor<2x6x4xf32>
  return %1, %2 : tensor<2x6x4xf32>, tensor<2x4xf32>
}
func.func @none(%x: tensor<4xf32> {vx.name = "x"}) -> (tensor<f32> {vx.name = "y"}) {
  %0 = vx.reduce sum %x axes = [0] : tensor<4xf32>
  return %0 : tensor<f32>
}
