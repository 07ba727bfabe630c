// RUN: vx-opt %s --vx-constants-to-variables='train=auto' 2>%t.notes | FileCheck %s
// RUN: FileCheck %s --check-prefix=NOTES --input-file %t.notes
// RUN: vx-opt %s --vx-constants-to-variables='of=y train=auto freeze=conv.*,scale' 2>&1 | FileCheck %s --check-prefix=FREEZE
// RUN: vx-opt %s --vx-constants-to-variables='train=conv.weight,factor' 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: not vx-opt %s --vx-constants-to-variables='train=auto,x*,nothing freeze=y?' 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not vx-opt %s --vx-constants-to-variables='train=half,far,counts,conv.weight' 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: not vx-opt %s --vx-constants-to-variables='of=z train=auto' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not vx-opt %s --vx-constants-to-variables='train=[a' 2>&1 | FileCheck %s --check-prefix=PATTERN

// RUN: vx-opt %s --vx-constants-to-variables='train=auto,factor init=random' 2>%t.random-notes | FileCheck %s --check-prefix=RANDOM
// RUN: FileCheck %s --check-prefix=STARTS --input-file %t.random-notes
// RUN: not vx-opt %s --vx-constants-to-variables='train=auto init=zero' 2>&1 | FileCheck %s --check-prefix=INIT

// INIT:        error: --init: expected file or random, got 'zero'

// What is chosen and is no weight starts as in the file.
// RANDOM-DAG:  vx.variable @conv.weight role = parameter init = <uniform(-0.33333333333333331, 0.33333333333333331)> : tensor<2x1x3x3xf32>{{$}}
// RANDOM-DAG:  vx.variable @conv.bias role = parameter init = <uniform(-0.33333333333333331, 0.33333333333333331)> : tensor<2xf32>{{$}}
// RANDOM-DAG:  vx.variable @scale role = parameter init = <uniform(1.000000e+00, 1.000000e+00)> : tensor<2xf32>{{$}}
// RANDOM-DAG:  vx.variable @bias role = parameter init = <uniform(0.000000e+00, 0.000000e+00)> : tensor<2xf32>{{$}}
// RANDOM-DAG:  vx.variable @factor role = parameter : tensor<2xf32> = dense<3.000000e+00> : tensor<2xf32>{{$}}
// RANDOM-DAG:  vx.variable @matrix role = parameter init = <uniform(-0.17677669529663687, 0.17677669529663687)> : tensor<32x3xf32>{{$}}
// RANDOM-DAG:  vx.variable @main_ role = parameter source = "main" init = <uniform(-0.17677669529663687, 0.17677669529663687)> : tensor<1xf32>{{$}}
// RANDOM-DAG:  vx.variable @table role = parameter init = <normal(0.000000e+00, 1.000000e+00)> : tensor<7x3xf32>{{$}}
// RANDOM-DAG:  vx.variable @norm.scale role = parameter init = <uniform(1.000000e+00, 1.000000e+00)> : tensor<3xf32>{{$}}
// RANDOM-DAG:  vx.variable @norm.bias role = parameter init = <uniform(0.000000e+00, 0.000000e+00)> : tensor<3xf32>{{$}}
// STARTS:      conv.weight {{ *}}trained  f32[2,1,3,3]: weight of a convolution, starts with random numbers
// STARTS:      scale {{ *}}trained  f32[2]: scale of a norm, starts as 1
// STARTS:      bias {{ *}}trained  f32[2]: an added bias, starts as 0
// STARTS:      mean {{ *}}frozen   f32[2]: a statistic or offset: it is subtracted{{$}}
// STARTS:      factor {{ *}}trained  f32[2]: a factor that is no scale of a norm{{$}}

// UNUSED:      error: --train: expected the name of an initializer, got 'x*'; the model has: 'conv.weight', 'conv.bias'
// UNUSED:      error: --train: expected the name of an initializer, got 'nothing'; the model has:
// UNUSED:      error: --freeze: expected the name of an initializer, got 'y?'; the model has:
// WHY:         error: --train: expected an initializer that can be trained, got 'half': of f16, only f32 is trained
// WHY:         error: --train: expected an initializer that can be trained, got 'far': the loss does not depend on it
// WHY:         error: --train: expected an initializer that can be trained, got 'counts': no floats
// OUTPUT:      error: expected the name of an output to take the loss of, got 'z'; the model has 'y', 'n'
// PATTERN:     error: --train: expected names of initializers, got '[a': invalid glob pattern, unmatched '['

