func.func @main(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %0 = vx.conv %x, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  return %0 : tensor<1x64x56x56xf32>
}
