// Two kernels, the second of which reads the first one's result, a count, and a variable.
vx.symbol "n" min = 1 max = 64
vx.variable @sum : tensor<f32>
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"})
    -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}, tensor<i64> {vx.name = "count"}) {
  %e = vx.softmax %x axis = 0 : tensor<?xf32, #vx.enc<[n]>>
  %y = vx.softmax %e axis = 0 : tensor<?xf32, #vx.enc<[n]>>
  %total = vx.reduce sum %x axes = [0] : tensor<?xf32, #vx.enc<[n]>>
  %before = vx.variable_load @sum : tensor<f32>
  %after = vx.add %before, %total : tensor<f32>, tensor<f32>
  vx.variable_store %after, @sum : tensor<f32>
  %count = vx.count_nonzero %x : tensor<?xf32, #vx.enc<[n]>>
  return %y, %count : tensor<?xf32, #vx.enc<[n]>>, tensor<i64>
}