// FREEZE:      conv.weight {{ *}}frozen   f32[2,1,3,3]: by --freeze
// FREEZE:      conv.bias {{ *}}frozen   f32[2]: by --freeze
// FREEZE:      scale {{ *}}frozen   f32[2]: by --freeze
// FREEZE:      bias {{ *}}trained  f32[2]: an added bias
// NAMED:       conv.weight {{ *}}trained  f32[2,1,3,3]: weight of a convolution
// NAMED:       conv.bias {{ *}}frozen   f32[2]: not in --train
// NAMED:       factor {{ *}}trained  f32[2]: a factor that is no scale of a norm
// NAMED:       2 of 20 initializers are trained, 20 numbers

// NOTES:       conv.weight {{ *}}trained  f32[2,1,3,3]: weight of a convolution
// NOTES:       conv.bias {{ *}}trained  f32[2]: an added bias
// NOTES:       scale {{ *}}trained  f32[2]: scale of a norm
// NOTES:       bias {{ *}}trained  f32[2]: an added bias
// NOTES:       mean {{ *}}frozen   f32[2]: a statistic or offset: it is subtracted
// NOTES:       variance {{ *}}frozen   f32[2]: a statistic or scale: its root is taken
// NOTES:       factor {{ *}}frozen   f32[2]: a factor that is no scale of a norm
// NOTES:       matrix {{ *}}trained  f32[32,3]: weight of a product
// NOTES:       main {{ *}}trained  f32[1]: an added bias
// NOTES:       epsilon {{ *}}frozen   f32[1]: a scalar
// NOTES:       alone {{ *}}frozen   f32[]: a scalar
// NOTES:       mask {{ *}}frozen   f32[3]: a mask
// NOTES:       table {{ *}}trained  f32[7,3]: a table of rows
// NOTES:       rotary {{ *}}frozen   f32[7,3]: a table of factors
// NOTES:       norm.scale {{ *}}trained  f32[3]: scale of a norm
// NOTES:       norm.bias {{ *}}trained  f32[3]: bias of a norm
// NOTES:       half {{ *}}frozen   f16[3]: of f16, only f32 is trained
// NOTES:       far {{ *}}frozen   f32[3,3]: the loss does not depend on it
// NOTES:       tail {{ *}}frozen   f32[3]: operand 1 of vx.pow
// NOTES-NOT:   counts
// NOTES:       9 of 20 initializers are trained, 148 numbers

