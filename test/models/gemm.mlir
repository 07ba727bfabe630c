// Plain matrix products, which vx-bench holds against its probe of multiply-adds: the bare form of what contractions reach.

func.func @gemm_512(%a: tensor<512x512xf32> {vx.name = "a"}, %b: tensor<512x512xf32> {vx.name = "b"}) -> (tensor<512x512xf32> {vx.name = "y"}) {
  %y = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<512x512xf32>, tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

func.func @gemm_1024(%a: tensor<1024x1024xf32> {vx.name = "a"}, %b: tensor<1024x1024xf32> {vx.name = "b"}) -> (tensor<1024x1024xf32> {vx.name = "y"}) {
  %y = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}

func.func @gemm_2048(%a: tensor<2048x2048xf32> {vx.name = "a"}, %b: tensor<2048x2048xf32> {vx.name = "b"}) -> (tensor<2048x2048xf32> {vx.name = "y"}) {
  %y = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] : tensor<2048x2048xf32>, tensor<2048x2048xf32>
  return %y : tensor<2048x2048xf32>
}
