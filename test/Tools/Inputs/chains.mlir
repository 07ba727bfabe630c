// Chains of products whose buffers are best laid out in another way for few rows than for many.
vx.symbol "n" min = 1
func.func @main(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %w1: tensor<8x4xf32>, %w2: tensor<4x8xf32>, %w4: tensor<8x256xf32>, %w5: tensor<4x256xf32>, %w6: tensor<8x64xf32>, %w7: tensor<256x4xf32>, %w8: tensor<256x256xf32>, %w10: tensor<256x64xf32>, %w11: tensor<4x64xf32>, %u0: tensor<64x16xf32>) -> (tensor<256x16xf32>, tensor<?x64xf32, #vx.enc<[n, 64]>>, tensor<64x64xf32>) {
  %v1 = vx.contract %x, %w1 batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x4xf32>
  %v2 = vx.contract %v1, %w2 batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x8xf32>
  %v4 = vx.contract %v2, %w4 batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x256xf32>
  %v5 = vx.contract %v1, %w5 batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x256xf32>
  %v6 = vx.contract %v2, %w6 batch = [] x [] contracting = [1] x [0] : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<8x64xf32>
  %v7 = vx.contract %v5, %w7 batch = [] x [] contracting = [1] x [0] : tensor<?x256xf32, #vx.enc<[n, 256]>>, tensor<256x4xf32>
  %v8 = vx.contract %v4, %w8 batch = [] x [] contracting = [1] x [0] : tensor<?x256xf32, #vx.enc<[n, 256]>>, tensor<256x256xf32>
  %v10 = vx.contract %v8, %w10 batch = [] x [] contracting = [1] x [0] : tensor<?x256xf32, #vx.enc<[n, 256]>>, tensor<256x64xf32>
  %v11 = vx.contract %v7, %w11 batch = [] x [] contracting = [1] x [0] : tensor<?x4xf32, #vx.enc<[n, 4]>>, tensor<4x64xf32>
  %o0 = vx.contract %v5, %v11 batch = [] x [] contracting = [0] x [0] : tensor<?x256xf32, #vx.enc<[n, 256]>>, tensor<?x64xf32, #vx.enc<[n, 64]>>
  %p0 = vx.contract %o0, %u0 batch = [] x [] contracting = [1] x [0] : tensor<256x64xf32>, tensor<64x16xf32>
  %o2 = vx.contract %v11, %v6 batch = [] x [] contracting = [0] x [0] : tensor<?x64xf32, #vx.enc<[n, 64]>>, tensor<?x64xf32, #vx.enc<[n, 64]>>
  return %p0, %v10, %o2 : tensor<256x16xf32>, tensor<?x64xf32, #vx.enc<[n, 64]>>, tensor<64x64xf32>
}