// CHECK-DAG: vx.variable @conv.weight role = parameter : tensor<2x1x3x3xf32> = dense<5.000000e-01> : tensor<2x1x3x3xf32>
// CHECK-DAG: vx.variable @main_ role = parameter source = "main" : tensor<1xf32> = dense<1.000000e+00> : tensor<1xf32>
// CHECK-LABEL: func.func @main(
// CHECK-DAG:     %[[W:.+]] = vx.variable_load @conv.weight
// CHECK-DAG:     %[[MATRIX:.+]] = vx.variable_load @matrix
// CHECK:         vx.conv %{{.+}}, %[[W]]
// CHECK:         vx.contract %{{.+}}, %[[MATRIX]]
func.func @main(%x: tensor<?x1x6x6xf32, #vx.enc<[n, 1, 6, 6]>> {vx.name = "x"}, %i: tensor<?xi64, #vx.enc<[n]>> {vx.name = "i"})
    -> (tensor<?x3xf32, #vx.enc<[n, 3]>> {vx.name = "y"}, tensor<?xi64, #vx.enc<[n]>> {vx.name = "n"}) {
  %0 = vx.constant dense<0.5> : tensor<2x1x3x3xf32> {names = ["conv.weight"]}
  %1 = vx.constant dense<0.5> : tensor<2xf32> {names = ["conv.bias"]}
  %c = vx.conv %x, %0 strides = [1, 1] dilations = [1, 1] pads = [0, 0] x [0, 0] groups = 1
      : tensor<?x1x6x6xf32, #vx.enc<[n, 1, 6, 6]>>, tensor<2x1x3x3xf32>
  %b = vx.broadcast %1, [1] : tensor<2xf32> -> tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %d = vx.add %c, %b : tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>, tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  // As a batch norm is imported.
  %scale = vx.constant dense<1.0> : tensor<2xf32> {names = ["scale"]}
  %bias = vx.constant dense<1.0> : tensor<2xf32> {names = ["bias"]}
  %mean = vx.constant dense<0.1> : tensor<2xf32> {names = ["mean"]}
  %variance = vx.constant dense<2.0> : tensor<2xf32> {names = ["variance"]}
  %e = vx.constant dense<0.001> : tensor<f32>
  %e2 = vx.broadcast %e, [] : tensor<f32> -> tensor<2xf32>
  %v2 = vx.add %variance, %e2 : tensor<2xf32>, tensor<2xf32>
  %root = vx.sqrt %v2 : tensor<2xf32>
  %f = vx.div %scale, %root : tensor<2xf32>, tensor<2xf32>
  %m = vx.mul %mean, %f : tensor<2xf32>, tensor<2xf32>
  %o = vx.sub %bias, %m : tensor<2xf32>, tensor<2xf32>
  %fs = vx.broadcast %f, [1] : tensor<2xf32> -> tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %os = vx.broadcast %o, [1] : tensor<2xf32> -> tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %g = vx.mul %d, %fs : tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>, tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %h = vx.add %g, %os : tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>, tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %factor = vx.constant dense<3.0> : tensor<2xf32> {names = ["factor"]}
  %factors = vx.broadcast %factor, [1] : tensor<2xf32> -> tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %k = vx.mul %h, %factors : tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>, tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>>
  %flat = vx.reshape %k : tensor<?x2x4x4xf32, #vx.enc<[n, 2, 4, 4]>> -> tensor<?x32xf32, #vx.enc<[n, 32]>>
  %matrix = vx.constant dense<0.1> : tensor<32x3xf32> {names = ["matrix"]}
  %p = vx.contract %flat, %matrix batch = [] x [] contracting = [1] x [0] : tensor<?x32xf32, #vx.enc<[n, 32]>>, tensor<32x3xf32>
  %one = vx.constant dense<1.0> : tensor<1xf32> {names = ["main"]}
  %ones = vx.broadcast %one, [1] : tensor<1xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %q = vx.add %p, %ones : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %qe = vx.exp %q : tensor<?x3xf32, #vx.enc<[n, 3]>>
  %epsilon = vx.constant dense<1.0> : tensor<1xf32> {names = ["epsilon"]}
  %epsilons = vx.broadcast %epsilon, [1] : tensor<1xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %r = vx.add %qe, %epsilons : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %alone = vx.constant dense<1.0> : tensor<f32> {names = ["alone"]}
  %alones = vx.broadcast %alone, [] : tensor<f32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %s = vx.add %r, %alones : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %mask = vx.constant dense<[0.0, -1.0e+9, 0.0]> : tensor<3xf32> {names = ["mask"]}
  %masks = vx.broadcast %mask, [1] : tensor<3xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %t = vx.add %s, %masks : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %table = vx.constant dense<0.5> : tensor<7x3xf32> {names = ["table"]}
  %rows = vx.gather %table, %i axis = 0 : tensor<7x3xf32>, tensor<?xi64, #vx.enc<[n]>>
  %u = vx.add %t, %rows : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %rotary = vx.constant dense<0.5> : tensor<7x3xf32> {names = ["rotary"]}
  %turns = vx.gather %rotary, %i axis = 0 : tensor<7x3xf32>, tensor<?xi64, #vx.enc<[n]>>
  %v = vx.mul %u, %turns : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %ns = vx.constant dense<1.0> : tensor<3xf32> {names = ["norm.scale"]}
  %nb = vx.constant dense<0.0> : tensor<3xf32> {names = ["norm.bias"]}
  %w = vx.layer_norm %v, %ns, %nb axis = 1 epsilon = 1.0e-5 : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<3xf32>, tensor<3xf32>
  %half = vx.constant dense<1.0> : tensor<3xf16> {names = ["half"]}
  %whole = vx.cast %half : tensor<3xf16> -> tensor<3xf32>
  %halves = vx.broadcast %whole, [1] : tensor<3xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %y = vx.add %w, %halves : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %far = vx.constant dense<1.0> : tensor<3x3xf32> {names = ["far"]}
  %unread = vx.contract %y, %far batch = [] x [] contracting = [1] x [0] : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<3x3xf32>
  %tail = vx.constant dense<2.0> : tensor<3xf32> {names = ["tail"]}
  %tails = vx.pow %tail, %tail : tensor<3xf32>, tensor<3xf32>
  %tailed = vx.broadcast %tails, [1] : tensor<3xf32> -> tensor<?x3xf32, #vx.enc<[n, 3]>>
  %z = vx.add %y, %tailed : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?x3xf32, #vx.enc<[n, 3]>>
  %counts = vx.constant dense<2> : tensor<1xi64> {names = ["counts"]}
  %count = vx.broadcast %counts, [0] : tensor<1xi64> -> tensor<?xi64, #vx.enc<[n]>>
  return %z, %count : tensor<?x3xf32, #vx.enc<[n, 3]>>, tensor<?xi64, #vx.enc<[n]>>
}
vx.symbol "n"
