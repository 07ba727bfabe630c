vx.symbol "length"

func.func @main(%q: tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>>) -> tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>> {
  %0 = vx.attention %q, %q, %q scale = 1.250000e-01 dims = [0, 2, 1, 3] x [0, 2, 1, 3] x [0, 2, 1, 3] -> [0, 2, 1, 3] : tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>>, tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>>, tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>> -> tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>>
  return %0 : tensor<1x?x12x64xf32, #vx.enc<[1, length, 12, 64]>>
}

func.func @few_heads(%q: tensor<1x2x256x64xf32>) -> tensor<1x2x256x64xf32> {
  %0 = vx.attention %q, %q, %q scale = 1.250000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32> -> tensor<1x2x256x64xf32>
  return %0 : tensor<1x2x256x64xf32>
}

func.func @deep(%q: tensor<1x2x16x264xf32>) -> tensor<1x2x16x264xf32> {
  %0 = vx.attention %q, %q, %q scale = 1.250000e-01 dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<1x2x16x264xf32>, tensor<1x2x16x264xf32>, tensor<1x2x16x264xf32> -> tensor<1x2x16x264xf32>
  return %0 : tensor<1x2x16x264xf32>
}
