func.func @main(%x: tensor<40x256xf32>, %v: tensor<256x64xi64>, %z: tensor<9x256xi64>) -> (tensor<40x64xf32>, tensor<9x64xi64>) {
  %w = vx.constant dense<3.0> : tensor<256x64xf32>
  %0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : tensor<40x256xf32>, tensor<256x64xf32>
  %1 = vx.contract %z, %v batch = [] x [] contracting = [1] x [0] : tensor<9x256xi64>, tensor<256x64xi64>
  return %0, %1 : tensor<40x64xf32>, tensor<9x64xi64>
}
