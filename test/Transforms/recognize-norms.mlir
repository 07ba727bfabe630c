// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-recognize-norms),canonicalize)" | FileCheck %s
// RUN: vx-opt %s --pass-pipeline="builtin.module(func.func(vx-recognize-norms{strict-math}),canonicalize)" | FileCheck %s --check-prefix=STRICT
// STRICT-NOT: vx.layer_norm
// STRICT-NOT: vx.rms_norm
vx.symbol "n"

// As ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add.
// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<?x8xf32, #vx.enc<[n, 8]>>, %[[S:[^ :]+]]: tensor<8xf32>, %[[B:[^ :]+]]: tensor<8xf32>)
// CHECK-NEXT:    %[[R:.+]] = vx.layer_norm %[[X]], %[[S]], %[[B]] axis = 1 epsilon = 9.99999974E-6
// CHECK-NEXT:    return %[[R]]
func.func @layer_norm(%x: tensor<?x8xf32, #vx.enc<[n, 8]>>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32, #vx.enc<[n, 8]>> {
  %eight = vx.constant dense<8.0> : tensor<f32>
  %two = vx.constant dense<2.0> : tensor<f32>
  %tiny = vx.constant dense<1.0e-5> : tensor<f32>
  %count = vx.broadcast %eight, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[n]>>
  %epsilon = vx.broadcast %tiny, [] : tensor<f32> -> tensor<?x1xf32, #vx.enc<[n, 1]>>
  %exponent = vx.broadcast %two, [] : tensor<f32> -> tensor<?x8xf32, #vx.enc<[n, 8]>>
  %sum = vx.reduce sum %x axes = [1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
  %mean = vx.div %sum, %count : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %column = vx.reshape %mean : tensor<?xf32, #vx.enc<[n]>> -> tensor<?x1xf32, #vx.enc<[n, 1]>>
  %means = vx.broadcast %column, [0, 1] : tensor<?x1xf32, #vx.enc<[n, 1]>> -> tensor<?x8xf32, #vx.enc<[n, 8]>>
  %centred = vx.sub %x, %means : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
  %squares = vx.pow %centred, %exponent : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
  %total = vx.reduce sum %squares axes = [1] : tensor<?x8xf32, #vx.enc<[n, 8]>>
  %variance = vx.div %total, %count : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %variances = vx.reshape %variance : tensor<?xf32, #vx.enc<[n]>> -> tensor<?x1xf32, #vx.enc<[n, 1]>>
  %shifted = vx.add %variances, %epsilon : tensor<?x1xf32, #vx.enc<[n, 1]>>, tensor<?x1xf32, #vx.enc<[n, 1]>>
  %root = vx.sqrt %shifted : tensor<?x1xf32, #vx.enc<[n, 1]>>
  %roots = vx.broadcast %root, [0, 1] : tensor<?x1xf32, #vx.enc<[n, 1]>> -> tensor<?x8xf32, #vx.enc<[n, 8]>>
  %normal = vx.div %centred, %roots : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
  %scales = vx.broadcast %s, [1] : tensor<8xf32> -> tensor<?x8xf32, #vx.enc<[n, 8]>>
  %scaled = vx.mul %normal, %scales : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
  %biases = vx.broadcast %b, [1] : tensor<8xf32> -> tensor<?x8xf32, #vx.enc<[n, 8]>>
  %result = vx.add %scaled, %biases : tensor<?x8xf32, #vx.enc<[n, 8]>>, tensor<?x8xf32, #vx.enc<[n, 8]>>
  return %result : tensor<?x8xf32, #vx.enc<[n, 8]>>
}

// x * (1 / root) * scale
// CHECK-LABEL: func.func @rms_norm(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<3x8xf32>, %[[S:[^ :]+]]: tensor<8xf32>)
// CHECK-NEXT:    %[[R:.+]] = vx.rms_norm %[[X]], %[[S]], epsilon = 9.99999974E-6
// CHECK-NEXT:    return %[[R]]
func.func @rms_norm(%x: tensor<3x8xf32>, %s: tensor<8xf32>) -> tensor<3x8xf32> {
  %count = vx.constant dense<8.0> : tensor<3xf32>
  %epsilon = vx.constant dense<1.0e-5> : tensor<3xf32>
  %one = vx.constant dense<1.0> : tensor<3xf32>
  %squares = vx.mul %x, %x : tensor<3x8xf32>, tensor<3x8xf32>
  %total = vx.reduce sum %squares axes = [1] : tensor<3x8xf32>
  %mean = vx.div %total, %count : tensor<3xf32>, tensor<3xf32>
  %shifted = vx.add %mean, %epsilon : tensor<3xf32>, tensor<3xf32>
  %root = vx.sqrt %shifted : tensor<3xf32>
  %inverse = vx.div %one, %root : tensor<3xf32>, tensor<3xf32>
  %factors = vx.broadcast %inverse, [0] : tensor<3xf32> -> tensor<3x8xf32>
  %normal = vx.mul %x, %factors : tensor<3x8xf32>, tensor<3x8xf32>
  %scales = vx.broadcast %s, [1] : tensor<8xf32> -> tensor<3x8xf32>
  %result = vx.mul %normal, %scales : tensor<3x8xf32>, tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}

// The divisor is not the number of elements: no mean, no norm.
// CHECK-LABEL: func.func @other_count(
// CHECK-NOT:     vx.rms_norm
// CHECK:         return
func.func @other_count(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %count = vx.constant dense<7.0> : tensor<3xf32>
  %epsilon = vx.constant dense<1.0e-5> : tensor<3xf32>
  %squares = vx.mul %x, %x : tensor<3x8xf32>, tensor<3x8xf32>
  %total = vx.reduce sum %squares axes = [1] : tensor<3x8xf32>
  %mean = vx.div %total, %count : tensor<3xf32>, tensor<3xf32>
  %shifted = vx.add %mean, %epsilon : tensor<3xf32>, tensor<3xf32>
  %root = vx.sqrt %shifted : tensor<3xf32>
  %roots = vx.broadcast %root, [0] : tensor<3xf32> -> tensor<3x8xf32>
  %normal = vx.div %x, %roots : tensor<3x8xf32>, tensor<3x8xf32>
  return %normal : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @cube(
// CHECK-SAME:    %[[X:[^ :]+]]:
// CHECK-NEXT:    %[[S:.+]] = vx.mul %[[X]], %[[X]]
// CHECK-NEXT:    %[[C:.+]] = vx.mul %[[S]], %[[X]]
// CHECK-NEXT:    return %[[C]]
func.func @cube(%x: tensor<5xf32>) -> tensor<5xf32> {
  %three = vx.constant dense<3.0> : tensor<5xf32>
  %0 = vx.pow %x, %three : tensor<5xf32>, tensor<5xf32>
  return %0 : tensor<5xf32>
}
