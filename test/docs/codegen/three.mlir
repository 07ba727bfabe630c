func.func @main(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = vx.constant dense<3.0> : tensor<64x1x3x3xf32>
  %v = vx.constant dense<3.0> : tensor<64x64x1x1xf32>
  %0 = vx.conv %x, %v strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>
  %1 = vx.conv %0, %w strides = [1, 1] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 64 : tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>
  %2 = vx.conv %1, %v strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>
  return %2 : tensor<1x64x56x56xf32>
}
